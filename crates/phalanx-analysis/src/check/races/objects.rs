//! Accesses, and the objects that their addresses are in.
//!
//! An address is a base and an offset. Its *root* is the variable, argument or stack slot among the
//! summands of the base:
//!
//! ```text
//! @tile + 28           root @tile, element known
//! @tile + n * 4 + 28   root @tile, element not known; comparable with the base @tile + n * 4
//! ```
//!
//! An access is recorded if its root is in workgroup memory, and its element is inside the object
//! or is not known. O(1) for each access, O(operands) for each base once.

use phalanx_ir::{InstId, Opcode, TypeKind, Value, ValueKind, constant::ConstKind};
use phalanx_target::{AddressSpace, SpaceKind};

use super::{
    super::sites::integer,
    left_out::Why,
    program::steps,
    terms::{Base, Term, Val},
    thread::{Machine, Thread},
};

/// An instruction of a function; the function is given by number.
pub(super) type InstInFunction = (usize, InstId);

/// An access to workgroup memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The number of the thread in its workgroup.
    pub(super) thread: u32,
    /// The access, or the call in the kernel that leads to it.
    pub(super) place: InstId,
    /// The access itself, and its function.
    pub(super) inst: (usize, InstId),
    pub(super) at: Val,
    pub(super) size: u32,
    pub(super) writes: bool,
    pub(super) is_atomic: bool,
    /// The value that is written, if it is tracked.
    pub(super) value: Option<Val>,
    /// How often the lanes of its wave have met since the last barrier.
    pub(super) meetings: u32,
    /// How often the thread had executed the instruction before.
    pub(super) count: u32,
}

impl Machine<'_, '_> {
    /// Records an access, if it is one of workgroup memory.
    pub(super) fn access(&mut self, thread: &mut Thread, inst: InstId, access: Access) {
        let root = self.root(access.at.base);
        let (function, _) = self.function(thread);
        let count = thread.count(function, inst);
        let access = Access { count, ..access };
        if root == access.at.base
            && let Some(extent) = self.extent(root)
        {
            let end = access.at.offset.checked_add(i64::from(access.size));
            let is_inside = access.at.offset >= 0
                && end.is_some_and(|end| u64::try_from(end).is_ok_and(|end| end <= extent));
            if !is_inside && access.size > 0 {
                self.outside.push(access);
                self.is_incomplete = true;
                return;
            }
        }
        if !self.is_workgroup(root) {
            if !matches!(self.terms.get(root), Some(Term::Slot { .. })) {
                let lost = self.functions.all[function].lost.get(&access.inst.1);
                // The first round of a loop is enough.
                if let (Some(&lost), 0) = (lost, count) {
                    self.lost.push((access, lost));
                }
                self.left_out.leave(access.inst, Why::Index);
            }
            return;
        }
        if thread.has_waited {
            self.is_incomplete |= access.writes;
            return self.left_out.execute(&access, Err(Why::Wait));
        }
        self.left_out.execute(&access, Ok(()));
        self.accesses.push(access);
    }

    /// The record of an access.
    pub(super) fn of_thread(
        &self,
        thread: &Thread,
        inst: InstId,
        (at, size): (Val, u32),
        writes: bool,
    ) -> Access {
        Access {
            thread: thread.number,
            place: thread.place(inst),
            inst: (self.function(thread).0, inst),
            at,
            size,
            writes,
            is_atomic: false,
            value: None,
            meetings: thread.meetings,
            count: 0,
        }
    }

    /// The object that the address is in, if its base has one among its summands; otherwise the
    /// base itself.
    pub(super) fn root(&mut self, base: Base) -> Base {
        if let Some(&known) = self.roots.get(&base) {
            return known;
        }
        let mut work = vec![base];
        let mut root = base;
        for _ in 0..64 {
            let Some(at) = work.pop() else { break };
            match self.terms.get(at) {
                Some(Term::Pure { opcode: Opcode::Add, operands, .. }) => {
                    work.extend(operands.iter().map(|operand| operand.base));
                }
                Some(Term::Slot { .. } | Term::Variable(_)) => {
                    root = at;
                    break;
                }
                Some(&Term::Argument(position)) if self.is_pointer(position) => {
                    root = at;
                    break;
                }
                _ => {}
            }
        }
        self.roots.insert(base, root);
        root
    }

    fn is_pointer(&self, position: u32) -> bool {
        let code = self.functions.program.kernel.code;
        let ty = code.header.params.get(position as usize);
        ty.is_some_and(|&ty| code.context.type_kind(ty).address_space().is_some())
    }

    /// Whether an object is in workgroup memory.
    pub(super) fn is_workgroup(&self, root: Base) -> bool {
        let program = self.functions.program;
        let code = program.kernel.code;
        let space = match self.terms.get(root) {
            Some(Term::Variable(name)) => return program.variables.contains_key(name),
            Some(&Term::Argument(position)) => {
                let ty = code.header.params.get(position as usize);
                ty.and_then(|&ty| code.context.type_kind(ty).address_space())
            }
            _ => None,
        };
        let of = |space| AddressSpace::of(program.target.architecture(), space).kind();
        space.is_some_and(|space| of(space) == SpaceKind::Workgroup)
    }

    /// The size of an object in bytes, if known.
    pub(super) fn extent(&mut self, root: Base) -> Option<u64> {
        if let Some(&known) = self.extents.get(&root) {
            return known;
        }
        let program = self.functions.program;
        let extent = match self.terms.get(root) {
            Some(Term::Variable(name)) => {
                let variable = program.variables.get(name);
                variable.and_then(|variable| self.sizes.stride(variable.ty))
            }
            Some(&Term::Slot { unit, inst, .. }) => {
                let code = self.functions.all[unit as usize].unit.code;
                let count = code.body.operands(inst).first().copied();
                let count = count.map_or(Some(1), |count| integer(code, count));
                let stride = self.sizes.stride(code.body.inst(inst).element_type());
                count.zip(stride).and_then(|(count, stride)| count.checked_mul(stride))
            }
            _ => None,
        };
        // A variable whose size is stated elsewhere has size 0 here.
        let extent = extent.filter(|extent| *extent > 0);
        self.extents.insert(root, extent);
        extent
    }

    /// The value of an operand in a thread.
    pub(super) fn value(&mut self, thread: &Thread, value: Value) -> Option<Val> {
        let frame = thread.frames.last()?;
        match value.kind() {
            ValueKind::Inst(inst) => frame.values.get(&inst).copied(),
            ValueKind::Arg(position) if frame.call.is_none() => {
                Some(Val::of(self.terms.intern(Term::Argument(position))))
            }
            ValueKind::Arg(position) => frame.arguments.get(position as usize).copied().flatten(),
            ValueKind::Const(_) => self.constant(frame.function, value),
            _ => None,
        }
    }

    fn constant(&mut self, function: usize, value: Value) -> Option<Val> {
        let code = self.functions.all[function].unit.code;
        let (mut at, mut offset) = (value.as_const()?, 0i64);
        // Constant addresses are only a few steps from their variables.
        for _ in 0..8 {
            let data = code.context.const_data(at);
            match &data.kind {
                ConstKind::Int(int) => {
                    let TypeKind::Int(bits) = code.context.type_kind(data.ty) else { return None };
                    return (*bits <= 64).then(|| int.to_u64()).flatten().map(Val::number);
                }
                ConstKind::Null => return Some(Val::number(offset as u64)),
                ConstKind::Undef | ConstKind::Poison => return None,
                ConstKind::Global(name) => {
                    let base = self.terms.intern(Term::Variable(*name));
                    return Some(Val { base, offset });
                }
                ConstKind::Expr(expr) => match expr.opcode {
                    Opcode::AddrSpaceCast | Opcode::BitCast => at = *expr.operands.first()?,
                    Opcode::GetElementPtr => {
                        let indices: Vec<Value> =
                            expr.operands[1..].iter().map(|&c| Value::constant(c)).collect();
                        let layout = self.functions.program.layout;
                        let found =
                            steps(code, layout, &mut self.sizes, expr.source_type?, &indices)?;
                        offset = offset.wrapping_add(found.constant);
                        for (index, size) in found.scaled {
                            let number = integer(code, index)? as i64;
                            offset = offset.wrapping_add(number.wrapping_mul(size));
                        }
                        at = *expr.operands.first()?;
                    }
                    _ => return None,
                },
                _ => return Some(Val::of(self.terms.intern(Term::Constant(at)))),
            }
        }
        None
    }
}
