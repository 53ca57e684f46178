//! Where the parts of the edited function live, and its module environment.

use crate::{
    body::Body,
    extras::Extras,
    flow::Flow,
    function::{FunctionHeader, FunctionRef},
    module::Module,
    verify::{Headers, ModuleIndex, env::Env},
};

/// The parts of one function, and its environment.
///
/// A transaction asks for a part mutably only when it is about to change that part. So a store for
/// which changes are expensive pays only for parts that change.
pub trait Store {
    /// The module; its functions may be elsewhere.
    fn module(&self) -> &Module;
    /// Where the entities of the module are.
    fn index(&self) -> &ModuleIndex;
    /// Headers of all functions.
    fn headers(&self) -> &dyn Headers;
    /// Header of the function.
    fn header(&self) -> &FunctionHeader;
    /// Its flow.
    fn flow(&self) -> &Flow;
    /// Its body.
    fn body(&self) -> &Body;
    /// Its extras.
    fn extras(&self) -> &Extras;
    /// The flow, to change.
    fn flow_mut(&mut self) -> &mut Flow;
    /// The body, to change.
    fn body_mut(&mut self) -> &mut Body;
    /// The extras, to change.
    fn extras_mut(&mut self) -> &mut Extras;

    /// Drops the `uselistorder` directives of the function and of the module: an edit makes them
    /// wrong.
    fn forget_use_list_orders(&mut self);

    /// The predicate that says which intrinsics are convergent operations: see
    /// [`crate::Verifier::with_convergent_intrinsics`].
    fn convergent_intrinsics(&self) -> fn(&[u8]) -> bool {
        |_| false
    }

    /// All parts by reference.
    fn function(&self) -> FunctionRef<'_> {
        FunctionRef {
            header: self.header(),
            flow: self.flow(),
            body: self.body(),
            extras: self.extras(),
            use_list_orders: &[],
        }
    }
}

/// The environment that the rules look at.
pub(super) fn env(store: &dyn Store) -> Env<'_> {
    let mut env = Env::over(store.module(), store.index(), store.headers());
    env.convergent_intrinsic = store.convergent_intrinsics();
    env
}

/// A function of a [`Module`], for programs that use no database.
#[derive(Debug)]
pub struct InModule<'m> {
    module: &'m mut Module,
    index: ModuleIndex,
    at: usize,
}

impl<'m> InModule<'m> {
    /// The function at a position of [`Module::functions`]. O(entities of the module).
    ///
    /// # Panics
    /// When the module has no such function.
    pub fn new(module: &'m mut Module, at: usize) -> Self {
        assert!(at < module.functions.len(), "the module has no function {at}");
        InModule { index: ModuleIndex::new(module), module, at }
    }
}

impl Store for InModule<'_> {
    fn module(&self) -> &Module {
        self.module
    }

    fn index(&self) -> &ModuleIndex {
        &self.index
    }

    fn headers(&self) -> &dyn Headers {
        self.module
    }

    fn header(&self) -> &FunctionHeader {
        &self.module.functions[self.at].header
    }

    fn flow(&self) -> &Flow {
        &self.module.functions[self.at].flow
    }

    fn body(&self) -> &Body {
        &self.module.functions[self.at].body
    }

    fn extras(&self) -> &Extras {
        &self.module.functions[self.at].extras
    }

    fn flow_mut(&mut self) -> &mut Flow {
        &mut self.module.functions[self.at].flow
    }

    fn body_mut(&mut self) -> &mut Body {
        &mut self.module.functions[self.at].body
    }

    fn extras_mut(&mut self) -> &mut Extras {
        &mut self.module.functions[self.at].extras
    }

    fn forget_use_list_orders(&mut self) {
        self.module.functions[self.at].use_list_orders.clear();
        self.module.use_list_orders.clear();
    }
}
