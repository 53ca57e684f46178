//! Makes diagnostics from findings.

use phalanx_analysis::{
    check::{Finding, Level, Rule, spaces::Lead},
    explain::{Cause, Fact, Link},
    loads::Refusal,
};
use phalanx_db::{
    Database, FunctionInput,
    queries::{self, Passage, Subject},
};
use phalanx_graph::Node;
use phalanx_ir::{GlobalName, InstId, Opcode, Value, constant::ConstKind, flow};
use phalanx_llvm::ModulePrinter;
use phalanx_target::{
    Scope, SourceSet,
    intrinsics::{self, Barrier},
};

use super::{
    Allowed, Diagnostic, LinedText, Location, Reason, SourceFile, Sources, Suppression,
    allow::allows_in_comment,
    guarded::{Guard, guard},
    memory,
    names::{self, demangled, source_name, symbol_name},
    words::{self, What},
};
use crate::{
    explain::{
        Explainer,
        words::{self as sources, Dialect},
    },
    lines::Lines,
};

/// How many links of a chain a diagnostic shows.
const LINKS: usize = 6;

/// What a comparison of two versions reports about an instruction.
pub(super) struct Reported {
    pub(super) rule: Rule,
    pub(super) level: Level,
    pub(super) inst: InstId,
    pub(super) message: String,
    pub(super) label: String,
    pub(super) reasons: Vec<ReportedReason>,
    /// A branch that decides whether the operation is executed, and the sources that it depends on.
    pub(super) branch: Option<(Node, SourceSet)>,
    pub(super) help: Vec<String>,
}

/// A reason of such a report, with its instruction in the same function, if it has one.
pub(super) struct ReportedReason {
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) inst: Option<InstId>,
}

/// Makes diagnostics of the findings in one function.
pub struct Checker<'a> {
    db: &'a Database,
    input: FunctionInput,
    explainer: Explainer<'a>,
    lines: Lines<'a>,
    text: &'a LinedText<'a>,
    sources: &'a dyn Sources,
    /// The name of the function in the program, and in the module.
    name: String,
    symbol: String,
    dialect: Dialect,
}

impl<'a> Checker<'a> {
    /// `text` is the text of the module; `sources` gives the files that it was compiled from.
    pub fn new(
        db: &'a Database,
        input: FunctionInput,
        printer: &'a ModulePrinter<'a>,
        text: &'a LinedText<'a>,
        sources: &'a dyn Sources,
    ) -> Self {
        Checker {
            db,
            input,
            explainer: Explainer::new(db, input, printer, text.bytes()),
            lines: Lines::new(db, input, text.bytes()),
            text,
            sources,
            name: source_name(db, input),
            symbol: symbol_name(db, input.module(db), input.header(db).name),
            dialect: Dialect::of(db, input.module(db)),
        }
    }

    /// The diagnostic of a finding, marked as suppressed if the program says so.
    #[must_use]
    pub fn diagnostic(&self, finding: &Finding) -> Diagnostic {
        let skipped = self.skipped(finding);
        let mut help = words::help(skipped.as_ref().unwrap_or(finding));
        help.extend(skipped.is_some().then(|| words::LEAVES.to_owned()));
        let finding = skipped.as_ref().unwrap_or(finding);
        let launch = |clash| memory::launch(clash, self.dialect, |value| self.value_name(value));
        help.extend(finding.clash.as_ref().and_then(launch));
        let mut location =
            self.location_in(finding.inst, finding.clash.as_ref().and_then(|c| c.called[0]));
        let mut reasons = self.reasons(finding);
        look_at(&mut location, &mut reasons);
        let is_allowed = self.is_allowed(finding.rule, finding.inst, &location);
        let what = self.what(finding, &location);
        let mut diagnostic = Diagnostic {
            code: finding.rule.code(),
            rule: finding.rule.slug(),
            level: finding.level.name(),
            message: words::message(finding, &what),
            function: self.name.clone(),
            symbol: self.symbol.clone(),
            kernel: queries::is_kernel(self.db, self.input),
            label: words::label(finding, &what),
            reasons,
            help,
            fix: None,
            fingerprint: String::new(),
            suppression: is_allowed.then_some(Suppression::InSource),
            location,
        };
        diagnostic.fingerprint = self.fingerprint(&diagnostic);
        diagnostic
    }

    /// The diagnostic of a comparison's report.
    pub(super) fn told(&self, told: Reported) -> Diagnostic {
        let mut location = self.location(told.inst);
        let reason = |reason: ReportedReason| Reason {
            kind: reason.kind,
            message: reason.message,
            location: reason.inst.map(|inst| self.location(inst)).unwrap_or_default(),
        };
        let mut reasons: Vec<Reason> = told.reasons.into_iter().map(reason).collect();
        if let Some((branch, sources)) = told.branch {
            let finding = Finding {
                branch: Some(branch),
                sources,
                ..Finding::new(told.rule, told.level, told.inst, Scope::Workgroup)
            };
            reasons.extend(self.reasons(&finding));
        }
        look_at(&mut location, &mut reasons);
        let is_allowed = self.is_allowed(told.rule, told.inst, &location);
        let mut diagnostic = Diagnostic {
            code: told.rule.code(),
            rule: told.rule.slug(),
            level: told.level.name(),
            message: told.message,
            function: self.name.clone(),
            symbol: self.symbol.clone(),
            kernel: queries::is_kernel(self.db, self.input),
            label: told.label,
            reasons,
            help: told.help,
            fix: None,
            fingerprint: String::new(),
            suppression: is_allowed.then_some(Suppression::InSource),
            location,
        };
        diagnostic.fingerprint = self.fingerprint(&diagnostic);
        diagnostic
    }

    /// The finding about a barrier that threads skip by leaving the kernel, where the barrier
    /// stands in the branch by which they leave.
    fn skipped(&self, finding: &Finding) -> Option<Finding> {
        // Two waves load different values from one address only if memory changes in between.
        let is_likely = !(finding.sources - SourceSet::OPAQUE_WAVE).is_empty();
        if finding.rule != Rule::BarrierAfterExit || !is_likely {
            return None;
        }
        let rule = match guard(self.db, self.input, finding)? {
            Guard::Branch => Rule::DivergentBarrier,
            Guard::Loop => Rule::BarrierInDivergentLoop,
        };
        Some(Finding { rule, level: Level::Warning, ..finding.clone() })
    }

    /// The function that is checked, as the program calls it, and as the module does.
    pub(crate) fn function_name(&self) -> (&str, &str) {
        (&self.name, &self.symbol)
    }

    /// What a function is called in the program, as far as that is known.
    pub(super) fn name_of(&self, callee: GlobalName) -> String {
        let module = self.input.module(self.db);
        let mut entries = module.functions(self.db).iter();
        match entries.find(|entry| entry.name == callee) {
            Some(entry) => source_name(self.db, entry.input),
            None => demangled(&symbol_name(self.db, module, callee)),
        }
    }

    pub(crate) fn location(&self, inst: InstId) -> Location {
        let module = self.input.module(self.db);
        let known = (&module.shell(self.db).metadata, &**module.context(self.db));
        Location::of(self.input.view(self.db), known, Some(&self.lines), inst)
    }

    /// The place of an instruction, or of an instruction in a function that is called there.
    fn location_in(&self, inst: InstId, called: Option<(GlobalName, InstId)>) -> Location {
        let module = self.input.module(self.db);
        let mut entries = module.functions(self.db).iter();
        let Some((name, inner)) = called else { return self.location(inst) };
        let Some(entry) = entries.find(|entry| entry.name == name) else {
            return self.location(inst);
        };
        let known = (&module.shell(self.db).metadata, &**module.context(self.db));
        let lines = Lines::new(self.db, entry.input, self.text.bytes());
        Location::of(entry.input.view(self.db), known, Some(&lines), inner)
    }

    /// The operation, as the subject of a sentence.
    fn what(&self, finding: &Finding, location: &Location) -> What {
        if let Some(callee) = finding.callee {
            return What::named(format!("the barrier in `{}`", self.name_of(callee)));
        }
        if let Some(clash) = &finding.clash {
            let name = |value| self.value_name(value);
            return What::named(memory::element(self.db, self.input, clash, name));
        }
        if let Some(symbol) = finding.access.and_then(|cost| cost.symbol) {
            let symbol = Some(self.value_name(symbol.value));
            return What { symbol, ..What::named(String::new()) };
        }
        if let Some(lead) = finding.leads.first() {
            return What::named(self.explainer.subject_name(lead.subject));
        }
        let body = self.input.body(self.db);
        let context = self.input.module(self.db).context(self.db);
        let called = body.const_callee(finding.inst).and_then(|callee| {
            match context.const_data(callee).kind {
                ConstKind::Global(called) => {
                    Some(symbol_name(self.db, self.input.module(self.db), called))
                }
                _ => None,
            }
        });
        let intrinsic = called.as_deref().and_then(intrinsics::lookup);
        let barrier = intrinsic.and_then(|intrinsic| intrinsic.info.barrier);
        match finding.rule {
            Rule::DivergentGroupOperation
            | Rule::MissingMembers
            | Rule::NotInMask
            | Rule::DifferentMasks
            | Rule::SourceNotInMask
            | Rule::DivergentArgument
            | Rule::ActiveMask
            | Rule::GroupChanged
            | Rule::GroupParted
                if finding.rule == Rule::DivergentArgument
                    || barrier.is_none_or(|barrier| barrier.partial) =>
            {
                What::named(match (self.called(location), called) {
                    (Some(word), _) => format!("`{word}`"),
                    (None, Some(name)) => match names::of_intrinsic(&name) {
                        Some(word) if self.dialect == Dialect::Cuda => format!("`{word}`"),
                        _ => format!("@{name}"),
                    },
                    (None, None) => "this operation".to_owned(),
                })
            }
            _ => {
                let kind =
                    barrier.map(|barrier| Barrier { scope: of_kind(barrier, finding), ..barrier });
                let mut what = What::barrier(kind);
                let inner = location.inlined.iter().rfind(|frame| !frame.is_of_system());
                if let Some(word) = self.called(location) {
                    what.text = format!("`{word}()`");
                } else if let Some(inner) = inner.filter(|inner| !inner.function.is_empty()) {
                    what.text = format!("{} in `{}`", what.text, inner.function);
                }
                what
            }
        }
    }

    /// The program's word for an operation, read from the user's source line. None if user code was
    /// inlined into that line, since the word there is then something else.
    fn called(&self, location: &Location) -> Option<String> {
        let place = location.source.as_ref()?;
        if !location.inlined.iter().all(SourceFile::is_of_system) {
            return None;
        }
        let text = self.sources.text(place)?;
        text.called_at(place.line, place.column).map(str::to_owned)
    }

    /// What a value is called: in the source where that is known, or else in the module.
    pub(crate) fn value_name(&self, value: Value) -> String {
        let in_source = self.explainer.variables().name(value);
        in_source.map_or_else(|| self.explainer.name(value), str::to_owned)
    }

    fn reasons(&self, finding: &Finding) -> Vec<Reason> {
        if let Some(refusal) = finding.refusal {
            return self.obstacle(finding, refusal);
        }
        let mut reasons = Vec::new();
        if let Some(clash) = &finding.clash {
            let name = |value| self.value_name(value);
            let element = memory::element(self.db, self.input, clash, name);
            reasons.extend(finding.other.map(|other| Reason {
                kind: "other",
                message: memory::other(clash, &element),
                location: self.location_in(other, clash.called[1]),
            }));
            return reasons;
        }
        if let Some(other) = finding.other {
            let message = match finding.rule {
                Rule::WrittenTooSoon => "it may be written again here",
                Rule::PendingCopy => "the copy begins here",
                _ if finding.leads.is_empty() => "others may wait here instead",
                _ => "it is accessed here",
            };
            reasons.push(Reason {
                kind: "other",
                message: message.to_owned(),
                location: self.location(other),
            });
        }
        if !finding.leads.is_empty() {
            finding.leads.iter().for_each(|lead| self.lead(*lead, &mut reasons));
            return reasons;
        }
        if finding.access.is_some() {
            let is_store = self.input.body(self.db).inst(finding.inst).opcode == Opcode::Store;
            let operand = usize::from(is_store);
            reasons.extend(self.chain(Subject::Use { user: finding.inst, operand }, finding));
            return reasons;
        }
        let body = self.input.body(self.db);
        if finding.branch.is_none()
            && body.inst(finding.inst).opcode.is_call()
            && body.callee(finding.inst).as_const().is_none()
        {
            reasons.push(Reason {
                kind: "part",
                message: words::choice(finding.sources, self.dialect),
                location: self.location(finding.inst),
            });
            let operand = body.operands(finding.inst).len() - 1;
            reasons.extend(self.chain(Subject::Use { user: finding.inst, operand }, finding));
            return reasons;
        }
        if let Some(operand) = finding.argument.filter(|_| !finding.sources.is_empty()) {
            reasons.extend(self.chain(Subject::Use { user: finding.inst, operand }, finding));
        }
        if finding.rule == Rule::GridWait
            && let Some(block) = self.input.body(self.db).block_of(finding.inst)
        {
            reasons.extend(self.chain(Subject::Block(block), finding));
        }
        let Some(branch) = finding.branch.map(flow::block_of) else { return reasons };
        let Some(terminator) = self.input.body(self.db).terminator(branch) else { return reasons };
        if terminator != finding.inst {
            reasons.push(Reason {
                kind: "part",
                message: words::parting(finding, finding.sources, self.dialect),
                location: self.location(terminator),
            });
        }
        reasons.extend(self.chain(Subject::Branch(branch), finding));
        reasons
    }

    /// Why an address may point to each memory: where the memory enters, and the steps in between.
    fn lead(&self, lead: Lead, reasons: &mut Vec<Reason>) {
        let chains = queries::explain_spaces(self.db, self.input, lead.subject, lead.memories);
        for chain in &chains {
            let steps = self.explainer.space_chain(chain).steps;
            let count = steps.len();
            for (at, (step, link)) in steps.into_iter().zip(&chain.links).enumerate() {
                if count > LINKS && (LINKS - 2..count - 1).contains(&at) {
                    continue;
                }
                let inst = self.explainer.inst_of_place(link.place);
                let location = inst.map(|inst| self.location(inst)).unwrap_or_default();
                let kind = if at + 1 == count { "origin" } else { "because" };
                reasons.push(Reason { kind, message: step.sentence, location });
            }
        }
    }

    /// Why a load uses no cheaper instruction.
    fn obstacle(&self, finding: &Finding, refusal: Refusal) -> Vec<Reason> {
        let place = refusal.culprit().unwrap_or(finding.inst);
        let because = |message: String, place| Reason {
            kind: "because",
            message,
            location: self.location(place),
        };
        let mut reasons = vec![because(self.explainer.refusal(refusal), place)];
        if let (Some(store), Refusal::Aliased(_)) = (finding.other, refusal) {
            reasons
                .push(because("this may store there, through another pointer".to_owned(), store));
        }
        if matches!(refusal, Refusal::Divergent(_)) {
            let subject = Subject::Use { user: finding.inst, operand: 0 };
            reasons.extend(self.chain(subject, finding));
        }
        reasons
    }

    /// The chain of causes, from a subject to a source of the finding.
    fn chain(&self, subject: Subject, finding: &Finding) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let chain = queries::explain_sources(self.db, self.input, subject, finding.sources);
        let steps = self.explainer.steps(&chain);
        let count = steps.len();
        for (at, ((sentence, inst), link)) in steps.into_iter().zip(&chain).enumerate() {
            // Shows the first links and the source; `phalanx explain` shows all of them.
            if count > LINKS && (LINKS - 2..count - 1).contains(&at) {
                continue;
            }
            let location = inst.map(|inst| self.location(inst)).unwrap_or_default();
            let message = match location.source {
                Some(_) => self.at_line(link, inst),
                None => sentence,
            };
            reasons.push(Reason { kind: "because", message, location });
        }
        if let Some(Link { fact: fact @ Fact::Value(_), cause: Cause::Source, .. }) = chain.last()
            && self.explainer.inst_of(*fact).is_none()
        {
            let passed = self.passed(subject, finding);
            if !passed.is_empty() {
                reasons.pop();
                reasons.extend(passed);
            }
        }
        reasons
    }

    /// If a chain ends at an argument with known callers: the call, and where the passed value
    /// comes from.
    fn passed(&self, subject: Subject, finding: &Finding) -> Vec<Reason> {
        let chain =
            queries::explain_through_calls(self.db, self.input, subject, finding.sources, None);
        let Some(up) = chain.iter().position(|link| matches!(link.passage, Passage::Up(_))) else {
            return Vec::new();
        };
        let steps = self.explainer.steps_through_calls(&chain);
        let origin = chain.len() - 1;
        let shown = if origin > up { vec![up, origin] } else { vec![up] };
        let reason = |at: usize| {
            let (function, inst) = match chain[at].passage {
                Passage::Up(site) => (site.caller, Some(site.call)),
                _ => {
                    let function = chain[at].function;
                    (function, self.explainer.of(function).inst_of(chain[at].link.fact))
                }
            };
            let module = self.input.module(self.db);
            let known = (&module.shell(self.db).metadata, &**module.context(self.db));
            let lines = Lines::new(self.db, function, self.text.bytes());
            let location =
                inst.map(|inst| Location::of(function.view(self.db), known, Some(&lines), inst));
            Reason {
                kind: "because",
                message: steps[at].sentence.clone(),
                location: location.unwrap_or_default(),
            }
        };
        shown.into_iter().map(reason).collect()
    }

    /// A link of a chain as a sentence about a line of the source.
    fn at_line(&self, link: &Link, inst: Option<InstId>) -> String {
        let opcode = inst.map(|inst| self.input.body(self.db).inst(inst).opcode);
        let variable = inst.and_then(|inst| self.explainer.variables().name(Value::inst(inst)));
        let what = variable.map_or_else(|| "which".to_owned(), |name| format!("`{name}`"));
        match (&link.cause, opcode) {
            (Cause::Source, _) => {
                format!("{} comes from here", sources::source(link.source, self.dialect))
            }
            (Cause::Operand(_), Some(Opcode::Load)) => format!("{what} is read from memory here"),
            (Cause::Operand(_), Some(Opcode::Call)) => {
                format!("{what} is the result of this call")
            }
            (Cause::Join(_) | Cause::Control { .. }, _) => {
                format!("{what} depends here on the way by which threads come")
            }
            (Cause::Temporal { .. }, _) => {
                format!("{what} is what threads had when they left a loop, in different iterations")
            }
            _ => format!("{what} is computed here"),
        }
    }

    fn is_allowed(&self, rule: Rule, inst: InstId, location: &Location) -> bool {
        let module = self.input.module(self.db);
        let (context, shell) = (module.context(self.db), module.shell(self.db));
        if Allowed::new(context, shell, self.input.view(self.db)).has(rule, inst) {
            return true;
        }
        let allows = |text: &LinedText<'_>, line: u32| {
            let lines = [line, line.saturating_sub(1)];
            lines.iter().filter_map(|&l| text.line(l)).any(|l| allows_in_comment(l, rule))
        };
        allows(self.text, location.ir.line)
            || location.frames().any(|place| {
                let text = self.sources.text(place);
                text.is_some_and(|text| allows(&text, place.line))
            })
    }

    /// A hash of the rule's code, the function and the line without spaces. It stays the same when
    /// other lines of the file change.
    fn fingerprint(&self, diagnostic: &Diagnostic) -> String {
        let of = |text: &LinedText<'_>, line| {
            let line = text.line(line).unwrap_or_default();
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>()
        };
        let location = &diagnostic.location;
        let in_source = location
            .source
            .as_ref()
            .and_then(|place| Some(of(&*self.sources.text(place)?, place.line)));
        let line = in_source.unwrap_or_else(|| of(self.text, location.ir.line));
        format!("{:016x}", fxhash::hash64(&(diagnostic.code, &diagnostic.symbol, line)))
    }
}

/// Chooses the user's line for each place: see [`Location`].
fn look_at(location: &mut Location, reasons: &mut [Reason]) {
    let is_part = |reason: &&mut Reason| reason.kind == "part";
    if let Some(part) = reasons.iter_mut().find(is_part) {
        location.leave_shared_calls(&mut part.location);
    }
    // Links of the chain are shown in the same files: a `threadIdx.x` in another file is shown at
    // the call in one of these.
    let parting = reasons.iter().find(|reason| reason.kind == "part");
    let shown: Vec<SourceFile> =
        parting.map_or(&*location, |reason| &reason.location).frames().cloned().collect();
    let shown: Vec<SourceFile> = shown.into_iter().filter(|f| !f.is_of_system()).collect();
    for reason in reasons.iter_mut().filter(|reason| reason.kind != "part") {
        reason.location.look_into(&shown);
    }
}

/// The scope of a barrier, where that is not in its name.
fn of_kind(barrier: Barrier, finding: &Finding) -> Scope {
    match barrier.partial {
        true => barrier.scope,
        false => barrier.scope.max(finding.scope),
    }
}
