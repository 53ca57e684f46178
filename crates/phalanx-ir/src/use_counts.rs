//! Counts the uses of values as LLVM does: a `uselistorder` directive has one index per use.
//!
//! A use is an operand of an instruction, of a constant, or of a property of a global such as its
//! initialiser. A constant exists once, so its operands count once however often it is used itself.
//! Blocks are used by branches and by their addresses, not by phis. Plain data (numbers, `null`,
//! `undef`) has no list of uses, and metadata uses nothing.
//!
//! Parts of a module are added in the order of the text, since a directive within a function refers
//! to the uses up to there.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    BlockId, Context,
    constant::{Const, ConstKind},
    function::FunctionRef,
    module::{BlockAddress, GlobalAlias, GlobalVariable, UseListOrder, UseListTarget},
    symbol::GlobalName,
    types::TypeKind,
    value::Value,
};

/// Uses of constants in the parts added so far.
#[derive(Debug)]
pub struct UseCounts<'c> {
    context: &'c Context,
    globals: FxHashMap<GlobalName, u64>,
    /// Uses of constants with operands.
    constants: FxHashMap<Const, u64>,
    /// Blocks whose addresses are among the constants, by slot.
    slots: Vec<u32>,
    /// Constants that are used, and how often.
    work: Vec<(Const, u64)>,
}

impl<'c> UseCounts<'c> {
    /// Counts without any uses.
    pub fn new(context: &'c Context) -> Self {
        UseCounts {
            context,
            globals: FxHashMap::default(),
            constants: FxHashMap::default(),
            slots: Vec::new(),
            work: Vec::new(),
        }
    }

    /// Adds the uses of a variable. O(new constants).
    pub fn add_variable(&mut self, variable: &GlobalVariable) {
        self.work.extend(variable.initializer.map(|initializer| (initializer, 1)));
        self.close();
    }

    /// Adds the uses of an alias. O(new constants).
    pub fn add_alias(&mut self, alias: &GlobalAlias) {
        self.work.push((alias.target, 1));
        self.close();
    }

    /// Adds the uses of a function. O(operands).
    pub fn add_function(&mut self, function: FunctionRef<'_>) {
        let header = function.header;
        let data = [header.prefix, header.prologue, header.personality];
        self.work.extend(data.into_iter().flatten().map(|constant| (constant, 1)));
        for &block in function.flow.order() {
            for inst in function.body.block_insts(block) {
                let operands = function.body.operands(inst).iter();
                self.work.extend(operands.filter_map(|v| v.as_const()).map(|c| (c, 1)));
                self.close();
            }
        }
        self.close();
    }

    fn close(&mut self) {
        while let Some((constant, times)) = self.work.pop() {
            let data = self.context.const_data(constant);
            if let ConstKind::Global(name) = data.kind {
                *self.globals.entry(name).or_default() += times;
                continue;
            }
            if self.is_data(constant) {
                continue;
            }
            let uses = self.constants.entry(constant).or_default();
            let is_new = *uses == 0;
            *uses += times;
            if !is_new {
                continue;
            }
            match &data.kind {
                ConstKind::Splat(element) => {
                    let lanes = match self.context.type_kind(data.ty) {
                        TypeKind::Vector { len, scalable: false, .. } => u64::from(*len),
                        _ => 1,
                    };
                    self.work.push((*element, lanes));
                }
                // A block address uses its block, not the function.
                ConstKind::BlockAddress { slot } => self.slots.push(*slot),
                ConstKind::DsoLocalEquivalent(name) | ConstKind::NoCfi(name) => {
                    *self.globals.entry(*name).or_default() += 1;
                }
                kind => self.work.extend(kind.parts().iter().map(|&part| (part, 1))),
            }
        }
    }

    /// Whether a constant is plain data.
    fn is_data(&self, constant: Const) -> bool {
        let is_number = |part: &Const| {
            matches!(self.context.const_data(*part).kind, ConstKind::Int(_) | ConstKind::Float(_))
        };
        let data = self.context.const_data(constant);
        match &data.kind {
            ConstKind::Int(_)
            | ConstKind::Float(_)
            | ConstKind::Null
            | ConstKind::NoneToken
            | ConstKind::Zero
            | ConstKind::Undef
            | ConstKind::Poison
            | ConstKind::Bytes(_) => true,
            ConstKind::Aggregate(parts) => {
                let is_sequence = matches!(
                    self.context.type_kind(data.ty),
                    TypeKind::Array { .. } | TypeKind::Vector { .. }
                );
                is_sequence && parts.iter().all(is_number)
            }
            ConstKind::Splat(element) => is_number(element),
            _ => false,
        }
    }

    /// Uses of a constant; none when it has no list of them.
    pub fn of_constant(&self, constant: Const) -> Option<u64> {
        match self.context.const_data(constant).kind {
            ConstKind::Global(name) => Some(self.globals.get(&name).copied().unwrap_or(0)),
            _ if self.is_data(constant) => None,
            _ => Some(self.constants.get(&constant).copied().unwrap_or(0)),
        }
    }

    /// The blocks of a function whose addresses are among the constants. O(addresses).
    pub fn blocks_of(&self, name: GlobalName, addresses: &[BlockAddress]) -> FxHashSet<BlockId> {
        let addresses = self.slots.iter().filter_map(|&slot| addresses.get(slot as usize));
        addresses.filter(|address| address.function == name).map(|address| address.block).collect()
    }
}

/// Uses within a function of its arguments, instructions and blocks.
#[derive(Debug)]
pub struct LocalUseCounts {
    uses: FxHashMap<Value, u64>,
}

impl LocalUseCounts {
    /// Counts the uses; each block in `by_address` has one more use. O(operands).
    pub fn new(function: FunctionRef<'_>, by_address: &FxHashSet<BlockId>) -> Self {
        let mut uses: FxHashMap<Value, u64> = FxHashMap::default();
        for &block in function.flow.order() {
            for inst in function.body.block_insts(block) {
                for &operand in function.body.operands(inst) {
                    if operand.as_const().is_none() && operand.as_block().is_none() {
                        *uses.entry(operand).or_default() += 1;
                    }
                }
            }
            for &successor in function.flow.successors(block) {
                *uses.entry(Value::block(successor)).or_default() += 1;
            }
        }
        for &block in by_address {
            *uses.entry(Value::block(block)).or_default() += 1;
        }
        LocalUseCounts { uses }
    }

    /// Uses of a value of the function.
    pub fn of(&self, value: Value) -> u64 {
        self.uses.get(&value).copied().unwrap_or(0)
    }
}

impl UseListOrder {
    /// The number of uses of the directive's target. `local` are the counts of the function that
    /// contains the directive, if any. None when the target has no list of uses.
    pub fn uses(&self, counts: &UseCounts<'_>, local: Option<&LocalUseCounts>) -> Option<u64> {
        let value = match self.target {
            UseListTarget::Value(value) => value,
            UseListTarget::Block(_, block) => Value::block(block),
        };
        match value.as_const() {
            Some(constant) => counts.of_constant(constant),
            None => Some(local.map_or(0, |local| local.of(value))),
        }
    }
}
