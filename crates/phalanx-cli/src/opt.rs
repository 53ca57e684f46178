//! `phalanx opt`: transforms, LLVM's printing passes, the verifier, and the module as text.

use std::io::Write as _;

use anyhow::Context as _;
use phalanx::{
    ReadError, Session,
    db::{Database, FunctionEntry, FunctionInput, ModuleInput, queries},
    ir::flow::node_of,
    llvm::ModulePrinter,
    report::alias::print_aliases,
    report::explain::UnknownName,
    report::hssa::print_hssa,
    report::llvm::{
        Text, print_cycles, print_dom_frontier, print_dom_tree, print_memory_ssa,
        print_postdom_tree, print_uniformity,
    },
    target::{LaunchFacts, Scope, varying},
    transform::{Event, Group, Manager, Options, Pipeline},
};

use crate::{
    analyze::{extension, overrides},
    args::OptArgs,
    functions,
    input::{self, Source},
    pipeline::{FunctionPass, Use, asking_alone, registry},
    status::Status,
    terminal::Terminal,
};

/// Runs the command.
pub(crate) fn run(args: &OptArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let registry = registry(args.exact_llvm);
    let pipeline = Pipeline::parse(&args.passes, &registry).map_err(|error| {
        let names = || registry.names().map(str::to_owned);
        let near = error.unknown_pass().map(|name| UnknownName::among("pass", name, names()));
        match near.filter(|near| !near.near.is_empty()) {
            Some(near) => anyhow::Error::from(error).context(near),
            None => error.into(),
        }
    })?;
    let source = input::read_one(&args.file, &args.source, &args.target, None, terminal)?;
    let is_verify = |group: &Group| matches!(group, Group::Verify);
    let wants_verifier = !args.disable_verify || pipeline.groups.iter().any(is_verify);
    // The log costs little time, but it grows unless it is read.
    let mut session = match args.stats {
        true => Session::with_event_log(),
        false => Session::new(),
    };
    session.set_threads(functions::threads());
    let read = match wants_verifier {
        true => session.read_for(&source.text, overrides(&args.target)),
        false => session.read_unverified(&source.text, overrides(&args.target)),
    };
    let module = match read {
        Ok(module) => module,
        Err(error) => return Ok(refuse(&error, &source, terminal)),
    };
    session.set_extension(module, extension(&args.target)?);
    let options = Options { verify_each: args.verify_each, statistics: args.stats };
    let mut runner = Runner {
        manager: Manager::new(options),
        is_transformed: false,
        is_broken: false,
        prints_changed: args.print_changed,
        terminal,
    };
    for group in &pipeline.groups {
        match asking_alone(group) {
            Some(passes) => {
                ask_all(&session, module.input(), &passes, args.exact_llvm, terminal)?;
            }
            None => runner.group(&mut session, module.input(), group)?,
        }
    }
    if !args.disable_verify {
        runner.group(&mut session, module.input(), &Group::Verify)?;
    }
    if args.stats {
        terminal.tell(&runner.manager.statistics().table())?;
    }
    if args.time_passes {
        terminal.tell(&runner.manager.statistics().times())?;
    }
    if runner.is_broken {
        return Ok(Status::Findings);
    }
    if !args.disable_output && (args.text || args.output.is_some()) {
        write_module(args, &session.print(module))?;
    }
    Ok(Status::Fine)
}

/// Runs groups of passes and prints their output.
struct Runner<'t> {
    manager: Manager,
    is_transformed: bool,
    is_broken: bool,
    prints_changed: bool,
    terminal: &'t Terminal,
}

impl Runner<'_> {
    fn group(
        &mut self,
        session: &mut Session,
        module: ModuleInput,
        group: &Group,
    ) -> anyhow::Result<()> {
        // The module was verified when it was read.
        if matches!(group, Group::Verify) && !self.is_transformed {
            return Ok(());
        }
        let Runner { manager, is_transformed, is_broken, prints_changed, terminal } = self;
        let mut told = Ok(());
        let mut tell = |db: &Database, event: Event<'_>| match event {
            Event::Changed { pass, function } => {
                *is_transformed = true;
                if *prints_changed && told.is_ok() {
                    told = terminal.tell(&after(db, module, pass, function));
                }
            }
            Event::Broken { pass, function, errors } => {
                *is_broken = true;
                let after = pass.map(|pass| format!(" after {pass}")).unwrap_or_default();
                let name = function.name.symbol().map(|s| module.context(db).text(s));
                let name = name.unwrap_or_default();
                for error in &errors {
                    terminal.error(&format!("@{name}{after}: {}", error.message));
                }
            }
            Event::GaveUp { pass, function, error } => {
                let name = function.name.symbol().map(|s| module.context(db).text(s));
                let name = name.unwrap_or_default();
                terminal.warn(&format!(
                    "@{name}: {pass} could not be finished, the function is as it was ({error}); \
                     this is a defect of phalanx"
                ));
            }
            _ => {}
        };
        // Every error was printed, and the pipeline continued.
        let _ = manager.run_group(session.database_mut(), module, group, &mut tell);
        Ok(told?)
    }
}

/// The text of a function that a pass has changed.
fn after(db: &Database, module: ModuleInput, pass: &str, function: FunctionEntry) -> String {
    let views = module.functions(db).iter().map(|entry| entry.input.view(db)).collect();
    let printer = ModulePrinter::with_functions(module.shell(db), views);
    let mut out = Vec::new();
    printer.function(function.input.view(db)).text(&mut out);
    let name = function.name.symbol().map(|s| module.context(db).text(s)).unwrap_or_default();
    format!("*** IR Dump After {pass} on {name} ***\n{}", String::from_utf8_lossy(&out))
}

/// A broken rule of the IR is a finding; text that is no IR is bad input.
fn refuse(error: &ReadError, source: &Source, terminal: &Terminal) -> Status {
    terminal.err(&error.render(&source.module, &source.text));
    match error {
        ReadError::Parse(_) => Status::Bad,
        ReadError::Verify(_) => Status::Findings,
    }
}

/// Runs passes that change nothing on all functions, in parallel.
fn ask_all(
    session: &Session,
    module: ModuleInput,
    passes: &[(FunctionPass, Use)],
    exact: bool,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let db = session.database();
    let views = module.functions(db).iter().map(|entry| entry.input.view(db)).collect();
    let printer = ModulePrinter::with_functions(module.shell(db), views);
    let entries = functions::select(session, module, &[])?;
    let mut stderr = std::io::stderr().lock();
    let print = |db: &Database, entry: FunctionEntry, out: &mut Text<'_>| {
        for &(pass, used) in passes {
            match used {
                Use::Print => {
                    print_pass(db, entry, &printer, (pass, exact), out);
                }
                Use::Require => ask(db, entry.input, pass, exact),
            }
        }
    };
    functions::for_each(
        session,
        &entries,
        (terminal, "printing"),
        |db, entry| {
            if entry.input.flow(db).order().len() > FEW_BLOCKS {
                // What is found by LLVM's own rules is no query, and so not kept until then.
                let kept = passes.iter().filter(|(p, _)| !exact || *p != FunctionPass::Uniformity);
                kept.for_each(|&(pass, _)| ask(db, entry.input, pass, exact));
                return None;
            }
            let mut out = Text::new();
            print(db, entry, &mut out);
            out.finish().ok()
        },
        |entry, out| {
            let written = match out {
                Some(out) => stderr.write_all(&out),
                None => {
                    let mut out = Text::to(&mut stderr);
                    print(session.database(), entry, &mut out);
                    out.finish().map(drop)
                }
            };
            written.context("cannot write to standard error")
        },
    )
}

/// The output for larger functions may be quadratic, so it is written directly instead of being
/// held in memory.
const FEW_BLOCKS: usize = 512;

/// Finds the facts that a pass is about.
pub(crate) fn ask(db: &Database, input: FunctionInput, pass: FunctionPass, exact: bool) {
    match pass {
        FunctionPass::Uniformity if exact => drop(queries::exact_llvm_uniformity(db, input)),
        FunctionPass::Uniformity => drop(queries::uniformity(db, input)),
        FunctionPass::Cycles => drop(queries::cycles(db, input)),
        FunctionPass::DomTree => drop(queries::dom_tree(db, input)),
        FunctionPass::PostDomTree => drop(queries::postdom_tree(db, input)),
        FunctionPass::DomFrontier => drop(queries::dom_frontier(db, input)),
        FunctionPass::MemorySsa => drop(queries::classic_memory_ssa(db, input)),
        FunctionPass::Hssa => drop(queries::memory_ssa(db, input)),
        FunctionPass::Alias => drop(queries::memory_kinds(db, input)),
    }
}

pub(crate) fn print_pass(
    db: &Database,
    entry: FunctionEntry,
    printer: &ModulePrinter<'_>,
    (pass, exact): (FunctionPass, bool),
    out: &mut Text<'_>,
) -> Option<()> {
    let input = entry.input;
    let view = input.view(db);
    let names = printer.function(view);
    let name = match entry.name.symbol() {
        Some(symbol) => input.module(db).context(db).bytes(symbol),
        None => b"",
    };
    match pass {
        FunctionPass::Uniformity => {
            let own;
            let facts = match exact {
                true => {
                    own = queries::exact_llvm_uniformity(db, input)?;
                    &own
                }
                false => queries::uniformity(db, input).as_ref()?,
            };
            // LLVM has one scope, the wave, and no launch facts beyond its source tables.
            let scope = varying(Scope::Wave, &LaunchFacts::default());
            let cycles = queries::cycles(db, input)?;
            print_uniformity(name, view, (cycles, facts), scope, &names, out);
        }
        FunctionPass::Cycles => {
            print_cycles(name, queries::cycles(db, input)?, &names, out);
        }
        FunctionPass::DomTree => {
            print_dom_tree(name, queries::dom_tree(db, input)?, &names, out);
        }
        FunctionPass::PostDomTree => {
            print_postdom_tree(name, queries::postdom_tree(db, input)?, &names, out);
        }
        FunctionPass::DomFrontier => {
            let order: Vec<_> = view.flow.order().iter().map(|&block| node_of(block)).collect();
            let (cfg, tree) = (queries::cfg(db, input)?, queries::dom_tree(db, input)?);
            let frontiers = queries::dom_frontier(db, input)?;
            print_dom_frontier(name, (cfg, tree, frontiers), &order, &names, out);
        }
        FunctionPass::MemorySsa => {
            let memory = queries::classic_memory_ssa(db, input).as_ref()?;
            print_memory_ssa(name, view, memory, &names, out);
        }
        FunctionPass::Hssa => {
            print_hssa(name, view, queries::memory_ssa(db, input).as_ref()?, &names, out);
        }
        FunctionPass::Alias => {
            queries::cfg(db, input)?;
            let relate = |a, b| queries::alias(db, input, a, b);
            print_aliases(name, view, relate, &names, out);
        }
    }
    Some(())
}

fn write_module(args: &OptArgs, text: &[u8]) -> anyhow::Result<()> {
    match &args.output {
        Some(path) if !input::is_stdin(path) => {
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
        }
        _ => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(text)?;
            Ok(stdout.flush()?)
        }
    }
}
