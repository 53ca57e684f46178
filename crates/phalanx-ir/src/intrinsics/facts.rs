//! Properties of LLVM's intrinsics beside their signatures: ranges of immediate arguments, and
//! which intrinsics are `speculatable`.
//!
//! ```text
//! @ 0 24 257
//!     nvvm.setmaxnreg.{dec,inc}.sync.aligned.u32
//! ```
//!
//! says that argument 0 of both intrinsics is at least 24 and less than 257. Declarations in text
//! need not state such facts; if they do, LLVM replaces them. An overloaded name is looked up
//! without its type suffix. A look-up hashes the name once per component.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Lookup, alternatives, lookup};

/// A range of an immediate argument: `low <= argument < high`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ImmediateRange {
    /// The position of the argument.
    pub argument: usize,
    /// The least value.
    pub low: i64,
    /// One more than the greatest value.
    pub high: i64,
}

/// Lists by the names that they are about.
type Lists = FxHashMap<Box<str>, SmallVec<[i64; 3]>>;

static RANGES: LazyLock<Lists> = LazyLock::new(|| expand(include_str!("ranges.tbl")));
static SPECULATABLE: LazyLock<Lists> = LazyLock::new(|| expand(include_str!("speculatable.tbl")));

/// The ranges of the immediate arguments of an intrinsic, named with `llvm.`
pub fn immediate_ranges(name: &[u8]) -> impl Iterator<Item = ImmediateRange> {
    let list = find(&RANGES, name).unwrap_or_default();
    list.chunks_exact(3).map(|part| ImmediateRange {
        argument: usize::try_from(part[0]).unwrap_or(usize::MAX),
        low: part[1],
        high: part[2],
    })
}

/// Whether LLVM marks an intrinsic `speculatable`.
pub fn is_speculatable(name: &[u8]) -> bool {
    find(&SPECULATABLE, name).is_some()
}

/// The entry of an intrinsic in a table.
fn find<'a>(table: &'a Lists, name: &[u8]) -> Option<&'a [i64]> {
    let Lookup::Known(base, _) = lookup(name) else { return None };
    table.get(base).map(|list| &**list)
}

/// Reads a table: a name below several headings gets the numbers of all of them.
fn expand(text: &str) -> Lists {
    let mut lists = Lists::default();
    let mut numbers: Vec<i64> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("@ ") {
            numbers = heading.split(' ').filter_map(|number| number.parse().ok()).collect();
        } else if !line.starts_with('#') {
            for pattern in line.split_whitespace() {
                alternatives("", pattern, &mut |name| {
                    lists.entry(name.into()).or_default().extend_from_slice(&numbers);
                });
            }
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_by_name() {
        let ranges: Vec<_> =
            immediate_ranges(b"llvm.nvvm.setmaxnreg.inc.sync.aligned.u32").collect();
        assert_eq!(ranges, [ImmediateRange { argument: 0, low: 24, high: 257 }]);
        assert!(immediate_ranges(b"llvm.umax.i32").next().is_none());
        assert!(is_speculatable(b"llvm.umax.v4i32"));
        assert!(is_speculatable(b"llvm.amdgcn.mul.u24"));
        assert!(!is_speculatable(b"llvm.memcpy.p0.p0.i64") && !is_speculatable(b"umax"));
    }

    #[test]
    fn tables_are_well_formed() {
        assert!(RANGES.values().all(|list| list.len() % 3 == 0 && !list.is_empty()));
        assert!(SPECULATABLE.values().all(|list| list.is_empty()));
        assert!(RANGES.len() > 300 && SPECULATABLE.len() > 1_000);
    }
}
