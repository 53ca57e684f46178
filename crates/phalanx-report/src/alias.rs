//! Prints the alias relation of all pairs of memory accesses of a function; read by tests of the
//! alias query.
//!
//! ```text
//! Aliases of function: f
//!   no       load i32, ptr addrspace(1) %g, align 4 | store i32 %v, ptr %tile, align 4
//! ```

use phalanx_analysis::alias::Alias;
use phalanx_ir::{InstId, Opcode, function::FunctionRef};
use phalanx_llvm::FunctionPrinter;

use crate::llvm::Text;

/// Prints all pairs of loads, stores and atomic operations, in the order of the text. O(accesses
/// squared).
pub fn print_aliases(
    name: &[u8],
    function: FunctionRef<'_>,
    relate: impl Fn(InstId, InstId) -> Option<Alias>,
    printer: &FunctionPrinter<'_>,
    out: &mut Text<'_>,
) {
    out.extend_from_slice(b"Aliases of function: ");
    out.extend_from_slice(name);
    out.push(b'\n');
    let body = function.body;
    let is_access = |inst: &InstId| {
        matches!(
            body.inst(*inst).opcode,
            Opcode::Load | Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg
        )
    };
    let all = function.flow.order().iter().flat_map(|&block| body.block_insts(block));
    let accesses: Vec<InstId> = all.filter(is_access).collect();
    for (at, &a) in accesses.iter().enumerate() {
        for &b in &accesses[at + 1..] {
            let word = match relate(a, b) {
                Some(Alias::No) => "no",
                Some(Alias::Partial) => "partial",
                Some(Alias::Must) => "must",
                Some(Alias::May) | None => "may",
            };
            out.extend_from_slice(format!("  {word:<9}").as_bytes());
            printer.inst(a, out);
            out.extend_from_slice(b" | ");
            printer.inst(b, out);
            out.push(b'\n');
            out.end_of_line();
        }
    }
}
