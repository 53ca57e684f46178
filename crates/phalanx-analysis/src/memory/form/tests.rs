//! The form against the general one of [`ssa`](crate::memory::ssa), and edits of it against the
//! form from scratch.

mod flow;

use std::collections::{BTreeMap, BTreeSet};

use phalanx_graph::{Cfg, DomTree, Node, testing::random::any_graph};
use phalanx_ir::{
    Body, InstId, Opcode, Type,
    flow::{block_of, node_of},
    inst::{InstData, InstFlags, OperandRange},
};
use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::{Does, Form, Graphs, Look, Reader, Version, rows::bits};
use crate::memory::{
    UpdatedFact,
    ssa::{self, Event, EventKind, Events, Pruning, Ssa},
};

const COUNT: u8 = 3;

struct Case {
    cfg: Cfg,
    dom: DomTree,
    body: Body,
    does: Vec<Does>,
}

impl Case {
    fn new(seed: u64, rng: &mut SmallRng) -> Option<Self> {
        let cfg = any_graph(seed, if seed.is_multiple_of(5) { 90 } else { 10 });
        // As in the IR: no edge leads to the entry.
        if !cfg.predecessors(cfg.entry()).is_empty() {
            return None;
        }
        let dom = DomTree::new(&cfg);
        let mut case = Case { cfg, dom, body: Body::new(), does: Vec::new() };
        let most = [1, 4, 12][seed as usize % 3];
        for node in case.cfg.nodes() {
            for _ in 0..rng.random_range(0..=most) {
                let inst = case.create(rng);
                case.body.append(block_of(node), inst);
            }
        }
        Some(case)
    }

    fn create(&mut self, rng: &mut SmallRng) -> InstId {
        self.does.push(any(rng));
        let data = InstData {
            opcode: Opcode::Fence,
            sub: 0,
            flags: InstFlags::default(),
            ty: Type::VOID,
            operands: OperandRange::default(),
            words: [0; 2],
        };
        self.body.create(data, &[])
    }

    fn graph(&self) -> (&Cfg, &DomTree) {
        (&self.cfg, &self.dom)
    }

    /// The graph before an edit of instructions and after it.
    fn graphs(&self) -> Graphs<'_> {
        Graphs { before: self.graph(), now: self.graph() }
    }

    fn form(&self, pruning: Pruning) -> Form {
        Form::new(&self.body, self.graph(), (COUNT, pruning), |inst| self.does[number(inst)])
    }

    fn look(&self, inst: InstId, pruning: Pruning) -> Look {
        let is_wanted = |block| pruning == Pruning::None || self.dom.is_reachable(node_of(block));
        let block = self.body.block_of(inst).filter(|&block| is_wanted(block));
        Look { inst, does: block.map_or(Does::NOTHING, |_| self.does[number(inst)]) }
    }

    fn insts(&self) -> impl Iterator<Item = (Node, InstId)> + '_ {
        let of = |node| self.body.block_insts(block_of(node)).map(move |inst| (node, inst));
        self.cfg.nodes().flat_map(of)
    }

    /// Makes a random edit, and returns the edited instruction.
    fn edit(&mut self, rng: &mut SmallRng) -> InstId {
        let all: Vec<InstId> = self.body.all_ids().collect();
        let to = block_of(Node::new(rng.random_range(0..self.cfg.node_count())));
        let inst = match rng.random_range(0..4) {
            0 => self.create(rng),
            _ if all.is_empty() => self.create(rng),
            _ => all[rng.random_range(0..all.len())],
        };
        match rng.random_range(0..3) {
            0 => self.does[number(inst)] = any(rng),
            1 => self.body.unlink(inst),
            _ => {
                self.body.unlink(inst);
                let others: Vec<InstId> = self.body.block_insts(to).collect();
                match rng.random_range(0..=others.len()) {
                    at if at < others.len() => self.body.insert_before(inst, others[at]),
                    _ => self.body.append(to, inst),
                }
            }
        }
        inst
    }
}

/// Most instructions do nothing, and few define.
fn any(rng: &mut SmallRng) -> Does {
    let set = |rng: &mut SmallRng, chance: f64| {
        (0..COUNT).fold(0, |set, v| set | (u8::from(rng.random_bool(chance)) << v))
    };
    match rng.random_range(0..3) {
        0 => Does::NOTHING,
        1 => Does { uses: set(rng, 0.4), defines: 0 },
        _ => Does { uses: set(rng, 0.3), defines: set(rng, 0.3) },
    }
}

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

/// The facts that are compared: the version before each touch, and the versions that come into
/// phis.
type Said = (BTreeMap<(u32, u8), Version>, BTreeMap<(u8, Node), Vec<(Node, Version)>>);

fn general(case: &Case, pruning: Pruning) -> Said {
    let mut listed: Vec<(Node, Event)> = Vec::new();
    let mut insts: Vec<InstId> = Vec::new();
    for (node, inst) in case.insts() {
        let Does { uses, defines } = case.does[number(inst)];
        for (set, kind) in [(uses, EventKind::Use), (defines, EventKind::MayDef)] {
            for variable in bits(set) {
                listed.push((node, Event { variable: variable.into(), kind }));
                insts.push(inst);
            }
        }
    }
    let (events, place) = Events::new(case.cfg.node_count(), &listed);
    let ssa = Ssa::new(&case.cfg, &case.dom, &events, COUNT.into(), pruning);
    let by_event: BTreeMap<u32, InstId> = place.iter().copied().zip(insts).collect();
    let version = |version: ssa::Version| match version {
        ssa::Version::Entry => Version::Entry,
        ssa::Version::Def(event) => Version::Def(by_event[&event]),
        ssa::Version::Phi(phi) => Version::Phi(ssa.phis()[phi as usize].block),
    };
    let mut before = BTreeMap::new();
    for ((node, event), at) in listed.iter().zip(&place) {
        if pruning == Pruning::None || case.dom.is_reachable(*node) {
            let key = (number(by_event[at]) as u32, event.variable as u8);
            before.insert(key, version(ssa.reaching(*at)));
        }
    }
    let phis = ssa.phis().iter().map(|phi| {
        let incoming = ssa.incoming(phi).iter().map(|&(pred, v)| (pred, version(v)));
        ((phi.variable as u8, phi.block), incoming.collect())
    });
    (before, phis.collect())
}

fn said(form: &Form) -> Said {
    let before =
        form.touches().map(|touch| ((number(touch.inst) as u32, touch.variable), touch.before));
    let phis = (0..COUNT).flat_map(|variable| {
        let incoming = move |block| form.incoming(variable, block).expect("it has a phi").collect();
        form.phis(variable).map(move |block| ((variable, block), incoming(block)))
    });
    (before.collect(), phis.collect())
}

#[test]
fn versions_are_those_of_the_general_form() {
    let (mut touches, mut phis) = (0, 0);
    for seed in 0..2000 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let Some(case) = Case::new(seed, rng) else { continue };
        for pruning in [Pruning::None, Pruning::Live] {
            let form = case.form(pruning);
            let found = said(&form);
            assert_eq!(found, general(&case, pruning), "seed {seed}, {pruning:?}");
            for touch in form.touches() {
                let own: Vec<_> =
                    form.of(touch.inst).filter(|own| own.variable == touch.variable).collect();
                assert_eq!(own, [touch], "seed {seed}: by instruction");
                let Does { uses, defines } = case.does[number(touch.inst)];
                let is = |set: u8| set >> touch.variable & 1 != 0;
                assert_eq!((touch.uses, touch.defines), (is(uses), is(defines)));
            }
            touches += found.0.len();
            phis += found.1.len();
        }
    }
    assert!(touches > 20_000 && phis > 5_000, "{touches} {phis}");
}

#[test]
fn readers_are_the_form_turned_round() {
    let mut count = 0;
    for seed in 0..600 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let Some(case) = Case::new(seed, rng) else { continue };
        let form = case.form(Pruning::Live);
        readers_are_right(&case, &form, &mut count);
    }
    assert!(count > 3000, "{count}");
}

fn readers_are_right(case: &Case, form: &Form, count: &mut usize) {
    let mut expected: BTreeSet<(u8, Version, String)> = BTreeSet::new();
    let (before, phis) = said(form);
    for ((inst, variable), version) in before {
        let defines = case.does[inst as usize].defines >> variable & 1 != 0;
        let reader = Reader::Touch(InstId::from_raw(inst.into()), defines);
        expected.insert((variable, version, format!("{reader:?}")));
    }
    for ((variable, block), incoming) in phis {
        let reader = format!("{:?}", Reader::Phi(block));
        expected.extend(incoming.into_iter().map(|(_, v)| (variable, v, reader.clone())));
    }
    expected.retain(|(_, version, _)| *version != Version::Entry);
    let mut found = BTreeSet::new();
    for variable in 0..COUNT {
        let definitions = form.touches().filter(|t| t.variable == variable && t.defines);
        let definitions = definitions.map(|touch| Version::Def(touch.inst));
        for version in definitions.chain(form.phis(variable).map(Version::Phi)) {
            form.readers(variable, version, |reader| {
                *count += 1;
                found.insert((variable, version, format!("{reader:?}")));
            });
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn what_follows_edits_is_the_form_from_scratch() {
    let (mut same, mut other, mut joins, mut ignored) = (0, 0, 0, 0);
    for seed in 0..1500 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let Some(mut case) = Case::new(seed, rng) else { continue };
        let mut forms = [Pruning::None, Pruning::Live].map(|pruning| (pruning, case.form(pruning)));
        for round in 0..12 {
            let edits = rng.random_range(1..=if round % 4 == 3 { 30 } else { 3 });
            let mut changed: Vec<InstId> = (0..edits).map(|_| case.edit(rng)).collect();
            // Unchanged instructions may be listed as well.
            changed.extend(case.body.all_ids().filter(|_| rng.random_bool(0.02)));
            for (pruning, form) in &mut forms {
                if *pruning == Pruning::Live && rng.random_bool(0.5) {
                    // Builds the lazy reader table of the old form; the new form must not reuse it.
                    readers_are_right_after(form);
                }
                let looked: Vec<Look> = changed.iter().map(|&i| case.look(i, *pruning)).collect();
                let scratch = case.form(*pruning);
                match form.update(&case.body, case.graphs(), &looked, None) {
                    UpdatedFact::Unknown => panic!("seed {seed}: the graph is the same"),
                    UpdatedFact::Same => same += 1,
                    UpdatedFact::Other(new) => {
                        assert!(new != *form, "seed {seed}: it is the same");
                        other += 1;
                        joins += usize::from(new.joins != form.joins);
                        *form = new;
                    }
                }
                assert!(*form == scratch, "seed {seed}, round {round}, {pruning:?}");
                assert_eq!(said(form), said(&scratch), "seed {seed}, round {round}");
                if *pruning == Pruning::Live {
                    readers_are_right(&case, form, &mut ignored);
                }
            }
        }
    }
    assert!(same > 500 && other > 5_000 && joins > 1_000, "{same} {other} {joins}");
}

/// Asks for the readers of everything.
fn readers_are_right_after(form: &Form) {
    for variable in 0..COUNT {
        form.phis(variable).for_each(|block| form.readers(variable, Version::Phi(block), |_| ()));
    }
}

#[test]
fn an_edit_shares_what_it_does_not_touch() {
    let rng = &mut SmallRng::seed_from_u64(7);
    let mut case =
        (0..).find_map(|seed| Case::new(5 * seed, rng).filter(|c| c.cfg.node_count() > 64));
    let case = case.as_mut().expect("there is one");
    let (entry, other) = (case.cfg.entry(), Does { uses: 0, defines: 1 });
    let made: Vec<InstId> = (0..2).map(|_| case.create(rng)).collect();
    for &inst in &made {
        case.does[number(inst)] = other;
        case.body.append(block_of(entry), inst);
    }
    let form = case.form(Pruning::Live);
    case.body.unlink(made[0]);
    let look = case.look(made[0], Pruning::Live);
    let UpdatedFact::Other(new) = form.update(&case.body, case.graphs(), &[look], None) else {
        panic!("there is a definition less");
    };
    assert!(new == case.form(Pruning::Live));
    for variable in 0..usize::from(COUNT) {
        assert!(std::sync::Arc::ptr_eq(&form.joins[variable], &new.joins[variable]));
    }
}
