//! Reduces several diagnostics about one defect to one.
//!
//! | found more than once | reported |
//! |---|---|
//! | code that was inlined into several functions, unrolled or copied otherwise: the same place in the source, and threads separate at the same place in it | the first of the highest level |
//! | several operations under one branch that separates threads | the first of the highest level, with the others as further places |
//!
//! A place is a list: where the code is, then the calls through which it was inlined. If the places
//! of the operation and of the branch end with the same calls, both were inlined there together,
//! and these calls are ignored. So a wrong helper is reported once, and a helper that is called in
//! a wrong way is reported once for each such call.
//!
//! O(diagnostics).

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::{Diagnostic, Location, Reason, SourceFile};

/// Removes diagnostics that repeat others.
#[must_use]
pub fn distinct(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let (copies, _) = best(&diagnostics, copy_key);
    let mut kept: Vec<Diagnostic> = diagnostics
        .into_iter()
        .zip(copies)
        .filter_map(|(d, is_best)| is_best.then_some(d))
        .collect();
    let (is_best, of) = best(&kept, cause_key);
    let mut others: Vec<(usize, Reason)> = Vec::new();
    for (at, best) in of.into_iter().enumerate() {
        if let Some(best) = best.filter(|&best| best != at) {
            let message = "the same holds here".to_owned();
            let location = kept[at].location.clone();
            others.push((best, Reason { kind: "also", message, location }));
        }
    }
    for (best, reason) in others {
        let before_chain = kept[best].reasons.iter().position(Reason::is_link);
        let at = before_chain.unwrap_or(kept[best].reasons.len());
        kept[best].reasons.insert(at, reason);
    }
    kept.into_iter().zip(is_best).filter_map(|(d, is_best)| is_best.then_some(d)).collect()
}

/// For each key, the first diagnostic of the highest level: whether each diagnostic is such a one,
/// and which one represents it.
fn best<K: std::hash::Hash + Eq>(
    diagnostics: &[Diagnostic],
    key: fn(&Diagnostic) -> Option<K>,
) -> (Vec<bool>, Vec<Option<usize>>) {
    let weight = |diagnostic: &Diagnostic| {
        let level = ["note", "warning", "error"].iter().position(|&l| l == diagnostic.level);
        (diagnostic.suppression.is_none(), level)
    };
    let keys: Vec<Option<K>> = diagnostics.iter().map(key).collect();
    let mut best: FxHashMap<&K, usize> = FxHashMap::default();
    for (at, key) in keys.iter().enumerate() {
        let Some(key) = key else { continue };
        match best.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(at);
            }
            Entry::Occupied(mut entry) => {
                if weight(&diagnostics[at]) > weight(&diagnostics[*entry.get()]) {
                    entry.insert(at);
                }
            }
        }
    }
    let of: Vec<Option<usize>> =
        keys.iter().map(|key| key.as_ref().and_then(|key| best.get(key).copied())).collect();
    (of.iter().enumerate().map(|(at, of)| of.is_none_or(|of| of == at)).collect(), of)
}

type CopyKey = (&'static str, Vec<SourceFile>, Vec<SourceFile>);

/// What copies of one piece of source have in common; none if that is unknown.
fn copy_key(diagnostic: &Diagnostic) -> Option<CopyKey> {
    let mut own = frames(&diagnostic.location);
    let parting = diagnostic.reasons.iter().find(|reason| reason.kind == "part");
    let mut parting = parting.map(|reason| frames(&reason.location)).unwrap_or_default();
    let first = own.first()?.clone();
    if parting.is_empty() {
        return Some((diagnostic.code, vec![first], parting));
    }
    while own.len() > 1 && parting.len() > 1 && own.last() == parting.last() {
        own.pop();
        parting.pop();
    }
    Some((diagnostic.code, own, parting))
}

fn frames(location: &Location) -> Vec<SourceFile> {
    location.frames().cloned().collect()
}

type CauseKey = (&'static str, String, bool, Vec<SourceFile>, (u32, u32));

/// What operations with the same cause have in common.
fn cause_key(diagnostic: &Diagnostic) -> Option<CauseKey> {
    // In a comparison of two versions, each operation is reported separately.
    if diagnostic.code >= "PHX020" {
        return None;
    }
    let parting = diagnostic.reasons.iter().find(|reason| reason.kind == "part")?;
    let source = frames(&parting.location);
    let ir = parting.location.ir;
    let place = if source.is_empty() { (ir.line, ir.column) } else { (0, 0) };
    let is_told = diagnostic.suppression.is_none();
    Some((diagnostic.code, diagnostic.function.clone(), is_told, source, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32) -> SourceFile {
        SourceFile { file: "k.cu".to_owned(), line, ..SourceFile::default() }
    }

    fn place(lines: &[u32]) -> Location {
        let mut places = lines.iter().map(|&line| at(line));
        Location { source: places.next(), inlined_at: places.collect(), ..Location::default() }
    }

    fn diagnostic(function: &str, level: &'static str, own: &[u32], part: &[u32]) -> Diagnostic {
        let location = place(part);
        let part = Reason { kind: "part", message: String::new(), location };
        Diagnostic {
            code: "PHX001",
            rule: "divergent-barrier",
            level,
            message: String::new(),
            function: function.to_owned(),
            symbol: function.to_owned(),
            kernel: true,
            location: place(own),
            label: String::new(),
            reasons: vec![part],
            help: Vec::new(),
            fix: None,
            fingerprint: String::new(),
            suppression: None,
        }
    }

    /// Functions and numbers of further places.
    fn told(diagnostics: Vec<Diagnostic>) -> Vec<(String, usize)> {
        let further = |d: &Diagnostic| d.reasons.iter().filter(|r| r.kind == "also").count();
        distinct(diagnostics).iter().map(|d| (d.function.clone(), further(d))).collect()
    }

    #[test]
    fn a_wrong_helper_is_told_once() {
        let of = |function, level, call| diagnostic(function, level, &[12, call], &[10, call]);
        let found = told(vec![of("f", "warning", 30), of("g", "error", 40)]);
        assert_eq!(found, [("g".to_owned(), 0)]);
    }

    #[test]
    fn a_helper_that_is_called_in_a_wrong_way_is_told_for_each_call() {
        let of = |function, call| diagnostic(function, "error", &[12, call], &[call - 1]);
        let found = told(vec![of("f", 30), of("g", 40)]);
        assert_eq!(found, [("f".to_owned(), 0), ("g".to_owned(), 0)]);
    }

    #[test]
    fn operations_under_one_branch_are_one_defect() {
        let of = |line, part| diagnostic("f", "warning", &[line], &[part]);
        let found = told(vec![of(12, 10), of(14, 10), of(16, 10), of(24, 20)]);
        assert_eq!(found, [("f".to_owned(), 2), ("f".to_owned(), 0)]);
    }
}
