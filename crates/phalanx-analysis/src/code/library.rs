//! What names of functions say: of those that a module only declares and that are known by name all
//! the same, and of kernels that are called.
//!
//! # What
//!
//! A [`Library`] holds them for one module: `get_local_id`, `barrier`, `__nv_sinf` and the like,
//! with what [`phalanx_target::library`] says of each. A function that the module defines is never
//! among them: its code says what it does. [`Code::intrinsic`] is how analyses ask who is called:
//! it knows intrinsics and these.
//!
//! ```text
//! declare i64 @_Z12get_local_idj(i32)      ; known: the coordinate of the thread along a dimension
//! define void @_Z7barrierj(i32 %f) { ... } ; not: whatever stands there is done
//! ```
//!
//! A kernel that functions of the module call is a function as well ([`Code::entry`]): other things
//! are passed to it than at a launch, by threads of whichever launch.
//!
//! # Cost
//!
//! O(declarations) to make one; a lookup is one hash.

use phalanx_ir::{Const, Context, GlobalName, InstId, constant::ConstKind};
use phalanx_target::{
    Architecture, Intrinsic, SourceSet,
    address_space::AddressSpace,
    calling_convention::{self, Entry},
    intrinsics,
    library::{self, Extension, Language},
};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::Code;

/// See the [module documentation](self).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Library {
    known: FxHashMap<GlobalName, Intrinsic>,
    called_kernels: FxHashSet<GlobalName>,
    /// Address spaces of SPIR-V's variables that tell a thread where it is, sorted.
    built_in_spaces: Vec<AddressSpace>,
}

impl Library {
    /// Nothing is known by name but intrinsics.
    pub const NONE: &'static Library = &Library {
        known: FxHashMap::with_hasher(FxBuildHasher),
        called_kernels: FxHashSet::with_hasher(FxBuildHasher),
        built_in_spaces: Vec::new(),
    };

    /// Those among functions that a module declares which was written in a language; what the
    /// driver says of one comes first.
    #[must_use]
    pub fn new(
        context: &Context,
        (architecture, language): (Architecture, Language),
        extension: Extension,
        declared: impl Iterator<Item = GlobalName>,
    ) -> Library {
        let find = |name: GlobalName| {
            let bytes = context.bytes(name.symbol()?);
            if intrinsics::is_intrinsic_name(bytes) {
                return None;
            }
            let found = extension.find(bytes);
            Some((name, found.or_else(|| library::find(bytes, architecture, language))?))
        };
        Library { known: declared.filter_map(find).collect(), ..Library::default() }
    }

    /// The same, with the kernels that functions of the module call.
    #[must_use]
    pub fn with_called_kernels(self, called_kernels: FxHashSet<GlobalName>) -> Library {
        Library { called_kernels, ..self }
    }

    /// The same, where SPIR-V's variables that tell a thread where it is are in these address
    /// spaces.
    #[must_use]
    pub fn with_built_in_spaces(self, spaces: impl Iterator<Item = AddressSpace>) -> Library {
        Library { built_in_spaces: spaces.collect(), ..self }
    }

    /// Whether equal addresses of a space can be different memory in different threads. Such are
    /// the addresses of [variables that tell a thread where it is](library::built_in_variable),
    /// whichever space these are declared in.
    pub(crate) fn may_be_private(&self, space: AddressSpace, in_kernel: bool) -> bool {
        space.may_be_private(in_kernel)
            || self.built_in_spaces.iter().any(|&variable| space.contains(variable))
    }

    /// Whether a kernel of this name is called by functions of the module.
    #[must_use]
    pub fn is_called_kernel(&self, name: GlobalName) -> bool {
        self.called_kernels.contains(&name)
    }

    /// What is known of a function that is called so.
    #[must_use]
    pub fn get(&self, name: GlobalName) -> Option<Intrinsic> {
        self.known.get(&name).copied()
    }
}

impl Code<'_> {
    /// How threads come to the function. A kernel that is called counts as a function: whatever
    /// holds of that holds of launches.
    #[must_use]
    pub fn entry(&self, architecture: Architecture) -> Entry {
        match self.library.is_called_kernel(self.header.name) {
            true => Entry::Call,
            false => calling_convention::entry(self.header.call_conv, architecture),
        }
    }

    /// The intrinsic or function of a library that has a name.
    #[must_use]
    pub fn intrinsic(&self, name: GlobalName) -> Option<Intrinsic> {
        let bytes = self.context.bytes(name.symbol()?);
        intrinsics::lookup(bytes).or_else(|| self.library.get(name))
    }

    /// The intrinsic or function of a library that a call names. SPIR-V's barriers are told apart
    /// by an argument, which this looks at.
    #[must_use]
    pub fn called_intrinsic(&self, call: InstId) -> Option<Intrinsic> {
        let callee = self.body.const_callee(call)?;
        let ConstKind::Global(name) = self.context.const_data(callee).kind else { return None };
        let found = self.intrinsic(name)?;
        if found.base != library::CONTROL_BARRIER {
            return Some(found);
        }
        let scope = self.body.call_args(call).first().and_then(|scope| scope.as_const());
        let scope = scope.and_then(|scope| match &self.context.const_data(scope).kind {
            ConstKind::Int(scope) => scope.to_u64(),
            _ => None,
        });
        Some(library::with_scope(found, scope))
    }
}

/// The sources of what a variable holds that an address leads to, if it is one of SPIR-V's that
/// tell a thread where it is (`__spirv_BuiltInGlobalInvocationId`): a constant for each thread, and
/// not for all of them.
pub(crate) fn held(code: Code<'_>, address: Const) -> Option<SourceSet> {
    let mut address = address;
    // Expressions are deep only where somebody has made them so; nothing is known of these.
    for _ in 0..MAX_DEPTH {
        let kind = &code.context.const_data(address).kind;
        if let Some(name) = kind.entity() {
            let variable = library::built_in_variable(code.context.bytes(name.symbol()?));
            return variable.map(|variable| variable.info.result.built_in());
        }
        address = *kind.parts().first()?;
    }
    Some(SourceSet::OPAQUE_THREAD)
}

/// How deep constant expressions are looked into.
const MAX_DEPTH: usize = 16;
