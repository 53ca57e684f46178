//! Compares incrementally updated kinds of pointers and retained facts about memory with those from
//! scratch, after random edits; and checks chains against the rules.

use phalanx::{
    FunctionId, Session,
    analysis::{
        memory::PrivateMemory,
        spaces::{Returned, SpaceFacts, SpaceSet, SpaceSubject, VariableFacts, chain_holds},
    },
    db::{Database, FunctionEntry, FunctionInput, TargetOverrides, queries},
    ir::{GlobalName, Module, Value},
};
use rand::{Rng as _, RngCore};

use super::program_with;
use crate::{
    edits::{Graph, Refused, instructions},
    oracle::{Right, with_code},
};

/// Results of the edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edited {
    /// Transactions that were kept.
    pub committed: u64,
    /// Results that were updated incrementally.
    pub repaired: u64,
    /// Results from scratch.
    pub solved: u64,
    /// Edits that are claimed to leave private memory unchanged although they change instructions
    /// that access it.
    pub left: u64,
    /// Edits that changed it.
    pub other: u64,
    /// How the facts about memory were computed.
    pub memory: queries::MemoryRepairs,
}

impl Edited {
    /// Adds another.
    pub fn merge(&mut self, other: Edited) {
        self.committed += other.committed;
        self.repaired += other.repaired;
        self.solved += other.solved;
        self.left += other.left;
        self.other += other.other;
        self.memory.merge(other.memory);
    }
}

/// Edits instructions of a random program of pointers. After each edit, the kinds of all functions
/// and the facts about their memory must equal those of a new database.
///
/// # Panics
/// When they are not.
#[must_use]
pub fn edited(rng: &mut dyn RngCore, rounds: usize) -> Edited {
    // Functions that test addresses are found from scratch.
    let text = program_with(rng, 3, false);
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let kernel = session.function(module, "f").expect("the kernel is called @f");
    let mut tally = Edited::default();
    ask(&session, kernel);
    // Recomputed only when an edit is claimed to affect it, as a real user of the fact does.
    let mut kept = private(&session, kernel);
    for _ in 0..rounds {
        let position = kernel.input().body(session.database()).journal().position();
        let done = session.edit(kernel, |edit| {
            edit.verifying(true);
            let graph = Graph::new(edit.flow());
            for _ in 0..rng.random_range(1..3) {
                // Refused operations have changed nothing.
                let _ = instructions(edit, &graph, rng);
            }
            Ok::<(), Refused>(())
        });
        tally.committed += u64::from(done.is_ok());
        for (kept, now) in kept.iter_mut().zip(private(&session, kernel)) {
            if !is_left(&session, kernel, position, (kept, &now), &mut tally) {
                *kept = now;
            }
        }
        let mut fresh: Module = module.input().shell(session.database()).clone();
        let entries = module.input().functions(session.database());
        let copies = entries.iter().map(|e| e.input.view(session.database()).to_function());
        fresh.functions = copies.collect();
        let mut db = Database::new();
        let cold = db.load(fresh, None, TargetOverrides::default());
        let pairs = entries.iter().zip(cold.functions(&db));
        for (warm, cold) in pairs.filter(|(warm, _)| warm.is_definition) {
            let kinds = |db: &Database, entry: &FunctionEntry| {
                queries::memory_kinds(db, entry.input).clone()
            };
            let [known, found] = [kinds(session.database(), warm), kinds(&db, cold)];
            if known != found {
                let text = String::from_utf8_lossy(&session.print(module)).into_owned();
                let body = warm.input.body(session.database());
                let values = body.all_ids().map(Value::inst);
                let (known, found) = (known.as_ref(), found.as_ref());
                let of = |v| (known.map(|kinds| kinds.of(v)), found.map(|kinds| kinds.of(v)));
                let others = values.map(|v| (v, of(v))).filter(|(_, (a, b))| a != b);
                let others: Vec<_> = others.collect();
                panic!("repaired kinds are not those from scratch: {others:?}\n{text}");
            }
            let (known, found) = ((session.database(), warm.input), (&db, cold.input));
            macro_rules! same {
                ($($query:ident)*) => {$(assert!(
                    queries::$query(known.0, known.1) == queries::$query(found.0, found.1),
                    "{} is not what it is from scratch\n{}",
                    stringify!($query),
                    String::from_utf8_lossy(&session.print(module))
                );)*};
            }
            same!(private_memory address_memory memory_ssa classic_memory_ssa pointer_flow);
        }
    }
    let repairs = queries::kind_repairs(session.database(), kernel.input());
    let memory = queries::memory_repairs(session.database(), kernel.input());
    Edited { repaired: repairs.repaired, solved: repairs.solved, memory, ..tally }
}

/// Private objects of a function: all, and those in which addresses are kept.
fn private(session: &Session, function: FunctionId) -> Vec<PrivateMemory> {
    let (db, function) = (session.database(), function.input());
    let (Some(cfg), Some(dom)) = (queries::cfg(db, function), queries::dom_tree(db, function))
    else {
        return Vec::new();
    };
    with_code(db, function, &Right { db, function }, |code, around| {
        [PrivateMemory::without_origins, PrivateMemory::of_addresses]
            .map(|of| of(code, around, cfg, dom))
            .into()
    })
}

/// Whether an edit is claimed to leave private memory unchanged; then its slots, touches and
/// versions must be the same.
fn is_left(
    session: &Session,
    function: FunctionId,
    position: u64,
    (before, now): (&PrivateMemory, &PrivateMemory),
    tally: &mut Edited,
) -> bool {
    let (db, function) = (session.database(), function.input());
    let body = function.body(db);
    let Some(changes) = body.journal().since(position).filter(|changes| !changes.flow) else {
        return false;
    };
    let is_affected = with_code(db, function, &Right { db, function }, |code, around| {
        before.objects_depend_on(code, around, &changes.insts)
    });
    let is_same = (before.slots(), before.touches(), before.ssa(), before.events())
        == (now.slots(), now.touches(), now.ssa(), now.events());
    let touches = |inst: &phalanx::ir::InstId| !before.of(*inst).is_empty();
    assert!(is_affected || is_same, "{:?}", changes.insts);
    tally.left += u64::from(!is_affected && changes.insts.iter().any(touches));
    tally.other += u64::from(!is_same);
    !is_affected
}

fn ask(session: &Session, function: FunctionId) {
    queries::memory_kinds(session.database(), function.input());
}

/// The facts about a function's surroundings, as queries have them.
struct Asked<'a> {
    db: &'a Database,
    function: FunctionInput,
}

impl SpaceFacts for Asked<'_> {
    fn argument(&self, position: u32) -> Option<SpaceSet> {
        let known = queries::argument_spaces(self.db, self.function).as_ref();
        known?.get(position as usize).copied()
    }

    fn returned(&self, callee: GlobalName) -> Option<Returned> {
        let module = self.function.module(self.db);
        *queries::returned_spaces(self.db, *queries::symbols(self.db, module).get(&callee)?)
    }

    fn variable(&self, name: GlobalName) -> Option<VariableFacts> {
        queries::variables(self.db, self.function.module(self.db)).get(&name).copied()
    }
}

/// Checks that exactly the memories that a pointer may point to have a chain, and that all links
/// hold. Returns how many chains there were.
///
/// # Panics
/// When one does not hold, or is missing.
#[must_use]
pub fn chains(rng: &mut dyn RngCore) -> usize {
    let text = program_with(rng, 2, true);
    let mut session = Session::new();
    let id = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let db = session.database();
    let mut count = 0;
    for entry in id.input().functions(db).iter().filter(|entry| entry.is_definition) {
        let function = entry.input;
        let (Some(cfg), Some(dom), Some(kinds)) = (
            queries::cfg(db, function),
            queries::dom_tree(db, function),
            queries::memory_kinds(db, function).as_ref(),
        ) else {
            continue;
        };
        let (right, asked) = (Right { db, function }, Asked { db, function });
        with_code(db, function, &right, |code, around| {
            let memory = PrivateMemory::without_origins(code, around, cfg, dom);
            for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
                let is_pointer = code.context.type_kind(code.body.inst(inst).ty).address_space();
                if is_pointer.is_none() || rng.random_bool(0.4) {
                    continue;
                }
                let subject = SpaceSubject::Value(Value::inst(inst));
                let chains = queries::explain_spaces(db, function, subject, SpaceSet::ALL);
                let told = chains.iter().fold(SpaceSet::EMPTY, |all, chain| all | chain.memories);
                assert!(told == kinds.of(inst.into()), "{inst:?}: {told}\n{text}");
                for chain in &chains {
                    count += 1;
                    let holds = chain_holds(code, around, (cfg, dom), &memory, &asked, chain);
                    assert!(holds, "{inst:?}: {chain:?}\n{text}");
                }
            }
        });
    }
    count
}
