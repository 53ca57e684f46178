//! Compares two versions of a module: whether a transform changed which threads execute an
//! operation together, or which accesses a barrier separates.
//!
//! | question | how it is answered | rules |
//! |---|---|---|
//! | do other threads execute an operation together? is a barrier gone, or moved across an access? is other data written? | [`executed`]: executes both versions of each kernel in the same launches | PHX020 to PHX023 |
//! | the same, for operations that these launches do not execute | [`controlled`]: compares what the execution of an operation depends on | PHX020, PHX021 |
//! | do threads that separate reach an operation before they reconverge, on hardware that reconverges at the immediate post-dominator? | [`parted`]: by the graph | PHX024 |
//! | are these versions of one module? | by names | PHX025 |
//! | which kernels were not executed? | | PHX026 |
//! | which operations were not judged? | those that no launch reached, and whose [`conditions`] are not known to be the same | [`Judged`] |
//!
//! A difference between executions is a fact, and the report names threads. Operations that no
//! launch reaches are judged by the code, which may give a false alarm.
//!
//! ```text
//! phalanx check --against before.ll after.ll
//!   warning[PHX021]: other threads than before execute @llvm.amdgcn.ballot.i64 together
//!     threads 0 to 63 come here together, before threads 0 to 4 did
//! ```
//!
//! Cost: launches are bounded by [`phalanx_simt::versions::Limits`], for each kernel with
//! operations among threads; the rest is O(instructions), and one divergence of each version.

mod conditions;
mod controlled;
mod executed;
mod parted;
mod words;

use phalanx_analysis::check::{Level, Rule};
use phalanx_db::{Database, FunctionEntry, FunctionInput, ModuleInput, queries};
use phalanx_ir::{GlobalName, InstId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Checker, Diagnostic, Judged, Unjudged, build::Reported};
use controlled::Earlier;

/// A version of a module.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The database of the module.
    pub db: &'a Database,
    /// The module.
    pub module: ModuleInput,
}

impl<'a> Side<'a> {
    fn definitions(self) -> impl Iterator<Item = FunctionEntry> + 'a {
        let all = self.module.functions(self.db).iter();
        all.filter(|entry| entry.is_definition).copied()
    }

    fn name(self, name: GlobalName) -> String {
        match name {
            GlobalName::Named(symbol) => self.module.context(self.db).text(symbol).into_owned(),
            GlobalName::Numbered(number) => number.to_string(),
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// What is to be reported.
    pub diagnostics: Vec<Diagnostic>,
    /// What was compared, and what was not.
    pub judged: Judged,
}

/// Compares the selected functions of `after` with `before`. `checker` makes the diagnostics of a
/// function of `after`.
#[must_use]
pub fn against<'a>(
    before: Side<'_>,
    after: Side<'_>,
    selected: &[FunctionInput],
    checker: &dyn Fn(FunctionInput) -> Checker<'a>,
) -> Comparison {
    let names: FxHashSet<String> = before.definitions().map(|e| before.name(e.name)).collect();
    let is_common = |entry: &FunctionEntry| names.contains(&after.name(entry.name));
    let mut shared = after.definitions().filter(is_common).peekable();
    if shared.peek().is_none() {
        return Comparison {
            diagnostics: vec![nothing_in_common(names.is_empty())],
            judged: Judged { operations: Some(0), ..Judged::default() },
        };
    }
    let found = executed::compare(before, after, selected);
    let mut judged = Judged { kernels: found.kernels, operations: Some(0), ..Judged::default() };
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut changed: FxHashSet<(FunctionInput, InstId)> = FxHashSet::default();
    let mut checkers: FxHashMap<FunctionInput, Checker<'a>> = FxHashMap::default();
    for (function, mut told) in found.told {
        if matches!(told.rule, Rule::BarrierBecameDivergent | Rule::GroupChanged) {
            changed.insert((function, told.inst));
            told.branch = controlled::deciding(after.db, function, told.inst);
        }
        let checker = checkers.entry(function).or_insert_with(|| checker(function));
        diagnostics.push(checker.told(told));
    }
    let earlier_inputs: FxHashMap<String, FunctionInput> =
        before.definitions().map(|entry| (before.name(entry.name), entry.input)).collect();
    let named = before.definitions().map(|entry| (before.name(entry.name), entry.input));
    let earlier = Earlier::new(before.db, named);
    for (function, why) in &found.not_executed {
        let checker = checkers.entry(*function).or_insert_with(|| checker(*function));
        let name = checker.function_name().0.to_owned();
        let message = format!("launches of `{name}`: {why}");
        judged.insert(Unjudged::of_function("not-executed", message, name));
    }
    for entry in after.definitions().filter(|entry| selected.contains(&entry.input)) {
        let (name, function) = (after.name(entry.name), entry.input);
        let is_settled = |inst: InstId| found.executed.contains(&(function, inst));
        let old = earlier_inputs.get(&name).copied();
        let was_executed =
            |inst: InstId| old.is_some_and(|old| found.executed_before.contains(&(old, inst)));
        let compared =
            controlled::compare(&earlier, &name, (after.db, function), &is_settled, &was_executed);
        *judged.operations.get_or_insert_default() += compared.operations;
        judged.barriers += compared.barriers;
        let is_changed = |inst: InstId| changed.contains(&(function, inst));
        for gone in compared.gone {
            let message =
                format!("`{gone}`: it is gone, and no launch that was tried reached it before");
            judged.insert(Unjudged::of_function("gone-operation", message, name.clone()));
        }
        for (inst, what, why) in compared.not_judged.into_iter().filter(|one| !is_changed(one.0)) {
            let checker = checkers.entry(function).or_insert_with(|| checker(function));
            let message = why.message(&format!("`{what}`"));
            let mut one = Unjudged::of_function(why.slug(), message, name.clone());
            one.location = Some(checker.location(inst));
            judged.insert(one);
        }
        for finding in compared.findings {
            // A changed group is reported already.
            if is_changed(finding.inst) {
                continue;
            }
            let checker = checkers.entry(function).or_insert_with(|| checker(function));
            diagnostics.push(checker.diagnostic(&finding));
        }
    }
    Comparison { diagnostics, judged }
}

fn nothing_in_common(is_empty: bool) -> Diagnostic {
    let message = match is_empty {
        true => "the earlier module has no function with a body: nothing is compared",
        false => "the modules have no function in common: nothing is compared",
    };
    Diagnostic {
        code: Rule::NothingInCommon.code(),
        rule: Rule::NothingInCommon.slug(),
        level: Level::Warning.name(),
        message: message.to_owned(),
        function: String::new(),
        symbol: String::new(),
        kernel: false,
        location: super::Location::default(),
        label: String::new(),
        reasons: Vec::new(),
        help: vec!["compare two versions of one module: functions are matched by name".to_owned()],
        fix: None,
        fingerprint: format!("{:016x}", fxhash::hash64(&Rule::NothingInCommon.code())),
        suppression: None,
    }
}

/// Whether no thread executes a function.
fn is_dead(db: &Database, function: FunctionInput) -> bool {
    let place = queries::call_place(db, function);
    !queries::is_kernel(db, function) && place.is_closed && place.callers.is_empty()
}

/// A report about an operation, with its reasons as text.
fn told(rule: Rule, level: Level, inst: InstId, message: String) -> Reported {
    Reported {
        rule,
        level,
        inst,
        message,
        label: String::new(),
        reasons: Vec::new(),
        branch: None,
        help: Vec::new(),
    }
}
