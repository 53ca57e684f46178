//! Findings that several kernels have in common.
//!
//! A template that is instantiated six times has the same finding in six kernels. For people it is
//! shown once, and names the others:
//!
//! ```text
//! warning[PHX050]: .. in kernel `void sum<float>(float*)`
//! help: the same in `void sum<double>(double*)` and 4 more
//! ```
//!
//! O(findings).

use std::collections::BTreeMap;

use phalanx::report::check::{Diagnostic, Location};

/// Findings, each line of the source once: of kernels that are made from one template the first one
/// stands for the others, which it names.
pub(super) fn once_a_line(found: &[Diagnostic]) -> Vec<Diagnostic> {
    let place = |location: &Location| {
        let source = location.source.as_ref()?;
        Some((source.file.clone(), source.line, source.column))
    };
    let places = |of: &Diagnostic| -> Option<Vec<_>> {
        let others = of.reasons.iter().filter(|reason| reason.kind == "other");
        let others = others.map(|reason| &reason.location);
        [&of.location].into_iter().chain(others).map(place).collect()
    };
    let mut firsts: Vec<(Diagnostic, Vec<&str>)> = Vec::new();
    let mut by_places = BTreeMap::new();
    for one in found {
        let key = places(one).map(|places| (one.code, one.level, places));
        let first = key.as_ref().and_then(|key| by_places.get(key)).copied();
        match first.map(|at: usize| &mut firsts[at]) {
            Some((first, others)) if first.symbol != one.symbol => {
                if !others.contains(&&*one.function) {
                    others.push(&one.function);
                }
            }
            _ => {
                if let Some(key) = key {
                    by_places.entry(key).or_insert(firsts.len());
                }
                firsts.push((one.clone(), Vec::new()));
            }
        }
    }
    let told = |(mut first, others): (Diagnostic, Vec<&str>)| {
        match others[..] {
            [] => {}
            [one] => first.help.push(format!("the same in `{one}`")),
            [one, ref rest @ ..] => {
                first.help.push(format!("the same in `{one}` and {} more", rest.len()));
            }
        }
        first
    };
    firsts.into_iter().map(told).collect()
}
