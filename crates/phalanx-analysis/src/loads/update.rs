//! Incremental update of the classes of loads of a function that is edited.
//!
//! # How
//!
//! Each load has its classes by itself, so it is enough to classify those loads again whose classes
//! may have changed. For most loads, the classes depend on the load, on the steps that make its
//! address, on where the address leads, on whether it diverges, and on the uses of the arguments
//! and variables that it is based on.
//!
//! | what changed | what happens |
//! |---|---|
//! | loads, marks on them, or steps of addresses | these loads, or those that read the addresses, are classified again |
//! | where an address leads, what it is based on, or whether it diverges | loads with this address are classified again |
//! | whether an argument or a variable counts as unchanged | all loads are classified from scratch |
//! | anything else that may write or acquire, blocks or edges, uses of what addresses are based on | loads that depend on what happens before them are classified again; the list of acquires is retained |
//!
//! What happens *before* a load ([`clobbers`](super::clobbers)) depends on the whole function. The
//! updater remembers the loads that depend on it. Stores and calls that come or go do not affect
//! other loads, as long as the rest is the same.
//!
//! # Invariants
//!
//! - The answer is that of [`classify`](super::classify).
//! - The caller reports all changes: what it does not report is the same as before.
//!
//! **Complexity.** O(loads), one look-up each, if a pointer has changed, and O(sinks) per root.
//! Classifying again may cost O(instructions) once, if it matters what happens before a load.

use std::sync::Arc;

use phalanx_core::{affect::User, divergence::Divergence};
use phalanx_ir::{
    BlockId, InstId, Opcode,
    inst::{InstFlags, Ordering},
};
use rustc_hash::FxHashSet;

use super::{
    Facts, Load, LoadClass, LoadClasses, PointerFlow, Refusal, Root, Unchanged,
    classify::{Classifier, classify_with, with_classifier},
    clobbers::Acquires,
    dependencies::is_number,
};
use crate::{
    code::{Code, Definition, Environment, Numbering},
    listing::relisted,
    memory::PrivateMemory,
    readers,
    spaces::MemoryKinds,
};

/// Facts that the updater retains together with the answer.
pub type Shared<'a> = (&'a Arc<PointerFlow>, &'a Arc<PrivateMemory>);

/// The changes that may affect classes.
#[derive(Clone, Copy, Debug)]
pub struct LoadEdits<'a> {
    /// Instructions that [affect](super::depends_on) classes, as they were or as they are.
    pub changed: &'a [InstId],
    /// See [`Edited::blocks`](crate::edited::Edited::blocks).
    pub blocks: Option<&'a [BlockId]>,
    /// Loads that have gained or lost the mark that they read memory that never changes.
    pub promised: &'a [InstId],
}

/// The classes of the loads of one function, updated after edits. See the [module
/// documentation](self).
#[derive(Debug)]
pub struct LoadUpdater {
    classes: LoadClasses,
    /// Loads whose classes depend on what happens before them.
    walked: FxHashSet<InstId>,
    /// The acquires, once they were needed.
    acquires: Option<Acquires>,
    /// Whether arguments and variables count as unchanged, as far as that was needed.
    roots: Vec<(Root, Option<Refusal>)>,
    kinds: MemoryKinds,
    divergence: Divergence,
    pointers: Arc<PointerFlow>,
    private: Arc<PrivateMemory>,
}

impl LoadUpdater {
    /// Classifies all loads.
    #[must_use]
    pub fn new(
        code: Code<'_>,
        env: Environment<'_>,
        facts: Facts<'_>,
        (pointers, private): Shared<'_>,
    ) -> Self {
        with_classifier((code, env, facts), None, |classifier| {
            let classes = classify_with(classifier);
            let Classifier { walked, unchanged, acquires, .. } = classifier;
            LoadUpdater {
                classes,
                walked: walked.iter().copied().collect(),
                acquires: acquires.take(),
                roots: unchanged.known().to_vec(),
                kinds: facts.kinds.clone(),
                divergence: facts.divergence.clone(),
                pointers: Arc::clone(pointers),
                private: Arc::clone(private),
            }
        })
    }

    /// The classes.
    #[must_use]
    pub fn classes(&self) -> &LoadClasses {
        &self.classes
    }

    /// Brings the classes up to date with an edit. Returns whether a load was classified again;
    /// None if all have to be.
    #[must_use]
    pub fn update(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        facts: Facts<'_>,
        (pointers, private): Shared<'_>,
        edited: LoadEdits<'_>,
    ) -> Option<bool> {
        let LoadEdits { changed, blocks, promised } = edited;
        if let Some(acquires) = &mut self.acquires {
            acquires.update(code, env, changed);
        }
        let mut again = readers::of_kinds(code, facts.kinds, &self.kinds)?;
        again.extend(readers::of_addresses(code, changed)?);
        let is_same_memory = || {
            Arc::ptr_eq(&self.private, private)
                && again.iter().all(|&inst| self.is_only_read(code, inst))
        };
        // The graph matters only to what happens before a load.
        let mut is_before_other =
            !self.walked.is_empty() && (blocks.is_some() || !is_same_memory());
        if !Arc::ptr_eq(&self.pointers, pointers) {
            again.extend(self.based_on_others(code, env, facts)?);
            is_before_other |= !self.walked.is_empty() && self.is_used_otherwise(facts);
        }
        again.extend(self.that_diverge_otherwise(code, facts.divergence));
        if is_before_other {
            // Loads that are gone have changed.
            let linked = |inst: &&InstId| code.body.block_of(**inst).is_some();
            again.extend(self.walked.iter().filter(linked));
        }
        again.extend(promised);
        again.retain(|&inst| code.body.inst(inst).opcode == Opcode::Load);
        if !again.is_empty() {
            let acquires = self.acquires.take();
            with_classifier((code, env, facts), acquires, |classifier| {
                self.classify_again(code, classifier, &again, changed);
            });
        }
        self.kinds = facts.kinds.clone();
        self.divergence = facts.divergence.clone();
        (self.pointers, self.private) = (Arc::clone(pointers), Arc::clone(private));
        Some(!again.is_empty())
    }

    /// Classifies these loads again. Loads that have not changed keep their places in the list.
    fn classify_again(
        &mut self,
        code: Code<'_>,
        classifier: &mut Classifier<'_>,
        again: &[InstId],
        changed: &[InstId],
    ) {
        let changed: FxHashSet<InstId> = changed.iter().copied().collect();
        let (elsewhere, in_place): (Vec<InstId>, Vec<InstId>) =
            again.iter().partition(|inst| changed.contains(inst));
        let in_place: FxHashSet<InstId> = in_place.into_iter().collect();
        let mut others = Vec::new();
        for (at, load) in self.classes.loads.iter().enumerate() {
            if in_place.contains(&load.inst) {
                let now = classifier.load(load.inst);
                if now != *load {
                    others.push((at, now));
                }
            }
        }
        if !others.is_empty() {
            let loads = Arc::make_mut(&mut self.classes.loads);
            others.into_iter().for_each(|(at, load)| loads[at] = load);
        }
        if !elsewhere.is_empty() {
            let look = |inst: InstId| vec![classifier.load(inst)];
            let found = relisted(code, self.classes.loads(), |load| load.inst, &elsewhere, look);
            if let Some(found) = found {
                self.classes = LoadClasses { loads: Arc::new(found) };
            }
        }
        for inst in again {
            self.walked.remove(inst);
        }
        self.walked.extend(&classifier.walked);
        self.acquires = classifier.acquires.take();
        let known = classifier.unchanged.known().iter();
        let new = known.filter(|(root, _)| !self.roots.iter().any(|(of, _)| of == root));
        let new: Vec<_> = new.copied().collect();
        self.roots.extend(new);
    }

    /// Whether a changed instruction neither writes nor acquires, and did not before: a plain load
    /// of numbers, or a step of an address.
    fn is_only_read(&self, code: Code<'_>, inst: InstId) -> bool {
        let data = code.body.inst(inst);
        match data.opcode {
            Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast => true,
            Opcode::Load => {
                let is_plain = !data.flags.contains(InstFlags::VOLATILE)
                    && data.mem().ordering() == Ordering::NotAtomic;
                let was_plain = self.classes.of(inst).is_none_or(|load| {
                    let refusal = load.refusal(LoadClass::Scalar);
                    !matches!(refusal, Some(Refusal::Volatile | Refusal::Atomic))
                });
                is_plain && was_plain && is_number(code.context, data.ty)
            }
            _ => false,
        }
    }

    /// Loads whose addresses are based on something else than before. None if a root that mattered
    /// no longer counts as unchanged, or counts as unchanged now.
    fn based_on_others(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        facts: Facts<'_>,
    ) -> Option<Vec<InstId>> {
        let (old, now) = (&*self.pointers, facts.writers.pointers);
        let mut unchanged = Unchanged::new(code, env.target.architecture(), facts.writers);
        if old.all_roots() != now.all_roots()
            || self.roots.iter().any(|&(root, known)| unchanged.of_root(root) != known)
        {
            return None;
        }
        let is_other = |load: &&Load| {
            let address = code.body.operands(load.inst).first();
            address.is_some_and(|&address| !old.agrees(now, code, address))
        };
        Some(self.classes.loads().iter().filter(is_other).map(|load| load.inst).collect())
    }

    /// Whether the uses of roots have changed, so that something else may happen before a load. The
    /// roots themselves are the same.
    fn is_used_otherwise(&self, facts: Facts<'_>) -> bool {
        let (old, now) = (&*self.pointers, facts.writers.pointers);
        let passed = facts.writers.passed;
        if now.does_as_much(old) {
            return false;
        }
        now.all_roots().iter().any(|&root| old.uses(root, passed) != now.uses(root, passed))
    }

    /// Loads that read an address which has other sources, at the load, than before.
    fn that_diverge_otherwise(&self, code: Code<'_>, now: &Divergence) -> Vec<InstId> {
        let numbering = Numbering::new(code.header);
        let mut found = Vec::new();
        // A reader of a new value has changed.
        let known = self.divergence.values().len();
        let others = now.values_that_differ(&self.divergence).into_iter();
        for value in others.filter(|value| value.index() < known) {
            let definition = match numbering.definition(value) {
                Definition::Argument(position) => phalanx_ir::Value::arg(position),
                Definition::Inst(inst) => inst.into(),
            };
            let is_other = |inst: &InstId| {
                let load = User::value(numbering.inst(*inst));
                code.body.inst(*inst).opcode == Opcode::Load
                    && now.at_use(value, load) != self.divergence.at_use(value, load)
            };
            let users = code.body.uses_of(definition).map(|read| read.user);
            found.extend(users.filter(is_other));
        }
        found
    }
}
