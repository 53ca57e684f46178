//! Checks claims about loads against execution.
//!
//! Every access of a launch is watched to check the claims of [`phalanx::analysis::loads`]:
//!
//! - of a *non-coherent* or *LDU* load: no byte that it reads is written in the whole launch,
//!   before or after, by any thread;
//! - of a *scalar* load: no byte that it reads was written by a store that happens before it, by
//!   any thread;
//! - of *scalar* and *LDU* loads: threads of a wave that are converged at the load read one
//!   address, in launches without a data race that are in lockstep or have no atomic accesses.
//!
//! *Happens before* is the relation of [`phalanx_simt::races`]. Launches that fault or run out of
//! fuel count up to that point.

mod programs;
mod watch;

use phalanx::{Session, analysis::loads::Omitted, db::queries, ir};
use phalanx_simt::{Arg, Launch, Program, launch::Order};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

pub use programs::random_text;
use watch::Watch;

/// What was checked and what was found.
#[derive(Clone, Debug, Default)]
pub struct LoadTally {
    /// Functions with a body, kernels and others.
    pub functions: u64,
    /// Loads that were executed.
    pub loads: u64,
    /// Of these: scalar, non-coherent, LDU.
    pub claims: [u64; 3],
    /// Launches without a data race.
    pub clean: u64,
    /// Claims that were seen to be wrong.
    pub wrong: Vec<String>,
}

impl LoadTally {
    /// Adds another.
    pub fn merge(&mut self, other: LoadTally) {
        self.functions += other.functions;
        self.loads += other.loads;
        self.clean += other.clean;
        for (sum, more) in self.claims.iter_mut().zip(other.claims) {
            *sum += more;
        }
        self.wrong.extend(other.wrong);
    }
}

/// Checks all claims about the loads of a text whose kernel is `@f` as [`random_text`] makes it;
/// `seed` chooses launches. `omitted` is a rule that is left out: a negative control.
///
/// None if the text is refused.
#[must_use]
pub fn check(text: &str, seed: u64, launches: u32, omitted: Option<Omitted>) -> Option<LoadTally> {
    let mut session = Session::new();
    let module_id = session.read(text.as_bytes()).ok()?;
    // The same text gives equal instruction ids.
    let context = std::sync::Arc::new(ir::Context::new());
    let module = phalanx::llvm::parse_module(context, text.as_bytes()).ok()?.module;
    let program = Program::new(&module, session.target(module_id)).ok()?;
    let mut watch = Watch::default();
    let mut tally = LoadTally::default();
    for function in session.functions(module_id) {
        let input = function.input();
        let classes = queries::load_classes_without(session.database(), input, omitted)?;
        let number = program.function(&session.name(function))?;
        tally.functions += 1;
        for load in classes.loads() {
            let text = session.print_inst(function, load.inst).trim().to_owned();
            watch.claim(number, *load, text);
        }
    }
    let mut rng = SmallRng::seed_from_u64(seed);
    for _ in 0..launches {
        let mut memory = program.memory(rng.random()).ok()?;
        let mut contents = || -> Vec<u8> { (0..1024).map(|_| rng.random()).collect() };
        let buffers = [contents(), contents(), contents(), contents(), contents()];
        let mut addresses = Vec::new();
        for buffer in &buffers {
            addresses.push(memory.buffer(buffer).ok()?);
        }
        // The last two arguments may be the same buffer.
        if rng.random_bool(0.5) {
            addresses[4] = addresses[3];
        }
        let mut args: Vec<Arg> = addresses.into_iter().map(Arg::bits).collect();
        args.push(Arg::bits(u128::from(rng.random_range(0..4u32))));
        let orders = [Order::Lockstep, Order::Turns(7), Order::Random(rng.random())];
        let shapes: [([u32; 3], [u32; 3]); 4] = [
            ([1; 3], [8, 1, 1]),
            ([1; 3], [40, 1, 1]),
            ([2, 1, 1], [4, 1, 1]),
            ([1; 3], [4, 2, 1]),
        ];
        let (grid, block) = *shapes.choose(&mut rng)?;
        let launch = Launch {
            grid,
            block,
            wave: *[4, 8, 32].choose(&mut rng)?,
            args,
            fuel: 20_000,
            order: *orders.choose(&mut rng)?,
            seed: rng.random(),
            ..Launch::default()
        };
        // A launch that faults or runs out of fuel counts up to that point.
        let _ = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch);
        watch.end_run(matches!(launch.order, Order::Lockstep));
    }
    tally.clean = watch.clean;
    watch.judge(&mut tally);
    Some(tally)
}

/// Checks a random program.
///
/// # Panics
/// A generated program is not well-formed.
#[must_use]
pub fn check_random(seed: u64, omitted: Option<Omitted>) -> LoadTally {
    let text = random_text(seed);
    let tally = check(&text, seed, 2, omitted);
    tally.unwrap_or_else(|| panic!("a generated program is refused:\n{text}"))
}
