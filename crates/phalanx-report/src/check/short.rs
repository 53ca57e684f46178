//! One line for each finding: for editors, and for logs that services annotate.
//!
//! ```text
//! kernel.cu:12:5: error: `__syncthreads()` is not executed by all threads of a workgroup, in kernel `sum` [PHX001]
//! ::error file=kernel.cu,line=12,col=5,title=PHX001 divergent-barrier::`__syncthreads()` is not ...
//! ```
//!
//! The first is what compilers write, with which vim, Emacs and VS Code jump to the place; the
//! second is what GitHub shows beside the line of a change.

use std::fmt::{self, Write};

use super::Diagnostic;

/// Where a finding is: file, line and column.
fn place<'d>(diagnostic: &'d Diagnostic, module: &'d str) -> (&'d str, u32, u32) {
    match &diagnostic.location.source {
        Some(place) => (&place.file, place.line, place.column),
        None => (module, diagnostic.location.ir.line, diagnostic.location.ir.column),
    }
}

/// Writes a finding in the form of compilers. `module` is the name of the text that was read.
///
/// # Errors
/// Errors of `out`.
pub fn write_line(diagnostic: &Diagnostic, module: &str, out: &mut dyn Write) -> fmt::Result {
    let (file, line, column) = place(diagnostic, module);
    let Diagnostic { level, code, .. } = diagnostic;
    out.write_str(file)?;
    if line > 0 {
        write!(out, ":{line}:{}", column.max(1))?;
    }
    writeln!(out, ": {level}: {} [{code}]", one_line(&diagnostic.headline()))
}

/// Writes a finding as an annotation of GitHub's.
///
/// # Errors
/// Errors of `out`.
pub fn write_github(diagnostic: &Diagnostic, module: &str, out: &mut dyn Write) -> fmt::Result {
    let (file, line, column) = place(diagnostic, module);
    let command = match diagnostic.level {
        "note" => "notice",
        level => level,
    };
    write!(out, "::{command} file={}", property(file))?;
    if line > 0 {
        write!(out, ",line={line},col={}", column.max(1))?;
    }
    let title = format!("{} {}", diagnostic.code, diagnostic.rule);
    let help = diagnostic.help.first().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let message = format!("{}: {}{help}", diagnostic.headline(), diagnostic.label);
    writeln!(out, ",title={}::{}", property(&title), data(&message))
}

/// Writes the end of a run for GitHub: an annotation without a place for what was not judged; the
/// other lines go to its log.
///
/// # Errors
/// Errors of `out`.
pub fn write_github_summary(last: &str, out: &mut dyn Write) -> fmt::Result {
    for line in last.lines() {
        match line.strip_prefix("not judged: ") {
            Some(what) => writeln!(out, "::notice title=not judged::{}", data(what))?,
            None => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Escapes text for the part behind `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes text for the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::check::{Location, SourceFile};

    fn diagnostic(source: Option<SourceFile>) -> Diagnostic {
        Diagnostic {
            code: "PHX001",
            rule: "divergent-barrier",
            level: "note",
            message: "100% of it".to_owned(),
            function: "f<a, b>".to_owned(),
            symbol: "f".to_owned(),
            kernel: true,
            location: Location { source, ..Location::default() },
            label: "here".to_owned(),
            reasons: Vec::new(),
            help: vec!["move it".to_owned()],
            fix: None,
            fingerprint: String::new(),
            suppression: None,
        }
    }

    #[test]
    fn last_lines_of_github() {
        let mut out = String::new();
        let last = "nothing found; judged: 1 kernel, 0 barriers\nnot judged: `f`, 100% unknown\n";
        write_github_summary(last, &mut out).expect("a string");
        expect![[r#"
            nothing found; judged: 1 kernel, 0 barriers
            ::notice title=not judged::`f`, 100%25 unknown
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn lines() {
        let place = SourceFile { file: "a,b.cu".to_owned(), line: 3, ..SourceFile::default() };
        let mut out = String::new();
        for source in [Some(place), None] {
            write_line(&diagnostic(source.clone()), "m.ll", &mut out).expect("a string");
            write_github(&diagnostic(source), "m.ll", &mut out).expect("a string");
        }
        expect![[r#"
            a,b.cu:3:1: note: 100% of it, in kernel `f<a, b>` [PHX001]
            ::notice file=a%2Cb.cu,line=3,col=1,title=PHX001 divergent-barrier::100%25 of it, in kernel `f<a, b>`: here%0Ahelp: move it
            m.ll: note: 100% of it, in kernel `f<a, b>` [PHX001]
            ::notice file=m.ll,title=PHX001 divergent-barrier::100%25 of it, in kernel `f<a, b>`: here%0Ahelp: move it
        "#]]
        .assert_eq(&out);
    }
}
