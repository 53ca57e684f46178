//! Places in the program that was compiled, and in the text of the module.

use phalanx_ir::{
    Context, InstId, Module, Opcode,
    function::FunctionRef,
    metadata::{Field, Metadata, MetadataId, MetadataValue, NodeKind, kind},
};
use serde::Serialize;

use super::LinedText;
use crate::lines::{Lines, Place};

/// Prefix of the functions in which clang keeps the bodies of OpenCL kernels.
pub const OPENCL_BODY: &str = "__clang_ocl_kern_imp_";

/// How many scopes, and levels of inlining, are followed.
const DEPTH: usize = 64;

/// A place.
///
/// Inlined code has a place in each function on the way: its frames. [`Location::source`] is the
/// user's line: the outermost frame that is not in a system header.
/// [`Checker`](crate::check::Checker) chooses an inner one where the calls around it are irrelevant
/// to a finding.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Location {
    /// In the text of the module.
    pub ir: Place,
    /// In the program that was compiled, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceFile>,
    /// Frames of code that was inlined at `source`, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inlined: Vec<SourceFile>,
    /// Frames of calls through which `source` was inlined, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inlined_at: Vec<SourceFile>,
}

/// A place in a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize)]
pub struct SourceFile {
    /// The name of the file, as the compiler was told.
    pub file: String,
    /// The folder in which the compiler ran, if that is known.
    #[serde(skip)]
    pub folder: String,
    /// The checksum of the file that was compiled, if that is known: MD5 in hexadecimal digits.
    #[serde(skip)]
    pub checksum: String,
    /// The function that the place is in, if that is known.
    #[serde(skip)]
    pub function: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
}

impl SourceFile {
    /// Whether the file is a header of the compiler, of a toolkit or of the system, by its name.
    #[must_use]
    pub fn is_of_system(&self) -> bool {
        let file = &*self.file;
        // Files below the folder of the compiler have names relative to it.
        let has = |part: &str| file.contains(part) || file.starts_with(&part[1..]);
        file.starts_with("/usr/")
            || file.starts_with("/opt/")
            || has("/lib/clang/")
            || has("/phalanx-headers-")
            || has("/site-packages/nvidia/")
            || has("/dist-packages/nvidia/")
    }
}

/// Gives the contents of source files.
pub trait Sources {
    /// The text of a file, by its name and the folder that the name is relative to. None if the
    /// file is missing, or differs from what was compiled.
    fn text(&self, place: &SourceFile) -> Option<std::sync::Arc<LinedText<'static>>>;

    /// Whether the file has changed since it was compiled, so that line numbers no longer match.
    fn is_stale(&self, _place: &SourceFile) -> bool {
        false
    }
}

/// No file is available: places are shown without their lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Sources for NoFiles {
    fn text(&self, _: &SourceFile) -> Option<std::sync::Arc<LinedText<'static>>> {
        None
    }
}

impl Location {
    /// A place by its frames, the innermost first.
    #[must_use]
    pub fn new(ir: Place, frames: Vec<SourceFile>) -> Location {
        let at = frames.iter().rposition(|frame| !frame.is_of_system());
        let mut location = Location { ir, ..Location::default() };
        let last = frames.len().saturating_sub(1);
        location.set(frames, at.unwrap_or(last));
        location
    }

    fn set(&mut self, mut frames: Vec<SourceFile>, at: usize) {
        self.inlined_at = frames.split_off((at + 1).min(frames.len()));
        self.source = frames.pop();
        self.inlined = frames;
    }

    /// All frames, the innermost first.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = &SourceFile> {
        self.inlined.iter().chain(&self.source).chain(&self.inlined_at)
    }

    /// Makes an operation and the branch before it ignore calls through which both were inlined:
    /// chooses the user's line of each inside of these calls.
    pub(crate) fn leave_shared_calls(&mut self, other: &mut Location) {
        let own: Vec<SourceFile> = self.frames().cloned().collect();
        let others: Vec<SourceFile> = other.frames().cloned().collect();
        let shared = own.iter().rev().zip(others.iter().rev()).take_while(|(a, b)| a == b).count();
        for (location, frames) in [(self, own), (other, others)] {
            let inner = frames.len().saturating_sub(shared).max(1);
            let at = frames.iter().take(inner).rposition(|frame| !frame.is_of_system());
            if let Some(at) = at {
                location.set(frames, at);
            }
        }
    }

    /// Chooses the innermost frame in one of these files; if there is none, nothing changes.
    pub(crate) fn look_into(&mut self, files: &[SourceFile]) {
        let is_near = |frame: &&SourceFile| files.iter().any(|other| other.file == frame.file);
        let at = self.frames().position(|frame| is_near(&frame));
        if let Some(at) = at {
            let frames = self.frames().cloned().collect();
            self.set(frames, at);
        }
    }

    /// The place of an instruction in the program that was compiled, without its place in the text
    /// of the module.
    #[must_use]
    pub fn in_program(module: &Module, function: usize, inst: InstId) -> Location {
        let view = module.functions[function].view();
        Location::of(view, (&module.metadata, &*module.context), None, inst)
    }

    /// The place of an instruction. Without `lines` its place in the text is left out.
    pub(crate) fn of(
        function: FunctionRef<'_>,
        (metadata, context): (&Metadata, &Context),
        lines: Option<&Lines<'_>>,
        inst: InstId,
    ) -> Location {
        let mut at = debug_location(function, metadata, context, inst);
        let mut places = Vec::new();
        let ir = lines.map(|lines| lines.inst(inst)).unwrap_or_default();
        while let Some(location) = at.filter(|_| places.len() < DEPTH) {
            let (frame, is_stub) = place(metadata, context, location);
            places.extend(frame);
            // Clang makes the function that calls the body of an OpenCL kernel; it is not user
            // code.
            if is_stub {
                break;
            }
            at = metadata.field(location, Field::InlinedAt).and_then(MetadataValue::as_node);
        }
        Location::new(ir, places)
    }
}

/// The debug location of an instruction. Clang leaves out those of accesses that it has made one of
/// several: then that of the first instruction of the block that reads what is loaded, or of the
/// address, or of what follows.
fn debug_location(
    function: FunctionRef<'_>,
    metadata: &Metadata,
    context: &Context,
    inst: InstId,
) -> Option<MetadataId> {
    let body = function.body;
    let of = |inst: InstId| {
        let mut attachments = function.extras.attachments_of(inst);
        attachments.find(|a| a.kind == kind::DBG).map(|a| a.node)
    };
    let has_line = |location: &MetadataId| {
        let line = metadata.field(*location, Field::Line);
        line.and_then(|line| line.as_int(context)).is_some_and(|line| line != 0)
    };
    let own = of(inst);
    let is_access = |opcode| {
        matches!(opcode, Opcode::Load | Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg)
    };
    if own.as_ref().is_some_and(has_line) || !is_access(body.inst(inst).opcode) {
        return own;
    }
    let behind = || std::iter::successors(body.next(inst), |&at| body.next(at));
    let reader = behind().find(|&at| body.operands(at).contains(&inst.into()));
    let address = body.operands(inst).iter().rev().find_map(|value| value.as_inst());
    let others = reader.into_iter().chain(address).chain(behind());
    others.filter_map(of).find(has_line).or(own)
}

/// A debug location, and whether it is in a function that clang made for the body of an OpenCL
/// kernel.
fn place(
    metadata: &Metadata,
    context: &Context,
    location: MetadataId,
) -> (Option<SourceFile>, bool) {
    let number = |field| {
        let value = metadata.field(location, field).and_then(|value| value.as_int(context));
        u32::try_from(value.unwrap_or(0)).unwrap_or(0)
    };
    let text = |node, field| {
        let symbol = metadata.field(node, field).and_then(MetadataValue::as_string);
        symbol.map(|symbol| context.text(symbol).into_owned()).unwrap_or_default()
    };
    let node = |at, field| metadata.field(at, field).and_then(MetadataValue::as_node);
    let mut place = SourceFile {
        line: number(Field::Line),
        column: number(Field::Column),
        ..SourceFile::default()
    };
    let mut at = Some(location);
    let mut is_stub = false;
    for _ in 0..DEPTH {
        let Some(scope) = at else { break };
        if let Some(file) = node(scope, Field::File).filter(|_| place.file.is_empty()) {
            let name = text(file, Field::Filename);
            place.file = name.trim_start_matches("./").to_owned();
            place.folder = text(file, Field::Directory);
            place.checksum = text(file, Field::Checksum);
        }
        if metadata.node_kind(scope) == NodeKind::Subprogram {
            place.function = text(scope, Field::Name);
            is_stub = text(scope, Field::LinkageName).starts_with(OPENCL_BODY);
            break;
        }
        at = node(scope, Field::Scope);
    }
    ((place.line != 0 && !place.file.is_empty()).then_some(place), is_stub)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use phalanx_llvm::parse_module;

    use super::*;

    const MODULE: &str = r#"
define i32 @f(ptr %p, i32 %n) !dbg !3 {
  %read = load i32, ptr %p
  %sum = add i32 %read, %n, !dbg !5
  %at = getelementptr i32, ptr %p, i32 %n, !dbg !6
  store i32 %sum, ptr %at, !dbg !7
  %other = xor i32 %sum, 1
  ret i32 %sum, !dbg !8
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!4}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.cu", directory: "/")
!2 = !DISubroutineType(types: !{null})
!3 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !2, spFlags: DISPFlagDefinition, unit: !0)
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DILocation(line: 5, column: 1, scope: !3)
!6 = !DILocation(line: 6, column: 1, scope: !3)
!7 = !DILocation(line: 0, scope: !3)
!8 = !DILocation(line: 8, column: 1, scope: !3)
"#;

    /// A load has the line of what reads it, a store that of its address; arithmetic has none.
    #[test]
    fn accesses_without_a_line() {
        let parsed = parse_module(Arc::new(Context::new()), MODULE.as_bytes());
        let module = parsed.unwrap_or_else(|error| panic!("{error}")).module;
        let body = &module.functions[0].body;
        let line = |inst| Location::in_program(&module, 0, inst).source.map(|place| place.line);
        let lines: Vec<Option<u32>> = body.all_ids().map(line).collect();
        assert_eq!(lines, [Some(5), Some(5), Some(6), Some(6), None, Some(8)]);
    }
}
