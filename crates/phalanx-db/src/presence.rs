//! What is in a database: which inputs stand for something now, and which are free.
//!
//! salsa gives no input back, so the inputs of functions and modules that were removed are used
//! again. A number alone therefore does not say which function is meant: another function may get
//! it later, and another database has functions of the same numbers. Each use of an input has a
//! [`Stamp`] of its own, which is given once in a process. An input with its stamp names one
//! function of one database, and nothing else ever.
//!
//! Cost: a look-up in a table, some twenty nanoseconds.

use std::{
    num::NonZeroU64,
    sync::{
        Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use phalanx_ir::{Context, Function, FunctionHeader, GlobalName, Module, Type};
use phalanx_target::library::Extension;
use rustc_hash::FxHashMap;

use crate::{Database, FunctionInput, ModuleInput, TargetOverrides};

/// Tells one use of an input from all others, in whatever database.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stamp(NonZeroU64);

impl Stamp {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Stamp(NonZeroU64::new(number).expect("more stamps than can be counted"))
    }
}

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Presence {
    tables: RwLock<Tables>,
    without_code: OnceLock<FunctionInput>,
}

#[derive(Debug, Default)]
struct Tables {
    functions: Inputs<FunctionInput>,
    modules: Inputs<ModuleInput>,
}

/// Inputs of one kind.
#[derive(Debug)]
struct Inputs<I> {
    present: FxHashMap<I, Stamp>,
    /// Those that stand for nothing, to be used again.
    free: Vec<I>,
}

impl<I> Default for Inputs<I> {
    fn default() -> Self {
        Inputs { present: FxHashMap::default(), free: Vec::new() }
    }
}

impl<I: Copy + Eq + std::hash::Hash> Inputs<I> {
    fn enter(&mut self, input: I) {
        self.present.insert(input, Stamp::new());
    }

    /// Nothing happens to one that is not there: it was removed twice.
    fn leave(&mut self, input: I) {
        if self.present.remove(&input).is_some() {
            self.free.push(input);
        }
    }
}

impl Presence {
    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter_function(&self, function: FunctionInput) {
        self.write().functions.enter(function);
    }

    pub(crate) fn leave_function(&self, function: FunctionInput) {
        self.write().functions.leave(function);
    }

    pub(crate) fn free_function(&self) -> Option<FunctionInput> {
        self.write().functions.free.pop()
    }

    pub(crate) fn enter_module(&self, module: ModuleInput) {
        self.write().modules.enter(module);
    }

    pub(crate) fn leave_module(&self, module: ModuleInput) {
        self.write().modules.leave(module);
    }

    pub(crate) fn free_module(&self) -> Option<ModuleInput> {
        self.write().modules.free.pop()
    }
}

impl Database {
    /// The stamp of the function that an input stands for; none if it was removed.
    pub fn stamp(&self, function: FunctionInput) -> Option<Stamp> {
        self.presence().read().functions.present.get(&function).copied()
    }

    /// The stamp of the module that an input stands for; none if it was removed.
    pub fn module_stamp(&self, module: ModuleInput) -> Option<Stamp> {
        self.presence().read().modules.present.get(&module).copied()
    }

    /// A function without code that belongs to no module of a driver. Facts of what is not there
    /// are facts of this one.
    pub fn function_without_code(&self) -> FunctionInput {
        *self.presence().without_code.get_or_init(|| {
            let context = Arc::new(Context::new());
            let name = GlobalName::Numbered(0);
            let header = FunctionHeader::new(&context, name, Type::VOID, &[], false);
            let shell = Module::new(Arc::clone(&context));
            let overrides = TargetOverrides::default();
            let (functions, extension) = (Vec::new(), Extension::default());
            let module = ModuleInput::new(
                self, context, shell, functions, None, overrides, extension, false,
            );
            FunctionInput::from_function(self, module, Function::new(header))
        })
    }

    /// Whether a function was removed from its module.
    pub(crate) fn is_removed(&self, function: FunctionInput) -> bool {
        self.stamp(function).is_none()
    }
}
