//! What is known of functions in recursion after random edits is what a new database finds, and
//! what the [loops](super::twin) say.

use std::sync::Arc;

use phalanx_ir::{
    BuildError, Context, GlobalName, InstId, Opcode, Type, Value, edit::Transaction,
    inst::InstFlags,
};
use phalanx_testing::recursive::{Options, recursive};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};

use super::twin::check_loops;
use crate::queries;
use crate::{Database, FunctionEntry, ModuleInput, TargetOverrides};

/// A module that is edited.
pub(super) struct Edited {
    pub(super) db: Database,
    pub(super) context: Arc<Context>,
    pub(super) module: ModuleInput,
}

impl Edited {
    pub(super) fn new(text: &str) -> Edited {
        let mut db = Database::new();
        let context = Arc::new(Context::new());
        let text = format!("target triple = \"nvptx64-nvidia-cuda\"\n{text}");
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes());
        let parsed = parsed.unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let module = db.load(parsed.module, None, TargetOverrides::default());
        Edited { db, context, module }
    }

    pub(super) fn definitions(&self) -> Vec<FunctionEntry> {
        let all = self.module.functions(&self.db).iter();
        all.filter(|entry| entry.is_definition).copied().collect()
    }

    /// A database that has seen nothing of the edits.
    pub(super) fn cold(&self) -> (Database, ModuleInput) {
        let mut fresh = self.module.shell(&self.db).clone();
        let copy = |entry: &FunctionEntry| entry.input.view(&self.db).to_function();
        fresh.functions = self.module.functions(&self.db).iter().map(copy).collect();
        let mut db = Database::new();
        let module = db.load(fresh, None, TargetOverrides::default());
        (db, module)
    }

    #[track_caller]
    pub(super) fn check(&self, cold: &(Database, ModuleInput), what: &str) {
        let entries = self.module.functions(&self.db).iter().zip(cold.1.functions(&cold.0));
        for (warm, entry) in entries.filter(|(warm, _)| warm.is_definition) {
            macro_rules! same {
                ($($query:ident)*) => {$(
                    let (known, found) =
                        (queries::$query(&self.db, warm.input), queries::$query(&cold.0, entry.input));
                    assert!(known == found, "{what}: {}\n{known:?}\n{found:?}", stringify!($query));
                )*};
            }
            same!(summary argument_facts returned_spaces argument_spaces divergence memory_kinds);
        }
    }

    /// One random edit of one of the functions; whether it was done. One that breaks a rule is not.
    fn edit(&mut self, rng: &mut SmallRng) -> bool {
        let all = self.definitions();
        let entry = *all.choose(rng).expect("there are some");
        let names: Vec<GlobalName> = all.iter().map(|entry| entry.name).collect();
        let callees: Vec<Value> =
            names.iter().map(|&name| self.context.const_global(name, 0).into()).collect();
        let edit = |edit: &mut Transaction<'_>| random_edit(edit, &callees, rng);
        let done: Result<bool, BuildError> = self.db.edit(entry.input, edit);
        done == Ok(true)
    }
}

fn random_edit(
    edit: &mut Transaction<'_>,
    callees: &[Value],
    rng: &mut SmallRng,
) -> Result<bool, BuildError> {
    let blocks = edit.flow().order().to_vec();
    let order: Vec<InstId> =
        blocks.iter().flat_map(|&block| edit.body().block_insts(block)).collect();
    let of = |wanted: &[Opcode]| -> Vec<InstId> {
        let is = |inst: &&InstId| wanted.contains(&edit.body().inst(**inst).opcode);
        order.iter().filter(is).copied().collect()
    };
    // What tells something of calls, results and addresses is edited more often than the rest.
    let telling = of(&[Opcode::Call, Opcode::Ret, Opcode::Store, Opcode::Load, Opcode::Select]);
    let wanted = if rng.random_bool(0.5) { &telling } else { &order };
    let Some(&inst) = wanted.choose(rng) else { return Ok(false) };
    let place = *order.choose(rng).expect("there are instructions");
    let (opcode, operands) = (edit.body().inst(inst).opcode, edit.body().operands(inst).to_vec());
    match rng.random_range(0..20) {
        0..=8 => {
            let count = operands.len() - usize::from(opcode == Opcode::Call);
            let index = rng.random_range(0..count.max(1));
            let Some(ty) = operands.get(index).and_then(|&old| edit.type_of(old)) else {
                return Ok(false);
            };
            // What is above in the order may not be there on all ways: then the edit is refused.
            let at = order.iter().position(|&other| other == inst).unwrap_or(0);
            let above = order[..at].iter().filter(|&&above| edit.body().inst(above).ty == ty);
            let mut values: Vec<Value> = above.map(|&above| above.into()).collect();
            // Those that are there everywhere are as likely.
            for _ in 0..=values.len() / 4 {
                values.extend((0..4).map(Value::arg).filter(|&v| edit.type_of(v) == Some(ty)));
            }
            if ty == Type::I32 {
                values.push(edit.context().const_i32(rng.random_range(-2..70)).into());
            }
            let Some(&value) = values.choose(rng) else { return Ok(false) };
            edit.set_operand(inst, index as u32, value)?;
        }
        9..=11 if !opcode.is_terminator() && opcode != Opcode::Alloca => {
            let place = if rng.random() { place } else { inst };
            edit.before(place).clone_of(inst)?;
        }
        12 | 13 => edit.erase(inst)?,
        14 if !operands.is_empty() => {
            let Some(ty) = edit.type_of(inst) else { return Ok(false) };
            let same = operands.iter().find(|&&operand| edit.type_of(operand) == Some(ty));
            let Some(&same) = same else { return Ok(false) };
            edit.replace(inst, same)?;
        }
        15 => edit.move_before(inst, place)?,
        16 | 17 => {
            let calls = of(&[Opcode::Call]);
            let Some(&call) = calls.choose(rng) else { return Ok(false) };
            let callee = *callees.choose(rng).expect("there are functions");
            let at = edit.body().operands(call).len() - 1;
            edit.set_operand(call, at as u32, callee)?;
        }
        18 => {
            let accesses = of(&[Opcode::Load, Opcode::Store]);
            let Some(&access) = accesses.choose(rng) else { return Ok(false) };
            let all = [InstFlags::VOLATILE, InstFlags::NONE];
            edit.set_flags(access, *all.choose(rng).expect("there are two"))?;
        }
        19 if rng.random_bool(0.3) => {
            edit.split_before(place, "")?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// How many runs: more than the usual ones where `PHALANX_RECURSIONS` says so.
fn seeds() -> u64 {
    std::env::var("PHALANX_RECURSIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(12)
}

#[test]
fn recursions_follow_random_edits() {
    let (mut edits, mut members) = (0, 0);
    let mut summaries = queries::Repairs::default();
    let mut divergence = queries::Repairs::default();
    let mut kinds = queries::Ways::default();
    for seed in 0..seeds() {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let options = Options::random(rng);
        let mut edited = Edited::new(&recursive(rng, &options));
        edited.check(&edited.cold(), "the first time");
        for round in 0..60 {
            let count = [1, 1, 1, 3][rng.random_range(0..4)];
            edits += (0..count).filter(|_| edited.edit(rng)).count();
            // Sometimes no query runs between two edits.
            if rng.random_bool(0.1) {
                continue;
            }
            let what = format!("seed {seed}, round {round}");
            let cold = edited.cold();
            edited.check(&cold, &what);
            if round % 6 == 0 {
                members += check_loops(&cold.0, cold.1, &what);
                check_loops(&edited.db, edited.module, &what);
            }
        }
        for entry in edited.definitions() {
            summaries.merge(queries::summary_repairs(&edited.db, entry.input));
            divergence.merge(queries::round_repairs(&edited.db, entry.input));
            let more = queries::kind_round_repairs(&edited.db, entry.input);
            kinds.solved += more.solved;
            kinds.repaired += more.repaired;
        }
    }
    println!("{edits} edits, {members} members: {summaries:?} {divergence:?} {kinds:?}");
    assert!(members > 100, "{members}");
    assert!(summaries.repaired > 300, "{summaries:?}");
    assert!(divergence.repaired > 300, "{divergence:?}");
    assert!(kinds.repaired > 100, "{kinds:?}");
}
