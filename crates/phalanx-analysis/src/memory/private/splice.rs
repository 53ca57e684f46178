//! Incremental update of [`PrivateMemory`], as one table for the whole function.
//!
//! # What
//!
//! [`PrivateMemory::update`] updates the result of [`PrivateMemory::without_origins`] after an edit
//! of instructions or blocks. The new result equals the one from scratch. Its dependency set is
//! complete, so that it can be updated again.
//!
//! # Why
//!
//! The facts about an object depend on the instructions with its address as an operand, and on the
//! graph. So the objects that an edit does not affect ([`question`]) keep their slots and versions;
//! these only get other numbers. After an edit of blocks, [`Disturbed`] gives the objects that the
//! change of the graph affects. All instructions of the edited blocks count as changed.
//!
//! [`PrivateMemoryUpdater`](super::update) works differently: it stores patches beside a base, and
//! a lookup uses one or the other. Here the result is one table that can be shared, compared and
//! returned as a value. The price is a copy per update.
//!
//! # How
//!
//! 1. [`question`] finds the affected objects and all instructions that use them.
//! 2. The scan visits only these instructions, in the order of a scan of the whole function. Its
//!    result is the *part*.
//! 3. [`tables`] removes the affected objects from the old tables and inserts the part: objects in
//!    the order of the entry block, touches in the order of blocks and instructions. Unchanged
//!    instructions keep their order. So the position of a changed instruction is found by a walk up
//!    to the nearest one with a known position, without a pass over the block. If the graph has
//!    changed, blocks may have another order in the dominator tree; then the old touches are
//!    sorted.
//!
//! **Invariants.** Each access has a touch. No instruction has touches of both an affected object
//! and an unaffected one.
//!
//! **Complexity.** O(uses of the affected objects + lengths of the blocks of these uses), and
//! O(touches + blocks) to copy tables. After an edit of blocks, the cost of [`Disturbed`], and
//! O(blocks log blocks) to sort. Dominance frontiers are computed once per graph, when a definition
//! needs them.

mod question;
mod tables;

use phalanx_ir::{Body, InstId, flow::node_of};

use self::question::Question;
use self::tables::Places;
use super::dependencies::DependencySet;
use super::update::{in_order, is_slot};
use super::{PrivateMemory, Reach, number, scan::Scan};
use crate::code::{Code, Environment};
use crate::edited::Edited;
use crate::memory::{
    UpdatedFact,
    ssa::{Disturbed, Frontiers, Graph},
};
use crate::policy::most_spliced;

impl PrivateMemory {
    /// The answer after an edit, without origins. `before` is the graph for which `self` was
    /// computed.
    #[must_use]
    pub fn update(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        (before, graph): (Graph<'_>, Frontiers<'_>),
        edited: Edited<'_>,
    ) -> UpdatedFact<Self> {
        // The first conversion of an integer to a pointer may affect all objects.
        if self.has_other_casts(code.body, edited.insts) {
            return UpdatedFact::Unknown;
        }
        // Without objects, the graph does not matter.
        let is_same_graph = edited.blocks.is_none() || !self.dependencies.is_known();
        if is_same_graph && !self.objects_depend_on(code, env, edited.insts) {
            return UpdatedFact::Same;
        }
        let now = Graph { cfg: graph.cfg, dom: graph.dom };
        if let Some(split) = self.split((code, env), (before, now), edited) {
            return split;
        }
        self.spliced(code, env, (before, graph), edited).unwrap_or(UpdatedFact::Unknown)
    }

    /// Whether another answer is equal, including its dependency set. Only then may `self` be
    /// retained in its place.
    #[must_use]
    pub fn says_as_much(&self, other: &Self) -> bool {
        (self, &self.dependencies, &self.affected) == (other, &other.dependencies, &other.affected)
            && (self.is_plain, &self.users) == (other.is_plain, &other.users)
    }

    fn spliced(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        (before, graph): (Graph<'_>, Frontiers<'_>),
        edited: Edited<'_>,
    ) -> Option<UpdatedFact<Self>> {
        let (body, dom, entry) = (code.body, graph.dom, code.flow.entry()?);
        let is_many = |count: usize| count > most_spliced(body.id_count());
        if is_many(edited.insts.len()) {
            return None;
        }
        let reach = self.dependencies.reach.filter(|reach| is_plain(*reach))?;
        let disturbed = match edited.blocks {
            Some(_) => Disturbed::between(before, Graph { cfg: graph.cfg, dom })?,
            None => Disturbed::default(),
        };
        let mut question = Question::new(self, code, dom, edited.insts, &disturbed)?;
        let is_known = |inst: &InstId| self.dependencies.addresses.contains(*inst);
        if question.objects.is_empty()
            && !disturbed.is_reordered
            && !question.all.iter().any(is_known)
        {
            return Some(UpdatedFact::Same);
        }
        let mut insts: Vec<InstId> = question.users.iter().copied().collect();
        insts.extend(question.objects.iter().filter(|&&object| is_slot(code, object)));
        // Scanning an instruction again costs several times as much as in a scan of the whole
        // function.
        if is_many(insts.len()) {
            return None;
        }
        let visited = in_order(code, dom, &insts);
        let mut scan = Scan::of_part(code, env, reach);
        for &inst in &visited {
            let block = body.block_of(inst)?;
            scan.visit(inst, node_of(block), block == entry);
        }
        let part = scan.finish_some(graph, &visited);
        let mut places = Places::new(self, code, dom, &mut question, edited);
        let inserted = places.of_touches(&part)?;
        let objects = places.of_objects(&part)?;
        if objects.is_empty() {
            // A scan from scratch without objects gives an empty answer, without a dependency set.
            return None;
        }
        let order = disturbed.is_reordered.then_some(dom);
        let mut new = tables::joined((self, &part), &question, (inserted, &objects), order)?;
        new.dependencies = DependencySet {
            accesses: std::mem::take(&mut new.dependencies.accesses),
            allocas: std::mem::take(&mut new.dependencies.allocas),
            ..self.dependencies.with(&part.dependencies, &question)
        };
        new.affected.extend(&part.affected);
        new.is_plain = self.is_plain && part.is_plain;
        if new.is_plain {
            new.users = self.users_with(body, &part, &question);
        }
        Some(match self.says_as_much(&new) {
            true => UpdatedFact::Same,
            false => UpdatedFact::Other(new),
        })
    }
}

impl PrivateMemory {
    /// The new `users`: those of unaffected objects are retained, those of affected objects come
    /// from the part.
    fn users_with(
        &self,
        body: &Body,
        part: &PrivateMemory,
        question: &Question,
    ) -> Vec<(InstId, InstId)> {
        let place = |(user, object): &(InstId, InstId)| (number(*user), number(*object));
        // The part does not have users of unaffected objects.
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

/// Whether the facts about an object depend only on its uses in this function.
fn is_plain(reach: Reach) -> bool {
    !reach.follows_calls && !reach.has_pointees
}

impl DependencySet {
    /// The new dependency set: for affected objects it is that of the part. Without accesses and
    /// the order of objects.
    fn with(&self, part: &DependencySet, question: &Question) -> Self {
        let mut dependencies = DependencySet {
            addresses: self.addresses.clone(),
            users: self.users.clone(),
            witnesses: Vec::with_capacity(self.witnesses.len() + part.witnesses.len()),
            unwanted: self.unwanted.clone(),
            cast: self.cast,
            reach: self.reach,
            ..DependencySet::default()
        };
        for &inst in question.all.iter().chain(&question.objects) {
            dependencies.addresses.remove(inst);
            dependencies.unwanted.remove(inst);
        }
        dependencies.addresses.extend(&part.addresses);
        dependencies.unwanted.extend(&part.unwanted);
        // An instruction that no longer has an address may stay in this set: a change of it then
        // only costs a comparison.
        dependencies.users.extend(&part.users);
        let is_kept = |(_, object): &&(InstId, InstId)| !question.objects.contains(object);
        dependencies.witnesses.extend(self.witnesses.iter().filter(is_kept));
        dependencies.witnesses.extend(&part.witnesses);
        let place = |(by, object): &(InstId, InstId)| (number(*by), number(*object));
        dependencies.witnesses.sort_by_key(place);
        dependencies
    }
}
