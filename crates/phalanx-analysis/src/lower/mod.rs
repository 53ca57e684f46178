//! From a function of the IR to the [`ValueTable`] that the divergence analysis reads.
//!
//! What an instruction contributes is decided by a set of [`Rules`]: [`full`] says what we hold to be true, [`llvm`] what
//! LLVM 22 takes for granted. Everything else, the numbering, phis, uses, terminators, is the same for both and is
//! here. O(instructions + operands).
//!
//! Names, metadata and debug records are not part of [`Code`], so no analysis can depend on them.

mod assembly;
mod calls;
mod families;
mod full;
mod library;
mod llvm;
mod numbering;
mod private;
mod results;
mod single;
mod update;

use phalanx_graph::Node;
use phalanx_ir::{
    Body, Const, Context, Flow, FunctionHeader, GlobalName, InstId, LocalMetadataId, Opcode,
    Symbol, Type, ValueKind, attributes::AttrList, constant::ConstKind, flow::node_of,
    metadata::MetadataId,
};
use phalanx_target::{LaunchFacts, SourceSet};

pub use assembly::read_assembly;
#[cfg(any(test, feature = "testing"))]
pub use families::full_without_part;
pub use families::{Family, OmittedPart, full_without_family};
pub use full::FullRules;
pub use library::Library;
pub use llvm::LlvmRules;
pub use numbering::{Definition, NotThere, Numbering};
use private::PartRows;
pub(crate) use private::{MemoryRows, RowNumbers};
pub use private::{MemoryVersion, OmittedRead, VersionBy};
pub(crate) use single::Single;
pub use update::Neighbours;
pub(crate) use update::Restated;

use crate::{
    affect::Value,
    divergence::{self, Incoming, PhiKey, Transfer, ValueTable, ValueTableBuilder},
    memory::{Looked, PrivateMemory, TypeLayout},
    shape::{self, Shapes},
    summary::CallFacts,
};

/// The parts of a function that analyses may read.
#[derive(Copy, Clone, Debug)]
pub struct Code<'a> {
    /// Interned types, constants, names.
    pub context: &'a Context,
    /// Type, convention, attributes.
    pub header: &'a FunctionHeader,
    /// Blocks and successors.
    pub flow: &'a Flow,
    /// Instructions.
    pub body: &'a Body,
    /// Functions that the module declares, and that are known by name.
    pub library: &'a Library,
}

/// What is known about the surroundings of a function.
#[derive(Copy, Clone)]
pub struct Surroundings<'a> {
    /// The target.
    pub target: &'a phalanx_target::Target,
    /// Sizes of types.
    pub layout: &'a TypeLayout,
    /// What is known of launches.
    pub launch: &'a LaunchFacts,
    /// Whether converged threads of a wave execute each instruction at one moment.
    pub lockstep: bool,
    /// Whether private memory has addresses of its own in the generic space, different for each lane.
    pub scratch_is_global: bool,
    /// Whether lanes of a wave of 64 are permuted within halves of it, or may be.
    pub permutes_halves: bool,
    /// Attributes of a function of the module, by name.
    pub callee: &'a dyn Fn(GlobalName) -> Option<AttrList>,
    /// What is known of functions that are called, and of those that call.
    pub calls: &'a dyn CallFacts,
    /// The string in a metadata node of the module, where that is all it holds.
    pub node_string: &'a dyn Fn(MetadataId) -> Option<Symbol>,
}

/// What the definition of a value is to the analysis.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    /// Sources, transfer and purity. The transfer of an image is in `image`.
    definition: divergence::Definition,
    /// What each source of an operand becomes, by bit number, where that is not itself.
    image: Option<[SourceSet; SourceSet::COUNT]>,
    /// Which operands count.
    reads: Reads,
}

impl Rule {
    const fn new(definition: divergence::Definition) -> Rule {
        Rule { definition, image: None, reads: Reads::All }
    }

    /// A pure function of its operands.
    const PURE: Rule = Rule::new(divergence::Definition::PURE);
    /// Depends on its operands; may give another result each time.
    const IMPURE: Rule = Rule::new(divergence::Definition::IMPURE);
}

/// Which operands of which instruction a definition depends on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// All of its own.
    All,
    /// Its own whose bit is set; operands from 64 on count always.
    Some(u64),
    /// As `Some`, of another instruction: a member of a call's result depends on the call's operands.
    Of(InstId, u64),
    /// These values, whatever the operands are.
    Values([Option<Value>; shape::ATOMS]),
}

/// What a terminator is to the analysis, its operands aside.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum TerminatorRule {
    /// Goes where its operands say.
    Operands,
    /// Goes one way for all threads.
    Fixed,
    /// Depends on these sources as well.
    Source(SourceSet),
}

/// What instructions and arguments contribute.
pub(crate) trait Rules {
    /// Whether every instruction with this opcode is [`Rule::PURE`], here at least. Most are, and are not asked about further.
    fn is_plain(&self, opcode: Opcode) -> bool;
    /// Of an argument.
    fn argument(&mut self, position: u32) -> divergence::Definition;
    /// Of an instruction other than a phi.
    fn inst(&mut self, inst: InstId) -> Rule;
    /// The first incoming value of a phi that is known to be equal to the one at this position.
    fn representative(&mut self, _phi: InstId, position: usize) -> usize {
        position
    }
    /// Of the terminator of a block.
    fn terminator(&mut self, inst: InstId) -> TerminatorRule;
}

/// Tables for what we hold to be true.
#[must_use]
pub fn full(code: Code<'_>, around: Surroundings<'_>) -> ValueTable {
    lower(code, &mut FullRules::new(code, around))
}

/// As [`full`], with what loads from private memory give. The values that stand for versions of memory come after so many
/// numbers that are left out.
#[must_use]
pub fn full_with(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
    unused: usize,
) -> ValueTable {
    with_rows(code, around, (memory, None), unused).0
}

/// The same without something that loads depend on: a negative control.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn full_without(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
    omitted: OmittedRead,
) -> ValueTable {
    with_rows(code, around, (memory, Some(omitted)), 0).0
}

/// The same, with what is needed to bring it up to date: what the versions of memory are, and the shapes that were looked at.
pub(crate) fn full_and_rows(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
    unused: usize,
) -> (ValueTable, MemoryRows, Box<Shapes>) {
    let mut rules = FullRules::new(code, around).with_memory(Looked::Whole(memory));
    let (table, rows) = with_rules(code, &mut rules, (memory, None), unused);
    (table, rows, rules.into_shapes())
}

/// Values of a table made by [`full_through`].
#[derive(Clone, Debug, Default)]
pub(crate) struct PointeeValues {
    /// Slot of what an argument points to, and what it holds when the function is entered.
    pub(crate) entries: Vec<(u32, Value)>,
    /// Argument, and a value that everything depends on that is loaded through it.
    pub(crate) loaded: Vec<(u32, Value)>,
    /// Slot, and what it holds where the function returns.
    pub(crate) exits: Vec<(u32, Value)>,
}

/// As [`full_with`], of memory [with pointees](PrivateMemory::with_pointees). Answers tell of versions of memory as of other values.
pub(crate) fn full_through(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
) -> (ValueTable, PointeeValues) {
    let (table, rows) = with_rows(code, around, (memory, None), 0);
    let first = table.memory().map_or(0, |memory| memory.first as usize);
    (table.with_memory_reported(), rows.pointees(first))
}

/// As [`full_through`], and what the values are that stand for versions of memory, in the order of their numbers.
pub(crate) fn full_through_and_versions(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
) -> (ValueTable, PointeeValues, Vec<MemoryVersion>) {
    let (table, rows) = with_rows(code, around, (memory, None), 0);
    let first = table.memory().map_or(0, |memory| memory.first as usize);
    (table.with_memory_reported(), rows.pointees(first), rows.versions(first))
}

/// What the values are, in the order of their numbers, that stand for versions of memory in a table made by [`full_with`] with no unused
/// numbers. O(one lowering).
#[must_use]
pub fn memory_versions(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
) -> Vec<MemoryVersion> {
    let (table, rows) = with_rows(code, around, (memory, None), 0);
    table.memory().map_or_else(Vec::new, |memory| rows.versions(memory.first as usize))
}

/// As [`full_with`] with no unused numbers, with a value more for each of these arguments of calls:
/// what is in the private object that it is an address of. None where that is not known. Answers
/// tell of versions of memory as of other values.
pub(crate) fn full_with_contents(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
    passed: &[(InstId, u32)],
) -> (ValueTable, Vec<Option<Value>>) {
    let mut rules = FullRules::new(code, around).with_memory(Looked::Whole(memory));
    let Some(entry) = code.flow.entry().map(node_of).filter(|_| !memory.is_empty()) else {
        return (lower(code, &mut rules), vec![None; passed.len()]);
    };
    let mut table = lower_open(code, &mut rules);
    let (rows, numbers) = MemoryRows::with_contents(code, &rules, memory, passed);
    rows.add_to(&mut table, Numbering::new(code.header), entry, 0);
    let table = table.finish();
    let first = table.memory().map_or(0, |memory| memory.first as usize);
    let value = |row: u32| Value::new(first + row as usize);
    let values = numbers.into_iter().map(|row| row.map(value)).collect();
    (table.with_memory_reported(), values)
}

fn with_rows(
    code: Code<'_>,
    around: Surroundings<'_>,
    (memory, omitted): (&PrivateMemory, Option<OmittedRead>),
    unused: usize,
) -> (ValueTable, MemoryRows) {
    let mut rules = FullRules::new(code, around).with_memory(Looked::Whole(memory));
    with_rules(code, &mut rules, (memory, omitted), unused)
}

fn with_rules(
    code: Code<'_>,
    rules: &mut FullRules<'_>,
    (memory, omitted): (&PrivateMemory, Option<OmittedRead>),
    unused: usize,
) -> (ValueTable, MemoryRows) {
    let Some(entry) = code.flow.entry().map(node_of).filter(|_| !memory.is_empty()) else {
        return (lower(code, rules), MemoryRows::default());
    };
    let mut table = lower_open(code, rules);
    let rows = MemoryRows::new(code, rules, memory, omitted);
    rows.add_to(&mut table, Numbering::new(code.header), entry, unused);
    (table.finish(), rows)
}

/// Tables for what LLVM 22 takes for granted: its sources, its always-uniform values.
#[must_use]
pub fn as_llvm(code: Code<'_>, around: Surroundings<'_>) -> ValueTable {
    lower(code, &mut LlvmRules::new(code, around, false))
}

/// As [`as_llvm`], with what LLVM forgets: results of `invoke`, which it takes for a source but whose users it does not look at.
#[must_use]
pub fn as_exact_llvm(code: Code<'_>, around: Surroundings<'_>) -> ValueTable {
    lower(code, &mut LlvmRules::new(code, around, true))
}

/// One pass over the blocks in order: definitions, uses, phis and terminators. `rules` is a type of its own so that the
/// common case, a pure function of all operands, costs no call.
fn lower<R: Rules>(code: Code<'_>, rules: &mut R) -> ValueTable {
    lower_open(code, rules).finish()
}

/// As [`lower`]; more can be added.
fn lower_open<R: Rules>(code: Code<'_>, rules: &mut R) -> ValueTableBuilder {
    let Code { context, header, flow, body, .. } = code;
    let numbering = Numbering::new(header);
    let values = header.params.len() + body.id_count();
    let Some(entry) = flow.entry().map(node_of) else {
        return ValueTableBuilder::new(flow.id_count());
    };
    let mut table = ValueTableBuilder::with_values(flow.id_count(), values, entry);
    for position in 0..header.params.len() as u32 {
        table.define(numbering.argument(position), entry, rules.argument(position));
    }
    let mut seen = 0;
    for &block in flow.order() {
        let node = node_of(block);
        for inst in body.block_insts(block) {
            seen += 1;
            let opcode = body.inst(inst).opcode;
            let user = numbering.inst(inst);
            if rules.is_plain(opcode) {
                table.define_pure(user, node);
                for operand in body.operands(inst).iter().filter_map(|&o| numbering.operand(o)) {
                    table.operand(operand, user);
                }
                continue;
            }
            if opcode == Opcode::Phi {
                table.define_phi(user, node, divergence::Definition::PURE);
                incoming(context, body, numbering, rules, inst, |entry| {
                    table.incoming(user, entry);
                });
                continue;
            }
            if has_operands(opcode) {
                let reads = define(&mut table, rules, body, inst, (user, node));
                operands(body, numbering, inst, reads, |operand| table.operand(operand, user));
            } else {
                table.define(user, node, divergence::Definition::IMPURE);
            }
            if opcode.is_terminator() {
                match rules.terminator(inst) {
                    TerminatorRule::Fixed => {
                        table.fix_terminator(node);
                        continue;
                    }
                    TerminatorRule::Source(sources) => table.seed_terminator(node, sources),
                    TerminatorRule::Operands => {}
                }
                let operands = body.operands(inst).iter();
                operands
                    .filter_map(|&operand| numbering.operand(operand))
                    .for_each(|operand| table.terminator_operand(operand, node));
            }
        }
    }
    if seen < body.id_count() {
        define_unlisted(&mut table, rules, code);
    }
    table
}

/// States the definition of an instruction that is no phi; what it reads.
#[inline(always)]
fn define<R: Rules>(
    table: &mut ValueTableBuilder,
    rules: &mut R,
    body: &Body,
    inst: InstId,
    (value, block): (Value, Node),
) -> Reads {
    let rule = rule_of(body, rules, inst);
    let mut definition = rule.definition;
    if let Some(image) = rule.image {
        definition.transfer = table.image(image);
    }
    table.define(value, block, definition);
    rule.reads
}

/// Definitions of instructions in blocks that are not listed in the order. Nobody executes them, so uses do not count.
#[cold]
fn define_unlisted<R: Rules>(table: &mut ValueTableBuilder, rules: &mut R, code: Code<'_>) {
    let Code { header, flow, body, .. } = code;
    let numbering = Numbering::new(header);
    let mut is_listed = vec![false; flow.id_count()];
    for &block in flow.order() {
        is_listed[node_of(block).index()] = true;
    }
    for inst in body.all_ids() {
        let Some(block) = body.block_of(inst).map(node_of) else { continue };
        if is_listed[block.index()] {
            continue;
        }
        let value = numbering.inst(inst);
        if body.inst(inst).opcode == Opcode::Phi {
            table.define_phi(value, block, divergence::Definition::PURE);
        } else {
            define(table, rules, body, inst, (value, block));
        }
    }
}

/// What the definition of an instruction is that is no phi. The transfer of an image is in `image`.
#[inline(always)]
fn rule_of<R: Rules + ?Sized>(body: &Body, rules: &mut R, inst: InstId) -> Rule {
    let rule = match body.inst(inst).opcode {
        opcode if !has_operands(opcode) => Rule::IMPURE,
        _ => rules.inst(inst),
    };
    // What is fixed ignores its operands, but they are uses all the same, and can be temporally divergent.
    match rule.definition.transfer {
        Transfer::Fixed => Rule { reads: Reads::All, image: None, ..rule },
        _ => rule,
    }
}

/// Whether operands of an instruction are operands of a value: those of a terminator decide where it goes.
#[inline]
fn has_operands(opcode: Opcode) -> bool {
    !opcode.is_terminator() || opcode.is_call()
}

/// The values that the definition of an instruction reads.
#[inline]
fn operands(
    body: &Body,
    numbering: Numbering,
    inst: InstId,
    reads: Reads,
    mut call: impl FnMut(Value),
) {
    let (of, mask) = match reads {
        Reads::All => {
            for &operand in body.operands(inst) {
                match operand.kind() {
                    ValueKind::Metadata(id) => local_values(body, numbering, id, &mut call),
                    _ => numbering.operand(operand).into_iter().for_each(&mut call),
                }
            }
            return;
        }
        Reads::Some(mask) => (inst, mask),
        Reads::Of(of, mask) => (of, mask),
        Reads::Values(values) => return values.into_iter().flatten().for_each(call),
    };
    for (position, &operand) in body.operands(of).iter().enumerate() {
        if position < 64 && mask >> position & 1 == 0 || mask == 0 {
            continue;
        }
        match operand.kind() {
            ValueKind::Metadata(id) => local_values(body, numbering, id, &mut call),
            _ => numbering.operand(operand).into_iter().for_each(&mut call),
        }
    }
}

/// Values in metadata that is an operand.
#[cold]
fn local_values(
    body: &Body,
    numbering: Numbering,
    metadata: LocalMetadataId,
    call: &mut impl FnMut(Value),
) {
    for &value in body.local_metadata(metadata).values() {
        numbering.operand(value).into_iter().for_each(&mut *call);
    }
}

/// The entries of a phi.
fn incoming<R: Rules + ?Sized>(
    context: &Context,
    body: &Body,
    numbering: Numbering,
    rules: &mut R,
    phi: InstId,
    mut give: impl FnMut(Incoming),
) {
    for (position, (operand, block)) in body.phi_incoming(phi).enumerate() {
        let value: Option<Value> = numbering.operand(operand);
        let key = match (value, operand.as_const()) {
            (Some(value), _) => match rules.representative(phi, position) {
                same if same == position => PhiKey::value(value),
                first => {
                    let first = numbering.operand(body.phi_values(phi)[first]);
                    PhiKey::value(first.unwrap_or(value))
                }
            },
            (None, Some(constant)) => constant_key(context, constant),
            // Blocks and metadata are no incoming values; a number that no constant has keeps them apart.
            (None, None) => PhiKey::constant((1 << 30) + block.into_raw().into_u32()),
        };
        give(Incoming { pred: node_of(block), value, key });
    }
}

/// The address space of a pointer type. Those of small spaces have fixed numbers.
#[inline]
pub(crate) fn pointer_space(context: &Context, ty: Type) -> Option<u32> {
    match ty.raw().wrapping_sub(Type::PTR.raw()) {
        space @ 0..=9 => Some(space),
        _ => context.type_kind(ty).address_space(),
    }
}

fn constant_key(context: &Context, constant: Const) -> PhiKey {
    match context.const_data(constant).kind {
        ConstKind::Undef | ConstKind::Poison => PhiKey::UNDEF,
        _ => PhiKey::constant(constant.raw()),
    }
}
