//! Tests of the tables alone; `tests/suite/llvm_intrinsics.rs` compares them with LLVM.

use expect_test::expect;

use super::*;
use crate::transfer::{Operand, TransferContext};
use crate::{LaunchFacts, SourceSet};

/// One line about an intrinsic: the rule, and other notable properties.
fn describe(name: &str) -> String {
    let Some(found) = lookup(name) else { return format!("{name}: unknown\n") };
    let info = found.info;
    let mut line = format!("{name}: {:?}", info.result);
    if info.further_results != info.result {
        line += &format!("; {:?}", info.further_results);
    }
    if info.convergent {
        line += " convergent";
    }
    if let Some(barrier) = info.barrier {
        line += &format!(
            " {:?}/{}{}{}",
            barrier.phase,
            barrier.scope,
            if barrier.aligned { "/aligned" } else { "" },
            if barrier.partial { "/partial" } else { "" }
        );
    }
    if info.is_invariant_with_operands() {
        line += " invariant";
    }
    if info.llvm != LlvmUniformity::Default {
        line += &format!(" llvm={:?}", info.llvm);
    }
    line + "\n"
}

#[test]
fn tables_are_complete() {
    let count = |family: Family| family.entries().len();
    let counts = Family::ALL.map(count);
    expect!["[520, 1457, 2569, 111, 35]"].assert_eq(&format!("{counts:?}"));
}

#[test]
fn coordinates_and_launch_constants() {
    let names = [
        "llvm.amdgcn.workitem.id.x",
        "llvm.amdgcn.workgroup.id.z",
        "llvm.amdgcn.wave.id",
        "llvm.amdgcn.dispatch.ptr",
        "llvm.amdgcn.cluster.id.x",
        "llvm.amdgcn.mbcnt.hi",
        "llvm.nvvm.read.ptx.sreg.tid.y",
        "llvm.nvvm.read.ptx.sreg.ctaid.x",
        "llvm.nvvm.read.ptx.sreg.ntid.x",
        "llvm.nvvm.read.ptx.sreg.laneid",
        "llvm.nvvm.read.ptx.sreg.lanemask.lt",
        "llvm.nvvm.read.ptx.sreg.warpid",
        "llvm.nvvm.read.ptx.sreg.smid",
        "llvm.nvvm.read.ptx.sreg.clock64",
        "llvm.nvvm.read.ptx.sreg.warpsize",
    ];
    expect![[r#"
        llvm.amdgcn.workitem.id.x: Source({x}) invariant llvm=NeverUniform
        llvm.amdgcn.workgroup.id.z: Source({block.z}) invariant llvm=AlwaysUniform
        llvm.amdgcn.wave.id: Source({wave}) invariant
        llvm.amdgcn.dispatch.ptr: Source({}) invariant
        llvm.amdgcn.cluster.id.x: Source({block.x, opaque.group})
        llvm.amdgcn.mbcnt.hi: Propagate({lane}) invariant llvm=NeverUniform
        llvm.nvvm.read.ptx.sreg.tid.y: Source({y}) invariant
        llvm.nvvm.read.ptx.sreg.ctaid.x: Source({block.x}) invariant
        llvm.nvvm.read.ptx.sreg.ntid.x: Source({}) invariant
        llvm.nvvm.read.ptx.sreg.laneid: Source({lane}) invariant
        llvm.nvvm.read.ptx.sreg.lanemask.lt: Source({lane}) invariant
        llvm.nvvm.read.ptx.sreg.warpid: Momentary
        llvm.nvvm.read.ptx.sreg.smid: Momentary
        llvm.nvvm.read.ptx.sreg.clock64: Momentary
        llvm.nvvm.read.ptx.sreg.warpsize: Source({}) invariant
    "#]]
    .assert_eq(&names.map(describe).concat());
}

#[test]
fn wave_operations() {
    let names = [
        "llvm.amdgcn.ballot.i64",
        "llvm.amdgcn.readfirstlane.i32",
        "llvm.amdgcn.readlane.i32",
        "llvm.amdgcn.wave.reduce.umin.i32",
        "llvm.amdgcn.wave.reduce.add.i32",
        "llvm.amdgcn.ds.bpermute",
        "llvm.amdgcn.ds.swizzle",
        "llvm.amdgcn.update.dpp.i32",
        "llvm.amdgcn.if.i64",
        "llvm.nvvm.vote.any.sync",
        "llvm.nvvm.vote.ballot.sync",
        "llvm.nvvm.redux.sync.add",
        "llvm.nvvm.redux.sync.fmin.abs.NaN",
        "llvm.nvvm.match.any.sync.i32",
        "llvm.nvvm.shfl.sync.idx.i32",
        "llvm.nvvm.shfl.sync.bfly.i32p",
        "llvm.nvvm.activemask",
        "llvm.nvvm.mma.m8n8k4.row.col.f64",
    ];
    expect![[r#"
        llvm.amdgcn.ballot.i64: Collective { mask: None } convergent llvm=AlwaysUniform
        llvm.amdgcn.readfirstlane.i32: Agree { data: 0, mask: None } convergent llvm=AlwaysUniform
        llvm.amdgcn.readlane.i32: Collective { mask: None } convergent llvm=AlwaysUniform
        llvm.amdgcn.wave.reduce.umin.i32: Agree { data: 0, mask: None } convergent
        llvm.amdgcn.wave.reduce.add.i32: Collective { mask: None } convergent
        llvm.amdgcn.ds.bpermute: Shuffle { data: 1, lane: Some(0), segment: None, mask: None, stale: true, halves: true, pattern: None, old: None } convergent
        llvm.amdgcn.ds.swizzle: Shuffle { data: 0, lane: None, segment: None, mask: None, stale: true, halves: false, pattern: Some(Swizzle { control: 1 }), old: None } convergent llvm=NeverUniform
        llvm.amdgcn.update.dpp.i32: Shuffle { data: 1, lane: None, segment: None, mask: None, stale: true, halves: false, pattern: Some(Dpp { control: 2 }), old: Some(0) } convergent llvm=NeverUniform
        llvm.amdgcn.if.i64: Source({opaque.thread}); Collective { mask: None } llvm=NeverUniform
        llvm.nvvm.vote.any.sync: Agree { data: 1, mask: Some(0) } convergent
        llvm.nvvm.vote.ballot.sync: Collective { mask: Some(0) } convergent
        llvm.nvvm.redux.sync.add: Collective { mask: Some(1) } convergent
        llvm.nvvm.redux.sync.fmin.abs.NaN: Agree { data: 0, mask: Some(1) } convergent
        llvm.nvvm.match.any.sync.i32: Differ { data: 1, mask: Some(0) } convergent
        llvm.nvvm.shfl.sync.idx.i32: Shuffle { data: 1, lane: Some(2), segment: Some(3), mask: Some(0), stale: false, halves: false, pattern: None, old: None } convergent
        llvm.nvvm.shfl.sync.bfly.i32p: Shuffle { data: 1, lane: None, segment: Some(3), mask: Some(0), stale: false, halves: false, pattern: Some(Xor { by: 2, segment: Some(3) }), old: None }; Propagate({lane}) convergent
        llvm.nvvm.activemask: Source({opaque.thread}) convergent
        llvm.nvvm.mma.m8n8k4.row.col.f64: Source({opaque.thread}) convergent
    "#]].assert_eq(&names.map(describe).concat());
}

#[test]
fn barriers() {
    let names = [
        "llvm.amdgcn.s.barrier",
        "llvm.amdgcn.s.barrier.signal",
        "llvm.amdgcn.s.barrier.wait",
        "llvm.amdgcn.wave.barrier",
        "llvm.nvvm.barrier.cta.sync.aligned.all",
        "llvm.nvvm.barrier.cta.sync.aligned.count",
        "llvm.nvvm.barrier.cta.sync.all",
        "llvm.nvvm.barrier.cta.arrive.aligned.count",
        "llvm.nvvm.barrier.cta.red.popc.aligned.all",
        "llvm.nvvm.barrier.cluster.wait.aligned",
        "llvm.nvvm.bar.warp.sync",
        "llvm.spv.group.memory.barrier.with.group.sync",
    ];
    expect![[r#"
        llvm.amdgcn.s.barrier: Source({opaque.thread}) convergent Both/workgroup
        llvm.amdgcn.s.barrier.signal: Source({opaque.thread}) convergent Arrive/workgroup
        llvm.amdgcn.s.barrier.wait: Source({opaque.thread}) convergent Wait/workgroup
        llvm.amdgcn.wave.barrier: Source({opaque.thread}) convergent Both/wave
        llvm.nvvm.barrier.cta.sync.aligned.all: Source({opaque.thread}) convergent Both/workgroup/aligned
        llvm.nvvm.barrier.cta.sync.aligned.count: Source({opaque.thread}) convergent Both/workgroup/aligned/partial
        llvm.nvvm.barrier.cta.sync.all: Source({opaque.thread}) convergent Both/workgroup
        llvm.nvvm.barrier.cta.arrive.aligned.count: Source({opaque.thread}) convergent Arrive/workgroup/aligned/partial
        llvm.nvvm.barrier.cta.red.popc.aligned.all: BarrierReduction { id: Some(0) } convergent Both/workgroup/aligned
        llvm.nvvm.barrier.cluster.wait.aligned: Source({opaque.thread}) convergent Wait/cluster/aligned
        llvm.nvvm.bar.warp.sync: Source({opaque.thread}) convergent Both/wave/partial
        llvm.spv.group.memory.barrier.with.group.sync: Source({opaque.thread}) convergent Both/workgroup/aligned
    "#]].assert_eq(&names.map(describe).concat());
    let proves: Vec<_> = Family::ALL
        .iter()
        .flat_map(|family| family.entries())
        .filter(|entry| entry.info.barrier.is_some_and(Barrier::proves_uniform_control))
        .map(|entry| entry.base)
        .collect();
    expect!["barrier.cta.red.and.aligned.all barrier.cta.red.or.aligned.all barrier.cta.red.popc.aligned.all barrier.cta.sync.aligned.all group.memory.barrier.with.group.sync"]
        .assert_eq(&proves.join(" "));
}

#[test]
fn memory() {
    let names = [
        "llvm.nvvm.ldu.global.i.i32.p1",
        "llvm.nvvm.tex.unified.2d.v4f32.f32",
        "llvm.nvvm.atomic.add.gen.i.cta.i32.p0",
        "llvm.amdgcn.raw.ptr.buffer.load.v4f32",
        "llvm.amdgcn.raw.ptr.buffer.atomic.add.i32",
        "llvm.amdgcn.s.buffer.load.i32",
        "llvm.amdgcn.image.sample.2d.v4f32.f32",
        "llvm.amdgcn.image.sample.lz.2d.v4f32.f32",
        "llvm.amdgcn.image.atomic.add.1d.i32.i16",
        "llvm.amdgcn.global.load.tr.b64.v2i32",
        "llvm.masked.load.v4i32.p1",
        "llvm.read_register.i32",
        "llvm.threadlocal.address.p0",
    ];
    expect![[r#"
        llvm.nvvm.ldu.global.i.i32.p1: Propagate({})
        llvm.nvvm.tex.unified.2d.v4f32.f32: Load { pointer: None }
        llvm.nvvm.atomic.add.gen.i.cta.i32.p0: Source({opaque.thread})
        llvm.amdgcn.raw.ptr.buffer.load.v4f32: Load { pointer: None }
        llvm.amdgcn.raw.ptr.buffer.atomic.add.i32: Source({opaque.thread}) llvm=NeverUniform
        llvm.amdgcn.s.buffer.load.i32: Propagate({}) invariant
        llvm.amdgcn.image.sample.2d.v4f32.f32: Neighbours convergent
        llvm.amdgcn.image.sample.lz.2d.v4f32.f32: Load { pointer: None }
        llvm.amdgcn.image.atomic.add.1d.i32.i16: Source({opaque.thread}) llvm=NeverUniform
        llvm.amdgcn.global.load.tr.b64.v2i32: Source({opaque.thread}) convergent llvm=NeverUniform
        llvm.masked.load.v4i32.p1: Load { pointer: Some(0) }
        llvm.read_register.i32: Source({opaque.thread}) llvm=NeverUniform
        llvm.threadlocal.address.p0: Source({opaque.thread})
    "#]]
    .assert_eq(&names.map(describe).concat());
}

#[test]
fn generic_and_unknown_names() {
    let names = [
        "llvm.sqrt.f32",
        "llvm.umul.with.overflow.i32",
        "llvm.vector.reduce.add.v4i32",
        "llvm.experimental.convergence.loop",
        "llvm.readcyclecounter",
        "llvm.is.constant.i32",
        "llvm.amdgcn.waterfall.begin.i32",
        "llvm.amdgcn.workitem.id.x.i32",
        "llvm.nvvm.barrier0",
        "llvm.amdgcn",
        "llvm.",
        "llvm",
        "sqrt",
        "",
    ];
    expect![[r#"
        llvm.sqrt.f32: Propagate({}) invariant
        llvm.umul.with.overflow.i32: Propagate({}) invariant
        llvm.vector.reduce.add.v4i32: Propagate({}) invariant
        llvm.experimental.convergence.loop: Source({}) convergent
        llvm.readcyclecounter: Momentary
        llvm.is.constant.i32: Propagate({}) convergent
        llvm.amdgcn.waterfall.begin.i32: unknown
        llvm.amdgcn.workitem.id.x.i32: unknown
        llvm.nvvm.barrier0: unknown
        llvm.amdgcn: unknown
        llvm.: unknown
        llvm: unknown
        sqrt: unknown
        : unknown
    "#]]
    .assert_eq(&names.map(describe).concat());
    assert!(is_intrinsic_name("llvm.odd") && !is_intrinsic_name("llvmodd"));
}

#[test]
fn names_need_be_no_text() {
    assert!(lookup(b"llvm.nvvm.barrier.cta.sync.aligned.all").is_some());
    assert!(is_intrinsic_name(b"llvm.\xff") && lookup(b"llvm.\xff").is_none());
    assert!(lookup(b"llvm.ctpop.\xff").is_none(), "not even behind a name that is known");
}

/// If other threads or memory can influence an intrinsic, its result must be opaque unless its row
/// states a reason. These are the rows whose result is a function of the operands alone.
#[test]
fn exchange_and_memory_need_a_reason() {
    let mut reasoned = Vec::new();
    for entry in Family::ALL.iter().flat_map(|family| family.entries()) {
        let info = entry.info;
        let pure = info.memory.is_none() && !info.convergent;
        if info.has_result && !pure && info.result.is_timeless() {
            reasoned.push(format!("{}{}", entry.family.prefix(), entry.base));
        }
    }
    expect![[r#"
        llvm.annotation
        llvm.callbr.landingpad
        llvm.experimental.convergence.anchor
        llvm.experimental.convergence.entry
        llvm.experimental.convergence.loop
        llvm.is.constant
        llvm.launder.invariant.group
        llvm.ptr.annotation
        llvm.amdgcn.inverse.ballot
        llvm.amdgcn.s.bitreplicate
        llvm.amdgcn.s.quadmask
        llvm.amdgcn.s.wqm
        llvm.amdgcn.set.inactive
        llvm.amdgcn.set.inactive.chain.arg
        llvm.amdgcn.strict.wqm
        llvm.amdgcn.strict.wwm
        llvm.amdgcn.writelane
        llvm.amdgcn.wwm
        llvm.nvvm.ldu.global.f
        llvm.nvvm.ldu.global.i
        llvm.nvvm.ldu.global.p
        llvm.nvvm.mbarrier.pending.count"#]]
    .assert_eq(&reasoned.join("\n"));
}

/// If LLVM says that an AMDGPU value is never uniform, the tables disagree only by a rule of their
/// own.
#[test]
fn where_we_say_more_than_llvm() {
    let context = TransferContext::new(&LaunchFacts::default(), true);
    let more: Vec<_> = Family::Amdgcn
        .entries()
        .iter()
        .filter(|entry| {
            let operands = [Operand::of(SourceSet::EMPTY); 8];
            let ours = entry.info.result.evaluate(&operands[..], &context);
            entry.info.llvm == LlvmUniformity::NeverUniform
                && entry.info.has_result
                && !ours.intersects(context.wave)
        })
        .map(|entry| entry.base)
        .collect();
    expect![[""]].assert_eq(&more.join(" "));
}

#[test]
fn unknown_functions_do_anything() {
    let unknown = IntrinsicInfo::unknown();
    assert!(unknown.convergent && unknown.memory == MemoryEffect::ANY && !unknown.willreturn);
    assert_eq!(unknown.result_at(0), &Transfer::OPAQUE);
    assert_eq!(unknown.result_at(3), &Transfer::OPAQUE);
    assert!(!unknown.is_invariant_with_operands());
    assert!(MemoryEffect::ANY.reads_memory() && MemoryEffect::ANY.writes_memory());
}
