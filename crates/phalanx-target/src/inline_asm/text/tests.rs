//! How small assembly texts are read.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

fn value(read: &Assembly, id: Id) -> String {
    match &read.values[id] {
        AsmValue::Argument(position) => format!("argument {position}"),
        AsmValue::Integer(number) => number.to_string(),
        AsmValue::Of(_) => {
            let Origins { mut arguments, operations, is_anything } = read.origins(id);
            arguments.sort_unstable();
            let operations: Vec<&str> =
                operations.iter().map(|&at| read.operations[at].intrinsic.base).collect();
            match is_anything {
                true => "anything".to_owned(),
                false => format!("of {arguments:?} {operations:?}"),
            }
        }
        AsmValue::Result { operation, index } => {
            format!("{} {index}", read.operations[*operation].intrinsic.base)
        }
        AsmValue::Anything => "anything".to_owned(),
    }
}

/// A line per operation, result and fact.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(template: &str, constraints: &str, expected: Expect) {
    let read = Assembly::read(Architecture::Generic, template, constraints);
    let mut out = String::new();
    for operation in &read.operations {
        let all: Vec<String> = operation.arguments.iter().map(|&id| value(&read, id)).collect();
        let when = operation.predicate.map(|id| format!(" if {}", value(&read, id)));
        let base = operation.intrinsic.base;
        let _ = writeln!(out, "{base}({}){}", all.join(", "), when.unwrap_or_default());
    }
    for access in &read.accesses {
        let _ = writeln!(out, "{:?} {}", access.kind, value(&read, access.address));
    }
    for &id in &read.results {
        let _ = writeln!(out, "= {}", value(&read, id));
    }
    if !read.unknown.is_empty() {
        let _ = writeln!(out, "unknown: {}", read.unknown.join(", "));
    }
    if read.convergent {
        let _ = writeln!(out, "convergent");
    }
    expected.assert_eq(&out);
}

#[test]
fn barriers_of_ptx() {
    check(
        "bar.sync 0; // bar.sync 1;\n /* bar.sync 2; */ barrier.sync.aligned $0, 64;",
        "r,~{memory}",
        expect![[r#"
            barrier.cta.sync.aligned.all(0)
            barrier.cta.sync.aligned.count(argument 0, 64)
            convergent
        "#]],
    );
    check(
        "bar.arrive 1, 0x40; barrier.cta.arrive 2, $0; bar.warp.sync -1;",
        "r",
        expect![[r#"
            barrier.cta.arrive.aligned.count(1, 64)
            barrier.cta.arrive.count(2, argument 0)
            bar.warp.sync(-1)
            convergent
        "#]],
    );
    check(
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire;\
         barrier.cluster.arrive.relaxed;",
        "",
        expect![[r#"
            barrier.cluster.arrive.aligned()
            barrier.cluster.wait()
            barrier.cluster.arrive.relaxed()
            convergent
        "#]],
    );
    check(
        "{ .reg .pred p; setp.ne.s32 p, $1, 0; bar.red.popc.u32 $0, 3, !p; }",
        "=r,r",
        expect![[r#"
            barrier.cta.red.popc.aligned.all(3, of [0] [])
            = barrier.cta.red.popc.aligned.all 0
            convergent
        "#]],
    );
    // A form that is not in the manual.
    check(
        "bar.sync 0, 1, 2;",
        "",
        expect![[r#"
            unknown: bar.sync
        "#]],
    );
}

#[test]
fn conditions() {
    let text = "{ .reg .pred p; setp.eq.s32 p, $0, 0; @!p bar.sync 0; @p mov.u32 $0, 1; }";
    check(
        text,
        "r",
        expect![[r#"
            barrier.cta.sync.aligned.all(0) if of [0] []
            convergent
        "#]],
    );
    // If not all lanes write a register, its old content matters.
    check(
        "{ .reg .pred p; setp.eq.s32 p, $1, 0; mov.u32 $0, 7; @p mov.u32 $0, %tid.x; }",
        "=r,r",
        expect![[r#"
            read.ptx.sreg.tid.x()
            = of [0] ["read.ptx.sreg.tid.x"]
        "#]],
    );
    check(
        "{ .reg .pred p; setp.eq.s32 p, $1, 0; @p mov.u32 $0, 7; }",
        "=r,r",
        expect![[r#"
            = anything
        "#]],
    );
    // After a jump all values are unknown, and a barrier may be skipped.
    check(
        "@$1 bra L${:uid}; mov.u32 $0, 1; bar.sync 0; L${:uid}: mov.u32 $0, 2;",
        "=r,b",
        expect![[r#"
            barrier.cta.sync.aligned.all(0) if anything
            = anything
            convergent
        "#]],
    );
}

#[test]
fn special_registers_and_arithmetic() {
    check(
        "mov.u32 $0, %ctaid.x;",
        "=r",
        expect![[r#"
            read.ptx.sreg.ctaid.x()
            = read.ptx.sreg.ctaid.x 0
        "#]],
    );
    check(
        "mov.u32 $0, %%lanemask_lt; mov.u32 $1, %envreg3; mov.u64 $2, %globaltimer;",
        "=r,=r,=l",
        expect![[r#"
            read.ptx.sreg.lanemask.lt()
            read.ptx.sreg.envreg3()
            read.ptx.sreg.globaltimer()
            = read.ptx.sreg.lanemask.lt 0
            = read.ptx.sreg.envreg3 0
            = read.ptx.sreg.globaltimer 0
        "#]],
    );
    check(
        "{ .reg .b32 t<2>; mad.lo.s32 t0, $1, 3, $2; lop3.b32 t1, t0, $1, 0, 0x96;\n\
         prmt.b32 $0, t1, 0f3F800000, 5; }",
        "=r,r,r,r",
        expect![[r#"
            = of [0, 1] []
        "#]],
    );
    // The carry flag is read without being named.
    check(
        "add.cc.u32 $0, $2, $2; addc.u32 $1, $3, 0;",
        "=r,=r,r,r",
        expect![[r#"
            = of [0] []
            = of [0, 1] []
        "#]],
    );
    // Values from memory.
    check(
        "ld.global.u32 $0, [$1];",
        "=r,r",
        expect![[r#"
            Load argument 0
            = anything
        "#]],
    );
    // An address, an unknown special register, a name declared twice.
    for text in [
        "mov.u32 $0, variable;",
        "mov.u32 $0, %newfangled;",
        "{ .reg .b32 t; mov.b32 t, $1; { .reg .b32 t; } mov.b32 $0, t; }",
        "mov.b32 $0, t;",
    ] {
        check(
            text,
            "=r,r",
            expect![[r#"
                = anything
            "#]],
        );
    }
    check(
        "frobnicate.b32 $0, $1;",
        "=r,r",
        expect![[r#"
            = anything
            unknown: frobnicate.b32
        "#]],
    );
    // An output shares the register of an input, and no instruction writes it.
    check(
        "",
        "=r,0",
        expect![[r#"
            = argument 0
        "#]],
    );
}

#[test]
fn votes_and_shuffles() {
    check(
        "{ .reg .pred p; setp.ne.b32 p, $1, 0; vote.sync.any.pred p, p, $2;\n\
         selp.b32 $0, 1, 0, p; }",
        "=r,r,r",
        expect![[r#"
            vote.any.sync(argument 1, of [0] [])
            = of [] ["vote.any.sync"]
            convergent
        "#]],
    );
    check(
        "{ .reg .pred p; shfl.sync.down.b32 $0|p, $1, 16, 31, -1; }",
        "=r,r",
        expect![[r#"
            shfl.sync.down.i32p(-1, argument 0, 16, 31)
            = shfl.sync.down.i32p 0
            convergent
        "#]],
    );
    check(
        "match.any.sync.b32 $0, $2, -1; redux.sync.max.u32 $1, $2, -1; activemask.b32 $1;",
        "=r,=r,r",
        expect![[r#"
            match.any.sync.i32(-1, argument 0)
            redux.sync.umax(argument 0, -1)
            activemask()
            = match.any.sync.i32 0
            = activemask 0
            convergent
        "#]],
    );
    // A whole warp multiplies matrices; a wait for an object in memory is no barrier.
    check(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [$1];",
        "=r,r",
        expect![[r#"
            = anything
            convergent
        "#]],
    );
    check(
        "cp.async.wait_group 0; fence.proxy.async; mbarrier.arrive.shared.b64 _, [$0];",
        "r",
        expect![[""]],
    );
}

#[test]
fn gcn() {
    check(
        "s_waitcnt lgkmcnt(0) ; s_barrier\ns_barrier\ns_barrier_signal -1\ns_barrier_wait -1",
        "~{memory}",
        expect![[r#"
            s.barrier()
            s.barrier.signal(-1)
            s.barrier.wait(-1)
            convergent
        "#]],
    );
    check(
        "s_barrier_signal m0",
        "",
        expect![[r#"
            s.barrier.signal.var(anything)
            convergent
        "#]],
    );
    check(
        "v_lshlrev_b32_e32 $0, 2, $1",
        "=v,v",
        expect![[r#"
            = of [0] []
        "#]],
    );
    for text in ["v_add_co_u32 $0, vcc, $1, $1", "v_mov_b32 $0, v3", "ds_read_b32 $0, $1"] {
        check(
            text,
            "=v,v",
            expect![[r#"
                = anything
            "#]],
        );
    }
    check(
        "v_mov_b32 $0, $1 row_shr:1",
        "=v,v",
        expect![[r#"
            = anything
            convergent
        "#]],
    );
    check(
        "ds_gws_barrier v0 gds",
        "",
        expect![[r#"
            unknown: ds_gws_barrier
        "#]],
    );
}

/// `;` begins a comment in GCN and ends a statement in PTX.
#[test]
fn dialects() {
    let read = |architecture| Assembly::read(architecture, "; bar.sync 0;", "");
    assert!(read(Architecture::Nvptx).has_barrier());
    let gcn = read(Architecture::Amdgcn);
    assert!(!gcn.has_barrier() && !gcn.may_hide_barrier());
}

#[test]
fn any_bytes_are_read() {
    for text in ["$", "${", "@", "@p", "{", "}", "/*", "//", "a:", ":", ";;", "bar.sync", "$9"] {
        let _ = Assembly::read(Architecture::Generic, text, "=r,r");
    }
    assert!(Assembly::read(Architecture::Nvptx, "bar.sync 0;", "={").may_hide_barrier());
}

#[test]
fn accesses_of_ptx() {
    check(
        "ld.acquire.gpu.u32 $0, [$1];\n atom.add.release.gpu.u32 $0, [$1], $2;\n red.max.u32 [$1], 1;\n st.u32 [$1+4], 2;",
        "=r,l,r,~{memory}",
        expect![[r#"
            Load argument 0
            Atomic { adds: true } argument 0
            Atomic { adds: false } argument 0
            Store anything
            = anything
        "#]],
    );
}
