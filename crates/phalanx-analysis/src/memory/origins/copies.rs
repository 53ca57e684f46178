//! Structures passed by value that a function only reads, attribute or not.
//!
//! What a kernel is passed by value (`byval`) is what the host passed, for each thread, until the
//! thread writes its copy. LLVM says of most that they are `readonly`; of code that is compiled
//! without optimisation it says nothing. So all that is made from the argument is followed: it is
//! *only read* if nothing is done with any of these addresses but to load from them, to copy from
//! them, to pass on a copy by value, and to compare them.
//!
//! A function that is called has a copy of what its caller had. If the caller also only reads its
//! copy, or fills a stack slot with it only to pass it on, the argument has the content that a
//! kernel was passed, or that the callers of all these functions have in their copies. In this case
//! the function may not use the address of its argument either, since the facts about the argument
//! describe only the content.
//!
//! A function that is passed a structure `byref` has the address of its caller's. If it only reads
//! that, the argument stands for the content as well: see [`summary::contents`](crate::summary).
//!
//! O(uses of what is made from the argument), up to a bound.

use phalanx_ir::{
    GlobalName, InstId, Opcode, Value, attributes::AttrKind, constant::ConstKind, edit::Use,
};
use rustc_hash::FxHashSet;

use crate::code::Code;

/// How many uses are looked at, and instructions of a block.
const BOUND: usize = 1 << 12;

/// How many steps from an address to what it is made from are looked at.
const STEPS: usize = 16;

/// Whether a function only reads what it is passed by value as this argument.
pub(super) fn is_only_read(code: Code<'_>, position: u32) -> bool {
    is_but_read(code, Value::arg(position), None, true)
}

/// The same where addresses are not compared either, also of what is passed by reference.
pub(crate) fn is_only_content(code: Code<'_>, position: u32) -> bool {
    let attributes = code.context.param_attrs(code.header.attributes, position as usize);
    let is_structure = attributes.has(AttrKind::ByVal) || attributes.has(AttrKind::ByRef);
    is_structure && is_but_read(code, Value::arg(position), None, false)
}

/// The argument of which something is a copy that a call passes on by value: that argument itself,
/// or a stack slot that was filled from it and is only read besides.
pub(crate) fn copied_argument(code: Code<'_>, call: InstId, address: Value) -> Option<u32> {
    let slot = match made_from(code, address)?.as_inst() {
        None => return made_from(code, address)?.as_arg(),
        Some(slot) => slot,
    };
    let body = code.body;
    // In the entry all threads fill it, or nothing is in it yet; before the call in its block those
    // do that come to it.
    let entry = code.flow.entry();
    let fills = |copy: &InstId| {
        let is_constant =
            |at: usize| body.call_args(*copy).get(at).is_some_and(|a| a.as_const().is_some());
        let block = body.block_of(*copy);
        let is_first =
            || body.block_insts(block?).take(BOUND).find(|&inst| inst == *copy || inst == call);
        let is_there = block == entry || block == body.block_of(call) && is_first() == Some(*copy);
        is_there && is_constant(2) && is_constant(3)
    };
    let uses = body.uses_of(slot.into());
    let mut copies =
        uses.filter(|used| used.index == 0 && is_copy(code, used.user)).map(|used| used.user);
    let copy = copies.next().filter(fills)?;
    let is_one = copies.next().is_none() && body.block_of(slot) == entry;
    let from = made_from(code, *body.call_args(copy).get(1)?)?.as_arg()?;
    (is_one && is_but_read(code, slot.into(), Some(copy), false)).then_some(from)
}

/// The argument or stack slot that an address is made from by constant steps.
fn made_from(code: Code<'_>, address: Value) -> Option<Value> {
    let body = code.body;
    let mut at = address;
    for _ in 0..STEPS {
        let Some(inst) = at.as_inst() else { return at.as_arg().map(|_| at) };
        let operands = body.operands(inst);
        match body.inst(inst).opcode {
            Opcode::Alloca => return Some(at),
            Opcode::GetElementPtr if operands[1..].iter().any(|step| step.as_const().is_none()) => {
                return None;
            }
            Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast => at = operands[0],
            _ => return None,
        }
    }
    None
}

/// Whether nothing is done with what is at an address but to read it, other than by one
/// instruction.
fn is_but_read(code: Code<'_>, of: Value, filled_by: Option<InstId>, may_compare: bool) -> bool {
    let body = code.body;
    let mut left = BOUND;
    let mut seen: FxHashSet<InstId> = FxHashSet::default();
    let mut work = vec![of];
    while let Some(address) = work.pop() {
        for Use { user, index } in body.uses_of(address) {
            let Some(fewer) = left.checked_sub(1) else { return false };
            left = fewer;
            match body.inst(user).opcode {
                Opcode::Load => {}
                Opcode::ICmp if may_compare => {}
                Opcode::GetElementPtr if index > 0 => return false,
                Opcode::GetElementPtr
                | Opcode::AddrSpaceCast
                | Opcode::BitCast
                | Opcode::Freeze
                | Opcode::Phi
                | Opcode::Select => {
                    if seen.insert(user) {
                        work.push(Value::inst(user));
                    }
                }
                Opcode::Call if is_read_by_call(code, user, index as usize) => {}
                Opcode::Call if Some(user) == filled_by && index == 0 => {}
                Opcode::Call if is_marker(code, user) => {}
                _ => return false,
            }
        }
    }
    true
}

/// Whether a call only reads what is at its operand, and has no address of it afterwards.
fn is_read_by_call(code: Code<'_>, call: InstId, position: usize) -> bool {
    let body = code.body;
    if position >= body.call_args(call).len() {
        return false;
    }
    let attributes = body.call_info(call).attributes;
    if code.context.param_attrs(attributes, position).has(AttrKind::ByVal) {
        return true;
    }
    is_copy(code, call) && position == 1
}

fn is_copy(code: Code<'_>, call: InstId) -> bool {
    let copies = [&b"llvm.memcpy."[..], b"llvm.memmove."];
    let name = called_name(code, call);
    name.is_some_and(|name| copies.iter().any(|prefix| name.starts_with(prefix)))
}

/// A call that says how long a slot is in use.
fn is_marker(code: Code<'_>, call: InstId) -> bool {
    called_name(code, call).is_some_and(|name| name.starts_with(b"llvm.lifetime."))
}

fn called_name(code: Code<'_>, inst: InstId) -> Option<&[u8]> {
    if code.body.inst(inst).opcode != Opcode::Call {
        return None;
    }
    let callee = code.body.const_callee(inst).map(|callee| &code.context.const_data(callee).kind);
    let Some(&ConstKind::Global(GlobalName::Named(symbol))) = callee else { return None };
    Some(code.context.bytes(symbol))
}
