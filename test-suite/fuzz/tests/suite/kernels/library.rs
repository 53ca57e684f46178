//! The device library that one kernel leaves to be linked: the functions it calls, in IR.

/// For each target: how it says where a thread is and how large a group is, and its barrier.
const AMDGCN: &str = r"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare void @llvm.amdgcn.s.barrier()
define internal i32 @item() {
  %v = call i32 @llvm.amdgcn.workitem.id.x()
  ret i32 %v
}
define internal i32 @group() {
  %v = call i32 @llvm.amdgcn.workgroup.id.x()
  ret i32 %v
}
define internal i32 @size() {
  %args = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %at = getelementptr i8, ptr addrspace(4) %args, i64 12
  %short = load i16, ptr addrspace(4) %at, align 4
  %v = zext i16 %short to i32
  ret i32 %v
}
define internal void @wait() convergent {
  call void @llvm.amdgcn.s.barrier()
  ret void
}
";

const NVPTX: &str = r"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal i32 @item() {
  %v = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %v
}
define internal i32 @group() {
  %v = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  ret i32 %v
}
define internal i32 @size() {
  %v = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  ret i32 %v
}
define internal void @wait() convergent {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
";

/// Only the first dimension is asked for.
const COMMON: &str = r"
declare float @llvm.sin.f32(float)
declare float @llvm.pow.f32(float, float)
define i64 @_Z12get_group_idj(i32 %dimension) {
  %group = call i32 @group()
  %v = zext i32 %group to i64
  ret i64 %v
}
define i64 @_Z14get_local_sizej(i32 %dimension) {
  %size = call i32 @size()
  %v = zext i32 %size to i64
  ret i64 %v
}
define i64 @_Z13get_global_idj(i32 %dimension) {
  %item = call i32 @item()
  %group = call i32 @group()
  %size = call i32 @size()
  %first = mul i32 %group, %size
  %id = add i32 %first, %item
  %v = zext i32 %id to i64
  ret i64 %v
}
define void @_Z18work_group_barrierj(i32 %flags) convergent {
  call void @wait()
  ret void
}
define float @_Z3sinf(float %x) {
  %v = call float @llvm.sin.f32(float %x)
  ret float %v
}
define float @_Z3powff(float %x, float %y) {
  %v = call float @llvm.pow.f32(float %x, float %y)
  ret float %v
}
define i32 @_Z25atomic_fetch_add_explicitPVU7_Atomicii12memory_order12memory_scope(ptr %p, i32 %by, i32 %order, i32 %scope) {
  %v = atomicrmw add ptr %p, i32 %by monotonic, align 4
  ret i32 %v
}
";

/// The module with the library in place of the declarations of its functions.
pub(crate) fn link(text: &str, target: &str) -> String {
    let is_declared = |line: &str| line.starts_with("declare") && line.contains("@_Z");
    let kept = text.lines().filter(|line| !is_declared(line));
    let mut linked: String = kept.flat_map(|line| [line, "\n"]).collect();
    linked.push_str(if target == "amdgcn" { AMDGCN } else { NVPTX });
    linked.push_str(COMMON);
    linked
}
