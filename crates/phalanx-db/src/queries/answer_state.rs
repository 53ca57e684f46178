//! Ways of a large function that follow edits by what single instructions tell.
//!
//! A query that reads the body runs after each edit. Where what it looks at in there is known by
//! instruction, the answer is kept beside the memos, with the position in the history of the body
//! that it was found at, the [layout](super::layout) of its blocks, a number that is new whenever
//! anything else that is read has changed, and the set of instructions that it depends on.
//! Instructions count as changed as well that stand in other blocks than before, or in blocks that
//! are reached or listed otherwise.
//!
//! | what changed | what happens |
//! |---|---|
//! | no instruction that is in the set, or belongs there as it is now | the answer again |
//! | few that are | they are looked at again, where the answer is put together from [what each tells](super::counted_multiset), of those alone that have changed themselves, or [lists them](phalanx_analysis::listing) |
//! | many, or where the answer is anything else | it is found anew |
//!
//! Whether an instruction belongs to the dependency set depends on the instruction alone:
//! *concerns* says yes if the answer could depend on it. So an unchanged instruction stays in the
//! set or outside of it, and the set remains valid even if the answer is computed from scratch.
//!
//! An answer that depends on edges beyond that has [`blocks_version`] among what else is read.
//!
//! It is [retained](super::retained) as all such state is. O(changed instructions);
//! O(instructions) for one that is found anew.

use phalanx_analysis::{edited::Edited, lower::Code, policy::most_looked_at};
use phalanx_graph::BitSet;
use phalanx_ir::InstId;

use super::called::attributes_of_callees;
use super::divergence_update::environment;
use super::layout::block_layout;
use super::promises::constant_variables;
use super::retained::Known;
use super::{call_place, code, loads::waits_for_grids, starts_at_launch};
use crate::FunctionInput;
use crate::queries::depends_on::{Changed, DependsOn};
use crate::retained::place::{AnswerAndDependencies, RetainedAnswer, Updated, Ways, fresh, number};

use salsa::Database as Db;

/// The same of each query that keeps its answer.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct KeptAnswers {
    /// Of [`barrier_blocks`](super::barrier_blocks).
    pub barriers: Ways,
    /// Of loads that are stable without races: with and without barriers together.
    pub race_free: Ways,
    /// Of [`load_classes`](super::load_classes).
    pub loads: Ways,
    /// Of effects in a [`summary`](super::summary).
    pub effects: Ways,
    /// Of what is done through pointers there: kept where nothing is known of it, else repaired.
    pub through: Ways,
    /// Of [`own_barriers`](super::own_barriers).
    pub waits: Ways,
    /// Of the operations that [`diagnostics`](super::diagnostics) looks for.
    pub sites: Ways,
    /// Of what it finds.
    pub findings: Ways,
    /// Of [`callees`](super::callees).
    pub callees: Ways,
    /// Of [`convergence()`](super::convergence()).
    pub convergence: Ways,
    /// Of [`written_spaces`](super::written_spaces).
    pub written: Ways,
    /// Of [`space_conflicts`](super::space_conflicts).
    pub conflicts: Ways,
}

impl KeptAnswers {
    /// Adds those of another function.
    pub fn merge(&mut self, other: KeptAnswers) {
        self.barriers.merge(other.barriers);
        self.race_free.merge(other.race_free);
        self.loads.merge(other.loads);
        self.effects.merge(other.effects);
        self.through.merge(other.through);
        self.waits.merge(other.waits);
        self.sites.merge(other.sites);
        self.findings.merge(other.findings);
        self.callees.merge(other.callees);
        self.convergence.merge(other.convergence);
        self.written.merge(other.written);
        self.conflicts.merge(other.conflicts);
    }

    /// The names of the queries, and how their answers were found.
    #[must_use]
    pub fn by_query(&self) -> [(&'static str, Ways); 12] {
        [
            ("barrier_blocks", self.barriers),
            ("race_free_loads", self.race_free),
            ("load_classes", self.loads),
            ("effects", self.effects),
            ("through", self.through),
            ("own_barriers", self.waits),
            ("sites", self.sites),
            ("diagnostics", self.findings),
            ("callees", self.callees),
            ("convergence", self.convergence),
            ("written_spaces", self.written),
            ("space_conflicts", self.conflicts),
        ]
    }
}

/// How answers were found that are kept between edits; all zero for small functions, of which
/// nothing is kept. Not a query.
pub fn kept_answers(db: &dyn Db, function: FunctionInput) -> KeptAnswers {
    function.retained(db).counted(|slots| {
        let [mut race_free, with] = slots.race_free.each_ref().map(RetainedAnswer::counts);
        race_free.merge(with);
        let mut effects = slots.summary.effects();
        slots.summary_rounds.all().iter().for_each(|slot| effects.merge(slot.effects()));
        KeptAnswers {
            barriers: slots.barriers.counts(),
            race_free,
            loads: slots.loads.counts(),
            effects,
            through: slots.summary.through(),
            waits: slots.waits.counts(),
            sites: slots.sites.counts(),
            findings: slots.findings.counts(),
            callees: slots.callees.counts(),
            convergence: slots.convergence.counts(),
            written: slots.written.counts(),
            conflicts: slots.conflicts.counts(),
        }
    })
}

impl<T> RetainedAnswer<T> {
    /// Returns the retained answer, updated by `update`, or an answer from scratch.
    ///
    /// `update` is not called if too many instructions of the dependency set have changed, or if
    /// the environment or the order of blocks has.
    pub(crate) fn update<R>(
        &self,
        (db, function): (&dyn Db, FunctionInput),
        environment: u64,
        depends_on: DependsOn<'_>,
        update: impl FnOnce(&mut T, Changed<'_>) -> Updated,
        make: impl FnOnce() -> T,
        read: impl FnOnce(&T) -> R,
    ) -> R {
        let code = code(db, function);
        self.0.update((db, function), environment, |known| {
            let known = known.and_then(|Known { state: mut kept, since, is_same_environment }| {
                if !is_same_environment && matches!(depends_on, DependsOn::WithEnvironment(_)) {
                    return None;
                }
                let since = since?;
                let edited = since.edited();
                let Edited { insts: all, blocks, .. } = edited;
                let [affected, own] = &kept.affected_of(code, edited, depends_on);
                let is_few = affected.len() <= most_looked_at(code.body.id_count());
                let updated = match is_same_environment && is_few {
                    true => update(&mut kept.answer, Changed { affected, own, all, blocks }),
                    false => Updated::Scratch,
                };
                Some((kept, updated))
            });
            let (kept, updated) = match known {
                // Which instructions concern an answer does not follow from the answer.
                Some((kept, Updated::Scratch)) => {
                    (AnswerAndDependencies { answer: make(), ..kept }, Updated::Scratch)
                }
                Some(known) => known,
                None => {
                    let affected = all_affected(code, depends_on);
                    (AnswerAndDependencies { affected, answer: make() }, Updated::Scratch)
                }
            };
            (read(&kept.answer), Some(kept), updated)
        })
    }

    /// The answer that is kept, or a new one if an instruction has changed that concerns it.
    pub(crate) fn answer(
        &self,
        db: &dyn Db,
        function: FunctionInput,
        env: u64,
        depends_on: DependsOn<'_>,
        make: impl FnOnce() -> T,
    ) -> T
    where
        T: Clone,
    {
        let update = |_: &mut T, changed: Changed<'_>| match changed.affected.is_empty() {
            true => Updated::Same,
            false => Updated::Scratch,
        };
        self.update((db, function), env, depends_on, update, make, T::clone)
    }

    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    pub(crate) fn counts(&self) -> Ways {
        self.0.ways()
    }
}

impl<T> AnswerAndDependencies<T> {
    /// Those instructions that concern the answer, as they were or as they are, which is put down;
    /// and those of them that have changed themselves. Of the others it is known.
    fn affected_of(
        &mut self,
        code: Code<'_>,
        edited: Edited<'_>,
        depends_on: DependsOn<'_>,
    ) -> [Vec<InstId>; 2] {
        self.affected.raise(code.body.id_count());
        let (mut all, mut own) = (Vec::new(), Vec::new());
        for (inst, is_own) in edited.each() {
            let was = self.affected.contains(number(inst));
            let is = if is_own { depends_on.ask(code, inst) } else { was };
            if was != is {
                match is {
                    true => self.affected.insert(number(inst)),
                    false => self.affected.remove(number(inst)),
                };
            }
            if was || is {
                all.push(inst);
                own.extend(is_own.then_some(inst));
            }
        }
        [all, own]
    }
}

fn all_affected(code: Code<'_>, depends_on: DependsOn<'_>) -> BitSet {
    let mut affected = BitSet::new(code.body.id_count());
    for inst in code.body.all_ids().filter(|&inst| depends_on.ask(code, inst)) {
        affected.insert(number(inst));
    }
    affected
}

/// Identity of blocks, edges, and the order of the blocks. Not a query.
///
/// *Reads* [`block_layout`].
pub(crate) fn blocks_version(db: &dyn Db, function: FunctionInput) -> u64 {
    block_layout(db, function).number()
}

/// Identity of what is read, besides blocks, the body and where addresses lead, to tell what
/// accesses of memory do.
///
/// *Reads* [`env`], `function_attributes`. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn accesses_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (environment(db, function), attributes_of_callees(db, function));
    fresh()
}

/// Identity of what `load_classes` reads besides the body and its graph, divergence, what is known
/// of pointers, promises, and what it asks of functions and variables by name.
///
/// *Reads* [`env`], `function_attributes`, [`starts_at_launch`], [`waits_for_grids`],
/// [`call_place`], constant variables. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn loads_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (environment(db, function), attributes_of_callees(db, function));
    let _ = (call_place(db, function), constant_variables(db, function.module(db)));
    let _ = (starts_at_launch(db, function), waits_for_grids(db, function.module(db)));
    fresh()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use phalanx_ir::{BuildError, Context, InstBuilder, Opcode, Value, edit::Transaction};

    use super::*;
    use crate::{Database, TargetOverrides};

    const TEXT: &str = "
        define void @f(i32 %n) {
          %a = add i32 %n, 1
          %b = sub i32 %n, 1
          %c = mul i32 %n, %n
          ret void
        }";

    fn is_sum(code: Code<'_>, inst: InstId) -> bool {
        code.body.inst(inst).opcode == Opcode::Add
    }

    fn loaded() -> (Database, FunctionInput) {
        let mut db = Database::new();
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(context, TEXT.as_bytes()).expect("it is valid");
        let module = db.load(parsed.module, None, TargetOverrides::default());
        let function = module.functions(&db)[0].input;
        (db, function)
    }

    /// Whether an answer about sums is still the one after an edit.
    fn is_kept(
        env: u64,
        edit: impl FnOnce(&mut Transaction<'_>, [InstId; 3]) -> Result<(), BuildError>,
    ) -> bool {
        let (mut db, function) = loaded();
        let slot = RetainedAnswer::default();
        let answer = |db: &Database, env, is_new| {
            slot.answer(db, function, env, DependsOn::Instruction(is_sum), || is_new) == is_new
        };
        assert!(answer(&db, 0, true), "the first");
        assert!(!answer(&db, 0, false), "nothing has changed");
        let insts: Vec<InstId> = function.body(&db).all_ids().take(3).collect();
        let insts = [insts[0], insts[1], insts[2]];
        db.edit(function, |transaction| edit(transaction, insts)).expect("it breaks no rule");
        let is_kept = !answer(&db, env, false);
        assert_eq!(
            slot.counts(),
            Ways {
                kept: 1 + u64::from(is_kept),
                solved: 2 - u64::from(is_kept),
                ..Ways::default()
            }
        );
        is_kept
    }

    #[test]
    fn an_answer_stays_while_what_it_depends_on_does() {
        assert!(is_kept(0, |_, _| Ok(())));
        assert!(is_kept(0, |edit, [_, b, _]| edit.set_operand(b, 1, Value::arg(0))));
        assert!(is_kept(0, |edit, [_, b, _]| {
            edit.before(b).mul(Value::arg(0), Value::arg(0)).map(drop)
        }));
        assert!(!is_kept(1, |_, _| Ok(())), "something else that is read");
    }

    #[test]
    fn an_instruction_counts_as_it_was_and_as_it_is() {
        assert!(!is_kept(0, |edit, [a, ..]| edit.set_operand(a, 1, Value::arg(0))));
        assert!(!is_kept(0, |edit, [a, ..]| edit.erase(a)));
        assert!(!is_kept(0, |edit, [a, ..]| edit.set_opcode(a, Opcode::Sub)), "it was one");
        assert!(!is_kept(0, |edit, [_, b, _]| edit.set_opcode(b, Opcode::Add)), "it is one now");
        assert!(!is_kept(0, |edit, [.., c]| {
            edit.before(c).add(Value::arg(0), Value::arg(0)).map(drop)
        }));
        assert!(!is_kept(0, |edit, [a, _, c]| edit.move_before(a, c)), "elsewhere");
        assert!(is_kept(0, |edit, [a, _, c]| edit.move_before(c, a)), "another one");
    }

    /// Something else becomes known while an instruction changes: that it matters now is put down,
    /// though the answer is found anew.
    #[test]
    fn instructions_that_matter_are_known_where_the_answer_is_found_anew() {
        let (mut db, function) = loaded();
        let slot = RetainedAnswer::default();
        let is_found_anew = |db: &Database, env| {
            let before = slot.counts().solved;
            slot.answer(db, function, env, DependsOn::Instruction(is_sum), || ());
            slot.counts().solved > before
        };
        assert!(is_found_anew(&db, 0));
        let b = function.body(&db).all_ids().nth(1).expect("there are four");
        let done: Result<(), BuildError> =
            db.edit(function, |edit| edit.set_opcode(b, Opcode::Add));
        done.expect("it breaks no rule");
        assert!(is_found_anew(&db, 1));
        let done: Result<(), BuildError> =
            db.edit(function, |edit| edit.set_opcode(b, Opcode::Sub));
        done.expect("it breaks no rule");
        assert!(is_found_anew(&db, 1), "it was a sum");
        assert!(!is_found_anew(&db, 1));
    }

    /// What an instruction means to an answer may be something else in another environment.
    #[test]
    fn another_environment_concerns_other_instructions() {
        let (mut db, function) = loaded();
        let slot = RetainedAnswer::default();
        let is_found_anew = |db: &Database, environment: u64| {
            let depends_on = |code: Code<'_>, inst: InstId| {
                environment == 1 && code.body.inst(inst).opcode == Opcode::Sub
            };
            let before = slot.counts().solved;
            slot.answer(db, function, environment, DependsOn::WithEnvironment(&depends_on), || ());
            slot.counts().solved > before
        };
        assert!(is_found_anew(&db, 0));
        assert!(is_found_anew(&db, 1));
        // The difference comes to stand in another block, and is not changed itself.
        let b = function.body(&db).all_ids().nth(1).expect("there are four");
        let done: Result<(), BuildError> =
            db.edit(function, |edit| edit.split_before(b, "").map(drop));
        done.expect("it breaks no rule");
        assert!(is_found_anew(&db, 1));
    }

    #[test]
    fn what_stands_in_another_block_is_another_answer() {
        assert!(!is_kept(0, |edit, [.., c]| edit.split_before(c, "").map(drop)));
        let behind = |edit: &mut Transaction<'_>, [.., c]: [InstId; 3]| {
            let end = edit.body().next(c).expect("a terminator");
            edit.split_before(end, "").map(drop)
        };
        assert!(!is_kept(0, behind), "the block was split");
    }

    #[test]
    fn an_answer_stays_while_its_blocks_do() {
        let other = |edit: &mut Transaction<'_>, [.., c]: [InstId; 3]| {
            let block = edit.body().block_of(c).expect("it is in a block");
            let new = edit.create_block("", Some(block))?;
            edit.at_end(new).unreachable().map(drop)
        };
        assert!(is_kept(0, other));
    }
}
