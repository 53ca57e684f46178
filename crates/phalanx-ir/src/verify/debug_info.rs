//! Rules for nodes of debug information that named metadata leads to.
//!
//! LLVM drops debug information that describes code if it breaks a rule, with a warning. Nodes that
//! named metadata refers to are not dropped, and a broken one is an error:
//!
//! ```text
//! !named = !{!0}
//! !0 = !DIExpression(DW_OP_swap)
//! ```
//!
//! is refused, since there is nothing to swap. Each node is looked at once: O(nodes reached).

use rustc_hash::FxHashSet;

use crate::{
    metadata::{Field, Metadata, MetadataId, MetadataValue, NodeKind},
    verify::{
        env::Env,
        fault::{Check, ensure},
    },
};

/// The rules of all nodes that named metadata reaches, except `!llvm.dbg.*`, which describes code.
pub(crate) fn named(env: &Env<'_>, mut report: impl FnMut(Check)) {
    let metadata = &env.module.metadata;
    let context = env.types.context;
    let mut stack: Vec<MetadataId> = Vec::new();
    for named in metadata.named() {
        if !context.bytes(named.name).starts_with(b"llvm.dbg.") {
            stack.extend(named.operands.iter().rev());
        }
    }
    if stack.is_empty() {
        return;
    }
    // If the version differs from today's, LLVM drops this list with all debug information of code.
    let units = context
        .find_symbol(b"llvm.dbg.cu")
        .filter(|_| has_version_of_today(env))
        .map_or(&[][..], |name| metadata.named_operands(name));
    let mut seen = FxHashSet::default();
    while let Some(node) = stack.pop() {
        if (node.into_raw().into_u32() as usize) >= metadata.len() || !seen.insert(node) {
            continue;
        }
        report(one(metadata, units, node));
        stack.extend(metadata.operands(node).into_iter().rev());
    }
}

/// Whether the flags of the module state the version of debug information that LLVM 22 writes.
fn has_version_of_today(env: &Env<'_>) -> bool {
    let (metadata, context) = (&env.module.metadata, env.types.context);
    let Some(flags) = context.find_symbol(b"llvm.module.flags") else { return false };
    metadata.named_operands(flags).iter().any(|&flag| {
        if (flag.into_raw().into_u32() as usize) >= metadata.len() {
            return false;
        }
        let name = metadata.element(flag, 1).and_then(MetadataValue::as_string);
        let version = metadata.element(flag, 2).and_then(MetadataValue::as_const);
        name.is_some_and(|name| context.bytes(name) == b"Debug Info Version")
            && version.and_then(|version| env.types.const_int(version)) == Some(3)
    })
}

/// The rules of one node.
fn one(metadata: &Metadata, units: &[MetadataId], node: MetadataId) -> Check {
    let kind_of = |value: Option<MetadataValue>| {
        value.and_then(MetadataValue::as_node).map(|node| metadata.node_kind(node))
    };
    let field = |field: Field| kind_of(metadata.field(node, field));
    let kind = metadata.node_kind(node);
    let is_text =
        |field: Field| matches!(metadata.field(node, field), Some(MetadataValue::String(_)));
    match kind {
        NodeKind::Expression => ensure!(expression(metadata, node), "invalid expression"),
        NodeKind::CompileUnit => {
            ensure!(metadata.is_distinct(node), "compile units must be distinct");
            ensure!(units.contains(&node), "DICompileUnit not listed in llvm.dbg.cu");
        }
        NodeKind::DerivedType => {
            ensure!(
                is_type(field(Field::BaseType)) && !is_text(Field::BaseType),
                "invalid base type"
            );
            let tag = number(metadata, node, Field::Tag);
            ensure!(
                ![INHERITANCE, MEMBER, VARIABLE].contains(&tag) || is_extra_data(metadata, node),
                "extraData must be ConstantAsMetadata, MDString, DIObjCProperty, or MDTuple with single ConstantAsMetadata operand"
            );
            let has_space = metadata.field(node, Field::DwarfAddressSpace).is_some();
            ensure!(
                !has_space || [POINTER, REFERENCE, RVALUE_REFERENCE].contains(&tag),
                "DWARF address space only applies to pointer or reference types"
            );
        }
        NodeKind::CompositeType => {
            ensure!(!is_text(Field::BaseType), "invalid base type");
            composite(metadata, node, &field)?;
        }
        NodeKind::Subrange | NodeKind::GenericSubrange => {
            let has = |field: Field| metadata.field(node, field).is_some_and(is_something);
            let name = if kind == NodeKind::Subrange { "Subrange" } else { "GenericSubrange" };
            ensure!(
                !(has(Field::Count) && has(Field::UpperBound)),
                format!("{name} can have any one of count or upperBound")
            );
            for (of, text) in BOUNDS {
                ensure!(
                    is_bound(metadata, node, of, kind),
                    format!("{text} must be signed constant or DIVariable or DIExpression")
                );
            }
            if kind == NodeKind::GenericSubrange {
                ensure!(has(Field::LowerBound), "GenericSubrange must contain lowerBound");
                ensure!(has(Field::Stride), "GenericSubrange must contain stride");
            }
        }
        _ => {}
    }
    Ok(())
}

const BOUNDS: [(Field, &str); 4] = [
    (Field::Count, "Count"),
    (Field::LowerBound, "LowerBound"),
    (Field::UpperBound, "UpperBound"),
    (Field::Stride, "Stride"),
];

// Tags and flags of DWARF and LLVM.
const ARRAY: i64 = 0x01;
const MEMBER: i64 = 0x0d;
const POINTER: i64 = 0x0f;
const REFERENCE: i64 = 0x10;
const INHERITANCE: i64 = 0x1c;
const VARIANT_PART: i64 = 0x33;
const VARIABLE: i64 = 0x34;
const RVALUE_REFERENCE: i64 = 0x42;
const PASS_BY_VALUE: i64 = 1 << 22;
const PASS_BY_REFERENCE: i64 = 1 << 23;

fn is_something(value: MetadataValue) -> bool {
    value != MetadataValue::Null
}

/// A number of a field; 0 if the field is absent.
fn number(metadata: &Metadata, node: MetadataId, field: Field) -> i64 {
    match metadata.field(node, field) {
        Some(MetadataValue::Int(number)) => number,
        _ => 0,
    }
}

/// Whether a node may stand for a type: it is a type, or absent.
fn is_type(kind: Option<NodeKind>) -> bool {
    kind.is_none_or(|kind| {
        matches!(
            kind,
            NodeKind::BasicType
                | NodeKind::FixedPointType
                | NodeKind::StringType
                | NodeKind::DerivedType
                | NodeKind::CompositeType
                | NodeKind::SubroutineType
                | NodeKind::SubrangeType
        )
    })
}

/// Whether the extra data of a member is a constant, alone or in a list, a string or a property.
fn is_extra_data(metadata: &Metadata, node: MetadataId) -> bool {
    let Some(value) = metadata.field(node, Field::ExtraData) else { return true };
    match value {
        MetadataValue::Node(node) => match metadata.node_kind(node) {
            NodeKind::ObjCProperty => true,
            NodeKind::Tuple => {
                metadata.values(node).len() == 1
                    && matches!(metadata.element(node, 0), Some(MetadataValue::Const(_)))
            }
            _ => false,
        },
        _ => true,
    }
}

fn is_bound(metadata: &Metadata, node: MetadataId, field: Field, of: NodeKind) -> bool {
    match metadata.field(node, field) {
        Some(MetadataValue::Node(bound)) => match metadata.node_kind(bound) {
            NodeKind::LocalVariable | NodeKind::GlobalVariable | NodeKind::Expression => true,
            kind => of == NodeKind::Subrange && kind == NodeKind::DerivedType,
        },
        Some(MetadataValue::Const(_) | MetadataValue::String(_)) => of == NodeKind::Subrange,
        _ => true,
    }
}

fn composite(
    metadata: &Metadata,
    node: MetadataId,
    field: &dyn Fn(Field) -> Option<NodeKind>,
) -> Check {
    ensure!(is_type(field(Field::BaseType)), "invalid base type");
    let is_list = |of: Field| field(of).is_none_or(|kind| kind == NodeKind::Tuple);
    ensure!(is_list(Field::Elements), "invalid composite elements");
    let flags = number(metadata, node, Field::Flags);
    let both = PASS_BY_VALUE | PASS_BY_REFERENCE;
    ensure!(flags & both != both, "invalid reference flags");
    if let Some(MetadataValue::Node(list)) = metadata.field(node, Field::Elements) {
        ensure!(
            metadata.values(list).all(is_something),
            "DISubprogram contains null entry in `elements` field"
        );
    }
    ensure!(is_list(Field::TemplateParams), "invalid template params");
    if let Some(MetadataValue::Node(list)) = metadata.field(node, Field::TemplateParams) {
        let is_parameter = |value: MetadataValue| {
            let kind = value.as_node().map(|node| metadata.node_kind(node));
            matches!(kind, Some(NodeKind::TemplateTypeParameter | NodeKind::TemplateValueParameter))
        };
        ensure!(metadata.values(list).all(is_parameter), "invalid template parameter");
    }
    let tag = number(metadata, node, Field::Tag);
    let has = |field: Field| metadata.field(node, field).is_some_and(is_something);
    ensure!(
        !has(Field::Discriminator) || tag == VARIANT_PART,
        "discriminator can only appear on variant part"
    );
    for (of, text) in [
        (Field::DataLocation, "dataLocation"),
        (Field::Associated, "associated"),
        (Field::Allocated, "allocated"),
        (Field::Rank, "rank"),
    ] {
        ensure!(!has(of) || tag == ARRAY, format!("{text} can only appear in array type"));
    }
    Ok(())
}

/// Whether the operations of an expression are known, have their operands, and come in an order
/// that makes sense.
fn expression(metadata: &Metadata, node: MetadataId) -> bool {
    let numbers: Vec<i64> = metadata
        .values(node)
        .map(|value| match value {
            MetadataValue::Operation(code) | MetadataValue::Encoding(code) => i64::from(code),
            MetadataValue::Int(number) => number,
            _ => i64::MAX,
        })
        .collect();
    const FRAGMENT: i64 = 0x1000;
    const ARGUMENT: i64 = 0x1005;
    let mut rest = &numbers[..];
    while let Some(&operation) = rest.first() {
        let operands = match operation {
            0x1000 | 0x1001 | 0x1006 | 0x1007 | 0x92 => 2,
            0x1002 | 0x1003 | 0x1005 | 0x10 | 0x11 | 0x23 | 0x70..=0x90 | 0x94 => 1,
            _ => 0,
        };
        let Some(after) = rest.get(1 + operands..) else { return false };
        match operation {
            // Registers, constants, arithmetic, comparisons, and LLVM's own.
            0x50..=0x90 | 0x92 | 0x94 | 0x97 | 0x06 | 0x10..=0x12 | 0x14 | 0x17..=0x27 => {}
            0x29..=0x2e | 0x30 | 0x1001 | 0x1002 | 0x1004..=0x1007 => {}
            // A fragment comes last.
            FRAGMENT => return after.is_empty(),
            // The value of the expression: nothing but a fragment follows.
            0x9f => {
                if after.first().is_some_and(|&next| next != FRAGMENT) {
                    return false;
                }
            }
            // `DW_OP_swap` needs a value to swap with.
            0x16 => {
                if numbers.len() == 1 {
                    return false;
                }
            }
            // An entry value comes first and covers one operation.
            0x1003 => {
                let before = &numbers[..numbers.len() - rest.len()];
                return rest[1] == 1 && (before.is_empty() || before == [ARGUMENT, 0]);
            }
            _ => return false,
        }
        rest = after;
    }
    true
}
