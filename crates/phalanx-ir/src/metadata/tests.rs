//! Nodes are canonical, packed values are read back unchanged, and facts are read from nodes of the
//! right shape only.

use super::table::Entry;
use super::*;
use crate::{constant::Const, context::Context, symbol::Symbol, types::Type};

fn fields(metadata: &Metadata, id: MetadataId) -> Vec<(&'static str, MetadataValue)> {
    metadata.fields(id).map(|(field, value)| (field.text(), value)).collect()
}

fn set(builder: &mut NodeBuilder, name: &str, value: MetadataValue) {
    let place =
        builder.kind().fields().iter().position(|f| f.name.text() == name).expect("a field");
    assert!(builder.set_at(place, value));
}

#[test]
fn values_survive_packing() {
    let context = Context::new();
    let values = [
        MetadataValue::Null,
        MetadataValue::Node(MetadataId::from_raw(u32::MAX.into())),
        MetadataValue::String(Symbol::from_raw(7)),
        MetadataValue::Const(Const::from_raw(u32::MAX)),
        MetadataValue::Int(-1),
        MetadataValue::Int(MetadataValue::INT_LIMIT - 1),
        MetadataValue::Int(-MetadataValue::INT_LIMIT),
        MetadataValue::BigInt(Symbol::from_raw(3)),
        MetadataValue::Operation(0x1000),
        MetadataValue::Encoding(5),
    ];
    for value in values {
        let entry = Entry::new(200, value);
        assert_eq!((entry.field(), entry.value()), (200, value));
    }
    for number in [0, -5, i128::from(u64::MAX), i128::MIN, 1 << 47, -(1 << 47) - 1] {
        assert_eq!(MetadataValue::int(&context, number).as_int(&context), Some(number));
    }
}

#[test]
fn fields_are_canonical() {
    let mut metadata = Metadata::new();
    let scope = metadata.add(NodeBuilder::tuple(false, [])).unwrap();
    let mut location = NodeBuilder::new(NodeKind::Location, false);
    set(&mut location, "scope", MetadataValue::Node(scope));
    set(&mut location, "column", MetadataValue::Int(0));
    set(&mut location, "inlinedAt", MetadataValue::Null);
    let location = metadata.add(location).unwrap();
    assert_eq!(
        fields(&metadata, location),
        [("line", MetadataValue::Int(0)), ("scope", MetadataValue::Node(scope))]
    );
    assert_eq!(metadata.field(location, Field::Column), None);
}

#[test]
fn missing_fields_are_told() {
    let mut metadata = Metadata::new();
    let error = |kind, distinct| Metadata::new().add(NodeBuilder::new(kind, distinct)).unwrap_err();
    assert_eq!(error(NodeKind::Location, false), "missing required field `scope`");
    assert!(error(NodeKind::AssignID, false).contains("distinct"));
    assert!(error(NodeKind::Subprogram, false).contains("distinct"));
    assert!(metadata.add(NodeBuilder::new(NodeKind::Subprogram, true)).is_ok());
}

#[test]
fn a_node_that_is_refused_is_not_added() {
    let mut metadata = Metadata::new();
    assert!(metadata.add(NodeBuilder::new(NodeKind::Location, false)).is_err());
    assert_eq!(metadata, Metadata::new());
}

/// If nodes were only added, functions that refer to the old ones need not be verified again.
#[test]
fn additions_leave_what_was_there() {
    let context = Context::new();
    let seven = MetadataValue::Const(context.const_i32(7));
    let mut old = Metadata::new();
    let node = old.add(NodeBuilder::tuple(false, [seven])).unwrap();
    let extends = |change: &dyn Fn(&mut Metadata)| {
        let mut new = old.clone();
        change(&mut new);
        new.extends(&old)
    };
    assert!(extends(&|new| drop(new.add(NodeBuilder::tuple(false, [])))));
    assert!(!extends(&|new| drop(new.define(node, NodeBuilder::tuple(false, [seven])))));
    assert!(!extends(&|new| new.forget(|_| true)));
    assert!(!extends(&|new| new.add_named(context.symbol(b"name"), &[node])));
}

#[test]
fn older_fields_of_subprograms_become_flags() {
    let mut metadata = Metadata::new();
    let mut builder = NodeBuilder::new(NodeKind::Subprogram, true);
    set(&mut builder, "isLocal", MetadataValue::Int(1));
    set(&mut builder, "virtuality", MetadataValue::Int(1));
    let node = metadata.add(builder).unwrap();
    assert_eq!(
        fields(&metadata, node),
        [
            ("scope", MetadataValue::Null),
            ("virtualIndex", MetadataValue::Int(0)),
            ("spFlags", MetadataValue::Int(1 << 3 | 1 << 2 | 1)),
        ]
    );
}

#[test]
fn operands_are_in_numbering_order() {
    let mut metadata = Metadata::new();
    let [scope, file, ty] = [(); 3].map(|()| metadata.add(NodeBuilder::tuple(true, [])).unwrap());
    let mut builder = NodeBuilder::new(NodeKind::DerivedType, false);
    set(&mut builder, "tag", MetadataValue::Int(0xd));
    set(&mut builder, "scope", MetadataValue::Node(scope));
    set(&mut builder, "baseType", MetadataValue::Node(ty));
    set(&mut builder, "file", MetadataValue::Node(file));
    let node = metadata.add(builder).unwrap();
    assert_eq!(metadata.operands(node).to_vec(), [file, scope, ty]);
    let tuple = [ty, scope, ty].map(MetadataValue::Node);
    let tuple = metadata.add(NodeBuilder::tuple(false, tuple)).unwrap();
    assert_eq!(metadata.operands(tuple).to_vec(), [ty, scope, ty]);
}

#[test]
fn a_node_that_holds_itself_is_distinct() {
    let mut metadata = Metadata::new();
    let node = metadata.reserve();
    metadata.define(node, NodeBuilder::tuple(false, [MetadataValue::Node(node)])).unwrap();
    assert!(metadata.is_distinct(node));
    assert_eq!(metadata.operands(node).to_vec(), [node]);
}

#[test]
fn kinds_are_ordered_by_first_use() {
    let context = Context::new();
    let mut metadata = Metadata::new();
    assert_eq!(context.bytes(kind::DBG), b"dbg");
    assert_eq!(context.bytes(kind::IMPLICIT_REF), b"implicit.ref");
    let [b, a] = [b"b", b"a"].map(|name| context.symbol(name));
    metadata.use_kind(kind::TBAA);
    metadata.use_kind(b);
    metadata.use_kind(a);
    metadata.use_kind(b);
    let mut kinds = [a, kind::RANGE, b, kind::DBG];
    kinds.sort_by_key(|&k| metadata.kind_rank(k));
    assert_eq!(kinds, [kind::DBG, kind::RANGE, b, a]);
}

#[test]
fn facts() {
    let context = Context::new();
    let mut metadata = Metadata::new();
    let int = |value| MetadataValue::Const(context.int_const(Type::I32, value));
    let text = |text: &str| MetadataValue::String(context.symbol(text.as_bytes()));
    let size = metadata.add(NodeBuilder::tuple(false, [int(8), int(4), int(1)])).unwrap();
    let kind = context.symbol(b"reqd_work_group_size");
    let attachments = [Attachment { kind, node: size }];
    assert_eq!(metadata.required_work_group_size(&context, &attachments), Some([8, 4, 1]));
    assert_eq!(metadata.required_work_group_size(&context, &[]), None);

    let entity = context.int_const(Type::I32, 99);
    let note = [MetadataValue::Const(entity), text("kernel"), int(1), text("maxntidx"), int(256)];
    let note = metadata.add(NodeBuilder::tuple(false, note)).unwrap();
    let odd = metadata.add(NodeBuilder::tuple(false, [text("kernel"), int(1)])).unwrap();
    metadata.add_named(context.symbol(b"nvvm.annotations"), &[odd, note]);
    let notes = metadata.nvvm_annotations(&context);
    let notes: Vec<_> = notes.iter().map(|n| (n.entity, context.text(n.key), n.value)).collect();
    assert_eq!(notes, [(entity, "kernel".into(), 1), (entity, "maxntidx".into(), 256)]);

    let range = metadata.add(NodeBuilder::tuple(false, [int(0), int(64)])).unwrap();
    let (low, high) = (context.int_const(Type::I32, 0), context.int_const(Type::I32, 64));
    let attachments = [Attachment { kind: kind::RANGE, node: range }];
    assert_eq!(metadata.range(&attachments), Some(vec![(low, high)]));
    assert!(!Metadata::is_invariant_load(&attachments));
    assert!(Metadata::is_invariant_load(&[Attachment { kind: kind::INVARIANT_LOAD, node: range }]));

    let flag =
        metadata.add(NodeBuilder::tuple(false, [int(1), text("wchar_size"), int(4)])).unwrap();
    metadata.add_named(context.symbol(b"llvm.module.flags"), &[flag]);
    assert_eq!(metadata.module_flag(&context, "wchar_size"), Some(4));
    assert_eq!(metadata.module_flag(&context, "PIC Level"), None);
}
