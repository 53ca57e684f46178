//! Translates a function that `print<uniformity>` printed to an abstract program that can be
//! executed.
//!
//! When two analyses disagree about a value, execution decides. If lanes that execute the
//! definition together compute different values, it is divergent. Real instructions are not
//! interpreted. As in a divergence analysis without algebra, a pure instruction is some function of
//! its operands. The result of a load or call is new in each converged group; if it is *itself* a
//! source of divergence, it differs in each lane. The marks of both listings say which instructions
//! are sources:
//!
//! - A load, call or atomic that both listings mark divergent is a source: it may give any lane any
//!   value. An exception is a load at a uniform address from memory that lanes share; it is marked
//!   only because everything in its cycle is.
//! - An instruction with a divergent operand that the first listing leaves unmarked is uniform
//!   whatever its operands are (a lane mask, a value read from the first lane), since divergence
//!   otherwise propagates from operand to user.
//! - All others are functions of their operands.
//!
//! Arguments are uniform or divergent as the listings say; globals, literals and types are
//! constants.

use std::collections::{BTreeMap, BTreeSet};

use phalanx_graph::Node;

use crate::{
    abstract_oracle::{self, Effort},
    abstract_program::{AbstractProgram, Block, Operand, Operation, Terminator, ValueNumber},
    compare::uniformity::{DefinitionPlace, Item, Uniformity},
};

/// Functions with more blocks are not executed: a run would reach too few of the blocks.
const MAX_BLOCKS: usize = 4000;

/// How branches are decided.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Branches {
    /// By their conditions.
    Computed,
    /// By chance each time, but the same way for converged lanes that hold the same condition. This
    /// matches an analysis that knows of a condition only whether it is divergent: no two branches
    /// are related.
    Independent,
}

/// Runs the function and collects the places where converged lanes hold different values.
///
/// `base` says what the instructions are. It also says which of them are sources, if `other`, a
/// listing of the same function, agrees. The function is executed `runs` times, with other values
/// each time, under each cycle hierarchy that `tries` random search orders find.
///
/// # Errors
/// The listing has no blocks, is too large, or has an instruction that is not understood.
pub fn observe(
    base: &Uniformity,
    other: &Uniformity,
    branches: Branches,
    tries: usize,
    runs: u64,
) -> Result<BTreeSet<DefinitionPlace>, String> {
    let mut translated = translate(base, other)?;
    if branches == Branches::Independent {
        make_independent(&mut translated.program);
    }
    let cfg = translated.program.cfg();
    let blocks = translated.program.blocks.len() as u32;
    let effort = Effort { runs, threads: 6, fuel: (blocks * 6).max(48) };
    let mut seen = BTreeSet::new();
    for cycles in abstract_oracle::hierarchies(&cfg, 1, tries) {
        let observed = abstract_oracle::observe(&translated.program, &cycles, effort);
        seen.extend(
            observed.values.iter().filter_map(|v| translated.places.get(&(v as u32)).cloned()),
        );
        seen.extend(observed.terminators.iter().map(DefinitionPlace::Terminator));
    }
    Ok(seen)
}

/// An abstract program, and the places of its values in the listing.
#[derive(Debug)]
pub struct Translated {
    /// The program.
    pub program: AbstractProgram,
    /// The place of each value; helpers have none.
    pub places: BTreeMap<ValueNumber, DefinitionPlace>,
}

/// Translates a listing; see [`observe`] for the two arguments.
///
/// # Errors
/// As for [`observe`].
pub fn translate(base: &Uniformity, other: &Uniformity) -> Result<Translated, String> {
    if base.blocks.is_empty() || base.blocks.len() > MAX_BLOCKS {
        return Err(format!("{} blocks", base.blocks.len()));
    }
    let mut names = BTreeMap::new();
    let mut labels = BTreeMap::new();
    let mut count = 0;
    for (number, block) in base.blocks.iter().enumerate() {
        labels.insert(block.name.clone(), Node::new(number));
        for item in block.definitions.iter().chain(&block.terminators) {
            if let Some(name) = defined(&item.text) {
                names.insert(
                    name.to_owned(),
                    Definition { value: count, divergent: item.divergent },
                );
            }
            count += 1;
        }
    }
    let divergent_arguments = base.arguments.intersection(&other.arguments).cloned().collect();
    let mut translator = Translator {
        base,
        other,
        names,
        labels,
        divergent_arguments,
        arguments: BTreeMap::new(),
        entry: Vec::new(),
        places: BTreeMap::new(),
        count,
    };
    let mut blocks = Vec::new();
    let mut number = 0;
    for index in 0..base.blocks.len() {
        blocks.push(translator.block(index, &mut number)?);
    }
    // Arguments become values of the entry block, which has no phis.
    blocks[0].operations.splice(0..0, translator.entry);
    let mut program = AbstractProgram { blocks, value_count: translator.count };
    one_entry_per_predecessor(&mut program);
    Ok(Translated { program, places: translator.places })
}

/// Mixes a fresh number into each condition.
fn make_independent(program: &mut AbstractProgram) {
    for block in &mut program.blocks {
        let (Terminator::Branch(condition, _) | Terminator::Switch(condition, _)) =
            &mut block.terminator
        else {
            continue;
        };
        let (chance, mixed) = (program.value_count, program.value_count + 1);
        program.value_count += 2;
        block.operations.push((chance, Operation::Uniform));
        block
            .operations
            .push((mixed, Operation::Pure(mixed, [*condition, Operand::Value(chance)])));
        *condition = Operand::Value(mixed);
    }
}

/// LLVM has a phi entry per edge, the abstract program one per predecessor.
fn one_entry_per_predecessor(program: &mut AbstractProgram) {
    for block in &mut program.blocks {
        for (_, operation) in &mut block.operations {
            if let Operation::Phi(entries) = operation {
                let mut seen = BTreeSet::new();
                entries.retain(|(from, _)| seen.insert(*from));
            }
        }
    }
}

#[derive(Copy, Clone)]
struct Definition {
    value: ValueNumber,
    divergent: bool,
}

struct Translator<'a> {
    base: &'a Uniformity,
    other: &'a Uniformity,
    /// Values by name, `%x`.
    names: BTreeMap<String, Definition>,
    labels: BTreeMap<String, Node>,
    divergent_arguments: BTreeSet<String>,
    /// Names without a definition: arguments, and named types, which do no harm.
    arguments: BTreeMap<String, ValueNumber>,
    /// The operations at the start of the entry block.
    entry: Vec<(ValueNumber, Operation)>,
    places: BTreeMap<ValueNumber, DefinitionPlace>,
    count: ValueNumber,
}

impl Translator<'_> {
    fn fresh(&mut self) -> ValueNumber {
        self.count += 1;
        self.count - 1
    }

    fn block(&mut self, index: usize, number: &mut ValueNumber) -> Result<Block, String> {
        let block = &self.base.blocks[index];
        let mut operations = Vec::new();
        for (position, item) in block.definitions.iter().enumerate() {
            let value = *number;
            *number += 1;
            self.places.insert(value, DefinitionPlace::Definition(index, position));
            let place = DefinitionPlace::Definition(index, position);
            let source = item.divergent && self.other_divergent(&place);
            self.definition(value, item, source, &mut operations)?;
        }
        let [terminator] = &block.terminators[..] else {
            return Err(format!("block {}: {} terminators", block.name, block.terminators.len()));
        };
        let value = *number;
        *number += 1;
        self.places.insert(value, DefinitionPlace::Terminator(index));
        let source =
            terminator.divergent && self.other_divergent(&DefinitionPlace::Terminator(index));
        let terminator = self.terminator(value, terminator, source, &mut operations)?;
        Ok(Block { operations, terminator })
    }

    fn other_divergent(&self, place: &DefinitionPlace) -> bool {
        !self.other.all_uniform && self.other.is_divergent(place)
    }

    fn definition(
        &mut self,
        value: ValueNumber,
        item: &Item,
        source: bool,
        operations: &mut Vec<(ValueNumber, Operation)>,
    ) -> Result<(), String> {
        let text = body(&item.text);
        if let Some(entries) = text.strip_prefix("phi ") {
            let entries = self.phi(entries).ok_or_else(|| format!("`{text}` is not understood"))?;
            operations.push((value, Operation::Phi(entries)));
            return Ok(());
        }
        let operands = self.operands(text);
        let opaque = is_opaque(text);
        let has_divergent_operand = self.has_divergent_operand(text);
        // In a cycle that is assumed divergent everything is marked, even loads that are no
        // sources.
        let source = source && (has_divergent_operand || !is_shared_load(text));
        let operation = if opaque && source {
            Operation::Divergent
        } else if !item.divergent && has_divergent_operand || opaque && reads_lanes(text) {
            Operation::AlwaysUniform(operands.first().copied().unwrap_or(Operand::Constant(0)))
        } else {
            let mut operands = operands;
            if opaque {
                let group = self.fresh();
                operations.push((group, Operation::Uniform));
                operands.push(Operand::Value(group));
            }
            self.function(text, &operands, operations)
        };
        operations.push((value, operation));
        Ok(())
    }

    /// An uninterpreted function of any number of operands. Instructions that differ only in their
    /// operands get the same function.
    fn function(
        &mut self,
        text: &str,
        operands: &[Operand],
        operations: &mut Vec<(ValueNumber, Operation)>,
    ) -> Operation {
        let mut pattern = text.to_owned();
        for name in value_names(text) {
            pattern = pattern.replacen(name, "%", 1);
        }
        let name = constant(&pattern);
        let first = operands.first().copied().unwrap_or(Operand::Constant(0));
        let mut result = Operation::Pure(
            name,
            [first, operands.get(1).copied().unwrap_or(Operand::Constant(1))],
        );
        for &operand in operands.iter().skip(2) {
            let value = self.fresh();
            operations.push((value, result));
            result = Operation::Pure(name, [Operand::Value(value), operand]);
        }
        result
    }

    fn terminator(
        &mut self,
        value: ValueNumber,
        item: &Item,
        source: bool,
        operations: &mut Vec<(ValueNumber, Operation)>,
    ) -> Result<Terminator, String> {
        let text = body(&item.text);
        let opcode = text.split_whitespace().next().unwrap_or_default();
        let targets = self.targets(text)?;
        // The value differs when the operands of the terminator do; it is also the value that an
        // invoke defines.
        let operands = self.operands(text);
        let simple = matches!(opcode, "br" | "switch" | "ret" | "unreachable" | "resume");
        let operation = if simple {
            self.function(text, &operands, operations)
        } else if source {
            Operation::Divergent
        } else {
            Operation::Uniform
        };
        operations.push((value, operation));
        let condition = match (opcode, operands.first()) {
            ("br", Some(&condition)) => condition,
            _ => Operand::Value(value),
        };
        Ok(match (opcode, &targets[..]) {
            (_, []) => Terminator::Return,
            ("br", [to]) => Terminator::Jump(*to),
            ("br", [yes, no]) => Terminator::Branch(condition, [*yes, *no]),
            _ => Terminator::Switch(condition, targets),
        })
    }

    /// The blocks of a terminator's labels, in order.
    fn targets(&self, text: &str) -> Result<Vec<Node>, String> {
        let mut out = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("label %") {
            rest = &rest[at + "label ".len()..];
            let (name, after) =
                name_at_start(rest).ok_or_else(|| format!("`{text}` has a bad label"))?;
            let label = plain(name);
            let node = self.labels.get(&label).ok_or_else(|| format!("no block {label}"))?;
            out.push(*node);
            rest = after;
        }
        Ok(out)
    }

    /// Reads `i32 [ %a, %x ], [ 0, %y ]`.
    fn phi(&mut self, text: &str) -> Option<Vec<(Node, Operand)>> {
        let mut out = Vec::new();
        let mut rest = &text[text.find(" [ ")? + 1..];
        while rest.starts_with("[ ") {
            let end = closing_bracket(rest)?;
            // Parts of aggregates also contain commas: the block follows the last one.
            let (value, block) = rest[2..end].rsplit_once(", %")?;
            let node = *self.labels.get(&plain(&format!("%{}", block.trim())))?;
            let value = value.trim();
            let operand = match value {
                "undef" | "poison" => Operand::Undef,
                _ => {
                    let named = self.operands(value);
                    named.first().copied().unwrap_or(Operand::Constant(constant(value)))
                }
            };
            out.push((node, operand));
            rest = rest[end + 1..].trim_start_matches([',', ' ']);
        }
        (!out.is_empty()).then_some(out)
    }

    /// The values that a text names, in order; labels and metadata do not count.
    fn operands(&mut self, text: &str) -> Vec<Operand> {
        let mut out = Vec::new();
        for name in value_names(text) {
            let operand = match self.names.get(name) {
                Some(definition) => Operand::Value(definition.value),
                None => Operand::Value(self.argument(name)),
            };
            out.push(operand);
        }
        out
    }

    fn has_divergent_operand(&self, text: &str) -> bool {
        value_names(text).into_iter().any(|name| {
            self.names.get(name).map_or_else(|| self.is_divergent_argument(name), |d| d.divergent)
        })
    }

    fn is_divergent_argument(&self, name: &str) -> bool {
        // An argument is printed with its type and attributes before it: `i32 %a`.
        self.divergent_arguments.iter().any(|text| value_names(text).last() == Some(&name))
    }

    fn argument(&mut self, name: &str) -> ValueNumber {
        if let Some(&value) = self.arguments.get(name) {
            return value;
        }
        let value = self.fresh();
        self.arguments.insert(name.to_owned(), value);
        if self.is_divergent_argument(name) {
            let thread = self.fresh();
            self.entry.push((thread, Operation::ThreadId));
            self.entry.push((
                value,
                Operation::Pure(value, [Operand::Value(thread), Operand::Constant(0)]),
            ));
        } else {
            self.entry.push((value, Operation::Argument(value)));
        }
        value
    }
}

/// The name that an instruction defines.
fn defined(text: &str) -> Option<&str> {
    let (name, rest) = name_at_start(text)?;
    rest.starts_with(" = ").then_some(name)
}

/// The instruction without the name that it defines and without attached metadata.
fn body(text: &str) -> &str {
    let text = match defined(text) {
        Some(name) => &text[name.len() + " = ".len()..],
        None => text,
    };
    text.split(", !").next().unwrap_or(text)
}

/// Whether the operands do not determine the result of the instruction.
fn is_opaque(text: &str) -> bool {
    let words = [
        "load",
        "call",
        "tail",
        "musttail",
        "notail",
        "atomicrmw",
        "cmpxchg",
        "va_arg",
        "landingpad",
        "alloca",
    ];
    text.split_whitespace().next().is_some_and(|opcode| words.contains(&opcode))
}

/// Whether it is a load from memory that all lanes share, so that one address has one content.
fn is_shared_load(text: &str) -> bool {
    let shared = [
        "ptr addrspace(1)",
        "ptr addrspace(2)",
        "ptr addrspace(3)",
        "ptr addrspace(4)",
        "ptr addrspace(6)",
    ];
    text.starts_with("load ") && shared.iter().any(|pointer| text.contains(pointer))
}

/// Whether the call gives all lanes the same result, whatever their operands are.
fn reads_lanes(text: &str) -> bool {
    ["@llvm.amdgcn.readfirstlane", "@llvm.amdgcn.readlane", "@llvm.amdgcn.ballot"]
        .iter()
        .any(|name| text.contains(name))
}

/// A literal as an identifying number.
fn constant(text: &str) -> u32 {
    fxhash::hash32(text) | 1
}

/// `%x` or `%"x y"` at the start, and the rest of the text.
fn name_at_start(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('%')?;
    let length = match rest.strip_prefix('"') {
        Some(quoted) => quoted.find('"')? + 2,
        None => rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '$' | '-'))
            .unwrap_or(rest.len()),
    };
    (length > 0).then(|| text.split_at(length + 1))
}

/// The names of values in a text, in order; not the names after `label`.
fn value_names(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut quoted = false;
    while let Some(at) = rest.find(['%', '"']) {
        if rest.as_bytes()[at] == b'"' {
            // Strings of inline assembly and of attributes contain no names.
            quoted = !quoted;
            rest = &rest[at + 1..];
            continue;
        }
        let label = rest[..at].ends_with("label ");
        rest = &rest[at..];
        match name_at_start(rest) {
            Some((name, after)) if !quoted => {
                if !label {
                    out.push(name);
                }
                rest = after;
            }
            _ => rest = &rest[1..],
        }
    }
    out
}

/// The name without sigil, quotes and escapes, as in the heading of a block.
fn plain(name: &str) -> String {
    let name = name.strip_prefix('%').unwrap_or(name);
    let Some(inner) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut out = Vec::new();
    let bytes = inner.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let code = inner.get(at + 1..at + 3).filter(|_| bytes[at] == b'\\');
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The position of the bracket that closes the one at the start of the text.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut quoted = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'[' if !quoted => depth += 1,
            b']' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
