; Exception handling.

;; landingpad without clauses
declare i32 @p(...)
declare void @g()
define void @f() personality ptr @p {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  %l = landingpad { ptr, i32 }
  ret void
}

;; landingpad without personality
declare void @g()
define void @f() {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  %l = landingpad { ptr, i32 } cleanup
  ret void
}

;; landingpad behind another instruction
declare i32 @p(...)
declare void @g()
define void @f() personality ptr @p {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  fence acquire
  %l = landingpad { ptr, i32 } cleanup
  ret void
}

;; landingpad entered by a branch
declare i32 @p(...)
declare void @g()
define void @f(i1 %c) personality ptr @p {
entry:
  br i1 %c, label %i, label %u
i:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  %l = landingpad { ptr, i32 } cleanup
  ret void
}

;; invoke to itself on both edges
declare i32 @p(...)
declare void @g()
define void @f(i1 %c) personality ptr @p {
i:
  invoke void @g() to label %u unwind label %u
u:
  %l = landingpad { ptr, i32 } cleanup
  ret void
}

;; landingpads of different types
declare i32 @p(...)
declare void @g()
define void @f() personality ptr @p {
entry:
  invoke void @g() to label %n unwind label %u
n:
  invoke void @g() to label %m unwind label %v
m:
  ret void
u:
  %l = landingpad { ptr, i32 } cleanup
  ret void
v:
  %k = landingpad { ptr, i64 } cleanup
  ret void
}

;; resume of another type
declare i32 @p(...)
declare void @g()
define void @f() personality ptr @p {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i64 } poison
}

;; resume without personality
define void @f() {
  resume { ptr, i32 } poison
}

;; landingpad with a filter and a catch
declare i32 @p(...)
declare void @g()
define void @f() personality ptr @p {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  %l = landingpad { ptr, i32 } filter [0 x ptr] zeroinitializer catch ptr null
  resume { ptr, i32 } %l
}

;; landingpad that catches an integer
declare i32 @p(...)
declare void @g()
define void @f() personality ptr @p {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  %l = landingpad { ptr, i32 } catch i32 0
  resume { ptr, i32 } %l
}

;; invoke that unwinds to no pad
declare i32 @p(...)
declare void @g()
define void @f() personality ptr @p {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  ret void
}

;; funclets
declare i32 @__CxxFrameHandler3(...)
declare void @g()
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  invoke void @g() to label %n unwind label %s
n:
  ret void
s:
  %cs = catchswitch within none [label %c] unwind label %u
c:
  %cp = catchpad within %cs [ptr null, i32 64, ptr null]
  call void @g() [ "funclet"(token %cp) ]
  catchret from %cp to label %n
u:
  %cl = cleanuppad within none []
  cleanupret from %cl unwind to caller
}

;; catchswitch to a block without catchpad
declare i32 @__CxxFrameHandler3(...)
declare void @g()
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  invoke void @g() to label %n unwind label %s
n:
  ret void
s:
  %cs = catchswitch within none [label %c] unwind to caller
c:
  ret void
}

;; cleanuppad entered by a branch
declare i32 @__CxxFrameHandler3(...)
declare void @g()
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  br label %u
u:
  %cl = cleanuppad within none []
  cleanupret from %cl unwind to caller
}

;; cleanuppad without personality
declare void @g()
define void @f() {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  %cl = cleanuppad within none []
  cleanupret from %cl unwind to caller
}

;; pad in the entry block
declare i32 @__CxxFrameHandler3(...)
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  %cl = cleanuppad within none []
  cleanupret from %cl unwind to caller
}

;; cleanupret from a catchpad
declare i32 @__CxxFrameHandler3(...)
declare void @g()
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  invoke void @g() to label %n unwind label %s
n:
  ret void
s:
  %cs = catchswitch within none [label %c] unwind to caller
c:
  %cp = catchpad within %cs []
  cleanupret from %cp unwind to caller
}

;; catchpad of a parameter
declare i32 @__CxxFrameHandler3(...)
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  ret void
c:
  %cp = catchpad within none []
  catchret from %cp to label %d
d:
  ret void
}

;; catchpad entered by a branch
declare i32 @__CxxFrameHandler3(...)
declare void @g()
define void @f(i1 %x) personality ptr @__CxxFrameHandler3 {
entry:
  br i1 %x, label %i, label %c
i:
  invoke void @g() to label %n unwind label %s
n:
  ret void
s:
  %cs = catchswitch within none [label %c] unwind to caller
c:
  %cp = catchpad within %cs []
  catchret from %cp to label %n
}

;; cleanupret to a landingpad
declare i32 @p(...)
declare void @g()
define void @f() personality ptr @p {
entry:
  invoke void @g() to label %n unwind label %u
n:
  ret void
u:
  %cl = cleanuppad within none []
  cleanupret from %cl unwind label %v
v:
  %l = landingpad { ptr, i32 } cleanup
  ret void
}
