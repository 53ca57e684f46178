//! Split barriers: a thread that is reported to be out of turn breaks something in execution, and
//! other threads do not.

use std::sync::Arc;

use phalanx::{Session, analysis::check::Rule};
use phalanx_fuzz::turns::{Distortion, Tally, check_random};
use phalanx_simt::{Arg, Failure, Launch, Program, Races, launch::Order};
use phalanx_testing::{files, llvm_tools::workspace_root};

fn tally(seeds: std::ops::Range<u64>, distortion: Distortion) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        tally.merge(check_random(seed, 3, distortion));
    }
    tally
}

#[test]
fn who_is_silent_takes_turns() {
    let tally = tally(0..400, Distortion::None);
    println!("{tally}");
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n\n"));
    assert_eq!(tally.hung_in_silence, 0, "{tally}");
    assert!(tally.silent > 40 && tally.passed > 100 && tally.errors > 100, "{tally}");
    assert!(tally.out_of_turn > 40 && tally.early > 5 && tally.hung > 5, "{tally}");
}

/// A negative control.
#[test]
fn without_the_rule_threads_are_seen_out_of_turn() {
    for distortion in [Distortion::Silent, Distortion::Strict] {
        let tally = tally(0..120, distortion);
        println!("{distortion:?}\n{tally}");
        assert!(tally.wrong.len() > 5, "{distortion:?}\n{tally}");
    }
}

/// A placeholder for the address of a buffer.
const BUFFER: u64 = u64::MAX;

/// The result of launches in several orders: `hangs`, `opens early`, `races` if any of them does,
/// in this order.
fn outcome(text: &str, kernel: &str, launch: &Launch) -> String {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("the text is well-formed");
    let parsed =
        phalanx::llvm::parse_module(Arc::new(phalanx::ir::Context::new()), text.as_bytes());
    let parsed = parsed.expect("the text is well-formed").module;
    let program = Program::new(&parsed, session.target(module)).expect("it can be run");
    let (mut hangs, mut is_early, mut races) = (false, false, false);
    let orders = [Order::Lockstep, Order::Turns(1000), Order::Random(1), Order::Random(2)];
    for order in orders {
        let mut memory = program.memory(0).expect("there is memory");
        let buffer = memory.buffer(&[0; 1024]).expect("there is memory");
        let mut launch = Launch { order, ..launch.clone() };
        if let Some(first) = launch.args.first_mut()
            && *first == Arg::bits(BUFFER)
        {
            *first = Arg::bits(buffer);
        }
        let mut watch = Races::new();
        match phalanx_simt::run(&program, kernel, &launch, &mut memory, &mut watch) {
            Ok(report) => is_early |= report.early > 0,
            Err(Failure::Hang(_)) => hangs = true,
            Err(other) => panic!("{kernel}: {other}"),
        }
        races |= !watch.found().is_empty();
    }
    let all = [(hangs, "hangs"), (is_early, "opens early"), (races, "races")];
    let seen: Vec<&str> = all.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    seen.join(", ")
}

/// The rules that are found in a kernel.
fn found(text: &str, kernel: &str) -> Vec<&'static str> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("the text is well-formed");
    let function = session.function(module, kernel).expect("there is the kernel");
    let about = [Rule::WrongBarrierCount, Rule::UnpairedBarrier];
    let findings = session.diagnostics(function).iter();
    findings.filter(|f| about.contains(&f.rule)).map(|f| f.rule.code()).collect()
}

#[track_caller]
fn examples(file: &str, all: &[(&str, Launch, &[&str], &str)]) {
    let path = workspace_root().join("test-suite/check/ll").join(file);
    let text = files::text(path);
    for (kernel, launch, rules, seen) in all {
        assert_eq!(found(&text, kernel), *rules, "what is found in {kernel}");
        assert_eq!(outcome(&text, kernel, launch), *seen, "what is seen of {kernel}");
    }
}

fn waves(number: u32) -> Launch {
    Launch { block: [32 * number, 1, 1], fuel: 1_000_000, ..Launch::default() }
}

fn with(args: &[u64], mut launch: Launch) -> Launch {
    launch.args = args.iter().map(|&n| Arg::bits(n)).collect();
    launch
}

/// A cluster of two workgroups.
fn cluster(number: u32) -> Launch {
    Launch { grid: [2, 1, 1], cluster: [2, 1, 1], ..waves(number) }
}

#[test]
fn examples_of_findings_break_and_their_twins_do_not() {
    examples(
        "nvptx_barriers.ll",
        &[
            // Counts.
            ("right_threads", waves(2), &[], ""),
            ("right_threads", waves(4), &[], ""),
            ("wrong_count", waves(1), &["PHX008"], "hangs"),
            ("wrong_count", waves(2), &["PHX008"], "hangs"),
            ("wrong_size", waves(2), &["PHX008"], "hangs"),
            // Turns.
            ("right_cluster", cluster(2), &[], ""),
            ("right_rounds", with(&[3], cluster(2)), &[], ""),
            ("wrong_second_arrival", with(&[1], cluster(2)), &["PHX009"], "opens early"),
            ("wrong_second_arrival", with(&[0], cluster(2)), &["PHX009"], ""),
            ("wrong_wait", cluster(1), &["PHX009"], "hangs"),
        ],
    );
    examples(
        "amdgcn_barriers.ll",
        &[
            // All write to one address.
            ("right_split", with(&[BUFFER], waves(2)), &[], "races"),
            ("wrong_twice", waves(2), &["PHX009"], "opens early"),
        ],
    );
}

/// Each thread reads what one of another wave wrote.
fn exchange(between: &str) -> String {
    format!(
        "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.amdgcn.s.barrier.signal(i32)
declare i1 @llvm.amdgcn.s.barrier.signal.isfirst(i32)
declare void @llvm.amdgcn.s.barrier.wait(i16)
@line = internal addrspace(3) global [64 x i32] undef
define amdgpu_kernel void @f(ptr addrspace(1) %out) {{
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %other = xor i32 %x, 32
  %own.at = getelementptr i32, ptr addrspace(3) @line, i32 %x
  %other.at = getelementptr i32, ptr addrspace(3) @line, i32 %other
  store i32 %x, ptr addrspace(3) %own.at
{between}
  %got = load i32, ptr addrspace(3) %other.at
  %out.at = getelementptr i32, ptr addrspace(1) %out, i32 %x
  store i32 %got, ptr addrspace(1) %out.at
  ret void
}}
"
    )
}

const SIGNAL: &str = "  call void @llvm.amdgcn.s.barrier.signal(i32 -1)\n";
const WAIT: &str = "  call void @llvm.amdgcn.s.barrier.wait(i16 -1)\n";
const WHOLE: &str = "  call void @llvm.amdgcn.s.barrier()\n";

/// The fault shows as data that is read before it is written.
#[test]
fn data_goes_astray_where_arrivals_are_counted_twice() {
    let first = "  %first = call i1 @llvm.amdgcn.s.barrier.signal.isfirst(i32 -1)\n";
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&[SIGNAL, WAIT], &[], ""),
        (&[first, WAIT], &[], ""),
        (&[WHOLE], &[], ""),
        (&[SIGNAL, WAIT, WHOLE], &[], ""),
        (&[WHOLE, SIGNAL, WAIT], &[], ""),
        (&[SIGNAL, SIGNAL, WAIT], &["PHX009"], "opens early, races"),
        (&[SIGNAL, WHOLE], &["PHX009"], "opens early, races"),
        (&[WAIT, SIGNAL], &["PHX009"], "hangs"),
        (&[SIGNAL], &[], "races"),
    ];
    for (between, rules, seen) in cases {
        let text = exchange(&between.concat());
        assert_eq!(found(&text, "f"), *rules, "what is found with {between:?}");
        assert_eq!(
            outcome(&text, "f", &with(&[BUFFER], waves(2))),
            *seen,
            "what is seen of {between:?}"
        );
    }
}

/// All threads of a workgroup of this size come to a barrier of so many.
fn counted(size: u32, threads: u32) -> String {
    format!(
        "target triple = \"nvptx64-nvidia-cuda\"
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
define ptx_kernel void @f() \"nvvm.reqntid\"=\"{size}\" {{
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 {threads})
  ret void
}}
"
    )
}

/// If a number of threads is reported, the threads that come wait for ever. The number of all
/// threads, in whole waves, is not reported.
#[test]
fn counts_that_are_reported_are_waited_for_in_vain() {
    let mut reported = 0;
    for size in [32, 64, 96, 100] {
        for threads in 1..=160 {
            let text = counted(size, threads);
            let launch = Launch { block: [size, 1, 1], ..Launch::default() };
            let (found, seen) = (found(&text, "f"), outcome(&text, "f", &launch));
            if !found.is_empty() {
                reported += 1;
                assert_eq!((&*found, &*seen), (&["PHX008"][..], "hangs"), "{threads} of {size}");
            }
            if threads == size.next_multiple_of(32) {
                assert_eq!((&*found, &*seen), (&[][..], ""), "{threads} of {size}");
            }
        }
    }
    assert!(reported > 600, "{reported}");
}
