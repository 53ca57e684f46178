//! Checks the inference of convergence control tokens against execution.
//!
//! A random kernel gets tokens for all of its convergent operations. It has to run as before: the
//! same threads are together at each of them, equally often, and get the same values. The
//! interpreter takes the groups from cycles before and from tokens after. Divergence must stay the
//! same value by value, facts must equal those of a new database, the verifier must accept the
//! text, and dropping the tokens must restore the text.
//!
//! [`distorted`] lets operations behind a loop use the loop's token, which is legal but changes
//! groups. It is the negative control of the comparison. It also makes programs for which
//! uniformity is checked against execution: [`check_distorted`].

use phalanx::{
    FunctionId, ModuleId, Session,
    analysis::convergence::{Token, TokenKind, escape},
    db::queries,
    ir::{InstId, Value},
    transform::{Manager, Options, PassError, Pipeline, Registry},
};
use phalanx_simt::Reconvergence;
use phalanx_testing::generate::{self, Options as ProgramOptions};
use rand::{Rng as _, RngCore, SeedableRng as _, rngs::SmallRng};
use rustc_hash::FxHashMap;

use crate::{
    Entropy,
    edits::facts_are_right,
    oracle::{
        self, Effort,
        programs::{Kind, runnable, runnable_alone},
    },
    transforms::{comparable, convergent, launch, module_of},
};

/// What was compared.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Programs that got tokens.
    pub programs: u64,
    /// Hearts that were inferred.
    pub hearts: u64,
    /// Anchors of operations in irreducible cycles.
    pub anchors: u64,
    /// Launches that ended, before and after.
    pub launches: u64,
    /// Converged executions of convergent operations that were compared.
    pub groups: u64,
    /// Launches that ended before and whose groups, values or results differed after.
    pub different: u64,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        self.programs += other.programs;
        self.hearts += other.hearts;
        self.anchors += other.anchors;
        self.launches += other.launches;
        self.groups += other.groups;
        self.different += other.different;
    }
}

/// A random program whose results can be compared; its functions are marked as convergent, or not.
#[must_use]
pub fn random(rng: &mut dyn RngCore, blocks: usize) -> String {
    let program = generate::program_from(rng, ProgramOptions { blocks, ..Default::default() });
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let text = match rng.random() {
        true => runnable(&program, kind, rng.next_u64()),
        false => runnable_alone(&program, kind, rng.next_u64()),
    };
    let text = comparable(&text, kind, rng, false);
    if rng.random() { marked(&text) } else { text }
}

/// The text with all functions marked as convergent.
fn marked(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let head = line.strip_suffix('{').filter(|line| line.starts_with("define "));
        let after = |head: &str| [" personality ", " !"].iter().find_map(|word| head.find(word));
        match head.map(|head| (head, after(head).map_or(head.len(), |at| at + 1))) {
            // Attributes come before the personality and metadata.
            Some((head, at)) => {
                let (signature, rest) = head.split_at(at);
                out.push_str(&format!("{signature}convergent {rest}{{"));
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Runs a pipeline over a module.
fn run(session: &mut Session, module: ModuleId, pipeline: &str) {
    let pipeline = Pipeline::parse(pipeline, &Registry::standard()).expect("it is a pipeline");
    let mut manager = Manager::new(Options { verify_each: true, statistics: false });
    let mut broken = Vec::new();
    let done = manager.run(session.database_mut(), module.input(), &pipeline, &mut |_, event| {
        if let phalanx::transform::Event::Broken { pass, errors, .. } = event {
            broken.push(format!("{pass:?}: {errors:?}"));
        }
    });
    let text = || String::from_utf8_lossy(&session.print(module)).into_owned();
    done.unwrap_or_else(|error| panic!("{error}\n{}", text()));
    assert!(broken.is_empty(), "{}\n{}", broken.join("\n"), text());
}

fn text_of(session: &Session, module: ModuleId) -> String {
    String::from_utf8_lossy(&session.print(module)).into_owned()
}

/// The text with tokens.
///
/// # Panics
/// When it is no module.
#[must_use]
pub fn inferred(text: &str) -> String {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    run(&mut session, module, "infer-convergence-tokens");
    text_of(&session, module)
}

/// Runs a text before and after inference. `distort` may change the tokens; then differences are
/// counted, otherwise they are errors.
///
/// # Panics
/// When something is not as the module says.
#[must_use]
pub fn check(text: &str, seed: u64, launches: u64, distort: bool) -> Tally {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f").expect("the kernel is called @f");
    let original = text_of(&session, module);
    let before = module_of(&session, module);
    let watched = convergent(&session, function);
    let masks = masks(&session, function);
    run(&mut session, module, "infer-convergence-tokens");
    let mut tally = Tally::default();
    let facts = session.convergence(function).expect("the kernel has code");
    if facts.tokens().is_empty() {
        // Functions that it calls may have operations of their own.
        let is_controlled = session.functions(module).any(|function| {
            session.convergence(function).is_some_and(|facts| !facts.tokens().is_empty())
        });
        if !is_controlled {
            assert_eq!(text_of(&session, module), original, "nothing is to be controlled");
        }
        return tally;
    }
    tally.programs = 1;
    tally.hearts = facts.tokens().iter().filter(|t| t.kind == TokenKind::Loop).count() as u64;
    tally.anchors = facts.tokens().iter().filter(|t| t.kind == TokenKind::Anchor).count() as u64;
    assert!(facts.operations().iter().all(|o| o.token.is_some()), "an operation without token");
    if distort {
        tally.programs = u64::from(distorted(&mut session, function) > 0);
        if tally.programs == 0 {
            return tally;
        }
    } else {
        for (inst, mask) in &masks {
            let now = session.divergence(function).map(|view| view.mask(Value::inst(*inst)));
            assert_eq!(now, Some(*mask), "divergence of {inst:?}\n{original}");
        }
    }
    facts_are_right(&session, module, function);
    let printed = text_of(&session, module);
    let mut again = Session::new();
    let read = again.read(printed.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(text_of(&again, read), printed);
    let after = module_of(&session, module);
    for number in 0..launches {
        let seed = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // A launch that faults, hangs or does not end may change arbitrarily.
        let Some(old) = launch(&before, (seed, Reconvergence::Maximal), &watched, 8_000) else {
            continue;
        };
        tally.launches += 1;
        tally.groups += old.partition.len() as u64;
        let new = launch(&after, (seed, Reconvergence::Maximal), &watched, 20_000);
        let is_same = new.is_some_and(|new| {
            let same_value = |(place, value): (&(InstId, u32, u32), &phalanx_simt::Value)| {
                value.has_poison() || new.values.get(place) == Some(value)
            };
            old.bytes == new.bytes
                && old.partition == new.partition
                && old.values.iter().all(same_value)
        });
        assert!(is_same || distort, "launch {seed} differs\n{text}\n; becomes\n{printed}");
        tally.different += u64::from(!is_same);
    }
    if !distort {
        run(&mut session, module, "drop-convergence-tokens");
        assert_eq!(text_of(&session, module), original, "what is inferred is dropped again");
        facts_are_right(&session, module, function);
    }
    tally
}

/// Masks of all instructions of a function that are executed.
fn masks(session: &Session, function: FunctionId) -> Vec<(InstId, phalanx::target::SourceSet)> {
    let Some(view) = session.divergence(function) else { return Vec::new() };
    let code = session.code(function);
    let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    all.map(|inst| (inst, view.mask(Value::inst(inst)))).collect()
}

/// Lets each operation behind a loop use the loop's token, if allowed; returns how many do.
fn distorted(session: &mut Session, function: FunctionId) -> usize {
    let facts = session.convergence(function).expect("the kernel has code").clone();
    let mut count = 0;
    for operation in facts.operations() {
        for token in facts.tokens().iter().filter(|token| token.kind == TokenKind::Loop) {
            let (Some(dom), Some(cycles)) = (session.dom_tree(function), session.cycles(function))
            else {
                continue;
            };
            let around = cycles.innermost(token.block);
            let is_inside = around.is_none_or(|cycle| cycles.contains(cycle, operation.block));
            if is_inside || !dom.strictly_dominates(token.block, operation.block) {
                continue;
            }
            let changed = session.edit(function, |edit| {
                edit.verifying(true);
                let tag = edit.context().symbol(b"convergencectrl");
                edit.set_bundles(operation.inst, &[(tag, &[Value::inst(token.inst)])])?;
                Ok::<_, PassError>(())
            });
            // The rules of regions refuse some edits; then nothing has changed.
            if changed.is_ok() {
                count += 1;
                break;
            }
        }
    }
    count
}

/// A random program with operations that use tokens of loops before them, as text; none if there is
/// no place for one.
#[must_use]
pub fn random_distorted(seed: u64) -> Option<String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let program =
        generate::program_from(&mut rng, ProgramOptions { blocks: 12, ..Default::default() });
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let text = marked(&runnable(&program, kind, rng.next_u64()));
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    run(&mut session, module, "infer-convergence-tokens");
    let function = session.function(module, "f")?;
    let count = distorted(&mut session, function);
    escapes_are_right(&session, function);
    (count > 0).then(|| text_of(&session, module))
}

/// Checks escaping operations by the definition: those with a token in their chain that is made in
/// a cycle that does not contain them.
fn escapes_are_right(session: &Session, function: FunctionId) {
    let (Some(facts), Some(cycles)) = (session.convergence(function), session.cycles(function))
    else {
        return;
    };
    let found = escape::escaping(queries::code(session.database(), function.input()));
    let tokens: FxHashMap<InstId, &Token> = facts.tokens().iter().map(|t| (t.inst, t)).collect();
    for operation in facts.operations() {
        let mut next = operation.token;
        let mut escapes = false;
        while let Some(token) = next.and_then(|token| tokens.get(&token)) {
            escapes |= cycles.iter().any(|cycle| {
                cycles.contains(cycle, token.block) && !cycles.contains(cycle, operation.block)
            });
            next = token.given;
        }
        assert_eq!(found.contains(&operation.inst), escapes, "{:?}", operation.inst);
    }
}

/// Checks claims about a program of [`random_distorted`] against its execution.
#[must_use]
pub fn check_distorted(seed: u64) -> Option<oracle::Tally> {
    let effort = Effort { launches: 3, hierarchies: 1, fuel: 6_000 };
    oracle::check(&random_distorted(seed)?, "f", seed, effort)
}

/// Checks that the program that the bytes encode runs alike with and without tokens.
pub fn tokens(data: &[u8]) {
    let mut choices = Entropy::new(data);
    let text = random(&mut choices, 11);
    let _ = check(&text, choices.next_u64(), 1, false);
}
