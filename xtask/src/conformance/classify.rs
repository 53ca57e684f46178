//! Explains why two answers about uniformity differ.
//!
//! We may say divergent where LLVM 22 says uniform, since LLVM 22 is wrong in known ways. We may
//! say uniform where LLVM says divergent, since our rules consider single edges. Both are verified:
//!
//! - without fixes and refinements (`--exact-llvm`) our answer must be LLVM's, definition by
//!   definition;
//! - the abstract oracle executes the function. A value that is seen to differ between lanes that
//!   execute it together must be divergent in our answer; a value that is uniform in our answer
//!   only must never be seen to differ. LLVM also counts as wrong if the value differs only after
//!   branches on the same condition are made independent, since its rules do not compare
//!   conditions.
//!
//! Any other difference is unexplained.
//!
//! LLVM's own answers are not constant: in cycles that are assumed divergent some depend on the
//! order of its work list, which depends on addresses. Which cycles and temporal uses it lists
//! there differs from run to run, and so do values behind always-uniform instructions. Such a list
//! is not compared. Such a value may be either of LLVM's answers, if LLVM is seen to give both.

use std::collections::{BTreeMap, BTreeSet};

use phalanx_testing::{
    compare::{
        PerFunction, pair_up,
        uniformity::{self, Comparison, DefinitionPlace, Uniformity, ValueDifference},
    },
    listing::Branches,
};

use super::report::{Class, Entry};

/// The answers about one file.
pub(super) struct Answers<'a> {
    pub(super) llvm: &'a PerFunction<Uniformity>,
    pub(super) ours: &'a PerFunction<Uniformity>,
    /// Ours by LLVM's rules alone; `None` when that is what `ours` is.
    pub(super) exact: Option<&'a PerFunction<Uniformity>>,
    /// Asks LLVM once more.
    pub(super) again: &'a (dyn Fn() -> Option<PerFunction<Uniformity>> + Sync),
}

/// How often LLVM is asked again before its answer counts as constant.
const MORE_RUNS: usize = 24;

/// Executes a function that two listings describe; returns the places that differ.
pub(super) type Oracle<'a> = &'a (
        dyn Fn(&Uniformity, &Uniformity, Branches) -> Result<BTreeSet<DefinitionPlace>, String>
            + Sync
    );

/// All differences of a file, each with its class.
pub(super) fn classify(file: &str, answers: &Answers<'_>, oracle: Oracle<'_>) -> Vec<Entry> {
    let mut out = Vec::new();
    match answers.exact {
        None => exact(file, answers, answers.ours, &mut out),
        Some(by_rules) => {
            exact(file, answers, by_rules, &mut out);
            let both = pairs(file, answers.llvm, answers.ours, &mut out);
            for (name, llvm, ours) in both {
                let by_rules = by_rules.iter().find(|(of, _)| of == name).map(|(_, facts)| facts);
                let function = Function { place: format!("{file} @{name}"), llvm, ours, by_rules };
                function.classify(oracle, &mut out);
            }
        }
    }
    out
}

/// The functions that both sides have; those that one side lacks are unexplained.
fn pairs<'a>(
    file: &str,
    llvm: &'a PerFunction<Uniformity>,
    ours: &'a PerFunction<Uniformity>,
    out: &mut Vec<Entry>,
) -> Vec<(&'a str, &'a Uniformity, &'a Uniformity)> {
    let of_ours: BTreeMap<&str, &Uniformity> =
        ours.iter().map(|(name, facts)| (name.as_str(), facts)).collect();
    // Names and their order only.
    for difference in pair_up(llvm, ours, |_, _| Vec::new()) {
        out.push(Entry::unexplained(format!("{file} @{}", difference.function), difference.what));
    }
    let both = |(name, facts): &'a (String, Uniformity)| {
        Some((name.as_str(), facts, *of_ours.get(name.as_str())?))
    };
    llvm.iter().filter_map(both).collect()
}

/// Differences between our answers by LLVM's rules and LLVM's: there must be none where LLVM's are
/// constant.
fn exact(
    file: &str,
    answers: &Answers<'_>,
    by_rules: &PerFunction<Uniformity>,
    out: &mut Vec<Entry>,
) {
    let mut more: Option<Vec<PerFunction<Uniformity>>> = None;
    for (name, llvm, ours) in pairs(file, answers.llvm, by_rules, out) {
        let mut comparison = uniformity::compare(llvm, ours);
        let place = format!("{file} @{name}");
        if order_matters(llvm, ours) {
            comparison.assumed.clear();
            comparison.temporal.clear();
            for value in std::mem::take(&mut comparison.values) {
                let more = more.get_or_insert_with(|| {
                    (0..MORE_RUNS).map_while(|_| (answers.again)()).collect()
                });
                let other = more.iter().flatten().filter(|(of, _)| of == name);
                let both = other
                    .into_iter()
                    .any(|(_, f)| f.is_divergent(&value.place) != value.left_divergent);
                if both || has_fixed_in_assumed(llvm, ours) {
                    let why = match both {
                        true => "LLVM answers both from run to run",
                        false => "LLVM's answer depends on what it finds first",
                    };
                    let what = format!("{why}: block {}: {}", value.block, value.text);
                    out.push(Entry::new(Class::Explained, place.clone(), what));
                } else {
                    comparison.values.push(value);
                }
            }
        }
        let unexplained =
            |what| Entry::unexplained(place.clone(), format!("by LLVM's rules: {what}"));
        out.extend(comparison.lines().into_iter().map(unexplained));
    }
}

/// Does LLVM's answer depend on the order of its work list?
fn order_matters(left: &Uniformity, right: &Uniformity) -> bool {
    !left.assumed.is_empty() || !right.assumed.is_empty()
}

/// Does an operation that is always uniform stand in a cycle that both assume divergent?
///
/// Uses outside of the cycle diverge exactly if LLVM notices the cycle's divergent exits before it
/// assumes the cycle divergent, and that depends on the order of its work list.
fn has_fixed_in_assumed(llvm: &Uniformity, ours: &Uniformity) -> bool {
    let is_in = |side: &Uniformity, block: &str| {
        side.assumed.iter().any(|cycle| cycle.blocks.contains(block))
    };
    let mut blocks = llvm.blocks.iter().filter(|b| is_in(llvm, &b.name) && is_in(ours, &b.name));
    let is_fixed = |item: &uniformity::Item| item.text.contains("@llvm.amdgcn.readfirstlane");
    blocks.any(|block| block.definitions.iter().any(is_fixed))
}

struct Function<'a> {
    place: String,
    llvm: &'a Uniformity,
    ours: &'a Uniformity,
    by_rules: Option<&'a Uniformity>,
}

impl Function<'_> {
    fn classify(&self, oracle: Oracle<'_>, out: &mut Vec<Entry>) {
        let mut comparison = uniformity::compare(self.llvm, self.ours);
        // Where even LLVM's rules give another answer, fixes and refinements explain nothing; that
        // is listed already.
        let same = |place: &DefinitionPlace| {
            self.by_rules.is_none_or(|f| f.is_divergent(place) == self.llvm.is_divergent(place))
        };
        comparison.values.retain(|value| same(&value.place));
        let unexplained = |what: String| Entry::unexplained(self.place.clone(), what);
        if !comparison.shape.is_empty() {
            // If only the text differs, the answer by LLVM's rules is the same, and the difference
            // is listed already.
            let listed =
                self.by_rules.map(|f| uniformity::compare(self.llvm, f).shape).unwrap_or_default();
            let new = comparison.lines().into_iter().filter(|line| !listed.contains(line));
            out.extend(new.map(unexplained));
            return;
        }
        if !comparison.values.is_empty() {
            // A side that calls everything uniform lists nothing.
            let listing = if self.llvm.all_uniform { self.unmarked() } else { self.llvm.clone() };
            let run = |branches| oracle(&listing, self.ours, branches);
            let seen = run(Branches::Computed).and_then(|seen| {
                // The second question is only about values that are divergent in ours and were not
                // seen to be.
                let open = |v: &ValueDifference| !v.left_divergent && !seen.contains(&v.place);
                let any = comparison.values.iter().any(open);
                let independent = if any { run(Branches::Independent)? } else { BTreeSet::new() };
                Ok((seen, independent))
            });
            match seen {
                Ok((seen, independent)) => {
                    out.extend(
                        comparison.values.iter().map(|v| self.value(v, &seen, &independent)),
                    );
                }
                Err(error) => {
                    let what = |v: &ValueDifference| {
                        unexplained(format!("{v}; the oracle cannot tell: {error}"))
                    };
                    out.extend(comparison.values.iter().map(what));
                }
            }
        }
        self.lists(&comparison, out);
    }

    /// The instructions of our listing with nothing marked.
    fn unmarked(&self) -> Uniformity {
        let mut listing = self.ours.clone();
        listing.arguments.clear();
        for block in &mut listing.blocks {
            block
                .definitions
                .iter_mut()
                .chain(&mut block.terminators)
                .for_each(|i| i.divergent = false);
        }
        listing
    }

    fn value(
        &self,
        value: &ValueDifference,
        seen: &BTreeSet<DefinitionPlace>,
        independent: &BTreeSet<DefinitionPlace>,
    ) -> Entry {
        let class = match (value.left_divergent, seen.contains(&value.place)) {
            (true, true) => Class::Unexplained,
            (true, false) => Class::Finer,
            (false, true) => Class::LlvmWrong,
            (false, false) if independent.contains(&value.place) => Class::LlvmLucky,
            (false, false) => Class::LlvmUnsafe,
        };
        let text = value.text.lines().next().unwrap_or_default();
        let what = match class {
            Class::Unexplained => {
                format!("{text}: uniform in ours, but lanes were seen to hold different values")
            }
            _ => text.to_owned(),
        };
        Entry::new(class, self.place.clone(), what)
    }

    fn lists(&self, comparison: &Comparison, out: &mut Vec<Entry>) {
        let lists = [
            ("cycles assumed divergent", &comparison.assumed),
            ("cycles with divergent exit", &comparison.exits),
            ("temporal divergence", &comparison.temporal),
        ];
        for (name, lines) in lists {
            for line in lines {
                out.push(Entry::new(Class::Listing, self.place.clone(), format!("{name}: {line}")));
            }
        }
        // What we list must agree with what we mark; a call may be uniform whatever it is given.
        let items =
            || self.ours.blocks.iter().flat_map(|b| b.definitions.iter().chain(&b.terminators));
        let uniform: BTreeSet<&str> = items()
            .filter(|item| !item.divergent && !item.text.contains("call "))
            .map(|item| item.text.as_str())
            .collect();
        for use_ in &self.ours.temporal {
            if !self.ours.exits.contains(&use_.cycle) {
                out.push(Entry::unexplained(
                    self.place.clone(),
                    format!("{use_}, but that is not listed"),
                ));
            }
            if uniform.contains(use_.user.as_str()) {
                out.push(Entry::unexplained(
                    self.place.clone(),
                    format!("{use_}, but the user is uniform"),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LLVM: &str = "\
UniformityInfo for function 'f':
BLOCK a
DEFINITIONS
  DIVERGENT:   %t = call i32 @tid()
               %x = add i32 %u, 1
TERMINATORS
               ret void
END BLOCK
";

    fn facts(text: &str) -> PerFunction<Uniformity> {
        uniformity::parse(text).expect("well-formed")
    }

    /// The classes of the differences when ours is the changed text and the oracle sees `seen`.
    fn classes(ours: &str, exact: &str, seen: &[DefinitionPlace]) -> Vec<Class> {
        let (llvm, ours, exact) = (facts(LLVM), facts(ours), facts(exact));
        let answers = Answers { llvm: &llvm, ours: &ours, exact: Some(&exact), again: &|| None };
        let seen: BTreeSet<DefinitionPlace> = seen.iter().cloned().collect();
        classify("f.ll", &answers, &|_, _, _| Ok(seen.clone()))
            .into_iter()
            .map(|entry| entry.class)
            .collect()
    }

    fn flipped(from: &str) -> String {
        let (old, new) = match from {
            "%x" => ("               %x", "  DIVERGENT:   %x"),
            "%t" => ("  DIVERGENT:   %t", "               %t"),
            _ => ("               ret", "  DIVERGENT:   ret"),
        };
        assert!(LLVM.contains(old));
        LLVM.replace(old, new)
    }

    const T: DefinitionPlace = DefinitionPlace::Definition(0, 0);
    const X: DefinitionPlace = DefinitionPlace::Definition(0, 1);

    #[test]
    fn equal_answers_have_no_entries() {
        assert!(classes(LLVM, LLVM, &[T, X]).is_empty());
    }

    #[test]
    fn divergent_in_ours_only() {
        assert_eq!(classes(&flipped("%x"), LLVM, &[T, X]), [Class::LlvmWrong]);
        assert_eq!(classes(&flipped("%x"), LLVM, &[T]), [Class::LlvmUnsafe]);
    }

    #[test]
    fn wrong_but_for_related_branches() {
        let (llvm, ours) = (facts(LLVM), facts(&flipped("%x")));
        let answers = Answers { llvm: &llvm, ours: &ours, exact: Some(&llvm), again: &|| None };
        let entries = classify("f.ll", &answers, &|_, _, branches| match branches {
            Branches::Computed => Ok([T].into()),
            Branches::Independent => Ok([T, X].into()),
        });
        assert_eq!(entries.iter().map(|entry| entry.class).collect::<Vec<_>>(), [Class::LlvmLucky]);
    }

    #[test]
    fn uniform_in_ours_only() {
        assert_eq!(classes(&flipped("%t"), LLVM, &[]), [Class::Finer]);
        assert_eq!(classes(&flipped("%t"), LLVM, &[T]), [Class::Unexplained]);
    }

    #[test]
    fn the_exact_mode_must_be_exact() {
        assert_eq!(classes(LLVM, &flipped("%x"), &[]), [Class::Unexplained]);
        // Then the same difference is not explained by the fixes as well.
        assert_eq!(classes(&flipped("%x"), &flipped("%x"), &[X]), [Class::Unexplained]);
    }

    #[test]
    fn without_an_exact_mode_nothing_is_explained() {
        let (llvm, ours) = (facts(LLVM), facts(&flipped("%x")));
        let answers = Answers { llvm: &llvm, ours: &ours, exact: None, again: &|| None };
        let entries = classify("f.ll", &answers, &|_, _, _| Ok([X].into()));
        assert!(
            entries.iter().all(|entry| entry.class == Class::Unexplained) && entries.len() == 1
        );
    }

    #[test]
    fn other_texts_functions_and_oracles_that_fail_are_unexplained() {
        assert_eq!(classes(&LLVM.replace("i32 %u", "i32 %v"), LLVM, &[]), [Class::Unexplained]);
        assert_eq!(classes(&LLVM.replace("'f'", "'g'"), LLVM, &[]), [Class::Unexplained; 2]);
        let (llvm, ours) = (facts(LLVM), facts(&flipped("%x")));
        let answers = Answers { llvm: &llvm, ours: &ours, exact: Some(&llvm), again: &|| None };
        let entries = classify("f.ll", &answers, &|_, _, _| Err("too large".to_owned()));
        assert_eq!(entries[0].class, Class::Unexplained);
    }

    #[test]
    fn lists_that_depend_on_the_order_of_work_are_no_difference_by_llvms_rules() {
        let assumed = |cycle: &str| {
            LLVM.replace(
                "BLOCK a",
                &format!("CYCLES ASSUMED DIVERGENT:\n  depth=1: entries({cycle})\n\nBLOCK a"),
            )
        };
        let (p, q) = (facts(&assumed("p q")), facts(&assumed("q p")));
        let classes = |llvm, ours, exact| -> Vec<Class> {
            let answers = Answers { llvm, ours, exact, again: &|| None };
            let entries = classify("f.ll", &answers, &|_, _, _| Ok(BTreeSet::new()));
            entries.into_iter().map(|entry| entry.class).collect()
        };
        assert!(classes(&p, &p, Some(&q)).is_empty());
        assert!(classes(&p, &q, None).is_empty());
        assert_eq!(classes(&p, &q, Some(&p)), [Class::Listing, Class::Listing]);
        let exits = LLVM
            .replace("BLOCK a", "CYCLES WITH DIVERGENT EXIT:\n  depth=1: entries(h)\n\nBLOCK a");
        assert_eq!(classes(&facts(LLVM), &facts(&exits), None), [Class::Unexplained]);
    }

    #[test]
    fn a_value_of_which_llvm_says_both_may_be_either() {
        let assumed = |text: &str| {
            let list = "CYCLES ASSUMED DIVERGENT:\n  depth=1: entries(p q)\n\nBLOCK a";
            facts(&text.replace("BLOCK a", list))
        };
        let (one, other) = (assumed(LLVM), assumed(&flipped("%x")));
        let classes = |again: &(dyn Fn() -> Option<PerFunction<Uniformity>> + Sync)| -> Vec<Class> {
            let answers = Answers { llvm: &one, ours: &other, exact: None, again };
            let entries = classify("f.ll", &answers, &|_, _, _| Ok(BTreeSet::new()));
            entries.into_iter().map(|entry| entry.class).collect()
        };
        assert_eq!(classes(&|| Some(one.clone())), [Class::Unexplained]);
        assert_eq!(classes(&|| Some(other.clone())), [Class::Explained]);
        assert_eq!(classes(&|| None), [Class::Unexplained]);
    }

    #[test]
    fn lists_must_agree_with_the_marks() {
        // `%t` is a call, which may be uniform; the store in its place may not.
        let listed = |user: &str| {
            let temporal = format!(
                "CYCLES WITH DIVERGENT EXIT:\n  depth=1: entries(h)\n\nTEMPORAL DIVERGENCE LIST:\n\
                 Value         :  %v = add i32 1, 1\nUsed by       :  {user}\nOutside cycle :depth=1: entries(h)\n\n\n\
                 BLOCK a"
            );
            LLVM.replace("BLOCK a", &temporal)
        };
        let good = classes(&listed("%t = call i32 @tid()"), LLVM, &[]);
        assert_eq!(good, [Class::Listing, Class::Listing]);
        let bad = classes(&listed("%x = add i32 %u, 1"), LLVM, &[]);
        assert_eq!(bad, [Class::Listing, Class::Listing, Class::Unexplained]);
        let unlisted = listed("%t = call i32 @tid()").replace("  depth=1: entries(h)\n", "");
        assert_eq!(classes(&unlisted, LLVM, &[]), [Class::Listing, Class::Unexplained]);
    }
}
