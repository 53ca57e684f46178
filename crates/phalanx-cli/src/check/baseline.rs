//! Known findings that are not reported again: for a program that had findings before it was
//! checked the first time.
//!
//! A JSON list of fingerprints, with codes and functions for people who read it. A fingerprint
//! covers as many findings as there were: one more of the same is reported.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context as _;
use phalanx::report::check::{Diagnostic, Suppression};
use serde_json::{Value, json};

/// How many findings there are of each fingerprint.
#[derive(Debug, Default)]
pub(super) struct Baseline {
    /// With code and function.
    known: BTreeMap<String, (u64, String, String)>,
}

impl Baseline {
    pub(super) fn of<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> Baseline {
        let mut baseline = Baseline::default();
        for diagnostic in diagnostics {
            let (code, function) = (diagnostic.code.to_owned(), diagnostic.function.clone());
            let entry = baseline.known.entry(diagnostic.fingerprint.clone());
            entry.or_insert((0, code, function)).0 += 1;
        }
        baseline
    }

    pub(super) fn read(path: &Path) -> anyhow::Result<Baseline> {
        let place = || format!("cannot read the baseline {}", path.display());
        let text = std::fs::read_to_string(path).with_context(place)?;
        let list: Vec<Value> = serde_json::from_str(&text).with_context(place)?;
        let mut known = BTreeMap::new();
        for entry in &list {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
            let fingerprint = text("fingerprint").context("an entry has no fingerprint");
            let count = entry.get("count").and_then(Value::as_u64).unwrap_or(1);
            let of = (text("code").unwrap_or_default(), text("function").unwrap_or_default());
            known.insert(fingerprint.with_context(place)?, (count, of.0, of.1));
        }
        Ok(Baseline { known })
    }

    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let entry = |(fingerprint, (count, code, function)): (&String, &(u64, String, String))| json!({ "fingerprint": fingerprint, "code": code, "function": function, "count": count });
        let list: Vec<Value> = self.known.iter().map(entry).collect();
        let text = serde_json::to_string_pretty(&list)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Marks known findings.
    pub(super) fn mark(&self, found: &mut [Diagnostic]) {
        let mut left: BTreeMap<&str, u64> =
            self.known.iter().map(|(f, (count, ..))| (f.as_str(), *count)).collect();
        for diagnostic in found.iter_mut().filter(|d| d.suppression.is_none()) {
            if let Some(count) = left.get_mut(diagnostic.fingerprint.as_str())
                && *count > 0
            {
                *count -= 1;
                diagnostic.suppression = Some(Suppression::Baseline);
            }
        }
    }
}
