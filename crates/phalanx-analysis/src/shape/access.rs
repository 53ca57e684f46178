//! What the lanes of a wave touch when they execute a load, a store or an atomic together.
//!
//! The address is written as `thread + rest`, as values are, with the flags of its operations taken for granted: an address that
//! is poison must not be used. If the atoms of the rest are equal in the wave where the access is, the lanes' addresses
//! differ by the thread's part alone, which is evaluated for the lanes of each wave.
//!
//! | pattern | the lanes' addresses |
//! |---|---|
//! | broadcast | are one |
//! | consecutive | follow each other without a gap |
//! | strided `n` | are `n` bytes apart |
//! | gather | anything |
//!
//! Where the extents of workgroups are not known, a wave may run across rows; then what is said holds between lanes of one row.
//!
//! **Loops.** The header of a reducible cycle that is entered by one edge and repeated by one: threads that are together there came by
//! the same edge. So a phi there whose incoming values have the same thread's part `t` is `t + rest`, where the rest is equal in
//! the wave if those of the incoming values are. That is assumed of all such phis, and given up where it turns out wrong, until
//! nothing does; there are as many rounds as assumptions fail one after the other.
//!
//! An atom counts as equal in the wave if it is so where it is defined and no cycle around it has been left since.
//!
//! O(instructions) per round, and for each access lanes of a wave times alignments of its base.

use phalanx_graph::{Cfg, Cycles, Node};
use phalanx_ir::{
    InstId, Opcode, StructName, Type, TypeKind, Value as Operand, data_layout::DataLayout,
    flow::node_of, layout::StructBodies, types::StructBody,
};
use phalanx_target::{AddressSpace, SourceSet, SpaceKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Place, Shapes, Trust, algebra, banks,
    form::{Form, Rest},
};
use crate::{
    affect::Value,
    divergence::Divergence,
    lower::{Code, Definition, Surroundings, pointer_space},
};

/// How the addresses of a wave's lanes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// They do not.
    Broadcast,
    /// By the size of what each lane accesses.
    Consecutive,
    /// By this many bytes from one lane to the next.
    Strided(i64),
    /// In any way.
    Gather,
}

/// Between which lanes a pattern holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// All of a wave that execute the access together.
    Wave,
    /// Those of them that have y and z in common; the stride is that from one x to the next.
    Row,
}

/// A load, a store or an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The instruction.
    pub inst: InstId,
    /// Bytes that each lane accesses.
    pub size: u32,
    /// The stated alignment, one if none is.
    pub align: u64,
    /// How addresses differ.
    pub pattern: Pattern,
    /// Between which lanes.
    pub within: Within,
    /// Bytes that the lanes of a full wave access, all together.
    pub bytes: Option<u32>,
    /// Segments of 128 bytes that one wave touches at most, if that is known.
    pub segments: Option<u32>,
    /// The same for sectors of 32 bytes.
    pub sectors: Option<u32>,
    /// Of shared memory: how many words of one bank are asked for at once, at most, if that is known. One is no conflict.
    pub bank_degree: Option<u32>,
}

/// What classification needs to know.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The function.
    pub code: Code<'a>,
    /// What is around it.
    pub around: Surroundings<'a>,
    /// Sizes of types.
    pub layout: &'a DataLayout,
    /// Bodies of structures.
    pub structs: &'a [(StructName, StructBody)],
    /// Its graph.
    pub cfg: &'a Cfg,
    /// Its cycles.
    pub cycles: &'a Cycles,
    /// What varies.
    pub divergence: &'a Divergence,
}

/// The accesses of a function, in its order.
#[must_use]
pub fn accesses(facts: Facts<'_>) -> Vec<Access> {
    let mut finder = Finder::new(facts);
    let body = facts.code.body;
    let order = facts.code.flow.order();
    let insts = order.iter().flat_map(|&block| body.block_insts(block));
    insts.filter_map(|inst| finder.access(inst)).collect()
}

struct Structs<'a>(&'a [(StructName, StructBody)]);

impl StructBodies for Structs<'_> {
    fn body(&self, name: StructName) -> Option<&StructBody> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, body)| body)
    }
}

/// What became of an assumption on a phi.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Holds,
    /// Holds in the arithmetic of the width, but perhaps not of integers.
    Wraps,
    Fails,
}

struct Finder<'a> {
    facts: Facts<'a>,
    place: Place<'a>,
    shapes: Shapes,
    /// Phis that stand for the rest of their form, which is equal in the wave.
    uniform: FxHashSet<Value>,
}

impl<'a> Finder<'a> {
    fn new(facts: Facts<'a>) -> Self {
        let place = Place::new(facts.code, facts.around);
        let shapes = Shapes::new(facts.code, facts.around, Trust::Flags);
        let mut finder = Finder { facts, place, shapes, uniform: FxHashSet::default() };
        finder.solve_loops();
        finder
    }

    /// Finds phis of loops whose incoming values differ by what is equal in the wave.
    fn solve_loops(&mut self) {
        if !self.facts.cycles.all_reducible() {
            return;
        }
        let mut assumed = self.candidates();
        while !assumed.is_empty() {
            let mut shapes = Shapes::with_phis(self.place, Trust::Flags, assumed.clone());
            // What is assumed speaks of expressions that are known already.
            std::mem::swap(&mut shapes.exprs, &mut self.shapes.exprs);
            self.shapes = shapes;
            let numbering = self.place.numbering;
            self.uniform = assumed.keys().map(|&phi| numbering.inst(phi)).collect();
            let phis: Vec<InstId> = assumed.keys().copied().collect();
            let outcome: Vec<Outcome> =
                phis.iter().map(|&phi| self.outcome(phi, &assumed[&phi])).collect();
            if outcome.iter().all(|outcome| *outcome == Outcome::Holds) {
                return;
            }
            for (phi, outcome) in phis.into_iter().zip(outcome) {
                match (outcome, assumed.get_mut(&phi)) {
                    (Outcome::Wraps, Some(form)) => form.is_signed = false,
                    (Outcome::Fails, _) => drop(assumed.remove(&phi)),
                    _ => {}
                }
            }
        }
        self.shapes = Shapes::new(self.facts.code, self.facts.around, Trust::Flags);
        self.uniform.clear();
    }

    /// Phis of headers with one entry and one repetition, with the thread's part of what comes in from outside.
    fn candidates(&mut self) -> FxHashMap<InstId, Form> {
        let Facts { code, cfg, cycles, .. } = self.facts;
        let mut found = FxHashMap::default();
        for &block in code.flow.order() {
            let node = node_of(block);
            if !cycles.is_header(node) || cfg.predecessors(node).len() != 2 {
                continue;
            }
            for phi in code.body.phis(block) {
                let Some(width) = self.place.width(code.body.inst(phi).ty) else { continue };
                let entry =
                    code.body.phi_incoming(phi).find(|&(_, from)| !self.is_inside(node, from));
                let Some((value, _)) = entry else { continue };
                let Some(form) = self.shapes.operand(self.place, value, width) else { continue };
                if self.shapes.exprs.indices(form.thread).is_empty() {
                    continue;
                }
                let rest = Rest::atom(self.place.numbering.inst(phi), 0);
                let form = Form { rest, is_unsigned: false, ..form };
                found.insert(phi, form);
            }
        }
        found
    }

    fn is_inside(&self, header: Node, block: phalanx_ir::BlockId) -> bool {
        let cycle = self.facts.cycles.innermost(header);
        cycle.is_some_and(|cycle| self.facts.cycles.contains(cycle, node_of(block)))
    }

    /// Whether both incoming values have the thread's part that is assumed, and a rest that is equal in the wave.
    fn outcome(&mut self, phi: InstId, assumed: &Form) -> Outcome {
        let body = self.facts.code.body;
        let Some(width) = self.place.width(body.inst(phi).ty) else { return Outcome::Fails };
        let mut outcome = Outcome::Holds;
        for (value, from) in body.phi_incoming(phi) {
            let Some(form) = self.shapes.operand(self.place, value, width) else {
                return Outcome::Fails;
            };
            // A constant more is one of the rest.
            let difference = self.shapes.exprs.binary(Opcode::Sub, form.thread, assumed.thread);
            let is_same = difference.is_some_and(|d| self.shapes.exprs.constant_value(d).is_some());
            if !is_same || !self.is_uniform(&form.rest, node_of(from)) {
                return Outcome::Fails;
            }
            if assumed.is_signed && !form.is_signed {
                outcome = Outcome::Wraps;
            }
        }
        outcome
    }

    /// Whether a function of values is equal in a wave at the end of a block.
    fn is_uniform(&self, rest: &Rest, at: Node) -> bool {
        let Facts { cycles, divergence, .. } = self.facts;
        rest.values().all(|atom| {
            let is_equal = self.uniform.contains(&atom)
                || !divergence.value(atom).intersects(self.shapes.in_wave);
            let home = match self.place.numbering.definition(atom) {
                Definition::Argument(_) => None,
                Definition::Inst(inst) => self.facts.code.body.block_of(inst).map(node_of),
            };
            let is_near = home
                .and_then(|block| cycles.innermost(block))
                .is_none_or(|cycle| cycles.contains(cycle, at));
            is_equal && is_near
        })
    }

    /// What an instruction accesses; none if it accesses no memory by an address.
    fn access(&mut self, inst: InstId) -> Option<Access> {
        let body = self.facts.code.body;
        let data = body.inst(inst);
        let operands = body.operands(inst);
        let (address, ty) = match data.opcode {
            Opcode::Load => (operands[0], data.ty),
            Opcode::Store => (operands[1], self.type_of(operands[0])?),
            Opcode::AtomicRmw => (operands[0], data.ty),
            Opcode::CmpXchg => (operands[0], self.type_of(operands[1])?),
            _ => return None,
        };
        let size = u32::try_from(self.size(ty, 0)?).ok()?;
        let align = data.mem().align().unwrap_or(1);
        let wave = self.shapes.exprs.geometry().wave();
        let bytes = wave.and_then(|lanes| lanes.checked_mul(size));
        let unknown = Access {
            inst,
            size,
            align,
            pattern: Pattern::Gather,
            within: Within::Wave,
            bytes,
            segments: None,
            sectors: None,
            bank_degree: None,
        };
        let at = body.block_of(inst).map(node_of)?;
        let Some(form) = self.address(address).filter(|form| self.is_uniform(&form.rest, at))
        else {
            return Some(unknown);
        };
        let is_shared = self.is_shared(address);
        Some(self.classify(&form, unknown, is_shared))
    }

    /// Whether an address is one of the workgroup's memory, by its type or what it was cast from.
    fn is_shared(&self, pointer: Operand) -> bool {
        let body = self.facts.code.body;
        let mut pointer = pointer;
        loop {
            let space =
                self.type_of(pointer).and_then(|ty| pointer_space(self.facts.code.context, ty));
            let Some(space) = space else { return false };
            let space = AddressSpace::of(self.facts.around.target.architecture(), space);
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
    }

    fn classify(&self, form: &Form, unknown: Access, is_shared: bool) -> Access {
        let exprs = &self.shapes.exprs;
        let varying = exprs.indices(form.thread) & self.shapes.in_wave;
        if let Some(waves) = exprs.geometry().waves(exprs.indices(form.thread)) {
            return classify_waves(self, form, &waves, unknown, is_shared);
        }
        let Some((coefs, _)) = exprs.linear(form.thread) else { return unknown };
        let pattern = |stride: i64| match stride {
            0 => Pattern::Broadcast,
            n if n == i64::from(unknown.size) => Pattern::Consecutive,
            n => Pattern::Strided(n),
        };
        if varying.is_empty() {
            return Access { pattern: Pattern::Broadcast, ..unknown };
        }
        if SourceSet::LANE.contains(varying) {
            return Access { pattern: pattern(coefs[3]), ..unknown };
        }
        if (SourceSet::THREAD_XYZ).contains(varying) {
            // Rows are whole waves where neither y nor z varies in one.
            let of_wave = self.shapes.in_wave;
            let within = match of_wave.intersects(SourceSet::Y | SourceSet::Z) {
                true => Within::Row,
                false => Within::Wave,
            };
            return Access { pattern: pattern(coefs[0]), within, ..unknown };
        }
        unknown
    }

    fn type_of(&self, operand: Operand) -> Option<Type> {
        Some(match operand.kind() {
            phalanx_ir::ValueKind::Inst(inst) => self.facts.code.body.inst(inst).ty,
            phalanx_ir::ValueKind::Arg(at) => self.facts.code.header.params[at as usize],
            phalanx_ir::ValueKind::Const(c) => self.facts.code.context.const_data(c).ty,
            _ => return None,
        })
    }

    /// The address as a function of the thread and of what is not: base and offsets in 64 bits.
    fn address(&mut self, pointer: Operand) -> Option<Form> {
        let body = self.facts.code.body;
        let zero = self.shapes.exprs.constant(0, 64);
        let mut sum =
            Form { thread: zero, rest: Rest::default(), is_signed: true, is_unsigned: true };
        let mut pointer = pointer;
        loop {
            let inst = pointer.as_inst();
            match inst.map(|inst| body.inst(inst).opcode) {
                Some(Opcode::GetElementPtr) => {
                    let inst = inst?;
                    sum = self.plus_indices(sum, inst)?;
                    pointer = body.operands(inst)[0];
                }
                // Windows of the generic space are at addresses that are equal in the wave.
                Some(Opcode::AddrSpaceCast | Opcode::BitCast) => {
                    pointer = body.operands(inst?)[0];
                }
                _ => break,
            }
        }
        if pointer.as_const().is_some() {
            return Some(sum);
        }
        let base = Rest::atom(self.place.numbering.operand(pointer)?, 0);
        let rest = sum.rest.plus(&base, 1, u64::MAX)?;
        Some(Form { rest, ..sum })
    }

    /// The sum with the offset that an address computation adds.
    fn plus_indices(&mut self, mut sum: Form, gep: InstId) -> Option<Form> {
        let body = self.facts.code.body;
        let operands = body.operands(gep);
        let structs = Structs(self.facts.structs);
        let mut ty = body.inst(gep).element_type();
        for (number, &index) in operands[1..].iter().enumerate() {
            let stride = if number == 0 {
                self.alloc_size(ty, 0)?
            } else {
                match self.facts.code.context.type_kind(ty).clone() {
                    TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => {
                        ty = elem;
                        self.alloc_size(ty, 0)?
                    }
                    TypeKind::Struct { packed, fields } => {
                        let field = self.constant(index)? as usize;
                        let offset = self.offset(packed, &fields, field)?;
                        ty = *fields.get(field)?;
                        sum = self.plus_constant(sum, offset)?;
                        continue;
                    }
                    TypeKind::Named(name) => {
                        let StructBody::Fields { packed, fields } = structs.body(name)? else {
                            return None;
                        };
                        let field = self.constant(index)? as usize;
                        let offset = self.offset(*packed, fields, field)?;
                        ty = *fields.get(field)?;
                        sum = self.plus_constant(sum, offset)?;
                        continue;
                    }
                    _ => return None,
                }
            };
            let width = self.place.width(self.type_of(index)?)?;
            let form = self.shapes.operand(self.place, index, width)?;
            let wide = match width {
                64 => form,
                _ => algebra::sign_extended(&mut self.shapes, &form, width, 64)
                    // The index is its own atom, then.
                    .or_else(|| self.opaque(index))?,
            };
            sum = algebra::plus_scaled(&mut self.shapes, &sum, &wide, stride)?;
        }
        Some(sum)
    }

    fn opaque(&mut self, index: Operand) -> Option<Form> {
        let thread = self.shapes.exprs.constant(0, 64);
        let rest = Rest::atom(self.place.numbering.operand(index)?, 0);
        Some(Form { thread, rest, is_signed: false, is_unsigned: false })
    }

    fn plus_constant(&mut self, sum: Form, offset: u64) -> Option<Form> {
        let offset = self.shapes.exprs.constant(offset, 64);
        let thread = self.shapes.exprs.binary(Opcode::Add, sum.thread, offset)?;
        Some(Form { thread, ..sum })
    }

    fn constant(&self, index: Operand) -> Option<u64> {
        super::ids::integer(self.place, index.as_const()?)
    }

    /// Bytes of a type in memory. None where types nest deep.
    fn size(&self, ty: Type, depth: u8) -> Option<u64> {
        if depth > 8 {
            return None;
        }
        let context = self.facts.code.context;
        let structs = Structs(self.facts.structs);
        match context.type_kind(ty) {
            TypeKind::Array { elem, len } => self.alloc_size(*elem, depth + 1)?.checked_mul(*len),
            TypeKind::Struct { packed, fields } => self.end(*packed, fields, depth),
            TypeKind::Named(name) => match structs.body(*name)? {
                StructBody::Fields { packed, fields } => self.end(*packed, fields, depth),
                StructBody::Opaque => None,
            },
            _ => self.facts.layout.store_size(context, ty),
        }
    }

    /// Bytes from one element of a type to the next.
    fn alloc_size(&self, ty: Type, depth: u8) -> Option<u64> {
        let structs = Structs(self.facts.structs);
        let align = self.facts.layout.abi_align(self.facts.code.context, &structs, ty)?;
        self.size(ty, depth)?.checked_next_multiple_of(align.max(1))
    }

    fn offset(&self, packed: bool, fields: &[Type], field: usize) -> Option<u64> {
        self.layout(packed, fields, field, 0).map(|(offset, _)| offset)
    }

    fn end(&self, packed: bool, fields: &[Type], depth: u8) -> Option<u64> {
        match fields.len().checked_sub(1) {
            Some(last) => self.layout(packed, fields, last, depth).map(|(_, end)| end),
            None => Some(0),
        }
    }

    /// Where a field starts and ends.
    fn layout(&self, packed: bool, fields: &[Type], field: usize, depth: u8) -> Option<(u64, u64)> {
        let structs = Structs(self.facts.structs);
        let (mut start, mut end) = (0u64, 0u64);
        for &ty in fields.get(..=field)? {
            let align = self.facts.layout.abi_align(self.facts.code.context, &structs, ty)?;
            start = if packed { end } else { end.checked_next_multiple_of(align.max(1))? };
            end = start.checked_add(self.alloc_size(ty, depth + 1)?)?;
        }
        Some((start, end))
    }
}

/// The pattern where the lanes of each wave are known, and how many segments they touch.
fn classify_waves(
    finder: &Finder<'_>,
    Form { thread, rest, .. }: &Form,
    waves: &[Vec<super::geometry::Thread>],
    unknown: Access,
    is_shared: bool,
) -> Access {
    let exprs = &finder.shapes.exprs;
    let mut offsets: Vec<Vec<i64>> = Vec::new();
    for wave in waves {
        let lanes: Option<Vec<i64>> =
            wave.iter().map(|&lane| exprs.value(*thread, lane).map(|v| v as i64)).collect();
        match lanes {
            Some(lanes) => offsets.push(lanes),
            None => return unknown,
        }
    }
    let mut stride = None;
    let is_regular = offsets.iter().all(|lanes| {
        lanes.windows(2).all(|pair| {
            let step = pair[1].wrapping_sub(pair[0]);
            *stride.get_or_insert(step) == step
        })
    });
    let pattern = match stride.unwrap_or(0) {
        _ if !is_regular => Pattern::Gather,
        0 => Pattern::Broadcast,
        n if n == i64::from(unknown.size) => Pattern::Consecutive,
        n => Pattern::Strided(n),
    };
    // Waves that look the same touch as much.
    offsets.iter_mut().for_each(|lanes| {
        let base = lanes[0].div_euclid(128).wrapping_mul(128);
        lanes.iter_mut().for_each(|offset| *offset = offset.wrapping_sub(base));
    });
    let most = |segment: u64| {
        let mut seen = FxHashSet::default();
        let distinct = offsets.iter().filter(|lanes| seen.insert((*lanes).clone()));
        distinct.map(|lanes| touched(lanes, rest, unknown.size, unknown.align, segment)).max()
    };
    // The base is as aligned as what the rest is a multiple of, and an address as is stated.
    let is_aligned = offsets.iter().flatten().all(|offset| offset.rem_euclid(4) == 0);
    let of_rest = alignment(rest);
    let align = if is_aligned { of_rest.max(unknown.align) } else { of_rest };
    let degrees = || offsets.iter().map(|lanes| banks::degree(lanes, unknown.size, align)).max();
    let bank_degree = if is_shared { degrees() } else { None };
    Access { pattern, segments: most(128), sectors: most(32), bank_degree, ..unknown }
}

/// What the base of an address is a multiple of. Nobody knows where a global is.
fn alignment(rest: &Rest) -> u64 {
    match rest.is_none() {
        true => 1,
        false => 1u64.checked_shl(rest.zeros.into()).unwrap_or(1 << 63),
    }
}

/// The largest number of segments that lanes at these offsets can touch, wherever the rest of the address puts them.
fn touched(lanes: &[i64], rest: &Rest, size: u32, align: u64, segment: u64) -> u32 {
    counts(lanes, alignment(rest), size, align, segment).max().unwrap_or(0)
}

/// The smallest number of sectors of 32 bytes that lanes at these offsets can touch, from any base for which their addresses are aligned.
#[must_use]
pub fn fewest_sectors(lanes: &[i64], size: u32, align: u64) -> u32 {
    counts(lanes, 1, size, align, 32).min().unwrap_or(0)
}

/// How many segments lanes at these offsets touch, for each base that is a multiple of `step` and aligns the first of them.
fn counts(
    lanes: &[i64],
    step: u64,
    size: u32,
    align: u64,
    segment: u64,
) -> impl Iterator<Item = u32> {
    let align = align.clamp(1, segment);
    // Addresses are as aligned as they must be.
    let is_aligned = move |base: &u64| {
        lanes.first().is_some_and(|&lane| base.wrapping_add(lane as u64).is_multiple_of(align))
    };
    let bases = (0..segment).step_by(step.min(segment) as usize).filter(is_aligned);
    bases.map(move |base| {
        let mut found: Vec<u64> = Vec::with_capacity(lanes.len());
        for &offset in lanes {
            let first = base.wrapping_add(offset as u64);
            let last = first.wrapping_add(u64::from(size).saturating_sub(1));
            found.extend((first / segment..=last / segment).take(4096));
        }
        found.sort_unstable();
        found.dedup();
        found.len() as u32
    })
}
