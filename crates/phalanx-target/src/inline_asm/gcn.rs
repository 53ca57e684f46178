//! GCN assembly: one instruction per line, comments from `;` or `//` to the end of it.
//!
//! ```text
//! s_waitcnt lgkmcnt(0) ; drain      has to do with memory
//! s_barrier                         llvm.amdgcn.s.barrier()
//! v_add_u32 $0, $1, 4               $0 is a function of $1
//! ```
//!
//! The class of a scalar register, which constraints state, says that it holds one value per wave.
//! This module recognises barriers, operations among lanes, and arithmetic whose operands are all
//! explicit. The result of arithmetic that names `vcc`, `exec`, `m0` or another machine register is
//! unknown.

use super::text::{Meaning, Statement, Written, integer, known, operand};

/// The instructions of a text in lower case, and whether it is free of jumps.
pub(super) fn statements(text: &str) -> (Vec<Statement>, bool) {
    let mut all = Vec::new();
    let mut is_straight = true;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let mut line = line.split(';').next().unwrap_or_default().trim();
        while let Some((label, rest)) = line.split_once(':') {
            if label.is_empty() || !label.chars().all(|c| c.is_alphanumeric() || "_.$".contains(c))
            {
                break;
            }
            is_straight = false;
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with('.') || line.starts_with('#') {
            continue;
        }
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let statement = statement(name, rest);
        is_straight &= !matches!(statement.meaning, Meaning::Jump);
        all.push(statement);
    }
    (all, is_straight)
}

fn statement(name: &str, rest: &str) -> Statement {
    let operands: Vec<Written> = match rest.trim() {
        "" => Vec::new(),
        rest => rest.split(',').map(|text| written(text.trim())).collect(),
    };
    let meaning = meaning(name, rest, &operands);
    Statement { predicate: None, name: name.to_owned(), operands, meaning, access: None }
}

fn written(text: &str) -> Written {
    if let Some(number) = integer(text) {
        return Written::Integer(number);
    }
    match text.strip_prefix('$').and_then(operand) {
        Some((found, "")) => found,
        _ => Written::Other,
    }
}

fn barrier(name: &str, rest: &str, operands: &[Written]) -> Option<Meaning> {
    let is_m0 = rest.trim() == "m0";
    let base = match (name, is_m0) {
        ("s_barrier_signal", true) => "s.barrier.signal.var".to_owned(),
        ("s_barrier_signal_isfirst", true) => return None,
        (name, _) => name.replace('_', "."),
    };
    let intrinsic = known(&format!("llvm.amdgcn.{base}"))?;
    let arguments = (0..operands.len()).collect();
    Some(Meaning::Intrinsic { intrinsic, results: 0, arguments })
}

fn meaning(name: &str, rest: &str, operands: &[Written]) -> Meaning {
    let any = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if name.contains("barrier") && name.starts_with("s_") {
        return barrier(name, rest, operands).unwrap_or(Meaning::Unknown);
    }
    if any(&["s_branch", "s_cbranch", "s_endpgm"]) {
        return Meaning::Jump;
    }
    // Jumps to other code, and waits for waves of other workgroups.
    if any(&["s_setpc", "s_swappc", "s_call", "s_rfe", "ds_gws", "s_sethalt", "s_trap"]) {
        return Meaning::Unknown;
    }
    let among_lanes =
        any(&[
            "v_readlane",
            "v_readfirstlane",
            "v_writelane",
            "v_permlane",
            "v_cmp",
            "v_mbcnt",
            "ds_bpermute",
            "ds_permute",
            "ds_swizzle",
            "v_mfma",
            "v_wmma",
            "v_swmmac",
        ]) || ["dpp", "quad_perm", "row_", "wave_", "exec"].iter().any(|word| rest.contains(word))
            || name.contains("_dpp")
            || name.contains("saveexec");
    if among_lanes {
        return Meaning::Other { convergent: true };
    }
    let is_plain = operands.len() >= 2
        && operands.iter().all(|o| matches!(o, Written::Operand(_) | Written::Integer(_)))
        && matches!(operands[0], Written::Operand(_));
    if is_plain && is_arithmetic(name) {
        return Meaning::Pure;
    }
    let is_known = any(&[
        "s_", "v_", "ds_", "flat_", "global_", "buffer_", "image_", "scratch_", "tbuffer_", "exp",
        "lds_", "tensor_",
    ]);
    if is_known { Meaning::Other { convergent: false } } else { Meaning::Unknown }
}

/// Whether the result is a function of the explicit operands, and of no flag.
fn is_arithmetic(name: &str) -> bool {
    const BASES: [&str; 29] = [
        "mov", "add", "sub", "subrev", "mul", "mul_lo", "mul_hi", "mad", "fma", "min", "max",
        "and", "or", "xor", "not", "xnor", "nand", "nor", "lshl", "lshr", "ashr", "lshlrev",
        "lshrrev", "ashrrev", "bfe", "bfi", "bcnt", "brev", "alignbit",
    ];
    let Some(rest) = name.strip_prefix("s_").or_else(|| name.strip_prefix("v_")) else {
        return false;
    };
    let rest = ["_e32", "_e64"].iter().find_map(|end| rest.strip_suffix(end)).unwrap_or(rest);
    let Some((base, ty)) = rest.rsplit_once('_') else { return false };
    let is_type = ty.len() >= 2
        && ty.starts_with(['b', 'i', 'u', 'f'])
        && ty[1..].bytes().all(|byte| byte.is_ascii_digit());
    // `s_bfe`, `s_bcnt` and others have no implicit inputs either; they only write a flag.
    is_type && BASES.contains(&base)
}
