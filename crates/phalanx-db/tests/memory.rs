//! Divergence through memory: what loads depend on.

use std::sync::Arc;

use phalanx_analysis::{
    lower::Numbering,
    memory::{MemoryClass, classic::Clobber},
};
use phalanx_db::{Database, FunctionInput, TargetOverrides, queries};
use phalanx_ir::{InstId, Opcode};

struct Fixture {
    db: Database,
    function: FunctionInput,
}

/// A kernel with these allocas and blocks; `%x` is the thread index, `%n` an argument.
fn kernel(body: &str) -> Fixture {
    let text = format!(
        r#"target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"
%pair = type {{ i32, i32 }}
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
declare void @take(ptr addrspace(5))
define amdgpu_kernel void @f(ptr %gp, ptr addrspace(1) %p, i32 %n, i1 %u) {{
entry:
  %a = alloca i32, addrspace(5)
  %b = alloca i32, addrspace(5)
  %s = alloca %pair, addrspace(5)
  %t = alloca %pair, addrspace(5)
  %s1 = getelementptr %pair, ptr addrspace(5) %s, i32 0, i32 1
  %t1 = getelementptr %pair, ptr addrspace(5) %t, i32 0, i32 1
  %v = alloca [4 x i32], addrspace(5)
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %d = icmp eq i32 %x, 0
{body}
}}
"#
    );
    let mut db = Database::new();
    let context = Arc::new(phalanx_ir::Context::new());
    let parsed = phalanx_llvm::parse_module(context, text.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error:?}")).module;
    let module = db.load(parsed, None, TargetOverrides::default());
    let entries = module.functions(&db);
    let function = entries.iter().find(|entry| entry.is_definition).expect("a body").input;
    Fixture { db, function }
}

impl Fixture {
    fn loads(&self) -> Vec<InstId> {
        let body = self.function.body(&self.db);
        let flow = self.function.flow(&self.db);
        let insts = flow.order().iter().flat_map(|block| body.block_insts(*block));
        insts.filter(|inst| body.inst(*inst).opcode == Opcode::Load).collect()
    }

    /// What the loads depend on, in order.
    fn sources(&self) -> Vec<String> {
        let divergence = queries::divergence(&self.db, self.function).as_ref().expect("a body");
        let numbering = Numbering::new(self.function.header(&self.db));
        let of = |load: &InstId| divergence.value(numbering.inst(*load)).to_string();
        self.loads().iter().map(of).collect()
    }
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    assert_eq!(kernel(body).sources(), expected, "{body}");
}

#[test]
fn a_load_is_what_was_stored() {
    check(
        "  store i32 %n, ptr addrspace(5) %a\n  %l = load i32, ptr addrspace(5) %a\n  \
           store i32 %x, ptr addrspace(5) %a\n  %m = load i32, ptr addrspace(5) %a\n  ret void",
        &["{}", "{x}"],
    );
}

#[test]
fn threads_that_stored_different_values_hold_different_ones_where_they_meet() {
    let body = |condition: &str| {
        format!(
            "  store i32 1, ptr addrspace(5) %a\n  br i1 {condition}, label %y, label %j\n\
             y:\n  store i32 2, ptr addrspace(5) %a\n  br label %j\n\
             j:\n  %l = load i32, ptr addrspace(5) %a\n  ret void"
        )
    };
    check(&body("%d"), &["{x}"]);
    check(&body("%u"), &["{}"]);
}

#[test]
fn what_a_loop_left_behind_depends_on_when_threads_left_it() {
    check(
        "  store i32 0, ptr addrspace(5) %a\n  br label %l\n\
         l:\n  %i = load i32, ptr addrspace(5) %a\n  %j = add i32 %i, 1\n  \
         store i32 %j, ptr addrspace(5) %a\n  %c = icmp slt i32 %j, %x\n  br i1 %c, label %l, label %e\n\
         e:\n  %k = load i32, ptr addrspace(5) %a\n  ret void",
        &["{}", "{x}"],
    );
}

#[test]
fn members_of_a_structure_are_told_apart() {
    check(
        "  store i32 %x, ptr addrspace(5) %s\n  store i32 %n, ptr addrspace(5) %s1\n  \
         %l = load i32, ptr addrspace(5) %s\n  %m = load i32, ptr addrspace(5) %s1\n  ret void",
        &["{x}", "{}"],
    );
}

#[test]
fn a_part_that_is_stored_leaves_the_rest() {
    check(
        "  store i32 %x, ptr addrspace(5) %a\n  store i16 0, ptr addrspace(5) %a\n  \
         %l = load i32, ptr addrspace(5) %a\n  store i32 0, ptr addrspace(5) %a\n  \
         %m = load i32, ptr addrspace(5) %a\n  ret void",
        &["{x}", "{}"],
    );
}

#[test]
fn where_in_an_array_counts() {
    check(
        "  call void @llvm.memset.p5.i64(ptr addrspace(5) %v, i8 0, i64 16, i1 false)\n  \
         %g = getelementptr [4 x i32], ptr addrspace(5) %v, i32 0, i32 %n\n  \
         store i32 5, ptr addrspace(5) %g\n  %k = load i32, ptr addrspace(5) %v\n  \
         %h = getelementptr [4 x i32], ptr addrspace(5) %v, i32 0, i32 %x\n  \
         store i32 6, ptr addrspace(5) %h\n  %l = load i32, ptr addrspace(5) %v\n  ret void",
        &["{}", "{x}"],
    );
}

#[test]
fn copies_take_the_sources_of_what_they_copy() {
    check(
        "  store i32 %n, ptr addrspace(5) %s\n  store i32 %x, ptr addrspace(5) %s1\n  \
         call void @llvm.memcpy.p5.p5.i64(ptr addrspace(5) %t, ptr addrspace(5) %s, i64 8, i1 false)\n  \
         %l = load i32, ptr addrspace(5) %t\n  %m = load i32, ptr addrspace(5) %t1\n  ret void",
        &["{}", "{x}"],
    );
}

#[test]
fn an_object_that_others_may_reach_is_not_looked_into() {
    check(
        "  store i32 %n, ptr addrspace(5) %a\n  call void @take(ptr addrspace(5) %a)\n  \
         %l = load i32, ptr addrspace(5) %a\n  ret void",
        &["{opaque.thread, opaque.wave}"],
    );
    check(
        "  store i32 %n, ptr addrspace(5) %a\n  %i = ptrtoint ptr addrspace(5) %a to i32\n  \
         %l = load i32, ptr addrspace(5) %a\n  ret void",
        &["{opaque.thread, opaque.wave}"],
    );
    // The callee leaves anything there, but keeps no address.
    check(
        "  store i32 %n, ptr addrspace(5) %a\n  call void @take(ptr addrspace(5) captures(none) %a)\n  \
         %l = load i32, ptr addrspace(5) %a\n  store i32 %n, ptr addrspace(5) %a\n  \
         %m = load i32, ptr addrspace(5) %a\n  ret void",
        &["{opaque.thread}", "{}"],
    );
}

#[test]
fn a_phi_of_addresses_over_a_back_edge_is_an_escape() {
    check(
        "  store i32 %n, ptr addrspace(5) %a\n  br label %l\n\
         l:\n  %q = phi ptr addrspace(5) [ %b, %entry ], [ %a, %l ]\n  \
         store i32 %x, ptr addrspace(5) %q\n  %k = load i32, ptr addrspace(5) %a\n  br i1 %u, label %l, label %e\n\
         e:\n  ret void",
        &["{opaque.thread, opaque.wave}"],
    );
}

#[test]
fn volatile_loads_are_taken_as_they_come() {
    check(
        "  store i32 %n, ptr addrspace(5) %a\n  %l = load volatile i32, ptr addrspace(5) %a\n  ret void",
        &["{opaque.thread, opaque.wave}"],
    );
}

#[test]
fn a_generic_argument_of_a_kernel_leads_to_shared_memory() {
    check(
        "  %q = getelementptr i32, ptr %gp, i32 %n\n  %l = load i32, ptr %q\n  \
         %fa = addrspacecast ptr addrspace(5) %a to ptr\n  %r = select i1 %u, ptr %q, ptr %fa\n  \
         %m = load i32, ptr %r\n  %fp = addrspacecast ptr addrspace(1) %p to ptr\n  \
         %r2 = select i1 %u, ptr %q, ptr %fp\n  %o = load i32, ptr %r2\n  \
         %pp = load ptr, ptr %gp\n  %w = load i32, ptr %pp\n  ret void",
        &[
            "{opaque.wave}",
            "{opaque.thread, opaque.wave}",
            "{opaque.wave}",
            "{opaque.wave}",
            "{opaque.thread, opaque.wave}",
        ],
    );
}

#[test]
fn memory_that_is_not_private_falls_into_classes() {
    let fixture = kernel(
        "  store i32 %n, ptr addrspace(5) %a\n  store i32 %n, ptr addrspace(1) %p\n  \
         %l = load i32, ptr addrspace(1) %p\n  %k = load i32, ptr addrspace(5) %a\n  \
         %m = load i32, ptr %gp\n  ret void",
    );
    let ssa = queries::memory_ssa(&fixture.db, fixture.function).as_ref().expect("a body");
    let classes: Vec<Vec<MemoryClass>> = fixture
        .loads()
        .iter()
        .map(|load| ssa.of(*load).iter().map(|touch| touch.class).collect())
        .collect();
    assert_eq!(
        classes,
        [vec![MemoryClass::Global], vec![], MemoryClass::ALL.to_vec()],
        "device memory; a private slot; anything"
    );
    let global = ssa.of(fixture.loads()[0])[0].before;
    let generic = ssa.of(fixture.loads()[2]);
    assert_eq!(generic[MemoryClass::Global as usize].before, global, "nothing was stored between");
}

#[test]
fn the_walker_goes_up_to_who_may_write() {
    let fixture = kernel(
        "  store i32 1, ptr addrspace(1) %p\n  br i1 %u, label %y, label %e\n\
         y:\n  store i32 2, ptr addrspace(5) %a\n  br label %j\n\
         e:\n  store i32 3, ptr addrspace(5) %b\n  br label %j\n\
         j:\n  %l = load i32, ptr addrspace(1) %p\n  ret void",
    );
    let (db, function) = (&fixture.db, fixture.function);
    let ssa = queries::classic_memory_ssa(db, function).as_ref().expect("a body");
    let body = function.body(db);
    let load = fixture.loads()[0];
    let stores: Vec<InstId> =
        body.all_ids().filter(|inst| body.inst(*inst).opcode == Opcode::Store).collect();
    let may_be = |address: phalanx_ir::Value| {
        move |inst: InstId| body.operands(inst).last() == Some(&address)
    };
    let address = body.operands(load)[0];
    assert_eq!(ssa.clobber(load, 100, may_be(address)), Some(Clobber::Def(stores[0])));
    assert_eq!(ssa.clobber(load, 100, |_| false), Some(Clobber::Entry));
    let join = body.block_of(load).map(phalanx_ir::flow::node_of).expect("linked");
    assert_eq!(ssa.clobber(load, 100, |_| true), Some(Clobber::Phi(join)));
    assert_eq!(ssa.clobber(load, 1, may_be(address)), Some(Clobber::Phi(join)), "given up");
}
