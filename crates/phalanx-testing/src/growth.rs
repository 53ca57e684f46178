//! Families of modules of growing size: `cargo xtask growth` measures every command, fact and pass
//! on each.
//!
//! A family is one shape of code at any size, chosen because compilers are easily super-linear in
//! it: stack slots, address computations, call graphs, nests of loops with memory accesses,
//! findings. The families of control flow are those of [`crate::giants`]; [`families`] includes
//! these, too.
//!
//! ```
//! let family = phalanx_testing::growth::find("call_chain").expect("there is one");
//! let (small, large) = (family.text(10), family.text(20));
//! assert!(small.contains("call i32 @f9"));
//! assert!(large.len() < 3 * small.len());
//! ```
//!
//! The text of a family is linear in its size, and the same size gives the same text.

mod calls;
mod control;
mod data;
mod findings;
mod memory;

use std::fmt::{self, Write as _};

use rand::{SeedableRng as _, rngs::StdRng};

use crate::giants::{self, Giant};

/// A shape of code.
#[derive(Copy, Clone)]
pub struct Family {
    /// A short name.
    pub name: &'static str,
    shape: Shape,
}

#[derive(Copy, Clone)]
enum Shape {
    Giant(giants::Family),
    Module(fn(&mut Text, usize)),
}

/// A family with its own function that writes a module.
const fn module(name: &'static str, write: fn(&mut Text, usize)) -> Family {
    Family { name, shape: Shape::Module(write) }
}

impl Family {
    /// The module at a size of at least 1.
    #[must_use]
    pub fn text(&self, size: usize) -> String {
        match self.shape {
            Shape::Giant(family) => Giant::new(family, size).text(),
            Shape::Module(write) => {
                let mut text =
                    Text { out: String::from(HEAD), rng: StdRng::seed_from_u64(size as u64) };
                write(&mut text, size.max(1));
                text.out
            }
        }
    }
}

/// Every family.
#[must_use]
pub fn families() -> Vec<Family> {
    let giants = giants::Family::ALL.iter();
    let giants = giants.map(|&family| Family { name: family.name(), shape: Shape::Giant(family) });
    let modules = [control::FAMILIES, memory::FAMILIES, calls::FAMILIES, data::FAMILIES]
        .into_iter()
        .chain([findings::FAMILIES]);
    giants.chain(modules.flatten().copied()).collect()
}

/// The family with this name.
#[must_use]
pub fn find(name: &str) -> Option<Family> {
    families().into_iter().find(|family| family.name == name)
}

const HEAD: &str = "\
target datalayout = \"e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-\
p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-\
v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9\"
target triple = \"amdgcn-amd-amdhsa\"

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()

";

/// A module under construction.
struct Text {
    out: String,
    rng: StdRng,
}

/// Writes one line.
macro_rules! w {
    ($text:expr, $($arg:tt)*) => { $text.line(format_args!($($arg)*)) };
}
use w;

impl Text {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        let _cannot_fail = writeln!(self.out, "{line}");
    }

    /// The head of the kernel `@k`, whose `%tid` is the work-item id.
    fn kernel(&mut self, parameters: &str) {
        w!(self, "define amdgpu_kernel void @k({parameters}) {{\nentry:");
        w!(self, "  %tid = call i32 @llvm.amdgcn.workitem.id.x()");
    }

    /// As [`Text::kernel`], with a buffer `%p` and a number `%n`.
    fn usual_kernel(&mut self) {
        self.kernel("ptr addrspace(1) %p, i32 %n");
    }

    /// The end of a function that returns `void`.
    fn end(&mut self) {
        w!(self, "  ret void\n}}");
    }
}

/// `%tid` for each third, `%n` for the others.
fn third(i: usize) -> &'static str {
    if i.is_multiple_of(3) { "%tid" } else { "%n" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llvm_tools::require;

    #[test]
    fn llvm_takes_every_family() {
        let Some(assembler) = require("llvm-as") else { return };
        for family in families() {
            for size in [1, 2, 30] {
                let text = family.text(size);
                let run =
                    assembler.run(["-disable-output"], text.as_bytes()).expect("llvm-as runs");
                assert!(run.success(), "{} {size}: {}", family.name, run.errors());
            }
        }
    }

    /// Growth in size is growth in text too.
    #[test]
    fn texts_are_linear_in_sizes() {
        for family in families() {
            let (small, large) = (family.text(1_000).len(), family.text(4_000).len());
            let ratio = large as f64 / small as f64;
            assert!((3.3..5.5).contains(&ratio), "{}: {ratio}", family.name);
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<&str> = families().iter().map(|family| family.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
