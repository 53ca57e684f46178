//! Modules that are removed, and the memory that comes back.
//!
//! salsa keeps what was computed about an input as long as the input, and gives no input back. So a
//! module that is removed leaves empty inputs, which the next modules fill. What was computed about
//! its functions would stay until then: [`Database::remove_module`] asks the questions whose
//! answers are large once more, about functions that are empty now, and the small answers take the
//! place of the large ones.
//!
//! What stays: some hundred bytes per function for the input and what salsa notes about each
//! answer, as many as there ever were functions at once; and what is interned in the
//! [`Context`](phalanx_ir::Context), one entry for each type, constant and name that was ever used.

use std::sync::Arc;

use phalanx_analysis::stable::Assumptions;
use phalanx_ir::{Context, FunctionHeader, GlobalName, Module, Type};
use phalanx_llvm::SourceMap;
use phalanx_target::{Scope, library::Extension};
use salsa::{Durability, Setter};

use crate::{Database, FunctionInput, ModuleInput, TargetOverrides, queries};

/// The name of what was removed.
const NAMELESS: GlobalName = GlobalName::Numbered(0);

impl Database {
    /// Removes a module with all of its functions. O(functions). Its inputs must not be used from
    /// then on: later modules get them.
    pub fn remove_module(&mut self, module: ModuleInput) {
        if self.module_stamp(module).is_none() {
            return;
        }
        self.alone();
        let functions: Vec<FunctionInput> =
            module.functions(self).iter().map(|entry| entry.input).collect();
        self.drop_functions(module, &functions);
        let context = Arc::new(Context::new());
        let shell = Module::new(Arc::clone(&context));
        self.fill_module(module, context, shell, None, TargetOverrides::default());
        let header = FunctionHeader::new(module.context(self), NAMELESS, Type::VOID, &[], false);
        for &function in &functions {
            function.set_header(self).with_durability(Durability::HIGH).to(header.clone());
        }
        functions.iter().for_each(|&function| forget(self, function));
        self.presence().leave_module(module);
        self.module_facts().lock().remove(&module);
    }

    /// Sets all that a module has beside its functions.
    pub(crate) fn fill_module(
        &mut self,
        input: ModuleInput,
        context: Arc<Context>,
        shell: Module,
        source_map: Option<Arc<SourceMap>>,
        overrides: TargetOverrides,
    ) {
        let high = Durability::HIGH;
        input.set_context(self).with_durability(high).to(context);
        input.set_shell(self).with_durability(high).to(shell);
        input.set_functions(self).with_durability(high).to(Vec::new());
        input.set_source_map(self).with_durability(high).to(source_map);
        input.set_overrides(self).with_durability(high).to(overrides);
        input.set_extension(self).with_durability(high).to(Extension::default());
        input.set_is_whole(self).with_durability(high).to(false);
    }
}

/// Lets small answers take the place of what is known of a function that has no code any more.
fn forget(db: &Database, function: FunctionInput) {
    let _ = queries::graph_facts(db, function);
    let _ = (queries::divergence(db, function), queries::uniformity(db, function));
    let _ = (queries::control_divergence(db, function), queries::edge_divergence(db, function));
    let _ = (queries::affect_map(db, function), queries::derivations(db, function));
    let _ = queries::assumed_divergence(db, function, Assumptions::NONE);
    let _ = (queries::memory_accesses(db, function), queries::summary(db, function));
    let _ = (queries::memory_ssa(db, function), queries::classic_memory_ssa(db, function));
    let _ = (queries::private_memory(db, function), queries::address_memory(db, function));
    let _ = (queries::memory_kinds(db, function), queries::pointer_flow(db, function));
    let _ = (queries::load_classes(db, function), queries::written_spaces(db, function));
    let _ = (queries::convergence(db, function), queries::space_conflicts(db, function));
    let _ = (queries::diagnostics(db, function), queries::workgroup_memory(db, function));
    let _ = queries::data_flow(db, function);
    for scope in Scope::ALL {
        let _ = queries::legality(db, function, scope);
    }
}
