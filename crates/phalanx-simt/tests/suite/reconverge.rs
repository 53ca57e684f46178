//! Reconvergence at immediate post-dominators, with results worked out by hand: which threads are
//! together, and which wait.

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_ir::{Context, Module, Type};
use phalanx_simt::{
    Failure, Launch, Observer, Program, Reconvergence, Report, Value, convergence::Key,
    observe::Moment, run, trace::Trace,
};
use phalanx_target::Target;

/// A kernel `@f` with these lines.
fn module(functions: &str, body: &str) -> Module {
    let text = format!(
        "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.trap()
@flag = addrspace(1) global i32 0
{functions}
define amdgpu_kernel void @f() {{
{body}
}}"
    );
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    parsed.unwrap_or_else(|e| panic!("{e}\n{text}")).module
}

fn launch(threads: u32, reconvergence: Reconvergence) -> Launch {
    Launch { block: [threads, 1, 1], wave: 4, fuel: 5_000, reconvergence, ..Launch::default() }
}

/// Every 64-bit result once for its group: ballots, in the order in which they are executed.
#[derive(Default)]
struct Ballots {
    seen: Vec<(Key, String)>,
    is_on: Vec<phalanx_ir::InstId>,
}

impl Observer for Ballots {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        let text = format!("{:04b}", value.bits().unwrap_or(0));
        let is_new = self.seen.iter().all(|(key, _)| *key != at.key);
        if self.is_on.contains(&at.inst) && is_new {
            self.seen.push((at.key, text));
        }
    }
}

fn execute(module: &Module, launch: &Launch, watch: &mut dyn Observer) -> Result<Report, Failure> {
    let program = Program::new(module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    run(&program, "f", launch, &mut program.memory(0).unwrap(), watch)
}

/// Ballots of four threads under both models.
#[track_caller]
fn ballots(functions: &str, body: &str, maximal: &Expect, post_dominator: &Expect) {
    let module = module(functions, body);
    for (reconvergence, expected) in
        [(Reconvergence::Maximal, maximal), (Reconvergence::PostDominator, post_dominator)]
    {
        let of = |f: &phalanx_ir::Function| {
            let all = f.body.all_ids();
            all.filter(|&inst| f.body.inst(inst).ty == Type::I64).collect::<Vec<_>>()
        };
        let is_on = module.functions.iter().flat_map(of).collect();
        let mut watch = Ballots { is_on, ..Ballots::default() };
        execute(&module, &launch(4, reconvergence), &mut watch).unwrap();
        let seen: Vec<&str> = watch.seen.iter().map(|(_, text)| text.as_str()).collect();
        expected.assert_eq(&seen.join(" "));
    }
}

#[track_caller]
fn table(body: &str, expected: &Expect) {
    let module = module("", body);
    let mut trace = Trace::new(100);
    execute(&module, &launch(4, Reconvergence::PostDominator), &mut trace).unwrap();
    let name = |function: usize, block| {
        let names = &module.functions[function].extras.names;
        String::from_utf8_lossy(names.block(block).unwrap_or_default()).into_owned()
    };
    expected.assert_eq(&trace.table(&name));
}

#[track_caller]
fn ends(body: &str, threads: u32, reconvergence: Reconvergence, expected: &Expect) {
    let module = module("", body);
    let launch = launch(threads, reconvergence);
    let text = match execute(&module, &launch, &mut phalanx_simt::Silent) {
        Ok(report) => format!("ended, {} barriers", report.barriers),
        Err(failure) => failure.to_string(),
    };
    expected.assert_eq(&text);
}

/// `both` is reached from `b` and from `c`, and `d` joins: thread 0 and thread 1 vote apart.
const SHARED: &str = "
a:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  switch i32 %x, label %c [ i32 0, label %b ]
b:
  br label %both
c:
  %one = icmp eq i32 %x, 1
  br i1 %one, label %both, label %e
both:
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %d
e:
  br label %d
d:
  ret void";

#[test]
fn a_block_that_both_sides_come_to() {
    ballots("", SHARED, &expect!["0011"], &expect!["0001 0010"]);
    table(
        SHARED,
        &expect![[r#"
                   1   2   3     4     5   6   7
        thread 0  a   b       both            d
        thread 1  a       c         both      d
        thread 2  a       c               e   d
        thread 3  a       c               e   d
    "#]],
    );
}

/// Threads 0 to 3 make 1 to 4 rounds, then are together.
#[test]
fn rounds_of_a_loop() {
    let body = "
a:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  br label %h
h:
  %i = phi i32 [ 0, %a ], [ %n, %h ]
  %in = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %n = add i32 %i, 1
  %more = icmp ult i32 %i, %x
  br i1 %more, label %h, label %e
e:
  %out = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  ret void";
    let both = expect!["1111 1110 1100 1000 1111"];
    ballots("", body, &both, &both);
}

/// A loop with two exits: threads that leave by one exit in different rounds are together only
/// behind both exits.
#[test]
fn a_loop_with_two_exits() {
    let body = "
a:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  br label %h
h:
  %i = phi i32 [ 0, %a ], [ %n, %l ]
  %n = add i32 %i, 1
  %odd = trunc i32 %x to i1
  %leaves = icmp eq i32 %i, %x
  %first = and i1 %leaves, %odd
  br i1 %first, label %e, label %l
l:
  br i1 %leaves, label %g, label %h
e:
  %at.e = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %end
g:
  %at.g = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %end
end:
  %at.end = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  ret void";
    ballots("", body, &expect!["0101 1010 1111"], &expect!["0001 0010 0100 1000 1111"]);
}

/// The branch of `%h` joins at `%low`, in the loop. There, threads of the first round wait for
/// threads that make another round first.
#[test]
fn rounds_are_mixed() {
    let body = "
a:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  br label %h
h:
  %i = phi i32 [ 0, %a ], [ %n, %h ], [ %n, %low ]
  %n = add i32 %i, 1
  %skips = icmp ult i32 %i, %x
  br i1 %skips, label %h, label %low
low:
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %more = icmp ult i32 %i, 3
  br i1 %more, label %h, label %e
e:
  ret void";
    ballots("", body, &expect!["0001 0011 0111 1111"], &expect!["1111 0111 0011 0001"]);
}

/// Threads that return early wait for the others where the call returns.
#[test]
fn a_call_with_two_returns() {
    let function = "
define i32 @two(i32 %x) {
a:
  %low = icmp ult i32 %x, 2
  br i1 %low, label %b, label %c
b:
  %in.b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  ret i32 1
c:
  %in.c = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  ret i32 2
}";
    let body = "
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %r = call i32 @two(i32 %x)
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  ret void";
    let both = expect!["0011 1100 1111"];
    ballots(function, body, &both, &both);
}

/// A path to a trap does not keep the sides of the branch around it apart.
#[test]
fn an_assertion_on_one_side() {
    let body = "
a:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %low = icmp ult i32 %x, 2
  br i1 %low, label %b, label %c
b:
  %bad = icmp eq i32 %x, 77
  br i1 %bad, label %dead, label %c
dead:
  call void @llvm.trap()
  unreachable
c:
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  ret void";
    ballots("", body, &expect!["1111"], &expect!["1111"]);
}

/// Some threads enter the cycle by each entry; the sides join behind it.
#[test]
fn a_cycle_with_two_entries() {
    let body = "
a:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %low = icmp ult i32 %x, 2
  br i1 %low, label %p, label %q
p:
  %i = phi i32 [ 0, %a ], [ %j, %q ]
  %at.p = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %late = icmp ugt i32 %i, 9
  br i1 %late, label %e, label %q
q:
  %k = phi i32 [ 0, %a ], [ %i, %p ]
  %j = add i32 %k, 1
  %at.q = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %more = icmp ult i32 %j, 2
  br i1 %more, label %p, label %e
e:
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  ret void";
    ballots(
        "",
        body,
        &expect!["0011 1111 1111 1111 1111"],
        &expect!["0011 0011 0011 0011 1100 1100 1100 1111"],
    );
}

/// Thread 1 waits for what thread 0 does later: the side that runs first waits for ever.
const SPIN: &str = "
a:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %first = icmp eq i32 %x, 0
  br i1 %first, label %h, label %set
h:
  %seen = load atomic i32, ptr addrspace(1) @flag monotonic, align 4
  %is = icmp ne i32 %seen, 0
  br i1 %is, label %e, label %h
set:
  store atomic i32 1, ptr addrspace(1) @flag monotonic, align 4
  br label %e
e:
  ret void";

#[test]
fn one_side_waits_for_the_other() {
    ends(SPIN, 2, Reconvergence::Maximal, &expect!["ended, 0 barriers"]);
    ends(SPIN, 2, Reconvergence::PostDominator, &expect!["out of fuel after 5000 steps"]);
}

/// A barrier on each side. The side that runs first waits for threads that do not run before it.
const BARRIERS: &str = "
a:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %odd = trunc i32 %x to i1
  br i1 %odd, label %b, label %c
b:
  call void @llvm.amdgcn.s.barrier()
  br label %e
c:
  call void @llvm.amdgcn.s.barrier()
  br label %e
e:
  ret void";

#[test]
fn barriers_for_part_of_a_wave() {
    let hangs = expect!["hang: 8 threads wait at barriers that cannot be satisfied"];
    ends(BARRIERS, 8, Reconvergence::Maximal, &expect!["ended, 1 barriers"]);
    ends(BARRIERS, 8, Reconvergence::PostDominator, &hangs);
    let waves = BARRIERS.replace("%odd = trunc i32 %x to i1", "%odd = icmp ult i32 %x, 4");
    ends(&waves, 8, Reconvergence::PostDominator, &expect!["ended, 1 barriers"]);
}
