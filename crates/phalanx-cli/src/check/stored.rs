//! Findings in the cache: JSON with all data, including parts that the published JSON omits.
//!
//! An entry that cannot be read, or that contains an unknown word, is ignored: the module is
//! checked again.

use phalanx::{
    analysis::check::Rule,
    report::check::{
        Diagnostic, Edit, Fix, Judged, Location, Place, REASONS, Reason, SourceFile, Suppression,
        Unjudged,
    },
};
use serde_json::{Value, json};

/// Strings that the program has as constants, besides reasons why something is not judged.
const WORDS: [&str; 10] =
    ["error", "warning", "note", "part", "other", "also", "because", "origin", "before", "launch"];

/// Serialises findings and what was judged.
pub(super) fn write(found: &[Diagnostic], judged: &Judged) -> Vec<u8> {
    let found: Vec<Value> = found.iter().map(diagnostic).collect();
    let not_judged: Vec<Value> = judged.not_judged.iter().map(unjudged).collect();
    let counts = [judged.kernels, judged.barriers];
    json!([found, counts, not_judged]).to_string().into_bytes()
}

/// Reads what [`write`] has written; none if it is not understood.
pub(super) fn read(bytes: &[u8]) -> Option<(Vec<Diagnostic>, Judged)> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let found: Option<Vec<Diagnostic>> = value[0].as_array()?.iter().map(read_diagnostic).collect();
    let not_judged: Option<Vec<Unjudged>> =
        value[2].as_array()?.iter().map(read_unjudged).collect();
    let count = |at: usize| usize::try_from(value[1][at].as_u64()?).ok();
    Some((
        found?,
        Judged {
            kernels: count(0)?,
            barriers: count(1)?,
            operations: None,
            not_judged: not_judged?,
        },
    ))
}

fn diagnostic(d: &Diagnostic) -> Value {
    let reasons: Vec<Value> =
        d.reasons.iter().map(|r| json!([r.kind, r.message, location(&r.location)])).collect();
    let is_suppressed = d.suppression == Some(Suppression::InSource);
    json!([
        d.code,
        d.level,
        d.message,
        d.function,
        d.symbol,
        d.kernel,
        location(&d.location),
        d.label,
        reasons,
        d.help,
        d.fingerprint,
        is_suppressed,
        d.fix.as_ref().map(fix)
    ])
}

fn read_diagnostic(v: &Value) -> Option<Diagnostic> {
    let rule = Rule::from_name(v[0].as_str()?)?;
    let reasons = v[8].as_array()?.iter().map(|r| {
        Some(Reason { kind: word(&r[0])?, message: text(&r[1])?, location: read_location(&r[2])? })
    });
    let is_suppressed = v[11].as_bool()?;
    Some(Diagnostic {
        code: rule.code(),
        rule: rule.slug(),
        level: word(&v[1])?,
        message: text(&v[2])?,
        function: text(&v[3])?,
        symbol: text(&v[4])?,
        kernel: v[5].as_bool()?,
        location: read_location(&v[6])?,
        label: text(&v[7])?,
        reasons: reasons.collect::<Option<_>>()?,
        help: v[9].as_array()?.iter().map(text).collect::<Option<_>>()?,
        fix: match &v[12] {
            Value::Null => None,
            fix => Some(read_fix(fix)?),
        },
        fingerprint: text(&v[10])?,
        suppression: is_suppressed.then_some(Suppression::InSource),
    })
}

fn fix(fix: &Fix) -> Value {
    let edit = |e: &Edit| {
        let places = [e.start.line, e.start.column, e.end.line, e.end.column];
        json!([e.file, e.folder, e.checksum, places, e.text])
    };
    json!([fix.message, fix.edits.iter().map(edit).collect::<Vec<Value>>()])
}

fn read_fix(v: &Value) -> Option<Fix> {
    let edit = |v: &Value| {
        let place =
            |at: usize| Some(Place { line: number(&v[3][at])?, column: number(&v[3][at + 1])? });
        Some(Edit {
            file: text(&v[0])?,
            folder: text(&v[1])?,
            checksum: text(&v[2])?,
            start: place(0)?,
            end: place(2)?,
            text: text(&v[4])?,
        })
    };
    let edits = v[1].as_array()?.iter().map(edit).collect::<Option<_>>()?;
    Some(Fix { message: text(&v[0])?, edits })
}

fn unjudged(one: &Unjudged) -> Value {
    let place = one.location.as_ref().map(location);
    json!([one.reason, one.message, one.places, one.function, place])
}

fn read_unjudged(v: &Value) -> Option<Unjudged> {
    Some(Unjudged {
        reason: word(&v[0])?,
        message: text(&v[1])?,
        places: usize::try_from(v[2].as_u64()?).ok()?,
        function: v[3].as_str().map(str::to_owned),
        location: match &v[4] {
            Value::Null => None,
            place => Some(read_location(place)?),
        },
    })
}

fn location(location: &Location) -> Value {
    let frames = |frames: &[SourceFile]| frames.iter().map(frame).collect::<Vec<Value>>();
    json!([
        location.ir.line,
        location.ir.column,
        location.source.as_ref().map(frame),
        frames(&location.inlined),
        frames(&location.inlined_at)
    ])
}

fn read_location(v: &Value) -> Option<Location> {
    let frames = |v: &Value| v.as_array()?.iter().map(read_frame).collect::<Option<_>>();
    Some(Location {
        ir: Place { line: number(&v[0])?, column: number(&v[1])? },
        source: match &v[2] {
            Value::Null => None,
            place => Some(read_frame(place)?),
        },
        inlined: frames(&v[3])?,
        inlined_at: frames(&v[4])?,
    })
}

fn frame(f: &SourceFile) -> Value {
    json!([f.file, f.folder, f.checksum, f.function, f.line, f.column])
}

fn read_frame(v: &Value) -> Option<SourceFile> {
    Some(SourceFile {
        file: text(&v[0])?,
        folder: text(&v[1])?,
        checksum: text(&v[2])?,
        function: text(&v[3])?,
        line: number(&v[4])?,
        column: number(&v[5])?,
    })
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn word(value: &Value) -> Option<&'static str> {
    let text = value.as_str()?;
    WORDS.into_iter().chain(REASONS).find(|word| *word == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u32) -> SourceFile {
        SourceFile {
            file: "k.cu".to_owned(),
            folder: "folder".to_owned(),
            checksum: "00".to_owned(),
            function: "f<int>".to_owned(),
            line,
            column: 2,
        }
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let location = Location {
            ir: Place { line: 7, column: 3 },
            source: Some(place(1)),
            inlined: vec![place(2)],
            inlined_at: vec![place(3), place(4)],
        };
        let reason = |kind| Reason { kind, message: "m".to_owned(), location: location.clone() };
        let rule = Rule::DivergentBarrier;
        let found = Diagnostic {
            code: rule.code(),
            rule: rule.slug(),
            level: "error",
            message: "it".to_owned(),
            function: "f<int>".to_owned(),
            symbol: "_Z1fIiEvv".to_owned(),
            kernel: true,
            location: location.clone(),
            label: "here".to_owned(),
            reasons: vec![reason("part"), reason("because")],
            help: vec!["a".to_owned(), "b".to_owned()],
            fix: Some(Fix {
                message: "m".to_owned(),
                edits: vec![Edit {
                    file: "k.cu".to_owned(),
                    folder: "folder".to_owned(),
                    checksum: "00".to_owned(),
                    start: Place { line: 1, column: 2 },
                    end: Place { line: 3, column: 4 },
                    text: "t".to_owned(),
                }],
            }),
            fingerprint: "12".to_owned(),
            suppression: Some(Suppression::InSource),
        };
        let not_judged = vec![Unjudged {
            reason: "mask",
            message: "m".to_owned(),
            places: 3,
            function: None,
            location: Some(Location::default()),
        }];
        let judged = Judged { kernels: 1, barriers: 2, operations: None, not_judged };
        let bytes = write(std::slice::from_ref(&found), &judged);
        assert_eq!(read(&bytes), Some((vec![found], judged)));
        let other = String::from_utf8(bytes).expect("text").replace("\"part\"", "\"some\"");
        assert_eq!(read(other.as_bytes()), None);
    }
}
