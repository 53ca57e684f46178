; A switch on a divergent and one on a uniform value, with several cases that share a target.
;
; Expected: `%kind` comes from the id, so the first switch diverges. Lanes of cases 0 and 1 run `%low` together; `%near`
; merges lanes from `%low` and from case 2: its phi is divergent, and so is the one at the end. The second switch is
; uniform and so is its phi. A switch whose targets are all one block (`%only`) decides nothing, whatever its operand.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @switch(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %kind = and i32 %id, 3 ; => divergent
  switch i32 %kind, label %far [
    i32 0, label %low
    i32 1, label %low
    i32 2, label %near
  ] ; => divergent

low:
  %l = add i32 %n, 1 ; => uniform
  br label %near ; => uniform

near:
  %m = phi i32 [ %l, %low ], [ %n, %entry ] ; => divergent
  br label %second ; => uniform

far:
  %f = add i32 %n, 2 ; => uniform
  br label %second ; => uniform

second:
  %v = phi i32 [ %m, %near ], [ %f, %far ] ; => divergent
  switch i32 %n, label %big [
    i32 0, label %zero
    i32 1, label %third
  ] ; => uniform

zero:
  br label %third ; => uniform

big:
  br label %third ; => uniform

third:
  %size = phi i32 [ 1, %second ], [ 0, %zero ], [ 2, %big ] ; => uniform
  switch i32 %kind, label %only [
    i32 0, label %only
    i32 1, label %only
  ] ; => divergent

only:
  %same = phi i32 [ %size, %third ], [ %size, %third ], [ %size, %third ] ; => uniform
  %sum = add i32 %v, %same ; => divergent
  store i32 %sum, ptr addrspace(1) %out, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
