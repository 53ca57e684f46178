//! Compares the alias query with LLVM's `aa-eval`, and checks it against execution.

use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

use phalanx::{Session, db::queries};
use phalanx_analysis::alias::{Alias, Location};
use phalanx_fuzz::oracle::{random_program, runnable};
use phalanx_ir::{Context, InstId, Opcode, Value, flow::node_of};
use phalanx_simt::{Arg, Launch, Observer, Program, observe::Moment};
use phalanx_testing::llvm_tools;
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};

/// The accesses of the kernel `@f`: the instruction, its address and size, and LLVM's name for the
/// pair of type and address.
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

    /// The alias relation of each pair of accesses, by position.
    fn pairs(&self) -> Vec<(usize, usize, Alias)> {
        self.pairs_over(&|_| true)
    }

    /// The same, for any instances of both.
    fn pairs_in_whatever_iterations(&self) -> Vec<(usize, usize, Alias)> {
        let (db, input) = (self.session.database(), self.function.input());
        let (body, cycles) = (input.body(db), queries::cycles(db, input).expect("a body"));
        self.pairs_over(&|value| {
            let block = value.as_inst().and_then(|inst| body.block_of(inst));
            block.is_none_or(|block| cycles.innermost(node_of(block)).is_none())
        })
    }

    fn pairs_over(&self, same: &dyn Fn(Value) -> bool) -> Vec<(usize, usize, Alias)> {
        let (db, input) = (self.session.database(), self.function.input());
        queries::with_aliases(db, input, |query| {
            let mut pairs = Vec::new();
            for i in 0..self.accesses.len() {
                for j in 0..i {
                    let both = (self.accesses[j].1, self.accesses[i].1);
                    pairs.push((j, i, query.alias_over(both, same)));
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

    /// Whether the base of an address is constant during a run of the kernel.
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

/// The claim is that two accesses of one thread never access a common byte. It is checked for
/// accesses whose addresses are based on stack slots, variables and arguments, since these are
/// constant during a run.
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
        // Accesses count even if the launch runs out of fuel later.
        let _ = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut addresses);
        let stable: Vec<bool> =
            kernel.accesses.iter().map(|access| kernel.is_stable(access.1.address)).collect();
        for (i, j, alias) in kernel.pairs_in_whatever_iterations() {
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

const BASES: [(&str, &str); 2] = [("ptr addrspace(1)", "%buffer"), ("ptr addrspace(3)", "%local")];

/// A kernel without branches that computes addresses from numbers of several widths, and exposes
/// each as a number.
fn indexed(seed: u64) -> String {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut lines: Vec<String> = vec![
        "%t = call i32 @llvm.amdgcn.workitem.id.x()".into(),
        "%n8 = trunc i32 %n to i8".into(),
        "%t16 = trunc i32 %t to i16".into(),
    ];
    let numbers = [("%n", 32), ("%seed", 64), ("%t", 32), ("%n8", 8), ("%t16", 16)];
    let mut numbers: Vec<(String, u32)> = numbers.map(|(name, w)| (name.to_owned(), w)).to_vec();
    for at in 0..14 {
        let (a, width) = numbers.choose(&mut rng).expect("there are some").clone();
        let like: Vec<&String> = numbers.iter().filter(|n| n.1 == width).map(|n| &n.0).collect();
        let small = *[1i64, 2, 3, 4, 8, 16, -1, 64, 100].choose(&mut rng).expect("there are some");
        let b = match rng.random_bool(0.6) {
            true => small.to_string(),
            false => (*like.choose(&mut rng).expect("itself")).clone(),
        };
        let wraps = *["", "nuw ", "nsw ", "nuw nsw "].choose(&mut rng).expect("there are some");
        let other = *[8, 16, 32, 64].choose(&mut rng).expect("there are some");
        let cast = |opcode: &str| (format!("{opcode} i{width} {a} to i{other}"), other);
        let (line, width) = match rng.random_range(0..10) {
            0 | 1 => (format!("add {wraps}i{width} {a}, {b}"), width),
            2 => (format!("sub {wraps}i{width} {a}, {b}"), width),
            3 => (format!("mul {wraps}i{width} {a}, {small}"), width),
            4 => (format!("shl {wraps}i{width} {a}, {}", rng.random_range(0..4)), width),
            5 => (format!("or disjoint i{width} {a}, {b}"), width),
            _ if other < width => cast(&format!("trunc {}", wraps.trim_end())),
            6 | 7 if other > width => cast("sext"),
            8 if other > width => cast("zext nneg"),
            _ if other > width => cast("zext"),
            _ => continue,
        };
        lines.push(format!("%v{at} = {line}"));
        numbers.push((format!("%v{at}"), width));
    }
    for (space, (pointer, base)) in BASES.iter().enumerate() {
        let mut addresses = vec![(*base).to_owned()];
        for at in 0..8 {
            let from = addresses.choose(&mut rng).expect("there is one").clone();
            let mut index = || {
                let (name, width) = numbers.choose(&mut rng).expect("there are some");
                format!("i{width} {name}")
            };
            let indices = match at % 4 {
                0 => format!("i8, {pointer} {from}, {}", index()),
                1 => format!("i32, {pointer} {from}, {}", index()),
                2 => format!("[4 x i16], {pointer} {from}, {}, {}", index(), index()),
                _ => format!("i8, {pointer} {from}, i32 {at}"),
            };
            let name = format!("%p{space}.{at}");
            lines.push(format!("{name} = getelementptr {indices}"));
            lines.push(format!("%i{space}.{at} = ptrtoint {pointer} {name} to i64"));
            addresses.push(name);
        }
    }
    format!(
        "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n\
         define amdgpu_kernel void @f({} %buffer, {} %local, i32 %n, i64 %seed) {{\n  {}\n  ret void\n}}\n",
        BASES[0].0,
        BASES[1].0,
        lines.join("\n  ")
    )
}

/// The addresses that are exposed as numbers, by thread; none for poison.
struct Shown {
    by_thread: BTreeMap<u32, BTreeMap<u32, u128>>,
}

impl Observer for Shown {
    fn wants_operands(&self) -> bool {
        true
    }

    fn operand(&mut self, at: Moment<'_>, _: usize, inst: InstId, value: &phalanx_simt::Value) {
        if let Some(bits) = value.bits() {
            let of_thread = self.by_thread.entry(at.thread.number).or_default();
            of_thread.insert(number(inst), bits);
        }
    }
}

/// Claims about addresses with non-constant indices hold in each thread that computes both
/// addresses.
#[test]
fn indices_have_in_common_what_is_said() {
    let mut said: BTreeMap<(Alias, bool), u32> = BTreeMap::new();
    for seed in 0..400 {
        let text = indexed(seed);
        let mut session = Session::new();
        let module =
            session.read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        let function = session.function(module, "f").expect("a kernel");
        let (db, input) = (session.database(), function.input());
        let body = input.body(db);
        let is_address = |inst: &InstId| body.inst(*inst).opcode == Opcode::GetElementPtr;
        let addresses: Vec<InstId> = body.all_ids().filter(is_address).collect();
        let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
        let parsed = parsed.expect("it was read before").module;
        let program = Program::new(&parsed, session.target(module)).expect("it runs");
        let mut memory = program.memory(seed).expect("memory");
        let buffer = memory.buffer(&[7; 64]).expect("a buffer");
        let (n, number_64) = (seed as u32 * 37 % 251, seed / 7 * 5 % 11);
        let launch = Launch {
            block: [8, 1, 1],
            args: vec![Arg::bits(buffer), Arg::bits(64u32), Arg::bits(n), Arg::bits(number_64)],
            ..Launch::default()
        };
        let mut shown = Shown { by_thread: BTreeMap::new() };
        phalanx_simt::run(&program, "f", &launch, &mut memory, &mut shown).expect("it ends");
        let known = queries::with_aliases(db, input, |query| {
            let mut known = Vec::new();
            for (at, &a) in addresses.iter().enumerate() {
                for &b in &addresses[..at] {
                    let sizes = [1 << (seed % 4), 1 << (seed / 4 % 4)];
                    let of = |inst, size| Location::behind(Value::inst(inst), Some(size));
                    let alias = query.alias(of(a, sizes[0]), of(b, sizes[1]));
                    let is_by_index = [a, b]
                        .map(Value::inst)
                        .iter()
                        .any(|address| query.address(*address).offset.is_none());
                    known.push((a, b, sizes, alias, is_by_index));
                }
            }
            known
        });
        for (a, b, sizes, alias, is_by_index) in known.expect("a body") {
            let bits = |inst: InstId| {
                let ty = body.inst(inst).ty;
                if session.context().type_kind(ty).address_space() == Some(3) { 32 } else { 64 }
            };
            if bits(a) != bits(b) {
                continue;
            }
            *said.entry((alias, is_by_index)).or_default() += 1;
            for addresses in shown.by_thread.values() {
                let (Some(x), Some(y)) = (addresses.get(&number(a)), addresses.get(&number(b)))
                else {
                    continue;
                };
                let up = |from: u128, to: u128| to.wrapping_sub(from) & ((1 << bits(a)) - 1);
                let is_apart =
                    up(*x, *y) >= u128::from(sizes[0]) && up(*y, *x) >= u128::from(sizes[1]);
                let is_so = match alias {
                    Alias::No => is_apart,
                    Alias::May => true,
                    Alias::Partial => !is_apart && x != y,
                    Alias::Must => x == y,
                };
                assert!(
                    is_so,
                    "seed {seed}: {alias:?} of {sizes:?} bytes at {x:#x} and {y:#x}\n{text}"
                );
            }
        }
    }
    println!("{said:?}");
    let least = |alias, number| assert!(said[&(alias, true)] > number, "{said:?}");
    least(Alias::No, 200);
    least(Alias::Must, 50);
    least(Alias::Partial, 50);
}
