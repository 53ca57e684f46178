//! Numbers of entities without a name: globals, local values, attribute groups, metadata nodes.
//!
//! LLVM numbers on demand while it prints, and its order shows in the text. So this module
//! reproduces the order exactly:
//!
//! - **Globals**: variables, then aliases and ifuncs, then functions.
//! - **Locals** of a function: arguments; then block by block in order, the block itself before its
//!   instructions; instructions without a result get no number.
//! - **Attribute groups**: those of variables, of function headers in order, then of the calls of
//!   each function.
//! - **Metadata**: what variables carry, the operands of named metadata, then for each function
//!   what its header, its debug records and its instructions refer to. A node gets its number
//!   before what it refers to (pre-order, depth first); equal nodes are one
//!   ([`phalanx_ir::metadata::Metadata::representatives`]); and what is always written in place,
//!   such as `!DIExpression`, gets none.
//!
//! # Two numberings
//!
//! For a listing of a module, functions are numbered from the first to the last. When LLVM prints a
//! single instruction, for a message or a report, it numbers as if the function were the only one
//! with a body. One [`Numbers`] holds the part that both numberings share, and another continues it
//! for the one function. So a report about one function does not pay for the others. (LLVM makes an
//! exception: an instruction that passes metadata to an intrinsic is printed with the numbers of
//! the whole module.)
//!
//! Everything is O(size of the numbered entities).

use std::sync::Arc;

use phalanx_ir::{
    AttrSet, GlobalName, InstId, Module, Type, ValueKind,
    function::{BlockId, FunctionRef},
    metadata::{Attachment, LocalMetadata, MetadataId},
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

const NONE: u32 = u32::MAX;

/// Numbers of unnamed globals, by the number they are held under.
#[derive(Debug, Default)]
pub(super) struct GlobalSlots(FxHashMap<u32, u32>);

impl GlobalSlots {
    pub(super) fn new(module: &Module, functions: &[FunctionRef<'_>]) -> Self {
        let variables = module.variables.iter().map(|v| v.name);
        let aliases = module.aliases.iter().filter(|a| !a.is_ifunc).map(|a| a.name);
        let ifuncs = module.aliases.iter().filter(|a| a.is_ifunc).map(|a| a.name);
        let functions = functions.iter().map(|f| f.header.name);
        let mut slots = FxHashMap::default();
        for name in variables.chain(aliases).chain(ifuncs).chain(functions) {
            if let GlobalName::Numbered(number) = name {
                let next = slots.len() as u32;
                slots.entry(number).or_insert(next);
            }
        }
        GlobalSlots(slots)
    }

    /// The number to write for the entity that is held under `number`.
    pub(super) fn get(&self, number: u32) -> u32 {
        self.0.get(&number).copied().unwrap_or(number)
    }
}

/// Numbers of unnamed arguments, blocks and results of one function.
#[derive(Debug)]
pub(super) struct LocalSlots {
    args: Vec<u32>,
    blocks: Vec<u32>,
    insts: Vec<u32>,
}

impl LocalSlots {
    pub(super) fn new(function: FunctionRef<'_>) -> Self {
        let names = &function.extras.names;
        let mut next = 0;
        let mut number = |slot: &mut u32| {
            *slot = next;
            next += 1;
        };
        let mut args = vec![NONE; function.header.params.len()];
        for (slot, position) in args.iter_mut().zip(0..) {
            if names.arg(position).is_none() {
                number(slot);
            }
        }
        let mut blocks = vec![NONE; function.flow.id_count()];
        let mut insts = vec![NONE; function.body.id_count()];
        for &block in function.flow.order() {
            if names.block(block).is_none() {
                number(&mut blocks[block_index(block)]);
            }
            for inst in function.body.block_insts(block) {
                if function.body.inst(inst).ty != Type::VOID && names.inst(inst).is_none() {
                    number(&mut insts[inst_index(inst)]);
                }
            }
        }
        LocalSlots { args, blocks, insts }
    }

    pub(super) fn arg(&self, position: u32) -> Option<u32> {
        get(&self.args, position as usize)
    }

    pub(super) fn block(&self, block: BlockId) -> Option<u32> {
        get(&self.blocks, block_index(block))
    }

    pub(super) fn inst(&self, inst: InstId) -> Option<u32> {
        get(&self.insts, inst_index(inst))
    }
}

fn block_index(block: BlockId) -> usize {
    block.into_raw().into_u32() as usize
}

fn inst_index(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

fn get(slots: &[u32], at: usize) -> Option<u32> {
    slots.get(at).copied().filter(|&slot| slot != NONE)
}

/// Numbers given one after the other to things met for the first time.
#[derive(Clone, Debug)]
struct Slots<T> {
    slots: FxHashMap<T, u32>,
    order: Vec<T>,
    /// How many numbers are given elsewhere, to what comes before.
    before: u32,
}

impl<T: Copy + Eq + std::hash::Hash> Slots<T> {
    fn after(before: u32) -> Self {
        Slots { slots: FxHashMap::default(), order: Vec::new(), before }
    }

    fn count(&self) -> u32 {
        self.before + self.order.len() as u32
    }

    /// Numbers `item`; false when it has a number.
    fn add(&mut self, item: T) -> bool {
        let next = self.count();
        let new = !self.slots.contains_key(&item);
        if new {
            self.slots.insert(item, next);
            self.order.push(item);
        }
        new
    }
}

/// Numbers of attribute groups and metadata nodes.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    groups: Slots<AttrSet>,
    nodes: Slots<MetadataId>,
    /// Nodes that LLVM merges with an equal earlier node.
    same: Arc<FxHashMap<MetadataId, MetadataId>>,
}

impl Numbers {
    /// Numbers of what variables, named metadata and the headers of functions mention.
    pub(super) fn of_module(module: &Module, functions: &[FunctionRef<'_>]) -> Self {
        let same = Arc::new(module.metadata.representatives());
        let mut numbers = Numbers { groups: Slots::after(0), nodes: Slots::after(0), same };
        let context = &module.context;
        for variable in &module.variables {
            for attachment in attachments(module, variable.metadata.iter().copied()) {
                numbers.add_node(module, None, attachment.node);
            }
            numbers.add_group(None, variable.attributes);
        }
        for alias in &module.aliases {
            for attachment in attachments(module, alias.metadata.iter().copied()) {
                numbers.add_node(module, None, attachment.node);
            }
        }
        for named in module.metadata.named() {
            for &node in &named.operands {
                numbers.add_node(module, None, node);
            }
        }
        for function in functions {
            let attributes = context.attr_list_data(function.header.attributes);
            numbers.add_group(None, attributes.function);
        }
        numbers
    }

    /// Numbers of what only this function mentions, after those of the module.
    pub(super) fn of_function(module: &Module, base: &Numbers, function: FunctionRef<'_>) -> Self {
        let mut numbers = Numbers {
            groups: Slots::after(base.groups.count()),
            nodes: Slots::after(base.nodes.count()),
            same: Arc::clone(&base.same),
        };
        numbers.add_function(module, Some(base), function);
        numbers
    }

    /// Numbers everything that this function mentions.
    pub(super) fn add_function(
        &mut self,
        module: &Module,
        base: Option<&Numbers>,
        function: FunctionRef<'_>,
    ) {
        let context = &module.context;
        for attachment in attachments(module, function.header.metadata.iter().copied()) {
            self.add_node(module, base, attachment.node);
        }
        let body = function.body;
        for &block in function.flow.order() {
            for inst in body.block_insts(block) {
                for record in function.extras.debug_records_before(inst) {
                    for node in record.nodes() {
                        self.add_node(module, base, node);
                    }
                }
                if body.inst(inst).opcode.is_call() {
                    for node in metadata_operands(function, inst) {
                        self.add_node(module, base, node);
                    }
                    let attributes = context.attr_list_data(body.call_info(inst).attributes);
                    self.add_group(base, attributes.function);
                }
                for attachment in attachments(module, function.extras.attachments_of(inst)) {
                    self.add_node(module, base, attachment.node);
                }
            }
        }
    }

    fn add_group(&mut self, base: Option<&Numbers>, set: AttrSet) {
        if set != AttrSet::EMPTY && base.is_none_or(|base| base.group(set).is_none()) {
            self.groups.add(set);
        }
    }

    /// Numbers a node and what it refers to. Depth first with an explicit stack: chains of nodes
    /// may be long.
    fn add_node(&mut self, module: &Module, base: Option<&Numbers>, node: MetadataId) {
        if self.node(node).is_some() {
            return;
        }
        let metadata = &module.metadata;
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            let node = self.representative(node);
            if metadata.is_inline(node)
                || base.is_some_and(|base| base.node(node).is_some())
                || !self.nodes.add(node)
            {
                continue;
            }
            stack.extend(metadata.operands(node).into_iter().rev());
        }
    }

    pub(super) fn group(&self, set: AttrSet) -> Option<u32> {
        self.groups.slots.get(&set).copied()
    }

    pub(super) fn node(&self, node: MetadataId) -> Option<u32> {
        self.nodes.slots.get(&self.representative(node)).copied()
    }

    fn representative(&self, node: MetadataId) -> MetadataId {
        self.same.get(&node).copied().unwrap_or(node)
    }

    /// Groups in the order of their numbers.
    pub(super) fn groups(&self) -> &[AttrSet] {
        &self.groups.order
    }

    /// Nodes in the order of their numbers.
    pub(super) fn nodes(&self) -> &[MetadataId] {
        &self.nodes.order
    }
}

/// Attachments in the order they are written: by the rank of their kinds.
pub(super) fn attachments(
    module: &Module,
    attachments: impl Iterator<Item = Attachment>,
) -> SmallVec<[Attachment; 4]> {
    let mut attachments: SmallVec<[Attachment; 4]> = attachments.collect();
    if attachments.len() > 1 {
        attachments.sort_by_key(|attachment| module.metadata.kind_rank(attachment.kind));
    }
    attachments
}

/// The nodes a call passes as operands.
pub(super) fn metadata_operands(
    function: FunctionRef<'_>,
    inst: InstId,
) -> impl Iterator<Item = MetadataId> {
    function.body.operands(inst).iter().filter_map(move |operand| match operand.kind() {
        ValueKind::Metadata(id) => match function.body.local_metadata(id) {
            LocalMetadata::Node(node) => Some(*node),
            _ => None,
        },
        _ => None,
    })
}
