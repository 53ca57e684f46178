//! Functions: header, blocks, and the comment after each label that lists predecessors.

use std::ops::Range;

use phalanx_ir::{
    AttrSet, CallConv,
    function::{BlockId, FunctionRef},
    module::UseListTarget,
};

use super::{FunctionPrinter, Writer, globals::Placement, module::OrderedUses};

/// The column at which comments after labels begin.
const COMMENT_COLUMN: usize = 50;

/// Predecessors of every block, each list in LLVM's order after reading the text: last written
/// first, unless a use-list order says otherwise.
struct Predecessors {
    /// Where the list of each block ends.
    ends: Vec<u32>,
    blocks: Vec<BlockId>,
}

impl Predecessors {
    /// O(blocks + edges).
    fn new(function: FunctionRef<'_>) -> Self {
        let flow = function.flow;
        let mut ends = vec![0; flow.id_count()];
        let edges = || {
            let blocks = flow.order().iter().rev();
            blocks.flat_map(|&block| flow.successors(block).iter().map(move |&to| (block, to)))
        };
        for (_, to) in edges() {
            ends[number(to)] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut blocks = Vec::new();
        if let Some(entry) = flow.entry() {
            blocks.resize(total as usize, entry);
        }
        // Each entry moves from the start of its list to the end as the list is filled.
        for (from, to) in edges() {
            let at = &mut ends[number(to)];
            blocks[*at as usize] = from;
            *at += 1;
        }
        let mut predecessors = Predecessors { ends, blocks };
        for order in function.use_list_orders {
            if let UseListTarget::Value(value) = order.target
                && let Some(block) = value.as_block()
            {
                predecessors.permute(block, &order.indices);
            }
        }
        predecessors
    }

    /// Applies a use-list order: the new position of each use. An order that counts uses other than
    /// branches is ignored.
    fn permute(&mut self, block: BlockId, indices: &[u32]) {
        let range = self.range(block);
        if indices.len() == range.len() {
            let list = &mut self.blocks[range];
            let mut order: Vec<_> = indices.iter().zip(list.iter().copied()).collect();
            order.sort_by_key(|&(&index, _)| index);
            for (place, (_, from)) in list.iter_mut().zip(order) {
                *place = from;
            }
        }
    }

    fn range(&self, block: BlockId) -> Range<usize> {
        let at = number(block);
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[at] as usize
    }

    fn of(&self, block: BlockId) -> &[BlockId] {
        &self.blocks[self.range(block)]
    }
}

fn number(block: BlockId) -> usize {
    block.into_raw().into_u32() as usize
}

impl<'a> Writer<'a> {
    /// Writes a declaration or definition, line break included. Only use-list orders that fit the
    /// current uses are written; `uses` are the uses up to here, if the module has orders.
    pub(super) fn function(
        &mut self,
        printer: &'a FunctionPrinter<'a>,
        uses: Option<&mut OrderedUses<'_>>,
    ) {
        let function = printer.function;
        let orders = match uses {
            Some(uses) => uses.add(function),
            None => Vec::new(),
        };
        let attributes = self.context().attr_list_data(function.header.attributes);
        self.attributes_comment(attributes.function);
        if function.is_declaration() {
            self.str("declare");
            self.attachments(function.header.metadata.iter().copied(), " ");
            self.str(" ");
            self.header(function);
            self.str("\n");
            return;
        }
        self.str("define ");
        self.header(function);
        self.attachments(function.header.metadata.iter().copied(), " ");
        self.str(" {");
        let predecessors = Predecessors::new(function);
        for (at, &block) in function.flow.order().iter().enumerate() {
            self.label(printer, block, (at > 0).then(|| predecessors.of(block)));
            for inst in function.body.block_insts(block) {
                for record in function.extras.debug_records_before(inst) {
                    self.str("    ");
                    self.debug_record(record);
                    self.str("\n");
                }
                self.str("  ");
                self.inst(inst);
                self.str("\n");
            }
        }
        self.use_list_orders(&orders, "  ");
        self.str("}\n");
    }

    /// `; Function Attrs: ..`: the attributes that are keywords, as a comment.
    fn attributes_comment(&mut self, set: AttrSet) {
        if set == AttrSet::EMPTY {
            return;
        }
        let start = self.out.len();
        self.str("; Function Attrs: ");
        let empty = self.out.len();
        self.function_attrs_comment(set);
        if self.out.len() == empty {
            self.out.truncate(start);
        } else {
            self.str("\n");
        }
    }

    /// The header without `define` or `declare`, and without metadata.
    fn header(&mut self, function: FunctionRef<'a>) {
        let header = function.header;
        let attributes = self.context().attr_list_data(header.attributes);
        self.placement(&Placement {
            linkage: header.linkage,
            visibility: header.visibility,
            dll: header.dll,
            dso_local: header.dso_local,
        });
        if header.call_conv != CallConv::C {
            self.call_conv(header.call_conv);
            self.str(" ");
        }
        if attributes.ret != AttrSet::EMPTY {
            self.attributes(attributes.ret);
            self.str(" ");
        }
        self.ty(header.ret);
        self.str(" ");
        self.global(header.name);
        self.str("(");
        for (at, &ty) in header.params.iter().enumerate() {
            if at > 0 {
                self.str(", ");
            }
            self.ty(ty);
            match attributes.params.get(at) {
                Some(&set) if set != AttrSet::EMPTY => {
                    self.str(" ");
                    self.attributes(set);
                }
                _ => {}
            }
            if !function.is_declaration() {
                self.str(" ");
                self.value(phalanx_ir::Value::arg(at as u32));
            }
        }
        if header.vararg {
            self.str(if header.params.is_empty() { "..." } else { ", ..." });
        }
        self.str(")");
        if !header.unnamed_addr.text().is_empty() {
            self.str(" ");
            self.str(header.unnamed_addr.text());
        }
        if header.address_space != 0 || self.cx.layout.program_space() != 0 {
            self.str(" addrspace(");
            self.number(u64::from(header.address_space));
            self.str(")");
        }
        self.attr_group(attributes.function);
        self.string_clause(" section ", header.section);
        self.string_clause(" partition ", header.partition);
        self.comdat(header.name, header.comdat);
        self.align(" align ", header.align);
        self.string_clause(" gc ", header.gc);
        for (text, constant) in [
            (" prefix ", header.prefix),
            (" prologue ", header.prologue),
            (" personality ", header.personality),
        ] {
            if let Some(constant) = constant {
                self.str(text);
                self.typed_constant(constant);
            }
        }
    }

    /// The keyword of a calling convention, or `cc` and its number.
    pub(super) fn call_conv(&mut self, call_conv: CallConv) {
        match call_conv.text() {
            Some(text) => self.str(text),
            None => {
                self.str("cc");
                self.number(u64::from(call_conv.0));
            }
        }
    }

    /// The line of a block's label; that of an entry block without a name is empty.
    fn label(
        &mut self,
        printer: &FunctionPrinter<'_>,
        block: BlockId,
        predecessors: Option<&[BlockId]>,
    ) {
        let name = printer.function.extras.names.block(block);
        let start = self.out.len() + 1;
        if name.is_some() || predecessors.is_some() {
            self.str("\n");
            printer.block_label(block, self.out);
            self.str(":");
        }
        if let Some(predecessors) = predecessors {
            let column = self.out.len() - start;
            let padding = COMMENT_COLUMN.saturating_sub(column).max(1);
            self.out.resize(self.out.len() + padding, b' ');
            self.str(if predecessors.is_empty() { "; No predecessors!" } else { "; preds = " });
            for (at, &predecessor) in predecessors.iter().enumerate() {
                if at > 0 {
                    self.str(", ");
                }
                self.block(predecessor);
            }
        }
        self.str("\n");
    }

    /// A block of the function with this name.
    pub(super) fn block_of(&mut self, function: phalanx_ir::GlobalName, block: BlockId) {
        let cx = self.cx;
        match cx.functions.iter().find(|f| f.header.name == function) {
            Some(&function) => cx.function(function).block_operand(block, self.out),
            None => self.str("<badref>"),
        }
    }
}
