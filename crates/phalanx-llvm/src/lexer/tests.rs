//! Tests of the lexer: what tokens a text is cut into.

use expect_test::{Expect, expect};

use super::*;

fn check(source: &[u8], expected: &Expect) {
    let mut lexer = Lexer::new(source);
    let mut out = String::new();
    loop {
        let token = lexer.next();
        let text = String::from_utf8_lossy(&source[token.start as usize..token.end as usize]);
        out += &format!("{:?} {text}", token.kind);
        if token.number != 0 {
            out += &format!(" #{}", token.number);
        }
        if let (TokenKind::Error, Some(error)) = (token.kind, lexer.error()) {
            out += &format!(" ({})", error.message);
        }
        out.push('\n');
        if matches!(token.kind, TokenKind::Eof) {
            break;
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn an_instruction() {
    check(
        b"  %1 = add nsw i32 %x.y, -5 ; note\n",
        &expect![[r#"
            LocalId %1 #1
            Equal =
            Word add
            Word nsw
            IntType i32 #32
            Local %x.y
            Comma ,
            Int -5
            Eof 
        "#]],
    );
}

#[test]
fn labels() {
    check(
        b"a: 12: -3: \"q\\20\": 4x: .l: $d: a-b: i32: ret:",
        &expect![[r#"
            Label a:
            LabelId 12: #12
            Label -3:
            Label "q\20":
            Label 4x:
            Label .l:
            Label $d:
            Label a-b:
            Label i32:
            Label ret:
            Eof 
        "#]],
    );
}

#[test]
fn numbers() {
    check(
        b"1 -2 1.5 +2.0e+3 3.e 0x7F 0xH3C00 u0xF s0x8 12abc 0xZ + -",
        &expect![[r#"
            Int 1
            Int -2
            Float 1.5
            Float +2.0e+3
            Float 3.
            Word e
            HexFloat 0x7F
            HexFloat 0xH3C00
            HexInt u0xF
            HexInt s0x8
            Int 12
            Word abc
            Error 0x (expected hexadecimal digits)
            Word Z
            Error + (only a floating-point number can begin with `+`)
            Error - (expected digits after `-`)
            Eof 
        "#]],
    );
}

#[test]
fn words_stop_where_llvm_stops_them() {
    check(
        b"i32x ptr-foo cc10 i99999999999 ...",
        &expect![[r#"
            IntType i32 #32
            Word x
            Word ptr
            Error - (expected digits after `-`)
            Word foo
            Word cc
            Int 10
            IntType i99999999999 #4294967295
            Ellipsis ...
            Eof 
        "#]],
    );
}

#[test]
fn variables_and_metadata() {
    check(
        b"@\"a b\" %\"c\\5Cd\" $c $\"d e\" !dbg !\\31x !0 #3 #dbg_value ^7 @99999999999",
        &expect![[r##"
            Global @"a b"
            Local %"c\5Cd"
            ComdatVar $c
            ComdatVar $"d e"
            MetadataVar !dbg
            MetadataVar !\31x
            Exclaim !
            Int 0
            AttrGroup #3 #3
            Hash #
            Word dbg_value
            Summary ^7 #7
            Error @99999999999 (this number is too large: at most 4294967295)
            Eof 
        "##]],
    );
}

#[test]
fn comments_end() {
    check(
        b"a ; b \" \n c /* d \n */ e /* f",
        &expect![[r#"
        Word a
        Word c
        Word e
        Error /* f (unterminated comment)
        Eof 
    "#]],
    );
}

#[test]
fn names_hold_no_nul() {
    check(
        b"%\"a\\00\" \"a\\00\" \"a\\00\":",
        &expect![[r#"
        Error %"a\00" (a name cannot hold a NUL byte)
        String "a\00"
        Error "a\00" (a name cannot hold a NUL byte)
        Colon :
        Eof 
    "#]],
    );
}

#[test]
fn escapes() {
    assert_eq!(*unescape(b"a\\5C\\\\\\4\\zz\\"), *b"a\\\\\\4\\zz\\");
    assert!(matches!(unescape(b"plain"), Cow::Borrowed(_)));
}
