//! From links to the model.

use std::sync::Arc;

use phalanx_analysis::{
    affect::UserKind,
    divergence::Divergence,
    explain::{Cause, Fact, Link, Separation},
    loads::{LoadClass, Refusal},
    lower::{Definition, MemoryVersion, Numbering, VersionBy},
    stable::Assumptions,
};
use phalanx_db::{
    Database, FunctionInput,
    queries::{self, Subject},
};
use phalanx_graph::{CycleId, Node};
use phalanx_ir::{
    BlockId, InstId, Type, Value, flow,
    function::FunctionRef,
    metadata::{Field, Metadata, MetadataId, MetadataValue, kind},
};
use phalanx_llvm::{FunctionPrinter, ModulePrinter};
use phalanx_target::{Scope, SourceSet, varying};

use super::{DebugPlace, Explanation, Step, UnknownName, words::Dialect};
use crate::analyze::{Lines, Place, names};
use crate::loads::{LoadExplanation, Words};

/// How many scopes are looked through for the file of a debug location.
const SCOPES: usize = 64;

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
}

impl<'a> Explainer<'a> {
    /// `source` is the text that the module was read from, for lines.
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
        }
    }

    /// The same, of what diverges where programs are taken for something: see [`queries::assumed_divergence`].
    #[must_use]
    pub fn assuming(self, assumed: Option<Assumptions>) -> Self {
        Explainer { assumed, ..self }
    }

    /// For another function of the module.
    pub(crate) fn of(&self, input: FunctionInput) -> Explainer<'a> {
        Explainer::new(self.db, input, self.module, self.source)
    }

    /// The same, where other values stand for versions of memory.
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
            UnknownName::among("value", &wanted, values().map(|value| self.operand(value)))
        })
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

    /// Everything on a line that differs between threads of a scope, in order: values, branches, and uses that do where their value
    /// does not. The line is one of the program that was compiled where any instruction of the function says from which it comes,
    /// and else one of the text.
    pub fn on_line(&self, line: u32, scope: Scope) -> Vec<Subject> {
        let (Some(divergence), Some(cfg)) = (self.divergence(), queries::cfg(self.db, self.input))
        else {
            return Vec::new();
        };
        let varying = self.varying(scope);
        let has_debug = self.insts().any(|inst| self.debug(inst).is_some());
        let mut found = Vec::new();
        for inst in self.insts() {
            let at = match has_debug {
                true => self.debug(inst).map(|place| place.line),
                false => Some(self.lines.inst(inst).line),
            };
            if at != Some(line) {
                continue;
            }
            let body = self.function.body;
            let block = body.block_of(inst).filter(|_| body.inst(inst).opcode.is_terminator());
            if let Some(block) = block.filter(|&block| cfg.is_branch(flow::node_of(block))) {
                if divergence.terminator(flow::node_of(block)).intersects(varying) {
                    found.push(Subject::Branch(block));
                }
            } else if divergence.value(self.numbering.inst(inst)).intersects(varying) {
                found.push(Subject::Value(Value::inst(inst)));
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
                    found.push(subject);
                }
            }
        }
        found
    }

    /// Why a load is not done in a cheaper way, with the chain of causes where its address differs between threads of a wave. None for
    /// what is no load.
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

    /// Why a load takes no cheaper way, as a sentence.
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

    /// An instruction as text.
    pub(crate) fn text_of(&self, inst: InstId) -> String {
        text(|out| self.printer.inst(inst, out))
    }

    pub(crate) fn function(&self) -> (&'a Database, FunctionInput) {
        (self.db, self.input)
    }

    /// Why something differs between threads of a scope. None for what has no facts, such as a constant.
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
            Subject::Value(value) => (self.operand(value), "value"),
            Subject::Use { user, operand } => {
                (format!("operand {operand} of {}", self.inst_name(user)), "use")
            }
            Subject::Branch(block) => (self.block_name(flow::node_of(block)), "branch"),
            Subject::Block(block) => (self.block_name(flow::node_of(block)), "block"),
        };
        Some(Explanation {
            subject: what,
            kind,
            place: self.place(fact).0,
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
    pub(super) fn version(&self, value: phalanx_analysis::Value) -> Option<&MemoryVersion> {
        let versions = match &self.memory {
            Some(memory) => memory,
            None => queries::memory_versions(self.db, self.input).as_slice(),
        };
        let at = versions.binary_search_by_key(&value, |version| version.value).ok()?;
        versions.get(at)
    }

    pub(super) fn value_name(&self, value: phalanx_analysis::Value) -> String {
        if let Some(version) = self.version(value) {
            return match version.parameter() {
                Some(position) => {
                    format!("what {} points to", self.operand(Value::arg(position)))
                }
                None => format!("the content of {}", self.inst_name(version.object)),
            };
        }
        match self.numbering.definition(value) {
            Definition::Argument(position) => self.operand(Value::arg(position)),
            Definition::Inst(inst) => self.inst_name(inst),
        }
    }

    pub(super) fn inst_text(&self, inst: InstId) -> String {
        text(|out| self.printer.inst(inst, out))
    }

    /// The name of an instruction; where it has no result, what it is.
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

    pub(super) fn place(&self, fact: Fact) -> (Place, Option<DebugPlace>) {
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

    /// Where an instruction comes from, by its debug location.
    pub(crate) fn debug(&self, inst: InstId) -> Option<DebugPlace> {
        let mut attachments = self.function.extras.attachments_of(inst);
        let location = attachments.find(|attachment| attachment.kind == kind::DBG)?.node;
        let module = self.input.module(self.db);
        let (metadata, context) = (&module.shell(self.db).metadata, module.context(self.db));
        let number = |field| {
            let value = metadata.field(location, field).and_then(|value| value.as_int(context));
            u32::try_from(value.unwrap_or(0)).unwrap_or(0)
        };
        let line = number(Field::Line);
        let file = file_of(metadata, location).map(|name| context.text(name).into_owned());
        (line != 0).then(|| DebugPlace {
            file: file.unwrap_or_default(),
            line,
            column: number(Field::Column),
        })
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
            what: self.what(link.fact),
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

/// The name of the file of a debug location: that of the nearest scope that has one.
fn file_of(metadata: &Metadata, location: MetadataId) -> Option<phalanx_ir::Symbol> {
    let node = |at, field| metadata.field(at, field).and_then(MetadataValue::as_node);
    let mut at = location;
    for _ in 0..SCOPES {
        if let Some(file) = node(at, Field::File) {
            return metadata.field(file, Field::Filename).and_then(MetadataValue::as_string);
        }
        at = node(at, Field::Scope)?;
    }
    None
}

fn with_percent(name: &str) -> String {
    if name.starts_with('%') { name.to_owned() } else { format!("%{name}") }
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}
