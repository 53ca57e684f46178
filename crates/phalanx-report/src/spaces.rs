//! Which memories addresses may point to, and why: as plain data, and as text.
//!
//! One model for `phalanx analyze --print spaces`, `phalanx explain --generic` and the reasons of
//! `phalanx check`; JSON by serde, field names are the format.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use phalanx_analysis::spaces::{
    SpaceCause, SpaceChain, SpaceLink, SpaceModel, SpaceOrigin, SpacePlace, SpaceSet, SpaceSubject,
};
use phalanx_db::{FunctionInput, queries};
use phalanx_graph::Node;
use phalanx_ir::{InstId, Opcode, Value, ValueKind, constant::ConstKind};
use serde::Serialize;

use crate::diagnostics::{SourceText, render_remark};
use crate::explain::{Explainer, offset_of};
use crate::lines::Place;
use crate::source::SourceFile;

const DIM: Style = Style::new().dimmed();
const ONE: Style = AnsiColor::Green.on_default();
const MANY: Style = AnsiColor::Yellow.on_default();

/// An address, and the memories that it may point to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AddressReport {
    /// Where it is computed, or read.
    pub place: Place,
    /// `%name`, or `operand 0 of %name` if that may point to fewer memories than its value.
    pub name: String,
    /// The instruction or argument as text.
    pub text: String,
    /// The memories that it may point to.
    pub memories: Vec<&'static str>,
    /// Whether it may point to no memory: null, undefined or out of its object.
    pub null: bool,
    /// The address space of its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<u32>,
    /// The narrowest address space that contains all of the memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrowest: Option<u32>,
}

/// A copy of a function for some of its calls, which could access narrower spaces.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SpecializationReport {
    /// The arguments that would be narrower.
    pub arguments: Vec<NarrowArgument>,
    /// The calls.
    pub calls: Vec<CallReport>,
}

/// An argument of such a copy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NarrowArgument {
    /// `%name`.
    pub name: String,
    /// The memories that these calls pass.
    pub memories: Vec<&'static str>,
    /// The address space that contains them.
    pub space: u32,
}

/// A call, and the function that it is in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CallReport {
    /// Where it stands.
    pub place: Place,
    /// The function: `@name`.
    pub caller: String,
}

/// Why an address may point to some memories.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SpaceExplanation {
    /// The address.
    pub address: AddressReport,
    /// Whether an access through it stays generic: no narrower space has all of its memories.
    pub generic: bool,
    /// A shortest chain for each memory; memories with the same chain share it.
    pub chains: Vec<SpaceChainReport>,
}

/// A chain of rules.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SpaceChainReport {
    /// The memories that it explains.
    pub memories: Vec<&'static str>,
    /// Its links: the address first, the origin of the memories last.
    pub steps: Vec<SpaceStep>,
}

/// A link of a chain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SpaceStep {
    /// `made`, `from`, `held`, `stored`, or the kind of an origin: `stack-slot`, `constant`,
    /// `kernel`, `by-value`, `passed`, `argument`, `loaded`, `host`, `table`, `returned`, `called`,
    /// `integer`, `content`, `type`.
    pub kind: &'static str,
    /// The value, or what private memory holds.
    pub what: String,
    /// The instruction as text.
    pub text: String,
    /// Where it stands.
    pub place: Place,
    /// Where it stands in the program that was compiled, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<SourceFile>,
    /// Why, in a sentence.
    pub sentence: String,
}

/// The usual names of memories.
pub(crate) fn words(memories: SpaceSet) -> String {
    let word = |one: SpaceSet| match one {
        SpaceSet::GLOBAL => "device memory",
        SpaceSet::CONSTANT => "constant memory",
        SpaceSet::SHARED => "workgroup memory",
        SpaceSet::PEERS => "memory of other workgroups",
        SpaceSet::PRIVATE => "private memory",
        SpaceSet::PARAMETER => "parameters",
        SpaceSet::REGION => "region memory",
        SpaceSet::BUFFER => "buffers",
        SpaceSet::RESOURCE => "buffer resources",
        SpaceSet::STRIDED => "strided buffers",
        SpaceSet::INPUT => "inputs of the pipeline",
        _ => "memory of an unknown space",
    };
    let words: Vec<&str> = memories.memories().iter().map(word).collect();
    match words.as_slice() {
        [] => "no memory".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

const fn origin_name(origin: SpaceOrigin) -> &'static str {
    match origin {
        SpaceOrigin::StackSlot => "stack-slot",
        SpaceOrigin::Constant => "constant",
        SpaceOrigin::Kernel => "kernel",
        SpaceOrigin::ByValue => "by-value",
        SpaceOrigin::Passed => "passed",
        SpaceOrigin::Argument => "argument",
        SpaceOrigin::Loaded => "loaded",
        SpaceOrigin::Host => "host",
        SpaceOrigin::Table => "table",
        SpaceOrigin::Returned => "returned",
        SpaceOrigin::Called => "called",
        SpaceOrigin::Integer => "integer",
        SpaceOrigin::Content => "content",
        SpaceOrigin::Type => "type",
    }
}

impl Explainer<'_> {
    /// Why an address may point to its memories. None if it is no address.
    pub fn explain_address(&self, subject: SpaceSubject) -> Option<SpaceExplanation> {
        let (db, input) = self.function();
        let address = self.address(subject)?;
        let model = SpaceModel::new(queries::target(db, input.module(db)).architecture());
        let all = self.set_of(subject)?.memories();
        // Memories that no pointer of this type reaches need no reason.
        let bound = address.space.map_or(SpaceSet::ALL, |space| model.of(space));
        let chains = queries::explain_spaces(db, input, subject, all.and(bound));
        let generic = address.narrowest.is_none() || address.narrowest == model.generic();
        let chains = chains.iter().map(|chain| self.space_chain(chain)).collect();
        Some(SpaceExplanation { address, generic, chains })
    }

    /// Arguments and instructions that are pointers, and operands that tests restrict further, in
    /// the order of the text.
    pub(crate) fn addresses(&self) -> Vec<AddressReport> {
        let (db, input) = self.function();
        let Some(kinds) = queries::memory_kinds(db, input) else { return Vec::new() };
        let (body, flow) = (input.body(db), input.flow(db));
        let arguments = (0..input.header(db).params.len() as u32).map(Value::arg);
        let mut subjects: Vec<SpaceSubject> = arguments.map(SpaceSubject::Value).collect();
        for inst in flow.order().iter().flat_map(|&block| body.block_insts(block)) {
            let refined = kinds.refined_of(inst).map(|index| SpaceSubject::Use(inst, index));
            subjects.extend(refined);
            subjects.push(SpaceSubject::Value(inst.into()));
        }
        let is_pointer = |subject: &SpaceSubject| self.space_of(*subject).is_some();
        let pointers = subjects.into_iter().filter(is_pointer);
        pointers.filter_map(|subject| self.address(subject)).collect()
    }

    /// Copies of the function that could access narrower spaces.
    pub(crate) fn specializations(&self) -> Vec<SpecializationReport> {
        let (db, input) = self.function();
        let found = queries::space_specializations(db, input);
        let argument = |&(at, memories, space): &(u32, SpaceSet, u32)| NarrowArgument {
            name: self.name(Value::arg(at)),
            memories: memories.names(),
            space,
        };
        // Callers in one function follow each other.
        let mut last: Option<(FunctionInput, Explainer<'_>)> = None;
        let mut call = |&(caller, inst): &(FunctionInput, InstId)| {
            if last.as_ref().is_none_or(|(of, _)| *of != caller) {
                last = Some((caller, self.of(caller)));
            }
            let (place, caller) = match &last {
                Some((_, of)) => (of.place_of(inst), of.function_name()),
                None => (Place::default(), String::new()),
            };
            CallReport { place, caller }
        };
        let copies = found.iter().map(|copy| SpecializationReport {
            arguments: copy.arguments.iter().map(argument).collect(),
            calls: copy.calls.iter().map(&mut call).collect(),
        });
        copies.collect()
    }

    /// The name of an address, or of the value that an operand is.
    pub(crate) fn subject_name(&self, subject: SpaceSubject) -> String {
        self.value_of(subject).map(|value| self.name(value)).unwrap_or_default()
    }

    fn value_of(&self, subject: SpaceSubject) -> Option<Value> {
        let (db, input) = self.function();
        match subject {
            SpaceSubject::Value(value) => Some(value),
            SpaceSubject::Use(user, index) => {
                input.body(db).operands(user).get(index as usize).copied()
            }
        }
    }

    fn space_of(&self, subject: SpaceSubject) -> Option<u32> {
        let (db, input) = self.function();
        let context = input.module(db).context(db);
        let ty = match self.value_of(subject)?.kind() {
            ValueKind::Inst(inst) => input.body(db).inst(inst).ty,
            ValueKind::Arg(position) => *input.header(db).params.get(position as usize)?,
            ValueKind::Const(constant) => context.const_data(constant).ty,
            _ => return None,
        };
        let scalar = match context.type_kind(ty) {
            phalanx_ir::TypeKind::Vector { elem, .. } => *elem,
            _ => ty,
        };
        context.type_kind(scalar).address_space()
    }

    fn set_of(&self, subject: SpaceSubject) -> Option<SpaceSet> {
        let (db, input) = self.function();
        let kinds = queries::memory_kinds(db, input).as_ref()?;
        Some(match subject {
            SpaceSubject::Value(value) => kinds.of(value),
            SpaceSubject::Use(user, index) => kinds.at(input.body(db), user, index),
        })
    }

    fn address(&self, subject: SpaceSubject) -> Option<AddressReport> {
        let (db, input) = self.function();
        let model = SpaceModel::new(queries::target(db, input.module(db)).architecture());
        let value = self.value_of(subject)?;
        let set = self.set_of(subject)?;
        let (name, inst) = match subject {
            SpaceSubject::Value(value) => (self.name(value), value.as_inst()),
            SpaceSubject::Use(user, index) => {
                (format!("operand {index} of {}", self.inst_name(user)), Some(user))
            }
        };
        let (place, text) = match (inst, value.kind()) {
            (Some(inst), _) => (self.place_of(inst), self.text_of(inst).trim().to_owned()),
            (None, ValueKind::Arg(at)) => (self.place_of_argument(at), self.name(value)),
            _ => (Place::default(), self.name(value)),
        };
        Some(AddressReport {
            place,
            name,
            text,
            memories: set.memories().names(),
            null: set.contains(SpaceSet::NOWHERE),
            space: self.space_of(subject),
            narrowest: (!set.memories().is_empty()).then(|| model.narrowest(set)).flatten(),
        })
    }

    pub(crate) fn space_chain(&self, chain: &SpaceChain) -> SpaceChainReport {
        let next = |at: usize| chain.links.get(at + 1).map(|link| link.place);
        let step =
            |(at, link): (usize, &SpaceLink)| self.space_step(link, next(at), chain.memories);
        SpaceChainReport {
            memories: chain.memories.names(),
            steps: chain.links.iter().enumerate().map(step).collect(),
        }
    }

    /// The instruction at a place of a chain.
    pub(crate) fn inst_of_place(&self, place: SpacePlace) -> Option<InstId> {
        match place {
            SpacePlace::Value(value) => value.as_inst(),
            SpacePlace::Write(inst) => Some(inst),
            SpacePlace::Join { .. } => None,
        }
    }

    fn space_step(
        &self,
        link: &SpaceLink,
        next: Option<SpacePlace>,
        memories: SpaceSet,
    ) -> SpaceStep {
        let inst = self.inst_of_place(link.place);
        let place = match link.place {
            SpacePlace::Join { block, .. } => self.place_of_block(block),
            SpacePlace::Value(value) => match (inst, value.kind()) {
                (Some(inst), _) => self.place_of(inst),
                (None, ValueKind::Arg(at)) => self.place_of_argument(at),
                _ => Place::default(),
            },
            SpacePlace::Write(inst) => self.place_of(inst),
        };
        let kind = match link.cause {
            SpaceCause::Made => "made",
            SpaceCause::From(_) => "from",
            SpaceCause::Held => "held",
            SpaceCause::Stored => "stored",
            SpaceCause::Origin(origin) => origin_name(origin),
        };
        SpaceStep {
            kind,
            what: self.what_of_place(link.place),
            text: inst.map(|inst| self.text_of(inst).trim().to_owned()).unwrap_or_default(),
            place,
            debug: inst.and_then(|inst| self.debug(inst)),
            sentence: self.say_space(link, next, memories),
        }
    }

    /// The name of a value; for a cast constant, the name of its operand.
    fn short_name(&self, value: Value) -> String {
        let (db, input) = self.function();
        let context = input.module(db).context(db);
        let Some(mut constant) = value.as_const() else { return self.name(value) };
        while let ConstKind::Expr(expr) = &context.const_data(constant).kind
            && matches!(expr.opcode, Opcode::AddrSpaceCast | Opcode::BitCast)
            && let Some(&base) = expr.operands.first()
        {
            constant = base;
        }
        self.name(Value::constant(constant))
    }

    fn what_of_place(&self, place: SpacePlace) -> String {
        match place {
            SpacePlace::Value(value) => self.short_name(value),
            SpacePlace::Write(inst) => {
                format!("what {} leaves in private memory", self.inst_name(inst))
            }
            SpacePlace::Join { block, object } => {
                let (block, object) = (self.block_name(block), self.inst_name(object));
                format!("the content of {object} at the start of {block}")
            }
        }
    }

    fn say_space(&self, link: &SpaceLink, next: Option<SpacePlace>, memories: SpaceSet) -> String {
        let what = self.what_of_place(link.place);
        let other = next.map(|place| self.what_of_place(place)).unwrap_or_default();
        match link.cause {
            SpaceCause::Made => {
                let inst = self.inst_of_place(link.place);
                self.say_made(&what, &other, inst)
            }
            SpaceCause::From(block) => self.say_from(&what, &other, block),
            SpaceCause::Held => match link.place {
                SpacePlace::Value(_) => format!("{what} is loaded from private memory: {other}"),
                SpacePlace::Write(_) => format!("{what} is in part what was there: {other}"),
                SpacePlace::Join { .. } => format!("{what} can be {other}"),
            },
            SpaceCause::Stored => format!("{other} is stored"),
            SpaceCause::Origin(origin) => say_origin(origin, &what, memories),
        }
    }

    fn say_from(&self, what: &str, other: &str, block: Node) -> String {
        format!("{what} is {other} for threads that come from {}", self.block_name(block))
    }

    fn say_made(&self, what: &str, other: &str, inst: Option<InstId>) -> String {
        let (db, input) = self.function();
        match inst.map(|inst| input.body(db).inst(inst).opcode) {
            Some(Opcode::Select) => format!("{what} can be {other}"),
            Some(Opcode::GetElementPtr) => format!("{what} is a step from {other}"),
            Some(Opcode::AddrSpaceCast | Opcode::BitCast | Opcode::Freeze) => {
                format!("{what} is {other} by another name")
            }
            Some(Opcode::ExtractValue | Opcode::ExtractElement) => {
                format!("{what} is a part of {other}")
            }
            Some(Opcode::InsertValue | Opcode::InsertElement | Opcode::ShuffleVector) => {
                format!("{other} is a part of {what}")
            }
            Some(opcode) if opcode.is_call() => {
                format!("{what} is the result of a call that may return its argument {other}")
            }
            _ => format!("{what} is made from {other}"),
        }
    }
}

fn say_origin(origin: SpaceOrigin, what: &str, memories: SpaceSet) -> String {
    let memories = words(memories);
    match origin {
        SpaceOrigin::StackSlot => format!("{what} is a stack slot: {memories}"),
        SpaceOrigin::Constant => format!("{what} is in {memories}"),
        SpaceOrigin::Kernel => {
            format!("the argument {what} comes from the host, which knows addresses of {memories}")
        }
        SpaceOrigin::ByValue => format!("the argument {what} is a copy in {memories}"),
        SpaceOrigin::Passed => format!("callers pass addresses of {memories} as {what}"),
        SpaceOrigin::Argument => {
            format!("the argument {what} can be in {memories}: nothing is known of callers")
        }
        SpaceOrigin::Loaded => {
            format!("{what} is loaded from memory that is not followed: it can be in {memories}")
        }
        SpaceOrigin::Host => {
            format!("{what} is loaded from memory that only the host writes: {memories}")
        }
        SpaceOrigin::Table => {
            format!("{what} is loaded from a constant table with addresses of {memories}")
        }
        SpaceOrigin::Returned => format!("{what} is what a function returns: {memories}"),
        SpaceOrigin::Called => {
            format!("{what} is the result of a call that is not known: it can be in {memories}")
        }
        SpaceOrigin::Integer => {
            format!("{what} is made from a number: it can be in {memories}")
        }
        SpaceOrigin::Content => format!("{what} is not followed: it can be in {memories}"),
        SpaceOrigin::Type => format!("{what} can be any address of its type: {memories}"),
    }
}

fn listed(address: &AddressReport) -> String {
    let mut all = address.memories.join(", ");
    if address.null {
        all += if all.is_empty() { "null" } else { ", null" };
    }
    if all.is_empty() { "nothing".to_owned() } else { all }
}

/// Writes which memories the addresses of a function may point to.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_addresses(addresses: &[AddressReport], out: &mut dyn Write) -> fmt::Result {
    for address in addresses {
        let style = if address.memories.len() == 1 { ONE } else { MANY };
        let memories = match address.memories.len() {
            12 => "anything".to_owned(),
            _ => listed(address),
        };
        let of = match address.name.strip_prefix("operand") {
            Some(rest) => format!("operand{rest}: "),
            None => String::new(),
        };
        writeln!(
            out,
            "  {DIM}{:>6}{DIM:#}  {style}{memories:<25}{style:#}  {of}{}",
            address.place.line, address.text
        )?;
    }
    Ok(())
}

/// Writes which copies of functions could access narrower spaces.
pub(crate) fn write_specializations(
    copies: &[SpecializationReport],
    out: &mut dyn Write,
) -> fmt::Result {
    for copy in copies {
        let one = |argument: &NarrowArgument| {
            format!(
                "{} in addrspace({}): {}",
                argument.name,
                argument.space,
                argument.memories.join(", ")
            )
        };
        let arguments: Vec<String> = copy.arguments.iter().map(one).collect();
        let calls: Vec<String> = copy
            .calls
            .iter()
            .map(|call| format!("{} line {}", call.caller, call.place.line))
            .collect();
        let many = if calls.len() == 1 { "call" } else { "calls" };
        writeln!(
            out,
            "  a copy for the {many} in {} would have {}",
            calls.join(", "),
            arguments.join("; ")
        )?;
    }
    Ok(())
}

/// Writes why an address may point to its memories, with ANSI colours.
///
/// # Errors
/// Errors of `out`.
pub fn write_space_text(
    explanation: &SpaceExplanation,
    source: SourceText<'_>,
    out: &mut dyn Write,
) -> fmt::Result {
    let address = &explanation.address;
    let SpaceExplanation { generic, chains, .. } = explanation;
    let verdict = match (address.memories.is_empty(), generic, address.narrowest) {
        (true, ..) => format!("{} leads to no memory", address.name),
        (_, false, Some(space)) => format!(
            "{} is not generic: it leads to {}, all in address space {space}",
            address.name,
            address.memories.join(", ")
        ),
        _ => format!(
            "{} is generic: no narrower address space has all of {}",
            address.name,
            address.memories.join(", ")
        ),
    };
    let place = offset_of(source, address.place);
    out.write_str(&render_remark(source, place, "note", &verdict, None))?;
    for chain in chains {
        writeln!(out, "why {}:", chain.memories.join(", "))?;
        for (number, step) in chain.steps.iter().enumerate() {
            let message = format!("{}. {}", number + 1, step.sentence);
            let offset = offset_of(source, step.place);
            out.write_str(&render_remark(source, offset, "because", &message, Some(step.kind)))?;
            if let Some(debug) = &step.debug {
                let column = match debug.column {
                    0 => String::new(),
                    column => format!(":{column}"),
                };
                writeln!(out, "  = compiled from {}:{}{column}", debug.file, debug.line)?;
            }
        }
    }
    Ok(())
}
