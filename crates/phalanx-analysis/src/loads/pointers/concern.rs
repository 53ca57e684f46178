//! Which changes of instructions leave it as it is what pointers are made from, and what is done with them.
//!
//! # What
//!
//! Of an instruction that has changed and touches no private memory, it is asked whether
//!
//! - it gives a pointer: what is made from several others has a set, which may be another. A step or cast has none: it is as it was if its chain *ends*
//!   where it did. One that is gone, or so new that only what has changed reads it, is nothing to others;
//! - it mentions variables: it is the first to do so of those of which it was, and not of others;
//! - it does something with pointers: it is the first to do that of those of which it was, and for all else somebody else is. Whoever
//!   has a lower number is the first, so what is new seldom is.
//!
//! What it does follows from its operands and from what these are based on; these are as they were, or have changed themselves. So if that holds of each, all
//! is as it was; private memory and the graph are the same then, or whoever keeps the answer knows that they are not.
//!
//! An instruction that touches private memory counts if it *matters*: if it gives a pointer, or has an operand that is one or is made of entities or numbers
//! as an address is.
//!
//! **Complexity.** O(operands of changed instructions, and what is known to be done first); constants are looked through only if they are made of others.
//! O(blocks) where an instruction that was first has changed.

use phalanx_ir::{Const, GlobalName, InstId, Value, ValueKind, constant::ConstKind};
use smallvec::SmallVec;

use super::done::{mentions, sinks_of};
use super::{
    End, Made, Objects, PointerFlow, Root, Sink, entities, has_number, is_pointer, number,
};
use crate::lower::Code;
use crate::memory::PrivateMemory;

/// How long a chain of new steps may be.
const STEPS: usize = 64;

impl PointerFlow {
    /// Whether anything here may be otherwise after these instructions were inserted, removed, moved or changed. The graph and private
    /// memory are the same.
    #[must_use]
    pub fn concerns(&self, code: Code<'_>, private: &PrivateMemory, changed: &[InstId]) -> bool {
        changed.iter().any(|&inst| {
            if !private.of(inst).is_empty() {
                return matters(code, inst) || self.is_first(inst);
            }
            !self.makes_the_same(code, inst, changed)
                || !self.mentions_the_same(code, inst)
                || !self.does_the_same(code, private, inst)
                || self.is_first(inst) && !is_listed(code, inst)
        })
    }

    /// Whether an instruction is told of as the first to do something.
    fn is_first(&self, inst: InstId) -> bool {
        self.mentioned.contains(&inst) || !self.done_by(inst).is_empty()
    }

    /// What an instruction is the first to do.
    fn done_by(&self, inst: InstId) -> &[(InstId, Objects, Sink)] {
        let first = self.sinks.partition_point(|(by, ..)| number(*by) < number(inst));
        let rest = &self.sinks[first..];
        &rest[..rest.iter().take_while(|(by, ..)| *by == inst).count()]
    }

    fn makes_the_same(&self, code: Code<'_>, inst: InstId, changed: &[InstId]) -> bool {
        if code.body.block_of(inst).is_none() {
            // Nobody has it any more who has not changed.
            return self.sets.get(number(inst)).is_none_or(|&set| set == Objects::NONE);
        }
        match self.made(code, inst) {
            None | Some(Made::Slot | Made::Unknown) => true,
            Some(Made::Join(_) | Made::Held) => false,
            Some(Made::Step(from)) => {
                let now = self.end(code, from, STEPS);
                let is_end = |end: Value| {
                    let made = end.as_inst().and_then(|inst| self.made(code, inst));
                    !matches!(made, Some(Made::Step(_)))
                };
                match self.ends.get(number(inst)) {
                    // Where it ends is looked for whenever it is asked about.
                    None => {
                        let mut users = code.body.uses_of(inst.into()).map(|read| read.user);
                        now.is_some_and(is_end) && users.all(|user| changed.contains(&user))
                    }
                    Some(End::At(end)) => now == Some(*end),
                    Some(End::Itself | End::Nowhere) => false,
                }
            }
        }
    }

    fn mentions_the_same(&self, code: Code<'_>, inst: InstId) -> bool {
        let is_there = code.body.block_of(inst).is_some();
        let now = if is_there { mentions(code, inst) } else { SmallVec::new() };
        let variables = &self.roots[self.roots.len() - self.mentioned.len()..];
        let is_missing = |(root, by): (&Root, &InstId)| {
            let is_mentioned = now.iter().any(|&name| *root == Root::Variable(name));
            *by == inst && !is_mentioned
        };
        let is_early = |name: &GlobalName| match self.variables.get(name) {
            Some(&at) => {
                let by = self.mentioned[at - (self.roots.len() - self.mentioned.len())];
                number(inst) < number(by)
            }
            None => true,
        };
        !variables.iter().zip(&self.mentioned).any(is_missing) && !now.iter().any(is_early)
    }

    fn does_the_same(&self, code: Code<'_>, private: &PrivateMemory, inst: InstId) -> bool {
        let known = self.done_by(inst);
        let matters = code.body.block_of(inst).is_some() && matters(code, inst);
        if !matters {
            return known.is_empty();
        }
        let now = sinks_of(code, self, private, inst);
        let all = |sink: Sink| {
            let of = now.iter().filter(|(_, other)| *other == sink);
            of.fold(Objects::NONE, |all, (objects, _)| all.union(*objects))
        };
        let does_it = |(_, objects, sink): &(InstId, Objects, Sink)| {
            objects.minus(all(*sink)) == Objects::NONE
        };
        // Of the rest somebody else is the first.
        let is_later = |(objects, sink): &(Objects, Sink)| {
            let own = known.iter().filter(|(_, _, other)| other == sink);
            let own = own.fold(Objects::NONE, |all, (_, objects, _)| all.union(*objects));
            let before = self.sinks.iter().take_while(|(by, ..)| number(*by) < number(inst));
            let before = before.filter(|(_, _, other)| other == sink);
            let before = before.fold(Objects::NONE, |all, (_, objects, _)| all.union(*objects));
            objects.minus(own).minus(before) == Objects::NONE
        };
        known.iter().all(does_it) && now.iter().all(is_later)
    }
}

fn is_listed(code: Code<'_>, inst: InstId) -> bool {
    code.body.block_of(inst).is_some_and(|block| code.flow.order().contains(&block))
}

/// Whether an instruction has to do with pointers. See the [module documentation](self).
pub(super) fn matters(code: Code<'_>, inst: InstId) -> bool {
    let body = code.body;
    let is_address = |&operand: &Value| match operand.kind() {
        ValueKind::Inst(inst) => is_pointer(code, body.inst(inst).ty),
        ValueKind::Arg(position) => match code.header.params.get(position as usize) {
            Some(&ty) => is_pointer(code, ty),
            None => true,
        },
        ValueKind::Const(constant) => names_something(code, constant),
        ValueKind::Block(_) | ValueKind::Metadata(_) => false,
    };
    is_pointer(code, body.inst(inst).ty) || body.operands(inst).iter().any(is_address)
}

pub(super) fn names_something(code: Code<'_>, constant: Const) -> bool {
    let kind = &code.context.const_data(constant).kind;
    // Most constants are plain numbers.
    let is_leaf = kind.parts().is_empty() && kind.entity().is_none();
    let may_be_number =
        matches!(kind, ConstKind::Expr(_) | ConstKind::BlockAddress { .. } | ConstKind::PtrAuth(_));
    (!is_leaf || may_be_number)
        && (has_number(code, constant) || !entities(code, constant).is_empty())
}
