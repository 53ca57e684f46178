//! SARIF 2.1.0: the *Static Analysis Results Interchange Format* (OASIS standard, 2020), as
//! code-scanning services read it.
//!
//! The log has one run, which describes every rule that can be reported. A result has its place,
//! the places of its reasons, the chain of causes as a code flow (from the source of divergence to
//! the operation), and a fingerprint that identifies it in later runs. A finding that the program
//! or a baseline suppresses stays in the log, marked as suppressed.
//!
//! Compilers and this crate count columns in bytes, SARIF in characters; columns are converted if
//! the text is available. Relative names are relative to the folder in which the compiler ran,
//! which the base `SRCROOT` stands for. The base has a location if all places agree on an absolute
//! folder.

use phalanx_analysis::check::Rule;
use serde_json::{Value, json};

use super::{
    Diagnostic, Edit, Fix, Judged, LinedText, Location, Place, Reason, SourceFile, Sources,
    Suppression, Unjudged, page_of, text::calls,
};
use crate::diagnostics::word_end;

/// The input of a log: a module and its diagnostics.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The name of the module.
    pub module: &'a str,
    /// Its text.
    pub text: &'a LinedText<'a>,
    /// Whether the module was compiled from the source that it is named after: then lines of the
    /// module's text mean nothing to the user.
    pub is_compiled: bool,
    /// The files that it was compiled from.
    pub sources: &'a dyn Sources,
    /// The diagnostics.
    pub diagnostics: &'a [Diagnostic],
    /// What was judged, if that is to be logged.
    pub judged: Option<&'a Judged>,
}

/// Other contents of a log.
#[derive(Clone, Copy, Default, Debug)]
pub struct LogOptions<'a> {
    /// Where the pages of the rules are published: a rule's is `<pages>/PHX001.md`.
    pub pages: Option<&'a str>,
    /// Something could not be checked, so an empty log does not mean that there are no errors.
    pub is_incomplete: bool,
}

/// The base of relative names.
const BASE: &str = "SRCROOT";

/// The log of one or more modules.
#[must_use]
pub fn sarif(runs: &[Run<'_>], options: LogOptions<'_>) -> Value {
    let mut results: Vec<Value> = Vec::new();
    let mut notifications: Vec<Value> = Vec::new();
    for run in runs {
        let writer = Writer { run: *run };
        let not_judged = run.judged.into_iter().flat_map(|judged| &judged.not_judged);
        notifications.extend(not_judged.map(|one| writer.notification(one)));
        results.extend(run.diagnostics.iter().map(|diagnostic| writer.result(diagnostic)));
    }
    let rules: Vec<Value> = Rule::ALL.iter().map(|&of| rule(of, options)).collect();
    let mut base = json!({
        "description": { "text": "The folder in which the compiler ran." },
    });
    if let Some(folder) = folder(runs) {
        base["uri"] = json!(uri(folder.trim_end_matches('/')) + "/");
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "phalanx",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "invocations": [{
                "executionSuccessful": !options.is_incomplete,
                "toolExecutionNotifications": notifications,
            }],
            "originalUriBaseIds": { BASE: base },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The one absolute folder that relative names are relative to.
fn folder<'a>(runs: &[Run<'a>]) -> Option<&'a str> {
    let places = runs.iter().flat_map(|run| run.diagnostics).flat_map(|diagnostic| {
        let reasons = diagnostic.reasons.iter().map(|reason| &reason.location);
        let locations = reasons.chain([&diagnostic.location]);
        locations.flat_map(Location::frames).filter(|frame| !frame.is_of_system())
    });
    let mut folders = places.filter(|place| !is_absolute(&place.file)).map(|place| &*place.folder);
    let first = folders.next()?;
    (is_absolute(first) && folders.all(|folder| folder == first)).then_some(first)
}

fn is_absolute(file: &str) -> bool {
    file.starts_with('/')
}

fn rule(rule: Rule, options: LogOptions<'_>) -> Value {
    let mut value = json!({
        "id": rule.code(),
        "name": rule.slug(),
        "shortDescription": { "text": rule.summary() },
        "help": { "text": page_of(rule), "markdown": page_of(rule) },
        "defaultConfiguration": { "level": rule.usual_level().name() },
    });
    if let Some(pages) = options.pages {
        value["helpUri"] = json!(format!("{}/{}.md", pages.trim_end_matches('/'), rule.code()));
    }
    value
}

struct Writer<'a> {
    run: Run<'a>,
}

impl Writer<'_> {
    /// A notification about something that was not judged.
    fn notification(&self, one: &Unjudged) -> Value {
        let nowhere = Location::default();
        let mut place = self.location(one.location.as_ref().unwrap_or(&nowhere), "");
        if let Some(function) = &one.function {
            place["logicalLocations"] = json!([{ "name": function, "kind": "function" }]);
        }
        json!({
            "descriptor": { "id": format!("not-judged/{}", one.reason) },
            "level": "note",
            "message": { "text": format!("not judged: {}", one.message) },
            "locations": [place],
        })
    }

    fn result(&self, diagnostic: &Diagnostic) -> Value {
        let index = Rule::ALL.iter().position(|rule| rule.code() == diagnostic.code);
        let help: String = diagnostic.help.iter().map(|help| format!(" Help: {help}.")).collect();
        let mut place = self.location(&diagnostic.location, &diagnostic.label);
        place["logicalLocations"] = json!([{ "name": diagnostic.function, "kind": "function" }]);
        let reasons = diagnostic.reasons.iter().filter(|reason| !reason.is_link());
        let mut related: Vec<Value> =
            reasons.map(|reason| self.location(&reason.location, &reason.message)).collect();
        related.extend(calls(&diagnostic.location).into_iter().map(|(what, at)| {
            let at = Location { source: Some(at.clone()), ..Location::default() };
            self.location(&at, &what)
        }));
        for (id, place) in related.iter_mut().enumerate() {
            place["id"] = json!(id);
        }
        let mut result = json!({
            "ruleId": diagnostic.code,
            "ruleIndex": index,
            "level": diagnostic.level,
            "message": { "text": format!("{}: {}.{help}", diagnostic.headline(), diagnostic.label) },
            "locations": [place],
            "relatedLocations": related,
            "partialFingerprints": { "phalanx/v1": diagnostic.fingerprint },
        });
        if let Some(fix) = &diagnostic.fix {
            result["fixes"] = json!([self.fix(fix)]);
        }
        if diagnostic.reasons.iter().any(is_step) {
            result["codeFlows"] = json!([{ "threadFlows": [self.flow(diagnostic)] }]);
        }
        if let Some(suppression) = diagnostic.suppression {
            let kind = match suppression {
                Suppression::InSource => "inSource",
                Suppression::Baseline => "external",
            };
            result["suppressions"] = json!([{ "kind": kind }]);
        }
        result
    }

    /// The changes of a fix, which are all of one file.
    fn fix(&self, fix: &Fix) -> Value {
        let file = fix.edits.first().map(|edit| SourceFile {
            file: edit.file.clone(),
            folder: edit.folder.clone(),
            checksum: edit.checksum.clone(),
            ..SourceFile::default()
        });
        let file = file.unwrap_or_default();
        let text = self.run.sources.text(&file);
        let column = |at: Place| {
            let line = text.as_deref().and_then(|text| text.line(at.line));
            columns(line, at.column).0
        };
        let replacement = |edit: &Edit| {
            json!({
                "deletedRegion": {
                    "startLine": edit.start.line,
                    "startColumn": column(edit.start),
                    "endLine": edit.end.line,
                    "endColumn": column(edit.end),
                },
                "insertedContent": { "text": edit.text },
            })
        };
        let replacements: Vec<Value> = fix.edits.iter().map(replacement).collect();
        json!({
            "description": { "text": fix.message },
            "artifactChanges": [{
                "artifactLocation": artifact(&file.file, true),
                "replacements": replacements,
            }],
        })
    }

    /// The steps from the source of divergence to the branch that separates threads, or from the
    /// origin of an address, and then to the operation.
    fn flow(&self, diagnostic: &Diagnostic) -> Value {
        let links = diagnostic.reasons.iter().rev().filter(|reason| is_step(reason));
        let parting = diagnostic.reasons.iter().filter(|reason| reason.kind == "part");
        let steps = links.chain(parting);
        let mut locations: Vec<Value> =
            steps.map(|step| self.location(&step.location, &step.message)).collect();
        locations.push(self.location(&diagnostic.location, &diagnostic.label));
        let locations: Vec<Value> =
            locations.into_iter().map(|location| json!({ "location": location })).collect();
        json!({ "locations": locations })
    }

    fn location(&self, location: &Location, message: &str) -> Value {
        let (file, line, column) = match &location.source {
            Some(place) => (place.file.as_str(), place.line, place.column),
            None => (self.run.module, location.ir.line, location.ir.column),
        };
        let artifact = artifact(file, location.source.is_some());
        let mut place = json!({ "artifactLocation": artifact });
        if line > 0 && (location.source.is_some() || !self.run.is_compiled) {
            place["region"] = json!({ "startLine": line });
            let source = location.source.as_ref().map(|place| self.run.sources.text(place));
            let text = match &source {
                Some(text) => text.as_deref(),
                None => Some(self.run.text),
            };
            let (start, end) = columns(text.and_then(|text| text.line(line)), column);
            for (name, at) in [("startColumn", start), ("endColumn", end)] {
                if let Some(at) = at {
                    place["region"][name] = json!(at);
                }
            }
        }
        let mut place = json!({ "physicalLocation": place });
        if !message.is_empty() {
            place["message"] = json!({ "text": message });
        }
        place
    }
}

/// A file by its name, which may be relative to the folder in which the compiler ran.
fn artifact(file: &str, is_source: bool) -> Value {
    match is_source && !is_absolute(file) {
        true => json!({ "uri": uri(file), "uriBaseId": BASE }),
        false => json!({ "uri": uri(file) }),
    }
}

/// The columns where a word begins and ends, in characters. `column` is its byte column, from 1, or
/// 0 when unknown.
fn columns(line: Option<&[u8]>, column: u32) -> (Option<usize>, Option<usize>) {
    let Some(start) = (column as usize).checked_sub(1) else { return (None, None) };
    let Some(line) = line.filter(|line| start < line.len()) else {
        return (Some(start + 1), None);
    };
    let characters = |end: usize| String::from_utf8_lossy(&line[..end]).chars().count() + 1;
    (Some(characters(start)), Some(characters(word_end(line, start))))
}

/// A file name as a URI reference: other characters are percent-encoded.
fn uri(file: &str) -> String {
    let mut out = String::new();
    if is_absolute(file) {
        out.push_str("file://");
    }
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte.into()),
            b'-' | b'.' | b'_' | b'~' | b'/' => out.push(byte.into()),
            b'\\' => out.push('/'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Whether a reason is on the way from a cause to the operation.
fn is_step(reason: &Reason) -> bool {
    reason.is_link() || reason.kind == "origin"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_characters() {
        let line = "/* é */ barrier();".as_bytes();
        assert_eq!(columns(Some(line), 10), (Some(9), Some(16)));
        assert_eq!(columns(Some(line), 99), (Some(99), None));
        assert_eq!(columns(None, 10), (Some(10), None));
        assert_eq!(columns(Some(line), 0), (None, None));
    }

    #[test]
    fn references() {
        assert_eq!(uri("cuda/a b.cu"), "cuda/a%20b.cu");
        assert_eq!(uri("/src/é.cl"), "file:///src/%C3%A9.cl");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }
}
