//! `simplifycfg`: reduces the number of blocks and branches.
//!
//! | step | what it does | convergent operations |
//! |---|---|---|
//! | [`branches`] | constant branches and switches, and those with one target, become jumps; unreachable blocks are removed | edges are removed only where no group of threads changes ([`crate::groups`]) |
//! | [`straight`] | a block that is the only successor of its only predecessor is merged into it; phis of one value are replaced | same blocks, same groups |
//! | [`thread`] | jumps to an empty block go to its successor | headers of cycles stay, so chains of headers do |
//! | [`select`] | small branches without effects become selections | only instructions that are not convergent become unconditional |
//! | [`common`] | two successive branches with a common target become one | likewise |
//!
//! On machines that reconverge at post-dominators, removing edges or branches can make threads meet
//! that were apart before. Where that concerns a convergent operation ([`crate::stacks`]), the pass
//! neither folds nor merges branches. The other steps leave every join where it is.
//!
//! The pass duplicates nothing. The steps repeat until nothing changes, a bounded number of times,
//! in one transaction; each is near-linear.
//!
//! # Parameters
//!
//! | parameter | meaning |
//! |---|---|
//! | `speculate=N` | a side of a branch, or the code before a second branch, may become unconditional if it has at most so many instructions (2) |
//! | `select-uniform` | also turn branches that are uniform in the wave into selections; normally they stay, since they skip work |
//! | `no-select` | no selections at all |
//! | `machines=M` | preserve groups for one reconvergence model only: `maximal` or `post-dominator` (`all`) |

mod branches;
mod common;
mod select;
mod straight;
mod thread;

pub(crate) use self::{
    branches::{take, take_all},
    straight::{only_value, replace_trivial},
};

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cfg, Cycles, Dfs, Reconvergence};
use phalanx_ir::{BlockId, BuildError, InstId, edit::Transaction, metadata::kind};
use phalanx_target::{Scope, SourceSet, varying};
use smallvec::SmallVec;

use crate::{
    code::Code,
    locations::Locations,
    pass::{Outcome, Parameters, Pass, PassError, machines},
    stacks::Stacks,
};

/// How often the steps repeat at most; the next run continues.
const ROUNDS: usize = 32;

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SimplifyCfg {
    /// Whether branches become selections.
    pub selects: bool,
    /// Whether uniform branches become selections, too.
    pub selects_uniform: bool,
    /// The limit of instructions on a side of such a branch.
    pub speculated: usize,
    /// Under which reconvergence models groups are preserved.
    pub machines: Machines,
}

impl Default for SimplifyCfg {
    fn default() -> Self {
        SimplifyCfg {
            selects: true,
            selects_uniform: false,
            speculated: 2,
            machines: Machines::All,
        }
    }
}

impl SimplifyCfg {
    /// With what a pipeline says.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<SimplifyCfg, String> {
        let mut pass = SimplifyCfg::default();
        for (key, value) in parameters.iter() {
            match (key, value) {
                ("no-select", None) => pass.selects = false,
                ("select-uniform", None) => pass.selects_uniform = true,
                ("speculate", Some(count)) => {
                    let wrong = || format!("simplifycfg: `{count}` is no number of instructions");
                    pass.speculated = count.parse().map_err(|_| wrong())?;
                }
                ("machines", Some(name)) => pass.machines = machines("simplifycfg", name)?,
                _ => return Err(format!("simplifycfg has no parameter `{key}`")),
            }
        }
        Ok(pass)
    }
}

impl Pass for SimplifyCfg {
    fn name(&self) -> &str {
        "simplifycfg"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let kept = self.kept_branches(db, function);
        let stacks = match self.machines.include(Reconvergence::PostDominator) {
            true => Stacks::before(db, function),
            false => None,
        };
        let is_kept = |edit: &Transaction<'_>| stacks.as_ref().is_none_or(|s| s.are_kept(edit));
        match self.simplify(db, function, &kept, true, &is_kept) {
            Err(Stop::Parts) => self.simplify(db, function, &kept, false, &|_| true),
            done => done,
        }
        .map_err(|stop| match stop {
            Stop::Fails(error) => error,
            Stop::Parts => PassError::Other("simplifycfg: groups are not kept".to_owned()),
        })
    }
}

/// Why the simplification was abandoned.
enum Stop {
    Fails(PassError),
    /// It would change groups on machines that reconverge at post-dominators.
    Parts,
}

impl From<PassError> for Stop {
    fn from(error: PassError) -> Stop {
        Stop::Fails(error)
    }
}

impl From<BuildError> for Stop {
    fn from(error: BuildError) -> Stop {
        Stop::Fails(error.into())
    }
}

impl SimplifyCfg {
    /// Repeats the steps: all of them, or only those that leave every join where it is.
    fn simplify(
        &self,
        db: &mut Database,
        function: FunctionInput,
        kept: &[bool],
        all: bool,
        is_kept: &dyn Fn(&Transaction<'_>) -> bool,
    ) -> Result<Outcome, Stop> {
        let mut locations = Locations::new();
        let changed = db.edit(function, |edit| {
            let mut changed = false;
            for _ in 0..ROUNDS {
                let mut again = all && branches::run(edit)?;
                again |= straight::run(edit)?;
                again |= thread::run(edit)?;
                if self.selects {
                    again |= select::run(edit, self.speculated, kept, &mut locations)?;
                    again |= all && common::run(edit, self.speculated, kept, &mut locations)?;
                }
                if !again {
                    break;
                }
                changed = true;
            }
            match !changed || is_kept(edit) {
                true => Ok(changed),
                false => Err(Stop::Parts),
            }
        })?;
        locations.finish(db, function)?;
        Ok(Outcome::changed(changed))
    }
}

impl SimplifyCfg {
    /// By block: whether its branch stays because it is uniform. Facts are computed only when there
    /// is something to decide.
    fn kept_branches(&self, db: &Database, function: FunctionInput) -> Vec<bool> {
        let flow = function.flow(db);
        let mut kept = vec![false; flow.id_count()];
        if !self.selects || self.selects_uniform {
            return kept;
        }
        let two_ways = |&block: &BlockId| flow.successors(block).len() == 2;
        if !flow.order().iter().any(two_ways) {
            return kept;
        }
        let Some(facts) = queries::divergence(db, function) else { return kept };
        let varying: SourceSet = varying(Scope::Wave, queries::launch_facts(db, function));
        for &block in flow.order() {
            let node = phalanx_ir::flow::node_of(block);
            kept[node.index()] = !facts.terminator(node).intersects(varying);
        }
        kept
    }
}

/// Copies the location and loop metadata of a terminator to its replacement.
fn keep_attachments(
    edit: &mut Transaction<'_>,
    block: BlockId,
    old: &[phalanx_ir::metadata::Attachment],
) -> Result<(), PassError> {
    let Some(new) = edit.body().terminator(block) else { return Ok(()) };
    for attachment in old.iter().filter(|a| a.kind == kind::DBG || a.kind == kind::LOOP) {
        let name = edit.context().text(attachment.kind).into_owned();
        edit.attach(new, &name, Some(attachment.node))?;
    }
    Ok(())
}

/// Replaces the terminator of a block by a jump.
fn jump(edit: &mut Transaction<'_>, block: BlockId, to: BlockId) -> Result<(), PassError> {
    use phalanx_ir::InstBuilder as _;
    let Some(old) = edit.body().terminator(block) else { return Ok(()) };
    let attachments: SmallVec<[_; 2]> = edit.extras().attachments_of(old).collect();
    edit.replace_terminator(block).br(to)?;
    keep_attachments(edit, block, &attachments)
}

/// Erases blocks without predecessors, all at once where that is possible.
fn erase(edit: &mut Transaction<'_>, gone: &[BlockId]) -> Result<(), PassError> {
    if gone.len() > 1 && branches::remove_unreachable(edit)? {
        return Ok(());
    }
    for &block in gone {
        edit.erase_block(block)?;
    }
    Ok(())
}

/// The current graph.
fn graph(edit: &Transaction<'_>) -> Option<(Cfg, Cycles)> {
    let cfg = edit.flow().cfg()?;
    let cycles = Cycles::with_dfs(&cfg, &Dfs::new(&cfg));
    Some((cfg, cycles))
}

/// Whether a block's address is taken in the module.
fn has_address(edit: &Transaction<'_>, block: BlockId) -> bool {
    let name = edit.header().name;
    edit.module().block_addresses.iter().any(|a| a.function == name && a.block == block)
}

/// Instructions of a block without its phis and terminator.
fn inner(code: &Code<'_>, block: BlockId) -> SmallVec<[InstId; 8]> {
    let body = code.body;
    body.block_insts(block)
        .filter(|&inst| {
            let opcode = body.inst(inst).opcode;
            opcode != phalanx_ir::Opcode::Phi && !opcode.is_terminator()
        })
        .collect()
}
