//! A module in a database that logs what it does, for tests of what edits leave as it is.

use std::sync::Arc;

use phalanx_db::{Database, FunctionEntry, FunctionInput, ModuleInput, TargetOverrides};
use phalanx_ir::{BuildError, Context, InstId, edit::Transaction};

/// A module with a function that is edited.
pub(crate) struct Fixture {
    pub(crate) db: Database,
    pub(crate) context: Arc<Context>,
    pub(crate) module: ModuleInput,
    /// Its name.
    edited: &'static str,
}

impl Fixture {
    pub(crate) fn of(text: &str, edited: &'static str) -> Self {
        let mut db = Database::with_event_log();
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes())
            .unwrap_or_else(|e| panic!("{e:?}"));
        let module = db.load(parsed.module, None, TargetOverrides::default());
        Fixture { db, context, module, edited }
    }

    pub(crate) fn function(&self, name: &str) -> FunctionInput {
        let symbol = self.context.find_symbol(name.as_bytes()).expect("the name is interned");
        let entries = self.module.functions(&self.db);
        entries.iter().find(|e| e.name.symbol() == Some(symbol)).expect("the function exists").input
    }

    /// The function that is edited.
    pub(crate) fn edited(&self) -> FunctionInput {
        self.function(self.edited)
    }

    /// An instruction of it.
    pub(crate) fn named(&self, name: &str) -> InstId {
        let code = self.edited().view(&self.db);
        let mut ids = code.body.all_ids();
        ids.find(|&i| code.extras.names.inst(i) == Some(name.as_bytes())).expect("it has the name")
    }

    /// Edits it.
    pub(crate) fn edit<R>(
        &mut self,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<R, BuildError>,
    ) -> R {
        let function = self.edited();
        self.db.edit(function, edit).expect("the edit breaks no rule")
    }

    /// A database that has seen nothing of the edits, and its functions in the same order.
    pub(crate) fn cold(&self) -> (Database, Vec<FunctionEntry>) {
        let mut fresh = self.module.shell(&self.db).clone();
        let copy = |entry: &FunctionEntry| entry.input.view(&self.db).to_function();
        fresh.functions = self.module.functions(&self.db).iter().map(copy).collect();
        let mut db = Database::new();
        let module = db.load(fresh, None, TargetOverrides::default());
        let entries = module.functions(&db).clone();
        for (warm, cold) in self.module.functions(&self.db).iter().zip(&entries) {
            let done = db.set_launch(cold.input, warm.input.launch(&self.db));
            done.expect("the module says nothing else");
        }
        (db, entries)
    }
}
