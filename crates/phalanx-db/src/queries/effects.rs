//! What calls do to memory: of the functions that a function calls, and of intrinsics.

use phalanx_analysis::{spaces::SpaceSet, summary::Effects};
use phalanx_ir::{GlobalName, Type};

use super::known_calls::known_body;
use super::own_environment::read_alone;
use super::promises::{ByName, called, intrinsics};
use super::{summary, written_spaces};
use crate::retained::place::fresh;
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// What a call does to memory: the type of what is called, its effects, and the memories that it
/// may write if they are known.
pub(super) type Does = (Option<Type>, Effects, Option<SpaceSet>);

pub(super) fn does(db: &dyn Db, (name, input): (GlobalName, FunctionInput)) -> (GlobalName, Does) {
    let summary = summary(db, input);
    (name, (summary.ty, summary.effects, written_spaces(db, input)))
}

/// What calls of the intrinsics of a module do.
///
/// *Reads* `functions`, `summary` and [`written_spaces`] of intrinsics. *Changes when* one of them
/// does. *Cost* O(intrinsics).
#[salsa::tracked(returns(ref))]
pub(super) fn intrinsic_effects(db: &dyn Db, module: ModuleInput) -> ByName<Does> {
    intrinsics(db, module).iter().map(|&intrinsic| does(db, intrinsic)).collect()
}

/// What calls of the functions that a function calls do, but for intrinsics.
///
/// *Reads* `mentions`, [`symbols`], `summary` and [`written_spaces`] of the callees. *Changes when*
/// what a callee does to memory does. *Cost* O(calls).
#[salsa::tracked(returns(ref))]
pub(super) fn called_effects(db: &dyn Db, function: FunctionInput) -> ByName<Does> {
    called(db, function).map(|callee| does(db, callee)).collect()
}

/// Reads the inputs of [`called_effects`] without a memo of its own: in a small function, checking
/// another memo is expensive.
pub(super) fn read_called_effects(db: &dyn Db, function: FunctionInput) {
    called(db, function).for_each(|callee| _ = does(db, callee));
}

/// A number that changes when the effects of calls of the module's intrinsics may change. It is
/// found without computing these effects.
///
/// *Reads* `functions`, headers of intrinsics, and what is around them. *Changes when* one of them
/// does. *Cost* O(intrinsics).
#[salsa::tracked(returns(copy))]
pub(super) fn intrinsics_version(db: &dyn Db, module: ModuleInput) -> u64 {
    for &(name, input) in intrinsics(db, module) {
        // What a declaration does is what its attributes say, of launches as they are known.
        match known_body(db, input) {
            Some(_) => _ = does(db, (name, input)),
            None => read_alone(db, input),
        }
    }
    fresh()
}
