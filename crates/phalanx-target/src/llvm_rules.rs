//! What LLVM 22's uniformity analysis assumes, instruction by instruction.
//!
//! # What
//!
//! LLVM asks the target about every instruction and argument: is it *always uniform*, *never
//! uniform*, or as uniform as its operands ([`LlvmUniformity`])? These functions give the answers
//! of LLVM 22.1, so that its output can be reproduced. They were determined by running `opt` on
//! probes, and tests compare them with `opt`. They say what LLVM says, which is not always true.
//! Known differences from the truth:
//!
//! * `nodivergencesource` makes a call always uniform, also with divergent operands.
//! * `read_volatile_register` and the results of `callbr` assembly count as uniform if their
//!   operands are.
//! * The AMDGPU rules for shifted and masked thread ids are not checked against the launch when a
//!   workgroup has one dimension (they are sound there). Otherwise they demand powers of two,
//!   although multiples of the wave width would do.
//! * On NVPTX every call is a source of divergence, even `llvm.assume`.
//!
//! What Phalanx assumes instead is in [`transfer`](crate::transfer) and
//! [`address_space`](crate::address_space).

use crate::intrinsics::{self, Family, Intrinsic, LlvmUniformity};
use crate::target::Architecture;

/// The function called by a call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee<'a> {
    /// A function by name (without the `@`); intrinsics are recognised.
    Function(&'a str),
    /// A function pointer.
    Indirect,
}

/// A call. `no_divergence_source` is the attribute `nodivergencesource`, on the call or on the
/// function.
///
/// Not for inline assembly ([`inline_asm`](crate::inline_asm)), nor for thread ids
/// ([`workitem_id`]) and `llvm.read_register` ([`read_register`]), which depend on more.
#[must_use]
pub fn call(
    architecture: Architecture,
    callee: Callee<'_>,
    no_divergence_source: bool,
) -> LlvmUniformity {
    let found = match callee {
        Callee::Function(name) if architecture == Architecture::Amdgcn => intrinsics::lookup(name),
        _ => None,
    };
    call_of(architecture, callee, found.as_ref(), no_divergence_source)
}

/// As [`call`], for callers that have looked up the callee in the tables of intrinsics already:
/// `found` is the result of the lookup.
#[must_use]
pub fn call_of(
    architecture: Architecture,
    callee: Callee<'_>,
    found: Option<&Intrinsic>,
    no_divergence_source: bool,
) -> LlvmUniformity {
    match architecture {
        Architecture::Amdgcn | Architecture::Nvptx if no_divergence_source => {
            LlvmUniformity::AlwaysUniform
        }
        Architecture::Nvptx => LlvmUniformity::NeverUniform,
        Architecture::Amdgcn => match callee {
            Callee::Function(name) if intrinsics::is_intrinsic_name(name) => {
                // A name that LLVM does not know still counts as an intrinsic, one without special
                // rules.
                found.map_or(LlvmUniformity::Default, |found| found.info.llvm)
            }
            Callee::Function(_) | Callee::Indirect => LlvmUniformity::NeverUniform,
        },
        Architecture::R600
        | Architecture::Spirv
        | Architecture::Generic
        | Architecture::Described(_) => LlvmUniformity::Default,
    }
}

/// Result `index` taken out of a call of an intrinsic that returns a struct, where LLVM knows more
/// than about the call: the second result of `llvm.amdgcn.if` and `llvm.amdgcn.else` is a mask of
/// lanes.
#[must_use]
pub fn extracted_result(architecture: Architecture, callee: &str, index: usize) -> LlvmUniformity {
    let found = intrinsics::lookup(callee).filter(|_| architecture == Architecture::Amdgcn);
    match found {
        Some(found)
            if found.family == Family::Amdgcn
                && matches!(found.base, "if" | "else")
                && index == 1 =>
        {
            LlvmUniformity::AlwaysUniform
        }
        _ => LlvmUniformity::Default,
    }
}

/// A load, atomic or not: divergent from private and generic memory, else as uniform as the
/// address.
#[must_use]
pub fn load(architecture: Architecture, address_space: u32) -> LlvmUniformity {
    match (architecture, address_space) {
        (Architecture::Amdgcn | Architecture::Nvptx, 0 | 5) => LlvmUniformity::NeverUniform,
        _ => LlvmUniformity::Default,
    }
}

/// An `atomicrmw` or `cmpxchg`.
#[must_use]
pub fn atomic_read_modify_write(architecture: Architecture) -> LlvmUniformity {
    match architecture {
        Architecture::Amdgcn | Architecture::Nvptx => LlvmUniformity::NeverUniform,
        _ => LlvmUniformity::Default,
    }
}

/// A `fence` or an atomic `store`. They have no value, but LLVM prints them as divergent on NVPTX.
#[must_use]
pub fn fence_or_atomic_store(architecture: Architecture) -> LlvmUniformity {
    match architecture {
        Architecture::Nvptx => LlvmUniformity::NeverUniform,
        _ => LlvmUniformity::Default,
    }
}

/// `llvm.read_register` of the register called `name`: divergent if that is a vector register of an
/// AMD GPU, which LLVM decides by the first letter.
#[must_use]
pub fn read_register(architecture: Architecture, name: &str) -> LlvmUniformity {
    match architecture {
        Architecture::Nvptx => LlvmUniformity::NeverUniform,
        Architecture::Amdgcn if is_vector_register(name) => LlvmUniformity::NeverUniform,
        _ => LlvmUniformity::Default,
    }
}

fn is_vector_register(name: &str) -> bool {
    name.starts_with(['v', 'a']) && !name.starts_with("vcc")
}

/// What LLVM knows of an AMDGPU workgroup: `!reqd_work_group_size` and
/// `"amdgpu-flat-work-group-size"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AmdgpuWorkgroup {
    /// The three operands of the metadata.
    pub required: Option<[u32; 3]>,
    /// The larger of the two numbers of the attribute.
    pub max_flat_size: Option<u32>,
    /// Threads per wave.
    pub wave_width: u32,
}

impl AmdgpuWorkgroup {
    /// Whether a workgroup has one thread. Then LLVM calls the whole function uniform, arguments
    /// included.
    #[must_use]
    pub fn is_single_thread(&self) -> bool {
        match self.required {
            Some(required) => required == [1, 1, 1],
            None => self.max_flat_size == Some(1),
        }
    }

    fn is_one_dimensional(&self) -> bool {
        self.required.is_some_and(|[_, y, z]| y <= 1 && z <= 1)
    }

    /// Whether consecutive lanes have consecutive `x`, so that aligned powers of two of the linear
    /// thread number are aligned in `x`.
    fn lanes_follow_x(&self) -> bool {
        self.is_one_dimensional() || self.required.is_some_and(|[x, ..]| x.is_power_of_two())
    }

    /// Whether rows along `x` consist of whole waves.
    fn rows_are_whole_waves(&self) -> bool {
        self.is_one_dimensional()
            || self.required.is_some_and(|[x, ..]| x.is_power_of_two() && x >= self.wave_width)
    }
}

/// `llvm.amdgcn.workitem.id.{x,y,z}`, dimension 0, 1, 2: divergent, except that `y` and `z` are
/// uniform in waves when rows consist of whole waves or the extent is one.
#[must_use]
pub fn workitem_id(dimension: usize, workgroup: &AmdgpuWorkgroup) -> LlvmUniformity {
    let extent = workgroup.required.and_then(|required| required.get(dimension).copied());
    if dimension > 0 && (workgroup.rows_are_whole_waves() || extent == Some(1)) {
        LlvmUniformity::Default
    } else {
        LlvmUniformity::NeverUniform
    }
}

/// `lshr` or `ashr` of `llvm.amdgcn.workitem.id.x()` itself by the constant `amount`: always
/// uniform if that removes the bits of the lane number. Amounts beyond the width of the type count
/// as large.
#[must_use]
pub fn shifted_workitem_id_x(amount: u64, workgroup: &AmdgpuWorkgroup) -> LlvmUniformity {
    let lane_bits = u64::from(workgroup.wave_width.max(1).ilog2());
    if amount >= lane_bits && workgroup.lanes_follow_x() {
        LlvmUniformity::AlwaysUniform
    } else {
        LlvmUniformity::Default
    }
}

/// `and` of `llvm.amdgcn.workitem.id.x()` itself, on either side, with a value known to end in
/// `trailing_zeros` zero bits (LLVM computes known bits of it; a constant of zero has as many as
/// the type has bits).
#[must_use]
pub fn masked_workitem_id_x(trailing_zeros: u32, workgroup: &AmdgpuWorkgroup) -> LlvmUniformity {
    shifted_workitem_id_x(u64::from(trailing_zeros), workgroup)
}
