//! Signatures of intrinsics: types of results and parameters.
//!
//! # Syntax
//!
//! ```text
//! @ RESULT ..: PARAMETER ..
//! ```
//!
//! No result is `void`, several are a structure. Types are spelled as in the names of overloaded
//! intrinsics: `i32`, `f16`, `p3`, `v4f32`, `metadata`. `3*i32` are three of them. `!` marks a
//! parameter that must be an immediate, and `...` stands for further arguments of any type.
//!
//! | spelling | type |
//! |---|---|
//! | `any`, `anyint`, `anyfloat`, `anyvector`, `anyptr` | chosen by the caller: numbered from 0, the results first; the second and third also stand for vectors |
//! | `anyptrs0` | also chosen by the caller: a vector of pointers, as long as type 0 |
//! | `=0` | type 0 |
//! | `elem0` | the elements of the vector that type 0 is |
//! | `part0.4` | a vector with a fourth of the elements of type 0 |
//! | `wide0`, `narrow0` | type 0 with elements twice, half as wide |
//! | `halves0`, `quarters0` | the vector that type 0 is, each element in two or four |
//! | `ints0` | integers as wide as the elements of the vector that type 0 is |
//! | `svcount` | `target("aarch64.svcount")` |
//! | `as0.i1` | `i1`, or a vector of it that is as long as the vector that type 0 is |
//!
//! A type may refer to one that comes later; it is checked when all are known.

use std::fmt::{self, Write as _};

use smallvec::SmallVec;

use crate::{
    context::Context,
    types::{Type, TypeKind},
};

/// The signature of an intrinsic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    results: Vec<Pattern>,
    params: Vec<Pattern>,
    /// Further arguments of any type may follow.
    vararg: bool,
    /// Bits of the parameters that must be immediate.
    immediates: u64,
}

/// Why a function type does not fit an intrinsic.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// The result does not fit.
    Result,
    /// A parameter does not fit.
    Parameter,
    /// The function is variadic, or has too few parameters for an intrinsic that is.
    Variadic,
    /// The function is not variadic, or has too few parameters.
    NotVariadic,
}

/// The types that an overloaded intrinsic is used at.
pub type Overloads = SmallVec<[Type; 4]>;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Pattern {
    Scalar(TypeKind),
    Vector {
        elem: TypeKind,
        len: u32,
        scalable: bool,
    },
    Any(Any),
    Pointers(usize),
    Same(usize),
    Element(usize),
    Part(usize, u32),
    /// Elements of another width: how they are resized, and of which type.
    Resized(Resize, usize),
    As(usize, Elem),
    ScalableCount,
}

/// How a type differs from another in the widths of its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Resize {
    Wide,
    Narrow,
    Halves,
    Quarters,
    Ints,
}

const RESIZES: [(&str, Resize); 5] = [
    ("wide", Resize::Wide),
    ("narrow", Resize::Narrow),
    ("halves", Resize::Halves),
    ("quarters", Resize::Quarters),
    ("ints", Resize::Ints),
];

impl Resize {
    /// The resized element; `None` if there is no such type.
    fn element(self, kind: &TypeKind) -> Option<TypeKind> {
        const FLOATS: [TypeKind; 4] =
            [TypeKind::Half, TypeKind::Float, TypeKind::Double, TypeKind::Fp128];
        let at = FLOATS.iter().position(|float| float == kind);
        match (self, kind, at) {
            (Resize::Wide, TypeKind::Int(bits), _) => bits.checked_mul(2).map(TypeKind::Int),
            (Resize::Wide, _, Some(at)) => FLOATS.get(at + 1).cloned(),
            (Resize::Narrow | Resize::Halves, TypeKind::Int(bits), _) => {
                Some(TypeKind::Int(bits / 2)).filter(|_| bits % 2 == 0)
            }
            (Resize::Narrow | Resize::Halves, _, Some(at)) => {
                FLOATS.get(at.checked_sub(1)?).cloned()
            }
            (Resize::Quarters, ..) => Resize::Halves.element(&Resize::Halves.element(kind)?),
            (Resize::Ints, TypeKind::Int(bits), _) => Some(TypeKind::Int(*bits)),
            (Resize::Ints, TypeKind::BFloat, _) => Some(TypeKind::Int(16)),
            (Resize::Ints, _, Some(at)) => Some(TypeKind::Int(16 << at)),
            _ => None,
        }
    }

    /// How many elements replace one.
    fn times(self) -> u32 {
        match self {
            Resize::Halves => 2,
            Resize::Quarters => 4,
            Resize::Wide | Resize::Narrow | Resize::Ints => 1,
        }
    }
}

/// The set that a type is chosen from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Any {
    Type,
    Int,
    Float,
    Vector,
    Ptr,
}

/// The elements of a type that follows the shape of another.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Elem {
    Fixed(TypeKind),
    /// Those of another type, a vector.
    Of(usize),
}

/// The result of comparing a type.
enum Answer {
    Yes,
    No,
    /// The answer depends on a type that is not known yet.
    Later,
}

const ANY: [(&str, Any); 5] = [
    ("any", Any::Type),
    ("anyint", Any::Int),
    ("anyfloat", Any::Float),
    ("anyvector", Any::Vector),
    ("anyptr", Any::Ptr),
];

const NAMES: [(&str, TypeKind); 10] = [
    ("f16", TypeKind::Half),
    ("bf16", TypeKind::BFloat),
    ("f32", TypeKind::Float),
    ("f64", TypeKind::Double),
    ("f80", TypeKind::X86Fp80),
    ("f128", TypeKind::Fp128),
    ("ppcf128", TypeKind::PpcFp128),
    ("metadata", TypeKind::Metadata),
    ("token", TypeKind::Token),
    ("x86amx", TypeKind::X86Amx),
];

fn scalar(text: &str) -> Option<TypeKind> {
    if let Some((_, kind)) = NAMES.iter().find(|(name, _)| *name == text) {
        return Some(kind.clone());
    }
    match text.split_at_checked(1)? {
        ("i", bits) => Some(TypeKind::Int(bits.parse().ok()?)),
        ("p", space) => Some(TypeKind::Ptr(space.parse().ok()?)),
        _ => None,
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Pattern> {
        if let Some(&(_, any)) = ANY.iter().find(|(name, _)| *name == text) {
            return Some(Pattern::Any(any));
        }
        if let Some(number) = text.strip_prefix("anyptrs") {
            return Some(Pattern::Pointers(number.parse().ok()?));
        }
        if let Some(number) = text.strip_prefix('=') {
            return Some(Pattern::Same(number.parse().ok()?));
        }
        if let Some(number) = text.strip_prefix("elem") {
            return Some(Pattern::Element(number.parse().ok()?));
        }
        if text == "svcount" {
            return Some(Pattern::ScalableCount);
        }
        for (name, resize) in RESIZES {
            if let Some(number) = text.strip_prefix(name) {
                return Some(Pattern::Resized(resize, number.parse().ok()?));
            }
        }
        if let Some((number, times)) = text.strip_prefix("part").and_then(|t| t.split_once('.')) {
            return Some(Pattern::Part(number.parse().ok()?, times.parse().ok()?));
        }
        if let Some((number, elem)) = text.strip_prefix("as").and_then(|t| t.split_once('.')) {
            let elem = match elem.strip_prefix("elem") {
                Some(of) => Elem::Of(of.parse().ok()?),
                None => Elem::Fixed(scalar(elem)?),
            };
            return Some(Pattern::As(number.parse().ok()?, elem));
        }
        if let Some(kind) = scalar(text) {
            return Some(Pattern::Scalar(kind));
        }
        let (scalable, vector) = match text.strip_prefix("nx") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let vector = vector.strip_prefix('v')?;
        let digits = vector.find(|c: char| !c.is_ascii_digit())?;
        let (len, elem) = vector.split_at(digits);
        Some(Pattern::Vector { elem: scalar(elem)?, len: len.parse().ok()?, scalable })
    }

    /// Whether the caller chooses this type.
    fn is_chosen(&self) -> bool {
        matches!(self, Pattern::Any(_) | Pattern::Pointers(_))
    }

    /// Whether a type fits. `chosen` are the types that are known so far.
    fn fits(&self, context: &Context, ty: Type, chosen: &[Type]) -> Answer {
        let kind = context.type_kind(ty);
        let answer = |fits| if fits { Answer::Yes } else { Answer::No };
        let vector = |ty: Type| match *context.type_kind(ty) {
            TypeKind::Vector { elem, len, scalable } => Some((elem, len, scalable)),
            _ => None,
        };
        let shape = |ty: Type| vector(ty).map(|(_, len, scalable)| (len, scalable));
        let scalar = |ty: Type| vector(ty).map_or(ty, |(elem, ..)| elem);
        let number = match *self {
            Pattern::Scalar(ref wanted) => return answer(kind == wanted),
            Pattern::Vector { elem: ref wanted, len, scalable } => {
                return answer(vector(ty).is_some_and(|(elem, found, is_scalable)| {
                    (found, is_scalable) == (len, scalable) && context.type_kind(elem) == wanted
                }));
            }
            Pattern::Any(any) => {
                let scalar = context.type_kind(scalar(ty));
                return answer(match any {
                    Any::Type => true,
                    Any::Int => matches!(scalar, TypeKind::Int(_)),
                    Any::Float => scalar.is_float(),
                    Any::Vector => vector(ty).is_some(),
                    Any::Ptr => matches!(kind, TypeKind::Ptr(_)),
                });
            }
            Pattern::ScalableCount => {
                return answer(matches!(kind, TypeKind::Target { name, types, ints }
                    if context.bytes(*name) == b"aarch64.svcount"
                        && types.is_empty() && ints.is_empty()));
            }
            Pattern::Pointers(number)
            | Pattern::Same(number)
            | Pattern::Element(number)
            | Pattern::Part(number, _)
            | Pattern::Resized(_, number)
            | Pattern::As(number, _) => number,
        };
        let Some(&other) = chosen.get(number) else { return Answer::Later };
        answer(match self {
            Pattern::Same(_) => ty == other,
            Pattern::Element(_) => vector(other).is_some_and(|(elem, ..)| ty == elem),
            Pattern::Part(_, times) => {
                matches!((vector(ty), vector(other)), (Some(part), Some(whole))
                    if part.0 == whole.0 && part.2 == whole.2
                        && whole.1.is_multiple_of(*times) && part.1 == whole.1 / times)
            }
            Pattern::Resized(resize, _) => {
                let wanted = resize.element(context.type_kind(scalar(other)));
                let element = wanted.is_some_and(|kind| *context.type_kind(scalar(ty)) == kind);
                let lanes = |(len, scalable): (u32, bool)| (len * resize.times(), scalable);
                let must_be_vector = !matches!(resize, Resize::Wide | Resize::Narrow);
                element
                    && shape(ty) == shape(other).map(lanes)
                    && (shape(ty).is_some() || !must_be_vector)
            }
            Pattern::Pointers(_) => {
                shape(ty).is_some()
                    && shape(ty) == shape(other)
                    && matches!(context.type_kind(scalar(ty)), TypeKind::Ptr(_))
            }
            Pattern::As(_, elem) => {
                let elem = match elem {
                    Elem::Fixed(kind) => context.type_kind(scalar(ty)) == kind,
                    Elem::Of(of) => match chosen.get(*of) {
                        Some(&of) => vector(of).is_some_and(|(elem, ..)| elem == scalar(ty)),
                        None => return Answer::Later,
                    },
                };
                elem && shape(ty) == shape(other)
            }
            _ => true,
        })
    }
}

impl Signature {
    /// Reads what follows `@ ` in a table.
    pub(super) fn parse(text: &str) -> Option<Signature> {
        let (results, params) = text.split_once(':')?;
        let results = results.split_whitespace().map(Pattern::parse).collect::<Option<_>>()?;
        let mut signature = Signature { results, params: Vec::new(), vararg: false, immediates: 0 };
        for item in params.split_whitespace() {
            if item == "..." {
                signature.vararg = true;
                continue;
            }
            let (count, item) = match item.split_once('*') {
                Some((count, item)) => (count.parse().ok()?, item),
                None => (1, item),
            };
            let (item, is_immediate) = match item.strip_suffix('!') {
                Some(item) => (item, true),
                None => (item, false),
            };
            let pattern = Pattern::parse(item)?;
            for _ in 0..count {
                if is_immediate {
                    signature.immediates |= 1_u64.checked_shl(signature.params.len() as u32)?;
                }
                signature.params.push(pattern.clone());
            }
        }
        Some(signature)
    }

    /// Whether the types that it is used at are part of the name.
    pub fn is_overloaded(&self) -> bool {
        self.results.iter().chain(&self.params).any(Pattern::is_chosen)
    }

    /// Whether the argument at a position must be an immediate.
    pub fn is_immediate(&self, at: usize) -> bool {
        at < 64 && self.immediates >> at & 1 != 0
    }

    /// The types at which a function of this type uses the intrinsic.
    ///
    /// # Errors
    /// The first way in which it cannot be the intrinsic, in the order in which LLVM looks.
    pub fn overloads(
        &self,
        context: &Context,
        ret: Type,
        params: &[Type],
        vararg: bool,
    ) -> Result<Overloads, Mismatch> {
        let results: SmallVec<[Type; 1]> = match (&self.results[..], context.type_kind(ret)) {
            ([], TypeKind::Void) => SmallVec::new(),
            ([_], _) => [ret].into_iter().collect(),
            ([_, _, ..], TypeKind::Struct { packed: false, fields }) => {
                fields.iter().copied().collect()
            }
            _ => return Err(Mismatch::Result),
        };
        if results.len() != self.results.len() {
            return Err(Mismatch::Result);
        }
        let (mut chosen, mut later) = (Overloads::new(), Vec::new());
        let results = self.results.iter().zip(results).map(|pair| (pair, Mismatch::Result));
        let params_of =
            self.params.iter().zip(params.iter().copied()).map(|pair| (pair, Mismatch::Parameter));
        for ((pattern, ty), mismatch) in results.chain(params_of) {
            match pattern.fits(context, ty, &chosen) {
                Answer::Yes => {}
                Answer::No => return Err(mismatch),
                Answer::Later => later.push((pattern, ty, mismatch)),
            }
            if pattern.is_chosen() {
                chosen.push(ty);
            }
        }
        if params.len() > self.params.len() {
            return Err(Mismatch::Parameter);
        }
        for (pattern, ty, mismatch) in later {
            if !matches!(pattern.fits(context, ty, &chosen), Answer::Yes) {
                return Err(mismatch);
            }
        }
        if params.len() < self.params.len() || vararg != self.vararg {
            return Err(if vararg { Mismatch::Variadic } else { Mismatch::NotVariadic });
        }
        Ok(chosen)
    }
}

impl fmt::Display for Signature {
    /// Prints the spelling of the tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for result in &self.results {
            write!(f, "{result} ")?;
        }
        f.write_char(':')?;
        let mut at = 0;
        while let Some(param) = self.params.get(at) {
            let same = |other: usize| {
                self.params.get(other) == Some(param)
                    && self.is_immediate(other) == self.is_immediate(at)
            };
            let count = (at..).take_while(|&other| same(other)).count();
            let mark = if self.is_immediate(at) { "!" } else { "" };
            match count {
                1 => write!(f, " {param}{mark}")?,
                2 => write!(f, " {param}{mark} {param}{mark}")?,
                _ => write!(f, " {count}*{param}{mark}")?,
            }
            at += count;
        }
        if self.vararg { f.write_str(" ...") } else { Ok(()) }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Scalar(kind) => write_scalar(f, kind),
            Pattern::Vector { elem, len, scalable } => {
                write!(f, "{}v{len}", if *scalable { "nx" } else { "" })?;
                write_scalar(f, elem)
            }
            Pattern::Any(any) => {
                let name = ANY.iter().find(|(_, known)| known == any);
                f.write_str(name.map_or("any", |(name, _)| name))
            }
            Pattern::Pointers(number) => write!(f, "anyptrs{number}"),
            Pattern::Same(number) => write!(f, "={number}"),
            Pattern::Element(number) => write!(f, "elem{number}"),
            Pattern::Part(number, times) => write!(f, "part{number}.{times}"),
            Pattern::ScalableCount => f.write_str("svcount"),
            Pattern::Resized(resize, number) => {
                let name = RESIZES.iter().find(|(_, known)| known == resize);
                write!(f, "{}{number}", name.map_or("", |(name, _)| name))
            }
            Pattern::As(number, Elem::Of(of)) => write!(f, "as{number}.elem{of}"),
            Pattern::As(number, Elem::Fixed(kind)) => {
                write!(f, "as{number}.")?;
                write_scalar(f, kind)
            }
        }
    }
}

fn write_scalar(f: &mut fmt::Formatter<'_>, kind: &TypeKind) -> fmt::Result {
    match kind {
        TypeKind::Int(bits) => write!(f, "i{bits}"),
        TypeKind::Ptr(space) => write!(f, "p{space}"),
        kind => {
            let name = NAMES.iter().find(|(_, known)| known == kind);
            f.write_str(name.map_or("?", |(name, _)| name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mismatch::{NotVariadic, Parameter, Result as InResult, Variadic};

    fn used_at(
        signature: &str,
        ret: Type,
        params: &[Type],
        vararg: bool,
    ) -> Result<Vec<Type>, Mismatch> {
        let signature = Signature::parse(signature).unwrap();
        signature.overloads(&Context::new(), ret, params, vararg).map(|found| found.to_vec())
    }

    #[test]
    fn mismatches_are_found_in_order() {
        const UMAX: &str = "anyint : =0 =0";
        let i32s = [Type::I32, Type::I32, Type::I32];
        assert_eq!(used_at(UMAX, Type::I32, &i32s[..2], false), Ok(vec![Type::I32]));
        assert_eq!(used_at(UMAX, Type::FLOAT, &i32s, true), Err(InResult));
        assert_eq!(used_at(UMAX, Type::I32, &[Type::I32, Type::I64], true), Err(Parameter));
        assert_eq!(used_at(UMAX, Type::I32, &i32s, false), Err(Parameter));
        assert_eq!(used_at(UMAX, Type::I32, &i32s[..1], false), Err(NotVariadic));
        assert_eq!(used_at(UMAX, Type::I32, &i32s[..2], true), Err(Variadic));
        assert_eq!(used_at(": i32 ...", Type::VOID, &i32s[..1], true), Ok(vec![]));
        assert_eq!(used_at(": i32 ...", Type::VOID, &i32s[..2], true), Err(Parameter));
        assert_eq!(used_at(": i32 ...", Type::VOID, &i32s[..1], false), Err(NotVariadic));
    }

    #[test]
    fn types_may_depend_on_later_ones() {
        let context = Context::new();
        let vector =
            |elem, len| context.type_of_kind(&TypeKind::Vector { elem, len, scalable: false });
        let (v4i1, v4i32, v2i32) =
            (vector(Type::I1, 4), vector(Type::I32, 4), vector(Type::I32, 2));
        let signature = Signature::parse("as0.i1 : anyvector").unwrap();
        let fits = |ret, param| signature.overloads(&context, ret, &[param], false).is_ok();
        assert!(fits(v4i1, v4i32) && !fits(v4i1, v2i32) && !fits(Type::I1, v4i32));
        let signature = Signature::parse("elem0 : anyvector part0.2").unwrap();
        let fits = |ret, params: &[Type]| signature.overloads(&context, ret, params, false).is_ok();
        assert!(fits(Type::I32, &[v4i32, v2i32]));
        assert!(!fits(Type::I64, &[v4i32, v2i32]) && !fits(Type::I32, &[v4i32, v4i32]));
        let signature = Signature::parse("anyptrs1 : anyint").unwrap();
        assert!(signature.overloads(&context, vector(Type::PTR3, 4), &[v4i32], false).is_ok());
        assert!(signature.overloads(&context, vector(Type::PTR3, 2), &[v4i32], false).is_err());
    }
}
