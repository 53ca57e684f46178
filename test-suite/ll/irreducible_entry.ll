; A cycle with two entries, entered on different sides by different lanes.
;
; Expected: the branch in the entry block is divergent and its two successors are the two entries of one irreducible
; cycle. Which block counts as the header is a choice, and with it which rounds of which lanes count as the same; so
; nothing computed in the cycle may be called uniform, neither `%a` nor `%b` nor the exit's condition, and what leaves
; the cycle is divergent too. In `@uniform_entry` the same cycle is entered by all lanes together and its exit is
; uniform: everything stays uniform.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @divergent_entry(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %even = trunc i32 %id to i1 ; => divergent
  br i1 %even, label %ping, label %pong ; => divergent

ping:
  %a = phi i32 [ 0, %entry ], [ %b.next, %pong ] ; => divergent
  %a.next = add i32 %a, 1 ; => divergent
  %done = icmp uge i32 %a.next, %n ; => divergent
  br i1 %done, label %exit, label %pong ; => divergent

pong:
  %b = phi i32 [ 0, %entry ], [ %a.next, %ping ] ; => divergent
  %b.next = add i32 %b, 2 ; => divergent
  br label %ping ; => uniform

exit:
  %result = mul i32 %a.next, 10 ; => divergent
  store i32 %result, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @uniform_entry(ptr addrspace(1) %out, i32 %n, i1 %even) {
entry:
  br i1 %even, label %ping, label %pong ; => uniform

ping:
  %a = phi i32 [ 0, %entry ], [ %b.next, %pong ] ; => uniform
  %a.next = add i32 %a, 1 ; => uniform
  %done = icmp uge i32 %a.next, %n ; => uniform
  br i1 %done, label %exit, label %pong ; => uniform

pong:
  %b = phi i32 [ 0, %entry ], [ %a.next, %ping ] ; => uniform
  %b.next = add i32 %b, 2 ; => uniform
  br label %ping ; => uniform

exit:
  %result = mul i32 %a.next, 10 ; => uniform
  store i32 %result, ptr addrspace(1) %out
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
