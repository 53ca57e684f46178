//! Arguments that have to be the same in all threads that execute an operation: numbers and counts
//! of barriers, and lanes that are read from.
//!
//! | argument | has to be the same in | rule |
//! |---|---|---|
//! | the number of a barrier for all threads | the workgroup | [`Rule::DifferentBarrierNumbers`] |
//! | the number of a barrier for some threads, if it is aligned | each wave | the same |
//! | the number of threads that a barrier is for | each wave, and all threads that come with one number | the same |
//! | an argument that the tables of the target name: the lane that `readlane` reads from | each wave, or the workgroup | [`Rule::DivergentArgument`] |
//!
//! ```text
//! call void @llvm.nvvm.barrier.cta.sync.all(i32 %odd)     // even threads wait at 0, odd ones at 1
//! ```
//!
//! If two threads wait at barriers of all threads with different numbers, they wait for each other
//! for ever: neither comes to the other's barrier before it has left its own. So such a barrier is
//! an error if evaluation ([`walk`](super::walk)) finds two threads that come with different
//! numbers. It is a warning if the argument may differ by what is known of divergence. It is right
//! if evaluation shows that all threads have one number.
//!
//! # How many can come
//!
//! A barrier for `n` threads, in a kernel that calls nothing unknown, is passed only if `n` threads
//! come to it or to others with its number. If the size of workgroups is known, the waves are
//! counted that have a thread which may come. If they are too few, the threads that come wait for
//! ever, even if the others have ended: a barrier with a count ignores that. A wave that arrives
//! without waiting can be counted twice, so barriers with arrivals in a loop, or at two places, are
//! left out.
//!
//! O(threads × instructions on the way) for arguments that may differ by what is known, and for
//! counted barriers that not all threads come to.

use std::collections::BTreeSet;

use phalanx_core::affect::User;
use phalanx_ir::{InstId, Opcode, ValueKind};
use phalanx_target::{
    Scope, SourceSet,
    intrinsics::{BarrierPhase, Family, SameOperands},
};

use super::{
    CountFault, Evaluated, Facts, Finding, Level, Rule, What,
    barriers::{Check, likely},
    facts::Entries,
    masks::sources,
    sites::{Argument, Site, SiteKind, arguments, condition, intrinsic_of},
    walk::{Arrival, Came, Walks},
    witness::{self, Expression},
};
use crate::code::Numbering;

/// The number of threads of a workgroup that are looked at.
const THREADS: usize = 1024;
/// The number of threads that are all evaluated; of further waves, these lanes are.
const ALL: usize = 128;
const SOME: [usize; 4] = [0, 1, 16, 31];
/// The number of operations that are looked at, of those that a value is computed by.
const OPERATIONS: usize = 64;
/// The number of barriers with one number that are looked at.
const SAME: usize = 8;
/// The number of threads in a row that every usual launch has.
const USUAL: u32 = 32;

/// The findings about the arguments of an operation.
pub(super) fn findings(facts: Facts<'_>, check: &Check<'_>, site: &Site) -> Vec<Finding> {
    let mut found = of_barrier(facts, check, site);
    let same = intrinsic_of(facts, site).map_or(SameOperands::NONE, |found| found.info.same);
    for (at, role) in same.iter() {
        let differing = differing(facts, site, (at, What::Argument), same.scope);
        found.extend(differing.map(|found| Finding { role: Some(role), ..found }));
    }
    // One finding per rule and operation.
    found.dedup_by_key(|found| found.rule);
    found
}

/// The findings about the number and count of a barrier.
fn of_barrier(facts: Facts<'_>, check: &Check<'_>, site: &Site) -> Vec<Finding> {
    let mut found = Vec::new();
    match site.kind {
        SiteKind::Barrier { barrier, .. } if barrier.scope == Scope::Workgroup => {
            let of_nvvm = |found: phalanx_target::intrinsics::Intrinsic| {
                found.family == Family::Nvvm && !found.base.starts_with("mbarrier")
            };
            if !intrinsic_of(facts, site).is_some_and(of_nvvm) {
                return found;
            }
            let scope = match (barrier.partial, barrier.aligned) {
                (false, _) => Some(Scope::Workgroup),
                (true, true) => Some(Scope::Wave),
                // The program decides which threads come with which number.
                (true, false) => None,
            };
            if let Some(scope) = scope {
                found.extend(differing(facts, site, (0, What::Number), scope));
            }
            if barrier.partial {
                if found.is_empty() {
                    found.extend(differing(facts, site, (1, What::Count), Scope::Wave));
                }
                found.extend(computed_count(facts, site));
                found.extend(too_few(facts, check, site));
            }
        }
        _ => {}
    }
    found
}

/// The finding about an argument that differs between threads that come together.
fn differing(
    facts: Facts<'_>,
    site: &Site,
    (at, what): (usize, What),
    scope: Scope,
) -> Option<Finding> {
    let arguments = arguments(facts, site);
    let &argument = arguments.get(at)?;
    let Argument::Value(value) = argument else { return None };
    let sources = sources(facts, site, argument) & facts.varying(scope);
    if sources.is_empty()
        || is_one(facts, (site.inst, value), scope)
        || is_agreed(facts, site, value)
    {
        return None;
    }
    let rule = match what {
        What::Argument => Rule::DivergentArgument,
        _ => Rule::DifferentBarrierNumbers,
    };
    let evaluated = evaluated(facts, site, (at, what), scope);
    let (level, evaluated) = match evaluated {
        Some((evaluated, true)) => (Level::Error, Some(evaluated)),
        Some((evaluated, false)) => (likely(facts, sources), Some(evaluated)),
        None => (likely(facts, sources), None),
    };
    let argument = site.in_assembly.is_none().then_some(at);
    Some(Finding { sources, argument, evaluated, ..Finding::new(rule, level, site.inst, scope) })
}

/// Whether all threads of each group have one value where an instruction reads it: by evaluation,
/// or because that holds for everything the value is computed from.
///
/// If operands are the same in all threads that compute a pure operation together, so is its
/// result. Each operand is examined where it is read, so that values of several rounds of a loop
/// are not taken for the same.
pub(super) fn is_one(
    facts: Facts<'_>,
    (user, value): (InstId, phalanx_ir::Value),
    scope: Scope,
) -> bool {
    let (body, numbering) = (facts.code.body, Numbering::new(facts.code.header));
    let mut work = vec![(user, value)];
    for _ in 0..OPERATIONS {
        let Some((user, value)) = work.pop() else { return true };
        let Some(number) = numbering.operand(value) else { continue };
        let user = User::value(numbering.inst(user));
        let sources = facts.divergence.at_use(number, user);
        facts.reads_use(number, user, sources);
        if !sources.intersects(facts.varying(scope)) || are_one(facts, value, scope) {
            continue;
        }
        if let ValueKind::Arg(position) = value.kind()
            && facts.passed.is_one(position as usize, scope)
        {
            continue;
        }
        let Some(inst) = value.as_inst() else { return false };
        facts.reads_inst(inst);
        let opcode = body.inst(inst).opcode;
        // An argument in a slot has one value during the whole function.
        if opcode == Opcode::Load
            && let Some(stored) = witness::stored(facts, inst)
            && matches!(stored.kind(), ValueKind::Arg(_))
        {
            work.push((inst, stored));
            continue;
        }
        let is_pure = opcode.is_binary()
            || opcode.is_cast()
            || matches!(opcode, Opcode::GetElementPtr | Opcode::ICmp | Opcode::Select);
        if !is_pure {
            return false;
        }
        work.extend(body.operands(inst).iter().map(|&operand| (inst, operand)));
    }
    false
}

/// Whether evaluation shows that all threads of each group have one value.
fn are_one(facts: Facts<'_>, value: phalanx_ir::Value, scope: Scope) -> bool {
    let Some(expression) = Expression::new(facts, value) else { return false };
    let size = witness::exact_size(facts.launch);
    let (threads, group) = match (scope, facts.launch.wave_width) {
        (Scope::Wave, Some(width)) if width > 1 => {
            // In usual launches rows consist of whole waves.
            let rows = expression.is_of_row().then(|| witness::row(0, THREADS as u32));
            (size.map(witness::threads).or(rows), width as usize)
        }
        (Scope::Wave, _) => return false,
        _ => (witness::all_threads(facts, &expression), usize::MAX),
    };
    let Some(threads) = threads else { return false };
    threads.chunks(group.min(threads.len().max(1))).all(|group| {
        let mut values = group.iter().map(|&thread| expression.value(facts, thread, size));
        let first = values.next().flatten();
        first.is_some() && values.all(|value| value == first)
    })
}

/// Whether only lanes execute the operation that were found to have one value:
/// `if (first(x) == x)`.
fn is_agreed(facts: Facts<'_>, site: &Site, value: phalanx_ir::Value) -> bool {
    use phalanx_ir::{Value, flow::block_of, inst::IntPredicate};
    let body = facts.code.body;
    let is_first = |of: Value| {
        let Some(call) = of.as_inst().filter(|&inst| body.inst(inst).opcode == Opcode::Call) else {
            return false;
        };
        facts.reads_inst(call);
        let found = super::sites::intrinsic(facts.code, call);
        let gives_one =
            |base: &str| base.starts_with("readfirstlane") || base == "sub_group_broadcast_first";
        found.is_some_and(|found| gives_one(found.base))
            && body.call_args(call).first() == Some(&value)
    };
    let branches = facts.control.iterated_controllers(facts.postdom, [site.block]);
    branches.into_iter().any(|branch| {
        let compare = || {
            let terminator = body.terminator(block_of(branch))?;
            facts.reads_inst(terminator);
            let compare = body.operands(terminator).first()?.as_inst()?;
            facts.reads_inst(compare);
            let data = body.inst(compare);
            let is_equal = data.opcode == Opcode::ICmp && data.int_predicate() == IntPredicate::Eq;
            let &[left, right] = is_equal.then(|| body.operands(compare))? else { return None };
            Some(left == value && is_first(right) || right == value && is_first(left))
        };
        compare() == Some(true)
    })
}

/// Threads with their numbers, in the order in which they are evaluated; and how many numbers
/// belong to every usual launch.
type Asked = (Vec<(usize, [u32; 3])>, usize);

/// The threads for which arguments are evaluated.
fn asked(facts: Facts<'_>, scope: Scope) -> Asked {
    let launch = facts.launch;
    if let Some(size) = witness::exact_size(launch) {
        let threads = witness::threads(size);
        let count = threads.len();
        // For many waves, some lanes of each are enough.
        let is_asked = |&(at, _): &(usize, [u32; 3])| at < ALL || SOME.contains(&(at % 32));
        return (threads.into_iter().enumerate().filter(is_asked).collect(), count);
    }
    let usual = launch.max_extent(0).min(USUAL);
    let mut threads = witness::row(0, usual);
    let count = threads.len();
    if scope == Scope::Workgroup {
        let further = (1..8).map(|wave| wave * USUAL).filter(|&x| x < launch.max_extent(0));
        threads.extend(further.map(|x| [x, 0, 0]));
        let axes = (1..3).filter(|&axis| launch.max_extent(axis) > 1);
        threads.extend(axes.map(|axis| witness::row(axis, 2)[1]));
    }
    (threads.into_iter().enumerate().collect(), count)
}

/// Two threads that come together with different arguments, and whether every launch has them. If
/// the function itself does not tell, each call of it is looked at.
fn evaluated(
    facts: Facts<'_>,
    site: &Site,
    argument: (usize, What),
    scope: Scope,
) -> Option<(Evaluated, bool)> {
    let asked = asked(facts, scope);
    let found = evaluated_by(facts, site, argument, scope, (&asked, None));
    if found.is_some_and(|(_, is_certain)| is_certain) {
        return found;
    }
    let threads: Vec<[u32; 3]> = asked.0.iter().map(|&(_, thread)| thread).collect();
    let entries = facts.passed.entries(&threads, scope);
    let by_calls = entries
        .iter()
        .filter_map(|entries| evaluated_by(facts, site, argument, scope, (&asked, Some(entries))));
    found.into_iter().chain(by_calls).max_by_key(|&(_, is_certain)| is_certain)
}

/// The same for threads that come by one call, if one is given.
fn evaluated_by(
    facts: Facts<'_>,
    site: &Site,
    (at, what): (usize, What),
    scope: Scope,
    ((threads, usual), entries): (&Asked, Option<&Entries>),
) -> Option<(Evaluated, bool)> {
    // Assembly may execute the operation in some of the threads only.
    let is_conditional = condition(facts, site).is_some();
    let walks = Walks::new(facts, site, scope);
    let width = facts.launch.wave_width.filter(|_| scope == Scope::Wave);
    let group = width.map_or(usize::MAX, |width| width as usize);
    let mut seen: Vec<(usize, [u32; 3], Arrival)> = Vec::new();
    for &(index, thread) in threads {
        let Came::Comes(arrivals) = walks.of(thread, entries) else {
            // If nothing is known of the first threads, nothing is known of the others.
            if index > 1 && seen.is_empty() {
                return None;
            }
            continue;
        };
        for arrival in arrivals.into_iter().filter(|arrival| arrival.is_sure) {
            let Some(value) = arrival.arguments.get(at).copied().flatten() else { continue };
            let known = seen.iter().find(|(of, _, with)| {
                *of / group == index / group && with.rounds == arrival.rounds
            });
            match known {
                None => seen.push((index, thread, arrival)),
                Some((_, first, with)) => {
                    let other = with.arguments[at].unwrap_or(value);
                    if other != value {
                        let evaluated =
                            Evaluated { threads: [*first, thread], values: [other, value], what };
                        return Some((evaluated, index < *usual && !is_conditional));
                    }
                }
            }
        }
    }
    None
}

/// The finding about a count that is no constant, and no multiple of the wave's width.
fn computed_count(facts: Facts<'_>, site: &Site) -> Option<Finding> {
    let SiteKind::Barrier { threads: None, .. } = site.kind else { return None };
    let width = facts.launch.wave_width.filter(|&width| width > 1)?;
    let walks = Walks::new(facts, site, Scope::Workgroup);
    let (threads, usual) = asked(facts, Scope::Wave);
    // One thread of each wave.
    let is_first = |&(at, _): &(usize, [u32; 3])| at < usual && at % width as usize == 0;
    let threads: Vec<[u32; 3]> =
        threads.into_iter().filter(is_first).map(|(_, thread)| thread).collect();
    let entries = facts.passed.entries(&threads, Scope::Workgroup);
    let calls = std::iter::once(None).chain(entries.iter().map(Some));
    let came = calls.flat_map(|call| threads.iter().map(move |&thread| (thread, call)));
    for (thread, call) in came {
        let Came::Comes(arrivals) = walks.of(thread, call) else { continue };
        let sure = arrivals.iter().filter(|arrival| arrival.is_sure);
        for count in sure.filter_map(|arrival| arrival.arguments.get(1).copied().flatten()) {
            if count == 0 || count % u64::from(width) != 0 {
                let fault = Some(CountFault::NoWholeWaves { threads: count, width });
                let rule = Rule::WrongBarrierCount;
                let found = Finding::new(rule, Level::Error, site.inst, Scope::Workgroup);
                return Some(Finding { fault, ..found });
            }
        }
    }
    None
}

/// The finding about a barrier for more threads than can come.
fn too_few(facts: Facts<'_>, check: &Check<'_>, site: &Site) -> Option<Finding> {
    let SiteKind::Barrier { number: Some(number), threads: Some(count), .. } = site.kind else {
        return None;
    };
    if !facts.is_kernel || !check.env().calls_are_known {
        return None;
    }
    let mut same: Vec<&Site> = Vec::new();
    for other in check.waiting() {
        let SiteKind::Barrier { barrier, number: of, .. } = other.kind else { return None };
        match of {
            _ if barrier.scope != Scope::Workgroup => {}
            None => return None,
            Some(of) if of == number => same.push(other),
            Some(_) => {}
        }
    }
    let is_arrival = |site: &&&Site| match site.kind {
        SiteKind::Barrier { barrier, .. } => barrier.phase == BarrierPhase::Arrive,
        _ => false,
    };
    let is_in_cycle = |site: &&Site| facts.cycles.innermost(site.block).is_some();
    let arrivals: Vec<&Site> = same.iter().filter(is_arrival).copied().collect();
    if arrivals.len() > 1 || arrivals.iter().any(is_in_cycle) {
        return None;
    }
    // If all threads come to one of them, none is missing.
    if same.len() > SAME || !same.iter().all(|site| facts.is_parted(site.block, Scope::Workgroup)) {
        return None;
    }
    let size = witness::exact_size(facts.launch)?;
    let width = facts.launch.wave_width.unwrap_or(1).max(1);
    let walks: Vec<Walks<'_>> =
        same.iter().map(|site| Walks::new(facts, site, Scope::Workgroup)).collect();
    let mut waves = BTreeSet::new();
    for (wave, threads) in (0u64..).zip(witness::threads(size).chunks(width as usize)) {
        let may_come = |&thread: &[u32; 3]| {
            walks.iter().any(|to| !matches!(to.of(thread, None), Came::StaysAway(_)))
        };
        if threads.iter().any(may_come) {
            waves.insert(wave);
            if (waves.len() as u64) * u64::from(width) >= count {
                return None;
            }
        }
    }
    if waves.is_empty() {
        return None;
    }
    let come = waves.len() as u64 * u64::from(width);
    let fault = Some(CountFault::TooFew { threads: count, come });
    // The branch at which the threads that do not come go another way.
    let branches = facts.control.iterated_controllers(facts.postdom, [site.block]);
    let parting = |branch| (branch, facts.parting(branch, Scope::Workgroup));
    let by = branches.into_iter().map(parting).find(|(_, sources)| !sources.is_empty());
    let found = Finding::new(Rule::WrongBarrierCount, Level::Error, site.inst, Scope::Workgroup);
    Some(Finding {
        fault,
        branch: by.map(|(branch, _)| branch),
        sources: by.map_or(SourceSet::EMPTY, |(_, sources)| sources),
        ..found
    })
}
