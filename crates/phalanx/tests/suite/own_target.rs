//! A target that a driver describes, with one of everything: sources, a barrier, a vote, spaces of
//! memory, a convention of kernels. Analyses, checks, legality and the interpreter read it.

use std::sync::Arc;

use expect_test::expect;
use phalanx::{
    FunctionId, ModuleId, Session,
    analysis::spaces::SpaceSet,
    ir::{InstId, flow::node_of},
    parse_for,
    prelude::*,
    report::check::{Checker, LinedText, SourceFile, Sources},
    simt::{
        FaultKind, Functions, Launch, Program, Silent, Value as PartCell, launch::Arg, run,
        thread::Coordinates,
    },
    target::library::Extension,
};

/// A machine with waves of 4, and its functions.
const ROWS: &str = "
! target toygpu wave=4
! space 0 generic
! space 1 global
! space 5 private
! space 7 workgroup tile
! space 9 constant rom
! kernel 200

@ propagate(x)  memory=none speculatable willreturn nosync
    toy_thread
@ propagate(block.x)  memory=none speculatable willreturn nosync
    toy_group
@ agree(data=0)  memory=none convergent willreturn nosync
    toy_max
@ -  memory=any convergent willreturn barrier(workgroup,aligned)
    toy_sync
";

const TEXT: &str = r#"target triple = "toygpu-unknown-unknown"
@tile = internal addrspace(7) global [8 x i32] undef
declare i32 @toy_thread()
declare i32 @toy_group()
declare i32 @toy_max(i32)
declare void @toy_sync()
define cc 200 void @k(ptr addrspace(1) %out, ptr addrspace(9) %rom, i32 %n) {
entry:
  %t = call i32 @toy_thread()
  %g = call i32 @toy_group()
  %max = call i32 @toy_max(i32 %t)
  %r = load i32, ptr addrspace(9) %rom
  %cell = getelementptr i32, ptr addrspace(7) @tile, i32 %t
  store i32 %max, ptr addrspace(7) %cell
  call void @toy_sync()
  %back = sub i32 7, %t
  %other = getelementptr i32, ptr addrspace(7) @tile, i32 %back
  %v = load i32, ptr addrspace(7) %other
  %sum = add i32 %v, %r
  %low = icmp slt i32 %t, %n
  br i1 %low, label %then, label %exit
then:
  %i = mul i32 %g, 8
  %at = add i32 %i, %t
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %at
  store i32 %sum, ptr addrspace(1) %to
  br label %exit
exit:
  ret void
}
"#;

fn session(text: &str, rows: &str) -> (Session, ModuleId, FunctionId) {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    session.set_extension(module, Extension::parse(rows).unwrap_or_else(|e| panic!("{e}")));
    let function = session.function(module, "k").expect("it is defined");
    (session, module, function)
}

fn named(session: &Session, function: FunctionId, name: &str) -> InstId {
    let code = session.code(function);
    let is_it = |&inst: &InstId| code.extras.names.inst(inst) == Some(name.as_bytes());
    code.body.all_ids().find(is_it).unwrap_or_else(|| panic!("%{name} is there"))
}

#[test]
fn what_differs_follows_the_description() {
    let (session, _, k) = session(TEXT, ROWS);
    assert!(session.is_kernel(k), "cc 200 is launched");
    let divergence = session.divergence(k).expect("it has a body");
    let mut out = String::new();
    for name in ["t", "g", "max", "r", "v", "sum", "low", "at"] {
        let mask = divergence.mask(Value::inst(named(&session, k, name)));
        out.push_str(&format!("%{name}: {mask}\n"));
    }
    expect![[r#"
        %t: {x}
        %g: {block.x}
        %max: {opaque.wave}
        %r: {}
        %v: {x, opaque.wave}
        %sum: {x, opaque.wave}
        %low: {x}
        %at: {x, block.x}
    "#]]
    .assert_eq(&out);
    assert!(divergence.is_uniform(Value::arg(2), Scope::Grid), "an argument of a kernel");
    let kinds = session.memory_kinds(k).expect("it has a body");
    let of = |name| kinds.of(Value::inst(named(&session, k, name))).memories();
    assert_eq!((of("cell"), of("to").contains(SpaceSet::GLOBAL)), (SpaceSet::SHARED, true));
    assert!(kinds.of(Value::arg(1)).contains(SpaceSet::CONSTANT));
}

#[test]
fn without_a_description_nothing_is_known() {
    let (session, _, k) = session(TEXT, "");
    assert!(!session.is_kernel(k));
    let divergence = session.divergence(k).expect("it has a body");
    for name in ["t", "g", "max", "r"] {
        assert!(divergence.is_divergent(Value::inst(named(&session, k, name)), Scope::Wave));
    }
    assert!(divergence.is_divergent(Value::arg(2), Scope::Wave));
}

/// Facts of functions that are large enough for incremental updates change, too.
#[test]
fn a_description_that_comes_later_is_read_by_all_that_was_asked_before() {
    let chain: String = (0..300).map(|n| format!("  %x{n} = add i32 %n, {n}\n")).collect();
    let text = TEXT.replace("  %low =", &format!("{chain}  %low ="));
    let (mut session, module, k) = session(&text, "");
    let is_uniform = |session: &Session| {
        let divergence = session.divergence(k).expect("it has a body");
        divergence.is_uniform(Value::inst(named(session, k, "x299")), Scope::Wave)
    };
    assert!(!is_uniform(&session));
    for (rows, expected) in [(ROWS, true), ("", false), (ROWS, true)] {
        session.set_extension(module, Extension::parse(rows).expect("they are right"));
        assert_eq!(is_uniform(&session), expected);
    }
}

/// The files that were compiled: none.
struct NoFiles;
impl Sources for NoFiles {
    fn text(&self, _: &SourceFile) -> Option<Arc<LinedText<'static>>> {
        None
    }
}

#[test]
fn a_barrier_of_the_driver_is_checked_and_kept_together() {
    let text = TEXT.replace("then:\n", "then:\n  call void @toy_sync()\n");
    let (session, module, k) = session(&text, ROWS);
    let lines = LinedText::new(text.as_bytes());
    let printer = session.printer(module);
    let checker = Checker::new(session.database(), k.input(), &printer, &lines, &NoFiles);
    let found: Vec<String> = session
        .diagnostics(k)
        .iter()
        .map(|finding| checker.diagnostic(finding))
        .map(|found| format!("{} line {}: {}\n", found.code, found.location.ir.line, found.message))
        .collect();
    expect![[r#"
        PHX003 line 23: the barrier is executed after some threads of a workgroup may have returned
    "#]]
    .assert_eq(&found.concat());
    let order = session.code(k).flow.order();
    let [entry, then] = [order[0], order[1]].map(node_of);
    let legality = session.legality(k, Scope::Workgroup).expect("it has a body");
    assert!(legality.hoist(then, entry, true).is_err(), "fewer threads wait below the branch");
    let printed = String::from_utf8_lossy(&session.print(module)).into_owned();
    assert!(printed.contains("define cc200 void @k(ptr addrspace(1) %out"), "{printed}");
}

/// The machine, as the driver executes it.
struct Toy;
impl Functions for Toy {
    fn call(&self, name: &str, at: &Coordinates, _: &[PartCell]) -> Result<PartCell, FaultKind> {
        Ok(PartCell::Bits(match name {
            "toy_thread" => at.thread[0].into(),
            "toy_group" => at.block[0].into(),
            _ => return Err(FaultKind::Unsupported(name.into())),
        }))
    }

    fn call_together(
        &self,
        name: &str,
        threads: &[(Coordinates, &[PartCell])],
    ) -> Result<Vec<PartCell>, FaultKind> {
        assert_eq!(name, "toy_max");
        let largest = threads.iter().filter_map(|(_, arguments)| arguments[0].bits()).max();
        Ok(vec![largest.map_or(PartCell::Poison, PartCell::Bits); threads.len()])
    }
}

#[test]
fn the_driver_executes_its_functions() {
    let (session, module, _) = session(TEXT, ROWS);
    let extension = Extension::parse(ROWS).expect("they are right");
    let parsed = parse_for(session.context(), TEXT.as_bytes(), &TargetOverrides::default());
    let parsed = parsed.expect("it was read before").module;
    let target = session.target(module);
    let execute = |is_known: bool| {
        let mut program = Program::with_extension(&parsed, target, extension).expect("it is small");
        if is_known {
            program = program.with_functions(Arc::new(Toy));
        }
        let mut memory = program.memory(0).expect("it is small");
        let out = memory.buffer(&[0; 64]).expect("it is small");
        let rom = memory.constant(&100u32.to_le_bytes()).expect("it is small");
        let args = vec![Arg::bits(out), Arg::bits(rom), Arg::bits(6u32)];
        let wave = session.target(module).wave_width("", "").expect("it is described");
        let launch = Launch { grid: [2, 1, 1], block: [8, 1, 1], wave, args, ..Launch::default() };
        run(&program, "k", &launch, &mut memory, &mut Silent)
            .map(|_| memory.bytes(out, 64).expect("it is there").to_vec())
    };
    let bytes = execute(true).unwrap_or_else(|failure| panic!("{failure}"));
    let words: Vec<u32> =
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect();
    // Each thread reads what the thread at the other end stored: the largest number of its wave.
    let half = [107, 107, 107, 107, 103, 103, 0, 0];
    assert_eq!(words, [half, half].concat());
    let failure = execute(false).expect_err("nobody says what they compute").to_string();
    assert!(failure.contains("@toy_thread"), "{failure}");
}

#[test]
fn a_description_that_is_wrong_is_refused_with_its_line() {
    let error = |text: &str| Extension::parse(text).expect_err("it is refused").to_string();
    let all = [
        "! space 1 global",
        "! target a\n! space one global",
        "! target a\n! space 1 cache",
        "! target a\n! space 1 global\n! space 1 private",
        "! target a wave=65",
        "! target a\n\n! kernel spirr",
        "! target a\n! endian big",
    ];
    let errors: Vec<String> = all.into_iter().map(|text| error(text) + "\n").collect();
    expect![[r#"
        line 1: a target has a name: `! target NAME`
        line 2: an address space is a number
        line 2: `cache` is no kind of memory
        line 3: address space 1 is described twice
        line 1: `wave=65` is not `wave=N` with N from 1 to 64
        line 3: `spirr` is no calling convention
        line 2: `endian big` is none of `target`, `space`, `kernel`
    "#]]
    .assert_eq(&errors.concat());
}
