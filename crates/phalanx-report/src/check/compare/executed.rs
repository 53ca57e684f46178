//! Executes both versions of each kernel in the same launches, and reports what
//! [`phalanx_simt::versions`] finds.
//!
//! A function that is no kernel is executed with the kernels that call it; one that only code
//! outside of the module can call is executed by itself.
//!
//! Results are compared only if floating-point operations have fixed rounding: without fast-math
//! flags.

use phalanx_analysis::check::{Level, Rule};
use phalanx_db::{FunctionInput, queries};
use phalanx_ir::{ConstKind, GlobalName, InstFlags, InstId, Module, Opcode};
use phalanx_simt::{
    Failure, Program,
    versions::{self, Change, Limits, Object, Operation, Operations, Place, Seen, Version},
};
use phalanx_target::{
    Scope,
    intrinsics::{self, BarrierPhase},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Side, is_dead, told, words::threads};
use crate::check::build::{Reported, ReportedReason};

/// What was found, and what was executed.
#[derive(Default)]
pub(super) struct Found {
    pub(super) told: Vec<(FunctionInput, Reported)>,
    /// Operations of the later version that were executed.
    pub(super) executed: FxHashSet<(FunctionInput, InstId)>,
    /// Operations of the earlier version that were executed.
    pub(super) executed_before: FxHashSet<(FunctionInput, InstId)>,
    /// Kernels that were compared.
    pub(super) kernels: usize,
    /// Kernels that could not be executed, and why.
    pub(super) not_executed: Vec<(FunctionInput, String)>,
}

/// A version that is ready to be executed.
struct Ready {
    module: Module,
    operations: Operations,
    inputs: Vec<FunctionInput>,
}

impl Ready {
    fn new(side: Side<'_>) -> Ready {
        let mut module: Module = side.module.shell(side.db).clone();
        let entries = side.module.functions(side.db);
        module.functions = entries.iter().map(|e| e.input.view(side.db).to_function()).collect();
        let defined: FxHashSet<String> =
            side.definitions().map(|entry| side.name(entry.name)).collect();
        let mut operations = Operations::default();
        for (number, entry) in entries.iter().enumerate() {
            for found in queries::group_operations(side.db, entry.input) {
                if defined.contains(&found.name) {
                    continue;
                }
                let operation = operation(&found.name, found.scope);
                operations.insert((number, found.inst), operation);
            }
        }
        Ready { module, operations, inputs: entries.iter().map(|entry| entry.input).collect() }
    }
}

/// An operation for comparison, identified by its callee. Barriers of all threads are equivalent,
/// whatever they are called.
fn operation(name: &str, scope: Scope) -> Operation {
    let intrinsic = intrinsics::lookup(name);
    let barrier = intrinsic.and_then(|intrinsic| intrinsic.info.barrier);
    let is_whole = barrier.is_some_and(|b| b.phase == BarrierPhase::Both && !b.partial);
    let name = match intrinsic {
        Some(_) if is_whole => "barrier".to_owned(),
        Some(intrinsic) => format!("{:?}.{}", intrinsic.family, intrinsic.base),
        None => name.to_owned(),
    };
    let orders = barrier.is_some_and(|barrier| barrier.phase != BarrierPhase::Arrive);
    Operation { name, scope, orders }
}

/// Compares all selected kernels that both versions have.
pub(super) fn compare(before: Side<'_>, after: Side<'_>, selected: &[FunctionInput]) -> Found {
    let mut found = Found::default();
    let (old, new) = (Ready::new(before), Ready::new(after));
    if old.operations.is_empty() && new.operations.is_empty() {
        return found;
    }
    let (ready, ready_new) = ((&old.module, before), (&new.module, after));
    let [old_program, new_program] = [ready, ready_new].map(|(module, side)| {
        let extension = side.module.extension(side.db);
        Program::with_extension(module, queries::target(side.db, side.module), extension)
    });
    let (Ok(old_program), Ok(new_program)) = (old_program, new_program) else { return found };
    let is_exact = is_exact(&old.module) && is_exact(&new.module);
    let earlier: FxHashMap<String, FunctionInput> =
        before.definitions().map(|entry| (before.name(entry.name), entry.input)).collect();
    for entry in after.definitions() {
        let name = after.name(entry.name);
        let Some(&was) = earlier.get(&name) else { continue };
        if !selected.contains(&entry.input) || !is_root(after, entry.input) {
            continue;
        }
        if !reaches(&old, &name) && !reaches(&new, &name) {
            continue;
        }
        let facts = queries::launch_facts(before.db, was);
        let versions = (
            Version { program: &old_program, operations: &old.operations },
            Version { program: &new_program, operations: &new.operations },
        );
        let compared = versions::compare(&name, facts, versions.0, versions.1, Limits::default());
        let executed = compared.executed.iter();
        found.executed.extend(executed.map(|&(number, inst)| (new.inputs[number], inst)));
        let before = compared.executed_before.iter();
        found.executed_before.extend(before.map(|&(number, inst)| (old.inputs[number], inst)));
        found.kernels += usize::from(compared.launches > 0);
        if compared.launches == 0 {
            let why = compared.obstacle.unwrap_or_else(|| "no launch is known".to_owned());
            found.told.extend(not_executed(&new, entry.input, &name, &why));
            found.not_executed.push((entry.input, why));
        }
        for seen in &compared.seen {
            if matches!(seen.change, Change::Memory { .. }) && !is_exact {
                continue;
            }
            found.told.extend(describe(seen, &old, &new, entry.input));
        }
    }
    found
}

/// Whether execution may begin at a function: a kernel, or a function that only other modules can
/// call.
fn is_root(side: Side<'_>, function: FunctionInput) -> bool {
    let place = queries::call_place(side.db, function);
    queries::is_kernel(side.db, function)
        || (!is_dead(side.db, function) && place.callers.is_empty())
}

/// Whether floating-point results are exact: no fast-math flags.
fn is_exact(module: &Module) -> bool {
    module.functions.iter().all(|function| {
        let insts =
            function.flow.order().iter().flat_map(|&block| function.body.block_insts(block));
        insts.into_iter().all(|inst| {
            let inst = function.body.inst(inst);
            let is_float = matches!(
                inst.opcode,
                Opcode::FAdd | Opcode::FSub | Opcode::FMul | Opcode::FDiv | Opcode::Call
            );
            !is_float || inst.flags.fast_math() == InstFlags::NONE
        })
    })
}

/// Whether an operation among threads is in a function, or in what it calls by name.
fn reaches(version: &Ready, name: &str) -> bool {
    let module = &version.module;
    let numbers: FxHashMap<GlobalName, usize> =
        module.functions.iter().enumerate().map(|(n, f)| (f.header.name, n)).collect();
    let with: FxHashSet<usize> = version.operations.keys().map(|&(number, _)| number).collect();
    let start = module.context.find_symbol(name.as_bytes()).map(GlobalName::Named);
    let mut pending: Vec<usize> =
        start.and_then(|name| numbers.get(&name).copied()).into_iter().collect();
    let mut seen = FxHashSet::default();
    while let Some(number) = pending.pop() {
        if !seen.insert(number) {
            continue;
        }
        if with.contains(&number) {
            return true;
        }
        let function = &module.functions[number];
        for &block in function.flow.order() {
            for inst in function.body.block_insts(block) {
                if !function.body.inst(inst).opcode.is_call() {
                    continue;
                }
                let Some(callee) = function.body.const_callee(inst) else { continue };
                if let ConstKind::Global(callee) = module.context.const_data(callee).kind {
                    pending.extend(numbers.get(&callee));
                }
            }
        }
    }
    false
}

/// An instruction of a function to point at: its first operation, or its first instruction.
fn first(version: &Ready, function: FunctionInput) -> Option<InstId> {
    let number = version.inputs.iter().position(|&input| input == function)?;
    let own = version.operations.keys().filter(|&&(at, _)| at == number);
    let function = &version.module.functions[number];
    own.map(|&(_, inst)| inst).min().or_else(|| {
        let entry = function.flow.entry()?;
        function.body.block_insts(entry).next()
    })
}

fn not_executed(
    new: &Ready,
    function: FunctionInput,
    name: &str,
    why: &str,
) -> Option<(FunctionInput, Reported)> {
    let inst = first(new, function)?;
    let message = format!("the two versions of @{name} could not be executed: {why}");
    let mut note = told(Rule::NotExecuted, Level::Note, inst, message);
    note.label = "compared by what controls each operation only".to_owned();
    Some((function, note))
}

/// What an operation is called in a sentence.
fn called(version: &Ready, place: Place) -> String {
    if version.operations.get(&place).is_some_and(|operation| operation.name == "barrier") {
        return "the barrier".to_owned();
    }
    let (function, context) = (&version.module.functions[place.0], &version.module.context);
    let callee = function.body.const_callee(place.1).and_then(|callee| {
        match context.const_data(callee).kind {
            ConstKind::Global(GlobalName::Named(symbol)) => Some(context.text(symbol).into_owned()),
            _ => None,
        }
    });
    callee.map_or_else(|| "this operation".to_owned(), |name| format!("@{name}"))
}

fn describe(
    seen: &Seen,
    old: &Ready,
    new: &Ready,
    kernel: FunctionInput,
) -> Option<(FunctionInput, Reported)> {
    let launch = ReportedReason {
        kind: "launch",
        message: format!("seen in a launch of {}", seen.launch.words()),
        inst: None,
    };
    let (place, mut said) = match &seen.change {
        Change::Group { from, at, before, after, .. } => {
            let is_barrier = new.operations.get(at).is_some_and(|o| o.scope != Scope::Wave);
            let what = called(new, *at);
            let (rule, level) = match is_barrier {
                true => (Rule::BarrierBecameDivergent, Level::Error),
                false => (Rule::GroupChanged, Level::Warning),
            };
            let message = format!("other threads than before execute {what} together");
            let mut said = told(rule, level, at.1, message);
            said.label = format!("{} come here together", threads(after));
            let function = &old.module.functions[from.0].header.name;
            let function = function.symbol().map(|s| old.module.context.text(s).into_owned());
            let message = format!(
                "before, {} executed it together in @{}",
                threads(before),
                function.unwrap_or_default()
            );
            said.reasons.push(ReportedReason { kind: "before", message, inst: None });
            said.help.push(match is_barrier {
                true => "a barrier has to stay where all threads of a workgroup come".to_owned(),
                false => "an operation that is `convergent` must stay under the conditions that it was under".to_owned(),
            });
            (*at, said)
        }
        Change::Apart { first, second, conflicts } => {
            let level = if *conflicts { Level::Error } else { Level::Warning };
            let message = match conflicts {
                true => "no barrier keeps these accesses to the same memory apart any more",
                false => "no barrier keeps these accesses apart any more",
            };
            let mut said = told(Rule::BarrierMoved, level, second.1.1, message.to_owned());
            said.label = format!("before, thread {} came here after a barrier", second.0);
            let message = format!("and thread {} came here before that barrier", first.0);
            let inst = (first.1.0 == second.1.0).then_some(first.1.1);
            said.reasons.push(ReportedReason { kind: "other", message, inst });
            said.help.push(
                "a barrier was removed, or moved over one of the accesses: it may only pass code without accesses".to_owned(),
            );
            (second.1, said)
        }
        Change::Memory { object, offset } => {
            let what = match object {
                Object::Argument(position) => format!("the memory of argument {position}"),
                Object::Variable(name) => format!("@{name}"),
                Object::Other(region) => format!("{region} memory"),
            };
            let message = format!("the kernel leaves other bytes in {what}, the first at {offset}");
            let number = new.inputs.iter().position(|&input| input == kernel)?;
            (
                (number, first(new, kernel)?),
                told(Rule::ResultChanged, Level::Warning, first(new, kernel)?, message),
            )
        }
        Change::Failure(failure) => {
            let site = match failure {
                Failure::Hang(waiting) => waiting.first().map(|waiting| waiting.site),
                Failure::Fault(fault) => fault.site,
                _ => None,
            };
            let number = site.and_then(|site| {
                new.module.functions.iter().position(|f| f.header.name == site.function)
            });
            let own = new.inputs.iter().position(|&input| input == kernel)?;
            let place = match (number, site) {
                (Some(number), Some(site)) => (number, site.inst),
                _ => (own, first(new, kernel)?),
            };
            let said = match failure {
                Failure::Hang(waiting) => {
                    let mut said = told(
                        Rule::BarrierBecameDivergent,
                        Level::Error,
                        place.1,
                        "threads wait at a barrier for ever, and did not before".to_owned(),
                    );
                    if let Some(waiting) = waiting.first() {
                        said.label = format!("{} wait here", threads(&waiting.threads));
                    }
                    said
                }
                other => {
                    let message =
                        format!("the kernel ended well before, and no longer does: {other}");
                    told(Rule::ResultChanged, Level::Warning, place.1, message)
                }
            };
            (place, said)
        }
    };
    said.reasons.push(launch);
    Some((new.inputs[place.0], said))
}
