//! `print<uniformity>`.

use phalanx_analysis::lower::{Definition, Numbering};
use phalanx_core::{affect::UserKind, divergence::Divergence};
use phalanx_graph::{CycleId, Cycles};
use phalanx_ir::{InstId, function::FunctionRef};
use phalanx_llvm::FunctionPrinter;
use phalanx_target::SourceSet;

use super::{BlockNames, Text, print_cycle};

/// The uniformity of a function as LLVM prints it: `varying` are the sources that vary within the
/// scope.
///
/// Every block lists its instructions, divergent ones marked; lists of cycles and of temporal
/// divergence come before them. O(instructions).
pub fn print_uniformity(
    name: &[u8],
    function: FunctionRef<'_>,
    (cycles, divergence): (&Cycles, &Divergence),
    varying: SourceSet,
    printer: &FunctionPrinter<'_>,
    out: &mut Text<'_>,
) {
    let numbering = Numbering::new(function.header);
    let is_divergent = |sources: SourceSet| sources.intersects(varying);
    out.extend_from_slice(b"UniformityInfo for function '");
    out.extend_from_slice(name);
    out.extend_from_slice(b"':\n");
    let listed = |list: &[(CycleId, SourceSet)]| {
        let mut ids: Vec<CycleId> = Vec::new();
        for &(cycle, sources) in list {
            if is_divergent(sources) && !ids.contains(&cycle) {
                ids.push(cycle);
            }
        }
        ids
    };
    if divergence.is_uniform(varying) {
        out.extend_from_slice(b"ALL VALUES UNIFORM\n");
        return;
    }
    let arguments: Vec<u32> = (0..function.header.params.len() as u32)
        .filter(|&position| is_divergent(divergence.value(numbering.argument(position))))
        .collect();
    if !arguments.is_empty() {
        out.extend_from_slice(b"DIVERGENT ARGUMENTS:\n");
        for position in arguments {
            out.extend_from_slice(b"  DIVERGENT: ");
            printer.arg(position, out);
            out.push(b'\n');
        }
    }
    let assumed = listed(divergence.assumed_divergent_cycles());
    if !assumed.is_empty() {
        out.extend_from_slice(b"CYCLES ASSUMED DIVERGENT:\n");
        cycle_lines(cycles, &assumed, printer, out);
    }
    let exits = listed(divergence.cycles_with_divergent_exit());
    if !exits.is_empty() {
        out.extend_from_slice(b"CYCLES WITH DIVERGENT EXIT:\n");
        cycle_lines(cycles, &exits, printer, out);
    }
    let mut temporal =
        divergence.temporal_uses().iter().filter(|t| is_divergent(t.sources)).peekable();
    if temporal.peek().is_some() {
        out.extend_from_slice(b"\nTEMPORAL DIVERGENCE LIST:\n");
        for entry in temporal {
            out.extend_from_slice(b"Value         :");
            match numbering.definition(entry.value) {
                Definition::Inst(inst) => inst_line(inst, printer, out),
                Definition::Argument(position) => {
                    out.extend_from_slice(b"  ");
                    printer.arg(position, out);
                    out.push(b'\n');
                }
            }
            out.extend_from_slice(b"Used by       :");
            let user = match entry.user.kind() {
                UserKind::Value(user) => match numbering.definition(user) {
                    Definition::Inst(inst) => Some(inst),
                    Definition::Argument(_) => None,
                },
                UserKind::Terminator(block) => {
                    function.body.last(phalanx_ir::flow::block_of(block))
                }
            };
            match user {
                Some(inst) => inst_line(inst, printer, out),
                None => out.push(b'\n'),
            }
            out.extend_from_slice(b"Outside cycle :");
            print_cycle(cycles, entry.cycle, printer, out);
            out.extend_from_slice(b"\n\n");
            out.end_of_line();
        }
    }
    for &block in function.flow.order() {
        out.extend_from_slice(b"\nBLOCK ");
        printer.block_name(block, out);
        out.extend_from_slice(b"\nDEFINITIONS\n");
        let terminator = function.body.terminator(block);
        for inst in function.body.block_insts(block).filter(|&inst| Some(inst) != terminator) {
            marked_line(inst, is_divergent(divergence.value(numbering.inst(inst))), printer, out);
        }
        out.extend_from_slice(b"TERMINATORS\n");
        if let Some(terminator) = terminator {
            let sources = divergence.terminator(phalanx_ir::flow::node_of(block));
            marked_line(terminator, is_divergent(sources), printer, out);
        }
        out.extend_from_slice(b"END BLOCK\n");
        out.end_of_line();
    }
}

fn cycle_lines(cycles: &Cycles, list: &[CycleId], names: &dyn BlockNames, out: &mut Text<'_>) {
    for &cycle in list {
        out.extend_from_slice(b"  ");
        print_cycle(cycles, cycle, names, out);
        out.push(b'\n');
        out.end_of_line();
    }
}

fn marked_line(inst: InstId, divergent: bool, printer: &FunctionPrinter<'_>, out: &mut Text<'_>) {
    out.extend_from_slice(if divergent { b"  DIVERGENT: " } else { b"             " });
    inst_line(inst, printer, out);
    out.end_of_line();
}

fn inst_line(inst: InstId, printer: &FunctionPrinter<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"  ");
    printer.inst(inst, out);
    out.push(b'\n');
}

impl BlockNames for FunctionPrinter<'_> {
    fn write_name(&self, node: phalanx_graph::Node, out: &mut Vec<u8>) {
        self.block_name(phalanx_ir::flow::block_of(node), out);
    }

    fn write_operand(&self, node: phalanx_graph::Node, out: &mut Vec<u8>) {
        self.block_operand(phalanx_ir::flow::block_of(node), out);
    }
}
