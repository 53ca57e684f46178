//! What passes did: numbers for `--stats` and `--time-passes`.

use std::{collections::BTreeMap, time::Duration};

use phalanx_db::{Did, LogEntry};
use phalanx_ir::{BlockId, Body, Flow};

/// Numbers of one pass, over all functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepStatistics {
    /// The pass, as written in the pipeline.
    pub pass: String,
    /// Functions it ran on.
    pub functions: u64,
    /// Functions it changed.
    pub changed_functions: u64,
    /// Transactions that changed instructions or blocks.
    pub transactions: u64,
    /// New instructions.
    pub inserted: u64,
    /// Erased instructions.
    pub erased: u64,
    /// Instructions with other operands, in another block or of another kind.
    pub changed: u64,
    /// Added blocks minus removed ones.
    pub blocks: i64,
    /// Queries that ran, by name.
    pub ran: BTreeMap<String, u64>,
    /// Queries whose memo was found valid.
    pub validated: u64,
    /// Divergence results that were updated incrementally.
    pub repaired: u64,
    /// Time on the clock.
    pub time: Duration,
}

impl StepStatistics {
    /// How many queries ran.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.ran.values().sum()
    }

    pub(crate) fn count_queries(&mut self, log: &[LogEntry]) {
        for entry in log {
            match entry.did {
                Did::Run => *self.ran.entry(entry.query.clone()).or_default() += 1,
                Did::Validate => self.validated += 1,
            }
        }
    }

    /// Compares two states of a body. O(instructions).
    pub(crate) fn count_edits(&mut self, before: (&Body, &Flow), after: (&Body, &Flow)) {
        let placed = |flow: &Flow| flow.order().len() as i64;
        self.blocks += placed(after.1) - placed(before.1);
        let known = before.0.id_count();
        for inst in after.0.all_ids() {
            let is_old = (inst.into_raw().into_u32() as usize) < known;
            let was: Option<BlockId> = if is_old { before.0.block_of(inst) } else { None };
            match (was, after.0.block_of(inst)) {
                (None, None) => {}
                (None, Some(_)) => self.inserted += 1,
                (Some(_), None) => self.erased += 1,
                (Some(old), Some(new)) => {
                    let same = old == new
                        && before.0.inst(inst).opcode == after.0.inst(inst).opcode
                        && before.0.inst(inst).flags == after.0.inst(inst).flags
                        && before.0.operands(inst) == after.0.operands(inst);
                    self.changed += u64::from(!same);
                }
            }
        }
    }
}

/// Numbers of all passes, in the order of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// One entry per pass and place in the pipeline.
    pub steps: Vec<StepStatistics>,
}

impl Statistics {
    /// A table for people: what each pass did.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows = vec![
            ["pass", "functions", "changed", "edits", "inserted", "erased", "altered", "blocks"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows[0].extend(["queries", "validated", "repaired"].map(str::to_owned));
        for step in &self.steps {
            rows.push(vec![
                step.pass.clone(),
                step.functions.to_string(),
                step.changed_functions.to_string(),
                step.transactions.to_string(),
                step.inserted.to_string(),
                step.erased.to_string(),
                step.changed.to_string(),
                step.blocks.to_string(),
                step.queries().to_string(),
                step.validated.to_string(),
                step.repaired.to_string(),
            ]);
        }
        align(&rows)
    }

    /// A table for people: the time of each pass, the longest first.
    #[must_use]
    pub fn times(&self) -> String {
        let total: Duration = self.steps.iter().map(|step| step.time).sum();
        let mut steps: Vec<&StepStatistics> = self.steps.iter().collect();
        steps.sort_by_key(|step| std::cmp::Reverse(step.time));
        let mut rows = vec![["pass", "ms", "%"].map(str::to_owned).to_vec()];
        for step in steps {
            let share = 100.0 * step.time.as_secs_f64() / total.as_secs_f64().max(f64::EPSILON);
            let ms = format!("{:.3}", 1e3 * step.time.as_secs_f64());
            rows.push(vec![step.pass.clone(), ms, format!("{share:.1}")]);
        }
        rows.push(vec![
            "total".to_owned(),
            format!("{:.3}", 1e3 * total.as_secs_f64()),
            String::new(),
        ]);
        align(&rows)
    }
}

/// Aligns the first column to the left, all others to the right.
fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|r| r.get(at)).map(String::len).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            match at {
                0 => line.push_str(&format!("{cell:<0$}", widths[0])),
                _ => line.push_str(&format!("  {cell:>0$}", widths[at])),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
