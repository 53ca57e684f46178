//! The inputs of the outcomes of [`Through`](crate::code::calls::Through), and the table values
//! that represent them.
//!
//! An argument that is followed points to an object with slots ([`PrivateMemory::with_pointees`]).
//! The table has a value for the content of each slot at function entry, one for its content at
//! each return, and one for all values loaded from the object. When the function is solved with its
//! inputs as the only sources, the first and the last are seeds. The second ones are read as
//! results.
//!
//! O(slots + returns) for the objects that an update scans again.

use phalanx_core::affect::Value;
use phalanx_ir::InstId;

use crate::code::{
    Code, Numbering,
    calls::{Input, PARTS, is_copied},
};
use crate::lower::{PointeeValues, RowNumbers};
use crate::memory::{
    PrivateMemory, PrivateMemoryUpdater,
    private::{parameter_of, pointee_of},
};

/// The object that an argument points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointee {
    pub(crate) slots: Vec<PointeeSlot>,
    /// The value that all loads from the object read. `None` if there are no loads.
    loaded: Option<Value>,
}

/// A part of the object that an argument points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PointeeSlot {
    /// Its number in the private memory that contains the object.
    pub(crate) number: u32,
    pub(crate) range: Option<(i64, i64)>,
    /// The value for its content at function entry.
    entry: Option<Value>,
    /// The values for its content at returns.
    pub(crate) exits: Vec<Value>,
}

impl Pointee {
    /// The object of an argument, with the table values for it. `None` if the argument is not
    /// followed.
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
    /// By argument. `None` if it is not followed.
    pointees: Vec<Option<Pointee>>,
}

impl Seeded {
    /// Whether some argument is followed, with at most [`PARTS`] parts in total.
    pub(crate) fn is_known_by(memory: &PrivateMemory) -> bool {
        let slots = memory.slots().iter();
        let parts = slots.filter(|slot| parameter_of(slot.alloca).is_some()).count();
        memory.has_pointees() && parts <= PARTS
    }

    /// The same for incrementally updated memory.
    pub(crate) fn is_known_by_updated(memory: &PrivateMemoryUpdater) -> bool {
        memory.pointee_slots().is_some_and(|parts| parts <= PARTS)
    }

    /// Collects the objects of all arguments.
    pub(crate) fn new(code: Code<'_>, memory: &PrivateMemory, values: &PointeeValues) -> Seeded {
        let arguments = 0..code.header.params.len() as u32;
        Seeded { pointees: arguments.map(|at| Pointee::of(memory, values, at)).collect() }
    }

    /// Updates the objects after an edit: all of them, or those in components that were scanned
    /// again.
    pub(crate) fn update(
        &mut self,
        code: Code<'_>,
        is_all: bool,
        memory: &PrivateMemoryUpdater,
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

    /// The inputs of outcomes, each with its table value.
    pub(crate) fn inputs(&self, code: Code<'_>) -> Vec<(Input, Value)> {
        let numbering = Numbering::new(code.header);
        let parameters = 0..code.header.params.len() as u32;
        // Copies (`byval`) are sources of their own, whatever is passed.
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

/// The positions of the arguments whose objects are in the list.
pub(crate) fn positions(objects: &[InstId]) -> impl Iterator<Item = u32> {
    objects.iter().filter_map(|&object| parameter_of(object))
}
