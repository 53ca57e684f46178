//! Structures passed by value that a function only reads, attribute or not.
//!
//! A structure that a kernel is passed by value (`byval`) holds what the host passed, in each
//! thread, until the thread writes its copy. LLVM marks most of them `readonly`, but not in code
//! that is compiled without optimisation. So this analysis follows all addresses computed from the
//! argument. The structure is *only read* if these addresses are only loaded from, copied from,
//! passed on by value, and compared.
//!
//! A function that is not a kernel has a copy of what its caller had. Assume that the caller only
//! reads its own copy, or fills a stack slot with it only to pass it on. Then the argument has the
//! content that the kernel was passed. In this case the function may not compare the address of its
//! argument either, since the facts about the argument describe only the content.
//!
//! A function that is passed a structure `byref` has the address of its caller's structure. If it
//! only reads the structure, the argument stands for the content as well: see
//! [`summary::contents`](crate::summary).
//!
//! O(uses of addresses computed from the argument), up to a bound.

use phalanx_ir::{
    GlobalName, InstId, Opcode, Value, attributes::AttrKind, constant::ConstKind, edit::Use,
};
use rustc_hash::FxHashSet;

use crate::code::Code;

/// The largest number of uses, or of instructions of a block, that are examined.
const BOUND: usize = 1 << 12;

/// The largest number of steps from an address up to its base.
const STEPS: usize = 16;

/// Whether a function only reads what it is passed by value as this argument.
pub(super) fn is_only_read(code: Code<'_>, position: u32) -> bool {
    is_but_read(code, Value::arg(position), None, true)
}

/// Whether a function only reads this argument and compares no addresses of it. Also for an
/// argument passed by reference.
pub(crate) fn is_only_content(code: Code<'_>, position: u32) -> bool {
    let attributes = code.context.param_attrs(code.header.attributes, position as usize);
    let is_structure = attributes.has(AttrKind::ByVal) || attributes.has(AttrKind::ByRef);
    is_structure && is_but_read(code, Value::arg(position), None, false)
}

/// The argument whose content a call passes on by value from `address`. The address leads to the
/// argument itself, or to a stack slot that was filled from it and is otherwise only read.
pub(crate) fn copied_argument(code: Code<'_>, call: InstId, address: Value) -> Option<u32> {
    let slot = match made_from(code, address)?.as_inst() {
        None => return made_from(code, address)?.as_arg(),
        Some(slot) => slot,
    };
    let body = code.body;
    // Every thread that reaches the call has filled the slot: the copy is in the entry block, or
    // before the call in the same block. (A call before a copy in the entry block passes undefined
    // content.)
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

/// The argument or stack slot from which an address is computed by constant steps.
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

/// Whether the memory at an address is only read, except by the one instruction `filled_by`.
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

/// Whether a call only reads the memory at its operand, and does not capture the address.
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

/// Whether a call is a lifetime marker of a slot.
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
