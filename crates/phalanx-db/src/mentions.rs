//! Where a body names functions of its module: the edges of the call graph, as an input.
//!
//! The call graph of a module depends on every body, but hardly any edit changes a call. A query
//! that read all bodies would make everything that follows from the graph depend on each of them.
//! So what the graph needs is kept as an input beside the body, brought up to date from the journal
//! when an edit ends, and set only when it is different: queries on the graph have high durability,
//! and are validated in one step after other edits.
//!
//! Cost: O(instructions) the first time, O(changed instructions) after an edit.

use std::sync::Arc;

use memchr::memmem;
use phalanx_graph::BitSet;
use phalanx_ir::{Body, Const, Context, GlobalName, InstId, Type, ValueKind, constant::ConstKind};
use phalanx_target::{
    calling_convention::{self, Entry},
    intrinsics::lookup,
};
use salsa::{Durability, Setter};

use crate::{Database, FunctionInput, queries};

/// Functions that a body names. Intrinsics are left out where they are called, but for those of
/// which nothing is known: these are what their attributes say, as other functions are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mentions {
    /// Calls of what is named, by instruction.
    calls: Vec<(InstId, GlobalName)>,
    /// Who is called, each once, in the order of their names' numbers.
    callees: Vec<GlobalName>,
    /// Names in any other place, where they could be those of functions.
    taken: Vec<(InstId, GlobalName)>,
    /// Assembly that waits for earlier grids.
    waits: Vec<(InstId, ())>,
    /// Instructions in one of the lists, to tell of those that an edit has changed without a search
    /// in either.
    naming: BitSet,
}

impl Mentions {
    /// Those of a body.
    #[must_use]
    pub fn of(context: &Context, body: &Body) -> Mentions {
        let mut mentions = Mentions::default();
        for inst in body.all_ids() {
            mentions.add(context, body, inst);
        }
        mentions.with_naming()
    }

    /// The same lists, with what follows from them.
    fn with_naming(mut self) -> Mentions {
        let named = || self.calls.iter().chain(&self.taken).map(|(inst, _)| inst);
        let all = || named().chain(self.waits.iter().map(|(inst, ())| inst));
        let mut naming = BitSet::new(all().map(|i| number(i) as usize + 1).max().unwrap_or(0));
        all().for_each(|inst| {
            naming.insert(number(inst) as usize);
        });
        self.naming = naming;
        self.callees = distinct(&self.calls);
        self
    }

    /// Calls, in the order of the instructions' numbers.
    #[must_use]
    pub fn calls(&self) -> &[(InstId, GlobalName)] {
        &self.calls
    }

    /// Who is called, each once, in the order of their names' numbers.
    #[must_use]
    pub fn callees(&self) -> &[GlobalName] {
        &self.callees
    }

    /// Whose address is used otherwise, each once. May list variables.
    #[must_use]
    pub fn taken(&self) -> Vec<GlobalName> {
        distinct(&self.taken)
    }

    /// Whether some assembly waits for earlier grids (`griddepcontrol.wait`).
    #[must_use]
    pub fn waits_for_grids(&self) -> bool {
        !self.waits.is_empty()
    }

    fn add(&mut self, context: &Context, body: &Body, inst: InstId) {
        if body.block_of(inst).is_none() {
            return;
        }
        let operands = body.operands(inst);
        let is_call = body.inst(inst).opcode.is_call();
        for (position, operand) in operands.iter().enumerate() {
            match operand.kind() {
                ValueKind::Const(constant) => {
                    let kind = &context.const_data(constant).kind;
                    match *kind {
                        ConstKind::InlineAsm(ref asm) => {
                            let text = context.bytes(asm.template);
                            if memmem::find(text, b"griddepcontrol.wait").is_some() {
                                self.waits.push((inst, ()));
                            }
                        }
                        ConstKind::Global(name) if is_call && position + 1 == operands.len() => {
                            if !is_intrinsic(context, name) {
                                self.calls.push((inst, name));
                            }
                        }
                        _ => self.take(context, inst, constant),
                    }
                }
                ValueKind::Metadata(id) => {
                    let values = body.local_metadata(id).values().iter();
                    for constant in values.filter_map(|value| value.as_const()) {
                        self.take(context, inst, constant);
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes the functions that a constant is made of.
    fn take(&mut self, context: &Context, inst: InstId, constant: Const) {
        let is_simple = |constant: Const| {
            let data = context.const_data(constant);
            data.kind.parts().is_empty() && data.kind.entity().is_none()
        };
        if is_simple(constant) {
            return;
        }
        let mut work = vec![constant];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(constant) = work.pop() {
            if !seen.insert(constant) {
                continue;
            }
            let data = context.const_data(constant);
            work.extend(data.kind.parts().iter().copied().filter(|&part| !is_simple(part)));
            // Functions are in the default address space, or counted as taken; most variables are
            // not.
            if let Some(name) = data.kind.entity()
                && data.ty == Type::PTR
            {
                self.taken.push((inst, name));
            }
        }
    }

    /// Those of the body as it has become, if they are different. `position` is where it was when
    /// these were right.
    pub(crate) fn after(&self, context: &Context, body: &Body, position: u64) -> Option<Mentions> {
        let Some(changes) = body.journal().since(position) else {
            return Some(Mentions::of(context, body)).filter(|new| new != self);
        };
        if changes.insts.is_empty() {
            return None;
        }
        let changed = &*changes.insts;
        let is_changed =
            |inst: &InstId| changed.binary_search_by_key(&number(inst), number).is_ok();
        let mut new = Mentions::default();
        for &inst in changed {
            new.add(context, body, inst);
        }
        // Most edits name no function before nor after.
        let was_none = !changed.iter().any(|inst| self.naming.contains(number(inst) as usize));
        if was_none && new.calls.is_empty() && new.taken.is_empty() && new.waits.is_empty() {
            return None;
        }
        if of_changed(&self.calls, changed) == new.calls
            && of_changed(&self.taken, changed) == new.taken
            && of_changed(&self.waits, changed) == new.waits
        {
            return None;
        }
        let all = Mentions {
            calls: merged(&self.calls, new.calls, &is_changed),
            taken: merged(&self.taken, new.taken, &is_changed),
            waits: merged(&self.waits, new.waits, &is_changed),
            ..Mentions::default()
        };
        Some(all.with_naming())
    }
}

/// What a list has of instructions that changed, which are in order.
fn of_changed<T: Copy>(list: &[(InstId, T)], changed: &[InstId]) -> Vec<(InstId, T)> {
    if list.len() < changed.len() {
        let is_changed =
            |inst: &InstId| changed.binary_search_by_key(&number(inst), number).is_ok();
        return list.iter().filter(|(inst, _)| is_changed(inst)).copied().collect();
    }
    let mut found = Vec::new();
    for inst in changed {
        let first = list.partition_point(|(other, _)| number(other) < number(inst));
        found.extend(list[first..].iter().take_while(|(other, _)| other == inst));
    }
    found
}

/// A list with what it has now of instructions that changed.
fn merged<T: Copy>(
    old: &[(InstId, T)],
    new: Vec<(InstId, T)>,
    is_changed: &dyn Fn(&InstId) -> bool,
) -> Vec<(InstId, T)> {
    let kept = old.iter().filter(|(inst, _)| !is_changed(inst)).copied();
    let mut all: Vec<_> = kept.chain(new).collect();
    all.sort_by_key(|(inst, _)| number(inst));
    all
}

fn number(inst: &InstId) -> u32 {
    inst.into_raw().into_u32()
}

fn distinct(list: &[(InstId, GlobalName)]) -> Vec<GlobalName> {
    let mut names: Vec<GlobalName> = list.iter().map(|(_, name)| *name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn is_intrinsic(context: &Context, name: GlobalName) -> bool {
    let text = name.symbol().map(|symbol| context.bytes(symbol));
    text.is_some_and(|text| lookup(text).is_some())
}

impl Database {
    /// Sets what a function mentions, if it is different; whether it was.
    pub(crate) fn set_mentions(&mut self, function: FunctionInput, mentions: Mentions) -> bool {
        if *function.mentions(self) == mentions {
            return false;
        }
        let module = function.module(self);
        // The retained state of a kernel depends on whether it is only launched or also called.
        let architecture = queries::target(self, module).architecture();
        let symbols = queries::symbols(self, module);
        let is_kernel = |name: &GlobalName| {
            symbols.get(name).is_some_and(|function| {
                let convention = function.header(self).call_conv;
                calling_convention::entry(convention, architecture) != Entry::Call
            })
        };
        let mut names = function.mentions(self).callees().iter().chain(mentions.callees());
        let known = names.any(is_kernel).then(|| Arc::clone(queries::library(self, module)));
        function.set_mentions(self).with_durability(Durability::HIGH).to(mentions);
        if known.is_some_and(|known| *queries::library(self, module) != known) {
            self.trim(module);
        }
        true
    }
}
