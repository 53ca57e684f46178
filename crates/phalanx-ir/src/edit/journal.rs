//! The [`Journal`]: what each commit changed.
//!
//! Facts that are repaired after an edit remember the *position* that they were computed at and ask
//! [`Journal::since`] what has changed since. A position identifies one content of one body: it is
//! never used for another.
//!
//! The journal is bounded. When it has grown past its limit, its older half is dropped. A fact
//! whose position is older than that cannot be repaired: [`Journal::since`] returns none.
//!
//! Cost: four bytes per changed instruction and block; `since` is O(changes), and O(1) for a single
//! commit.

use std::borrow::Cow;
use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::{body::InstId, flow::BlockId};

/// The journal holds at least this many changed instructions and blocks before it drops any.
const LIMIT: usize = 4096;

/// The changes of one commit or of several in a row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes<'j> {
    /// Instructions that were inserted, erased or moved, or whose operation or operands changed;
    /// sorted. Instructions that are in another block only because their block was split or merged
    /// are not listed: their blocks are.
    pub insts: Cow<'j, [InstId]>,
    /// Blocks that were added or removed, have other successors, or were split or merged; sorted.
    pub blocks: Cow<'j, [BlockId]>,
    /// Whether blocks or edges changed.
    pub flow: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Commit {
    insts: SmallVec<[InstId; 4]>,
    blocks: Box<[BlockId]>,
    flow: bool,
}

impl Commit {
    fn weight(&self) -> usize {
        self.insts.len() + self.blocks.len() + 1
    }
}

/// The commits of a body, newest last.
#[derive(Debug)]
pub struct Journal {
    /// Position before the oldest entry of the journal.
    oldest: u64,
    commits: VecDeque<Commit>,
    /// Entries in all commits.
    weight: usize,
    limit: usize,
    is_new: bool,
}

impl Journal {
    pub(crate) fn new(position: u64) -> Self {
        Journal {
            oldest: position,
            commits: VecDeque::new(),
            weight: 0,
            limit: LIMIT,
            is_new: true,
        }
    }

    /// Whether nothing was ever committed.
    #[inline]
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// The position of the body as it is.
    #[inline]
    pub fn position(&self) -> u64 {
        self.oldest + self.commits.len() as u64
    }

    /// The changes since an earlier position; none when the journal does not reach back to it, or
    /// it belongs to another body.
    pub fn since(&self, position: u64) -> Option<Changes<'_>> {
        let first = usize::try_from(position.checked_sub(self.oldest)?).ok()?;
        match self.commits.len().checked_sub(first)? {
            0 => Some(Changes::default()),
            1 => {
                let commit = &self.commits[first];
                Some(Changes {
                    insts: Cow::Borrowed(&commit.insts),
                    blocks: Cow::Borrowed(&commit.blocks),
                    flow: commit.flow,
                })
            }
            _ => {
                let commits = || self.commits.range(first..);
                let mut insts: Vec<InstId> =
                    commits().flat_map(|c| c.insts.iter().copied()).collect();
                let mut blocks: Vec<BlockId> =
                    commits().flat_map(|c| c.blocks.iter().copied()).collect();
                sort(&mut insts);
                sort(&mut blocks);
                let flow = commits().any(|c| c.flow);
                Some(Changes { insts: insts.into(), blocks: blocks.into(), flow })
            }
        }
    }

    /// Records a commit. `size` is the number of instructions of the body.
    pub(crate) fn push(
        &mut self,
        mut insts: SmallVec<[InstId; 4]>,
        mut blocks: Vec<BlockId>,
        flow: bool,
        size: usize,
    ) {
        insts.sort_unstable_by_key(number);
        insts.dedup();
        sort(&mut blocks);
        insts.shrink_to_fit();
        let commit = Commit { insts, blocks: blocks.into(), flow };
        self.is_new = false;
        self.weight += commit.weight();
        self.commits.push_back(commit);
        // If more than an eighth of the body has changed, analyses do not repair their facts.
        if self.weight > self.limit.max(size / 8) {
            let keep = self.weight / 2;
            while self.weight > keep
                && let Some(commit) = self.commits.pop_front()
            {
                self.weight -= commit.weight();
                self.oldest += 1;
            }
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.weight * size_of::<InstId>() + self.commits.capacity() * size_of::<Commit>()
    }
}

fn sort<T>(ids: &mut Vec<la_arena::Idx<T>>) {
    ids.sort_unstable_by_key(number);
    ids.dedup();
}

fn number<T>(id: &la_arena::Idx<T>) -> u32 {
    id.into_raw().into_u32()
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;

    fn inst(number: u32) -> InstId {
        InstId::from_raw(number.into())
    }

    #[test]
    fn changes_of_several_commits_are_sorted_and_unique() {
        let mut journal = Journal::new(10);
        journal.push(smallvec![inst(3), inst(1), inst(3)], vec![], false, 0);
        let middle = journal.position();
        journal.push(smallvec![inst(2), inst(1)], vec![BlockId::from_raw(7.into())], true, 0);
        assert_eq!(journal.since(10).unwrap().insts.as_ref(), [inst(1), inst(2), inst(3)]);
        let last = journal.since(middle).unwrap();
        assert_eq!(last.insts.as_ref(), [inst(1), inst(2)]);
        assert!(last.flow && matches!(last.insts, Cow::Borrowed(_)));
        assert_eq!(journal.since(12), Some(Changes::default()));
        assert_eq!(journal.since(13), None);
        assert_eq!(journal.since(9), None);
    }

    #[test]
    fn the_old_end_is_dropped() {
        let mut journal = Journal::new(0);
        for number in 0..3 * LIMIT as u32 {
            let now = journal.position();
            journal.push(smallvec![inst(number)], vec![], false, 0);
            assert_eq!(journal.position(), now + 1);
            assert_eq!(journal.since(now).unwrap().insts.as_ref(), [inst(number)]);
        }
        assert_eq!(journal.since(0), None);
        assert!(journal.weight <= LIMIT);
        let reach = journal.oldest;
        assert_eq!(journal.since(reach).unwrap().insts.len(), journal.commits.len());
    }
}
