//! Explanations as text: a verdict, then each step with its line of the program, or of the module.
//!
//! A line is not shown twice in a row. If several explanations are written together, a chain that
//! is the end of another one is left out. A chain that ends like an earlier one refers to the steps
//! of that one.
//!
//! O(steps) for each explanation, and for each pair of explanations.

use std::fmt::{self, Write};

use super::{Explanation, Place, Step, build::with_variable, words};
use crate::{
    diagnostics::{SourceText, render_place, render_remark},
    source::{SourceFile, Sources},
};

/// With fewer common steps, the steps are written again.
const FEWEST_SHARED: usize = 2;

/// Writes explanations one after the other, with ANSI colours. `module` is the text that was read.
///
/// # Errors
/// Errors of `out`.
pub fn write_texts(
    explanations: &[Explanation],
    module: SourceText<'_>,
    sources: &dyn Sources,
    out: &mut dyn Write,
) -> fmt::Result {
    let explanations = whole(explanations);
    for (number, explanation) in explanations.iter().enumerate() {
        if number > 0 {
            out.write_char('\n')?;
        }
        let debug = explanation.debug.iter().chain(explanation.steps.iter().flat_map(|s| &s.debug));
        let has_source = debug.into_iter().any(|debug| sources.text(debug).is_some());
        let mut writer = Writer { module, sources, has_source, last: None, out };
        writer.write(explanation, &explanations[..number])?;
    }
    Ok(())
}

struct Writer<'a> {
    module: SourceText<'a>,
    sources: &'a dyn Sources,
    /// Whether lines of the program are shown; then lines of the module are not.
    has_source: bool,
    /// The line of the program that was shown last.
    last: Option<(String, u32)>,
    out: &'a mut dyn Write,
}

impl Writer<'_> {
    fn write(&mut self, explanation: &Explanation, earlier: &[&Explanation]) -> fmt::Result {
        let steps = &explanation.steps;
        self.remark(explanation.place, &explanation.debug, "note", &verdict(explanation), None)?;
        let (own, shared) = match shared_end(explanation, earlier) {
            Some((own, at, other)) => (own, Some((at, other))),
            None => (steps.len(), None),
        };
        for (number, step) in steps[..own].iter().enumerate() {
            self.step(number + 1, step)?;
        }
        if let Some((at, other)) = shared {
            let (first, last) = (own + 1, steps.len());
            let (from, to) = (at + 1, other.steps.len());
            let subject = subject_of(other);
            writeln!(
                self.out,
                "steps {first} to {last} are steps {from} to {to} of {subject}, above"
            )?;
        }
        Ok(())
    }

    fn step(&mut self, number: usize, step: &Step) -> fmt::Result {
        let place = step.function.as_ref().map_or_else(String::new, |name| format!("in {name}: "));
        let message = format!("{number}. {place}{}", step.sentence);
        self.remark(step.place, &step.debug, "because", &message, Some(step))?;
        if let Some([one, other]) = &step.ways {
            writeln!(self.out, "  = one way:   {}", one.join(" -> "))?;
            writeln!(self.out, "  = the other: {}", other.join(" -> "))?;
        }
        Ok(())
    }

    /// A message at its line of the program where that can be shown, or at that of the module.
    fn remark(
        &mut self,
        place: Place,
        debug: &Option<SourceFile>,
        kind: &str,
        message: &str,
        step: Option<&Step>,
    ) -> fmt::Result {
        if let Some(debug) = debug
            && let Some(text) = self.sources.text(debug)
            && let Some(line) = text.line(debug.line)
        {
            let here = (debug.file.clone(), debug.line);
            let is_shown = step.is_none() || self.last.as_ref() == Some(&here);
            let at = (&*debug.file, debug.line, debug.column);
            self.out.write_str(&render_place(at, line, kind, message, !is_shown))?;
            if let Some(step) = step {
                self.last = Some(here);
                self.instruction(step)?;
            }
            return Ok(());
        }
        self.last = None;
        let offset = offset_of(self.module, place);
        let label = step.map(|step| step.kind).filter(|_| !self.has_source);
        self.out.write_str(&render_remark(self.module, offset, kind, message, label))?;
        if let Some(step) = step.filter(|_| self.has_source) {
            self.instruction(step)?;
        }
        if let (Some(debug), Some(_)) = (debug, step) {
            let column =
                if debug.column == 0 { String::new() } else { format!(":{}", debug.column) };
            let stale = match self.sources.is_stale(debug) {
                true => ", which has changed since",
                false => "",
            };
            writeln!(self.out, "  = compiled from {}:{}{column}{stale}", debug.file, debug.line)?;
        }
        Ok(())
    }

    /// The instruction that a step is about, without its metadata.
    fn instruction(&mut self, step: &Step) -> fmt::Result {
        // A merge of private memory is no instruction.
        if step.place.line == 0 || step.text == step.what {
            return Ok(());
        }
        let text = step.text.split(", !").next().unwrap_or_default();
        writeln!(self.out, "  = line {} of the IR: {text}", step.place.line)
    }
}

/// What an explanation is about, in a sentence.
fn subject_of(explanation: &Explanation) -> String {
    let Explanation { subject, kind, variable, .. } = explanation;
    match *kind {
        "branch" => format!("the branch at the end of {subject}"),
        "block" => format!("the execution of {subject}"),
        _ => with_variable(subject.clone(), variable.as_deref()),
    }
}

fn verdict(explanation: &Explanation) -> String {
    let Explanation { kind, scope, steps, .. } = explanation;
    let (what, threads) = (subject_of(explanation), words::threads(scope));
    let Some(last) = steps.last() else {
        return match *kind {
            "branch" => format!("{what} is uniform: {threads} that come together go the same way"),
            "block" => format!(
                "{what} is uniform: {threads} that meet before it all execute it, or none does"
            ),
            _ => format!("{what} is uniform: equal for all {threads} that execute it together"),
        };
    };
    let source = with_variable(last.what.clone(), last.variable.as_deref());
    let steps = match steps.len() {
        1 => "it is the source itself".to_owned(),
        count => format!("{count} steps to {source}"),
    };
    format!("{what} is divergent: it can differ between {threads}; {steps}")
}

/// The explanations whose chain is not the end of a longer one.
fn whole(explanations: &[Explanation]) -> Vec<&Explanation> {
    let is_part = |one: &Explanation, other: &Explanation| {
        one.steps.len() < other.steps.len() && other.steps.ends_with(&one.steps)
    };
    let is_whole = |one: &&Explanation| {
        one.steps.is_empty() || !explanations.iter().any(|other| is_part(one, other))
    };
    explanations.iter().filter(is_whole).collect()
}

/// The earlier explanation that shares the most last steps: how many steps come before the shared
/// ones, and where these begin in the earlier explanation.
fn shared_end<'a>(
    explanation: &Explanation,
    earlier: &[&'a Explanation],
) -> Option<(usize, usize, &'a Explanation)> {
    let steps = &explanation.steps;
    let common = |other: &Explanation| {
        let pairs = steps.iter().rev().zip(other.steps.iter().rev());
        pairs.take_while(|(a, b)| a == b).count()
    };
    // Of several with the most, the first.
    let best = *earlier.iter().rev().max_by_key(|other| common(other))?;
    let count = common(best);
    (count >= FEWEST_SHARED).then(|| (steps.len() - count, best.steps.len() - count, best))
}

/// The byte at a place; none if that is unknown.
pub(crate) fn offset_of(source: SourceText<'_>, place: Place) -> Option<u32> {
    let line = place.line.checked_sub(1)? as usize;
    let start = match line {
        0 => 0,
        _ => {
            let mut ends = source.text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            ends.nth(line - 1)?.0 + 1
        }
    };
    u32::try_from(start + place.column.saturating_sub(1) as usize).ok()
}
