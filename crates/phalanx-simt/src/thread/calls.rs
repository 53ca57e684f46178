//! Calls: how a thread enters a function and returns.
//!
//! The caller stays at the call until the return, which gives it its result. An operation that
//! involves other threads makes no frame: the group performs it. Calls nest no deeper than
//! [`DEPTH`]. Each call costs O(ids of the callee), as a frame has a place for every value.

use phalanx_ir::{InstId, Opcode, Type, attributes::AttrKind};

use super::{Group, Result, Step, Thread};
use crate::{
    alone::alone,
    fault::FaultKind,
    intrinsic::Intrinsic,
    memory::Region,
    program::{Callee, Given, Program},
    value::Value,
    world::{World, place},
};

/// Deeper calls are a fault.
const DEPTH: usize = 256;

impl Thread {
    pub(super) fn ret(&mut self, world: &mut World<'_>, value: Value) -> Result<Step> {
        let program = world.program;
        let Some(ended) = self.frames.pop() else { return Ok(Step::Exit) };
        world.view.private.release(ended.mark);
        let Some(frame) = self.frames.last_mut() else { return Ok(Step::Exit) };
        let call = frame.inst;
        frame.set(frame.promised(program, value)?);
        if program.functions[frame.code].function.body.inst(call).opcode == Opcode::Invoke {
            let from = frame.block;
            frame.jump(program, 0)?;
            return Ok(Step::Return { call, from: Some(from) });
        }
        frame.advance(program);
        Ok(Step::Return { call, from: None })
    }

    pub(super) fn call(&mut self, world: &mut World<'_>, inst: InstId) -> Result<Step> {
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
            Callee::Driver(number) => program.call_driver(number, &self.at, &args)?,
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
            Callee::Intrinsic(Intrinsic::WorkGroup(kind)) => {
                return Ok(Step::Group(Group::WorkGroup(kind)));
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
        frame.set(frame.promised(program, result)?);
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
            // The callee gets its own copy of a `byval` argument.
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

    /// Arguments of the call that the thread stands before, and their types.
    pub(crate) fn call_arguments(&self, program: &Program<'_>) -> Result<(Vec<Value>, Vec<Type>)> {
        let Some(frame) = self.frames.last() else { return Ok(Default::default()) };
        let function = program.functions[frame.code].function;
        let args = function.body.call_args(frame.inst);
        let types: Vec<Type> =
            args.iter().map(|&a| function.value_type(program.context(), a)).collect();
        let mut values: Vec<Value> =
            args.iter().map(|&a| frame.operand(program, a)).collect::<Result<_>>()?;
        if program.follows_undef() {
            for (position, value) in values.iter_mut().enumerate() {
                let (call, given) = (frame.inst, std::mem::take(value));
                *value =
                    program.promised_argument(function, call, position, types[position], given)?;
            }
        }
        match program.functions[frame.code].given.get(&frame.inst) {
            Some(given) => rearranged(program, given, &values, &types),
            None => Ok((values, types)),
        }
    }
}

/// Operands of an intrinsic that is not called by its name, and their types.
fn rearranged(
    program: &Program<'_>,
    given: &[Given],
    values: &[Value],
    types: &[Type],
) -> Result<(Vec<Value>, Vec<Type>)> {
    let mut all = (Vec::new(), Vec::new());
    for given in given {
        let (value, ty) = match *given {
            Given::Argument(at) => match (values.get(at), types.get(at)) {
                (Some(value), Some(&ty)) => (value.clone(), ty),
                _ => return Err(FaultKind::undefined("a call without one of its arguments")),
            },
            Given::Number(number) => (Value::Bits(number.into()), program.context().int_type(32)),
        };
        all.0.push(value);
        all.1.push(ty);
    }
    Ok(all)
}

fn name_of(program: &Program<'_>, callee: phalanx_ir::Const) -> String {
    let context = program.context();
    match &context.const_data(callee).kind {
        phalanx_ir::ConstKind::Global(name) => {
            name.symbol().map_or_else(String::new, |s| format!("`@{}`", context.text(s)))
        }
        phalanx_ir::ConstKind::InlineAsm(asm) => {
            format!("inline assembly `{}`", context.text(asm.template).trim())
        }
        _ => String::new(),
    }
}
