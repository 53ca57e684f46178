//! From a function of the IR to the [`ValueTable`](phalanx_core::divergence::ValueTable) that the
//! divergence analysis reads.
//!
//! The analysis knows no IR. It reads a table: for each value its own sources, the values that it
//! is computed from, and the block that it is in. [`full()`] makes the table of a function.
//!
//! ```text
//! %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()   ; seed: thread x
//! %a = add i32 %t, %n                              ; operands: %t, %n
//! %c = icmp ult i32 %a, 32                         ; operands: %a, or none if its shape decides
//! br i1 %c, label %then, label %done               ; terminator: %c
//! ```
//!
//! | module | what |
//! |---|---|
//! | `entry` | the functions to call |
//! | `rule`, `build` | the trait that a set of rules implements; the pass that asks it about each instruction and builds the table |
//! | `full` | our rules, which hold for every execution |
//! | `llvm` | the rules of LLVM 22 |
//! | `families`, `omitted` | rules left out, for tests and measurements |
//! | `calls`, `results`, `assembly` | calls of functions, of intrinsics, of inline assembly |
//! | `private` | loads from and stores to private memory |
//! | `single`, `update` | one instruction alone; an edited function |
//!
//! Numbering, phis, uses and terminators are the same for all rules, and are in `build`.
//! O(instructions + operands). Read [`full()`] first, then `rule` and `build`.

mod assembly;
mod build;
mod calls;
mod entry;
mod families;
mod full;
mod llvm;
mod omitted;
mod private;
mod results;
mod rule;
mod single;
mod update;

#[cfg(any(test, feature = "testing"))]
pub use entry::full_without;
pub use entry::{as_exact_llvm, as_llvm, full, full_with, memory_versions};
pub(crate) use entry::{
    full_and_rows, full_through, full_through_and_versions, full_with_contents,
};
pub use families::full_without_family;
#[cfg(any(test, feature = "testing"))]
pub use families::full_without_part;
pub use full::FullRules;
pub use llvm::LlvmRules;
pub use omitted::{Family, OmittedPart, OmittedRead};
pub(crate) use private::{MemoryRows, PointeeValues, RowNumbers};
pub use private::{MemoryVersion, VersionBy};
pub(crate) use single::Single;
pub use update::Neighbours;
pub(crate) use update::Restated;

pub use crate::code::{Code, Definition, Environment, Library, NotThere, Numbering, read_assembly};
