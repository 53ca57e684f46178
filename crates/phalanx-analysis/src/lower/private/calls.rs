//! The effects of called functions on private memory, by their [summaries](crate::summary).
//!
//! A call that is given the address of a private object is a definition of the slots that the
//! callee may write. The content afterwards is an outcome of the summary: own sources, sources of
//! arguments, and sources of the contents that the callee finds in the parts of objects that it
//! reads. A definition that does not surely replace the slot also reads the version before it, as
//! any other definition does. The result of a call is such an outcome, too.

use phalanx_core::divergence::{Definition, Transfer};
use phalanx_ir::{InstId, flow::node_of};
use phalanx_target::SourceSet;
use smallvec::SmallVec;

use super::{Make, OmittedRead, Read, Row, What};
use crate::{
    code::calls::{Dependence, Input, Outcome, Through, meet, of_call},
    memory::private::{Effect, Passed, Touch},
};

/// An outcome of a summary, applied to the arguments of one call.
struct Found {
    sources: SourceSet,
    /// How the sources of what is read reach the outcome.
    all: Dependence,
    /// Sources that vary within a wave, as far as the callee knows.
    wave: SourceSet,
    reads: SmallVec<[Read; 4]>,
}

impl Found {
    fn image(&self) -> [SourceSet; SourceSet::COUNT] {
        std::array::from_fn(|bit| self.all.apply(SourceSet::from_bits(1 << bit), self.wave))
    }
}

/// The row of what a call leaves in a slot.
pub(super) fn written(make: &Make<'_, '_>, touch: &Touch) -> Option<Row> {
    let code = make.code;
    let block = code.body.block_of(touch.inst).map(node_of)?;
    let key = make.key(touch.slot, touch.inst.into_raw().into_u32(), false);
    let slot = make.memory.slots()[touch.slot as usize];
    let mut found = Found {
        sources: SourceSet::EMPTY,
        all: Dependence::NONE,
        wave: SourceSet::EMPTY,
        reads: SmallVec::new(),
    };
    let known = of_call(code, make.rules.calls(), touch.inst);
    let known = known.filter(|_| !make.rules.escapes(touch.inst));
    let through = known.as_ref().and_then(|summary| summary.through.as_ref());
    let passed = make.memory.passed(touch.inst).iter().find(|passed| passed.object == slot.alloca);
    match (through, passed) {
        (Some(through), Some(passed)) => {
            for part in through.parts_of(passed.position) {
                if let Some(content) = &part.content
                    && meet(passed.shift(part.range), slot.range)
                {
                    outcome(make, touch.inst, through, content, &mut found);
                }
            }
            if passed.offset.is_none() {
                place(make, passed, &mut found.reads);
                found.all = found.all.union(Dependence::PLAIN);
            }
        }
        // Threads of several rounds execute the call together, or the summary is not the one with
        // which private memory was found.
        _ => found.sources = SourceSet::OPAQUE_THREAD,
    }
    let mut image = (found.all != Dependence::PLAIN && !found.reads.is_empty())
        .then(|| Box::new(found.image()));
    if !make.is_must(touch) && make.omitted != Some(OmittedRead::OldContent) {
        let old = make.version(touch.slot, make.memory.reaching(touch));
        if let (Some(_), Some(image)) = (old, &mut image) {
            // What is not written stays as it was.
            for (bit, sources) in image.iter_mut().enumerate() {
                *sources |= SourceSet::from_bits(1 << bit);
            }
        }
        found.reads.extend(old);
    }
    let definition =
        Definition { seed: found.sources, transfer: Transfer::Propagate, is_pure: false };
    let what = match image {
        Some(image) => What::Image(definition, found.reads, image),
        None => What::Definition(definition, found.reads),
    };
    Some(Row { key, block, what })
}

/// What the result of a call depends on besides arguments: contents of private memory that the
/// callee reads.
pub(super) fn result(make: &Make<'_, '_>, call: InstId, reads: &mut SmallVec<[Read; 4]>) {
    let known = of_call(make.code, make.rules.calls(), call);
    let through = known.as_ref().and_then(|summary| summary.through.as_ref());
    let Some((through, result)) = through.and_then(|t| Some((t, t.result.as_ref()?))) else {
        return;
    };
    for (input, dependence) in through.inputs.iter().zip(&result.arguments) {
        if let (Input::Content(part), false) = (*input, dependence.is_none()) {
            content(make, call, through, part, reads);
        }
    }
}

/// Applies an outcome to a call.
fn outcome(
    make: &Make<'_, '_>,
    call: InstId,
    through: &Through,
    outcome: &Outcome,
    found: &mut Found,
) {
    found.sources |= outcome.sources;
    found.wave |= outcome.wave;
    let arguments = make.code.body.call_args(call);
    for (input, &dependence) in through.inputs.iter().zip(&outcome.arguments) {
        if dependence.is_none() {
            continue;
        }
        match *input {
            Input::Argument(position) => {
                let argument = arguments.get(position as usize);
                found
                    .reads
                    .extend(argument.and_then(|&a| make.numbering.operand(a)).map(Read::Value));
                found.all = found.all.union(dependence);
            }
            Input::Loaded(position) => {
                if !is_passed(make, call, position) {
                    found.sources |= SourceSet::OPAQUE_THREAD;
                }
            }
            Input::Content(part) => {
                content(make, call, through, part, &mut found.reads);
                found.all = found.all.union(dependence);
            }
        }
    }
}

fn is_passed(make: &Make<'_, '_>, call: InstId, position: u32) -> bool {
    make.memory.passed(call).iter().any(|passed| passed.position == position)
}

/// Adds the content of a part of what an argument points to, if that is private.
fn content(
    make: &Make<'_, '_>,
    call: InstId,
    through: &Through,
    part: u32,
    reads: &mut SmallVec<[Read; 4]>,
) {
    let part = &through.parts[part as usize];
    let mut passed = make.memory.passed(call).iter();
    let Some(passed) = passed.find(|passed| passed.position == part.parameter) else { return };
    for touch in make.memory.of(call).iter().filter(|t| t.effect == Effect::ReadByCall) {
        let slot = make.memory.slots()[touch.slot as usize];
        if slot.alloca == passed.object && meet(passed.shift(part.range), slot.range) {
            make.content(touch, reads);
        }
    }
    if passed.offset.is_none() {
        place(make, passed, reads);
    }
}

/// Adds the values that decide which part of an object an argument points to.
pub(super) fn place(make: &Make<'_, '_>, passed: &Passed, reads: &mut SmallVec<[Read; 4]>) {
    if let Some(&argument) = make.code.body.call_args(passed.call).get(passed.position as usize) {
        make.indices(argument, reads);
    }
}
