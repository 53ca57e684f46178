//! What is known of intrinsics beside their declarations: signatures, immediate arguments, ranges of arguments.
//!
//! LLVM knows all of its intrinsics, and text need not repeat it. The tables hold those that GPU programs and our
//! analyses depend on; what they lack is still checked where a declaration states it.

use crate::{
    body::Body,
    constant::ConstKind,
    function::FunctionHeader,
    inst::Opcode,
    types::Type,
    value::ValueKind,
    verify::{
        env::Env,
        fault::{Check, Related, ensure},
        view::InstView,
    },
};

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

/// Result and parameters of intrinsics that are not overloaded, a letter each. Sorted by name.
const SIGNATURES: &[(&str, &str)] = &[
    ("llvm.amdgcn.dispatch.ptr", "c"),
    ("llvm.amdgcn.ds.bpermute", "iii"),
    ("llvm.amdgcn.ds.permute", "iii"),
    ("llvm.amdgcn.endpgm", "v"),
    ("llvm.amdgcn.implicitarg.ptr", "c"),
    ("llvm.amdgcn.kernarg.segment.ptr", "c"),
    ("llvm.amdgcn.mbcnt.hi", "iii"),
    ("llvm.amdgcn.mbcnt.lo", "iii"),
    ("llvm.amdgcn.s.barrier", "v"),
    ("llvm.amdgcn.s.memtime", "l"),
    ("llvm.amdgcn.s.sleep", "vi"),
    ("llvm.amdgcn.wave.barrier", "v"),
    ("llvm.amdgcn.wavefrontsize", "i"),
    ("llvm.amdgcn.workgroup.id.x", "i"),
    ("llvm.amdgcn.workgroup.id.y", "i"),
    ("llvm.amdgcn.workgroup.id.z", "i"),
    ("llvm.amdgcn.workitem.id.x", "i"),
    ("llvm.amdgcn.workitem.id.y", "i"),
    ("llvm.amdgcn.workitem.id.z", "i"),
    ("llvm.assume", "vb"),
    ("llvm.donothing", "v"),
    ("llvm.experimental.convergence.anchor", "t"),
    ("llvm.experimental.convergence.entry", "t"),
    ("llvm.experimental.convergence.loop", "t"),
    ("llvm.nvvm.bar.warp.sync", "vi"),
    ("llvm.nvvm.exit", "v"),
    ("llvm.nvvm.membar.cta", "v"),
    ("llvm.nvvm.membar.gl", "v"),
    ("llvm.nvvm.read.ptx.sreg.ctaid.x", "i"),
    ("llvm.nvvm.read.ptx.sreg.ctaid.y", "i"),
    ("llvm.nvvm.read.ptx.sreg.ctaid.z", "i"),
    ("llvm.nvvm.read.ptx.sreg.laneid", "i"),
    ("llvm.nvvm.read.ptx.sreg.nctaid.x", "i"),
    ("llvm.nvvm.read.ptx.sreg.nctaid.y", "i"),
    ("llvm.nvvm.read.ptx.sreg.nctaid.z", "i"),
    ("llvm.nvvm.read.ptx.sreg.ntid.x", "i"),
    ("llvm.nvvm.read.ptx.sreg.ntid.y", "i"),
    ("llvm.nvvm.read.ptx.sreg.ntid.z", "i"),
    ("llvm.nvvm.read.ptx.sreg.tid.x", "i"),
    ("llvm.nvvm.read.ptx.sreg.tid.y", "i"),
    ("llvm.nvvm.read.ptx.sreg.tid.z", "i"),
    ("llvm.nvvm.read.ptx.sreg.warpid", "i"),
    ("llvm.nvvm.read.ptx.sreg.warpsize", "i"),
    ("llvm.nvvm.shfl.sync.bfly.i32", "iiiii"),
    ("llvm.nvvm.shfl.sync.down.i32", "iiiii"),
    ("llvm.nvvm.shfl.sync.idx.i32", "iiiii"),
    ("llvm.nvvm.shfl.sync.up.i32", "iiiii"),
    ("llvm.nvvm.vote.all.sync", "bib"),
    ("llvm.nvvm.vote.any.sync", "bib"),
    ("llvm.nvvm.vote.ballot.sync", "iib"),
    ("llvm.trap", "v"),
];

fn letter(ty: Type) -> u8 {
    match ty {
        Type::VOID => b'v',
        Type::TOKEN => b't',
        Type::I1 => b'b',
        Type::I32 => b'i',
        Type::I64 => b'l',
        Type::PTR4 => b'c',
        _ => b'?',
    }
}

/// The declaration of an intrinsic that is called.
fn signature(name: &[u8], header: &FunctionHeader) -> Check {
    let Ok(at) = SIGNATURES.binary_search_by(|&(entry, _)| entry.as_bytes().cmp(name)) else {
        return Ok(());
    };
    let (ret, params) = SIGNATURES[at].1.as_bytes().split_at(1);
    let me = || Related::Global(header.name);
    ensure!(ret[0] == letter(header.ret), "Intrinsic has incorrect return type!", me());
    ensure!(
        header.params.iter().map(|&ty| letter(ty)).eq(params.iter().copied()),
        "Intrinsic has incorrect argument type!",
        me()
    );
    ensure!(!header.vararg, "Intrinsic was not defined with variable arguments!", me());
    Ok(())
}

/// A call of an intrinsic: its declaration, and arguments whose values are restricted.
pub(crate) fn call(
    env: &Env<'_>,
    inst: &InstView<'_>,
    name: &[u8],
    header: &FunctionHeader,
) -> Check {
    signature(name, header)?;
    let types = &env.types;
    let integer = |at: usize| {
        inst.args().get(at).and_then(|arg| arg.as_const()).and_then(|c| types.const_int(c))
    };
    let is_one_of = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if is_one_of(&[b"llvm.lifetime.start", b"llvm.lifetime.end"]) {
        // The older form has a size before the pointer, and LLVM rewrites it as it reads.
        let only = inst.args().first().filter(|_| inst.args().len() == 1);
        let fits = only.is_none_or(|arg| match arg.kind() {
            ValueKind::Inst(def) => is_alloca(inst.body, def),
            ValueKind::Const(c) => types.context.const_data(c).kind == ConstKind::Poison,
            _ => false,
        });
        ensure!(fits, "llvm.lifetime.start/end can only be used on alloca or poison");
    } else if is_one_of(&[b"llvm.is.fpclass."]) {
        let mask = integer(1).unwrap_or(0);
        ensure!(mask & !0x3ff == 0, "unsupported bits for llvm.is.fpclass test mask");
    } else if is_one_of(&[b"llvm.prefetch."]) {
        ensure!(integer(1).is_none_or(|n| n < 2), "rw argument to llvm.prefetch must be 0-1");
        ensure!(integer(2).is_none_or(|n| n < 4), "locality argument to llvm.prefetch must be 0-3");
        ensure!(
            integer(3).is_none_or(|n| n < 2),
            "cache type argument to llvm.prefetch must be 0-1"
        );
    }
    Ok(())
}

fn is_alloca(body: &Body, def: crate::InstId) -> bool {
    body.inst(def).opcode == Opcode::Alloca
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_searched_by_prefix() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
        assert!(SIGNATURES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(immediates(b"llvm.ctlz.v2i64"), 1 << 1);
        assert_eq!(immediates(b"llvm.memset.p0.i64"), 1 << 3);
        assert_eq!(immediates(b"llvm.amdgcn.mov.dpp.i32"), 0b1_1110);
        assert_eq!(immediates(b"llvm.ctpop.i32"), 0);
        assert_eq!(immediates(b"llvm"), 0);
        assert_eq!(immediates(b""), 0);
    }
}
