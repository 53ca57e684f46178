//! What a call does besides computing a result.
//!
//! One pass over the instructions, with the known effects of callees. All effects are upper bounds.
//!
//! Effects on memory are classified in two ways. First, by LLVM's *locations* (`memory(argmem:
//! read)`): memory of arguments, memory that the program cannot address, and the rest. The scan
//! follows an address up to its base: accesses of the function's own frame do not count, a variable
//! of the module is not memory of an argument, and an unknown pointer may be either. Second, by
//! *space*: the kinds of address spaces that are read and written ([`Spaces`]).

use phalanx_graph::Cycles;
use phalanx_ir::{
    InstData, InstId, Opcode, TypeKind, Value, ValueKind,
    attributes::{Access, AttrKind, MemoryEffects, MemoryLocation},
    constant::ConstKind,
    inst::{InstFlags, Ordering},
};
use phalanx_target::{
    Architecture,
    address_space::{AddressSpace, SpaceKind},
    intrinsics::{Intrinsic, Location},
};

use crate::code::{
    Code, Environment,
    calls::{Effects, Spaces},
    read_assembly,
};
use crate::memory::order::acquires;

impl Effects {
    /// What one instruction of a function does.
    pub(super) fn at(code: Code<'_>, env: Environment<'_>, inst: InstId) -> Effects {
        let mut effects = Scan { code, env }.inst(inst);
        // Decided for the instruction as a whole, not by the scan.
        effects.acquires = acquires(code, env, inst);
        let opcode = code.body.inst(inst).opcode;
        // `unreachable` is never executed, so it does not count here. An instruction that never
        // returns before it does.
        let goes_on =
            matches!(opcode, Opcode::Ret | Opcode::Br | Opcode::Switch | Opcode::Unreachable);
        effects.may_not_return |= opcode.is_terminator() && !goes_on;
        effects
    }

    /// The effects of a function, from those of its instructions.
    pub(super) fn of(
        code: Code<'_>,
        cycles: &Cycles,
        insts: impl Iterator<Item = Effects>,
    ) -> Effects {
        let rounds = Effects { may_not_return: !cycles.is_empty(), ..Effects::NONE };
        let mut all = insts.fold(rounds, Effects::union);
        let attributes = code.context.function_attrs(code.header.attributes);
        if attributes.has(AttrKind::WillReturn) && attributes.has(AttrKind::NoUnwind) {
            all.may_not_return = false;
        }
        all.within(attributes.memory().unwrap_or(MemoryEffects::UNKNOWN))
    }
}

/// The base of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    /// The function's own frame.
    Own,
    /// Memory of an argument.
    Argument,
    /// A variable of the module.
    Variable,
    Unknown,
}

struct Scan<'a> {
    code: Code<'a>,
    env: Environment<'a>,
}

impl Scan<'_> {
    fn inst(&self, inst: InstId) -> Effects {
        let (body, data) = (self.code.body, self.code.body.inst(inst));
        let operands = body.operands(inst);
        match data.opcode {
            Opcode::Load => self.access(data, operands[0], Access::Read),
            Opcode::Store => self.access(data, operands[1], Access::Write),
            Opcode::AtomicRmw | Opcode::CmpXchg => {
                self.access(data, operands[0], Access::ReadWrite)
            }
            Opcode::Fence | Opcode::VaArg => Effects {
                convergent: false,
                barrier: false,
                may_not_return: false,
                ..Effects::UNKNOWN
            },
            opcode if opcode.is_call() => self.call(inst),
            _ => Effects::NONE,
        }
    }

    fn access(&self, data: &InstData, address: Value, access: Access) -> Effects {
        let ordering = data.mem().ordering();
        let is_volatile = data.flags.contains(InstFlags::VOLATILE);
        match ordering {
            Ordering::NotAtomic | Ordering::Unordered if !is_volatile => self.at(address, access),
            // The result depends on when it is executed, so two such accesses cannot be merged.
            // LLVM counts it as a read and a write.
            Ordering::Monotonic if !is_volatile => self.at(address, Access::ReadWrite),
            // An ordered access makes writes of other threads visible, and a volatile one may have
            // any effect.
            _ => Effects { reads: Spaces::ALL, writes: Spaces::ALL, ..Effects::NONE }
                .touching(MemoryEffects::UNKNOWN),
        }
    }

    /// The effects of an access at an address.
    fn at(&self, address: Value, access: Access) -> Effects {
        let memory = match self.base(address) {
            Base::Own => return Effects::NONE,
            Base::Argument => MemoryEffects::only(MemoryLocation::ArgMem, access),
            Base::Variable => MemoryEffects::only(MemoryLocation::Other, access)
                .with(MemoryLocation::ErrnoMem, access),
            Base::Unknown => MemoryEffects::all(access)
                .with(MemoryLocation::InaccessibleMem, Access::None)
                .with(MemoryLocation::TargetMem0, Access::None)
                .with(MemoryLocation::TargetMem1, Access::None),
        };
        let spaces = self.spaces(address);
        let constant = Spaces::of(SpaceKind::Constant);
        // Constant memory is not written while a kernel runs, so reading it is no effect, as in
        // LLVM.
        if !access.writes() && spaces == constant {
            return Effects::NONE;
        }
        let mut effects = Effects::NONE.touching(memory);
        effects.reads = if access.reads() { spaces } else { Spaces::NONE };
        effects.writes = if access.writes() { spaces } else { Spaces::NONE };
        effects
    }

    fn spaces(&self, address: Value) -> Spaces {
        let ty = match address.kind() {
            ValueKind::Inst(inst) => self.code.body.inst(inst).ty,
            ValueKind::Arg(position) => self.code.header.params[position as usize],
            ValueKind::Const(constant) => self.code.context.const_data(constant).ty,
            _ => return Spaces::ALL,
        };
        let context = self.code.context;
        let number = match context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space(),
            kind => kind.address_space(),
        };
        let architecture = self.env.target.architecture();
        number.map_or(Spaces::ALL, |n| Spaces::of(AddressSpace::of(architecture, n).kind()))
    }

    /// The base of an address, up to a bounded number of steps.
    fn base(&self, mut address: Value) -> Base {
        for _ in 0..32 {
            match address.kind() {
                ValueKind::Arg(_) => return Base::Argument,
                ValueKind::Inst(inst) => match self.code.body.inst(inst).opcode {
                    Opcode::Alloca => return Base::Own,
                    Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast => {
                        address = self.code.body.operands(inst)[0];
                    }
                    _ => return Base::Unknown,
                },
                ValueKind::Const(constant) => {
                    return match self.code.context.const_data(constant).kind {
                        ConstKind::Global(_) => Base::Variable,
                        _ => Base::Unknown,
                    };
                }
                _ => return Base::Unknown,
            }
        }
        Base::Unknown
    }

    fn call(&self, call: InstId) -> Effects {
        let (context, body) = (self.code.context, self.code.body);
        let info = body.call_info(call);
        let site = context.function_attrs(info.attributes);
        let promised = site.memory().unwrap_or(MemoryEffects::UNKNOWN);
        let control = context.find_symbol(b"convergencectrl");
        let of_callee = match body.const_callee(call).map(|c| &context.const_data(c).kind) {
            Some(&ConstKind::Global(name)) => match self.code.called_intrinsic(call) {
                Some(found) => Some(self.intrinsic_call(call, found)),
                None => {
                    self.env.calls.summary(name).filter(|s| s.ty == Some(info.function_type)).map(
                        |summary| {
                            let mut effects = self.seen_from_here(call, summary.effects);
                            // A summary from code overrides the attribute of the call. That
                            // attribute overrides a summary from attributes.
                            effects.convergent |=
                                !summary.is_from_code && site.has(AttrKind::Convergent);
                            effects
                        },
                    )
                }
            },
            Some(ConstKind::InlineAsm(asm)) => {
                let architecture = self.env.target.architecture();
                let read = read_assembly(self.code, asm, architecture);
                let mut effects = Effects::of_attributes(site);
                effects.convergent |= read.convergent;
                // Assembly that the parser understands has no hidden barriers.
                let is_read = matches!(architecture, Architecture::Amdgcn | Architecture::Nvptx);
                effects.barrier &= !is_read || read.may_hide_barrier();
                if read.has_barrier() {
                    // The barrier orders memory accesses, whatever the call promises.
                    return Effects { convergent: true, ..Effects::UNKNOWN };
                }
                Some(effects)
            }
            _ => None,
        };
        let mut effects =
            of_callee.unwrap_or_else(|| Effects::of_attributes(site)).within(promised);
        if info.bundles.iter().any(|&(tag, _)| Some(tag) != control) {
            effects = Effects { convergent: effects.convergent, ..Effects::UNKNOWN };
        }
        let args = body.call_args(call).iter().enumerate();
        for (position, &arg) in args {
            let attributes = context.param_attrs(info.attributes, position);
            // The call copies the memory that a `byval` argument points to.
            if attributes.has(AttrKind::ByVal) {
                effects = effects.union(self.at(arg, Access::Read));
            }
        }
        effects
    }

    fn intrinsic_call(&self, call: InstId, intrinsic: Intrinsic) -> Effects {
        let info = intrinsic.info;
        let (reads, writes) = (info.memory.reads, info.memory.writes);
        let access = Access::from_number(u8::from(reads) | u8::from(writes) << 1);
        let arguments = MemoryEffects::only(MemoryLocation::ArgMem, access);
        let inaccessible = MemoryEffects::only(MemoryLocation::InaccessibleMem, access);
        let memory = match info.memory.location {
            _ if self.is_volatile(call, intrinsic) => MemoryEffects::UNKNOWN,
            // A barrier orders memory accesses, whatever it accesses itself.
            _ if info.barrier.is_some() => MemoryEffects::UNKNOWN,
            _ if info.memory.is_none() => MemoryEffects::NONE,
            Location::None => MemoryEffects::NONE,
            Location::Argument => arguments,
            Location::Inaccessible => inaccessible,
            Location::ArgumentOrInaccessible => arguments.union(inaccessible),
            Location::Any => MemoryEffects::all(access),
        };
        let of_any = |any: bool| if any { Spaces::ALL } else { Spaces::NONE };
        let effects = Effects {
            convergent: info.convergent,
            barrier: info.barrier.is_some(),
            memory,
            reads: of_any(!memory.only_writes() && !memory.only_inaccessible()),
            writes: of_any(!memory.only_reads() && !memory.only_inaccessible()),
            may_not_return: !info.willreturn || info.barrier.is_some(),
            acquires: false,
        };
        self.seen_from_here(call, effects)
    }

    /// Whether a call is a volatile `memcpy`, `memmove` or `memset`.
    fn is_volatile(&self, call: InstId, intrinsic: Intrinsic) -> bool {
        let flag = self.code.body.call_args(call).last().filter(|_| {
            ["memcpy", "memmove", "memset"].iter().any(|name| intrinsic.base.starts_with(name))
        });
        flag.and_then(|flag| flag.as_const())
            .is_some_and(|flag| flag == self.code.context.const_bool(true))
    }

    /// Translates the effects of a callee to the caller. Its argument memory is the memory that the
    /// arguments of this call point to. Other memory that it accesses may be memory of the caller's
    /// arguments.
    fn seen_from_here(&self, call: InstId, effects: Effects) -> Effects {
        let (of_arguments, elsewhere) = [MemoryLocation::ArgMem, MemoryLocation::Other]
            .map(|l| effects.memory.access(l))
            .into();
        let memory = effects.memory.with(MemoryLocation::ArgMem, elsewhere);
        let mut seen = Effects { memory, ..effects };
        if memory.is_none() || memory.only_inaccessible() {
            (seen.reads, seen.writes) = (Spaces::NONE, Spaces::NONE);
        }
        if of_arguments != Access::None {
            let args = self.code.body.call_args(call).iter();
            for &arg in args.filter(|arg| self.is_pointer(**arg)) {
                seen = seen.union(self.at(arg, of_arguments));
            }
        }
        seen
    }

    fn is_pointer(&self, value: Value) -> bool {
        let context = self.code.context;
        let ty = match value.kind() {
            ValueKind::Inst(inst) => self.code.body.inst(inst).ty,
            ValueKind::Arg(position) => self.code.header.params[position as usize],
            ValueKind::Const(constant) => context.const_data(constant).ty,
            _ => return false,
        };
        match context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space().is_some(),
            kind => kind.address_space().is_some(),
        }
    }
}
