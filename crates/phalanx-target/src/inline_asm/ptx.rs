//! PTX: statements that end with `;`, in blocks of braces.
//!
//! ```text
//! mov.u32 $0, %ctaid.x;             $0 is llvm.nvvm.read.ptx.sreg.ctaid.x()
//! @p bar.sync 1, 64;                llvm.nvvm.barrier.cta.sync.aligned.count(1, 64), if p
//! ```
//!
//! A name that begins with `%` is a special register; `$` begins an operand of LLVM's template.
//! Names that `.reg` declares are registers. Any other name is a variable or a function, whose
//! address counts as unknown.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::text::{AccessKind, Meaning, Statement, Written, integer, known, operand};

/// Instructions for memory, textures, matrices and the like, which wait at no barrier of threads.
const OTHERS: &[&str] = &[
    "alloca",
    "applypriority",
    "atom",
    "brkpt",
    "clusterlaunchcontrol",
    "cp",
    "createpolicy",
    "discard",
    "fence",
    "getctarank",
    "istypep",
    "ld",
    "ldmatrix",
    "ldu",
    "mapa",
    "mbarrier",
    "membar",
    "mma",
    "movmatrix",
    "multimem",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "red",
    "setmaxnreg",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "suld",
    "suq",
    "sured",
    "sust",
    "tcgen05",
    "tensormap",
    "tex",
    "tld4",
    "trap",
    "txq",
    "wgmma",
    "wmma",
];

/// Instructions whose first operand is a function of the others.
const PURE: &[&str] = &[
    "abs",
    "add",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "cvt",
    "cvta",
    "div",
    "dp2a",
    "dp4a",
    "ex2",
    "fma",
    "fns",
    "isspacep",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "max",
    "min",
    "mov",
    "mul",
    "mul24",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rcp",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "sub",
    "szext",
    "tanh",
    "testp",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "xor",
];

/// Removes comments.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let (mut rest, mut kept) = (text, String::new());
    while let Some(at) = rest.find('/') {
        let (before, behind) = rest.split_at(at);
        kept.push_str(before);
        if let Some(comment) = behind.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if let Some(comment) = behind.strip_prefix("/*") {
            kept.push(' ');
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
        } else {
            kept.push('/');
            rest = &behind[1..];
        }
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The instructions of a text, and whether it is free of jumps.
pub(super) fn statements(text: &str) -> (Vec<Statement>, bool) {
    // `$$` is a dollar sign in a name; a letter that no name contains replaces it.
    let text = without_comments(text).replace("$$", "\u{15e}").replace("%%", "%");
    let mut declared = FxHashSet::default();
    let (mut all, mut is_straight) = (Vec::new(), true);
    let mut rest = &*text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ';'));
        if rest.is_empty() {
            return (all, is_straight);
        }
        if let Some(behind) = label(rest) {
            is_straight = false;
            rest = behind;
            continue;
        }
        let (text, behind) = rest.split_once(';').unwrap_or((rest, ""));
        rest = behind;
        if let Some(names) = text.strip_prefix(".reg") {
            // A name that is declared again in another block denotes two registers.
            is_straight &= declare(names, &mut declared);
            continue;
        }
        let statement = statement(text.trim(), &declared);
        is_straight &= !matches!(statement.meaning, Meaning::Jump);
        all.push(statement);
    }
}

/// The text after a label, if one stands here.
fn label(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_$%{}".contains(c)))?;
    let behind = text[end..].trim_start().strip_prefix(':')?;
    (end > 0 && !behind.starts_with(':')).then_some(behind)
}

/// Reads `.pred p, q` and `.b32 t<4>`, without the `.reg`. Returns whether all names are new.
fn declare(text: &str, declared: &mut FxHashSet<String>) -> bool {
    let text = text.trim_start();
    let names = text.split_once(char::is_whitespace).map_or("", |(_, names)| names);
    let mut are_new = true;
    for name in names.split(',') {
        let name = name.trim().trim_start_matches(".v2").trim_start_matches(".v4").trim();
        match name.split_once('<') {
            Some((stem, count)) => {
                // At most this many registers: a text cannot name more than it has letters.
                let count = count.trim_end_matches(|c: char| !c.is_ascii_digit());
                let count = count.parse::<u32>().unwrap_or(0).min(1 << 10);
                for number in 0..count {
                    are_new &= declared.insert(format!("{stem}{number}"));
                }
            }
            None => are_new &= declared.insert(name.to_owned()),
        }
    }
    are_new
}

fn statement(text: &str, declared: &FxHashSet<String>) -> Statement {
    let (mut text, mut predicate) = (text, None);
    if let Some(behind) = text.strip_prefix('@') {
        let (name, rest) = behind.split_once(char::is_whitespace).unwrap_or((behind, ""));
        let name = name.trim_start_matches('!');
        (predicate, text) = (Some(written(name, declared)), rest.trim_start());
    }
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let operands: Vec<Written> =
        split(rest).into_iter().map(|text| written(text.trim(), declared)).collect();
    let meaning = meaning(name, rest, &operands);
    let access = access(name, rest, declared);
    Statement { predicate, name: name.to_owned(), operands, meaning, access }
}

/// How an instruction accesses memory, and the address in brackets.
fn access(name: &str, rest: &str, declared: &FxHashSet<String>) -> Option<(AccessKind, Written)> {
    let mut parts = name.split('.');
    let kind = match parts.next()? {
        "ld" => AccessKind::Load,
        "st" => AccessKind::Store,
        "atom" | "red" => AccessKind::Atomic { adds: parts.any(|p| p == "add" || p == "inc") },
        _ => return None,
    };
    let (_, inner) = rest.split_once('[')?;
    let (address, _) = inner.split_once(']')?;
    Some((kind, written(address.trim(), declared)))
}

/// Splits at commas outside brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let parts = text.split(move |c: char| {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

fn written(text: &str, declared: &FxHashSet<String>) -> Written {
    if let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        return Written::Of(inner.split(',').map(|text| single(text.trim(), declared)).collect());
    }
    match text.split_once('|') {
        Some((a, b)) => {
            Written::Pair([a, b].iter().map(|text| single(text.trim(), declared)).collect())
        }
        None => single(text, declared),
    }
}

/// An operand without parts.
fn single(text: &str, declared: &FxHashSet<String>) -> Written {
    if let Some(inner) = text.strip_prefix('!') {
        let inner = inner.trim_start();
        return match simple(inner, declared) {
            Written::Other => Written::Other,
            found => Written::Of(vec![found]),
        };
    }
    simple(text, declared)
}

fn simple(text: &str, declared: &FxHashSet<String>) -> Written {
    if let Some(number) = integer(text) {
        return Written::Integer(number);
    }
    if let Some((found, rest)) = text.strip_prefix('$').and_then(operand) {
        return if rest.is_empty() { found } else { Written::Other };
    }
    if declared.contains(text) {
        return Written::Register(text.to_owned());
    }
    if text == "WARP_SZ" {
        return Written::Integer(32);
    }
    // A number that is no integer: `0f3F800000`, `1.5`.
    let is_float = text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if is_float {
        return Written::Constant;
    }
    text.strip_prefix('%').and_then(special).map_or(Written::Other, Written::Special)
}

/// A special register, without `%`.
fn special(name: &str) -> Option<crate::intrinsics::Intrinsic> {
    let base = match name {
        // There is no intrinsic of that name; the register is the upper half of the same counter.
        "clock_hi" => "clock".to_owned(),
        _ => match ["cluster_", "lanemask_", "globaltimer_"].iter().find(|p| name.starts_with(**p))
        {
            Some(_) => name.replacen('_', ".", 1),
            None => name.to_owned(),
        },
    };
    let base = if base == "globaltimer.hi" { "globaltimer".to_owned() } else { base };
    known(&format!("llvm.nvvm.read.ptx.sreg.{base}"))
}

fn meaning(name: &str, rest: &str, operands: &[Written]) -> Meaning {
    if name.starts_with('.') {
        // `.loc`, `.pragma`; variables are declared so as well.
        let is_plain = [".loc", ".pragma", ".file"].contains(&name);
        return if is_plain { Meaning::Nothing } else { Meaning::Other { convergent: false } };
    }
    let parts: Vec<&str> = name.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    let base = parts[0];
    match base {
        "bar" | "barrier" | "vote" | "shfl" | "match" | "redux" | "elect" | "activemask"
        | "griddepcontrol" => intrinsic(&parts, operands).unwrap_or(Meaning::Unknown),
        "bra" | "brx" | "ret" | "exit" => Meaning::Jump,
        "addc" | "subc" | "madc" => Meaning::Carrying { out: has("cc"), carry: true },
        "add" | "sub" | "mad" if has("cc") => Meaning::Carrying { out: true, carry: false },
        // The elements of a vector of special registers are not distinguished.
        "mov"
            if rest.contains('%') && !operands.iter().any(|o| matches!(o, Written::Special(_))) =>
        {
            Meaning::Other { convergent: false }
        }
        base if PURE.contains(&base) => Meaning::Pure,
        // A wait for an object in memory: the program determines which threads arrive.
        "mbarrier" if has("try_wait") || has("test_wait") => Meaning::Unknown,
        base if OTHERS.contains(&base) => {
            let convergent =
                has("sync") || has("aligned") || ["wgmma", "setmaxnreg"].contains(&base);
            Meaning::Other { convergent }
        }
        _ => Meaning::Unknown,
    }
}

/// The intrinsic that corresponds to an instruction among threads, with its operands in the
/// intrinsic's order.
fn intrinsic(parts: &[&str], operands: &[Written]) -> Option<Meaning> {
    let has = |part: &str| parts.contains(&part);
    let count = operands.len();
    let (name, results, arguments): (String, usize, Vec<usize>) = match parts {
        ["bar", "warp", "sync"] => ("bar.warp.sync".to_owned(), 0, vec![0]),
        ["barrier", "cluster", phase @ ("arrive" | "wait"), ..] => {
            let relaxed = if has("relaxed") { ".relaxed" } else { "" };
            let aligned = if has("aligned") { ".aligned" } else { "" };
            (format!("barrier.cluster.{phase}{relaxed}{aligned}"), 0, vec![])
        }
        ["bar" | "barrier", ..] => {
            let aligned = if parts[0] == "bar" || has("aligned") { ".aligned" } else { "" };
            if has("red") {
                let how = ["popc", "and", "or"].into_iter().find(|how| has(how))?;
                let (of, arguments) = match count {
                    3 => ("all", vec![1, 2]),
                    4 => ("count", vec![1, 2, 3]),
                    _ => return None,
                };
                (format!("barrier.cta.red.{how}{aligned}.{of}"), 1, arguments)
            } else {
                let phase = ["sync", "arrive"].into_iter().find(|phase| has(phase))?;
                let of = match count {
                    1 => "all",
                    2 => "count",
                    _ => return None,
                };
                (format!("barrier.cta.{phase}{aligned}.{of}"), 0, (0..count).collect())
            }
        }
        ["vote", "sync", how, ..] => (format!("vote.{how}.sync"), 1, vec![2, 1]),
        ["vote", how, ..] => (format!("vote.{how}"), 1, vec![1]),
        ["shfl", rest @ ..] => {
            let sync = rest.first() == Some(&"sync");
            let mode = rest.get(usize::from(sync))?;
            let pair = if matches!(operands.first(), Some(Written::Pair(_))) { "p" } else { "" };
            let sync_name = if sync { "sync." } else { "" };
            let arguments = if sync { vec![4, 1, 2, 3] } else { vec![1, 2, 3] };
            (format!("shfl.{sync_name}{mode}.i32{pair}"), 1, arguments)
        }
        ["match", how, "sync", ty] => {
            let pair = if *how == "all" { "p" } else { "" };
            (format!("match.{how}.sync.i{}{pair}", ty.strip_prefix('b')?), 1, vec![2, 1])
        }
        ["redux", "sync", how, rest @ ..] => {
            let unsigned = *rest.last()? == "u32" && matches!(*how, "min" | "max");
            let float = *rest.last()? == "f32";
            let letter = if unsigned {
                "u"
            } else if float {
                "f"
            } else {
                ""
            };
            let more: String =
                rest[..rest.len() - 1].iter().map(|part| format!(".{part}")).collect();
            (format!("redux.sync.{letter}{how}{more}"), 1, vec![1, 2])
        }
        ["elect", "sync"] => ("elect.sync".to_owned(), 1, vec![1]),
        ["activemask", _] => ("activemask".to_owned(), 1, vec![]),
        ["griddepcontrol", what] => {
            (format!("griddepcontrol.{}", what.replace('_', ".")), 0, vec![])
        }
        _ => return None,
    };
    let intrinsic = known(&format!("llvm.nvvm.{name}"))?;
    Some(Meaning::Intrinsic { intrinsic, results, arguments })
}
