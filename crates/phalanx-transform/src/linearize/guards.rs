//! Decides how to guard an instruction, so that it has no effect in threads that do not take part
//! in its block.
//!
//! | instruction | guard |
//! |---|---|
//! | may be executed anywhere | none; attributes of the result of a call are removed if they may cause undefined behaviour |
//! | division | threads that do not take part divide by 1; with one signed bit the only divisor is -1, and they divide 0 by it |
//! | load of an object that is there for the whole function | none |
//! | store to a stack slot that is read and written as a whole only | such a thread stores what the slot holds |
//! | other load or store, neither volatile nor atomic | such a thread accesses a stack slot of its own in place of the address |
//! | `memcpy`, `memmove`, `memset` | such a thread passes a length of 0 |
//! | `assume` | such a thread assumes `true` |
//! | `lifetime.start`, `lifetime.end` | erased: the object lives as long as the function |
//!
//! Metadata about the loaded or stored value, or about aliases, holds only for the threads that
//! take part, so it is removed. A guard never writes back to shared memory what it read from there:
//! that could overwrite a write of another thread in between.
//!
//! A stack slot is private. If the address is in another space, both are cast to the generic space
//! that contains both.

use phalanx_analysis::code::{TypeLayout, TypeSizes};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{
    BlockId, ConstKind, InstFlags, InstId, Opcode, Type, TypeKind, Value, ValueKind,
    module::GlobalIndex,
};
use phalanx_target::{AddressSpace, Architecture, Intrinsic, intrinsics::Family};
use smallvec::SmallVec;

use super::Refusal;
use crate::{code::Code, memory::is_there};

/// See the [module documentation](self).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Guard {
    /// Metadata about the value is removed.
    Plain,
    /// Attributes of a call that hold for its former executions only are removed; the call may be
    /// executed anywhere.
    Claims,
    /// The divisor is selected; the dividend, too, if no divisor is safe for all.
    Divisor,
    /// The address is selected, in `space` if that is not the space of the access.
    Address { space: Option<u32>, align: u64 },
    /// The old value is stored again.
    Blend,
    /// The length is selected.
    Length,
    /// The condition is selected.
    Assumption,
    /// The instruction is erased.
    Erase,
}

/// Chooses guards for the instructions of one function.
pub(super) struct Guards<'a> {
    db: &'a Database,
    function: FunctionInput,
    code: Code<'a>,
    sizes: TypeSizes<'a>,
    layout: &'a TypeLayout,
    architecture: Architecture,
    /// Whether generic addresses may access private memory.
    has_generic_slots: bool,
}

/// How one instruction is handled.
#[derive(Default)]
pub(super) struct Decision {
    pub(super) guard: Option<Guard>,
    /// Lifetime markers of the accessed object, to be erased.
    pub(super) markers: Vec<InstId>,
}

/// Attributes by which an AMD GPU kernel says that it lacks what generic addresses of private
/// memory need.
const NO_FLAT: [&str; 2] = ["amdgpu-no-flat-scratch-init", "amdgpu-no-queue-ptr"];

impl<'a> Guards<'a> {
    pub(super) fn new(db: &'a Database, function: FunctionInput) -> Self {
        let module = function.module(db);
        let code = Code::of(db, function);
        let layout = queries::type_layout(db, module);
        let attributes = code.header.attributes;
        let says = |name: &str| code.context.function_attr_text(attributes, name).is_some();
        Guards {
            db,
            function,
            code,
            sizes: TypeSizes::new(code.context, layout),
            layout,
            architecture: queries::target(db, module).architecture(),
            has_generic_slots: !NO_FLAT.into_iter().any(says),
        }
    }

    /// Where `alloca` puts objects.
    pub(super) fn slot_space(&self) -> u32 {
        match self.architecture {
            Architecture::Amdgcn | Architecture::R600 => 5,
            _ => self.layout.data_layout().alloca_space(),
        }
    }

    /// Chooses the guard of an instruction of a region. `masked` are the blocks of the region that
    /// some threads do not execute.
    ///
    /// # Errors
    /// Why the instruction cannot be guarded.
    pub(super) fn decide(&mut self, inst: InstId, masked: &[BlockId]) -> Result<Decision, Refusal> {
        let code = self.code;
        let data = code.body.inst(inst);
        let plain = |guard| Ok(Decision { guard, ..Decision::default() });
        if code.is_convergent(inst) {
            return Err(Refusal::Convergent { inst });
        }
        match data.opcode {
            Opcode::Phi if matches!(code.context.type_kind(data.ty), TypeKind::Token) => {
                Err(Refusal::Unsupported { inst })
            }
            Opcode::Phi => plain(None),
            Opcode::Call if code.is_speculatable(inst) => plain(Some(Guard::Claims)),
            _ if code.is_speculatable(inst) => plain(None),
            Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem => {
                plain(Some(Guard::Divisor))
            }
            Opcode::Load | Opcode::Store if code.has_order(inst) => Err(Refusal::Ordered { inst }),
            Opcode::Load => {
                let address = code.body.operands(inst)[0];
                self.access(inst, address, data.ty, masked)
            }
            Opcode::Store => {
                let operands = code.body.operands(inst);
                self.access(inst, operands[1], code.type_of(operands[0]), masked)
            }
            Opcode::AtomicRmw | Opcode::CmpXchg | Opcode::Fence => Err(Refusal::Ordered { inst }),
            Opcode::Call => self.call(inst),
            _ => Err(Refusal::Unsupported { inst }),
        }
    }

    fn access(
        &mut self,
        inst: InstId,
        address: Value,
        ty: Type,
        masked: &[BlockId],
    ) -> Result<Decision, Refusal> {
        let is_load = self.code.body.inst(inst).opcode == Opcode::Load;
        let own = self.code.body.inst(inst).mem().align();
        let natural = self.layout.data_layout().abi_align(self.code.context, self.layout, ty);
        let (Some(align), Some(size)) = (own.or(natural), self.sizes.store_size(ty)) else {
            return Err(Refusal::Unsupported { inst });
        };
        if is_load && let Some(markers) = self.is_readable(address, size, align, masked) {
            return Ok(Decision { guard: Some(Guard::Plain), markers });
        }
        if !is_load && let Some(markers) = self.is_variable(address, ty) {
            return Ok(Decision { guard: Some(Guard::Blend), markers });
        }
        let place = self.code.type_of(address);
        let TypeKind::Ptr(space) = *self.code.context.type_kind(place) else {
            return Err(Refusal::Unsupported { inst });
        };
        let slot = self.slot_space();
        let space = match space == slot {
            true => None,
            false => Some(self.generic(space, slot).ok_or(Refusal::NoSlot { inst })?),
        };
        let guard = Some(Guard::Address { space, align });
        Ok(Decision { guard, ..Decision::default() })
    }

    /// A space that contains two others.
    fn generic(&self, one: u32, other: u32) -> Option<u32> {
        let generic = match self.architecture {
            Architecture::Spirv => 4,
            _ => 0,
        };
        let space = |number| AddressSpace::of(self.architecture, number);
        let contains = |inner| space(generic).contains(space(inner));
        (self.has_generic_slots && contains(one) && contains(other)).then_some(generic)
    }

    /// A stack slot in the entry that holds one object.
    fn slot(&self, base: Value) -> Option<InstId> {
        let inst = base.as_inst()?;
        let data = self.code.body.inst(inst);
        let is_one = data.opcode == Opcode::Alloca
            && !data.flags.contains(InstFlags::IN_ALLOCA)
            && self.code.int(self.code.body.operands(inst)[0]) == Some(1)
            && self.code.body.block_of(inst) == self.code.flow.entry();
        is_one.then_some(inst)
    }

    fn is_marker(&self, inst: InstId) -> bool {
        self.generic_intrinsic(inst).is_some_and(|found| found.base.starts_with("lifetime."))
    }

    fn generic_intrinsic(&self, inst: InstId) -> Option<Intrinsic> {
        self.code.intrinsic(inst).filter(|found| found.family == Family::Generic)
    }

    /// Lifetime markers of the object in a slot.
    fn markers(&self, slot: InstId) -> Vec<InstId> {
        let users = self.code.body.uses_of(slot.into()).map(|found| found.user);
        let mut markers: Vec<InstId> = users.filter(|&user| self.is_marker(user)).collect();
        markers.sort_unstable_by_key(|inst| inst.into_raw().into_u32());
        markers
    }

    /// Lifetime markers that must be erased so that the bytes at an address are readable in every
    /// thread, all the time; none if they are not readable.
    fn is_readable(
        &mut self,
        address: Value,
        size: u64,
        align: u64,
        masked: &[BlockId],
    ) -> Option<Vec<InstId>> {
        let (mut at, mut offset) = (address, 0i64);
        // The offsets that are added behind each cast. An address below its object may wrap before
        // a cast, if addresses of that space are narrow.
        let mut casts: SmallVec<[i64; 2]> = SmallVec::new();
        // Most addresses are computed in a few steps.
        for _ in 0..16 {
            let Some(inst) = at.as_inst() else { break };
            match self.code.body.inst(inst).opcode {
                Opcode::GetElementPtr => {
                    let moved = self.sizes.gep_offset(self.code.body, inst)?;
                    offset = offset.checked_add(moved)?;
                }
                Opcode::AddrSpaceCast => casts.push(offset),
                _ => break,
            }
            at = self.code.body.operands(inst)[0];
        }
        let (bytes, base_align, markers) = self.object(at, masked)?;
        if casts.iter().any(|behind| offset.checked_sub(*behind).is_none_or(|at| at < 0)) {
            return None;
        }
        let offset = u64::try_from(offset).ok()?;
        let fits = offset.checked_add(size)? <= bytes;
        let is_aligned = base_align >= align && offset.is_multiple_of(align);
        (fits && is_aligned).then_some(markers)
    }

    /// Size and alignment of an object that exists for the whole function.
    fn object(&mut self, base: Value, masked: &[BlockId]) -> Option<(u64, u64, Vec<InstId>)> {
        let context = self.code.context;
        let layout = self.layout.data_layout();
        if let Some(slot) = self.slot(base) {
            let data = self.code.body.inst(slot);
            let ty = data.element_type();
            let natural = layout.abi_align(context, self.layout, ty)?;
            let align = data.mem().align().unwrap_or(natural);
            return Some((self.sizes.stride(ty)?, align, self.markers(slot)));
        }
        let promised = |set: &phalanx_ir::attributes::AttrSetData| {
            Some((set.dereferenceable()?, set.align().unwrap_or(1), Vec::new()))
        };
        match base.kind() {
            ValueKind::Arg(at) => {
                promised(context.param_attrs(self.code.header.attributes, at as usize))
            }
            ValueKind::Inst(call) if self.code.body.inst(call).opcode == Opcode::Call => {
                // The promise holds only for the threads that execute the call.
                if self.code.body.block_of(call).is_none_or(|block| masked.contains(&block)) {
                    return None;
                }
                promised(context.return_attrs(self.code.body.call_info(call).attributes))
            }
            ValueKind::Const(constant) => {
                let ConstKind::Global(name) = context.const_data(constant).kind else {
                    return None;
                };
                let module = self.function.module(self.db);
                let GlobalIndex::Variable(at) =
                    queries::module_index(self.db, module).find(name)?
                else {
                    return None;
                };
                let variable = module.shell(self.db).variables.get(at)?;
                if !is_there(variable) || variable.thread_local.is_some() {
                    return None;
                }
                let natural = layout.abi_align(context, self.layout, variable.ty)?;
                let align = variable.align.unwrap_or(natural);
                Some((self.sizes.stride(variable.ty)?, align, Vec::new()))
            }
            _ => None,
        }
    }

    /// Whether an address is a slot that is read and written as a whole only, in one type, so that
    /// a guard may store its value again. Returns the slot's lifetime markers.
    fn is_variable(&self, address: Value, ty: Type) -> Option<Vec<InstId>> {
        let slot = self.slot(address)?;
        let body = self.code.body;
        let is_plain = |user: InstId, index: u32| {
            let whole = match body.inst(user).opcode {
                Opcode::Load => body.inst(user).ty == ty,
                Opcode::Store => index == 1 && self.code.type_of(body.operands(user)[0]) == ty,
                _ => return self.is_marker(user),
            };
            whole && !self.code.has_order(user)
        };
        let is_whole = body.inst(slot).element_type() == ty
            && body.uses_of(slot.into()).all(|found| is_plain(found.user, found.index));
        is_whole.then(|| self.markers(slot))
    }

    fn call(&self, inst: InstId) -> Result<Decision, Refusal> {
        let guard = |guard| Ok(Decision { guard, ..Decision::default() });
        let body = self.code.body;
        if body.inst(inst).flags.contains(InstFlags::MUST_TAIL) {
            return Err(Refusal::Call { inst });
        }
        let has_bundles = !body.call_info(inst).bundles.is_empty();
        match self.generic_intrinsic(inst).map(|found| found.base) {
            Some("assume") if !has_bundles => guard(Some(Guard::Assumption)),
            Some("assume") => guard(Some(Guard::Erase)),
            Some("lifetime.start" | "lifetime.end") => {
                let object = body.operands(inst).iter().find_map(|value| value.as_inst());
                match object.filter(|&o| body.inst(o).opcode == Opcode::Alloca) {
                    Some(slot) => Ok(Decision { guard: None, markers: self.markers(slot) }),
                    None => Err(Refusal::Call { inst }),
                }
            }
            Some("experimental.noalias.scope.decl" | "donothing") => guard(None),
            Some("dbg.declare" | "dbg.value" | "dbg.assign" | "dbg.label") => guard(None),
            Some("memcpy" | "memmove" | "memset")
                if !has_bundles && self.code.int(body.operands(inst)[3]) == Some(0) =>
            {
                guard(Some(Guard::Length))
            }
            _ => Err(Refusal::Call { inst }),
        }
    }

    /// Whether an instruction of a region computes the same value in threads that do not take part
    /// as in those that do, if its operands are equal. `written` are the slots that the region
    /// stores to.
    pub(super) fn is_as_before(&self, inst: InstId, written: &Written) -> bool {
        match self.code.body.inst(inst).opcode {
            Opcode::Phi => false,
            Opcode::Load => {
                let slot = self.slot(self.code.body.operands(inst)[0]);
                slot.is_some_and(|slot| !written.unknown && !written.slots.contains(&slot))
                    && !self.code.has_order(inst)
            }
            _ => self.code.is_speculatable(inst),
        }
    }

    /// The function's slots that the blocks of a region write.
    pub(super) fn written(&self, blocks: &[BlockId]) -> Written {
        let body = self.code.body;
        let mut written = Written::default();
        for inst in blocks.iter().skip(1).flat_map(|&block| body.block_insts(block)) {
            match body.inst(inst).opcode {
                Opcode::Store => match self.slot(body.operands(inst)[1]) {
                    Some(slot) => written.slots.push(slot),
                    None => written.unknown = true,
                },
                Opcode::Call => {
                    written.unknown |= !self.code.call(inst).memory.only_reads();
                }
                _ => {}
            }
        }
        written
    }
}

/// Slots that are written.
#[derive(Default)]
pub(super) struct Written {
    slots: Vec<InstId>,
    /// Whether any slot may be written.
    unknown: bool,
}
