//! Sentences about accesses of workgroup memory.
//!
//! ```text
//! error[PHX050]: threads (1, 0, 0) and (0, 0, 0) access `tile[1]` with no barrier in between
//! ```

use phalanx_analysis::check::{
    Finding, Level, Rule,
    races::{Clash, LaunchNumber, Object},
};
use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{GlobalName, Value};
use phalanx_target::SourceSet;

use super::names::{demangled, symbol_name};
use super::words::index;
use crate::explain::words::{Dialect, source};

/// The program's name for an element of workgroup or private memory: `tile[1][3]`.
///
/// `value_name` names arguments and stack slots.
pub(super) fn element(
    db: &Database,
    function: FunctionInput,
    clash: &Clash,
    value_name: impl Fn(Value) -> String,
) -> String {
    let mut name = match clash.object {
        Object::Variable(name) => variable(db, function, name),
        Object::Argument(position) => value_name(Value::arg(position)),
        Object::Private(Some(slot)) => value_name(Value::inst(slot)),
        Object::Private(None) => "a private array".to_owned(),
    };
    if matches!(clash.object, Object::Private(None)) {
        return name;
    }
    for index in &clash.indices {
        name.push_str(&format!("[{index}]"));
    }
    name
}

/// The name of a variable in the program. The name of a static variable begins with its function.
fn variable(db: &Database, function: FunctionInput, name: GlobalName) -> String {
    let module = function.module(db);
    let full = demangled(&symbol_name(db, module, name));
    let kernel = symbol_name(db, module, function.header(db).name);
    let own = full.strip_prefix(&kernel).and_then(|rest| rest.strip_prefix('.'));
    let last = own.unwrap_or_else(|| full.rsplit("::").next().unwrap_or(&full));
    last.to_owned()
}

fn verb(writes: bool) -> &'static str {
    if writes { "writes" } else { "reads" }
}

/// The opening sentence.
pub(super) fn message(finding: &Finding, element: &str) -> String {
    let Some(clash) = &finding.clash else { return String::new() };
    let [one, other] = clash.threads.map(index);
    match finding.rule {
        Rule::WaveSynchronous => {
            format!("lanes of a wave access `{element}` in an order that only lockstep gives")
        }
        Rule::ReadBeforeWritten => {
            format!("thread {one} reads `{element}`, which no thread has written")
        }
        Rule::OutOfBounds => {
            let verb = verb(clash.writes[0]);
            format!("thread {one} {verb} `{element}`, which is outside of the array")
        }
        Rule::LostIndex => {
            let may = if clash.is_certain { "" } else { "may " };
            format!("threads {one} and {other} {may}write different values to `{element}`")
        }
        Rule::LostGroup => {
            let may = if clash.is_certain { "" } else { "may " };
            format!("workgroups {may}write different values to `{element}`")
        }
        _ => {
            let may = if finding.level == Level::Error { "" } else { "may " };
            format!("threads {one} and {other} {may}access `{element}` with no barrier in between")
        }
    }
}

/// The label at the place itself.
pub(super) fn label(finding: &Finding, element: &str) -> String {
    let Some(clash) = &finding.clash else { return String::new() };
    let [one, other] = clash.threads.map(index);
    match finding.rule {
        Rule::ReadBeforeWritten => "its value is undefined".to_owned(),
        Rule::OutOfBounds => "what is there belongs to something else".to_owned(),
        Rule::LostGroup => format!("thread {one} of each workgroup writes `{element}` here"),
        _ if finding.other.is_none() && clash.writes == [true, true] => {
            format!("both threads write `{element}` here")
        }
        _ if finding.other.is_none() => {
            let [first, second] = clash.writes.map(verb);
            format!("thread {one} {first} and thread {other} {second} `{element}` here")
        }
        _ => format!("thread {one} {} `{element}` here", verb(clash.writes[0])),
    }
}

/// The label at the place of the other access.
pub(super) fn other(clash: &Clash, element: &str) -> String {
    format!("thread {} {} `{element}` here", index(clash.threads[1]), verb(clash.writes[1]))
}

/// A launch for which several conditions on arguments hold together, if the clash depends on that.
///
/// `value_name` names arguments.
pub(super) fn launch(
    clash: &Clash,
    dialect: Dialect,
    value_name: impl Fn(Value) -> String,
) -> Option<String> {
    let dimensions = [SourceSet::BLOCK_X, SourceSet::BLOCK_Y, SourceSet::BLOCK_Z];
    let all = clash.launch.iter().map(|&(of, number)| {
        let name = match of {
            LaunchNumber::Argument(position) => format!("`{}`", value_name(Value::arg(position))),
            LaunchNumber::Group(axis) => source(dimensions[axis], dialect).to_owned(),
        };
        format!("{name} is {number}")
    });
    let all: Vec<String> = all.collect();
    let (last, others) = all.split_last()?;
    let all = match others {
        [] => last.clone(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    Some(format!("the conditions on the way there hold, for example, when {all}"))
}

/// What could be done, and for which launches the clash was found.
pub(super) fn help(finding: &Finding) -> Vec<String> {
    let Some(clash) = &finding.clash else { return Vec::new() };
    let remedy = match finding.rule {
        Rule::WaveSynchronous => {
            "put `__syncwarp()` between them: lanes of a warp do not execute in lockstep on \
             compute capability 7.0 and later"
        }
        Rule::ReadBeforeWritten => "let a thread write it first, and put a barrier behind that",
        Rule::OutOfBounds => "make the array larger, or guard the access",
        Rule::LostIndex => {
            "let the index tell threads apart, let one thread write, or use an atomic operation"
        }
        Rule::LostGroup => {
            "let the index tell workgroups apart, let one of them write, or use an atomic operation"
        }
        _ if finding.other.is_none() => "let one thread write it, or let each write its own",
        _ => "put a barrier between the two accesses that all threads of the workgroup execute",
    };
    let mut help = vec![remedy.to_owned()];
    if clash.is_assumed {
        let [x, y, z] = clash.group;
        help.push(format!(
            "the size of workgroups is not stated: this is so for several usual ones, such as \
             {x} x {y} x {z}; `--group` states it"
        ));
    }
    help
}
