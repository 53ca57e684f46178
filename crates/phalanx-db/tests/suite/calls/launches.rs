//! The launches in which functions are executed, from their callers.

use expect_test::expect;
use phalanx_db::{FunctionInput, queries};

use crate::calls::Module;

/// Code with the address of a function may call it in any launch. The callees of that function are
/// executed in the same launch.
#[test]
fn launches_of_functions_whose_addresses_are_taken_are_not_known() {
    let module = Module::new(
        "define internal i32 @taken(i32 %a) {
           %r = call i32 @below(i32 %a)
           ret i32 %r
         }
         define internal i32 @below(i32 %a) {
           ret i32 %a
         }
         define internal i32 @round(i32 %a) {
           %r = call i32 @again(i32 %a)
           ret i32 %r
         }
         define internal i32 @again(i32 %a) {
           %r = call i32 @round(i32 %a)
           ret i32 %r
         }
         define internal i32 @known(i32 %a) {
           ret i32 %a
         }
         define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) !reqd_work_group_size !0 {
           store ptr @taken, ptr addrspace(1) %p
           store ptr @round, ptr addrspace(1) %p
           %r1 = call i32 @taken(i32 %n)
           %r2 = call i32 @below(i32 %n)
           %r3 = call i32 @again(i32 %n)
           %r4 = call i32 @known(i32 %n)
           ret void
         }
         !0 = !{i32 64, i32 4, i32 1}",
    );
    let of = |(name, input): (String, FunctionInput)| {
        format!("@{name}: {:?}\n", queries::launch_facts(&module.db, input).workgroup_size)
    };
    let known: String = module.definitions().into_iter().map(of).collect();
    expect![[r#"
        @taken: [Unknown, Unknown, Unknown]
        @below: [Unknown, Unknown, Unknown]
        @round: [Unknown, Unknown, Unknown]
        @again: [Unknown, Unknown, Unknown]
        @known: [Exactly(64), Exactly(4), Exactly(1)]
        @k: [Exactly(64), Exactly(4), Exactly(1)]
    "#]]
    .assert_eq(&known);
}

/// A function that is called from kernels only runs in their launches.
#[test]
fn launches_of_kernels_reach_the_functions_that_they_call() {
    let text = "define internal i32 @both(i32 %a) {
           %r = call i32 @leaf(i32 %a)
           ret i32 %r
         }
         define internal i32 @leaf(i32 %a) {
           ret i32 %a
         }
         define internal i32 @round(i32 %a) {
           %r = call i32 @round(i32 %a)
           ret i32 %r
         }
         define i32 @anybody(i32 %a) {
           %r = call i32 @shared(i32 %a)
           ret i32 %r
         }
         define internal i32 @shared(i32 %a) {
           ret i32 %a
         }
         define amdgpu_kernel void @k(i32 %n) \"uniform-work-group-size\"=\"true\" !reqd_work_group_size !0 {
           %r1 = call i32 @both(i32 %n)
           %r2 = call i32 @shared(i32 %n)
           %r3 = call i32 @round(i32 %n)
           ret void
         }
         define amdgpu_kernel void @l(i32 %n) \"uniform-work-group-size\"=\"true\" !reqd_work_group_size !1 {
           %r1 = call i32 @both(i32 %n)
           ret void
         }
         !0 = !{i32 64, i32 4, i32 1}
         !1 = !{i32 64, i32 2, i32 1}";
    let mut module = Module::new(text);
    let known = |module: &Module| -> String {
        let of = |(name, input): (String, FunctionInput)| {
            let facts = queries::launch_facts(&module.db, input);
            format!("@{name}: {:?} {}\n", facts.workgroup_size, facts.uniform_work_group_size)
        };
        module.definitions().into_iter().map(of).collect()
    };
    expect![[r#"
        @both: [Exactly(64), AtMost(4), Exactly(1)] true
        @leaf: [Exactly(64), AtMost(4), Exactly(1)] true
        @round: [Exactly(64), Exactly(4), Exactly(1)] true
        @anybody: [Unknown, Unknown, Unknown] false
        @shared: [Unknown, Unknown, Unknown] false
        @k: [Exactly(64), Exactly(4), Exactly(1)] true
        @l: [Exactly(64), Exactly(2), Exactly(1)] true
    "#]]
    .assert_eq(&known(&module));
    // What is stated of one kernel is not known of a function that another calls as well.
    let launch =
        phalanx_target::LaunchStatement { cluster_size: Some([1; 3]), ..Default::default() };
    let of_clusters =
        |module: &Module, leaf| queries::launch_facts(&module.db, leaf).max_workgroups();
    let kernel = module.function("l");
    module.db.set_launch(kernel, launch).expect("it can be so");
    let leaf = module.function("leaf");
    assert_eq!(of_clusters(&module, leaf), None);
    let kernel = module.function("k");
    module.db.set_launch(kernel, launch).expect("it can be so");
    assert_eq!(of_clusters(&module, leaf), Some(1));
}

/// A function that names no processor runs in the waves of its callers, however the module is
/// compiled. If its callers are unknown, it runs in the waves of all possible callers.
#[test]
fn functions_that_name_no_processor_run_in_waves_of_their_callers() {
    let widths = |kernels: &str| -> String {
        let module = Module::new(&format!(
            "define internal i32 @narrow(i32 %a) {{
               ret i32 %a
             }}
             define internal i32 @both(i32 %a) {{
               ret i32 %a
             }}
             define i32 @anybody(i32 %a) {{
               ret i32 %a
             }}
             define i32 @named(i32 %a) \"target-cpu\"=\"gfx90a\" {{
               ret i32 %a
             }}
             {kernels}"
        ));
        let of = |(name, input): (String, FunctionInput)| {
            format!("@{name}: {:?}\n", queries::launch_facts(&module.db, input).wave_width)
        };
        module.definitions().into_iter().map(of).collect()
    };
    let narrow = "define amdgpu_kernel void @k(i32 %n) \"target-cpu\"=\"gfx1100\" {
           %r1 = call i32 @narrow(i32 %n)
           %r2 = call i32 @both(i32 %n)
           %r3 = call i32 @anybody(i32 %n)
           ret void
         }";
    let wide = "define amdgpu_kernel void @l(i32 %n) {
           %r1 = call i32 @both(i32 %n)
           ret void
         }";
    expect![[r#"
        @narrow: Some(32)
        @both: None
        @anybody: None
        @named: Some(64)
        @k: Some(32)
        @l: Some(64)
    "#]]
    .assert_eq(&widths(&format!("{narrow} {wide}")));
    // Where all that the module says is one width, it is the one of everybody.
    expect![[r#"
        @narrow: Some(64)
        @both: Some(64)
        @anybody: Some(64)
        @named: Some(64)
        @l: Some(64)
    "#]]
    .assert_eq(&widths(wide));
}

/// What the driver states of a function counts like what the module says of it.
#[test]
fn stated_waves_are_those_of_functions_that_name_no_processor() {
    let mut module = Module::new(
        "define i32 @anybody(i32 %a) {
           ret i32 %a
         }
         define i32 @stated(i32 %a) {
           ret i32 %a
         }",
    );
    let widths = |module: &Module| {
        ["anybody", "stated"]
            .map(|name| queries::launch_facts(&module.db, module.function(name)).wave_width)
    };
    assert_eq!(widths(&module), [Some(64), Some(64)]);
    let stated = module.function("stated");
    let narrow = phalanx_target::LaunchStatement { wave_width: Some(32), ..Default::default() };
    module.db.set_launch(stated, narrow).expect("it can be so");
    assert_eq!(widths(&module), [None, Some(32)]);
}

/// If a function is mentioned other than as a callee, it may have unknown callers.
#[test]
fn callers_are_known_of_who_is_named_nowhere_else() {
    let is_closed = |others: &str, callee: &str| {
        let helper = "define internal i32 @helper(i32 %a)";
        let module = Module::new(&format!(
            "{helper} {callee} {{ ret i32 %a }}
             define amdgpu_kernel void @k(i32 %n) {{
               %r = call i32 @helper(i32 %n)
               ret void
             }}
             {others}"
        ));
        queries::call_place(&module.db, module.function("helper")).is_closed
    };
    assert!(is_closed("define void @other() { ret void }", ""));
    assert!(!is_closed("@other = alias i32 (i32), ptr @helper", ""));
    assert!(!is_closed("@table = constant [1 x ptr] [ptr @helper]", ""));
    assert!(!is_closed("define void @other() prefix ptr @helper { ret void }", ""));
    assert!(!is_closed("define void @other() prologue ptr @helper { ret void }", ""));
    assert!(!is_closed("define void @other() personality ptr @helper { ret void }", ""));
    assert!(!is_closed("!named = !{!0}\n!0 = !{ptr @helper}", ""));
    assert!(!is_closed("", "naked"));
}
