//! Memory in HSSA form, as comments in the text of a function.
//!
//! Each variable is a class of memory, by its name, or a private slot, by that of its `alloca` and the bytes that it is of it. Versions are numbered
//! in the order of the text; 0 is what was there on entry.
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
//! A `chi` leaves the rest of the variable as it was, a `def` replaces all of it.

use phalanx_analysis::memory::{
    MemoryClass, MemorySsa,
    ssa::{EventKind, Ssa, Version},
};
use phalanx_ir::{BlockId, InstId, flow::node_of, function::FunctionRef};
use phalanx_llvm::FunctionPrinter;

use crate::llvm::{Text, annotate, block_name};

/// Numbers of the versions of some variables.
#[derive(Default)]
struct Numbers {
    next: Vec<u32>,
    definitions: Vec<u32>,
    phis: Vec<u32>,
}

impl Numbers {
    fn new(variables: usize, definitions: usize, ssa: &Ssa) -> Self {
        Numbers {
            next: vec![0; variables],
            definitions: vec![0; definitions],
            phis: vec![0; ssa.phis().len()],
        }
    }

    fn take(&mut self, variable: usize) -> u32 {
        self.next[variable] += 1;
        self.next[variable]
    }

    fn of(&self, version: Version) -> u32 {
        match version {
            Version::Entry => 0,
            Version::Def(event) => self.definitions[event as usize],
            Version::Phi(phi) => self.phis[phi as usize],
        }
    }
}

struct Listing<'a> {
    function: FunctionRef<'a>,
    memory: &'a MemorySsa,
    printer: &'a FunctionPrinter<'a>,
    classes: Numbers,
    slots: Numbers,
}

impl<'a> Listing<'a> {
    fn new(
        function: FunctionRef<'a>,
        memory: &'a MemorySsa,
        printer: &'a FunctionPrinter<'a>,
    ) -> Self {
        let private = memory.private();
        let mut classes = Numbers::new(MemoryClass::ALL.len(), memory.event_count(), memory.ssa());
        let mut slots = Numbers::new(private.slots().len(), private.events().len(), private.ssa());
        for &block in function.flow.order() {
            for (numbers, ssa) in [(&mut classes, memory.ssa()), (&mut slots, private.ssa())] {
                for at in ssa.phis_of(node_of(block)) {
                    numbers.phis[at] = numbers.take(ssa.phis()[at].variable as usize);
                }
            }
            for inst in function.body.block_insts(block) {
                for touch in memory.of(inst).iter().filter(|touch| touch.is_chi) {
                    classes.definitions[touch.event as usize] = classes.take(touch.class as usize);
                }
                for touch in private.of(inst) {
                    if private.events().event(touch.event).kind != EventKind::Use {
                        slots.definitions[touch.event as usize] = slots.take(touch.slot as usize);
                    }
                }
            }
        }
        Listing { function, memory, printer, classes, slots }
    }

    fn class(&self, class: MemoryClass, version: Version) -> String {
        format!("{}.{}", class.name(), self.classes.of(version))
    }

    fn slot(&self, slot: u32, version: Version) -> String {
        let private = self.memory.private();
        let slot = private.slots()[slot as usize];
        let mut name = Vec::new();
        self.printer.inst(slot.alloca, &mut name);
        let name = String::from_utf8_lossy(&name);
        let name = name.split(" = ").next().unwrap_or_default();
        let is_part =
            private.slots().iter().filter(|other| other.alloca == slot.alloca).count() > 1;
        match slot.range.filter(|_| is_part) {
            Some((from, to)) => format!("{name}[{from}..{to}].{}", self.slots.of(version)),
            None => format!("{name}.{}", self.slots.of(version)),
        }
    }

    fn phis(&self, block: BlockId, out: &mut Vec<u8>) {
        let class =
            |variable: u32, version| self.class(MemoryClass::ALL[variable as usize], version);
        let slot = |variable: u32, version| self.slot(variable, version);
        self.phis_of(self.memory.ssa(), &class, block, out);
        self.phis_of(self.memory.private().ssa(), &slot, block, out);
    }

    fn phis_of(
        &self,
        ssa: &Ssa,
        name: &dyn Fn(u32, Version) -> String,
        block: BlockId,
        out: &mut Vec<u8>,
    ) {
        for at in ssa.phis_of(node_of(block)) {
            let phi = &ssa.phis()[at];
            let made = name(phi.variable, Version::Phi(at as u32));
            out.extend_from_slice(format!("; {made} = phi(").as_bytes());
            for (number, &(pred, version)) in ssa.incoming(phi).iter().enumerate() {
                out.extend_from_slice(if number > 0 { b",{" } else { b"{" });
                block_name(pred, self.printer, out);
                out.extend_from_slice(format!(",{}}}", name(phi.variable, version)).as_bytes());
            }
            out.extend_from_slice(b")\n");
        }
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
                    let after = self.class(touch.class, Version::Def(touch.event));
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

/// A function with what its instructions touch of memory. O(text).
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
    let at_block = |block: BlockId, out: &mut Vec<u8>| listing.phis(block, out);
    let before = |inst: InstId, out: &mut Vec<u8>| listing.touches(inst, out);
    annotate(listing.function, printer, (&at_block, &before), out);
}
