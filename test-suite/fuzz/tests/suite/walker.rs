//! Compares the walker of MemorySSA with LLVM's (`print<memoryssa-walker>`), and checks it against
//! execution.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use phalanx::{
    FunctionId, Session,
    db::queries,
    ir::{BlockId, Context, InstId, Opcode, flow::node_of},
};
use phalanx_analysis::memory::classic::{ClassicAccess, Clobber};
use phalanx_fuzz::oracle::{random_program, runnable};
use phalanx_simt::{Arg, Launch, Observer, Program, Value, observe::Moment};
use phalanx_test_suite::kernels::Manifest;
use phalanx_testing::{
    files,
    llvm_tools::{self, require},
};

/// An access in the output of LLVM's walker: the number of its definition, and its clobber.
struct Line {
    number: Option<u32>,
    clobber: String,
}

/// LLVM's output for each function: accesses in order, and the numbers of phis in order.
fn listing(text: &str) -> BTreeMap<String, (Vec<Line>, Vec<u32>)> {
    let mut functions: BTreeMap<String, (Vec<Line>, Vec<u32>)> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("MemorySSA (walker) for function: ") {
            name.clone_into(&mut current);
            functions.entry(current.clone()).or_default();
            continue;
        }
        let (Some(line), Some((accesses, phis))) =
            (line.strip_prefix("; "), functions.get_mut(&current))
        else {
            continue;
        };
        let (number, what) = match line.split_once(" = ") {
            Some((number, what)) if number.parse::<u32>().is_ok() => (number.parse().ok(), what),
            _ => (None, line),
        };
        if what.starts_with("MemoryPhi(") {
            phis.extend(number);
        } else if what.starts_with("MemoryDef(") || what.starts_with("MemoryUse(") {
            let clobber = what.split_once(" - clobbered by ").map_or("", |(_, clobber)| clobber);
            accesses.push(Line { number, clobber: clobber.to_owned() });
        }
    }
    functions
}

#[derive(Debug, Default)]
struct Compared {
    equal: usize,
    more_precise: usize,
    less_precise: usize,
}

/// Compares Phalanx's walker with LLVM's for the loads of a function. Nothing is compared if the
/// accesses differ.
fn compare(
    session: &Session,
    function: FunctionId,
    (lines, phis): &(Vec<Line>, Vec<u32>),
    compared: &mut Compared,
) {
    let (db, input) = (session.database(), function.input());
    let (Some(classic), Some(dom)) =
        (queries::classic_memory_ssa(db, input).as_ref(), queries::dom_tree(db, input))
    else {
        return;
    };
    let code = session.code(function);
    let order = code.flow.order();
    let insts: Vec<InstId> = order.iter().flat_map(|&block| code.body.block_insts(block)).collect();
    let place: BTreeMap<u32, usize> =
        insts.iter().enumerate().map(|(at, inst)| (inst.into_raw().into_u32(), at + 1)).collect();
    let accesses: Vec<InstId> =
        insts.iter().copied().filter(|inst| classic.access(*inst).is_some()).collect();
    let blocks: Vec<_> =
        order.iter().map(|b| node_of(*b)).filter(|node| classic.phi(*node).is_some()).collect();
    if accesses.len() != lines.len() || blocks.len() != phis.len() {
        return;
    }
    let mut named: BTreeMap<u32, Clobber> = BTreeMap::new();
    for (line, inst) in lines.iter().zip(&accesses) {
        named.extend(line.number.map(|number| (number, Clobber::Def(*inst))));
    }
    named.extend(phis.iter().zip(&blocks).map(|(number, node)| (*number, Clobber::Phi(*node))));
    // How far down: both are above the load, in blocks of which one dominates the other.
    let depth = |clobber: Clobber| match clobber {
        Clobber::Entry => (0, 0),
        Clobber::Phi(node) => (dom.level(node).map_or(0, |level| level + 1), 0),
        Clobber::Def(inst) => {
            let node = code.body.block_of(inst).map(node_of).unwrap_or_default();
            (dom.level(node).map_or(0, |level| level + 1), place[&inst.into_raw().into_u32()])
        }
    };
    for (line, &inst) in lines.iter().zip(&accesses) {
        let is_load = code.body.inst(inst).opcode == Opcode::Load
            && matches!(classic.access(inst), Some(ClassicAccess::Use(_)));
        let is_reachable =
            code.body.block_of(inst).is_some_and(|block| dom.is_reachable(node_of(block)));
        if !is_load || !is_reachable {
            continue;
        }
        let theirs = match line.clobber.split_once(" = ").and_then(|(n, _)| n.parse().ok()) {
            Some(number) => named[&number],
            None => Clobber::Entry,
        };
        let ours = queries::nearest_clobber(db, input, inst).expect("a load that reads memory");
        match depth(ours).cmp(&depth(theirs)) {
            std::cmp::Ordering::Equal => compared.equal += 1,
            std::cmp::Ordering::Less => compared.more_precise += 1,
            std::cmp::Ordering::Greater => compared.less_precise += 1,
        }
    }
}

fn compare_file(opt: &llvm_tools::Program, path: &std::path::Path, compared: &mut Compared) {
    let name = path.display().to_string();
    let flags = ["-passes=print<memoryssa-walker>", "-disable-output", &name];
    let theirs = opt.run(flags, &[]).expect("it starts");
    let mut session = Session::new();
    let (true, Ok(module)) = (theirs.success(), session.read(&files::bytes(path))) else { return };
    for (name, theirs) in listing(&String::from_utf8_lossy(&theirs.stderr)) {
        if let Some(function) = session.function(module, &name) {
            compare(&session, function, &theirs, compared);
        }
    }
}

#[test]
fn of_kernels_beside_llvms() {
    let manifest = Manifest::read().expect("manifest");
    let (Some(compiler), Some(opt)) = (manifest.compiler(), require("opt")) else { return };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("walker");
    let mut compared = Compared::default();
    for variant in manifest.sample() {
        let path = manifest.compile(&compiler, &variant, &folder).expect("it compiles");
        compare_file(&opt, &path, &mut compared);
    }
    // What is less precise are mostly calls, of whose arguments LLVM knows more, and pointers that
    // change in cycles.
    assert!(compared.equal > 1_000 && compared.more_precise > 20, "{compared:?}");
    assert!(compared.less_precise * 25 < compared.equal, "{compared:?}");
}

/// When each thread last wrote each byte, executed each store, and entered each block of the
/// kernel.
struct Watch<'a> {
    session: &'a Session,
    input: FunctionId,
    function: usize,
    clock: u64,
    written: BTreeMap<(u32, u32, u64), u64>,
    executed: BTreeMap<(u32, u32), u64>,
    entered: BTreeMap<(u32, u32), u64>,
    sizes: BTreeMap<u32, (u64, u32)>,
    clobbers: BTreeMap<u32, Clobber>,
    /// Claims that nothing is written before any load: a negative control.
    is_wrong: bool,
    checked: u64,
    wrong: Vec<String>,
}

fn number(inst: InstId) -> u32 {
    inst.into_raw().into_u32()
}

impl Observer for Watch<'_> {
    fn wants_operands(&self) -> bool {
        true
    }

    fn block(&mut self, at: Moment<'_>, block: BlockId, _: Option<BlockId>) {
        if at.function == self.function {
            self.clock += 1;
            self.entered.insert((at.thread.number, node_of(block).raw()), self.clock);
        }
    }

    fn value(&mut self, at: Moment<'_>, _: &Value) {
        if at.function == self.function {
            self.clock += 1;
            self.executed.insert((at.thread.number, number(at.inst)), self.clock);
        }
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, _: InstId, value: &Value) {
        if at.function != self.function {
            return;
        }
        let opcode = self.session.code(self.input).body.inst(at.inst).opcode;
        let (Some(&(size, space)), Some(address)) =
            (self.sizes.get(&number(at.inst)), value.bits())
        else {
            return;
        };
        let thread = at.thread.number;
        let bytes = (address as u64)..(address as u64).saturating_add(size);
        self.clock += 1;
        match (opcode, position) {
            (Opcode::Store, 1) => {
                self.executed.insert((thread, number(at.inst)), self.clock);
                bytes.for_each(|byte| {
                    self.written.insert((thread, space, byte), self.clock);
                });
            }
            (Opcode::Load, 0) => {
                let Some(&clobber) = self.clobbers.get(&number(at.inst)) else { return };
                let at_least = match clobber {
                    _ if self.is_wrong => 0,
                    Clobber::Entry => 0,
                    Clobber::Def(inst) => {
                        self.executed.get(&(thread, number(inst))).copied().unwrap_or(0)
                    }
                    Clobber::Phi(node) => {
                        self.entered.get(&(thread, node.raw())).copied().unwrap_or(0)
                    }
                };
                self.checked += 1;
                // A phi's memory was written before its block was entered.
                if bytes.into_iter().any(|byte| {
                    self.written.get(&(thread, space, byte)).is_some_and(|&when| when > at_least)
                }) {
                    self.wrong.push(self.session.print_inst(self.input, at.inst));
                }
            }
            _ => {}
        }
    }
}

/// The claim is that behind the named definition, the thread does not write the memory that a load
/// reads.
fn executed(is_wrong: bool) -> (u64, Vec<String>) {
    let (mut checked, mut wrong) = (0, Vec::new());
    for seed in (0..180).filter(|seed| seed % 3 == 1) {
        let (program, kind) = random_program(seed);
        let text = runnable(&program, kind, seed);
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).expect("a generated program is well-formed");
        let input = session.function(module, "f").expect("a kernel");
        let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
        let parsed = parsed.expect("a generated program is well-formed").module;
        let program = Program::new(&parsed, session.target(module)).expect("it runs");
        let function = program.function("f").expect("a kernel");
        let (db, code) = (session.database(), session.code(input));
        let (mut sizes, mut clobbers) = (BTreeMap::new(), BTreeMap::new());
        let space = |value: phalanx::ir::Value| {
            let ty = value.as_inst().map(|inst| code.body.inst(inst).ty)?;
            session.context().type_kind(ty).address_space()
        };
        queries::with_aliases(db, input.input(), |query| {
            for inst in code.body.all_ids().filter(|inst| code.body.block_of(*inst).is_some()) {
                let location = query.location(inst);
                let known = location.and_then(|l| Some((l.size?, space(l.address)?)));
                sizes.extend(known.map(|known| (number(inst), known)));
            }
        });
        for &inst in sizes.keys() {
            let inst = InstId::from_raw(inst.into());
            let clobber = queries::nearest_clobber(db, input.input(), inst);
            clobbers.extend(clobber.map(|clobber| (number(inst), clobber)));
        }
        let mut memory = program.memory(seed).expect("memory");
        let buffer = memory.buffer(&[7; 64]).expect("a buffer");
        let launch = Launch {
            block: [8, 4, 1],
            args: vec![Arg::bits(buffer), Arg::bits(3u32), Arg::bits(seed)],
            fuel: 6_000,
            ..Launch::default()
        };
        let mut watch = Watch {
            session: &session,
            input,
            function,
            clock: 0,
            written: BTreeMap::new(),
            executed: BTreeMap::new(),
            entered: BTreeMap::new(),
            sizes,
            clobbers,
            is_wrong,
            checked: 0,
            wrong: Vec::new(),
        };
        // What ran before it was out of fuel counts.
        let _ = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch);
        checked += watch.checked;
        wrong.extend(watch.wrong.into_iter().map(|inst| format!("seed {seed}: {inst}")));
    }
    (checked, wrong)
}

#[test]
fn nothing_is_written_behind_what_is_named() {
    let (checked, wrong) = executed(false);
    assert!(checked > 1_000, "{checked}");
    assert_eq!(wrong, Vec::<String>::new());
    let (_, wrong) = executed(true);
    assert!(wrong.len() > 100, "what is said does not matter: {}", wrong.len());
}
