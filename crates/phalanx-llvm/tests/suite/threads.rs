//! Threads decide how long reading, verifying and printing take, and nothing else.

use std::{fmt::Write as _, sync::Arc};

use phalanx_ir::{Context, Verifier};
use phalanx_llvm::{ModulePrinter, ParseError, Parsed, parse_module_in_threads, print_module};
use phalanx_testing::mutate::mutant_from;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// One of everything, in few lines.
const SEED: &str = include_str!("../robust_seed.ll");

fn read(text: &str, threads: usize) -> Result<Parsed, ParseError> {
    let context = Arc::new(Context::new());
    parse_module_in_threads(context, text.as_bytes(), &|_| None, threads)
}

/// Variables whose text is long enough for a second thread: some ten runs of tokens.
fn variables() -> String {
    (0..5_000).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "@variable.{number} = global i32 {number}, align 4");
        text
    })
}

#[test]
fn tokens_are_those_of_one_thread() {
    let mut rng = StdRng::seed_from_u64(3);
    let variables = variables();
    // A comment and what must come before everything else.
    let (headings, rest) = SEED.split_at(SEED.find("module asm").expect("the seed has it"));
    let (mut good, mut bad) = (0, 0);
    for _ in 0..150 {
        let mutant = mutant_from(rest, &mut rng);
        // A run of tokens ends anywhere in it.
        let from = rng.random_range(0..2_000);
        let from = variables[from..].find('\n').map_or(0, |at| from + at + 1);
        let text = format!("{headings}{}\n{mutant}", &variables[from..]);
        match (read(&text, 1), read(&text, 2)) {
            (Ok(one), Ok(two)) => {
                good += 1;
                assert_eq!(print_module(&one.module), print_module(&two.module));
                assert_eq!(one.module.functions, two.module.functions);
            }
            (Err(one), Err(two)) => {
                bad += 1;
                assert_eq!(one, two);
            }
            (one, two) => panic!("{:?} and {:?}\n{mutant}", one.err(), two.err()),
        }
    }
    assert!(good > 5 && bad > 5, "{good} good, {bad} bad");
}

#[test]
fn a_text_that_ends_early_is_the_same_error() {
    let variables = variables();
    for cut in (0..200).map(|at| variables.len() - at) {
        let (one, two) = (read(&variables[..cut], 1), read(&variables[..cut], 2));
        assert_eq!(one.err(), two.err());
    }
    for end in ["%", "@\"open", "/* open", "\u{1}", "define void @f() {"] {
        let text = format!("{variables}{end}");
        let (one, two) = (read(&text, 1).unwrap_err(), read(&text, 2).unwrap_err());
        assert_eq!(one, two);
    }
}

/// Functions of which those at `broken` use a value before it is there.
fn functions(broken: &[usize]) -> String {
    let mut text = String::new();
    for number in 0..60 {
        let _ = writeln!(text, "define i32 @f{number}(i32 %v0) {{");
        for at in 0..100 {
            let operand = if at == 50 && broken.contains(&number) { at + 20 } else { at };
            let _ = writeln!(text, "  %v{} = add i32 %v{operand}, {number}", at + 1);
        }
        text += "  ret i32 %v100\n}\n";
    }
    text
}

#[test]
fn broken_rules_are_those_of_one_thread() {
    for broken in [&[][..], &[0], &[59], &[3, 20, 21, 40]] {
        let parsed = read(&functions(broken), 1).expect("the text is good");
        let verifier = Verifier::new(&parsed.module);
        let errors = verifier.module();
        assert_eq!(errors.len(), broken.len());
        for threads in [2, 3, 8] {
            assert_eq!(verifier.clone().with_threads(threads).module(), errors);
        }
    }
}

#[test]
fn text_is_that_of_one_thread() {
    for text in [SEED, &functions(&[])] {
        let module = read(text, 1).expect("the text is good").module;
        for threads in [2, 3, 8, 100] {
            let mut printed = Vec::new();
            ModulePrinter::new(&module).module_in_threads(&mut printed, threads);
            assert_eq!(printed, print_module(&module));
        }
    }
}
