//! Structures passed by value that a function only reads, attribute or not.
//!
//! What a kernel is passed by value (`byval`) is what the host passed, for each thread, until the thread writes its copy. LLVM says of most that they are `readonly`;
//! of code that is compiled without optimisation it says nothing. So all that is made from the argument is followed: it is *only read* if nothing is done with any
//! of these addresses but to load from them, to copy from them, to pass on a copy by value, and to compare them.
//!
//! O(uses of what is made from the argument), up to a bound.

use phalanx_ir::{
    GlobalName, InstId, Opcode, Value, attributes::AttrKind, constant::ConstKind, edit::Use,
};
use rustc_hash::FxHashSet;

use crate::lower::Code;

/// How many uses are looked at.
const BOUND: usize = 1 << 12;

/// Whether a function only reads what it is passed by value as this argument.
pub(super) fn is_only_read(code: Code<'_>, position: u32) -> bool {
    let body = code.body;
    let mut left = BOUND;
    let mut seen: FxHashSet<InstId> = FxHashSet::default();
    let mut work = vec![Value::arg(position)];
    while let Some(address) = work.pop() {
        for Use { user, index } in body.uses_of(address) {
            let Some(fewer) = left.checked_sub(1) else { return false };
            left = fewer;
            match body.inst(user).opcode {
                Opcode::Load | Opcode::ICmp => {}
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
    let callee = body.const_callee(call).map(|callee| &code.context.const_data(callee).kind);
    let Some(&ConstKind::Global(GlobalName::Named(symbol))) = callee else { return false };
    let name = code.context.bytes(symbol);
    let copies = [&b"llvm.memcpy."[..], b"llvm.memmove."];
    copies.iter().any(|prefix| name.starts_with(prefix)) && position == 1
}
