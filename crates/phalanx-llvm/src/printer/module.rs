//! A whole module, entity by entity in LLVM's order.

use std::{
    io,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use phalanx_ir::{
    GlobalName,
    function::FunctionRef,
    module::{ComdatKind, UseListOrder, UseListTarget},
    symbol::Symbol,
    use_counts::{LocalUseCounts, UseCounts},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{FunctionPrinter, ModulePrinter, Scope, Writer};

/// Appends the module to `out`, and calls `part_done` with it after each function, or after some
/// that a thread has written, and at the end.
pub(super) fn write(
    cx: &ModulePrinter<'_>,
    out: &mut Vec<u8>,
    threads: usize,
    part_done: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = cx.writer(out);
    writer.identification();
    writer.structs();
    writer.comdats();
    writer.globals();
    let mut uses = OrderedUses::new(cx);
    let instructions = cx.functions.iter().map(|function| function.body.id_count()).sum::<usize>();
    let threads = threads.min(instructions / WORTH_A_THREAD);
    if uses.is_none() && threads > 1 {
        for text in texts_of_functions(cx, threads) {
            out.extend_from_slice(&text.into_inner().unwrap_or_default());
            part_done(out)?;
        }
    } else {
        for &function in &cx.functions {
            write_function(cx, function, uses.as_mut(), out);
            part_done(out)?;
        }
    }
    let mut writer = cx.writer(out);
    let orders: Vec<&UseListOrder> = match &mut uses {
        Some(uses) => cx.module.use_list_orders.iter().filter(|order| uses.holds(order)).collect(),
        None => Vec::new(),
    };
    writer.use_list_orders(&orders, "");
    writer.attribute_groups();
    writer.all_metadata();
    writer.summary();
    part_done(out)
}

/// So many instructions take longer to write than a thread takes to begin.
const WORTH_A_THREAD: usize = 1000;

fn write_function(
    cx: &ModulePrinter<'_>,
    function: FunctionRef<'_>,
    uses: Option<&mut OrderedUses<'_>>,
    out: &mut Vec<u8>,
) {
    let printer = FunctionPrinter::new(cx, function, Scope::Module);
    let mut writer = printer.writer(out);
    writer.str("\n");
    writer.function(&printer, uses);
}

/// The texts of functions that follow each other, some in each.
fn texts_of_functions(cx: &ModulePrinter<'_>, threads: usize) -> Vec<OnceLock<Vec<u8>>> {
    // Several for each thread, since functions differ in size.
    let at_once = cx.functions.len().div_ceil(threads * 8).max(1);
    let runs: Vec<&[FunctionRef<'_>]> = cx.functions.chunks(at_once).collect();
    let texts: Vec<OnceLock<Vec<u8>>> = runs.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((run, text)) = runs.iter().zip(&texts).nth(next.fetch_add(1, Relaxed)) {
            let mut out = Vec::new();
            run.iter().for_each(|&function| write_function(cx, function, None, &mut out));
            let _ = text.set(out);
        }
    };
    thread::scope(|scope| {
        (1..threads.min(runs.len())).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    texts
}

/// Use counts up to the current place of the text, in modules with use-list orders. LLVM refuses an
/// order with a wrong number of uses. So the printer omits orders that no longer fit after an edit
/// of the module.
pub(super) struct OrderedUses<'a> {
    cx: &'a ModulePrinter<'a>,
    constants: UseCounts<'a>,
    /// Uses within the function that was requested last.
    local: Option<(GlobalName, LocalUseCounts)>,
}

impl<'a> OrderedUses<'a> {
    /// Counts of the globals; none if the module has no orders.
    fn new(cx: &'a ModulePrinter<'a>) -> Option<Self> {
        let module = cx.module;
        let are_ordered = |function: &FunctionRef<'_>| !function.use_list_orders.is_empty();
        if module.use_list_orders.is_empty() && !cx.functions.iter().any(are_ordered) {
            return None;
        }
        Some(Self::of_globals(cx))
    }

    /// Counts of everything before a function; none if it has no orders.
    pub(super) fn up_to(cx: &'a ModulePrinter<'a>, function: FunctionRef<'_>) -> Option<Self> {
        if function.use_list_orders.is_empty() {
            return None;
        }
        let mut uses = Self::of_globals(cx);
        let before = cx.functions.iter().take_while(|f| f.header.name != function.header.name);
        for &function in before {
            uses.constants.add_function(function);
        }
        Some(uses)
    }

    fn of_globals(cx: &'a ModulePrinter<'a>) -> Self {
        let module = cx.module;
        let mut constants = UseCounts::new(cx.context);
        for variable in &module.variables {
            constants.add_variable(variable);
        }
        for alias in &module.aliases {
            constants.add_alias(alias);
        }
        OrderedUses { cx, constants, local: None }
    }

    /// Continues behind a function; returns its orders that still fit.
    pub(super) fn add<'o>(&mut self, function: FunctionRef<'o>) -> Vec<&'o UseListOrder> {
        self.constants.add_function(function);
        if function.use_list_orders.is_empty() {
            return Vec::new();
        }
        self.count(function);
        function.use_list_orders.iter().filter(|order| self.has_all_uses(order)).collect()
    }

    fn count(&mut self, function: FunctionRef<'_>) {
        let name = function.header.name;
        let blocks = self.constants.blocks_of(name, &self.cx.module.block_addresses);
        self.local = Some((name, LocalUseCounts::new(function, &blocks)));
    }

    /// Whether an order of the module still fits.
    fn holds(&mut self, order: &UseListOrder) -> bool {
        if let UseListTarget::Block(name, _) = order.target {
            let mut functions = self.cx.functions.iter();
            let Some(&function) = functions.find(|f| f.header.name == name) else { return false };
            if self.local.as_ref().is_none_or(|(known, _)| *known != name) {
                self.count(function);
            }
        }
        self.has_all_uses(order)
    }

    fn has_all_uses(&self, order: &UseListOrder) -> bool {
        let local = self.local.as_ref().map(|(_, local)| local);
        let uses = order.uses(&self.constants, local);
        uses.is_none_or(|uses| uses == order.indices.len() as u64)
    }
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

    /// Module-level assembly. For LLVM it is one text, in which each piece ends with a line break,
    /// and which is split at line breaks.
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
    pub(super) fn use_list_orders(&mut self, orders: &[&UseListOrder], indent: &str) {
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
