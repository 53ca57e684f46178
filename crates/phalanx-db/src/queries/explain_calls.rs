//! Chains of causes through several functions.
//!
//! Within a function a chain ends at what introduces the source there. Where that is the result of
//! a call, or where the result is what it is because of an argument, the chain goes on inside of
//! the callee: from what is returned to what brings the source in, or to the argument, and then on
//! in the caller ([`phalanx_analysis::explain::returned`]). The same holds of what a call leaves in
//! private memory ([`phalanx_analysis::explain::left`]). Where it is an argument of a function
//! whose callers are known, it goes on at a call that passes it: over all ways up, one with the
//! fewest calls.
//!
//! Each piece is one of the shortest within its function; the whole need not be. In a recursion, a
//! fact must not be explained by itself. So the piece inside of a callee is searched for as if the
//! facts that the surrounding pieces explain did not hold; in the same way, a search through
//! callers ignores the arguments that it has already passed. The number of pieces is bounded;
//! beyond it a chain ends where a function does.

use std::{collections::VecDeque, sync::Arc};

use phalanx_analysis::{
    Summary,
    explain::{
        Cause, Derivations, Fact, Link,
        left::{Left, left, left_by},
        returned::{Given, returned},
    },
    lower::{Definition, MemoryVersion, Numbering, VersionBy},
    memory::PrivateMemory,
    stable::Assumptions,
    summary::{Contents, argument_sources},
};
use phalanx_core::divergence::{Rules, solve};
use phalanx_ir::{GlobalName, InstId, Opcode, constant::ConstKind, flow::node_of};
use phalanx_target::{Scope, SourceSet, varying};

use super::called::NO_CALLEES;
use super::calls::closed_calls;
use super::explain::{explain_assumed, explain_sources, fact_of, memory_versions};
use super::graph::flow_facts;
use super::known_calls::KnownCalls;
use super::own_environment::with_code_and;
use super::summaries::table_with;
use super::{
    Subject, argument_facts, call_place, divergence, launch_facts, postdom_tree, summary, symbols,
};
use crate::FunctionInput;

use salsa::Database as Db;

/// The largest number of chain pieces in callees and callers that are searched for.
const PIECES: usize = 64;

/// A link of a chain through functions. `F` is what names a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallLink<F = FunctionInput> {
    /// The function that it is about.
    pub function: F,
    /// The link.
    pub link: Link,
    /// How the chain gets to another function behind it.
    pub passage: Passage<F>,
    /// Which values stand for versions of memory, where these are others than [`memory_versions`]
    /// tells: inside of a function that is asked what it leaves in memory of its caller.
    pub memory: Option<Arc<[MemoryVersion]>>,
}

impl CallLink {
    /// The functions that it names: its own, and that in which the chain goes on.
    pub fn functions(&self) -> impl Iterator<Item = FunctionInput> + use<> {
        let other = match self.passage {
            Passage::No => None,
            Passage::Into(callee) | Passage::Behind { callee, .. } => Some(callee),
            Passage::Back(site) | Passage::Up(site) => Some(site.caller),
        };
        [Some(self.function), other].into_iter().flatten()
    }

    /// The link with other names of functions.
    pub fn map<G>(self, name: impl Fn(FunctionInput) -> G) -> CallLink<G> {
        let site = |site: Site| Site {
            caller: name(site.caller),
            call: site.call,
            position: site.position,
        };
        CallLink {
            function: name(self.function),
            link: self.link,
            passage: match self.passage {
                Passage::No => Passage::No,
                Passage::Into(callee) => Passage::Into(name(callee)),
                Passage::Behind { callee, parameter } => {
                    Passage::Behind { callee: name(callee), parameter }
                }
                Passage::Back(at) => Passage::Back(site(at)),
                Passage::Up(at) => Passage::Up(site(at)),
            },
            memory: self.memory,
        }
    }
}

/// Where a chain goes on behind a link. `F` is what names a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage<F = FunctionInput> {
    /// In the same function, or it ends.
    No,
    /// Inside of the callee: the link is about the result of a call, the next about what is
    /// returned, or about a branch at which threads part for different returns.
    Into(F),
    /// Inside of the callee: the link is about private memory that a call leaves something in, the
    /// next about what is there when the callee returns, or about a branch at which threads part
    /// for returns where something else is there.
    Behind {
        /// Who leaves it.
        callee: F,
        /// The parameter that points there.
        parameter: u32,
    },
    /// The link is about a parameter of the callee, the next about what the call passes for it, in
    /// the caller whose chain was left for the callee.
    Back(Site<F>),
    /// As [`Passage::Back`], in a caller that was not yet on the way.
    Up(Site<F>),
}

/// An argument of a call. `F` is what names a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site<F = FunctionInput> {
    /// The caller.
    pub caller: F,
    /// The call.
    pub call: InstId,
    /// Which argument.
    pub position: u32,
}

/// As [`explain_sources`](super::explain_sources), or of what is assumed, and through calls. Not a
/// query by itself.
pub fn explain_through_calls(
    db: &dyn Db,
    function: FunctionInput,
    subject: Subject,
    sources: SourceSet,
    assumed: Option<Assumptions>,
) -> Vec<CallLink> {
    let chain = match assumed {
        None => explain_sources(db, function, subject, sources),
        Some(assumptions) => explain_assumed(db, function, subject, sources, assumptions),
    };
    let mut walk = Walk { db, left: PIECES, pieces: Vec::new(), found: Vec::new() };
    walk.pieces.push(Piece { function, links: chain.into(), about: None, memory: None });
    walk.run();
    walk.found
}

/// What a piece inside of a callee is about.
#[derive(Clone, Copy)]
struct About {
    call: InstId,
    given: Given,
    member: Option<u32>,
    source: SourceSet,
}

/// Links that are still to be given, of one function.
struct Piece {
    function: FunctionInput,
    links: VecDeque<Link>,
    /// None for the outermost.
    about: Option<About>,
    /// See [`CallLink::memory`].
    memory: Option<Arc<[MemoryVersion]>>,
}

/// A step of the way up: an argument, and what a call passes for it.
struct Step {
    site: Site,
    chain: Vec<Link>,
    /// The step before, by number.
    from: Option<usize>,
}

struct Walk<'a> {
    db: &'a dyn Db,
    left: usize,
    pieces: Vec<Piece>,
    found: Vec<CallLink>,
}

impl Walk<'_> {
    fn run(&mut self) {
        // The way up that has been chosen, next call first.
        let mut way: VecDeque<(Site, Vec<Link>)> = VecDeque::new();
        while let Some(piece) = self.pieces.last_mut() {
            let Some(link) = piece.links.pop_front() else {
                self.pieces.pop();
                continue;
            };
            let (function, memory) = (piece.function, piece.memory.clone());
            let inside =
                self.inside(function, &link).map(|piece| (Passage::Into(piece.function), piece));
            if let Some((passage, piece)) = inside.or_else(|| self.behind(function, &link)) {
                self.pieces.push(piece);
                self.found.push(CallLink { function, link, passage, memory });
                continue;
            }
            let mut passage = Passage::No;
            if let Some(position) = self.parameter(function, &link) {
                let depth = self.pieces.len();
                let about = self.pieces.last().and_then(|piece| piece.about);
                match about {
                    Some(About { call, given: Given::Argument(..), .. }) => {
                        let caller = self.pieces[depth - 2].function;
                        passage = Passage::Back(Site { caller, call, position });
                    }
                    // What a function brings in by itself is none of its arguments, but for copies.
                    Some(_) => {}
                    None => {
                        if way.is_empty() {
                            way = self.up(function, position, link.source);
                        }
                        if let Some((site, chain)) = way.pop_front() {
                            passage = Passage::Up(site);
                            let links = chain.into();
                            let piece = Piece { function: site.caller, links, about, memory: None };
                            self.pieces.pop();
                            self.pieces.push(piece);
                        }
                    }
                }
            }
            self.found.push(CallLink { function, link, passage, memory });
        }
    }

    /// Whether a link says that a parameter is a source.
    fn parameter(&self, function: FunctionInput, link: &Link) -> Option<u32> {
        let Fact::Value(value) = link.fact else { return None };
        let position = value.index() as u32;
        let is_one = value.index() < function.header(self.db).params.len();
        (is_one && link.cause == Cause::Source).then_some(position)
    }

    /// The call whose result a link is about, and which member of it.
    fn call_of(&self, function: FunctionInput, link: &Link) -> Option<(InstId, Option<u32>)> {
        let Fact::Value(value) = link.fact else { return None };
        let body = function.body(self.db);
        let numbering = Numbering::new(function.header(self.db));
        let Definition::Inst(inst) = numbering.definition(value) else { return None };
        // Beyond are versions of memory.
        if inst.into_raw().into_u32() as usize >= body.id_count() {
            return None;
        }
        match body.inst(inst).opcode {
            Opcode::Call | Opcode::Invoke => Some((inst, None)),
            Opcode::ExtractValue => {
                let call = body.operands(inst).first()?.as_inst()?;
                let is_call = body.inst(call).opcode == Opcode::Call
                    && body.block_of(call) == body.block_of(inst);
                is_call.then_some((call, body.indices(inst).first().copied()))
            }
            _ => None,
        }
    }

    /// The piece inside of the callee that explains a link.
    fn inside(&mut self, function: FunctionInput, link: &Link) -> Option<Piece> {
        let operand = match &link.cause {
            Cause::Source => None,
            Cause::Operand(operand) => Some(*operand),
            Cause::Temporal { value, .. } => Some(*value),
            _ => return None,
        };
        let (call, member) = self.call_of(function, link)?;
        let (db, body) = (self.db, function.body(self.db));
        let module = function.module(db);
        let ConstKind::Global(name) = module.context(db).const_data(body.const_callee(call)?).kind
        else {
            return None;
        };
        let callee = self.named(function, name)?;
        let known = summary(db, callee);
        if !known.is_from_code || known.ty != Some(body.call_info(call).function_type) {
            return None;
        }
        let outcome = known.outcome(member);
        let numbering = Numbering::new(function.header(db));
        let before = self.pieces.last()?.links.front().map_or(link.source, |next| next.source);
        let positions = 0..body.call_args(call).len().min(outcome.arguments.len());
        let given: Vec<Given> = match operand {
            None => vec![Given::Nothing],
            Some(operand) => positions
                .filter(|&at| numbering.operand(body.call_args(call)[at]) == Some(operand))
                .filter(|&at| {
                    outcome.arguments[at].apply(before, outcome.wave).contains(link.source)
                })
                .map(|at| Given::Argument(at as u32, before))
                .collect(),
        };
        for given in given {
            let about = About { call, given, member, source: link.source };
            let links = self.returned(callee, about);
            if !links.is_empty() {
                let (links, about) = (links.into(), Some(about));
                return Some(Piece { function: callee, links, about, memory: None });
            }
        }
        None
    }

    /// The piece inside of the function that explains a link about what its call leaves in private
    /// memory.
    fn behind(&mut self, function: FunctionInput, link: &Link) -> Option<(Passage, Piece)> {
        let operand = match &link.cause {
            Cause::Source => None,
            Cause::Operand(operand) => Some(*operand),
            _ => return None,
        };
        let Fact::Value(value) = link.fact else { return None };
        let piece = self.pieces.last()?;
        let before = piece.links.front().map_or(link.source, |next| next.source);
        let (db, own) = (self.db, piece.memory.clone());
        let versions = own.as_deref().unwrap_or_else(|| memory_versions(db, function));
        let at = versions.binary_search_by_key(&value, |version| version.value).ok()?;
        let version = &versions[at];
        let VersionBy::Write(call) = version.by else { return None };
        let body = function.body(db);
        if !body.inst(call).opcode.is_call() {
            return None;
        }
        let module = function.module(db);
        let ConstKind::Global(name) = module.context(db).const_data(body.const_callee(call)?).kind
        else {
            return None;
        };
        let callee = self.named(function, name)?;
        let flow = flow_facts(db, function)?;
        let calls = KnownCalls::new(db, function);
        let asked = with_code_and(db, function, NO_CALLEES, &calls, |code, env| {
            let memory = match own {
                Some(_) => PrivateMemory::with_pointees(code, env, flow.cfg, flow.dom),
                None => PrivateMemory::through_calls(code, env, flow.cfg, flow.dom),
            };
            left_by(code, env, &memory, version, operand, (before, link.source))
        })?;
        for asked in asked {
            let (links, memory) = self.left(callee, &asked, link.source);
            if !links.is_empty() {
                let Left { given, parameter, .. } = asked;
                let about = About { call, given, member: None, source: link.source };
                let (links, about, memory) = (links.into(), Some(about), Some(memory.into()));
                let piece = Piece { function: callee, links, about, memory };
                return Some((Passage::Behind { callee, parameter }, piece));
            }
        }
        None
    }

    /// A chain inside of a callee, from what it leaves in memory of its caller. Functions in
    /// recursion are not followed there.
    fn left(
        &mut self,
        callee: FunctionInput,
        asked: &Left,
        source: SourceSet,
    ) -> (Vec<Link>, Vec<MemoryVersion>) {
        let db = self.db;
        if self.left == 0 {
            return (Vec::new(), Vec::new());
        }
        self.left -= 1;
        let chain = || {
            let graphs = (flow_facts(db, callee)?, postdom_tree(db, callee)?);
            let calls = KnownCalls::new(db, callee);
            with_code_and(db, callee, NO_CALLEES, &calls, |code, env| {
                left(code, env, graphs, asked, source)
            })
        };
        chain().unwrap_or_default()
    }

    fn named(&self, function: FunctionInput, name: GlobalName) -> Option<FunctionInput> {
        symbols(self.db, function.module(self.db)).get(&name).copied()
    }

    /// A chain inside of a callee.
    fn returned(&mut self, callee: FunctionInput, about: About) -> Vec<Link> {
        let db = self.db;
        if self.left == 0 {
            return Vec::new();
        }
        self.left -= 1;
        let found = self.without_what_is_asked(callee, about);
        let chain = || {
            let flow = flow_facts(db, callee)?;
            let postdom = postdom_tree(db, callee)?;
            let calls = KnownCalls::new(db, callee).with(&found);
            with_code_and(db, callee, NO_CALLEES, &calls, |code, env| {
                returned(code, env, flow, postdom, about.given, about.member, about.source)
            })
        };
        chain().unwrap_or_default()
    }

    /// The summaries of functions in recursion with the callee, without what is being explained.
    fn without_what_is_asked(
        &self,
        callee: FunctionInput,
        about: About,
    ) -> Vec<(FunctionInput, Summary)> {
        let component = &call_place(self.db, callee).component;
        let mut found: Vec<(FunctionInput, Summary)> = Vec::new();
        let pieces = self.pieces.iter().filter_map(|piece| Some((piece.function, piece.about?)));
        for (function, about) in pieces.chain([(callee, about)]) {
            if !component.contains(&function) {
                continue;
            }
            let at = found.iter().position(|(of, _)| *of == function).unwrap_or_else(|| {
                let known = Summary { through: None, ..summary(self.db, function).clone() };
                found.push((function, known));
                found.len() - 1
            });
            let known = &mut found[at].1;
            let member = about.member.and_then(|member| known.members.get_mut(member as usize));
            let outcome = member.unwrap_or(&mut known.result);
            match about.given {
                Given::Nothing => outcome.sources = outcome.sources - about.source,
                Given::Argument(position, _) => {
                    if let Some(dependence) = outcome.arguments.get_mut(position as usize) {
                        *dependence = phalanx_analysis::summary::Dependence::NONE;
                    }
                }
            }
        }
        found
    }

    /// The way up from a parameter to a call that passes it something that depends on the source,
    /// by itself or because of its own caller. Breadth first over calls. Empty when nothing is
    /// known of callers.
    fn up(
        &mut self,
        function: FunctionInput,
        position: u32,
        source: SourceSet,
    ) -> VecDeque<(Site, Vec<Link>)> {
        let db = self.db;
        let mut seen = vec![(function, position, source)];
        let mut steps: Vec<Step> = Vec::new();
        // What is asked about next, and the step that led to it.
        let mut work = VecDeque::from([(function, position, source, None)]);
        while let Some((function, position, source, from)) = work.pop_front() {
            let known = argument_facts(db, function).as_ref();
            if known.and_then(|known| known.get(position as usize)).is_none() {
                continue;
            }
            for &caller in &call_place(db, function).callers {
                let calls = closed_calls(db, caller).iter().copied();
                for (call, _) in calls.filter(|(_, callee)| *callee == function) {
                    if self.left == 0 {
                        return VecDeque::new();
                    }
                    let site = Site { caller, call, position };
                    let chain = self.passed(site, source, &seen);
                    let Some(last) = chain.last() else { continue };
                    let next = self.parameter(caller, last).map(|at| (caller, at, last.source));
                    steps.push(Step { site, chain, from });
                    let number = steps.len() - 1;
                    let is_open = |(caller, at, _): &(FunctionInput, u32, SourceSet)| {
                        let known = argument_facts(db, *caller).as_ref();
                        known.is_some_and(|known| known.get(*at as usize).is_some())
                    };
                    match next.filter(is_open) {
                        None => return way(steps, number),
                        Some(next) if !seen.contains(&next) => {
                            seen.push(next);
                            work.push_back((next.0, next.1, next.2, Some(number)));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        VecDeque::new()
    }

    /// Why what a call passes depends on a source that the parameter has.
    fn passed(
        &mut self,
        site: Site,
        source: SourceSet,
        seen: &[(FunctionInput, u32, SourceSet)],
    ) -> Vec<Link> {
        let (db, Site { caller, call, position }) = (self.db, site);
        let subject = Subject::Use { user: call, operand: position as usize };
        let chain = || {
            let answer = divergence(db, caller).as_ref()?;
            let calls = KnownCalls::new(db, caller);
            let passed = with_code_and(db, caller, NO_CALLEES, &calls, |code, env| {
                let flow = || flow_facts(db, caller);
                let contents = Contents::new(code, env, flow, std::iter::once(call));
                let all = argument_sources(code, env, (answer, &contents), call);
                all.get(position as usize).copied()
            })??;
            // In a scalar register there is one value for the wave, whatever is passed.
            let wanted = match passed.contains(source) {
                true => source,
                false if source == SourceSet::OPAQUE_WAVE => {
                    passed & varying(Scope::Wave, launch_facts(db, caller))
                }
                false => return None,
            };
            let again = seen.iter().filter(|(of, ..)| *of == caller);
            let known = argument_facts(db, caller).as_ref().filter(|_| again.clone().count() > 0);
            let Some(known) = known else {
                return Some(explain_sources(db, caller, subject, wanted));
            };
            // The way has come from some of its parameters.
            let mut arguments = known.clone();
            again.for_each(|&(_, at, source)| {
                if let Some(sources) = arguments.get_mut(at as usize) {
                    *sources = *sources - source;
                }
            });
            let flow = flow_facts(db, caller)?;
            let table = table_with(db, caller, &arguments)?;
            let answer = solve(flow, &table, Rules::Precise);
            let fact = fact_of(db, caller, subject)?;
            Some(Derivations::new(flow, &table, &answer).of(flow, &table, None, fact, wanted))
        };
        self.left = self.left.saturating_sub(1);
        let mut chain = chain().unwrap_or_default();
        // That the call reads it is what the link before says.
        let says_no_more = |link: &Link| matches!((&link.fact, &link.cause), (Fact::Use(read, _), Cause::Operand(value)) if read == value);
        if chain.first().is_some_and(says_no_more) {
            chain.remove(0);
        }
        chain
    }
}

/// The steps that led to one, first step first.
fn way(mut steps: Vec<Step>, last: usize) -> VecDeque<(Site, Vec<Link>)> {
    let mut way = VecDeque::new();
    let mut at = Some(last);
    while let Some(step) = at.and_then(|at| steps.get_mut(at)) {
        way.push_front((step.site, std::mem::take(&mut step.chain)));
        at = step.from;
    }
    way
}

/// The first link behind [`Passage::Into`] and [`Passage::Behind`] can be about a branch at which
/// threads part for different returns: whether it is.
pub fn is_parting(db: &dyn Db, link: &CallLink) -> bool {
    let Fact::Terminator(node) = link.link.fact else { return false };
    let (flow, body) = (link.function.flow(db), link.function.body(db));
    let block = flow.order().iter().copied().find(|&block| node_of(block) == node);
    let terminator = block.and_then(|block| body.terminator(block));
    terminator.is_some_and(|inst| body.inst(inst).opcode != Opcode::Ret)
}
