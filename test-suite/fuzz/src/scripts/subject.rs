//! What a script expects: facts in words.

use phalanx::{
    db::queries::{self, Ways},
    ir::{BlockId, InstId, Opcode, Value},
    target::SourceSet,
};

use super::Run;

impl Run {
    /// What is known of a subject now.
    pub(super) fn fact(&self, subject: &str) -> Result<String, String> {
        let view = self.session.divergence(self.function).ok_or("the function has no body")?;
        let sources = |found: SourceSet| Ok(found.to_string());
        let words: Vec<&str> = subject.split_whitespace().collect();
        match words[..] {
            ["found", "by"] => Ok(self.found_by().to_owned()),
            ["slots", "by"] => {
                let (now, before) = (self.looks(), self.before.1);
                let is_more = |at: usize| now[at] > before[at];
                Ok(if is_more(1) {
                    "whole"
                } else if is_more(0) {
                    "part"
                } else {
                    "nothing"
                }
                .into())
            }
            ["by"] => Ok(self.by()),
            ["findings"] => {
                let found = self.session.diagnostics(self.function);
                let codes: Vec<&str> = found.iter().map(|finding| finding.rule.code()).collect();
                Ok(if codes.is_empty() { "none".to_owned() } else { codes.join(" ") })
            }
            ["conflicts"] => {
                let (db, function) = (self.session.database(), self.function.input());
                let found = queries::space_conflicts(db, function).as_deref();
                Ok(found.map_or(0, <[_]>::len).to_string())
            }
            ["branch", block] => sources(view.branch_mask(self.block(block)?)),
            ["control", block] => sources(view.control_mask(self.block(block)?)),
            ["use", value, "by", user] => {
                sources(view.mask_at(self.value(value)?, self.inst(user)?))
            }
            ["space", pointer] => {
                let kinds = self.session.memory_kinds(self.function);
                let kinds = kinds.ok_or("the function has no body")?;
                Ok(kinds.of(self.value(pointer)?).to_string())
            }
            ["space", "at", access] => {
                let kinds = self.session.memory_kinds(self.function);
                let kinds = kinds.ok_or("the function has no body")?;
                let body = self.session.code(self.function).body;
                let access = self.inst(access)?;
                let position = u32::from(body.inst(access).opcode == Opcode::Store);
                Ok(kinds.at(body, access, position).to_string())
            }
            ["load", load] => {
                let classes = self.session.load_classes(self.function);
                let classes = classes.ok_or("the function has no body")?;
                let load = classes.of(self.inst(load)?).ok_or("it is no load")?;
                let names: Vec<&str> = load.classes().map(|class| class.name()).collect();
                Ok(if names.is_empty() { "plain".to_owned() } else { names.join(" ") })
            }
            [value] => sources(view.mask(self.value(value)?)),
            _ => Err("there is no such subject".to_owned()),
        }
    }

    /// How divergence was found since the edit that came last.
    fn found_by(&self) -> &'static str {
        let (now, before) = (self.session.repairs(self.function), self.before.0);
        match () {
            () if now.repaired > before.repaired => "repair",
            () if now.kept > before.kept => "kept",
            () if now.rebuilt > before.rebuilt => "tables",
            () if now.solved > before.solved => "scratch",
            () => "nothing",
        }
    }

    /// Which answers were found otherwise than by keeping them, since the edit that came last.
    fn by(&self) -> String {
        let both: Vec<_> = self.ways().into_iter().zip(&self.before.2).collect();
        let of = |is: fn(Ways, Ways) -> bool| -> Vec<&str> {
            let found = both.iter().filter(|((_, now), (_, before))| is(*now, *before));
            found.map(|((name, _), _)| *name).collect()
        };
        let is_anew = |now: Ways, before: Ways| now.solved > before.solved;
        let repaired =
            of(|now, before| now.repaired > before.repaired && now.solved == before.solved);
        let found = [("repaired", repaired), ("anew", of(is_anew))];
        let found = found.iter().filter(|(_, names)| !names.is_empty());
        let found: Vec<String> =
            found.map(|(way, names)| format!("{way}: {}", names.join(" "))).collect();
        if found.is_empty() { "kept".to_owned() } else { found.join("; ") }
    }

    fn value(&self, text: &str) -> Result<Value, String> {
        let name = text.strip_prefix('%').ok_or("a value is `%name`")?;
        let code = self.session.code(self.function);
        let count = u32::try_from(code.header.params.len()).unwrap_or(u32::MAX);
        let is_it = |&at: &u32| code.extras.names.arg(at) == Some(name.as_bytes());
        match (0..count).find(is_it) {
            Some(position) => Ok(Value::arg(position)),
            None => self.inst(text).map(Value::inst),
        }
    }

    fn inst(&self, text: &str) -> Result<InstId, String> {
        let name = text.strip_prefix('%').ok_or("an instruction is `%name`")?.as_bytes();
        let code = self.session.code(self.function);
        let mut all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let found = all.find(|&inst| code.extras.names.inst(inst) == Some(name));
        found.ok_or_else(|| format!("there is no `{text}`"))
    }

    fn block(&self, name: &str) -> Result<BlockId, String> {
        let code = self.session.code(self.function);
        let mut blocks = code.flow.order().iter().copied();
        let found = blocks.find(|&block| code.extras.names.block(block) == Some(name.as_bytes()));
        found.ok_or_else(|| format!("there is no block `{name}`"))
    }
}
