//! Private memory of a function that is edited, as a whole.
//!
//! # What
//!
//! [`PrivateMemory::follow`] is what [`PrivateMemory::without_origins`] says of a function after an
//! edit, of instructions or blocks, made from what it said before. It equals the one from scratch,
//! and knows as much of what concerns it, so that it can be followed again.
//!
//! # Why
//!
//! What is said of an object follows from the instructions that have its address for an operand,
//! and from the graph. So the objects that are not in [`question`] keep their slots and versions:
//! these only get other numbers. After an edit of blocks, [`Disturbed`] says which objects are in
//! question for the graph alone; all that stands in these blocks counts as changed.
//!
//! [`SlotFollower`](super::follow) goes another way: it puts patches beside a base, and who asks is
//! answered from one or the other. Here the answer is one table, which is shared with who has the
//! old one, compared, and handed out. For that it costs a copy.
//!
//! # How
//!
//! 1. [`question`] gathers the objects in question, and whoever has to do with them.
//! 2. These instructions alone are scanned, in the order of a scan of the whole function: that is
//!    the *part*.
//! 3. [`tables`] takes what is said of the objects in question out of the old tables and puts the
//!    part in: objects in order of the entry block, touches in order of blocks and instructions.
//!    What was not changed is in the order in which it was, so a place is found by a walk from a
//!    changed instruction up to the next one that has a place; blocks are not looked at as a whole.
//!    If the graph is another, blocks may have changed places in its dominator tree; then what they
//!    keep is sorted.
//!
//! **Invariants.** Each access has a touch, and no instruction has touches of an object in question
//! and of another.
//!
//! **Complexity.** O(uses of the objects in question and lengths of the blocks that they are in),
//! and copies of the tables: O(touches + blocks); after an edit of blocks, what [`Disturbed`] costs
//! and O(blocks log) to sort. Dominance frontiers are found once for a graph, when a definition
//! asks for them.

mod question;
mod tables;

use phalanx_ir::{Body, InstId, flow::node_of};

use self::question::Question;
use self::tables::Places;
use super::concern::Concern;
use super::follow::{in_order, is_slot};
use super::{PrivateMemory, Reach, number, scan::Scan};
use crate::code::{Code, Surroundings};
use crate::edited::Edited;
use crate::memory::{
    Followed,
    ssa::{Disturbed, Frontiers, Graph},
};
use crate::policy::most_spliced;

impl PrivateMemory {
    /// The same after an edit, with nothing said about where other pointers come from. `before` is
    /// the graph of which it was found.
    #[must_use]
    pub fn follow(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        (before, graph): (Graph<'_>, Frontiers<'_>),
        edited: Edited<'_>,
    ) -> Followed<Self> {
        // Whether integers are made pointers may matter to all objects.
        if self.has_other_casts(code.body, edited.insts) {
            return Followed::Unknown;
        }
        // Where there are no objects, the graph is nothing to them.
        let is_same_graph = edited.blocks.is_none() || !self.concern.is_known();
        if is_same_graph && !self.concerns_objects(code, around, edited.insts) {
            return Followed::Same;
        }
        let now = Graph { cfg: graph.cfg, dom: graph.dom };
        if let Some(split) = self.split((code, around), (before, now), edited) {
            return split;
        }
        self.spliced(code, around, (before, graph), edited).unwrap_or(Followed::Unknown)
    }

    /// Whether another one says the same, also of what concerns it: only then can it be left out.
    #[must_use]
    pub fn says_as_much(&self, other: &Self) -> bool {
        (self, &self.concern, &self.concerned) == (other, &other.concern, &other.concerned)
            && (self.is_plain, &self.users) == (other.is_plain, &other.users)
    }

    fn spliced(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        (before, graph): (Graph<'_>, Frontiers<'_>),
        edited: Edited<'_>,
    ) -> Option<Followed<Self>> {
        let (body, dom, entry) = (code.body, graph.dom, code.flow.entry()?);
        let is_many = |count: usize| count > most_spliced(body.id_count());
        if is_many(edited.insts.len()) {
            return None;
        }
        let reach = self.concern.reach.filter(|reach| is_plain(*reach))?;
        let disturbed = match edited.blocks {
            Some(_) => Disturbed::between(before, Graph { cfg: graph.cfg, dom })?,
            None => Disturbed::default(),
        };
        let mut question = Question::new(self, code, dom, edited.insts, &disturbed)?;
        let is_known = |inst: &InstId| self.concern.addresses.contains(*inst);
        if question.objects.is_empty()
            && !disturbed.is_reordered
            && !question.all.iter().any(is_known)
        {
            return Some(Followed::Same);
        }
        let mut insts: Vec<InstId> = question.users.iter().copied().collect();
        insts.extend(question.objects.iter().filter(|&&object| is_slot(code, object)));
        // What is looked at again costs several times what it costs from scratch.
        if is_many(insts.len()) {
            return None;
        }
        let visited = in_order(code, dom, &insts);
        let mut scan = Scan::of_part(code, around, reach);
        for &inst in &visited {
            let block = body.block_of(inst)?;
            scan.visit(inst, node_of(block), block == entry);
        }
        let part = scan.finish_some(graph, &visited);
        let mut places = Places::new(self, code, dom, &mut question, edited);
        let inserted = places.of_touches(&part)?;
        let objects = places.of_objects(&part)?;
        if objects.is_empty() {
            // Then nothing is known from scratch, not even what would concern it.
            return None;
        }
        let order = disturbed.is_reordered.then_some(dom);
        let mut new = tables::joined((self, &part), &question, (inserted, &objects), order)?;
        new.concern = Concern {
            accesses: std::mem::take(&mut new.concern.accesses),
            allocas: std::mem::take(&mut new.concern.allocas),
            ..self.concern.with(&part.concern, &question)
        };
        new.concerned.extend(&part.concerned);
        new.is_plain = self.is_plain && part.is_plain;
        if new.is_plain {
            new.users = self.users_with(body, &part, &question);
        }
        Some(match self.says_as_much(&new) {
            true => Followed::Same,
            false => Followed::Other(new),
        })
    }
}

impl PrivateMemory {
    /// Who uses the address of a stack slot, with those who use objects in question as they are
    /// now.
    fn users_with(
        &self,
        body: &Body,
        part: &PrivateMemory,
        question: &Question,
    ) -> Vec<(InstId, InstId)> {
        let place = |(user, object): &(InstId, InstId)| (number(*user), number(*object));
        // The part knows nothing of other objects.
        let is_kept = |(user, object): &&(InstId, InstId)| {
            !question.all.contains(user)
                || body.block_of(*user).is_some() && !question.objects.contains(object)
        };
        let mut users = Vec::with_capacity(self.users.len() + part.users.len());
        let mut new = part.users.iter().copied().peekable();
        for kept in self.users.iter().filter(is_kept) {
            while let Some(first) = new.next_if(|first| place(first) < place(kept)) {
                users.push(first);
            }
            users.push(*kept);
        }
        users.extend(new);
        users
    }
}

/// Whether all that is known of an object follows from its uses.
fn is_plain(reach: Reach) -> bool {
    !reach.follows_calls && !reach.has_pointees
}

impl Concern {
    /// What it hangs on, with what is found of objects in question in the place of what was known;
    /// without accesses and the order of objects.
    fn with(&self, part: &Concern, question: &Question) -> Self {
        let mut concern = Concern {
            addresses: self.addresses.clone(),
            users: self.users.clone(),
            witnesses: Vec::with_capacity(self.witnesses.len() + part.witnesses.len()),
            unwanted: self.unwanted.clone(),
            cast: self.cast,
            reach: self.reach,
            ..Concern::default()
        };
        for &inst in question.all.iter().chain(&question.objects) {
            concern.addresses.remove(inst);
            concern.unwanted.remove(inst);
        }
        concern.addresses.extend(&part.addresses);
        concern.unwanted.extend(&part.unwanted);
        // Who has an address no longer does nothing with it, which is found when it changes.
        concern.users.extend(&part.users);
        let is_kept = |(_, object): &&(InstId, InstId)| !question.objects.contains(object);
        concern.witnesses.extend(self.witnesses.iter().filter(is_kept));
        concern.witnesses.extend(&part.witnesses);
        let place = |(by, object): &(InstId, InstId)| (number(*by), number(*object));
        concern.witnesses.sort_by_key(place);
        concern
    }
}
