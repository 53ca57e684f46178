//! Watches claims while a module runs.
//!
//! [`Claims`] contains all claims about all functions of a module, and observes all launches:
//! values, uses in other blocks, edges of branches. A claim "uniform" at a scope is unsound if
//! values differ within a converged group of that scope.

use phalanx::{
    FunctionId, ModuleId, Session,
    analysis::{affect::User, divergence::Divergence, lower::Numbering},
    db::queries,
    ir::{self, BlockId, InstId, flow::node_of},
    target::{LaunchFacts, Scope, SourceSet, varying},
};
use phalanx_graph::Cycles;
use phalanx_simt::{Observer, Program, Value, convergence::Key, observe::Moment};
use phalanx_testing::abstract_oracle::hierarchies;
use rustc_hash::FxHashMap;

use super::Tally;

/// The scopes at which claims are checked.
const SCOPES: [Scope; 4] = [Scope::Wave, Scope::Workgroup, Scope::Cluster, Scope::Grid];

/// A watched entity. It is watched at the largest scope at which it is claimed uniform, since a
/// difference within a smaller scope is also one within the larger. If it is claimed uniform at no
/// scope, it is watched in the wave, to count how often divergent values differ. Entities that are
/// uniform only in quads are watched there, too.
#[derive(Copy, Clone, Debug)]
struct Watched {
    scope: Scope,
    /// At how many scopes beyond the quad it is claimed uniform.
    claims: u64,
    /// Whether it is claimed uniform in quads only.
    in_quads: bool,
    differs: bool,
    differs_in_quad: bool,
    executed: bool,
}

/// The watched entities of a function, and the observations.
struct Watch {
    function: usize,
    values: Vec<Watched>,
    branches: Vec<Watched>,
    /// Uses in other blocks, by user. Within a block an operand is the same as at its definition.
    uses: Vec<Vec<(usize, Watched)>>,
    /// First values, by watched entity (values first, then uses), execution and group.
    first: FxHashMap<(u32, u32, Key, u32), Value>,
    first_way: FxHashMap<(InstId, Key, u32), BlockId>,
    /// Values that are claimed truly uniform: equal whichever thread of a wave computes them, and
    /// whenever.
    truly: Vec<Option<Watched>>,
    /// First values of truly uniform claims, by instruction and wave.
    first_ever: FxHashMap<(InstId, u32), Value>,
}

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

impl Watched {
    const NOTHING: Watched = Watched {
        scope: Scope::Wave,
        claims: 0,
        in_quads: false,
        differs: false,
        differs_in_quad: false,
        executed: false,
    };

    /// The claims for an entity with these sources.
    fn new(mask: SourceSet, varying: impl Fn(Scope) -> SourceSet) -> Watched {
        let uniform = |scope: Scope| !mask.intersects(varying(scope));
        // Larger scopes have more varying sources.
        let claims = SCOPES.iter().take_while(|&&scope| uniform(scope)).count();
        let scope = SCOPES[claims.saturating_sub(1)];
        let in_quads = claims == 0 && uniform(Scope::Quad);
        Watched { scope, claims: claims as u64, in_quads, ..Watched::NOTHING }
    }

    /// Records one execution. `is_same` says whether the value equals the first one in the group
    /// with a number.
    fn look(&mut self, at: &Moment<'_>, mut is_same: impl FnMut(u32) -> bool) {
        self.executed = true;
        self.differs = self.differs || !is_same(group(at, self.scope));
        if self.in_quads && !self.differs_in_quad {
            self.differs_in_quad = !is_same(group(at, Scope::Quad));
        }
    }
}

impl Watch {
    /// The claims of an answer about a function.
    fn new(
        code: ir::function::FunctionRef<'_>,
        facts: &Divergence,
        varying: impl Fn(Scope) -> SourceSet,
        function: usize,
    ) -> Watch {
        let numbering = Numbering::new(code.header);
        let watched = |mask: SourceSet| Watched::new(mask, &varying);
        let count = code.body.id_count();
        let nothing = watched(SourceSet::EMPTY);
        let mut watch = Watch {
            function,
            values: vec![nothing; count],
            branches: vec![nothing; count],
            uses: vec![Vec::new(); count],
            first: FxHashMap::default(),
            first_way: FxHashMap::default(),
            truly: vec![None; count],
            first_ever: FxHashMap::default(),
        };
        for &block in code.flow.order() {
            for inst in code.body.block_insts(block) {
                let is_terminator = code.body.inst(inst).opcode.is_terminator();
                watch.values[number(inst)] = watched(facts.value(numbering.inst(inst)));
                watch.branches[number(inst)] = watched(facts.terminator(node_of(block)));
                let user = match is_terminator {
                    true => User::terminator(node_of(block)),
                    false => User::value(numbering.inst(inst)),
                };
                for (position, operand) in code.body.operands(inst).iter().enumerate() {
                    let Some(of) = operand.as_inst() else { continue };
                    if code.body.block_of(of) == Some(block) {
                        continue;
                    }
                    let use_ = watched(facts.at_use(numbering.inst(of), user));
                    if use_.claims > 0 || use_.in_quads {
                        watch.uses[number(inst)].push((position, use_));
                    }
                }
            }
        }
        watch
    }

    /// Keys of another run denote other executions.
    fn next_run(&mut self) {
        self.first.clear();
        self.first_way.clear();
        self.first_ever.clear();
    }

    /// Watches values that are called truly uniform.
    fn expect_truly_uniform(
        &mut self,
        session: &Session,
        function: FunctionId,
        code: ir::function::FunctionRef<'_>,
    ) {
        let nothing = Watched { claims: 1, ..Watched::NOTHING };
        for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
            if session.is_truly_uniform(function, ir::Value::inst(inst)) {
                self.truly[number(inst)] = Some(nothing);
            }
        }
    }

    /// Counts executed entities, and lists wrong claims.
    fn judge(
        &self,
        code: ir::function::FunctionRef<'_>,
        llvm: &Divergence,
        print: impl Fn(InstId) -> String,
        tally: &mut Tally,
    ) {
        let numbering = Numbering::new(code.header);
        let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        for inst in all {
            let mut claim = |watched: &Watched, what: &str| {
                if !watched.executed {
                    return;
                }
                tally.claims += watched.claims;
                tally.of_quads += u64::from(watched.in_quads);
                let wrong = match () {
                    () if watched.differs && watched.claims > 0 => Some(watched.scope),
                    () => watched.differs_in_quad.then_some(Scope::Quad),
                };
                if let Some(scope) = wrong {
                    tally.unsound.push(format!(
                        "the {what} is called uniform in the {scope:?}: {}",
                        print(inst).trim()
                    ));
                }
            };
            let value = &self.values[number(inst)];
            claim(value, "value");
            if let Some(truly) = &self.truly[number(inst)] {
                claim(truly, "value for all lanes at all times");
            }
            claim(&self.branches[number(inst)], "branch");
            for (position, use_) in &self.uses[number(inst)] {
                claim(use_, &format!("operand {position}"));
            }
            if value.executed {
                tally.values += 1;
                // A value that is uniform in more than the wave is watched at that scope; a
                // difference there is unsound.
                let differs = value.differs && value.scope == Scope::Wave;
                match llvm.value(numbering.inst(inst)).is_empty() {
                    true => tally.llvm_unsound += u64::from(differs),
                    false => {
                        tally.llvm_divergent += 1;
                        tally.llvm_observed += u64::from(differs);
                    }
                }
                if value.claims == 0 {
                    tally.divergent += 1;
                    tally.observed += u64::from(value.differs);
                }
            }
        }
    }
}

/// The group of a scope that a thread belongs to.
pub(crate) fn group(at: &Moment<'_>, scope: Scope) -> u32 {
    let place = at.thread;
    let wave = place.workgroup() << 10 | place.wave;
    match scope {
        // Quads and waves share one table.
        Scope::Quad => 1 << 31 | wave << 4 | (place.lane / 4),
        Scope::Wave => wave,
        Scope::Workgroup => place.workgroup(),
        Scope::Cluster => place.cluster(),
        Scope::Grid => 0,
    }
}

impl Watch {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        if at.function != self.function || matches!(value, Value::Unit) {
            return;
        }
        if let Some(truly) = &mut self.truly[number(at.inst)]
            && !value.has_poison()
        {
            truly.executed = true;
            let first = self.first_ever.entry((at.inst, group(&at, Scope::Wave)));
            truly.differs |= *first.or_insert_with(|| value.clone()) != *value;
        }
        let watched = &mut self.values[number(at.inst)];
        if value.has_poison() {
            watched.executed = true;
            return;
        }
        let inst = number(at.inst) as u32;
        watched.look(&at, |group| {
            let first = self.first.entry((inst, 0, at.key, group));
            *first.or_insert_with(|| value.clone()) == *value
        });
    }

    fn branch(&mut self, at: Moment<'_>, to: BlockId) {
        if at.function != self.function {
            return;
        }
        let watched = &mut self.branches[number(at.inst)];
        watched
            .look(&at, |group| *self.first_way.entry((at.inst, at.key, group)).or_insert(to) == to);
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, _: InstId, value: &Value) {
        if at.function != self.function || matches!(value, Value::Unit) || value.has_poison() {
            return;
        }
        let uses = &mut self.uses[number(at.inst)];
        let Some((_, watched)) = uses.iter_mut().find(|(of, _)| *of == position) else { return };
        let user = (number(at.inst) as u32, position as u32 + 1);
        watched.look(&at, |group| {
            let first = self.first.entry((user.0, user.1, at.key, group));
            *first.or_insert_with(|| value.clone()) == *value
        });
    }
}

/// The functions of a module that have a body.
pub(super) fn definitions(session: &Session, module: ModuleId) -> Vec<(FunctionId, String)> {
    let database = session.database();
    let mut all = Vec::new();
    for entry in module.input().functions(database).iter().filter(|e| e.is_definition) {
        let name = entry.name.symbol().map(|s| module.input().context(database).text(s));
        let name = name.unwrap_or_default().into_owned();
        all.extend(session.function(module, &name).map(|function| (function, name)));
    }
    all
}

/// Counts of values, branches and loads of functions: how many there are, were executed, are
/// claimed divergent in a wave, and were seen to differ in one. The last count is a lower bound for
/// any sound analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// All entities.
    pub all: [u64; 3],
    /// Executed at all.
    pub executed: [u64; 3],
    /// Called divergent.
    pub divergent: [u64; 3],
    /// Seen to differ.
    pub seen: [u64; 3],
}

impl Shares {
    fn count(&mut self, what: usize, watched: &Watched) {
        self.all[what] += 1;
        self.executed[what] += u64::from(watched.executed);
        self.divergent[what] += u64::from(watched.claims == 0);
        // A difference in a value that is claimed uniform in more than a wave is an unsound claim.
        self.seen[what] += u64::from(watched.differs && watched.claims == 0);
    }

    /// Numbers in the order of the fields.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        [self.all, self.executed, self.divergent, self.seen].into_iter().flatten()
    }
}

impl Watch {
    fn share(&self, session: &Session, function: FunctionId, shares: &mut Shares) {
        let code = session.code(function);
        for &block in code.flow.order() {
            for inst in code.body.block_insts(block) {
                let data = code.body.inst(inst);
                if data.ty != ir::Type::VOID {
                    shares.count(0, &self.values[number(inst)]);
                }
                if data.opcode == ir::Opcode::Load {
                    shares.count(2, &self.values[number(inst)]);
                }
                if data.opcode.is_terminator() && code.flow.successors(block).len() > 1 {
                    shares.count(1, &self.branches[number(inst)]);
                }
            }
        }
    }
}

/// Which sources vary within a scope, for launches with known facts.
pub(super) type Varies<'a> = &'a dyn Fn(Scope, &LaunchFacts) -> SourceSet;

/// The claims about all functions of a module.
pub struct Claims {
    session: Session,
    watches: Vec<(FunctionId, Watch)>,
}

impl Claims {
    /// Phalanx's claims about the functions of a text. `program` must be of the same text, so that
    /// instruction ids agree.
    ///
    /// None if the text is refused.
    #[must_use]
    pub fn of(text: &str, program: &Program<'_>) -> Option<Self> {
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).ok()?;
        let functions = definitions(&session, module);
        let given = vec![None; functions.len()];
        Self::new(session, functions, &given, program, &varying)
    }

    /// The claims about functions, or the given answers in their place.
    pub(super) fn new(
        session: Session,
        functions: Vec<(FunctionId, String)>,
        given: &[Option<Divergence>],
        program: &Program<'_>,
        varies: Varies<'_>,
    ) -> Option<Self> {
        let mut watches = Vec::new();
        for ((each, name), given) in functions.into_iter().zip(given) {
            let (db, input) = (session.database(), each.input());
            let facts = match given {
                Some(given) => given,
                None => queries::divergence(db, input).as_ref()?,
            };
            let launch_facts = queries::launch_facts(db, input);
            let varying = |scope| varies(scope, launch_facts);
            let of = program.function(&name)?;
            let mut watch = Watch::new(session.code(each), facts, varying, of);
            if given.is_none() {
                watch.expect_truly_uniform(&session, each, session.code(each));
            }
            watches.push((each, watch));
        }
        Some(Self { session, watches })
    }

    /// Cycle hierarchies under which to run the functions: their own and others, by number of the
    /// function in the program.
    #[must_use]
    pub fn hierarchies(
        &self,
        program: &Program<'_>,
        seed: u64,
        others: usize,
    ) -> Vec<(usize, Vec<Cycles>)> {
        let functions = self.watches.iter().map(|(_, watch)| watch.function);
        functions
            .filter_map(|of| Some((of, hierarchies(program.graph(of)?.0, seed, others))))
            .collect()
    }

    /// Begins another run, whose keys denote other executions.
    pub fn next_run(&mut self) {
        self.watches.iter_mut().for_each(|(_, watch)| watch.next_run());
    }

    /// Counts, and wrong claims.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (function, watch) in &self.watches {
            let llvm = queries::exact_llvm_uniformity(self.session.database(), function.input());
            let Some(llvm) = llvm else { continue };
            let print = |inst| self.session.print_inst(*function, inst);
            watch.judge(self.session.code(*function), &llvm, print, &mut tally);
        }
        tally
    }

    /// Shares of the functions with these names: how much is claimed divergent in a wave, and how
    /// much was seen to differ in one.
    #[must_use]
    pub fn shares(&self, counts: impl Fn(&str) -> bool) -> Shares {
        let mut shares = Shares::default();
        let is_counted = |function: FunctionId| counts(&self.session.name(function));
        for (function, watch) in self.watches.iter().filter(|(function, _)| is_counted(*function)) {
            watch.share(&self.session, *function, &mut shares);
        }
        shares
    }

    fn watch(&mut self, function: usize) -> Option<&mut Watch> {
        self.watches.iter_mut().map(|(_, watch)| watch).find(|watch| watch.function == function)
    }
}

impl Observer for Claims {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        if let Some(watch) = self.watch(at.function) {
            watch.value(at, value);
        }
    }

    fn branch(&mut self, at: Moment<'_>, to: BlockId) {
        if let Some(watch) = self.watch(at.function) {
            watch.branch(at, to);
        }
    }

    fn wants_operands(&self) -> bool {
        true
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, inst: InstId, value: &Value) {
        if let Some(watch) = self.watch(at.function) {
            watch.operand(at, position, inst, value);
        }
    }
}
