//! Parser state: the current function, its calls and their types.

use phalanx_ir::{
    AttrSet, Body, Context, InstId, Names, Symbol, Type, TypeKind, Value,
    metadata::{Attachment, DebugRecord},
};
use rustc_hash::FxHashMap;

use crate::error::Span;

/// The function whose body is being read.
#[derive(Default)]
pub(crate) struct FunctionState {
    pub(crate) body: Body,
    pub(in crate::parser) names: Names,
    pub(in crate::parser) attachments: Vec<(InstId, Attachment)>,
    pub(in crate::parser) debug_records: Vec<(InstId, DebugRecord)>,
    /// Successors of all blocks so far, by number among the labels.
    pub(crate) successors: Vec<u32>,
    /// Where the successors of each block end.
    pub(in crate::parser) successor_ends: Vec<u32>,
    /// Phis, whose blocks are labels until the end.
    pub(in crate::parser) phis: Vec<InstId>,
    /// Instructions with placeholders among their operands.
    pub(in crate::parser) unresolved: Vec<InstId>,
    /// Whether an operand of the current instruction is a placeholder.
    pub(crate) has_placeholder: bool,
    /// Whether the comma before the attachments of the current instruction has been read.
    pub(crate) ate_comma: bool,
    /// Operands of the current instruction.
    pub(crate) operands: Vec<Value>,
    /// Shapes of calls that occurred, by their words.
    pub(crate) calls: FxHashMap<Box<[u32]>, u32>,
    pub(in crate::parser) inst_offsets: Vec<u32>,
    pub(in crate::parser) block_offsets: Vec<u32>,
    /// Type of the function's result.
    pub(crate) ret: Option<Type>,
    /// Whether the function takes variable arguments.
    pub(crate) vararg: bool,
    /// Index of the function in its module.
    pub(crate) index: usize,
    /// Whether metadata operands or debug records hold values.
    pub(crate) has_local_metadata: bool,
}

impl FunctionState {
    /// Makes it ready for a function; buffers keep their memory.
    pub(in crate::parser) fn start(&mut self, index: usize, ret: Type) {
        self.successors.clear();
        self.successor_ends.clear();
        self.phis.clear();
        self.unresolved.clear();
        self.inst_offsets.clear();
        self.block_offsets.clear();
        if self.calls.capacity() > 1024 {
            self.calls = FxHashMap::default();
        }
        self.calls.clear();
        self.has_local_metadata = false;
        self.index = index;
        self.ret = Some(ret);
    }
}

/// Buffers for the call that is being read.
#[derive(Default)]
pub(crate) struct CallScratch {
    /// Type, attributes and place of each argument.
    pub(in crate::parser) args: Vec<(Type, AttrSet, Span)>,
    /// Tag and number of operands of each bundle.
    pub(in crate::parser) bundles: Vec<(Symbol, u32)>,
    /// The shape, encoded in words.
    pub(in crate::parser) words: Vec<u32>,
    pub(in crate::parser) types: Vec<Type>,
}

/// Function types by result and parameters, cached.
#[derive(Default)]
pub(crate) struct FunctionTypes {
    pub(in crate::parser) known: FxHashMap<Box<[Type]>, Type>,
    pub(in crate::parser) key: Vec<Type>,
}

impl FunctionTypes {
    /// The function type without variable arguments.
    pub(crate) fn get(&mut self, context: &Context, ret: Type, params: &[Type]) -> Type {
        self.key.clear();
        self.key.push(ret);
        self.key.extend_from_slice(params);
        if let Some(&known) = self.known.get(&self.key[..]) {
            return known;
        }
        let kind = TypeKind::Function { ret, params: params.into(), vararg: false };
        let ty = context.type_of_kind(&kind);
        self.known.insert(self.key[..].into(), ty);
        ty
    }
}
