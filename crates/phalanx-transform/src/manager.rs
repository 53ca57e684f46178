//! The [`Manager`]: runs a pipeline over the functions of a module.

use std::time::Instant;

use phalanx_db::{Database, FunctionEntry, FunctionInput, ModuleInput, queries};
use phalanx_ir::{VerifyError, attributes::AttrKind};

use crate::{
    pass::PassError,
    pipeline::{Group, Pipeline, Step},
    statistics::{Statistics, StepStatistics},
};

/// What the manager does besides running passes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Verify a function after each pass that changed it.
    pub verify_each: bool,
    /// Count edits: costs a copy of each function per pass. Queries are counted when the database
    /// has an event log.
    pub statistics: bool,
}

/// What the manager reports while it runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A pass changed a function.
    Changed {
        /// The pass, as written in the pipeline.
        pass: &'a str,
        /// The function.
        function: FunctionEntry,
    },
    /// What the verifier found: after a pass, or when the pipeline says `verify`.
    Broken {
        /// The pass before.
        pass: Option<&'a str>,
        /// The function.
        function: FunctionEntry,
        /// The broken rules.
        errors: Vec<VerifyError>,
    },
    /// A pass gave up on a function: a defect of the pass. The function is as it was before the
    /// transaction that failed, and the pipeline goes on.
    GaveUp {
        /// The pass, as written in the pipeline.
        pass: &'a str,
        /// The function.
        function: FunctionEntry,
        /// What the pass could not do.
        error: &'a PassError,
    },
}

/// Runs pipelines.
#[derive(Debug, Default)]
pub struct Manager {
    options: Options,
    statistics: Statistics,
}

impl Manager {
    /// A manager with options.
    #[must_use]
    pub fn new(options: Options) -> Manager {
        Manager { options, statistics: Statistics::default() }
    }

    /// What was counted so far.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Runs a pipeline over a module. A pass that gives up on a function does not end the run: see
    /// [`Event::GaveUp`].
    ///
    /// # Errors
    /// The first error of a pass, after everything has run.
    pub fn run(
        &mut self,
        db: &mut Database,
        module: ModuleInput,
        pipeline: &Pipeline,
        tell: &mut dyn FnMut(&Database, Event<'_>),
    ) -> Result<(), PassError> {
        let mut done = Ok(());
        for group in &pipeline.groups {
            done = done.and(self.run_group(db, module, group, tell));
        }
        done
    }

    /// Runs one group of a pipeline over a module.
    ///
    /// # Errors
    /// As [`Manager::run`].
    pub fn run_group(
        &mut self,
        db: &mut Database,
        module: ModuleInput,
        group: &Group,
        tell: &mut dyn FnMut(&Database, Event<'_>),
    ) -> Result<(), PassError> {
        let entries: Vec<FunctionEntry> =
            module.functions(db).iter().filter(|entry| entry.is_definition).copied().collect();
        let steps = match group {
            Group::Verify => {
                for function in entries {
                    broken(db, function, None, tell);
                }
                return Ok(());
            }
            Group::Functions(steps) => steps,
        };
        let first = self.statistics.steps.len();
        let named = |step: &Step| StepStatistics { pass: step.text.clone(), ..Default::default() };
        self.statistics.steps.extend(steps.iter().map(named));
        let mut done = Ok(());
        for entry in entries {
            for (at, step) in steps.iter().enumerate() {
                let step_done = self.step(db, entry, step, first + at, tell);
                if let Err(error) = &step_done {
                    tell(db, Event::GaveUp { pass: &step.text, function: entry, error });
                }
                done = done.and(step_done);
            }
        }
        done
    }

    fn step(
        &mut self,
        db: &mut Database,
        entry: FunctionEntry,
        step: &Step,
        at: usize,
        tell: &mut dyn FnMut(&Database, Event<'_>),
    ) -> Result<(), PassError> {
        let input = entry.input;
        if is_optnone(db, input) && !step.pass.runs_on_optnone() {
            return Ok(());
        }
        let before = (self.options.statistics).then(|| {
            let repairs = queries::repairs(db, input).repaired;
            let position = input.body(db).journal().position();
            (input.body(db).clone(), input.flow(db).clone(), position, repairs)
        });
        // Discards earlier events, so that only those of this pass are counted.
        db.take_log();
        let start = Instant::now();
        let outcome = step.pass.run(db, input)?;
        let numbers = &mut self.statistics.steps[at];
        numbers.time += start.elapsed();
        numbers.functions += 1;
        numbers.changed_functions += u64::from(outcome.is_changed());
        if let Some((body, flow, position, repairs)) = before {
            numbers.count_edits((&body, &flow), (input.body(db), input.flow(db)));
            numbers.transactions += input.body(db).journal().position().saturating_sub(position);
            numbers.count_queries(&db.take_log());
            numbers.repaired += queries::repairs(db, input).repaired.saturating_sub(repairs);
        }
        if outcome.is_changed() {
            tell(db, Event::Changed { pass: &step.text, function: entry });
            if self.options.verify_each {
                broken(db, entry, Some(&step.text), tell);
            }
        }
        Ok(())
    }
}

fn is_optnone(db: &Database, function: FunctionInput) -> bool {
    let context = function.module(db).context(db);
    context.function_attrs(function.header(db).attributes).has(AttrKind::OptimizeNone)
}

fn broken(
    db: &mut Database,
    function: FunctionEntry,
    pass: Option<&str>,
    tell: &mut dyn FnMut(&Database, Event<'_>),
) {
    let errors = errors_of(db, function.input);
    if !errors.is_empty() {
        tell(db, Event::Broken { pass, function, errors });
    }
}

/// Every rule that a function breaks. O(function).
fn errors_of(db: &mut Database, function: FunctionInput) -> Vec<VerifyError> {
    let looked = db.edit(function, |edit| Ok::<_, PassError>(edit.verify()));
    looked.unwrap_or_default()
}
