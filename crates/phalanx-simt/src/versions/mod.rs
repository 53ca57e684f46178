//! Executes two versions of a kernel in the same launches, and compares them.
//!
//! # What
//!
//! A transform has to preserve three properties of a kernel: which threads execute each operation
//! among threads together, which memory accesses a barrier separates, and the final contents of
//! memory. [`compare`] runs the version before and the version after with the same
//! [launches](inputs), [records](record) what happens, and lists what [differs](differences). A
//! difference names the threads, so it is a fact about these two programs, not a possibility. That
//! no tried launch differs is no proof of equality.
//!
//! ```text
//! before                               after
//!   br i1 %c, label %a, label %e         %v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
//! a:                                     %p = select i1 %c, i64 %v, i64 0
//!   %v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
//!   br label %e
//!                                      => Change::Group: lanes 0 to 4 before, lanes 0 to 63 after
//! ```
//!
//! # What counts
//!
//! | observed | it is a change when |
//! |---|---|
//! | groups of threads at operations of one name | a group is gone, and one that shares a thread with it is new |
//! | accesses to memory that threads share, by the barriers that the thread has passed | two that a barrier separated are no longer separated |
//! | bytes in memory at the end | they differ |
//! | how it ends | only the later version hangs or faults |
//!
//! Removed operations, and new ones that do not replace another, are no change by themselves. A
//! transform may merge common operations, remove dead ones, and speculate above a branch that all
//! threads of the group take to one side.
//!
//! # Invariants
//!
//! - Only behaviour that is the same in every schedule of the earlier version is compared: a launch
//!   of it with a race or an atomic access is executed in several [orders](crate::launch::Order).
//!   So a data race, or an atomic that distributes numbers, is not reported as a change. Memory is
//!   not compared after a launch in which threads [race](crate::races).
//! - Addresses are compared by object and offset, since the versions may place their variables
//!   differently.
//! - The result is deterministic: launches are derived from numbers.
//!
//! Cost: O(launches × steps), bounded by [`Limits`].

mod differences;
pub mod inputs;
mod record;

use phalanx_ir::InstId;
use phalanx_target::{LaunchFacts, Scope};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    fault::{Failure, FaultKind},
    launch::{Launch, Order},
    program::Program,
    run::run,
};
pub use inputs::Described;
use record::Record;

/// A place in a program: number of the function, instruction.
pub type Place = (usize, InstId);

/// An operation among threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Its name; operations with the same name are compared with each other.
    pub name: String,
    /// The threads that it is for.
    pub scope: Scope,
    /// Whether it separates accesses before it from those after it.
    pub orders: bool,
}

/// All operations of a program.
pub type Operations = FxHashMap<Place, Operation>;

/// A version of a module.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    /// The module.
    pub program: &'a Program<'a>,
    /// Its operations.
    pub operations: &'a Operations,
}

/// Bounds on the work.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Launches to compare.
    pub launches: u32,
    /// Launches to try.
    pub tries: u32,
    /// Instructions of one launch of the earlier version.
    pub fuel: u64,
    /// Instructions of all launches of the earlier version; up to twice as many while fewer than
    /// [`Limits::LEAST`] launches are compared.
    pub all: u64,
}

impl Limits {
    /// Fewer launches are not enough for a result.
    const LEAST: u32 = 3;
}

impl Default for Limits {
    fn default() -> Self {
        Limits { launches: 40, tries: 60, fuel: 200_000, all: 800_000 }
    }
}

/// A difference.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// Other threads execute an operation together.
    Group {
        /// The place before.
        from: Place,
        /// The place after.
        at: Place,
        /// The group before, by number in the launch.
        before: Vec<u32>,
        /// The group after.
        after: Vec<u32>,
        /// Whether the operation orders accesses.
        orders: bool,
    },
    /// A barrier no longer separates two accesses.
    Apart {
        /// The access before the barrier: its thread, and its place in the later version.
        first: (u32, Place),
        /// The access after it.
        second: (u32, Place),
        /// Whether different threads access the same bytes, and one of them writes.
        conflicts: bool,
    },
    /// The bytes in memory differ.
    Memory {
        /// The memory that differs: the buffer of an argument, or a variable.
        object: Object,
        /// The first byte that differs.
        offset: u64,
    },
    /// Only the later version fails.
    Failure(Failure),
}

/// Memory that threads share.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Object {
    /// The buffer for an argument.
    Argument(usize),
    /// A variable of the module.
    Variable(String),
    /// Other memory, by region.
    Other(&'static str),
}

/// A difference and the launch in which it was seen.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// What differs.
    pub change: Change,
    /// How the kernel was launched.
    pub launch: Described,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Launches in which both versions were compared.
    pub launches: u32,
    /// The differences; each operation once.
    pub seen: Vec<Seen>,
    /// Operations of the later version that were executed in a launch that was compared.
    pub executed: FxHashSet<Place>,
    /// Operations of the earlier version that were executed in such a launch.
    pub executed_before: FxHashSet<Place>,
    /// Why launches could not be compared: the last reason.
    pub obstacle: Option<String>,
}

/// The order of most launches.
const LONG: Order = Order::Turns(4096);

/// Instructions of a thread. Finding the groups takes time in the number of rounds, so long loops
/// take long.
const PER_THREAD: u64 = 4_000;

/// A kernel that takes more instructions in two launches is not executed in random order.
const SHORT: u64 = 60_000;

/// Executes a kernel of two versions. See the [module documentation](self).
#[must_use]
pub fn compare(
    name: &str,
    facts: &LaunchFacts,
    before: Version<'_>,
    after: Version<'_>,
    limits: Limits,
) -> Compared {
    let mut compared = Compared::default();
    if parameters(before.program, name) != parameters(after.program, name) {
        compared.obstacle = Some("the versions have different parameters".to_owned());
        return compared;
    }
    let named = inputs::named(before.program, name);
    let mut told = FxHashSet::default();
    let mut spent = 0;
    for number in 0..limits.tries {
        // Gives up if even twice the instructions did not suffice, as when launches do not end.
        let least = if spent > 2 * limits.all { 0 } else { Limits::LEAST };
        let is_spent = spent > limits.all && compared.launches >= least;
        if compared.launches >= limits.launches || is_spent {
            break;
        }
        match once((name, facts, &named), before, after, (number, limits.fuel, &mut spent)) {
            Ok((launch, changes, [before, executed])) => {
                compared.executed_before.extend(before);
                compared.launches += 1;
                compared.executed.extend(executed);
                for change in changes {
                    if told.insert(subject(&change)) {
                        compared.seen.push(Seen { change, launch: launch.clone() });
                    }
                }
            }
            Err(Obstacle::Never(why)) => {
                compared.obstacle = Some(why);
                break;
            }
            Err(Obstacle::Launch(why)) => compared.obstacle = Some(why),
        }
    }
    compared.seen = causes(compared.seen);
    compared
}

/// Removes differences that follow from others: different results if groups or barriers changed,
/// pairs separated for fewer threads, and pairs that do not conflict if others do.
fn causes(mut seen: Vec<Seen>) -> Vec<Seen> {
    let is_conflict = |seen: &Seen| matches!(seen.change, Change::Apart { conflicts: true, .. });
    let has_conflict = seen.iter().any(is_conflict);
    let parts = |seen: &Seen| matches!(seen.change, Change::Group { orders: true, .. });
    let has_parted = seen.iter().any(parts);
    let has_cause = seen.iter().any(|s| !matches!(s.change, Change::Memory { .. }));
    seen.retain(|seen| match seen.change {
        Change::Memory { .. } => !has_cause,
        Change::Apart { conflicts, .. } => !has_parted && (conflicts || !has_conflict),
        _ => true,
    });
    seen
}

/// Sizes of the parameters of a kernel; both versions must have the same.
fn parameters(program: &Program<'_>, name: &str) -> Option<Vec<u64>> {
    let header = &program.code(program.function(name)?).header;
    Some(header.params.iter().map(|&ty| program.shapes.store_size(ty)).collect())
}

/// The subject of a change: each subject is reported once.
fn subject(change: &Change) -> (u8, Option<Place>, Option<Object>) {
    match change {
        Change::Group { at, .. } => (0, Some(*at), None),
        Change::Apart { second, .. } => (1, Some(second.1), None),
        Change::Memory { object, .. } => (2, None, Some(object.clone())),
        Change::Failure(_) => (3, None, None),
    }
}

/// Why a launch is not compared.
enum Obstacle {
    /// No launch can be compared.
    Never(String),
    /// This launch cannot be compared.
    Launch(String),
}

/// What differs in a launch, and the operations that both versions executed.
type Differences = (Described, Vec<Change>, [FxHashSet<Place>; 2]);

fn once(
    (name, facts, named): (&str, &LaunchFacts, &[u64]),
    before: Version<'_>,
    after: Version<'_>,
    (number, fuel, spent): (u32, u64, &mut u64),
) -> Result<Differences, Obstacle> {
    // Other orders reveal what depends on the order in which threads advance. Long turns come
    // first, since groups are checked after each turn.
    let orders = [LONG, Order::Turns(16), Order::Random(u64::from(number) + 1)];
    let start = *spent;
    let never = |why: FaultKind| Obstacle::Never(why.to_string());
    let mut stable: Option<Record> = None;
    let mut described = None;
    for order in orders {
        let is_long = matches!(order, Order::Random(_)) && *spent - start > SHORT;
        if is_long || stable.as_ref().is_some_and(Record::is_settled) {
            break;
        }
        let mut made =
            inputs::launch(before.program, name, facts, (number, named)).map_err(never)?;
        let threads = made.launch.block.iter().chain(&made.launch.grid).product::<u32>();
        let fuel = fuel.min(PER_THREAD * u64::from(threads));
        made.launch = Launch { order, fuel, ..made.launch };
        let what = made.described.clone();
        let record =
            execute(before, (name, stable.is_none()), made, spent).map_err(
                |failure| match failure {
                    Failure::Fault(fault) if matches!(fault.kind, FaultKind::Unsupported(_)) => {
                        Obstacle::Never(format!("{}", fault.kind))
                    }
                    Failure::Launch(what) => Obstacle::Never(what),
                    other => Obstacle::Launch(other.to_string()),
                },
            )?;
        described = Some(what);
        match &mut stable {
            None => stable = Some(record),
            Some(stable) => stable.keep_common(&record),
        }
    }
    let (Some(stable), Some(described)) = (stable, described) else {
        return Err(Obstacle::Never("no order".to_owned()));
    };
    let mut made = inputs::launch(after.program, name, facts, (number, named)).map_err(never)?;
    let threads = made.launch.block.iter().chain(&made.launch.grid).product::<u32>();
    made.launch =
        Launch { order: LONG, fuel: 8 * fuel.min(PER_THREAD * u64::from(threads)), ..made.launch };
    match execute(after, (name, false), made, &mut 0) {
        Ok(record) => {
            let executed = [stable.executed(), record.executed()];
            Ok((described, differences::between(&stable, &record), executed))
        }
        Err(Failure::Fault(fault)) if matches!(fault.kind, FaultKind::Unsupported(_)) => {
            Err(Obstacle::Never(fault.kind.to_string()))
        }
        Err(Failure::Launch(what)) => Err(Obstacle::Never(what)),
        Err(failure @ Failure::Fuel(_)) => Err(Obstacle::Launch(failure.to_string())),
        Err(failure) => Ok((described, vec![Change::Failure(failure)], Default::default())),
    }
}

fn execute(
    version: Version<'_>,
    (name, looks_for_races): (&str, bool),
    made: inputs::Made,
    spent: &mut u64,
) -> Result<Record, Failure> {
    let inputs::Made { launch, mut memory, buffers, .. } = made;
    let mut record = Record::new(version, &buffers, looks_for_races);
    let result = run(version.program, name, &launch, &mut memory, &mut record);
    *spent += result.as_ref().map_or(launch.fuel, |report| report.steps);
    result?;
    record.finish(&memory);
    Ok(record)
}
