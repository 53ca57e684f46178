//! What a program says it knows about itself: findings that are not to be reported.
//!
//! | where | how | for |
//! |---|---|---|
//! | in the source or in the module, on the line or the one before | `phalanx: allow(PHX003)` in a comment | what is on the line |
//! | metadata of an instruction or a function | `!phalanx.allow !0`, `!0 = !{!"PHX003"}` | it |
//! | metadata of the module | `!phalanx.allow = !{!0}`, `!0 = !{!"PHX003"}` | all of it |
//!
//! Codes and names of rules are understood, several of them separated by commas, and `all`.

use phalanx_analysis::check::Rule;
use phalanx_ir::{
    Context, InstId,
    function::FunctionRef,
    metadata::{Metadata, MetadataId, MetadataValue},
};

/// The kind of metadata that says so.
const KIND: &[u8] = b"phalanx.allow";

/// What metadata allows in one function.
#[derive(Debug)]
pub struct Allowed<'a> {
    context: &'a Context,
    metadata: &'a Metadata,
    function: FunctionRef<'a>,
}

impl<'a> Allowed<'a> {
    pub(super) fn new(
        context: &'a Context,
        metadata: &'a Metadata,
        function: FunctionRef<'a>,
    ) -> Self {
        Allowed { context, metadata, function }
    }

    /// Whether a rule is not to be reported at an instruction.
    #[must_use]
    pub fn has(&self, rule: Rule, inst: InstId) -> bool {
        let Some(kind) = self.context.find_symbol(KIND) else { return false };
        let of_inst = self.function.extras.attachments_of(inst);
        let of_function = self.function.header.metadata.iter().copied();
        let mut attached = of_inst.chain(of_function).filter(|a| a.kind == kind);
        attached.any(|a| self.names(a.node, rule))
            || self.metadata.named_operands(kind).iter().any(|&node| self.names(node, rule))
    }

    fn names(&self, node: MetadataId, rule: Rule) -> bool {
        let strings = self.metadata.values(node).filter_map(MetadataValue::as_string);
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
