//! Accesses of workgroup memory that are not compared with others, and the reasons.
//!
//! If a report has no findings, that is about the accesses that were compared. Others are left out:
//!
//! ```text
//! store float %x, ptr addrspace(3) tile[%key]     ; %key is loaded: which threads meet is not known
//! br i1 %data, label %then, label %join           ; instructions of %then may be executed or not
//! ```
//!
//! | why | which accesses |
//! |---|---|
//! | [`Why::Index`] | the address is computed from loaded data, or from the result of an operation of the wave |
//! | [`Why::Argument`] | the address depends on arguments, and addresses of other accesses of the object do not in the same way |
//! | [`Why::Launch`] | something is wrong under conditions on arguments that may contradict each other |
//! | [`Why::Condition`] | data decides whether a thread executes it |
//! | [`Why::Wait`] | it follows a loop that waits for other threads |
//! | [`Why::Call`] | a call accesses memory in a way that is not tracked, such as a copy in the background |
//! | [`Why::Unreached`] | execution ended before it: at a call that cannot be executed, or after too many paths |
//!
//! An access that is compared in one execution and left out in another counts as left out. An
//! access that no thread of the launch executes does not.
//!
//! O(instructions), and O(accesses) between two barriers.

use std::collections::BTreeMap;

use phalanx_ir::{InstId, Opcode, Value};
use phalanx_target::{AddressSpace, SpaceKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    objects::{Access, InstInFunction},
    program::{Called, Functions, variables_in},
    terms::{Base, Val},
    thread::Machine,
};
use crate::code::Code;

/// How many steps from an address to its variable are looked at.
const STEPS: usize = 16;

/// Why an access is not compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// Its index comes from data.
    Index,
    /// Its index depends on arguments.
    Argument,
    /// Whether some launch fulfils all its conditions on arguments is not known.
    Launch,
    /// Its condition depends on data.
    Condition,
    /// It follows a loop that waits for other threads.
    Wait,
    /// It is a call that is not executed.
    Call,
    /// Execution ended before it.
    Unreached,
}

/// Collects the accesses that are left out during execution.
#[derive(Default)]
pub(super) struct LeftOut {
    /// All instructions that may access workgroup memory, by the types of addresses, with the calls
    /// in the kernel that lead to them.
    all: FxHashMap<InstInFunction, InstId>,
    executed: FxHashSet<InstInFunction>,
    left_out: BTreeMap<InstInFunction, Why>,
    /// Whether something was not executed that some launch executes.
    pub(super) is_cut: bool,
}

impl LeftOut {
    /// The state before execution.
    pub(super) fn new(functions: &Functions<'_>) -> LeftOut {
        let mut all = FxHashMap::default();
        let calls = first_calls(functions);
        for (number, function) in functions.all.iter().enumerate() {
            let code = function.unit.code;
            let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
            for inst in insts.filter(|&inst| accesses(functions, number, inst)) {
                let place = calls.get(&number).copied().unwrap_or(inst);
                all.insert((number, inst), place);
            }
        }
        LeftOut { all, ..LeftOut::default() }
    }

    /// Records that an access is left out, if it is one of workgroup memory by its type.
    pub(super) fn leave(&mut self, at: InstInFunction, why: Why) {
        if self.all.contains_key(&at) {
            self.left_out.entry(at).or_insert(why);
        }
    }

    /// Records that an access of workgroup memory is executed.
    pub(super) fn execute(&mut self, access: &Access, compared: Result<(), Why>) {
        self.all.entry(access.inst).or_insert(access.place);
        match compared {
            Ok(()) => _ = self.executed.insert(access.inst),
            Err(why) => self.leave(access.inst, why),
        }
    }

    /// The accesses that are left out, each as the instruction of the kernel that accesses or
    /// calls, with the reason.
    pub(super) fn places(mut self) -> Vec<(InstId, Why)> {
        if self.is_cut {
            let never = self.all.keys().filter(|at| !self.executed.contains(at));
            for &at in never {
                self.left_out.entry(at).or_insert(Why::Unreached);
            }
        }
        self.left_out.iter().filter_map(|(at, &why)| Some((*self.all.get(at)?, why))).collect()
    }
}

/// Leaves out accesses of objects that have addresses which cannot be compared.
///
/// Two addresses with one base can be compared. Two addresses with different bases may meet or not,
/// which matters if one access writes and they are not both atomic.
pub(super) fn leave_unsettled(machine: &mut Machine<'_, '_>, accesses: &[Access]) {
    #[derive(Clone, Copy)]
    struct Object {
        first: Base,
        has_others: bool,
        is_written: bool,
        is_atomic: bool,
    }
    let mut objects: FxHashMap<Base, Object> = FxHashMap::default();
    for access in accesses {
        let (root, base) = (machine.root(access.at.base), access.at.base);
        let new = Object { first: base, has_others: false, is_written: false, is_atomic: true };
        let object = objects.entry(root).or_insert(new);
        object.has_others |= object.first != base;
        object.is_written |= access.writes;
        object.is_atomic &= access.is_atomic;
    }
    objects.retain(|_, object| object.has_others && object.is_written && !object.is_atomic);
    if objects.is_empty() {
        return;
    }
    for access in accesses {
        let (root, base) = (machine.root(access.at.base), access.at.base);
        if root == base || !objects.contains_key(&root) {
            continue;
        }
        let is_of_launch = machine.terms.is_of_launch_behind(root, base);
        let why = if is_of_launch { Why::Argument } else { Why::Index };
        machine.left_out.leave(access.inst, why);
    }
}

/// By function, the first call in the kernel that leads to it.
fn first_calls(functions: &Functions<'_>) -> FxHashMap<usize, InstId> {
    let mut calls: FxHashMap<usize, InstId> = FxHashMap::default();
    // Functions are numbered in the order in which calls of them are found.
    for (number, function) in functions.all.iter().enumerate() {
        let code = function.unit.code;
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        for inst in insts.filter(|&inst| code.body.inst(inst).opcode.is_call()) {
            let Called::Function(callee) = function.called(inst) else { continue };
            let place = calls.get(&number).copied().unwrap_or(inst);
            if callee != 0 {
                calls.entry(callee).or_insert(place);
            }
        }
    }
    calls
}

/// Whether an instruction may access workgroup memory, by the types of its addresses.
fn accesses(functions: &Functions<'_>, number: usize, inst: InstId) -> bool {
    let function = &functions.all[number];
    let code = function.unit.code;
    let operands = code.body.operands(inst);
    let is_shared = |&value: &Value| is_shared(functions, code, value);
    match code.body.inst(inst).opcode {
        Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => {
            operands.first().is_some_and(is_shared)
        }
        Opcode::Store => operands.get(1).is_some_and(is_shared),
        Opcode::Call => {
            let called = function.called(inst);
            matches!(called, Called::Copy { .. } | Called::Other | Called::Meeting)
                && code.body.call_args(inst).iter().any(is_shared)
        }
        _ => false,
    }
}

/// Whether an address is in workgroup memory, by its type or by its variable.
fn is_shared(functions: &Functions<'_>, code: Code<'_>, address: Value) -> bool {
    let program = functions.program;
    let mut at = address;
    for _ in 0..STEPS {
        let ty = match (at.as_inst(), at.as_const(), at.as_arg()) {
            (Some(inst), ..) => code.body.inst(inst).ty,
            (_, Some(constant), _) => code.context.const_data(constant).ty,
            (.., Some(position)) => match code.header.params.get(position as usize) {
                Some(&ty) => ty,
                None => return false,
            },
            _ => return false,
        };
        let Some(space) = code.context.type_kind(ty).address_space() else { return false };
        let kind = AddressSpace::of(program.target.architecture(), space).kind();
        if kind == SpaceKind::Workgroup {
            return true;
        }
        if let Some(constant) = at.as_const() {
            let name = variables_in(code, constant);
            return name.is_some_and(|name| program.variables.contains_key(&name));
        }
        let Some(inst) = at.as_inst() else { return false };
        at = match code.body.inst(inst).opcode {
            Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast => {
                code.body.operands(inst)[0]
            }
            _ => return false,
        };
    }
    false
}

/// Addresses that have been written, byte by byte, and objects that have been written at unknown
/// places.
#[derive(Default)]
pub(super) struct Written {
    bytes: FxHashSet<(Base, i64)>,
    /// By object, whether some write of it was at an unknown place.
    objects: FxHashMap<Base, bool>,
}

impl Written {
    /// Adds the writes among these accesses, and returns the reads of bytes that no thread has
    /// written so far.
    ///
    /// A write at an unknown place may have written any byte of its object. A read at such a place
    /// may read what any write has written.
    pub(super) fn unwritten(
        &mut self,
        machine: &mut Machine<'_, '_>,
        accesses: &[Access],
    ) -> Vec<Access> {
        let bytes = |access: &Access| {
            let Val { base, offset } = access.at;
            (0..i64::from(access.size)).map(move |byte| (base, offset.wrapping_add(byte)))
        };
        for access in accesses.iter().filter(|access| access.writes) {
            let root = machine.root(access.at.base);
            *self.objects.entry(root).or_default() |= root != access.at.base;
            self.bytes.extend(bytes(access));
        }
        let mut is_unwritten = |access: &&Access| {
            let root = machine.root(access.at.base);
            let is_known = root == access.at.base;
            !access.writes
                && match self.objects.get(&root) {
                    None => true,
                    Some(true) => false,
                    Some(false) => {
                        is_known && !bytes(access).any(|byte| self.bytes.contains(&byte))
                    }
                }
        };
        accesses.iter().filter(|access| is_unwritten(access)).copied().collect()
    }
}
