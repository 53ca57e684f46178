//! Facts that follow from the shapes of values: masks of named values, and claims that are checked
//! against all threads of many workgroups.

mod random;

mod strides;

use expect_test::{Expect, expect};
use phalanx::prelude::*;
use phalanx::target::LaunchStatement;
use std::fmt::Write as _;

const HEAD: &str = r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
"#;

/// The start of a kernel: its indices, an argument and a number of the block.
const INDICES: &str = "
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %z = call i32 @llvm.amdgcn.workitem.id.z()
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
  %lane.lo = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %lane.lo)
";

/// A kernel with this body and launch; masks of the named values after the indices.
fn masks(body: &str, size: [u32; 3], wave: u32) -> String {
    let processor = if wave == 32 { "gfx1030" } else { "gfx906" };
    let text = format!(
        "{HEAD}define amdgpu_kernel void @k(i32 %a) \"target-cpu\"=\"{processor}\" {{{INDICES}{body}}}\n"
    );
    let mut session = Session::new();
    let module = session
        .read(text.as_bytes())
        .unwrap_or_else(|e| panic!("{}", e.render("test", text.as_bytes())));
    let function = session.function(module, "k").expect("defined");
    let launch = LaunchStatement {
        workgroup_size: Some(size),
        wave_width: Some(wave),
        ..Default::default()
    };
    session.set_launch(function, launch).expect("nothing else is said");
    let code = session.code(function);
    let divergence = session.divergence(function).expect("it has a body");
    let mut out = String::new();
    for &block in code.flow.order() {
        for inst in code.body.block_insts(block) {
            if let Some(name) = code.extras.names.inst(inst) {
                let mask = divergence.mask(Value::inst(inst));
                let _ = writeln!(out, "{}: {mask}", String::from_utf8_lossy(name));
            }
        }
    }
    out.lines().skip(6).map(|line| format!("{line}\n")).collect()
}

fn check(body: &str, size: [u32; 3], wave: u32, expected: &Expect) {
    expected.assert_eq(&masks(body, size, wave));
}

/// A number that may be below zero has the sign of what the workgroup adds to it.
#[test]
fn a_signed_shift_drops_the_lane() {
    check(
        "
  %base = mul i32 %b, 256
  %id = add i32 %base, %x
  %row = ashr i32 %id, 5
  %part = ashr i32 %id, 4
  %odd = add i32 %b, %x
  %mixed = ashr i32 %odd, 5
  %rounded = sdiv i32 %id, 32
  ret void
",
        [256, 1, 1],
        32,
        &expect![[r#"
            base: {block.x}
            id: {x, block.x}
            row: {wave, block.x}
            part: {wave, block.x, quad}
            odd: {x, block.x}
            mixed: {x, block.x}
            rounded: {x, block.x}
        "#]],
    );
}

#[test]
fn what_drops_the_lane_is_the_wave() {
    check(
        "
  %pair = udiv i32 %x, 64
  %first = icmp ult i32 %x, 64
  %not.whole = icmp ult i32 %x, 65
  %steps = lshr i32 %x, 1
  %twice = lshr i32 %steps, 4
  %base = and i32 %x, -32
  %beyond = add i32 %x, 256
  %shifted = lshr i32 %beyond, 5
  %clamped = call i32 @llvm.umin.i32(i32 %x, i32 0)
  ret void
",
        [256, 1, 1],
        32,
        &expect![[r#"
            pair: {wave}
            first: {wave}
            not.whole: {x}
            steps: {x}
            twice: {wave}
            base: {wave}
            beyond: {x}
            shifted: {wave}
            clamped: {}
        "#]],
    );
}

#[test]
fn flattened_indices() {
    let body = "
  %row = mul i32 %y, 16
  %flat = add i32 %row, %x
  %wave = lshr i32 %flat, 5
  %half = lshr i32 %y, 1
  %not = lshr i32 %x, 3
  %all = icmp ult i32 %flat, 256
  ret void
";
    check(
        body,
        [16, 16, 1],
        32,
        &expect![[r#"
            row: {y}
            flat: {x, y}
            wave: {wave}
            half: {wave}
            not: {wave, quad}
            all: {}
        "#]],
    );
}

#[test]
fn rows_that_are_no_whole_waves() {
    let body = "
  %five = lshr i32 %x, 5
  %row = mul i32 %y, 48
  %flat = add i32 %row, %x
  %wave = lshr i32 %flat, 5
  ret void
";
    check(
        body,
        [48, 2, 1],
        32,
        &expect![[r#"
            five: {wave, quad}
            row: {y}
            flat: {x, y}
            wave: {wave}
        "#]],
    );
}

#[test]
fn what_is_uniform_beside_the_lane() {
    check(
        "
  %chunk = mul i32 %b, 256
  %index = add i32 %chunk, %x
  %wave = lshr i32 %index, 5
  %low = and i32 %index, 255
  %low.wave = lshr i32 %low, 6
  %inside = icmp slt i32 %index, 65536
  %not.aligned = icmp slt i32 %index, 65537
  %rows = shl i32 %a, 8
  %below = icmp slt i32 %x, %rows
  %few = shl i32 %a, 7
  %not.below = icmp slt i32 %x, %few
  %back = add i32 %x, -256
  %last = add i32 %back, %rows
  %is.left = icmp sgt i32 %last, -1
  %none.left = icmp sgt i32 %last, 0
  %any = add i32 %a, %x
  %not.shifted = lshr i32 %any, 5
  ret void
",
        [256, 1, 1],
        32,
        &expect![[r#"
            chunk: {block.x}
            index: {x, block.x}
            wave: {wave, block.x}
            low: {x}
            low.wave: {wave}
            inside: {block.x}
            not.aligned: {x, block.x}
            rows: {}
            below: {}
            few: {}
            not.below: {x}
            back: {x}
            last: {x}
            is.left: {}
            none.left: {x}
            any: {x}
            not.shifted: {x}
        "#]],
    );
}

/// In waves of 64 the lane is counted in two steps, which are one number.
#[test]
fn the_lane_is_one_number_in_waves_of_64() {
    check(
        "
  %first = sub i32 %x, %lane
  %same = icmp eq i32 %x, %lane
  %hi = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 0)
  %reversed = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 %hi)
  %zero = sub i32 %lane, %reversed
  ret void
",
        [256, 1, 1],
        64,
        &expect![[r#"
            first: {wave}
            same: {wave}
            hi: {lane}
            reversed: {lane}
            zero: {}
        "#]],
    );
}

#[test]
fn algebra() {
    check(
        "
  %none = sub i32 %x, %x
  %xor = xor i32 %x, %x
  %and = and i32 %x, 0
  %mul = mul i32 %x, 0
  %or = or i32 %x, -1
  %sum = add i32 %x, %a
  %back = sub i32 %sum, %x
  %self = icmp eq i32 %x, %x
  %eight = mul i32 %x, 8
  %seven = and i32 %eight, 7
  %high = shl i32 %x, 8
  %byte = and i32 %high, 255
  %odd = icmp ult i32 %x, %a
  %same = select i1 %odd, i32 %a, i32 %a
  %next.1 = add i32 %a, 1
  %next.2 = add i32 %a, 1
  %equal = select i1 %odd, i32 %next.1, i32 %next.2
  %always = select i1 true, i32 %a, i32 %x
  %bound = icmp ult i32 %x, 256
  %bound.4 = icmp ult i32 %seven, 1024
  ret void
",
        [256, 1, 1],
        32,
        &expect![[r#"
            none: {}
            xor: {}
            and: {}
            mul: {}
            or: {}
            sum: {x}
            back: {}
            self: {}
            eight: {x}
            seven: {}
            high: {x}
            byte: {}
            odd: {x}
            same: {}
            next.1: {}
            next.2: {}
            equal: {}
            always: {}
            bound: {}
            bound.4: {}
        "#]],
    );
}

#[test]
fn congruent_values_of_a_phi() {
    check(
        "
  %odd = icmp ult i32 %x, %a
  br i1 %odd, label %left, label %right
left:
  %in.left = mul i32 %a, 3
  %other.left = mul i32 %a, 5
  br label %join
right:
  %in.right = mul i32 %a, 3
  %other.right = mul i32 %a, 6
  br label %join
join:
  %equal = phi i32 [ %in.left, %left ], [ %in.right, %right ]
  %differ = phi i32 [ %other.left, %left ], [ %other.right, %right ]
  ret void
",
        [256, 1, 1],
        32,
        &expect![[r#"
            odd: {x}
            in.left: {}
            other.left: {}
            in.right: {}
            other.right: {}
            equal: {}
            differ: {x}
        "#]],
    );
}

/// A flag makes poison in some threads, and `freeze` makes a value of it.
#[test]
fn nothing_is_dropped_that_may_be_poison() {
    check(
        "
  %big = mul i32 %x, 67108864
  %wraps = add nsw i32 %big, %a
  %back = sub i32 %wraps, %big
  %frozen = freeze i32 %back
  %fine = add nuw nsw i32 %x, 7
  %seven = sub i32 %fine, %x
  %frozen.seven = freeze i32 %seven
  %below = add nsw i32 %x, -300
  %less = sub i32 %below, %x
  %frozen.less = freeze i32 %less
  %wrapped = add nuw i32 %x, -300
  %not.less = sub i32 %wrapped, %x
  %far = mul i32 %x, -8388608
  %farther = add nsw i32 %far, -8388608
  %not.far = sub i32 %farther, %far
  ret void
",
        [256, 1, 1],
        32,
        &expect![[r#"
            big: {x}
            wraps: {x}
            back: {x}
            frozen: {x}
            fine: {x}
            seven: {}
            frozen.seven: {}
            below: {x}
            less: {}
            frozen.less: {}
            wrapped: {x}
            not.less: {x}
            far: {x}
            farther: {x}
            not.far: {x}
        "#]],
    );
}

/// A shift by as much as the width or more gives poison in some threads, and `freeze` makes a value
/// of it.
#[test]
fn a_shift_by_too_much_is_poison() {
    check(
        "
  %far = lshr i32 1, %x
  %frozen = freeze i32 %far
  %small = icmp ult i32 %frozen, 2
  %left = shl i32 2, %x
  %even = and i32 %left, 1
  %frozen.even = freeze i32 %even
  %right = ashr i32 8, %x
  %frozen.right = freeze i32 %right
  %again = freeze i32 %right
  %differ = sub i32 %frozen.right, %again
  %five = and i32 %x, 31
  %near = lshr i32 1, %five
  %frozen.near = freeze i32 %near
  %bit = icmp ult i32 %frozen.near, 2
  ret void
",
        [256, 1, 1],
        32,
        &expect![[r#"
            far: {x}
            frozen: {x}
            small: {x}
            left: {x}
            even: {x}
            frozen.even: {x}
            right: {x}
            frozen.right: {x}
            again: {x}
            differ: {x}
            five: {x}
            near: {x}
            frozen.near: {x}
            bit: {}
        "#]],
    );
}

/// The value that is left is another one in threads that left its loop in different iterations.
#[test]
fn what_is_left_is_read_where_it_is() {
    check(
        "
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = add i32 %i, %x
  %next = add i32 %i, 1
  %more = icmp ult i32 %i, %x
  br i1 %more, label %loop, label %exit
exit:
  %back = sub i32 %sum, %x
  %fixed = lshr i32 %x, 5
  ret void
",
        [256, 1, 1],
        32,
        &expect![[r#"
            i: {}
            sum: {x}
            next: {}
            more: {x}
            back: {x}
            fixed: {wave}
        "#]],
    );
}
