//! `early-cse`: reuses values that were computed or loaded before.
//!
//! A walk down the dominator tree with a table of available values, as in LLVM:
//!
//! - **Pure operations** and calls that access no memory and give a thread equal results for equal
//!   arguments. The earlier one loses the flags and promises that the later one does not have.
//! - **Loads** of an address that was loaded or stored before, as long as nothing may have written
//!   since. Each write and each block with several predecessors starts a new *generation* of
//!   memory. Memory that never changes has one generation. Across generations, the walker of
//!   MemorySSA decides whether a write in between may change what is loaded.
//! - **Convergent operations** without memory and with equal operands. The threads that are
//!   together at the later one must be those that were together at the earlier one
//!   ([`phalanx_core::legality`]), and no call in between may keep some of them from returning.
//!   LLVM reuses such an operation only within its block, and does not look at calls in between;
//!   but a ballot behind `llvm.amdgcn.kill` differs from the one before it. The pass asks for
//!   divergence only when there is such a pair.
//!
//! Writes of other threads count only at barriers, atomics and fences; without one of these they
//! are a data race.
//!
//! The pass finds all replacements first and then makes them in one transaction. O(instructions),
//! expected.

use std::cell::OnceCell;

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{DomTree, Node};
use phalanx_ir::{
    BlockId, InstFlags, InstId, Opcode, Type, Value,
    edit::Transaction,
    flow::{block_of, node_of},
};
use phalanx_target::Scope;
use rustc_hash::FxHashMap;

use crate::{
    answers::Answers,
    code::Code,
    ends::{Ends, InstPlace},
    equal::{Key, stand_for},
    memory::Memory,
    pass::{Outcome, Pass, PassError},
    speculated,
};

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct EarlyCse;

/// One replacement.
#[derive(Copy, Clone, Debug)]
struct Replaced {
    inst: InstId,
    by: Value,
    /// True if both compute or load the same value. False if the replacement is the value that was
    /// stored; that value may itself be a load, of another address or a volatile one.
    is_twin: bool,
}

impl Pass for EarlyCse {
    fn name(&self) -> &str {
        "early-cse"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let Some(dom) = queries::dom_tree(db, function) else { return Ok(Outcome::Unchanged) };
        let replaced = Search::new(db, function, dom).walk();
        if replaced.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        db.edit(function, |edit| {
            for replacement in &replaced {
                apply(edit, *replacement)?;
            }
            Ok::<_, PassError>(())
        })?;
        Ok(Outcome::Changed)
    }
}

fn apply(edit: &mut Transaction<'_>, replaced: Replaced) -> Result<(), PassError> {
    let Replaced { inst, by, is_twin } = replaced;
    if let Some(kept) = by.as_inst().filter(|_| is_twin) {
        stand_for(edit, kept, inst)?;
    }
    speculated::replace(edit, inst, by)
}

/// A table that drops the entries of a scope when the scope ends.
struct Scoped<K, V> {
    map: FxHashMap<K, V>,
    undo: Vec<(K, Option<V>)>,
}

impl<K: Clone + Eq + std::hash::Hash, V> Scoped<K, V> {
    fn new() -> Self {
        Scoped { map: FxHashMap::default(), undo: Vec::new() }
    }

    fn insert(&mut self, key: K, value: V) {
        let old = self.map.insert(key.clone(), value);
        self.undo.push((key, old));
    }

    fn back_to(&mut self, mark: usize) {
        while self.undo.len() > mark
            && let Some((key, old)) = self.undo.pop()
        {
            match old {
                Some(old) => drop(self.map.insert(key, old)),
                None => drop(self.map.remove(&key)),
            }
        }
    }
}

/// What is in memory at an address.
#[derive(Copy, Clone, Debug)]
struct Seen {
    value: Value,
    /// Where it was loaded or stored.
    at: InstId,
    generation: u32,
    /// Whether the value comes from a load rather than a store.
    is_load: bool,
}

/// What is in memory, by address and type.
type Known = Scoped<(Value, Type), Seen>;

struct Search<'a> {
    db: &'a Database,
    function: FunctionInput,
    code: Code<'a>,
    dom: &'a DomTree,
    /// The replacement of each replaced instruction.
    by: FxHashMap<InstId, Value>,
    values: Scoped<Key, InstId>,
    memory: Known,
    generation: u32,
    last_generation: u32,
    replaced: Vec<Replaced>,
    ends: OnceCell<Ends>,
    answers: Answers<'a>,
    /// The position of each instruction in its block, from 1; 0 before the walk visits the block.
    visited: Vec<u32>,
}

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

impl<'a> Search<'a> {
    fn new(db: &'a Database, function: FunctionInput, dom: &'a DomTree) -> Self {
        let code = Code::of(db, function);
        Search {
            dom,
            db,
            function,
            visited: vec![0; code.body.id_count()],
            code,
            by: FxHashMap::default(),
            values: Scoped::new(),
            memory: Scoped::new(),
            generation: 0,
            last_generation: 0,
            replaced: Vec::new(),
            ends: OnceCell::new(),
            answers: Answers::new(db, function, Machines::All),
        }
    }

    fn walk(mut self) -> Vec<Replaced> {
        enum Visit {
            Enter(Node, u32),
            Leave(usize, usize),
        }
        let dom = self.dom;
        let mut stack = vec![Visit::Enter(dom.root(), 0)];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Leave(values, memory) => {
                    self.values.back_to(values);
                    self.memory.back_to(memory);
                }
                Visit::Enter(node, generation) => {
                    stack.push(Visit::Leave(self.values.undo.len(), self.memory.undo.len()));
                    self.generation = generation;
                    if self.code.flow.in_degree(block_of(node)) != 1 {
                        self.write();
                    }
                    self.block(block_of(node));
                    let generation = self.generation;
                    stack.extend(dom.children(node).map(|child| Visit::Enter(child, generation)));
                }
            }
        }
        self.replaced
    }

    fn resolve(&self, value: Value) -> Value {
        match value.as_inst().and_then(|inst| self.by.get(&inst)) {
            Some(&by) => by,
            None => value,
        }
    }

    fn write(&mut self) {
        self.last_generation += 1;
        self.generation = self.last_generation;
    }

    fn replace(&mut self, inst: InstId, by: Value, is_twin: bool) {
        self.by.insert(inst, by);
        self.replaced.push(Replaced { inst, by, is_twin });
    }

    fn block(&mut self, block: BlockId) {
        let body = self.code.body;
        for (at, inst) in (1..).zip(body.block_insts(block)) {
            self.visited[number(inst)] = at;
            let data = body.inst(inst);
            match data.opcode {
                Opcode::Load if !self.code.has_order(inst) => self.load(inst),
                Opcode::Store => {
                    self.write();
                    if !self.code.has_order(inst) {
                        let &[value, address] = body.operands(inst) else { continue };
                        let (value, address) = (self.resolve(value), self.resolve(address));
                        let ty = self.code.type_of(value);
                        let generation = self.generation;
                        let seen = Seen { value, at: inst, generation, is_load: false };
                        self.memory.insert((address, ty), seen);
                    }
                }
                Opcode::Call => self.call(inst),
                _ => match Key::of_operation(&self.code, inst, &|value| self.resolve(value)) {
                    Some(key) => self.value(inst, key),
                    None if self.may_write(inst) => self.write(),
                    None => {}
                },
            }
        }
    }

    fn may_write(&self, inst: InstId) -> bool {
        match self.code.body.inst(inst).opcode {
            // An ordered load is a point where writes of other threads become visible.
            Opcode::Load
            | Opcode::Fence
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::VaArg
            | Opcode::Invoke
            | Opcode::CallBr
            | Opcode::LandingPad
            | Opcode::CatchPad
            | Opcode::CleanupPad => true,
            Opcode::Call => !self.code.call(inst).memory.only_reads(),
            _ => false,
        }
    }

    fn load(&mut self, inst: InstId) {
        let address = self.resolve(self.code.body.operands(inst)[0]);
        let key = (address, self.code.body.inst(inst).ty);
        let memory = Memory::new(self.db, self.function);
        let generation = if memory.never_changes(inst) { u32::MAX } else { self.generation };
        // An instruction that the walk has not visited comes after both.
        let is_behind = |write, earlier| {
            let [write, earlier] = [write, earlier].map(|inst| self.visited[number(inst)]);
            write == 0 || write > earlier
        };
        let is_current = |seen: &&Seen| {
            seen.generation == generation
                || !memory.is_written_between(self.dom, seen.at, inst, is_behind)
        };
        match self.memory.map.get(&key).filter(is_current) {
            Some(&seen) => {
                self.replace(inst, seen.value, seen.is_load);
                // Later lookups then start from a nearer generation.
                self.memory.insert(key, Seen { generation, ..seen });
            }
            None => {
                let seen = Seen { value: inst.into(), at: inst, generation, is_load: true };
                self.memory.insert(key, seen);
            }
        }
    }

    fn value(&mut self, inst: InstId, key: Key) {
        match self.values.map.get(&key) {
            Some(&earlier) => self.replace(inst, earlier.into(), true),
            None => self.values.insert(key, inst),
        }
    }

    fn call(&mut self, inst: InstId) {
        let body = self.code.body;
        let facts = self.code.call(inst);
        if !facts.memory.only_reads() {
            self.write();
        }
        let data = body.inst(inst);
        // Either the thread computes the same value again, or the same group of threads does.
        let repeats =
            if facts.is_convergent { facts.intrinsic.is_some() } else { facts.is_function };
        if !facts.memory.is_none()
            || !facts.comes_back()
            || !repeats
            || data.ty == Type::VOID
            || data.ty == Type::TOKEN
            || data.flags.contains(InstFlags::MUST_TAIL)
        {
            return;
        }
        let key = Key::of_call(&self.code, inst, &|value| self.resolve(value));
        if facts.is_convergent
            && let Some(&earlier) = self.values.map.get(&key)
            && !self.same_group(earlier, inst)
        {
            // From here on this instruction is the nearest equal one.
            self.values.insert(key, inst);
            return;
        }
        self.value(inst, key);
    }

    fn same_group(&self, earlier: InstId, later: InstId) -> bool {
        let place = |inst| self.code.body.block_of(inst).map(node_of);
        let (Some(above), Some(below)) = (place(earlier), place(later)) else { return false };
        let (Some(cfg), Some(cycles)) =
            (queries::cfg(self.db, self.function), queries::cycles(self.db, self.function))
        else {
            return false;
        };
        let ends = self.ends.get_or_init(|| Ends::new(&self.code));
        let all_come =
            || ends.all_come(&self.code, (cfg, cycles), earlier, InstPlace::Before(later));
        if above == below {
            return all_come();
        }
        // The largest scope of such operations.
        let legality = self.answers.at(Scope::Workgroup);
        legality.is_some_and(|legality| legality.cse(above, below).is_ok()) && all_come()
    }
}
