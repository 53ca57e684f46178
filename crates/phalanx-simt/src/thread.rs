//! One thread: its frames, and what a step does.
//!
//! A step executes one instruction. If the instruction involves other threads, [`Thread::step`]
//! says so and changes nothing; [`Thread::finish`] completes it with the result of the group.

mod calls;
pub(crate) mod state;
mod values;

use phalanx_ir::{BlockId, Function, InstId, Opcode, Type, ValueKind, flow::node_of};

pub use crate::coordinates::Coordinates;
pub(crate) use state::Frame;
pub use state::Thread;
pub(crate) use values::freeze;
use values::{insert, lanes_of, select, shuffle, with};

use crate::{
    address::Path,
    built_ins,
    convergence::{Key, Latest},
    fault::{FaultKind, Site},
    intrinsic::{Barrier, Token},
    memory::Region,
    ops,
    program::Program,
    unknown::{Frozen, way},
    value::Value,
    world::World,
};

type Result<T> = std::result::Result<T, FaultKind>;

/// The effect of a step.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// Executed an instruction whose result, if any, is in the frame.
    Done,
    /// Went to another block.
    Branch { from: BlockId },
    /// Began a call.
    Call,
    /// Ended a call; the caller's instruction has its result.
    Return { call: InstId, from: Option<BlockId> },
    /// Stands before an operation that involves other threads.
    Group(Group),
    /// The outermost function returned.
    Exit,
}

/// An operation that involves other threads.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Group {
    Collective(crate::collective::Collective),
    Barrier(Barrier),
    Split(crate::split::Split),
    WorkGroup(crate::sub_groups::WorkGroup),
    Token(Token),
}

/// Allocates `count` elements of an alloca's type in private memory. The result is their address, a
/// generic one if the alloca is in the generic space.
fn allocate(
    world: &mut World<'_>,
    program: &Program<'_>,
    function: &Function,
    inst: InstId,
    count: &Value,
) -> Result<Value> {
    let (shapes, data) = (&program.shapes, function.body.inst(inst));
    let Some(count) = count.bits() else {
        return Err(FaultKind::undefined("alloca of poison size"));
    };
    let size = shapes.alloc_size(data.element_type());
    let size = u64::try_from(count).ok().and_then(|count| count.checked_mul(size));
    let align = data.mem().align().unwrap_or_else(|| shapes.align(data.element_type()));
    let address = match size {
        Some(size) => world.view.private.allocate(size, align)?,
        None => return Err(FaultKind::unsupported("an allocation so large")),
    };
    Ok(Value::Bits(match program.region(data.ty)? {
        Region::Generic => program.apertures.generic(Region::Private, address).into(),
        _ => address.into(),
    }))
}

impl Thread {
    /// A thread about to execute a function, in its entry block.
    pub(crate) fn start(
        program: &Program<'_>,
        at: Coordinates,
        code: usize,
        args: Vec<Value>,
    ) -> Option<Thread> {
        let mut thread = Thread { at, frames: Vec::new() };
        thread.push(program, code, args.into(), 0).then_some(thread)
    }

    fn push(
        &mut self,
        program: &Program<'_>,
        code: usize,
        args: Box<[Value]>,
        mark: usize,
    ) -> bool {
        let function = program.functions[code].function;
        let Some(block) = function.flow.entry() else { return false };
        let Some(inst) = function.body.first(block) else { return false };
        let values = vec![Value::Unit; function.body.id_count()];
        self.frames.push(Frame {
            code,
            block,
            inst,
            values,
            args,
            mark,
            context: Key::ROOT,
            now: Key::ROOT,
            latest: Latest::default(),
        });
        true
    }

    /// The innermost place of the thread.
    pub(crate) fn site(&self, program: &Program<'_>) -> Option<Site> {
        let frame = self.frames.last()?;
        let function = program.functions[frame.code].function.header.name;
        Some(Site { function, inst: frame.inst })
    }

    pub(crate) fn top(&self) -> Option<&Frame> {
        self.frames.last()
    }

    /// Completes the group operation that the thread stands before.
    pub(crate) fn finish(&mut self, program: &Program<'_>, result: Value) {
        if let Some(frame) = self.frames.last_mut() {
            frame.set(result);
            frame.advance(program);
        }
    }

    /// Executes one instruction.
    pub(crate) fn step(&mut self, world: &mut World<'_>) -> Result<Step> {
        let program = world.program;
        let Some(frame) = self.frames.last_mut() else { return Ok(Step::Exit) };
        let function = program.functions[frame.code].function;
        let (body, shapes) = (&function.body, &program.shapes);
        let inst = frame.inst;
        let data = body.inst(inst);
        let operands = body.operands(inst);
        let context = program.context();
        if !program.built_ins().is_empty() && built_ins::may_read(data.opcode) {
            built_ins::set(world, self.at)?;
        }
        let type_of = |value| function.value_type(context, value);
        let get = |frame: &Frame, i: usize| frame.operand(program, operands[i]);
        let result = match data.opcode {
            Opcode::Br if operands.is_empty() => return frame.jump(program, 0),
            Opcode::Br => {
                let condition = get(frame, 0)?;
                let way = match condition.bits() {
                    Some(taken) => usize::from(taken == 0),
                    None => guess(world, frame, "branch", &condition, 2)?,
                };
                return frame.jump(program, way);
            }
            Opcode::Switch => {
                let condition = get(frame, 0)?;
                let Some(value) = condition.bits() else {
                    let way = guess(world, frame, "switch", &condition, operands.len() as u64)?;
                    return frame.jump(program, way);
                };
                let mut target = 0;
                for case in 1..operands.len() {
                    if get(frame, case)?.bits() == Some(value) {
                        target = case;
                        break;
                    }
                }
                return frame.jump(program, target);
            }
            Opcode::IndirectBr => {
                let Some(address) = get(frame, 0)?.bits() else {
                    return Err(FaultKind::undefined("a jump to poison"));
                };
                let block = program.block_at(function, address as u64);
                let targets = function.flow.successors(frame.block);
                let Some(target) = targets.iter().position(|&to| Some(to) == block) else {
                    return Err(FaultKind::undefined("a jump to a block that is not listed"));
                };
                return frame.jump(program, target);
            }
            Opcode::Ret => {
                let value = match operands {
                    [] => Value::Unit,
                    _ => get(frame, 0)?,
                };
                return self.ret(world, value);
            }
            Opcode::Unreachable => return Err(FaultKind::undefined("`unreachable` was reached")),
            Opcode::Call | Opcode::Invoke => return self.call(world, inst),
            opcode if opcode.is_binary() => {
                ops::binary(shapes, data, &get(frame, 0)?, &get(frame, 1)?)?
            }
            Opcode::FNeg => {
                let kind = ops::float_kind(shapes, data.ty)?;
                ops::lanes1(&get(frame, 0)?, |a| {
                    let result = Value::Bits(a ^ 1 << (kind.bits() - 1));
                    Ok(ops::checked_float(kind, data.flags, &[a], result))
                })?
            }
            opcode if opcode.is_cast() => {
                program.cast(data, type_of(operands[0]), &get(frame, 0)?)?
            }
            Opcode::ICmp => {
                let bits = ops::int_bits(shapes, type_of(operands[0]))?;
                let predicate = data.int_predicate();
                let same_sign = data.flags.contains(phalanx_ir::InstFlags::SAME_SIGN);
                ops::lanes2(&get(frame, 0)?, &get(frame, 1)?, |a, b| {
                    let broken = same_sign && (a ^ b) >> (bits - 1) & 1 == 1;
                    let holds = ops::compare(predicate, bits, a, b);
                    Ok(if broken { Value::Poison } else { Value::bool(holds) })
                })
                .map(|result| if same_sign { ops::poisoned(result) } else { result })?
            }
            Opcode::FCmp => {
                let kind = ops::float_kind(shapes, type_of(operands[0]))?;
                let predicate = data.float_predicate();
                ops::lanes2(&get(frame, 0)?, &get(frame, 1)?, |a, b| {
                    if ops::breaks(kind, data.flags, &[a, b]) {
                        return Ok(Value::Poison);
                    }
                    let (a, b) = (crate::float::to_f64(kind, a), crate::float::to_f64(kind, b));
                    Ok(Value::bool(crate::float::compare(predicate, a, b)))
                })
                .map(|result| {
                    match data.flags != phalanx_ir::InstFlags::NONE {
                        true => ops::poisoned(result),
                        false => result,
                    }
                })?
            }
            Opcode::Select => {
                let chosen = select(&get(frame, 0)?, &get(frame, 1)?, &get(frame, 2)?);
                ops::as_promised(shapes, data, chosen)
            }
            Opcode::Freeze => {
                let value = get(frame, 0)?;
                freeze(program, world.frozen, data.ty, &value)?
            }
            Opcode::GetElementPtr => {
                let base = get(frame, 0)?;
                let mut indices = smallvec::SmallVec::<[(Value, Type); 4]>::new();
                for &operand in &operands[1..] {
                    indices.push((frame.operand(program, operand)?, type_of(operand)));
                }
                let indices = indices.iter().map(|(value, ty)| (value, *ty));
                let path = Path::promising(data.element_type(), data.flags, &world.view);
                program.address(&path, &base, type_of(operands[0]), indices)?
            }
            Opcode::ExtractElement => {
                let (vector, index) = (get(frame, 0)?, get(frame, 1)?);
                index.bits().map_or(Value::Poison, |i| {
                    usize::try_from(i).map_or(Value::Poison, |i| vector.element(i))
                })
            }
            Opcode::InsertElement => {
                let (vector, element) = (get(frame, 0)?, get(frame, 1)?);
                let index = get(frame, 2)?.bits().and_then(|i| usize::try_from(i).ok());
                let lanes = lanes_of(program, data.ty, &vector);
                match index.filter(|&i| i < lanes.len()) {
                    Some(i) => with(lanes, i, element),
                    None => Value::Poison,
                }
            }
            Opcode::ShuffleVector => shuffle(program, frame, data, operands)?,
            Opcode::ExtractValue => {
                let mut value = get(frame, 0)?;
                for &index in body.indices(inst) {
                    value = value.element(index as usize);
                }
                value
            }
            Opcode::InsertValue => {
                let (into, value) = (get(frame, 0)?, get(frame, 1)?);
                insert(&into, body.indices(inst), value)
            }
            Opcode::Alloca => {
                let is_entry = function.flow.entry() == Some(frame.block);
                let is_static =
                    |inst: InstId| is_entry && function.body.operands(inst)[0].as_const().is_some();
                // Static allocas of the entry block are placed before the first dynamic one. So
                // they have the same address in all threads, even if dynamic sizes differ.
                let reserved = &frame.values[inst.into_raw().into_u32() as usize];
                if is_static(inst) && *reserved != Value::Unit {
                    reserved.clone()
                } else {
                    if !is_static(inst) && is_entry {
                        let mut next = function.body.next(inst);
                        while let Some(slot) = next {
                            if function.body.inst(slot).opcode == Opcode::Alloca && is_static(slot)
                            {
                                let count =
                                    frame.operand(program, function.body.operands(slot)[0])?;
                                let address = allocate(world, program, function, slot, &count)?;
                                frame.values[slot.into_raw().into_u32() as usize] = address;
                            }
                            next = function.body.next(slot);
                        }
                    }
                    let count = frame.operand(program, operands[0])?;
                    allocate(world, program, function, inst, &count)?
                }
            }
            Opcode::Load => {
                let place = frame.place(program, operands[0], "load")?;
                let value = world.view.load(shapes, data.ty, place)?;
                frame.promised(program, value)?
            }
            Opcode::Store => {
                let place = frame.place(program, operands[1], "store")?;
                let value = get(frame, 0)?;
                world.view.store(shapes, type_of(operands[0]), &value, place)?;
                Value::Unit
            }
            Opcode::Fence => {
                let mem = data.mem();
                world.fence = Some((mem.ordering(), program.reach(mem.scope())));
                Value::Unit
            }
            Opcode::AtomicRmw => {
                let place = frame.place(program, operands[0], "atomicrmw")?;
                let old = world.view.load(shapes, data.ty, place)?;
                let new = ops::atomic(shapes, data.rmw_op(), data.ty, &old, &get(frame, 1)?)?;
                world.view.store(shapes, data.ty, &new, place)?;
                old
            }
            Opcode::CmpXchg => {
                let place = frame.place(program, operands[0], "cmpxchg")?;
                let ty = type_of(operands[1]);
                let old = world.view.load(shapes, ty, place)?;
                let same = old == get(frame, 1)?;
                if same {
                    let new = get(frame, 2)?;
                    world.view.store(shapes, ty, &new, place)?;
                }
                Value::Many([old, Value::bool(same)].into())
            }
            opcode => return Err(FaultKind::unsupported(format!("`{}`", opcode.text()))),
        };
        frame.set(result);
        frame.advance(program);
        Ok(Step::Done)
    }
}

impl Frame {
    pub(crate) fn operand(&self, program: &Program<'_>, value: phalanx_ir::Value) -> Result<Value> {
        Ok(match value.kind() {
            ValueKind::Inst(inst) => self.values[number(inst)].clone(),
            ValueKind::Arg(position) => self.args[position as usize].clone(),
            ValueKind::Const(constant) => program.constant(constant)?,
            ValueKind::Block(_) | ValueKind::Metadata(_) => Value::Unit,
        })
    }

    /// The result of an instruction, the latest if it was executed several times.
    pub(crate) fn result(&self, inst: InstId) -> &Value {
        &self.values[number(inst)]
    }

    /// The result of the instruction, checked against its promises if the program is held to them.
    fn promised(&self, program: &Program<'_>, value: Value) -> Result<Value> {
        match program.follows_undef() {
            true => {
                program.promised_result(program.functions[self.code].function, self.inst, value)
            }
            false => Ok(value),
        }
    }

    fn set(&mut self, value: Value) {
        self.values[number(self.inst)] = value;
    }

    fn advance(&mut self, program: &Program<'_>) {
        if let Some(next) = program.functions[self.code].function.body.next(self.inst) {
            self.inst = next;
        }
    }

    /// Goes to a successor; its phis are evaluated together.
    fn jump(&mut self, program: &Program<'_>, successor: usize) -> Result<Step> {
        let function = program.functions[self.code].function;
        let (flow, body) = (&function.flow, &function.body);
        let from = self.block;
        let Some(&to) = flow.successors(from).get(successor) else {
            return Err(FaultKind::unsupported("a jump without a target"));
        };
        let mut new = smallvec::SmallVec::<[(InstId, Value); 8]>::new();
        for phi in body.phis(to) {
            let mut incoming = body.phi_incoming(phi);
            let Some((value, _)) = incoming.find(|&(_, block)| block == from) else {
                return Err(FaultKind::undefined("a phi without the edge that was taken"));
            };
            new.push((phi, self.operand(program, value)?));
        }
        for (phi, value) in new {
            self.values[number(phi)] = value;
        }
        self.block = to;
        let first = body.block_insts(to).find(|&i| body.inst(i).opcode != Opcode::Phi);
        let Some(first) = first else {
            return Err(FaultKind::unsupported("a block without a terminator"));
        };
        self.inst = first;
        Ok(Step::Branch { from })
    }

    pub(crate) fn node(&self) -> phalanx_graph::Node {
        node_of(self.block)
    }
}

/// The successor that a branch on an unknown frozen value takes, if branching on it is allowed.
fn guess(
    world: &mut World<'_>,
    frame: &Frame,
    what: &str,
    condition: &Value,
    ways: u64,
) -> Result<usize> {
    match (condition, world.frozen) {
        (Value::Frozen, Frozen::Followed(seed)) => {
            world.guesses += 1;
            let place = (frame.code as u64) << 32 | number(frame.inst) as u64;
            Ok(way(seed, place, ways) as usize)
        }
        (Value::Undef, _) => Err(FaultKind::undefined(format!("{what} on undef"))),
        _ => Err(FaultKind::undefined(format!("{what} on poison"))),
    }
}

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}
