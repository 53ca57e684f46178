//! Places of entities in the text. The map is separate from the module, so that moving text changes
//! no fact.
//!
//! An entry is a byte offset of four bytes. Lines and columns are found on demand, by binary search
//! in a table of line starts that is built on first use.

use std::sync::OnceLock;

use phalanx_ir::{BlockId, InstId, module::Entity};

/// Byte offsets of the entities of one module.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// By index in [`phalanx_ir::Module::functions`].
    functions: Vec<FunctionMap>,
    variables: Vec<u32>,
    aliases: Vec<u32>,
    lines: OnceLock<Box<[u32]>>,
}

/// Byte offsets of what one function holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionMap {
    /// The offset of the name in the header.
    pub(crate) name: u32,
    /// By position.
    pub(crate) arguments: Box<[u32]>,
    /// Of labels (of the first instruction where a label is left out), by block number.
    pub(crate) blocks: Box<[u32]>,
    /// The offset of the first token, by instruction number.
    pub(crate) insts: Box<[u32]>,
}

impl SourceMap {
    pub(crate) fn push_function(&mut self, map: FunctionMap) {
        self.functions.push(map);
    }

    pub(crate) fn push_variable(&mut self, offset: u32) {
        self.variables.push(offset);
    }

    pub(crate) fn push_alias(&mut self, offset: u32) {
        self.aliases.push(offset);
    }

    /// Keeps the places of functions for which `kept` holds.
    pub(crate) fn retain_functions(&mut self, kept: &[bool]) {
        let mut kept = kept.iter();
        self.functions.retain(|_| kept.next().copied().unwrap_or(true));
    }

    /// Takes out the places of the functions from `first` on.
    pub(crate) fn split_functions(&mut self, first: usize) -> Vec<FunctionMap> {
        self.functions.split_off(first.min(self.functions.len()))
    }

    /// Gives instructions that the upgrade has made the place of those that they replace.
    pub(crate) fn extend_from(&mut self, function: usize, replaced: &[InstId]) {
        let map = &mut self.functions[function];
        let place = |inst: &InstId| map.insts.get(inst.into_raw().into_u32() as usize).copied();
        let places = replaced.iter().map(|inst| place(inst).unwrap_or_default());
        map.insts = map.insts.iter().copied().chain(places).collect();
    }

    /// The name of a function, in its definition or declaration.
    pub fn function(&self, function: usize) -> Option<u32> {
        self.functions.get(function).map(|map| map.name)
    }

    /// An argument of a function, by position.
    pub fn argument(&self, function: usize, position: u32) -> Option<u32> {
        self.functions.get(function)?.arguments.get(position as usize).copied()
    }

    /// The label of a block; where the label is left out, its first instruction.
    pub fn block(&self, function: usize, block: BlockId) -> Option<u32> {
        self.functions.get(function)?.blocks.get(block.into_raw().into_u32() as usize).copied()
    }

    /// The first token of an instruction: its name, or the opcode where it has none.
    pub fn inst(&self, function: usize, inst: InstId) -> Option<u32> {
        self.functions.get(function)?.insts.get(inst.into_raw().into_u32() as usize).copied()
    }

    /// The name of a global variable.
    pub fn variable(&self, variable: usize) -> Option<u32> {
        self.variables.get(variable).copied()
    }

    /// The name of an alias or ifunc.
    pub fn alias(&self, alias: usize) -> Option<u32> {
        self.aliases.get(alias).copied()
    }

    /// The place of any entity.
    pub fn entity(&self, entity: Entity) -> Option<u32> {
        match entity {
            Entity::Function(function) => self.function(function as usize),
            Entity::Block(function, block) => self.block(function as usize, block),
            Entity::Inst(function, inst) => self.inst(function as usize, inst),
            Entity::Variable(variable) => self.variable(variable as usize),
            Entity::Alias(alias) => self.alias(alias as usize),
        }
    }

    /// Line and column of an offset, both from 1; the column counts bytes.
    ///
    /// `source` is the text the map was made from. O(its length) once, then O(log lines).
    pub fn line_col(&self, source: &[u8], offset: u32) -> (usize, usize) {
        let lines = self.lines.get_or_init(|| {
            std::iter::once(0)
                .chain(memchr::memchr_iter(b'\n', source).map(|at| at as u32 + 1))
                .collect()
        });
        let line = lines.partition_point(|&start| start <= offset);
        (line, (offset - lines[line - 1]) as usize + 1)
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        let inside: usize = self
            .functions
            .iter()
            .map(|map| {
                (map.arguments.len() + map.blocks.len() + map.insts.len()) * size_of::<u32>()
            })
            .sum();
        inside
            + self.functions.capacity() * size_of::<FunctionMap>()
            + (self.variables.capacity() + self.aliases.capacity()) * size_of::<u32>()
    }
}
