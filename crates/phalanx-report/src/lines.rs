//! Where functions, blocks and instructions stand in the text of their module.
//!
//! O(log lines) for each place.

use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{BlockId, InstId};
use serde::Serialize;

/// A place in the file; zeros when unknown.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// Lines and columns of the entities of a function, by a table of line starts made once per module.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    map: Option<&'a phalanx_llvm::SourceMap>,
    position: usize,
    source: &'a [u8],
}

impl<'a> Lines<'a> {
    pub(crate) fn new(db: &'a Database, input: FunctionInput, source: &'a [u8]) -> Self {
        let module = input.module(db);
        let position =
            module.functions(db).iter().position(|e| e.input == input).unwrap_or(usize::MAX);
        Lines { map: module.source_map(db).as_deref(), position, source }
    }

    fn place(&self, offset: impl FnOnce(&phalanx_llvm::SourceMap, usize) -> Option<u32>) -> Place {
        let found = self.map.and_then(|map| Some((map, offset(map, self.position)?)));
        found.map_or(Place::default(), |(map, offset)| {
            let (line, column) = map.line_col(self.source, offset);
            Place { line: line as u32, column: column as u32 }
        })
    }

    pub(crate) fn function(&self) -> Place {
        self.place(|map, at| map.function(at))
    }

    pub(crate) fn argument(&self, position: u32) -> Place {
        self.place(|map, at| map.argument(at, position))
    }

    pub(crate) fn inst(&self, inst: InstId) -> Place {
        self.place(|map, at| map.inst(at, inst))
    }
    pub(crate) fn block(&self, block: BlockId) -> Place {
        self.place(|map, at| map.block(at, block))
    }
}
