//! The lines of a function: arguments, labels, instructions, what each depends on and why.
//!
//! Equal links of chains are stored once: most chains of a function end alike.

use phalanx_analysis::lower::Numbering;
use phalanx_db::queries::{self, Subject};
use phalanx_ir::{BlockId, InstId, Opcode, Type, Value, flow};
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;

use super::MAX_CHAINS;
use super::build::Files;
use super::model::{Row, StepRow};
use crate::explain::Explainer;
use crate::levels::{level, scope_of};

/// The lines of a function.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    pub(super) steps: Vec<StepRow>,
    pub(super) without_chains: bool,
}

/// The lines of an explainer's function.
pub(super) fn rows(
    explainer: &Explainer<'_>,
    sources: &[(&'static str, &'static str)],
    files: &mut Files,
) -> Rows {
    let names = sources.iter().enumerate().map(|(number, (name, _))| (*name, number)).collect();
    let mut maker =
        Maker { explainer, names, files, known: FxHashMap::default(), all: Rows::default() };
    maker.run();
    maker.all
}

struct Maker<'a, 'b> {
    explainer: &'b Explainer<'a>,
    names: FxHashMap<&'static str, usize>,
    files: &'b mut Files,
    known: FxHashMap<StepRow, usize>,
    all: Rows,
}

impl Maker<'_, '_> {
    fn run(&mut self) {
        let (db, input) = self.explainer.function();
        let function = input.view(db);
        let (Some(divergence), Some(control), Some(cfg)) = (
            queries::divergence(db, input),
            queries::control_divergence(db, input),
            queries::cfg(db, input),
        ) else {
            return;
        };
        let launch = queries::launch_facts(db, input);
        let numbering = Numbering::new(function.header);
        let insts = || function.flow.order().iter().flat_map(|&b| function.body.block_insts(b));
        let differs = |&inst: &InstId| level(divergence.value(numbering.inst(inst)), launch) > 0;
        self.all.without_chains = insts().filter(differs).count() > MAX_CHAINS;
        for position in 0..function.header.params.len() as u32 {
            let sources = divergence.value(numbering.argument(position));
            let value = Value::arg(position);
            let place = self.explainer.place_of_argument(position);
            self.add(
                Row {
                    kind: "a",
                    text: self.explainer.argument_text(position),
                    line: place.line,
                    name: self.explainer.name(value),
                    variable: self.explainer.variables().name(value).map(str::to_owned),
                    level: level(sources, launch),
                    ..Row::default()
                },
                sources,
                Some(Subject::Value(value)),
            );
        }
        for &block in function.flow.order() {
            let node = flow::node_of(block);
            let sources = control[node.index()];
            self.label(block, sources, level(sources, launch));
            for inst in function.body.block_insts(block) {
                let data = function.body.inst(inst);
                let is_branch = data.opcode.is_terminator() && cfg.is_branch(node);
                let sources = match is_branch {
                    true => divergence.terminator(node),
                    false if data.ty == Type::VOID => SourceSet::EMPTY,
                    false => divergence.value(numbering.inst(inst)),
                };
                let subject = match is_branch {
                    true => Subject::Branch(block),
                    false => Subject::Value(Value::inst(inst)),
                };
                let kind = if is_branch { "t" } else { "i" };
                self.inst(
                    inst,
                    data.opcode,
                    (kind, data.ty),
                    (sources, level(sources, launch)),
                    subject,
                );
            }
        }
    }

    fn label(&mut self, block: BlockId, sources: SourceSet, level: u8) {
        let node = flow::node_of(block);
        let row = Row {
            kind: "b",
            text: format!("{}:", self.explainer.block_name(node).trim_start_matches('%')),
            line: self.explainer.place_of_block(node).line,
            name: self.explainer.block_name(node),
            level,
            ..Row::default()
        };
        self.add(row, sources, Some(Subject::Block(block)));
    }

    fn inst(
        &mut self,
        inst: InstId,
        opcode: Opcode,
        (kind, ty): (&'static str, Type),
        (sources, level): (SourceSet, u8),
        subject: Subject,
    ) {
        let value = Value::inst(inst);
        let has_name = ty != Type::VOID && (!opcode.is_terminator() || opcode.is_call());
        let location = self.explainer.location(inst);
        let place = location.source.map(|place| (self.files.number(&place), place.line));
        let row = Row {
            kind,
            text: without_location(self.explainer.text_of(inst)),
            line: self.explainer.place_of(inst).line,
            name: if has_name { self.explainer.name(value) } else { String::new() },
            variable: self.explainer.variables().name(value).map(str::to_owned),
            level,
            place,
            ..Row::default()
        };
        let is_explained = kind == "t" || !self.all.without_chains;
        self.add(row, sources, is_explained.then_some(subject));
    }

    fn add(&mut self, mut row: Row, sources: SourceSet, subject: Option<Subject>) {
        let names = sources.iter().filter_map(SourceSet::name);
        row.sources = names.filter_map(|name| self.names.get(name).copied()).collect();
        if let Some(subject) = subject.filter(|_| row.level > 0) {
            let explained = self.explainer.explain(subject, scope_of(row.level));
            for step in explained.into_iter().flat_map(|explanation| explanation.steps) {
                let step =
                    StepRow { text: step.sentence, line: step.place.line, function: step.function };
                row.chain.push(self.step(step));
            }
        }
        self.all.rows.push(row);
    }

    fn step(&mut self, step: StepRow) -> usize {
        let next = self.all.steps.len();
        let number = *self.known.entry(step.clone()).or_insert(next);
        if number == next {
            self.all.steps.push(step);
        }
        number
    }
}

/// An instruction without its debug location, which the page shows as a line of the program.
fn without_location(mut text: String) -> String {
    const DBG: &str = ", !dbg !";
    if let Some(at) = text.rfind(DBG) {
        let number = text[at + DBG.len()..].bytes().take_while(u8::is_ascii_digit).count();
        text.replace_range(at..at + DBG.len() + number, "");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_location;

    #[test]
    fn only_the_location_goes() {
        let text = |text: &str| without_location(text.to_owned());
        assert_eq!(text("br label %a, !dbg !84, !llvm.loop !9"), "br label %a, !llvm.loop !9");
        assert_eq!(text("%a = add i32 %b, 1"), "%a = add i32 %b, 1");
    }
}
