//! Names of sources and links in sentences.

use phalanx_db::{Database, ModuleInput};
use phalanx_ir::metadata::Field;
use phalanx_target::{Scope, SourceSet};

/// The language whose terms are used for indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// CUDA and HIP.
    Cuda,
    /// OpenCL.
    OpenCl,
    /// Unknown language.
    None,
}

impl Dialect {
    /// The language that a module was compiled from, by its debug information.
    pub(crate) fn of(db: &Database, module: ModuleInput) -> Dialect {
        let (context, metadata) = (module.context(db), &module.shell(db).metadata);
        let operands = |name: &[u8]| {
            let name = context.find_symbol(name);
            name.map(|name| metadata.named_operands(name)).unwrap_or_default()
        };
        if !operands(b"opencl.ocl.version").is_empty() {
            return Dialect::OpenCl;
        }
        let language = operands(b"llvm.dbg.cu").first().and_then(|&unit| {
            metadata.field(unit, Field::Language).and_then(|value| value.as_int(context))
        });
        match language {
            // The versions of C++, and HIP.
            Some(0x4 | 0x19 | 0x1a | 0x21 | 0x2a | 0x2b | 0x30) => Dialect::Cuda,
            Some(0x15 | 0x37 | 0x38) => Dialect::OpenCl,
            _ => Dialect::None,
        }
    }
}

/// The phrase for a source, as in "it depends on ...".
pub(crate) fn source(source: SourceSet, dialect: Dialect) -> &'static str {
    let own = |cuda, open_cl, other| match dialect {
        Dialect::Cuda => cuda,
        Dialect::OpenCl => open_cl,
        Dialect::None => other,
    };
    match source {
        SourceSet::X => own("`threadIdx.x`", "`get_local_id(0)`", "the thread's index x"),
        SourceSet::Y => own("`threadIdx.y`", "`get_local_id(1)`", "the thread's index y"),
        SourceSet::Z => own("`threadIdx.z`", "`get_local_id(2)`", "the thread's index z"),
        SourceSet::LANE => "the number of the lane",
        SourceSet::WAVE => {
            own("the number of the warp", "the number of the wave", "the number of the wave")
        }
        SourceSet::QUAD => "the number of the thread, but for its last two bits",
        SourceSet::BLOCK_X => own("`blockIdx.x`", "`get_group_id(0)`", "the workgroup's index x"),
        SourceSet::BLOCK_Y => own("`blockIdx.y`", "`get_group_id(1)`", "the workgroup's index y"),
        SourceSet::BLOCK_Z => own("`blockIdx.z`", "`get_group_id(2)`", "the workgroup's index z"),
        SourceSet::CLUSTER => "the workgroup's rank in its cluster",
        SourceSet::OPAQUE_QUAD => "a value that may differ between quads",
        SourceSet::OPAQUE_WAVE => "a value loaded from memory",
        SourceSet::OPAQUE_GROUP => "a value that may differ between workgroups",
        _ => "a value that may differ between any two threads",
    }
}

/// Names of sources, in their fixed order.
pub(crate) fn names(sources: SourceSet) -> Vec<&'static str> {
    sources.iter().filter_map(SourceSet::name).collect()
}

/// The threads of a scope.
pub(crate) fn threads(scope: &str) -> String {
    let scope = Scope::from_name(scope).unwrap_or(Scope::Workgroup);
    format!("threads of {}", of(scope))
}

/// `a wave`, `the launch`
pub(crate) fn of(scope: Scope) -> String {
    match scope {
        Scope::Grid => "the launch".to_owned(),
        _ => format!("a {}", scope.name()),
    }
}
