//! The text of inline assembly, read as far as divergence and barriers are concerned.
//!
//! # What
//!
//! [`Assembly::read`] splits the template of an LLVM assembly call into statements and classifies
//! each: a barrier, an operation of a wave, arithmetic on its operands, an access of memory, or
//! something that is not known. PTX and GCN are read; of other targets nothing is known.
//!
//! ```text
//! bar.sync 0;                         a barrier of the workgroup with number 0
//! { .reg .pred p; setp.ne.u32 p, $1, 0; selp.u32 $0, 1, 0, p; }     arithmetic on operand 1
//! mov.u32 $0, %ctaid.x;               arithmetic, and the special register `ctaid.x`
//! s_barrier                           a barrier of the workgroup (GCN)
//! ```
//!
//! # Invariants
//!
//! * What is not understood is [`Statement::Unknown`], never left out.
//! * A statement under a predicate, and any statement of a text with a branch or label, may or may
//!   not be executed: [`Assembly::is_straight`] is false then.
//! * Special registers are those of the intrinsics `llvm.nvvm.read.ptx.sreg.*`; there is no second
//!   table of them.
//!
//! O(length of the text). Source: *PTX ISA* 8.x, chapters *Instruction Statements*, *Special
//! Registers* and *Parallel Synchronization and Communication Instructions*; AMD's ISA documents;
//! LLVM LangRef, *Inline Asm Template String*.

use crate::intrinsics::{self, Barrier, BarrierPhase, Intrinsic};
use crate::sources::Scope;
use crate::target::Architecture;

/// An operand of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsmOperand<'t> {
    /// `$2`, `${2:x}`: an operand of the call, results first.
    Call(u32),
    /// A number.
    Number(i64),
    /// Anything else, as written.
    Other(&'t str),
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement<'t> {
    /// A barrier of a workgroup or cluster.
    Barrier {
        /// Who meets, and how.
        barrier: Barrier,
        /// Which one, where a workgroup has several.
        number: Option<AsmOperand<'t>>,
        /// For how many threads, where it is not for all.
        threads: Option<AsmOperand<'t>>,
    },
    /// A vote, shuffle, match, reduction or barrier of a wave, with the mask of its members.
    Group {
        /// The mask; none where the operation is for the lanes that are there.
        members: Option<AsmOperand<'t>>,
    },
    /// Its results follow from its operands and from special registers.
    Arithmetic,
    /// Memory is accessed, and nobody is waited for.
    Memory,
    /// Waits for an object in memory (`mbarrier`), or sleeps.
    Waits,
    /// Anything else, with the mnemonic.
    Unknown(&'t str),
}

/// A text that has been read.
#[derive(Clone, Debug, Default)]
pub struct Assembly<'t> {
    /// What is done, in order.
    pub statements: Vec<Statement<'t>>,
    /// Intrinsics that read the special registers of the text.
    pub registers: Vec<Intrinsic>,
    /// Every statement is executed once by who executes the call.
    pub is_straight: bool,
    /// Each name in the text is an operand, a register that the text declares, or in `registers`.
    pub names_are_known: bool,
}

/// What a text does with barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronizes<'t> {
    /// Nobody is waited for.
    No,
    /// There is one statement that other threads take part in, and it is always executed.
    By(usize),
    /// It may, since of this nothing is known.
    Unknown(&'t str),
}

impl<'t> Assembly<'t> {
    /// Reads a template.
    #[must_use]
    pub fn read(architecture: Architecture, template: &'t str) -> Self {
        match architecture {
            Architecture::Nvptx => ptx(template),
            Architecture::Amdgcn | Architecture::R600 => gcn(template),
            Architecture::Spirv | Architecture::Generic => {
                let text = template.trim();
                let statements = match text.is_empty() {
                    true => Vec::new(),
                    false => vec![Statement::Unknown(text)],
                };
                let is_known = text.is_empty();
                Assembly {
                    statements,
                    registers: Vec::new(),
                    is_straight: is_known,
                    names_are_known: is_known,
                }
            }
        }
    }

    /// Whether results are functions of the operands and of [`Assembly::registers`] alone.
    #[must_use]
    pub fn is_arithmetic(&self) -> bool {
        self.is_straight
            && self.names_are_known
            && self.statements.iter().all(|s| *s == Statement::Arithmetic)
    }

    /// What it does with barriers of workgroups, and with operations of waves.
    #[must_use]
    pub fn synchronizes(&self) -> Synchronizes<'t> {
        let mut found = None;
        for (at, statement) in self.statements.iter().enumerate() {
            match statement {
                Statement::Arithmetic | Statement::Memory => {}
                Statement::Unknown(text) => return Synchronizes::Unknown(text),
                Statement::Waits => return Synchronizes::Unknown("mbarrier"),
                // A second operation in one text stands for the same threads as the first.
                Statement::Barrier { .. } => {
                    let has_barrier = found.is_some_and(|at: usize| {
                        matches!(self.statements[at], Statement::Barrier { .. })
                    });
                    found = if has_barrier { found } else { Some(at) };
                }
                Statement::Group { .. } => found = found.or(Some(at)),
            }
        }
        match found {
            Some(_) if !self.is_straight => Synchronizes::Unknown("a branch or a predicate"),
            Some(at) => Synchronizes::By(at),
            None => Synchronizes::No,
        }
    }
}

/// Mnemonics of PTX, up to the first dot, whose results follow from what they read.
const ARITHMETIC: &[&str] = &[
    "abs", "add", "addc", "and", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot", "copysign",
    "cos", "cvt", "cvta", "div", "dp2a", "dp4a", "ex2", "fma", "fns", "isspacep", "lg2", "lop3",
    "mad", "mad24", "madc", "max", "min", "mov", "mul", "mul24", "neg", "not", "or", "popc",
    "prmt", "rcp", "rem", "rsqrt", "sad", "selp", "set", "setp", "shf", "shl", "shr", "sin",
    "slct", "sqrt", "sub", "subc", "szext", "tanh", "testp", "xor",
];

/// Mnemonics of PTX that access memory or order accesses, and wait for no other thread.
const MEMORY: &[&str] = &[
    "applypriority",
    "atom",
    "createpolicy",
    "discard",
    "fence",
    "getctarank",
    "ld",
    "ldu",
    "mapa",
    "membar",
    "prefetch",
    "prefetchu",
    "red",
    "st",
    "suld",
    "suq",
    "sust",
    "tex",
    "tld4",
    "txq",
];

/// Operations of PTX in which the lanes of a wave take part.
const GROUP: &[&str] = &["activemask", "elect", "match", "redux", "shfl", "vote"];

/// Operations of a whole wave, with no mask: all lanes have to be there.
const MATRIX: &[&str] = &["ldmatrix", "mma", "movmatrix", "stmatrix", "wmma"];

fn ptx(template: &str) -> Assembly<'_> {
    let mut read = Assembly { is_straight: true, names_are_known: true, ..Assembly::default() };
    let mut declared: Vec<&str> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for statement in PtxStatements(template) {
        let mut text = statement.trim_start_matches(['{', '}']).trim();
        loop {
            // A label.
            let word = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
            match text[word..].strip_prefix(':') {
                Some(rest) if word > 0 => {
                    read.is_straight = false;
                    text = rest.trim_start_matches(['{', '}', ' ', '\t', '\n', '\r']).trim();
                }
                _ => break,
            }
        }
        if let Some(rest) = text.strip_prefix('@') {
            read.is_straight = false;
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            names.push(rest[..end].trim_start_matches('!'));
            text = rest[end..].trim();
        }
        let text = text.trim_end_matches(['}', ' ', '\t', '\n', '\r']);
        let text = if text.contains('{') { statement_with_end(text, statement) } else { text };
        if text.is_empty() {
            continue;
        }
        let end = text.find(|c: char| c.is_whitespace()).unwrap_or(text.len());
        let (mnemonic, rest) = (&text[..end], &text[end..]);
        if mnemonic.starts_with('.') {
            match mnemonic {
                ".reg" => declared.extend(rest.split([',', ' ', '\t']).filter(|n| is_declared(n))),
                ".pragma" | ".loc" | ".align" => {}
                _ => read.statements.push(Statement::Unknown(mnemonic)),
            }
            continue;
        }
        let operands: Vec<AsmOperand<'_>> = operands(rest).collect();
        names.extend(rest.split(|c: char| !is_name(c)).filter(|name| !name.is_empty()));
        read.statements.push(ptx_statement(mnemonic, &operands));
    }
    for name in names {
        match register(name) {
            Some(intrinsic) => read.registers.push(intrinsic),
            None => read.names_are_known &= is_operand(name) || is_local(name, &declared),
        }
    }
    read
}

/// The text of a statement to its end: braces of vector operands are part of it.
fn statement_with_end<'t>(text: &'t str, statement: &'t str) -> &'t str {
    let start = text.as_ptr() as usize - statement.as_ptr() as usize;
    statement[start..].trim_end()
}

fn ptx_statement<'t>(mnemonic: &'t str, operands: &[AsmOperand<'t>]) -> Statement<'t> {
    let mut parts = mnemonic.split('.');
    let name = parts.next().unwrap_or_default();
    let has = |part: &str| mnemonic.split('.').any(|p| p == part);
    match name {
        "bar" | "barrier" if has("warp") => Statement::Group { members: operands.first().copied() },
        "barrier" if has("cluster") => {
            let phase = match (has("arrive"), has("wait")) {
                (true, false) => BarrierPhase::Arrive,
                (false, true) => BarrierPhase::Wait,
                _ => return Statement::Unknown(mnemonic),
            };
            let aligned = has("aligned");
            let barrier = Barrier { scope: Scope::Cluster, phase, aligned, partial: false };
            Statement::Barrier { barrier, number: None, threads: None }
        }
        "bar" | "barrier" => {
            // A reduction has its result before and its value behind the numbers.
            let numbers = match has("red") {
                true => operands.get(1..operands.len().saturating_sub(1)).unwrap_or_default(),
                false => operands,
            };
            let phase = match (has("sync") || has("red"), has("arrive")) {
                (true, false) => BarrierPhase::Both,
                (false, true) => BarrierPhase::Arrive,
                _ => return Statement::Unknown(mnemonic),
            };
            let (number, threads) = (numbers.first().copied(), numbers.get(1).copied());
            let aligned = name == "bar" || has("aligned");
            let partial = threads.is_some();
            let barrier = Barrier { scope: Scope::Workgroup, phase, aligned, partial };
            Statement::Barrier { barrier, number, threads }
        }
        "mbarrier" if has("try_wait") || has("test_wait") => Statement::Waits,
        "mbarrier" | "cp" => Statement::Memory,
        _ if GROUP.contains(&name) => {
            let members = if has("sync") { operands.last().copied() } else { None };
            Statement::Group { members }
        }
        _ if MATRIX.contains(&name) => Statement::Group { members: None },
        _ if ARITHMETIC.contains(&name) => Statement::Arithmetic,
        _ if MEMORY.contains(&name) => Statement::Memory,
        _ => Statement::Unknown(mnemonic),
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.' | '<' | '>')
}

/// A name in a declaration of registers, not their type.
fn is_declared(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.')
}

/// `$0`, `${0:x}` in parts, a number, the part of a vector.
fn is_operand(name: &str) -> bool {
    let name = name.trim_start_matches('-');
    let first = name.chars().next();
    first.is_none_or(|c| c == '$' || c.is_ascii_digit()) || name == "_" || name == "."
}

/// Whether a text declares a register, by its name or as one of several: `.reg .b32 %r<4>`.
fn is_local(name: &str, declared: &[&str]) -> bool {
    declared.iter().any(|&d| match d.split_once('<') {
        Some((start, _)) => name
            .strip_prefix(start)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())),
        None => d == name,
    })
}

/// The intrinsic that reads a special register.
fn register(name: &str) -> Option<Intrinsic> {
    let name = name.strip_prefix('%')?.replace('_', ".");
    intrinsics::lookup(format!("llvm.nvvm.read.ptx.sreg.{name}").as_bytes())
}

fn operands(text: &str) -> impl Iterator<Item = AsmOperand<'_>> {
    text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(operand)
}

fn operand(text: &str) -> AsmOperand<'_> {
    let text = text.trim_end_matches('}').trim();
    let inner = text.strip_prefix("${").map(|rest| rest.split(':').next().unwrap_or(rest));
    if let Some(number) = inner.or(text.strip_prefix('$')).and_then(|n| n.parse().ok()) {
        return AsmOperand::Call(number);
    }
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    match i64::from_str_radix(digits.trim_end_matches('U'), radix) {
        Ok(number) => AsmOperand::Number(number),
        Err(_) => AsmOperand::Other(text),
    }
}

/// Statements of PTX: what stands between semicolons, without comments.
struct PtxStatements<'t>(&'t str);

impl<'t> Iterator for PtxStatements<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            self.0 = skip_comments(self.0.trim_start_matches([';', ' ', '\t', '\n', '\r']));
            if self.0.is_empty() {
                return None;
            }
            if !self.0.starts_with([';', ' ', '\t', '\n', '\r']) {
                break;
            }
        }
        let comment = self.0.find("//").into_iter().chain(self.0.find("/*")).min();
        let end = self.0.find(';').into_iter().chain(comment).min().unwrap_or(self.0.len());
        let (statement, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(statement)
    }
}

fn skip_comments(mut text: &str) -> &str {
    loop {
        let rest = if let Some(rest) = text.strip_prefix("//") {
            rest.find('\n').map_or("", |end| &rest[end..])
        } else if let Some(rest) = text.strip_prefix("/*") {
            rest.find("*/").map_or("", |end| &rest[end + 2..])
        } else {
            return text;
        };
        text = rest.trim_start();
    }
}

/// Statements of GCN, one in a line; what stands behind `;` or `//` is a comment.
fn gcn(template: &str) -> Assembly<'_> {
    let mut read = Assembly { is_straight: true, ..Assembly::default() };
    for line in template.lines() {
        let end = line.find(';').into_iter().chain(line.find("//")).min().unwrap_or(line.len());
        let mut text = line[..end].trim();
        while let Some((label, rest)) = text.split_once(':') {
            if label.is_empty() || !label.chars().all(is_name) {
                break;
            }
            read.is_straight = false;
            text = rest.trim();
        }
        if text.is_empty() {
            continue;
        }
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (mnemonic, rest) = (&text[..end], &text[end..]);
        let operands: Vec<AsmOperand<'_>> = operands(rest).collect();
        if is_gcn_branch(mnemonic) {
            read.is_straight = false;
            continue;
        }
        read.statements.push(gcn_statement(mnemonic, &operands));
    }
    read
}

fn is_gcn_branch(mnemonic: &str) -> bool {
    ["s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call"]
        .iter()
        .any(|start| mnemonic.starts_with(start))
}

fn gcn_statement<'t>(mnemonic: &'t str, operands: &[AsmOperand<'t>]) -> Statement<'t> {
    let barrier = |phase, partial| {
        let barrier = Barrier { scope: Scope::Workgroup, phase, aligned: true, partial };
        Statement::Barrier { barrier, number: None, threads: None }
    };
    // Of the workgroup's own barrier the number is -1.
    let is_own = operands.first() == Some(&AsmOperand::Number(-1));
    match mnemonic {
        "s_barrier" => barrier(BarrierPhase::Both, false),
        "s_barrier_signal" | "s_barrier_signal_isfirst" if is_own => {
            barrier(BarrierPhase::Arrive, false)
        }
        "s_barrier_wait" if is_own => barrier(BarrierPhase::Wait, false),
        _ if mnemonic.starts_with("s_barrier") => Statement::Unknown(mnemonic),
        "s_endpgm" | "s_endpgm_saved" | "s_sendmsg" | "s_sendmsghalt" | "s_sethalt" | "s_trap" => {
            Statement::Unknown(mnemonic)
        }
        _ if mnemonic.starts_with("ds_gws_") => Statement::Unknown(mnemonic),
        _ if ["s_", "v_"].iter().any(|start| mnemonic.starts_with(start)) => Statement::Arithmetic,
        _ if ["buffer_", "ds_", "flat_", "global_", "image_", "scratch_", "tbuffer_"]
            .iter()
            .any(|start| mnemonic.starts_with(start)) =>
        {
            Statement::Memory
        }
        _ => Statement::Unknown(mnemonic),
    }
}

#[cfg(test)]
mod tests;
