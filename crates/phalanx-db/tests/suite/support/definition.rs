//! The only function with a body of a module.

use std::sync::Arc;

use phalanx_db::{Database, FunctionInput, TargetOverrides};
use phalanx_ir::Context;

/// A database with a module, and the function.
#[track_caller]
pub(crate) fn definition(text: &str) -> (Database, FunctionInput) {
    let mut db = Database::new();
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error:?}")).module;
    let module = db.load(parsed, None, TargetOverrides::default());
    let entries = module.functions(&db);
    let function = entries.iter().find(|entry| entry.is_definition).expect("a body").input;
    (db, function)
}
