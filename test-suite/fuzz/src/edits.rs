//! Random transactions on random functions: what an edit leaves behind, and what its facts are afterwards.
//!
//! After each commit
//! - the text of the module reads back, satisfies the verifier and is printed as it was;
//! - def-use lists are those made from scratch, and the number of edges into each block is what the successors say;
//! - every fact is the one that a new database finds for the same function.
//!
//! After a transaction that is taken back, because it was aborted or its commit was refused, everything is as it was.

use std::fmt;

use phalanx::{
    FunctionId, ModuleId, Session,
    db::queries,
    ir::{
        BlockId, Body, BuildError, Flow, InstBuilder, InstId, Opcode, Type, Value,
        edit::Transaction,
        inst::{InstFlags, IntPredicate},
    },
};
use phalanx_graph::{Cfg, DomTree};
use phalanx_testing::generate::{Options, program_from};
use phalanx_testing::recursive;
use rand::{Rng, RngCore, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use rustc_hash::FxHashSet;

use crate::{
    Entropy,
    oracle::programs::{Kind, runnable, runnable_with_large},
};

mod facts;

pub(crate) use facts::facts_are_right;
use facts::{ask, ask_some, check};

/// Functions that kernels call, if they are there: some return something, some write what they are given a pointer to.
const CALLED: [&str; 6] = ["h0", "h1", "next", "o.some", "o.bump", "o.nested"];

/// How many transactions a function goes through.
pub const ROUNDS: usize = 24;

/// What transactions became of.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Edits that were done, in transactions that were kept.
    pub edits: usize,
    /// Transactions that changed something and were kept.
    pub committed: usize,
    /// Those of them that changed blocks or edges.
    pub flow: usize,
    /// Those that the commit refused.
    pub refused: usize,
    /// Those that were aborted.
    pub aborted: usize,
    /// How the facts about memory of large functions were found.
    pub memory: queries::MemoryRepairs,
    /// How the accesses of large functions were found.
    pub accesses: queries::AccessRepairs,
    /// Answers under assumptions that were repaired, of all large functions.
    pub assumed: u64,
    /// How the divergence of large functions was found.
    pub divergence: queries::Repairs,
    /// How results in summaries of large functions were found.
    pub summaries: queries::Repairs,
    /// How the control divergence of large functions was found.
    pub control: queries::ControlRepairs,
    /// How the edges of large functions were told apart.
    pub edges: queries::Ways,
    /// How answers were found that large functions keep.
    pub answers: queries::KeptAnswers,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.edits += other.edits;
        self.committed += other.committed;
        self.flow += other.flow;
        self.refused += other.refused;
        self.aborted += other.aborted;
        self.memory.merge(other.memory);
        self.accesses.merge(other.accesses);
        self.assumed += other.assumed;
        self.divergence.merge(other.divergence);
        self.summaries.merge(other.summaries);
        self.control.merge(other.control);
        self.edges.merge(other.edges);
        self.answers.merge(other.answers);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "edits                   {:>12}", self.edits)?;
        writeln!(f, "transactions kept       {:>12}", self.committed)?;
        writeln!(f, "  that changed the flow {:>12}", self.flow)?;
        writeln!(f, "refused                 {:>12}", self.refused)?;
        writeln!(f, "aborted                 {:>12}", self.aborted)?;
        writeln!(f, "repaired, assumed       {:>12}", self.assumed)?;
        for (name, found) in [("divergence", self.divergence), ("summaries", self.summaries)] {
            let anew = found.solved + found.kept + found.rebuilt;
            writeln!(f, "{name:<10} repaired     {:>12}, {anew} anew", found.repaired)?;
        }
        let queries::AccessRepairs { kept, repaired, solved } = self.accesses;
        writeln!(
            f,
            "accesses kept           {kept:>12}, {repaired} repaired, {solved} from scratch"
        )?;
        write!(f, "repaired, control       {:>12}", self.control.repaired)?;
        for (name, answers) in self.answers.by_query() {
            let queries::Answers { kept, repaired, made } = answers;
            write!(f, "\n{name:<18} kept {kept:>12}, {repaired} repaired, {made} from scratch")?;
        }
        for (name, ways) in [
            ("private_memory", self.memory.private),
            ("address_memory", self.memory.addresses),
            ("memory_ssa", self.memory.hssa),
            ("classic_memory_ssa", self.memory.classic),
            ("pointer_flow", self.memory.pointers),
            ("edge_divergence", self.edges),
        ] {
            let queries::Ways { kept, repaired, solved } = ways;
            write!(f, "\n{name:<18} kept {kept:>12}, {repaired} repaired, {solved} from scratch")?;
        }
        Ok(())
    }
}

/// The function that the bytes stand for goes through the transactions that they stand for.
pub fn edits(data: &[u8]) {
    let mut choices = Entropy::new(data);
    let blocks = if choices.random_bool(0.5) { 12 } else { 70 };
    run(&mut choices, blocks);
}

/// Edits a random function: a small one mostly, or one that is repaired, or large ones that a small one calls, or functions in recursion.
pub fn run_random(seed: u64) -> Tally {
    let rng = &mut SmallRng::seed_from_u64(seed);
    match seed % 8 {
        0 => run(rng, 110),
        1 | 2 => run(rng, 50),
        3 => run_called(rng, 250),
        4 => run_recursive(rng),
        _ => run(rng, 12),
    }
}

/// Edits a random function of at most so many blocks.
pub fn run(rng: &mut dyn RngCore, blocks: usize) -> Tally {
    let program = program_from(rng, Options { blocks, ..Options::default() });
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let text = with_seldom(&runnable(&program, kind, rng.next_u64()));
    run_on(rng, &text, (0.3, &CALLED))
}

/// Edits functions of at most so many blocks that a small kernel calls.
pub fn run_called(rng: &mut dyn RngCore, blocks: usize) -> Tally {
    let program = program_from(rng, Options { blocks: 12, ..Options::default() });
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let text = with_seldom(&runnable_with_large(&program, kind, rng.next_u64(), blocks));
    run_on(rng, &text, (0.9, &CALLED[..2]))
}

/// Edits functions in recursion with each other, of which some are large.
pub fn run_recursive(rng: &mut dyn RngCore) -> Tally {
    let options = recursive::Options::random(rng);
    let module = recursive::recursive(rng, &options);
    let text = format!("target triple = \"nvptx64-nvidia-cuda\"\n{module}");
    run_on(rng, &with_seldom(&text), (0.9, &recursive::NAMES[..options.pieces.len()]))
}

/// Edits the functions of a module, or the one with a name, in so many transactions.
///
/// # Panics
/// If the module cannot be read; and as all here, if anything is not as it should be.
pub fn run_module(seed: u64, text: &[u8], name: Option<&str>, rounds: usize) -> Tally {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let mut session = Session::new();
    let module = session.read(text).expect("kernels are well-formed");
    let is_wanted = |function: &FunctionId| {
        session.code(*function).flow.entry().is_some()
            && name.is_none_or(|name| session.name(*function) == name)
    };
    let defined: Vec<FunctionId> = session.functions(module).filter(is_wanted).collect();
    let Some(&first) = defined.first() else { return Tally::default() };
    run_in(rng, (session, module), (first, defined, 1.0), rounds)
}

/// Edits the kernel of a module, and with this probability one of these that it calls.
fn run_on(rng: &mut dyn RngCore, text: &str, (share, names): (f64, &[&str])) -> Tally {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let kernel = session.function(module, "f").expect("the kernel is called @f");
    let called: Vec<FunctionId> =
        names.iter().filter_map(|name| session.function(module, name)).collect();
    run_in(rng, (session, module), (kernel, called, share), ROUNDS)
}

/// Edits a function, and with this probability one of some others.
fn run_in(
    rng: &mut dyn RngCore,
    (mut session, module): (Session, ModuleId),
    (kernel, called, share): (FunctionId, Vec<FunctionId>, f64),
    rounds: usize,
) -> Tally {
    let mut tally = Tally::default();
    ask(&session, kernel);
    for _ in 0..rounds {
        // What a function does matters to those who call it, and what it passes to those it calls.
        let function = match rng.random_bool(share) {
            true => called.choose(rng).copied().unwrap_or(kernel),
            false => kernel,
        };
        let before = session.code(function).to_function();
        let keep = rng.random_bool(0.9);
        // Most drivers ask for the lists; some do not.
        if rng.random_bool(0.7) {
            session.code(function).body.is_used(Value::arg(0));
        }
        let mut has_other_flow = false;
        let mut is_changed = false;
        let mut edits = 0;
        let done = session.edit(function, |edit| {
            // Random edits are wrong now and then; the commit is to find out, in every build.
            edit.verifying(true);
            let graph = Graph::new(edit.flow());
            for _ in 0..rng.random_range(1..4) {
                // Refused operations have changed nothing; the rest goes on.
                edits += usize::from(instructions(edit, &graph, rng).is_ok());
            }
            if rng.random_bool(0.4) {
                edits += usize::from(blocks_and_edges(edit, rng).is_ok());
            }
            has_other_flow = edit.flow() != &before.flow;
            is_changed = edit.is_changed();
            match keep {
                true => Ok(()),
                false => Err(Refused::Aborted),
            }
        });
        match done {
            Ok(()) => {
                tally.edits += edits;
                tally.committed += usize::from(is_changed);
                tally.flow += usize::from(has_other_flow);
                // What is asked later is followed over several edits.
                match rng.random_bool(0.75) {
                    true => check(&session, module, function),
                    false => ask_some(&session, function, rng),
                }
            }
            Err(reason) => {
                match reason {
                    Refused::Aborted => tally.aborted += 1,
                    Refused::Broken(_) => tally.refused += 1,
                }
                assert!(
                    session.code(function).to_function() == before,
                    "{reason:?} leaves something behind"
                );
                check(&session, module, function);
            }
        }
    }
    let all: FxHashSet<FunctionId> = called.into_iter().chain([kernel]).collect();
    for function in all {
        let (db, input) = (session.database(), function.input());
        tally.memory.merge(queries::memory_repairs(db, input));
        tally.accesses.merge(queries::access_repairs(db, input));
        tally.assumed += queries::assumed_repairs(db, input).repaired;
        tally.divergence.merge(queries::repairs(db, input));
        tally.summaries.merge(queries::summary_repairs(db, input));
        tally.answers.merge(queries::kept_answers(db, input));
        tally.control.merge(queries::control_repairs(db, input));
        tally.edges.merge(queries::edge_repairs(db, input));
    }
    tally
}

/// The same with what random programs have none of, where the kernel begins: a load that is stable without races, and an address that is taken out of a vector,
/// tested, and made from a number. Edits give all of them users.
fn with_seldom(text: &str) -> String {
    let kernel = text.find(" void @f(").expect("the kernel is called @f");
    let entry = kernel + text[kernel..].find("b0:\n").expect("it begins with b0") + "b0:\n".len();
    let test = match text.contains("amdgcn") {
        true => "llvm.amdgcn.is.shared",
        false => "llvm.nvvm.isspacep.shared",
    };
    let insts = format!(
        "  %early = load i32, ptr addrspace(1) %gp
  %e.generic = addrspacecast ptr addrspace(1) %gp to ptr
  %e.one = insertelement <2 x ptr> poison, ptr %e.generic, i32 0
  %e.two = insertelement <2 x ptr> %e.one, ptr null, i32 1
  %e.taken = extractelement <2 x ptr> %e.two, i32 0
  %e.test = call i1 @{test}(ptr %e.taken)
  %e.not = xor i1 %e.test, true
  call void @llvm.assume(i1 %e.not)
  %e.number = ptrtoint ptr %e.taken to i64
  %e.sum = add i64 %e.number, 4
  %e.made = inttoptr i64 %e.sum to ptr
  %e.frozen = freeze ptr %e.made
  %e.load = load i32, ptr %e.frozen
  store i32 %e.load, ptr %e.taken
"
    );
    let mut all = format!("{}{insts}{}", &text[..entry], &text[entry..]);
    for declaration in
        [format!("declare i1 @{test}(ptr)"), "declare void @llvm.assume(i1)".to_owned()]
    {
        if !text.contains(&declaration) {
            all.push_str(&format!("\n{declaration}\n"));
        }
    }
    all
}

#[derive(Debug)]
pub(crate) enum Refused {
    Aborted,
    Broken(#[expect(dead_code, reason = "shown when something is wrong")] BuildError),
}

impl From<BuildError> for Refused {
    fn from(error: BuildError) -> Self {
        Refused::Broken(error)
    }
}

/// Dominance as it was when the transaction was opened.
pub(crate) struct Graph {
    dom: DomTree,
}

impl Graph {
    pub(crate) fn new(flow: &Flow) -> Self {
        let cfg: Cfg = flow.cfg().expect("the function has a body");
        Graph { dom: DomTree::new(&cfg) }
    }

    /// Values of a type that are there before an instruction, as far as its block is concerned.
    fn available(&self, body: &Body, at: InstId, ty: Type, arguments: &[Value]) -> Vec<Value> {
        let Some(block) = body.block_of(at) else { return Vec::new() };
        let node = |b: BlockId| phalanx::ir::flow::node_of(b);
        let mut out: Vec<Value> = arguments.to_vec();
        for inst in body.all_ids().filter(|&i| body.inst(i).ty == ty) {
            let Some(b) = body.block_of(inst) else { continue };
            let count = self.dom.node_count();
            let is_known = node(b).index() < count && node(block).index() < count;
            let is_above =
                b != block && is_known && self.dom.strictly_dominates(node(b), node(block));
            let is_before =
                b == block && body.block_insts(b).take_while(|&i| i != at).any(|i| i == inst);
            if is_above || is_before {
                out.push(Value::inst(inst));
            }
        }
        out
    }
}

fn any_inst(edit: &Transaction<'_>, rng: &mut dyn RngCore) -> Option<InstId> {
    let block = *edit.flow().order().choose(rng)?;
    let insts: Vec<InstId> = edit.body().block_insts(block).collect();
    insts.choose(rng).copied()
}

fn arguments(edit: &Transaction<'_>, ty: Type) -> Vec<Value> {
    let params = edit.header().params.iter().enumerate();
    params.filter(|(_, t)| **t == ty).map(|(at, _)| Value::arg(at as u32)).collect()
}

/// One edit of instructions.
pub(crate) fn instructions(
    edit: &mut Transaction<'_>,
    graph: &Graph,
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    let Some(inst) = any_inst(edit, rng) else { return Ok(()) };
    let (data, operands) = (*edit.body().inst(inst), edit.body().operands(inst).to_vec());
    let pick = |edit: &Transaction<'_>, at: InstId, ty: Type, rng: &mut dyn RngCore| {
        let constant = match ty {
            Type::I32 => edit.context().const_i32(rng.random_range(-2..70)),
            ty => edit.context().const_zero(ty),
        };
        let mut all = graph.available(edit.body(), at, ty, &arguments(edit, ty));
        all.push(constant.into());
        *all.choose(rng).expect("there is a constant")
    };
    match rng.random_range(0..12) {
        0..=3 if !operands.is_empty() => {
            let index = rng.random_range(0..operands.len());
            let Some(ty) = edit.type_of(operands[index]) else { return Ok(()) };
            // A phi reads its operand at the end of the block that it comes from.
            let at = match data.opcode {
                Opcode::Phi => {
                    let from = edit.body().phi_incoming(inst).nth(index % (operands.len() / 2));
                    from.and_then(|(_, from)| edit.body().last(from)).unwrap_or(inst)
                }
                _ => inst,
            };
            let value = pick(edit, at, ty, rng);
            edit.set_operand(inst, index as u32, value)
        }
        4 | 5 if data.opcode != Opcode::Phi => {
            let (a, b) = (pick(edit, inst, Type::I32, rng), pick(edit, inst, Type::I32, rng));
            let new = edit.before(inst).named("new").sub(a, b)?;
            let reading = operands.iter().position(|&o| edit.type_of(o) == Some(Type::I32));
            match reading {
                Some(index) => edit.set_operand(inst, index as u32, new),
                None => Ok(()),
            }
        }
        6 => edit.erase(inst),
        7 if data.ty != Type::VOID => {
            let value = pick(edit, inst, data.ty, rng);
            edit.replace(inst, value)
        }
        8 if data.opcode.is_binary() => {
            let opcodes = [Opcode::Add, Opcode::Sub, Opcode::Xor, Opcode::And, Opcode::LShr];
            edit.set_opcode(inst, *opcodes.choose(rng).expect("there are some"))?;
            edit.set_flags(inst, if rng.random() { InstFlags::NUW } else { InstFlags::NONE })
        }
        9 => {
            let copy = edit.after(inst).clone_of(inst)?;
            match operands.iter().position(|&o| edit.type_of(o) == Some(Type::I32)) {
                Some(index) => {
                    let value = pick(edit, copy, Type::I32, rng);
                    edit.set_operand(copy, index as u32, value)
                }
                None => Ok(()),
            }
        }
        10 => {
            let Some(before) = any_inst(edit, rng) else { return Ok(()) };
            edit.move_before(inst, before)
        }
        11 if data.opcode == Opcode::ICmp => {
            let all = IntPredicate::ALL;
            edit.set_int_predicate(inst, *all.choose(rng).expect("there are some"))
        }
        _ => edit.set_name(inst, "renamed"),
    }
}

/// One edit of blocks and edges.
fn blocks_and_edges(edit: &mut Transaction<'_>, rng: &mut dyn RngCore) -> Result<(), BuildError> {
    let order = edit.flow().order();
    let mut block = || *order.choose(rng).expect("there is an entry");
    let (a, b) = (block(), block());
    let successors = edit.flow().successors(a).len();
    match rng.random_range(0..9) {
        0 | 1 => {
            let insts: Vec<InstId> = edit.body().block_insts(a).collect();
            let at = *insts.choose(rng).expect("blocks are not empty");
            edit.split_before(at, "split").map(drop)
        }
        2 if successors > 0 => {
            edit.split_edge(a, rng.random_range(0..successors), "edge").map(drop)
        }
        3 => edit.merge_successor(a),
        4 | 5 if successors > 0 => {
            edit.redirect_edge(a, rng.random_range(0..successors), b)?;
            complete(edit, a, b)?;
            erase_unreachable(edit, rng)
        }
        6 => {
            let phis: Vec<Value> = edit.body().phis(a).map(Value::inst).collect();
            let condition = edit.body().all_ids().find(|&i| {
                edit.body().block_of(i) == Some(a) && edit.body().inst(i).ty == Type::I1
            });
            let to_self = phis.is_empty() && edit.flow().entry() != Some(a);
            match condition {
                Some(condition) if edit.flow().entry() != Some(b) => {
                    let other = if to_self { a } else { b };
                    edit.replace_terminator(a).cond_br(condition, b, other)?;
                    complete(edit, a, b)?;
                }
                _ => {
                    edit.replace_terminator(a).ret_void()?;
                }
            }
            erase_unreachable(edit, rng)
        }
        7 => {
            let clones = edit.clone_blocks(&[a])?;
            let Some(copy) = clones.block(a) else { return Ok(()) };
            let from = order_with_edge_to(edit, a);
            let Some((from, index)) = from else { return erase_unreachable(edit, rng) };
            edit.redirect_edge(from, index, copy)?;
            complete(edit, from, copy)?;
            erase_unreachable(edit, rng)
        }
        _ => {
            let new = edit.create_block("new", Some(a))?;
            edit.at_end(new).br(b)?;
            complete(edit, new, b)?;
            if successors > 0 {
                let index = rng.random_range(0..successors);
                edit.redirect_edge(a, index, new)?;
            }
            erase_unreachable(edit, rng)
        }
    }
}

/// Mostly: now and then code stays to which nothing leads.
fn erase_unreachable(edit: &mut Transaction<'_>, rng: &mut dyn RngCore) -> Result<(), BuildError> {
    match rng.random_bool(0.7) {
        true => edit.erase_unreachable().map(drop),
        false => Ok(()),
    }
}

fn order_with_edge_to(edit: &Transaction<'_>, to: BlockId) -> Option<(BlockId, usize)> {
    let flow = edit.flow();
    flow.order()
        .iter()
        .find_map(|&from| Some((from, flow.successors(from).iter().position(|&s| s == to)?)))
}

/// Gives the phis of a block zero for edges from another that they have nothing for.
fn complete(edit: &mut Transaction<'_>, from: BlockId, to: BlockId) -> Result<(), BuildError> {
    let edges = edit.flow().successors(from).iter().filter(|&&s| s == to).count();
    let phis: Vec<InstId> = edit.body().phis(to).collect();
    for phi in phis {
        let zero = edit.context().const_zero(edit.body().inst(phi).ty);
        let present = edit.body().phi_incoming(phi).filter(|(_, b)| *b == from).count();
        for _ in present..edges {
            edit.add_phi_input(phi, zero, from)?;
        }
    }
    Ok(())
}
