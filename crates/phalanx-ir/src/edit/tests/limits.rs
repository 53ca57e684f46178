//! Edits that a transaction refuses since an id would not fit, and edits after which no value or
//! edge is left.

use super::{super::*, diamond};
use crate::{FunctionBuilder, InstBuilder, ModuleBuilder, builder::FunctionSpec};
use expect_test::expect;
use std::sync::Arc;

/// Phis in unreachable code may have each other as their only values. Then the block cannot be
/// merged away, since no value replaces them.
#[test]
fn blocks_with_phis_that_stand_for_each_other_do_not_merge() {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(Arc::clone(&context));
    let spec = FunctionSpec::new(Type::VOID).param(Type::I32, "n");
    let mut f: FunctionBuilder<'_> = module.define_function("f", &spec).unwrap();
    let [entry, from, next] = ["entry", "from", "next"].map(|b| f.block(b));
    f.switch_to(entry);
    f.ret_void().unwrap();
    f.switch_to(from);
    f.br(next).unwrap();
    f.switch_to(next);
    let [a, b, c] = ["a", "b", "c"].map(|name| f.named(name).phi(Type::I32).unwrap());
    for (phi, value) in [(a, b), (b, c), (c, b)] {
        f.add_incoming(phi, value, from).unwrap();
    }
    f.ret_void().unwrap();
    f.finish().unwrap();
    let mut module = module.finish().unwrap();
    let before = module.clone();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    let error = edit.merge_successor(from).unwrap_err();
    expect!["@f: %b reads itself alone"].assert_eq(&error.to_string());
    edit.commit().unwrap();
    assert!(module == before, "what fails changes nothing");
}

/// An id beyond the limit is refused like an id that this function does not have.
#[test]
fn ids_that_do_not_fit_are_refused() {
    let mut module = diamond();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    let inst = InstId::from_raw(u32::MAX.into());
    let block = BlockId::from_raw(u32::MAX.into());
    assert!(edit.erase(inst).is_err());
    assert!(edit.create_block("", Some(block)).is_err());
    assert!(edit.replace_all_uses(inst, Value::arg(0)).is_err());
    assert!(edit.replace_all_uses(Value::arg(0), Value::arg(u32::MAX)).is_err());
    let entry = edit.flow().order()[0];
    assert!(edit.at_end(entry).add(Value::arg(0), inst).is_err());
    assert!(!edit.is_changed());
}

/// The largest number names no value: it stands for all ids that do not fit.
#[test]
fn what_does_not_fit_is_not_made() {
    use crate::builder::check::excess;
    let most = Value::LIMIT;
    assert_eq!(excess(most, most), None);
    assert_eq!(excess(most + 1, 0), Some("more than 2^29 blocks in a function"));
    assert_eq!(excess(0, most + 1), Some("more than 2^29 instructions in a function"));
    let (last, beyond) = (most as u32 - 1, most as u32 + 1);
    let value = |number: u32| Value::inst(InstId::from_raw(number.into()));
    assert_ne!(value(last), value(beyond));
    assert_eq!(value(u32::MAX), value(beyond));
}

/// A body is inserted before a block that is not the entry, and phis there need a value for each
/// return.
#[test]
fn a_body_that_is_inserted_leads_somewhere() {
    let mut module = diamond();
    let source = module.functions[0].clone();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    edit.verifying(false);
    let order = edit.flow().order().to_vec();
    let args = [Value::arg(0)];
    assert!(edit.insert_body(source.view(), &args, order[0]).is_err());
    assert!(!edit.is_changed());
    edit.insert_body(source.view(), &args, order[3]).unwrap();
    assert!(matches!(edit.commit(), Err(BuildError::Incoming { .. })));
}
