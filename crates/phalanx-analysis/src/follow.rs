//! Divergence of a function that is being edited: from scratch, or by repair of what is kept.
//!
//! A [`Follower`] is asked after every edit. The first time it solves and keeps nothing, so a function that is analysed
//! once costs what it costs. When it is asked again after a change, and the function is large, it keeps a
//! [`Retained`], which it repairs from then on.
//!
//! **Soundness.** The answer is a function of code, surroundings and control flow alone; what is kept only changes how fast
//! it is found. It is used only for the very inputs that it was brought up to: a [`Stamp`] identifies
//! them. Whoever holds a follower takes it out of its place while it works and puts it back afterwards, so that work that is
//! broken off loses it instead of leaving it half done.
//!
//! | what changed | what happens |
//! |---|---|
//! | nothing | the answer again |
//! | instructions | these are lowered again, the answer is repaired |
//! | what is [granted](Granted) | loads of which something else is are lowered again, the answer is repaired |
//! | control flow | the same, touched blocks and their terminators are looked at, and the answer is repaired from what is different in the flow facts |
//! | surroundings | from scratch, and kept again |
//! | a good part of the function, or the history does not reach back | from scratch; kept again after the next few changes |

use phalanx_ir::{BlockId, InstId, flow::node_of};

use crate::convergence::escape;
use crate::divergence::{
    Divergence, Flow, Rules,
    repair::{Outcome, Retained, Unfit},
    solve,
};
use crate::granted::{Difference, Granted};
use crate::lower::{self, Code, Neighbours, Numbering, RowNumbers, Surroundings};
use crate::memory::PrivateMemory;

/// Functions with fewer instructions are always solved from scratch.
pub const LARGE: usize = 256;

/// Which inputs an answer is for. Equal numbers must mean equal inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Position in the history of the body.
    pub position: u64,
    /// Identity of the flow facts.
    pub flow: u64,
    /// Identity of everything else: header, target, launch facts, attributes of callees.
    pub around: u64,
}

/// What happened to a body since some position of its history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// Instructions that were inserted, removed, moved, or are another operation or read other operands.
    pub insts: &'a [InstId],
    /// Whether blocks or edges changed.
    pub flow: bool,
    /// Blocks that are new or gone, lead elsewhere, or hold instructions that another block held; also those whose terminator is
    /// another. Empty: not known.
    pub blocks: &'a [BlockId],
}

impl Changes<'_> {
    fn len(&self) -> usize {
        self.insts.len() + self.blocks.len()
    }
}

/// How many changes at a time are worth following in a function of so many instructions: each costs what some tens of instructions cost
/// from scratch.
fn few(size: usize) -> usize {
    (size / 64).max(8)
}

/// Whose rules decide what an instruction contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// What we hold to be true.
    Full,
    /// What LLVM 22 takes for granted.
    Llvm,
}

/// The function as it is.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its code.
    pub code: Code<'a>,
    /// What is around it.
    pub around: Surroundings<'a>,
    /// Facts about its control flow.
    pub flow: Flow<'a>,
    /// Identifies all three.
    pub stamp: Stamp,
    /// What is taken for granted besides.
    pub granted: &'a Granted,
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// From scratch.
    Solved,
    /// From scratch, and from now on it is kept.
    Kept,
    /// By repair, visiting so many subjects. Also after an edit of the control flow.
    Repaired {
        /// See [`Outcome::Repaired`].
        visited: usize,
    },
    /// Derived again from tables that were kept.
    Rebuilt,
}

/// Follows one function.
#[derive(Debug)]
pub struct Follower {
    sources: Sources,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// Never asked.
    #[default]
    New,
    /// Asked, nothing kept.
    Seen(Stamp),
    /// As `Seen`, and nothing can be kept while the control flow is the same.
    Unfit(Stamp),
    Kept(Box<Kept>),
}

#[derive(Debug)]
struct Kept {
    stamp: Stamp,
    granted: Granted,
    memory: PrivateMemory,
    rows: RowNumbers,
    neighbours: Neighbours,
    retained: Retained,
}

impl Follower {
    /// A follower that has not been asked.
    #[must_use]
    pub fn new(sources: Sources) -> Self {
        Self { sources, state: State::New }
    }

    /// A follower that will keep what it finds: of a function whose divergence was solved from scratch before, at that position of its
    /// history.
    #[must_use]
    pub fn seen(sources: Sources, position: u64) -> Self {
        let stamp = Stamp { position, flow: u64::MAX, around: u64::MAX };
        Self { sources, state: State::Seen(stamp) }
    }

    /// The divergence of the function as it is now.
    ///
    /// `since` says what happened to the body since an earlier position, `None` if that is not known; `scratch` solves from
    /// scratch by the precise rules.
    pub fn answer<'h>(
        &mut self,
        subject: Subject<'_>,
        since: impl FnOnce(u64) -> Option<Changes<'h>>,
        scratch: impl FnOnce() -> Divergence,
    ) -> (Divergence, Found) {
        let stamp = subject.stamp;
        let size = subject.code.body.id_count();
        let position = match &self.state {
            State::Kept(kept) => Some(kept.stamp.position),
            State::Seen(seen) | State::Unfit(seen) => Some(seen.position),
            State::New => None,
        };
        let changes = match position {
            Some(position) if position == stamp.position => Some(Changes::default()),
            Some(position) => since(position),
            None => None,
        };
        let granted = match &self.state {
            State::Kept(kept) => subject.granted.difference(&kept.granted),
            _ => Difference::default(),
        };
        // Whoever rewrites a function as a whole is better served from scratch, and may do so again.
        let is_few = |changes: &Changes<'_>| changes.len() + granted.len() <= few(size);
        let changes = changes.filter(|changes| size >= LARGE && is_few(changes));
        match (std::mem::take(&mut self.state), changes) {
            (State::Kept(kept), Some(changes)) if kept.stamp.around == stamp.around => {
                if let Some((kept, found)) = self.follow(kept, subject, changes, &granted) {
                    let answer = kept.retained.answer().clone();
                    self.state = State::Kept(kept);
                    return (answer, found);
                }
                if let State::Unfit(_) = self.state {
                    return (scratch(), Found::Solved);
                }
            }
            (State::Kept(_), Some(_)) => {}
            (State::Seen(seen), Some(_)) if seen != stamp => {}
            (State::Unfit(seen), Some(_)) if seen.flow != stamp.flow => {}
            (State::Unfit(_), _) => {
                self.state = State::Unfit(stamp);
                return (scratch(), Found::Solved);
            }
            _ => {
                self.state = State::Seen(stamp);
                return (scratch(), Found::Solved);
            }
        }
        self.keep(subject)
    }

    /// Brings what is kept up to date. `None` if that cannot be done.
    fn follow(
        &mut self,
        mut kept: Box<Kept>,
        Subject { code, around, flow, stamp, granted }: Subject<'_>,
        changes: Changes<'_>,
        difference: &Difference,
    ) -> Option<(Box<Kept>, Found)> {
        let as_llvm = self.sources == Sources::Llvm;
        let is_other_flow = changes.flow || kept.stamp.flow != stamp.flow;
        // Nobody knows the blocks of another flow that the history does not tell of.
        let blocks = changes.flow.then_some(changes.blocks).filter(|blocks| !blocks.is_empty());
        let mut insts = changes.insts.to_vec();
        if is_other_flow {
            insts.extend(Neighbours::moved(code, blocks, kept.retained.table()));
        }
        // Which calls are outside of the cycle of their token depends on all tokens, and on the cycles.
        if self.sources == Sources::Full && (is_other_flow || escape::concerns(code, &insts)) {
            insts.extend(escape::controlled(code));
        }
        let table = kept.retained.table();
        match self.sources {
            Sources::Full => {
                let old = &kept.memory;
                let is_concerned =
                    old.concerns(code, &insts) || is_other_flow && old.has_candidates();
                let new = is_concerned
                    .then(|| PrivateMemory::through_calls(code, around, flow.cfg, flow.dom));
                if let Some(new) = &new {
                    insts.extend(new.other_loads(old));
                    insts.extend(new.origins().users_of_others(code, old.origins()));
                }
                let values = code.header.params.len() + code.body.id_count();
                // Versions of memory have numbers of their own, of which there must be room before them.
                let has_no_numbers =
                    table.room() == usize::MAX && new.as_ref().is_some_and(|new| !new.is_empty());
                if values > table.room() || has_no_numbers {
                    return None;
                }
                let rows = Some((&mut kept.rows, new.is_some()));
                let memory = new.as_ref().unwrap_or(old);
                let numbering = Numbering::new(code.header);
                for &(load, left) in &difference.loads {
                    table.narrow(numbering.inst(load), left);
                    // One of private memory has no sources of its own, and is stated with its versions.
                    insts.extend((!memory.is_load(load)).then_some(load));
                }
                if !kept.neighbours.update_full_with(code, around, memory, rows, &insts, table) {
                    return None;
                }
                if let Some(new) = new {
                    kept.memory = new;
                }
            }
            Sources::Llvm => kept.neighbours.update_as_llvm(code, around, &insts, table),
        }
        for &(block, is_assumed) in &difference.branches {
            table.assume_uniform_in_group(block, is_assumed);
        }
        let outcome = if is_other_flow {
            Neighbours::update_terminators(code, around, as_llvm, blocks, table);
            let touched: Vec<_> = blocks.unwrap_or_default().iter().map(|b| node_of(*b)).collect();
            kept.retained.repair_flow(flow, blocks.map(|_| touched.as_slice()))
        } else {
            kept.retained.repair(flow)
        };
        kept.stamp = stamp;
        kept.granted = granted.clone();
        match outcome {
            Ok(Outcome::Repaired { visited }) => Some((kept, Found::Repaired { visited })),
            Ok(Outcome::Rebuilt) => Some((kept, Found::Rebuilt)),
            Err(unfit) => {
                self.state = Self::unfit(unfit, stamp);
                None
            }
        }
    }

    fn unfit(reason: Unfit, stamp: Stamp) -> State {
        match reason {
            // May be over with the next edit; the answer from scratch will tell.
            Unfit::Irregular | Unfit::Full => State::Seen(stamp),
            Unfit::TooLarge => State::Unfit(stamp),
        }
    }

    /// Solves from scratch and keeps what it can.
    fn keep(
        &mut self,
        Subject { code, around, flow, stamp, granted }: Subject<'_>,
    ) -> (Divergence, Found) {
        let mut memory = PrivateMemory::default();
        let (mut table, rows, shapes) = match self.sources {
            Sources::Full => {
                memory = PrivateMemory::through_calls(code, around, flow.cfg, flow.dom);
                let unused = code.body.id_count() / 4 + 1024;
                let (table, rows, shapes) = lower::full_and_rows(code, around, &memory, unused);
                (table, rows, Some(shapes))
            }
            Sources::Llvm => (lower::as_llvm(code, around), RowNumbers::default(), None),
        };
        granted.apply(code.header, &mut table);
        let answer = solve(flow, &table, Rules::Precise);
        if !Retained::is_possible(flow, &answer) {
            self.state = State::Seen(stamp);
            return (answer, Found::Solved);
        }
        match Retained::new(flow, table) {
            Ok(retained) => {
                let neighbours = match shapes {
                    Some(shapes) => Neighbours::with_shapes(shapes),
                    None => Neighbours::of_llvm(),
                };
                let answer = retained.answer().clone();
                let granted = granted.clone();
                let kept = Kept { stamp, granted, memory, rows, neighbours, retained };
                self.state = State::Kept(Box::new(kept));
                (answer, Found::Kept)
            }
            Err(unfit) => {
                self.state = Self::unfit(unfit, stamp);
                (answer, Found::Solved)
            }
        }
    }
}
