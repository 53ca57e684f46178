//! `remove-redundant-barriers`

use crate::{load, print, run};

const BARRIER: &str = "fence syncscope(\"workgroup\") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope(\"workgroup\") acquire";
const BARE: &str = "call void @llvm.amdgcn.s.barrier()";
const WRITE: &str = "store i32 %x, ptr addrspace(3) %own, align 4";
const READ: &str = "%r = load i32, ptr addrspace(3) %next, align 4
  store i32 %r, ptr addrspace(1) %p, align 4";

/// How many barriers are left in a function with these instructions.
fn left(convention: &str, insts: &[&str]) -> usize {
    let text = format!(
        "!0 = !{{}}
         declare void @private(ptr addrspace(5)) memory(argmem: readwrite) nounwind willreturn
         declare void @shared(ptr addrspace(3)) memory(argmem: readwrite) nounwind willreturn
         @lds = internal addrspace(3) global [64 x i32] poison
         define {convention} void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %slot = alloca i32, align 4, addrspace(5)
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %own = getelementptr i32, ptr addrspace(3) @lds, i32 %x
           %y = xor i32 %x, 1
           %next = getelementptr i32, ptr addrspace(3) @lds, i32 %y
           %uniform = icmp ult i32 %a, 7
           %divergent = icmp ult i32 %x, 7
           {}
           ret void
         }}",
        insts.join("\n")
    );
    let (mut db, module) = load(&text);
    run(&mut db, module, "remove-redundant-barriers");
    print(&db, module).matches("call void @llvm.amdgcn.s.barrier()").count()
}

fn in_kernel(insts: &[&str]) -> usize {
    left("amdgpu_kernel", insts)
}

#[test]
fn one_barrier_between_accesses_is_enough() {
    assert_eq!(in_kernel(&[WRITE, BARRIER, READ]), 1);
    assert_eq!(in_kernel(&[WRITE, BARRIER, BARRIER, READ]), 1);
    assert_eq!(in_kernel(&[WRITE, BARRIER, BARRIER, BARRIER, READ]), 1);
    assert_eq!(in_kernel(&[WRITE, BARRIER, READ, BARRIER, WRITE]), 2);
}

#[test]
fn before_and_behind_all_accesses_none_is_needed() {
    assert_eq!(in_kernel(&[BARRIER, WRITE, BARRIER, READ, BARRIER]), 1);
    assert_eq!(in_kernel(&[BARRIER, BARRIER]), 0);
    // What is before and behind a function that is called is not known.
    assert_eq!(left("", &[BARRIER, WRITE, BARRIER, READ, BARRIER]), 3);
}

#[test]
fn private_memory_and_votes_are_nobody_elses_business() {
    let own = "store i32 1, ptr addrspace(5) %slot, align 4";
    let vote = "%v = call i64 @llvm.amdgcn.ballot.i64(i1 %divergent)";
    let pure = "%q = call i32 @pure(i32 1)";
    assert_eq!(in_kernel(&[WRITE, BARRIER, own, vote, pure, BARRIER, READ]), 1);
    let reads = "%q = call i32 @reads(i32 1)";
    assert_eq!(in_kernel(&[WRITE, BARRIER, reads, BARRIER, READ]), 2);
    // A call that may have barriers puts all of them out of step.
    let convergent = "%v = call i32 @pure(i32 1) convergent";
    assert_eq!(in_kernel(&[WRITE, BARRIER, convergent, BARRIER, READ]), 2);
    let unknown = "call void @unknown()";
    assert_eq!(in_kernel(&[WRITE, BARRIER, unknown, BARRIER, READ]), 2);
    let atomic = "%o = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic, align 4";
    assert_eq!(in_kernel(&[WRITE, BARRIER, atomic, BARRIER, READ]), 2);
}

/// A barrier of AMDGPU orders memory by the fences around it.
#[test]
fn fences_are_not_lost() {
    assert_eq!(in_kernel(&[WRITE, BARE, BARE, READ]), 1);
    // The first barrier has no release before it, so what was written is ordered by the second one.
    assert_eq!(in_kernel(&[WRITE, BARE, BARRIER, READ]), 2);
    assert_eq!(in_kernel(&[WRITE, BARRIER, BARE, READ]), 1);
    let narrow = BARRIER.replace("workgroup", "wavefront");
    assert_eq!(in_kernel(&[WRITE, &narrow, BARRIER, READ]), 2);
    assert_eq!(in_kernel(&[WRITE, BARRIER, &narrow, READ]), 1);
    // The write is released between the barriers.
    let split = "fence syncscope(\"workgroup\") release";
    assert_eq!(in_kernel(&[WRITE, BARE, split, BARE, READ]), 2);
}

#[test]
fn ways_that_meet() {
    let branch = |condition: &str, one: &str, other: &str| {
        format!(
            "br i1 %{condition}, label %one, label %other
             one:
               {one}
               br label %join
             other:
               {other}
               br label %join
             join:"
        )
    };
    let both = branch("uniform", BARRIER, BARRIER);
    assert_eq!(in_kernel(&[WRITE, &both, BARRIER, READ]), 2);
    let one = branch("uniform", BARRIER, "");
    assert_eq!(in_kernel(&[WRITE, &one, BARRIER, READ]), 2);
    let written = branch("uniform", "", WRITE);
    assert_eq!(in_kernel(&[WRITE, BARRIER, &written, BARRIER, READ]), 2);
    // Barriers on two sides of a divergent branch are partners of each other, or of any barrier
    // further on.
    let parted = branch("divergent", BARRIER, BARRIER);
    assert_eq!(in_kernel(&[WRITE, BARRIER, BARRIER, &parted, READ]), 4);
}

#[test]
fn around_a_loop() {
    let rounds = |insts: &[&str]| {
        format!(
            "br label %loop
             loop:
               %i = phi i32 [ 0, %entry ], [ %j, %loop ]
               {}
               %j = add i32 %i, 1
               %again = icmp ult i32 %j, %a
               br i1 %again, label %loop, label %exit
             exit:",
            insts.join("\n")
        )
    };
    // The barrier at the end of a round is the one before the next.
    assert_eq!(in_kernel(&[&rounds(&[BARRIER, WRITE, BARRIER, READ, BARRIER])]), 2);
    assert_eq!(in_kernel(&[WRITE, &rounds(&[BARRIER, WRITE, BARRIER, READ, BARRIER])]), 3);
    assert_eq!(in_kernel(&[&rounds(&[WRITE, BARRIER, READ])]), 1);
}

/// On NVPTX barriers are aligned or not, and order memory themselves.
#[test]
fn aligned_barriers() {
    let left = |pipeline: &str, name: &str| {
        let text = format!(
            "declare void @{name}(i32)
             define void @f(ptr addrspace(3) %own, ptr addrspace(3) %next, i32 %a) {{
             entry:
               store i32 1, ptr addrspace(3) %own, align 4
               call void @{name}(i32 0)
               call void @{name}(i32 0)
               %r = load i32, ptr addrspace(3) %next, align 4
               store i32 %r, ptr addrspace(3) %own, align 4
               ret void
             }}"
        );
        let (mut db, module) = load(&text);
        run(&mut db, module, pipeline);
        print(&db, module).matches("call void").count()
    };
    let aligned = "llvm.nvvm.barrier.cta.sync.aligned.all";
    let any = "llvm.nvvm.barrier.cta.sync.all";
    assert_eq!(left("remove-redundant-barriers", aligned), 2);
    assert_eq!(left("remove-redundant-barriers<assume-aligned>", aligned), 1);
    assert_eq!(left("remove-redundant-barriers<assume-aligned>", any), 2);
}

/// How many NVPTX barriers are left in a function that writes, makes these calls, and then reads if
/// `is_read`.
fn left_on_nvptx(convention: &str, calls: &str, is_read: bool) -> usize {
    let read = if is_read {
        "%r = load i32, ptr addrspace(3) %next, align 4
         store i32 %r, ptr addrspace(1) %p, align 4"
    } else {
        ""
    };
    let text = format!(
        "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
         declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
         declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
         declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)
         define {convention} void @f(ptr addrspace(3) %own, ptr addrspace(3) %next, ptr addrspace(1) %p) {{
         entry:
           store i32 1, ptr addrspace(3) %own, align 4
           {calls}
           {read}
           ret void
         }}"
    );
    let (mut db, module) = crate::load_for("nvptx64-nvidia-cuda", &text);
    run(&mut db, module, "remove-redundant-barriers<assume-aligned>");
    print(&db, module).matches("call ").count()
}

/// Barriers of some threads, ones that are not waited at, and ones that give something.
#[test]
fn barriers_that_are_no_meeting() {
    let all = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
    let twice = |call: &str| format!("{call}\n{all}");
    assert_eq!(left_on_nvptx("ptx_kernel", &twice(all), true), 1);
    let some = "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)";
    assert_eq!(left_on_nvptx("ptx_kernel", &twice(some), true), 2);
    let arrival = "call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)";
    assert_eq!(left_on_nvptx("ptx_kernel", &twice(arrival), true), 2);
    let sum = "%n = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 true)
           store i32 %n, ptr addrspace(1) %p, align 4";
    assert_eq!(left_on_nvptx("ptx_kernel", &format!("{all}\n{sum}"), false), 2);
}

/// The caller of a function may access what the function has written.
#[test]
fn a_barrier_at_the_end_of_a_function() {
    let all = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
    assert_eq!(left_on_nvptx("ptx_kernel", all, false), 0);
    assert_eq!(left_on_nvptx("", all, false), 1);
}

/// Between the barriers what never changes may be read, and memory that others can access may not.
#[test]
fn what_is_read_between_barriers() {
    let between = |insts: &str| in_kernel(&[WRITE, BARRIER, insts, BARRIER, READ]);
    assert_eq!(between("%i = load i32, ptr addrspace(1) %p, align 4, !invariant.load !0"), 1);
    assert_eq!(between("%i = load i32, ptr addrspace(1) %p, align 4"), 2);
    let volatile = "%i = load volatile i32, ptr addrspace(1) %p, align 4, !invariant.load !0";
    assert_eq!(between(volatile), 2);
    // A call accesses what its arguments lead to.
    assert_eq!(between("call void @private(ptr addrspace(5) %slot)"), 1);
    assert_eq!(between("call void @shared(ptr addrspace(3) %own)"), 2);
    assert_eq!(between("call i32 @reads(i32 1)"), 2);
}
