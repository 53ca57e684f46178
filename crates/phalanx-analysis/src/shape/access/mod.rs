//! What the lanes of a wave touch when they execute a load, a store or an atomic together.
//!
//! The address has a form `thread + rest`, as values have. The flags of its operations are assumed
//! to hold, since an access through a poison address has undefined behaviour. If the atoms of the
//! rest are equal in the wave at the access, the addresses of the lanes differ only by the thread's
//! part. That part is evaluated for the lanes of each wave.
//!
//! | pattern | the lanes' addresses |
//! |---|---|
//! | broadcast | are one |
//! | consecutive | follow each other without a gap |
//! | strided `n` | are `n` bytes apart |
//! | gather | anything |
//!
//! If the extents of workgroups are not known, a wave may contain several rows. Then the pattern
//! holds between lanes of one row ([`Within::Row`]). The same is true if the rest of the address
//! depends on y or z (`a[y * w + x]`).
//!
//! **Indices that wrap.** `a[blockIdx.x * blockDim.x + threadIdx.x]` is computed as an unsigned
//! number of 32 bits, whose lanes are 4 bytes apart unless it wraps in the middle of a wave. The
//! analysis assumes that this does not happen, and [says so](Access::assumes_no_wrap).
//!
//! **Loops.** Take the header of a reducible cycle with one entering edge and one back edge.
//! Threads that are together at the header came over the same edge. So a phi there whose incoming
//! values have the same thread part `t` is `t + rest`, and the rest is equal in the wave if the
//! rests of the incoming values are. The analysis assumes this for all such phis. It drops or
//! weakens assumptions that turn out wrong and repeats, until all hold. There are as many rounds as
//! assumptions that fail one after another.
//!
//! An atom counts as equal in the wave if it is uniform at its definition and the access is in
//! every cycle around the definition. In some cycles threads are assumed to run apart: threads that
//! are together in another block may have come there in different rounds. An atom in such a cycle
//! counts as equal only in its own block.
//!
//! O(instructions) per round of assumptions. For each access, O(lanes of a wave + runs of bytes
//! that they touch * alignments of the base). For each non-linear expression, O(threads of a
//! workgroup). [`AccessUpdater`] updates the answer after an edit.

mod address;
mod lanes;
mod list;
mod loops;
mod nest;
mod readers;
mod touched;
mod update;

use phalanx_core::{affect::Value, divergence::Divergence};
use phalanx_graph::{Cfg, Cycles, Node};
use phalanx_ir::{GlobalName, InstId, Opcode, Type, Value as Operand, flow::node_of};
use phalanx_target::{AddressSpace, SourceSet, SpaceKind};
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::lanes::fewest_sectors;
pub use self::list::Accesses;
pub use self::update::{AccessUpdater, Found};
use self::{lanes::Lanes, loops::LoopReads};
use super::{
    ShapeContext, Shapes, Trust,
    form::{Form, Rest},
};
use crate::code::{Code, Definition, Environment, pointer_space};

/// How the addresses of a wave's lanes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All addresses are equal.
    Broadcast,
    /// By the size of the access.
    Consecutive,
    /// By this many bytes from one lane to the next.
    Strided(i64),
    /// In any way.
    Gather,
}

/// The lanes between which a pattern holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// All lanes of a wave that execute the access together.
    Wave,
    /// Lanes of these with equal y and z. The stride is that from one x to the next.
    Row,
}

/// A load, a store or an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The instruction.
    pub inst: InstId,
    /// The number of bytes that each lane accesses.
    pub size: u32,
    /// The stated alignment, or one.
    pub align: u64,
    /// How addresses differ.
    pub pattern: Pattern,
    /// Between which lanes.
    pub within: Within,
    /// Whether all of this holds only if no index wraps between two lanes. C programs often compute
    /// an index as an unsigned 32-bit number, which is then extended to 64 bits.
    pub assumes_no_wrap: bool,
    /// The number of bytes that the lanes of a full wave access in total.
    pub bytes: Option<u32>,
    /// The largest number of 128-byte segments that a wave touches, if known.
    pub segments: Option<u32>,
    /// The largest number of 32-byte sectors that a wave touches, if known.
    pub sectors: Option<u32>,
    /// For shared memory: the largest number of different words of one bank that are accessed at
    /// once, if known. One means no conflict.
    pub bank_degree: Option<u32>,
}

/// The inputs of the classification.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The function.
    pub code: Code<'a>,
    /// Its environment.
    pub env: Environment<'a>,
    /// Its graph.
    pub cfg: &'a Cfg,
    /// Its cycles.
    pub cycles: &'a Cycles,
    /// Its divergence.
    pub divergence: &'a Divergence,
    /// The alignment of a variable by name; one if unknown.
    pub alignment: &'a dyn Fn(GlobalName) -> u64,
}

/// The accesses of a function, in its order.
#[must_use]
pub fn accesses(facts: Facts<'_>) -> Accesses {
    let mut finder = Finder::new(facts);
    finder.solve_loops();
    Accesses::new(facts.code, |inst| finder.access(inst))
}

/// For some accesses, the offsets in bytes of the lanes of a wave from the first lane, if they are
/// known. They are those of the slowest wave: for workgroup memory, the one with the most words of
/// one bank; otherwise the one with the most sectors.
#[must_use]
pub fn lane_offsets(
    facts: Facts<'_>,
    asked: impl Iterator<Item = InstId>,
) -> Vec<(InstId, Vec<i64>)> {
    let mut finder = Finder::new(facts);
    finder.solve_loops();
    asked.filter_map(|inst| Some((inst, finder.offsets(inst)?))).collect()
}

/// Whether such an instruction accesses memory by an address.
const fn accesses_memory(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Load | Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg)
}

struct Finder<'a> {
    facts: Facts<'a>,
    place: ShapeContext<'a>,
    shapes: Shapes,
    /// Phis that represent the rest of their own form, which is equal in the wave.
    uniform: FxHashSet<Value>,
    /// A cache for the expressions of the shapes.
    lanes: Lanes,
    /// Values that were read since the caller last cleared the list: the result depends on their
    /// instruction, form or divergence.
    read: Vec<Value>,
    /// Alignments of variables that were read.
    alignments: FxHashMap<GlobalName, u64>,
    /// A record of what the loops are solved from, if it is needed for incremental updates.
    of_loops: Option<LoopReads>,
}

impl<'a> Finder<'a> {
    fn new(facts: Facts<'a>) -> Self {
        let shapes = Shapes::new(facts.code, facts.env, Trust::Indices);
        Self::with_shapes(facts, shapes, FxHashSet::default(), Lanes::default())
    }

    /// A finder with retained shapes, loop phis and lanes.
    fn with_shapes(
        facts: Facts<'a>,
        shapes: Shapes,
        uniform: FxHashSet<Value>,
        lanes: Lanes,
    ) -> Self {
        let place = ShapeContext::new(facts.code, facts.env);
        let (read, alignments) = Default::default();
        Finder { facts, place, shapes, uniform, lanes, read, alignments, of_loops: None }
    }

    /// Whether a function of values is equal in a wave at the end of a block.
    fn is_uniform(&mut self, rest: &Rest, at: Node) -> bool {
        self.is_equal(rest, at, self.shapes.varying.in_wave)
    }

    /// Whether it is equal there in threads of a wave that differ only by these sources.
    fn is_equal(&mut self, rest: &Rest, at: Node, varying: SourceSet) -> bool {
        let Facts { cycles, divergence, .. } = self.facts;
        self.read.extend(rest.values());
        rest.values().all(|atom| {
            let is_equal =
                self.uniform.contains(&atom) || !divergence.value(atom).intersects(varying);
            let home = match self.place.numbering.definition(atom) {
                Definition::Argument(_) => None,
                Definition::Inst(inst) => self.facts.code.body.block_of(inst).map(node_of),
            };
            let env = home.and_then(|block| cycles.innermost(block)).filter(|_| home != Some(at));
            let is_near = env.is_none_or(|cycle| {
                let apart = divergence.is_assumed_divergent(cycles, cycle);
                cycles.contains(cycle, at) && !apart.intersects(self.shapes.varying.in_wave)
            });
            is_equal && is_near
        })
    }

    /// The address of an access, and its size. `None` if the instruction does not access memory by
    /// an address.
    fn accessed(&self, inst: InstId) -> Option<(Operand, u32)> {
        let body = self.facts.code.body;
        let data = body.inst(inst);
        let operands = body.operands(inst);
        let (address, ty) = match data.opcode {
            Opcode::Load | Opcode::AtomicRmw => (operands[0], data.ty),
            Opcode::Store => (operands[1], self.type_of(operands[0])?),
            Opcode::CmpXchg => (operands[0], self.type_of(operands[1])?),
            _ => return None,
        };
        Some((address, u32::try_from(self.size(ty, 0)?).ok()?))
    }

    /// The address as a function of the thread and of values that are equal in the wave, and the
    /// number of its significant low bits. `None` if it depends on more.
    fn wave_address(&mut self, inst: InstId, address: Operand) -> Option<(Form, u32)> {
        let at = self.facts.code.body.block_of(inst).map(node_of)?;
        let (form, bits) = self.address(address)?;
        self.is_uniform(&form.rest, at).then_some((form, bits))
    }

    /// See [`lane_offsets`].
    fn offsets(&mut self, inst: InstId) -> Option<Vec<i64>> {
        let (address, size) = self.accessed(inst)?;
        let (form, bits) = self.wave_address(inst, address)?;
        self.slowest_wave((&form, bits), size, self.is_shared(address))
    }

    /// The access of an instruction. `None` if it does not access memory by an address.
    fn access(&mut self, inst: InstId) -> Option<Access> {
        let (address, size) = self.accessed(inst)?;
        let align = self.facts.code.body.inst(inst).mem().align().unwrap_or(1);
        let wave = self.shapes.exprs.geometry().wave();
        let bytes = wave.and_then(|lanes| lanes.checked_mul(size));
        let unknown = Access {
            inst,
            size,
            align,
            pattern: Pattern::Gather,
            within: Within::Wave,
            assumes_no_wrap: false,
            bytes,
            segments: None,
            sectors: None,
            bank_degree: None,
        };
        let at = self.facts.code.body.block_of(inst).map(node_of)?;
        let Some((form, bits)) = self.address(address) else { return Some(unknown) };
        let known = Access { assumes_no_wrap: form.rest.assumes, ..unknown };
        if self.is_uniform(&form.rest, at) {
            let is_shared = self.is_shared(address);
            return Some(self.classify(&form, bits, known, unknown, is_shared));
        }
        let in_row = self.shapes.varying.in_wave - (SourceSet::Y | SourceSet::Z);
        if self.is_equal(&form.rest, at, in_row) {
            return Some(self.classify_rows(&form, bits, known).unwrap_or(unknown));
        }
        Some(unknown)
    }

    /// Whether an address is in workgroup memory, by its type or the type that it was cast from.
    fn is_shared(&self, pointer: Operand) -> bool {
        let body = self.facts.code.body;
        let mut pointer = pointer;
        // In unreachable code an address can be computed from itself.
        for _ in 0..=body.id_count() {
            let space =
                self.type_of(pointer).and_then(|ty| pointer_space(self.facts.code.context, ty));
            let Some(space) = space else { return false };
            let space = AddressSpace::of(self.facts.env.target.architecture(), space);
            if space.kind() != SpaceKind::Generic {
                return space.kind() == SpaceKind::Workgroup;
            }
            let inst = pointer.as_inst();
            match inst.map(|inst| body.inst(inst).opcode) {
                Some(Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast) => {
                    pointer = body.operands(inst.expect("it has an opcode"))[0];
                }
                _ => return false,
            }
        }
        false
    }

    fn type_of(&self, operand: Operand) -> Option<Type> {
        Some(match operand.kind() {
            phalanx_ir::ValueKind::Inst(inst) => self.facts.code.body.inst(inst).ty,
            phalanx_ir::ValueKind::Arg(at) => self.facts.code.header.params[at as usize],
            phalanx_ir::ValueKind::Const(c) => self.facts.code.context.const_data(c).ty,
            _ => return None,
        })
    }
}
