//! Arguments of intrinsics that must be constants, whether or not the declaration says `immarg`.
//!
//! LLVM knows the attributes of its intrinsics and text need not state them. The table holds those that occur in GPU
//! programs; what it lacks is still checked where the declaration states it.

/// Positions of the immediate arguments of an intrinsic, as bits.
///
/// Names are without their type suffixes, so that `llvm.ctlz.i32` and `llvm.ctlz.v2i64` are found under `llvm.ctlz`.
pub(crate) fn immediates(name: &[u8]) -> u32 {
    let mut end = name.len();
    loop {
        if let Ok(at) = TABLE.binary_search_by(|&(entry, _)| entry.as_bytes().cmp(&name[..end])) {
            return TABLE[at].1;
        }
        match name[..end].iter().rposition(|&byte| byte == b'.') {
            Some(dot) if dot > "llvm".len() => end = dot,
            _ => return 0,
        }
    }
}

/// Sorted by name. An entry without bits ends the search for a longer name.
const TABLE: &[(&str, u32)] = &[
    ("llvm.abs", 1 << 1),
    ("llvm.amdgcn.ds.append", 1 << 1),
    ("llvm.amdgcn.ds.consume", 1 << 1),
    ("llvm.amdgcn.ds.swizzle", 1 << 1),
    ("llvm.amdgcn.exp", 0b1100_0011),
    ("llvm.amdgcn.fcmp", 1 << 2),
    ("llvm.amdgcn.icmp", 1 << 2),
    ("llvm.amdgcn.mov.dpp", 0b1_1110),
    ("llvm.amdgcn.mov.dpp8", 1 << 1),
    ("llvm.amdgcn.permlane16", 0b11_0000),
    ("llvm.amdgcn.permlanex16", 0b11_0000),
    ("llvm.amdgcn.raw.buffer.load", 1 << 3),
    ("llvm.amdgcn.raw.buffer.store", 1 << 4),
    ("llvm.amdgcn.raw.ptr.buffer.load", 1 << 3),
    ("llvm.amdgcn.raw.ptr.buffer.store", 1 << 4),
    ("llvm.amdgcn.s.barrier.wait", 1),
    ("llvm.amdgcn.s.buffer.load", 1 << 2),
    ("llvm.amdgcn.s.getreg", 1),
    ("llvm.amdgcn.s.sendmsg", 1),
    ("llvm.amdgcn.s.setprio", 1),
    ("llvm.amdgcn.s.setreg", 1),
    ("llvm.amdgcn.s.sleep", 1),
    ("llvm.amdgcn.s.waitcnt", 1),
    ("llvm.amdgcn.sched.barrier", 1),
    ("llvm.amdgcn.sched.group.barrier", 0b111),
    ("llvm.amdgcn.update.dpp", 0b11_1100),
    ("llvm.ctlz", 1 << 1),
    ("llvm.cttz", 1 << 1),
    ("llvm.frameaddress", 1),
    ("llvm.is.fpclass", 1 << 1),
    ("llvm.masked.compressstore", 0),
    ("llvm.memcpy", 1 << 3),
    ("llvm.memcpy.element.unordered.atomic", 1 << 3),
    ("llvm.memcpy.inline", 1 << 3),
    ("llvm.memmove", 1 << 3),
    ("llvm.memset", 1 << 3),
    ("llvm.memset.inline", 1 << 3),
    ("llvm.nvvm.cp.async.wait.group", 1),
    ("llvm.objectsize", 0b1110),
    ("llvm.prefetch", 0b1110),
    ("llvm.returnaddress", 1),
    ("llvm.sdiv.fix", 1 << 2),
    ("llvm.smul.fix", 1 << 2),
    ("llvm.udiv.fix", 1 << 2),
    ("llvm.umul.fix", 1 << 2),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_searched_by_prefix() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(immediates(b"llvm.ctlz.v2i64"), 1 << 1);
        assert_eq!(immediates(b"llvm.memset.p0.i64"), 1 << 3);
        assert_eq!(immediates(b"llvm.amdgcn.mov.dpp.i32"), 0b1_1110);
        assert_eq!(immediates(b"llvm.ctpop.i32"), 0);
        assert_eq!(immediates(b"llvm"), 0);
        assert_eq!(immediates(b""), 0);
    }
}
