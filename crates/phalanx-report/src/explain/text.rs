//! The text for people: a verdict, then each link with its line.

use std::fmt::{self, Write};

use super::{Explanation, Place, Step, words};
use crate::diagnostics::{SourceText, render_remark};

/// Writes an explanation, with ANSI colours.
///
/// # Errors
/// Those of `out`.
pub fn write_text(
    explanation: &Explanation,
    source: SourceText<'_>,
    out: &mut dyn Write,
) -> fmt::Result {
    let Explanation { subject, kind, scope, steps, .. } = explanation;
    let threads = words::threads(scope);
    let what = match *kind {
        "branch" => format!("the branch at the end of {subject}"),
        "block" => format!("the execution of {subject}"),
        _ => subject.clone(),
    };
    let Some(last) = steps.last() else {
        let message =
            format!("{what} is uniform: equal for all {threads} that execute it together");
        let message = match *kind {
            "branch" => format!("{what} is uniform: {threads} that come together go the same way"),
            "block" => format!(
                "{what} is uniform: {threads} that meet before it all execute it, or none does"
            ),
            _ => message,
        };
        let offset = offset_of(source, explanation.place);
        return out.write_str(&render_remark(source, offset, "note", &message, None));
    };
    let links = match steps.len() {
        1 => "it is the source itself".to_owned(),
        n => format!("{} link{} to {}", n - 1, if n == 2 { "" } else { "s" }, last.what),
    };
    let verdict = format!("{what} is divergent: it can differ between {threads}; {links}");
    let place = offset_of(source, explanation.place);
    out.write_str(&render_remark(source, place, "note", &verdict, None))?;
    for (number, step) in steps.iter().enumerate() {
        write_step(number + 1, step, source, out)?;
    }
    Ok(())
}

fn write_step(
    number: usize,
    step: &Step,
    source: SourceText<'_>,
    out: &mut dyn Write,
) -> fmt::Result {
    let place = step.function.as_ref().map_or_else(String::new, |name| format!("in {name}: "));
    let message = format!("{number}. {place}{}", step.sentence);
    let label = step.kind;
    let offset = offset_of(source, step.place);
    out.write_str(&render_remark(source, offset, "because", &message, Some(label)))?;
    if let Some(debug) = &step.debug {
        let column = if debug.column == 0 { String::new() } else { format!(":{}", debug.column) };
        writeln!(out, "  = compiled from {}:{}{column}", debug.file, debug.line)?;
    }
    if let Some([one, other]) = &step.ways {
        writeln!(out, "  = one way:   {}", one.join(" -> "))?;
        writeln!(out, "  = the other: {}", other.join(" -> "))?;
    }
    Ok(())
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
