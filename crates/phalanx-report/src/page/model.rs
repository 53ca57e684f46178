//! The data of a page. Field names are short: there is one row for each instruction.

use serde::Serialize;

use super::against::Earlier;
use crate::analyze::{AccessReport, CycleReport, Summary};
use crate::check::{ChangedLines, Diagnostic};
use crate::loads::LoadReport;

/// A module.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// What the file is called.
    pub file: String,
    /// Target triple.
    pub triple: String,
    /// How it was compiled, if it was.
    pub compiled: Option<String>,
    /// What the earlier version is called, if one is shown beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Files of the program that rows refer to.
    pub files: Vec<FilePage>,
    /// The sources: name, and the term of the program's language.
    pub sources: Vec<(&'static str, &'static str)>,
    /// What was judged, and what was not, in a line.
    pub judged: String,
    /// Names and counts of the functions; the rest of each stands apart.
    pub index: Vec<Entry>,
    #[serde(skip)]
    pub(super) functions: Vec<FunctionPage>,
}

/// What the list of functions shows of one.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// What the program calls it.
    pub name: String,
    /// Whether threads start there.
    pub kernel: bool,
    /// Errors, warnings, notes.
    pub findings: [usize; 3],
    /// Values that differ between threads of a wave, and values.
    pub divergent: [usize; 2],
}

/// A file of the program.
#[derive(Clone, Debug, Serialize)]
pub struct FilePage {
    /// Its name.
    pub name: String,
    /// Its lines; none if the file is not at hand, or has changed since it was compiled.
    pub lines: Option<Vec<String>>,
}

/// A function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionPage {
    /// What the program calls it.
    pub name: String,
    /// What the module calls it.
    pub symbol: String,
    /// Whether threads start there.
    pub kernel: bool,
    /// What differs and why, in sentences.
    pub sentences: Vec<String>,
    /// Counts.
    pub summary: Summary,
    /// Arguments, labels and instructions, in order.
    pub rows: Vec<Row>,
    /// The earlier version, if one is shown beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// Links of chains.
    pub steps: Vec<StepRow>,
    /// Loops and other cycles.
    pub cycles: Vec<CycleReport>,
    /// Accesses of memory.
    pub accesses: Vec<AccessRow>,
    /// Loads, and which may use a cheaper instruction.
    pub loads: Vec<LoadReport>,
    /// What `check` finds.
    pub findings: Vec<FindingRow>,
    /// The control-flow graph as SVG.
    pub picture: Option<String>,
    /// Why there is none.
    pub no_picture: Option<String>,
    /// Whether only branches have chains.
    pub without_chains: bool,
}

/// A load, a store or an atomic operation.
#[derive(Clone, Debug, Serialize)]
pub struct AccessRow {
    /// What is known of it.
    #[serde(flatten)]
    pub report: AccessReport,
    /// Whether it is one of workgroup memory, which is divided into banks.
    pub shared: bool,
    /// For each lane of a wave, the distance of its address in bytes from that of the first lane,
    /// if lanes are not evenly spaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<i64>>,
}

/// Something that `check` finds.
#[derive(Clone, Debug, Serialize)]
pub struct FindingRow {
    /// The finding.
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
    /// The lines that its fix changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangedLines>,
}

/// A line of the code.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// `a` argument, `b` label of a block, `i` instruction, `t` branch.
    #[serde(rename = "k")]
    pub kind: &'static str,
    /// The text.
    #[serde(rename = "t")]
    pub text: String,
    /// Line in the module.
    #[serde(rename = "n")]
    pub line: u32,
    /// Name of the value, or of the block.
    #[serde(rename = "v", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The variable of the program whose value it is.
    #[serde(rename = "x", skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The smallest scope whose threads differ: 3 the wave, 2 the workgroup, 1 the launch, 0 none.
    /// For a label: the smallest scope of which some threads may skip the block.
    #[serde(rename = "l")]
    pub level: u8,
    /// What it depends on, as numbers of [`Page::sources`].
    #[serde(rename = "s", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<usize>,
    /// File and line of the program.
    #[serde(rename = "p", skip_serializing_if = "Option::is_none")]
    pub place: Option<(usize, u32)>,
    /// The chain of causes, as numbers of [`FunctionPage::steps`].
    #[serde(rename = "c", skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<usize>,
}

/// A link of a chain.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct StepRow {
    /// Why, in a sentence.
    #[serde(rename = "t")]
    pub text: String,
    /// Line in the module.
    #[serde(rename = "n")]
    pub line: u32,
    /// The other function that it is in, if it is.
    #[serde(rename = "f", skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}
