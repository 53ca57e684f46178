//! Executes a thread from one barrier to the next.
//!
//! A [`Machine`] executes one thread after the other, up to the next barrier of the workgroup. At a
//! branch whose condition is known, it takes that side. At other branches:
//!
//! | branch | what is done |
//! |---|---|
//! | an exit of a loop, with a condition that is the same in the workgroup or depends only on the launch | some rounds are executed |
//! | another branch with such a condition | both sides are tried: [`assume`](super::assume) |
//! | one that threads decide by data | nothing is known up to where its sides meet |
//!
//! ```text
//! br i1 %known, label %a, label %b          ; one side
//! br i1 %data, label %c, label %join        ; continues at %join: accesses in %c may happen or not
//! ```
//!
//! So each access that is recorded is executed, if the workgroup takes the assumed path. Threads
//! may wait for others in a loop that reads memory. Accesses of a thread behind such a loop are
//! ordered by it, and are not recorded before the next barrier.
//!
//! O(1) for each executed instruction, for each entry of an executed phi or switch, and for each
//! instruction that is skipped where a branch by data or the end of a loop is passed.
//! [`Machine::fuel`] bounds their number.

use phalanx_graph::{CycleId, Node};
use phalanx_ir::{
    BlockId, InstId, Opcode, Value,
    flow::{block_of, node_of},
    inst::{InstFlags, IntPredicate},
};
use phalanx_target::Scope;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    super::{facts::Callee, sites::called},
    assume::{Assumptions, Round},
    left_out::{LeftOut, Why},
    lost::Lost,
    objects::Access,
    program::{Called, Function, Functions},
    terms::{Base, Term, Terms, Val},
};
use crate::code::TypeSizes;

/// How many rounds of a loop are executed if their number is not known.
const ROUNDS: u32 = 2;
/// How many are executed at most if the loop is known to go on.
const MOST_ROUNDS: u32 = 8;
/// The number of entries of a phi or a switch that count as one step.
const ENTRIES: usize = 16;
/// The depth to which calls are executed.
const DEPTH: usize = 16;

/// An activation of a function in a thread.
pub(super) struct Frame {
    pub(super) function: usize,
    block: BlockId,
    next: Option<InstId>,
    pub(super) values: FxHashMap<InstId, Val>,
    pub(super) arguments: Vec<Option<Val>>,
    pub(super) call: Option<InstId>,
    rounds: FxHashMap<CycleId, u32>,
}

/// A thread.
pub(super) struct Thread {
    pub(super) index: [u32; 3],
    pub(super) number: u32,
    pub(super) frames: Vec<Frame>,
    /// The content of private memory, and how many bytes each value has.
    pub(super) private: FxHashMap<(Base, i64), (Val, u32)>,
    counts: FxHashMap<(usize, InstId), u32>,
    pub(super) meetings: u32,
    /// Whether the thread has waited for others in a loop since the last barrier.
    pub(super) has_waited: bool,
}

/// The successor that a branch leads to, and the loop that it leaves after some rounds.
#[derive(Clone, Copy)]
struct Choice {
    to: BlockId,
    left: Option<CycleId>,
}

/// Why a thread stops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The thread is at a barrier; these are the calls that lead there.
    Barrier(Vec<InstId>),
    End,
    /// It is not known how the thread goes on.
    Lost,
}

/// Executes the threads of a workgroup.
pub(super) struct Machine<'a, 'f> {
    pub(super) functions: &'f Functions<'a>,
    pub(super) terms: Terms,
    pub(super) assumed: Assumptions,
    pub(super) size: [u32; 3],
    pub(super) width: u32,
    /// How many more instructions may be executed.
    pub(super) fuel: usize,
    /// Accesses since the last barrier.
    pub(super) accesses: Vec<Access>,
    /// Accesses outside of their objects.
    pub(super) outside: Vec<Access>,
    /// Stores to global memory whose index may have lost the thread or the workgroup.
    pub(super) lost: Vec<(Access, Lost)>,
    /// Whether a thread may have written workgroup memory without a record.
    pub(super) is_incomplete: bool,
    pub(super) left_out: LeftOut,
    /// By function, branch, and how often it was executed: the successor to which all threads go.
    choices: FxHashMap<((usize, InstId), u32), Choice>,
    pub(super) sizes: TypeSizes<'a>,
    pub(super) roots: FxHashMap<Base, Base>,
    pub(super) extents: FxHashMap<Base, Option<u64>>,
}

impl Thread {
    pub(super) fn new(functions: &Functions<'_>, (number, index): (u32, [u32; 3])) -> Thread {
        let kernel = functions.all[0].unit.code;
        Thread {
            index,
            number,
            frames: vec![Frame {
                function: 0,
                block: kernel.flow.order()[0],
                next: kernel.body.first(kernel.flow.order()[0]),
                values: FxHashMap::default(),
                arguments: Vec::new(),
                call: None,
                rounds: FxHashMap::default(),
            }],
            private: FxHashMap::default(),
            counts: FxHashMap::default(),
            meetings: 0,
            has_waited: false,
        }
    }

    /// Continues behind a barrier.
    pub(super) fn pass(&mut self) {
        self.has_waited = false;
        self.meetings = 0;
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a thread that runs is in a function")
    }

    pub(super) fn set(&mut self, inst: InstId, value: Option<Val>) {
        match value {
            Some(value) => _ = self.frame().values.insert(inst, value),
            None => _ = self.frame().values.remove(&inst),
        }
    }

    /// The instruction of the kernel that the thread executes, which may be a call.
    pub(super) fn place(&self, inst: InstId) -> InstId {
        self.frames.get(1).and_then(|frame| frame.call).unwrap_or(inst)
    }

    /// How many times the thread has executed an instruction before; counts this time.
    pub(super) fn count(&mut self, function: usize, inst: InstId) -> u32 {
        let count = self.counts.entry((function, inst)).or_default();
        *count += 1;
        *count - 1
    }
}

impl<'a, 'f> Machine<'a, 'f> {
    pub(super) fn new(functions: &'f Functions<'a>, assumed: Assumptions, size: [u32; 3]) -> Self {
        let program = functions.program;
        Machine {
            functions,
            terms: Terms::default(),
            assumed,
            size,
            width: program.launch.wave_width.unwrap_or(64).max(1),
            fuel: 0,
            accesses: Vec::new(),
            outside: Vec::new(),
            lost: Vec::new(),
            is_incomplete: false,
            left_out: LeftOut::default(),
            choices: FxHashMap::default(),
            sizes: TypeSizes::new(program.kernel.code.context, program.layout),
            roots: FxHashMap::default(),
            extents: FxHashMap::default(),
        }
    }

    pub(super) fn function(&self, thread: &Thread) -> (usize, &'f Function<'a>) {
        let number = thread.frames.last().map_or(0, |frame| frame.function);
        (number, &self.functions.all[number])
    }

    /// Executes a thread up to the next barrier.
    pub(super) fn run(&mut self, thread: &mut Thread) -> Stop {
        loop {
            if thread.frames.is_empty() {
                return Stop::End;
            }
            let Some(inst) = thread.frame().next else { return Stop::Lost };
            if self.fuel == 0 {
                return Stop::Lost;
            }
            self.pay(1);
            let (_, function) = self.function(thread);
            let body = function.unit.code.body;
            let opcode = body.inst(inst).opcode;
            if opcode.is_terminator() {
                if !self.terminate(thread, inst) {
                    return Stop::Lost;
                }
                continue;
            }
            thread.frame().next = body.next(inst);
            if opcode == Opcode::Call {
                match function.called(inst) {
                    Called::Barrier => return Stop::Barrier(calls_to(thread, inst)),
                    Called::Lost => return Stop::Lost,
                    Called::Function(callee) if thread.frames.len() < DEPTH => {
                        self.call(thread, inst, callee);
                    }
                    Called::Function(_) => return Stop::Lost,
                    other => self.execute_call(thread, inst, other),
                }
                continue;
            }
            self.execute(thread, inst);
        }
    }

    /// Counts steps of execution.
    fn pay(&mut self, steps: usize) {
        self.fuel = self.fuel.saturating_sub(steps);
    }

    fn call(&mut self, thread: &mut Thread, inst: InstId, callee: usize) {
        let body = self.function(thread).1.unit.code.body;
        let arguments =
            body.call_args(inst).iter().map(|&value| self.value(thread, value)).collect();
        let code = self.functions.all[callee].unit.code;
        let block = code.flow.order()[0];
        thread.frames.push(Frame {
            function: callee,
            block,
            next: code.body.first(block),
            values: FxHashMap::default(),
            arguments,
            call: Some(inst),
            rounds: FxHashMap::default(),
        });
    }

    fn give_back(&mut self, thread: &mut Thread, value: Option<Val>) {
        let call = thread.frames.pop().and_then(|frame| frame.call);
        if let (Some(call), false) = (call, thread.frames.is_empty()) {
            thread.set(call, value);
        }
    }

    /// Executes a terminator; false if it is not known where it leads.
    fn terminate(&mut self, thread: &mut Thread, inst: InstId) -> bool {
        let (_, function) = self.function(thread);
        let (code, unit) = (function.unit.code, function.unit);
        let block = thread.frame().block;
        match code.body.inst(inst).opcode {
            Opcode::Ret => {
                let value = code.body.operands(inst).first().copied();
                let value = value.and_then(|value| self.value(thread, value));
                self.give_back(thread, value);
                return true;
            }
            Opcode::Br | Opcode::Switch => {}
            Opcode::Unreachable => {
                thread.frames.clear();
                return true;
            }
            _ => return false,
        }
        let successors = code.flow.successors(block);
        if let &[one] = successors {
            self.enter(thread, Some(block), one);
            return true;
        }
        let condition = self.value(thread, code.body.operands(inst)[0]);
        let is_switch = code.body.inst(inst).opcode == Opcode::Switch;
        if let Some(number) = condition.and_then(Val::as_number) {
            let position = match is_switch {
                false => usize::from(number & 1 == 0),
                true => {
                    self.pay(successors.len() / ENTRIES);
                    position_of(function, inst, number)
                }
            };
            self.enter(thread, Some(block), successors[position]);
            return true;
        }
        let node = node_of(block);
        let varying = phalanx_target::varying(Scope::Workgroup, self.functions.program.launch);
        let is_one = !unit.divergence.terminator(node).intersects(varying);
        // If the condition is the same in the workgroup, the first thread that comes decides.
        let key = (thread.frame().function, inst);
        let key = is_one.then(|| (key, thread.count(key.0, inst)));
        let known = key.and_then(|key| self.choices.get(&key).copied());
        let choice = known.or_else(|| self.choose(thread, inst, condition, is_one));
        let Some(choice) = choice else { return self.skip(thread, node) };
        if let Some(key) = key {
            self.choices.insert(key, choice);
        }
        if let Some(cycle) = choice.left {
            self.forget_rounds(thread, cycle);
        }
        self.enter(thread, Some(block), choice.to);
        true
    }

    /// Where a branch leads whose condition is not known; none if threads part there by data.
    fn choose(
        &mut self,
        thread: &mut Thread,
        inst: InstId,
        condition: Option<Val>,
        is_one: bool,
    ) -> Option<Choice> {
        let (_, function) = self.function(thread);
        let code = function.unit.code;
        let block = thread.frame().block;
        let is_switch = code.body.inst(inst).opcode == Opcode::Switch;
        let is_of_launch = condition.is_some_and(|of| self.terms.is_of_launch(of));
        if (is_one || is_of_launch) && !is_switch {
            let known = condition.filter(|_| is_one);
            let choice = self.round(thread, node_of(block), known);
            if choice.is_some() {
                return choice;
            }
        }
        let condition = condition?;
        let position = match is_switch {
            false => usize::from(!self.assumed.decide(&self.terms, condition, is_one)?),
            true => self.decide_switch(function, inst, condition, is_one)?,
        };
        let to = *code.flow.successors(block).get(position)?;
        Some(Choice { to, left: None })
    }

    fn decide_switch(
        &mut self,
        function: &Function<'_>,
        inst: InstId,
        value: Val,
        is_one: bool,
    ) -> Option<usize> {
        let body = function.unit.code.body;
        self.pay(body.operands(inst).len() / ENTRIES);
        let bool_type = body.inst(inst).ty;
        for (at, &case) in body.operands(inst)[1..].iter().enumerate() {
            let number = Val::number(super::super::sites::integer(function.unit.code, case)?);
            let is_taken = match is_one {
                true => {
                    self.pay(1);
                    let condition = self.terms.intern(Term::Pure {
                        opcode: Opcode::ICmp,
                        sub: IntPredicate::Eq as u8,
                        ty: bool_type,
                        operands: [value, number].into_iter().collect(),
                    });
                    self.assumed.decide(&self.terms, Val::of(condition), true)?
                }
                // Each thread compares another value, so there is nothing to remember.
                false => {
                    let comparison = (IntPredicate::Eq, value, number);
                    self.assumed.decide_between(&self.terms, comparison, false)?
                }
            };
            if is_taken {
                return Some(at + 1);
            }
        }
        Some(0)
    }

    /// Where an exit of a loop leads after so many rounds; none if the branch is no exit.
    fn round(&mut self, thread: &mut Thread, node: Node, condition: Option<Val>) -> Option<Choice> {
        let unit = self.function(thread).1.unit;
        let innermost = unit.cycles.innermost(node)?;
        let successors = unit.code.flow.successors(block_of(node));
        let is_inside = |cycle, to: BlockId| unit.cycles.contains(cycle, node_of(to));
        // An edge that leaves a cycle also leaves the cycles inside of it.
        let is_exit = |&cycle: &CycleId| successors.iter().any(|&to| !is_inside(cycle, to));
        let cycle = Some(innermost).filter(is_exit)?;
        let stays_if = is_inside(cycle, *successors.first()?);
        self.assumed.has_rounds = true;
        let rounds = thread.frame().rounds.get(&cycle).copied().unwrap_or(0);
        let wanted = rounds < ROUNDS;
        let stays = match condition {
            None => wanted,
            Some(condition) => {
                match self.assumed.go_round(&self.terms, condition, (stays_if, wanted)) {
                    Round::Known(stays) => stays && rounds < MOST_ROUNDS,
                    Round::Chosen(stays) => stays,
                }
            }
        };
        let to = *successors.iter().find(|&&to| is_inside(cycle, to) == stays)?;
        Some(Choice { to, left: (!stays).then_some(cycle) })
    }

    /// Forgets what a loop computes: its results are not known if the number of rounds is not.
    fn forget_rounds(&mut self, thread: &mut Thread, cycle: CycleId) {
        let unit = self.function(thread).1.unit;
        let body = unit.code.body;
        let blocks = unit.cycles.blocks(cycle).iter();
        let insts: Vec<InstId> = blocks.flat_map(|&at| body.block_insts(block_of(at))).collect();
        self.pay(insts.len());
        for &inst in &insts {
            match body.inst(inst).opcode {
                Opcode::Store => match self.value(thread, body.operands(inst)[1]) {
                    Some(at) => {
                        let root = self.root(at.base);
                        thread.private.retain(|&(base, _), _| base != root);
                    }
                    None => thread.private.clear(),
                },
                Opcode::Call if is_unknown(self.function(thread).1.called(inst)) => {
                    thread.private.clear();
                }
                _ => {}
            }
        }
        for inst in &insts {
            thread.frame().values.remove(inst);
        }
    }

    /// Goes to a block; `from` is the block before, if known.
    fn enter(&mut self, thread: &mut Thread, from: Option<BlockId>, to: BlockId) {
        let (_, function) = self.function(thread);
        let unit = function.unit;
        let body = unit.code.body;
        let node = node_of(to);
        // A header is in no cycle that is inside of its own.
        let headed = unit.cycles.innermost(node).filter(|&cycle| unit.cycles.header(cycle) == node);
        if let Some(cycle) = headed {
            let is_back = from.is_some_and(|from| unit.cycles.contains(cycle, node_of(from)));
            let rounds = thread.frame().rounds.entry(cycle).or_default();
            *rounds = if is_back { *rounds + 1 } else { 0 };
        }
        let mut next = body.first(to);
        let mut values: Vec<(InstId, Option<Val>)> = Vec::new();
        while let Some(phi) = next.filter(|&inst| body.inst(inst).opcode == Opcode::Phi) {
            if function.is_in_slice(phi) {
                self.pay(body.operands(phi).len() / ENTRIES);
                let incoming =
                    from.and_then(|from| body.phi_incoming(phi).find(|(_, block)| *block == from));
                let value = incoming.and_then(|(value, _)| self.value(thread, value));
                values.push((phi, value));
            }
            next = body.next(phi);
        }
        for (phi, value) in values {
            thread.set(phi, value);
        }
        let frame = thread.frame();
        (frame.block, frame.next) = (to, next);
    }

    /// Continues where the sides of a branch meet; false if a side may wait for other threads.
    fn skip(&mut self, thread: &mut Thread, branch: Node) -> bool {
        let (_, function) = self.function(thread);
        let unit = function.unit;
        let join = unit.postdom.ipdom(branch).filter(|&join| join != unit.postdom.virtual_exit());
        let mut seen = FxHashSet::default();
        let mut work = unit.cfg.successors(branch).to_vec();
        while let Some(at) = work.pop() {
            if Some(at) != join && seen.insert(at) {
                work.extend(unit.cfg.successors(at));
            }
        }
        let mut blocks: Vec<Node> = seen.iter().copied().collect();
        blocks.sort_unstable();
        for &block in &blocks {
            let is_loop = unit
                .cycles
                .innermost(block)
                .is_some_and(|cycle| seen.contains(&unit.cycles.header(cycle)));
            for inst in unit.code.body.block_insts(block_of(block)) {
                self.pay(1);
                if !self.forget(thread, inst, is_loop) {
                    return false;
                }
            }
        }
        match join {
            Some(join) => self.enter(thread, None, block_of(join)),
            None => self.give_back(thread, None),
        }
        true
    }

    /// Forgets what an instruction may have changed, which is executed or not. Returns false if it
    /// may wait for other threads.
    fn forget(&mut self, thread: &mut Thread, inst: InstId, is_loop: bool) -> bool {
        let (_, function) = self.function(thread);
        let (code, body) = (function.unit.code, function.unit.code.body);
        let data = body.inst(inst);
        self.leave(thread, inst);
        let is_atomic =
            data.flags.contains(InstFlags::ATOMIC) || data.flags.contains(InstFlags::VOLATILE);
        match data.opcode {
            Opcode::Load => thread.has_waited |= is_atomic && is_loop,
            Opcode::Store => match self.value(thread, body.operands(inst)[1]) {
                Some(at) => {
                    let root = self.root(at.base);
                    thread.private.retain(|&(base, _), _| base != root);
                    self.is_incomplete |= self.is_workgroup(root);
                }
                None => {
                    thread.private.clear();
                    self.is_incomplete = true;
                }
            },
            Opcode::AtomicRmw | Opcode::CmpXchg => {
                thread.has_waited |= is_loop;
                self.is_incomplete = true;
            }
            Opcode::Call => match function.called(inst) {
                Called::Barrier | Called::Lost => return false,
                Called::Meeting => thread.meetings += 1,
                Called::Function(callee) => {
                    let name = called(code, inst);
                    let waits = |name| (self.functions.program.calls.callee)(name);
                    if name.is_none_or(|name| waits(name) != Callee::Silent) {
                        return false;
                    }
                    thread.private.clear();
                    thread.has_waited |= self.functions.all[callee].spins;
                    self.is_incomplete = true;
                }
                Called::Copy { .. } | Called::Other => {
                    thread.private.clear();
                    self.is_incomplete = true;
                }
                _ => {}
            },
            _ => {}
        }
        thread.frame().values.remove(&inst);
        true
    }

    /// Records that an instruction which is not executed may access workgroup memory.
    fn leave(&mut self, thread: &Thread, inst: InstId) {
        let (number, function) = self.function(thread);
        // The accesses of functions that it calls are not looked at.
        self.left_out.is_cut |= matches!(function.called_if_call(inst), Some(Called::Function(_)));
        self.left_out.leave((number, inst), Why::Condition);
    }
}

/// The barrier that a thread is at: the calls that lead there, and the barrier.
fn calls_to(thread: &Thread, inst: InstId) -> Vec<InstId> {
    let calls = thread.frames.iter().filter_map(|frame| frame.call);
    calls.chain([inst]).collect()
}

/// Whether a call may write private memory.
fn is_unknown(called: Called) -> bool {
    matches!(called, Called::Function(_) | Called::Copy { .. } | Called::Other)
}

/// The position of the successor that a switch selects for a number.
fn position_of(function: &Function<'_>, inst: InstId, number: u64) -> usize {
    let code = function.unit.code;
    let cases = &code.body.operands(inst)[1..];
    let is_case = |&case: &Value| super::super::sites::integer(code, case) == Some(number);
    cases.iter().position(is_case).map_or(0, |found| found + 1)
}
