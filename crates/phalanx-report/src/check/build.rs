//! From findings to diagnostics.

use phalanx_analysis::{
    check::{Finding, Rule},
    loads::Refusal,
};
use phalanx_db::{
    Database, FunctionInput,
    queries::{self, Subject},
};
use phalanx_ir::{GlobalName, InstId, Opcode, constant::ConstKind, flow};
use phalanx_llvm::ModulePrinter;

use super::{
    Allowed, Diagnostic, Location, Reason, Sources, allow::allows_in_comment, place::line_of, words,
};
use crate::{analyze::Lines, explain::Explainer};

/// How many links of a chain are told.
const LINKS: usize = 6;

/// Makes diagnostics of the findings in one function.
pub struct Checker<'a> {
    db: &'a Database,
    input: FunctionInput,
    explainer: Explainer<'a>,
    lines: Lines<'a>,
    text: &'a [u8],
    sources: &'a dyn Sources,
    name: String,
}

impl<'a> Checker<'a> {
    /// `text` is what the module was read from; `sources` has the files that it was compiled from.
    pub fn new(
        db: &'a Database,
        input: FunctionInput,
        printer: &'a ModulePrinter<'a>,
        text: &'a [u8],
        sources: &'a dyn Sources,
    ) -> Self {
        Checker {
            db,
            input,
            explainer: Explainer::new(db, input, printer, text),
            lines: Lines::new(db, input, text),
            text,
            sources,
            name: name(db, input, input.header(db).name),
        }
    }

    /// What there is to say about a finding; none if the program says that it is known.
    pub fn diagnostic(&self, finding: &Finding) -> Option<Diagnostic> {
        let location = self.location(finding.inst);
        if self.is_allowed(finding.rule, finding.inst, &location) {
            return None;
        }
        let what = self.what(finding);
        let mut diagnostic = Diagnostic {
            code: finding.rule.code(),
            rule: finding.rule.slug(),
            level: finding.level.name(),
            message: words::message(finding, &what),
            function: self.name.clone(),
            label: words::label(finding),
            reasons: self.reasons(finding),
            help: words::help(finding),
            fingerprint: String::new(),
            location,
        };
        diagnostic.fingerprint = self.fingerprint(&diagnostic);
        Some(diagnostic)
    }

    fn location(&self, inst: InstId) -> Location {
        let module = self.input.module(self.db);
        let known = (&module.shell(self.db).metadata, &**module.context(self.db));
        Location::of(self.input.view(self.db), known, Some(&self.lines), inst)
    }

    /// The operation, as the subject of a sentence.
    fn what(&self, finding: &Finding) -> String {
        if let Some(callee) = finding.callee {
            return format!("the barrier in @{}", name(self.db, self.input, callee));
        }
        let is_barrier = !matches!(
            finding.rule,
            Rule::DivergentGroupOperation | Rule::MissingMembers | Rule::GroupChanged
        );
        if is_barrier {
            return "the barrier".to_owned();
        }
        let body = self.input.body(self.db);
        let context = self.input.module(self.db).context(self.db);
        let called = body.const_callee(finding.inst).and_then(|callee| {
            match context.const_data(callee).kind {
                ConstKind::Global(called) => Some(name(self.db, self.input, called)),
                _ => None,
            }
        });
        called.map_or_else(|| "this operation".to_owned(), |called| format!("@{called}"))
    }

    fn reasons(&self, finding: &Finding) -> Vec<Reason> {
        if let Some(refusal) = finding.refusal {
            return self.obstacle(finding, refusal);
        }
        let mut reasons = Vec::new();
        if let Some(other) = finding.other {
            reasons.push(Reason {
                kind: "other",
                message: "others may wait here instead".to_owned(),
                location: self.location(other),
            });
        }
        if finding.access.is_some() {
            let is_store = self.input.body(self.db).inst(finding.inst).opcode == Opcode::Store;
            let operand = usize::from(is_store);
            reasons.extend(self.chain(Subject::Use { user: finding.inst, operand }, finding));
            return reasons;
        }
        let Some(branch) = finding.branch.map(flow::block_of) else { return reasons };
        let Some(terminator) = self.input.body(self.db).terminator(branch) else { return reasons };
        if terminator != finding.inst {
            reasons.push(Reason {
                kind: "part",
                message: words::parting(finding, finding.sources),
                location: self.location(terminator),
            });
        }
        reasons.extend(self.chain(Subject::Branch(branch), finding));
        reasons
    }

    /// What keeps a load from a cheaper way.
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
        for (at, (sentence, inst)) in steps.into_iter().enumerate() {
            // The first links and the source; what is between them is for `phalanx explain`.
            if count > LINKS && (LINKS - 2..count - 1).contains(&at) {
                continue;
            }
            let location = inst.map(|inst| self.location(inst)).unwrap_or_default();
            reasons.push(Reason { kind: "because", message: sentence, location });
        }
        reasons
    }

    fn is_allowed(&self, rule: Rule, inst: InstId, location: &Location) -> bool {
        let module = self.input.module(self.db);
        let (context, metadata) = (module.context(self.db), &module.shell(self.db).metadata);
        if Allowed::new(context, metadata, self.input.view(self.db)).has(rule, inst) {
            return true;
        }
        let allows = |text: &[u8], line: u32| {
            let lines = [line, line.saturating_sub(1)];
            lines.iter().filter_map(|&l| line_of(text, l)).any(|l| allows_in_comment(l, rule))
        };
        let places = location.source.iter().chain(&location.inlined_at);
        allows(self.text, location.ir.line)
            || places.into_iter().any(|place| {
                let text = self.sources.text(&place.file, &place.folder);
                text.is_some_and(|text| allows(&text, place.line))
            })
    }

    /// Of the code, the function and the line, spaces left out: what stays when a file grows elsewhere.
    fn fingerprint(&self, diagnostic: &Diagnostic) -> String {
        let of = |text: &[u8], line| {
            let line = line_of(text, line).unwrap_or_default();
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>()
        };
        let location = &diagnostic.location;
        let in_source = location.source.as_ref().and_then(|place| {
            let text = self.sources.text(&place.file, &place.folder)?;
            Some(of(&text, place.line))
        });
        let line = in_source.unwrap_or_else(|| of(self.text, location.ir.line));
        format!("{:016x}", fxhash::hash64(&(diagnostic.code, &diagnostic.function, line)))
    }
}

fn name(db: &Database, input: FunctionInput, name: GlobalName) -> String {
    match name {
        GlobalName::Named(symbol) => input.module(db).context(db).text(symbol).into_owned(),
        GlobalName::Numbered(number) => number.to_string(),
    }
}
