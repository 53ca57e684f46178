//! Causes in functions that call and are called.

use expect_test::expect;

use super::{check, check_first};

#[test]
fn a_call_whose_result_depends_on_an_argument() {
    check(
        &["calls.ll", "@caller", "%picked"],
        expect![[r#"
            calls.ll:12:3: note: %picked is divergent: it can differ between threads of a wave; 5 steps to %id
            calls.ll:12:3: because: 1. %picked is the result of a call with %odd as argument 1; @pick uses it for what it returns
               |
            12 |   %picked = call i32 @pick(i32 %n, i1 %odd, i32 7) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ argument
            calls.ll:25:3: because: 2. in @pick: threads that separate at the end of %entry return different values; the branch of %entry is decided by %which
               |
            25 |   br i1 %which, label %left, label %right ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            calls.ll:23:38: because: 3. in @pick: the argument %which is what the call in @caller passes: %odd
               |
            23 | define internal i32 @pick(i32 %a, i1 %which, i32 %b) {
               |                                      ^^^^^^^^^^^^^^^^^ passed
            calls.ll:11:3: because: 4. %odd is computed from %id
               |
            11 |   %odd = trunc i32 %id to i1 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            calls.ll:10:3: because: 5. %id is the result of a call: the thread's index x
               |
            10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
}

#[test]
fn a_call_of_what_brings_the_source_in() {
    check(
        &["calls.ll", "@caller", "%odd.lane"],
        expect![[r#"
            calls.ll:13:3: note: %odd.lane is divergent: it can differ between threads of a wave; 6 steps to %low
            calls.ll:13:3: because: 1. %odd.lane is the result of a call of @mixed, which brings this in by itself
               |
            13 |   %odd.lane = call i32 @mixed(i32 %n) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ call
            calls.ll:37:3: because: 2. in @mixed: %sum is returned at the end of %0
               |
            37 |   ret i32 %sum
               |   ^^^^^^^^^^^^ return
            calls.ll:36:3: because: 3. in @mixed: %sum is computed from %lane
               |
            36 |   %sum = add i32 %lane, %a ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^ operand
            calls.ll:35:3: because: 4. in @mixed: %lane is the result of a call of @lane, which brings this in by itself
               |
            35 |   %lane = call i32 @lane(i32 %a) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ call
            calls.ll:42:3: because: 5. in @lane: %low is returned at the end of %0
               |
            42 |   ret i32 %low
               |   ^^^^^^^^^^^^ return
            calls.ll:41:3: because: 6. in @lane: %low is the result of a call: the number of the lane
               |
            41 |   %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
}

#[test]
fn a_call_of_what_calls_itself() {
    check(
        &["calls.ll", "@caller", "%counted"],
        expect![[r#"
            calls.ll:14:3: note: %counted is divergent: it can differ between threads of a wave; 5 steps to %id
            calls.ll:14:3: because: 1. %counted is the result of a call with %id as argument 1; @count uses it for what it returns
               |
            14 |   %counted = call i32 @count(i32 %n, i32 %id) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ argument
            calls.ll:52:3: because: 2. in @count: %twice is returned at the end of %bottom
               |
            52 |   ret i32 %twice
               |   ^^^^^^^^^^^^^^ return
            calls.ll:51:3: because: 3. in @count: %twice is computed from %what
               |
            51 |   %twice = mul i32 %what, 2 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            calls.ll:45:40: because: 4. in @count: the argument %what is what the call in @caller passes: %id
               |
            45 | define internal i32 @count(i32 %n, i32 %what) {
               |                                        ^^^^^^^^ passed
            calls.ll:10:3: because: 5. %id is the result of a call: the thread's index x
               |
            10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
}

#[test]
fn a_parameter_goes_back_to_the_calls() {
    check(
        &["calls.ll", "@scale", "%scaled"],
        expect![[r#"
            calls.ll:67:3: note: %scaled is divergent: it can differ between threads of a wave; 6 steps to %id
            calls.ll:67:3: because: 1. %scaled is computed from %x
               |
            67 |   %scaled = mul i32 %x, 3 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^ operand
            calls.ll:19:3: because: 2. in @caller: the call passes %second for the argument %x of @scale
               |
            19 |   %other = call i32 @scale(i32 %second) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
            calls.ll:17:3: because: 3. in @caller: %second is a part of the result of a call with %id as an argument; @pair uses it for what it returns
               |
            17 |   %second = extractvalue { i32, i32 } %pair, 1 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ argument
            calls.ll:62:3: because: 4. in @pair: %b is put into what is returned
               |
            62 |   %both = insertvalue { i32, i32 } %one, i32 %b, 1 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ return
            calls.ll:60:48: because: 5. in @pair: the argument %b is what the call in @caller passes: %id
               |
            60 | define internal { i32, i32 } @pair(i32 %a, i32 %b) {
               |                                                ^^^^^ passed
            calls.ll:10:3: because: 6. in @caller: %id is the result of a call: the thread's index x
               |
            10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
}

#[test]
fn what_functions_leave_through_others_and_where_threads_part() {
    check(
        &["out_nested.ll", "kernel", "%nested"],
        expect![[r#"
            out_nested.ll:35:3: note: %nested is divergent: it can differ between threads of a wave; 10 steps to %id
            out_nested.ll:35:3: because: 1. %nested is read from private memory: the content of %first
               |
            35 |   %nested = load i32, ptr addrspace(5) %first, align 4 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_nested.ll:33:3: because: 2. the content of %first is written by the call of @outer, where it depends on argument 0, which is %id
               |
            33 |   call void @outer(i32 %id, ptr addrspace(5) %first)
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_nested.ll:14:3: because: 3. in @outer: what %there points to is as it was last written when @outer returns
               |
            14 |   ret void
               |   ^^^^^^^^ return
            out_nested.ll:13:3: because: 4. in @outer: what %there points to is written by the call of @set, where it depends on argument 0, which is %more
               |
            13 |   call void @set(i32 %more, ptr addrspace(5) %there)
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_nested.ll:8:3: because: 5. in @set: what %to points to is %twice when @set returns
              |
            8 |   ret void
              |   ^^^^^^^^ return
            out_nested.ll:6:3: because: 6. in @set: %twice is computed from %a
              |
            6 |   %twice = shl i32 %a, 1 ; => divergent
              |   ^^^^^^^^^^^^^^^^^^^^^^ operand
            out_nested.ll:5:31: because: 7. in @set: the argument %a is what the call in @outer passes: %more
              |
            5 | define internal void @set(i32 %a, ptr addrspace(5) %to) {
              |                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
            out_nested.ll:12:3: because: 8. in @outer: %more is computed from %b
               |
            12 |   %more = add i32 %b, 3 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^ operand
            out_nested.ll:11:33: because: 9. in @outer: the argument %b is what the call in @kernel passes: %id
               |
            11 | define internal void @outer(i32 %b, ptr addrspace(5) %there) {
               |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
            out_nested.ll:32:3: because: 10. %id is the result of a call: the thread's index x
               |
            32 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
    check(
        &["out_nested.ll", "kernel", "%chosen"],
        expect![[r#"
            out_nested.ll:36:3: note: %chosen is divergent: it can differ between threads of a wave; 6 steps to %id
            out_nested.ll:36:3: because: 1. %chosen is read from private memory: the content of %second
               |
            36 |   %chosen = load i32, ptr addrspace(5) %second, align 4 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_nested.ll:34:3: because: 2. the content of %second is written by the call of @choose, where it depends on argument 0, which is %id
               |
            34 |   call void @choose(i32 %id, ptr addrspace(5) %second)
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_nested.ll:20:3: because: 3. in @choose: threads that separate at the end of %entry leave different values in what %at points to; the branch of %entry is decided by %is_small
               |
            20 |   br i1 %is_small, label %small, label %large ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            out_nested.ll:19:3: because: 4. in @choose: %is_small is computed from %c
               |
            19 |   %is_small = icmp ult i32 %c, 7 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            out_nested.ll:17:34: because: 5. in @choose: the argument %c is what the call in @kernel passes: %id
               |
            17 | define internal void @choose(i32 %c, ptr addrspace(5) %at) {
               |                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
            out_nested.ll:32:3: because: 6. %id is the result of a call: the thread's index x
               |
            32 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
}

#[test]
fn what_a_call_leaves_in_memory_of_its_caller() {
    check(
        &["out_parameter.ll", "kernel", "%more"],
        expect![[r#"
            out_parameter.ll:34:3: note: %more is divergent: it can differ between threads of a wave; 7 steps to %id
            out_parameter.ll:34:3: because: 1. %more is read from private memory: the content of %pair
               |
            34 |   %more = load i32, ptr addrspace(5) %second, align 4 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_parameter.ll:33:3: because: 2. the content of %pair is what the call of @bump makes of the content of %pair
               |
            33 |   %found = call i32 @bump(ptr addrspace(5) %second) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_parameter.ll:30:3: because: 3. the content of %pair is written by the call of @next, where it depends on argument 0, which is %id
               |
            30 |   call void @next(i32 %id, ptr addrspace(5) %second)
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_parameter.ll:8:3: because: 4. in @next: what %out points to is %sum when @next returns
              |
            8 |   ret void
              |   ^^^^^^^^ return
            out_parameter.ll:6:3: because: 5. in @next: %sum is computed from %a
              |
            6 |   %sum = add i32 %a, 1 ; => divergent
              |   ^^^^^^^^^^^^^^^^^^^^ operand
            out_parameter.ll:5:32: because: 6. in @next: the argument %a is what the call in @kernel passes: %id
              |
            5 | define internal void @next(i32 %a, ptr addrspace(5) %out) {
              |                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
            out_parameter.ll:28:3: because: 7. %id is the result of a call: the thread's index x
               |
            28 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
    check_first(
        &["out_parameter.ll", "kernel", "%found"],
        expect![[r#"
            out_parameter.ll:33:3: note: %found is divergent: it can differ between threads of a wave; 6 steps to %id
            out_parameter.ll:33:3: because: 1. %found is what @bump returns, which reads the content of %pair
               |
            33 |   %found = call i32 @bump(ptr addrspace(5) %second) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        "#]],
    );
    check(
        &["out_parameter.ll", "kernel", "%numbered"],
        expect![[r#"
            out_parameter.ll:36:3: note: %numbered is divergent: it can differ between threads of a wave; 4 steps to %id
            out_parameter.ll:36:3: because: 1. %numbered is read from private memory: the content of %own
               |
            36 |   %numbered = load i32, ptr addrspace(5) %own, align 4 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_parameter.ll:35:3: because: 2. the content of %own is what the call of @number leaves there: the thread's index x
               |
            35 |   call void @number(ptr addrspace(5) %own)
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ call
            out_parameter.ll:21:3: because: 3. in @number: what %out points to is %id when @number returns
               |
            21 |   ret void
               |   ^^^^^^^^ return
            out_parameter.ll:19:3: because: 4. in @number: %id is the result of a call: the thread's index x
               |
            19 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
}
