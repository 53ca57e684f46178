//! Races in workgroup memory, and accesses of it that cannot be right.
//!
//! # What
//!
//! ```text
//! @tile = internal addrspace(3) global [256 x float] undef
//! store float %x, ptr addrspace(3) %own          ; tile[tid]
//!                                                ; no barrier here
//! %y = load float, ptr addrspace(3) %next        ; tile[tid + 1]: thread 1 may not have written yet
//! ```
//!
//! | rule | what is found |
//! |---|---|
//! | [`Rule::WorkgroupRace`] | two threads access one address, one of them writes, and no barrier is in between |
//! | [`Rule::WaveSynchronous`] | the same for two lanes of a wave, which lockstep would order |
//! | [`Rule::ReadBeforeWritten`] | a read of memory that no thread has written |
//! | [`Rule::OutOfBounds`] | an access outside of its variable |
//! | [`Rule::LostIndex`] | threads that write different values to one address of global memory |
//! | [`Rule::LostGroup`] | workgroups that do so |
//!
//! # How
//!
//! The kernel is executed for each thread of a workgroup, from barrier to barrier, as far as its
//! indices and conditions are known ([`thread`]). Between two barriers the accesses of all threads
//! are compared ([`conflicts`]).
//!
//! - A value that depends on arguments is a term ([`terms`]).
//! - An address with such a term is known if it can be only one place of its object ([`settle`]).
//! - An access whose index is data is compared with accesses of the whole array ([`scattered`]).
//! - A store to global memory with one address for all threads, or for all workgroups, is compared
//!   with itself ([`lost`]).
//! - At a branch that depends on arguments, both sides are tried ([`assume`]). If decisions may
//!   contradict each other, findings count if a launch is found that fulfils all ([`possible`]).
//! - Data is not tracked: what is executed under a condition on data is left out ([`left_out`]).
//!
//! So each access that is compared is executed.
//!
//! An *error* is about a workgroup of the only size that launches can have. If sizes are not known,
//! several are tried, the smallest first, and what goes wrong in all of them is a *warning*
//! ([`launches`]); of [`Rule::ReadBeforeWritten`] nothing is said then.
//!
//! # Cost
//!
//! O(threads × instructions that indices and conditions are computed from × paths), at most
//! [`FUEL`]. The driver skips a kernel that has no workgroup memory, no arrays of its own
//! ([`has_arrays`]) and no stores whose index may be lost ([`may_lose_index`]).

mod assume;
mod axes;
mod conflicts;
mod execute;
mod launches;
mod left_out;
mod lost;
mod objects;
mod parts;
mod possible;
mod program;
mod scattered;
mod settle;
mod terms;
mod thread;

use std::collections::BTreeSet;

use phalanx_ir::{GlobalName, InstId, Opcode, Type, TypeKind};
use phalanx_target::{AddressSpace, Architecture, LaunchFacts, Scope, SpaceKind};
use rustc_hash::{FxHashMap, FxHashSet};

pub use super::finding::{Clash, LaunchNumber, Object};
use super::{Finding, Level, Rule, witness::threads};
use crate::code::{Code, TypeSizes};
use assume::{Assumptions, Side};
use conflicts::{Pair, Pairs, Verdict, Waves};
use left_out::{LeftOut, Written};
use objects::{Access, InstInFunction};
use program::Functions;
use settle::Settled;
use terms::{Base, Term};
use thread::{Machine, Stop, Thread};

pub use left_out::Why;
pub use program::{Program, Unit, Variable};

/// How many steps are taken for a kernel. Most steps execute an instruction.
const FUEL: usize = 16_000_000;
/// How many steps may have been taken before another path is tried.
const FUEL_OF_PATHS: usize = 4_000_000;
/// How many paths are tried for a size of workgroups.
const PATHS: usize = 24;

/// The result of the check of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// The findings, in order.
    pub findings: Vec<Finding>,
    /// Whether the kernel is too large to be executed to its end.
    pub gave_up: bool,
    /// Accesses that are not compared with others, or calls of functions with such accesses, and
    /// the reasons.
    pub left_out: Vec<(InstId, Why)>,
}

/// Numbers of a launch.
type Launch = Vec<(LaunchNumber, i64)>;

/// Findings by rule and places.
type ByPlace = FxHashMap<(Rule, InstInFunction, InstInFunction), Finding>;

/// Finds races in workgroup memory, and wrong accesses of it, in a kernel.
#[must_use]
pub fn findings(program: Program<'_>) -> Found {
    let functions = Functions::new(program);
    let tiles = tiles(&functions);
    let (sizes, is_exact) = launches::sizes(&functions, &tiles);
    let mut all: Vec<(usize, ByPlace)> = Vec::new();
    let mut is_evident = false;
    let mut fuel = FUEL;
    let mut gave_up = false;
    let mut left_out = LeftOut::new(&functions);
    // If no size of workgroups is tried, nothing is executed.
    left_out.is_cut = sizes.is_empty();
    let is_alone = sizes.iter().all(|size| size.extents == [1; 3]) && !sizes.is_empty();
    // Small ones first: if one has no findings, larger ones need not be executed.
    let mut by_threads: Vec<(usize, launches::Size)> = sizes.into_iter().enumerate().collect();
    by_threads.sort_by_key(|(_, size)| size.extents.iter().product::<u32>());
    for (order, size) in by_threads {
        let mut search = Search::new(&functions, size.extents, is_exact, fuel);
        search.left_out = left_out;
        search.execute();
        fuel = search.fuel;
        left_out = search.left_out;
        gave_up |= search.gave_up;
        // A kernel is not launched in a size for which it leaves its arrays.
        if is_exact || !search.leaves_by_size {
            let has_none = search.found.is_empty();
            is_evident |= !size.has_border;
            all.push((order, search.found));
            if has_none {
                break;
            }
        }
    }
    all.sort_by_key(|(order, _)| *order);
    let mut all = in_all(all.into_iter().map(|(_, found)| found).collect());
    if !is_evident {
        all.clear();
    }
    // What no thread writes, more threads may write.
    all.retain(|&(rule, ..), _| is_exact || rule != Rule::ReadBeforeWritten);
    if !is_exact && all.values().any(|finding| depends_on_size(&functions, finding)) {
        let small = launches::small(&functions);
        let mut search = Search::new(&functions, small, false, FUEL / 4);
        search.has_waves_of_one = true;
        search.all_paths();
        let found: FxHashSet<_> = search.found.into_keys().map(|(_, a, b)| (a, b)).collect();
        all.retain(|&(_, a, b), finding| {
            !depends_on_size(&functions, finding) || found.contains(&(a, b))
        });
    }
    // Threads of one workgroup are the simpler case of the same mistake.
    let of_threads: FxHashSet<_> =
        all.keys().filter(|key| key.0 == Rule::LostIndex).map(|key| key.1).collect();
    all.retain(|key, _| key.0 != Rule::LostGroup || !of_threads.contains(&key.1));
    let findings = in_order(&functions, all);
    let mut left_out = left_out.places();
    // A single thread has no races. If the limit was reached, `gave_up` stands for all accesses
    // that follow.
    left_out.retain(|(_, why)| !is_alone && (!gave_up || *why != Why::Unreached));
    Found { findings, gave_up, left_out }
}

/// The findings that all sizes of workgroups have. If there are sizes for which no array is left,
/// or read before it is written, only these count.
fn in_all(mut all: Vec<ByPlace>) -> ByPlace {
    let is_made_for = |found: &ByPlace| {
        !found.keys().any(|&(rule, ..)| matches!(rule, Rule::ReadBeforeWritten | Rule::OutOfBounds))
    };
    if all.iter().any(is_made_for) {
        all.retain(is_made_for);
    }
    let mut all = all.into_iter();
    let mut found = all.next().unwrap_or_default();
    for other in all {
        found.retain(|key, _| other.contains_key(key));
    }
    found
}

/// Whether a race in a workgroup of an assumed size may be one because the size is too large: the
/// memory has no length that says for how many threads it is. If rows of it have 16 elements, one
/// for each thread, larger workgroups race. So such races count only if they are there in a small
/// workgroup as well, whatever its waves order.
fn depends_on_size(functions: &Functions<'_>, finding: &Finding) -> bool {
    let is_race = matches!(finding.rule, Rule::WorkgroupRace | Rule::WaveSynchronous);
    let object = finding.clash.as_ref().map(|clash| clash.object);
    let context = functions.program.kernel.code.context;
    let has_length = |ty| !matches!(context.type_kind(ty), TypeKind::Array { len: 0, .. });
    is_race
        && match object {
            Some(Object::Variable(name)) => {
                functions.program.variables.get(&name).is_none_or(|of| !has_length(of.ty))
            }
            Some(Object::Argument(_)) => true,
            Some(Object::Private(_)) | None => false,
        }
}

/// Whether a function has plain stores, other than of constants or to stack slots.
/// O(instructions).
#[must_use]
pub fn has_plain_stores(code: Code<'_>) -> bool {
    let mut insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    insts.any(|inst| {
        let &[value, pointer] = code.body.operands(inst) else { return false };
        let is_slot =
            pointer.as_inst().is_some_and(|inst| code.body.inst(inst).opcode == Opcode::Alloca);
        code.body.inst(inst).opcode == Opcode::Store && value.as_const().is_none() && !is_slot
    })
}

/// Whether a function has stores whose index may have lost the thread. O(instructions).
#[must_use]
pub fn may_lose_index(unit: Unit<'_>, launch: &LaunchFacts, architecture: Architecture) -> bool {
    !lost::stores(unit, launch, architecture).is_empty()
}

/// Whether a kernel is given workgroup memory, or has arrays of its own. O(instructions).
#[must_use]
pub fn has_arrays(code: Code<'_>, architecture: Architecture) -> bool {
    let is_shared = |ty: Type| {
        let space = code.context.type_kind(ty).address_space();
        let of = |space| AddressSpace::of(architecture, space).kind();
        space.is_some_and(|space| of(space) == SpaceKind::Workgroup)
    };
    if code.header.params.iter().any(|&ty| is_shared(ty)) {
        return true;
    }
    let mut insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    insts.any(|inst| {
        let data = code.body.inst(inst);
        let is_array = |ty| matches!(code.context.type_kind(ty), TypeKind::Array { .. });
        data.opcode == Opcode::Alloca && is_array(data.element_type())
    })
}

/// The types of the workgroup variables that the code names.
fn tiles(functions: &Functions<'_>) -> Vec<Type> {
    let program = functions.program;
    let mut names: Vec<GlobalName> = Vec::new();
    for function in &functions.all {
        let code = function.unit.code;
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        for operand in insts.flat_map(|inst| code.body.operands(inst)) {
            let Some(constant) = operand.as_const() else { continue };
            names.extend(program::variables_in(code, constant));
        }
    }
    names.sort_unstable();
    names.dedup();
    let tile = |name: GlobalName| program.variables.get(&name).map(|variable| variable.ty);
    names.into_iter().filter_map(tile).collect()
}

/// The search in workgroups of one size.
struct Search<'a, 'f> {
    functions: &'f Functions<'a>,
    size: [u32; 3],
    is_exact: bool,
    fuel: usize,
    gave_up: bool,
    /// Whether some threads leave an array, and the first thread does not.
    leaves_by_size: bool,
    /// Whether threads meet at a barrier somewhere.
    has_barrier: bool,
    /// Whether nothing is ordered because threads are in one wave.
    has_waves_of_one: bool,
    found: ByPlace,
    /// A launch that takes the path up to the last barrier, if one was found; looked for once it
    /// matters.
    launch: Option<Option<Launch>>,
    /// What goes wrong on paths that are perhaps taken by no launch.
    doubtful: BTreeSet<(Rule, InstInFunction, InstInFunction)>,
    left_out: LeftOut,
}

impl<'a, 'f> Search<'a, 'f> {
    fn new(functions: &'f Functions<'a>, size: [u32; 3], is_exact: bool, fuel: usize) -> Self {
        Search {
            functions,
            size,
            is_exact,
            fuel,
            gave_up: false,
            leaves_by_size: false,
            has_barrier: functions.all.iter().any(|function| function.has_barrier()),
            has_waves_of_one: false,
            found: ByPlace::default(),
            launch: None,
            doubtful: BTreeSet::new(),
            left_out: LeftOut::default(),
        }
    }

    /// Executes the kernel on all paths, as far as there is time.
    fn execute(&mut self) {
        self.all_paths();
        for key in self.doubtful.iter().filter(|key| !self.found.contains_key(key)) {
            self.left_out.leave(key.1, Why::Launch);
            self.left_out.leave(key.2, Why::Launch);
        }
    }

    fn all_paths(&mut self) {
        let mut scripts: Vec<Vec<Side>> = vec![Vec::new()];
        for left in (0..PATHS).rev() {
            let Some(script) = scripts.pop() else { return };
            let mut machine = Machine::new(self.functions, Assumptions::new(script), self.size);
            machine.fuel = self.fuel;
            machine.left_out = std::mem::take(&mut self.left_out);
            self.path(&mut machine);
            self.fuel = machine.fuel;
            self.left_out = machine.left_out;
            // No more are tried; one more says that there are some.
            let mut others: Vec<Vec<Side>> = machine.assumed.others().take(left + 1).collect();
            others.reverse();
            scripts.extend(others);
            let is_long = FUEL.saturating_sub(self.fuel) > FUEL_OF_PATHS;
            if self.fuel == 0 || is_long && !scripts.is_empty() {
                self.gave_up = true;
                return;
            }
        }
        self.left_out.is_cut |= !scripts.is_empty();
    }

    /// Executes all threads on one path, from barrier to barrier.
    fn path(&mut self, machine: &mut Machine<'a, 'f>) {
        let indices = threads(self.size);
        let numbered = (0..).zip(indices.iter().copied());
        let mut live: Vec<Thread> = numbered.map(|of| Thread::new(self.functions, of)).collect();
        let mut written = Written::default();
        let mut settled = Settled::default();
        loop {
            let stops: Vec<Stop> = live.iter_mut().map(|thread| machine.run(thread)).collect();
            self.interval(machine, &indices, (&mut written, &mut settled));
            let mut stops_of_live = stops.iter();
            let mut is_live = || stops_of_live.next().is_some_and(|stop| *stop != Stop::End);
            live.retain(|_| is_live());
            let mut barriers = stops.iter().filter(|stop| **stop != Stop::End);
            let Some(first) = barriers.next() else { return };
            // If threads wait at different barriers, that is another fault.
            if *first == Stop::Lost || barriers.any(|stop| stop != first) {
                machine.left_out.is_cut = true;
                return;
            }
            live.iter_mut().for_each(Thread::pass);
        }
    }

    /// Reports what goes wrong between two barriers.
    fn interval(
        &mut self,
        machine: &mut Machine<'a, 'f>,
        indices: &[[u32; 3]],
        (written, settled): (&mut Written, &mut Settled),
    ) {
        self.launch = None;
        let outside = std::mem::take(&mut machine.outside);
        self.leaves_by_size |= !outside.is_empty() && outside.iter().all(|one| one.thread > 0);
        for access in outside {
            self.report(machine, indices, Rule::OutOfBounds, [access; 2], true);
        }
        let mut stored = std::mem::take(&mut machine.lost);
        // If the size is not stated, there may be no more than one row of threads.
        stored.retain(|(access, _)| self.is_exact || access.thread < self.size[0]);
        for (pair, is_certain) in lost::pairs(&stored) {
            self.report(machine, indices, Rule::LostIndex, pair, is_certain);
        }
        if !stored.is_empty() && !lost::is_of_one_group(&machine.terms, &machine.assumed) {
            for (access, is_certain) in lost::of_groups(&machine.terms, &stored) {
                self.report(machine, indices, Rule::LostGroup, [access; 2], is_certain);
            }
        }
        let mut accesses = std::mem::take(&mut machine.accesses);
        settled.settle(machine, &mut accesses);
        left_out::leave_unsettled(machine, &accesses);
        let unwritten = written.unwritten(machine, &accesses);
        // Only if everything was executed and nothing was assumed: assumptions may contradict each
        // other.
        if !machine.is_incomplete && machine.assumed.is_empty() {
            for access in unwritten {
                let root = machine.root(access.at.base);
                if self.is_undefined(machine, root) {
                    self.report(machine, indices, Rule::ReadBeforeWritten, [access; 2], true);
                }
            }
        }
        let functions = self.functions;
        let stores_one = |access: &Access| stores_one(functions, access);
        let lockstep = functions.program.lockstep;
        let width = if self.has_waves_of_one { 1 } else { machine.width };
        let waves = Waves { width, lockstep, stores_one: &stores_one };
        let by_data = match self.has_barrier {
            true => scattered::pairs(machine, &accesses),
            false => Vec::new(),
        };
        let mut pairs = Pairs::default();
        self.gave_up |= !conflicts::pairs(accesses, waves, &mut pairs);
        let mut pairs: Vec<Pair> = pairs.into_values().collect();
        pairs.extend(by_data);
        pairs.sort_by_key(|pair| pair.accesses.map(|access| (access.inst, access.thread)));
        for Pair { verdict, accesses } in pairs {
            let rule = match verdict {
                Verdict::WithinWave => Rule::WaveSynchronous,
                _ => Rule::WorkgroupRace,
            };
            self.report(machine, indices, rule, accesses, verdict == Verdict::Certain);
        }
    }

    /// Whether an object is a variable without an initial value.
    fn is_undefined(&self, machine: &Machine<'_, '_>, base: Base) -> bool {
        match machine.terms.get(base) {
            Some(Term::Variable(name)) => {
                let variable = self.functions.program.variables.get(name);
                variable.is_some_and(|variable| variable.is_undefined)
            }
            _ => false,
        }
    }

    fn report(
        &mut self,
        machine: &mut Machine<'a, 'f>,
        indices: &[[u32; 3]],
        rule: Rule,
        accesses: [Access; 2],
        is_certain: bool,
    ) {
        let is_error = self.is_exact
            && is_certain
            && !matches!(rule, Rule::WaveSynchronous | Rule::LostIndex | Rule::LostGroup)
            && machine.assumed.is_likely()
            // A launch that is found may execute more rounds of a loop than were executed here.
            && !(machine.assumed.is_doubtful && machine.assumed.has_rounds);
        let level = if is_error { Level::Error } else { Level::Warning };
        let [first, second] = accesses;
        let key = (rule, first.inst, second.inst);
        let mut launch = Launch::new();
        if machine.assumed.is_doubtful {
            let find = || machine.assumed.possible_launch(&machine.terms);
            let found = self.launch.get_or_insert_with(find);
            // A large argument may lead out of an array. The kernel is not made for it.
            let Some(found) = found.as_ref().filter(|_| rule != Rule::OutOfBounds) else {
                self.doubtful.insert(key);
                return;
            };
            launch.clone_from(found);
        }
        if self.found.get(&key).is_some_and(|known| known.level >= level) {
            return;
        }
        let root = machine.root(first.at.base);
        let object = match machine.terms.get(root) {
            Some(&Term::Variable(name)) => Object::Variable(name),
            Some(&Term::Argument(position)) => Object::Argument(position),
            Some(&Term::Slot { unit, inst, .. }) => Object::Private((unit == 0).then_some(inst)),
            _ => return,
        };
        // If the accesses begin at different bytes, the first byte that both have.
        let offset = first.at.offset.max(second.at.offset);
        let offset = (root == first.at.base).then_some(offset);
        let at = |access: &Access| indices[access.thread as usize];
        let called = |access: &Access| {
            let (function, inst) = access.inst;
            let name = self.functions.all[function].unit.code.header.name;
            (function > 0).then_some((name, inst))
        };
        let clash = Clash {
            is_certain,
            threads: [at(&second), at(&first)],
            writes: [second.writes, first.writes],
            object,
            indices: offset.map_or_else(Vec::new, |offset| {
                element(self.functions, object, offset, second.size.max(1))
            }),
            called: [called(&second), called(&first)],
            group: self.size,
            is_assumed: !self.is_exact && rule != Rule::LostGroup,
            launch,
        };
        let finding = Finding {
            other: (first.inst != second.inst).then_some(first.place),
            clash: Some(clash),
            ..Finding::new(rule, level, second.place, Scope::Workgroup)
        };
        self.found.insert(key, finding);
    }
}

/// Whether all threads store one value by an instruction, as far as divergence tells.
fn stores_one(functions: &Functions<'_>, access: &Access) -> bool {
    let (function, inst) = access.inst;
    let unit = functions.all[function].unit;
    let varying = phalanx_target::varying(Scope::Workgroup, functions.program.launch);
    let numbering = crate::code::Numbering::new(unit.code.header);
    let stored = unit.code.body.operands(inst).first();
    let number = stored.and_then(|&value| numbering.operand(value));
    number.is_none_or(|number| !unit.divergence.value(number).intersects(varying))
}

/// The element of an object that has a byte, dimension by dimension.
fn element(functions: &Functions<'_>, object: Object, offset: i64, size: u32) -> Vec<i64> {
    let program = functions.program;
    let code = program.kernel.code;
    let mut sizes = TypeSizes::new(code.context, program.layout);
    let ty = match object {
        Object::Variable(name) => program.variables.get(&name).map(|variable| variable.ty),
        Object::Private(Some(inst)) => Some(code.body.inst(inst).element_type()),
        _ => None,
    };
    let (mut indices, mut left, mut at) = (Vec::new(), offset, ty);
    while let Some(TypeKind::Array { elem, .. }) = at.map(|ty| code.context.type_kind(ty)) {
        let Some(stride) = sizes.stride(*elem).and_then(|n| i64::try_from(n).ok()) else { break };
        if stride == 0 {
            break;
        }
        // The first index is not limited: it takes what the others leave.
        indices.push(left.div_euclid(stride));
        left = left.rem_euclid(stride);
        at = Some(*elem);
    }
    if matches!(object, Object::Argument(_)) {
        indices.push(offset.div_euclid(i64::from(size)));
    }
    indices
}

/// Findings in the order of the text. Of two findings about one variable that share an access, only
/// the first is kept.
fn in_order(functions: &Functions<'_>, found: ByPlace) -> Vec<Finding> {
    let code = functions.program.kernel.code;
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let order: FxHashMap<InstId, usize> = insts.zip(0..).collect();
    let place = |inst: InstId| order.get(&inst).copied().unwrap_or(usize::MAX);
    let mut all: Vec<((Rule, InstInFunction, InstInFunction), Finding)> =
        found.into_iter().collect();
    all.sort_by_key(|(key, finding)| {
        let other = finding.other.map(place);
        (std::cmp::Reverse(finding.level), finding.rule, place(finding.inst), other, *key)
    });
    let mut kept: Vec<((Rule, InstInFunction, InstInFunction), Finding)> = Vec::new();
    for (key, mut finding) in all {
        let object = |of: &Finding| of.clash.as_ref().map(|clash| clash.object);
        let (rule, first, second) = key;
        let shares = |(known, of): &((Rule, InstInFunction, InstInFunction), Finding)| {
            // A certain race makes a finding about lockstep superfluous.
            let is_of_rule = known.0 == rule || rule == Rule::WaveSynchronous;
            let has = |at: InstInFunction| [known.1, known.2].contains(&at);
            is_of_rule && object(of) == object(&finding) && (has(first) || has(second))
        };
        if kept.iter().any(shares) {
            continue;
        }
        // Pairs are ordered by number; the finding is at the access that is later in the text.
        if let Some(other) = finding.other.filter(|&other| place(other) > place(finding.inst)) {
            finding.other = Some(finding.inst);
            finding.inst = other;
            if let Some(clash) = &mut finding.clash {
                clash.threads.reverse();
                clash.writes.reverse();
                clash.called.reverse();
            }
        }
        kept.push((key, finding));
    }
    kept.sort_by_key(|(key, finding)| (place(finding.inst), *key));
    kept.into_iter().map(|(_, finding)| finding).collect()
}
