//! Source lines of instructions, for messages of `phalanx run`.
//!
//! ```text
//! k.cu:7:12: error: data race ...        with debug information
//! k.ll:20:3: error: data race ...        without
//! ```

use phalanx::{
    ir::{InstId, Module},
    llvm::SourceMap,
    report::{
        check::{Location, demangled},
        diagnostics::{SourceText, render_error, render_in_source, render_note},
    },
    simt::{Program, memory::Region},
};
use serde_json::{Value, json};

use crate::{files::FilesOf, input::Source};

/// The data for finding places.
pub(super) struct Places<'a> {
    pub(super) source: &'a Source,
    pub(super) module: &'a Module,
    pub(super) map: &'a SourceMap,
    pub(super) files: FilesOf<'a>,
    pub(super) program: &'a Program<'a>,
}

impl Places<'_> {
    /// An error at an instruction of a function, or about the launch as a whole.
    pub(super) fn error(&self, at: Option<(usize, InstId)>, message: &str) -> String {
        self.render(at, "error", message)
    }

    /// A remark on it.
    pub(super) fn note(&self, at: Option<(usize, InstId)>, message: &str) -> String {
        self.render(at, "note", message)
    }

    fn render(&self, at: Option<(usize, InstId)>, kind: &str, message: &str) -> String {
        let location = at.map(|(function, inst)| self.location(function, inst));
        if let Some(place) = location.and_then(|location| location.source) {
            return render_in_source(&place, &self.files, kind, message);
        }
        let text = SourceText { name: &self.source.module, text: &self.source.text };
        let offset = at.and_then(|(function, inst)| self.map.inst(function, inst));
        match kind {
            "error" => render_error(text, offset, message),
            _ => render_note(text, offset, message),
        }
    }

    fn location(&self, function: usize, inst: InstId) -> Location {
        Location::in_program(self.module, function, inst)
    }

    /// The line in the text of the module, and the place in the program if that is known.
    pub(super) fn json(&self, function: usize, inst: InstId) -> (Value, Value) {
        let line = self.map.inst(function, inst).map(|offset| {
            let before = self.source.text.iter().take(offset as usize);
            1 + before.filter(|&&byte| byte == b'\n').count()
        });
        (json!(line), json!(self.location(function, inst).source))
    }

    /// The name of an address: a variable of workgroup memory and an offset in it, or the address
    /// itself.
    pub(super) fn memory(&self, region: Region, address: u64) -> String {
        let variable = match region {
            Region::Shared => self.program.workgroup_variable(address),
            _ => None,
        };
        let named = variable.and_then(|(name, offset)| {
            let name = self.module.context.text(name.symbol()?);
            Some(format!("byte {offset} of `{}`", demangled(&name)))
        });
        named.unwrap_or_else(|| format!("{} address {address:#x}", region.text()))
    }
}
