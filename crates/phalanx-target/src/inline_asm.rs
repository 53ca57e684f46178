//! Constraint strings of inline assembly, and which results are uniform because of them.
//!
//! # What
//!
//! On AMD GPUs the register class of a result decides whether it can differ between lanes: a scalar
//! register (`s`) is one per wave, a vector register (`v`, `a`) one per lane.
//! [`Constraints::parse`] reads the constraint string, [`Constraints::outputs`] lists the results
//! in order, and [`output_is_scalar`] and [`llvm_output`] classify them. On other targets an
//! assembly result is divergent.
//!
//! ```text
//! asm "s_mov_b32 $0, $1", "=s,s"    a scalar register: one value per wave
//! asm "v_mov_b32 $0, $1", "=v,v"    a vector register: may differ between lanes
//! ```
//!
//! Syntax (LangRef, *Inline Asm Constraint String*): comma-separated; `=` marks an output, `~` a
//! clobber, `!` a label; then `*` for an operand that is passed in memory, `&` and `%`; then codes:
//! a letter, `^` and two letters, `@n` and n letters, `{register}`, or the number of an output to
//! share a register with; `|` separates alternatives.
//!
//! [`Assembly::read`] reads what the instructions do.

mod gcn;
mod ptx;
mod text;

use std::fmt;

pub use text::{
    Access as AsmAccess, AccessKind, AsmValue, Assembly, Id as AsmId, Operation as AsmOperation,
    Origins,
};

use crate::intrinsics::LlvmUniformity;
use crate::target::{Architecture, Target};

/// The kind of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A result, or a place to store one if indirect.
    Output,
    /// An operand.
    Input,
    /// A register or memory that is overwritten.
    Clobber,
    /// A destination of `callbr`.
    Label,
}

/// One constraint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constraint<'a> {
    /// The kind.
    pub role: Role,
    /// The operand is an address (`*`).
    pub indirect: bool,
    /// The codes, alternative by alternative.
    pub alternatives: Vec<Vec<&'a str>>,
}

/// A parsed constraint string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constraints<'a>(Vec<Constraint<'a>>);

/// An error: LLVM would reject this constraint of the string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintError {
    /// The constraint.
    pub constraint: String,
}

impl fmt::Display for ConstraintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read inline assembly constraint `{}`", self.constraint)
    }
}

impl std::error::Error for ConstraintError {}

impl<'a> Constraints<'a> {
    /// Reads a constraint string.
    ///
    /// # Errors
    ///
    /// A constraint without a code, with unbalanced braces or with a truncated code.
    pub fn parse(text: &'a str) -> Result<Constraints<'a>, ConstraintError> {
        if text.is_empty() {
            return Ok(Constraints(Vec::new()));
        }
        let parse = |text: &'a str| {
            parse_constraint(text).ok_or_else(|| ConstraintError { constraint: text.to_owned() })
        };
        split(text).map(parse).collect::<Result<_, _>>().map(Constraints)
    }

    /// All constraints in order.
    #[must_use]
    pub fn all(&self) -> &[Constraint<'a>] {
        &self.0
    }

    /// The outputs that are results of the call, in the order of the elements of a returned struct.
    pub fn outputs(&self) -> impl Iterator<Item = &Constraint<'a>> {
        self.0.iter().filter(|constraint| constraint.role == Role::Output && !constraint.indirect)
    }
}

/// Splits at commas outside braces.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0u32;
    text.split(move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn parse_constraint(text: &str) -> Option<Constraint<'_>> {
    let (role, mut rest) = match text.chars().next()? {
        '=' => (Role::Output, &text[1..]),
        '~' => (Role::Clobber, &text[1..]),
        '!' => (Role::Label, &text[1..]),
        _ => (Role::Input, text),
    };
    let indirect = rest.starts_with('*');
    rest = rest.trim_start_matches(['*', '&', '%']);
    let mut alternatives = vec![Vec::new()];
    while let Some(first) = rest.chars().next() {
        if first == '|' {
            alternatives.push(Vec::new());
            rest = &rest[1..];
            continue;
        }
        let length = match first {
            '{' => rest.find('}')? + 1,
            '^' => 3,
            '@' => 2 + usize::try_from(rest[1..].chars().next()?.to_digit(10)?).ok()?,
            '0'..='9' => rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
            '#' | '}' => return None,
            _ => first.len_utf8(),
        };
        alternatives.last_mut()?.push(rest.get(..length)?);
        rest = &rest[length..];
    }
    alternatives.iter().all(|codes| !codes.is_empty()).then_some(Constraint {
        role,
        indirect,
        alternatives,
    })
}

/// How the size of a scalar register must match the type of the result, for LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// A register class: there must be one for the type.
    Class,
    /// `s7`: one register; does not fit vectors that need several.
    One,
    /// `s[4:7]`: exactly this many bits.
    Bits(u32),
    /// Any size fits.
    Any,
}

/// The class of register that a code of an AMDGPU constraint asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    /// One value per wave.
    Scalar(Width),
    /// One value per lane.
    Vector,
    Memory,
    /// A code that LLVM does not know.
    Other,
}

fn register(code: &str) -> Register {
    match code {
        "s" | "r" => Register::Scalar(Width::Class),
        "v" | "a" => Register::Vector,
        "m" | "o" | "V" | "<" | ">" => Register::Memory,
        _ => match code.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => physical(name),
            None => Register::Other,
        },
    }
}

/// A register by its assembler name.
fn physical(name: &str) -> Register {
    const SPECIAL: [&str; 30] = [
        "vcc",
        "vcc_lo",
        "vcc_hi",
        "exec",
        "exec_lo",
        "exec_hi",
        "m0",
        "scc",
        "src_scc",
        "flat_scratch",
        "flat_scratch_lo",
        "flat_scratch_hi",
        "xnack_mask",
        "xnack_mask_lo",
        "xnack_mask_hi",
        "tba",
        "tba_lo",
        "tba_hi",
        "tma",
        "tma_lo",
        "tma_hi",
        "src_shared_base",
        "src_shared_limit",
        "src_private_base",
        "src_private_limit",
        "src_pops_exiting_wave_id",
        "src_vccz",
        "src_execz",
        "null",
        "sgpr_null",
    ];
    if SPECIAL.contains(&name) {
        return Register::Scalar(Width::Any);
    }
    let class = |prefix: &str| name.strip_prefix(prefix).and_then(range);
    if class("ttmp").is_some_and(|(_, high)| high < 16) {
        return Register::Scalar(Width::Any);
    }
    if let Some((low, high)) = class("s").filter(|(_, high)| *high < 106) {
        let width = if low == high { Width::One } else { Width::Bits((high - low + 1) * 32) };
        return Register::Scalar(width);
    }
    if class("v").or_else(|| class("a")).is_some() { Register::Vector } else { Register::Other }
}

/// `7` or `[4:7]`.
fn range(text: &str) -> Option<(u32, u32)> {
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(inner) => {
            let (low, high) = inner.split_once(':')?;
            let (low, high) = (decimal(low)?, decimal(high)?);
            (low < high).then_some((low, high))
        }
        None => decimal(text).map(|number| (number, number)),
    }
}

fn decimal(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Whether the result of an output constraint is certainly one value per wave: every alternative
/// and every code in it asks for a scalar register of an AMD GPU.
#[must_use]
pub fn output_is_scalar(architecture: Architecture, constraint: &Constraint<'_>) -> bool {
    architecture == Architecture::Amdgcn
        && constraint.role == Role::Output
        && constraint
            .alternatives
            .iter()
            .flatten()
            .all(|code| matches!(register(code), Register::Scalar(_)))
}

impl Target {
    /// Whether a result of inline assembly with these constraints is one value per wave. With an
    /// index: result `index` of a returned struct; without one: all results together. False for
    /// constraints that cannot be read.
    #[must_use]
    pub fn asm_result_is_scalar(&self, constraints: &str, index: Option<usize>) -> bool {
        let Ok(constraints) = Constraints::parse(constraints) else { return false };
        let mut outputs = constraints.outputs();
        let scalar = |output: &Constraint<'_>| output_is_scalar(self.architecture(), output);
        match index {
            Some(index) => outputs.nth(index).is_some_and(scalar),
            None => constraints.outputs().next().is_some() && outputs.all(scalar),
        }
    }
}

/// The type of an assembly result, as far as LLVM's choice of register depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultShape {
    /// An integer of this many bits.
    Integer(u32),
    /// A floating-point number of this many bits.
    Float(u32),
    /// A pointer of this many bits.
    Pointer(u32),
    /// A vector.
    Vector {
        /// Number of elements.
        elements: u32,
        /// Bits of one.
        element_bits: u32,
    },
    /// A struct or array.
    Aggregate,
}

impl ResultShape {
    /// Size in bits; none for aggregates, whose size does not matter.
    const fn bits(self) -> Option<u32> {
        match self {
            ResultShape::Integer(bits) | ResultShape::Float(bits) | ResultShape::Pointer(bits) => {
                Some(bits)
            }
            ResultShape::Vector { elements, element_bits } => elements.checked_mul(element_bits),
            ResultShape::Aggregate => None,
        }
    }

    /// Whether there is a class of scalar registers for the type. Vectors of 16-bit elements are
    /// packed on GFX8 and later; older processors are not distinguished.
    const fn has_scalar_class(self) -> bool {
        match self {
            ResultShape::Integer(bits) => matches!(bits, 16 | 32 | 64 | 128),
            ResultShape::Float(bits) => matches!(bits, 16 | 32 | 64),
            ResultShape::Pointer(bits) => matches!(bits, 32 | 64 | 128),
            ResultShape::Vector { elements, element_bits: 16 } => {
                matches!(elements, 2 | 4 | 8 | 16 | 32)
            }
            ResultShape::Vector { elements, element_bits: 32 } => {
                matches!(elements, 2..=12 | 16 | 32)
            }
            ResultShape::Vector { elements, element_bits: 64 } => {
                matches!(elements, 2 | 3 | 4 | 8 | 16)
            }
            ResultShape::Vector { .. } | ResultShape::Aggregate => false,
        }
    }
}

/// What LLVM 22 says about the result of one output constraint on AMDGPU: always uniform if the
/// result is in a scalar register, else never uniform. It is never uniform if there is no register
/// for its type.
///
/// LLVM looks at the first alternative only. In that it prefers memory, then the first register
/// class that it knows.
#[must_use]
pub fn llvm_output(constraint: &Constraint<'_>, shape: ResultShape) -> LlvmUniformity {
    let codes = constraint.alternatives.first().map_or(&[][..], Vec::as_slice);
    let registers = || codes.iter().map(|code| register(code));
    let chosen = if registers().any(|register| register == Register::Memory) {
        None
    } else {
        registers().find(|register| *register != Register::Other)
    };
    let scalar = match chosen {
        Some(Register::Scalar(Width::Class)) => shape.has_scalar_class(),
        Some(Register::Scalar(Width::One)) => {
            let vector = matches!(shape, ResultShape::Vector { .. }) && shape.has_scalar_class();
            !vector || shape.bits() == Some(32)
        }
        Some(Register::Scalar(Width::Bits(bits))) => shape.bits().is_none_or(|size| size == bits),
        Some(Register::Scalar(Width::Any)) => true,
        _ => false,
    };
    if scalar { LlvmUniformity::AlwaysUniform } else { LlvmUniformity::NeverUniform }
}

/// What LLVM 22 says about a whole call of inline assembly on AMDGPU: always uniform if all its
/// results are; a call without results is no source of divergence. (This does not apply to
/// `callbr`, whose results are as uniform as its operands.)
#[must_use]
pub fn llvm_call(outputs: &[LlvmUniformity]) -> LlvmUniformity {
    if outputs.iter().all(|output| *output == LlvmUniformity::AlwaysUniform) {
        LlvmUniformity::AlwaysUniform
    } else {
        LlvmUniformity::NeverUniform
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn show(text: &str) -> String {
        match Constraints::parse(text) {
            Ok(constraints) => constraints
                .all()
                .iter()
                .map(|c| {
                    let star = if c.indirect { "*" } else { "" };
                    let scalar =
                        if output_is_scalar(Architecture::Amdgcn, c) { " scalar" } else { "" };
                    format!("{:?}{star} {:?}{scalar}\n", c.role, c.alternatives)
                })
                .collect(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn syntax() {
        expect![[r#"
            Output [["s"]] scalar
            Output* [["m"]]
            Output [["^VA"], ["{v[0:1]}"]]
            Input [["0"]]
            Input [["s"]]
            Input [["v"]]
            Input [["@3abc"]]
            Clobber [["{memory}"]]
            Clobber [["{vcc}"]]
            Label [["i"]]
        "#]]
        .assert_eq(&show("=&s,=*m,=^VA|{v[0:1]},0,s,%v,@3abc,~{memory},~{vcc},!i"));
        for (wrong, message) in [
            ("=", "="),
            ("=s,,v", ""),
            ("={v0", "={v0"),
            ("=^V", "=^V"),
            ("=#s", "=#s"),
            ("=s|", "=s|"),
            ("@", "@"),
            ("@9ab", "@9ab"),
            ("~", "~"),
        ] {
            assert_eq!(
                show(wrong),
                format!("cannot read inline assembly constraint `{message}`"),
                "{wrong}"
            );
        }
        assert_eq!(show(""), "");
        assert_eq!(show("é"), "Input [[\"é\"]]\n");
    }

    #[test]
    fn results_of_a_call() {
        let target = Target::new("amdgcn-amd-amdhsa", "");
        assert!(target.asm_result_is_scalar("=s,v", None));
        assert!(target.asm_result_is_scalar("=s,=v", Some(0)));
        assert!(!target.asm_result_is_scalar("=s,=v", Some(1)));
        assert!(!target.asm_result_is_scalar("=s,=v", None));
        assert!(!target.asm_result_is_scalar("=s", Some(1)));
        assert!(!target.asm_result_is_scalar("s", None));
        assert!(!target.asm_result_is_scalar("={", None));
        assert!(!Target::new("nvptx64--", "").asm_result_is_scalar("=s", None));
    }

    #[test]
    fn scalar_registers() {
        let scalar = |text| {
            let constraints = Constraints::parse(text).unwrap();
            constraints
                .outputs()
                .map(|c| output_is_scalar(Architecture::Amdgcn, c))
                .collect::<Vec<_>>()
        };
        assert_eq!(scalar("=s,=v,=*s,s"), [true, false]);
        assert_eq!(scalar("={s7},={s[4:7]},={vcc},={exec_lo},={m0},={ttmp3}"), [true; 6]);
        assert_eq!(
            scalar("={v7},={a[4:7]},=^VA,={s106},={s[7:4]},={sgpr0},={foo},=x,=m,={s}"),
            [false; 10]
        );
        // The other alternative might be chosen, so the result is not certainly scalar.
        assert_eq!(scalar("=s|v,=sv,=s|r"), [false, false, true]);
        let constraints = Constraints::parse("=s").unwrap();
        assert!(!output_is_scalar(Architecture::Nvptx, &constraints.all()[0]));
    }
}
