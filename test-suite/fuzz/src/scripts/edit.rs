//! Carries out the edits of a script.

use std::{fmt::Write as _, sync::Arc};

use phalanx::{
    ir::{
        BlockId, BuildError, Context, Function, InstBuilder, InstId, Module, Opcode, Type, Value,
        edit::Transaction, metadata::MetadataId,
    },
    llvm::{ModulePrinter, parse_module},
};

use super::Run;

/// The line that ends a transaction which is undone.
const UNDO: &str = "undo";

/// Why a line cannot be carried out.
struct Refusal(String);

impl From<BuildError> for Refusal {
    fn from(error: BuildError) -> Self {
        Refusal(error.to_string())
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Refusal(message)
    }
}

impl From<&str> for Refusal {
    fn from(message: &str) -> Self {
        Refusal(message.to_owned())
    }
}

type Done<T = ()> = Result<T, Refusal>;

impl Run {
    /// Carries out edits in one transaction, and compares all facts.
    pub(super) fn edit(&mut self, edits: &[&str]) -> Result<(), String> {
        self.change(edits)?;
        self.compare();
        Ok(())
    }

    /// Carries out edits in one transaction.
    pub(super) fn change(&mut self, edits: &[&str]) -> Result<(), String> {
        self.before = (self.session.repairs(self.function), self.looks(), self.ways());
        let (text, context) = (self.session.print(self.module), Arc::clone(self.session.context()));
        let done = self.session.edit(self.function, |edit| {
            let mut editor = Editor { edit, text: &text, context: &context };
            edits.iter().try_for_each(|line| match *line {
                UNDO => Err(Refusal(UNDO.to_owned())),
                line => editor.line(line),
            })
        });
        match done {
            Err(Refusal(message)) if message != UNDO => Err(message),
            _ => Ok(()),
        }
    }
}

struct Editor<'e, 't> {
    edit: &'e mut Transaction<'t>,
    /// The module as it was, for names of functions and types.
    text: &'e [u8],
    context: &'e Arc<Context>,
}

impl Editor<'_, '_> {
    fn line(&mut self, line: &str) -> Done {
        let (verb, rest) = line.split_once(' ').ok_or("an edit has operands")?;
        match verb {
            "set" => {
                let (place, value) = split(rest, " = ")?;
                let (inst, position) = place.rsplit_once(' ').ok_or("an operand has a position")?;
                let position = position.parse().map_err(|_| "a position is a number")?;
                let (inst, value) = (self.inst(inst)?, self.value(value)?);
                self.edit.set_operand(inst, position, value)?;
            }
            "replace" => {
                let (inst, value) = split(rest, " = ")?;
                let (inst, value) = (self.inst(inst)?, self.value(value)?);
                self.edit.replace(inst, value)?;
            }
            "repeat" => {
                let inst = self.inst(rest)?;
                self.edit.after(inst).clone_of(inst)?;
            }
            "erase" => match rest.strip_prefix("block ") {
                _ if rest == "unreachable" => {
                    self.edit.erase_unreachable()?;
                }
                Some(name) => {
                    let block = self.block(name)?;
                    self.edit.erase_block(block)?;
                }
                None => {
                    let inst = self.inst(rest)?;
                    self.edit.erase(inst)?;
                }
            },
            "move" if rest.starts_with("block ") => {
                let (block, after) = split(&rest["block ".len()..], " behind ")?;
                let (block, after) = (self.block(block)?, self.block(after)?);
                self.edit.move_block_after(block, after)?;
            }
            "move" => {
                let (inst, before) = split(rest, " before ")?;
                let (inst, before) = (self.inst(inst)?, self.inst(before)?);
                self.edit.move_before(inst, before)?;
            }
            "insert" => {
                let (before, text) = split(rest, ": ")?;
                let before = before.strip_prefix("before ").ok_or("`insert before` is known")?;
                let before = self.inst(before)?;
                self.insert(before, text)?;
            }
            "like" => {
                let (inst, text) = split(rest, ": ")?;
                let inst = self.inst(inst)?;
                self.like(inst, text)?;
            }
            "name" => {
                let (inst, name) = split(rest, " = ")?;
                let inst = self.inst(inst)?;
                self.edit.set_name(inst, name)?;
            }
            "phi" => {
                let (place, ty) = split(rest, ": ")?;
                let (name, block) = split(place, " at ")?;
                let (block, ty) = (self.block(block)?, self.ty(ty)?);
                let name = name.strip_prefix('%').ok_or("a phi has a name")?;
                self.edit.at_start(block).named(name).phi(ty)?;
            }
            "incoming" => {
                let (place, value) = split(rest, " = ")?;
                let (phi, block) = split(place, " ")?;
                let (phi, block) = (self.inst(phi)?, self.block(block)?);
                let value = self.value(value)?;
                match self.edit.phi_input(phi, block) {
                    Some(_) => self.edit.set_phi_input(phi, value, block)?,
                    None => self.edit.add_phi_input(phi, value, block)?,
                }
            }
            "attach" => {
                let (place, from) = split(rest, " from ")?;
                let (inst, kind) = split(place, " ")?;
                let (inst, node) = (self.inst(inst)?, self.node(from)?);
                self.edit.attach(inst, kind, Some(node))?;
            }
            "detach" => {
                let (inst, kind) = split(rest, " ")?;
                let inst = self.inst(inst)?;
                self.edit.attach(inst, kind, None)?;
            }
            "split" => {
                let (place, name) = split(rest, ": ")?;
                if let Some(inst) = place.strip_prefix("before ") {
                    let inst = self.inst(inst)?;
                    self.edit.split_before(inst, name)?;
                } else {
                    let edge = place.strip_prefix("edge ").ok_or("`before` or `edge` is known")?;
                    let (block, index) = self.edge(edge)?;
                    self.edit.split_edge(block, index, name)?;
                }
            }
            "redirect" => {
                let (edge, to) = split(rest, " = ")?;
                let ((block, index), to) = (self.edge(edge)?, self.block(to)?);
                self.edit.redirect_edge(block, index, to)?;
            }
            "merge" => {
                let block = self.block(rest)?;
                self.edit.merge_successor(block)?;
            }
            "end" => {
                let (block, text) = split(rest, ": ")?;
                let block = self.block(block)?;
                self.end(block, text)?;
            }
            _ => return Err("there is no such edit".into()),
        }
        Ok(())
    }

    fn end(&mut self, block: BlockId, text: &str) -> Done {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["br", to] => {
                let to = self.block(to)?;
                self.edit.replace_terminator(block).br(to)?;
            }
            ["br", on, yes, no] => {
                let (on, yes, no) = (self.value(on)?, self.block(yes)?, self.block(no)?);
                self.edit.replace_terminator(block).cond_br(on, yes, no)?;
            }
            ["ret"] => {
                self.edit.replace_terminator(block).ret_void()?;
            }
            ["ret", ..] => {
                let value = self.value(text["ret".len()..].trim())?;
                self.edit.replace_terminator(block).ret(value)?;
            }
            ["unreachable"] => {
                self.edit.replace_terminator(block).unreachable()?;
            }
            _ => return Err("there is no such terminator".into()),
        }
        Ok(())
    }

    /// Copies the instruction of a text.
    fn insert(&mut self, before: InstId, text: &str) -> Done {
        let name = text.split_once(" = ").map_or("", |(name, _)| name.trim_start_matches('%'));
        let (source, inst, arguments) = self.written(text)?;
        let own = |value: &Value| match value.as_arg() {
            Some(position) => arguments[position as usize],
            None => *value,
        };
        let operands: Vec<Value> = source.body.operands(inst).iter().map(own).collect();
        self.edit.before(before).named(name).copy_of(source.view(), inst, &operands)?;
        Ok(())
    }

    /// Gives an instruction the flags, the predicate or the alignment of a text.
    fn like(&mut self, inst: InstId, text: &str) -> Done {
        let (source, model, _) = self.written(text)?;
        let model = *source.body.inst(model);
        if self.edit.body().inst(inst).opcode != model.opcode {
            return Err("it is another kind of instruction".into());
        }
        self.edit.set_flags(inst, model.flags)?;
        match model.opcode {
            Opcode::ICmp => self.edit.set_int_predicate(inst, model.int_predicate())?,
            Opcode::Load | Opcode::Store => {
                let align = model.mem().align();
                align.map_or(Ok(()), |align| self.edit.set_align(inst, align))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Parses an instruction in a function that has the values it reads as arguments. Returns these
    /// as well.
    fn written(&self, text: &str) -> Done<(Function, InstId, Vec<Value>)> {
        let read = text.split_once(" = ").map_or(text, |(_, read)| read);
        let mut arguments: Vec<(&str, Value)> = Vec::new();
        for name in names(read) {
            if let Ok(value) = self.local(name)
                && arguments.iter().all(|(known, _)| *known != name)
            {
                arguments.push((name, value));
            }
        }
        let mut parameters = Vec::new();
        for (name, value) in &arguments {
            let ty = self.edit.type_of(*value).ok_or("a value has no type")?;
            parameters.push(format!("{} %{name}", self.type_text(ty)));
        }
        let source = self.parsed(&format!("void @edit.({})", parameters.join(", ")), text)?;
        let inst = source.body.all_ids().next().ok_or("it is no instruction")?;
        Ok((source, inst, arguments.into_iter().map(|(_, value)| value).collect()))
    }

    /// A function of this head with one instruction before its return.
    fn parsed(&self, head: &str, instruction: &str) -> Done<Function> {
        let mut text = String::from_utf8_lossy(self.text).into_owned();
        // Writing to a string cannot fail.
        let _ = write!(text, "\ndefine {head} {{\n  {instruction}\n  ret void\n}}\n");
        let parsed = parse_module(Arc::clone(self.context), text.as_bytes());
        let module: Module = parsed.map_err(|error| error.to_string())?.module;
        module.functions.into_iter().next_back().ok_or_else(|| "it was not read".into())
    }

    fn type_text(&self, ty: Type) -> String {
        let mut out = Vec::new();
        ModulePrinter::with_functions(self.edit.module(), Vec::new()).type_name(ty, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn ty(&self, text: &str) -> Done<Type> {
        let source = self.parsed(&format!("void @edit.({text} %v)"), "unreachable");
        source?.header.params.first().copied().ok_or_else(|| "it is no type".into())
    }

    /// `%name`, or a constant with its type.
    fn value(&self, text: &str) -> Done<Value> {
        if let Some(name) = text.strip_prefix('%') {
            return self.local(name);
        }
        let source = self.parsed("void @edit.()", &format!("%v = freeze {text}"))?;
        let freeze = source.body.all_ids().next().ok_or("it is no constant")?;
        Ok(source.body.operands(freeze)[0])
    }

    /// The value with this name, without `%`.
    fn local(&self, name: &str) -> Done<Value> {
        let names = &self.edit.extras().names;
        let arguments = 0..u32::try_from(self.edit.header().params.len()).unwrap_or(u32::MAX);
        let argument = arguments.into_iter().find(|&at| names.arg(at) == Some(name.as_bytes()));
        match argument {
            Some(position) => Ok(Value::arg(position)),
            None => self.inst(&format!("%{name}")).map(Value::inst),
        }
    }

    /// The instruction `%name`, `end of BLOCK`, or `BLOCK:N`, counted from 0.
    fn inst(&self, text: &str) -> Done<InstId> {
        let body = self.edit.body();
        if let Some(block) = text.strip_prefix("end of ") {
            let end = body.terminator(self.block(block)?);
            return end.ok_or_else(|| "the block has no terminator".into());
        }
        if let Some((block, position)) = text.split_once(':') {
            let position: usize = position.parse().map_err(|_| "a position is a number")?;
            let found = body.block_insts(self.block(block)?).nth(position);
            return found.ok_or_else(|| "the block is shorter".into());
        }
        let name = text.strip_prefix('%').ok_or("an instruction is `%name`")?.as_bytes();
        let names = &self.edit.extras().names;
        let found = body
            .all_ids()
            .find(|&inst| body.block_of(inst).is_some() && names.inst(inst) == Some(name));
        found.ok_or_else(|| format!("there is no `{text}`").into())
    }

    fn block(&self, name: &str) -> Done<BlockId> {
        let names = &self.edit.extras().names;
        let mut blocks = self.edit.flow().order().iter().copied();
        let found = blocks.find(|&block| names.block(block) == Some(name.as_bytes()));
        found.ok_or_else(|| format!("there is no block `{name}`").into())
    }

    fn edge(&self, text: &str) -> Done<(BlockId, usize)> {
        let (block, index) = split(text, " ")?;
        let index = index.parse().map_err(|_| "an edge is `BLOCK NUMBER`")?;
        Ok((self.block(block)?, index))
    }

    /// The first metadata of an instruction.
    fn node(&self, text: &str) -> Done<MetadataId> {
        let inst = self.inst(text)?;
        let found = self.edit.extras().attachments_of(inst).next();
        found.map(|found| found.node).ok_or_else(|| "it has no metadata".into())
    }
}

fn split<'t>(text: &'t str, at: &str) -> Done<(&'t str, &'t str)> {
    let (left, right) = text.split_once(at).ok_or_else(|| format!("`{at}` is missing"))?;
    Ok((left.trim(), right.trim()))
}

/// The names behind `%` in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._$-".contains(c);
    text.split('%')
        .skip(1)
        .map(move |rest| rest.find(|c| !is_of_name(c)).map_or(rest, |end| &rest[..end]))
}
