//! SARIF 2.1.0: the *Static Analysis Results Interchange Format* (OASIS standard, 2020), as code-scanning services read it.
//!
//! One run; every rule that can be reported is described in it; a result has its place, the places of its reasons, and a fingerprint by
//! which it is known again. Columns count UTF-16 code units by default, so the run says that ours are those of bytes' characters.

use phalanx_analysis::check::Rule;
use serde_json::{Value, json};

use super::{Diagnostic, Location, page_of};

/// What a log is about.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What each diagnostic was found in: the name of the module.
    pub module: &'a str,
    /// What was found.
    pub diagnostics: &'a [Diagnostic],
}

/// The log of one or more modules.
#[must_use]
pub fn sarif(runs: &[Run<'_>]) -> Value {
    let results: Vec<Value> = runs
        .iter()
        .flat_map(|run| run.diagnostics.iter().map(|diagnostic| result(run.module, diagnostic)))
        .collect();
    let rules: Vec<Value> = Rule::ALL.iter().copied().map(rule).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "phalanx",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(rule: Rule) -> Value {
    json!({
        "id": rule.code(),
        "name": rule.slug(),
        "shortDescription": { "text": rule.summary() },
        "help": { "text": page_of(rule), "markdown": page_of(rule) },
    })
}

fn result(module: &str, diagnostic: &Diagnostic) -> Value {
    let index = Rule::ALL.iter().position(|rule| rule.code() == diagnostic.code);
    let help: String = diagnostic.help.iter().map(|help| format!(" Help: {help}.")).collect();
    let mut place = location(module, &diagnostic.location, &diagnostic.label);
    place["logicalLocations"] = json!([{ "name": diagnostic.function, "kind": "function" }]);
    let related = diagnostic.reasons.iter().enumerate().map(|(id, reason)| {
        let mut place = location(module, &reason.location, &reason.message);
        place["id"] = json!(id);
        place
    });
    let inlined = diagnostic.location.inlined_at.iter().enumerate().map(|(id, at)| {
        let at = Location { source: Some(at.clone()), ..Location::default() };
        let mut place = location(module, &at, "inlined here");
        place["id"] = json!(diagnostic.reasons.len() + id);
        place
    });
    let related: Vec<Value> = related.chain(inlined).collect();
    json!({
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": diagnostic.level,
        "message": { "text": format!("{}: {}.{help}", diagnostic.message, diagnostic.label) },
        "locations": [place],
        "relatedLocations": related,
        "partialFingerprints": { "phalanx/v1": diagnostic.fingerprint },
    })
}

fn location(module: &str, location: &Location, message: &str) -> Value {
    let (file, line, column) = match &location.source {
        Some(place) => (place.file.as_str(), place.line, place.column),
        None => (module, location.ir.line, location.ir.column),
    };
    let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
    if line > 0 {
        place["region"] = json!({ "startLine": line });
        if column > 0 {
            place["region"]["startColumn"] = json!(column);
        }
    }
    let mut place = json!({ "physicalLocation": place });
    if !message.is_empty() {
        place["message"] = json!({ "text": message });
    }
    place
}

/// A file name as a reference: what is not allowed in one is written with percent signs.
fn uri(file: &str) -> String {
    let mut out = String::new();
    if file.starts_with('/') {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        assert_eq!(uri("cuda/a b.cu"), "cuda/a%20b.cu");
        assert_eq!(uri("/src/é.cl"), "file:///src/%C3%A9.cl");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }
}
