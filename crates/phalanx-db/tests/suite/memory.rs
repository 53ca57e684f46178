//! Divergence through memory: what loads depend on.

use std::sync::Arc;

#[path = "support/definition.rs"]
mod definition;

use phalanx_analysis::{
    lower::Numbering,
    memory::{MemoryClass, classic::Clobber},
};
use phalanx_db::{Database, FunctionInput, TargetOverrides, queries};
use phalanx_ir::{InstId, Opcode};

use definition::definition;

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
declare void @llvm.memcpy.p1.p5.i64(ptr addrspace(1), ptr addrspace(5), i64, i1)
declare void @writes(ptr addrspace(1)) memory(argmem: write)
declare void @scatters(<2 x ptr addrspace(1)>) memory(argmem: write)
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
    let (db, function) = definition(&text);
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
fn an_offset_is_as_wide_as_an_index_of_private_memory() {
    check(
        "  store i32 %n, ptr addrspace(5) %a\n  \
         %g = getelementptr i8, ptr addrspace(5) %a, i64 4294967296\n  \
         store i32 %x, ptr addrspace(5) %g\n  %l = load i32, ptr addrspace(5) %a\n  ret void",
        &["{x}"],
    );
    // Below the object it may have wrapped, and beyond the cast it has not come back.
    check(
        "  store i32 %n, ptr addrspace(5) %a\n  \
         %g = getelementptr i8, ptr addrspace(5) %a, i32 -16\n  \
         %c = addrspacecast ptr addrspace(5) %g to ptr\n  \
         %h = getelementptr i8, ptr %c, i64 -4294967280\n  \
         store i32 %x, ptr %h\n  %l = load i32, ptr addrspace(5) %a\n  ret void",
        &["{x}"],
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
fn a_load_through_a_slot_that_holds_an_address_is_of_what_that_leads_to() {
    check(
        "  %k = alloca ptr addrspace(5), addrspace(5)\n  store i32 %n, ptr addrspace(5) %a\n  \
         store ptr addrspace(5) %a, ptr addrspace(5) %k\n  %q = load ptr addrspace(5), ptr addrspace(5) %k\n  \
         %l = load i32, ptr addrspace(5) %q\n  store i32 %x, ptr addrspace(5) %q\n  \
         %m = load i32, ptr addrspace(5) %a\n  ret void",
        &["{}", "{}", "{x}"],
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
        .map(|load| ssa.of(*load).map(|touch| touch.class).collect())
        .collect();
    assert_eq!(
        classes,
        [vec![MemoryClass::Global], vec![], vec![MemoryClass::Global, MemoryClass::Constant]],
        "device memory; a private slot; what the host passes to a kernel"
    );
    let before = |at: usize| ssa.of(fixture.loads()[at]).next().expect("it reads memory").before;
    assert_eq!(before(2), before(0), "nothing was stored between");
}

/// Whether the last of two loads of device memory may read what these instructions between them
/// wrote.
fn is_clobbered_by(instructions: &str) -> bool {
    let text = format!(
        r#"target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [64 x i32] poison
@dev = internal addrspace(1) global i32 0
declare void @llvm.amdgcn.s.barrier()
declare ptr @unknown()
declare void @anything()
define internal void @puts(ptr %p) {{
  store i32 1, ptr %p
  ret void
}}
define internal void @puts.of.others(ptr %p) {{
  store i32 1, ptr %p
  ret void
}}
define internal void @waits() {{
  call void @llvm.amdgcn.s.barrier()
  ret void
}}
define internal i32 @reads(ptr %p) {{
  %v = load i32, ptr %p
  ret i32 %v
}}
define amdgpu_kernel void @f(ptr addrspace(1) %g, i32 %n, i1 %c) {{
  %shared = addrspacecast ptr addrspace(3) @lds to ptr
  %device = addrspacecast ptr addrspace(1) @dev to ptr
  %first = load i32, ptr addrspace(1) %g
  {instructions}
  %last = load i32, ptr addrspace(1) %g
  ret void
}}
define amdgpu_kernel void @other(ptr %p) {{
  call void @puts.of.others(ptr %p)
  ret void
}}
"#
    );
    let mut db = Database::new();
    let context = Arc::new(phalanx_ir::Context::new());
    let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error:?}")).module;
    let module = db.load(parsed, None, TargetOverrides::default());
    let symbol = context.find_symbol(b"f");
    let entries = module.functions(&db);
    let function = entries.iter().find(|entry| entry.name.symbol() == symbol).expect("@f").input;
    let fixture = Fixture { db, function };
    let ssa = queries::memory_ssa(&fixture.db, fixture.function).as_ref().expect("a body");
    let loads = fixture.loads();
    let before = |load: &InstId| {
        let touch = ssa.of(*load).find(|touch| touch.class == MemoryClass::Global);
        touch.expect("it reads device memory").before
    };
    before(&loads[0]) != before(&loads[loads.len() - 1])
}

#[test]
fn a_store_through_a_generic_pointer_clobbers_what_it_may_lead_to() {
    let store = |pointer: &str| is_clobbered_by(&format!("{pointer}\n  store i32 %n, ptr %p"));
    assert!(!store("%p = getelementptr i32, ptr %shared, i32 %n"));
    assert!(store("%p = getelementptr i32, ptr %device, i32 %n"));
    assert!(store("%p = select i1 %c, ptr %shared, ptr %device"));
    assert!(store("%p = call ptr @unknown()"), "a pointer of which nothing is known");
}

#[test]
fn a_call_clobbers_what_its_code_may_write() {
    assert!(!is_clobbered_by("call void @puts(ptr %shared)"));
    assert!(is_clobbered_by("call void @puts(ptr %device)"));
    // Arguments of other calls do not matter to this call.
    assert!(!is_clobbered_by("call void @puts.of.others(ptr %shared)"));
    assert!(is_clobbered_by("call void @anything()"));
    assert!(is_clobbered_by("call void @waits()"), "others may have written it");
    assert!(!is_clobbered_by("%v = call i32 @reads(ptr %device)"));
}

#[test]
fn an_access_of_what_is_known_clobbers_that_alone() {
    let shared = "%p = getelementptr i32, ptr %shared, i32 %n\n  ";
    assert!(!is_clobbered_by(&format!("{shared}%o = atomicrmw add ptr %p, i32 1 monotonic")));
    assert!(is_clobbered_by(&format!("{shared}%o = atomicrmw add ptr %p, i32 1 acquire")));
    assert!(!is_clobbered_by(&format!("{shared}store volatile i32 1, ptr %p")));
    assert!(is_clobbered_by("fence acquire"));
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

/// A number is no address through which a call could write.
#[test]
fn the_walker_passes_numbers_that_are_given_to_a_call() {
    let fixture = kernel(
        "  store i32 1, ptr addrspace(1) %p\n  \
         call void @llvm.memset.p5.i64(ptr addrspace(5) %a, i8 0, i64 4, i1 false)\n  \
         %l = load i32, ptr addrspace(1) %p\n  ret void",
    );
    let load = fixture.loads()[0];
    let nearest = queries::nearest_clobber(&fixture.db, fixture.function, load);
    let body = fixture.function.body(&fixture.db);
    let store = body.all_ids().find(|&inst| body.inst(inst).opcode == Opcode::Store);
    assert_eq!(nearest, store.map(Clobber::Def));
}

#[test]
fn the_walker_stops_at_a_call_that_is_given_an_address_of_the_object() {
    // The callee may write below the address that it is passed.
    let fixture = kernel(
        "  %g = getelementptr i8, ptr addrspace(1) %p, i64 8\n  \
         call void @writes(ptr addrspace(1) %g)\n  \
         %l = load i32, ptr addrspace(1) %p\n  ret void",
    );
    let nearest = queries::nearest_clobber(&fixture.db, fixture.function, fixture.loads()[0]);
    assert!(matches!(nearest, Some(Clobber::Def(_))), "{nearest:?}");
}

/// What is at `2 * i + 2` is at `2 * i` in the next iteration, and what is at odd places in none.
#[test]
fn the_walker_compares_indices_over_iterations() {
    let nearest = |distance: u32| {
        let fixture = kernel(&format!(
            "  br label %loop\nloop:\n  \
             %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n  \
             %even = shl i64 %i, 1\n  \
             %from = getelementptr i32, ptr addrspace(1) %p, i64 %even\n  \
             %l = load i32, ptr addrspace(1) %from\n  \
             %place = add i64 %even, {distance}\n  \
             %to = getelementptr i32, ptr addrspace(1) %p, i64 %place\n  \
             store i32 %l, ptr addrspace(1) %to\n  \
             %next = add i64 %i, 1\n  \
             %c = icmp ult i64 %next, 64\n  \
             br i1 %c, label %loop, label %end\nend:\n  ret void"
        ));
        queries::nearest_clobber(&fixture.db, fixture.function, fixture.loads()[0])
    };
    assert_eq!(nearest(1), Some(Clobber::Entry));
    assert!(matches!(nearest(2), Some(Clobber::Phi(_))), "{:?}", nearest(2));
}

/// The nearest definition before the first load of a kernel with this body.
fn nearest(body: &str) -> Option<Clobber> {
    let fixture = kernel(body);
    queries::nearest_clobber(&fixture.db, fixture.function, fixture.loads()[0])
}

/// Which instruction of a kernel that is.
#[track_caller]
fn nearest_is(opcode: Opcode, body: &str) {
    let fixture = kernel(body);
    let found = queries::nearest_clobber(&fixture.db, fixture.function, fixture.loads()[0]);
    match found {
        Some(Clobber::Def(inst)) => {
            assert_eq!(fixture.function.body(&fixture.db).inst(inst).opcode, opcode, "{body}");
        }
        _ => panic!("{found:?}: {body}"),
    }
}

/// What is read at all even places is what is written at one of them in another iteration.
#[test]
fn the_walker_compares_an_index_that_varies_with_one_that_does_not() {
    let at = |place: u32| {
        nearest(&format!(
            "  br label %loop\nloop:\n  \
             %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n  \
             %even = shl i64 %i, 1\n  \
             %from = getelementptr i32, ptr addrspace(1) %p, i64 %even\n  \
             %l = load i32, ptr addrspace(1) %from\n  \
             %to = getelementptr i32, ptr addrspace(1) %p, i64 {place}\n  \
             store i32 %l, ptr addrspace(1) %to\n  \
             %next = add i64 %i, 1\n  \
             %c = icmp ult i64 %next, 64\n  \
             br i1 %c, label %loop, label %end\nend:\n  ret void"
        ))
    };
    assert_eq!(at(1), Some(Clobber::Entry));
    assert!(matches!(at(2), Some(Clobber::Phi(_))), "{:?}", at(2));
}

/// A pointer that goes on in each iteration is where the write was in the iteration before.
#[test]
fn the_walker_compares_nothing_from_a_pointer_that_moves() {
    let found = nearest(
        "  br label %loop\nloop:\n  \
         %q = phi ptr addrspace(1) [ %p, %entry ], [ %to, %loop ]\n  \
         %l = load i32, ptr addrspace(1) %q\n  \
         %to = getelementptr i32, ptr addrspace(1) %q, i64 1\n  \
         store i32 %l, ptr addrspace(1) %to\n  \
         br i1 %u, label %loop, label %end\nend:\n  ret void",
    );
    assert!(matches!(found, Some(Clobber::Phi(_))), "{found:?}");
}

/// Elsewhere than what is read, and still something is seen behind it that was not before.
#[test]
fn the_walker_stops_at_what_orders() {
    let behind = |what: &str, load: &str| {
        format!(
            "  %q = getelementptr i32, ptr addrspace(1) %p, i64 1\n  {what}\n  \
               %l = {load} i32, ptr addrspace(1) %p, align 4\n  ret void"
        )
    };
    let plain = "store i32 1, ptr addrspace(1) %q, align 4";
    assert_eq!(nearest(&behind(plain, "load")), Some(Clobber::Entry));
    let release = "store atomic i32 1, ptr addrspace(1) %q release, align 4";
    nearest_is(Opcode::Store, &behind(release, "load"));
    let volatile = "store volatile i32 1, ptr addrspace(1) %q, align 4";
    nearest_is(Opcode::Store, &behind(volatile, "load volatile"));
    assert_eq!(nearest(&behind(volatile, "load")), Some(Clobber::Entry));
    nearest_is(Opcode::Fence, &behind("fence acquire", "load"));
}

/// A copy out of a private slot writes memory that other code reads.
#[test]
fn the_walker_stops_at_a_copy_out_of_a_slot() {
    nearest_is(
        Opcode::Call,
        "  store i32 %n, ptr addrspace(5) %a\n  \
           call void @llvm.memcpy.p1.p5.i64(ptr addrspace(1) %p, ptr addrspace(5) %a, i64 4, i1 false)\n  \
           %l = load i32, ptr addrspace(1) %p\n  ret void",
    );
}

/// No walk is limited there: the SSA form of private memory names the version.
#[test]
fn the_walker_knows_the_version_of_a_slot_behind_any_number_of_writes() {
    let others = "  store i32 1, ptr addrspace(5) %b\n".repeat(1_000);
    let load = "  %l = load i32, ptr addrspace(5) %a\n  ret void";
    assert_eq!(nearest(&format!("{others}{load}")), Some(Clobber::Entry));
    let copy = "  call void @llvm.memset.p5.i64(ptr addrspace(5) %a, i8 0, i64 4, i1 false)\n";
    nearest_is(Opcode::Call, &format!("{copy}{others}{load}"));
    let at_join = nearest(&format!(
        "  br i1 %u, label %y, label %j\ny:\n  store i32 1, ptr addrspace(5) %a\n  \
           br label %j\nj:\n{others}{load}"
    ));
    assert!(matches!(at_join, Some(Clobber::Phi(_))), "{at_join:?}");
}

#[test]
fn the_walker_stops_at_a_load_of_one_of_two_slots() {
    nearest_is(
        Opcode::Store,
        "  store i32 %n, ptr addrspace(5) %a\n  \
           %q = select i1 %u, ptr addrspace(5) %a, ptr addrspace(5) %b\n  \
           %l = load i32, ptr addrspace(5) %q\n  ret void",
    );
}

#[test]
fn addresses_in_a_vector_are_addresses() {
    nearest_is(
        Opcode::Call,
        "  %one = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %p, i32 0\n  \
           %both = insertelement <2 x ptr addrspace(1)> %one, ptr addrspace(1) %p, i32 1\n  \
           call void @scatters(<2 x ptr addrspace(1)> %both)\n  \
           %l = load i32, ptr addrspace(1) %p\n  ret void",
    );
}
