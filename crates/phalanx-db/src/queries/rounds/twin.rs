//! The loops over rounds and members as they are defined, from scratch; that queries by member and
//! round come to the same.

use phalanx_analysis::policy::ROUNDS_KEPT;
use phalanx_analysis::{
    Summary,
    spaces::{Returned, SpaceSet},
    summary::AtHand,
};
use phalanx_target::SourceSet;

use super::ROUNDS;
use super::random::Edited;
use crate::queries::{self, argument_rounds, call_place, known_calls, spaces, summaries};
use crate::{Database, FunctionInput, ModuleInput};

type Db = Database;

/// Goes through members in rounds until nothing changes; none if that takes too long.
fn rounds<T: PartialEq>(
    mut found: Vec<(FunctionInput, T)>,
    new: impl Fn(FunctionInput, &[(FunctionInput, T)]) -> Option<T>,
) -> Option<Vec<(FunctionInput, T)>> {
    for _ in 0..ROUNDS {
        let mut is_stable = true;
        for at in 0..found.len() {
            let Some(new) = new(found[at].0, &found) else { continue };
            is_stable &= new == found[at].1;
            found[at].1 = new;
        }
        if is_stable {
            return Some(found);
        }
    }
    None
}

fn summaries_of(db: &Db, members: &[FunctionInput]) -> Vec<(FunctionInput, Summary)> {
    let is_known = |member| known_calls::known_body(db, member).is_some();
    let start = |&member: &FunctionInput| match is_known(member) {
        true => (member, Summary::bottom(member.header(db))),
        false => (member, summaries::by_attributes(db, member)),
    };
    let found = rounds(members.iter().map(start).collect(), |member, found| {
        let mut new = is_known(member)
            .then(|| summaries::summarize(db, member, found, AtHand::default()))??;
        new.effects.may_not_return = true;
        new.through = None;
        Some(new)
    });
    let Some(found) = found else {
        return members.iter().map(|&m| (m, summaries::by_attributes(db, m))).collect();
    };
    let through = |member| match is_known(member) {
        true => summaries::summarize(db, member, &found, AtHand::default())?.through,
        false => None,
    };
    found.iter().map(|(m, known)| (*m, Summary { through: through(*m), ..known.clone() })).collect()
}

fn returned_by(db: &Db, members: &[FunctionInput]) -> Vec<(FunctionInput, Returned)> {
    let known = members.iter().filter(|&&member| known_calls::known_body(db, member).is_some());
    let start = known.map(|&member| (member, Returned::bottom(member.header(db).ty)));
    let found = |member, found: &[_]| spaces::returned(db, member, found);
    rounds(start.collect(), found).unwrap_or_default()
}

/// What is passed in rounds, in place.
fn arguments<S: Copy + PartialEq + std::ops::BitOrAssign>(
    db: &Db,
    members: &[FunctionInput],
    start: impl Fn(FunctionInput) -> Vec<S>,
    passed: impl Fn(FunctionInput, &[S]) -> Vec<(FunctionInput, Vec<S>)>,
) -> Vec<(FunctionInput, Option<Vec<S>>)> {
    let is_closed = |member| call_place(db, member).is_closed;
    let mut found: Vec<(FunctionInput, Option<Vec<S>>)> =
        members.iter().map(|&m| (m, is_closed(m).then(|| start(m)))).collect();
    for _ in 0..ROUNDS {
        let before = found.clone();
        for at in 0..found.len() {
            let own = found[at].1.clone().unwrap_or_default();
            for (callee, sets) in passed(found[at].0, &own) {
                let Some((_, Some(all))) = found.iter_mut().find(|(of, _)| *of == callee) else {
                    continue;
                };
                all.iter_mut().zip(sets).for_each(|(into, from)| *into |= from);
            }
        }
        if before == found {
            return found;
        }
    }
    members.iter().map(|&member| (member, None)).collect()
}

fn sources_of(db: &Db, members: &[FunctionInput]) -> Vec<(FunctionInput, Option<Vec<SourceSet>>)> {
    let passed = |member, own: &[SourceSet]| {
        let answer = argument_rounds::solved(db, member, own);
        let calls = known_calls::KnownCalls::new(db, member).with_arguments(own);
        answer.map_or_else(Vec::new, |answer| summaries::passed(db, member, &answer, &calls))
    };
    arguments(db, members, |member| summaries::first_arguments(db, member), passed)
}

fn spaces_of(db: &Db, members: &[FunctionInput]) -> Vec<(FunctionInput, Option<Vec<SpaceSet>>)> {
    let passed = |member, own: &[SpaceSet]| {
        let known = spaces::Known::new(db, member).with_arguments(own);
        let kinds = spaces::kinds(db, member, &known);
        kinds.map_or_else(Vec::new, |kinds| spaces::passed(db, member, &kinds))
    };
    arguments(db, members, |member| spaces::from_outside(db, member), passed)
}

/// How many members the recursions have in which the queries are what the loops say.
#[track_caller]
pub(super) fn check_loops(db: &Db, module: ModuleInput, what: &str) -> usize {
    let mut count = 0;
    for entry in module.functions(db).iter().filter(|entry| entry.is_definition) {
        let members = &call_place(db, entry.input).component;
        let Some(&first) = members.first().filter(|first| **first == entry.input) else { continue };
        count += members.len();
        let found = queries::summary_rounds::component_summaries(db, first);
        assert_eq!(*found, summaries_of(db, members), "{what}: summaries");
        let found = argument_rounds::component_arguments(db, first);
        assert_eq!(*found, sources_of(db, members), "{what}: arguments");
        let found = queries::space_rounds::component_returned_spaces(db, first);
        let found =
            members.iter().zip(found).filter_map(|(&member, known)| Some((member, (*known)?)));
        let found: Vec<(FunctionInput, Returned)> = found.collect();
        assert_eq!(found, returned_by(db, members), "{what}: spaces of results");
        let found = queries::space_rounds::component_argument_spaces(db, first);
        assert_eq!(*found, spaces_of(db, members), "{what}: spaces of arguments");
    }
    count
}

/// Small functions in a ring, where each calls the next or the one before. The last one may return
/// an address of shared memory that differs by thread, and the kernel begins there, and passes such
/// an address.
///
/// Results come to the first function one step in a round where each calls the next, arguments
/// where each calls the one before.
fn ring(count: usize, is_forward: bool, of_first: &str) -> String {
    let mut text = String::from(
        "@lds = internal addrspace(3) global [64 x i32] undef\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n",
    );
    let shared = "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  \
                  %s = addrspacecast ptr addrspace(3) @lds to ptr\n  \
                  %q = getelementptr i32, ptr %s, i32 %tid\n";
    let last = count - 1;
    for at in 0..count {
        let step = if is_forward { 1 } else { last };
        let next = (at + step) % count;
        let own = if at == last { "%q" } else { "%p" };
        let of_first = if at == 0 { of_first } else { "" };
        text.push_str(&format!(
            "define internal ptr @h{at}(ptr %p, i32 %n) {{\n  {shared}{of_first}  \
             %r = call ptr @h{next}(ptr %p, i32 %n)\n  %c = icmp eq i32 %n, 0\n  \
             %x = select i1 %c, ptr {own}, ptr %r\n  ret ptr %x\n}}\n"
        ));
    }
    text.push_str(&format!(
        "define ptx_kernel void @f(i32 %n) {{\n  {shared}  \
         %r = call ptr @h{last}(ptr %q, i32 %n)\n  ret void\n}}\n"
    ));
    text
}

/// What is known of the first function: its result, what it is passed, and the same of addresses.
fn is_known(edited: &Edited) -> [bool; 4] {
    let (db, first) = (&edited.db, edited.definitions()[0].input);
    [
        queries::summary(db, first).is_from_code,
        queries::argument_facts(db, first).is_some(),
        queries::returned_spaces(db, first).is_some(),
        queries::argument_spaces(db, first).is_some(),
    ]
}

#[test]
fn nothing_is_known_of_recursions_that_take_too_many_rounds() {
    for count in 62..=65 {
        // What the last function returns comes to the first one in the last of as many rounds, and
        // one more finds that nothing changes any more. What it passes comes there a round earlier.
        let (up, down) = (count < 64, count <= 64);
        for (is_forward, known) in [(true, [up, true, up, true]), (false, [true, down, true, down])]
        {
            let edited = Edited::new(&ring(count, is_forward, ""));
            let what = format!("{count} functions, forward: {is_forward}");
            assert_eq!(check_loops(&edited.db, edited.module, &what), count);
            assert_eq!(is_known(&edited), known, "{what}");
        }
    }
}

/// Whether a round of which nothing is kept reads something else than the one before.
fn is_other<T: PartialEq>(read: impl Fn(usize) -> T) -> bool {
    (ROUNDS_KEPT + 1..ROUNDS_KEPT + 6).any(|round| read(round) != read(round - 1))
}

/// A large function in rounds of which nothing is kept.
#[test]
fn more_rounds_than_are_kept() {
    let sums: String = (0..300).map(|at| format!("  %w{at} = add i32 %n, {at}\n")).collect();
    for is_forward in [true, false] {
        let mut edited = Edited::new(&ring(ROUNDS_KEPT + 4, is_forward, &sums));
        let first = edited.definitions()[0].input;
        assert!(first.is_large(&edited.db));
        let sum = first.body(&edited.db).all_ids().nth(40).expect("there are many");
        for number in 0..12 {
            let number = edited.context.const_i32(number);
            let done: Result<(), phalanx_ir::BuildError> =
                edited.db.edit(first, |edit| edit.set_operand(sum, 1, number));
            done.expect("the edit breaks no rule");
            edited.check(&edited.cold(), "a sum");
        }
        check_loops(&edited.db, edited.module, "many rounds");
        let is_late = match is_forward {
            true => is_other(|round| {
                queries::summary_rounds::callees_in_round(&edited.db, first, round)
            }),
            false => {
                is_other(|round| argument_rounds::arguments_in_round(&edited.db, first, round))
            }
        };
        assert!(is_late, "something is new to the first function in the last rounds");
        let repaired = queries::summary_repairs(&edited.db, first).repaired;
        assert!(repaired > 8, "forward: {is_forward}, {repaired}");
    }
}
