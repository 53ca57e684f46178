//! What is known of functions by their names alone: library functions that a module only declares,
//! and kernels that functions of the module call.
//!
//! # What
//!
//! A [`Library`] holds both for one module: `get_local_id`, `barrier`, `__nv_sinf` and the like,
//! with what [`phalanx_target::library`] says of each. A function that the module defines is never
//! among them: its code says what it does. Analyses look up a callee with [`Code::intrinsic`],
//! which finds intrinsics and these functions.
//!
//! ```text
//! declare i64 @_Z12get_local_idj(i32)      ; known: the coordinate of the thread along a dimension
//! define void @_Z7barrierj(i32 %f) { ... } ; not known by name: the code counts
//! ```
//!
//! A kernel that functions of the module call is treated as a function as well ([`Code::entry`]):
//! it may be passed other things than at a launch, by threads of any launch.
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

/// What is known of functions by name. See the [module documentation](self).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Library {
    known: FxHashMap<GlobalName, Intrinsic>,
    called_kernels: FxHashSet<GlobalName>,
    /// Address spaces of SPIR-V's built-in variables, which tell a thread where it is. Sorted.
    built_in_spaces: Vec<AddressSpace>,
}

impl Library {
    /// A library in which only intrinsics are known by name.
    pub const NONE: &'static Library = &Library {
        known: FxHashMap::with_hasher(FxBuildHasher),
        called_kernels: FxHashSet::with_hasher(FxBuildHasher),
        built_in_spaces: Vec::new(),
    };

    /// The known functions among those that a module declares, for a module compiled from
    /// `language`. What the driver's `extension` says of a function takes precedence.
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

    /// The same library, with the kernels that functions of the module call.
    #[must_use]
    pub fn with_called_kernels(self, called_kernels: FxHashSet<GlobalName>) -> Library {
        Library { called_kernels, ..self }
    }

    /// The same library, for a module whose SPIR-V built-in variables are in these address spaces.
    #[must_use]
    pub fn with_built_in_spaces(self, spaces: impl Iterator<Item = AddressSpace>) -> Library {
        Library { built_in_spaces: spaces.collect(), ..self }
    }

    /// Whether equal addresses of a space can be different memory in different threads. That is so
    /// for the addresses of [built-in variables](library::built_in_variable), whichever space
    /// declares them.
    pub(crate) fn may_be_private(&self, space: AddressSpace, in_kernel: bool) -> bool {
        space.may_be_private(in_kernel)
            || self.built_in_spaces.iter().any(|&variable| space.contains(variable))
    }

    /// Whether a kernel of this name is called by functions of the module.
    #[must_use]
    pub fn is_called_kernel(&self, name: GlobalName) -> bool {
        self.called_kernels.contains(&name)
    }

    /// What is known of the function of this name.
    #[must_use]
    pub fn get(&self, name: GlobalName) -> Option<Intrinsic> {
        self.known.get(&name).copied()
    }
}

impl Code<'_> {
    /// How threads come to the function. A kernel that is called counts as a function: what holds
    /// for calls holds for launches, too.
    #[must_use]
    pub fn entry(&self, architecture: Architecture) -> Entry {
        match self.library.is_called_kernel(self.header.name) {
            true => Entry::Call,
            false => calling_convention::entry(self.header.call_conv, architecture),
        }
    }

    /// The intrinsic or library function of this name.
    #[must_use]
    pub fn intrinsic(&self, name: GlobalName) -> Option<Intrinsic> {
        let bytes = self.context.bytes(name.symbol()?);
        intrinsics::lookup(bytes).or_else(|| self.library.get(name))
    }

    /// The intrinsic or library function that a call names. SPIR-V's barriers differ by an
    /// argument, which this looks at.
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

/// If an address is that of a SPIR-V built-in variable (`__spirv_BuiltInGlobalInvocationId`): the
/// sources of what the variable holds. It is constant for each thread, but differs between threads.
pub(crate) fn held(code: Code<'_>, address: Const) -> Option<SourceSet> {
    let mut address = address;
    // Expressions this deep do not come from compilers; nothing is known of them.
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

/// The depth to which constant expressions are looked into.
const MAX_DEPTH: usize = 16;
