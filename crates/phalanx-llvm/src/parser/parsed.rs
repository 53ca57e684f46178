//! The result of parsing a text.

use phalanx_ir::Module;

use crate::source_map::SourceMap;

/// A module and where everything in it stands.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The module.
    pub module: Module,
    /// Places in the source.
    pub source_map: SourceMap,
}
