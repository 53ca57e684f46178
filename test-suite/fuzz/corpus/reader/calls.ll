declare token @llvm.experimental.convergence.anchor()
declare i32 @g(ptr byval(i32) align 4, ...) #0
define i32 @f(ptr %p, i1 %c) personality ptr @g {
  %t = call token @llvm.experimental.convergence.anchor()
  %r = invoke i32 (ptr, ...) @g(ptr byval(i32) align 4 %p, i32 7) [ "convergencectrl"(token %t) ]
          to label %ok unwind label %bad
ok:
  %s = select i1 %c, i32 %r, i32 0
  switch i32 %s, label %ok2 [ i32 1, label %ok2 ]
ok2:
  %x = atomicrmw add ptr %p, i32 1 syncscope("agent") monotonic, align 4
  ret i32 %x
bad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}
attributes #0 = { convergent nounwind memory(argmem: read) "k"="v" }
