//! `phalanx analyze`.

use anyhow::Context as _;
use phalanx::{
    ModuleId, ReadError, Session,
    analysis::{stable::Assumptions, variance::BarrierModel},
    db::TargetOverrides,
    llvm::ModulePrinter,
    report::analyze::{Legend, ModuleReport, Sections, report_function, report_module, write_text},
    target::{LaunchStatement, Scope, library::Extension},
};

use crate::{
    args::{AnalyzeArgs, BarrierArg, Format, ScopeArg, Section, TargetArgs},
    functions,
    input::{self, Reader, Source},
    run::extents,
    status::Status,
    terminal::Terminal,
};

/// Runs the command. If a file cannot be read, the others are analysed nevertheless.
pub(crate) fn run(args: &AnalyzeArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    input::read_stdin_once(&args.files)?;
    let mut worst = Status::Fine;
    let mut reports = Vec::new();
    let mut legend = Legend::default();
    let all = args.print.contains(&Section::All);
    let workgroup = args.group.of(terminal).map(extents).transpose().context("--group")?;
    let reader = Reader::new(&args.source, &args.target).launched_with(workgroup);
    for path in &args.files {
        let source = match reader.read(path) {
            Ok(source) => source,
            Err(error) => {
                input::tell(&error, terminal);
                worst = Status::Bad;
                continue;
            }
        };
        source.note(terminal);
        match report(args, workgroup, &source, terminal)? {
            Some(report) if args.format == Format::Json => reports.push(report),
            Some(report) => {
                let mut text = String::new();
                write_text(&report, all, &mut text)?;
                legend.note(&report, all);
                terminal.out(&text)?;
            }
            None => worst = Status::Bad,
        }
    }
    let mut end = String::new();
    if args.format == Format::Json {
        end = serde_json::to_string_pretty(&reports)?;
        end.push('\n');
    } else {
        legend.write(&mut end)?;
    }
    terminal.out(&end)?;
    Ok(worst)
}

fn report(
    args: &AnalyzeArgs,
    workgroup_size: Option<[u32; 3]>,
    source: &Source,
    terminal: &Terminal,
) -> anyhow::Result<Option<ModuleReport>> {
    let mut session = Session::new();
    let module = match read(&mut session, source, &args.target)? {
        Ok(module) => module.input(),
        Err(error) => {
            terminal.err(&error.render(&source.module, &source.text));
            return Ok(None);
        }
    };
    let scope = scope(args.scope);
    let entries = functions::select(&session, module, &args.function)?;
    let launch = LaunchStatement {
        workgroup_size,
        wave_width: args.wave,
        cluster_size: args.cluster.as_deref().map(extents).transpose().context("--cluster")?,
    };
    let are_named = !args.function.is_empty();
    for warning in functions::state_launch(&mut session, &entries, launch, are_named)? {
        terminal.warn(&warning);
    }
    session.database_mut().set_whole(module, args.whole_program);
    let db = session.database();
    let printer = ModulePrinter::with_functions(
        module.shell(db),
        module.functions(db).iter().map(|entry| entry.input.view(db)).collect(),
    );
    let sections = sections(&args.print);
    let assumed = assumptions(scope, args.assume_barriers, args.assume_race_free);
    let mut report = report_module(db, module, &source.name, scope);
    functions::for_each(
        &session,
        &entries,
        (terminal, "analyzing"),
        |db, entry| report_function(db, entry, &printer, &source.text, (scope, sections, assumed)),
        |_, function| {
            report.functions.extend(function);
            Ok(())
        },
    )?;
    Ok(Some(report))
}

/// The triple and processor that options state.
pub(crate) fn overrides(args: &TargetArgs) -> TargetOverrides {
    TargetOverrides { triple: args.mtriple.clone(), cpu: args.mcpu.clone() }
}

/// Descriptions of functions and of the machine from options.
pub(crate) fn extension(args: &TargetArgs) -> anyhow::Result<Extension> {
    let Some(path) = &args.own_functions else { return Ok(Extension::default()) };
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Extension::parse(&text).with_context(|| format!("in {}", path.display()))
}

/// Reads and verifies a module, with the descriptions from options.
pub(crate) fn read(
    session: &mut Session,
    source: &Source,
    args: &TargetArgs,
) -> anyhow::Result<Result<ModuleId, ReadError>> {
    let extension = extension(args)?;
    session.set_threads(functions::threads());
    let read = session.read_for(&source.text, overrides(args));
    if let Ok(module) = read {
        session.set_extension(module, extension);
    }
    Ok(read)
}

/// The assumptions. For scopes beyond a wave, loads of other waves matter even without assumptions.
pub(crate) fn assumptions(
    scope: Scope,
    barriers: Option<BarrierArg>,
    race_free: bool,
) -> Option<Assumptions> {
    let barriers = barriers.map(|arg| match arg {
        BarrierArg::Strict => BarrierModel::Strict,
        BarrierArg::Lenient => BarrierModel::Lenient,
    });
    let assumptions = Assumptions { barriers, race_free };
    (scope > Scope::Wave || assumptions != Assumptions::NONE).then_some(assumptions)
}

pub(crate) fn scope(arg: ScopeArg) -> Scope {
    match arg {
        ScopeArg::Quad => Scope::Quad,
        ScopeArg::Wave => Scope::Wave,
        ScopeArg::Workgroup => Scope::Workgroup,
        ScopeArg::Cluster => Scope::Cluster,
        ScopeArg::Grid => Scope::Grid,
    }
}

fn sections(chosen: &[Section]) -> Sections {
    if chosen.contains(&Section::All) {
        return Sections::ALL;
    }
    let has = |section| chosen.contains(&section);
    Sections {
        branches: has(Section::Branches),
        cycles: has(Section::Cycles),
        values: has(Section::Values),
        uses: has(Section::Uses),
        blocks: has(Section::Blocks),
        accesses: has(Section::Accesses),
        loads: has(Section::Loads),
        spaces: has(Section::Spaces),
        trees: has(Section::Trees),
        convergence: has(Section::Convergence),
    }
}
