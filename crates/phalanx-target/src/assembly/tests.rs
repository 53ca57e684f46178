//! What is read of assembly.

use super::*;

fn ptx_of(text: &str) -> Assembly<'_> {
    Assembly::read(Architecture::Nvptx, text)
}

fn barrier(text: &str) -> (Barrier, Option<AsmOperand<'_>>, Option<AsmOperand<'_>>) {
    match ptx_of(text).statements.as_slice() {
        [Statement::Barrier { barrier, number, threads }] => (*barrier, *number, *threads),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn barriers_of_ptx() {
    let both = |aligned, partial| Barrier {
        scope: Scope::Workgroup,
        phase: BarrierPhase::Both,
        aligned,
        partial,
    };
    let zero = Some(AsmOperand::Number(0));
    assert_eq!(barrier("bar.sync 0;"), (both(true, false), zero, None));
    assert_eq!(barrier("{ bar.sync 0; }"), (both(true, false), zero, None));
    assert_eq!(barrier("barrier.sync 0;"), (both(false, false), zero, None));
    assert_eq!(barrier("barrier.cta.sync.aligned 0;"), (both(true, false), zero, None));
    assert_eq!(barrier("/* x; */ bar.sync\t0; // end"), (both(true, false), zero, None));
    let counted = Some(AsmOperand::Number(64));
    let second = Some(AsmOperand::Call(1));
    assert_eq!(barrier("bar.sync $1, 64;"), (both(true, true), second, counted));
    assert_eq!(barrier("bar.red.and.pred p, 0, q;"), (both(true, false), zero, None));
    assert_eq!(barrier("bar.red.popc.u32 $0, 0, 64, q;"), (both(true, true), zero, counted));
    let arrive = barrier("bar.arrive 0x1, 64;").0;
    assert_eq!((arrive.phase, arrive.partial), (BarrierPhase::Arrive, true));
    let cluster = barrier("barrier.cluster.wait.acquire.aligned;").0;
    assert_eq!((cluster.scope, cluster.phase), (Scope::Cluster, BarrierPhase::Wait));
}

#[test]
fn groups_of_ptx() {
    let members = |text| match ptx_of(text).statements.as_slice() {
        [Statement::Group { members }] => *members,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(members("bar.warp.sync 0xffffffff;"), Some(AsmOperand::Number(0xffff_ffff)));
    let shuffle = "shfl.sync.down.b32 $0, $1, $2, 0x1f, $3;";
    assert_eq!(members(shuffle), Some(AsmOperand::Call(3)));
    assert_eq!(members("activemask.b32 $0;"), None);
    assert_eq!(members("vote.ballot.b32 $0, p;"), None);
}

#[test]
fn arithmetic_of_ptx() {
    let text = "{ .reg .pred p; setp.ne.u32 p, $1, 0; selp.u32 $0, 1, 0, p; }";
    assert!(ptx_of(text).is_arithmetic());
    assert!(ptx_of("mov.b64 {$0, $1}, $2;").is_arithmetic());
    assert!(ptx_of(".reg .b32 %t<3>; mov.b32 %t1, $1; add.s32 $0, %t1, 1;").is_arithmetic());
    let register = ptx_of("mov.u32 $0, %ctaid.x;");
    assert!(register.is_arithmetic());
    let names: Vec<&str> = register.registers.iter().map(|i| i.base).collect();
    assert_eq!(names, ["read.ptx.sreg.ctaid.x"]);
    let lanes = ptx_of("mov.u32 $0, %lanemask_lt;");
    assert!(lanes.is_arithmetic() && lanes.registers.len() == 1);
    // A register that is not assigned under a predicate, one that nobody knows, memory.
    assert!(!ptx_of("@p mov.u32 $0, 1;").is_arithmetic());
    assert!(!ptx_of("mov.u32 $0, %strange;").is_arithmetic());
    assert!(!ptx_of("mov.u32 $0, t;").is_arithmetic());
    assert!(!ptx_of("ld.global.u32 $0, [$1];").is_arithmetic());
    assert!(ptx_of("").is_arithmetic());
}

#[test]
fn what_synchronizes() {
    let of = |text| ptx_of(text).synchronizes();
    assert_eq!(of("add.u32 $0, $1, $2; st.global.u32 [$3], $0;"), Synchronizes::No);
    assert_eq!(of("st.global.u32 [$3], $0; bar.sync 0;"), Synchronizes::By(1));
    assert_eq!(of("activemask.b32 $0; bar.sync 0;"), Synchronizes::By(1));
    assert_eq!(of("@p bar.sync 0;"), Synchronizes::Unknown("a branch or a predicate"));
    assert_eq!(of("L: bar.sync 0;"), Synchronizes::Unknown("a branch or a predicate"));
    assert_eq!(of("wgmma.fence.sync.aligned;"), Synchronizes::Unknown("wgmma.fence.sync.aligned"));
    assert_eq!(of("mbarrier.try_wait.shared.b64 p, [$0], $1;"), Synchronizes::Unknown("mbarrier"));
    let loops = "L: mbarrier.try_wait.shared.b64 p, [$0], $1; @!p bra L;";
    assert_eq!(of(loops), Synchronizes::Unknown("mbarrier"));
}

#[test]
fn statements_of_gcn() {
    let of = |text| Assembly::read(Architecture::Amdgcn, text);
    assert_eq!(of("s_barrier").synchronizes(), Synchronizes::By(0));
    assert_eq!(of("s_waitcnt lgkmcnt(0)\n\ts_barrier ; all").synchronizes(), Synchronizes::By(1));
    assert_eq!(of("; s_barrier").synchronizes(), Synchronizes::No);
    assert_eq!(of("v_add_u32 $0, $1, $2").synchronizes(), Synchronizes::No);
    assert_eq!(of("s_barrier_signal -1").synchronizes(), Synchronizes::By(0));
    let named = Synchronizes::Unknown("s_barrier_signal");
    assert_eq!(of("s_barrier_signal 3").synchronizes(), named);
    let skipped = of("s_cbranch_execz L\ns_barrier\nL:");
    assert_eq!(skipped.synchronizes(), Synchronizes::Unknown("a branch or a predicate"));
    let gws = Synchronizes::Unknown("ds_gws_barrier");
    assert_eq!(of("ds_gws_barrier v0 offset:0 gds").synchronizes(), gws);
}

#[test]
fn other_targets_are_not_read() {
    let read = Assembly::read(Architecture::Spirv, "OpControlBarrier");
    assert_eq!(read.synchronizes(), Synchronizes::Unknown("OpControlBarrier"));
}
