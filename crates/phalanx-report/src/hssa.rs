//! Memory in HSSA form, as comments in the text of a function.
//!
//! A variable is either a class of memory, named after the class, or a private stack slot, named
//! after its `alloca` and its bytes of it. Versions are numbered in the order of the text; 0 is the
//! contents on entry.
//!
//! ```text
//! ; global.2 = phi({then,global.1},{else,global.0})
//! ; mu(global.2)
//!   %v = load i32, ptr addrspace(1) %p, align 4
//! ; global.3 = chi(global.2)
//!   store i32 %v, ptr addrspace(1) %p, align 4
//! ; %a.1 = def
//!   store i32 %v, ptr addrspace(5) %a, align 4
//! ```
//!
//! A `chi` keeps the rest of the variable, a `def` replaces all of it.

use phalanx_analysis::memory::{
    MemoryClass, MemorySsa, hssa,
    ssa::{EventKind, Version},
};
use phalanx_graph::Node;
use phalanx_ir::{BlockId, InstId, flow::node_of, function::FunctionRef};
use phalanx_llvm::FunctionPrinter;
use rustc_hash::FxHashMap;
use std::hash::Hash;

use crate::llvm::{Text, annotate, block_name};

/// Numbers of the versions of some variables, by what makes them.
struct Numbers<V> {
    next: Vec<u32>,
    number: FxHashMap<(u32, V), u32>,
}

impl<V: Eq + Hash> Numbers<V> {
    fn new(variables: usize) -> Self {
        Numbers { next: vec![0; variables], number: FxHashMap::default() }
    }

    fn add(&mut self, variable: u32, version: V) {
        let next = &mut self.next[variable as usize];
        *next += 1;
        self.number.insert((variable, version), *next);
    }

    /// The number of the version on entry is 0.
    fn of(&self, variable: u32, version: V) -> u32 {
        self.number.get(&(variable, version)).copied().unwrap_or(0)
    }
}

struct Listing<'a> {
    function: FunctionRef<'a>,
    memory: &'a MemorySsa,
    printer: &'a FunctionPrinter<'a>,
    classes: Numbers<hssa::Version>,
    slots: Numbers<Version>,
}

impl<'a> Listing<'a> {
    fn new(
        function: FunctionRef<'a>,
        memory: &'a MemorySsa,
        printer: &'a FunctionPrinter<'a>,
    ) -> Self {
        let private = memory.private();
        let mut classes = Numbers::new(MemoryClass::ALL.len());
        let mut slots = Numbers::new(private.slots().len());
        for &block in function.flow.order() {
            let node = node_of(block);
            for class in MemoryClass::ALL.into_iter().filter(|&c| memory.phi(c, node).is_some()) {
                classes.add(class as u32, hssa::Version::Phi(node));
            }
            for at in private.ssa().phis_of(node) {
                slots.add(private.ssa().phis()[at].variable, Version::Phi(at as u32));
            }
            for inst in function.body.block_insts(block) {
                for touch in memory.of(inst).filter(|touch| touch.is_chi) {
                    classes.add(touch.class as u32, hssa::Version::Def(inst));
                }
                for touch in private.of(inst) {
                    if private.events().event(touch.event).kind != EventKind::Use {
                        slots.add(touch.slot, Version::Def(touch.event));
                    }
                }
            }
        }
        Listing { function, memory, printer, classes, slots }
    }

    fn class(&self, class: MemoryClass, version: hssa::Version) -> String {
        format!("{}.{}", class.name(), self.classes.of(class as u32, version))
    }

    fn slot(&self, slot: u32, version: Version) -> String {
        let private = self.memory.private();
        let number = self.slots.of(slot, version);
        let slot = private.slots()[slot as usize];
        let mut name = Vec::new();
        self.printer.inst(slot.alloca, &mut name);
        let name = String::from_utf8_lossy(&name);
        let name = name.split(" = ").next().unwrap_or_default();
        let is_part =
            private.slots().iter().filter(|other| other.alloca == slot.alloca).count() > 1;
        match slot.range.filter(|_| is_part) {
            Some((from, to)) => format!("{name}[{from}..{to}].{number}"),
            None => format!("{name}.{number}"),
        }
    }

    fn phis(&self, block: Node, out: &mut Vec<u8>) {
        for class in MemoryClass::ALL {
            let Some(incoming) = self.memory.phi(class, block) else { continue };
            let incoming = incoming.map(|(pred, version)| (pred, self.class(class, version)));
            self.phi(&self.class(class, hssa::Version::Phi(block)), incoming, out);
        }
        let ssa = self.memory.private().ssa();
        for at in ssa.phis_of(block) {
            let phi = &ssa.phis()[at];
            let name = |version| self.slot(phi.variable, version);
            let incoming = ssa.incoming(phi).iter().map(|&(pred, version)| (pred, name(version)));
            self.phi(&name(Version::Phi(at as u32)), incoming, out);
        }
    }

    fn phi(&self, made: &str, incoming: impl Iterator<Item = (Node, String)>, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("; {made} = phi(").as_bytes());
        for (number, (pred, version)) in incoming.enumerate() {
            out.extend_from_slice(if number > 0 { b",{" } else { b"{" });
            block_name(pred, self.printer, out);
            out.extend_from_slice(format!(",{version}}}").as_bytes());
        }
        out.extend_from_slice(b")\n");
    }

    fn touches(&self, inst: InstId, out: &mut Vec<u8>) {
        let private = self.memory.private();
        let mut mus: Vec<String> = Vec::new();
        let mut made: Vec<String> = Vec::new();
        for touch in self.memory.of(inst) {
            let before = self.class(touch.class, touch.before);
            match touch.is_chi {
                false => mus.push(before),
                true => {
                    let after = self.class(touch.class, hssa::Version::Def(inst));
                    made.push(format!("{after} = chi({before})"));
                }
            }
        }
        for touch in private.of(inst) {
            let before = self.slot(touch.slot, private.reaching(touch));
            let after = || self.slot(touch.slot, Version::Def(touch.event));
            match private.events().event(touch.event).kind {
                EventKind::Use => mus.push(before),
                EventKind::MayDef => made.push(format!("{} = chi({before})", after())),
                EventKind::MustDef => made.push(format!("{} = def", after())),
            }
        }
        if !mus.is_empty() {
            out.extend_from_slice(format!("; mu({})\n", mus.join(", ")).as_bytes());
        }
        made.iter().for_each(|line| out.extend_from_slice(format!("; {line}\n").as_bytes()));
    }
}

/// A function with comments about the memory that its instructions access. O(text).
pub fn print_hssa(
    name: &[u8],
    function: FunctionRef<'_>,
    memory: &MemorySsa,
    printer: &FunctionPrinter<'_>,
    out: &mut Text<'_>,
) {
    out.extend_from_slice(b"HSSA for function: ");
    out.extend_from_slice(name);
    out.push(b'\n');
    let listing = Listing::new(function, memory, printer);
    let at_block = |block: BlockId, out: &mut Vec<u8>| listing.phis(node_of(block), out);
    let before = |inst: InstId, out: &mut Vec<u8>| listing.touches(inst, out);
    annotate(listing.function, printer, (&at_block, &before), out);
}
