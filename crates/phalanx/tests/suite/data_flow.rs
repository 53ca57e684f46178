//! Direct influences through private memory and through other threads.

use expect_test::expect;
use phalanx::{
    Session,
    analysis::{
        affect::Value,
        data_flow::{Edges, Entity},
        lower::{Definition, Numbering},
    },
};

const KERNEL: &[u8] = br#"
target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x i32] poison
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @f(i32 %n, i32 %at, ptr addrspace(1) %out) {
entry:
  %slot = alloca i32, addrspace(5)
  store i32 %n, ptr addrspace(5) %slot
  %back = load i32, ptr addrspace(5) %slot
  %there = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %at
  store i32 %back, ptr addrspace(3) %there
  call void @llvm.amdgcn.s.barrier()
  %first = load i32, ptr addrspace(3) @tile
  ret void
}
"#;

#[test]
fn through_memory_and_threads() {
    let mut session = Session::new();
    let module = session.read(KERNEL).expect("it is valid");
    let kernel = session.function(module, "f").expect("it is defined");
    let code = session.code(kernel);
    let numbering = Numbering::new(code.header);
    let flow = session.data_flow(kernel).expect("it has a body");
    let name = |entity: Entity| match entity {
        Entity::Value(value) => match numbering.definition(value) {
            Definition::Argument(position) => format!("argument {position}"),
            Definition::Inst(inst) => session.print_inst(kernel, inst).trim().to_owned(),
        },
        Entity::Class(class, inst) => {
            format!("{} behind {}", class.name(), session.print_inst(kernel, inst).trim())
        }
        other => format!("{other:?}"),
    };
    let everything = flow.reached((0..3).map(|i| Entity::Value(Value::new(i))), Edges::All);
    let mut text = String::new();
    for from in everything.iter() {
        for (to, edge) in flow.users(from) {
            text += &format!("{} -> {} ({edge:?})\n", name(from), name(to));
        }
    }
    expect![[r#"
        argument 0 -> store i32 %n, ptr addrspace(5) %slot, align 4 (Content)
        argument 1 -> %there = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %at (Index)
        store i32 %n, ptr addrspace(5) %slot, align 4 -> Slot(0) (Content)
        %back = load i32, ptr addrspace(5) %slot, align 4 -> store i32 %back, ptr addrspace(3) %there, align 4 (Content)
        %there = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %at -> store i32 %back, ptr addrspace(3) %there, align 4 (Address)
        store i32 %back, ptr addrspace(3) %there, align 4 -> workgroup behind store i32 %back, ptr addrspace(3) %there, align 4 (Content)
        call void @llvm.amdgcn.s.barrier() -> workgroup behind call void @llvm.amdgcn.s.barrier() (Content)
        call void @llvm.amdgcn.s.barrier() -> global behind call void @llvm.amdgcn.s.barrier() (Content)
        call void @llvm.amdgcn.s.barrier() -> other behind call void @llvm.amdgcn.s.barrier() (Content)
        Slot(0) -> %back = load i32, ptr addrspace(5) %slot, align 4 (Content)
        workgroup behind store i32 %back, ptr addrspace(3) %there, align 4 -> call void @llvm.amdgcn.s.barrier() (Content)
        workgroup behind store i32 %back, ptr addrspace(3) %there, align 4 -> workgroup behind call void @llvm.amdgcn.s.barrier() (OldContent)
        workgroup behind store i32 %back, ptr addrspace(3) %there, align 4 -> Others(Workgroup) (Content)
        workgroup behind call void @llvm.amdgcn.s.barrier() -> %first = load i32, ptr addrspace(3) @tile, align 4 (Content)
        workgroup behind call void @llvm.amdgcn.s.barrier() -> Others(Workgroup) (Content)
        global behind call void @llvm.amdgcn.s.barrier() -> Others(Global) (Content)
        other behind call void @llvm.amdgcn.s.barrier() -> Others(Other) (Content)
        Others(Workgroup) -> call void @llvm.amdgcn.s.barrier() (Content)
        Others(Global) -> call void @llvm.amdgcn.s.barrier() (Content)
        Others(Other) -> call void @llvm.amdgcn.s.barrier() (Content)
    "#]].assert_eq(&text);
    // Where an address comes from, not what is there.
    let addresses = flow.reached([Entity::Value(Value::new(0))], Edges::WithoutContent);
    assert_eq!(addresses.iter().count(), 1);
    let addresses = flow.reached([Entity::Value(Value::new(1))], Edges::WithoutContent);
    assert_eq!(addresses.iter().count(), 2);
}
