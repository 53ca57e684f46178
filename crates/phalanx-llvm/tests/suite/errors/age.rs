//! Texts of other LLVMs: the remark says which one they seem to be from, and what to do.

use expect_test::expect;

use crate::errors::check;

/// Typed pointers are still read.
#[test]
fn typed_pointers() {
    let text = b"define i32 @f(i32* %p) {\n  %v = load i32, i32* %p\n  ret i32 %v\n}\n";
    let context = std::sync::Arc::new(phalanx_ir::Context::new());
    assert!(phalanx_llvm::parse_module(context, text).is_ok());
}

#[test]
fn loads_without_a_type() {
    check(
        "define i32 @f(i32* %p) {\n  %v = load i32* %p\n  ret i32 %v\n}\n",
        &expect![[r#"
        2:18: expected `,`, found `%p` [%p]
          1:1: this text seems to be from LLVM 3.6 or older: `load`, `getelementptr` and aliases did not say their type before the address; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
    "#]],
    );
}

#[test]
fn steps_without_a_type() {
    check(
        "@g = global [2 x i32] zeroinitializer\n@x = global i32* getelementptr inbounds ([2 x i32]* @g, i32 0, i32 1)\n",
        &expect![[r#"
            2:53: expected `,`, found `@g` [@g]
              1:1: this text seems to be from LLVM 3.6 or older: `load`, `getelementptr` and aliases did not say their type before the address; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
        "#]],
    );
}

#[test]
fn aliases_without_a_type() {
    check(
        "@g = global i32 0\n@a = alias i32* @g\n",
        &expect![[r#"
        2:17: expected `,`, found `@g` [@g]
          1:1: this text seems to be from LLVM 3.6 or older: `load`, `getelementptr` and aliases did not say their type before the address; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
    "#]],
    );
}

#[test]
fn metadata_with_a_type() {
    check(
        "!0 = metadata !{metadata !\"a.c\"}\n",
        &expect![[r#"
        1:6: expected a metadata node: `!{` or `!DI..(`, found `metadata` [metadata]
          1:1: this text seems to be from LLVM 3.5 or older: metadata had types; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
    "#]],
    );
}

#[test]
fn debug_calls_with_metadata_of_their_own() {
    check(
        "define void @f(i32 %x) {\n  call void @llvm.dbg.value(metadata !{i32 %x}, i64 0, metadata !2)\n  ret void\n}\n",
        &expect![[r#"
            2:44: a local name cannot be used in a constant [%x]
              1:1: this text seems to be from LLVM 3.5 or older: metadata had types; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
        "#]],
    );
}

#[test]
fn debug_information_with_other_names() {
    check(
        "!0 = !MDLocation(line: 1, scope: !1)\n",
        &expect![[r#"
        1:6: expected a kind of metadata node, found `!MDLocation` [!MDLocation]
          1:1: this text seems to be from LLVM 3.6 or older: nodes of debug information had other names; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
    "#]],
    );
}

#[test]
fn fields_that_are_gone() {
    check(
        "!0 = !DILocalVariable(tag: DW_TAG_auto_variable, name: \"x\", scope: !1)\n",
        &expect![[r#"
            1:23: a `!DILocalVariable` has no field `tag` [tag:]
              1:1: fields are name, arg, scope, file, line, type, flags, align, annotations
              1:1: this text seems to be from LLVM 3.7 or older: nodes of debug information had other fields; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
        "#]],
    );
}

#[test]
fn products_in_constants() {
    check(
        "@g = global i32 0\n@x = global i32 mul (i32 ptrtoint (ptr @g to i32), i32 3)\n",
        &expect![[r#"
            2:17: `mul` is not allowed as a constant expression [mul]
              1:1: this text seems to be from LLVM 19 or older: constants could be computed by more operations; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
        "#]],
    );
}

#[test]
fn comparisons_in_constants() {
    check(
        "@g = global i32 0\n@x = global i1 icmp eq (ptr @g, ptr null)\n",
        &expect![[r#"
        2:16: `icmp` is not allowed as a constant expression [icmp]
          1:1: this text seems to be from LLVM 18 or older: constants could be computed by more operations; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
    "#]],
    );
}

#[test]
fn divisions_in_constants() {
    check(
        "@x = global i32 udiv (i32 6, i32 3)\n",
        &expect![[r#"
        1:17: `udiv` is not allowed as a constant expression [udiv]
          1:1: this text seems to be from LLVM 14 or older: constants could be computed by more operations; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
    "#]],
    );
}

#[test]
fn attributes_without_a_type() {
    check(
        "define void @f(ptr sret %x) {\n  ret void\n}\n",
        &expect![[r#"
        1:25: expected `(`, found `%x` [%x]
          1:1: this text seems to be from LLVM 14 or older: attributes of what pointers point to had no type; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
    "#]],
    );
}

#[test]
fn scopes_that_are_words() {
    check(
        "define void @f(ptr %p) {\n  %v = atomicrmw add ptr %p, i32 1 singlethread seq_cst\n  ret void\n}\n",
        &expect![[r#"
            2:36: expected an ordering: `monotonic`, `acquire` ..., found `singlethread` [singlethread]
              1:1: this text seems to be from LLVM 4 or older: scopes of atomic operations were words; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
        "#]],
    );
}

#[test]
fn exchanges_with_one_ordering() {
    check(
        "define void @f(ptr %p) {\n  %v = cmpxchg ptr %p, i32 0, i32 1 seq_cst\n  ret void\n}\n",
        &expect![[r#"
            3:3: expected an ordering: `monotonic`, `acquire` ..., found `ret` [ret]
              1:1: this text seems to be from LLVM 3.4 or older: `cmpxchg` had one ordering; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
        "#]],
    );
}

#[test]
fn a_type_that_is_gone() {
    check(
        "define x86_mmx @f(x86_mmx %x) {\n  ret x86_mmx %x\n}\n",
        &expect![[r#"
        1:8: expected a type, found `x86_mmx` [x86_mmx]
          1:1: this text seems to be from LLVM 19 or older: there was a type for MMX; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
    "#]],
    );
}

#[test]
fn a_type_that_is_not_known_yet() {
    check(
        "define void @f(b8 %x) {\n  ret void\n}\n",
        &expect![[r#"
        1:16: expected a type, found `b8` [b8]
          1:1: if this is no typing mistake, the text is from an LLVM newer than 22, which is what is read here: write it with tools of LLVM 22
    "#]],
    );
}

#[test]
fn an_instruction_that_is_not_known_yet() {
    check(
        "define void @f() {\n  %b = byteswap i32 4\n  ret void\n}\n",
        &expect![[r#"
        2:8: expected an instruction, found `byteswap` [byteswap]
          1:1: if this is no typing mistake, the text is from an LLVM newer than 22, which is what is read here: write it with tools of LLVM 22
    "#]],
    );
}
