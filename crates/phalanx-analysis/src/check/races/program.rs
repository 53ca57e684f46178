//! The program that the check of races executes: a kernel and the functions that it calls.
//!
//! Only the *slice* of a function is executed: the instructions from which addresses and conditions
//! are computed. Arithmetic on data is left out, so the cost of a kernel is that of its indices:
//!
//! ```text
//! %i = add i32 %tid, %s                                       ; in the slice
//! %p = getelementptr float, ptr addrspace(3) @tile, i32 %i    ; in the slice
//! %x = load float, ptr addrspace(3) %p                        ; an access
//! %y = fadd float %x, %z                                      ; left out
//! ```
//!
//! O(instructions) for each function, once.

use phalanx_core::divergence::Divergence;
use phalanx_graph::{Cfg, Cycles, PostDomTree};
use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Type, TypeKind, Value, constant::ConstKind, flow::node_of,
    inst::InstFlags, layout::StructBodies, types::StructBody,
};
use phalanx_target::{
    LaunchFacts, Scope, SourceSet, Target, Transfer,
    intrinsics::{BarrierPhase, Family},
    transfer::Coordinate,
};
use rustc_hash::FxHashMap;

use super::{
    super::sites::{self, Calls, SiteKind, called, integer, sites_at},
    lost::{self, Stores},
    parts::Parts,
};
use crate::code::{Code, TypeLayout, TypeSizes};

/// A function, with the facts about it.
#[derive(Clone, Copy)]
pub struct Unit<'a> {
    /// Its code.
    pub code: Code<'a>,
    /// Its graph.
    pub cfg: &'a Cfg,
    /// Its post-dominators.
    pub postdom: &'a PostDomTree,
    /// Its cycles.
    pub cycles: &'a Cycles,
    /// Its divergence.
    pub divergence: &'a Divergence,
}

/// A variable of workgroup memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The type of its content.
    pub ty: Type,
    /// Whether the module gives it no initial value.
    pub is_undefined: bool,
}

/// The input of the check of races.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    /// The kernel.
    pub kernel: Unit<'a>,
    /// A function of the module by name; none if it is not defined.
    pub function: &'a dyn Fn(GlobalName) -> Option<Unit<'a>>,
    /// Variables of workgroup memory.
    pub variables: &'a FxHashMap<GlobalName, Variable>,
    /// What is known of calls.
    pub calls: Calls<'a>,
    /// What is known of launches.
    pub launch: &'a LaunchFacts,
    /// The target.
    pub target: &'a Target,
    /// Sizes of types.
    pub layout: &'a TypeLayout,
    /// Whether lanes of a wave execute each instruction together.
    pub lockstep: bool,
}

/// A number of the thread or the launch that a thread can read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Register {
    Thread(usize),
    Size(usize),
    Global(usize),
    Lane,
    Width,
    /// The number of the thread in its workgroup.
    Linear,
}

/// The effect of a call on a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Called {
    Register(Register),
    /// Reads the number of the workgroup; the string is the rest of its name.
    Block(&'static str),
    /// Reads something else that is the same in the workgroup.
    Constant(&'static str),
    /// An arithmetic intrinsic of LLVM.
    Arithmetic,
    /// A barrier of all threads of the workgroup.
    Barrier,
    /// An operation at which lanes of the wave meet.
    Meeting,
    /// No effect that matters.
    Nothing,
    /// A call of a function of the program, by number.
    Function(usize),
    /// `memcpy` and the like: writes to the first operand, and may read from the second.
    Copy {
        reads: bool,
    },
    /// An unknown result, and accesses of memory that it is given.
    Other,
    /// An unknown wait: execution cannot continue.
    Lost,
}

/// The distance that the indices of an address add: a constant, and values with factors, in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub(super) constant: i64,
    pub(super) scaled: Vec<(Value, i64)>,
}

/// A function of the program.
pub(super) struct Function<'a> {
    pub(super) unit: Unit<'a>,
    slice: Vec<bool>,
    /// Stores whose index may have lost the thread.
    pub(super) lost: Stores,
    /// Stores to parts of vectors.
    pub(super) parts: Parts,
    /// Whether it may wait for others in a loop that reads memory.
    pub(super) spins: bool,
    calls: FxHashMap<InstId, Called>,
    steps: FxHashMap<InstId, Option<Steps>>,
}

impl<'a> Function<'a> {
    pub(super) fn is_in_slice(&self, inst: InstId) -> bool {
        self.slice.get(index(inst)).copied().unwrap_or(false)
    }

    pub(super) fn called(&self, inst: InstId) -> Called {
        self.calls.get(&inst).copied().unwrap_or(Called::Lost)
    }

    pub(super) fn has_barrier(&self) -> bool {
        self.calls.values().any(|called| *called == Called::Barrier)
    }

    /// The same for an instruction that may not be a call.
    pub(super) fn called_if_call(&self, inst: InstId) -> Option<Called> {
        self.calls.get(&inst).copied()
    }

    pub(super) fn steps(&self, inst: InstId) -> Option<&Steps> {
        self.steps.get(&inst)?.as_ref()
    }
}

/// All functions of the program; the kernel is the first.
pub(super) struct Functions<'a> {
    pub(super) program: Program<'a>,
    pub(super) all: Vec<Function<'a>>,
}

impl<'a> Functions<'a> {
    /// The functions that a kernel can call. O(instructions).
    pub(super) fn new(program: Program<'a>) -> Functions<'a> {
        let mut numbers: FxHashMap<GlobalName, usize> = FxHashMap::default();
        let mut units = vec![program.kernel];
        let mut all = Vec::new();
        while let Some(&unit) = units.get(all.len()) {
            let mut number = |name: GlobalName| {
                if let Some(&known) = numbers.get(&name) {
                    return Some(known);
                }
                units.push((program.function)(name)?);
                numbers.insert(name, units.len() - 1);
                Some(units.len() - 1)
            };
            let calls = calls(program, unit.code, &mut number);
            let steps = all_steps(program, unit.code);
            let slice = slice(unit.code);
            let lost = lost::stores(unit, program.launch, program.target.architecture());
            let parts = Parts::new(unit, program_varying(program));
            all.push(Function { unit, slice, lost, parts, spins: spins(unit), calls, steps });
        }
        Functions { program, all }
    }
}

/// The variable that a constant is the address of.
pub(super) fn variables_in(code: Code<'_>, constant: Const) -> Option<GlobalName> {
    let mut at = constant;
    for _ in 0..8 {
        match &code.context.const_data(at).kind {
            ConstKind::Global(name) => return Some(*name),
            ConstKind::Expr(expr) => at = *expr.operands.first()?,
            _ => return None,
        }
    }
    None
}

pub(super) fn index(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

fn insts<'a>(code: Code<'a>) -> impl Iterator<Item = InstId> + 'a {
    code.flow.order().iter().flat_map(move |&block| code.body.block_insts(block))
}

/// The slice of a function: the instructions that addresses and conditions are computed from.
fn slice(code: Code<'_>) -> Vec<bool> {
    let body = code.body;
    let mut is_in = vec![false; body.id_count()];
    let mut work: Vec<Value> = Vec::new();
    let is_followed = |value: Value| {
        let ty = match value.as_inst() {
            Some(inst) => body.inst(inst).ty,
            None => return false,
        };
        let kind = code.context.type_kind(ty);
        matches!(kind, TypeKind::Int(_)) || kind.address_space().is_some()
    };
    for inst in insts(code) {
        let operands = body.operands(inst);
        match body.inst(inst).opcode {
            Opcode::Load => work.push(operands[0]),
            Opcode::AtomicRmw | Opcode::CmpXchg => work.push(operands[0]),
            Opcode::Store => {
                work.push(operands[1]);
                work.extend(operands[..1].iter().filter(|&&value| is_followed(value)));
            }
            Opcode::Br | Opcode::Switch | Opcode::Ret => {
                work.extend(operands.iter().filter(|&&value| is_followed(value)));
            }
            Opcode::Call => {
                is_in[index(inst)] = true;
                work.extend(operands.iter().filter(|&&value| is_followed(value)));
            }
            _ => {}
        }
    }
    while let Some(value) = work.pop() {
        let Some(inst) = value.as_inst() else { continue };
        if std::mem::replace(&mut is_in[index(inst)], true) {
            continue;
        }
        work.extend_from_slice(body.operands(inst));
    }
    is_in
}

/// Whether a function has a loop that reads memory which others may change.
fn spins(unit: Unit<'_>) -> bool {
    let body = unit.code.body;
    let reads = |inst: InstId| {
        let data = body.inst(inst);
        let is_watched = |flag| data.flags.contains(flag);
        match data.opcode {
            Opcode::AtomicRmw | Opcode::CmpXchg => true,
            Opcode::Load => is_watched(InstFlags::ATOMIC) || is_watched(InstFlags::VOLATILE),
            _ => false,
        }
    };
    let blocks = unit.code.flow.order().iter();
    let in_cycles = blocks.filter(|&&block| unit.cycles.innermost(node_of(block)).is_some());
    in_cycles.into_iter().any(|&block| body.block_insts(block).any(reads))
}

/// The effect of each call.
fn calls(
    program: Program<'_>,
    code: Code<'_>,
    number: &mut dyn FnMut(GlobalName) -> Option<usize>,
) -> FxHashMap<InstId, Called> {
    let calls = insts(code).filter(|&inst| code.body.inst(inst).opcode.is_call());
    calls.map(|inst| (inst, call(program, code, inst, number))).collect()
}

fn call(
    program: Program<'_>,
    code: Code<'_>,
    inst: InstId,
    number: &mut dyn FnMut(GlobalName) -> Option<usize>,
) -> Called {
    let Some(name) = called(code, inst) else { return unnamed(program, code, inst) };
    let Some(found) = sites::intrinsic(code, inst) else {
        return match number(name) {
            Some(function) => Called::Function(function),
            None if sites_at(code, inst, program.calls).is_empty() => Called::Other,
            None => Called::Lost,
        };
    };
    if let Some(barrier) = found.info.barrier {
        let is_whole = !barrier.partial && barrier.phase == BarrierPhase::Both;
        return match barrier.scope {
            Scope::Wave => Called::Meeting,
            _ if is_whole => Called::Barrier,
            _ => Called::Lost,
        };
    }
    let base = found.base;
    if let Some(register) = register(code, inst, found) {
        return Called::Register(register);
    }
    if found.family == Family::Generic {
        return match base.split('.').next().unwrap_or_default() {
            "memcpy" | "memmove" => Called::Copy { reads: true },
            "memset" => Called::Copy { reads: false },
            "lifetime" | "assume" | "dbg" | "experimental" | "invariant" => Called::Nothing,
            _ => Called::Arithmetic,
        };
    }
    // A fence only orders accesses of one thread.
    if base.contains("membar") || base.contains("fence") {
        return Called::Nothing;
    }
    match found.info.result {
        _ if found.info.convergent => Called::Meeting,
        Transfer::Source(sources) | Transfer::Propagate(sources)
            if !sources.intersects(program_varying(program)) =>
        {
            let is_block = sources.intersects(SourceSet::BLOCK_XYZ);
            if is_block { Called::Block(base) } else { Called::Constant(base) }
        }
        Transfer::Coordinate(Coordinate::Block) => Called::Block(base),
        _ => Called::Other,
    }
}

fn program_varying(program: Program<'_>) -> SourceSet {
    phalanx_target::varying(Scope::Workgroup, program.launch)
}

/// The effect of inline assembly, or of a call through a pointer.
fn unnamed(program: Program<'_>, code: Code<'_>, inst: InstId) -> Called {
    if sites::inline_assembly(code, inst).is_none() {
        return Called::Lost;
    }
    let mut found = Called::Other;
    for site in sites_at(code, inst, program.calls) {
        match site.kind {
            SiteKind::Barrier { barrier, .. } => {
                let is_whole = !barrier.partial && barrier.phase == BarrierPhase::Both;
                found = if is_whole { Called::Barrier } else { Called::Lost };
            }
            SiteKind::Group { .. } => found = Called::Meeting,
            SiteKind::Arguments => {}
            SiteKind::Call(_) | SiteKind::Unknown => return Called::Lost,
        }
    }
    found
}

fn register(
    code: Code<'_>,
    inst: InstId,
    found: phalanx_target::intrinsics::Intrinsic,
) -> Option<Register> {
    let base = found.base;
    let by_argument = || {
        let &axis = code.body.call_args(inst).first()?;
        integer(code, axis).filter(|axis| *axis < 3).map(|axis| axis as usize)
    };
    let axis = |prefix: &str| match base.strip_prefix(prefix)? {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    match found.info.result {
        Transfer::Coordinate(Coordinate::Thread) => return by_argument().map(Register::Thread),
        Transfer::Coordinate(Coordinate::Global) => return by_argument().map(Register::Global),
        _ => {}
    }
    if let Some(axis) = axis("workitem.id.").or_else(|| axis("read.ptx.sreg.tid.")) {
        return Some(Register::Thread(axis));
    }
    if let Some(axis) = axis("read.ptx.sreg.ntid.") {
        return Some(Register::Size(axis));
    }
    match base {
        "get_local_size" | "get_enqueued_local_size" | "__ockl_get_local_size" => {
            by_argument().map(Register::Size)
        }
        "get_local_linear_id" => Some(Register::Linear),
        "read.ptx.sreg.laneid" => Some(Register::Lane),
        "read.ptx.sreg.warpsize" | "wavefrontsize" => Some(Register::Width),
        _ => None,
    }
}

/// The distance that each `getelementptr` adds.
fn all_steps(program: Program<'_>, code: Code<'_>) -> FxHashMap<InstId, Option<Steps>> {
    let mut sizes = TypeSizes::new(code.context, program.layout);
    let geps = insts(code).filter(|&inst| code.body.inst(inst).opcode == Opcode::GetElementPtr);
    let mut steps_of = |inst: InstId| {
        let indices = &code.body.operands(inst)[1..];
        steps(code, program.layout, &mut sizes, code.body.inst(inst).element_type(), indices)
    };
    geps.map(|inst| (inst, steps_of(inst))).collect()
}

/// The distance that indices into a type add.
pub(super) fn steps(
    code: Code<'_>,
    layout: &TypeLayout,
    sizes: &mut TypeSizes<'_>,
    mut ty: Type,
    indices: &[Value],
) -> Option<Steps> {
    let mut steps = Steps::default();
    for (position, &index) in indices.iter().enumerate() {
        let kind = code.context.type_kind(ty);
        let size = match kind {
            _ if position == 0 => sizes.stride(ty)?,
            TypeKind::Array { elem, .. } => {
                ty = *elem;
                sizes.stride(ty)?
            }
            TypeKind::Vector { elem, .. } => {
                ty = *elem;
                sizes.lane_size(ty)?
            }
            TypeKind::Struct { .. } | TypeKind::Named(_) => {
                let field = integer(code, index)? as usize;
                steps.constant += i64::try_from(sizes.member_offset(ty, field)?).ok()?;
                let fields = match kind {
                    TypeKind::Struct { fields, .. } => fields,
                    TypeKind::Named(name) => match layout.body(*name)? {
                        StructBody::Fields { fields, .. } => fields,
                        StructBody::Opaque => return None,
                    },
                    _ => return None,
                };
                ty = *fields.get(field)?;
                continue;
            }
            _ => return None,
        };
        steps.scaled.push((index, i64::try_from(size).ok()?));
    }
    Some(steps)
}
