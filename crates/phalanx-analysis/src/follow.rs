//! Divergence of a function that is being edited: from scratch, or by repair of what is kept.
//!
//! A [`Follower`] is asked after every edit. The first time it solves and keeps nothing, so a function that is analysed
//! once costs what it costs. When it is asked again after a change, and the function is large, it keeps a
//! [`Retained`], which it repairs from then on. That costs two or three times what solving does: so it is
//! done at once after very few changes (one in 1024 instructions, or 8), as somebody makes who asks after each; and after more, as passes over a
//! whole function make, when that happens twice in a row.
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
//! | control flow | the same; objects of private memory that have another SSA form are stated again, touched blocks and their terminators are looked at, and the answer is repaired from what is different in the flow facts |
//! | surroundings | from scratch, and kept again |
//! | a good part of the function, or the history does not reach back | from scratch; kept again after the next few changes |

use phalanx_graph::Node;
use phalanx_ir::{BlockId, InstId, flow::node_of};
use smallvec::SmallVec;

use crate::affect::Value;
use crate::convergence::escape;
use crate::divergence::{
    Divergence, Flow, Rules,
    repair::{Outcome, Retained, Unfit},
    solve,
};
use crate::granted::{Difference, Granted};
use crate::lower::{self, Code, Neighbours, Numbering, Restated, RowNumbers, Surroundings};
use crate::memory::{
    InQuestion, Looks, Numbered, Pointees, PrivateMemory, SlotFollower, ssa::Graph,
};
use crate::summary::{self, Passes, Seeded};

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
#[must_use]
pub fn few(size: usize) -> usize {
    (size / 64).max(8)
}

/// The same where blocks are others: whatever stands in these is looked at, and most of it is found as it was.
#[must_use]
pub fn few_in_blocks(size: usize) -> usize {
    (size / 8).max(8)
}

/// How many changes at a time are so few that whoever makes them is likely to come back soon.
#[must_use]
pub(crate) fn very_few(size: usize) -> usize {
    (size / 1024).max(8)
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

/// What a function is followed for besides its divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Divergence,
    /// The results of a [summary](crate::summary): it is also solved with its arguments as the only sources.
    Results,
    /// What is done [through](crate::summary::through) pointers: what arguments point to is private memory, and is a source like arguments.
    Through,
}

/// Follows one function.
#[derive(Debug)]
pub struct Follower {
    sources: Sources,
    purpose: Purpose,
    state: State,
}

/// What is kept for a summary, up to date.
#[derive(Clone, Copy)]
pub(crate) struct Answers<'a> {
    /// What is found with the function's own sources.
    pub(crate) own: &'a Retained,
    /// What is found with others.
    pub(crate) passes: &'a Passes,
    /// Private memory, and whether all of it was looked at again.
    pub(crate) memory: &'a SlotFollower,
    pub(crate) is_whole_new: bool,
    /// What arguments point to, where it is followed.
    pub(crate) seeded: &'a Seeded,
    pub(crate) found: Found,
}

/// Why nothing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// There is nothing to be found.
    Nothing,
    /// It must be found from scratch.
    Unknown,
}

impl Purpose {
    /// Private memory.
    fn memory(self, code: Code<'_>, around: Surroundings<'_>, flow: Flow<'_>) -> PrivateMemory {
        match self {
            Purpose::Through => PrivateMemory::with_pointees(code, around, flow.cfg, flow.dom),
            _ => PrivateMemory::through_calls(code, around, flow.cfg, flow.dom),
        }
    }

    /// The same, to be followed.
    fn followed(self, memory: PrivateMemory, subject: &Subject<'_>) -> SlotFollower {
        let Subject { code, around, flow, .. } = *subject;
        match self {
            Purpose::Through => {
                SlotFollower::with_pointees(memory, Pointees::new(code, around, flow.dom))
            }
            _ => SlotFollower::new(memory),
        }
    }

    /// The only sources that it is also solved with.
    fn inputs(self, code: Code<'_>, seeded: &Seeded) -> Vec<Option<Value>> {
        match self {
            Purpose::Divergence => Vec::new(),
            Purpose::Results => summary::arguments(code),
            Purpose::Through => {
                seeded.inputs(code).into_iter().map(|(_, value)| Some(value)).collect()
            }
        }
    }
}

/// What was found, and how.
enum Answered {
    /// It is in what is kept.
    Kept(Found),
    Solved(Divergence),
    /// There is nothing to be found.
    Nothing,
    /// It must be found from scratch.
    Not,
}

#[derive(Debug, Default)]
enum State {
    /// Never asked.
    #[default]
    New,
    /// Asked, nothing kept.
    Seen(Stamp),
    /// As `Seen`, after changes that would have been worth following.
    SeenAgain(Stamp),
    /// As `Seen`, and nothing can be kept while the control flow is the same.
    Unfit(Stamp),
    Kept(Box<Kept>),
}

#[derive(Debug)]
struct Kept {
    stamp: Stamp,
    granted: Granted,
    memory: SlotFollower,
    rows: RowNumbers,
    neighbours: Neighbours,
    retained: Retained,
    passes: Option<Passes>,
    seeded: Seeded,
    is_whole_new: bool,
}

impl Follower {
    /// A follower that has not been asked.
    #[must_use]
    pub fn new(sources: Sources) -> Self {
        Self { sources, purpose: Purpose::Divergence, state: State::New }
    }

    /// A follower that will keep what it finds: of a function whose divergence was solved from scratch before, at that position of its
    /// history.
    #[must_use]
    pub fn seen(sources: Sources, position: u64) -> Self {
        let stamp = Stamp { position, flow: u64::MAX, around: u64::MAX };
        Self { state: State::Seen(stamp), ..Self::new(sources) }
    }

    /// As [`seen`](Self::seen), by our own rules, for a part of a summary.
    pub(crate) fn seen_for(purpose: Purpose, position: u64) -> Self {
        Self { purpose, ..Self::seen(Sources::Full, position) }
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
        match self.bring_up_to_date(subject, since) {
            Answered::Solved(answer) => (answer, Found::Solved),
            Answered::Kept(found) => match &self.state {
                State::Kept(kept) => (kept.retained.answer().clone(), found),
                _ => (scratch(), Found::Solved),
            },
            Answered::Nothing | Answered::Not => (scratch(), Found::Solved),
        }
    }

    /// What is kept for a summary, of the function as it is now.
    ///
    /// # Errors
    /// Where nothing can be kept, or there is nothing to be found.
    pub(crate) fn answers<'h>(
        &mut self,
        subject: Subject<'_>,
        since: impl FnOnce(u64) -> Option<Changes<'h>>,
    ) -> Result<Answers<'_>, Missing> {
        match (self.bring_up_to_date(subject, since), &self.state) {
            (Answered::Kept(found), State::Kept(kept)) => {
                let Kept { retained: own, memory, is_whole_new, seeded, .. } = &**kept;
                let passes = kept.passes.as_ref().ok_or(Missing::Unknown)?;
                Ok(Answers { own, passes, memory, is_whole_new: *is_whole_new, seeded, found })
            }
            (Answered::Nothing, _) => Err(Missing::Nothing),
            _ => Err(Missing::Unknown),
        }
    }

    /// How often private memory was looked at again since the function is followed.
    #[must_use]
    pub fn looks(&self) -> Looks {
        match &self.state {
            State::Kept(kept) => kept.memory.looks(),
            _ => Looks::default(),
        }
    }

    fn bring_up_to_date<'h>(
        &mut self,
        subject: Subject<'_>,
        since: impl FnOnce(u64) -> Option<Changes<'h>>,
    ) -> Answered {
        let stamp = subject.stamp;
        let size = subject.code.body.id_count();
        let position = match &self.state {
            State::Kept(kept) => Some(kept.stamp.position),
            State::Seen(seen) | State::SeenAgain(seen) | State::Unfit(seen) => Some(seen.position),
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
                    self.state = State::Kept(kept);
                    return Answered::Kept(found);
                }
                if let State::Unfit(_) = self.state {
                    return Answered::Not;
                }
            }
            (State::Kept(_), Some(_)) => {}
            (State::Seen(_), Some(changes)) if changes.len() > very_few(size) => {
                self.state = State::SeenAgain(stamp);
                return Answered::Not;
            }
            (State::Seen(seen) | State::SeenAgain(seen), Some(_)) if seen != stamp => {}
            (State::Unfit(seen), Some(_)) if seen.flow != stamp.flow => {}
            (State::Unfit(_), _) => {
                self.state = State::Unfit(stamp);
                return Answered::Not;
            }
            _ => {
                self.state = State::Seen(stamp);
                return Answered::Not;
            }
        }
        self.keep(subject)
    }

    /// Brings what is kept up to date. `None` if that cannot be done.
    fn follow(
        &mut self,
        mut kept: Box<Kept>,
        subject: Subject<'_>,
        changes: Changes<'_>,
        difference: &Difference,
    ) -> Option<(Box<Kept>, Found)> {
        let Subject { code, around, flow, stamp, granted } = subject;
        let as_llvm = self.sources == Sources::Llvm;
        let is_other_flow = changes.flow || kept.stamp.flow != stamp.flow;
        // Nobody knows the blocks of another flow that the history does not tell of.
        let blocks = changes.flow.then_some(changes.blocks).filter(|blocks| !blocks.is_empty());
        let mut insts: SmallVec<[InstId; 16]> = SmallVec::from_slice(changes.insts);
        if is_other_flow {
            insts.extend(Neighbours::moved(code, blocks, kept.retained.table()));
        }
        // Which calls are outside of the cycle of their token depends on all tokens, and on the cycles.
        if self.sources == Sources::Full && (is_other_flow || escape::concerns(code, &insts)) {
            insts.extend(escape::controlled(code));
        }
        let besides = match is_other_flow && kept.memory.has_slots() {
            true => {
                let now = Graph { cfg: flow.cfg, dom: flow.dom };
                kept.memory.in_question(code, (kept.retained.graph(), now))
            }
            false => Some(InQuestion::default()),
        };
        let table = kept.retained.table();
        match self.sources {
            Sources::Full => {
                let graph = Numbered { cfg: flow.cfg, dom: flow.dom, number: stamp.flow };
                let memory = &mut kept.memory;
                let followed = |besides| memory.follow(code, around, graph, (&insts, &besides));
                let patch = besides.and_then(followed);
                let patch = match patch {
                    Some(changed) => {
                        insts.extend(changed.others);
                        Some(changed.patch)
                    }
                    None => {
                        let new = self.purpose.memory(code, around, flow);
                        let new = self.purpose.followed(new, &subject);
                        insts.extend(memory.replace(code, new));
                        None
                    }
                };
                let has_memory = match patch {
                    Some(patch) => patch.is_some_and(|patch| !memory.patch(patch).1.is_empty()),
                    None => memory.whole().is_some_and(|memory| !memory.is_empty()),
                };
                let values = code.header.params.len() + code.body.id_count();
                // Versions of memory have numbers of their own, of which there must be room before them.
                if values > table.room() || has_memory && table.room() == usize::MAX {
                    return None;
                }
                let numbering = Numbering::new(code.header);
                for &(load, left) in &difference.loads {
                    table.narrow(numbering.inst(load), left);
                    // One of private memory has no sources of its own, and is stated with its versions.
                    insts.extend((!memory.is_load(load)).then_some(load));
                }
                let rows = &mut kept.rows;
                let restated = Restated { rows, memory, graph, patch };
                if !kept.neighbours.update_full_with(code, around, restated, &insts, table) {
                    return None;
                }
                kept.is_whole_new = patch.is_none();
                if self.purpose == Purpose::Through {
                    kept.seeded.update(code, kept.is_whole_new, memory, rows);
                    if kept.seeded.is_empty() {
                        return None;
                    }
                }
                if let Some(passes) = &kept.passes
                    && !passes.are_of(&self.purpose.inputs(code, &kept.seeded))
                {
                    return None;
                }
            }
            Sources::Llvm => kept.neighbours.update_as_llvm(code, around, &insts, table),
        }
        for &(block, is_assumed) in &difference.branches {
            table.assume_uniform_in_group(block, is_assumed);
        }
        if is_other_flow {
            Neighbours::update_terminators(code, around, as_llvm, blocks, table);
        }
        let touched: Vec<_> = blocks.unwrap_or_default().iter().map(|b| node_of(*b)).collect();
        let touched = is_other_flow.then(|| blocks.map(|_| touched.as_slice()));
        kept.stamp = stamp;
        kept.granted = granted.clone();
        match kept.repair(flow, touched) {
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
    fn keep(&mut self, subject: Subject<'_>) -> Answered {
        let Subject { code, around, flow, stamp, granted } = subject;
        if Retained::is_too_deep(flow, code.header.params.len() + code.body.id_count()) {
            self.state = Self::unfit(Unfit::TooLarge, stamp);
            return Answered::Not;
        }
        let mut memory = PrivateMemory::default();
        let (mut table, rows, shapes) = match self.sources {
            Sources::Full => {
                memory = self.purpose.memory(code, around, flow);
                if self.purpose == Purpose::Through && !Seeded::is_told_by(&memory) {
                    self.state = State::Seen(stamp);
                    return Answered::Nothing;
                }
                let unused = code.body.id_count() / 4 + 1024;
                let (table, rows, shapes) = lower::full_and_rows(code, around, &memory, unused);
                (table, rows, Some(shapes))
            }
            Sources::Llvm => (lower::as_llvm(code, around), RowNumbers::default(), None),
        };
        granted.apply(code.header, &mut table);
        if !Retained::is_always_possible(flow) {
            let answer = solve(flow, &table, Rules::Precise);
            if !Retained::is_possible(flow, &answer) {
                self.state = State::Seen(stamp);
                return Answered::Solved(answer);
            }
        }
        let memory = self.purpose.followed(memory, &subject);
        let mut seeded = Seeded::default();
        if self.purpose == Purpose::Through {
            seeded.update(code, true, &memory, &rows);
        }
        let inputs = self.purpose.inputs(code, &seeded);
        let has_passes = self.purpose != Purpose::Divergence;
        let passes = has_passes.then(|| Passes::new(around, flow, &table, inputs)).transpose();
        let retained = passes.and_then(|passes| Ok((Retained::new(flow, table)?, passes)));
        match retained {
            Ok((retained, passes)) => {
                let neighbours = match shapes {
                    Some(shapes) => Neighbours::with_shapes(shapes),
                    None => Neighbours::of_llvm(),
                };
                let granted = granted.clone();
                let kept = Kept {
                    stamp,
                    granted,
                    memory,
                    rows,
                    neighbours,
                    retained,
                    passes,
                    seeded,
                    is_whole_new: true,
                };
                self.state = State::Kept(Box::new(kept));
                Answered::Kept(Found::Kept)
            }
            Err(unfit) => {
                self.state = Self::unfit(unfit, stamp);
                Answered::Not
            }
        }
    }
}

impl Kept {
    /// Repairs what is known after its tables have been stated anew, and after an edit of the control flow if that is given.
    fn repair(
        &mut self,
        flow: Flow<'_>,
        edited: Option<Option<&[Node]>>,
    ) -> Result<Outcome, Unfit> {
        // What has been edited is forgotten with the repair.
        if let Some(passes) = &mut self.passes {
            passes.restate(&self.retained)?;
        }
        let outcome = match edited {
            None => self.retained.repair(flow)?,
            Some(touched) => self.retained.repair_flow(flow, touched)?,
        };
        match &mut self.passes {
            None => Ok(outcome),
            Some(passes) => passes.repair(flow, edited, outcome),
        }
    }
}
