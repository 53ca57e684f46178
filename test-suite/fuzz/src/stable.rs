//! Checks stable loads against execution.
//!
//! A load that [`phalanx::analysis::stable`] calls stable gives one value to all threads of the
//! scope that are converged there and read one address. Programs are those of
//! [`loads`](crate::loads). Only launches without a data race count, since the analysis assumes
//! that. All threads of a workgroup execute the barriers, so every model of barriers holds.

use phalanx::{
    Session,
    analysis::{
        stable::{Assumptions, Omitted},
        variance::BarrierModel,
    },
    db::queries,
    ir::{self, InstId, inst::Ordering},
    target::{Scope, SourceSet},
};
use phalanx_simt::{
    Arg, Launch, Observer, Program, Races,
    convergence::Key,
    launch::Order,
    observe::{Access, AccessKind, Moment, Phase},
    value::Value,
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};
use rustc_hash::FxHashMap;

use crate::{loads::random_text, oracle::group};

/// What was checked and what was found.
#[derive(Clone, Debug, Default)]
pub struct StableTally {
    /// Loads that were executed.
    pub loads: u64,
    /// Of these: stable in the grid, in workgroups only.
    pub claims: [u64; 2],
    /// Launches without a data race.
    pub clean: u64,
    /// Claims that were seen to be wrong.
    pub wrong: Vec<String>,
}

impl StableTally {
    /// Adds another.
    pub fn merge(&mut self, other: StableTally) {
        self.loads += other.loads;
        self.clean += other.clean;
        for (sum, more) in self.claims.iter_mut().zip(other.claims) {
            *sum += more;
        }
        self.wrong.extend(other.wrong);
    }
}

struct Claim {
    /// 1 for the workgroup, 2 for the grid; none if nothing is claimed.
    scope: Option<usize>,
    text: String,
    executed: bool,
    differs: bool,
}

/// A converged execution of a load by a group, from an address.
type Instance = (usize, InstId, Key, u32, u64);

#[derive(Default)]
struct Watch {
    claims: FxHashMap<(usize, InstId), Claim>,
    races: Races,
    /// The address of the last load of a thread.
    address: Option<u64>,
    first: FxHashMap<Instance, Value>,
    different: Vec<(usize, InstId)>,
    clean: u64,
}

impl Watch {
    fn end_run(&mut self) {
        let is_clean = self.races.found().is_empty();
        self.clean += u64::from(is_clean);
        for place in self.different.drain(..).filter(|_| is_clean) {
            if let Some(claim) = self.claims.get_mut(&place) {
                claim.differs = true;
            }
        }
        self.races = Races::new();
        self.first.clear();
    }
}

impl Observer for Watch {
    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, at: Moment<'_>, access: &Access) {
        self.address = (access.kind == AccessKind::Load).then_some(access.address);
        self.races.access(at, access);
    }

    fn fence(&mut self, at: Moment<'_>, ordering: Ordering, reach: phalanx_simt::reach::Reach) {
        self.races.fence(at, ordering, reach);
    }

    fn meet(&mut self, threads: &[u32]) {
        self.races.meet(threads);
    }

    fn arrive(&mut self, thread: u32, phase: Phase) {
        self.races.arrive(thread, phase);
    }

    fn pass(&mut self, thread: u32, phase: Phase) {
        self.races.pass(thread, phase);
    }

    fn value(&mut self, at: Moment<'_>, value: &Value) {
        let (place, address) = ((at.function, at.inst), self.address.take());
        let Some(claim) = self.claims.get_mut(&place) else { return };
        claim.executed = true;
        let (Some(scope), Some(address)) = (claim.scope, address) else { return };
        if value.has_poison() {
            return;
        }
        let instance = (
            at.function,
            at.inst,
            at.key,
            group(&at, [Scope::Wave, Scope::Workgroup, Scope::Grid][scope]),
            address,
        );
        if *self.first.entry(instance).or_insert_with(|| value.clone()) != *value {
            self.different.push(place);
        }
    }
}

/// Checks all stable loads of a text whose kernel is `@f` as [`random_text`] makes it; `seed`
/// chooses launches. `omitted` is a rule that is left out: a negative control.
///
/// None if the text is refused.
#[must_use]
pub fn check(
    text: &str,
    seed: u64,
    launches: u32,
    omitted: Option<Omitted>,
) -> Option<StableTally> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let model = [None, Some(BarrierModel::Strict), Some(BarrierModel::Lenient)];
    let barriers = if omitted.is_some() { model[2] } else { *model.choose(&mut rng)? };
    let race_free = omitted.is_some() || rng.random_bool(0.8);
    let assumptions = Assumptions { barriers, race_free };
    let mut session = Session::new();
    let module_id = session.read(text.as_bytes()).ok()?;
    // The same text gives the same numbers of instructions.
    let context = std::sync::Arc::new(ir::Context::new());
    let module = phalanx::llvm::parse_module(context, text.as_bytes()).ok()?.module;
    let program = Program::new(&module, session.target(module_id)).ok()?;
    let mut watch = Watch::default();
    for function in session.functions(module_id) {
        let (input, code) = (function.input(), session.code(function));
        let stable = queries::stable_loads_without(session.database(), input, assumptions, omitted);
        let number = program.function(&session.name(function))?;
        for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
            if code.body.inst(inst).opcode != ir::Opcode::Load {
                continue;
            }
            let known = stable.iter().find(|(load, _)| *load == inst);
            let scope = known.map(|(_, left)| if *left == SourceSet::EMPTY { 2 } else { 1 });
            let text = session.print_inst(function, inst).trim().to_owned();
            watch
                .claims
                .insert((number, inst), Claim { scope, text, executed: false, differs: false });
        }
    }
    for _ in 0..launches {
        let mut memory = program.memory(rng.random()).ok()?;
        let mut args = Vec::new();
        for _ in 0..5 {
            let contents: Vec<u8> = (0..1024).map(|_| rng.random()).collect();
            args.push(Arg::bits(memory.buffer(&contents).ok()?));
        }
        args.push(Arg::bits(u128::from(rng.random_range(0..4u32))));
        let orders = [Order::Lockstep, Order::Turns(7), Order::Random(rng.random())];
        let shapes: [([u32; 3], [u32; 3]); 3] =
            [([1; 3], [8, 1, 1]), ([2, 1, 1], [8, 1, 1]), ([2, 1, 1], [4, 2, 1])];
        let (grid, block) = *shapes.choose(&mut rng)?;
        let launch = Launch {
            grid,
            block,
            wave: 4,
            args,
            fuel: 20_000,
            order: *orders.choose(&mut rng)?,
            seed: rng.random(),
            ..Launch::default()
        };
        // One that faults or runs out of fuel counts as far as it went.
        let _ = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch);
        watch.end_run();
    }
    let mut tally = StableTally { clean: watch.clean, ..StableTally::default() };
    for claim in watch.claims.values().filter(|claim| claim.executed) {
        tally.loads += 1;
        if let Some(scope) = claim.scope {
            tally.claims[2 - scope] += 1;
        }
        if claim.differs {
            tally.wrong.push(claim.text.clone());
        }
    }
    tally.wrong.sort();
    Some(tally)
}

/// Checks a random program.
///
/// # Panics
/// A generated program is not well-formed.
#[must_use]
pub fn check_random(seed: u64, omitted: Option<Omitted>) -> StableTally {
    let text = random_text(seed);
    let tally = check(&text, seed, 2, omitted);
    tally.unwrap_or_else(|| panic!("a generated program is refused:\n{text}"))
}
