//! Races in workgroup memory: our kernels have none, and without one of their barriers they do.
//!
//! Each sixth barrier of half of the files is left out, one at a time, and each one of all with
//! `PHALANX_LONG`. The kernel is executed with the inputs of its check, and racing accesses are
//! recorded. Then `phalanx check` examines the same text, and its findings are compared with the
//! recorded races.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use phalanx::{
    Session,
    analysis::check::{Finding, Level, Rule},
};
use phalanx_ir::{Context, InstId};
use phalanx_simt::launch::Order;
use phalanx_target::LaunchStatement;
use phalanx_test_suite::kernels::{Manifest, Variant};
use rayon::prelude::*;

use crate::kernels::{
    device::Device,
    file,
    host::{self, Case},
    program, text, turn, variants, wave,
};

/// By kernel: pairs of instructions that were seen to race, and sizes of workgroups.
#[derive(Default)]
struct Seen {
    races: BTreeMap<String, BTreeSet<[InstId; 2]>>,
    groups: BTreeMap<String, BTreeSet<[u32; 3]>>,
}

/// Executes the cases, or those with one kernel.
fn seen(text: &str, variant: &Variant, cases: &[Case], only: Option<&str>) -> Seen {
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let module = parsed.expect("it is read").module;
    let program = program(&module);
    let mut seen = Seen::default();
    let is_wanted = |case: &&Case| only.is_none_or(|kernel| case.kernels.contains(&kernel));
    for case in cases.iter().filter(|case| case.file == file(variant)).filter(is_wanted) {
        for order in [Order::Lockstep, Order::Random(3)] {
            let mut device = Device::new(&program, wave(variant), order, None).watching();
            // Results do not matter here, and may be wrong.
            let _ = (case.check)(&mut device);
            for (kernel, pair) in device.shared_races() {
                seen.races.entry(kernel.clone()).or_default().insert(*pair);
            }
            for (kernel, group) in device.groups() {
                seen.groups.entry(kernel.clone()).or_default().insert(*group);
            }
        }
    }
    seen
}

/// Findings by kernel, or of one; with the sizes of workgroups stated, where these are always the
/// same.
fn found(text: &str, groups: Option<&Seen>, only: Option<&str>) -> BTreeMap<String, Vec<Finding>> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("it is read");
    let mut functions: Vec<_> = session.functions(module).collect();
    functions.retain(|&function| only.is_none_or(|kernel| session.name(function) == kernel));
    for &function in &functions {
        let groups = groups.and_then(|seen| seen.groups.get(&session.name(function)));
        if let Some(group) = groups.filter(|groups| groups.len() == 1).and_then(|g| g.first()) {
            let launch = LaunchStatement { workgroup_size: Some(*group), ..Default::default() };
            // One that contradicts the module is not stated.
            let _ = session.set_launch(function, launch);
        }
    }
    let findings =
        |&function| (session.name(function), session.workgroup_memory(function).to_vec());
    functions.iter().map(findings).collect()
}

fn is_race(finding: &Finding) -> bool {
    matches!(finding.rule, Rule::WorkgroupRace | Rule::WaveSynchronous)
}

fn is_seen(finding: &Finding, seen: &BTreeSet<[InstId; 2]>) -> bool {
    let called = finding.clash.as_ref().map_or([None; 2], |clash| clash.called);
    let inner = |at: usize, inst| called[at].map_or(inst, |(_, inner)| inner);
    let one = inner(0, finding.inst);
    let other = finding.other.map_or(one, |other| inner(1, other));
    seen.contains(&[one, other]) || seen.contains(&[other, one])
}

/// The test of this kernel executes only one round on its tile; it would race in the next round.
const ONE_ROUND: &str = "nbody_step";

/// The text without one of its lines, for each that is a barrier of the workgroup, with the
/// function that has the line.
fn without_barriers(text: &str) -> Vec<(&str, String)> {
    let is_barrier = |line: &str| {
        let line = line.trim_start();
        let is_call = line.starts_with("call ") || line.starts_with("tail call ");
        is_call
            && ["@llvm.nvvm.barrier.cta.sync", "@llvm.amdgcn.s.barrier("]
                .iter()
                .any(|b| line.contains(b))
    };
    let lines: Vec<&str> = text.lines().collect();
    let barriers = (0..lines.len()).filter(|&at| is_barrier(lines[at]));
    let without = |at: usize| {
        let header = lines[..at].iter().rfind(|line| line.starts_with("define "));
        let name = header.and_then(|line| line.split(['@', '(']).nth(1)).unwrap_or_default();
        (name, [&lines[..at], &lines[at + 1..]].concat().join("\n") + "\n")
    };
    barriers.map(without).collect()
}

/// Results of leaving barriers out.
#[derive(Clone, Default)]
struct Tally {
    /// Texts with a kernel that was seen to race, but does not race with the barrier.
    racy: usize,
    /// Racing texts with a finding; and those with a finding about instructions that were seen to
    /// race.
    found: usize,
    right: usize,
    /// The same where sizes of workgroups are stated.
    found_stated: usize,
    right_stated: usize,
    missed: Vec<String>,
    wrong: Vec<String>,
}

impl Tally {
    fn merge(&mut self, other: Tally) {
        self.racy += other.racy;
        self.found += other.found;
        self.right += other.right;
        self.found_stated += other.found_stated;
        self.right_stated += other.right_stated;
        self.missed.extend(other.missed);
        self.wrong.extend(other.wrong);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { racy, found, right, found_stated, right_stated, .. } = self;
        write!(
            f,
            "{racy} copies race; found: {found} ({right} at the right lines), with stated sizes \
             {found_stated} ({right_stated})"
        )
    }
}

fn of_variant(text: &str, variant: &Variant, cases: &[Case]) -> Tally {
    let mut tally = Tally::default();
    let whole = seen(text, variant, cases, None);
    for groups in [None, Some(&whole)] {
        for (kernel, findings) in found(text, groups, None) {
            let races = whole.races.get(&kernel);
            let is_wrong = |finding: &&Finding| {
                !(is_race(finding) && races.is_some_and(|races| is_seen(finding, races)))
            };
            tally.wrong.extend(findings.iter().filter(is_wrong).map(|finding| {
                format!("{}: {kernel}: {:?}", variant.name(), (finding.rule, finding.level))
            }));
        }
    }
    let step = if phalanx_fuzz::is_long() { 1 } else { 6 };
    for (number, (function, copy)) in without_barriers(text).into_iter().enumerate().step_by(step) {
        // Other kernels are as before, unless they call it.
        let only = cases.iter().any(|case| case.kernels.contains(&function)).then_some(function);
        let seen = seen(&copy, variant, cases, only);
        let guessed = found(&copy, None, only);
        let stated = found(&copy, Some(&whole), only);
        for (kernel, races) in &seen.races {
            if whole.races.contains_key(kernel) {
                continue;
            }
            tally.racy += 1;
            let findings = |of: &BTreeMap<String, Vec<Finding>>| -> [usize; 2] {
                let all = of.get(kernel).into_iter().flatten().filter(|f| is_race(f));
                let is_right = all.clone().any(|finding| is_seen(finding, races));
                [usize::from(all.count() > 0), usize::from(is_right)]
            };
            let ([found, right], [found_stated, right_stated]) =
                (findings(&guessed), findings(&stated));
            tally.found += found;
            tally.right += right;
            tally.found_stated += found_stated;
            tally.right_stated += right_stated;
            if found == 0 || right_stated == 0 {
                let what = format!("{} without barrier {number}: {kernel}", variant.name());
                tally.missed.push(format!("{what}: {found} {right} {found_stated} {right_stated}"));
            }
        }
        for (kernel, findings) in stated {
            let races = seen.races.contains_key(&kernel);
            let errors = findings.iter().filter(|finding| finding.level == Level::Error);
            // Only one race is recorded for two instructions, and on AMD GPUs it may be one within
            // a wave.
            let is_watched = kernel != ONE_ROUND && wave(variant) == 32;
            let unseen = errors.filter(|finding| is_watched && !(races && is_race(finding)));
            tally.wrong.extend(unseen.map(|finding| {
                let name = variant.name();
                format!("{name} without barrier {number}: {kernel}: error {:?}", finding.rule)
            }));
        }
    }
    tally
}

#[test]
fn missing_barriers_are_found() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let cases = host::cases();
    // Half of them, unless tests may take long.
    let is_wanted = |variant: &Variant| phalanx_fuzz::is_long() || turn(variant, 2) == 0;
    let variants: Vec<_> = variants(&manifest).into_iter().filter(is_wanted).collect();
    let of = |variant: &Variant| of_variant(&text(&manifest, &compiler, variant), variant, &cases);
    let parts: Vec<Tally> = variants.par_iter().map(of).collect();
    let mut all = Tally::default();
    parts.into_iter().for_each(|part| all.merge(part));
    println!("{all}\nmissed:\n{}", all.missed.join("\n"));
    assert!(all.wrong.is_empty(), "{} are wrong:\n{}", all.wrong.len(), all.wrong.join("\n"));
    assert!(all.racy > 8, "{all}");
    // The others are mostly those whose conditions depend on data.
    assert!(all.found * 100 >= all.racy * 76, "{all}");
    assert!(all.right_stated * 100 >= all.racy * 75, "{all}");
}
