//! Diagnostics as text, in the style of rustc, drawn by `annotate-snippets`.

use std::fmt::{self, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

use super::{Diagnostic, Fix, LinedText, Location, SourceFile, Sources, fixes::bytes_of};
use crate::diagnostics::{window_of, word_end};

/// How many further places are shown.
const ALSO: usize = 3;

/// The text of a module, and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct ModuleText<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its lines.
    pub text: &'a LinedText<'a>,
}

/// Writes a diagnostic, with ANSI colours. `module` is the text that was read.
///
/// # Errors
/// Errors of `out`.
pub fn write_text(
    diagnostic: &Diagnostic,
    module: ModuleText<'_>,
    sources: &dyn Sources,
    out: &mut dyn Write,
) -> fmt::Result {
    let level = match diagnostic.level {
        "error" => Level::ERROR,
        "warning" => Level::WARNING,
        _ => Level::NOTE,
    };
    let title = level.primary_title(diagnostic.headline()).id(diagnostic.code);
    let mut groups = vec![with_place(
        Group::with_title(title),
        &diagnostic.location,
        &diagnostic.label,
        (module, sources),
    )];
    for (title, place) in calls(&diagnostic.location) {
        let location = Location { source: Some(place.clone()), ..Location::default() };
        let title = Level::NOTE.secondary_title(title);
        groups.push(with_place(Group::with_title(title), &location, "", (module, sources)));
    }
    let mut further = 0;
    for reason in diagnostic.reasons.iter().filter(|reason| !reason.is_link()) {
        further += usize::from(reason.kind == "also");
        if reason.kind == "also" && further > ALSO {
            continue;
        }
        let title = Level::NOTE.secondary_title(reason.message.as_str());
        groups.push(with_place(Group::with_title(title), &reason.location, "", (module, sources)));
    }
    if further > ALSO {
        let title = format!("and at {} more places", further - ALSO);
        groups.push(Group::with_title(Level::NOTE.secondary_title(title)));
    }
    if diagnostic.location.source.is_some() {
        for (message, place) in lines_of_chain(diagnostic) {
            let location = Location { source: Some(place), ..Location::default() };
            let title = Level::NOTE.secondary_title(message);
            groups.push(with_place(Group::with_title(title), &location, "", (module, sources)));
        }
    } else {
        for reason in diagnostic.reasons.iter().filter(|reason| reason.is_link()) {
            let place = shown(&reason.location, module.name);
            let title = format!("because {}{place}", reason.message);
            groups.push(Group::with_title(Level::NOTE.secondary_title(title)));
        }
    }
    for text in &diagnostic.help {
        groups.push(Group::with_title(Level::HELP.secondary_title(text.as_str())));
    }
    let changed = diagnostic.fix.as_ref().and_then(|fix| Some((fix, text_of(fix, sources)?)));
    if let Some((fix, text)) = &changed {
        groups.push(with_changes(fix, text));
    }
    writeln!(out, "{}\n", Renderer::styled().render(&groups))
}

/// The text that a fix changes.
fn text_of(fix: &Fix, sources: &dyn Sources) -> Option<String> {
    let file = fix.edits.first()?.source();
    String::from_utf8(sources.text(&file)?.bytes().to_vec()).ok()
}

/// The changed lines of a fix.
fn with_changes<'a>(fix: &'a Fix, text: &'a str) -> Group<'a> {
    let title = format!("{}: with this change the finding is gone", fix.message);
    let group = Group::with_title(Level::HELP.secondary_title(title));
    let patch = |edit: &'a super::Edit| {
        Some(Patch::new(bytes_of(text.as_bytes(), edit)?, edit.text.as_str()))
    };
    let Some(patches) = fix.edits.iter().map(patch).collect::<Option<Vec<_>>>() else {
        return group;
    };
    let file = fix.edits.first().map(|edit| edit.file.clone());
    group.element(Snippet::source(text).path(file).patches(patches))
}

/// Inlined code at a place: user code in functions that are called there, then the calls through
/// which the place's own function was inlined. System headers are left out.
pub(super) fn calls(location: &Location) -> Vec<(String, &SourceFile)> {
    let quoted = |name: &str| match name {
        "" => "the function".to_owned(),
        name => format!("`{name}`"),
    };
    let mut out = Vec::new();
    for frame in location.inlined.iter().rev().filter(|frame| !frame.is_of_system()) {
        out.push((format!("in {}, which is inlined there", quoted(&frame.function)), frame));
    }
    let mut callee = location.source.as_ref();
    for frame in &location.inlined_at {
        let name = callee.map(|callee| callee.function.as_str()).unwrap_or_default();
        out.push((format!("{} is inlined here", quoted(name)), frame));
        callee = Some(frame);
    }
    out
}

/// The links of the chain of causes that have source lines: a sentence and a place each. Lines that
/// are shown already are left out.
fn lines_of_chain(diagnostic: &Diagnostic) -> Vec<(&str, SourceFile)> {
    let parting = diagnostic.reasons.iter().find(|reason| reason.kind == "part");
    let mut last = parting.map_or(&diagnostic.location, |part| &part.location).source.clone();
    let mut lines = Vec::new();
    for reason in diagnostic.reasons.iter().filter(|reason| reason.is_link()) {
        let Some(place) = &reason.location.source else { continue };
        let is_new = last.as_ref().is_none_or(|l| (&l.file, l.line) != (&place.file, place.line));
        if is_new {
            lines.push((reason.message.as_str(), place.clone()));
            last = Some(place.clone());
        } else if let Some((message, at)) = lines.last_mut() {
            // Of several sentences about a line, the last is the nearest to the source.
            (*message, *at) = (reason.message.as_str(), place.clone());
        }
    }
    lines
}

/// ` (kernel.cu:7:3)`
pub(super) fn shown(location: &Location, module: &str) -> String {
    match (&location.source, location.ir.line) {
        (Some(place), _) => format!(" ({}:{}:{})", place.file, place.line, place.column),
        (None, 0) => String::new(),
        (None, line) => format!(" ({module}:{line}:{})", location.ir.column),
    }
}

/// Adds a place, and its line where that can be shown.
fn with_place<'a>(
    group: Group<'a>,
    location: &Location,
    label: &str,
    (module, sources): (ModuleText<'_>, &dyn Sources),
) -> Group<'a> {
    let label = (!label.is_empty()).then(|| label.to_owned());
    let from_source = location.source.as_ref().and_then(|place| {
        let text = sources.text(place)?;
        let line = text.line(place.line)?;
        let start = (place.column.max(1) as usize - 1).min(line.len());
        Some(snippet(&place.file, place.line, line, start..word_end(line, start), label.clone()))
    });
    if let Some(snippet) = from_source {
        return group.element(snippet);
    }
    if let Some(place) = &location.source {
        // The file is not there.
        let origin = annotate_snippets::Origin::path(place.file.clone()).line(place.line as usize);
        let origin = match place.column {
            0 => origin,
            column => origin.char_column(column as usize),
        };
        let mut group = group.element(origin);
        if sources.is_stale(place) {
            let said = "the file has changed since it was compiled: its line is not shown";
            group = group.element(Level::NOTE.message(said));
        }
        return match label {
            Some(label) => group.element(Level::NOTE.message(label)),
            None => group,
        };
    }
    let Some(line) = module.text.line(location.ir.line) else { return group };
    let start = (location.ir.column.max(1) as usize - 1).min(line.len());
    let end = crate::diagnostics::statement_end(line, start);
    group.element(snippet(module.name, location.ir.line, line, start..end, label))
}

fn snippet<'a>(
    name: &str,
    number: u32,
    line: &[u8],
    marked: std::ops::Range<usize>,
    label: Option<String>,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let (text, marked) = window_of(line, marked);
    let annotation = AnnotationKind::Primary.span(marked);
    let annotation = match label {
        Some(label) => annotation.label(label),
        None => annotation,
    };
    Snippet::source(text).path(name.to_owned()).line_start(number as usize).annotation(annotation)
}

/// How many diagnostics there are of each level.
pub(super) fn summary(diagnostics: &[Diagnostic]) -> String {
    let mut parts = Vec::new();
    for level in ["error", "warning", "note"] {
        let count = diagnostics.iter().filter(|d| d.level == level).count();
        if count > 0 {
            parts.push(format!("{count} {level}{}", if count == 1 { "" } else { "s" }));
        }
    }
    match parts.is_empty() {
        true => "nothing found".to_owned(),
        false => parts.join(", "),
    }
}

/// Writes how many diagnostics there are of each level.
///
/// # Errors
/// Errors of `out`.
pub fn write_summary(diagnostics: &[Diagnostic], out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "{}", summary(diagnostics))
}
