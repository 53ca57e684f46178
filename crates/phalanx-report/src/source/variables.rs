//! Finds which values of the module hold the variables of the program.
//!
//! ```text
//! #dbg_value(float %14, !sum, !DIExpression(), !40)      %14 is a value of `sum`
//! #dbg_declare(ptr %k.addr, !k, !DIExpression(), !41)    `k` is kept in %k.addr:
//! %3 = load i32, ptr %k.addr                             %3 is a value of `k`
//! ```
//!
//! A record whose expression computes something (a part of a structure, an offset) is ignored: its
//! value is not the variable's value. A value of two variables is named after the variable that the
//! text mentions first.
//!
//! O(debug records + instructions), once for each queried function.

use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{
    InstId, Opcode, Value,
    metadata::{DebugRecord, DebugVariableKind, Field, MetadataValue},
};
use rustc_hash::FxHashMap;

/// The variables of one function. See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Variables {
    names: FxHashMap<Value, String>,
    /// The same pairs in the order of the code.
    values: Vec<(Value, String)>,
    /// The stack slots that variables are kept in.
    slots: FxHashMap<Value, String>,
}

impl Variables {
    pub(crate) fn of(db: &Database, input: FunctionInput) -> Variables {
        let view = input.view(db);
        let mut found = Variables::default();
        if view.extras.debug_records.is_empty() {
            return found;
        }
        let mut recorded: FxHashMap<InstId, Vec<(Value, String)>> = FxHashMap::default();
        for (before, record) in &view.extras.debug_records {
            let Some((place, name)) = said(db, input, record) else { continue };
            match place {
                VariablePlace::Here(value) => {
                    recorded.entry(*before).or_default().push((value, name));
                }
                VariablePlace::In(slot) => {
                    found.slots.entry(behind_casts(db, input, slot)).or_insert(name);
                }
            }
        }
        let body = view.body;
        let blocks = view.flow.order().iter();
        for inst in blocks.flat_map(|&block| body.block_insts(block)) {
            for (value, name) in recorded.remove(&inst).unwrap_or_default() {
                found.add(value, name);
            }
            let operands = body.operands(inst);
            let (value, address) = match (body.inst(inst).opcode, operands) {
                (Opcode::Load, [address, ..]) => (Value::inst(inst), *address),
                (Opcode::Store, [value, address, ..]) => (*value, *address),
                _ => continue,
            };
            if let Some(name) = found.slots.get(&behind_casts(db, input, address)).cloned() {
                found.add(value, name);
            }
        }
        found
    }

    fn add(&mut self, value: Value, name: String) {
        if value.as_const().is_some() {
            return;
        }
        self.names.entry(value).or_insert_with(|| name.clone());
        self.values.push((value, name));
    }

    /// The variable that a value is of.
    pub(crate) fn name(&self, value: Value) -> Option<&str> {
        self.names.get(&value).map(String::as_str)
    }

    /// The variable that is kept in a stack slot.
    pub(crate) fn kept_in(&self, slot: Value) -> Option<&str> {
        self.slots.get(&slot).map(String::as_str)
    }

    /// The values of a variable, in the order of the code, each once.
    pub(crate) fn values(&self, name: &str) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        let own = self.values.iter().filter(|(_, own)| own == name);
        values.extend(own.map(|(value, _)| *value).filter(|value| seen.insert(*value)));
        values
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The names of all variables with a value.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(_, name)| name.as_str())
    }
}

/// DWARF operations that state an address space.
const CONSTU: i128 = 0x10;
const SWAP: i128 = 0x16;
const XDEREF: i128 = 0x18;

/// Where a variable is.
enum VariablePlace {
    Here(Value),
    In(Value),
}

/// The variable that a record describes.
fn said(
    db: &Database,
    input: FunctionInput,
    record: &DebugRecord,
) -> Option<(VariablePlace, String)> {
    let module = input.module(db);
    let metadata = &module.shell(db).metadata;
    let (values, expression, variable, is_slot) = match record {
        DebugRecord::Variable(record) => {
            let is_slot = record.kind == DebugVariableKind::Declare;
            (record.value.values(), record.expression, record.variable, is_slot)
        }
        DebugRecord::Assign(record) => {
            (record.value.values(), record.expression, record.variable, false)
        }
        DebugRecord::Label { .. } => return None,
    };
    let &[value] = values else { return None };
    let name = metadata.field(variable, Field::Name).and_then(MetadataValue::as_string)?;
    let kept = if is_slot { VariablePlace::In(value) } else { VariablePlace::Here(value) };
    // Operations for the address space of a slot; they stay when the slot becomes a value.
    let operations: Vec<_> =
        metadata.values(expression).map(|value| value.as_int(module.context(db))).collect();
    let is_plain =
        matches!(operations.as_slice(), [] | [Some(CONSTU), _, Some(SWAP), Some(XDEREF)]);
    is_plain.then(|| (kept, module.context(db).text(name).into_owned()))
}

/// The address without casts to other address spaces: a stack slot of AMD's at -O0.
fn behind_casts(db: &Database, input: FunctionInput, address: Value) -> Value {
    let body = input.body(db);
    match address.as_inst() {
        Some(inst) if body.inst(inst).opcode == Opcode::AddrSpaceCast => {
            body.operands(inst).first().copied().unwrap_or(address)
        }
        _ => address,
    }
}
