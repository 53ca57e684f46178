//! `combine-ballots`

use expect_test::expect;

use crate::{check, check_unchanged, load, print, run};

fn with(insts: &str) -> String {
    format!(
        "declare i32 @llvm.amdgcn.wave.reduce.umin.i32(i32, i32 immarg)
         declare i32 @llvm.amdgcn.wave.reduce.add.i32(i32, i32 immarg)
         define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %c = icmp ult i32 %x, 7
           %d = icmp ugt i32 %x, 3
           %u = icmp ugt i32 %a, 3
           {insts}
           ret void
         }}"
    )
}

#[test]
fn two_votes_become_one() {
    check(
        "combine-ballots",
        &with(
            "%v = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
             %w = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
             %b = and i64 %w, %v
             %z = call i64 @llvm.amdgcn.ballot.i64(i1 %u)
             %e = xor i64 %b, %z
             store i64 %e, ptr addrspace(1) %p, align 8",
        ),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %c = icmp ult i32 %x, 7
              %d = icmp ugt i32 %x, 3
              %u = icmp ugt i32 %a, 3
              %0 = and i1 %c, %d
              %1 = xor i1 %0, %u
              %z = call i64 @llvm.amdgcn.ballot.i64(i1 %1)
              store i64 %z, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
}

#[test]
fn votes_that_others_read_stay() {
    check_unchanged(
        "combine-ballots",
        &with(
            "%v = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
             %w = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
             %b = and i64 %w, %v
             %s = add i64 %b, %v
             store i64 %s, ptr addrspace(1) %p, align 8",
        ),
    );
}

fn below(condition: &str) -> String {
    with(&format!(
        "%v = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
         br i1 {condition}, label %then, label %exit
         then:
           %w = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
           %b = or i64 %w, %v
           store i64 %b, ptr addrspace(1) %p, align 8
           br label %exit
         exit:"
    ))
}

#[test]
fn votes_in_different_blocks() {
    check(
        "combine-ballots",
        &below("%u"),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %x, 7
          %d = icmp ugt i32 %x, 3
          %u = icmp ugt i32 %a, 3
          br i1 %u, label %then, label %exit

        then:                                             ; preds = %entry
          %0 = or i1 %c, %d
          %w = call i64 @llvm.amdgcn.ballot.i64(i1 %0)
          store i64 %w, ptr addrspace(1) %p, align 8
          br label %exit

        exit:                                             ; preds = %then, %entry
          ret void
        }
    "#]],
    );
    // Behind a divergent branch there are fewer.
    check_unchanged("combine-ballots", &below("%d"));
}

#[test]
fn reductions_of_what_is_uniform() {
    let reduced = |of: &str, what: &str| {
        with(&format!(
            "%n = mul i32 {of}, 3
             %r = call i32 @llvm.amdgcn.wave.reduce.{what}.i32(i32 %n, i32 0)
             store i32 %r, ptr addrspace(1) %p, align 4"
        ))
    };
    check(
        "combine-ballots",
        &reduced("%a", "umin"),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %x, 7
          %d = icmp ugt i32 %x, 3
          %u = icmp ugt i32 %a, 3
          %n = mul i32 %a, 3
          store i32 %n, ptr addrspace(1) %p, align 4
          ret void
        }
    "#]],
    );
    check_unchanged("combine-ballots", &reduced("%x", "umin"));
    let of_argument = "%r = call i32 @llvm.amdgcn.wave.reduce.umin.i32(i32 %a, i32 0)
         store i32 %r, ptr addrspace(1) %p, align 4";
    let (mut db, module) = load(&with(of_argument));
    run(&mut db, module, "combine-ballots");
    assert!(print(&db, module).contains("store i32 %a"));
    let in_function = with(of_argument).replace("amdgpu_kernel ", "");
    check_unchanged("combine-ballots", &in_function);
    check_unchanged("combine-ballots", &reduced("%a", "add"));
}

/// A thread that ends between the votes has a bit in the first ballot only.
#[test]
fn votes_between_which_threads_may_end() {
    let votes = |between: &str| {
        with(&format!(
            "%v = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
             {between}
             %w = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
             %b = or i64 %w, %v
             store i64 %b, ptr addrspace(1) %p, align 8"
        ))
    };
    for between in [
        "call void @unknown()",
        "call void @unknown()
         br label %next
         next:",
        "br i1 %u, label %side, label %next
         side:
         call void @unknown()
         br label %next
         next:",
    ] {
        check_unchanged("combine-ballots", &votes(between));
        let harmless = between.replace("call void @unknown()", "call i32 @reads(i32 %a)");
        let (mut db, module) = load(&votes(&harmless));
        run(&mut db, module, "combine-ballots");
        let text = print(&db, module);
        assert_eq!(text.matches("call i64 @llvm.amdgcn.ballot").count(), 1, "{text}");
    }
}

/// The combining operation moves into the condition of one vote, which needs two votes of the same
/// kind.
#[test]
fn what_is_no_pair_of_votes() {
    let of_two = |one: &str, other: &str, ty: &str| {
        with(&format!(
            "%v = {one}
             %w = {other}
             %b = or {ty} %w, %v
             store {ty} %b, ptr addrspace(1) %p, align 4"
        ))
    };
    let add = "call i32 @llvm.amdgcn.wave.reduce.add.i32(i32 %x, i32 0)";
    check_unchanged("combine-ballots", &of_two(add, add, "i32"));
    let vote = "call i64 @llvm.amdgcn.ballot.i64(i1 %c)";
    check_unchanged("combine-ballots", &of_two(vote, "zext i32 %x to i64", "i64"));
    check_unchanged("combine-ballots", &of_two("zext i32 %x to i64", vote, "i64"));
    // An attribute of one ballot would wrongly apply to the combined ballot.
    let marked = "call range(i64 0, 9) i64 @llvm.amdgcn.ballot.i64(i1 %d)";
    check_unchanged("combine-ballots", &of_two(vote, marked, "i64"));
}

/// A sum has carries, so it does not combine ballots bit by bit.
#[test]
fn what_combines_votes_bit_by_bit() {
    check_unchanged(
        "combine-ballots",
        &with(
            "%v = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
             %w = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
             %b = add i64 %w, %v
             store i64 %b, ptr addrspace(1) %p, align 8",
        ),
    );
}

/// The token determines which threads vote.
#[test]
fn votes_with_a_token() {
    let vote = |name: &str, of: &str| {
        format!(
            "%{name}.t = call token @llvm.experimental.convergence.anchor()
             %{name} = call i64 @llvm.amdgcn.ballot.i64(i1 {of}) [ \"convergencectrl\"(token %{name}.t) ]"
        )
    };
    check_unchanged(
        "combine-ballots",
        &format!(
            "declare token @llvm.experimental.convergence.anchor()
             define amdgpu_kernel void @f(ptr addrspace(1) %p, i1 %c, i1 %d) {{
               {}
               {}
               %b = and i64 %w, %v
               store i64 %b, ptr addrspace(1) %p, align 8
               ret void
             }}",
            vote("v", "%c"),
            vote("w", "%d")
        ),
    );
}
