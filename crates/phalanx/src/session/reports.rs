//! Reports about a function: what the renderers of [`phalanx_report`] need from a session.

use phalanx_llvm::ModulePrinter;
use phalanx_report::{
    check::{Checker, LinedText, Sources},
    explain::Explainer,
};

use super::{FunctionId, Session};

impl Session {
    /// Turns findings about a function into diagnostics with places and reasons: see
    /// [`Session::diagnostics`]. `text` is the text of the module, or what it prints as; `sources`
    /// gives the files that it was compiled from.
    ///
    /// # Panics
    /// If the id is invalid.
    pub fn checker<'a>(
        &'a self,
        function: FunctionId,
        printer: &'a ModulePrinter<'a>,
        text: &'a LinedText<'a>,
        sources: &'a dyn Sources,
    ) -> Checker<'a> {
        Checker::new(&self.db, self.function_there(function), printer, text, sources)
    }

    /// Says in sentences why something in a function diverges, as `phalanx explain` does. `text` is
    /// the text of the module, for line numbers.
    ///
    /// # Panics
    /// If the id is invalid.
    pub fn explainer<'a>(
        &'a self,
        function: FunctionId,
        printer: &'a ModulePrinter<'a>,
        text: &'a [u8],
    ) -> Explainer<'a> {
        Explainer::new(&self.db, self.function_there(function), printer, text)
    }
}
