//! The table of converged dynamic instances: threads as rows, one column for each converged
//! execution of a block.
//!
//! The format follows LLVM's *Convergence And Uniformity* document. Columns are ordered so that
//! every thread executes its blocks from left to right; where that leaves a choice, the earlier
//! execution comes first.

use std::fmt::Write as _;

use phalanx_ir::BlockId;
use rustc_hash::FxHashMap;

use crate::{
    convergence::Key,
    observe::{Moment, Observer},
};

/// Records which blocks each thread executes.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Executions by thread.
    threads: Vec<Vec<usize>>,
    columns: Vec<Column>,
    by_key: FxHashMap<Key, usize>,
    limit: usize,
}

#[derive(Clone, Debug)]
struct Column {
    function: usize,
    block: BlockId,
}

impl Trace {
    /// A trace of at most so many columns; later executions are left out.
    #[must_use]
    pub fn new(limit: usize) -> Trace {
        Trace { limit, ..Trace::default() }
    }

    /// The table. `name` gives the name of a block of a function.
    #[must_use]
    pub fn table(&self, name: &dyn Fn(usize, BlockId) -> String) -> String {
        let order = self.order();
        let place: FxHashMap<usize, usize> =
            order.iter().enumerate().map(|(i, &c)| (c, i)).collect();
        let names: Vec<String> =
            order.iter().map(|&c| name(self.columns[c].function, self.columns[c].block)).collect();
        let width = |i: usize| names[i].chars().count().max(2);
        let first = format!("thread {}", self.threads.len().saturating_sub(1)).len();
        let mut out = String::new();
        let _ = write!(out, "{:first$}", "");
        for i in 0..names.len() {
            let _ = write!(out, "  {:width$}", i + 1, width = width(i));
        }
        out.push('\n');
        for (number, executed) in self.threads.iter().enumerate() {
            let mut cells = vec![""; names.len()];
            for column in executed {
                if let Some(&i) = place.get(column) {
                    cells[i] = &names[i];
                }
            }
            let mut line = format!("{:first$}", format!("thread {number}"));
            for (i, cell) in cells.iter().enumerate() {
                let _ = write!(line, "  {cell:width$}", width = width(i));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// Columns from left to right: each before what some thread executes after it.
    fn order(&self) -> Vec<usize> {
        let mut before = vec![0usize; self.columns.len()];
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); self.columns.len()];
        for executed in &self.threads {
            for pair in executed.windows(2) {
                after[pair[0]].push(pair[1]);
                before[pair[1]] += 1;
            }
        }
        let mut ready: std::collections::BTreeSet<usize> =
            (0..before.len()).filter(|&c| before[c] == 0).collect();
        let mut order = Vec::with_capacity(before.len());
        while let Some(column) = ready.pop_first() {
            order.push(column);
            for &next in &after[column] {
                before[next] -= 1;
                if before[next] == 0 {
                    ready.insert(next);
                }
            }
        }
        order
    }
}

impl Observer for Trace {
    fn block(&mut self, at: Moment<'_>, block: BlockId, _from: Option<BlockId>) {
        let thread = at.thread.number as usize;
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Vec::new());
        }
        let column = match self.by_key.get(&at.key) {
            Some(&column) => column,
            None if self.columns.len() >= self.limit => return,
            None => {
                self.columns.push(Column { function: at.function, block });
                self.by_key.insert(at.key, self.columns.len() - 1);
                self.columns.len() - 1
            }
        };
        self.threads[thread].push(column);
    }
}
