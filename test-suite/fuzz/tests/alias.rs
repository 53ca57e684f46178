//! The alias query held against LLVM's `aa-eval` and against execution.

use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

use phalanx::{Session, db::queries};
use phalanx_analysis::memory::{Alias, Location};
use phalanx_fuzz::oracle::{random_program, runnable};
use phalanx_ir::{Context, InstId, Opcode, Value, flow::node_of};
use phalanx_simt::{Arg, Launch, Observer, Program, observe::Moment};
use phalanx_testing::llvm_tools;

/// The accesses of the kernel `@f`: the instruction, its address, the bytes, and how LLVM calls the pair of type and address.
struct Kernel {
    session: Session,
    module: phalanx::ModuleId,
    function: phalanx::FunctionId,
    accesses: Vec<(InstId, Location, String)>,
}

impl Kernel {
    fn new(text: &str) -> Kernel {
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).expect("a generated program is well-formed");
        let function = session.function(module, "f").expect("a kernel");
        let (db, input) = (session.database(), function.input());
        let entries = input.module(db).functions(db);
        let views = entries.iter().map(|entry| entry.input.view(db)).collect();
        let shell = input.module(db).shell(db);
        let printer = phalanx::llvm::ModulePrinter::with_functions(shell, views);
        let names = printer.function(input.view(db));
        let body = input.body(db);
        let context = session.context();
        let dom = queries::dom_tree(db, input).expect("a body");
        let accesses = queries::with_aliases(db, input, |query| {
            let mut accesses = Vec::new();
            for inst in body.all_ids() {
                if !body.block_of(inst).is_some_and(|block| dom.is_reachable(node_of(block))) {
                    continue;
                }
                let data = body.inst(inst);
                if !matches!(data.opcode, Opcode::Load | Opcode::Store) {
                    continue;
                }
                let Some(location) = query.location(inst) else { continue };
                let ty = match data.opcode {
                    Opcode::Load => data.ty,
                    _ => match body.operands(inst)[0] {
                        value if value.as_inst().is_some() => {
                            body.inst(value.as_inst().expect("checked")).ty
                        }
                        value if value.as_const().is_some() => {
                            context.const_data(value.as_const().expect("checked")).ty
                        }
                        value => {
                            let at = value.as_arg().expect("a value") as usize;
                            input.header(db).params[at]
                        }
                    },
                };
                let mut name = Vec::new();
                names.type_name(ty, &mut name);
                name.extend_from_slice(b"* ");
                names.operand(location.address, false, &mut name);
                accesses.push((inst, location, String::from_utf8_lossy(&name).into_owned()));
            }
            accesses
        });
        let accesses = accesses.expect("a body");
        Kernel { session, module, function, accesses }
    }

    /// How each pair of accesses relates, by position.
    fn pairs(&self) -> Vec<(usize, usize, Alias)> {
        let (db, input) = (self.session.database(), self.function.input());
        queries::with_aliases(db, input, |query| {
            let mut pairs = Vec::new();
            for i in 0..self.accesses.len() {
                for j in 0..i {
                    pairs.push((j, i, query.alias(self.accesses[j].1, self.accesses[i].1)));
                }
            }
            pairs
        })
        .expect("a body")
    }

    /// The address space of an access.
    fn space(&self, access: &(InstId, Location, String)) -> Option<u32> {
        let (db, input) = (self.session.database(), self.function.input());
        let ty = match access.1.address.as_inst() {
            Some(inst) => input.body(db).inst(inst).ty,
            None => return None,
        };
        self.session.context().type_kind(ty).address_space()
    }

    /// Whether what an address is made from is the same throughout a run of the kernel.
    fn is_stable(&self, address: Value) -> bool {
        let (db, input) = (self.session.database(), self.function.input());
        let base =
            queries::with_aliases(db, input, |query| query.address(address)).expect("a body");
        let body = input.body(db);
        base.base.as_inst().is_none_or(|inst| body.inst(inst).opcode == Opcode::Alloca)
    }
}

fn programs() -> impl Iterator<Item = (u64, String)> {
    (0..180).filter(|seed| seed % 3 == 1).map(|seed| {
        let (program, kind) = random_program(seed);
        (seed, runnable(&program, kind, seed))
    })
}

#[test]
fn llvm_never_says_the_opposite() {
    let Some(opt) = llvm_tools::require("opt") else { return };
    let flags = ["-passes=aa-eval", "-print-all-alias-modref-info", "-disable-output", "-"];
    let (mut compared, mut finer, mut coarser) = (0, 0, 0);
    for (seed, text) in programs().step_by(3) {
        let outcome = opt.run(flags, text.as_bytes()).expect("it starts");
        assert!(outcome.success(), "{}", outcome.summary());
        let mut theirs: BTreeMap<(String, String), Alias> = BTreeMap::new();
        let listing = String::from_utf8_lossy(&outcome.stderr).into_owned();
        let of_kernel = listing.split("Function: ").find(|part| part.starts_with("f:"));
        for line in of_kernel.unwrap_or_default().lines() {
            let Some((kind, pair)) = line.trim().split_once(":\t") else { continue };
            let kind = match kind.split(' ').next() {
                Some("NoAlias") => Alias::No,
                Some("MayAlias") => Alias::May,
                Some("PartialAlias") => Alias::Partial,
                Some("MustAlias") => Alias::Must,
                _ => continue,
            };
            if let Some((a, b)) = pair.split_once(", ") {
                theirs.insert((a.to_owned(), b.to_owned()), kind);
                theirs.insert((b.to_owned(), a.to_owned()), kind);
            }
        }
        let kernel = Kernel::new(&text);
        for (i, j, ours) in kernel.pairs() {
            let (a, b) = (&kernel.accesses[i], &kernel.accesses[j]);
            let Some(&theirs) = theirs.get(&(a.2.clone(), b.2.clone())) else { continue };
            compared += 1;
            let opposite = matches!(
                (ours, theirs),
                (Alias::No, Alias::Must | Alias::Partial)
                    | (Alias::Must | Alias::Partial, Alias::No)
            );
            assert!(!opposite, "seed {seed}: {} and {}: {ours:?}, LLVM {theirs:?}", a.2, b.2);
            finer += usize::from(ours != Alias::May && theirs == Alias::May);
            coarser += usize::from(ours == Alias::May && theirs != Alias::May);
        }
    }
    assert!(compared > 200, "{compared}");
    println!("{compared} pairs; known to us alone: {finer}, to LLVM alone: {coarser}");
    assert!(coarser * 20 < compared, "{coarser} of {compared}");
}

/// Addresses of each access, by thread.
struct Addresses<'a> {
    kernel: &'a Kernel,
    function: usize,
    /// By number of the thread and of the instruction.
    seen: BTreeMap<(u32, u32), BTreeSet<u128>>,
}

impl Observer for Addresses<'_> {
    fn wants_operands(&self) -> bool {
        true
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, _: InstId, value: &phalanx_simt::Value) {
        if at.function != self.function {
            return;
        }
        let (db, input) = (self.kernel.session.database(), self.kernel.function.input());
        let wanted = match input.body(db).inst(at.inst).opcode {
            Opcode::Load => 0,
            Opcode::Store => 1,
            _ => return,
        };
        if let (true, Some(bits)) = (position == wanted, value.bits()) {
            let key = (at.thread.number, number(at.inst));
            self.seen.entry(key).or_default().insert(bits);
        }
    }
}

fn number(inst: InstId) -> u32 {
    inst.into_raw().into_u32()
}

/// What is claimed is that two accesses of one thread never touch one byte, of accesses whose addresses are made from stack slots,
/// variables and arguments: these are the same throughout a run.
#[test]
fn threads_never_touch_a_byte_by_both() {
    let (mut claims, mut touched) = (0, 0);
    for (seed, text) in programs() {
        let kernel = Kernel::new(&text);
        let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
        let module = module.expect("a generated program is well-formed").module;
        let target = kernel.session.target(kernel.module);
        let program = Program::new(&module, target).expect("it runs");
        let function = program.function("f").expect("a kernel");
        let mut memory = program.memory(seed).expect("memory");
        let buffer = memory.buffer(&[7; 64]).expect("a buffer");
        let launch = Launch {
            block: [8, 4, 1],
            args: vec![Arg::bits(buffer), Arg::bits(3u32), Arg::bits(seed)],
            fuel: 6_000,
            ..Launch::default()
        };
        let mut addresses = Addresses { kernel: &kernel, function, seen: BTreeMap::new() };
        // What ran before it was out of fuel counts.
        let _ = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut addresses);
        let stable: Vec<bool> =
            kernel.accesses.iter().map(|access| kernel.is_stable(access.1.address)).collect();
        for (i, j, alias) in kernel.pairs() {
            let (a, b) = (&kernel.accesses[i], &kernel.accesses[j]);
            if alias != Alias::No || !(stable[i] && stable[j]) || kernel.space(a) != kernel.space(b)
            {
                continue;
            }
            claims += 1;
            for thread in 0..32 {
                let of = |inst| addresses.seen.get(&(thread, number(inst)));
                let (Some(first), Some(second)) = (of(a.0), of(b.0)) else { continue };
                touched += 1;
                let (n, m) = (a.1.size.expect("known"), b.1.size.expect("known"));
                for (x, y) in first.iter().flat_map(|x| second.iter().map(move |y| (*x, *y))) {
                    let is_apart = x + u128::from(n) <= y || y + u128::from(m) <= x;
                    assert!(is_apart, "seed {seed}: {} at {x:#x} and {} at {y:#x}", a.2, b.2);
                }
            }
        }
    }
    assert!(claims > 500 && touched > 5_000, "{claims} {touched}");
}
