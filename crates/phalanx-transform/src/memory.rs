//! Whether two addresses may alias, and what may have been written in between.
//!
//! Two addresses do not alias when their address spaces do not overlap, or when they are based on
//! two different objects: stack slots and variables of the module, except workgroup variables that
//! have no place of their own ([`Named::Added`]). All other addresses may alias. O(1).
//!
//! For a more precise answer, [`Memory::is_written_between`] looks at the writes in between.

use phalanx_analysis::alias::Named;
use phalanx_analysis::memory::classic::Clobber;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{CycleId, Cycles, DomTree};
use phalanx_ir::{
    ConstKind, GlobalVariable, InstId, Opcode, Value,
    attributes::{Access, MemoryLocation},
    flow::node_of,
    metadata::kind,
    module::{GlobalIndex, Linkage},
};
use phalanx_target::{AddressSpace, address_space::Sharing};

use crate::code::Code;

/// Whether a variable exists: a weak one that no module defines has a null address.
pub(crate) fn is_there(variable: &GlobalVariable) -> bool {
    variable.linkage != Linkage::ExternWeak
}

/// Answers about the memory of a function.
#[derive(Copy, Clone)]
pub(crate) struct Memory<'a> {
    db: &'a Database,
    function: FunctionInput,
    code: Code<'a>,
}

impl<'a> Memory<'a> {
    pub(crate) fn new(db: &'a Database, function: FunctionInput) -> Self {
        Memory { db, function, code: Code::of(db, function) }
    }

    fn variable(&self, base: Value) -> Option<&'a GlobalVariable> {
        let ConstKind::Global(name) = self.code.context.const_data(base.as_const()?).kind else {
            return None;
        };
        let module = self.function.module(self.db);
        match queries::module_index(self.db, module).find(name)? {
            GlobalIndex::Variable(at) => module.shell(self.db).variables.get(at),
            _ => None,
        }
    }

    fn alloca(&self, base: Value) -> Option<InstId> {
        base.as_inst().filter(|&inst| self.code.body.inst(inst).opcode == Opcode::Alloca)
    }

    /// The pointer that an address is based on, a few steps up.
    fn base(&self, mut address: Value) -> Value {
        for _ in 0..8 {
            let Some(inst) = address.as_inst() else { return address };
            match self.code.body.inst(inst).opcode {
                Opcode::GetElementPtr | Opcode::AddrSpaceCast => {
                    address = self.code.body.operands(inst)[0];
                }
                _ => return address,
            }
        }
        address
    }

    fn space(&self, address: Value) -> Option<AddressSpace> {
        let module = self.function.module(self.db);
        let architecture = queries::target(self.db, module).architecture();
        let number = self.code.context.type_kind(self.code.type_of(address)).address_space()?;
        Some(AddressSpace::of(architecture, number))
    }

    /// Whether a plain load reads the same value at any time: by a promise, from constant memory,
    /// or from a constant.
    pub(crate) fn never_changes(&self, load: InstId) -> bool {
        if self.code.extras.attachments_of(load).any(|a| a.kind == kind::INVARIANT_LOAD) {
            return true;
        }
        let address = self.code.body.operands(load)[0];
        self.space(address).is_some_and(AddressSpace::is_constant)
            || self.variable(self.base(address)).is_some_and(|variable| variable.is_constant)
    }

    /// Whether a load can be executed anywhere: it reads within an object that always exists.
    pub(crate) fn is_always_readable(&self, load: InstId) -> bool {
        let (data, address) = (self.code.body.inst(load), self.code.body.operands(load)[0]);
        if let Some(slot) = self.alloca(address) {
            let slot_data = self.code.body.inst(slot);
            let count = self.code.int(self.code.body.operands(slot)[0]);
            return slot_data.element_type() == data.ty
                && count == Some(1)
                && self.is_aligned(load, slot_data.mem().align());
        }
        self.variable(address).is_some_and(|variable| {
            is_there(variable) && variable.ty == data.ty && self.is_aligned(load, variable.align)
        })
    }

    fn is_aligned(&self, load: InstId, align: Option<u64>) -> bool {
        let wanted = self.code.body.inst(load).mem().align();
        // Both have the type's natural alignment when neither states another.
        wanted == align || wanted.is_some_and(|wanted| align.is_some_and(|align| align >= wanted))
    }

    /// Whether a value is an address or contains addresses.
    pub(crate) fn is_address(&self, value: Value) -> bool {
        use phalanx_ir::TypeKind;
        let ty = self.code.type_of(value);
        !matches!(
            self.code.context.type_kind(ty),
            TypeKind::Int(_)
                | TypeKind::Half
                | TypeKind::Float
                | TypeKind::Double
                | TypeKind::Metadata
        )
    }

    /// Whether other threads may access the memory at an address.
    pub(crate) fn is_seen_by_others(&self, address: Value) -> bool {
        let is_private = self.space(address).is_some_and(|s| s.sharing() == Sharing::PerThread);
        !is_private && self.alloca(self.base(address)).is_none()
    }

    /// Whether two addresses may refer to the same memory.
    pub(crate) fn may_alias(&self, a: Value, b: Value) -> bool {
        if let (Some(a), Some(b)) = (self.space(a), self.space(b))
            && !a.may_overlap(b)
        {
            return false;
        }
        let (a, b) = (self.base(a), self.base(b));
        let is_object = |base| self.alloca(base).is_some() || self.named(base).is_some();
        let is_added = |base| self.named(base) == Some(Named::Added);
        !(a != b && is_object(a) && is_object(b)) || is_added(a) && is_added(b)
    }

    /// Whether the memory that a load reads may have been written since another instruction, which
    /// dominates the load and reads or writes the same memory. `is_behind` says of two instructions
    /// of a block whether the first stands behind the second. O(writes in between), which are
    /// bounded.
    pub(crate) fn is_written_between(
        &self,
        dom: &DomTree,
        earlier: InstId,
        load: InstId,
        is_behind: impl Fn(InstId, InstId) -> bool,
    ) -> bool {
        let body = self.code.body;
        let Some(block) = body.block_of(earlier).map(node_of) else { return true };
        queries::is_written_behind(self.db, self.function, load, |definition| match definition {
            Clobber::Entry => true,
            // A memory phi at the start of a block precedes everything in the block.
            Clobber::Phi(node) => node == block || dom.strictly_dominates(node, block),
            Clobber::Def(write) if write == earlier => true,
            Clobber::Def(write) => match body.block_of(write).map(node_of) {
                Some(of) if of == block => !is_behind(write, earlier),
                Some(of) => dom.strictly_dominates(of, block),
                None => false,
            },
        })
    }

    /// Whether a cycle does not write what a load reads, as far as the nearest write before the
    /// load tells.
    pub(crate) fn is_written_before(&self, cycles: &Cycles, cycle: CycleId, load: InstId) -> bool {
        let node = match queries::nearest_clobber(self.db, self.function, load) {
            Some(Clobber::Entry) => return true,
            Some(Clobber::Def(write)) => self.code.body.block_of(write).map(node_of),
            Some(Clobber::Phi(node)) => Some(node),
            None => None,
        };
        node.is_some_and(|node| !cycles.contains(cycle, node))
    }

    /// The variable that a base is, if any.
    fn named(&self, base: Value) -> Option<Named> {
        let ConstKind::Global(name) = self.code.context.const_data(base.as_const()?).kind else {
            return None;
        };
        queries::named(self.db, self.function.module(self.db), name)
    }

    /// Whether an instruction may write the memory at an address, or make writes of other threads
    /// visible.
    pub(crate) fn may_write(&self, inst: InstId, address: Value) -> bool {
        let body = self.code.body;
        let data = body.inst(inst);
        match data.opcode {
            Opcode::Store => {
                let is_ordered = self.code.has_order(inst);
                is_ordered || self.may_alias(body.operands(inst)[1], address)
            }
            Opcode::Load => self.code.has_order(inst),
            Opcode::Call => {
                let memory = self.code.call(inst).memory;
                let writes = |location| -> bool {
                    let access: Access = memory.access(location);
                    access.writes()
                };
                let elsewhere = MemoryLocation::ALL.iter().any(|&location| {
                    !matches!(location, MemoryLocation::ArgMem | MemoryLocation::InaccessibleMem)
                        && writes(location)
                });
                let args = || body.call_args(inst).iter().copied();
                let by_argument =
                    || args().any(|arg| self.space(arg).is_some() && self.may_alias(arg, address));
                elsewhere || writes(MemoryLocation::ArgMem) && by_argument()
            }
            Opcode::Fence
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::VaArg
            | Opcode::LandingPad
            | Opcode::CatchPad
            | Opcode::CleanupPad => true,
            opcode => opcode.is_call(),
        }
    }
}
