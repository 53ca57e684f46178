//! The schema of metadata nodes and the names of their numbers, against LLVM: whatever they allow,
//! LLVM takes.

use crate::support;

use std::fmt::Write as _;

use phalanx_ir::metadata::{FieldSchema, FieldType, NameTable, NodeKind, Presence};
use support::{Llvm, first_difference, ours};

/// A simple generator: the sequence only has to be varied, and the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn choose<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

/// A value that a field may have.
fn value(random: &mut Random, field: &FieldSchema) -> String {
    const NODES: [&str; 4] = ["!1000", "!1001", "!{!\"x\"}", "!\"text\""];
    let number = |random: &mut Random, limit: u64| {
        let values = [0, 1, 7, limit / 2, limit];
        values[random.below(values.len())].min(limit).to_string()
    };
    let nodes = |random: &mut Random| random.choose(&NODES).to_owned();
    match field.ty {
        FieldType::Uint(limit) => number(random, limit),
        FieldType::Int(low, high) => [low, -1, 0, 5, high][random.below(5)].to_string(),
        FieldType::BigInt => {
            random.choose(&["0", "255", "340282366920938463463374607431768211456"]).to_owned()
        }
        FieldType::Bool => random.choose(&["true", "false"]).to_owned(),
        FieldType::String => random.choose(&["\"a\"", "\"b\\22\\\\\"", "\"c d\""]).to_owned(),
        FieldType::NonEmptyString => "\"s\"".to_owned(),
        FieldType::Node if random.below(4) == 0 => "null".to_owned(),
        FieldType::Node | FieldType::NonNullNode => nodes(random),
        FieldType::NodeOrUint if random.below(2) == 0 => number(random, u64::MAX),
        FieldType::NodeOrInt | FieldType::NodeOrExpression | FieldType::NodeOrI64
            if random.below(2) == 0 =>
        {
            random
                .choose(&["-9223372036854775808", "-1", "0", "8", "9223372036854775807"])
                .to_owned()
        }
        FieldType::NonNullNodeOrInt(low) if random.below(2) == 0 => {
            [low, 0, 8, i64::MAX][random.below(4)].to_string()
        }
        FieldType::NodeOrUint
        | FieldType::NodeOrInt
        | FieldType::NodeOrExpression
        | FieldType::NodeOrI64
        | FieldType::NonNullNodeOrInt(_) => random.choose(&["!1000", "!1001", "!{}"]).to_owned(),
        FieldType::Named(table, _) => {
            table.entries()[random.below(table.entries().len())].0.to_owned()
        }
        FieldType::Mask(table) => {
            let name = |random: &mut Random| table.entries()[random.below(table.entries().len())].0;
            let (first, second) = (name(random), name(random));
            if random.below(2) == 0 { first.to_owned() } else { format!("{first} | {second} | 64") }
        }
        FieldType::List => {
            random.choose(&["{}", "{null, !1000}", "{!\"x\", i32 5, !{}, !1001}"]).to_owned()
        }
    }
}

/// What the table cannot say: fields that exclude or demand each other, and what LLVM 22 does not
/// survive.
fn is_possible(kind: NodeKind, fields: &[(&str, String)]) -> bool {
    let has = |name: &str| fields.iter().any(|(field, _)| *field == name);
    match kind {
        // The expression of such a node is taken for one without a look.
        NodeKind::GlobalVariableExpression => false,
        NodeKind::CompileUnit => {
            has("language") != has("sourceLanguageName")
                && (has("sourceLanguageName") || !has("sourceLanguageVersion"))
        }
        // LLVM leaves these out, and then does not read what it has written.
        NodeKind::Label if fields.iter().any(|(_, value)| value == "null" || value == "0") => false,
        // LLVM keeps fewer bits of these than it reads.
        NodeKind::Label => {
            !fields.iter().any(|(name, value)| *name == "coroSuspendIdx" && value.len() > 1)
        }
        NodeKind::Location => {
            !fields.iter().any(|(name, value)| name.starts_with("atom") && value.len() > 1)
        }
        NodeKind::File => has("checksum") == has("checksumkind"),
        // LLVM keeps these in the place of the alignment unless the tag says that they are there.
        NodeKind::DerivedType => !fields.iter().any(|(name, _)| name.starts_with("ptrAuth")),
        // These do not survive LLVM's bitcode when they are negative or large.
        NodeKind::FixedPointType => {
            let is_small = |(name, value): &(&str, String)| {
                *name != "factor" || matches!(&value[..], "0" | "5")
            };
            !has("denominator") && !has("numerator") && fields.iter().all(is_small)
        }
        _ => true,
    }
}

/// For random fields of every kind of node: LLVM takes what the schema allows, and writes what we
/// write.
#[test]
fn the_schema_is_llvms() {
    let mut random = Random(7);
    let mut text =
        String::from("!1000 = distinct !{!\"first\"}\n!1001 = distinct !{!\"second\"}\n");
    let mut numbers = 2000..;
    let mut all = Vec::new();
    for &kind in &NodeKind::ALL[2..] {
        for _ in 0..40 {
            let mut fields = Vec::new();
            for field in kind.fields() {
                let given = field.presence == Presence::Required || random.below(2) == 0;
                if given {
                    fields.push((field.name.text(), value(&mut random, field)));
                }
            }
            if !is_possible(kind, &fields) {
                continue;
            }
            // Any order will do.
            (1..fields.len()).rev().for_each(|at| fields.swap(at, random.below(at + 1)));
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            // Ranges are never distinct once they have been through bitcode.
            let uniqued = matches!(kind, NodeKind::Subrange | NodeKind::GenericSubrange);
            let distinct = if uniqued { "" } else { "distinct " };
            let node = format!("!{}", numbers.next().expect("a number"));
            writeln!(text, "{node} = {distinct}!{}({})", kind.text(), fields.join(", ")).unwrap();
            all.push(node);
        }
    }
    writeln!(text, "!n = !{{{}}}", all.join(", ")).unwrap();
    let written = ours(text.as_bytes()).expect("a module");
    assert_eq!(first_difference(&ours(&written).expect("what we write"), &written), None);
    let Some(llvm) = Llvm::find() else { return };
    let theirs = llvm.rewrite(text.as_bytes()).expect("LLVM reads it");
    assert_eq!(first_difference(&llvm.rewrite(&written).expect("LLVM reads ours"), &theirs), None);
    assert_eq!(first_difference(&written, &theirs), None);
}

/// LLVM knows the names of our tables, and no number has another name.
#[test]
fn names_of_numbers_are_llvms() {
    let mut text = String::new();
    let mut number = 0;
    let mut node = |fields: &dyn Fn(&str) -> String, table: NameTable| {
        for (name, _) in table.entries() {
            writeln!(text, "!{number} = distinct {}", fields(name)).unwrap();
            number += 1;
        }
    };
    node(&|name| format!("!DIImportedEntity(tag: {name}, scope: null)"), NameTable::Tag);
    node(&|name| format!("!DIBasicType(encoding: {name})"), NameTable::Encoding);
    node(
        &|name| format!("!DICompositeType(tag: DW_TAG_member, runtimeLang: {name})"),
        NameTable::Language,
    );
    node(
        &|name| format!("!DISubroutineType(cc: {name}, types: null)"),
        NameTable::CallingConvention,
    );
    node(&|name| format!("!DIMacro(type: {name}, name: \"a\")"), NameTable::Macinfo);
    node(&|name| format!("!DIBasicType(flags: {name})"), NameTable::Flag);
    node(&|name| format!("!DISubprogram(spFlags: {name})"), NameTable::SubprogramFlag);
    let all: Vec<_> = (0..number).map(|number| format!("!{number}")).collect();
    writeln!(text, "!n = !{{{}}}", all.join(", ")).unwrap();
    let operations =
        NameTable::Operation.entries().iter().map(|(name, _)| format!("!DIExpression({name})"));
    writeln!(text, "!m = !{{{}}}", operations.collect::<Vec<_>>().join(", ")).unwrap();
    let written = ours(text.as_bytes()).expect("a module");
    let Some(llvm) = Llvm::find() else { return };
    let theirs = llvm.rewrite(text.as_bytes()).expect("LLVM reads it");
    let again = llvm.rewrite(&written).expect("LLVM reads ours");
    assert_eq!(first_difference(&again, &theirs), None);
    // LLVM writes operations as numbers in expressions that mean nothing.
    let nodes = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().filter(|line| !line.starts_with("!m = ")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(first_difference(nodes(&written).as_bytes(), nodes(&theirs).as_bytes()), None);
}
