//! Def-use lists: who reads a value, and as which operand.
//!
//! Each operand slot of the body's pool is a link of a doubly linked list that starts at the value
//! it holds. All lists are made when a use is first asked for: O(operands), once. An edit then
//! costs O(1) per operand that it changes. Operands of unlinked instructions are in no list.
//!
//! ```text
//! %a = add i32 %x, %x        list of %x: operands 0 and 1 of %a, operand 0 of %b
//! %b = mul i32 %x, %a        list of %a: operand 1 of %b
//! ```
//!
//! 12 bytes per operand and 4 per instruction and argument. Constants and blocks have no lists.
//! Values that metadata wraps are in no list; `mentions` finds those.

use crate::{
    body::{Body, InstId, NONE, from_front, id, raw},
    inst::OperandRange,
    value::{Value, ValueKind},
};

/// One operand that reads a value.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Use {
    /// The instruction that reads it.
    pub user: InstId,
    /// Which operand.
    pub index: u32,
}

#[derive(Copy, Clone, Debug)]
struct Link {
    /// `NONE` for a slot that is in no list.
    user: u32,
    prev: u32,
    next: u32,
}

const FREE: Link = Link { user: NONE, prev: NONE, next: NONE };

/// The lists of a body.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    insts: Vec<u32>,
    args: Vec<u32>,
    links: Vec<Link>,
}

impl Uses {
    /// The lists of all values. O(operands).
    pub(crate) fn new(body: &Body) -> Self {
        let mut uses = Uses {
            insts: vec![NONE; body.id_count()],
            args: Vec::new(),
            links: vec![FREE; body.pool.len()],
        };
        // Backwards, so that each list starts with its user of the smallest id.
        for inst in body.all_ids().rev() {
            if body.block_of(inst).is_some() {
                uses.link(body, inst);
            }
        }
        uses
    }

    fn head(&mut self, value: Value) -> Option<&mut u32> {
        let (heads, at) = match value.kind() {
            ValueKind::Inst(inst) => (&mut self.insts, raw(inst) as usize),
            ValueKind::Arg(position) => (&mut self.args, position as usize),
            _ => return None,
        };
        if at >= heads.len() {
            heads.resize(at + 1, NONE);
        }
        Some(&mut heads[at])
    }

    fn first(&self, value: Value) -> u32 {
        let head = match value.kind() {
            ValueKind::Inst(inst) => self.insts.get(raw(inst) as usize),
            ValueKind::Arg(position) => self.args.get(position as usize),
            _ => None,
        };
        head.copied().unwrap_or(NONE)
    }

    /// Adds all operands of an instruction that is in a block now.
    pub(crate) fn link(&mut self, body: &Body, inst: InstId) {
        self.links.resize(body.pool.len().max(self.links.len()), FREE);
        let run = body.inst(inst).operands;
        for slot in (run.start..run.start + run.len).rev() {
            self.enter(slot, body.pool[slot as usize], raw(inst));
        }
    }

    /// Removes all operands of an instruction that is going to be in no block.
    pub(crate) fn unlink(&mut self, body: &Body, inst: InstId) {
        self.unlink_run(body, body.inst(inst).operands);
    }

    /// Removes all operands of a run.
    pub(crate) fn unlink_run(&mut self, body: &Body, run: OperandRange) {
        for slot in run.start..run.start + run.len {
            self.leave(slot, body.pool[slot as usize]);
        }
    }

    /// Adds a slot that holds `value` to the list of that value.
    pub(crate) fn enter(&mut self, slot: u32, value: Value, user: u32) {
        let Some(head) = self.head(value) else { return };
        let next = std::mem::replace(head, slot);
        self.links[slot as usize] = Link { user, prev: NONE, next };
        if next != NONE {
            self.links[next as usize].prev = slot;
        }
    }

    /// Removes a slot that holds `value` from the list of that value.
    pub(crate) fn leave(&mut self, slot: u32, value: Value) {
        let Link { user, prev, next } = std::mem::replace(&mut self.links[slot as usize], FREE);
        if user == NONE {
            return;
        }
        if next != NONE {
            self.links[next as usize].prev = prev;
        }
        if prev != NONE {
            self.links[prev as usize].next = next;
        } else if let Some(head) = self.head(value) {
            *head = next;
        }
    }

    /// Adds the last value of a phi to its list; its slot has held a block until now.
    pub(crate) fn enter_pushed(&mut self, body: &Body, phi: InstId) {
        self.links.resize(body.pool.len().max(self.links.len()), FREE);
        let run = body.inst(phi).operands;
        let slot = run.start + run.len / 2 - 1;
        self.enter(slot, body.pool[slot as usize], raw(phi));
    }

    /// Removes values of a phi from their lists, by position in ascending order, and renumbers the
    /// slots behind them as they are going to move.
    pub(crate) fn leave_taken(&mut self, body: &Body, phi: InstId, gone: &[u32]) {
        let run = body.inst(phi).operands;
        let Some(&first) = gone.first() else { return };
        if from_front(run, gone).is_some() {
            let slot = run.start + first;
            self.leave(slot, body.pool[slot as usize]);
            for slot in (run.start..slot).rev() {
                self.shift(slot, slot + 1, body.pool[slot as usize]);
            }
            return;
        }
        let mut taken = 0;
        for at in first..run.len / 2 {
            let slot = run.start + at;
            let value = body.pool[slot as usize];
            if gone.get(taken as usize) == Some(&at) {
                self.leave(slot, value);
                taken += 1;
            } else {
                self.shift(slot, slot - taken, value);
            }
        }
    }

    /// Replaces a slot that holds `value` by a free one in its list.
    fn shift(&mut self, from: u32, to: u32, value: Value) {
        let link = std::mem::replace(&mut self.links[from as usize], FREE);
        if link.user == NONE {
            return;
        }
        self.links[to as usize] = link;
        if link.next != NONE {
            self.links[link.next as usize].prev = to;
        }
        if link.prev != NONE {
            self.links[link.prev as usize].next = to;
        } else if let Some(head) = self.head(value) {
            *head = to;
        }
    }

    /// Whether anything reads a value.
    pub(crate) fn is_used(&self, value: Value) -> bool {
        self.first(value) != NONE
    }

    /// The operands that read a value.
    pub(crate) fn of<'a>(&'a self, body: &'a Body, value: Value) -> impl Iterator<Item = Use> + 'a {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        let slots = std::iter::successors(some(self.first(value)), move |&slot| {
            some(self.links[slot as usize].next)
        });
        slots.filter_map(move |slot| {
            let user: InstId = id(self.links[slot as usize].user)?;
            Some(Use { user, index: slot - body.inst(user).operands.start })
        })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        (self.insts.capacity() + self.args.capacity()) * size_of::<u32>()
            + self.links.capacity() * size_of::<Link>()
    }
}

impl Body {
    fn uses(&self) -> &Uses {
        self.history.uses.get_or_init(|| Box::new(Uses::new(self)))
    }

    /// The operands that read an instruction result or an argument; constants and blocks have no
    /// lists. Operands added since the lists were made come first, the newest one at the start.
    ///
    /// O(operands of the body) the first time, then O(uses).
    pub fn uses_of(&self, value: Value) -> impl Iterator<Item = Use> + '_ {
        self.uses().of(self, value)
    }

    /// Whether any operand reads a value. Cost as of [`Body::uses_of`].
    pub fn is_used(&self, value: Value) -> bool {
        self.uses().is_used(value)
    }

    /// The journal of the commits to this body.
    #[inline]
    pub fn journal(&self) -> &crate::edit::Journal {
        &self.history.journal
    }
}
