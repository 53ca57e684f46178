//! The intrinsics of LLVM 22: their names and signatures.
//!
//! A name is a base and, for an overloaded intrinsic, the types it is used at: `llvm.umax.v4i32` is
//! `umax` at `<4 x i32>`. The base is the longest known name that is followed by a dot or the end.
//! If that intrinsic is not overloaded but types follow, the name is unknown, as it is for LLVM.
//!
//! There are tables for the intrinsics of all targets, for those of GPUs and for those of the other
//! targets. Intrinsics that an older LLVM had for a target that is no GPU, and that LLVM 22 still
//! reads, have no table ([`Lookup::Elsewhere`]). A test compares every signature with the installed
//! LLVM.
//!
//! A table is expanded on the first look-up in its family, which takes a millisecond at most. A
//! look-up hashes the name once per component.

pub mod facts;
pub mod signature;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

pub use self::signature::{Mismatch, Signature};

/// The result of looking a name up.
#[derive(Clone, Copy, Debug)]
pub enum Lookup {
    /// The intrinsic with this base, without `llvm.`, and this signature.
    Known(&'static str, &'static Signature),
    /// LLVM has no such intrinsic.
    Unknown,
    /// It may be an intrinsic that an older LLVM had for a target that is no GPU.
    Elsewhere,
}

impl Lookup {
    /// The signature, where it is known.
    pub fn signature(self) -> Option<&'static Signature> {
        match self {
            Lookup::Known(_, signature) => Some(signature),
            _ => None,
        }
    }
}

/// Signatures by name. A name is without `llvm.` but with the prefix of its family.
struct Table {
    signatures: Vec<Signature>,
    names: FxHashMap<Box<str>, u32>,
}

macro_rules! families {
    ($($prefix:literal $file:literal,)*) => {
        static FAMILIES: [(&str, LazyLock<Table>); [$($prefix),*].len()] = [
            $(($prefix, LazyLock::new(|| Table::expand($prefix, include_str!($file)))),)*
        ];
    };
}

families! {
    "amdgcn." "intrinsics/amdgcn.tbl",
    "nvvm." "intrinsics/nvvm.tbl",
    "r600." "intrinsics/r600.tbl",
    "spv." "intrinsics/spv.tbl",
    "aarch64." "intrinsics/aarch64.tbl",
    "arm." "intrinsics/arm.tbl",
    "bpf." "intrinsics/bpf.tbl",
    "dx." "intrinsics/dx.tbl",
    "hexagon." "intrinsics/hexagon.tbl",
    "loongarch." "intrinsics/loongarch.tbl",
    "mips." "intrinsics/mips.tbl",
    "ppc." "intrinsics/ppc.tbl",
    "riscv." "intrinsics/riscv.tbl",
    "s390." "intrinsics/s390.tbl",
    "ve." "intrinsics/ve.tbl",
    "wasm." "intrinsics/wasm.tbl",
    "x86." "intrinsics/x86.tbl",
    "xcore." "intrinsics/xcore.tbl",
    "" "intrinsics/generic.tbl",
}

/// First components of the names of intrinsics of targets that are no GPUs.
const ELSEWHERE: [&str; 16] = [
    "aarch64",
    "arm",
    "bpf",
    "dx",
    "hexagon",
    "loongarch",
    "mips",
    "ppc",
    "riscv",
    "s390",
    "sparc",
    "ve",
    "wasm",
    "x86",
    "xcore",
    "xtensa",
];

/// Prefixes of names that LLVM 22 also reads with the signature, or under the name, of an older
/// LLVM. This crate does not upgrade such calls.
const OLDER: [&str; 54] = [
    "aarch64.neon.bf",
    "amdgcn.ldexp.",
    "amdgcn.swmmac.i32.16x16x128.iu8",
    "amdgcn.wmma.i32.16x16x64.iu8",
    "arm.cde.vcx",
    "arm.mve.vctp64",
    "arm.mve.vldr.gather",
    "arm.mve.vmull",
    "arm.mve.vqdmull",
    "arm.mve.vstr.scatter",
    "arm.neon.bf",
    "dbg.",
    "experimental.vector.partial.reduce.add.",
    "experimental.vector.splice",
    "nvvm.abs.bf16",
    "nvvm.cp.async.bulk.global.to.shared.cluster",
    "nvvm.cp.async.bulk.shared.cta.to.cluster",
    "nvvm.cp.async.bulk.tensor.g2s.",
    "nvvm.ex2.approx.",
    "nvvm.fma.rn.bf16",
    "nvvm.fma.rn.ftz.bf16",
    "nvvm.fma.rn.ftz.relu.bf16",
    "nvvm.fma.rn.ftz.sat.bf16",
    "nvvm.fma.rn.relu.bf16",
    "nvvm.fma.rn.sat.bf16",
    "nvvm.fmax.",
    "nvvm.fmin.",
    "nvvm.mapa.shared.cluster",
    "nvvm.mul.bf16",
    "nvvm.neg.bf16",
    "ptr.annotation",
    "riscv.aes32",
    "riscv.sha256s",
    "riscv.sm3p",
    "riscv.sm4",
    "stackprotectorcheck",
    "var.annotation",
    "vector.splice",
    "x86.avx.dp.ps.256",
    "x86.avx10.vpdp",
    "x86.avx2.mpsadbw",
    "x86.avx2.vpdp",
    "x86.avx512.mask.cmp.p",
    "x86.avx512.mask.compress.",
    "x86.avx512.mask.expand.",
    "x86.avx512.vpdp",
    "x86.avx512bf16.",
    "x86.rdtscp",
    "x86.sse41.dpp",
    "x86.sse41.insertps",
    "x86.sse41.mpsadbw",
    "x86.sse41.ptest",
    "x86.xop.vfrcz.s",
    "x86.xop.vpermil2p",
];

/// Whether LLVM 22 also reads functions of this name with another signature than that of its own
/// intrinsic.
pub fn is_also_older(name: &[u8]) -> bool {
    let Some(name) = name.strip_prefix(b"llvm.") else { return false };
    OLDER.iter().any(|older| name.starts_with(older.as_bytes()))
}

/// Looks up a name that starts with `llvm.`
pub fn lookup(name: &[u8]) -> Lookup {
    let text = name.strip_prefix(b"llvm.").and_then(|name| std::str::from_utf8(name).ok());
    let Some(text) = text else { return Lookup::Unknown };
    let first = text.split('.').next().unwrap_or_default();
    let missing = if ELSEWHERE.contains(&first) { Lookup::Elsewhere } else { Lookup::Unknown };
    let family = FAMILIES.iter().find(|(prefix, _)| text.starts_with(prefix));
    let Some((_, table)) = family else { return missing };
    let mut end = text.len();
    loop {
        if let Some((base, &at)) = table.names.get_key_value(&text[..end]) {
            let signature = &table.signatures[at as usize];
            if end < text.len() && !signature.is_overloaded() {
                return missing;
            }
            return Lookup::Known(base, signature);
        }
        let Some(dot) = text[..end].rfind('.') else { return missing };
        end = dot;
    }
}

/// Every name that is known, with its signature: `llvm.abs` and `anyint: =0 i1!`. For tests.
pub fn all() -> impl Iterator<Item = (String, &'static Signature)> {
    FAMILIES.iter().flat_map(|(_, table)| {
        let names = table.names.iter();
        names.map(|(name, &at)| (format!("llvm.{name}"), &table.signatures[at as usize]))
    })
}

impl Table {
    /// Reads a table. A test of this module reports mistakes in tables.
    fn expand(prefix: &str, text: &str) -> Table {
        let mut table = Table { signatures: Vec::new(), names: FxHashMap::default() };
        table.names.reserve(text.len() / 20);
        for line in text.lines() {
            if let Some(signature) = line.strip_prefix("@ ") {
                table.signatures.extend(Signature::parse(signature));
            } else if !line.starts_with('#') {
                let at = table.signatures.len().saturating_sub(1) as u32;
                for pattern in line.split_whitespace() {
                    alternatives(prefix, pattern, &mut |name| {
                        table.names.insert(name.into(), at);
                    });
                }
            }
        }
        table
    }
}

/// Calls `each` with every name that a pattern stands for: the product of its braces, after a
/// prefix. A `{` without its `}` reaches to the end. A program that reads ten lines spends most of
/// its time here, so nothing is allocated for a name. O(length of all names).
///
/// ```
/// let mut names = Vec::new();
/// phalanx_ir::intrinsics::alternatives("llvm.", "{min,max}num.f{32,64}", &mut |name| {
///     names.push(name.to_owned());
/// });
/// assert_eq!(names, ["llvm.minnum.f32", "llvm.minnum.f64", "llvm.maxnum.f32", "llvm.maxnum.f64"]);
/// ```
pub fn alternatives(prefix: &str, pattern: &str, each: &mut dyn FnMut(&str)) {
    let mut groups: Vec<(&str, std::str::Split<'_, char>, &str)> = Vec::new();
    let mut rest = pattern;
    while let Some((before, inside)) = rest.split_once('{') {
        let (choices, after) = inside.split_once('}').unwrap_or((inside, ""));
        groups.push((before, choices.split(','), choices));
        rest = after;
    }
    // What is chosen of the groups so far stands in `name`, up to where each of them begins.
    let mut name = String::from(prefix);
    let mut starts = vec![name.len()];
    while let Some(&start) = starts.last() {
        name.truncate(start);
        let Some((before, choices, all)) = groups.get_mut(starts.len() - 1) else {
            name.push_str(rest);
            each(&name);
            starts.pop();
            continue;
        };
        match choices.next() {
            Some(choice) => {
                name.push_str(before);
                name.push_str(choice);
                starts.push(name.len());
            }
            None => {
                *choices = all.split(',');
                starts.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 19] = [
        include_str!("intrinsics/amdgcn.tbl"),
        include_str!("intrinsics/nvvm.tbl"),
        include_str!("intrinsics/r600.tbl"),
        include_str!("intrinsics/spv.tbl"),
        include_str!("intrinsics/aarch64.tbl"),
        include_str!("intrinsics/arm.tbl"),
        include_str!("intrinsics/bpf.tbl"),
        include_str!("intrinsics/dx.tbl"),
        include_str!("intrinsics/hexagon.tbl"),
        include_str!("intrinsics/loongarch.tbl"),
        include_str!("intrinsics/mips.tbl"),
        include_str!("intrinsics/ppc.tbl"),
        include_str!("intrinsics/riscv.tbl"),
        include_str!("intrinsics/s390.tbl"),
        include_str!("intrinsics/ve.tbl"),
        include_str!("intrinsics/wasm.tbl"),
        include_str!("intrinsics/x86.tbl"),
        include_str!("intrinsics/xcore.tbl"),
        include_str!("intrinsics/generic.tbl"),
    ];

    #[test]
    fn tables_are_well_formed() {
        for text in TEXTS {
            for line in text.lines().filter_map(|line| line.strip_prefix("@ ")) {
                let signature = Signature::parse(line);
                assert_eq!(signature.map(|s| s.to_string()).as_deref(), Some(line));
            }
            let names = text.lines().filter(|line| line.starts_with(' '));
            let mut count = 0;
            for pattern in names.flat_map(str::split_whitespace) {
                alternatives("", pattern, &mut |_| count += 1);
            }
            let table = Table::expand("", text);
            assert_eq!(table.names.len(), count, "a name occurs twice");
        }
    }

    #[test]
    fn the_longest_name_counts() {
        let base = |name: &str| match lookup(name.as_bytes()) {
            Lookup::Known(base, _) => base,
            Lookup::Unknown => "unknown",
            Lookup::Elsewhere => "elsewhere",
        };
        assert_eq!(base("llvm.umax.v4i32"), "umax");
        assert_eq!(base("llvm.umax"), "umax");
        assert_eq!(base("llvm.memcpy.inline.p0.p0.i64"), "memcpy.inline");
        assert_eq!(base("llvm.memcpy.p0.p0.i64"), "memcpy");
        assert_eq!(base("llvm.trap.i32"), "unknown");
        assert_eq!(base("llvm.umaxx"), "unknown");
        assert_eq!(base("llvm.amdgcn.umax.i32"), "unknown");
        assert_eq!(base("llvm.nvvm.read.ptx.sreg.tid.x"), "nvvm.read.ptx.sreg.tid.x");
        assert_eq!(base("llvm.x86.anything"), "elsewhere");
        assert_eq!(base("llvm.x86"), "elsewhere");
        assert_eq!(base("llvm.aarch64.sve.ptrue.nxv4i1"), "aarch64.sve.ptrue");
        assert_eq!(base("llvm."), "unknown");
        assert_eq!(base("umax"), "unknown");
    }
}
