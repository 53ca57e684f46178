//! Data around the code: globals, constants, metadata, debug information. Also operations that only
//! GPUs have.

use std::fmt::Write as _;

use rand::Rng as _;

use super::{Family, Text, module, w};

pub(super) const FAMILIES: &[Family] = &[
    module("globals", globals),
    module("globals_of_functions", globals_of_functions),
    module("constant_array", constant_array),
    module("constant_structs", constant_structs),
    module("metadata", metadata),
    module("alias_scopes", alias_scopes),
    module("debug_values", debug_values),
    module("vector_elements", vector_elements),
    module("assembly", assembly),
    module("ballots", ballots),
];

/// `n` globals, each written and read by one kernel.
fn globals(text: &mut Text, n: usize) {
    (0..n).for_each(|i| w!(text, "@g{i} = internal addrspace(1) global i32 0"));
    text.usual_kernel();
    for i in 0..n {
        let value = if i % 2 == 0 { "%n" } else { "%tid" };
        w!(text, "  store i32 {value}, ptr addrspace(1) @g{i}");
    }
    for i in 0..n {
        w!(text, "  %l{i} = load i32, ptr addrspace(1) @g{i}");
        w!(text, "  %q{i} = getelementptr i32, ptr addrspace(1) %p, i32 %l{i}");
        w!(text, "  store i32 0, ptr addrspace(1) %q{i}");
    }
    text.end();
}

/// `n` globals and `n` kernels, each of which reads one global and writes another.
fn globals_of_functions(text: &mut Text, n: usize) {
    (0..n).for_each(|i| w!(text, "@g{i} = internal addrspace(1) global i32 0"));
    for i in 0..n {
        let [from, to] = [0; 2].map(|_| text.rng.random_range(0..n));
        w!(text, "define amdgpu_kernel void @k{i}(i32 %n) {{");
        w!(text, "  %l = load i32, ptr addrspace(1) @g{from}");
        w!(text, "  store i32 %l, ptr addrspace(1) @g{to}");
        text.end();
    }
}

/// An array of `n` numbers.
fn constant_array(text: &mut Text, n: usize) {
    let _ = write!(text.out, "@c = addrspace(4) constant [{n} x i32] [i32 7");
    for _ in 1..n {
        let number = text.rng.random_range(0..1 << 30);
        let _ = write!(text.out, ", i32 {number}");
    }
    w!(text, "]");
    text.usual_kernel();
    w!(text, "  %g = getelementptr i32, ptr addrspace(4) @c, i32 %tid");
    w!(text, "  %l = load i32, ptr addrspace(4) %g\n  store i32 %l, ptr addrspace(1) %p");
    text.end();
}

/// An array of `n` structures, each with an address in it.
fn constant_structs(text: &mut Text, n: usize) {
    const TYPE: &str = "{ i32, ptr addrspace(4), [2 x float] }";
    w!(text, "@d = addrspace(4) constant [9 x i8] zeroinitializer");
    w!(text, "@c = addrspace(4) constant [{n} x {TYPE}] [");
    for i in 0..n {
        let end = if i + 1 < n { "," } else { "]" };
        w!(text, "  {TYPE} {{ i32 {i}, ptr addrspace(4) getelementptr (i8, ptr addrspace(4) @d,");
        w!(text, "    i64 {i}), [2 x float] [float {i}.0, float 1.0] }}{end}");
    }
    text.usual_kernel();
    text.end();
}

/// `n` loads, each with a node of metadata of its own.
fn metadata(text: &mut Text, n: usize) {
    text.usual_kernel();
    (0..n).for_each(|i| w!(text, "  %l{i} = load i32, ptr addrspace(1) %p, !mine !{i}"));
    text.end();
    for i in 0..n {
        let other = if i % 2 == 0 { 0 } else { (i + 1) % n };
        w!(text, "!{i} = !{{!\"x{i}\", i32 {i}, !{other}}}");
    }
}

/// `n` stores and loads, each in an alias scope of its own and `noalias` with another one.
fn alias_scopes(text: &mut Text, n: usize) {
    text.usual_kernel();
    for i in 0..n {
        let (other, third) = ((7 * i + 1) % n, (i + 3) % n);
        w!(
            text,
            "  store i32 %n, ptr addrspace(1) %p, !alias.scope !{}, !noalias !{}",
            2 * i + 1,
            2 * other + 1
        );
        w!(text, "  %l{i} = load i32, ptr addrspace(1) %p, !alias.scope !{}", 2 * third + 1);
    }
    text.end();
    w!(text, "!0 = distinct !{{!0}}");
    for i in 0..n {
        let (list, scope) = (2 * i + 1, 2 * i + 2);
        w!(text, "!{list} = !{{!{scope}}}\n!{scope} = distinct !{{!{scope}, !0}}");
    }
}

/// The debug information of one function `!4` with a variable `!6`.
pub(super) const DEBUG: &str = "\
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: \"a.c\", directory: \"/\")
!2 = !{i32 2, !\"Debug Info Version\", i32 3}
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: \"k\", file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{null}
!6 = !DILocalVariable(name: \"v\", scope: !4, file: !1, line: 1, type: !7)
!7 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)
";

/// `n` values on a line of their own, each the value of a source variable.
fn debug_values(text: &mut Text, n: usize) {
    w!(text, "define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) !dbg !4 {{");
    for i in 0..n {
        let at = 100 + i;
        w!(text, "  %x{i} = add i32 %n, {i}, !dbg !{at}");
        w!(text, "    #dbg_value(i32 %x{i}, !6, !DIExpression(), !{at})");
        w!(text, "  store i32 %x{i}, ptr addrspace(1) %p, !dbg !{at}");
    }
    w!(text, "  ret void, !dbg !100\n}}\n{DEBUG}");
    for i in 0..n {
        w!(text, "!{} = !DILocation(line: {}, column: 3, scope: !4)", 100 + i, i + 1);
    }
}

/// `n` elements put into a vector.
fn vector_elements(text: &mut Text, n: usize) {
    let lanes = n.min(1024);
    text.usual_kernel();
    w!(text, "  %v0 = insertelement <{lanes} x i32> poison, i32 %tid, i32 0");
    for i in 0..n {
        let (lane, next) = (i % lanes, i + 1);
        w!(text, "  %v{next} = insertelement <{lanes} x i32> %v{i}, i32 %n, i32 {lane}");
    }
    text.end();
}

/// `n` pieces of assembly, all different.
fn assembly(text: &mut Text, n: usize) {
    text.usual_kernel();
    for i in 0..n {
        w!(
            text,
            "  %x{i} = call i32 asm sideeffect \"v_mov_b32 $0, $1 ; {i}\", \"=v,v\"(i32 %tid)"
        );
    }
    text.end();
}

/// `n` votes and reads of the first lane.
fn ballots(text: &mut Text, n: usize) {
    w!(text, "declare i64 @llvm.amdgcn.ballot.i64(i1)");
    w!(text, "declare i32 @llvm.amdgcn.readfirstlane.i32(i32)");
    text.usual_kernel();
    for i in 0..n {
        w!(text, "  %c{i} = icmp slt i32 %tid, {i}");
        w!(text, "  %b{i} = call i64 @llvm.amdgcn.ballot.i64(i1 %c{i})");
        w!(text, "  %t{i} = trunc i64 %b{i} to i32");
        w!(text, "  %r{i} = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %t{i})");
        w!(text, "  store i32 %r{i}, ptr addrspace(1) %p");
    }
    text.end();
}
