//! What `phalanx analyze` says, as plain data.
//!
//! One model for people ([`super::write_text`]) and programs (JSON by serde: field names are the
//! format). Everything is in the order of the text, so equal input gives equal bytes.

use serde::Serialize;

use crate::explain::words::Dialect;
use crate::lines::Place;
use crate::loads::LoadReport;
use crate::spaces::{AddressReport, SpecializationReport};

/// A module.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleReport {
    /// What the file is called.
    pub file: String,
    /// Target triple; empty when neither the file nor the driver names one.
    pub triple: String,
    /// Scope that "divergent" is about.
    pub scope: &'static str,
    /// Functions with a body, in order.
    pub functions: Vec<FunctionReport>,
    /// The language whose terms the legend uses.
    #[serde(skip)]
    pub(crate) dialect: Dialect,
}

/// A function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionReport {
    /// Name without `@`.
    pub name: String,
    /// Whether threads start here.
    pub kernel: bool,
    /// Where it is defined.
    pub place: Place,
    /// Counts.
    pub summary: Summary,
    /// Arguments.
    pub arguments: Vec<ValueReport>,
    /// Terminators with at least two distinct successors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<Vec<BranchReport>>,
    /// The cycle hierarchy, depth first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Vec<CycleReport>>,
    /// Instructions with a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<ValueReport>>,
    /// Uses divergent although the value is uniform where it is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temporal_uses: Option<Vec<UseReport>>,
    /// Blocks and their control divergence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<BlockReport>>,
    /// Loads, stores and atomic operations: what the lanes of a wave touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accesses: Option<Vec<AccessReport>>,
    /// Loads, and which may use a cheaper instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loads: Option<Vec<LoadReport>>,
    /// Addresses, and the memories that they may point to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spaces: Option<Vec<AddressReport>>,
    /// Copies of the function that would know more about where its arguments point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub specializations: Vec<SpecializationReport>,
    /// Dominator and post-dominator trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees: Option<Trees>,
    /// Convergent operations and tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convergence: Option<ConvergenceReport>,
}

/// Counts of a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    /// Instructions.
    pub instructions: usize,
    /// Instructions with a result.
    pub values: usize,
    /// Divergent values.
    pub divergent_values: usize,
    /// Terminators with at least two distinct successors.
    pub branches: usize,
    /// Divergent branches.
    pub divergent_branches: usize,
    /// Cycles.
    pub cycles: usize,
    /// Cycles with a divergent exit, or assumed divergent.
    pub divergent_cycles: usize,
    /// Uses that are temporally divergent.
    pub temporal_uses: usize,
}

/// An argument or instruction.
#[derive(Clone, Debug, Serialize)]
pub struct ValueReport {
    /// Where it is.
    pub place: Place,
    /// `%name`, or `%3`.
    pub name: String,
    /// The instruction as text.
    pub text: String,
    /// Whether it is divergent at the scope.
    pub divergent: bool,
    /// Its sources, including those that do not vary within the scope.
    pub sources: Vec<&'static str>,
}

/// A branch.
#[derive(Clone, Debug, Serialize)]
pub struct BranchReport {
    /// Where it is.
    pub place: Place,
    /// Its block.
    pub block: String,
    /// The terminator as text.
    pub text: String,
    /// Whether it is divergent at the scope.
    pub divergent: bool,
    /// Its sources.
    pub sources: Vec<&'static str>,
}

/// A cycle.
#[derive(Clone, Debug, Serialize)]
pub struct CycleReport {
    /// Depth: 1 is outermost.
    pub depth: u32,
    /// Header.
    pub header: String,
    /// All entries, the header first.
    pub entries: Vec<String>,
    /// How many blocks it has, nested cycles included.
    pub blocks: usize,
    /// Whether it has one entry.
    pub reducible: bool,
    /// Whether threads can leave in different iterations.
    pub divergent_exit: bool,
    /// Whether nothing is known about convergence inside.
    pub assumed_divergent: bool,
    /// Exit edges.
    pub exits: Vec<ExitReport>,
}

/// An edge that leaves a cycle.
#[derive(Clone, Debug, Serialize)]
pub struct ExitReport {
    /// Block inside.
    pub from: String,
    /// Block outside.
    pub to: String,
}

/// A temporally divergent use.
#[derive(Clone, Debug, Serialize)]
pub struct UseReport {
    /// Where the use is.
    pub place: Place,
    /// The value, `%name`.
    pub value: String,
    /// The user as text.
    pub user: String,
    /// Header of the outermost cycle left on the way.
    pub outside_cycle: String,
    /// Sources added.
    pub sources: Vec<&'static str>,
}

/// A block.
#[derive(Clone, Debug, Serialize)]
pub struct BlockReport {
    /// Name.
    pub name: String,
    /// Whether some threads of a group can skip it.
    pub divergent_control: bool,
    /// Sources of the branches it depends on.
    pub sources: Vec<&'static str>,
}

/// Convergent operations of a function and what controls them.
#[derive(Clone, Debug, Serialize)]
pub struct ConvergenceReport {
    /// What determines the threads that execute them together: `tokens`, `control flow`, or
    /// `nothing` if there are no convergent operations.
    pub control: &'static str,
    /// Convergent operations, in the order of the text.
    pub operations: Vec<OperationReport>,
    /// What makes tokens, in the order of the text.
    pub tokens: Vec<TokenReport>,
}

/// A convergent operation.
#[derive(Clone, Debug, Serialize)]
pub struct OperationReport {
    /// Where it is.
    pub place: Place,
    /// The call as text.
    pub text: String,
    /// Among which threads it communicates; none when that is not known.
    pub scope: Option<&'static str>,
    /// The token that it uses.
    pub token: Option<String>,
    /// Header of the innermost cycle around it.
    pub cycle: Option<String>,
}

/// A convergence control token.
#[derive(Clone, Debug, Serialize)]
pub struct TokenReport {
    /// Where it is made.
    pub place: Place,
    /// `%name`
    pub name: String,
    /// `entry`, `anchor` or `loop`.
    pub kind: &'static str,
    /// The token that its intrinsic takes.
    pub given: Option<String>,
    /// Header of the cycle that it is the heart of.
    pub heart_of: Option<String>,
    /// Blocks in which it is live.
    pub region: Vec<String>,
    /// Headers of the cycles that it is made in and used outside of.
    pub extends: Vec<String>,
}

/// A load, a store or an atomic operation.
#[derive(Clone, Debug, Serialize)]
pub struct AccessReport {
    /// Where it is.
    pub place: Place,
    /// The instruction.
    pub text: String,
    /// `broadcast`, `consecutive`, `strided`, `irregular` (known addresses without one distance),
    /// `gather` (addresses depend on loaded data) or `unknown`.
    pub pattern: &'static str,
    /// Bytes from one lane to the next, if that is the same for all lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stride: Option<i64>,
    /// The pattern holds between lanes with the same y and z only: a wave may run across rows.
    pub in_rows: bool,
    /// The pattern holds only if no index wraps round between two lanes.
    pub assumes_no_wrap: bool,
    /// Bytes that each lane accesses.
    pub size: u32,
    /// Stated alignment.
    pub align: u64,
    /// Bytes that all lanes of a wave access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u32>,
    /// Segments of 128 bytes that a wave touches at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    /// Sectors of 32 bytes that a wave touches at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sectors: Option<u32>,
    /// The greatest number of different words in one bank of shared memory that a wave accesses at
    /// once; 1 means no conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_degree: Option<u32>,
}

/// Both trees, as parents by block.
#[derive(Clone, Debug, Serialize)]
pub struct Trees {
    /// Immediate dominator of each reachable block; none for the entry.
    pub dominators: Vec<TreeEdge>,
    /// Immediate post-dominator of each block; none below the virtual exit.
    pub post_dominators: Vec<TreeEdge>,
}

/// A block and its parent.
#[derive(Clone, Debug, Serialize)]
pub struct TreeEdge {
    /// The block.
    pub block: String,
    /// Its parent in the tree.
    pub parent: Option<String>,
}
