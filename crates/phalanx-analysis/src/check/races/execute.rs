//! Executes instructions in a thread: arithmetic on terms, private memory, and accesses.
//!
//! The content of private memory is tracked by ranges of bytes: unoptimized code keeps all its
//! variables there.
//!
//! ```text
//! store i32 %tid, ptr %i.addr
//! %i = load i32, ptr %i.addr       ; the index of the thread
//! ```
//!
//! A value that is loaded from other memory is a term. It is made from the load, its address and
//! how often the thread has executed the load before: two threads that load from one address read
//! one value.
//!
//! O(operands) for each instruction, and O(16) for what a store overlaps.

use phalanx_ir::{InstId, Opcode, Type, TypeKind, Value, inst::InstFlags};
use phalanx_target::{AddressSpace, SpaceKind};

use super::{
    super::evaluate::{arithmetic_call, ones, signed},
    left_out::Why,
    objects::Access,
    program::{Called, Register},
    terms::{Base, Term, Val, Vals},
    thread::{Machine, Thread},
};
use crate::code::TypeSizes;

/// The largest size, in bytes, of scalars and vectors that are tracked.
const WIDEST: i64 = 16;

impl<'a> Machine<'a, '_> {
    /// Executes an instruction that is no call and no terminator.
    pub(super) fn execute(&mut self, thread: &mut Thread, inst: InstId) {
        let number = self.function(thread).0;
        let function = &self.functions.all[number];
        let code = function.unit.code;
        let operands = code.body.operands(inst);
        match code.body.inst(inst).opcode {
            Opcode::Load => return self.load(thread, inst),
            Opcode::Store => return self.store(thread, inst),
            Opcode::AtomicRmw | Opcode::CmpXchg => return self.atomic(thread, inst),
            _ if !function.is_in_slice(inst) => return,
            _ => {}
        }
        let value = match code.body.inst(inst).opcode {
            Opcode::Alloca => {
                let slot =
                    Term::Slot { unit: number as u32, inst, depth: thread.frames.len() as u32 };
                Some(Val::of(self.terms.intern(slot)))
            }
            Opcode::GetElementPtr => self.address(thread, inst),
            Opcode::AddrSpaceCast
            | Opcode::BitCast
            | Opcode::Freeze
            | Opcode::IntToPtr
            | Opcode::PtrToInt
            | Opcode::PtrToAddr => self.value(thread, operands[0]),
            Opcode::Select => self.select(thread, inst),
            _ => self.arithmetic(thread, inst),
        };
        thread.set(inst, value);
    }

    fn bits(&self, number: usize, value: Value) -> Option<u32> {
        let code = self.functions.all[number].unit.code;
        let ty = match value.as_inst() {
            Some(inst) => code.body.inst(inst).ty,
            None => self.type_of(number, value)?,
        };
        match *code.context.type_kind(ty) {
            TypeKind::Int(bits) if bits <= 64 => Some(bits),
            _ => code.context.type_kind(ty).address_space().map(|_| 64),
        }
    }

    fn type_of(&self, number: usize, value: Value) -> Option<Type> {
        let code = self.functions.all[number].unit.code;
        match (value.as_inst(), value.as_const(), value.as_arg()) {
            (Some(inst), ..) => Some(code.body.inst(inst).ty),
            (_, Some(constant), _) => Some(code.context.const_data(constant).ty),
            (.., Some(position)) => code.header.params.get(position as usize).copied(),
            _ => None,
        }
    }

    /// How many bytes a store of a type writes.
    fn store_size(&self, number: usize, ty: Type) -> Option<u32> {
        let code = self.functions.all[number].unit.code;
        let mut sizes = TypeSizes::new(code.context, self.functions.program.layout);
        sizes.store_size(ty).and_then(|size| u32::try_from(size).ok())
    }

    fn arithmetic(&mut self, thread: &mut Thread, inst: InstId) -> Option<Val> {
        let number = self.function(thread).0;
        let code = self.functions.all[number].unit.code;
        let operands = code.body.operands(inst);
        let opcode = code.body.inst(inst).opcode;
        let values: Vec<Option<Val>> =
            operands.iter().map(|&value| self.value(thread, value)).collect();
        if matches!(opcode, Opcode::And | Opcode::Mul) && values.contains(&Some(Val::number(0))) {
            return Some(Val::number(0));
        }
        let values: Vals = values.into_iter().collect::<Option<_>>()?;
        let bits = self.bits(number, inst.into());
        let from = operands.first().and_then(|&first| self.bits(number, first));
        let is_integer = opcode.is_binary()
            && !matches!(opcode, Opcode::FAdd | Opcode::FSub | Opcode::FMul | Opcode::FDiv)
            || matches!(opcode, Opcode::ICmp | Opcode::Trunc | Opcode::ZExt | Opcode::SExt);
        match (bits, from) {
            (Some(bits), Some(from)) if is_integer => {
                self.terms.compute(code, inst, &values, (bits, from))
            }
            _ => Some(self.placed(number, inst, 0, values)),
        }
    }

    /// The term for one execution of an instruction.
    fn placed(&mut self, number: usize, inst: InstId, count: u32, operands: Vals) -> Val {
        Val::of(self.terms.intern(Term::Placed { unit: number as u32, inst, count, operands }))
    }

    fn select(&mut self, thread: &mut Thread, inst: InstId) -> Option<Val> {
        let number = self.function(thread).0;
        let code = self.functions.all[number].unit.code;
        let &[condition, yes, no] = code.body.operands(inst) else { return None };
        let condition = self.value(thread, condition)?;
        let (yes, no) = (self.value(thread, yes), self.value(thread, no));
        match condition.as_number() {
            Some(decided) => {
                if decided & 1 == 1 {
                    yes
                } else {
                    no
                }
            }
            None if yes == no => yes,
            None => {
                let operands = [condition, yes?, no?].into_iter().collect();
                let ty = code.body.inst(inst).ty;
                let term = Term::Pure { opcode: Opcode::Select, sub: 0, ty, operands };
                Some(Val::of(self.terms.intern(term)))
            }
        }
    }

    fn address(&mut self, thread: &mut Thread, inst: InstId) -> Option<Val> {
        let number = self.function(thread).0;
        let function = &self.functions.all[number];
        let ty = function.unit.code.body.inst(inst).ty;
        let base = function.unit.code.body.operands(inst)[0];
        let mut at = self.value(thread, base)?;
        let steps = function.steps(inst)?;
        at.offset = at.offset.wrapping_add(steps.constant);
        for &(index, size) in &steps.scaled {
            let value = self.value(thread, index)?;
            let bits = self.bits(number, index)?;
            let step = match value.as_number() {
                Some(number) => Val::number(signed(number, bits).wrapping_mul(size) as u64),
                None => self.terms.product(value, size, (ty, 64))?,
            };
            let base = self.terms.sum(at.base, step.base, ty);
            at = Val { base, offset: at.offset.wrapping_add(step.offset) };
        }
        Some(at)
    }

    fn load(&mut self, thread: &mut Thread, inst: InstId) {
        let number = self.function(thread).0;
        let function = &self.functions.all[number];
        let data = function.unit.code.body.inst(inst);
        let pointer = function.unit.code.body.operands(inst)[0];
        let at = self.value(thread, pointer);
        let size = self.store_size(number, data.ty);
        let (Some(at), Some(size)) = (at, size) else {
            self.left_out.leave((number, inst), Why::Index);
            return thread.set(inst, None);
        };
        let mut access = self.of_thread(thread, inst, (at, size), false);
        access.is_atomic = data.flags.contains(InstFlags::ATOMIC);
        if !function.parts.has_load(inst) {
            self.access(thread, inst, access);
        }
        if !function.is_in_slice(inst) {
            return;
        }
        let value = match self.terms.get(at.base) {
            Some(Term::Slot { .. }) => {
                let known = thread.private.get(&(at.base, at.offset)).copied();
                known.filter(|(_, of)| *of == size).map(|(value, _)| value)
            }
            Some(Term::Register(name, _)) if self.size_at(name, at.offset, size).is_some() => {
                self.size_at(name, at.offset, size)
            }
            _ => {
                // Memory that does not change gives the same value at any time.
                let count = match self.is_constant(number, pointer) {
                    true => 0,
                    false => thread.count(number, inst),
                };
                Some(self.placed(number, inst, count, [at].into_iter().collect()))
            }
        };
        thread.set(inst, value);
    }

    /// The size of the workgroup, if a load reads it from AMD's dispatch packet or implicit
    /// arguments. It is a number of 16 bits for each dimension, of which optimized code reads two
    /// at once.
    ///
    /// From the implicit arguments, only a number of this width is taken: up to version 4 of code
    /// objects, other, wider numbers are at the same place.
    fn size_at(&self, name: &str, offset: i64, bytes: u32) -> Option<Val> {
        let half = |offset: i64| match (name, offset) {
            ("dispatch.ptr", 4) | ("implicitarg.ptr", 12) => Some(u64::from(self.size[0])),
            ("dispatch.ptr", 6) | ("implicitarg.ptr", 14) => Some(u64::from(self.size[1])),
            ("dispatch.ptr", 8) | ("implicitarg.ptr", 16) => Some(u64::from(self.size[2])),
            _ => None,
        };
        match bytes {
            2 => half(offset).map(Val::number),
            4 if name == "dispatch.ptr" => {
                // The half behind the third dimension is not specified; it is 0.
                let high = if offset == 8 { Some(0) } else { half(offset + 2) };
                Some(Val::number(half(offset)? | high? << 16))
            }
            _ => None,
        }
    }

    fn is_constant(&self, number: usize, pointer: Value) -> bool {
        let code = self.functions.all[number].unit.code;
        let space = self.type_of(number, pointer);
        let space = space.and_then(|ty| code.context.type_kind(ty).address_space());
        let of = |space| AddressSpace::of(self.functions.program.target.architecture(), space);
        space.is_some_and(|space| of(space).kind() == SpaceKind::Constant)
    }

    fn store(&mut self, thread: &mut Thread, inst: InstId) {
        let number = self.function(thread).0;
        let code = self.functions.all[number].unit.code;
        let &[stored, pointer] = code.body.operands(inst) else { return };
        let at = self.value(thread, pointer);
        let size = self.type_of(number, stored).and_then(|ty| self.store_size(number, ty));
        let (Some(at), Some(size)) = (at, size) else {
            thread.private.clear();
            self.is_incomplete = true;
            self.left_out.leave((number, inst), Why::Index);
            return;
        };
        let value = self.value(thread, stored);
        let mut access = self.of_thread(thread, inst, (at, size), true);
        access.is_atomic = code.body.inst(inst).flags.contains(InstFlags::ATOMIC);
        access.value = value;
        if self.functions.all[number].parts.has_store(inst) {
            // Another store may write another value.
            let by = [number, super::program::index(inst)].map(|of| Val::number(of as u64));
            let one = Term::Register("parts of a vector", [at, by[0], by[1]].into_iter().collect());
            access.value = Some(Val::of(self.terms.intern(one)));
        }
        self.access(thread, inst, access);
        self.write_private(thread, (at, size), value);
    }

    /// Updates private memory after a write.
    fn write_private(&mut self, thread: &mut Thread, (at, size): (Val, u32), value: Option<Val>) {
        let root = self.root(at.base);
        if !matches!(self.terms.get(root), Some(Term::Slot { .. })) {
            return;
        }
        let memory = &mut thread.private;
        if root != at.base || i64::from(size) > WIDEST {
            memory.retain(|&(base, _), _| base != root);
            return;
        }
        for before in 1..WIDEST {
            let key = (at.base, at.offset - before);
            if memory.get(&key).is_some_and(|(_, of)| i64::from(*of) > before) {
                memory.remove(&key);
            }
        }
        for behind in 0..i64::from(size) {
            memory.remove(&(at.base, at.offset + behind));
        }
        if let Some(value) = value {
            memory.insert((at.base, at.offset), (value, size));
        }
    }

    fn atomic(&mut self, thread: &mut Thread, inst: InstId) {
        let number = self.function(thread).0;
        let code = self.functions.all[number].unit.code;
        let operands = code.body.operands(inst);
        let (pointer, operand) = (operands[0], operands[1]);
        let at = self.value(thread, pointer);
        let size = self.type_of(number, operand).and_then(|ty| self.store_size(number, ty));
        let (Some(at), Some(size)) = (at, size) else {
            self.is_incomplete = true;
            self.left_out.leave((number, inst), Why::Index);
            return thread.set(inst, None);
        };
        let mut access = self.of_thread(thread, inst, (at, size), true);
        access.is_atomic = true;
        self.access(thread, inst, access);
        self.write_private(thread, (at, size), None);
        // The result depends on when the instruction is executed.
        thread.set(inst, None);
    }

    /// Executes a call that leads to no code of the module.
    pub(super) fn execute_call(&mut self, thread: &mut Thread, inst: InstId, called: Called) {
        let number = self.function(thread).0;
        let code = self.functions.all[number].unit.code;
        let arguments = code.body.call_args(inst);
        let values: Vec<Option<Val>> =
            arguments.iter().map(|&value| self.value(thread, value)).collect();
        let value = match called {
            Called::Register(register) => self.register(thread, register),
            Called::Block(name) => {
                let operands: Option<Vals> = values.into_iter().collect();
                operands.map(|operands| Val::of(self.terms.intern(Term::Block(name, operands))))
            }
            Called::Constant(name) => {
                let operands: Option<Vals> = values.into_iter().collect();
                operands.map(|operands| Val::of(self.terms.intern(Term::Register(name, operands))))
            }
            Called::Arithmetic => self.arithmetic_call(number, inst, &values),
            Called::Meeting => {
                thread.meetings += 1;
                // A copy for the whole group writes memory, too.
                self.give_away(thread, &values);
                self.left_out.leave((number, inst), Why::Call);
                None
            }
            Called::Copy { reads } => {
                self.copy(thread, inst, &values, reads);
                None
            }
            Called::Other => {
                self.give_away(thread, &values);
                self.left_out.leave((number, inst), Why::Call);
                None
            }
            Called::Nothing | Called::Barrier | Called::Function(_) | Called::Lost => None,
        };
        thread.set(inst, value);
    }

    fn register(&mut self, thread: &Thread, register: Register) -> Option<Val> {
        let [dx, dy, _] = self.size;
        let [x, y, z] = thread.index;
        let linear = x + dx * (y + dy * z);
        let number = match register {
            Register::Thread(axis) => thread.index[axis],
            Register::Size(axis) => self.size[axis],
            Register::Linear => linear,
            Register::Width => self.functions.program.launch.wave_width?,
            Register::Lane => linear % self.functions.program.launch.wave_width?,
            Register::Global(axis) => {
                // The number of the workgroup times its size, which is the same for all of its
                // threads.
                let operands = [Val::number(axis as u64)].into_iter().collect();
                let base = self.terms.intern(Term::Register("get_global_id", operands));
                return Some(Val { base, offset: i64::from(thread.index[axis]) });
            }
        };
        Some(Val::number(u64::from(number)))
    }

    fn arithmetic_call(
        &mut self,
        number: usize,
        inst: InstId,
        values: &[Option<Val>],
    ) -> Option<Val> {
        let code = self.functions.all[number].unit.code;
        let name = super::super::sites::called(code, inst)?.symbol()?;
        let numbers: Vec<Option<u64>> =
            values.iter().map(|value| value.and_then(Val::as_number)).collect();
        if numbers.iter().all(Option::is_some) {
            let bits = self.bits(number, inst.into())?;
            let result = arithmetic_call(code.context.bytes(name), &numbers, bits);
            if let Some(result) = result {
                return Some(Val::number(result & ones(bits)));
            }
        }
        let operands: Vals = values.iter().copied().collect::<Option<_>>()?;
        Some(self.placed(number, inst, 0, operands))
    }

    fn copy(&mut self, thread: &mut Thread, inst: InstId, values: &[Option<Val>], reads: bool) {
        let size = values.get(2).copied().flatten().and_then(Val::as_number);
        let size = size.and_then(|size| u32::try_from(size).ok());
        let (Some(Some(to)), Some(size)) = (values.first().copied(), size) else {
            let number = self.function(thread).0;
            self.left_out.leave((number, inst), Why::Call);
            return self.give_away(thread, values);
        };
        if let (Some(Some(from)), true) = (values.get(1).copied(), reads) {
            let access = self.of_thread(thread, inst, (from, size), false);
            self.access(thread, inst, access);
        }
        let access = self.of_thread(thread, inst, (to, size), true);
        self.access(thread, inst, access);
        let root = self.root(to.base);
        thread.private.retain(|&(base, _), _| base != root);
    }

    /// Passes addresses to code that is not known, which may write there.
    fn give_away(&mut self, thread: &mut Thread, values: &[Option<Val>]) {
        for &value in values {
            let Some(value) = value else { continue };
            let root: Base = self.root(value.base);
            thread.private.retain(|&(base, _), _| base != root);
            self.is_incomplete |= self.is_workgroup(root);
        }
    }
}

impl Access {
    /// Whether two accesses have a byte in common.
    pub(super) fn overlaps(&self, other: &Access) -> bool {
        self.at.base == other.at.base
            && self.at.offset < other.at.offset + i64::from(other.size)
            && other.at.offset < self.at.offset + i64::from(self.size)
    }
}
