//! Sets are canonical, lookups find what was added, and lists drop trailing empty sets.

use super::*;

fn set(context: &Context, attributes: &[Attribute]) -> AttrSet {
    let mut builder = AttrSetBuilder::new();
    for attribute in attributes {
        builder.add(attribute.clone());
    }
    builder.finish(context)
}

#[test]
fn equal_contents_are_one_set() {
    let context = Context::new();
    let [a, b] = [b"b", b"a"].map(|key| Attribute::Text(context.symbol(key), None));
    let cold = Attribute::Enum(AttrKind::Cold);
    let one = set(&context, &[a.clone(), cold.clone(), b.clone()]);
    let two = set(&context, &[cold.clone(), b.clone(), a.clone(), a.clone()]);
    assert_eq!(one, two);
    assert_eq!(context.attr_set_data(one).attributes(), [cold, b, a]);
    assert_eq!(set(&context, &[]), AttrSet::EMPTY);
}

#[test]
fn the_last_of_a_kind_wins() {
    let context = Context::new();
    let key = context.symbol(b"k");
    let value = context.symbol(b"v");
    let set = set(
        &context,
        &[
            Attribute::Int(AttrKind::Align, 8),
            Attribute::Text(key, None),
            Attribute::Int(AttrKind::Align, 16),
            Attribute::Text(key, Some(value)),
        ],
    );
    let data = context.attr_set_data(set);
    assert_eq!(data.align(), Some(16));
    assert_eq!(data.text(key), Some(value));
    assert_eq!(data.attributes().len(), 2);
}

#[test]
fn lookups_by_kind() {
    let context = Context::new();
    let low = context.int_const(Type::I32, 1);
    let high = context.int_const(Type::I32, 5);
    let effects = MemoryEffects::only(MemoryLocation::ArgMem, Access::Read);
    let set = set(
        &context,
        &[
            Attribute::Ranges(AttrKind::Initializes, [(0, 4)].into()),
            Attribute::Int(AttrKind::Memory, effects.raw()),
            Attribute::Enum(AttrKind::Convergent),
            Attribute::Type(AttrKind::ByVal, Type::I64),
            Attribute::Range(AttrKind::Range, low, high),
            Attribute::Enum(AttrKind::NoSync),
        ],
    );
    let data = context.attr_set_data(set);
    assert!(
        data.has(AttrKind::Convergent) && data.has(AttrKind::NoSync) && !data.has(AttrKind::NoFree)
    );
    assert_eq!(data.get(AttrKind::NoSync), Some(&Attribute::Enum(AttrKind::NoSync)));
    assert_eq!(data.type_of(AttrKind::ByVal), Some(Type::I64));
    assert_eq!(data.memory(), Some(effects));
    assert_eq!(data.range(), Some((low, high)));
    assert_eq!(data.initializes(), [(0, 4)]);
    assert_eq!(data.align(), None);
    assert_eq!(data.captures(), None);
}

#[test]
fn lists_are_canonical() {
    let context = Context::new();
    let cold = set(&context, &[Attribute::Enum(AttrKind::Cold)]);
    let key = context.symbol(b"k");
    let data = AttrListData::new(cold, AttrSet::EMPTY, &[AttrSet::EMPTY, cold, AttrSet::EMPTY]);
    assert_eq!(data.params.len(), 2);
    assert_eq!((data.param(1), data.param(7)), (cold, AttrSet::EMPTY));
    let list = context.attr_list(&data);
    assert!(context.function_attrs(list).has(AttrKind::Cold));
    assert!(context.param_attrs(list, 1).has(AttrKind::Cold));
    assert!(context.return_attrs(list).is_empty());
    assert_eq!(context.function_attr_text(list, "k"), None);
    let other = set(&context, &[Attribute::Text(key, None)]);
    let changed = context.with_function_attrs(list, other);
    assert_eq!(context.function_attr_text(changed, "k"), Some(&b""[..]));
    assert_eq!(context.with_function_attrs(changed, cold), list);
}
