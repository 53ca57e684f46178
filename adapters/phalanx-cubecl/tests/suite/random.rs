//! Random kernels: what is claimed of them holds when they are executed, and answers are the same
//! after cubecl's `mem2reg`.

use std::collections::BTreeMap;

use cubecl_ir::interfaces::uniformity::Uniformity;
use cubecl_ir::prelude::Pass as _;
use cubecl_opt::passes::mem2reg::Mem2RegPass;
use cubecl_opt::passes::uniformity::uniformity_solver;
use phalanx_cubecl::{Scope, analyse};
use phalanx_pliron::{Analysis, LaunchFacts, SourceSet, varying};
use pliron::builtin::op_interfaces::OneRegionInterface as _;
use pliron::builtin::ops::FuncOp;
use pliron::context::Context;
use pliron::op::Op as _;
use pliron::pass::AnalysisManager;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;

use crate::programs::{Kernel, Type, kernel};
use crate::run::{Launch, Observed, Subject, execute};
use crate::text::{Named, context, names, parse, theirs};

const SCOPES: [Scope; 3] = [Scope::Wave, Scope::Workgroup, Scope::Grid];

/// How many random kernels there are: `PHALANX_CAMPAIGN` may say more.
pub(crate) fn count() -> u64 {
    let given = std::env::var("PHALANX_CAMPAIGN").ok().and_then(|count| count.parse().ok());
    given.unwrap_or(200)
}

/// With one unit left over in each cube, so that the last plane is not full.
const LAUNCHES: [Launch; 4] = [
    Launch { cubes: 2, dim: [4, 2], plane: 4 },
    Launch { cubes: 2, dim: [2, 4], plane: 4 },
    Launch { cubes: 1, dim: [7, 1], plane: 4 },
    Launch { cubes: 3, dim: [3, 2], plane: 4 },
];

fn exact(launch: Launch) -> LaunchFacts {
    LaunchFacts::exact(launch.dim[0], launch.dim[1], 1, launch.plane)
}

/// What values and branches of a kernel depend on.
fn answers(ctx: &Context, function: FuncOp, analysis: &Analysis) -> Vec<(Subject, SourceSet)> {
    let number = |name: &str, prefix: &str| name.strip_prefix(prefix)?.parse().ok();
    let of = |(name, named): (String, Named)| match named {
        Named::Value(value) => {
            Some((Subject::Value(number(&name, "v")?), analysis.sources(value)?))
        }
        Named::Block(first) => {
            let op = first.deref(ctx).get_parent_op(ctx)?;
            let sources = analysis.branch(ctx, op)?;
            Some((Subject::If(number(&name, "if")? as usize), sources))
        }
    };
    names(ctx, function.get_region(ctx)).into_iter().filter_map(of).collect()
}

/// Adds up what a function tells of each random kernel, in several threads.
pub(crate) fn campaign<const N: usize>(each: impl Fn(u64, &mut [Tally; N]) + Sync) -> [Tally; N] {
    const THREADS: u64 = 4;
    let mut all: [Tally; N] = std::array::from_fn(|_| Tally::default());
    let one = |first: u64| {
        let mut tallies = std::array::from_fn(|_| Tally::default());
        (first..count()).step_by(THREADS as usize).for_each(|seed| each(seed, &mut tallies));
        tallies
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|first| scope.spawn(move || one(first))).collect();
        for thread in threads {
            let tallies = thread.join().expect("no claim is wrong");
            for (sum, tally) in all.iter_mut().zip(tallies) {
                sum.claims += tally.claims;
                sum.wrong += tally.wrong;
                sum.kernels += tally.kernels;
            }
        }
    });
    all
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) claims: usize,
    pub(crate) wrong: usize,
    kernels: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, claims: impl Iterator<Item = bool>) {
        let mut here = 0;
        for is_wrong in claims {
            self.claims += 1;
            here += usize::from(is_wrong);
        }
        self.wrong += here;
        self.kernels += usize::from(here > 0);
    }
}

fn is_variable(kernel: &Kernel, subject: Subject) -> bool {
    matches!(subject, Subject::Value(value) if kernel.types[value as usize] == Type::Local)
}

/// Claims of a kernel, and whether each is wrong.
fn claims<'a>(
    kernel: &'a Kernel,
    answers: &'a [(Subject, SourceSet)],
    facts: &'a LaunchFacts,
    observed: &'a Observed,
) -> impl Iterator<Item = bool> + 'a {
    let answers = answers.iter().filter(|(subject, _)| !is_variable(kernel, *subject));
    answers.flat_map(move |&(subject, sources)| {
        let claimed = SCOPES.into_iter().filter(move |&of| !sources.intersects(varying(of, facts)));
        claimed.map(move |scope| observed.differs(subject, scope))
    })
}

/// The same of cubecl's analysis.
fn their_claims<'a>(
    kernel: &'a Kernel,
    values: &'a [(Subject, Uniformity)],
    observed: &'a Observed,
) -> impl Iterator<Item = bool> + 'a {
    let values = values.iter().filter(|(subject, _)| !is_variable(kernel, *subject));
    values.flat_map(move |&(subject, uniformity)| {
        let claimed: &[Scope] = match uniformity {
            Uniformity::Device => &SCOPES,
            Uniformity::Cube => &SCOPES[..2],
            Uniformity::Plane => &SCOPES[..1],
            // Of code that is never executed, nothing is claimed.
            Uniformity::None | Uniformity::Uninitialized => &[],
        };
        claimed.iter().map(move |&scope| observed.differs(subject, scope))
    })
}

/// A table of all claims over so many kernels, ours and cubecl's: of values alone, with nothing
/// known of launches; with their sizes, and branches.
#[test]
fn no_claim_is_refuted_by_execution() {
    let [ours, with_facts, cubecl] = campaign(|seed, [ours, with_facts, cubecl]| {
        let ctx = &mut context();
        let made = kernel(&mut SmallRng::seed_from_u64(seed));
        let (module, function) = parse(ctx, &made.text());
        let known = answers(ctx, function, &analyse(ctx, function));
        let solver = uniformity_solver(module.get_operation(), ctx).expect("it can be solved");
        let of = |(name, named): (String, Named)| match named {
            Named::Value(value) => {
                let number = name.strip_prefix('v')?.parse().ok()?;
                Some((Subject::Value(number), theirs(&solver, value)))
            }
            Named::Block(_) => None,
        };
        let values: Vec<_> =
            names(ctx, function.get_region(ctx)).into_iter().filter_map(of).collect();
        let (of_any, facts) = (&mut Observed::default(), LaunchFacts::default());
        for launch in LAUNCHES {
            let observed = &mut Observed::default();
            for launch_seed in 0..2 {
                execute(&made, launch, seed * 2 + launch_seed, observed);
            }
            of_any.unite(observed);
            with_facts.add(claims(&made, &known, &exact(launch), observed));
        }
        let is_value = |(subject, _): &&(Subject, SourceSet)| matches!(subject, Subject::Value(_));
        let of_values: Vec<_> = known.iter().filter(is_value).copied().collect();
        ours.add(claims(&made, &of_values, &facts, of_any));
        cubecl.add(their_claims(&made, &values, of_any));
        assert_eq!(ours.wrong + with_facts.wrong, 0, "seed {seed}: {}", made.text());
    });
    println!("ours {ours:?}\nwith sizes {with_facts:?}\ncubecl {cubecl:?}");
    assert!(ours.claims as u64 > 20 * count(), "{ours:?}");
    // Many wrong claims are found, so execution can refute.
    assert!(cubecl.wrong as u64 > count() / 4, "{cubecl:?}");
}

/// Private variables have the answers of the values that cubecl makes of them. In rare cases more
/// is known of the values: where a branch brings on one side what was stored, and on the other what
/// was loaded after the store, both are one value afterwards.
#[test]
fn answers_are_the_same_after_mem2reg() {
    let [compared, finer] = campaign(|seed, [compared, finer]| {
        let ctx = &mut context();
        let made = kernel(&mut SmallRng::seed_from_u64(seed));
        let (module, function) = parse(ctx, &made.text());
        let of = |ctx: &Context| -> BTreeMap<String, SourceSet> {
            let analysis = analyse(ctx, function);
            let value = |(name, named)| match named {
                Named::Value(value) => Some((name, analysis.sources(value)?)),
                Named::Block(first) => Some((name, analysis.control(first)?)),
            };
            names(ctx, function.get_region(ctx)).into_iter().filter_map(value).collect()
        };
        let before = of(ctx);
        Mem2RegPass
            .run(module.get_operation(), ctx, &mut AnalysisManager::default())
            .expect("variables become values");
        let after = of(ctx);
        for (name, sources) in after {
            if let Some(known) = before.get(&name) {
                let more = sources - *known;
                assert!(more.is_empty(), "seed {seed}, {name}: {more} in {}", made.text());
                compared.claims += 1;
                finer.claims += usize::from(sources != *known);
            }
        }
    });
    assert!(compared.claims as u64 > 10 * count(), "{compared:?}");
    assert!(finer.claims * 500 < compared.claims, "{finer:?} of {compared:?}");
}
