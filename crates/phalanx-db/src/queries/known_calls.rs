//! What the database knows of the calls around a function, as plain data; its answers are with the
//! [summaries](super::summaries).

use std::cell::{OnceCell, RefCell};

use phalanx_analysis::{
    Summary,
    summary::{self as analysis},
};
use phalanx_ir::{GlobalName, attributes::AttrKind};
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;

use super::call_place;
use super::calls::DEPTH;
use crate::FunctionInput;

use salsa::Database as Db;

/// The functions whose summaries are available.
pub(super) enum SummarySource<'a> {
    /// All functions.
    Any,
    /// The callees, from [`callee_summaries`], which is read at the first use.
    Listed(OnceCell<&'a [(GlobalName, Summary)]>),
    /// The same, found one by one.
    Each(Vec<(GlobalName, &'a Summary)>),
}

/// What the database knows of the calls around a function.
pub(super) struct KnownCalls<'a> {
    pub(super) db: &'a dyn Db,
    pub(super) function: FunctionInput,
    /// Whose summaries are available.
    pub(super) told: SummarySource<'a>,
    /// Summaries that are being found, instead of those of the query.
    pub(super) found: &'a [(FunctionInput, Summary)],
    /// Those that were asked for.
    pub(super) known: RefCell<FxHashMap<GlobalName, Option<&'a Summary>>>,
    /// The functions of the module, once one was asked for.
    pub(super) symbols: OnceCell<&'a FxHashMap<GlobalName, FunctionInput>>,
    /// Sources of the arguments that are being found; `None` asks the query.
    pub(super) arguments: Option<&'a [SourceSet]>,
    /// What the query says of the arguments, once one was asked for.
    pub(super) passed: OnceCell<Option<&'a [SourceSet]>>,
}

/// The place of a function whose code says what its calls do.
pub(super) fn known_body(db: &dyn Db, function: FunctionInput) -> Option<&super::CallPlace> {
    let header = function.header(db);
    let module = function.module(db);
    let attributes = module.context(db).function_attrs(header.attributes);
    if !analysis::is_exact(header.linkage, module.is_whole(db)) || attributes.has(AttrKind::Naked) {
        return None;
    }
    function.flow(db).entry()?;
    Some(call_place(db, function)).filter(|place| place.height <= DEPTH)
}
