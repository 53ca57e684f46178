//! The walker of MemorySSA: finds the definition of memory that a load may read from.
//!
//! A load from one slot of private memory needs no walk: the SSA form of that memory names the
//! version that it reads. For other loads,
//! [`ClassicMemorySsa::clobber`](phalanx_analysis::memory::ClassicMemorySsa::clobber) goes up over
//! definitions that do not write what the load reads: private memory decides which do for loads
//! from several slots, the [alias query](with_aliases) and types for all others. A walk may go
//! around a cycle, so a definition may have been executed in another iteration than the load. So
//! two addresses are compared only if both are computed from values that do not change during an
//! execution of the function.
//!
//! Fences and ordered accesses define all memory that other threads can access, since writes of
//! other threads may be visible behind them. Not a query: O(passed definitions) for each load, O(1)
//! for one from a private slot.

use phalanx_analysis::{
    alias::{Alias, AliasQuery, Location},
    loads::clobbers::LIMIT,
    memory::{
        classic::Clobber,
        effects::call_effects,
        private::{Effect, PrivateMemory},
        ssa::Version,
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
    if function.body(db).inst(load).opcode != Opcode::Load {
        return None;
    }
    if let Some(version) = version_of_slot(private_memory(db, function).as_ref()?, load) {
        return Some(version);
    }
    let classic = classic_memory_ssa(db, function).as_ref()?;
    with_writes(db, function, load, |may_write| classic.clobber(load, LIMIT, may_write))?
}

/// Whether the memory that a load reads may have been written on a way to it from an instruction
/// that dominates it. `is_above` says which definitions come before that instruction, or are it.
///
/// *Reads* what [`nearest_clobber`] does. Costs the definitions in between, which are bounded.
pub fn is_written_behind(
    db: &dyn Db,
    function: FunctionInput,
    load: InstId,
    is_above: impl Fn(Clobber) -> bool,
) -> bool {
    let Some(private) = private_memory(db, function) else { return true };
    if let Some(version) = version_of_slot(private, load) {
        return !is_above(version);
    }
    let Some(classic) = classic_memory_ssa(db, function) else { return true };
    with_writes(db, function, load, |may_write| {
        classic.is_clobbered(load, LIMIT, is_above, may_write)
    })
    .unwrap_or(true)
}

/// Gives `ask` a function that says of a definition whether it may write what a load reads.
fn with_writes<R>(
    db: &dyn Db,
    function: FunctionInput,
    load: InstId,
    ask: impl FnOnce(&mut dyn FnMut(InstId) -> bool) -> R,
) -> Option<R> {
    let body = function.body(db);
    let private = private_memory(db, function).as_ref()?;
    let cycles = cycles(db, function)?;
    with_aliases(db, function, |query| {
        let read = query.location(load)?;
        Some(ask(&mut |definition| {
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
        }))
    })?
}

/// The definition of the slot that a load reads, if it reads a single private slot.
fn version_of_slot(private: &PrivateMemory, load: InstId) -> Option<Clobber> {
    let [touch] = private.of(load) else { return None };
    if touch.effect != Effect::Load {
        return None;
    }
    Some(match private.reaching(touch) {
        Version::Entry => Clobber::Entry,
        Version::Def(event) => Clobber::Def(private.touch_of(event).inst),
        Version::Phi(phi) => Clobber::Phi(private.ssa().phis()[phi as usize].block),
    })
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
