//! Parser state: the names of the current function.

use phalanx_ir::{BlockId, Type, Value, ValueKind};
use rustc_hash::FxHashMap;

use crate::lexer::Token;
use crate::parser::names::NameTable;

/// Instruction numbers from here on are placeholders.
pub(crate) const PLACEHOLDERS: u32 = 1 << 28;

/// Numbers up to this many beyond twice the entries so far are in the dense table.
pub(in crate::parser) const SLACK: usize = 1024;

/// The names of a function.
#[derive(Default)]
pub(crate) struct Locals {
    pub(in crate::parser) dense: Vec<Local>,
    pub(in crate::parser) sparse: FxHashMap<u32, Local>,
    pub(in crate::parser) named: NameTable<Local>,
    pub(in crate::parser) entries: usize,
    /// The number that the next value without a name gets.
    pub(crate) next_number: u32,
    pub(in crate::parser) placeholders: Vec<Placeholder>,
    pub(crate) labels: Vec<Label>,
}

/// A value and its type; of a block, its number in [`Locals::labels`].
#[derive(Copy, Clone)]
pub(in crate::parser) struct Local {
    pub(in crate::parser) value: Value,
    pub(in crate::parser) ty: Type,
}

/// An entry of the dense table that has not been filled.
pub(in crate::parser) const VACANT: Type = Type::from_raw(u32::MAX);

pub(in crate::parser) struct Placeholder {
    pub(in crate::parser) mention: Token,
    pub(in crate::parser) value: Option<Value>,
}

/// A block that has been mentioned.
pub(crate) struct Label {
    /// Its first mention.
    pub(crate) mention: Token,
    /// Its place in the order of the text, once it is there.
    pub(crate) block: Option<BlockId>,
}

impl Locals {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.named.clear();
        if self.sparse.capacity() > 0 {
            self.sparse = FxHashMap::default();
        }
        self.dense.clear();
        self.placeholders.clear();
        self.labels.clear();
        self.entries = 0;
        self.next_number = 0;
    }

    #[inline]
    pub(in crate::parser) fn numbered(&self, number: u32) -> Option<Local> {
        match self.dense.get(number as usize) {
            Some(local) if local.ty != VACANT => Some(*local),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&number).copied(),
        }
    }

    #[inline]
    pub(in crate::parser) fn set_numbered(&mut self, number: u32, local: Local) {
        let at = number as usize;
        self.entries += 1;
        if at >= self.dense.len() {
            if at > self.entries * 2 + SLACK {
                self.sparse.insert(number, local);
                return;
            }
            let vacant = Local { value: Value::arg(0), ty: VACANT };
            self.dense.resize(at + 1, vacant);
        }
        self.dense[at] = local;
    }

    /// What a placeholder stands for; other values as they are.
    pub(crate) fn resolve(&self, value: Value) -> Value {
        match value.kind() {
            ValueKind::Inst(inst) if inst.into_raw().into_u32() >= PLACEHOLDERS => {
                let at = (inst.into_raw().into_u32() - PLACEHOLDERS) as usize;
                self.placeholders[at].value.unwrap_or(value)
            }
            _ => value,
        }
    }
}

pub(in crate::parser) fn placeholder_number(value: Value) -> Option<usize> {
    let number = value.as_inst()?.into_raw().into_u32();
    number.checked_sub(PLACEHOLDERS).map(|at| at as usize)
}
