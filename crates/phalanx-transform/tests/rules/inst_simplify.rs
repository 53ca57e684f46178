//! `instsimplify`

use expect_test::expect;

use crate::{check, check_unchanged};

/// The function returns what `body` computes as `%r`.
fn value(ty: &str, body: &str) -> String {
    format!("define {ty} @f(i32 %a, i32 %b, i1 %c, float %x) {{\n{body}\nret {ty} %r\n}}")
}

fn becomes(ty: &str, body: &str) -> String {
    let (mut db, module) = crate::load(&value(ty, body));
    crate::run(&mut db, module, "instsimplify,dce");
    let text = crate::print(&db, module);
    let result = text.lines().find_map(|line| line.trim().strip_prefix("ret "));
    result.unwrap_or_default().to_owned()
}

#[test]
fn constants() {
    for (ty, body, expected) in [
        ("i32", "%r = add i32 2, 3", "i32 5"),
        ("i32", "%r = add nuw i32 -1, 1", "i32 poison"),
        ("i32", "%r = shl i32 1, 32", "i32 poison"),
        ("i32", "%r = ashr i32 -8, 1", "i32 -4"),
        ("i32", "%r = lshr exact i32 3, 1", "i32 poison"),
        ("i32", "%r = sdiv i32 -7, 2", "i32 -3"),
        ("i32", "%r = or disjoint i32 3, 1", "i32 poison"),
        ("i8", "%r = trunc nuw i32 256 to i8", "i8 poison"),
        ("i64", "%r = sext i8 -1 to i64", "i64 -1"),
        ("i1", "%r = icmp slt i32 -1, 0", "i1 true"),
        ("i1", "%r = icmp samesign ult i32 -1, 0", "i1 poison"),
        ("float", "%r = fadd float 1.0, 0.5", "float 1.500000e+00"),
        ("i32", "%r = fptosi float 3.0e9 to i32", "i32 poison"),
        ("float", "%r = uitofp i64 16777217 to float", "float 0x4170000000000000"),
        // A little more than halfway between two numbers, or less.
        ("half", "%r = fptrunc double 0x3FF0020000000001 to half", "half 0xH3C01"),
        ("half", "%r = fptrunc double 0x3FF005FFFFFFFFFF to half", "half 0xH3C01"),
        ("half", "%r = fptrunc double 0x3FF0060000000000 to half", "half 0xH3C02"),
        ("bfloat", "%r = fptrunc double 0xBFF0100000000001 to bfloat", "bfloat 0xRBF81"),
        ("bfloat", "%r = fptrunc double 0x47EFFFFFFFFFFFFF to bfloat", "bfloat 0xR7F80"),
        ("<2 x i32>", "%r = add <2 x i32> splat (i32 1), splat (i32 2)", "<2 x i32> splat (i32 3)"),
        ("i32", "%r = select i1 poison, i32 1, i32 2", "i32 poison"),
        ("i1", "%r = fcmp true float 1.0, poison", "i1 true"),
        ("i1", "%r = fcmp oeq float 1.0, poison", "i1 poison"),
        (
            "<2 x i1>",
            "%r = fcmp false <2 x float> poison, zeroinitializer",
            "<2 x i1> zeroinitializer",
        ),
        ("i32", "%r = freeze i32 7", "i32 7"),
        ("i32", "%r = extractvalue { i32, i32 } { i32 1, i32 2 }, 1", "i32 2"),
    ] {
        assert_eq!(becomes(ty, body), expected, "{body}");
    }
}

/// What has as many lanes is cast lane by lane; anything else is cut into other pieces.
#[test]
fn casts_of_bits() {
    for (ty, body, expected) in [
        ("i16", "%r = bitcast half 1.0 to i16", "i16 15360"),
        (
            "<2 x i32>",
            "%r = bitcast <2 x float> splat (float 1.0) to <2 x i32>",
            "<2 x i32> splat (i32 1065353216)",
        ),
        ("<2 x i32>", "%r = bitcast double 1.0 to <2 x i32>", "<2 x i32> <i32 0, i32 1072693248>"),
        (
            "<vscale x 2 x i32>",
            "%r = bitcast <vscale x 1 x i64> splat (i64 1) to <vscale x 2 x i32>",
            "<vscale x 2 x i32> %r",
        ),
        ("i64", "%r = bitcast <2 x float> zeroinitializer to i64", "i64 0"),
    ] {
        assert_eq!(becomes(ty, body), expected, "{body}");
    }
}

#[test]
fn identities() {
    for (body, expected) in [
        ("%r = add i32 %a, 0", "i32 %a"),
        ("%r = sub i32 %a, %a", "i32 0"),
        ("%r = mul i32 0, %a", "i32 0"),
        ("%r = and i32 %a, -1", "i32 %a"),
        ("%r = or i32 %a, %a", "i32 %a"),
        ("%1 = xor i32 %a, %b\n%r = xor i32 %b, %1", "i32 %a"),
        ("%1 = add i32 %b, %a\n%r = sub i32 %1, %b", "i32 %a"),
        ("%1 = or i32 %a, %b\n%r = and i32 %1, %a", "i32 %a"),
        ("%r = select i1 %c, i32 %a, i32 %a", "i32 %a"),
        ("%r = select i1 %c, i32 %a, i32 poison", "i32 %a"),
        ("%1 = zext i32 %a to i64\n%r = trunc i64 %1 to i32", "i32 %a"),
        (
            "%1 = insertvalue { i32, i32 } poison, i32 %a, 0\n%2 = insertvalue { i32, i32 } %1, i32 %b, 1\n%r = extractvalue { i32, i32 } %2, 0",
            "i32 %a",
        ),
        ("%r = udiv i32 %a, 1", "i32 %a"),
        ("%r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 4)", "i32 4"),
    ] {
        assert_eq!(becomes("i32", body), expected, "{body}");
    }
}

#[test]
fn what_stays() {
    for body in [
        "%r = udiv i32 1, 0",
        "%r = sdiv i32 -2147483648, -1",
        "%r = freeze i32 %a",
        "%r = freeze i32 undef",
        "%r = freeze i32 poison",
        "%r = udiv i32 %a, %a",
        "%r = or disjoint i32 %a, %a",
        "%r = xor i32 undef, %a",
        "%r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)",
        "%r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 poison)",
        // How many threads there are is added up.
        "%r = call i32 @llvm.amdgcn.wave.reduce.add.i32(i32 4, i32 0)",
    ] {
        check_unchanged("instsimplify", &value("i32", body));
    }
    check_unchanged("instsimplify", &value("float", "%r = fadd float %x, 0.0"));
    check_unchanged("instsimplify", &value("float", "%r = fsub float %x, %x"));
}

#[test]
fn a_chain_is_followed_to_its_end() {
    check(
        "instsimplify",
        "define i32 @f(i32 %a, i1 %c) {
         entry:
           %zero = sub i32 %a, %a
           %same = add i32 %a, %zero
           br i1 %c, label %left, label %right
         left:
           br label %join
         right:
           br label %join
         join:
           %p = phi i32 [ %same, %left ], [ %a, %right ]
           %r = or i32 %p, %p
           ret i32 %r
         }",
        &expect![[r#"
            define i32 @f(i32 %a, i1 %c) {
            entry:
              br i1 %c, label %left, label %right

            left:                                             ; preds = %entry
              br label %join

            right:                                            ; preds = %entry
              br label %join

            join:                                             ; preds = %right, %left
              ret i32 %a
            }
        "#]],
    );
}

/// `%v` is not there where the phi is.
#[test]
fn a_phi_needs_its_value_to_be_there() {
    check_unchanged(
        "instsimplify",
        "define i32 @f(i32 %a, i1 %c) {
         entry:
           br label %loop
         loop:
           %p = phi i32 [ poison, %entry ], [ %v, %loop ]
           %v = add i32 %a, 1
           br i1 %c, label %loop, label %exit
         exit:
           ret i32 %p
         }",
    );
}

/// Lanes are in memory one after the other.
#[test]
fn casts_of_bits_to_other_lanes() {
    let text = "define void @f(ptr %p) {
         %a = bitcast <4 x i8> <i8 1, i8 2, i8 3, i8 4> to <2 x i16>
         store volatile <2 x i16> %a, ptr %p
         %b = bitcast <2 x float> <float 1.0, float -0.0> to i64
         store volatile i64 %b, ptr %p
         %c = bitcast i32 1078523331 to <2 x half>
         store volatile <2 x half> %c, ptr %p
         %d = bitcast <2 x i16> <i16 poison, i16 258> to <4 x i8>
         store volatile <4 x i8> %d, ptr %p
         %e = bitcast <4 x i8> <i8 poison, i8 1, i8 2, i8 3> to <2 x i16>
         store volatile <2 x i16> %e, ptr %p
         %g = bitcast <8 x i1> <i1 true, i1 false, i1 true, i1 false, i1 false, i1 false, i1 false, i1 true> to i8
         store volatile i8 %g, ptr %p
         %h = bitcast <2 x i64> splat (i64 1) to i128
         store volatile i128 %h, ptr %p
         %i = bitcast <2 x i16> <i16 undef, i16 1> to i32
         store volatile i32 %i, ptr %p
         ret void
       }";
    check(
        "instsimplify",
        text,
        &expect![[r#"
        define void @f(ptr %p) {
          store volatile <2 x i16> <i16 513, i16 1027>, ptr %p, align 4
          store volatile i64 -9223372035789422592, ptr %p, align 4
          store volatile <2 x half> <half 0xHF5C3, half 0xH4048>, ptr %p, align 4
          store volatile <4 x i8> <i8 poison, i8 poison, i8 2, i8 1>, ptr %p, align 4
          store volatile <2 x i16> <i16 poison, i16 770>, ptr %p, align 4
          store volatile i8 -123, ptr %p, align 1
          store volatile i128 18446744073709551617, ptr %p, align 4
          %i = bitcast <2 x i16> <i16 undef, i16 1> to i32
          store volatile i32 %i, ptr %p, align 4
          ret void
        }
    "#]],
    );
    let big = format!("target datalayout = \"E\"\n{text}");
    let (mut db, module) = crate::load_for("aarch64_be-none-elf", &big);
    crate::run(&mut db, module, "instsimplify");
    expect![[r#"
        define void @f(ptr %p) {
          store volatile <2 x i16> <i16 258, i16 772>, ptr %p, align 4
          store volatile i64 4575657223555907584, ptr %p, align 4
          store volatile <2 x half> <half 0xH4048, half 0xHF5C3>, ptr %p, align 4
          store volatile <4 x i8> <i8 poison, i8 poison, i8 1, i8 2>, ptr %p, align 4
          store volatile <2 x i16> <i16 poison, i16 515>, ptr %p, align 4
          store volatile i8 -95, ptr %p, align 1
          store volatile i128 18446744073709551617, ptr %p, align 4
          %i = bitcast <2 x i16> <i16 undef, i16 1> to i32
          store volatile i32 %i, ptr %p, align 4
          ret void
        }
    "#]]
    .assert_eq(&crate::print(&db, module));
}

#[test]
fn a_phi_of_a_value_and_of_what_is_not_defined() {
    let phi = |value: &str, other: &str, rest: &str| {
        format!(
            "define i32 @f(i32 %a, i1 %c) {{
             entry:
               %b = freeze i32 %a
               br i1 %c, label %then, label %exit
             then:
               br label %exit
             exit:
               %p = phi i32 [ {value}, %entry ], [ {other}, %then ]
               {rest}
             }}"
        )
    };
    let result = |value: &str, other: &str, rest: &str| {
        let (mut db, module) = crate::load(&phi(value, other, rest));
        crate::run(&mut db, module, "instsimplify");
        let text = crate::print(&db, module);
        text.lines().find(|line| line.contains("ret")).unwrap().trim().to_owned()
    };
    assert_eq!(result("%a", "poison", "ret i32 %p"), "ret i32 %a");
    assert_eq!(result("%b", "undef", "ret i32 %p"), "ret i32 %b");
    assert_eq!(result("7", "undef", "ret i32 %p"), "ret i32 7");
    // The argument may be poison, and `undef` may not.
    assert_eq!(result("%a", "undef", "ret i32 %p"), "ret i32 %p");
    let frozen = "%f = freeze i32 %p\n ret i32 %f";
    assert_eq!(result("7", "poison", frozen), "ret i32 7");
    assert_eq!(result("%b", "undef", frozen), "ret i32 %b");
    assert_eq!(result("%a", "undef", frozen), "ret i32 %f");
}

#[test]
fn a_bit_that_was_widened_and_is_asked_for() {
    let of = |widened: &str, asked: &str| {
        let (mut db, module) = crate::load(&format!(
            "define i1 @f(i1 %c) {{
               %w = {widened}
               %r = icmp {asked}
               ret i1 %r
             }}"
        ));
        crate::run(&mut db, module, "instsimplify");
        crate::print(&db, module).contains("ret i1 %c")
    };
    assert!(of("zext i1 %c to i32", "ne i32 %w, 0"));
    assert!(of("zext i1 %c to i32", "eq i32 %w, 1"));
    assert!(of("sext i1 %c to i32", "ne i32 %w, 0"));
    assert!(of("sext i1 %c to i32", "slt i32 %w, 0"));
    assert!(!of("sext i1 %c to i32", "sgt i32 %w, 0"));
    assert!(!of("zext i1 %c to i32", "eq i32 %w, 0"));
    assert!(!of("zext i1 %c to i32", "slt i32 %w, 0"));
}

/// A vector of three is loaded as one of four.
#[test]
fn lanes_that_come_back_where_they_were() {
    let of = |back: &str| {
        let (mut db, module) = crate::load(&format!(
            "define <3 x i8> @f(<3 x i8> %v, <3 x i8> %w) {{
               %four = shufflevector <3 x i8> %v, <3 x i8> %w, <4 x i32> <i32 0, i32 1, i32 2, i32 5>
               %three = shufflevector <4 x i8> %four, <4 x i8> poison, <3 x i32> {back}
               ret <3 x i8> %three
             }}"
        ));
        crate::run(&mut db, module, "instsimplify");
        crate::print(&db, module).contains("ret <3 x i8> %v")
    };
    assert!(of("<i32 0, i32 1, i32 2>"));
    assert!(of("<i32 poison, i32 1, i32 2>"));
    assert!(!of("<i32 0, i32 1, i32 3>"), "it is of another one");
    assert!(!of("<i32 1, i32 0, i32 2>"));
}

/// If a block is entered by one edge only, the condition of that branch is known there, and so are
/// comparisons that it implies.
#[test]
fn what_branches_above_show() {
    check(
        "instsimplify",
        "define i32 @f(i32 %a, i32 %b) {
         entry:
           %less = icmp ult i32 %a, %b
           br i1 %less, label %yes, label %no
         yes:
           %back = icmp ugt i32 %b, %a
           %same = icmp eq i32 %a, %b
           %1 = select i1 %less, i32 %a, i32 7
           %2 = select i1 %same, i32 5, i32 %1
           call void @unknown()
           %open = icmp ult i32 %a, 9
           %3 = select i1 %open, i32 %2, i32 3
           %4 = zext i1 %back to i32
           %5 = add i32 %3, %4
           ret i32 %5
         no:
           %small = icmp ult i32 %b, 4
           br i1 %small, label %inner, label %out
         inner:
           %smaller = icmp ult i32 %b, 7
           %6 = select i1 %smaller, i32 %a, i32 %b
           %7 = select i1 %less, i32 1, i32 %6
           ret i32 %7
         out:
           ret i32 0
         }",
        &expect![[r#"
            define i32 @f(i32 %a, i32 %b) {
            entry:
              %less = icmp ult i32 %a, %b
              br i1 %less, label %yes, label %no

            yes:                                              ; preds = %entry
              call void @unknown()
              %open = icmp ult i32 %a, 9
              %0 = select i1 %open, i32 %a, i32 3
              %1 = add i32 %0, 1
              ret i32 %1

            no:                                               ; preds = %entry
              %small = icmp ult i32 %b, 4
              br i1 %small, label %inner, label %out

            inner:                                            ; preds = %no
              ret i32 %a

            out:                                              ; preds = %no
              ret i32 0
            }
        "#]],
    );
}

#[test]
fn what_parts_of_conditions_above_were() {
    let known = |condition: &str, edges: &str| {
        let (mut db, module) = crate::load(&format!(
            "define i32 @f(i1 %c, i1 %d, i32 %a, i32 %b) {{
             entry:
               {condition}
               br i1 %e, {edges}
             here:
               %x = select i1 %c, i32 %a, i32 %b
               %y = select i1 %d, i32 %a, i32 %b
               %z = sub i32 %x, %y
               ret i32 %z
             there:
               ret i32 0
             }}"
        ));
        crate::run(&mut db, module, "instsimplify");
        let text = crate::print(&db, module);
        let is_known = |name: &str| !text.contains(&format!("{name} = select"));
        (is_known("%x"), is_known("%y"))
    };
    let (taken, not) = ("label %here, label %there", "label %there, label %here");
    assert_eq!(known("%e = and i1 %c, %d", taken), (true, true));
    assert_eq!(known("%e = and i1 %c, %d", not), (false, false));
    assert_eq!(known("%e = or i1 %c, %d", not), (true, true));
    assert_eq!(known("%e = or i1 %c, %d", taken), (false, false));
    assert_eq!(known("%e = xor i1 %d, true", taken), (false, true));
    // It says whether they differ, and no more.
    assert_eq!(known("%e = xor i1 %c, %d", taken), (false, false));
    assert_eq!(known("%e = select i1 %c, i1 %d, i1 false", taken), (true, true));
    assert_eq!(known("%e = select i1 %c, i1 %d, i1 false", not), (false, false));
    assert_eq!(known("%e = select i1 %c, i1 false, i1 %d", taken), (true, true));
    assert_eq!(known("%e = select i1 %c, i1 true, i1 %d", not), (true, true));
    assert_eq!(known("%e = select i1 %c, i1 %d, i1 true", not), (true, true));
    assert_eq!(known("%e = select i1 %c, i1 %d, i1 true", taken), (false, false));
    // A frozen condition is not the condition.
    assert_eq!(known("%e = freeze i1 %c", taken), (false, false));
    // Both edges lead there.
    assert_eq!(known("%e = and i1 %c, %d", "label %here, label %here"), (false, false));
}

/// Another way leads there as well.
#[test]
fn a_join_shows_nothing() {
    check_unchanged(
        "instsimplify",
        "define i32 @f(i32 %a, i1 %c) {
         entry:
           br i1 %c, label %one, label %two
         one:
           %less = icmp ult i32 %a, 4
           br i1 %less, label %join, label %out
         two:
           call void @unknown()
           br label %join
         join:
           %again = icmp ult i32 %a, 4
           %1 = select i1 %again, i32 1, i32 2
           ret i32 %1
         out:
           ret i32 0
         }",
    );
    // Threads come to this branch by both edges.
    check_unchanged(
        "instsimplify",
        "define i32 @f(i32 %a, i1 %c) {
         entry:
           br i1 %c, label %join, label %other
         other:
           call void @unknown()
           br label %join
         join:
           %0 = select i1 %c, i32 1, i32 %a
           ret i32 %0
         }",
    );
}

/// The first edge of a switch is where it goes if there is no case for the number.
#[test]
fn a_switch_shows_nothing() {
    check_unchanged(
        "instsimplify",
        "define i32 @f(i32 %a, i1 %c) {
         entry:
           switch i1 %c, label %one [
             i1 true, label %two
           ]
         one:
           %0 = select i1 %c, i32 1, i32 %a
           ret i32 %0
         two:
           %1 = select i1 %c, i32 2, i32 %a
           ret i32 %1
         }",
    );
}

#[test]
fn selections_by_constants() {
    let chosen = |condition: &str| {
        let (mut db, module) = crate::load(&format!(
            "define <2 x i32> @f(<2 x i32> %a, <2 x i32> %b) {{
             entry:
               %x = select {condition}, <2 x i32> %a, <2 x i32> %b
               ret <2 x i32> %x
             }}"
        ));
        crate::run(&mut db, module, "instsimplify");
        let text = crate::print(&db, module);
        text.lines().find(|line| line.contains("ret")).map(|line| line[line.len() - 2..].to_owned())
    };
    let is = |condition: &str, what: &str| assert_eq!(chosen(condition).as_deref(), Some(what));
    is("i1 true", "%a");
    is("i1 false", "%b");
    is("<2 x i1> splat (i1 true)", "%a");
    is("<2 x i1> zeroinitializer", "%b");
    is("<2 x i1> <i1 true, i1 false>", "%x");
    is("i1 undef", "%x");
}

/// Lanes of two vectors, and members that other members are part of.
#[test]
fn what_is_put_together_of_several() {
    let returned = |body: &str| {
        let (mut db, module) = crate::load(&format!(
            "define <2 x i32> @f(<2 x i32> %v, <2 x i32> %w, {{ i32, <2 x i32> }} %s) {{
               {body}
               ret <2 x i32> %r
             }}"
        ));
        crate::run(&mut db, module, "instsimplify");
        let text = crate::print(&db, module);
        let of = text.lines().find_map(|line| line.trim().strip_prefix("ret <2 x i32> "));
        of.map(str::to_owned)
    };
    let is = |body: &str, what: &str| assert_eq!(returned(body).as_deref(), Some(what), "{body}");
    let lanes =
        |mask: &str| format!("%r = shufflevector <2 x i32> %v, <2 x i32> %w, <2 x i32> <{mask}>");
    is(&lanes("i32 0, i32 1"), "%v");
    is(&lanes("i32 2, i32 3"), "%w");
    is(&lanes("i32 0, i32 3"), "%r");
    is(&lanes("i32 1, i32 0"), "%r");
    let ty = "{ i32, { i32, <2 x i32> } }";
    is(
        &format!(
            "%1 = insertvalue {ty} poison, <2 x i32> %v, 1, 1
             %2 = insertvalue {ty} %1, {{ i32, <2 x i32> }} %s, 1
             %r = extractvalue {ty} %2, 1, 1"
        ),
        "%r",
    );
    is(
        &format!(
            "%1 = insertvalue {ty} poison, {{ i32, <2 x i32> }} %s, 1
             %2 = insertvalue {ty} %1, <2 x i32> %v, 1, 1
             %3 = extractvalue {ty} %2, 1
             %r = extractvalue {{ i32, <2 x i32> }} %3, 1"
        ),
        "%r",
    );
}
