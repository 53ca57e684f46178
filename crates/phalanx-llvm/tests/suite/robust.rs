//! Feeds arbitrary bytes to the parser: it returns a module or an error with a place inside the
//! text, and never panics, hangs or overflows the stack.

use std::sync::Arc;

use phalanx_ir::Context;
use phalanx_llvm::{ParseError, parse_module, print_module};
use phalanx_testing::giants::{Family, Giant};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

fn parse(source: &[u8]) -> Result<phalanx_llvm::Parsed, ParseError> {
    let result = parse_module(Arc::new(Context::new()), source);
    if let Err(error) = &result {
        assert!(error.span.start <= error.span.end, "{error:?}");
        assert!(error.span.end as usize <= source.len(), "{error:?}");
        assert!(!error.message.is_empty() && !error.message.contains('\n'), "{error:?}");
        let (line, column) = error.line_col(source);
        assert!(line >= 1 && column >= 1);
    }
    result
}

/// One of everything, in few lines.
const SEED: &str = include_str!("../robust_seed.ll");

/// Pieces that texts are made of, and some that are none.
const PIECES: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "<{",
    "}>",
    ",",
    "=",
    "*",
    "...",
    "!",
    "#",
    "^",
    "|",
    ":",
    "\"",
    "%",
    "@",
    "$",
    "c\"",
    "%x",
    "%0",
    "%99999999999",
    "@f",
    "@0",
    "!0",
    "!{",
    "!\"s\"",
    "#0",
    "i32",
    "i8388609",
    "i0",
    "ptr",
    "void",
    "label",
    "metadata",
    "token",
    "float",
    "x86_amx",
    "[4 x i8]",
    "<2 x i32>",
    "vscale",
    "target(\"x\")",
    "0",
    "-1",
    "1.5",
    "0xH1",
    "0xK1",
    "u0xF",
    "18446744073709551616",
    "null",
    "undef",
    "poison",
    "zeroinitializer",
    "true",
    "splat",
    "blockaddress",
    "getelementptr",
    "add",
    "call",
    "ret",
    "br",
    "phi",
    "switch",
    "define",
    "declare",
    "global",
    "type",
    "opaque",
    "align",
    "addrspace(3)",
    "asm",
    "!DILocation(",
    "DIExpression",
    "distinct",
    "\\00",
    "/*",
    ";",
    "\n",
    "\0",
    "\u{ff}",
    "entry:",
    "5:",
    "metadata",
    "#dbg_value(",
    "attributes",
    "comdat",
    "section",
];

fn mutate(rng: &mut StdRng, seed: &[u8]) -> Vec<u8> {
    let mut text = seed.to_vec();
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..=text.len());
        let end = (at + rng.random_range(0..12)).min(text.len());
        let piece: Vec<u8> = match rng.random_range(0..5) {
            0 => Vec::new(),
            1 => vec![rng.random()],
            2 => {
                let from = rng.random_range(0..seed.len());
                seed[from..(from + rng.random_range(0..40)).min(seed.len())].to_vec()
            }
            _ => PIECES[rng.random_range(0..PIECES.len())].as_bytes().to_vec(),
        };
        let kept = if rng.random_bool(0.5) { at } else { end };
        text.splice(at..kept, piece);
    }
    text
}

#[test]
fn the_seed_is_good() {
    parse(SEED.as_bytes())
        .unwrap_or_else(|error| panic!("{:?}: {error}", error.line_col(SEED.as_bytes())));
}

#[test]
fn mutated_texts() {
    let mut rng = StdRng::seed_from_u64(7);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..3_000 {
        let text = mutate(&mut rng, SEED.as_bytes());
        match parse(&text) {
            Ok(parsed) => {
                good += 1;
                // What is accepted can be written, and what is written can be read.
                let printed = print_module(&parsed.module);
                if let Err(error) = parse(&printed) {
                    let shown = String::from_utf8_lossy(&printed);
                    panic!("{:?}: {error}\n{shown}", error.line_col(&printed));
                }
            }
            Err(_) => bad += 1,
        }
    }
    assert!(good > 100 && bad > 1_000, "{good} good, {bad} bad");
}

#[test]
fn cut_texts() {
    for end in 0..SEED.len() {
        let _ = parse(&SEED.as_bytes()[..end]);
    }
}

#[test]
fn random_pieces() {
    let mut rng = StdRng::seed_from_u64(11);
    for _ in 0..20_000 {
        let mut text = String::from(
            ["", "define void @f(i32 %x) {\n", "@a = global ", "!0 = "][rng.random_range(0..4)],
        );
        for _ in 0..rng.random_range(1..20) {
            text += PIECES[rng.random_range(0..PIECES.len())];
            text += " ";
        }
        let _ = parse(text.as_bytes());
    }
}

#[test]
fn random_bytes() {
    let mut rng = StdRng::seed_from_u64(13);
    for _ in 0..20_000 {
        let length = rng.random_range(0..64);
        let bytes: Vec<u8> = (0..length).map(|_| rng.random()).collect();
        let _ = parse(&bytes);
    }
}

/// Texts of a million brackets. A reader that calls itself for each overflows its stack.
#[test]
fn deep_nesting() {
    const N: usize = 1_000_000;
    let nested = |before: &str, open: &str, inside: &str, close: &str, after: &str| {
        format!("{before}{}{inside}{}{after}", open.repeat(N), close.repeat(N))
    };
    let good = [
        nested("@a = external global ", "[1 x ", "i8", "]", ""),
        nested("%T = type ", "{ ", "i8", " }", ""),
        nested("@a = external global ", "target(\"x\", ", "i8", ")", ""),
        nested("@a = global i64 ", "add (i64 1, i64 ", "2", ")", ""),
        nested("!0 = !", "{!", "{}", "}", ""),
        nested("^0 = module: ", "(", "", ")", ""),
    ];
    for text in good {
        parse(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", &text[..40]));
    }
    const UNCLOSED: usize = 100_000;
    for open in ["[1 x ", "{ ", "<{ ", "ptr (", "target(\"x\", ", "<2 x "] {
        assert!(
            parse(format!("@a = external global {}", open.repeat(UNCLOSED)).as_bytes()).is_err()
        );
    }
    for open in [
        "add (i64 ",
        "splat (i64 ",
        "getelementptr (i8, ptr ",
        "{ i64 ",
        "[ i64 ",
        "< i64 ",
        "ptrauth (ptr ",
    ] {
        assert!(parse(format!("@a = global i64 {}", open.repeat(UNCLOSED)).as_bytes()).is_err());
    }
    for open in ["{!", "DILocation(line: 1, inlinedAt: !", "DIExpression("] {
        assert!(parse(format!("!0 = !{}", open.repeat(UNCLOSED)).as_bytes()).is_err());
    }
}

/// Structures that each hold the one before, a hundred thousand deep.
#[test]
fn chains_of_structures() {
    let mut text = String::from("%T0 = type { i8 }\n");
    for at in 1..100_000 {
        text += &format!("%T{at} = type {{ %T{} }}\n", at - 1);
    }
    text += "define void @f(ptr %p) {\n  %a = load %T99999, ptr %p\n  %b = getelementptr %T99999, ptr %p, i32 1\n  ret void\n}\n";
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let around = text.replace("{ i8 }", "{ %T99999 }");
    assert!(parse(around.as_bytes()).is_err());
}

/// Sizes where anything quadratic would take minutes.
#[test]
fn every_family_of_giants() {
    for &family in Family::ALL {
        let text = Giant::new(family, 3_000).text();
        let parsed =
            parse(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", family.name()));
        assert!(
            parsed.module.function("k").is_some_and(|function| function.body.id_count() > 3_000)
        );
    }
}

/// Half a million digits. What takes them one after the other is quadratic.
#[test]
fn integers_as_long_as_their_types_allow() {
    let digits: String =
        (0..500_000_u32).map(|at| char::from(b'1' + (at.wrapping_mul(at) % 9) as u8)).collect();
    for sign in ["", "-"] {
        let text = format!("@a = global i8388607 {sign}{digits}\n");
        let parsed = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        assert!(print_module(&parsed.module).ends_with(text.as_bytes()));
    }
}
