//! Errors as people read them: `file:line:col: error: message`, then the line with the place
//! marked.
//!
//! The first line is what editors and LLVM's tools agree on; below it the source is drawn in
//! rustc's manner by `annotate-snippets`. Source is bytes: what is not UTF-8 is shown as
//! replacement characters, and of a very long line only the part around the place.

use std::{fmt::Write as _, ops::Range};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use anstyle::{AnsiColor, Style};
use phalanx_ir::{
    Module,
    function::FunctionRef,
    verify::{Related, VerifyError},
};
use phalanx_llvm::{FunctionPrinter, ModulePrinter, ParseError, SourceMap, Span, line_col};

use crate::source::{SourceFile, Sources};

const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
const NOTE: Style = AnsiColor::BrightCyan.on_default().bold();
const BOLD: Style = Style::new().bold();

/// Longest part of a line that is shown on either side of a place, in bytes.
const WINDOW: usize = 120;

/// A text and what it is called.
#[derive(Copy, Clone, Debug)]
pub struct SourceText<'a> {
    /// Name of the file.
    pub name: &'a str,
    /// Its bytes.
    pub text: &'a [u8],
}

/// Renders a parse error, with ANSI colours.
pub fn render_parse_error(source: SourceText<'_>, error: &ParseError) -> String {
    let mut out = String::new();
    head(source, Some(error.span), "error", ERROR, &error.message, &mut out);
    snippet(source, error.span, error.label.as_deref(), &mut out);
    for note in &error.notes {
        head(source, note.span, "note", NOTE, &note.message, &mut out);
        if let Some(span) = note.span {
            snippet(source, span, None, &mut out);
        }
    }
    out
}

/// Renders an error about what begins at an offset of the text, or about the text as a whole, with
/// ANSI colours.
pub fn render_error(source: SourceText<'_>, offset: Option<u32>, message: &str) -> String {
    render(source, offset, ("error", ERROR), message)
}

/// Renders a remark on an error, with ANSI colours.
pub fn render_note(source: SourceText<'_>, offset: Option<u32>, message: &str) -> String {
    render(source, offset, ("note", NOTE), message)
}

/// Renders an error, or a remark on one, at a place of a source, with ANSI colours; `kind` is
/// `error` or `note`. The line is drawn if the source is there and has not changed.
pub fn render_in_source(
    place: &SourceFile,
    sources: &dyn Sources,
    kind: &str,
    message: &str,
) -> String {
    let text = sources.text(place);
    let line = text.as_ref().and_then(|text| text.line(place.line));
    let at = (place.file.as_str(), place.line, place.column);
    render_place(at, line.unwrap_or_default(), kind, message, line.is_some())
}

/// Renders one of the remarks that make up an explanation, with ANSI colours: `kind` stands before
/// the message, the label at the place.
pub(crate) fn render_remark(
    source: SourceText<'_>,
    offset: Option<u32>,
    kind: &str,
    message: &str,
    label: Option<&str>,
) -> String {
    let mut out = String::new();
    let span = offset.map(|offset| statement_span(source, offset));
    head(source, span, kind, NOTE, message, &mut out);
    if let (Some(span), Some(label)) = (span, label) {
        draw(source, span, Some(label), (Level::NOTE, AnnotationKind::Primary), &mut out);
    }
    out
}

/// Renders a remark at a place of a file, given by its name, line and column (from 1), with ANSI
/// colours. The line is drawn with the word marked that begins there, if it `is_shown`.
pub(crate) fn render_place(
    (file, number, column): (&str, u32, u32),
    line: &[u8],
    kind: &str,
    message: &str,
    is_shown: bool,
) -> String {
    let place = match column {
        0 => format!("{file}:{number}"),
        _ => format!("{file}:{number}:{column}"),
    };
    let style = if kind == "error" { ERROR } else { NOTE };
    let mut out =
        format!("{BOLD}{place}:{BOLD:#} {style}{kind}:{style:#} {BOLD}{message}{BOLD:#}\n");
    if is_shown {
        let start = (column.max(1) as usize - 1).min(line.len());
        let (text, marked) = window_of(line, start..word_end(line, start));
        let annotation = AnnotationKind::Primary.span(marked);
        let snippet = Snippet::source(text).line_start(number as usize).annotation(annotation);
        let report = [Group::with_level(Level::NOTE).element(snippet)];
        out.push_str(&Renderer::styled().render(&report));
        out.push('\n');
    }
    out
}

/// Behind the word that begins at a place, or behind one byte.
pub(crate) fn word_end(line: &[u8], start: usize) -> usize {
    let rest = line.get(start..).unwrap_or_default();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let len = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
    (start + len.max(1)).min(line.len())
}

fn render(
    source: SourceText<'_>,
    offset: Option<u32>,
    (level, style): (&str, Style),
    message: &str,
) -> String {
    let mut out = String::new();
    let span = offset.map(|offset| line_span(source, offset));
    head(source, span, level, style, message, &mut out);
    if let Some(span) = span {
        snippet(source, span, None, &mut out);
    }
    out
}

/// Renders what the verifier found, with ANSI colours. Places come from the source map where there
/// is one.
pub fn render_verify_errors(
    source: SourceText<'_>,
    module: &Module,
    source_map: Option<&SourceMap>,
    errors: &[VerifyError],
) -> String {
    let printer = ModulePrinter::new(module);
    let mut out = String::new();
    for error in errors {
        let position = module.functions.iter().position(|f| Some(f.header.name) == error.function);
        let function = position.map(|at| module.functions[at].view());
        let span = position
            .and_then(|at| place(at, error, source_map?))
            .map(|offset| line_span(source, offset));
        head(source, span, "error", ERROR, &error.message, &mut out);
        if let Some(span) = span {
            snippet(source, span, None, &mut out);
        }
        let mut text = Vec::new();
        match function {
            Some(function) => {
                let printer = printer.function(function);
                related(error, function, &printer, &mut text);
                text.extend_from_slice(b"in function ");
            }
            None if error.function.is_some() => text.extend_from_slice(b"in function "),
            None => {}
        }
        if let Some(name) = error.function {
            printer.global(name, &mut text);
        }
        for line in String::from_utf8_lossy(&text).lines() {
            writeln!(out, "  {NOTE}={NOTE:#} {line}").expect("a string can be written to");
        }
    }
    out
}

fn place(function: usize, error: &VerifyError, map: &SourceMap) -> Option<u32> {
    if let Some(inst) = error.inst {
        return map.inst(function, inst);
    }
    if let Some(block) = error.block {
        return map.block(function, block);
    }
    map.function(function)
}

/// The entities an error speaks of, a line each, beginning with the instruction itself.
fn related(
    error: &VerifyError,
    function: FunctionRef<'_>,
    printer: &FunctionPrinter<'_>,
    out: &mut Vec<u8>,
) {
    if let Some(inst) = error.inst {
        printer.inst(inst, out);
        out.push(b'\n');
    }
    for entity in &error.related {
        match entity {
            Related::Inst(inst) if Some(*inst) == error.inst => continue,
            Related::Inst(inst) => printer.inst(*inst, out),
            Related::Value(value) => printer.operand(*value, true, out),
            Related::Block(block) => printer.block_operand(*block, out),
            Related::Type(ty) => printer.type_name(*ty, out),
            Related::Global(name) => printer.module_printer().global(*name, out),
            Related::Name(symbol) => {
                out.extend_from_slice(printer.module_printer().context().bytes(*symbol));
            }
            Related::Cycle { depth, entries, blocks } => {
                out.extend_from_slice(format!("cycle at depth {depth}:").as_bytes());
                for block in entries.iter().chain(blocks) {
                    out.push(b' ');
                    printer.block_operand(*block, out);
                }
            }
        }
        out.push(b'\n');
    }
    debug_assert!(!function.is_declaration() || error.inst.is_none());
}

fn head(
    source: SourceText<'_>,
    span: Option<Span>,
    kind: &str,
    style: Style,
    message: &str,
    out: &mut String,
) {
    let place = span.map_or_else(String::new, |span| {
        let (line, column) = line_col(source.text, span.start);
        format!(":{line}:{column}")
    });
    writeln!(
        out,
        "{BOLD}{}{place}:{BOLD:#} {style}{kind}:{style:#} {BOLD}{message}{BOLD:#}",
        source.name
    )
    .expect("a string can be written to");
}

/// From an offset to the end of its line.
fn line_span(source: SourceText<'_>, offset: u32) -> Span {
    let at = (offset as usize).min(source.text.len());
    let rest = &source.text[at..];
    let len = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    Span::new(offset, offset + len as u32)
}

/// From an offset to the end of the statement in its line: a comment after it is left out.
fn statement_span(source: SourceText<'_>, offset: u32) -> Span {
    let line = line_span(source, offset);
    let text = source.text.get(line.start as usize..line.end as usize).unwrap_or_default();
    Span::new(line.start, line.start + statement_end(text, 0) as u32)
}

/// Where the statement in a line ends that begins at a place: a comment after it is left out.
pub(crate) fn statement_end(line: &[u8], start: usize) -> usize {
    let text = line.get(start..).unwrap_or_default();
    let mut is_quoted = false;
    let comment = text.iter().position(|&byte| {
        is_quoted ^= byte == b'"';
        byte == b';' && !is_quoted
    });
    start + text[..comment.unwrap_or(text.len())].trim_ascii_end().len()
}

/// A line cut to [`WINDOW`] on both sides of a place, and where the place is in it.
pub(crate) fn window_of(line: &[u8], place: Range<usize>) -> (String, Range<usize>) {
    window(line, Span::new(place.start as u32, place.end as u32))
}

fn snippet(source: SourceText<'_>, span: Span, label: Option<&str>, out: &mut String) {
    draw(source, span, label, (Level::ERROR, AnnotationKind::Primary), out);
}

fn draw(
    source: SourceText<'_>,
    span: Span,
    label: Option<&str>,
    (level, kind): (Level<'_>, AnnotationKind),
    out: &mut String,
) {
    let (line, _) = line_col(source.text, span.start);
    let (text, marked) = window(source.text, span);
    let annotation = kind.span(marked);
    let annotation = match label {
        Some(label) => annotation.label(label.to_owned()),
        None => annotation,
    };
    let snippet = Snippet::source(text).line_start(line).annotation(annotation);
    let report = [Group::with_level(level).element(snippet)];
    out.push_str(&Renderer::styled().render(&report));
    out.push('\n');
}

/// The line of a place, cut to [`WINDOW`] on both sides, and where the place is in it.
fn window(text: &[u8], span: Span) -> (String, Range<usize>) {
    let start = (span.start as usize).min(text.len());
    let line_start = text[..start].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let line_end =
        text[start..].iter().position(|&b| b == b'\n').map_or(text.len(), |at| start + at);
    let end = (span.end as usize).clamp(start, line_end);
    let from = line_start.max(start.saturating_sub(WINDOW));
    let to = line_end.min(end.max(start + 1) + WINDOW).max(from);
    let end = end.min(to);
    let part = |range: Range<usize>| {
        String::from_utf8_lossy(&text[range]).replace(['\r', '\0'], " ").replace('\t', "    ")
    };
    let before = part(from..start);
    let inside = part(start..end.max(start));
    let after = part(end.max(start)..to.max(end));
    let marked = before.len()..before.len() + inside.len();
    (before + &inside + &after, marked)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn place_line_and_caret() {
        let text = b"define void @f() {\n  %x = add i32 1, y\n}\n";
        let error = ParseError::new(Span::new(37, 38), "expected value, found `y`");
        let error =
            Box::new(error).with_label("not a value").with_note(None, "globals begin with `@`");
        let source = SourceText { name: "k.ll", text };
        expect![[r#"
            k.ll:2:19: error: expected value, found `y`
              |
            2 |   %x = add i32 1, y
              |                   ^ not a value
            k.ll: note: globals begin with `@`
        "#]]
        .assert_eq(&plain(&render_parse_error(source, &error)));
    }

    #[test]
    fn end_of_file_and_bytes_that_are_no_text() {
        for text in [&b""[..], b"\xff\xfe\t%\x00", b"x\r\n"] {
            let at = text.len() as u32;
            for span in [Span::new(at, at), Span::new(0, at), Span::new(at, at + 9)] {
                let error = ParseError::new(span, "oops");
                let out = plain(&render_parse_error(SourceText { name: "k.ll", text }, &error));
                assert!(out.contains("error: oops"), "{out}");
            }
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let text = vec![b'x'; 1_000_000];
        let error = ParseError::new(Span::new(500_000, 500_003), "oops");
        let out = plain(&render_parse_error(SourceText { name: "k.ll", text: &text }, &error));
        assert!(out.len() < 1000, "{}", out.len());
        assert!(out.contains("k.ll:1:500001: error"), "{out}");
    }
}
