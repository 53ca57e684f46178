//! The walker of MemorySSA: finds the definition of memory that a load may read from.
//!
//! [`ClassicMemorySsa::clobber`](phalanx_analysis::memory::ClassicMemorySsa::clobber) goes up over
//! definitions that do not write what the load reads. For loads from private slots, private memory
//! decides which definitions do; for other loads, the [alias query](with_aliases) and types do. A
//! walk may go around a cycle, so a definition may have been executed in another iteration than the
//! load. So two addresses are compared only if both are computed from values that do not change
//! during an execution of the function.
//!
//! Fences and ordered accesses define all memory that other threads can access, since writes of
//! other threads may be visible behind them. Not a query: O(passed definitions) for each load.

use phalanx_analysis::{
    alias::{Alias, AliasQuery, Location},
    loads::clobbers::LIMIT,
    memory::{
        classic::Clobber,
        effects::call_effects,
        private::{Effect, PrivateMemory},
    },
};
use phalanx_graph::Cycles;
use phalanx_ir::{
    Body, InstId, Opcode, TypeKind, Value, ValueKind,
    attributes::MemoryLocation,
    flow::node_of,
    inst::{InstFlags, Ordering},
};

use super::own_environment::with_code;
use super::{callees, classic_memory_ssa, cycles, may_alias_by_type, private_memory, with_aliases};
use crate::FunctionInput;

use salsa::Database as Db;

/// The nearest definition of memory before a load that may have written what it reads. None for
/// what is no load that touches memory.
///
/// *Reads* [`classic_memory_ssa`], [`private_memory`], `cycles`, what [`with_aliases`] does,
/// `extras`.
pub fn nearest_clobber(db: &dyn Db, function: FunctionInput, load: InstId) -> Option<Clobber> {
    let body = function.body(db);
    if body.inst(load).opcode != Opcode::Load {
        return None;
    }
    let classic = classic_memory_ssa(db, function).as_ref()?;
    let private = private_memory(db, function).as_ref()?;
    let cycles = cycles(db, function)?;
    with_aliases(db, function, |query| {
        let read = query.location(load)?;
        classic.clobber(load, LIMIT, |definition| {
            if private.is_load(load) {
                return writes_slot_of(private, definition, load);
            }
            // The store writes private slots, and the load reads other memory.
            if private.of(load).is_empty()
                && body.inst(definition).opcode == Opcode::Store
                && !private.of(definition).is_empty()
            {
                return false;
            }
            may_write(db, function, (query, cycles), definition, (load, read))
        })
    })?
}

/// Whether a definition writes a private slot that a load reads.
fn writes_slot_of(private: &PrivateMemory, definition: InstId, load: InstId) -> bool {
    let is_read = |slot| private.of(load).iter().any(|touch| touch.slot == slot);
    private.of(definition).iter().any(|touch| {
        !matches!(touch.effect, Effect::Load | Effect::Read | Effect::CopyFrom)
            && is_read(touch.slot)
    })
}

fn may_write(
    db: &dyn Db,
    function: FunctionInput,
    (query, cycles): (&mut AliasQuery<'_>, &Cycles),
    definition: InstId,
    (load, read): (InstId, Location),
) -> bool {
    let body = function.body(db);
    let data = body.inst(definition);
    match data.opcode {
        Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg => {
            let is_ordered = !matches!(
                data.mem().ordering(),
                Ordering::NotAtomic | Ordering::Unordered | Ordering::Monotonic
            );
            let both_volatile = data.flags.contains(InstFlags::VOLATILE)
                && body.inst(load).flags.contains(InstFlags::VOLATILE);
            if is_ordered || both_volatile {
                return true;
            }
            let Some(written) = query.location(definition) else { return true };
            may_alias(body, (query, cycles), read, written)
                && may_alias_by_type(db, function, load, definition)
        }
        opcode if opcode.is_call() => {
            let effects = with_code(db, function, callees(db, function), |code, env| {
                call_effects(code, env, definition)
            });
            let Some(effects) = effects else { return true };
            let mut written = MemoryLocation::ALL
                .iter()
                .filter(|&&location| location != MemoryLocation::InaccessibleMem)
                .filter(|&&location| effects.access(location).writes());
            match (written.next(), written.next()) {
                (None, _) => false,
                (Some(MemoryLocation::ArgMem), None) => {
                    let addresses = body.call_args(definition).iter();
                    addresses.filter(|&&value| may_be_address(db, function, value)).any(
                        |&address| {
                            let written = query.through_argument(definition, address);
                            may_alias(body, (query, cycles), read, written)
                        },
                    )
                }
                _ => true,
            }
        }
        // A fence, or a load that is ordered: it says which writes of others are seen.
        _ => true,
    }
}

/// Whether an argument may be, or hold, an address: numbers are none.
fn may_be_address(db: &dyn Db, function: FunctionInput, value: Value) -> bool {
    let context = function.module(db).context(db);
    let ty = match value.kind() {
        ValueKind::Inst(inst) => function.body(db).inst(inst).ty,
        ValueKind::Arg(position) => function.header(db).params[position as usize],
        ValueKind::Const(constant) => context.const_data(constant).ty,
        _ => return false,
    };
    let scalar = match *context.type_kind(ty) {
        TypeKind::Vector { elem, .. } => elem,
        _ => ty,
    };
    let kind = context.type_kind(scalar);
    !matches!(kind, TypeKind::Int(_) | TypeKind::Metadata) && !kind.is_float()
}

/// Whether two accesses may touch one byte, in whatever iterations.
fn may_alias(
    body: &Body,
    (query, cycles): (&mut AliasQuery<'_>, &Cycles),
    read: Location,
    written: Location,
) -> bool {
    let bases = [query.address(read.address).base, query.address(written.address).base];
    let same = |value: Value| is_fixed(body, cycles, value.kind());
    !bases.into_iter().all(same) || query.alias_over((read, written), &same) != Alias::No
}

/// Whether a value is the same throughout a run of a function.
fn is_fixed(body: &Body, cycles: &Cycles, value: ValueKind) -> bool {
    match value {
        ValueKind::Inst(inst) => {
            let block = body.block_of(inst).map(node_of);
            block.is_some_and(|block| cycles.innermost(block).is_none())
        }
        _ => true,
    }
}
