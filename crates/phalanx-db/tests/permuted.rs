//! What lanes get from others, by processor.

#[path = "support/definition.rs"]
mod definition;

use phalanx_analysis::lower::Numbering;
use phalanx_db::queries;
use phalanx_target::{Scope, varying};

use definition::definition;

/// Whether what `ds.bpermute` gives of lane 5 is equal in the waves of a function with these attributes.
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
