//! The end of a check's report: what was judged and what was not.
//!
//! ```text
//! nothing found; judged: 2 kernels, 3 barriers
//! not judged: calls of `helper`, whose code is not seen here (kernel.cu:6:40)
//! not judged: accesses of workgroup memory under conditions on data: ... (kernel.cu:9:5 and 2 more places)
//! ```
//!
//! Equal reasons share one line, with the first place and the number of further ones. Lines are in
//! the order of the functions in the module; reasons about the whole module come first.

use std::fmt::{self, Write};

use phalanx_analysis::check::{
    coverage::{Coverage, Gap, NotJudged},
    races::Why,
};
use phalanx_db::{Database, FunctionInput, ModuleInput, queries};
use phalanx_target::{Architecture, Target};
use serde::Serialize;

use super::{Checker, Diagnostic, Location, names::has_inlined_copy, text};
use crate::source::OPENCL_BODY;

/// The reason for a function with barriers that is never called.
const NO_CALLER: &str = "no-caller";

/// Every reason why something is not judged, except those of comparisons.
pub const REASONS: [&str; 20] = [
    "unknown-callee",
    "indirect-call",
    "inline-assembly",
    "partial-barrier",
    "barrier-object",
    "mask",
    "workgroup-memory",
    "workgroup-index",
    "workgroup-argument",
    "workgroup-condition",
    "workgroup-launch",
    "workgroup-wait",
    "workgroup-call",
    "workgroup-unreached",
    NO_CALLER,
    "no-kernel",
    "module-assembly",
    "unknown-target",
    "no-function",
    "other-launch",
];

/// What was judged in one or more modules.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Judged {
    /// Kernels that were checked.
    pub kernels: usize,
    /// Barriers that were judged.
    pub barriers: usize,
    /// In a comparison: operations among threads that were compared, barriers among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<usize>,
    /// What was not judged.
    pub not_judged: Vec<Unjudged>,
}

/// A reason why something was not judged, and how often it occurs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Unjudged {
    /// One of [`REASONS`]; in a comparison `not-executed`, `not-reached`, `new-operation`,
    /// `gone-operation`.
    pub reason: &'static str,
    /// What is not judged, and why.
    pub message: String,
    /// In how many places.
    pub places: usize,
    /// The function that the first place is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The first place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

impl Unjudged {
    /// A reason in a function.
    pub(super) fn of_function(reason: &'static str, message: String, function: String) -> Unjudged {
        Unjudged { reason, message, places: 1, function: Some(function), location: None }
    }
}

impl Judged {
    /// Starts with a module: adds a reason if its target is unknown, or if it has nothing to judge.
    #[must_use]
    pub fn of_module(db: &Database, module: ModuleInput) -> Judged {
        let mut judged = Judged::default();
        let target = queries::target(db, module);
        if !module.shell(db).module_asm.is_empty() {
            let message = "assembly of the module: functions in it are not seen".to_owned();
            judged.add("module-assembly", message);
        }
        let mut defined = module.functions(db).iter().filter(|entry| entry.is_definition);
        let Some(first) = defined.next() else {
            judged.add("no-function", "the module has no function with a body".to_owned());
            return judged;
        };
        let is_executed = |function: FunctionInput| queries::is_executed(db, function);
        let is_executed = is_executed(first.input) || defined.any(|e| is_executed(e.input));
        if target.architecture() == Architecture::Generic {
            judged.add("unknown-target", unknown_target(target));
        }
        if !is_executed {
            judged.add("no-kernel", "the module has no kernel".to_owned());
        }
        judged
    }

    fn add(&mut self, reason: &'static str, message: String) {
        self.insert(Unjudged { reason, message, places: 1, function: None, location: None });
    }

    /// Adds a kernel that was not judged with the stated launch, but by what the module says.
    pub fn add_unlaunched(&mut self, name: String, why: &str) {
        let message = format!("`{name}` with the stated launch, but as its module says ({why})");
        self.insert(Unjudged::of_function("other-launch", message, name));
    }

    pub(super) fn insert(&mut self, new: Unjudged) {
        let same = |old: &&mut Unjudged| old.reason == new.reason && old.message == new.message;
        match self.not_judged.iter_mut().find(same) {
            Some(old) => old.places += new.places,
            None => self.not_judged.push(new),
        }
    }

    /// Adds a function.
    pub fn add_function(
        &mut self,
        db: &Database,
        function: FunctionInput,
        coverage: &Coverage,
        checker: &Checker<'_>,
    ) {
        let is_executed = queries::is_executed(db, function);
        let (name, symbol) = checker.function_name();
        if !is_executed {
            // Clang's copy of an OpenCL kernel body for callers on the device; the kernel contains
            // the same code.
            let is_copy = symbol.starts_with(OPENCL_BODY);
            let is_missing = coverage.barriers > 0 || !coverage.gaps.is_empty();
            if is_missing && !is_copy && !has_inlined_copy(db, function) {
                let message = format!("`{name}`, which no kernel of the module calls");
                self.insert(Unjudged::of_function(NO_CALLER, message, name.to_owned()));
            }
            return;
        }
        self.kernels += usize::from(queries::is_kernel(db, function));
        self.barriers += coverage.barriers;
        let mut told: Vec<(&str, Location)> = Vec::new();
        for gap in &coverage.gaps {
            let (reason, location) = (slug(&gap.reason), checker.location(gap.inst));
            // The module may have several instructions for one access in the source.
            if matches!(gap.reason, NotJudged::WorkgroupAccess(_)) && location.source.is_some() {
                let same = |(other, at): &(&str, Location)| {
                    *other == reason && at.source == location.source
                };
                if told.iter().any(same) {
                    continue;
                }
                told.push((reason, location.clone()));
            }
            self.insert(Unjudged {
                reason,
                message: message(gap, checker),
                places: 1,
                function: Some(name.to_owned()),
                location: Some(location),
            });
        }
    }

    /// Adds the result of another module.
    pub fn merge(&mut self, other: Judged) {
        self.kernels += other.kernels;
        self.barriers += other.barriers;
        if let Some(operations) = other.operations {
            *self.operations.get_or_insert_default() += operations;
        }
        other.not_judged.into_iter().for_each(|one| self.insert(one));
    }

    /// Whether everything was judged.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.not_judged.is_empty()
    }
}

fn unknown_target(target: &Target) -> String {
    match target.triple() {
        "" => "the module names no target".to_owned(),
        triple => format!("`{triple}` is not a GPU that is known"),
    }
}

fn slug(reason: &NotJudged) -> &'static str {
    match reason {
        NotJudged::UnknownCallee(_) => "unknown-callee",
        NotJudged::IndirectCall => "indirect-call",
        NotJudged::Assembly(_) => "inline-assembly",
        NotJudged::PartialBarrier => "partial-barrier",
        NotJudged::BarrierObject => "barrier-object",
        NotJudged::Mask => "mask",
        NotJudged::WorkgroupMemory => "workgroup-memory",
        NotJudged::WorkgroupAccess(why) => match why {
            Why::Index => "workgroup-index",
            Why::Argument => "workgroup-argument",
            Why::Launch => "workgroup-launch",
            Why::Condition => "workgroup-condition",
            Why::Wait => "workgroup-wait",
            Why::Call => "workgroup-call",
            Why::Unreached => "workgroup-unreached",
        },
    }
}

fn message(gap: &Gap, checker: &Checker<'_>) -> String {
    match &gap.reason {
        NotJudged::UnknownCallee(name) => {
            let name = checker.name_of(*name);
            format!("calls of `{name}`, whose code is not seen here: it may have a barrier")
        }
        NotJudged::IndirectCall => "calls through pointers: who is called is not known".to_owned(),
        NotJudged::Assembly(text) => {
            format!("inline assembly with `{text}`: it may wait for other threads")
        }
        NotJudged::PartialBarrier => {
            "barriers for some threads only: who has to come is up to the program".to_owned()
        }
        NotJudged::BarrierObject => {
            "waits for barriers in memory (`mbarrier`): who arrives is up to the program".to_owned()
        }
        NotJudged::WorkgroupMemory => {
            "accesses of workgroup memory: it takes too many steps to execute the kernel".to_owned()
        }
        NotJudged::WorkgroupAccess(why) => {
            let which = match why {
                Why::Index => "whose index comes from data",
                Why::Argument => "whose index depends on arguments",
                Why::Launch => "under conditions on arguments that may contradict each other",
                Why::Condition => "under conditions on data",
                Why::Wait => "behind a loop that waits for other threads",
                Why::Call => "by calls that are not followed",
                Why::Unreached => "that the check did not come to",
            };
            format!("accesses of workgroup memory {which}: not compared with all others")
        }
        NotJudged::Mask => {
            "masks that are arguments or come from memory: who they name is not known".to_owned()
        }
    }
}

/// Writes how many findings there are of each level, what was judged, and what was not. `module` is
/// the name of the text if there is only one.
///
/// # Errors
/// Errors of `out`.
pub fn write_judged(
    diagnostics: &[Diagnostic],
    judged: &Judged,
    module: &str,
    out: &mut dyn Write,
) -> fmt::Result {
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let (summary, kernels) = (text::summary(diagnostics), counted(judged.kernels, "kernel"));
    match judged.operations {
        Some(operations) => {
            let operations = counted(operations, "operation");
            writeln!(out, "{summary}; compared: {kernels}, {operations} among threads")?;
        }
        None => {
            writeln!(out, "{summary}; judged: {kernels}, {}", counted(judged.barriers, "barrier"))?;
        }
    }
    // Functions without a caller are one line, however many.
    let is_uncalled = |one: &&Unjudged| one.reason == NO_CALLER;
    let uncalled: Vec<&Unjudged> = judged.not_judged.iter().filter(is_uncalled).collect();
    if let [first, _, ..] = uncalled.as_slice() {
        let name = first.function.as_deref().unwrap_or_default();
        let more = counted(uncalled.len() - 1, "more function");
        writeln!(out, "not judged: `{name}` and {more} that no kernel of the module calls")?;
    }
    for one in &judged.not_judged {
        if uncalled.len() > 1 && is_uncalled(&one) {
            continue;
        }
        let place = one.location.as_ref().map(|location| text::shown(location, module));
        let mut place = place.unwrap_or_default();
        if one.places > 1 {
            let more = counted(one.places - 1, "more place");
            place = match place.strip_suffix(')') {
                Some(start) => format!("{start} and {more})"),
                None => format!(" (and {more})"),
            };
        }
        writeln!(out, "not judged: {}{place}", one.message)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published schema of the JSON lists the reasons.
    #[test]
    fn reasons_are_those_of_the_schema() {
        let schema = include_str!("../../../../docs/check.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
        let judged = &schema["$defs"]["judged"]["properties"]["not_judged"];
        assert_eq!(judged["items"]["properties"]["reason"]["enum"], serde_json::json!(REASONS));
    }
}
