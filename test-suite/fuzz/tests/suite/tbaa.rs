//! Compares type-based aliasing with LLVM's, on random type trees.

use std::collections::BTreeMap;

use phalanx::{Session, db::queries, ir::Opcode, prelude::TargetOverrides};
use phalanx_testing::llvm_tools;
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

/// How many stores a module has.
const STORES: usize = 20;

/// A type: the number of its node, its size, and the scalars in it with their offsets.
struct Type {
    node: usize,
    size: u64,
    scalars: Vec<(usize, u64)>,
}

/// Stores through arguments that may be one, with random tags.
fn module(rng: &mut SmallRng) -> String {
    let mut nodes: Vec<String> = Vec::new();
    let mut node = |text: String| {
        nodes.push(text);
        nodes.len() - 1
    };
    let mut types: Vec<Type> = Vec::new();
    for language in 0..2 {
        let root = node(format!("!{{!\"language {language}\"}}"));
        let any = node(format!("!{{!\"char\", !{root}, i64 0}}"));
        types.push(Type { node: any, size: 1, scalars: vec![(any, 0)] });
        for name in ["int", "float", "pointer"] {
            let scalar = node(format!("!{{!\"{name}\", !{any}, i64 0}}"));
            types.push(Type { node: scalar, size: 4, scalars: vec![(scalar, 0)] });
        }
        let above = types.last().expect("just made").node;
        let special = node(format!("!{{!\"special pointer\", !{above}, i64 0}}"));
        types.push(Type { node: special, size: 4, scalars: vec![(special, 0)] });
    }
    for number in 0..6 {
        let (mut text, mut at, mut scalars) = (format!("!{{!\"s{number}\""), 0, Vec::new());
        for _ in 0..rng.random_range(1..4) {
            let field = &types[rng.random_range(0..types.len())];
            at = u64::next_multiple_of(at, field.size.min(4));
            text += &format!(", !{}, i64 {at}", field.node);
            scalars.extend(field.scalars.iter().map(|(scalar, offset)| (*scalar, at + offset)));
            at += field.size;
        }
        let structure = node(text + "}");
        types.push(Type { node: structure, size: at, scalars });
    }
    let mut tags = Vec::new();
    for _ in 0..STORES {
        let of = &types[rng.random_range(0..types.len())];
        let (scalar, offset) = of.scalars[rng.random_range(0..of.scalars.len())];
        tags.push(node(format!("!{{!{}, !{scalar}, i64 {offset}}}", of.node)));
    }
    let parameters: Vec<String> = (0..STORES).map(|i| format!("ptr %p{i}")).collect();
    let mut text = format!("define void @f({}) {{\n", parameters.join(", "));
    for (i, tag) in tags.iter().enumerate() {
        text += &format!("  store i32 {i}, ptr %p{i}, align 4, !tbaa !{tag}\n");
    }
    text += "  ret void\n}\n";
    for (number, node) in nodes.iter().enumerate() {
        text += &format!("!{number} = {node}\n");
    }
    text
}

/// Which pairs LLVM says do not alias, by the values stored.
fn theirs(opt: &llvm_tools::Program, text: &str) -> BTreeMap<(usize, usize), bool> {
    let flags = [
        "-aa-pipeline=tbaa",
        "-passes=aa-eval",
        "-print-all-alias-modref-info",
        "-evaluate-aa-metadata",
        "-disable-output",
        "-",
    ];
    let outcome = opt.run(flags, text.as_bytes()).expect("it starts");
    assert!(outcome.success(), "{}\n{text}", outcome.summary());
    let mut pairs = BTreeMap::new();
    for line in String::from_utf8_lossy(&outcome.stderr).lines() {
        let Some((a, b)) = line.split_once(" <-> ") else { continue };
        let stored = |text: &str| {
            let rest = text.split("store i32 ").nth(1)?;
            rest.split(',').next()?.parse::<usize>().ok()
        };
        if let (Some(a), Some(b)) = (stored(a), stored(b)) {
            pairs.insert((a.min(b), a.max(b)), line.trim_start().starts_with("NoAlias"));
        }
    }
    pairs
}

#[test]
fn as_llvm_says() {
    let Some(opt) = llvm_tools::require("opt") else { return };
    let (mut compared, mut apart) = (0, 0);
    for seed in 0..60 {
        let text = module(&mut SmallRng::seed_from_u64(seed));
        let theirs = theirs(&opt, &text);
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).expect("it is valid");
        let function = session.function(module, "f").expect("it is defined");
        let code = session.code(function);
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let stores: Vec<_> =
            insts.filter(|&inst| code.body.inst(inst).opcode == Opcode::Store).collect();
        for ((a, b), is_apart) in theirs {
            let input = function.input();
            let ours = !queries::may_alias_by_type(session.database(), input, stores[a], stores[b]);
            assert_eq!(ours, is_apart, "seed {seed}: stores {a} and {b}\n{text}");
            compared += 1;
            apart += usize::from(is_apart);
        }
    }
    assert!(compared > 5000 && apart > 1000 && apart < compared - 1000, "{apart} of {compared}");
}

/// Tags that the verifier refuses, in code that is analysed anyway: an access in the middle of a
/// scalar may alias that scalar.
#[test]
fn the_middle_of_a_scalar_is_of_it() {
    let text = r#"
define void @f(ptr %p, ptr %q) {
  store i32 0, ptr %p, align 4, !tbaa !4
  store i32 1, ptr %q, align 4, !tbaa !5
  ret void
}
!0 = !{!"language"}
!1 = !{!"char", !0, i64 0}
!2 = !{!"int", !1, i64 0}
!3 = !{!"pair", !2, i64 0, !2, i64 4}
!4 = !{!3, !2, i64 6}
!5 = !{!2, !2, i64 0}
"#;
    let mut session = Session::new();
    let module = session
        .read_unverified(text.as_bytes(), TargetOverrides::default())
        .expect("it can be read");
    let function = session.function(module, "f").expect("it is defined");
    let code = session.code(function);
    let stores: Vec<_> = code.body.block_insts(code.flow.order()[0]).take(2).collect();
    let (db, input) = (session.database(), function.input());
    assert!(queries::may_alias_by_type(db, input, stores[0], stores[1]));
}
