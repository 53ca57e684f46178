//! Tests of the parser, and that every kind of difference is found.

use super::*;

const TEXT: &str = "\
warning: something that is no fact
UniformityInfo for function 'f':
DIVERGENT ARGUMENTS:
  DIVERGENT: ptr %p
CYCLES ASSUMED DIVERGENT:
  depth=1: entries(P R) S Q
CYCLES WITH DIVERGENT EXIT:
  depth=1: entries(H)
  depth=1: entries(G) X

TEMPORAL DIVERGENCE LIST:
Value         :  %v = add i32 %i, 1
Used by       :  %u = add i32 %v, 5
Outside cycle :depth=1: entries(H)

Value         :  %v = add i32 %i, 1
Used by       :  switch i32 %v, label %d [
    i32 0, label %e
  ]
Outside cycle :depth=1: entries(H)


BLOCK entry
DEFINITIONS
  DIVERGENT:   %x = add i32 %a, 1
               %y = invoke i32 @g()
          to label %a unwind label %b
               store i32 %y, ptr %p, align 4
TERMINATORS
  DIVERGENT:   switch i32 %x, label %d [
    i32 0, label %e
    i32 1, label %d
  ]
END BLOCK

BLOCK a block
DEFINITIONS
TERMINATORS
               ret void
END BLOCK
UniformityInfo for function 'u':
ALL VALUES UNIFORM
";

fn all(text: &str) -> PerFunction<Uniformity> {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The differences between the text and a changed one.
fn changed(from: &str, to: &str) -> Vec<String> {
    assert!(TEXT.contains(from), "nothing to change: {from}");
    let other = TEXT.replace(from, to);
    let lines = |left: &str, right: &str| -> Vec<String> {
        let found = crate::compare::differences(Fact::Uniformity, left, right);
        found.expect("well-formed").iter().map(ToString::to_string).collect()
    };
    assert_eq!(lines(&other, TEXT).len(), lines(TEXT, &other).len(), "both ways alike");
    lines(TEXT, &other)
}

#[test]
fn everything_is_read() {
    let functions = all(TEXT);
    assert_eq!(functions.len(), 2);
    let (name, f) = &functions[0];
    assert_eq!((name.as_str(), f.counts()), ("f", (5, 2)));
    assert_eq!((f.arguments.len(), f.assumed.len(), f.exits.len(), f.temporal.len()), (1, 1, 2, 2));
    assert_eq!(f.blocks[1].name, "a block");
    assert_eq!(
        f.blocks[0].definitions[1].text,
        "%y = invoke i32 @g()\nto label %a unwind label %b"
    );
    assert!(f.blocks[0].terminators[0].text.ends_with("i32 1, label %d\n]"));
    assert_eq!(f.by_name(), BTreeMap::from([("%x", true), ("%y", false)]));
    assert!(
        f.is_divergent(&DefinitionPlace::Definition(0, 0))
            && !f.is_divergent(&DefinitionPlace::Definition(0, 1))
    );
    assert!(
        f.is_divergent(&DefinitionPlace::Terminator(0))
            && !f.is_divergent(&DefinitionPlace::Terminator(1))
    );
    assert!(functions[1].1.all_uniform);
}

#[test]
fn orders_of_sets_mean_nothing() {
    assert!(changed("(P R) S Q", "(P R) Q S").is_empty());
    let swap = "  depth=1: entries(H)\n  depth=1: entries(G) X\n";
    assert!(changed(swap, "  depth=1: entries(G) X\n  depth=1: entries(H)\n").is_empty());
}

#[test]
fn a_flipped_answer_is_found() {
    assert_eq!(
        changed("               %y = ", "  DIVERGENT:   %y = "),
        ["@f: block entry: `%y = invoke i32 @g()` is uniform on the left, divergent on the right"]
    );
    assert_eq!(
        changed("  DIVERGENT:   switch", "               switch"),
        [
            "@f: block entry: `switch i32 %x, label %d [` is divergent on the left, uniform on the right"
        ]
    );
    assert_eq!(
        changed("  DIVERGENT: ptr %p", "  DIVERGENT: ptr %q"),
        [
            "@f: argument `ptr %p` is divergent on the left, uniform on the right",
            "@f: argument `ptr %q` is uniform on the left, divergent on the right"
        ]
    );
}

#[test]
fn a_changed_list_is_found() {
    assert_eq!(changed("(P R) S Q", "(R P) S Q").len(), 2);
    assert_eq!(changed("  depth=1: entries(G) X\n", "").len(), 1);
    assert_eq!(changed("%u = add i32 %v, 5\n", "%w = add i32 %v, 5\n").len(), 2);
}

#[test]
fn other_shapes_are_found() {
    assert_eq!(changed("BLOCK a block", "BLOCK b").len(), 1);
    assert_eq!(changed("               store i32 %y, ptr %p, align 4\n", "").len(), 1);
    assert_eq!(changed("store i32 %y, ptr", "store i64 %y, ptr").len(), 1);
    assert_eq!(changed("function 'u'", "function 'v'").len(), 2);
}

#[test]
fn all_uniform_against_a_listing_names_the_divergent_ones() {
    let functions = all(TEXT);
    let uniform = Uniformity { all_uniform: true, ..Uniformity::default() };
    let found = compare(&functions[0].1, &uniform);
    assert_eq!(found.values.len(), 3, "the argument, %x and the switch");
    assert!(found.values.iter().all(|difference| difference.left_divergent));
    assert_eq!((found.assumed.len(), found.exits.len(), found.temporal.len()), (1, 2, 2));
    assert_eq!(compare(&uniform, &functions[0].1).values.len(), 3);
}

#[test]
fn other_lines_are_errors() {
    for (from, to) in [
        ("END BLOCK\n\nBLOCK", "BLOCK"),
        ("DEFINITIONS\n  DIV", "DEFINITION\n  DIV"),
        ("Used by       :  %u", "Usage       :  %u"),
        ("  depth=1: entries(G) X", "  depth=one: entries(G) X"),
        ("  DIVERGENT: ptr %p", "  ptr %p"),
        ("ALL VALUES UNIFORM", "MOST VALUES UNIFORM"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let result = parse(&TEXT.replace(from, to));
        assert!(result.is_err(), "{from} -> {to}: {result:?}");
    }
}
