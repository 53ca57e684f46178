//! One sentence per link of a chain.

use phalanx_analysis::{
    explain::{Cause, Fact, Link, Separation},
    lower::{Definition, MemoryVersion, VersionBy},
};
use phalanx_core::affect::{User, UserKind};
use phalanx_graph::CycleId;
use phalanx_ir::{InstId, Opcode, Value, flow};
use phalanx_target::SourceSet;

use super::{Explainer, words};
use crate::check::demangled;

impl Explainer<'_> {
    /// The kind of a link, and its sentence.
    pub(super) fn say(&self, link: &Link) -> (&'static str, String) {
        let what = self.what(link.fact);
        match &link.cause {
            Cause::Source => ("source", self.say_source(link, &what)),
            Cause::Operand(operand) => self.say_operand(link.fact, *operand, &what),
            Cause::Join(separation) => ("join", self.say_join(separation, &what)),
            Cause::Temporal { value, cycle, separation } => {
                ("temporal", self.say_temporal(link.fact, *value, *cycle, separation))
            }
            Cause::Assumed { cycle, separation } => {
                let entries = self.entries(*cycle);
                let branch = self.end_of(separation.branch);
                let sentence = format!(
                    "{what} is computed in an irreducible cycle (entries {}), in which threads that separate at {branch} cannot be expected to stay together",
                    entries.join(", ")
                );
                ("assumed", sentence)
            }
            Cause::Control { branch, by_block } => {
                let branch = self.end_of(*branch);
                let sentence = match by_block {
                    false => {
                        format!("whether {what} is executed is decided at {branch}")
                    }
                    true => format!(
                        "whether {what} is executed is decided at {branch}, which not all threads reach"
                    ),
                };
                ("control", sentence)
            }
            _ => ("other", format!("{what} depends on something else")),
        }
    }

    fn say_source(&self, link: &Link, what: &str) -> String {
        let source = words::source(link.source, self.dialect);
        let opcode = self.inst_of(link.fact).map(|inst| self.function.body.inst(inst).opcode);
        match (link.fact, opcode) {
            (Fact::Terminator(_), _) => {
                format!("{what} is taken by each thread on its own account")
            }
            (_, None) => {
                format!("the argument {what} can be {source}: nothing is known of callers")
            }
            (Fact::Value(value), _) if let Some(callee) = self.writer(value) => {
                format!("{what} is what the call of {callee} leaves there: {source}")
            }
            (_, Some(Opcode::Call | Opcode::Invoke)) => {
                let called = self.inst_of(link.fact).and_then(|inst| self.called(inst));
                // A source with a name of its own says what was called.
                match called.filter(|_| is_unknown(link.source)) {
                    Some(text) if text.starts_with("asm ") => {
                        format!("{what} is the result of inline assembly: {source}")
                    }
                    Some(callee) => format!("{what} is the result of a call of {callee}: {source}"),
                    None => format!("{what} is the result of a call: {source}"),
                }
            }
            (_, Some(Opcode::Load)) => format!("{what} is loaded from memory: {source}"),
            (_, Some(Opcode::AtomicRmw | Opcode::CmpXchg)) => {
                format!("{what} is what an atomic operation found: {source}")
            }
            _ => format!("{what} is {source}"),
        }
    }

    fn say_operand(
        &self,
        fact: Fact,
        operand: phalanx_core::Value,
        what: &str,
    ) -> (&'static str, String) {
        let value = self.value_name(operand);
        if let Fact::Use(_, user) = fact {
            let user = self.user_name(user);
            return (
                "operand",
                format!("{user} reads {value}, which differs where it is computed"),
            );
        }
        if let Fact::Value(own) = fact
            && let Some(own) = self.version(own)
        {
            return ("memory", self.say_version(own, operand, what));
        }
        let Some(inst) = self.inst_of(fact) else {
            return ("operand", format!("{what} depends on {value}"));
        };
        let body = self.function.body;
        if self.version(operand).is_some() {
            let sentence = match self.called(inst) {
                Some(callee) => format!("{what} is what {callee} returns, which reads {value}"),
                None => format!("{what} is read from private memory: {value}"),
            };
            return ("memory", sentence);
        }
        let ir_value = match self.numbering.definition(operand) {
            Definition::Argument(position) => Value::arg(position),
            Definition::Inst(inst) => Value::inst(inst),
        };
        let position = body.operands(inst).iter().position(|&o| o == ir_value);
        match (body.inst(inst).opcode, position) {
            _ if matches!(fact, Fact::Terminator(_)) => {
                ("operand", format!("{what} is decided by {value}"))
            }
            (Opcode::Call | Opcode::Invoke, Some(at)) if at < body.call_args(inst).len() => (
                "argument",
                format!("{what} is the result of a call with {value} as argument {at}"),
            ),
            (Opcode::ExtractValue, None) => (
                "argument",
                format!("{what} is a part of the result of a call with {value} as an argument"),
            ),
            (Opcode::Store, Some(0)) => ("operand", format!("{what} writes {value}")),
            (Opcode::Store, Some(1)) => ("address", format!("{what} goes to the address {value}")),
            (Opcode::Load, None) => (
                "memory",
                format!(
                    "{what} is read from private memory, where {value} was stored or is an index"
                ),
            ),
            (Opcode::Load, Some(0)) => {
                ("address", format!("{what} is loaded from the address {value}"))
            }
            (Opcode::Phi, Some(at)) => {
                let block = body.phi_incoming(inst).nth(at).map(|(_, block)| flow::node_of(block));
                let from = block.map(|b| format!(" from {}", self.block_name(b)));
                (
                    "operand",
                    format!("{what} is {value} for threads that come{}", from.unwrap_or_default()),
                )
            }
            _ => ("operand", format!("{what} is computed from {value}")),
        }
    }

    fn say_version(
        &self,
        version: &MemoryVersion,
        operand: phalanx_core::Value,
        what: &str,
    ) -> String {
        let value = self.value_name(operand);
        if let (VersionBy::Write(call), Some(callee)) = (version.by, self.writer(version.value)) {
            let body = self.function.body;
            let is_it = |argument: &Value| self.numbering.operand(*argument) == Some(operand);
            return match body.call_args(call).iter().position(is_it) {
                Some(at) => format!(
                    "{what} is written by the call of {callee}, where it depends on argument {at}, which is {value}"
                ),
                None => format!("{what} is what the call of {callee} makes of {value}"),
            };
        }
        match (version.by, self.version(operand).is_some()) {
            (VersionBy::Write(_), true) => format!("{what} is in part what it was before"),
            (VersionBy::Write(_), false) => format!("{what} is changed here, with {value}"),
            (VersionBy::Phi(block), _) => {
                format!("{what} at the start of {} can be {value}", self.block_name(block))
            }
        }
    }

    /// The function whose call a version of private memory comes from.
    fn writer(&self, value: phalanx_core::Value) -> Option<String> {
        match self.version(value)?.by {
            VersionBy::Write(inst) => self.called(inst),
            VersionBy::Phi(_) => None,
        }
    }

    /// The function that an instruction calls by its name, if it is none of LLVM's own.
    fn called(&self, inst: InstId) -> Option<String> {
        let body = self.function.body;
        if !body.inst(inst).opcode.is_call() {
            return None;
        }
        let name = self.operand(Value::constant(body.const_callee(inst)?));
        let symbol = name.strip_prefix('@').unwrap_or(&name);
        let shown = match demangled(symbol) {
            same if same == symbol => name.clone(),
            in_source => format!("`{in_source}`"),
        };
        (!symbol.starts_with("llvm.")).then_some(shown)
    }

    fn user_name(&self, user: User) -> String {
        match user.kind() {
            UserKind::Value(user) => self.value_name(user),
            UserKind::Terminator(block) => self.what(Fact::Terminator(block)),
        }
    }

    fn say_join(&self, separation: &Separation, what: &str) -> String {
        let branch = self.end_of(separation.branch);
        let mut sentence =
            format!("{what} merges different values for threads that separate at {branch}");
        if let Some((from, to)) = separation.exit {
            let (from, to) = (self.block_name(from), self.block_name(to));
            sentence +=
                &format!(", and then leave a cycle from {from} to {to} in different iterations");
        }
        if let Some(cycle) = separation.apart_in {
            let entries = self.entries(cycle).join(", ");
            sentence += &format!(", and run apart in the irreducible cycle with entries {entries}");
        }
        sentence
    }

    fn say_temporal(
        &self,
        fact: Fact,
        value: phalanx_core::Value,
        cycle: Option<CycleId>,
        separation: &Separation,
    ) -> String {
        let (value, branch) = (self.value_name(value), self.end_of(separation.branch));
        let reader = match fact {
            Fact::Use(_, user) => self.user_name(user),
            fact => self.what(fact),
        };
        let entries = cycle.map(|cycle| self.entries(cycle)).unwrap_or_default();
        let cycle = match entries.as_slice() {
            [] => "its cycle".to_owned(),
            [header] => format!("the cycle of {header}"),
            entries => format!("the cycle with entries {}", entries.join(", ")),
        };
        let exit = separation.exit.map(|(from, to)| {
            format!(" from {} to {}", self.block_name(from), self.block_name(to))
        });
        format!(
            "{reader} reads {value} outside of {cycle}, which threads leave{} in different iterations because they separate at \
             {branch}",
            exit.unwrap_or_default()
        )
    }
}

/// Whether a source says only that a value may differ, and not by what.
fn is_unknown(source: SourceSet) -> bool {
    source.intersects(
        SourceSet::OPAQUE_THREAD
            | SourceSet::OPAQUE_QUAD
            | SourceSet::OPAQUE_WAVE
            | SourceSet::OPAQUE_GROUP,
    )
}
