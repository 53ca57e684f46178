; Exception handling.

;; landingpad without clauses
;= LandingPadInst needs at least one clause or to be a cleanup.
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
;= LandingPadInst needs to be in a function with a personality.
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
;= The unwind destination does not have an exception handling instruction!
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
;= Block containing LandingPadInst must be jumped to only by the unwind edge of an invoke.
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
;= Block containing LandingPadInst must be jumped to only by the unwind edge of an invoke.
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
;= The landingpad instruction should have a consistent result type inside a function.
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
;= The resume instruction should have a consistent result type inside a function.
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
;= ResumeInst needs to be in a function with a personality.
define void @f() {
  resume { ptr, i32 } poison
}

;; landingpad with a filter and a catch
;= ok
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
;= Catch operand does not have pointer type!
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
;= The unwind destination does not have an exception handling instruction!
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
;= ok
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
;= CatchSwitchInst handlers must be catchpads
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
;= EH pad must be jumped to via an unwind edge
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
;= CleanupPadInst needs to be in a function with a personality.
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
;= EH pad cannot be in entry block.
declare i32 @__CxxFrameHandler3(...)
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  %cl = cleanuppad within none []
  cleanupret from %cl unwind to caller
}

;; cleanupret from a catchpad
;= CleanupReturnInst needs to be provided a CleanupPad
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
;= parser
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
;= Block containg CatchPadInst must be jumped to only by its catchswitch.
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
;= CleanupReturnInst must unwind to an EH block which is not a landingpad.
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
