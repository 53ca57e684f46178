//! Facts about null pointers of address spaces other than 0, and about memory that an earlier grid
//! may still write.

use expect_test::{Expect, expect};
use phalanx::{Session, db::queries};

/// The memories that named values of `@f` point to.
fn spaces(text: &str) -> String {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("the text is a module");
    let input = session.function(module, "f").expect("there is @f").input();
    let db = session.database();
    let found = queries::memory_kinds(db, input).as_ref().expect("it has a body");
    let (body, flow, view) = (input.body(db), input.flow(db), input.view(db));
    let insts = flow.order().iter().flat_map(|&block| body.block_insts(block));
    let shown = insts.filter_map(|inst| {
        let name = String::from_utf8_lossy(view.extras.names.inst(inst)?).into_owned();
        Some(format!("{name}: {}\n", found.of(inst.into())))
    });
    shown.collect()
}

fn check_spaces(attributes: &str, expected: &Expect) {
    let text = format!(
        "target triple = \"amdgcn-amd-amdhsa\"
         define amdgpu_kernel void @f(i32 %n, ptr %p) {attributes} {{
           %lds = getelementptr i8, ptr addrspace(3) null, i32 %n
           %generic = addrspacecast ptr addrspace(3) %lds to ptr
           %number = inttoptr i32 0 to ptr addrspace(3)
           %cast = addrspacecast ptr addrspace(3) %number to ptr
           %constant = getelementptr i8, ptr addrspacecast (ptr addrspace(5) null to ptr), i32 %n
           %device = getelementptr i8, ptr null, i32 %n
           ret void
         }}"
    );
    expected.assert_eq(&spaces(&text));
}

/// `getelementptr ptr addrspace(3) null, %n` is the address %n of workgroup memory.
#[test]
fn null_of_other_spaces_is_an_address() {
    check_spaces(
        "",
        &expect![[r#"
        lds: {shared, null}
        generic: {shared, null}
        number: {shared, null}
        cast: {shared, null}
        constant: {private, null}
        device: {null}
    "#]],
    );
}

/// In space 0 null is not an address, unless the function says so.
#[test]
fn null_that_a_function_calls_valid() {
    check_spaces(
        "null_pointer_is_valid",
        &expect![[r#"
        lds: {shared, null}
        generic: {global, constant, shared, private, null}
        number: {shared, null}
        cast: {global, constant, shared, private, null}
        constant: {global, constant, shared, private, null}
        device: {global, constant, shared, private, null}
    "#]],
    );
}

/// Until the wait an earlier grid may write what a kernel only reads, so no load of it is
/// invariant; the same kernel in a module that never waits has a non-coherent load.
#[test]
fn memory_of_an_earlier_grid() {
    let classes = |declaration: &str, wait: &str| {
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"
             {declaration}
             define ptx_kernel void @f(ptr addrspace(1) noalias %o, ptr addrspace(1) noalias readonly %r) {{
               %a = load i32, ptr addrspace(1) %r, align 4
               {wait}
               store i32 %a, ptr addrspace(1) %o, align 4
               ret void
             }}"
        );
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).expect("the text is a module");
        let input = session.function(module, "f").expect("there is @f").input();
        let classes = queries::load_classes(session.database(), input).as_ref().expect("a body");
        let load = &classes.loads()[0];
        let refused = |class| load.refusal(class).map_or("yes", |refusal| refusal.code());
        phalanx::analysis::loads::LoadClass::ALL.map(refused)
    };
    let name = "void @llvm.nvvm.griddepcontrol.wait()";
    let with_wait = classes(&format!("declare {name}"), &format!("call {name}"));
    assert_eq!(with_wait, ["earlier-grids"; 3]);
    let assembly = r#"call void asm sideeffect "griddepcontrol.wait;", "~{memory}"()"#;
    assert_eq!(classes("", assembly), ["earlier-grids"; 3]);
    assert_eq!(classes("", ""), ["yes"; 3]);
}
