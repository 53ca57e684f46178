//! Guesses which LLVM version wrote a refused text, and adds a note with a remedy.
//!
//! The parser reads what LLVM 22 reads, and typed pointers. Some refused texts were valid in older
//! versions:
//!
//! ```text
//! %v = load i32* %p                          ; LLVM 3.6 and older: the type that is read was not said
//! @x = global i32 mul (i32 ptrtoint ..)      ; LLVM 19 and older: constant expressions could multiply
//! ```
//!
//! LLVM can still read the bitcode of all old versions, so the note advises to assemble the text
//! with its own LLVM. A construct that no LLVM up to this one knows may be newer. The check looks
//! at one line, and only when a text is refused.

use crate::error::{Note, ParseError};

/// The LLVM versions that accept something that is refused today.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Age {
    /// Up to this version; what was different.
    UpTo(&'static str, &'static str),
    /// Perhaps after the version that is read.
    Newer,
}

/// A remark on which LLVM a text is from, if the error tells.
pub(crate) fn note(source: &[u8], error: &ParseError) -> Option<Note> {
    let message = match age(source, error)? {
        Age::UpTo(version, what) => format!(
            "this text seems to be from LLVM {version} or older: {what}; assemble it with `llvm-as` of \
             such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read"
        ),
        Age::Newer => {
            "if this is no typing mistake, the text is from an LLVM newer than 22, which is \
                       what is read here: write it with tools of LLVM 22"
                .to_owned()
        }
    };
    Some(Note { span: None, message })
}

/// Removed constant expressions, by the last version that had them.
const EXPRESSIONS: [(&str, &[&str]); 6] = [
    (
        "14",
        &[
            "extractvalue",
            "insertvalue",
            "udiv",
            "sdiv",
            "urem",
            "srem",
            "fadd",
            "fsub",
            "fmul",
            "fdiv",
            "frem",
        ],
    ),
    ("15", &["fneg"]),
    ("16", &["select"]),
    (
        "17",
        &[
            "and", "or", "lshr", "ashr", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi",
            "uitofp", "sitofp",
        ],
    ),
    ("18", &["icmp", "fcmp", "shl"]),
    ("19", &["mul"]),
];

/// Removed keywords, by the last version that had them.
const WORDS: [(&str, &str, &str); 8] = [
    ("x86_mmx", "19", "there was a type for MMX"),
    ("singlethread", "4", "scopes of atomic operations were words"),
    ("crossthread", "4", "scopes of atomic operations were words"),
    ("personality", "3.6", "personalities stood at `landingpad`"),
    ("metadata", "3.5", "metadata had types"),
    ("unwind", "2.9", "`unwind` was an instruction"),
    ("deplibs", "3.2", "modules named libraries"),
    ("!MDLocation", "3.6", "nodes of debug information had other names"),
];

/// Removed fields of metadata nodes: the kind, the field, the last version that had it.
const FIELDS: [(&str, &str, &str); 4] = [
    ("!DILocalVariable", "tag", "3.7"),
    ("!DISubprogram", "function", "3.7"),
    ("!DISubprogram", "variables", "7"),
    ("!DIExpression", "op", "3.7"),
];

/// Attributes that had no type.
const UNTYPED: [&str; 5] = ["byval", "sret", "byref", "inalloca", "elementtype"];

fn age(source: &[u8], error: &ParseError) -> Option<Age> {
    let at = (error.span.start as usize).min(source.len());
    let end = (error.span.end as usize).clamp(at, source.len());
    let start = memchr::memrchr(b'\n', &source[..at]).map_or(0, |newline| newline + 1);
    let token = String::from_utf8_lossy(&source[at..end.min(at + 40)]);
    let before = String::from_utf8_lossy(&source[start..at]);
    let before = before.trim_end();
    let said = |text: &str| error.message.contains(text);
    let word = |text: &str| before.split([' ', '(', ',']).any(|word| word == text);
    let last = before.split([' ', '(', ',']).next_back().unwrap_or_default();
    if let Some(&(_, version, what)) = WORDS.iter().find(|(old, ..)| *old == token) {
        return Some(Age::UpTo(version, what));
    }
    if said("is not allowed as a constant expression") {
        let found = EXPRESSIONS.iter().find(|(_, names)| names.contains(&&*token))?;
        return Some(Age::UpTo(found.0, "constants could be computed by more operations"));
    }
    if said("a local name cannot be used in a constant") && before.contains("metadata !{") {
        return Some(Age::UpTo("3.5", "metadata had types"));
    }
    if said("has no field") {
        let field = token.trim_end_matches(':');
        let found = FIELDS.iter().find(|(kind, old, _)| before.contains(kind) && *old == field);
        return Some(found.map_or(Age::Newer, |&(.., version)| {
            Age::UpTo(version, "nodes of debug information had other fields")
        }));
    }
    let is_name = token.starts_with(['@', '%']);
    if said("expected `,`") && is_name && (before.ends_with('*') || word("alias")) {
        return Some(Age::UpTo(
            "3.6",
            "`load`, `getelementptr` and aliases did not say their type before the address",
        ));
    }
    if said("expected a type, found") && word("alias") {
        return Some(Age::UpTo("3.4", "the linkage of an alias stood behind the word"));
    }
    if said("expected `(`") && UNTYPED.contains(&last) {
        return Some(Age::UpTo("14", "attributes of what pointers point to had no type"));
    }
    if said("expected an ordering") && is_short_exchange(source, start, before) {
        return Some(Age::UpTo("3.4", "`cmpxchg` had one ordering"));
    }
    let is_word = token.starts_with(|c: char| c.is_ascii_lowercase());
    let is_unknown = said("expected an instruction, found")
        || said("expected a type, found")
        || said("expected a kind of debug record")
        || said("unknown attribute");
    let is_node = said("expected a kind of metadata node") && token.starts_with("!DI");
    (is_unknown && is_word || is_node).then_some(Age::Newer)
}

/// Whether the line, or the one before if it is empty, is a `cmpxchg` with one ordering.
fn is_short_exchange(source: &[u8], start: usize, before: &str) -> bool {
    if !before.trim().is_empty() {
        return before.contains("cmpxchg");
    }
    let above = source[..start].trim_ascii_end();
    let line = memchr::memrchr(b'\n', above).map_or(0, |newline| newline + 1);
    String::from_utf8_lossy(&above[line..]).contains("cmpxchg")
}
