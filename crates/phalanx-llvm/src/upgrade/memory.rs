//! Old intrinsics that read, write or mark memory: now loads, `atomicrmw` and markers without a
//! size.

use phalanx_ir::{
    InstFlags, InstId, MemInfo, Opcode, StructName, SyncScope, Type, TypeKind, Value,
    constant::ConstKind,
    inst::{Ordering, RmwOp},
    layout::StructBodies,
    metadata::{Attachment, MetadataValue, NodeBuilder, kind},
    types::StructBody,
};

use super::{
    calls::{Declarations, Old},
    rewrite::{Site, data},
};

/// Elements of vectors are no structures.
struct NoStructs;

impl StructBodies for NoStructs {
    fn body(&self, _: StructName) -> Option<&StructBody> {
        None
    }
}

impl Site<'_> {
    /// The alignment of the elements of the vector that the call reads or writes.
    pub(super) fn element_align(&self, declarations: &Declarations<'_>) -> Option<u64> {
        let ret = self.body.inst(self.inst).ty;
        let vector = if ret == Type::VOID { self.ty(self.arg(0)?) } else { ret };
        let TypeKind::Vector { elem, .. } = *self.context.type_kind(vector) else { return None };
        declarations.layout.abi_align(self.context, &NoStructs, elem)
    }

    pub(super) fn invariant_load(&mut self, ret: Type) -> Option<()> {
        let (mut address, align) = (self.arg(0)?, self.constant_arg(1)?);
        match self.context.type_kind(self.ty(address)).address_space()? {
            1 => {}
            0 => address = self.before(data(Opcode::AddrSpaceCast, Type::PTR1), &[address]),
            _ => return None,
        }
        let mut load = data(Opcode::Load, ret);
        load.words[1] = MemInfo::PLAIN.with_align(align.is_power_of_two().then_some(align)).raw();
        self.attach_empty(self.inst, kind::INVARIANT_LOAD)?;
        self.become_inst(load, &[address])
    }

    /// Attaches `!{}` to an instruction.
    fn attach_empty(&mut self, inst: InstId, kind: phalanx_ir::Symbol) -> Option<()> {
        let node = match self.empty {
            Some(node) => node,
            None => self.metadata.add(NodeBuilder::tuple(false, [])).ok()?,
        };
        self.empty = Some(node);
        self.attached.push((inst, Attachment { kind, node }));
        self.metadata.use_kind(kind);
        Some(())
    }

    pub(super) fn lifetime(
        &mut self,
        old: &Old,
        declarations: &mut Declarations<'_>,
    ) -> Option<()> {
        let Some(allocation) = self.allocation(self.arg(1)?) else {
            self.removed.insert(self.inst);
            self.body.unlink(self.inst);
            return Some(());
        };
        let space = self.context.type_kind(self.ty(allocation)).address_space()?;
        let name = format!("{}.p{space}", declarations.lifetime(old)?);
        self.become_call(old, declarations, &name, Type::VOID, &[allocation])
    }

    /// The `alloca` whose address this is, seen through conversions.
    fn allocation(&self, address: Value) -> Option<Value> {
        const STEPS: usize = 32;
        let mut address = address;
        for _ in 0..STEPS {
            let inst = address.as_inst()?;
            let operands = self.body.operands(inst);
            match self.body.inst(inst).opcode {
                Opcode::Alloca => return Some(address),
                Opcode::AddrSpaceCast | Opcode::BitCast => address = operands[0],
                Opcode::GetElementPtr if operands[1..].iter().all(|&at| self.is_zero(at)) => {
                    address = operands[0];
                }
                _ => return None,
            }
        }
        None
    }

    fn is_zero(&self, value: Value) -> bool {
        let constant = value.as_const().map(|constant| &self.context.const_data(constant).kind);
        matches!(constant, Some(ConstKind::Int(int)) if int.to_u64() == Some(0))
    }

    pub(super) fn atomic(
        &mut self,
        op: RmwOp,
        scope: SyncScope,
        ordering: Ordering,
        volatile: bool,
    ) -> Option<InstId> {
        let (address, mut value) = (self.arg(0)?, self.arg(1)?);
        let given = self.ty(value);
        let ty = self.brain_floats(given);
        let kind = self.context.type_kind(ty);
        let is_good = match op {
            RmwOp::FAdd | RmwOp::FMin | RmwOp::FMax => {
                kind.is_float() || matches!(kind, TypeKind::Vector { .. })
            }
            _ => matches!(kind, TypeKind::Int(_)),
        };
        self.context.type_kind(self.ty(address)).address_space()?;
        if !is_good || given != self.body.inst(self.inst).ty {
            return None;
        }
        let mut rmw = data(Opcode::AtomicRmw, ty);
        rmw.sub = op as u8;
        if volatile {
            rmw.flags = InstFlags::VOLATILE;
        }
        let info = MemInfo::PLAIN.with_orderings(ordering, Ordering::NotAtomic);
        rmw.words[1] = info.with_scope(scope)?.raw();
        if ty == given {
            self.become_inst(rmw, &[address, value])?;
            return Some(self.inst);
        }
        value = self.before(data(Opcode::BitCast, ty), &[value]);
        let result = self.before(rmw, &[address, value]);
        self.become_inst(data(Opcode::BitCast, given), &[result])?;
        result.as_inst()
    }

    /// Vectors of `i16` stood for vectors of `bfloat`; any other type is itself.
    fn brain_floats(&self, ty: Type) -> Type {
        match *self.context.type_kind(ty) {
            TypeKind::Vector { elem, len, scalable } if elem == Type::I16 => {
                self.context.type_of_kind(&TypeKind::Vector { elem: Type::BFLOAT, len, scalable })
            }
            _ => ty,
        }
    }

    pub(super) fn agent_atomic(&mut self, op: RmwOp) -> Option<()> {
        let (address, value) = (self.arg(0)?, self.arg(1)?);
        let scope = SyncScope(self.context.symbol(b"agent"));
        let space = self.context.type_kind(self.ty(address)).address_space()?;
        let ordering = match self.constant_arg(2) {
            Some(4) => Ordering::Acquire,
            Some(5) => Ordering::Release,
            Some(6) => Ordering::AcqRel,
            Some(2) => Ordering::Monotonic,
            _ => Ordering::SeqCst,
        };
        // An argument that is not a constant may say that it is volatile.
        let volatile = match self.arg(4) {
            None => false,
            Some(_) => self.constant_arg(4) != Some(0),
        };
        let atomic = self.atomic(op, scope, ordering, volatile)?;
        if space == 3 {
            return Some(());
        }
        if space == 0 {
            let bound = |space| MetadataValue::Const(self.context.int_const(Type::I32, space));
            let bounds = NodeBuilder::tuple(false, [bound(5), bound(6)]);
            let node = self.metadata.add(bounds).ok()?;
            self.attached.push((atomic, Attachment { kind: kind::NOALIAS_ADDRSPACE, node }));
        }
        self.attach_empty(atomic, self.context.symbol(b"amdgpu.no.fine.grained.memory"))?;
        if op == RmwOp::FAdd && self.ty(value) == Type::FLOAT {
            self.attach_empty(atomic, self.context.symbol(b"amdgpu.ignore.denormal.mode"))?;
        }
        Some(())
    }
}
