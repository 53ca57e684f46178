//! A whole module, entity by entity in LLVM's order.

use std::io;

use phalanx_ir::{
    module::{ComdatKind, UseListOrder, UseListTarget},
    symbol::Symbol,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{FunctionPrinter, ModulePrinter, Scope, Writer};

/// Appends the module to `out`, and calls `part_done` with it after each function and at the end.
pub(super) fn write(
    cx: &ModulePrinter<'_>,
    out: &mut Vec<u8>,
    part_done: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = cx.writer(out);
    writer.identification();
    writer.structs();
    writer.comdats();
    writer.globals();
    for &function in &cx.functions {
        let printer = FunctionPrinter::new(cx, function, Scope::Module);
        let mut writer = printer.writer(out);
        writer.str("\n");
        writer.function(&printer);
        part_done(out)?;
    }
    let mut writer = cx.writer(out);
    writer.use_list_orders(&cx.module.use_list_orders, "");
    writer.attribute_groups();
    writer.all_metadata();
    writer.summary();
    part_done(out)
}

impl Writer<'_> {
    /// Source name, layout, triple, module-level assembly.
    fn identification(&mut self) {
        let module = self.module();
        for (text, value) in [
            ("source_filename = ", module.source_filename),
            ("target datalayout = ", module.data_layout),
            ("target triple = ", module.triple),
        ] {
            if let Some(value) = value
                && !self.context().bytes(value).is_empty()
            {
                self.str(text);
                self.quoted(value);
                self.str("\n");
            }
        }
        self.module_asm();
    }

    /// Module-level assembly. To LLVM it is one text, in which each piece ends a line, and which is split at line breaks.
    fn module_asm(&mut self) {
        let mut text = Vec::new();
        for &asm in &self.module().module_asm {
            text.extend_from_slice(self.context().bytes(asm));
            if text.last().is_some_and(|&byte| byte != b'\n') {
                text.push(b'\n');
            }
        }
        let Some(text) = text.strip_suffix(b"\n") else { return };
        self.str("\n");
        for line in text.split(|&byte| byte == b'\n') {
            self.str("module asm ");
            self.quoted_bytes(line);
            self.str("\n");
        }
    }

    /// Identified structure types.
    fn structs(&mut self) {
        let cx = self.cx;
        let order = &cx.struct_order().order;
        if !order.is_empty() {
            self.str("\n");
        }
        for &at in order {
            let (name, body) = &cx.module.structs[at];
            self.struct_name(*name);
            self.str(" = type ");
            self.struct_body(body);
            self.str("\n");
        }
    }

    /// Comdats that something is in: first those of functions, then those of variables.
    fn comdats(&mut self) {
        let cx = self.cx;
        let kinds: FxHashMap<Symbol, ComdatKind> = cx.module.comdats.iter().copied().collect();
        let of_functions = cx.functions.iter().filter_map(|f| f.header.comdat);
        let of_variables = cx.module.variables.iter().filter_map(|v| v.comdat);
        let mut seen = FxHashSet::default();
        for name in of_functions.chain(of_variables) {
            if !seen.insert(name) {
                continue;
            }
            self.str("\n");
            self.name(b'$', cx.context.bytes(name));
            self.str(" = comdat ");
            self.str(kinds.get(&name).unwrap_or(&ComdatKind::Any).text());
            self.str("\n");
        }
    }

    fn attribute_groups(&mut self) {
        let cx = self.cx;
        let groups = cx.whole().groups();
        if !groups.is_empty() {
            self.str("\n");
        }
        for (number, &set) in groups.iter().enumerate() {
            self.str("attributes #");
            self.number(number as u64);
            self.str(" = { ");
            self.group_attributes(set);
            self.str(" }\n");
        }
    }

    fn all_metadata(&mut self) {
        let cx = self.cx;
        if !cx.module.metadata.named().is_empty() {
            self.str("\n");
            self.named_metadata();
        }
        let nodes = cx.whole().nodes();
        if !nodes.is_empty() {
            self.str("\n");
        }
        for (number, &node) in nodes.iter().enumerate() {
            self.str("!");
            self.number(number as u64);
            self.str(" = ");
            self.metadata_node(node);
            self.str("\n");
        }
    }

    fn summary(&mut self) {
        let module = self.module();
        if !module.summary.is_empty() {
            self.str("\n");
        }
        for &line in &module.summary {
            self.push(self.context().bytes(line));
            self.str("\n");
        }
    }

    /// `uselistorder` directives, each line after `indent`.
    pub(super) fn use_list_orders(&mut self, orders: &[UseListOrder], indent: &str) {
        if !orders.is_empty() {
            self.str("\n; uselistorder directives\n");
        }
        for order in orders {
            self.str(indent);
            match order.target {
                UseListTarget::Value(value) => {
                    self.str("uselistorder ");
                    self.typed_value(value);
                }
                UseListTarget::Block(function, block) => {
                    self.str("uselistorder_bb ");
                    self.global(function);
                    self.str(", ");
                    self.block_of(function, block);
                }
            }
            for (at, &index) in order.indices.iter().enumerate() {
                self.str(if at == 0 { ", { " } else { ", " });
                self.number(u64::from(index));
            }
            self.str(" }\n");
        }
    }
}
