//! The data layout of a module that states none.

use phalanx::{Session, db::TargetOverrides, ir::builder::ModuleBuilder};

/// The module as it is written.
fn printed(text: &str, triple: Option<&str>) -> String {
    let mut session = Session::new();
    let overrides = TargetOverrides { triple: triple.map(str::to_owned), cpu: None };
    let module = session.read_for(text.as_bytes(), overrides).expect("it is valid");
    let once = session.print(module);
    session.reread(module, text.as_bytes()).expect("it still is");
    assert_eq!(once, session.print(module), "a module is read again for the same target");
    String::from_utf8(once).expect("ASCII")
}

#[test]
fn that_of_its_triple() {
    let text = "target triple = \"nvptx64-nvidia-cuda\"\n";
    let layout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";
    let with_layout = format!("target datalayout = \"{layout}\"\n{text}");
    assert_eq!(printed(text, None), with_layout);
    let empty = format!("target datalayout = \"\"\n{text}");
    assert_eq!(printed(&empty, None), with_layout);
    let stated = format!("target datalayout = \"e\"\n{text}");
    assert_eq!(printed(&stated, None), stated);
    assert_eq!(printed("target triple = \"odd\"\n", None), "target triple = \"odd\"\n");
}

#[test]
fn that_of_the_triple_of_the_driver() {
    let text = printed("target triple = \"nvptx64-nvidia-cuda\"\n", Some("amdgcn--"));
    assert!(text.contains("-A5-G1-") && text.ends_with("target triple = \"amdgcn--\"\n"), "{text}");
}

/// The address space of functions must be known before they are read.
#[test]
fn functions_are_where_it_says() {
    let text = "target triple = \"spirv64-amd-amdhsa\"\n
        define void @f() { ret void }
        define ptr addrspace(4) @g() { ret ptr addrspace(4) @f }";
    assert!(printed(text, None).contains("define void @f() addrspace(4) {"));
}

/// A module that is built has what the same one has that is read.
#[test]
fn that_of_a_module_that_is_built() {
    let built = |own: &str, layout: Option<&str>, driver: Option<&str>| {
        let mut session = Session::new();
        let mut module = ModuleBuilder::new(session.context().clone());
        module.set_triple(own);
        layout.into_iter().for_each(|layout| module.set_data_layout(layout));
        let module = module.finish().expect("it is valid");
        let overrides = TargetOverrides { triple: driver.map(str::to_owned), cpu: None };
        let module = session.add(module, overrides).expect("it is valid");
        String::from_utf8(session.print(module)).expect("ASCII")
    };
    let nvptx = "target triple = \"nvptx64-nvidia-cuda\"\n";
    for driver in [None, Some("amdgcn--")] {
        assert_eq!(built("nvptx64-nvidia-cuda", None, driver), printed(nvptx, driver));
        assert_eq!(built("nvptx64-nvidia-cuda", Some(""), driver), printed(nvptx, driver));
        let stated = format!("target datalayout = \"e\"\n{nvptx}");
        assert_eq!(built("nvptx64-nvidia-cuda", Some("e"), driver), printed(&stated, driver));
    }
    assert_eq!(built("odd", None, None), printed("target triple = \"odd\"\n", None));
}
