//! `phalanx opt`: LLVM's printing passes, the verifier, and the module as text.

use std::io::Write as _;

use anyhow::Context as _;
use phalanx::{
    ReadError, Session,
    db::{Database, FunctionEntry, ModuleInput, queries},
    ir::flow::node_of,
    llvm::ModulePrinter,
    report::llvm::{
        Text, print_cycles, print_dom_frontier, print_dom_tree, print_postdom_tree,
        print_uniformity,
    },
    target::{LaunchFacts, Scope, varying},
};

use crate::{
    Status,
    analyze::overrides,
    args::OptArgs,
    functions,
    input::{self, Source},
    pipeline::{FunctionPass, Group, Pipeline},
    terminal::Terminal,
};

/// Runs the command.
pub(crate) fn run(args: &OptArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let pipeline = Pipeline::parse(&args.passes)?;
    let source = input::read(&args.file)?;
    let groups = pipeline.groups();
    let wants_verifier = !args.disable_verify || groups.contains(&Group::Verify);
    let mut session = Session::new();
    let read = match wants_verifier {
        true => session.read_for(&source.text, overrides(&args.target)),
        false => session.read_unverified(&source.text, overrides(&args.target)),
    };
    let module = match read {
        Ok(module) => module,
        Err(error) => return Ok(refuse(&error, &source, terminal)),
    };
    for group in &groups {
        if let Group::Functions(passes) = group {
            print_facts(&session, module.input(), passes, args.exact_llvm, terminal)?;
        }
    }
    if !args.disable_output && (args.text || args.output.is_some()) {
        write_module(args, &session.print(module))?;
    }
    Ok(Status::Fine)
}

/// A broken rule is a finding; text that is no IR is bad input.
fn refuse(error: &ReadError, source: &Source, terminal: &Terminal) -> Status {
    terminal.err(&error.render(&source.name, &source.text));
    match error {
        ReadError::Parse(_) => Status::Bad,
        ReadError::Verify(_) => Status::Findings,
    }
}

fn print_facts(
    session: &Session,
    module: ModuleInput,
    passes: &[FunctionPass],
    exact: bool,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let db = session.database();
    let views = module.functions(db).iter().map(|entry| entry.input.view(db)).collect();
    let printer = ModulePrinter::with_functions(module.shell(db), views);
    let entries = functions::select(session, module, &[])?;
    let mut stderr = std::io::stderr().lock();
    let print = |db: &Database, entry: FunctionEntry, out: &mut Text<'_>| {
        for &pass in passes {
            print_pass(db, entry, &printer, (pass, exact), out);
        }
    };
    functions::for_each(
        session,
        &entries,
        (terminal, "printing"),
        |db, entry| {
            if entry.input.flow(db).order().len() > FEW_BLOCKS {
                ask(db, entry, passes, exact);
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

/// The text of larger functions may be quadratic: it is not held in memory but written when its turn comes.
const FEW_BLOCKS: usize = 512;

/// Computes what the passes print, so that this is done in parallel even if the printing is not.
fn ask(db: &Database, entry: FunctionEntry, passes: &[FunctionPass], exact: bool) {
    let input = entry.input;
    for pass in passes {
        match pass {
            FunctionPass::Uniformity if exact => {}
            FunctionPass::Uniformity => drop(queries::uniformity(db, input)),
            FunctionPass::Cycles => drop(queries::cycles(db, input)),
            FunctionPass::DomTree => drop(queries::dom_tree(db, input)),
            FunctionPass::PostDomTree => drop(queries::postdom_tree(db, input)),
            FunctionPass::DomFrontier => drop(queries::dom_frontier(db, input)),
        }
    }
}

fn print_pass(
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
            let cycles = queries::cycles(db, input).as_ref()?;
            print_uniformity(name, view, (cycles, facts), scope, &names, out);
        }
        FunctionPass::Cycles => {
            print_cycles(name, queries::cycles(db, input).as_ref()?, &names, out);
        }
        FunctionPass::DomTree => {
            print_dom_tree(name, queries::dom_tree(db, input).as_ref()?, &names, out);
        }
        FunctionPass::PostDomTree => {
            print_postdom_tree(name, queries::postdom_tree(db, input).as_ref()?, &names, out);
        }
        FunctionPass::DomFrontier => {
            let order: Vec<_> = view.flow.order().iter().map(|&block| node_of(block)).collect();
            let (cfg, tree) =
                (queries::cfg(db, input).as_ref()?, queries::dom_tree(db, input).as_ref()?);
            let frontiers = queries::dom_frontier(db, input).as_ref()?;
            print_dom_frontier(name, (cfg, tree, frontiers), &order, &names, out);
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
