//! `phalanx run`: executes a kernel.

mod arguments;
mod places;
mod watch;

use std::{fmt::Write as _, sync::Arc};

use anyhow::{Context as _, bail};
use phalanx::{
    ModuleId, Session,
    db::queries,
    ir::Context,
    llvm::ModulePrinter,
    parse_for,
    simt::{self, Failure, Launch, Memory, Program, launch::Order},
    target::Extent,
};
use serde_json::json;

use crate::{
    analyze::{extension, overrides, read},
    args::{Format, Reconverge, RunArgs},
    files::Files,
    functions, input,
    status::Status,
    terminal::Terminal,
};
use arguments::{Buffer, Parameters, argument, contents, show};
use places::Places;
use watch::Watch;

/// A buffer with more elements is not printed in full.
const SHOWN: usize = 256;
/// How many elements are printed at its beginning.
const HEAD: usize = 64;
/// How many are printed at its end, less the elements that the last row lacks.
const TAIL: usize = 16;

/// Runs the command.
pub(crate) fn run(args: &RunArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let workgroup = args.group.of(terminal).map(extents).transpose().context("in --group")?;
    let source = input::read_one(&args.file, &args.source, &args.target, workgroup, terminal)?;
    let mut session = Session::new();
    // The session verifies; the interpreter needs the module itself.
    let module_id = match read(&mut session, &source, &args.target)? {
        Ok(module) => module,
        Err(error) => {
            terminal.err(&error.render(&source.module, &source.text));
            return Ok(Status::Bad);
        }
    };
    let parsed = parse_for(&Arc::new(Context::new()), &source.text, &overrides(&args.target))
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let extension = extension(&args.target)?;
    let target = session.target(module_id);
    let mut program = Program::with_extension(&parsed.module, target, extension)?;
    let frozen = bits(&args.frozen)?;
    program.set_undef(frozen);
    let (name, known) = kernel(&session, module_id, &args.function)?;
    let name = name.unwrap_or_else(|| args.function.trim_start_matches('@').to_owned());
    let name = &*name;
    let mut memory = program.memory(args.seed)?;
    let mut buffers = Vec::new();
    let parameters = Parameters::new(&program, session.target(module_id), name);
    // That of a machine of a driver's own is no fact of the launch, which would say how threads are
    // numbered.
    let machine = session.target(module_id).wave_width("", "");
    let launch = Launch {
        grid: extents(&args.grid).context("in --grid")?,
        block: workgroup.or(known.required).unwrap_or([1; 3]),
        partial: match &args.partial {
            Some(text) => partial(text).context("in --partial")?,
            None => [0; 3],
        },
        cluster: extents(&args.cluster).context("in --cluster")?,
        wave: args.wave.or(known.wave).or(machine).unwrap_or(32),
        args: args
            .args
            .iter()
            .enumerate()
            .map(|(i, text)| {
                argument(&parameters, i, text, &mut memory, &mut buffers)
                    .with_context(|| format!("in --arg {text}"))
            })
            .collect::<anyhow::Result<_>>()?,
        shared: args.shared,
        fuel: args.fuel,
        order: order(&args.order)?,
        reconvergence: match args.reconverge {
            Reconverge::Maximal => simt::Reconvergence::Maximal,
            Reconverge::PostDominator => simt::Reconvergence::PostDominator,
        },
        seed: args.seed,
        frozen,
        ..Launch::default()
    };
    // Taking scopes into account costs more, so it depends on whether the module has narrow scopes.
    let races = || {
        let races = match program.has_narrow_scopes() {
            true => simt::Races::with_scopes(),
            false => simt::Races::new(),
        };
        if args.races { races } else { races.of_workgroups() }
    };
    let mut watch = Watch::new(args.trace, (!args.no_races).then(races));
    let result = simt::run(&program, name, &launch, &mut memory, &mut watch);
    if let Err(Failure::Launch(what)) = &result {
        bail!("{what}");
    }
    let files = Files::default();
    let places = Places {
        source: &source,
        module: &parsed.module,
        map: &parsed.source_map,
        files: files.of(&source),
        program: &program,
    };
    let table = watch.trace.as_ref().map(|trace| {
        let printer = ModulePrinter::new(&parsed.module);
        trace.table(&|function, block| {
            let mut name = Vec::new();
            printer.function(program.code(function).view()).block_name(block, &mut name);
            String::from_utf8_lossy(&name).into_owned()
        })
    });
    match args.format {
        Format::Text => {
            let shown = if args.all { usize::MAX } else { SHOWN };
            let text = text(&result, (&buffers, shown), &memory, table.as_deref())?;
            terminal.out(&text)?;
        }
        Format::Json => {
            let mut all = json(&result, &buffers, &memory, table)?;
            if let Some(races) = watch.races() {
                all["races"] = watch::json(races, &places);
            }
            if let Some(broken) = watch.broken() {
                all["broken"] = watch::json_broken(broken, &places);
            }
            if let Some(reads) = watch.unwritten() {
                all["unwritten"] = watch::json_unwritten(reads, &places);
            }
            let text = serde_json::to_string_pretty(&all)?;
            terminal.out(&(text + "\n"))?;
        }
    }
    if args.format == Format::Text {
        terminal.err(&watch::explain(&watch, &places));
    }
    match result {
        Ok(_) if watch.is_silent() => Ok(Status::Fine),
        Ok(_) => Ok(Status::Findings),
        Err(failure) => {
            terminal.err(&explain(&failure, &places));
            Ok(Status::Findings)
        }
    }
}

/// The launch facts of a kernel.
struct Known {
    /// The required size of its workgroups.
    required: Option<[u32; 3]>,
    /// Lanes of a wave of the processor, if known.
    wave: Option<u32>,
}

/// The name of the selected kernel in the module, if the module has it, and its launch facts.
fn kernel(
    session: &Session,
    module: ModuleId,
    name: &str,
) -> anyhow::Result<(Option<String>, Known)> {
    let entry = functions::find(session, module.input(), name)?;
    let facts = queries::launch_facts(session.database(), entry.input);
    let exactly = |extent| match extent {
        Extent::Exactly(threads) => Some(threads),
        Extent::AtMost(_) | Extent::Unknown => None,
    };
    let required = match facts.workgroup_size.map(exactly) {
        [Some(x), Some(y), Some(z)] => Some([x, y, z]),
        _ => None,
    };
    let name = entry.name.symbol().map(|symbol| session.context().text(symbol).into_owned());
    Ok((name, Known { required, wave: facts.wave_width }))
}

pub(crate) fn extents(text: &str) -> anyhow::Result<[u32; 3]> {
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split('x').collect();
    if parts.len() > 3 {
        bail!("`{text}` has more than three dimensions");
    }
    if text.contains(',') {
        bail!("`{text}` is no size: write `{}`", text.replace(',', "x").replace(' ', ""));
    }
    for (extent, part) in out.iter_mut().zip(parts) {
        *extent = part.parse().with_context(|| format!("`{part}` is no extent"))?;
        if *extent == 0 {
            bail!("`{text}` has an extent of 0, and a launch has at least 1 in each dimension");
        }
    }
    Ok(out)
}

/// Extents of workgroups at the edge of the grid. Zero means whole.
fn partial(text: &str) -> anyhow::Result<[u32; 3]> {
    let mut out = extents(text)?;
    out[text.split('x').count()..].fill(0);
    Ok(out)
}

fn order(text: &str) -> anyhow::Result<Order> {
    let number = |text: &str| text.parse().with_context(|| format!("`{text}` is no number"));
    Ok(match text.split_once(':') {
        None if text == "lockstep" => Order::Lockstep,
        Some(("turns", "0")) => bail!("a turn has at least one instruction"),
        Some(("turns", steps)) => Order::Turns(u32::try_from(number(steps)?)?),
        Some(("random", seed)) => Order::Random(number(seed)?),
        _ => bail!("unknown order `{text}` (known: lockstep, turns:N, random:SEED)"),
    })
}

/// The bits for unspecified values.
fn bits(text: &str) -> anyhow::Result<u128> {
    Ok(match text.split_once(':') {
        None if text == "zero" => 0,
        None if text == "ones" => u128::MAX,
        Some(("random", seed)) => {
            let seed: u64 = seed.parse().with_context(|| format!("`{seed}` is no number"))?;
            let mixed =
                (u128::from(seed) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            // Small types use the low bits.
            mixed ^ mixed >> 64
        }
        _ => bail!("unknown bits `{text}` (known: zero, ones, random:SEED)"),
    })
}

fn text(
    result: &Result<simt::Report, Failure>,
    (buffers, shown): (&[Buffer], usize),
    memory: &Memory,
    table: Option<&str>,
) -> anyhow::Result<String> {
    let mut out = String::new();
    if let Some(table) = table {
        out.push_str(table);
    }
    for buffer in buffers {
        let values = contents(buffer, memory)?;
        let (position, ty) = (buffer.argument, buffer.element.name());
        writeln!(out, "argument {position}: {} x {ty}", values.len())?;
        let words: Vec<String> = values.iter().map(show).collect();
        let width = words.iter().map(String::len).max().unwrap_or(1);
        // A large buffer shows its first elements and its last rows.
        let end = words.len().next_multiple_of(8).saturating_sub(TAIL);
        let left_out = if words.len() > shown { HEAD..end } else { 0..0 };
        for (row, words) in words.chunks(8).enumerate() {
            let first = 8 * row;
            if first == left_out.start && !left_out.is_empty() {
                writeln!(out, "        {} more (`--all` prints them)", left_out.len())?;
            }
            if left_out.contains(&first) {
                continue;
            }
            let words: Vec<String> = words.iter().map(|w| format!("{w:>width$}")).collect();
            writeln!(out, "{first:>6}: {}", words.join(" "))?;
        }
    }
    if let Ok(report) = result {
        // No unknown values are followed here, so there are no guesses.
        let simt::Report { steps, groups, barriers, early, guesses: _ } = report;
        writeln!(out, "{steps} instructions, {groups} group operations, {barriers} barriers")?;
        if *early > 0 {
            writeln!(out, "{early} barriers opened before all threads had come")?;
        }
    }
    Ok(out)
}

fn json(
    result: &Result<simt::Report, Failure>,
    buffers: &[Buffer],
    memory: &Memory,
    table: Option<String>,
) -> anyhow::Result<serde_json::Value> {
    let mut list = Vec::new();
    for buffer in buffers {
        list.push(json!({
            "argument": buffer.argument,
            "type": buffer.element.name(),
            "values": contents(buffer, memory)?,
        }));
    }
    let mut out = match result {
        Ok(report) => json!({
            "status": "ended",
            "instructions": report.steps,
            "group_operations": report.groups,
            "barriers": report.barriers,
            "barriers_opened_early": report.early,
        }),
        Err(failure) => json!({
            "status": match failure {
                Failure::Hang(_) => "hang",
                Failure::Fuel(_) => "out of fuel",
                _ => "fault",
            },
            "message": failure.to_string(),
        }),
    };
    out["buffers"] = json!(list);
    if let Some(table) = table {
        out["trace"] = json!(table.lines().collect::<Vec<_>>());
    }
    Ok(out)
}

/// A failure with the source lines that it is about.
fn explain(failure: &Failure, places: &Places<'_>) -> String {
    let place = |site: &simt::fault::Site| {
        let mut functions = places.module.functions.iter();
        Some((functions.position(|f| f.header.name == site.function)?, site.inst))
    };
    match failure {
        Failure::Fault(fault) => {
            places.error(fault.site.as_ref().and_then(place), &fault.to_string())
        }
        Failure::Hang(waiting) => {
            let mut out = places.error(None, &failure.to_string());
            for group in waiting {
                let threads = ranges(&group.threads);
                out += &places.note(place(&group.site), &format!("here: {threads}"));
            }
            out
        }
        Failure::Fuel(_) | Failure::Launch(_) => places.error(None, &failure.to_string()),
    }
}

/// `thread 3`, `threads 0-7, 9`
fn ranges(threads: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &thread in threads {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == thread => *last = thread,
            _ => parts.push((thread, thread)),
        }
    }
    let list: Vec<String> = parts
        .iter()
        .map(
            |&(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        )
        .collect();
    format!("thread{} {}", if threads.len() == 1 { "" } else { "s" }, list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_and_orders() {
        assert_eq!(extents("4x2").unwrap(), [4, 2, 1]);
        assert!(extents("1x2x3x4").is_err() && extents("x").is_err());
        let none = extents("4x0").unwrap_err().to_string();
        assert!(none.contains("extent of 0"), "{none}");
        assert_eq!(partial("4x2").unwrap(), [4, 2, 0]);
        assert!(partial("0").is_err() && partial("1x2x3x4").is_err());
        assert_eq!(order("turns:3").unwrap(), Order::Turns(3));
        assert!(order("fast").is_err() && order("turns:0").is_err());
    }

    #[test]
    fn bits_of_frozen_poison() {
        assert_eq!((bits("zero").unwrap(), bits("ones").unwrap()), (0, u128::MAX));
        assert_ne!(bits("random:1").unwrap(), bits("random:2").unwrap());
        assert!(bits("random").is_err() && bits("random:x").is_err() && bits("7").is_err());
    }

    #[test]
    fn threads_are_listed_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5]), "threads 0-2, 5");
        assert_eq!(ranges(&[7]), "thread 7");
    }
}
