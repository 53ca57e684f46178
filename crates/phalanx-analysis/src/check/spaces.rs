//! Conflicts of memory spaces: accesses that cannot be right for the memory that the address leads
//! to, and addresses that are stored where they are of no use.
//!
//! # What
//!
//! | rule | what is wrong | level |
//! |---|---|---|
//! | [`Rule::ConstantStore`] | a write through an address that leads only to constant memory, or to a constant variable | error |
//! | [`Rule::ContradictedCast`] | a cast to a space that has none of the memories that its operand may lead to | error if the result is accessed, otherwise warning |
//! | [`Rule::EscapingPrivate`] | the address of private memory is stored where other threads read it: for them it leads elsewhere | warning |
//! | [`Rule::FixedAddress`] | an access of null, or of another number | error for null, otherwise warning |
//! | [`Rule::MixedSpaces`] | a generic access for which no single space is known, for targets without generic accesses | error, or warning if nothing is known of the address |
//!
//! The first three rules follow from what an address *must* be: all memories that it may lead to
//! are wrong. [`MemoryKinds`] are upper bounds, so a finding is certain if the instruction is
//! executed with an address that leads anywhere at all.
//!
//! Generic accesses are legal on NVPTX and AMDGPU, so [`mixed`] is only run on request (a flag). It
//! is the conflict of Kong's memory-space analysis, whose target has an instruction for each memory
//! and none for all.
//!
//! Passing a private address to a function is no finding: printing does it, and the callee
//! runs in the same thread.
//!
//! O(instructions), and for each cast that is contradicted O(uses of its result).

use phalanx_graph::DomTree;
use phalanx_ir::{BlockId, GlobalName, InstId, Opcode, Value, constant::ConstKind, flow::node_of};
use phalanx_target::{AddressSpace, Architecture, Scope, SpaceKind};
use smallvec::SmallVec;

pub use super::finding::Lead;
use super::{Finding, Level, Rule};
use crate::{
    code::{Code, SpaceModel, SpaceSet},
    memory::has_pointers,
    readers,
    spaces::{MemoryKinds, SpaceSubject},
};

/// How many steps of an address, and how many users of a cast, are looked at.
const STEPS: usize = 64;

/// Smaller numbers are addresses of members and elements behind null.
const NEAR_NULL: u64 = 4096;

/// The facts that the rules read.
#[derive(Clone, Copy)]
pub struct SpaceContext<'a> {
    /// The function.
    pub code: Code<'a>,
    /// The dominator tree, which has the blocks that are executed at all.
    pub dom: &'a DomTree,
    /// The target.
    pub architecture: Architecture,
    /// The memories that addresses lead to.
    pub kinds: &'a MemoryKinds,
    /// Whether a variable never changes.
    pub is_constant: &'a dyn Fn(GlobalName) -> bool,
}

/// An address that an instruction accesses.
struct Accessed {
    operand: u32,
    is_written: bool,
}

/// The addresses that an instruction accesses; of calls, only those of intrinsics that copy and
/// fill.
fn accessed(code: Code<'_>, inst: InstId) -> SmallVec<[Accessed; 2]> {
    let one = |operand, is_written| SmallVec::from_iter([Accessed { operand, is_written }]);
    match code.body.inst(inst).opcode {
        Opcode::Load => one(0, false),
        Opcode::Store => one(1, true),
        Opcode::AtomicRmw | Opcode::CmpXchg => one(0, true),
        Opcode::Call => match intrinsic(code, inst) {
            Some("memset" | "memset.inline") => one(0, true),
            Some("memcpy" | "memcpy.inline" | "memmove") => SmallVec::from_iter([
                Accessed { operand: 0, is_written: true },
                Accessed { operand: 1, is_written: false },
            ]),
            _ => SmallVec::new(),
        },
        _ => SmallVec::new(),
    }
}

fn intrinsic<'a>(code: Code<'a>, inst: InstId) -> Option<&'a str> {
    Some(code.called_intrinsic(inst)?.base)
}

/// Conflicts in a function that are wrong on every target, in the order of the text.
#[must_use]
pub fn findings(of: SpaceContext<'_>) -> Vec<Finding> {
    executed(of).flat_map(|inst| conflicts(of, inst)).collect()
}

/// The findings of [`findings`] about one instruction.
#[must_use]
pub fn findings_at(of: SpaceContext<'_>, inst: InstId) -> Vec<Finding> {
    let is_executed = of.code.body.block_of(inst).is_some_and(|block| of.is_executed(block));
    if is_executed { conflicts(of, inst) } else { Vec::new() }
}

/// The instructions for which [`findings_at`] may differ from before, when addresses led where
/// `before` says. `changed` are the changed instructions that [affect](depends_on) findings. None
/// if it is cheaper to find everything anew.
#[must_use]
pub fn to_look_at(
    of: SpaceContext<'_>,
    before: &MemoryKinds,
    known: &[Finding],
    changed: &[InstId],
) -> Option<Vec<InstId>> {
    let mut found = readers::of_kinds(of.code, of.kinds, before)?;
    if !changed.is_empty() {
        // A variable is found through the steps that make an address of it.
        found.extend(readers::of_addresses(of.code, changed)?);
        // Accesses through the result of a cast are a part of the finding.
        let casts = known.iter().filter(|finding| finding.rule == Rule::ContradictedCast);
        found.extend(casts.map(|finding| finding.inst));
    }
    Some(found)
}

/// Generic accesses for which no single space is known, in the order of the text.
#[must_use]
pub fn mixed(of: SpaceContext<'_>) -> Vec<Finding> {
    executed(of).flat_map(|inst| mixed_at(of, inst)).collect()
}

/// Whether [`findings`] may depend on an instruction, apart from its block and from where addresses
/// lead.
#[must_use]
pub fn depends_on(code: Code<'_>, inst: InstId) -> bool {
    has_pointers(code, inst)
}

impl SpaceContext<'_> {
    fn is_executed(&self, block: BlockId) -> bool {
        self.dom.is_reachable(node_of(block))
    }
}

fn executed(of: SpaceContext<'_>) -> impl Iterator<Item = InstId> {
    let Code { flow, body, .. } = of.code;
    let blocks = flow.order().iter().copied().filter(move |&block| of.is_executed(block));
    blocks.flat_map(move |block| body.block_insts(block))
}

fn finding(rule: Rule, level: Level, inst: InstId, leads: Vec<Lead>) -> Finding {
    Finding { leads, ..Finding::new(rule, level, inst, Scope::Wave) }
}

fn lead(of: SpaceContext<'_>, inst: InstId, operand: u32) -> Lead {
    let subject = SpaceSubject::Use(inst, operand);
    Lead { subject, memories: subject.set(of.code, of.kinds).memories() }
}

fn conflicts(of: SpaceContext<'_>, inst: InstId) -> Vec<Finding> {
    let code = of.code;
    let mut found = Vec::new();
    let all = accessed(code, inst);
    let fixed = |accessed: &Accessed| {
        let operand = code.body.operands(inst)[accessed.operand as usize];
        fixed_address(of, operand)
    };
    if let Some(address) = all.iter().find_map(fixed) {
        let level = if address < NEAR_NULL { Level::Error } else { Level::Warning };
        let finding = finding(Rule::FixedAddress, level, inst, Vec::new());
        found.push(Finding { address: Some(address), ..finding });
    }
    for accessed in all.iter().filter(|accessed| accessed.is_written) {
        let lead = lead(of, inst, accessed.operand);
        let is_constant = lead.memories == SpaceSet::CONSTANT
            || is_constant_variable(of, code.body.operands(inst)[accessed.operand as usize]);
        if is_constant && !lead.memories.is_empty() {
            found.push(finding(Rule::ConstantStore, Level::Error, inst, vec![lead]));
        }
    }
    match code.body.inst(inst).opcode {
        Opcode::AddrSpaceCast => found.extend(contradicted(of, inst)),
        Opcode::Store => found.extend(escaping(of, inst, 0, 1)),
        Opcode::AtomicRmw => found.extend(escaping(of, inst, 1, 0)),
        Opcode::CmpXchg => found.extend(escaping(of, inst, 2, 0)),
        _ => {}
    }
    found
}

/// The number that an address of generic or device memory is, or that it is a fixed distance from.
///
/// A number with an index that is not known is none: `(char *)0 + x` makes a pointer of any
/// integer.
fn fixed_address(of: SpaceContext<'_>, address: Value) -> Option<u64> {
    let Code { context, body, .. } = of.code;
    let space = context.type_kind(crate::code::value_type(of.code, address)?).address_space()?;
    let kind = AddressSpace::of(of.architecture, space).kind();
    if !matches!(kind, SpaceKind::Generic | SpaceKind::Global | SpaceKind::Constant) {
        return None;
    }
    let mut address = address;
    for _ in 0..STEPS {
        let Some(inst) = address.as_inst() else { break };
        let operands = body.operands(inst);
        match body.inst(inst).opcode {
            Opcode::GetElementPtr if operands[1..].iter().all(|at| at.as_const().is_some()) => {}
            Opcode::BitCast | Opcode::Freeze | Opcode::IntToPtr => {}
            _ => return None,
        }
        address = operands[0];
    }
    let mut constant = address.as_const()?;
    for _ in 0..STEPS {
        match &context.const_data(constant).kind {
            ConstKind::Null | ConstKind::Zero => return Some(0),
            ConstKind::Int(number) => return number.to_u64(),
            ConstKind::Expr(expr) => match (expr.opcode, expr.operands.first()) {
                (Opcode::GetElementPtr | Opcode::BitCast | Opcode::IntToPtr, Some(&base)) => {
                    constant = base;
                }
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// Whether an address is inside of a constant variable.
fn is_constant_variable(of: SpaceContext<'_>, mut address: Value) -> bool {
    let Code { context, body, .. } = of.code;
    for _ in 0..STEPS {
        let Some(inst) = address.as_inst() else { break };
        match body.inst(inst).opcode {
            Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast => {
                address = body.operands(inst)[0];
            }
            _ => return false,
        }
    }
    let Some(mut constant) = address.as_const() else { return false };
    for _ in 0..STEPS {
        match &context.const_data(constant).kind {
            ConstKind::Global(name) => return (of.is_constant)(*name),
            ConstKind::Expr(expr) => match (expr.opcode, expr.operands.first()) {
                (Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast, Some(&base)) => {
                    constant = base;
                }
                _ => return false,
            },
            _ => return false,
        }
    }
    false
}

/// The finding about a cast to a space that has no memory that the operand may lead to.
fn contradicted(of: SpaceContext<'_>, cast: InstId) -> Option<Finding> {
    let Code { context, body, .. } = of.code;
    let model = SpaceModel::new(of.architecture);
    let space = context.type_kind(body.inst(cast).ty).address_space()?;
    let lead = lead(of, cast, 0);
    // The model says which memories overlap.
    if lead.memories.is_empty()
        || model.of(space).contains(SpaceSet::OTHER)
        || model.may_overlap(lead.memories, model.of(space))
    {
        return None;
    }
    let access = access_through(of, cast);
    let level = if access.is_some() { Level::Error } else { Level::Warning };
    let mut found = finding(Rule::ContradictedCast, level, cast, vec![lead]);
    found.other = access;
    Some(found)
}

/// An access whose address is made from a value by steps.
fn access_through(of: SpaceContext<'_>, value: InstId) -> Option<InstId> {
    let body = of.code.body;
    let mut work: SmallVec<[InstId; 4]> = SmallVec::from_slice(&[value]);
    for _ in 0..STEPS {
        let at = work.pop()?;
        let mut users: SmallVec<[(InstId, u32); 4]> =
            body.uses_of(at.into()).map(|one| (one.user, one.index)).collect();
        users.sort_unstable();
        for (user, operand) in users {
            let is_reached = body.block_of(user).is_some_and(|block| of.is_executed(block));
            if !is_reached {
                continue;
            }
            let touches = accessed(of.code, user);
            if touches.iter().any(|touch| touch.operand == operand) {
                return Some(user);
            }
            let is_step = matches!(
                body.inst(user).opcode,
                Opcode::GetElementPtr | Opcode::BitCast | Opcode::Freeze
            );
            if is_step && operand == 0 {
                work.push(user);
            }
        }
    }
    None
}

/// The finding about a private address that is stored where other threads read it.
fn escaping(of: SpaceContext<'_>, inst: InstId, value: u32, into: u32) -> Option<Finding> {
    let Code { context, body, .. } = of.code;
    let stored = *body.operands(inst).get(value as usize)?;
    let ty = crate::code::value_type(of.code, stored)?;
    context.type_kind(ty).address_space()?;
    let (value, into) = (lead(of, inst, value), lead(of, inst, into));
    let is_escaping = value.memories == SpaceSet::PRIVATE
        && !into.memories.is_empty()
        && !into.memories.meets(SpaceSet::PRIVATE | SpaceSet::OTHER);
    is_escaping.then(|| finding(Rule::EscapingPrivate, Level::Warning, inst, vec![value, into]))
}

fn mixed_at(of: SpaceContext<'_>, inst: InstId) -> Vec<Finding> {
    let Code { context, body, .. } = of.code;
    let model = SpaceModel::new(of.architecture);
    let mut found = Vec::new();
    let Some(generic) = model.generic() else { return found };
    for accessed in accessed(of.code, inst) {
        let address = body.operands(inst)[accessed.operand as usize];
        let Some(ty) = crate::code::value_type(of.code, address) else { continue };
        if context.type_kind(ty).address_space() != Some(generic) {
            continue;
        }
        let mut lead = lead(of, inst, accessed.operand);
        let all = model.of(generic);
        lead.memories = lead.memories.and(all);
        let is_one = model.narrowest(lead.memories).is_some_and(|space| space != generic);
        if is_one || lead.memories.is_empty() || fixed_address(of, address).is_some() {
            continue;
        }
        let level = if lead.memories == all { Level::Warning } else { Level::Error };
        found.push(finding(Rule::MixedSpaces, level, inst, vec![lead]));
    }
    found
}
