; Chains of causes through calls: into what is called, and up to who calls.
;
; Expected: `%picked` differs because `@pick` parts threads by its second argument; `%odd.lane` because `@mixed` brings the lane's
; number in, in a function further down; `%counted` although `@count` calls itself; `%second` is a member of a pair, and the other is not divergent.
; `%scaled` in `@scale` is divergent because of the second of two calls.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @caller(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %odd = trunc i32 %id to i1 ; => divergent
  %picked = call i32 @pick(i32 %n, i1 %odd, i32 7) ; => divergent
  %odd.lane = call i32 @mixed(i32 %n) ; => divergent
  %counted = call i32 @count(i32 %n, i32 %id) ; => divergent
  %pair = call { i32, i32 } @pair(i32 %n, i32 %id) ; => divergent
  %first = extractvalue { i32, i32 } %pair, 0 ; => uniform (LLVM 22: divergent)
  %second = extractvalue { i32, i32 } %pair, 1 ; => divergent
  %same = call i32 @scale(i32 %n) ; => uniform (LLVM 22: divergent)
  %other = call i32 @scale(i32 %second) ; => divergent
  ret void
}

define internal i32 @pick(i32 %a, i1 %which, i32 %b) {
entry:
  br i1 %which, label %left, label %right ; => divergent

left:
  ret i32 %a

right:
  ret i32 %b
}

define internal i32 @mixed(i32 %a) {
  %lane = call i32 @lane(i32 %a) ; => divergent
  %sum = add i32 %lane, %a ; => divergent
  ret i32 %sum
}

define internal i32 @lane(i32 %unused) {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0) ; => divergent
  ret i32 %low
}

define internal i32 @count(i32 %n, i32 %what) {
entry:
  %stop = icmp eq i32 %n, 0
  br i1 %stop, label %bottom, label %again

bottom:
  %twice = mul i32 %what, 2 ; => divergent
  ret i32 %twice

again:
  %less = sub i32 %n, 1
  %rest = call i32 @count(i32 %less, i32 %what) ; => divergent
  ret i32 %rest
}

define internal { i32, i32 } @pair(i32 %a, i32 %b) {
  %one = insertvalue { i32, i32 } poison, i32 %a, 0
  %both = insertvalue { i32, i32 } %one, i32 %b, 1 ; => divergent
  ret { i32, i32 } %both
}

define internal i32 @scale(i32 %x) {
  %scaled = mul i32 %x, 3 ; => divergent
  ret i32 %scaled
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
