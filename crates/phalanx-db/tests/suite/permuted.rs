//! What lanes get from others, by processor.

#[path = "support/definition.rs"]
mod definition;

use std::sync::Arc;

use phalanx_analysis::lower::Numbering;
use phalanx_db::{Database, TargetOverrides, queries};
use phalanx_ir::{Context, Opcode, Value};
use phalanx_target::{Scope, varying};

use definition::definition;

/// Whether what `ds.bpermute` gives of lane 5 is equal in the waves of a function with these
/// attributes.
#[track_caller]
fn is_uniform(attributes: &str) -> bool {
    let text = format!(
        r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
define amdgpu_kernel void @f(ptr addrspace(1) %p) {attributes} {{
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 20, i32 %x)
  store i32 %y, ptr addrspace(1) %p
  ret void
}}
"#
    );
    let (db, function) = definition(&text);
    let body = function.body(&db);
    let permuted = body.all_ids().nth(1).expect("the second instruction");
    let divergence = queries::divergence(&db, function).as_ref().expect("a body");
    let numbering = Numbering::new(function.header(&db));
    let launch = &queries::launch_facts(&db, function);
    !divergence.value(numbering.inst(permuted)).intersects(varying(Scope::Wave, launch))
}

#[test]
fn a_lane_of_the_wave_is_one_on_processors_that_permute_whole_waves() {
    assert!(is_uniform(r#""target-cpu"="gfx90a""#));
    assert!(is_uniform(r#""target-cpu"="gfx1201" "target-features"="+wavefrontsize64""#));
    assert!(is_uniform(r#""target-cpu"="gfx1100""#), "waves of 32");
    assert!(!is_uniform(r#""target-cpu"="gfx1100" "target-features"="+wavefrontsize64""#));
    assert!(!is_uniform(r#""target-cpu"="gfx1030" "target-features"="+wavefrontsize64""#));
    assert!(!is_uniform(""), "any processor");
}

/// A function that names no processor runs on those that others name, whatever the module is
/// compiled for, and what it is said to do holds on all of them.
#[test]
fn what_no_processor_is_named_for_holds_on_all_that_are() {
    // Whether results of `body` are uniform in `@any`, which kernels call that are for these
    // processors.
    let is_uniform = |body: &str, kernels: [&str; 2]| {
        let [first, last] = kernels.map(|attributes| {
            let name = attributes.len();
            format!("define amdgpu_kernel void @k{name}(i32 %n) {attributes} {{ call void @any(i32 %n) ret void }}")
        });
        let text = format!(
            r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
{first}
define void @any(i32 %n) {{
  {body}
  ret void
}}
{last}
"#
        );
        let mut db = Database::new();
        let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
        let parsed = parsed.unwrap_or_else(|error| panic!("{error:?}")).module;
        let cpu = Some("gfx90a".to_owned());
        let module = db.load(parsed, None, TargetOverrides { triple: None, cpu });
        let mut entries = module.functions(&db).iter().filter(|entry| entry.is_definition);
        let function = entries.nth(1).expect("it is the second").input;
        let body = function.body(&db);
        let is_result = |inst: &phalanx_ir::InstId| {
            matches!(body.inst(*inst).opcode, Opcode::Call | Opcode::AddrSpaceCast)
                && body.uses_of(Value::inst(*inst)).next().is_none()
        };
        let result = body.all_ids().find(is_result).expect("there is one");
        let divergence = queries::divergence(&db, function).as_ref().expect("a body");
        let launch = &queries::launch_facts(&db, function);
        let result = Numbering::new(function.header(&db)).inst(result);
        !divergence.value(result).intersects(varying(Scope::Wave, launch))
    };
    let permuted = "%x = call i32 @llvm.amdgcn.workitem.id.x()
           %y = call i32 @llvm.amdgcn.ds.bpermute(i32 20, i32 %x)";
    let (plain, halves) = ("", r#""target-cpu"="gfx1100" "target-features"="+wavefrontsize64""#);
    let same = r#""target-cpu"="gfx90a""#;
    assert!(is_uniform(permuted, [plain, same]));
    assert!(!is_uniform(permuted, [halves, plain]));
    assert!(!is_uniform(permuted, [plain, halves]));
    let generic = "%slot = alloca i32, addrspace(5)
           %y = addrspacecast ptr addrspace(5) %slot to ptr";
    let apart = r#""target-cpu"="gfx1250""#;
    assert!(is_uniform(generic, [plain, halves]));
    assert!(!is_uniform(generic, [apart, plain]));
    assert!(!is_uniform(generic, [plain, apart]));
}
