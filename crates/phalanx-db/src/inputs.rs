//! The inputs: what a driver sets and queries read.
//!
//! A function is one input with four fields that change at different rates
//! ([`phalanx_ir::function`] says which is which). Setting a field invalidates exactly the memos
//! that read it, even if the new value is equal: salsa does not compare. So code that sets a field
//! has to compare first.
#![expect(
    missing_docs,
    reason = "the setters and builders that salsa generates carry no documentation"
)]

use std::sync::Arc;

use phalanx_analysis::policy::LARGE;
use phalanx_fixpoint::interrupt;
use phalanx_ir::{
    Body, Context, Extras, Flow, Function, FunctionHeader, GlobalName, Module,
    function::FunctionRef, module::UseListOrder,
};
use phalanx_llvm::SourceMap;
use phalanx_target::{LaunchStatement, library::Extension};

use salsa::{Durability, Setter};

use crate::{
    Database, Id, Mentions, marks::Marks, part_cell::PartCell, retained::state::RetainedState,
};

/// A module: its functions, and a shell with everything else.
#[salsa::input(debug)]
pub struct ModuleInput {
    /// Interned types, constants and names.
    #[returns(ref)]
    pub context: Arc<Context>,
    /// The module without its functions.
    #[returns(ref)]
    pub shell: Module,
    /// Functions in the order of the text, declarations included.
    #[returns(ref)]
    pub functions: Vec<FunctionEntry>,
    /// Places in the text, for a module that was read. No analysis reads it.
    #[returns(ref)]
    pub source_map: Option<Arc<SourceMap>>,
    /// Target and triple as the driver wants them, where they override the module's.
    #[returns(ref)]
    pub overrides: TargetOverrides,
    /// Functions that the driver knows by name, besides those of the table.
    #[returns(copy)]
    pub extension: Extension,
    /// The driver says that functions are called from within the module only, and kernels launched.
    /// Read by the call graph.
    #[returns(copy)]
    pub is_whole: bool,
}

/// A function of a module, by name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct FunctionEntry {
    /// Its name.
    pub name: GlobalName,
    /// The input.
    pub input: FunctionInput,
    /// Whether it has a body.
    pub is_definition: bool,
}

/// What the driver says about the target where the module does not, or says otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetOverrides {
    /// `-mtriple`
    pub triple: Option<String>,
    /// `-mcpu`
    pub cpu: Option<String>,
}

/// A function.
#[salsa::input(debug)]
pub struct FunctionInput {
    /// The module it belongs to.
    #[returns(copy)]
    pub module: ModuleInput,
    /// Type, convention, attributes ...
    #[returns(ref)]
    pub header: FunctionHeader,
    /// Blocks and successors: [`FunctionInput::flow`].
    #[returns(ref)]
    pub(crate) held_flow: PartCell<Flow>,
    /// Instructions: [`FunctionInput::body`].
    #[returns(ref)]
    pub(crate) held_body: PartCell<Body>,
    /// Names, metadata, debug records: [`FunctionInput::extras`].
    #[returns(ref)]
    pub(crate) held_extras: PartCell<Extras>,
    /// Use-list orders, carried.
    #[returns(ref)]
    pub use_list_orders: Vec<UseListOrder>,
    /// What the driver states about launches. Read by `launch_facts`, and by code that needs the
    /// statement itself.
    #[returns(copy)]
    pub launch: LaunchStatement,
    /// Where the body names functions. Computed from `body`, and set only when it changes, so that
    /// its readers do not depend on other edits.
    #[returns(ref)]
    pub mentions: Mentions,
    /// The attachments that analyses read. Computed from `extras`, as `mentions` is from `body`.
    #[returns(ref)]
    pub(crate) marks: Marks,
    /// Whether the function is so large that its divergence is updated incrementally. Computed from
    /// `body`, as `mentions` is.
    #[returns(copy)]
    pub is_large: bool,
    /// The retained state of the function, which survives edits. Never set.
    #[returns(ref)]
    pub(crate) retained: Arc<RetainedState>,
}

/// The durability of what analyses read of an unedited function: higher than that of edited parts,
/// and lower than that of inputs about the whole module ([`Database::edit`] says why).
pub(crate) const UNEDITED: Durability = Durability::MEDIUM;

/// Whether a function with this body is large.
pub(crate) fn is_large(body: &Body) -> bool {
    body.id_count() >= LARGE
}

impl Database {
    /// Sets whether a function [is large](is_large), if it is different.
    pub(crate) fn set_size(&mut self, function: FunctionInput, is_large: bool) {
        if function.is_large(self) != is_large {
            function.set_is_large(self).with_durability(Durability::HIGH).to(is_large);
        }
    }
}

macro_rules! part {
    ($(#[doc = $doc:literal])* $part:ident, $held:ident, $ty:ty) => {
        $(#[doc = $doc])*
        ///
        /// # Panics
        /// While a transaction is changing it, which code outside of the transaction cannot
        /// observe.
        pub fn $part<Db: ?Sized + salsa::Database>(self, db: &Db) -> &$ty {
            interrupt::poll();
            self.$held(db).get()
        }
    };
}

impl FunctionInput {
    part! {
        /// Blocks and successors.
        flow, held_flow, Flow
    }

    part! {
        /// Instructions.
        body, held_body, Body
    }

    part! {
        /// Names, metadata, debug records. No analysis reads it: see [`FunctionInput::marks`].
        extras, held_extras, Extras
    }

    /// The number by which the event log names this.
    pub fn id(self) -> Id {
        Id(salsa::plumbing::AsId::as_id(&self))
    }

    /// All parts at once. A query that calls this depends on all of them: for printing, not for
    /// analyses.
    pub fn view(self, db: &Database) -> FunctionRef<'_> {
        FunctionRef {
            header: self.header(db),
            flow: self.flow(db),
            body: self.body(db),
            extras: self.extras(db),
            use_list_orders: self.use_list_orders(db),
        }
    }

    pub(crate) fn from_function(db: &Database, module: ModuleInput, function: Function) -> Self {
        let Function { header, flow, body, extras, use_list_orders } = function;
        let launch = LaunchStatement::default();
        let mentions = Mentions::of(module.context(db), &body);
        let marks = Marks::of(module.context(db), &extras);
        let (orders, is_large, retained) = (use_list_orders, is_large(&body), Arc::default());
        FunctionInput::builder(
            module,
            header,
            PartCell::new(flow),
            PartCell::new(body),
            PartCell::new(extras),
            orders,
            launch,
            mentions,
            marks,
            is_large,
            retained,
        )
        .durability(Durability::HIGH)
        .held_flow_durability(UNEDITED)
        .held_body_durability(UNEDITED)
        .held_extras_durability(Durability::LOW)
        .marks_durability(UNEDITED)
        .retained_durability(Durability::NEVER_CHANGE)
        .new(db)
    }
}
