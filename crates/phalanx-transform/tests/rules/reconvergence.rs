//! What passes leave alone for machines that reconverge at immediate post-dominators.

use crate::{load, print, run};

const UNIFORM: &str = "icmp ult i32 %a, 7";
const DIVERGENT: &str = "icmp ult i32 %x, 7";

/// A machine that reconverges at post-dominators joins the sides of a divergent branch at the block
/// that would be copied; a vote further on would be executed by each side alone.
#[test]
fn a_vote_behind_the_block_where_a_divergent_branch_joins() {
    let text = |condition: &str, flag: &str, vote: &str| {
        format!(
            "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a, i1 %u) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %c = {condition}
           br i1 %c, label %one, label %other
         one:
           store i32 1, ptr addrspace(1) %p, align 4
           br label %join
         other:
           store i32 2, ptr addrspace(1) %p, align 4
           br label %join
         join:
           %d = phi i1 [ true, %one ], [ {flag}, %other ]
           br i1 %d, label %yes, label %no
         yes:
           {vote}
           br label %exit
         no:
           store i32 4, ptr addrspace(1) %p, align 4
           br label %exit
         exit:
           ret void
         }}"
        )
    };
    let vote = "%v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           store i64 %v, ptr addrspace(1) %p, align 8";
    let is_threaded = |text: &str| {
        let (mut db, module) = load(text);
        let before = print(&db, module);
        run(&mut db, module, "jump-threading");
        print(&db, module) != before
    };
    assert!(!is_threaded(&text(DIVERGENT, "%u", vote)));
    // All threads take the same side.
    assert!(is_threaded(&text(UNIFORM, "%u", vote)));
    // There is no vote.
    assert!(is_threaded(&text(DIVERGENT, "%u", "store i32 5, ptr addrspace(1) %p, align 4")));
    // The other side does not reach the vote.
    assert!(is_threaded(&text(DIVERGENT, "false", vote)));
}

/// The same behind two joins, of which the first may be copied: its branch joins at the second
/// then.
#[test]
fn a_vote_behind_two_blocks_that_could_be_copied() {
    let text = "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a, i1 %u) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %g = icmp ult i32 %a, 7
           br i1 %g, label %part, label %other
         part:
           %c = icmp ult i32 %x, 7
           br i1 %c, label %one, label %other
         one:
           store i32 1, ptr addrspace(1) %p, align 4
           br label %first
         other:
           store i32 2, ptr addrspace(1) %p, align 4
           br label %first
         first:
           br i1 %g, label %yes, label %no
         yes:
           store i32 3, ptr addrspace(1) %p, align 4
           br label %between
         between:
           br label %second
         no:
           store i32 4, ptr addrspace(1) %p, align 4
           br label %second
         second:
           %e = phi i1 [ true, %between ], [ %u, %no ]
           br i1 %e, label %vote, label %exit
         vote:
           %v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           store i64 %v, ptr addrspace(1) %p, align 8
           br label %exit
         exit:
           ret void
         }";
    let (mut db, module) = load(text);
    run(&mut db, module, "jump-threading");
    let after = print(&db, module);
    let into_vote = after.matches("label %vote").count();
    assert_eq!(into_vote, 1, "{after}");
}
