//! Putting modules into the database, the first time and again.

use std::sync::Arc;

use phalanx_ir::{Flow, Function, GlobalName, Module};
use phalanx_llvm::SourceMap;
use phalanx_target::library::Extension;
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};

use crate::{
    Database, FunctionInput, Mentions, ModuleInput,
    inputs::{FunctionEntry, TargetOverrides, UNEDITED, is_large},
    marks::Marks,
    part_cell::PartCell,
};

/// What a reload found, by name of the function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReloadReport {
    /// New functions.
    pub added: Vec<GlobalName>,
    /// Functions that are gone.
    pub removed: Vec<GlobalName>,
    /// Functions of which some part differs.
    pub changed: Vec<GlobalName>,
    /// How many are as they were.
    pub unchanged: usize,
}

impl Database {
    /// Adds a module. O(functions) beyond moving it in.
    pub fn load(
        &mut self,
        mut module: Module,
        source_map: Option<SourceMap>,
        overrides: TargetOverrides,
    ) -> ModuleInput {
        let functions = std::mem::take(&mut module.functions);
        let context = Arc::clone(&module.context);
        let source_map = source_map.map(Arc::new);
        self.alone();
        let input = match self.presence().free_module() {
            Some(input) => {
                self.fill_module(input, context, module, source_map, overrides);
                input
            }
            None => {
                let (functions_later, extension) = (Vec::new(), Extension::default());
                let fields = ModuleInput::builder(
                    context,
                    module,
                    functions_later,
                    source_map,
                    overrides,
                    extension,
                    false,
                );
                fields.durability(Durability::HIGH).new(self)
            }
        };
        self.presence().enter_module(input);
        let entries = functions.into_iter().map(|f| self.new_function(input, f)).collect();
        input.set_functions(self).to(entries);
        input
    }

    /// Replaces the contents of a module by those of `module`, read into the same context.
    ///
    /// Functions are matched by name, and of each only the parts that differ are set: facts about
    /// what did not change stay valid. O(size of the module) for the comparison.
    ///
    /// # Panics
    /// When `module` belongs to another [`phalanx_ir::Context`]: ids would not be comparable.
    pub fn reload(
        &mut self,
        input: ModuleInput,
        mut module: Module,
        source_map: Option<SourceMap>,
    ) -> ReloadReport {
        assert!(
            Arc::ptr_eq(input.context(self), &module.context),
            "a module is reloaded from text read into its own context"
        );
        self.alone();
        let mut report = ReloadReport::default();
        let functions = std::mem::take(&mut module.functions);
        let mut old: FxHashMap<GlobalName, FunctionInput> =
            input.functions(self).iter().map(|e| (e.name, e.input)).collect();
        let mut entries = Vec::with_capacity(functions.len());
        for function in functions {
            let name = function.header.name;
            let Some(existing) = old.remove(&name) else {
                report.added.push(name);
                entries.push(self.new_function(input, function));
                continue;
            };
            let is_definition = !function.is_declaration();
            if self.update_function(existing, function) {
                report.changed.push(name);
            } else {
                report.unchanged += 1;
            }
            entries.push(FunctionEntry { name, input: existing, is_definition });
        }
        report.removed =
            input.functions(self).iter().map(|e| e.name).filter(|n| old.contains_key(n)).collect();
        if *input.functions(self) != entries {
            self.set_functions(input, entries);
        }
        let gone: Vec<FunctionInput> = old.into_values().collect();
        self.drop_functions(input, &gone);
        if *input.shell(self) != module {
            input.set_shell(self).to(module);
        }
        input.set_source_map(self).to(source_map.map(Arc::new));
        report
    }

    /// Sets the parts that differ; whether there were any.
    pub(crate) fn update_function(&mut self, input: FunctionInput, new: Function) -> bool {
        let mut changed = false;
        macro_rules! update {
            ($part:ident, $set:ident $(, $held:path)?) => {
                if *input.$part(self) != new.$part {
                    input.$set(self).to($($held)?(new.$part));
                    changed = true;
                }
            };
        }
        update!(header, set_header);
        // The journal of the body tells of edges as well: where it knows of one block, no other
        // leads elsewhere. Text tells nothing, so that other edges have another journal. The order
        // of blocks is not told.
        let is_other = *input.body(self) != new.body || !has_edges_of(input.flow(self), &new.flow);
        if is_other {
            let mentions = Mentions::of(input.module(self).context(self), &new.body);
            self.set_mentions(input, mentions);
            self.set_size(input, is_large(&new.body));
            input.set_held_body(self).to(PartCell::new(new.body));
            changed = true;
        }
        update!(flow, set_held_flow, PartCell::new);
        let marks = Marks::of(input.module(self).context(self), &new.extras);
        self.set_marks(input, marks, UNEDITED);
        update!(extras, set_held_extras, PartCell::new);
        update!(use_list_orders, set_use_list_orders);
        changed
    }
}

/// Whether the same blocks lead to the same ones, whatever their order.
fn has_edges_of(a: &Flow, b: &Flow) -> bool {
    let [mut blocks, mut others] = [a, b].map(|flow| flow.order().to_vec());
    blocks.sort_unstable();
    others.sort_unstable();
    blocks == others && blocks.iter().all(|&block| a.successors(block) == b.successors(block))
}

impl Database {
    /// Sets the marks of a function, if they are different.
    pub(crate) fn set_marks(
        &mut self,
        function: FunctionInput,
        marks: Marks,
        durability: Durability,
    ) {
        if *function.marks(self) != marks {
            function.set_marks(self).with_durability(durability).to(marks);
        }
    }
}
