//! The data model of a report, and of its JSON. `docs/performance.schema.json` describes it.

use serde::Serialize;

use crate::source::Location;

/// A module.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleCosts {
    /// What the file is called.
    pub file: String,
    /// How it was compiled, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiled: Option<String>,
    /// Its functions, in order.
    pub functions: Vec<FunctionCosts>,
}

/// A function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionCosts {
    /// What the program calls it.
    pub name: String,
    /// What the module calls it.
    pub symbol: String,
    /// Whether threads start there.
    pub kernel: bool,
    /// The most expensive first; of equal ones the first of the function.
    pub entries: Vec<Entry>,
}

/// An access, a branch or a loop.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// `access`, `branch` or `loop`.
    pub kind: &'static str,
    /// Units that a wave could save, multiplied by loops around; zero if nothing is known.
    pub cost: u64,
    /// Whether the cost is an upper bound.
    pub at_most: bool,
    /// Loops around it.
    pub depth: u32,
    /// How many copies of it there are at this place of the program: the compiler unrolls loops.
    pub copies: u32,
    /// What it does.
    pub message: String,
    /// What is assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<&'static str>,
    /// What could be done, if it has a cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<&'static str>,
    /// The sources that make lanes differ, in terms of the program.
    pub depends_on: Vec<&'static str>,
    /// Where it is.
    pub location: Location,
    /// Details of an access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessEntry>,
    /// Details of a branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchEntry>,
    /// Details of a loop.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub round: Option<LoopEntry>,
}

/// How the lanes of a wave reach memory.
#[derive(Clone, Debug, Serialize)]
pub struct AccessEntry {
    /// `load`, `store` or `atomic`.
    pub operation: &'static str,
    /// `global` or `workgroup`.
    pub space: &'static str,
    /// `one`, `consecutive`, `strided`, `symbolic`, `irregular`, `gather` or `unknown`.
    pub reach: &'static str,
    /// Bytes from lane to lane, where that is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stride: Option<i64>,
    /// Bytes from lane to lane, where that is known at run time only: `4 * width`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<String>,
    /// Bytes of a lane.
    pub size: u32,
    /// What is counted: `transactions`, `bank cycles` or `updates`.
    pub unit: &'static str,
    /// Counts for the width of waves, or for 32 and 64 lanes; none where nothing is known.
    pub waves: Vec<WaveEntry>,
}

/// What an access costs a wave.
#[derive(Clone, Debug, Serialize)]
pub struct WaveEntry {
    /// Lanes.
    pub lanes: u32,
    /// The number of units that it takes.
    pub count: u32,
    /// The least possible number.
    pub least: u32,
}

/// A branch that separates lanes.
#[derive(Clone, Debug, Serialize)]
pub struct BranchEntry {
    /// Instructions on each side.
    pub sides: Vec<u32>,
}

/// A loop that lanes leave in different rounds.
#[derive(Clone, Debug, Serialize)]
pub struct LoopEntry {
    /// Instructions of a round.
    pub instructions: u32,
}
