//! `print<uniformity>`, definition by definition.
//!
//! ```text
//! UniformityInfo for function 'f':
//! DIVERGENT ARGUMENTS:
//!   DIVERGENT: i32 %a
//! CYCLES ASSUMED DIVERGENT:
//!   depth=1: entries(P R) S Q
//! CYCLES WITH DIVERGENT EXIT:
//!   depth=1: entries(H)
//!
//! TEMPORAL DIVERGENCE LIST:
//! Value         :  %v = add i32 %i, 1
//! Used by       :  %u = add i32 %v, 5
//! Outside cycle :depth=1: entries(H)
//!
//! BLOCK entry
//! DEFINITIONS
//!   DIVERGENT:   %x = add i32 %a, 1
//!                %y = add i32 1, 1
//! TERMINATORS
//!   DIVERGENT:   br i1 %c, label %t, label %e
//! END BLOCK
//! ```
//!
//! or `ALL VALUES UNIFORM` in place of everything after the first line. A definition is identified
//! by its block and its position there; its text is kept for messages and must agree as well. An
//! instruction may take several lines (`switch`, `invoke`): a line with less than [`INDENT`]
//! columns before its text continues the one above.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{
    Fact, FormatError, PerFunction,
    cycles::{Cycle, one_sided, parse_cycle},
    sections,
};

/// Columns before the text of an instruction: `  DIVERGENT: ` or blanks.
const INDENT: usize = 13;
const MARK: &str = "  DIVERGENT: ";

/// An instruction and its mark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// It is marked divergent.
    pub divergent: bool,
    /// As printed, without the indentation.
    pub text: String,
}

/// A block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// The name as printed, without `%`.
    pub name: String,
    /// All instructions except the terminator; also those without a result, such as `store`.
    pub definitions: Vec<Item>,
    /// The terminator.
    pub terminators: Vec<Item>,
}

/// One entry of the temporal list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Temporal {
    /// The value, as printed.
    pub value: String,
    /// Its user outside the cycle.
    pub user: String,
    /// The cycle that lanes leave at different times.
    pub cycle: Cycle,
}

impl fmt::Display for Temporal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` used by `{}` outside {}", self.value, self.user, self.cycle)
    }
}

/// The listing of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Uniformity {
    /// Nothing diverges, so nothing is listed.
    pub all_uniform: bool,
    /// The divergent arguments.
    pub arguments: BTreeSet<String>,
    /// Cycles assumed divergent.
    pub assumed: BTreeSet<Cycle>,
    /// Cycles with a divergent exit.
    pub exits: BTreeSet<Cycle>,
    /// Uses made divergent by such an exit.
    pub temporal: BTreeSet<Temporal>,
    /// The blocks in their order; none if all is uniform.
    pub blocks: Vec<Block>,
}

/// The place of a definition.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DefinitionPlace {
    /// An argument of the function.
    Argument(String),
    /// An instruction that is no terminator: number of the block and position in it.
    Definition(usize, usize),
    /// The terminator of a block.
    Terminator(usize),
}

/// A definition whose marks differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueDifference {
    /// Its place.
    pub place: DefinitionPlace,
    /// The name of its block; empty for an argument.
    pub block: String,
    /// As printed.
    pub text: String,
    /// Whether the left side marks it divergent and the right side does not; else the reverse
    /// holds.
    pub left_divergent: bool,
}

impl fmt::Display for ValueDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |divergent| if divergent { "divergent" } else { "uniform" };
        let (left, right) = (word(self.left_divergent), word(!self.left_divergent));
        let text = self.text.lines().next().unwrap_or_default();
        match self.place {
            DefinitionPlace::Argument(_) => write!(f, "argument `{text}`")?,
            _ => write!(f, "block {}: `{text}`", self.block)?,
        }
        write!(f, " is {left} on the left, {right} on the right")
    }
}

/// All differences of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// Blocks, positions or texts that do not correspond. If there are any, the other lists are
    /// unreliable.
    pub shape: Vec<String>,
    /// Definitions and terminators.
    pub values: Vec<ValueDifference>,
    /// The list of cycles assumed divergent.
    pub assumed: Vec<String>,
    /// The list of cycles with divergent exits.
    pub exits: Vec<String>,
    /// The list of temporal divergence.
    pub temporal: Vec<String>,
}

impl Comparison {
    /// No difference at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Comparison::default()
    }

    /// One line per difference.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let lists = [
            ("assumed", &self.assumed),
            ("divergent exit", &self.exits),
            ("temporal", &self.temporal),
        ];
        let mut out = self.shape.clone();
        out.extend(self.values.iter().map(ToString::to_string));
        for (name, lines) in lists {
            out.extend(lines.iter().map(|line| format!("{name}: {line}")));
        }
        out
    }
}

/// Parses a whole text.
///
/// # Errors
/// A line is not of the format.
pub fn parse(text: &str) -> Result<PerFunction<Uniformity>, FormatError> {
    let mut out = Vec::new();
    for (function, lines) in sections(Fact::Uniformity, text) {
        out.push((function, parse_function(&lines)?));
    }
    Ok(out)
}

/// The part of a function's text that a line belongs to.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Part {
    Start,
    Arguments,
    Assumed,
    Exits,
    Temporal,
    Block,
    Definitions,
    Terminators,
}

fn parse_function(lines: &[(usize, &str)]) -> Result<Uniformity, FormatError> {
    let mut out = Uniformity::default();
    let mut part = Part::Start;
    let (mut value, mut user): (Option<String>, Option<String>) = (None, None);
    for &(number, line) in lines {
        let fail = |expected| FormatError { line: number, expected, found: line.to_owned() };
        let in_block = matches!(part, Part::Definitions | Part::Terminators);
        match line {
            "ALL VALUES UNIFORM" => {
                out.all_uniform = true;
                continue;
            }
            "DIVERGENT ARGUMENTS:" => part = Part::Arguments,
            "CYCLES ASSUMED DIVERGENT:" => part = Part::Assumed,
            "CYCLES WITH DIVERGENT EXIT:" => part = Part::Exits,
            "TEMPORAL DIVERGENCE LIST:" => part = Part::Temporal,
            "DEFINITIONS" if part == Part::Block => part = Part::Definitions,
            "TERMINATORS" if part == Part::Definitions => part = Part::Terminators,
            "END BLOCK" if in_block => part = Part::Start,
            "" => {}
            _ if !in_block && line.starts_with("BLOCK ") => {
                out.blocks
                    .push(Block { name: line["BLOCK ".len()..].to_owned(), ..Block::default() });
                part = Part::Block;
            }
            _ => match part {
                Part::Arguments => {
                    let argument = line.strip_prefix(MARK).ok_or_else(|| fail("an argument"))?;
                    out.arguments.insert(argument.trim().to_owned());
                }
                Part::Assumed => {
                    out.assumed.insert(parse_cycle(line).ok_or_else(|| fail("a cycle"))?);
                }
                Part::Exits => {
                    out.exits.insert(parse_cycle(line).ok_or_else(|| fail("a cycle"))?);
                }
                Part::Temporal => {
                    let field = |name| line.strip_prefix(name)?.trim_start().strip_prefix(':');
                    if let (Some(rest), None, None) = (field("Value"), &value, &user) {
                        value = Some(rest.trim().to_owned());
                    } else if let (Some(rest), Some(_), None) = (field("Used by"), &value, &user) {
                        user = Some(rest.trim().to_owned());
                    } else if let (Some(rest), Some(_), Some(_)) =
                        (field("Outside cycle"), &value, &user)
                    {
                        let cycle = parse_cycle(rest).ok_or_else(|| fail("a cycle"))?;
                        if let (Some(value), Some(user)) = (value.take(), user.take()) {
                            out.temporal.insert(Temporal { value, user, cycle });
                        }
                    } else if line.starts_with("  ")
                        && let Some(text) = user.as_mut().or(value.as_mut())
                    {
                        // The text of a value or user continues on this line.
                        text.push('\n');
                        text.push_str(line.trim());
                    } else {
                        return Err(fail("value, user and cycle in this order"));
                    }
                }
                Part::Definitions | Part::Terminators => {
                    let block = out.blocks.last_mut().ok_or_else(|| fail("a block"))?;
                    let list = match part {
                        Part::Definitions => &mut block.definitions,
                        _ => &mut block.terminators,
                    };
                    add_line(list, line).ok_or_else(|| fail("an instruction"))?;
                }
                Part::Start | Part::Block => return Err(fail("a heading")),
            },
        }
    }
    if value.is_some() || !matches!(part, Part::Start) && out.blocks.is_empty() {
        let line = lines.last().map_or(0, |&(number, _)| number);
        return Err(FormatError {
            line,
            expected: "the rest of the function",
            found: String::new(),
        });
    }
    Ok(out)
}

/// Adds an instruction, or the next line of the last one.
fn add_line(list: &mut Vec<Item>, line: &str) -> Option<()> {
    if let Some(text) = line.strip_prefix(MARK) {
        list.push(Item { divergent: true, text: text.trim().to_owned() });
    } else if line.len() >= INDENT && line.bytes().take(INDENT).all(|b| b == b' ') {
        list.push(Item { divergent: false, text: line.trim().to_owned() });
    } else {
        let last = list.last_mut().filter(|_| line.starts_with("  "))?;
        last.text.push('\n');
        last.text.push_str(line.trim());
    }
    Some(())
}

/// The differences between two listings of one function.
#[must_use]
pub fn compare(left: &Uniformity, right: &Uniformity) -> Comparison {
    let mut out = Comparison {
        assumed: one_sided("cycle", &left.assumed, &right.assumed),
        exits: one_sided("cycle", &left.exits, &right.exits),
        temporal: one_sided("use", &left.temporal, &right.temporal),
        ..Comparison::default()
    };
    for argument in left.arguments.symmetric_difference(&right.arguments) {
        out.values.push(ValueDifference {
            place: DefinitionPlace::Argument(argument.clone()),
            block: String::new(),
            text: argument.clone(),
            left_divergent: left.arguments.contains(argument),
        });
    }
    // If a side has no listing, all of it is uniform.
    let uniform = |blocks: &[Block]| -> Vec<Block> {
        let mut blocks = blocks.to_vec();
        for block in &mut blocks {
            block
                .definitions
                .iter_mut()
                .chain(&mut block.terminators)
                .for_each(|i| i.divergent = false);
        }
        blocks
    };
    match (left.all_uniform, right.all_uniform) {
        (true, true) => {}
        (true, false) => compare_blocks(&uniform(&right.blocks), &right.blocks, &mut out),
        (false, true) => compare_blocks(&left.blocks, &uniform(&left.blocks), &mut out),
        (false, false) => compare_blocks(&left.blocks, &right.blocks, &mut out),
    }
    if left.all_uniform != right.all_uniform && out.is_empty() {
        out.shape.push("a listing without anything divergent on one side only".to_owned());
    }
    out
}

fn compare_blocks(left: &[Block], right: &[Block], out: &mut Comparison) {
    let names =
        |blocks: &[Block]| blocks.iter().map(|block| block.name.clone()).collect::<Vec<_>>();
    if names(left) != names(right) {
        out.shape.push(format!(
            "blocks {:?} on the left, {:?} on the right",
            names(left),
            names(right)
        ));
        return;
    }
    for (number, (a, b)) in left.iter().zip(right).enumerate() {
        let kinds = [
            ("definitions", &a.definitions, &b.definitions),
            ("terminators", &a.terminators, &b.terminators),
        ];
        for (kind, of_a, of_b) in kinds {
            if of_a.len() != of_b.len() {
                out.shape.push(format!(
                    "block {}: {} {kind} on the left, {} on the right",
                    a.name,
                    of_a.len(),
                    of_b.len()
                ));
                continue;
            }
            for (index, (x, y)) in of_a.iter().zip(of_b).enumerate() {
                if x.text != y.text {
                    out.shape.push(format!(
                        "block {}: text `{}` on the left, `{}` on the right",
                        a.name, x.text, y.text
                    ));
                }
                if x.divergent != y.divergent {
                    let place = match kind {
                        "definitions" => DefinitionPlace::Definition(number, index),
                        _ => DefinitionPlace::Terminator(number),
                    };
                    out.values.push(ValueDifference {
                        place,
                        block: a.name.clone(),
                        text: x.text.clone(),
                        left_divergent: x.divergent,
                    });
                }
            }
        }
    }
}

impl Uniformity {
    /// Whether the definition at this place is marked divergent.
    #[must_use]
    pub fn is_divergent(&self, place: &DefinitionPlace) -> bool {
        let item = match *place {
            DefinitionPlace::Argument(ref argument) => return self.arguments.contains(argument),
            DefinitionPlace::Definition(block, index) => {
                self.blocks.get(block).and_then(|block| block.definitions.get(index))
            }
            DefinitionPlace::Terminator(block) => {
                self.blocks.get(block).and_then(|b| b.terminators.first())
            }
        };
        item.is_some_and(|item| item.divergent)
    }

    /// How many definitions and terminators are listed, and how many of them are divergent.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let items = || self.blocks.iter().flat_map(|b| b.definitions.iter().chain(&b.terminators));
        (items().count(), items().filter(|item| item.divergent).count())
    }

    /// The marks by name of the defined value, `%x`. Terminators and values without a name are left
    /// out.
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<&str, bool> {
        let items = self.blocks.iter().flat_map(|b| b.definitions.iter().chain(&b.terminators));
        items.filter_map(|item| Some((item.text.split_once(" = ")?.0, item.divergent))).collect()
    }
}

#[cfg(test)]
mod tests;
