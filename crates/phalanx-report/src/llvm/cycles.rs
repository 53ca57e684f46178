//! `print<cycles>`.

use std::io::Write as _;

use phalanx_graph::{CycleId, Cycles};

use super::{BlockNames, Text};

/// The cycle hierarchy, depth first. Its size is quadratic for deep nests, as every cycle lists all
/// its blocks.
pub fn print_cycles(name: &[u8], cycles: &Cycles, names: &dyn BlockNames, out: &mut Text<'_>) {
    out.extend_from_slice(b"CycleInfo for function: ");
    out.extend_from_slice(name);
    out.push(b'\n');
    let mut pending: Vec<CycleId> = cycles.top_level().collect();
    pending.reverse();
    while let Some(cycle) = pending.pop() {
        let indent = 4 * cycles.depth(cycle) as usize;
        out.extend(std::iter::repeat_n(b' ', indent));
        print_cycle(cycles, cycle, names, out);
        out.push(b'\n');
        out.end_of_line();
        let first = pending.len();
        pending.extend(cycles.children(cycle));
        pending[first..].reverse();
    }
}

/// One cycle: `depth=1: entries(header others) blocks`, without indentation and end of line.
pub fn print_cycle(cycles: &Cycles, cycle: CycleId, names: &dyn BlockNames, out: &mut Vec<u8>) {
    write!(out, "depth={}: entries(", cycles.depth(cycle))
        .expect("writing to a vector does not fail");
    let mut entries = Vec::new();
    for (position, entry) in cycles.entries(cycle).enumerate() {
        if position > 0 {
            out.push(b' ');
        }
        names.write_name(entry, out);
        entries.push(entry);
    }
    out.push(b')');
    entries.sort_unstable();
    for &block in cycles.blocks(cycle) {
        if entries.binary_search(&block).is_err() {
            out.push(b' ');
            names.write_name(block, out);
        }
    }
}
