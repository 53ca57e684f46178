//! `phalanx explain`.

use anyhow::{Context as _, bail};
use phalanx::{
    FunctionId, Session,
    analysis::spaces::SpaceSubject,
    db::{FunctionEntry, queries::Subject},
    report::{
        diagnostics::SourceText,
        explain::{Explainer, write_texts},
        loads::write_load_text,
        spaces::write_space_text,
    },
    target::{LaunchStatement, Scope},
};

use crate::{
    analyze::{assumptions, read, scope},
    args::ExplainArgs,
    files::Files,
    functions,
    input::{self, Source},
    run::extents,
    status::Status,
    terminal::Terminal,
};

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let workgroup_size = args.group.as_deref().map(extents).transpose().context("--group")?;
    let source = input::read_one(&args.file, &args.source, &args.target, workgroup_size, terminal)?;
    let mut session = Session::new();
    let module = match read(&mut session, &source, &args.target)? {
        Ok(module) => module,
        Err(error) => {
            terminal.err(&error.render(&source.module, &source.text));
            return Ok(Status::Bad);
        }
    };
    let entry = functions::find(&session, module.input(), &args.function)?;
    let code = match args.function.starts_with('@') {
        true => entry,
        false => functions::code_of(&session, module.input(), entry),
    };
    let find = |entry: FunctionEntry| {
        let function = session.functions(module).find(|known| known.input() == entry.input);
        function.with_context(|| format!("{} has no body", args.function))
    };
    let (kernel, function) = (find(entry)?, find(code)?);
    let cluster_size = args.cluster.as_deref().map(extents).transpose().context("--cluster")?;
    let launch = LaunchStatement { workgroup_size, wave_width: args.wave, cluster_size };
    session.set_launch(kernel, launch)?;
    session.set_whole(module, args.whole_program);
    let db = session.database();
    let printer = session.printer(module);
    let explainer = Explainer::new(db, function.input(), &printer, &source.text)
        .assuming(assumptions(scope(args.scope), args.assume_barriers, args.assume_race_free));
    if let Some(place) = &args.load {
        return loads(place, args.json, &explainer, &source, terminal);
    }
    if let Some(name) = &args.generic {
        return generic((name, args.json), (&session, function), &explainer, &source, terminal);
    }
    let scope = scope(args.scope);
    let explanations = match args.line {
        Some(line) => explainer.explain_line(line, scope),
        None => {
            let subjects = subjects(args, &session, function, &explainer)?;
            let explain = |subject| explainer.explain(subject, scope);
            let found: Option<Vec<_>> = subjects.into_iter().map(explain).collect();
            found.context("this is a constant: the same for all threads")?
        }
    };
    if args.json {
        let mut json = serde_json::to_string_pretty(&explanations)?;
        json.push('\n');
        terminal.out(&json)?;
        return Ok(Status::Fine);
    }
    let mut text = String::new();
    let shown = SourceText { name: &source.module, text: &source.text };
    let files = Files::default();
    write_texts(&explanations, shown, &files.of(&source), &mut text)?;
    if let (true, Some(line)) = (explanations.is_empty(), args.line) {
        text = format!("nothing on line {line} differs between threads of a {}\n", scope.name());
    }
    terminal.out(&text)?;
    Ok(Status::Fine)
}

fn loads(
    place: &str,
    is_json: bool,
    explainer: &Explainer<'_>,
    source: &Source,
    terminal: &Terminal,
) -> anyhow::Result<Status> {
    let found = explainer.loads_at(place);
    let found: Vec<_> = found.into_iter().filter_map(|load| explainer.explain_load(load)).collect();
    if found.is_empty() {
        bail!("there is no load at {place}");
    }
    let mut text = String::new();
    match is_json {
        true => {
            text = serde_json::to_string_pretty(&found)?;
            text.push('\n');
        }
        false => {
            let shown = SourceText { name: &source.module, text: &source.text };
            let files = Files::default();
            let files = files.of(source);
            found.iter().try_for_each(|load| write_load_text(load, shown, &files, &mut text))?;
        }
    }
    terminal.out(&text)?;
    Ok(Status::Fine)
}

fn generic(
    (name, is_json): (&str, bool),
    (session, function): (&Session, FunctionId),
    explainer: &Explainer<'_>,
    source: &Source,
    terminal: &Terminal,
) -> anyhow::Result<Status> {
    let subject = match name.contains(':') {
        true => match use_of(name, session, function, explainer)? {
            Subject::Use { user, operand } => SpaceSubject::Use(user, u32::try_from(operand)?),
            _ => bail!("{name} is no operand"),
        },
        false => SpaceSubject::Value(explainer.value(name)?),
    };
    let explanation = explainer.explain_address(subject);
    let explanation = explanation.with_context(|| format!("nothing is known of {name}"))?;
    let mut text = String::new();
    match is_json {
        true => {
            text = serde_json::to_string_pretty(&explanation)?;
            text.push('\n');
        }
        false => {
            let shown = SourceText { name: &source.module, text: &source.text };
            write_space_text(&explanation, shown, &mut text)?;
        }
    }
    terminal.out(&text)?;
    Ok(Status::Fine)
}

fn subjects(
    args: &ExplainArgs,
    session: &Session,
    function: FunctionId,
    explainer: &Explainer<'_>,
) -> anyhow::Result<Vec<Subject>> {
    if let Some(name) = &args.value {
        return values(name, scope(args.scope), explainer);
    }
    if let Some(name) = &args.branch {
        return Ok(vec![Subject::Branch(explainer.block(name)?)]);
    }
    if let Some(name) = &args.block {
        return Ok(vec![Subject::Block(explainer.block(name)?)]);
    }
    if let Some(text) = &args.use_ {
        return Ok(vec![use_of(text, session, function, explainer)?]);
    }
    bail!("nothing is asked for")
}

/// A value by its name, or those of a variable of the program.
fn values(name: &str, scope: Scope, explainer: &Explainer<'_>) -> anyhow::Result<Vec<Subject>> {
    match explainer.value(name) {
        Ok(value) => Ok(vec![Subject::Value(value)]),
        Err(error) => {
            let values = explainer.values_of_variable(name, scope);
            if values.is_empty() {
                return Err(error.into());
            }
            Ok(values.into_iter().map(Subject::Value).collect())
        }
    }
}

/// `%v:0`: an operand of an instruction, or of the terminator of a block.
fn use_of(
    text: &str,
    session: &Session,
    function: FunctionId,
    explainer: &Explainer<'_>,
) -> anyhow::Result<Subject> {
    let parts = text.rsplit_once(':');
    let (name, operand) =
        parts.context("--use takes the name of an instruction and a number: %v:0")?;
    let operand: usize = operand.parse().with_context(|| format!("`{operand}` is no number"))?;
    let body = session.code(function).body;
    let user = match (explainer.value(name), explainer.block(name)) {
        (Ok(value), _) => value.as_inst().with_context(|| format!("{name} is an argument"))?,
        (_, Ok(block)) => body.terminator(block).context("the block has no terminator")?,
        (Err(error), _) => return Err(error.into()),
    };
    let count = body.operands(user).len();
    if operand >= count {
        bail!("{name} has {count} operands, counted from 0");
    }
    Ok(Subject::Use { user, operand })
}
