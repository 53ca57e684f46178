//! Which values are equal over inactive lanes as well, on a kernel that runs.

use std::collections::{BTreeMap, BTreeSet};

use phalanx::{
    Session,
    prelude::*,
    simt::{
        Arg, Launch, Program, Value as Computed,
        observe::{Moment, Observer},
        run,
    },
};

/// Lanes leave %loop in different rounds.
const KERNEL: &[u8] = br#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)

define amdgpu_kernel void @f(ptr addrspace(1) %out, i32 %n) {
entry:
  %slot = alloca i32, addrspace(5)
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %loaded = load i32, ptr addrspace(1) %out
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %id)
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %sum = add i32 %loaded, %group
  %again = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %id)
  %more = icmp ult i32 %next, %id
  br i1 %more, label %loop, label %rest
rest:
  %is.low = icmp ult i32 %id, 2
  br i1 %is.low, label %low, label %exit
low:
  %there = load i32, ptr addrspace(1) %out
  store i32 %group, ptr addrspace(5) %slot
  %back = load i32, ptr addrspace(5) %slot
  %scaled = mul i32 %sum, %first
  br label %exit
exit:
  %chosen = phi i32 [ %group, %rest ], [ %scaled, %low ]
  %same = phi i32 [ %sum, %rest ], [ %sum, %low ]
  ret void
}
"#;

/// All values of each instruction, over all threads and iterations of a wave.
#[derive(Default)]
struct Seen(BTreeMap<InstId, BTreeSet<String>>);

impl Observer for Seen {
    fn value(&mut self, at: Moment<'_>, value: &Computed) {
        self.0.entry(at.inst).or_default().insert(format!("{value:?}"));
    }
}

#[test]
fn equal_over_all_lanes_at_all_times() {
    let mut session = Session::new();
    let module = session.read(KERNEL).expect("it is valid");
    let kernel = session.function(module, "f").expect("it is defined");
    let code = session.code(kernel);
    let parsed = phalanx::llvm::parse_module(session.context().clone(), KERNEL).expect("it parses");
    let program = Program::new(&parsed.module, session.target(module)).expect("it can be run");
    let mut memory = program.memory(1).expect("there is room");
    let out = memory.buffer(&7_u32.to_le_bytes()).expect("there is room");
    let launch = Launch {
        block: [8, 1, 1],
        wave: 8,
        args: vec![Arg::bits(out), Arg::bits(3_u32)],
        ..Launch::default()
    };
    let mut seen = Seen::default();
    run(&program, "f", &launch, &mut memory, &mut seen).expect("it ends");

    let divergence = session.divergence(kernel).expect("it has a body");
    let (mut truly, mut here) = (Vec::new(), Vec::new());
    for &block in code.flow.order() {
        for inst in code.body.block_insts(block) {
            let name = code.extras.names.inst(inst);
            let Some(name) = name.map(|name| String::from_utf8_lossy(name).into_owned()) else {
                continue;
            };
            let value = Value::inst(inst);
            if session.is_truly_uniform(kernel, value) {
                assert!(seen.0[&inst].len() == 1, "%{name} has values {:?}", seen.0[&inst]);
                truly.push(name);
            } else if divergence.is_uniform(value, Scope::Wave) {
                here.push(name);
            }
        }
    }
    assert_eq!(truly, ["slot", "group", "loaded", "first", "sum", "scaled", "same"]);
    // Uniform for the active lanes only.
    assert_eq!(here, ["i", "next", "again", "there", "back"]);
}
