//! Plans that are carried out after other plans of the same transaction.

use crate::{load, print, run};

/// A plan may read a value that another plan of the same transaction replaces: the phi of the first
/// join is an operand on one side of the second.
#[test]
fn two_joins_in_a_row() {
    let text = "
    define amdgpu_kernel void @f(i64 %b, i1 %x, i1 %y, i1 %c, i1 %d, ptr addrspace(1) %p) {
    entry:
      br i1 %c, label %a1, label %a2
    a1:
      %v1 = call i64 @llvm.amdgcn.ballot.i64(i1 %x)
      %o1 = add i64 %v1, %b
      br label %m
    a2:
      %v2 = call i64 @llvm.amdgcn.ballot.i64(i1 %y)
      %o2 = add i64 %v2, %b
      br label %m
    m:
      %acc = phi i64 [ %o1, %a1 ], [ %o2, %a2 ]
      br i1 %d, label %b1, label %b2
    b1:
      %w1 = call i64 @llvm.amdgcn.ballot.i64(i1 %x)
      %q1 = xor i64 %acc, %w1
      br label %n
    b2:
      %w2 = call i64 @llvm.amdgcn.ballot.i64(i1 %y)
      %q2 = xor i64 %b, %w2
      br label %n
    n:
      %r = phi i64 [ %q1, %b1 ], [ %q2, %b2 ]
      store i64 %r, ptr addrspace(1) %p, align 8
      ret void
    }";
    let (mut db, module) = load(text);
    run(&mut db, module, "move-convergent,dce");
    let after = print(&db, module);
    let ballots = after.matches("call i64 @llvm.amdgcn.ballot.i64").count();
    assert_eq!(ballots, 2, "{after}");
}
