//! What calls do to memory: of the functions that a function calls, and of intrinsics.

use phalanx_analysis::{spaces::SpaceSet, summary::Effects};
use phalanx_ir::{GlobalName, Type};

use super::known_calls::known_body;
use super::promises::{ByName, called, intrinsics};
use super::surroundings::read_alone;
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

/// Reads what [`called_effects`] is found from, without an answer of its own: one more to be asked
/// whether it holds is dear in a small function.
pub(super) fn read_called_effects(db: &dyn Db, function: FunctionInput) {
    called(db, function).for_each(|callee| _ = does(db, callee));
}

/// Identity of what calls of the intrinsics of a module do, which nobody has to find for that.
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
