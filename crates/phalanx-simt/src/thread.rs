//! One thread: its frames, and what a step does.
//!
//! A step executes one instruction, except where the instruction concerns other threads: then [`Thread::step`] says so and
//! changes nothing, and [`Thread::finish`] completes it with what the group computed.

use phalanx_ir::{
    BlockId, InstData, InstId, Opcode, Type, ValueKind, attributes::AttrKind, flow::node_of,
    inst::Ordering,
};

use crate::{
    alone::alone,
    convergence::{Key, Latest},
    fault::{FaultKind, Site},
    intrinsic::{Barrier, Intrinsic, Token},
    launch::cluster_of,
    memory::{Region, View},
    ops,
    program::{Callee, Program},
    value::{Value, mask},
};

type Result<T> = std::result::Result<T, FaultKind>;

/// Where a thread is in its launch.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Coordinates {
    /// Number in the launch.
    pub number: u32,
    /// Position in the workgroup.
    pub thread: [u32; 3],
    /// Position of the workgroup.
    pub block: [u32; 3],
    /// Extent of a workgroup.
    pub block_size: [u32; 3],
    /// Number of workgroups.
    pub grid_size: [u32; 3],
    /// Workgroups of a cluster.
    pub cluster_size: [u32; 3],
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Position in the wave.
    pub lane: u32,
    /// Number of the wave in the workgroup.
    pub wave: u32,
}

impl Coordinates {
    /// Number of the workgroup in the launch.
    #[must_use]
    pub fn workgroup(&self) -> u32 {
        let ([x, y, z], size) = (self.block, self.grid_size);
        x + size[0] * (y + size[1] * z)
    }

    /// Number of the cluster in the launch.
    #[must_use]
    pub fn cluster(&self) -> u32 {
        cluster_of(self.grid_size, self.cluster_size, self.block)
    }

    /// Position of the workgroup in its cluster.
    #[must_use]
    pub fn in_cluster(&self, dim: usize) -> u32 {
        self.block[dim] % self.cluster_size[dim]
    }

    /// Number of the workgroup in its cluster.
    #[must_use]
    pub fn rank(&self) -> u32 {
        let [x, y, z] = [0, 1, 2].map(|dim| self.in_cluster(dim));
        x + self.cluster_size[0] * (y + self.cluster_size[1] * z)
    }
}

/// What a thread sees besides itself.
pub(crate) struct World<'a> {
    pub(crate) program: &'a Program<'a>,
    pub(crate) view: View<'a>,
    /// The fence that was executed.
    pub(crate) fence: Option<Ordering>,
    /// Addresses of the dispatch packet and of implicit arguments.
    pub(crate) packets: [u64; 2],
    pub(crate) clock: u64,
    /// What frozen poison is.
    pub(crate) frozen: u128,
}

/// What a step did.
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
    /// Stands before an operation that concerns others.
    Group(Group),
    /// The outermost function returned.
    Exit,
}

/// An operation that concerns others.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Group {
    Collective(crate::collective::Collective),
    Barrier(Barrier),
    Split(crate::split::Split),
    Token(Token),
}

/// A call in progress.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) code: usize,
    pub(crate) block: BlockId,
    /// The next instruction.
    pub(crate) inst: InstId,
    pub(crate) values: Vec<Value>,
    args: Box<[Value]>,
    mark: usize,
    /// What tells calls apart that are not converged.
    pub(crate) context: Key,
    pub(crate) now: Key,
    pub(crate) latest: Latest,
}

/// One thread.
#[derive(Debug)]
pub struct Thread {
    pub(crate) at: Coordinates,
    pub(crate) frames: Vec<Frame>,
}

/// Calls nest no deeper.
const DEPTH: usize = 256;

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

    /// Where the thread is: the innermost place.
    pub(crate) fn site(&self, program: &Program<'_>) -> Option<Site> {
        let frame = self.frames.last()?;
        let function = program.functions[frame.code].function.header.name;
        Some(Site { function, inst: frame.inst })
    }

    pub(crate) fn top(&self) -> Option<&Frame> {
        self.frames.last()
    }

    /// Arguments of the call that the thread stands before, and their types.
    pub(crate) fn call_arguments(&self, program: &Program<'_>) -> Result<(Vec<Value>, Vec<Type>)> {
        let Some(frame) = self.frames.last() else { return Ok(Default::default()) };
        let function = program.functions[frame.code].function;
        let args = function.body.call_args(frame.inst);
        let types = args.iter().map(|&a| function.value_type(program.context(), a)).collect();
        Ok((args.iter().map(|&a| frame.operand(program, a)).collect::<Result<_>>()?, types))
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
        let type_of = |value| function.value_type(context, value);
        let get = |frame: &Frame, i: usize| frame.operand(program, operands[i]);
        let result = match data.opcode {
            Opcode::Br if operands.is_empty() => return frame.jump(program, 0),
            Opcode::Br => {
                let condition = get(frame, 0)?;
                let Some(taken) = condition.bits() else {
                    return Err(FaultKind::undefined("branch on poison"));
                };
                return frame.jump(program, usize::from(taken == 0));
            }
            Opcode::Switch => {
                let Some(value) = get(frame, 0)?.bits() else {
                    return Err(FaultKind::undefined("switch on poison"));
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
                })?
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
                program.address(data.element_type(), &base, type_of(operands[0]), indices)?
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
                let Some(count) = get(frame, 0)?.bits() else {
                    return Err(FaultKind::undefined("alloca of poison size"));
                };
                let size = shapes.alloc_size(data.element_type());
                let size = u64::try_from(count).ok().and_then(|count| count.checked_mul(size));
                let align = data.mem().align().unwrap_or_else(|| shapes.align(data.element_type()));
                let address = match size {
                    Some(size) => world.view.private.allocate(size, align)?,
                    None => return Err(FaultKind::unsupported("an allocation so large")),
                };
                // Where private memory has no space of its own, its addresses are generic.
                match program.region(data.ty)? {
                    Region::Generic => {
                        Value::Bits(program.apertures.generic(Region::Private, address).into())
                    }
                    _ => Value::Bits(address.into()),
                }
            }
            Opcode::Load => {
                let place = place(program, type_of(operands[0]), &get(frame, 0)?, "load")?;
                world.view.load(shapes, data.ty, place)?
            }
            Opcode::Store => {
                let place = place(program, type_of(operands[1]), &get(frame, 1)?, "store")?;
                let value = get(frame, 0)?;
                world.view.store(shapes, type_of(operands[0]), &value, place)?;
                Value::Unit
            }
            Opcode::Fence => {
                world.fence = Some(data.mem().ordering());
                Value::Unit
            }
            Opcode::AtomicRmw => {
                let place = place(program, type_of(operands[0]), &get(frame, 0)?, "atomicrmw")?;
                let old = world.view.load(shapes, data.ty, place)?;
                let new = ops::atomic(shapes, data.rmw_op(), data.ty, &old, &get(frame, 1)?)?;
                world.view.store(shapes, data.ty, &new, place)?;
                old
            }
            Opcode::CmpXchg => {
                let place = place(program, type_of(operands[0]), &get(frame, 0)?, "cmpxchg")?;
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

    fn ret(&mut self, world: &mut World<'_>, value: Value) -> Result<Step> {
        let program = world.program;
        let Some(ended) = self.frames.pop() else { return Ok(Step::Exit) };
        world.view.private.release(ended.mark);
        let Some(frame) = self.frames.last_mut() else { return Ok(Step::Exit) };
        let call = frame.inst;
        frame.set(value);
        if program.functions[frame.code].function.body.inst(call).opcode == Opcode::Invoke {
            let from = frame.block;
            frame.jump(program, 0)?;
            return Ok(Step::Return { call, from: Some(from) });
        }
        frame.advance(program);
        Ok(Step::Return { call, from: None })
    }

    fn call(&mut self, world: &mut World<'_>, inst: InstId) -> Result<Step> {
        let program = world.program;
        let (args, types) = self.call_arguments(program)?;
        let Some(frame) = self.frames.last() else { return Ok(Step::Exit) };
        let code = &program.functions[frame.code];
        let body = &code.function.body;
        let mut callee = code.callees.get(&inst).copied().unwrap_or(Callee::Unknown);
        if callee == Callee::Indirect {
            let address = frame.operand(program, body.callee(inst))?.bits();
            let found = address.and_then(|address| program.function_at(address as u64));
            callee = match found {
                Some(number) => Callee::Function(number),
                None => return Err(FaultKind::undefined("call of what is no function")),
            };
        }
        let result = match callee {
            Callee::Function(number) => {
                return self.enter(world, inst, number, args).map(|()| Step::Call);
            }
            Callee::Nothing => Value::Unit,
            Callee::Unknown | Callee::Indirect => {
                let name = body.const_callee(inst).map(|c| name_of(program, c)).unwrap_or_default();
                return Err(FaultKind::unsupported(format!("a call of {name}")));
            }
            Callee::Intrinsic(Intrinsic::Collective(collective)) => {
                return Ok(Step::Group(Group::Collective(collective)));
            }
            Callee::Intrinsic(Intrinsic::Barrier(barrier)) => {
                return Ok(Step::Group(Group::Barrier(barrier)));
            }
            Callee::Intrinsic(Intrinsic::Split(split)) => {
                return Ok(Step::Group(Group::Split(split)));
            }
            Callee::Intrinsic(Intrinsic::Token(token)) => {
                return Ok(Step::Group(Group::Token(token)));
            }
            Callee::Intrinsic(intrinsic) => {
                let data = body.inst(inst);
                alone(world, self.at, intrinsic, data, &types, &args)?
            }
        };
        let Some(frame) = self.frames.last_mut() else { return Ok(Step::Exit) };
        frame.set(result);
        if body.inst(inst).opcode == Opcode::Invoke {
            return frame.jump(program, 0);
        }
        frame.advance(program);
        Ok(Step::Done)
    }

    /// Begins a call of a function; the caller stays at its instruction until the return.
    fn enter(
        &mut self,
        world: &mut World<'_>,
        inst: InstId,
        number: usize,
        mut args: Vec<Value>,
    ) -> Result<()> {
        if self.frames.len() >= DEPTH {
            return Err(FaultKind::Depth(DEPTH));
        }
        let program = world.program;
        let callee = program.functions[number].function;
        if args.len() != callee.header.params.len() && !callee.header.vararg {
            return Err(FaultKind::undefined("a call with another number of arguments"));
        }
        let mark = world.view.private.mark();
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let site = program.functions[frame.code].function.body.call_info(inst).attributes;
        for (position, value) in args.iter_mut().enumerate() {
            // A copy of what `byval` points to is the callee's own.
            let attributes = program.param_attributes(site, position);
            if let Some(ty) = attributes.type_of(AttrKind::ByVal)
                && let Some(&param) = callee.header.params.get(position)
            {
                let from = place(program, param, value, "load")?;
                let copy = world.view.load(&program.shapes, ty, from)?;
                let align = attributes.align().unwrap_or_else(|| program.shapes.align(ty));
                let address = world.view.private.allocate(program.shapes.alloc_size(ty), align)?;
                let region = (Region::Private, address);
                world.view.store(&program.shapes, ty, &copy, region)?;
                *value = Value::Bits(match program.region(param)? {
                    Region::Generic => program.apertures.generic(Region::Private, address).into(),
                    _ => address.into(),
                });
            }
        }
        self.push(program, number, args.into(), mark);
        Ok(())
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

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

fn name_of(program: &Program<'_>, callee: phalanx_ir::Const) -> String {
    let context = program.context();
    match &context.const_data(callee).kind {
        phalanx_ir::ConstKind::Global(name) => {
            name.symbol().map_or_else(String::new, |s| format!("`@{}`", context.text(s)))
        }
        phalanx_ir::ConstKind::InlineAsm(_) => "inline assembly".to_owned(),
        _ => String::new(),
    }
}

/// Where an access goes.
pub(crate) fn place(
    program: &Program<'_>,
    ty: Type,
    address: &Value,
    access: &'static str,
) -> Result<(Region, u64)> {
    match address {
        Value::Bits(bits) => Ok((program.region(ty)?, *bits as u64)),
        _ => Err(FaultKind::undefined(format!("`{access}` at a poison address"))),
    }
}

fn lanes_of(program: &Program<'_>, ty: Type, vector: &Value) -> Vec<Value> {
    match (vector, program.shapes.of(ty)) {
        (Value::Many(lanes), _) => lanes.to_vec(),
        (_, &crate::shape::Shape::Vector { len, .. }) => vec![Value::Poison; len as usize],
        _ => Vec::new(),
    }
}

fn with(mut lanes: Vec<Value>, index: usize, value: Value) -> Value {
    lanes[index] = value;
    Value::Many(lanes.into())
}

fn insert(into: &Value, indices: &[u32], value: Value) -> Value {
    let Some((&first, rest)) = indices.split_first() else { return value };
    let mut members = match into {
        Value::Many(members) => members.to_vec(),
        _ => Vec::new(),
    };
    let first = first as usize;
    if members.len() <= first {
        members.resize(first + 1, Value::Poison);
    }
    members[first] = insert(&members[first].clone(), rest, value);
    Value::Many(members.into())
}

fn select(condition: &Value, yes: &Value, no: &Value) -> Value {
    match condition {
        Value::Bits(0) => no.clone(),
        Value::Bits(_) => yes.clone(),
        Value::Many(lanes) => {
            let lane = |(i, c): (usize, &Value)| select(c, &yes.element(i), &no.element(i));
            Value::Many(lanes.iter().enumerate().map(lane).collect())
        }
        Value::Poison | Value::Unit => Value::Poison,
    }
}

/// Poison becomes these bits, lane by lane.
pub(crate) fn freeze(
    program: &Program<'_>,
    frozen: u128,
    ty: Type,
    value: &Value,
) -> Result<Value> {
    use crate::shape::Shape;
    Ok(match (value, program.shapes.of(ty)) {
        (_, &Shape::Vector { elem, len }) => {
            let lane = |i| freeze(program, frozen, elem, &value.element(i as usize));
            Value::Many((0..len).map(lane).collect::<Result<_>>()?)
        }
        (_, &Shape::Array { elem, len, .. }) => {
            let lane = |i| freeze(program, frozen, elem, &value.element(i as usize));
            Value::Many((0..len).map(lane).collect::<Result<_>>()?)
        }
        (_, Shape::Struct(members)) => {
            let each = members.iter().enumerate();
            let each = each.map(|(i, &(ty, _))| freeze(program, frozen, ty, &value.element(i)));
            Value::Many(each.collect::<Result<_>>()?)
        }
        (Value::Poison, &Shape::Int(bits) | &Shape::Ptr { bits, .. }) => {
            Value::Bits(frozen & mask(bits))
        }
        (Value::Poison, Shape::Float(kind)) => Value::Bits(frozen & mask(kind.bits())),
        (Value::Poison, _) => Value::Bits(0),
        (value, _) => value.clone(),
    })
}

fn shuffle(
    program: &Program<'_>,
    frame: &Frame,
    data: &InstData,
    operands: &[phalanx_ir::Value],
) -> Result<Value> {
    let function = program.functions[frame.code].function;
    let ty = function.value_type(program.context(), operands[0]);
    let mut lanes = lanes_of(program, ty, &frame.operand(program, operands[0])?);
    lanes.extend(lanes_of(program, ty, &frame.operand(program, operands[1])?));
    let mask = frame.operand(program, operands[2])?;
    let pick = |index: &Value| {
        let index = index.bits().and_then(|i| usize::try_from(i).ok());
        index.and_then(|i| lanes.get(i).cloned()).unwrap_or(Value::Poison)
    };
    // A mask of poison alone is no vector of lanes.
    let count = match *program.shapes.of(data.ty) {
        crate::shape::Shape::Vector { len, .. } => len as usize,
        _ => 0,
    };
    let poison = vec![Value::Poison; count];
    Ok(Value::Many(mask.elements().unwrap_or(&poison).iter().map(pick).collect()))
}
