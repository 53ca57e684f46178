//! `print<memoryssa>`.

use phalanx_analysis::memory::{
    ClassicMemorySsa,
    classic::{ClassicAccess, Name},
};
use phalanx_graph::Node;
use phalanx_ir::{BlockId, InstId, flow::node_of, function::FunctionRef};
use phalanx_llvm::FunctionPrinter;

use super::{BlockNames, Text};

/// A function with its memory accesses as comments, as LLVM prints it. Uses name the definition before them, as LLVM does with
/// `print<memoryssa><no-ensure-optimized-uses>`. O(text).
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
    let at_block = |block: BlockId, out: &mut Vec<u8>| {
        if let Some((phi, entries)) = memory.phi(node_of(block)) {
            phi_line(phi, &entries, printer, out);
        }
    };
    let before = |inst: InstId, out: &mut Vec<u8>| match memory.access(inst) {
        Some(ClassicAccess::Def(number, before)) => {
            out.extend_from_slice(format!("; {number} = MemoryDef(").as_bytes());
            access(before, out);
            out.extend_from_slice(b")\n");
        }
        Some(ClassicAccess::Use(before)) => {
            out.extend_from_slice(b"; MemoryUse(");
            access(before, out);
            out.extend_from_slice(b")\n");
        }
        None => {}
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
            // The line break at the end of it may be that before the next one.
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

fn access(name: Name, out: &mut Vec<u8>) {
    match name {
        Name::Entry => out.extend_from_slice(b"liveOnEntry"),
        Name::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
    }
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

fn phi_line(phi: Name, entries: &[(Node, Name)], names: &FunctionPrinter<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"; ");
    access(phi, out);
    out.extend_from_slice(b" = MemoryPhi(");
    for (number, &(pred, version)) in entries.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        out.push(b'{');
        block_name(pred, names, out);
        out.push(b',');
        access(version, out);
        out.push(b'}');
    }
    out.extend_from_slice(b")\n");
}
