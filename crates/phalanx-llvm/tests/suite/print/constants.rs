//! Constants and constant expressions.

use super::{check, check_becomes};

#[test]
fn integers() {
    check(
        r#"
@a = global i1 true
@b = global i1 false
@c = global i8 -128
@d = global i64 -9223372036854775808
@e = global i128 -170141183460469231731687303715884105728
@f = global i129 340282366920938463463374607431768211455
@g = global i1000 -7
@h = global i2 -1
"#,
    );
}

#[test]
fn floating_point() {
    check(
        r#"
@a = global float 1.250000e+00
@b = global float 0x3FB99999A0000000
@c = global float 0x36A0000000000000
@d = global float 0x7FF8000000000000
@e = global float 0x7FF4000000000000
@f = global double -0.000000e+00
@g = global double 1.000000e-01
@h = global double 0x3FD5555555555555
@i = global double 4.940660e-324
@j = global double 1.000000e+100
@k = global double 0xFFF0000000000000
@l = global half 0xH3C00
@m = global bfloat 0xR3F80
@n = global x86_fp80 0xK4000C8F5C28F5C28F800
@o = global fp128 0xL00000000000000013FFF000000000000
@p = global ppc_fp128 0xM400921FB54442D180000000000000001
"#,
    );
}

#[test]
fn hexadecimal_constants_with_fewer_digits() {
    check_becomes(
        r#"
@a = global fp128 0xL1
@b = global fp128 0xL12345678901234567
@c = global fp128 0xL1234567890123456
@d = global ppc_fp128 0xM1
@e = global x86_fp80 0xK0
@f = global half 0xH1
@g = global bfloat 0xR1
@h = global double 0x1
"#,
        r#"
@a = global fp128 0xL00000000000000000000000000000001
@b = global fp128 0xL12345678901234560000000000000007
@c = global fp128 0xL12345678901234560000000000000000
@d = global ppc_fp128 0xM00000000000000000000000000000001
@e = global x86_fp80 0xK00000000000000000000
@f = global half 0xH0001
@g = global bfloat 0xR0001
@h = global double 4.940660e-324
"#,
    );
}

#[test]
fn x86_fp80_patterns_that_are_no_numbers() {
    check_becomes(
        r#"
@a = global x86_fp80 0xK12345
@b = global x86_fp80 0xK80008000000000000001
@c = global x86_fp80 0xKFFFF0000000000000000
@d = global x86_fp80 bitcast (i80 18446744073709551616 to x86_fp80)
"#,
        r#"
@a = global x86_fp80 0xK7FFF0000000000000005
@b = global x86_fp80 0xK80018000000000000001
@c = global x86_fp80 0xKFFFF0000000000000000
@d = global x86_fp80 0xK7FFF0000000000000000
"#,
    );
}

#[test]
fn operands_of_ptrauth() {
    check_becomes(
        r#"
@f = external global i8
@a = global ptr ptrauth (ptr @f, i32 0)
@b = global ptr ptrauth (ptr @f, i32 1, i64 5)
@c = global ptr ptrauth (ptr @f, i32 1, i64 0, ptr @f)
@d = global ptr ptrauth (ptr @f, i32 1, i64 0, ptr null, ptr @f)
@e = global ptr ptrauth (ptr @f, i32 1, i64 0, ptr null, ptr null)
"#,
        r#"
@f = external global i8
@a = global ptr ptrauth (ptr @f, i32 0)
@b = global ptr ptrauth (ptr @f, i32 1, i64 5)
@c = global ptr ptrauth (ptr @f, i32 1, i64 0, ptr @f)
@d = global ptr ptrauth (ptr @f, i32 1, i64 0, ptr null, ptr @f)
@e = global ptr ptrauth (ptr @f, i32 1)
"#,
    );
}

#[test]
fn aggregates() {
    check(
        r#"
@a = global [2 x i32] [i32 1, i32 2]
@b = global { i32, ptr } { i32 1, ptr @a }
@c = global <{ i8, [0 x i32] }> <{ i8 1, [0 x i32] zeroinitializer }>
@d = global [2 x { i32, i32 }] [{ i32, i32 } zeroinitializer, { i32, i32 } undef]
@e = global [4 x i8] c"a\22\\\FF"
@f = global [2 x i8] [i8 1, i8 poison]
@g = global <3 x i16> <i16 1, i16 2, i16 poison>
@h = global <4 x i32> splat (i32 -1)
@i = global <2 x float> splat (float 0x3FB99999A0000000)
@j = global <2 x ptr> <ptr @a, ptr @a>
@k = global [2 x i32] [i32 undef, i32 poison]
@l = global {} zeroinitializer
"#,
    );
}

#[test]
fn aggregates_become_canonical() {
    check_becomes(
        r#"
@a = global [2 x i8] [i8 97, i8 0]
@b = global [2 x i8] c"\00\00"
@c = global <2 x i32> <i32 1, i32 1>
@d = global <2 x i32> <i32 0, i32 0>
@e = global [2 x ptr] [ptr null, ptr null]
@f = global { i32, float } { i32 0, float 0.0 }
@g = global [2 x i32] [i32 undef, i32 undef]
@h = global [2 x [1 x i32]] [[1 x i32] [i32 0], [1 x i32] zeroinitializer]
@i = global {} {}
@j = global i32 zeroinitializer
@k = global ptr zeroinitializer
@l = global double zeroinitializer
@m = global <2 x ptr> splat (ptr @a)
@n = global <2 x i32> <i32 poison, i32 poison>
"#,
        r#"
@a = global [2 x i8] c"a\00"
@b = global [2 x i8] zeroinitializer
@c = global <2 x i32> splat (i32 1)
@d = global <2 x i32> zeroinitializer
@e = global [2 x ptr] zeroinitializer
@f = global { i32, float } zeroinitializer
@g = global [2 x i32] undef
@h = global [2 x [1 x i32]] zeroinitializer
@i = global {} zeroinitializer
@j = global i32 0
@k = global ptr null
@l = global double 0.000000e+00
@m = global <2 x ptr> <ptr @a, ptr @a>
@n = global <2 x i32> poison
"#,
    );
}

#[test]
fn scalable_vectors() {
    check(
        r#"
@g = global i32 0

define void @f(<vscale x 2 x i32> %x) {
  %a = add <vscale x 2 x i32> %x, splat (i32 7)
  %b = add <vscale x 2 x i32> %x, zeroinitializer
  %c = icmp eq <vscale x 2 x ptr> zeroinitializer, shufflevector (<vscale x 2 x ptr> insertelement (<vscale x 2 x ptr> poison, ptr @g, i64 0), <vscale x 2 x ptr> poison, <vscale x 2 x i32> zeroinitializer)
  %d = shufflevector <vscale x 2 x i32> %x, <vscale x 2 x i32> poison, <vscale x 2 x i32> zeroinitializer
  ret void
}
"#,
    );
}

#[test]
fn expressions() {
    check(
        r#"
%s = type { i32, [4 x i32] }

@g = global %s zeroinitializer
@h = global i32 0
@a = global i64 ptrtoint (ptr @g to i64)
@b = global i64 add (i64 ptrtoint (ptr @g to i64), i64 3)
@c = global i64 sub nuw nsw (i64 ptrtoint (ptr @g to i64), i64 ptrtoint (ptr @h to i64))
@d = global ptr getelementptr (i8, ptr @g, i64 3)
@e = global ptr getelementptr inbounds (%s, ptr @g, i64 0, i32 1, i64 2)
@f = global ptr getelementptr inbounds nuw inrange(-8, 16) (i8, ptr @g, i64 12)
@i = global ptr addrspace(3) addrspacecast (ptr @g to ptr addrspace(3))
@j = global ptr inttoptr (i64 7 to ptr)
@k = global i32 trunc (i64 add (i64 ptrtoint (ptr @g to i64), i64 3) to i32)
@l = global i64 xor (i64 ptrtoint (ptr @g to i64), i64 -1)
@m = global i64 ptrtoaddr (ptr @g to i64)
@n = global ptr getelementptr nusw (i8, ptr @g, i64 5)
"#,
    );
}

#[test]
fn addresses_and_authenticated_pointers() {
    check(
        r#"
@a = global ptr dso_local_equivalent @f
@b = global ptr no_cfi @f
@c = global ptr ptrauth (ptr @a, i32 2)
@d = global ptr ptrauth (ptr @a, i32 2, i64 3)
@e = global ptr ptrauth (ptr @a, i32 2, i64 0, ptr @e)
@g = global ptr blockaddress(@f, %named)
@h = global ptr blockaddress(@f, %1)

define void @f() {
  br label %1

1:                                                ; preds = %0
  br label %named

named:                                            ; preds = %1
  indirectbr ptr blockaddress(@f, %1), [label %2]

2:                                                ; preds = %named
  ret void
}
"#,
    );
}
