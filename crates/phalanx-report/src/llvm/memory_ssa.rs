//! `print<memoryssa>`.

use phalanx_analysis::memory::{
    ClassicMemorySsa,
    classic::{ClassicAccess, Version},
};
use phalanx_graph::Node;
use phalanx_ir::{BlockId, InstId, flow::node_of, function::FunctionRef};
use phalanx_llvm::FunctionPrinter;

use super::{BlockNames, Text};

/// A function with its memory accesses as comments, as LLVM prints it. Uses name the definition
/// before them, as LLVM does with `print<memoryssa><no-ensure-optimized-uses>`. O(text).
pub fn print_memory_ssa(
    name: &[u8],
    function: FunctionRef<'_>,
    memory: &ClassicMemorySsa,
    printer: &FunctionPrinter<'_>,
    out: &mut Text<'_>,
) {
    out.extend_from_slice(b"MemorySSA for function: ");
    out.extend_from_slice(name);
    out.push(b'\n');
    let numbers = memory.numbers(function.flow, function.body);
    let name = |version: Version| match numbers.get(&version) {
        Some(number) => number.to_string(),
        None => "liveOnEntry".into(),
    };
    let at_block = |block: BlockId, out: &mut Vec<u8>| {
        let block = node_of(block);
        if let Some(entries) = memory.phi(block) {
            let entries = entries.map(|(pred, version)| (pred, name(version)));
            phi_line(&name(Version::Phi(block)), entries, printer, out);
        }
    };
    let before = |inst: InstId, out: &mut Vec<u8>| {
        let line = match memory.access(inst) {
            Some(ClassicAccess::Def(before)) => {
                format!("; {} = MemoryDef({})\n", name(Version::Def(inst)), name(before))
            }
            Some(ClassicAccess::Use(before)) => format!("; MemoryUse({})\n", name(before)),
            None => return,
        };
        out.extend_from_slice(line.as_bytes());
    };
    annotate(function, printer, (&at_block, &before), out);
}

/// Writes lines about a block, or an instruction.
type Lines<'a, T> = &'a dyn Fn(T, &mut Vec<u8>);

/// A function as text, with lines after the labels of blocks and before instructions. O(text).
pub(crate) fn annotate(
    function: FunctionRef<'_>,
    printer: &FunctionPrinter<'_>,
    (at_block, before_inst): (Lines<'_, BlockId>, Lines<'_, InstId>),
    out: &mut Text<'_>,
) {
    let mut text = Vec::new();
    printer.text(&mut text);
    let (mut at, mut line, mut lines) = (0, Vec::new(), Vec::new());
    for &block in function.flow.order() {
        let mut is_first = true;
        for inst in function.body.block_insts(block) {
            line.clear();
            line.extend_from_slice(b"\n  ");
            printer.inst(inst, &mut line);
            line.push(b'\n');
            // What stands before the instruction: the header, a label, debug records.
            let Some(found) = position(&text[at..], &line) else { continue };
            let before = &text[at..at + found + 1];
            lines.clear();
            if is_first {
                at_block(block, &mut lines);
            }
            if lines.is_empty() {
                out.extend_from_slice(before);
            } else {
                // The label is the first line that is not empty.
                let start = before.iter().take_while(|byte| **byte == b'\n').count();
                let end = before[start..].iter().position(|byte| *byte == b'\n');
                let end = end.map_or(before.len(), |end| start + end + 1);
                out.extend_from_slice(&before[..end]);
                out.extend_from_slice(&lines);
                out.extend_from_slice(&before[end..]);
            }
            is_first = false;
            lines.clear();
            before_inst(inst, &mut lines);
            out.extend_from_slice(&lines);
            // The line break at its end may also be the one before the next line.
            out.extend_from_slice(&line[1..line.len() - 1]);
            at += found + line.len() - 1;
            out.end_of_line();
        }
    }
    out.extend_from_slice(&text[at..]);
    out.end_of_line();
}

fn position(text: &[u8], line: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].iter().position(|byte| *byte == b'\n') {
        at += found;
        if text[at..].starts_with(line) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// As LLVM calls blocks here: without quotes, and with `%` if it is a number.
pub(crate) fn block_name(block: Node, names: &FunctionPrinter<'_>, out: &mut Vec<u8>) {
    let mut name = Vec::new();
    names.write_name(block, &mut name);
    if name.iter().all(u8::is_ascii_digit) {
        out.push(b'%');
    }
    let bare = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
    out.extend_from_slice(bare.unwrap_or(&name));
}

fn phi_line(
    phi: &str,
    entries: impl Iterator<Item = (Node, String)>,
    names: &FunctionPrinter<'_>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(format!("; {phi} = MemoryPhi(").as_bytes());
    for (number, (pred, version)) in entries.enumerate() {
        if number > 0 {
            out.push(b',');
        }
        out.push(b'{');
        block_name(pred, names, out);
        out.extend_from_slice(format!(",{version}}}").as_bytes());
    }
    out.extend_from_slice(b")\n");
}
