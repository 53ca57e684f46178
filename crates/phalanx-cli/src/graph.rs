//! `phalanx graph`: graphs in DOT, and as SVG.

use phalanx::{
    Session,
    analysis::{
        UserKind, Value,
        lower::{Definition, Numbering},
    },
    db::{Database, FunctionEntry, queries},
    graph::Node,
    ir::{Type, flow::node_of},
    llvm::{FunctionPrinter, ModulePrinter},
    report::{
        dot::{self, Mark},
        explain::Explainer,
        picture::{self, Look, MOST, PictureEdge, PictureNode},
    },
    target::{Scope, SourceSet, varying},
};

use crate::{
    analyze::read,
    args::{GraphArgs, GraphFormat, GraphKind},
    functions, input,
    status::Status,
    terminal::Terminal,
};

/// Runs the command.
pub(crate) fn run(args: &GraphArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let source = input::read_one(&args.file, &args.source, &args.target, None, terminal)?;
    let mut session = Session::new();
    let module = match read(&mut session, &source, &args.target)? {
        Ok(module) => module.input(),
        Err(error) => {
            terminal.err(&error.render(&source.module, &source.text));
            return Ok(Status::Bad);
        }
    };
    let entries = functions::select(&session, module, &args.function)?;
    let db = session.database();
    let views = module.functions(db).iter().map(|entry| entry.input.view(db)).collect();
    let printer = ModulePrinter::with_functions(module.shell(db), views);
    if args.format == GraphFormat::Svg {
        let mut drawings = Vec::new();
        functions::for_each(
            &session,
            &entries,
            (terminal, "drawing"),
            |db, entry| {
                let mut name = Vec::new();
                printer.global(entry.name, &mut name);
                let drawing = drawing(db, entry, &printer, (args.kind, &source.text));
                (String::from_utf8_lossy(&name).into_owned(), drawing)
            },
            |_, drawing| {
                drawings.push(drawing);
                Ok(())
            },
        )?;
        // One drawing stands alone.
        let text = match drawings.as_slice() {
            [(_, Ok(drawing))] => drawing.clone(),
            all => picture::stacked(all),
        };
        terminal.out(&text)?;
        return Ok(Status::Fine);
    }
    functions::for_each(
        &session,
        &entries,
        (terminal, "drawing"),
        |db, entry| draw(db, entry, &printer, args.kind),
        |_, text| Ok(terminal.out(&text.unwrap_or_default())?),
    )?;
    Ok(Status::Fine)
}

/// A graph as SVG, or why there is none.
fn drawing(
    db: &Database,
    entry: FunctionEntry,
    printer: &ModulePrinter<'_>,
    (kind, text): (GraphKind, &[u8]),
) -> Result<String, String> {
    let input = entry.input;
    let view = input.view(db);
    let names = printer.function(view);
    let none = || "there is no graph".to_owned();
    match kind {
        GraphKind::Cfg | GraphKind::Cycles => {
            picture::flow(&Explainer::new(db, input, printer, text))
        }
        GraphKind::Domtree => {
            picture::dom_tree(queries::dom_tree(db, input).ok_or_else(none)?, &names)
        }
        GraphKind::Postdomtree => {
            picture::postdom_tree(queries::postdom_tree(db, input).ok_or_else(none)?, &names)
        }
        GraphKind::Affect => {
            let (nodes, edges) = affect(db, entry, &names).ok_or_else(none)?;
            let node = |(text, mark): (Vec<u8>, Mark)| PictureNode {
                text: String::from_utf8_lossy(&text).into_owned(),
                look: if mark == Mark::Divergent { Look::Wave } else { Look::Plain },
                ..PictureNode::default()
            };
            let edge = |(from, to)| PictureEdge { from, to, look: Look::Plain };
            let nodes: Vec<PictureNode> = nodes.into_iter().map(node).collect();
            let edges: Vec<PictureEdge> = edges.into_iter().map(edge).collect();
            let count = nodes.len();
            let refused = || format!("{count} nodes; more than {MOST} are not drawn");
            picture::svg(&nodes, &edges).ok_or_else(refused)
        }
    }
}

fn draw(
    db: &Database,
    entry: FunctionEntry,
    printer: &ModulePrinter<'_>,
    kind: GraphKind,
) -> Option<String> {
    let input = entry.input;
    let view = input.view(db);
    let names = printer.function(view);
    let mut name = Vec::new();
    printer.global(entry.name, &mut name);
    let order: Vec<Node> = view.flow.order().iter().map(|&block| node_of(block)).collect();
    let scope = varying(Scope::Wave, queries::launch_facts(db, input));
    let mark = |sources: SourceSet| match sources.intersects(scope) {
        true => Mark::Divergent,
        false => Mark::Plain,
    };
    let cfg = queries::cfg(db, input)?;
    Some(match kind {
        GraphKind::Domtree => dot::dom_tree_dot(&name, queries::dom_tree(db, input)?, &names),
        GraphKind::Postdomtree => {
            dot::postdom_tree_dot(&name, queries::postdom_tree(db, input)?, &names)
        }
        GraphKind::Cfg => {
            let divergence = queries::divergence(db, input).as_ref()?;
            let control = queries::control_divergence(db, input).as_ref()?;
            let blocks = |node: Node| mark(control[node.index()]);
            let branches = |node: Node| mark(divergence.terminator(node));
            dot::cfg_dot(&name, cfg, &order, &names, (&blocks, &branches))
        }
        GraphKind::Cycles => {
            let exits = queries::divergence(db, input).as_ref()?.cycles_with_divergent_exit();
            let divergent = |cycle| {
                let found =
                    exits.iter().find(|(c, sources)| *c == cycle && sources.intersects(scope));
                found.map_or(Mark::Plain, |_| Mark::Divergent)
            };
            let cycles = queries::cycles(db, input)?;
            dot::cycles_dot(&name, (cfg, cycles), &order, &names, &divergent)
        }
        GraphKind::Affect => {
            let (nodes, edges) = affect(db, entry, &names)?;
            dot::values_dot(&name, &nodes, &edges)
        }
    })
}

/// Nodes with their texts, and edges between them by number.
type Affects = (Vec<(Vec<u8>, Mark)>, Vec<(usize, usize)>);

/// Values and terminators as nodes, def-use as edges.
fn affect(db: &Database, entry: FunctionEntry, names: &FunctionPrinter<'_>) -> Option<Affects> {
    let input = entry.input;
    let scope = varying(Scope::Wave, queries::launch_facts(db, input));
    let mark = |sources: SourceSet| match sources.intersects(scope) {
        true => Mark::Divergent,
        false => Mark::Plain,
    };
    let (view, table) = (input.view(db), queries::affect_map(db, input).as_ref()?);
    let divergence = queries::divergence(db, input).as_ref()?;
    let numbering = Numbering::new(view.header);
    let mut nodes = Vec::new();
    // Node of each value, and of each block's terminator.
    let mut of_value = vec![None; table.len()];
    let mut of_terminator = vec![None; view.flow.id_count()];
    let mut add = |text: Vec<u8>, sources: SourceSet| {
        nodes.push((text, mark(sources)));
        nodes.len() - 1
    };
    for position in 0..view.header.params.len() as u32 {
        let value = numbering.argument(position);
        let mut text = Vec::new();
        names.arg(position, &mut text);
        of_value[value.index()] = Some(add(text, divergence.value(value)));
    }
    for &block in view.flow.order() {
        for inst in view.body.block_insts(block) {
            let mut text = Vec::new();
            names.inst(inst, &mut text);
            let data = view.body.inst(inst);
            let value = numbering.inst(inst);
            if !data.opcode.is_terminator() || data.ty != Type::VOID {
                of_value[value.index()] = Some(add(text, divergence.value(value)));
            } else {
                let node = node_of(block);
                of_terminator[node.index()] = Some(add(text, divergence.terminator(node)));
            }
        }
    }
    let mut edges = Vec::new();
    for (value, from) in of_value.iter().enumerate() {
        let Some(from) = *from else { continue };
        for user in table.affects().users(Value::new(value)) {
            let to = match user.kind() {
                UserKind::Value(user) => match numbering.definition(user) {
                    Definition::Inst(_) => of_value[user.index()],
                    Definition::Argument(_) => None,
                },
                UserKind::Terminator(block) => of_terminator[block.index()],
            };
            edges.extend(to.map(|to| (from, to)));
        }
    }
    Some((nodes, edges))
}
