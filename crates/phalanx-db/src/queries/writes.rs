//! What a function may write, by kinds of memory.

use std::sync::Arc;

use phalanx_analysis::{
    loads::{may_write, written_at, written_memories},
    readers,
    spaces::SpaceSet,
};
use phalanx_ir::{GlobalName, Type};

use super::called::attributes_of_callees;
use super::depends_on::{Changed, DependsOn};
use super::known_calls::known_body;
use super::memory_fact::objects_version;
use super::own_environment::with_attributes;
use super::{memory_kinds, symbols};
use crate::FunctionInput;
use crate::retained::{
    answers::{Asked, KeptWrites},
    counted_multiset::CountedMultiset,
    place::{Updated, fresh},
};

use salsa::Database as Db;

/// Which memories a function may write, with all that it calls. None if that is not known.
///
/// *Reads* `header`, `flow`, `body`, [`memory_kinds`], attributes of the callees, [`call_place`],
/// and this of the callees; of a large function also
/// `mentions`, [`written_version`], and then what changed and what reads an address that leads
/// elsewhere. *Changes when* a store may lead elsewhere. *Cost* O(instructions).
#[salsa::tracked(returns(copy))]
pub fn written_spaces(db: &dyn Db, function: FunctionInput) -> Option<SpaceSet> {
    known_body(db, function).filter(|place| place.component.is_empty())?;
    if function.is_large(db) {
        return updated_writes(db, function);
    }
    let kinds = memory_kinds(db, function).as_ref()?;
    let callees = attributes_of_callees(db, function);
    with_attributes(db, function, callees, |code, env| {
        let called = |name, ty| written_by(db, function, name, ty);
        written_memories(code, env, kinds, &called)
    })?
}

/// Identity of what [`written_spaces`] of a large function reads besides the body and
/// [`memory_kinds`], and what it asks of functions by name.
///
/// *Reads* [`objects_version`], `function_attributes`. *Changes when* one of them does. *Cost*
/// O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn written_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (objects_version(db, function), attributes_of_callees(db, function));
    fresh()
}

/// [`written_spaces`] of a large function whose definition is the executed one, from retained
/// state. Not a query.
///
/// What is asked of functions by name are those that it calls, however it is found; who they are is
/// read in any case.
pub(super) fn updated_writes(db: &dyn Db, function: FunctionInput) -> Option<SpaceSet> {
    let _ = symbols(db, function.module(db));
    let called = function.mentions(db).callees();
    let kinds = memory_kinds(db, function).as_ref()?;
    let callees = attributes_of_callees(db, function);
    with_attributes(db, function, callees, |code, env| {
        let written = |asked: &Asked, inst| {
            let called = |name, ty| asked.written_by(db, function, name, ty);
            may_write(code, inst).then(|| written_at(code, env, kinds, &called, inst))
        };
        let make = || {
            let asked = Asked::default();
            let counted_multiset = CountedMultiset::new(code, |inst| written(&asked, inst));
            KeptWrites { counted_multiset, asked, kinds: Arc::clone(kinds) }
        };
        let update = |kept: &mut KeptWrites, Changed { own, .. }: Changed<'_>| {
            kept.asked.keep_called(|name| called.binary_search(&name).is_ok());
            let others = readers::of_kinds(code, kinds, &kept.kinds);
            let Some(mut again) = others.filter(|_| kept.asked.is_as_before(db, function)) else {
                return Updated::Scratch;
            };
            kept.kinds = Arc::clone(kinds);
            again.extend_from_slice(own);
            if again.is_empty() {
                return Updated::Same;
            }
            kept.counted_multiset.look_again(code, &again, |inst| written(&kept.asked, inst));
            Updated::CHANGED
        };
        let all = |kept: &KeptWrites| {
            kept.counted_multiset.all().try_fold(SpaceSet::EMPTY, |a, b| Some(a | b?))
        };
        let env = written_version(db, function);
        let slot = &function.retained(db).large().written;
        slot.update((db, function), env, DependsOn::Instruction(may_write), update, make, all)
    })?
}

/// What a function that is called with a type may write. Not a query.
pub(super) fn written_by(
    db: &dyn Db,
    caller: FunctionInput,
    name: GlobalName,
    ty: Type,
) -> Option<SpaceSet> {
    let &callee = symbols(db, caller.module(db)).get(&name)?;
    written_spaces(db, callee).filter(|_| callee.header(db).ty == ty)
}
