//! Suppressions in the program: findings that are not to be reported.
//!
//! | where | how | for |
//! |---|---|---|
//! | in the source or in the module, on the line or the one before | `phalanx: allow(PHX003)` in a comment | what is on the line |
//! | annotation of a function | `__attribute__((annotate("phalanx: allow(PHX003)")))`, which clang puts in `@llvm.global.annotations` | its own code |
//! | metadata of an instruction or a function | `!phalanx.allow !0`, `!0 = !{!"PHX003"}` | it |
//! | metadata of the module | `!phalanx.allow = !{!0}`, `!0 = !{!"PHX003"}` | all of it |
//!
//! Codes and names of rules are understood, several of them separated by commas, and `all`.

use phalanx_analysis::check::Rule;
use phalanx_ir::{
    Const, Context, GlobalName, InstId, Module,
    constant::ConstKind,
    function::FunctionRef,
    metadata::{MetadataId, MetadataValue},
};

/// The kind of metadata that says so.
const KIND: &[u8] = b"phalanx.allow";

/// What clang makes of `__attribute__((annotate("..")))`.
const ANNOTATIONS: &[u8] = b"llvm.global.annotations";

/// What metadata and annotations allow in one function.
#[derive(Debug)]
pub struct Allowed<'a> {
    context: &'a Context,
    module: &'a Module,
    function: FunctionRef<'a>,
}

impl<'a> Allowed<'a> {
    pub(super) fn new(context: &'a Context, module: &'a Module, function: FunctionRef<'a>) -> Self {
        Allowed { context, module, function }
    }

    /// Whether a rule is not to be reported at an instruction.
    #[must_use]
    pub fn has(&self, rule: Rule, inst: InstId) -> bool {
        if self.is_annotated(rule) {
            return true;
        }
        let Some(kind) = self.context.find_symbol(KIND) else { return false };
        let of_inst = self.function.extras.attachments_of(inst);
        let of_function = self.function.header.metadata.iter().copied();
        let mut attached = of_inst.chain(of_function).filter(|a| a.kind == kind);
        attached.any(|a| self.names(a.node, rule))
            || self.module.metadata.named_operands(kind).iter().any(|&node| self.names(node, rule))
    }

    /// Whether the function has an annotation that allows a rule.
    fn is_annotated(&self, rule: Rule) -> bool {
        let find = |name: &dyn Fn(GlobalName) -> bool| {
            let variable = self.module.variables.iter().find(|variable| name(variable.name))?;
            Some(&self.context.const_data(variable.initializer?).kind)
        };
        let is_list = |name: GlobalName| {
            name.symbol().is_some_and(|symbol| self.context.bytes(symbol) == ANNOTATIONS)
        };
        let Some(list) = find(&is_list) else { return false };
        list.parts().iter().any(|&entry| {
            let [function, text, ..] = self.context.const_data(entry).kind.parts() else {
                return false;
            };
            let text = self.global(*text).and_then(|text| find(&|name| name == text));
            self.global(*function) == Some(self.function.header.name)
                && matches!(text, Some(ConstKind::Bytes(text)) if allows_in_comment(text, rule))
        })
    }

    /// The global that an address is of, casts left out.
    fn global(&self, mut address: Const) -> Option<GlobalName> {
        loop {
            match &self.context.const_data(address).kind {
                ConstKind::Global(name) => return Some(*name),
                ConstKind::Expr(expr) => address = *expr.operands.first()?,
                _ => return None,
            }
        }
    }

    fn names(&self, node: MetadataId, rule: Rule) -> bool {
        let strings = self.module.metadata.values(node).filter_map(MetadataValue::as_string);
        strings.into_iter().any(|symbol| is_named(&self.context.text(symbol), rule))
    }
}

fn is_named(text: &str, rule: Rule) -> bool {
    let text = text.trim();
    text == "all" || Rule::from_name(text) == Some(rule)
}

/// Whether a comment on a line allows a rule.
#[must_use]
pub fn allows_in_comment(line: &[u8], rule: Rule) -> bool {
    let line = String::from_utf8_lossy(line);
    line.match_indices("phalanx: allow(").any(|(at, sign)| {
        let rest = &line[at + sign.len()..];
        let list = rest.split(')').next().unwrap_or_default();
        list.split(',').any(|name| is_named(name, rule))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments() {
        let allows = |line: &str| allows_in_comment(line.as_bytes(), Rule::BarrierAfterExit);
        assert!(allows("  __syncthreads(); // phalanx: allow(PHX003)"));
        assert!(allows("; phalanx: allow(PHX001, barrier-after-exit)"));
        assert!(allows("/* phalanx: allow(all) */"));
        assert!(!allows("// phalanx: allow(PHX001)"));
        assert!(!allows("// allow(PHX003)"));
        assert!(!allows("// phalanx: allow()"));
    }
}
