//! Reads the text of inline assembly.

use phalanx_ir::constant::InlineAsm;
use phalanx_target::{inline_asm::Assembly, target::Architecture};

use super::Code;

/// The operations of an inline assembly constant; see [`Assembly::read`] for the architecture.
#[must_use]
pub fn read_assembly(code: Code<'_>, asm: &InlineAsm, architecture: Architecture) -> Assembly {
    let text = |symbol| code.context.text(symbol);
    Assembly::read(architecture, &text(asm.template), &text(asm.constraints))
}
