//! What a function may write, by kinds of memory.

use std::sync::Arc;

use phalanx_analysis::{
    loads::{may_write, written_at, written_memories},
    readers,
    spaces::SpaceSet,
};
use phalanx_ir::{GlobalName, Type};

use super::called::attributes_of_callees;
use super::concerns::{Changed, Concerns};
use super::known_calls::known_body;
use super::memory_fact::objects_version;
use super::surroundings::with_attributes;
use super::{memory_kinds, symbols};
use crate::FunctionInput;
use crate::retained::{
    answers::{Asked, KeptWrites},
    place::{Updated, fresh},
    tally::Tally,
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
        return followed_writes(db, function);
    }
    let kinds = memory_kinds(db, function).as_ref()?;
    let callees = attributes_of_callees(db, function);
    with_attributes(db, function, callees, |code, around| {
        let called = |name, ty| written_by(db, function, name, ty);
        written_memories(code, around, kinds, &called)
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
pub(super) fn followed_writes(db: &dyn Db, function: FunctionInput) -> Option<SpaceSet> {
    let _ = symbols(db, function.module(db));
    let called = function.mentions(db).callees();
    let kinds = memory_kinds(db, function).as_ref()?;
    let callees = attributes_of_callees(db, function);
    with_attributes(db, function, callees, |code, around| {
        let written = |asked: &Asked, inst| {
            let called = |name, ty| asked.written_by(db, function, name, ty);
            may_write(code, inst).then(|| written_at(code, around, kinds, &called, inst))
        };
        let make = || {
            let asked = Asked::default();
            let tally = Tally::new(code, |inst| written(&asked, inst));
            KeptWrites { tally, asked, kinds: Arc::clone(kinds) }
        };
        let follow = |kept: &mut KeptWrites, Changed { own, .. }: Changed<'_>| {
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
            kept.tally.look_again(code, &again, |inst| written(&kept.asked, inst));
            Updated::CHANGED
        };
        let all =
            |kept: &KeptWrites| kept.tally.all().try_fold(SpaceSet::EMPTY, |a, b| Some(a | b?));
        let around = written_version(db, function);
        let slot = &function.slots(db).large().written;
        slot.follow((db, function), around, Concerns::Itself(may_write), follow, make, all)
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
