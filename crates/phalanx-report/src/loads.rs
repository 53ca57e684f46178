//! Loads that may use a cheaper instruction, and why others may not: as plain data, and as text.
//!
//! One model for `phalanx analyze --print loads` and `phalanx explain --load`; JSON by serde, field
//! names are the format.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use phalanx_analysis::{
    loads::{Load, LoadClass, Refusal},
    spaces::SpaceSet,
};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{GlobalName, InstId, Value};
use phalanx_llvm::{FunctionPrinter, ModulePrinter};
use serde::Serialize;

use crate::diagnostics::{SourceText, render_remark};
use crate::explain::words::names;
use crate::explain::{Explanation, offset_of, write_texts};
use crate::lines::{Lines, Place};
use crate::source::Sources;

const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const NONE: Style = AnsiColor::Yellow.on_default();

/// A load.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoadReport {
    /// Where it is.
    pub place: Place,
    /// `%name`, or `%3`.
    pub name: String,
    /// The instruction as text.
    pub text: String,
    /// The classes that the load belongs to: `scalar`, `non-coherent`, `ldu`.
    pub classes: Vec<&'static str>,
    /// Why it does not belong to the others.
    pub refusals: Vec<RefusalReport>,
}

/// A reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RefusalReport {
    /// The classes from which it excludes the load.
    pub classes: Vec<&'static str>,
    /// The reason in a word.
    pub reason: &'static str,
    /// The reason in a sentence.
    pub sentence: String,
    /// The instruction that causes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Culprit>,
    /// What the address depends on, where that is the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<&'static str>,
}

/// The instruction that causes a refusal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Culprit {
    /// Where it is.
    pub place: Place,
    /// The instruction as text.
    pub text: String,
}

/// Why a load uses no cheaper instruction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoadExplanation {
    /// The load.
    pub load: LoadReport,
    /// Why its address differs between threads of a wave, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Explanation>,
}

/// What names, places and texts are made with.
pub(crate) struct Words<'a> {
    pub(crate) db: &'a Database,
    pub(crate) input: FunctionInput,
    pub(crate) module: &'a ModulePrinter<'a>,
    pub(crate) printer: &'a FunctionPrinter<'a>,
    pub(crate) lines: &'a Lines<'a>,
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

impl Words<'_> {
    fn value(&self, value: Value) -> String {
        text(|out| self.printer.operand(value, false, out))
    }

    fn global(&self, name: GlobalName) -> String {
        format!("@{}", text(|out| self.module.global(name, out)).trim_start_matches('@'))
    }

    /// All loads of the function, in order.
    pub(crate) fn loads(&self) -> Vec<LoadReport> {
        let classes = queries::load_classes(self.db, self.input).as_ref();
        classes.map_or_else(Vec::new, |found| found.loads().iter().map(|l| self.load(l)).collect())
    }

    pub(crate) fn load(&self, load: &Load) -> LoadReport {
        let mut refusals: Vec<(Refusal, Vec<&'static str>)> = Vec::new();
        for class in LoadClass::ALL {
            let Some(refusal) = load.refusal(class) else { continue };
            match refusals.iter_mut().find(|(known, _)| *known == refusal) {
                Some((_, classes)) => classes.push(class.name()),
                None => refusals.push((refusal, vec![class.name()])),
            }
        }
        LoadReport {
            place: self.lines.inst(load.inst),
            name: self.value(Value::inst(load.inst)),
            text: text(|out| self.printer.inst(load.inst, out)),
            classes: load.classes().map(LoadClass::name).collect(),
            refusals: refusals.into_iter().map(|(r, classes)| self.refusal(r, classes)).collect(),
        }
    }

    fn refusal(&self, refusal: Refusal, classes: Vec<&'static str>) -> RefusalReport {
        let by = refusal.culprit().map(|inst| Culprit {
            place: self.lines.inst(inst),
            text: text(|out| self.printer.inst(inst, out)).trim().to_owned(),
        });
        let sources = match refusal {
            Refusal::Divergent(sources) => names(sources),
            _ => Vec::new(),
        };
        RefusalReport {
            classes,
            reason: refusal.code(),
            sentence: self.sentence(refusal),
            by,
            sources,
        }
    }

    pub(crate) fn sentence(&self, refusal: Refusal) -> String {
        let argument = |position| self.value(Value::arg(position));
        match refusal {
            Refusal::Volatile => "it is volatile".to_owned(),
            Refusal::Atomic => "it is atomic".to_owned(),
            Refusal::Divergent(sources) => format!(
                "its address can differ between threads of a wave: it depends on {}",
                names(sources).join(", ")
            ),
            Refusal::Space(memories) => match memories_named(memories) {
                None => "its address leads nowhere".to_owned(),
                Some(names) => format!("it may read {names} memory, which such loads do not reach"),
            },
            Refusal::Type => "there is no such load of its type".to_owned(),
            Refusal::Narrow(bytes) => {
                format!(
                    "it reads {bytes} byte{}, and not a word",
                    if bytes == 1 { "" } else { "s" }
                )
            }
            Refusal::Misaligned { align, wanted } => {
                format!("it is known to be aligned to {align}, and {wanted} are needed")
            }
            Refusal::Origin(value) => {
                format!("nothing is known of where {} leads", self.value(value))
            }
            Refusal::Aliased(position) => format!(
                "other pointers may lead to what {} leads to: it is not noalias",
                argument(position)
            ),
            Refusal::OfCall(position) => format!(
                "this is no kernel, so what is promised of {} holds for one call only",
                argument(position)
            ),
            Refusal::Written { argument: position, .. } => {
                format!("the kernel may write through {}", argument(position))
            }
            Refusal::Escapes { argument: position, .. } => {
                format!("a pointer made from {} goes where it is not followed", argument(position))
            }
            Refusal::VariableWritten { variable, function } => {
                format!("{} may write {}", self.global(function), self.global(variable))
            }
            Refusal::Visible(variable) => {
                format!("{} may be written from outside of the module", self.global(variable))
            }
            Refusal::NoKernel => {
                "this is no kernel: its callers may have stored there before".to_owned()
            }
            Refusal::Clobbered(_) => "the memory may have been written before".to_owned(),
            Refusal::Acquire(_) => {
                "stores of other threads may have become visible before".to_owned()
            }
            Refusal::EarlierGrids => {
                "an earlier grid may still write: the program waits for such (griddepcontrol.wait)"
                    .to_owned()
            }
            Refusal::TooFar => "too much happens before it to look through".to_owned(),
        }
    }
}

/// `global or shared`; nothing for no memory.
fn memories_named(memories: SpaceSet) -> Option<String> {
    if memories == SpaceSet::ALL.memories() {
        return Some("any".to_owned());
    }
    let names: Vec<String> = memories.iter().map(|one| one.to_string()).collect();
    let names: Vec<&str> = names.iter().map(|name| name.trim_matches(['{', '}'])).collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

/// Writes the loads of a function.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_loads(loads: &[LoadReport], out: &mut dyn Write) -> fmt::Result {
    for load in loads {
        let (style, verdict) = match load.classes.is_empty() {
            true => (NONE, "plain".to_owned()),
            false => (GOOD, load.classes.join(", ")),
        };
        writeln!(
            out,
            "  {DIM}{:>6}{DIM:#}  {style}{verdict:<25}{style:#}  {}",
            load.place.line,
            load.text.trim()
        )?;
        for refusal in &load.refusals {
            let by = match &refusal.by {
                Some(by) => format!(", line {}: {}", by.place.line, by.text),
                None => String::new(),
            };
            writeln!(
                out,
                "          {DIM}not {}: {}{by}{DIM:#}",
                refusal.classes.join(", "),
                refusal.sentence
            )?;
        }
    }
    Ok(())
}

/// Writes why a load uses no cheaper instruction, with ANSI colours.
///
/// # Errors
/// Errors of `out`.
pub fn write_load_text(
    explanation: &LoadExplanation,
    source: SourceText<'_>,
    sources: &dyn Sources,
    out: &mut dyn Write,
) -> fmt::Result {
    let load = &explanation.load;
    let verdict = match load.classes.as_slice() {
        [] => format!("{} is a plain load", load.name),
        classes => format!("{} may be {}", load.name, classes.join(", ")),
    };
    let place = offset_of(source, load.place);
    out.write_str(&render_remark(source, place, "note", &verdict, None))?;
    for refusal in &load.refusals {
        let message = format!("not {}: {}", refusal.classes.join(", "), refusal.sentence);
        let by = refusal.by.as_ref().map_or(load.place, |by| by.place);
        let offset = offset_of(source, by);
        out.write_str(&render_remark(source, offset, "because", &message, Some(refusal.reason)))?;
    }
    match &explanation.address {
        Some(address) => write_texts(std::slice::from_ref(address), source, sources, out),
        None => Ok(()),
    }
}

impl crate::explain::Explainer<'_> {
    /// Loads by the name of their result, with its `%`, or by line of the text.
    #[must_use]
    pub fn loads_at(&self, place: &str) -> Vec<InstId> {
        let line: Option<u32> = place.parse().ok();
        let classes = {
            let (db, input) = self.function();
            queries::load_classes(db, input).as_ref()
        };
        let loads = classes.map_or(&[][..], |classes| classes.loads());
        let wanted = format!("%{}", place.trim_start_matches('%'));
        let is_meant = |load: &&Load| match line {
            Some(line) => self.place_of(load.inst).line == line,
            None => self.name(Value::inst(load.inst)) == wanted,
        };
        loads.iter().filter(is_meant).map(|load| load.inst).collect()
    }
}
