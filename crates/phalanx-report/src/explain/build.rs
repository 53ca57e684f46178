//! Builds explanations from the links of chains.

use std::{cell::OnceCell, sync::Arc};

use phalanx_analysis::{
    Convergence,
    explain::{Cause, Fact, Link, Separation},
    loads::{LoadClass, Refusal},
    lower::{Definition, MemoryVersion, Numbering, VersionBy},
    stable::Assumptions,
};
use phalanx_core::{affect::UserKind, divergence::Divergence};
use phalanx_db::{
    Database, FunctionInput,
    queries::{self, Subject},
};
use phalanx_graph::{CycleId, Node};
use phalanx_ir::{BlockId, InstId, Type, Value, flow, function::FunctionRef};
use phalanx_llvm::{FunctionPrinter, ModulePrinter};
use phalanx_target::{Scope, SourceSet, varying};

use super::{Explanation, Step, UnknownName, words::Dialect};
use crate::explain::words::names;
use crate::lines::{Lines, Place};
use crate::loads::{LoadExplanation, Words};
use crate::source::{Location, SourceFile, Variables};

/// Explains one function.
#[derive(Debug)]
pub struct Explainer<'a> {
    pub(super) db: &'a Database,
    pub(super) input: FunctionInput,
    pub(super) function: FunctionRef<'a>,
    pub(super) numbering: Numbering,
    module: &'a ModulePrinter<'a>,
    printer: FunctionPrinter<'a>,
    lines: Lines<'a>,
    source: &'a [u8],
    assumed: Option<Assumptions>,
    pub(super) dialect: Dialect,
    /// See [`queries::CallLink::memory`].
    memory: Option<Arc<[MemoryVersion]>>,
    variables: OnceCell<Variables>,
}

impl<'a> Explainer<'a> {
    /// `source` is the text of the module, for line numbers.
    pub fn new(
        db: &'a Database,
        input: FunctionInput,
        printer: &'a ModulePrinter<'a>,
        source: &'a [u8],
    ) -> Self {
        let function = input.view(db);
        Explainer {
            db,
            input,
            function,
            numbering: Numbering::new(function.header),
            module: printer,
            printer: printer.function(function),
            lines: Lines::new(db, input, source),
            source,
            assumed: None,
            dialect: Dialect::of(db, input.module(db)),
            memory: None,
            variables: OnceCell::new(),
        }
    }

    /// The same under assumptions about the program: see [`queries::assumed_divergence`].
    #[must_use]
    pub fn assuming(self, assumed: Option<Assumptions>) -> Self {
        Explainer { assumed, ..self }
    }

    /// An explainer for another function of the module.
    pub(crate) fn of(&self, input: FunctionInput) -> Explainer<'a> {
        Explainer::new(self.db, input, self.module, self.source)
    }

    /// The same, with the given values standing for versions of memory.
    pub(super) fn with_memory(self, memory: Option<Arc<[MemoryVersion]>>) -> Self {
        Explainer { memory, ..self }
    }

    pub(crate) fn function_name(&self) -> String {
        text(|out| self.module.global(self.function.header.name, out))
    }

    /// The value with a name, with or without its `%`. O(values).
    ///
    /// # Errors
    /// When there is none.
    pub fn value(&self, name: &str) -> Result<Value, UnknownName> {
        let wanted = with_percent(name);
        let values = || {
            let arguments = (0..self.function.header.params.len() as u32).map(Value::arg);
            let results = self.insts().filter(|&i| self.function.body.inst(i).ty != Type::VOID);
            arguments.chain(results.map(Value::inst))
        };
        values().find(|&value| self.operand(value) == wanted).ok_or_else(|| {
            let values = values().map(|value| self.operand(value));
            let variables = self.variables().all().map(str::to_owned);
            match name.starts_with('%') || self.variables().is_empty() {
                true => UnknownName::among("value", &wanted, values),
                false => UnknownName::among("variable or value", name, values.chain(variables)),
            }
        })
    }

    /// The values of a variable of the program, in the order of the code: those that differ between
    /// threads of a scope or, if none does, one of them.
    pub fn values_of_variable(&self, name: &str, scope: Scope) -> Vec<Value> {
        let (all, varying) = (self.variables().values(name), self.varying(scope));
        let differs = |value: &Value| {
            let value = self.numbering.operand(*value);
            let sources = value.zip(self.divergence()).map(|(value, facts)| facts.value(value));
            sources.is_some_and(|sources| sources.intersects(varying))
        };
        let divergent: Vec<Value> = all.iter().copied().filter(differs).collect();
        match divergent.is_empty() {
            true => all.into_iter().take(1).collect(),
            false => divergent,
        }
    }

    /// The block with a name, with or without its `%`. O(blocks).
    ///
    /// # Errors
    /// When there is none.
    pub fn block(&self, name: &str) -> Result<BlockId, UnknownName> {
        let wanted = with_percent(name);
        let blocks = || self.function.flow.order().iter().copied();
        let name = |block| self.block_name(flow::node_of(block));
        blocks()
            .find(|&block| name(block) == wanted)
            .ok_or_else(|| UnknownName::among("block", &wanted, blocks().map(name)))
    }

    /// Everything on a line that differs between threads of a scope, in order: values, branches,
    /// uses that do where their value does not, and the execution of barriers and other convergent
    /// operations without a result. The line is a line of the program if any instruction of the
    /// function has a debug location, otherwise a line of the module's text.
    pub fn explain_line(&self, line: u32, scope: Scope) -> Vec<Explanation> {
        let explained = |(subject, inst)| {
            let mut explanation = self.explain(subject, scope)?;
            if let Subject::Block(_) = subject {
                (explanation.place, explanation.debug) = (self.lines.inst(inst), self.debug(inst));
            }
            Some(explanation)
        };
        self.on_line(line, scope).into_iter().filter_map(explained).collect()
    }

    /// What [`Explainer::explain_line`] explains, each with its instruction.
    fn on_line(&self, line: u32, scope: Scope) -> Vec<(Subject, InstId)> {
        let (Some(divergence), Some(cfg)) = (self.divergence(), queries::cfg(self.db, self.input))
        else {
            return Vec::new();
        };
        let varying = self.varying(scope);
        let has_debug = self.insts().any(|inst| self.location(inst).source.is_some());
        let convergence = queries::convergence(self.db, self.input).as_deref();
        let convergent = convergence.map_or(&[][..], Convergence::operations);
        let mut found: Vec<(Subject, InstId)> = Vec::new();
        for inst in self.insts() {
            let is_there = match has_debug {
                true => self.location(inst).frames().any(|f| f.line == line && !f.is_of_system()),
                false => self.lines.inst(inst).line == line,
            };
            if !is_there {
                continue;
            }
            let body = self.function.body;
            let block = body.block_of(inst).filter(|_| body.inst(inst).opcode.is_terminator());
            if let Some(block) = block.filter(|&block| cfg.is_branch(flow::node_of(block))) {
                if divergence.terminator(flow::node_of(block)).intersects(varying) {
                    found.push((Subject::Branch(block), inst));
                }
            } else if body.inst(inst).ty == Type::VOID
                && convergent.iter().any(|operation| operation.inst == inst)
            {
                // Such a call gives nothing that could differ, but not all threads may execute it.
                let execution = body.block_of(inst).map(Subject::Block);
                let differs = execution.and_then(|subject| {
                    let fact = queries::fact_of(self.db, self.input, subject)?;
                    self.sources(fact).intersects(varying).then_some(subject)
                });
                let is_new = |subject: &Subject| found.iter().all(|(known, _)| known != subject);
                let differs = differs.filter(is_new);
                found.extend(differs.map(|subject| (subject, inst)));
            } else if divergence.value(self.numbering.inst(inst)).intersects(varying) {
                found.push((Subject::Value(Value::inst(inst)), inst));
            }
            for operand in 0..body.operands(inst).len() {
                let subject = Subject::Use { user: inst, operand };
                let Some(Fact::Use(value, user)) = queries::fact_of(self.db, self.input, subject)
                else {
                    continue;
                };
                let is_temporal = divergence.at_use(value, user).intersects(varying)
                    && !divergence.value(value).intersects(varying);
                if is_temporal {
                    found.push((subject, inst));
                }
            }
        }
        found
    }

    /// Why a load uses no cheaper instruction, with the chain of causes if its address differs
    /// between threads of a wave. None if the instruction is no load.
    pub fn explain_load(&self, load: InstId) -> Option<LoadExplanation> {
        let (db, input) = (self.db, self.input);
        let found = queries::load_classes(db, input).as_ref()?.of(load)?;
        let (module, printer, lines) = (self.module, &self.printer, &self.lines);
        let is_divergent = LoadClass::ALL
            .iter()
            .any(|&class| matches!(found.refusal(class), Some(Refusal::Divergent(_))));
        let subject = Subject::Use { user: load, operand: 0 };
        Some(LoadExplanation {
            load: Words { db, input, module, printer, lines }.load(found),
            address: is_divergent.then(|| self.explain(subject, Scope::Wave)).flatten(),
        })
    }

    /// Why a load uses no cheaper instruction, as a sentence.
    pub(crate) fn refusal(&self, refusal: Refusal) -> String {
        let (db, input) = (self.db, self.input);
        let (module, printer, lines) = (self.module, &self.printer, &self.lines);
        Words { db, input, module, printer, lines }.sentence(refusal)
    }

    pub(crate) fn name(&self, value: Value) -> String {
        self.operand(value)
    }

    pub(crate) fn place_of(&self, inst: InstId) -> Place {
        self.lines.inst(inst)
    }

    pub(crate) fn place_of_argument(&self, position: u32) -> Place {
        self.lines.argument(position)
    }

    pub(crate) fn place_of_block(&self, node: Node) -> Place {
        self.lines.block(flow::block_of(node))
    }

    /// An argument as text.
    pub(crate) fn argument_text(&self, position: u32) -> String {
        text(|out| self.printer.arg(position, out))
    }

    /// An instruction as text.
    pub(crate) fn text_of(&self, inst: InstId) -> String {
        text(|out| self.printer.inst(inst, out))
    }

    pub(crate) fn function(&self) -> (&'a Database, FunctionInput) {
        (self.db, self.input)
    }

    /// Why something differs between threads of a scope. None for what has no facts, such as a
    /// constant.
    pub fn explain(&self, subject: Subject, scope: Scope) -> Option<Explanation> {
        let fact = queries::fact_of(self.db, self.input, subject)?;
        let chain = queries::explain_through_calls(
            self.db,
            self.input,
            subject,
            self.varying(scope),
            self.assumed,
        );
        let (what, kind) = match subject {
            Subject::Value(value) => (self.subject_text(value), "value"),
            Subject::Use { user, operand } => {
                (format!("operand {operand} of {}", self.inst_name(user)), "use")
            }
            Subject::Branch(block) => (self.block_name(flow::node_of(block)), "branch"),
            Subject::Block(block) => (self.block_name(flow::node_of(block)), "block"),
        };
        let (place, debug) = self.place(fact);
        let variable = match subject {
            Subject::Value(value) => self.variables().name(value).map(str::to_owned),
            _ => None,
        };
        Some(Explanation {
            subject: what,
            kind,
            variable,
            place,
            debug,
            scope: scope.name(),
            divergent: !chain.is_empty(),
            sources: names(self.sources(fact)),
            steps: self.steps_through_calls(&chain),
        })
    }

    /// The links of a chain as sentences, and the instructions that they are about.
    pub(crate) fn steps(&self, chain: &[Link]) -> Vec<(String, Option<InstId>)> {
        chain.iter().map(|link| (self.say(link).1, self.inst_of(link.fact))).collect()
    }

    fn varying(&self, scope: Scope) -> SourceSet {
        varying(scope, queries::launch_facts(self.db, self.input))
    }

    fn divergence(&self) -> Option<&'a Divergence> {
        match self.assumed {
            None => queries::divergence(self.db, self.input).as_deref(),
            Some(assumptions) => {
                queries::assumed_divergence(self.db, self.input, assumptions).as_deref()
            }
        }
    }

    fn sources(&self, fact: Fact) -> SourceSet {
        let Some(facts) = self.divergence() else { return SourceSet::ALL };
        match fact {
            Fact::Value(value) => facts.value(value),
            Fact::Use(value, user) => facts.at_use(value, user),
            Fact::Terminator(block) => {
                let cfg = queries::cfg(self.db, self.input);
                match cfg.is_none_or(|cfg| cfg.is_branch(block)) {
                    true => facts.terminator(block),
                    false => SourceSet::EMPTY,
                }
            }
            Fact::Block(block) => {
                let control = match self.assumed {
                    None => queries::control_divergence(self.db, self.input).as_ref(),
                    Some(assumptions) => {
                        queries::assumed_control_divergence(self.db, self.input, assumptions)
                            .as_ref()
                    }
                };
                control.map_or(SourceSet::ALL, |control| control[block.index()])
            }
        }
    }

    fn insts(&self) -> impl Iterator<Item = InstId> {
        let body = self.function.body;
        self.function.flow.order().iter().flat_map(move |&block| body.block_insts(block))
    }

    pub(super) fn operand(&self, value: Value) -> String {
        text(|out| self.printer.operand(value, false, out))
    }

    /// The version of private memory that a value stands for, if it does.
    pub(super) fn version(&self, value: phalanx_core::Value) -> Option<&MemoryVersion> {
        let versions = match &self.memory {
            Some(memory) => memory,
            None => queries::memory_versions(self.db, self.input).as_slice(),
        };
        let at = versions.binary_search_by_key(&value, |version| version.value).ok()?;
        versions.get(at)
    }

    pub(super) fn value_name(&self, value: phalanx_core::Value) -> String {
        if let Some(version) = self.version(value) {
            return match version.parameter() {
                Some(position) => {
                    format!("what {} points to", self.operand(Value::arg(position)))
                }
                None => {
                    let variable = self.variables().kept_in(Value::inst(version.object));
                    let slot = with_variable(self.inst_name(version.object), variable);
                    format!("the content of {slot}")
                }
            };
        }
        let (name, value) = match self.numbering.definition(value) {
            Definition::Argument(position) => {
                let value = Value::arg(position);
                (self.operand(value), value)
            }
            Definition::Inst(inst) => (self.inst_name(inst), Value::inst(inst)),
        };
        with_variable(name, self.variables().name(value))
    }

    /// The variable whose value a fact is about.
    fn variable_of(&self, fact: Fact) -> Option<String> {
        let (Fact::Value(value) | Fact::Use(value, _)) = fact else { return None };
        if self.version(value).is_some() {
            return None;
        }
        let value = match self.numbering.definition(value) {
            Definition::Argument(position) => Value::arg(position),
            Definition::Inst(inst) => Value::inst(inst),
        };
        self.variables().name(value).map(str::to_owned)
    }

    /// The name of a value in the module; an instruction without result is named by what it does.
    fn subject_text(&self, value: Value) -> String {
        match value.as_inst() {
            Some(inst) => self.inst_name(inst),
            None => self.operand(value),
        }
    }

    /// The end of a block, with the line of the program that stands there.
    pub(super) fn end_of(&self, block: Node) -> String {
        let name = self.block_name(block);
        let terminator = self.function.body.terminator(flow::block_of(block));
        match terminator.and_then(|terminator| self.debug(terminator)) {
            Some(place) => format!("the end of {name} ({}:{})", base_name(&place.file), place.line),
            None => format!("the end of {name}"),
        }
    }

    pub(super) fn inst_text(&self, inst: InstId) -> String {
        text(|out| self.printer.inst(inst, out))
    }

    /// The name of an instruction; its text if it has no result.
    pub(crate) fn inst_name(&self, inst: InstId) -> String {
        let data = self.function.body.inst(inst);
        match data.ty == Type::VOID {
            false => self.operand(Value::inst(inst)),
            true => format!("the {}", data.opcode.text()),
        }
    }

    pub(crate) fn block_name(&self, node: Node) -> String {
        text(|out| self.printer.block_operand(flow::block_of(node), out))
    }

    /// The subject of a fact, in terms of the module.
    fn name_of(&self, fact: Fact) -> String {
        match fact {
            Fact::Value(value) | Fact::Use(value, _) if self.version(value).is_none() => {
                match self.numbering.definition(value) {
                    Definition::Argument(position) => self.operand(Value::arg(position)),
                    Definition::Inst(inst) => self.inst_name(inst),
                }
            }
            _ => self.what(fact),
        }
    }

    pub(super) fn what(&self, fact: Fact) -> String {
        match fact {
            Fact::Value(value) => self.value_name(value),
            Fact::Use(value, _) => self.value_name(value),
            Fact::Terminator(block) => format!("the branch of {}", self.block_name(block)),
            Fact::Block(block) => self.block_name(block),
        }
    }

    pub(crate) fn inst_of(&self, fact: Fact) -> Option<InstId> {
        let of_value = |value| match self.version(value).map(|version| version.by) {
            Some(VersionBy::Write(inst)) => Some(inst),
            Some(VersionBy::Phi(_)) => None,
            None => match self.numbering.definition(value) {
                Definition::Inst(inst) => Some(inst),
                Definition::Argument(_) => None,
            },
        };
        let terminator = |block| self.function.body.terminator(flow::block_of(block));
        match fact {
            Fact::Value(value) => of_value(value),
            Fact::Use(_, user) => match user.kind() {
                UserKind::Value(user) => of_value(user),
                UserKind::Terminator(block) => terminator(block),
            },
            Fact::Terminator(block) => terminator(block),
            Fact::Block(_) => None,
        }
    }

    pub(super) fn place(&self, fact: Fact) -> (Place, Option<SourceFile>) {
        if let Some(inst) = self.inst_of(fact) {
            return (self.lines.inst(inst), self.debug(inst));
        }
        if let Fact::Value(value) = fact
            && let Some(VersionBy::Phi(block)) = self.version(value).map(|version| version.by)
        {
            return (self.lines.block(flow::block_of(block)), None);
        }
        match fact {
            Fact::Value(value) => match self.numbering.definition(value) {
                Definition::Argument(position) => (self.lines.argument(position), None),
                Definition::Inst(inst) => (self.lines.inst(inst), self.debug(inst)),
            },
            Fact::Block(block) => (self.lines.block(flow::block_of(block)), None),
            _ => (Place::default(), None),
        }
    }

    /// The user's source line of an instruction.
    pub(crate) fn debug(&self, inst: InstId) -> Option<SourceFile> {
        self.location(inst).source
    }

    /// Where an instruction comes from.
    pub(crate) fn location(&self, inst: InstId) -> Location {
        let module = self.input.module(self.db);
        let known = (&module.shell(self.db).metadata, &**module.context(self.db));
        Location::of(self.function, known, None, inst)
    }

    /// The variables of the program that the function has.
    pub(crate) fn variables(&self) -> &Variables {
        self.variables.get_or_init(|| Variables::of(self.db, self.input))
    }

    pub(super) fn step(&self, link: &Link) -> Step {
        let (place, debug) = self.place(link.fact);
        let text = match (self.inst_of(link.fact), link.fact) {
            (Some(inst), _) => text(|out| self.printer.inst(inst, out)),
            (None, Fact::Value(value)) if self.version(value).is_some() => self.what(link.fact),
            (None, Fact::Value(value)) => match self.numbering.definition(value) {
                Definition::Argument(position) => text(|out| self.printer.arg(position, out)),
                Definition::Inst(_) => String::new(),
            },
            (None, fact) => self.what(fact),
        };
        let separation = separation_of(&link.cause);
        let cycle = match &link.cause {
            Cause::Temporal { cycle, .. } => *cycle,
            Cause::Assumed { cycle, .. } => Some(*cycle),
            _ => None,
        };
        let (kind, sentence) = self.say(link);
        let branch = match &link.cause {
            Cause::Control { branch, .. } => Some(*branch),
            _ => separation.map(|separation| separation.branch),
        };
        let way = |way: &Vec<Node>| way.iter().map(|&node| self.block_name(node)).collect();
        Step {
            kind,
            function: None,
            what: self.name_of(link.fact),
            variable: self.variable_of(link.fact),
            text,
            source: link.source.name().unwrap_or_default(),
            place,
            debug,
            sentence,
            branch: branch.map(|branch| self.block_name(branch)),
            cycle: cycle.map(|cycle| self.entries(cycle)),
            exit: separation
                .and_then(|s| s.exit)
                .map(|(from, to)| [self.block_name(from), self.block_name(to)]),
            ways: separation
                .and_then(|s| s.ways.as_ref())
                .map(|[one, other]| [way(one), way(other)]),
        }
    }

    pub(super) fn entries(&self, cycle: CycleId) -> Vec<String> {
        let cycles = queries::cycles(self.db, self.input);
        cycles.map_or_else(Vec::new, |cycles| {
            cycles.entries(cycle).map(|entry| self.block_name(entry)).collect()
        })
    }
}

fn separation_of(cause: &Cause) -> Option<&Separation> {
    match cause {
        Cause::Join(separation)
        | Cause::Temporal { separation, .. }
        | Cause::Assumed { separation, .. } => Some(separation),
        _ => None,
    }
}

/// `` `sum` (%14) ``; only one name if the value is named like its variable.
pub(super) fn with_variable(name: String, variable: Option<&str>) -> String {
    match variable {
        Some(variable) if name.strip_prefix('%') != Some(variable) => {
            format!("`{variable}` ({name})")
        }
        _ => name,
    }
}

/// The name of a file without its folders.
fn base_name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

fn with_percent(name: &str) -> String {
    if name.starts_with('%') { name.to_owned() } else { format!("%{name}") }
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}
