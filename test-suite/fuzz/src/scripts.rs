//! Edit scripts: text files that edit a kernel, and say what is known of it after each edit.
//!
//! # What
//!
//! A script is an IR file. Its comments that begin with a word of the table below are carried out
//! in order, after the module has been read. After each edit *all* facts are compared with those of
//! a new database, so a script only states what makes its case worth having.
//!
//! ```text
//! declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//! define ptx_kernel void @kernel(i32 %n) {
//!   ; 300 rows
//!   %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//!   %d = add i32 %n, 1
//!   ret void
//! }
//! ; expect %d = {}
//!
//! ; edit set %d 0 = %t
//! ; expect %d = {x}
//! ```
//!
//! | comment | meaning |
//! |---|---|
//! | `; N rows` | in a block: N additions. With 300 a function is large, so that its facts are updated and not found from scratch. Then all facts are asked for three times before the first edit, with small edits between |
//! | `; N blocks` | in a block before whose successors no phi stands: it goes on after N empty blocks. Graphs of 64 blocks or more are updated and not made from scratch |
//! | `; function @name` | what follows is about this function; at first about the last kernel, or the last function if there is none |
//! | `; restart` | the module is read anew, without the edits so far |
//! | `; edit ..` | an edit; edits in successive lines are one transaction |
//! | `; try ..` | the first edit of a transaction; before it the module is read anew, without the edits so far |
//! | `; each edit` | [every single edit](each) of the function as the script has it, and all facts after it; one in four, or all if `PHALANX_LONG` is set |
//! | `; random edits` | four [random sequences](each) of these, each beginning with the function as the script has it; 32 if `PHALANX_LONG` is set |
//! | `; expect SUBJECT = FACT` | what is known now; `UPDATE_EXPECT=1` writes what is found |
//!
//! | edit | does |
//! |---|---|
//! | `set %i N = VALUE` | sets an operand; a value is `%name`, or a constant with its type |
//! | `replace %i = VALUE` | replaces all uses, and erases |
//! | `erase %i`, `repeat %i`, `move %i before %j` | |
//! | `insert before %j: TEXT` | an instruction as in a file, but no phi and no terminator |
//! | `like %i: TEXT` | flags, predicate and alignment become those of an instruction as in a file |
//! | `name %i = NAME` | |
//! | `phi %p at BLOCK: TYPE`, `incoming %p BLOCK = VALUE` | a new phi, and its values |
//! | `attach %i KIND from %j`, `detach %i KIND` | the first metadata of `%j`, as another kind |
//! | `split before %j: NAME`, `split edge BLOCK N: NAME` | new blocks |
//! | `redirect BLOCK N = BLOCK`, `merge BLOCK`, `erase block BLOCK`, `erase unreachable` | |
//! | `move block BLOCK behind BLOCK` | the order of the text |
//! | `undo` | all of this transaction is undone |
//! | `end BLOCK: br BLOCK`, `end BLOCK: br %c BLOCK BLOCK`, `end BLOCK: ret VALUE`, `end BLOCK: unreachable` | a new terminator |
//!
//! In place of an instruction's name, `end of BLOCK` is a block's terminator, and `BLOCK:N` its
//! instruction at position N, from 0.
//!
//! | subject | fact |
//! |---|---|
//! | `%v` | the sources that it depends on where it is computed |
//! | `use %v by %i` | the same where an instruction reads it |
//! | `branch BLOCK`, `control BLOCK` | the sources that decide at its end, and on the way to it |
//! | `space %p`, `space at %i` | the memories that a pointer may lead to; the address of an access |
//! | `load %l` | whether it may use a cheaper instruction, or why not |
//! | `findings` | the rules that `check` finds broken |
//! | `conflicts` | how many accesses and casts contradict where their pointer leads |
//! | `found by` | how divergence was found since the last edit: by `scratch`, `repair` ... |
//! | `by` | which answers are not those of before the edit: found from these, `repaired: memory_ssa ..`, or `anew: ..`; `kept` if all are |
//! | `slots by` | how stack slots were looked at since then: `part`, `whole` or `nothing` |
//!
//! # Errors
//!
//! A line that cannot be carried out is an error that names it.

mod each;
mod edit;
mod subject;

use phalanx::{FunctionId, ModuleId, Repairs, Session, db::queries};

use crate::edits::facts;

/// Names of queries, and how their answers were found.
type AllWays = Vec<(&'static str, queries::Ways)>;

/// A session in which a script is carried out.
struct Run {
    session: Session,
    module: ModuleId,
    function: FunctionId,
    /// How divergence had been found before the edit that came last, how often slots had been
    /// looked at in part and whole, and how all other answers had been found.
    before: (Repairs, [u64; 2], AllWays),
}

/// Carries out a script. Returns its text with the facts as they are found.
///
/// # Errors
/// The first line that cannot be carried out.
///
/// # Panics
/// When a fact after an edit is not what it is from scratch.
pub fn run(text: &str) -> Result<String, String> {
    let mut run = Run::new(text, "")?;
    let mut out = String::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let of_line = |message| format!("line {}: {message}: `{}`", at + 1, lines[at]);
        if edit_of(lines[at]).is_some() {
            if is_try(lines[at]) {
                run = Run::new(text, &run.session.name(run.function))?;
            }
            let ends = |line: &str| edit_of(line).is_none() || is_try(line);
            let end = (at + 1..lines.len()).find(|&i| ends(lines[i]));
            let edits = &lines[at..end.unwrap_or(lines.len())];
            run.edit(&edits.iter().filter_map(|line| edit_of(line)).collect::<Vec<_>>())
                .map_err(of_line)?;
            for line in edits {
                out += &format!("{line}\n");
            }
            at += edits.len();
            continue;
        }
        if lines[at] == "; restart" {
            run = Run::new(text, "")?;
        }
        if let Some(name) = lines[at].strip_prefix("; function @") {
            let found = run.session.function(run.module, name);
            run.function = found.ok_or_else(|| of_line("there is no such function".to_owned()))?;
        }
        if lines[at] == "; each edit" {
            let step = if crate::is_long() { 1 } else { 4 };
            let name = run.session.name(run.function);
            let (done, tried) = each::run(text, &name, step).map_err(of_line)?;
            // The verifier refuses values that are not there yet, and branches that phis do not
            // know of.
            if done * 3 < tried || done == 0 {
                return Err(of_line(format!("of {tried} edits only {done} can be made")));
            }
        }
        if lines[at] == "; random edits" {
            let name = run.session.name(run.function);
            for seed in 0..if crate::is_long() { 32 } else { 4 } {
                let done = each::random(text, &name, seed, 16).map_err(of_line)?;
                if done < 16 {
                    return Err(of_line(format!("only {done} edits can be made")));
                }
            }
        }
        match lines[at].trim_start().strip_prefix("; expect ") {
            Some(expected) => {
                let (subject, _) = expected
                    .split_once(" =")
                    .ok_or_else(|| of_line("an expectation is `SUBJECT = FACT`".to_owned()))?;
                let found = run.fact(subject.trim()).map_err(of_line)?;
                out += &format!("; expect {} = {found}\n", subject.trim());
            }
            None => out += &format!("{}\n", lines[at]),
        }
        at += 1;
    }
    Ok(out)
}

fn edit_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("; edit ").or_else(|| line.strip_prefix("; try "))
}

fn is_try(line: &str) -> bool {
    line.trim_start().starts_with("; try ")
}

impl Run {
    /// Reads the module, and asks for all facts of the function with a name, as [`Run::read`] has
    /// it.
    fn new(text: &str, name: &str) -> Result<Run, String> {
        let mut run = Run::read(text, name)?;
        run.compare();
        run.warm()?;
        run.compare();
        Ok(run)
    }

    /// Reads the module, with rows in place of the comments that ask for them. Begins with the
    /// function of this name, or if there is none, as a script does.
    fn read(text: &str, name: &str) -> Result<Run, String> {
        let mut code = String::new();
        for line in text.lines() {
            match rows(line) {
                Some(count) => {
                    code += "  %row0 = add i32 0, 1\n";
                    for at in 1..count {
                        code += &format!("  %row{at} = add i32 %row{}, 1\n", at - 1);
                    }
                }
                None => match blocks(line) {
                    Some(count) => {
                        for at in 0..count {
                            code += &format!("  br label %blk{at}\nblk{at}:\n");
                        }
                    }
                    None => code += &format!("{line}\n"),
                },
            }
        }
        let mut session = Session::new();
        let module = session.read(code.as_bytes());
        let module = module.map_err(|error| error.render("script", code.as_bytes()))?;
        let mut functions: Vec<FunctionId> = session.functions(module).collect();
        functions.sort_by_key(|&function| session.is_kernel(function));
        let function = functions.pop().ok_or("the module defines no function")?;
        let function = session.function(module, name).unwrap_or(function);
        let before = (session.repairs(function), [0; 2], Vec::new());
        Ok(Run { session, module, function, before })
    }

    /// Asks for all facts, with small edits of rows between, so that what repairs need is there.
    fn warm(&mut self) -> Result<(), String> {
        let code = self.session.code(self.function);
        let is_row = |inst| code.extras.names.inst(inst) == Some(b"row7");
        let has_rows = code.body.all_ids().any(is_row);
        facts::ask(&self.session, self.function);
        for constant in ["i32 2", "i32 3", "i32 1"].into_iter().filter(|_| has_rows) {
            self.change(&[&format!("set %row7 1 = {constant}")])?;
            facts::ask(&self.session, self.function);
        }
        Ok(())
    }

    /// How often stack slots were looked at in part, and whole.
    fn looks(&self) -> [u64; 2] {
        let looks = queries::slot_looks(self.session.database(), self.function.input());
        [looks.in_part, looks.whole]
    }

    /// How the answers that are kept between edits were found, in alphabetical order.
    fn ways(&self) -> AllWays {
        let (db, function) = (self.session.database(), self.function.input());
        let of_divergence = |of: Repairs| queries::Ways {
            solved: of.solved + of.rebuilt,
            kept: of.kept,
            repaired: of.repaired,
            visited: 0,
        };
        let mut all = vec![
            ("memory_accesses", queries::access_repairs(db, function)),
            ("memory_kinds", queries::kind_repairs(db, function)),
            ("summary", of_divergence(queries::summary_repairs(db, function))),
        ];
        all.extend(queries::memory_repairs(db, function).by_query());
        all.extend(queries::kept_answers(db, function).by_query());
        all.sort_by_key(|(name, _)| *name);
        all
    }

    /// Compares all facts with those of a new database.
    fn compare(&self) {
        facts::ask(&self.session, self.function);
        facts::check(&self.session, self.module, self.function);
    }
}

/// How many rows a line asks for.
fn rows(line: &str) -> Option<usize> {
    line.trim().strip_prefix("; ")?.strip_suffix(" rows")?.parse().ok()
}

/// How many blocks it asks for.
fn blocks(line: &str) -> Option<usize> {
    line.trim().strip_prefix("; ")?.strip_suffix(" blocks")?.parse().ok()
}
