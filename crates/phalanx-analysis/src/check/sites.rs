//! Finds the operations of a function in which other threads take part.

use phalanx_graph::Node;
use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Value,
    attributes::AttrKind,
    constant::{ConstKind, InlineAsm},
    flow::node_of,
};
use phalanx_target::{
    Architecture, Transfer,
    inline_asm::{AsmValue, Assembly, Origins},
    intrinsics::{Barrier, BarrierPhase, Family, Intrinsic},
    transfer::Pattern,
};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::facts::Callee;
use super::{Facts, kinds};
use crate::code::{Code, read_assembly};
use crate::policy::LARGE;

/// What rules need to know about calls.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    /// Whether a callee has barriers.
    pub callee: &'a dyn Fn(GlobalName) -> Callee,
    /// The architecture whose instructions inline assembly has. Needed only if there is some.
    pub architecture: &'a dyn Fn() -> Architecture,
}

/// An operation that rules are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Site {
    pub(super) inst: InstId,
    pub(super) block: Node,
    pub(super) kind: SiteKind,
    /// The position among the operations of inline assembly, if it is one of these.
    pub(super) in_assembly: Option<u32>,
}

/// An argument of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Argument {
    /// A value of the function.
    Value(Value),
    /// A number in the text of the assembly.
    Integer(i64),
    /// A value that the assembly computes.
    Computed,
}

/// What kind of operation it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SiteKind {
    /// A barrier. `number` and `threads`, the number of threads that it is for, are none if the
    /// target has none or they are no constants.
    Barrier { barrier: Barrier, number: Option<u64>, threads: Option<u64> },
    /// A call of a function with a barrier in it.
    Call(GlobalName),
    /// A call of a function that may have a barrier.
    Unknown,
    /// An operation of a wave, and the position of the argument that names the threads that take
    /// part.
    Group { members: Option<u8> },
    /// An operation of which only some arguments matter, which have to be the same in all threads.
    Arguments,
}

impl SiteKind {
    /// Whether it waits, or may wait, for all threads of some group.
    pub(super) fn may_wait(self) -> bool {
        !matches!(self, SiteKind::Group { .. } | SiteKind::Arguments)
    }
}

/// All operations, in the order of the text. O(instructions).
pub(super) fn sites(code: Code<'_>, calls: Calls<'_>) -> Vec<Site> {
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    insts.flat_map(|inst| sites_at(code, inst, calls)).collect()
}

/// The operations that an instruction is, as far as rules are about them: assembly can have
/// several.
pub(super) fn sites_at(code: Code<'_>, inst: InstId, calls: Calls<'_>) -> SmallVec<[Site; 1]> {
    let Some(block) = code.body.block_of(inst).map(node_of) else { return SmallVec::new() };
    let Some(asm) = inline_assembly(code, inst) else {
        let kind = kind(code, inst, calls);
        let site = |kind| Site { inst, block, kind, in_assembly: None };
        return kind.map(site).into_iter().collect();
    };
    let architecture = (calls.architecture)();
    let mut found = SmallVec::new();
    if may_hide_barrier(code, asm, architecture).is_some() {
        found.push(Site { inst, block, kind: SiteKind::Unknown, in_assembly: None });
        return found;
    }
    if !is_read_on(architecture) {
        return found;
    }
    let read = read_assembly(code, asm, architecture);
    for (at, operation) in (0..).zip(&read.operations) {
        let arguments = arguments_in(code, inst, &read, at);
        if let Some(kind) = kind_of(code, operation.intrinsic, &arguments) {
            found.push(Site { inst, block, kind, in_assembly: Some(at) });
        }
    }
    found
}

/// The part of the text of assembly that is not known and may wait; none if the assembly waits for
/// no thread, or if the threads are known.
pub(super) fn may_hide_barrier(
    code: Code<'_>,
    asm: &InlineAsm,
    architecture: Architecture,
) -> Option<String> {
    let text = code.context.text(asm.template);
    if text.trim().is_empty() {
        return None;
    }
    if !is_read_on(architecture) {
        return Some(text.trim().to_owned());
    }
    read_assembly(code, asm, architecture).unknown.into_iter().next()
}

/// Whether the assembly texts of a target are read.
const fn is_read_on(architecture: Architecture) -> bool {
    matches!(architecture, Architecture::Amdgcn | Architecture::Nvptx)
}

/// The assembly that a call executes.
pub(super) fn inline_assembly<'a>(code: Code<'a>, inst: InstId) -> Option<&'a InlineAsm> {
    if !code.body.inst(inst).opcode.is_call() {
        return None;
    }
    match &code.context.const_data(code.body.const_callee(inst)?).kind {
        ConstKind::InlineAsm(asm) => Some(asm),
        _ => None,
    }
}

/// The arguments of an operation.
pub(super) fn arguments(facts: Facts<'_>, site: &Site) -> Vec<Argument> {
    let (code, architecture) = (facts.code, facts.target.architecture());
    match (site.in_assembly, inline_assembly(code, site.inst)) {
        (Some(at), Some(asm)) => {
            arguments_in(code, site.inst, &read_assembly(code, asm, architecture), at)
        }
        _ => code.body.call_args(site.inst).iter().copied().map(Argument::Value).collect(),
    }
}

/// The name of the intrinsic that an operation of assembly is; empty for other operations.
pub(super) fn named_in_assembly(code: Code<'_>, site: &Site, calls: Calls<'_>) -> String {
    let asm = inline_assembly(code, site.inst)
        .map(|asm| read_assembly(code, asm, (calls.architecture)()));
    let operation = site.in_assembly.zip(asm).and_then(|(at, read)| {
        read.operations.get(at as usize).map(|operation| operation.intrinsic)
    });
    operation.map_or_else(String::new, |found| format!("{}{}", found.family.prefix(), found.base))
}

/// The intrinsic that an operation is, as a call or in assembly.
pub(super) fn intrinsic_of(facts: Facts<'_>, site: &Site) -> Option<Intrinsic> {
    match (site.in_assembly, inline_assembly(facts.code, site.inst)) {
        (Some(at), Some(asm)) => {
            let read = read_assembly(facts.code, asm, facts.target.architecture());
            Some(read.operations.get(at as usize)?.intrinsic)
        }
        _ => intrinsic(facts.code, site.inst),
    }
}

fn arguments_in(code: Code<'_>, inst: InstId, read: &Assembly, at: u32) -> Vec<Argument> {
    let arguments = code.body.call_args(inst);
    let argument = |&id: &usize| match read.values[id] {
        AsmValue::Integer(number) => Argument::Integer(number),
        AsmValue::Argument(position) => arguments
            .get(position as usize)
            .map_or(Argument::Computed, |&value| Argument::Value(value)),
        _ => Argument::Computed,
    };
    let operation = read.operations.get(at as usize);
    operation.map_or_else(Vec::new, |operation| operation.arguments.iter().map(argument).collect())
}

/// The condition within assembly under which an operation is executed; none if there is none.
pub(super) fn condition(facts: Facts<'_>, site: &Site) -> Option<(Assembly, Origins)> {
    let asm = inline_assembly(facts.code, site.inst)?;
    let read = read_assembly(facts.code, asm, facts.target.architecture());
    let predicate = read.operations.get(site.in_assembly? as usize)?.predicate?;
    let origins = read.origins(predicate);
    Some((read, origins))
}

/// What a function's own code does: a barrier there is one at which threads wait for others, for
/// all threads of a workgroup or more. O(instructions).
#[must_use]
pub fn own_barriers(code: Code<'_>, architecture: &dyn Fn() -> Architecture) -> Callee {
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let mut answer = Callee::Silent;
    for inst in insts {
        match does(code, inst, architecture) {
            Callee::Silent => {}
            Callee::Unknown => answer = Callee::Unknown,
            Callee::Barrier => return Callee::Barrier,
        }
    }
    answer
}

/// Whether an instruction is such a barrier, or may be one: a convergent call that names no callee,
/// or inline assembly.
#[must_use]
pub fn may_be_barrier(code: Code<'_>, inst: InstId) -> bool {
    inline_assembly(code, inst).is_some()
        || does(code, inst, &|| Architecture::Generic) != Callee::Silent
}

/// What an instruction itself does.
fn does(code: Code<'_>, inst: InstId, architecture: &dyn Fn() -> Architecture) -> Callee {
    let mut answer = match chosen_from(code, inst) {
        // The callees are not part of the function's own code.
        Some(names) if called(code, inst).is_none() && !names.is_empty() => Callee::Unknown,
        _ => Callee::Silent,
    };
    for site in sites_at(code, inst, Calls { callee: &|_| Callee::Silent, architecture }) {
        match site.kind {
            SiteKind::Barrier { barrier, .. }
                if !barrier.partial && barrier.phase != BarrierPhase::Wait =>
            {
                return Callee::Barrier;
            }
            SiteKind::Unknown => answer = Callee::Unknown,
            _ => {}
        }
    }
    answer
}

/// Whether the operations that rules are about, or their kinds, may change after an instruction
/// came, went, moved or changed that is, or was, like this one. Judged by the callee: true for all
/// calls except those of intrinsics that no rule is about.
#[must_use]
pub fn may_be_site(code: Code<'_>, inst: InstId) -> bool {
    code.body.inst(inst).opcode.is_call() && {
        let found = intrinsic(code, inst);
        let (callee, architecture) = (&|_| Callee::Unknown, &|| Architecture::Generic);
        found.is_none() || !sites_at(code, inst, Calls { callee, architecture }).is_empty()
    }
}

fn kind(code: Code<'_>, inst: InstId, calls: Calls<'_>) -> Option<SiteKind> {
    if !code.body.inst(inst).opcode.is_call() {
        return None;
    }
    let Some(name) = called(code, inst) else {
        if let Some(names) = chosen_from(code, inst) {
            // The first callee with a barrier stands for all, unless one is unknown.
            let all = names.iter().map(|&name| (name, (calls.callee)(name)));
            return all.fold(None, |site, (name, callee)| match (site, callee) {
                (Some(SiteKind::Unknown), _) | (_, Callee::Unknown) => Some(SiteKind::Unknown),
                (None, Callee::Barrier) => Some(SiteKind::Call(name)),
                (site, _) => site,
            });
        }
        return is_convergent(code, inst).then_some(SiteKind::Unknown);
    };
    let Some(intrinsic) = intrinsic(code, inst) else {
        return match (calls.callee)(name) {
            Callee::Silent => None,
            Callee::Barrier => Some(SiteKind::Call(name)),
            Callee::Unknown => Some(SiteKind::Unknown),
        };
    };
    let arguments: SmallVec<[Argument; 4]> =
        code.body.call_args(inst).iter().copied().map(Argument::Value).collect();
    kind_of(code, intrinsic, &arguments)
}

/// The kind of operation that an intrinsic is, as a call or in assembly.
fn kind_of(code: Code<'_>, intrinsic: Intrinsic, arguments: &[Argument]) -> Option<SiteKind> {
    let info = intrinsic.info;
    let is_library = intrinsic.family == Family::Library;
    if let Some(barrier) = info.barrier {
        if barrier.scope == phalanx_target::Scope::Wave {
            // A wave barrier with a mask names its members; an intrinsic without one only orders
            // code.
            return match barrier.partial {
                true => Some(SiteKind::Group { members: Some(0) }),
                false => is_library.then_some(SiteKind::Group { members: None }),
            };
        }
        return Some(kinds::of_call(code, intrinsic, barrier, arguments));
    }
    let members = match info.result {
        // The author of these moves knows the lanes of a row; reductions branch on the lane.
        Transfer::Shuffle { pattern: Some(Pattern::Dpp { .. } | Pattern::Dpp8 { .. }), .. } => {
            return None;
        }
        Transfer::Quad { .. } if info.convergent => None,
        Transfer::Collective { mask }
        | Transfer::Agree { mask, .. }
        | Transfer::Differ { mask, .. }
        | Transfer::Shuffle { mask, .. }
            if info.convergent =>
        {
            mask
        }
        // Every other convergent function of a library concerns the lanes that execute it. A
        // barrier of unknown scope is reported as not judged (`coverage`).
        _ if is_library
            && info.convergent
            && !is_unknown_barrier(intrinsic)
            && !is_for_any_lanes(intrinsic.base) =>
        {
            None
        }
        _ => return (!info.same.is_empty()).then_some(SiteKind::Arguments),
    };
    Some(SiteKind::Group { members })
}

/// Whether a convergent function of a library is for any lanes that come: a query of the active
/// lanes, output, or memory that is allocated for each of them.
fn is_for_any_lanes(base: &str) -> bool {
    let prefixes = ["__ockl_activelane_", "__ockl_printf_", "__ockl_hostcall_", "__ockl_dm_"];
    prefixes.iter().any(|prefix| base.starts_with(prefix))
}

/// Whether a function is a barrier whose threads an argument decides, if that argument is not
/// known.
pub(super) fn is_unknown_barrier(intrinsic: Intrinsic) -> bool {
    intrinsic.base == phalanx_target::library::CONTROL_BARRIER
}

/// The callee, if the call names it.
#[must_use]
pub fn called(code: Code<'_>, call: InstId) -> Option<GlobalName> {
    if !code.body.inst(call).opcode.is_call() {
        return None;
    }
    let callee: Const = code.body.callee(call).as_const()?;
    match code.context.const_data(callee).kind {
        ConstKind::Global(name) => Some(name),
        _ => None,
    }
}

/// The functions one of which a call calls, if selects and phis choose among named functions. None
/// in a large function: its retained state is repaired when a call changes, but not when an
/// instruction changes through which the callee is chosen.
pub(super) fn chosen_from(code: Code<'_>, call: InstId) -> Option<SmallVec<[GlobalName; 4]>> {
    if code.body.id_count() >= LARGE || !code.body.inst(call).opcode.is_call() {
        return None;
    }
    let (mut names, mut seen) = (SmallVec::new(), FxHashSet::default());
    let mut work = vec![code.body.callee(call)];
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        if let Some(constant) = value.as_const() {
            match code.context.const_data(constant).kind {
                ConstKind::Global(name) => names.push(name),
                _ => return None,
            }
            continue;
        }
        let inst = value.as_inst()?;
        let operands = code.body.operands(inst);
        match code.body.inst(inst).opcode {
            Opcode::Select => work.extend_from_slice(&operands[1..]),
            Opcode::Phi => work.extend(code.body.phi_incoming(inst).map(|(value, _)| value)),
            Opcode::Freeze => work.extend_from_slice(operands),
            _ => return None,
        }
    }
    names.sort_unstable();
    Some(names)
}

/// The intrinsic, or library function, that a call names.
pub(super) fn intrinsic(code: Code<'_>, call: InstId) -> Option<Intrinsic> {
    code.called_intrinsic(call)
}

fn is_convergent(code: Code<'_>, call: InstId) -> bool {
    let attributes = code.body.call_info(call).attributes;
    code.context.function_attrs(attributes).has(AttrKind::Convergent)
}

/// The value of an integer constant.
pub(super) fn integer(code: Code<'_>, value: Value) -> Option<u64> {
    match &code.context.const_data(value.as_const()?).kind {
        ConstKind::Int(int) => int.to_u64(),
        _ => None,
    }
}

/// Whether a barrier waits; an arrival does not.
pub(super) fn waits(barrier: Barrier) -> bool {
    !matches!(barrier.phase, BarrierPhase::Arrive)
}
