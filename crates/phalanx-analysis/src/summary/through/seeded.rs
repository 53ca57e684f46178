//! What the outcomes of [`Through`](crate::code::calls::Through) may depend on, and the values of
//! tables that stand for it.
//!
//! An argument that is followed points to an object with slots ([`PrivateMemory::with_pointees`]).
//! A value stands for what a slot holds when the function is entered, one for what it holds at each
//! return, and one for whatever is loaded from any slot of the object. The first and the last are
//! seeds when the function is solved with its inputs as the only sources; the second are read.
//!
//! O(slots of the objects and returns) for those that are looked at again.

use phalanx_core::affect::Value;
use phalanx_ir::InstId;

use crate::code::{
    Code, Numbering,
    calls::{Input, PARTS, is_copied},
};
use crate::lower::{PointeeValues, RowNumbers};
use crate::memory::{
    PrivateMemory, SlotFollower,
    private::{parameter_of, pointee_of},
};

/// What an argument points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointee {
    pub(crate) slots: Vec<PointeeSlot>,
    /// Whatever is loaded from there reads it. None if nothing is there.
    loaded: Option<Value>,
}

/// A part of what an argument points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PointeeSlot {
    /// Its number in the memory that tells of it.
    pub(crate) number: u32,
    pub(crate) range: Option<(i64, i64)>,
    /// What it holds when the function is entered.
    entry: Option<Value>,
    /// What it holds where the function returns.
    pub(crate) exits: Vec<Value>,
}

impl Pointee {
    /// What memory and these values of a table tell of an argument; none if it is not followed.
    pub(crate) fn of(
        memory: &PrivateMemory,
        values: &PointeeValues,
        position: u32,
    ) -> Option<Pointee> {
        let object = pointee_of(position);
        if !memory.is_object(object) {
            return None;
        }
        let slots = memory.slots().iter().zip(0..).filter(|(slot, _)| slot.alloca == object);
        let slot = |(slot, number): (&crate::memory::private::Slot, u32)| PointeeSlot {
            number,
            range: slot.range,
            entry: values.entries.iter().find(|(of, _)| *of == number).map(|(_, value)| *value),
            exits: { values.exits.iter().filter(|(of, _)| *of == number) }
                .map(|(_, value)| *value)
                .collect(),
        };
        let loaded = values.loaded.iter().find(|(of, _)| *of == position);
        Some(Pointee { slots: slots.map(slot).collect(), loaded: loaded.map(|(_, value)| *value) })
    }
}

/// See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seeded {
    /// By argument; none where it is not followed.
    pointees: Vec<Option<Pointee>>,
}

impl Seeded {
    /// Whether memory tells of an argument, and of no more parts than are told apart.
    pub(crate) fn is_told_by(memory: &PrivateMemory) -> bool {
        let slots = memory.slots().iter();
        let parts = slots.filter(|slot| parameter_of(slot.alloca).is_some()).count();
        memory.has_pointees() && parts <= PARTS
    }

    /// The same of memory that is followed.
    pub(crate) fn is_told_by_followed(memory: &SlotFollower) -> bool {
        memory.pointee_slots().is_some_and(|parts| parts <= PARTS)
    }

    /// What memory and these values of a table tell of the arguments of a function.
    pub(crate) fn new(code: Code<'_>, memory: &PrivateMemory, values: &PointeeValues) -> Seeded {
        let arguments = 0..code.header.params.len() as u32;
        Seeded { pointees: arguments.map(|at| Pointee::of(memory, values, at)).collect() }
    }

    /// Brings it up to date with a function that is followed: with all of its memory, or with what
    /// has been found again.
    pub(crate) fn update(
        &mut self,
        code: Code<'_>,
        is_all: bool,
        memory: &SlotFollower,
        rows: &RowNumbers,
    ) {
        if is_all && let Some(memory) = memory.whole() {
            *self = Seeded::new(code, memory, &rows.pointees(memory));
        } else {
            for (objects, memory) in memory.found_again() {
                let mut positions = positions(objects).peekable();
                if positions.peek().is_none() {
                    continue;
                }
                let values = rows.pointees(memory);
                for position in positions {
                    if let Some(at) = self.pointees.get_mut(position as usize) {
                        *at = Pointee::of(memory, &values, position);
                    }
                }
            }
        }
    }

    /// Whether no argument is followed.
    pub(crate) fn is_empty(&self) -> bool {
        self.pointees.iter().all(Option::is_none)
    }

    /// By argument.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = Option<&Pointee>> {
        self.pointees.iter().map(Option::as_ref)
    }

    /// The slots of all arguments, with the argument.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (u32, &PointeeSlot)> {
        let followed = self.pointees.iter().zip(0..);
        followed.flat_map(|(pointee, position)| {
            let slots = pointee.iter().flat_map(|pointee| &pointee.slots);
            slots.map(move |slot| (position, slot))
        })
    }

    /// What outcomes may depend on, and the value that stands for it.
    pub(crate) fn inputs(&self, code: Code<'_>) -> Vec<(Input, Value)> {
        let numbering = Numbering::new(code.header);
        let parameters = 0..code.header.params.len() as u32;
        // A copy is its own source; of which argument does not matter.
        let open = parameters.filter(|&at| !is_copied(code.context, code.header, at as usize));
        let mut inputs: Vec<(Input, Value)> =
            open.map(|at| (Input::Argument(at), numbering.argument(at))).collect();
        for (pointee, position) in self.pointees.iter().zip(0..) {
            let loaded = pointee.as_ref().and_then(|pointee| pointee.loaded);
            inputs.extend(loaded.map(|value| (Input::Loaded(position), value)));
        }
        for ((_, slot), part) in self.slots().zip(0..) {
            inputs.extend(slot.entry.map(|value| (Input::Content(part), value)));
        }
        inputs
    }
}

/// The arguments among objects.
pub(crate) fn positions(objects: &[InstId]) -> impl Iterator<Item = u32> {
    objects.iter().filter_map(|&object| parameter_of(object))
}
