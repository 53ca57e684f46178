//! Functions of the thread's indices: expressions over x, y, z and the lane only.
//!
//! A linear function is stored as coefficients; any other one is a small tree with linear leaves.
//! Expressions are interned: equal numbers are equal functions, and facts about a function (range,
//! low zero bits, how it varies) are computed once. Values have `width` bits, as in the IR;
//! arithmetic wraps.
//!
//! A tree has at most [`LARGEST`] nodes, which bounds both the recursion of [`Exprs::value`] and
//! its cost.

use phalanx_ir::{Opcode, inst::IntPredicate};
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;

use super::geometry::{Geometry, SOURCES, Thread, Variation};

/// The largest number of nodes of a tree.
const LARGEST: u8 = 12;

/// The largest width of a value.
const WIDEST: u8 = 64;

/// An interned expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Expr(u32);

/// A function of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    /// `offset + coefs . (x, y, z, lane)`, all of the given width.
    Linear { coefs: [u64; 4], offset: u64 },
    /// A conversion.
    Cast(Opcode, Expr),
    /// An operation on two of one width.
    Binary(Opcode, Expr, Expr),
    /// A comparison.
    Compare(IntPredicate, Expr, Expr),
    /// A choice.
    Select(Expr, Expr, Expr),
}

/// Facts about an expression.
#[derive(Clone, Copy, Debug)]
struct Info {
    node: Node,
    width: u8,
    size: u8,
    /// The number of low bits that are zero.
    zeros: u8,
    /// The indices that it uses.
    sources: SourceSet,
    /// The least and the largest value, as an unsigned number.
    range: (u64, u64),
    /// The range of a linear expression as integers, if nothing wraps.
    integer: Option<(i128, i128)>,
    variation: Variation,
}

/// The expressions of a function.
#[derive(Clone, Debug)]
pub(crate) struct Exprs {
    geometry: Geometry,
    infos: Vec<Info>,
    numbers: FxHashMap<(Node, u8), Expr>,
    /// A cache of the most common expression: zero, by width.
    zeros: Vec<Option<Expr>>,
}

pub(crate) fn mask(width: u8) -> u64 {
    match width {
        0 => 0,
        1..=63 => (1 << width) - 1,
        _ => u64::MAX,
    }
}

/// A number of this width as a signed one.
pub(crate) fn signed(value: u64, width: u8) -> i64 {
    match width {
        0 => 0,
        1..=63 => (value << (64 - width)) as i64 >> (64 - width),
        _ => value as i64,
    }
}

/// The sources that vary within a wave, and within a quad.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Varying {
    pub(crate) in_wave: SourceSet,
    pub(crate) in_quad: SourceSet,
}

impl Exprs {
    /// An empty table.
    pub(crate) fn new(geometry: Geometry) -> Self {
        Exprs {
            geometry,
            infos: Vec::new(),
            numbers: FxHashMap::default(),
            zeros: vec![None; usize::from(WIDEST) + 1],
        }
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The number of expressions.
    pub(crate) fn len(&self) -> usize {
        self.infos.len()
    }

    fn info(&self, expr: Expr) -> &Info {
        &self.infos[expr.0 as usize]
    }

    pub(crate) fn width(&self, expr: Expr) -> u8 {
        self.info(expr).width
    }

    /// The value, if it is the same in all threads.
    pub(crate) fn constant_value(&self, expr: Expr) -> Option<u64> {
        match self.info(expr).variation {
            Variation::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The indices that it uses.
    pub(crate) fn indices(&self, expr: Expr) -> SourceSet {
        self.info(expr).sources
    }

    /// The sources on which two threads have to agree to have the same value.
    pub(crate) fn sources(&self, expr: Expr, varying: Varying) -> SourceSet {
        let info = self.info(expr);
        match info.variation {
            Variation::Constant(_) => SourceSet::EMPTY,
            Variation::Wave if info.sources.intersects(varying.in_wave) => SourceSet::WAVE,
            // A function of lanes has equal values in quads of the same number, in all waves.
            Variation::Quad if SourceSet::LANE.contains(info.sources) => SourceSet::QUAD,
            Variation::Quad if info.sources.intersects(varying.in_quad) => {
                SourceSet::QUAD | SourceSet::WAVE
            }
            _ => info.sources,
        }
    }

    /// The number of low bits that are zero. For zero, the width.
    pub(crate) fn zeros(&self, expr: Expr) -> u8 {
        self.info(expr).zeros
    }

    /// The least and the largest value as an unsigned number.
    pub(crate) fn range(&self, expr: Expr) -> (u64, u64) {
        self.info(expr).range
    }

    /// Whether the expression does not wrap, for signed and for unsigned numbers.
    pub(crate) fn fits(&self, expr: Expr) -> [bool; 2] {
        let info = self.info(expr);
        let half = 1i128 << (info.width - 1);
        match info.integer {
            _ if matches!(info.variation, Variation::Constant(_)) => [true; 2],
            Some((least, largest)) => {
                [least >= -half && largest < half, least >= 0 && largest < 2 * half]
            }
            None => [i128::from(info.range.1) < half, info.range.1 < mask(info.width)],
        }
    }

    /// Whether two functions differ by one constant as signed integers. Their difference has to be
    /// a constant modulo their width.
    pub(crate) fn differ_as_integers(&self, a: Expr, b: Expr) -> bool {
        let both = [a, b];
        let half = 1u64 << (self.width(a) - 1);
        a == b
            || both.iter().all(|&e| self.linear(e).is_some() && self.fits(e)[0])
            || both.iter().all(|&e| self.range(e).1 < half)
    }

    /// Whether the function is `offset + coefs . (x, y, z, lane)`: coefficients and offset, as
    /// signed numbers.
    pub(crate) fn linear(&self, expr: Expr) -> Option<([i64; 4], i64)> {
        let info = self.info(expr);
        match info.node {
            Node::Linear { coefs, offset } => {
                Some((coefs.map(|c| signed(c, info.width)), signed(offset, info.width)))
            }
            _ => None,
        }
    }

    /// The value in a thread. `None` after a division by zero, or a shift by at least the width.
    pub(crate) fn value(&self, expr: Expr, thread: Thread) -> Option<u64> {
        self.value_of(&self.info(expr).node, self.info(expr).width, thread)
    }

    fn value_of(&self, node: &Node, width: u8, thread: Thread) -> Option<u64> {
        let value = match *node {
            Node::Linear { coefs, offset } => {
                let terms = coefs.iter().zip(thread).map(|(&c, i)| c.wrapping_mul(u64::from(i)));
                terms.fold(offset, u64::wrapping_add)
            }
            Node::Cast(opcode, a) => cast(opcode, self.value(a, thread)?, self.width(a)),
            Node::Binary(opcode, a, b) => {
                binary(opcode, self.value(a, thread)?, self.value(b, thread)?, width)?
            }
            Node::Compare(predicate, a, b) => {
                let (x, y) = (self.value(a, thread)?, self.value(b, thread)?);
                u64::from(compare(predicate, x, y, self.width(a)))
            }
            Node::Select(c, a, b) => match self.value(c, thread)? & 1 {
                1 => self.value(a, thread)?,
                _ => self.value(b, thread)?,
            },
        };
        Some(value & mask(width))
    }

    /// A constant.
    pub(crate) fn constant(&mut self, value: u64, width: u8) -> Expr {
        match value {
            0 => self.zero(width),
            _ => self.of_linear([0; 4], value, width),
        }
    }

    fn zero(&mut self, width: u8) -> Expr {
        match self.zeros[usize::from(width)] {
            Some(known) => known,
            None => {
                let zero = self.of_linear([0; 4], 0, width);
                self.zeros[usize::from(width)] = Some(zero);
                zero
            }
        }
    }

    fn is_zero(&self, expr: Expr) -> bool {
        self.zeros[usize::from(self.width(expr))] == Some(expr)
    }

    /// The index along x, y, z, or the lane.
    pub(crate) fn index(&mut self, dim: usize, width: u8) -> Expr {
        let mut coefs = [0; 4];
        coefs[dim] = 1;
        self.of_linear(coefs, 0, width)
    }

    fn of_linear(&mut self, coefs: [u64; 4], offset: u64, width: u8) -> Expr {
        let ones = mask(width);
        let node = Node::Linear { coefs: coefs.map(|c| c & ones), offset: offset & ones };
        self.intern(node, width).expect("one node is no large tree")
    }

    /// The result of an operation. `None` if the tree would be too large.
    pub(crate) fn binary(&mut self, opcode: Opcode, a: Expr, b: Expr) -> Option<Expr> {
        let width = self.width(a);
        if let Some(linear) = self.linear_binary(opcode, a, b, width) {
            return Some(linear);
        }
        self.intern(Node::Binary(opcode, a, b), width)
    }

    fn linear_binary(&mut self, opcode: Opcode, a: Expr, b: Expr, width: u8) -> Option<Expr> {
        let parts = |e: Expr| match self.info(e).node {
            Node::Linear { coefs, offset } => Some((coefs, offset)),
            _ => None,
        };
        // Fast path: most sums are of atoms, whose thread part is zero.
        match opcode {
            Opcode::Add | Opcode::Sub if self.is_zero(b) => return Some(a),
            Opcode::Add if self.is_zero(a) => return Some(b),
            _ => {}
        }
        let ((ca, oa), (cb, ob)) = (parts(a)?, parts(b)?);
        let is_constant = |c: [u64; 4]| c == [0; 4];
        let scaled =
            |c: [u64; 4], o: u64, by: u64| (c.map(|c| c.wrapping_mul(by)), o.wrapping_mul(by));
        let (coefs, offset) = match opcode {
            Opcode::Add => {
                (std::array::from_fn(|i| ca[i].wrapping_add(cb[i])), oa.wrapping_add(ob))
            }
            Opcode::Sub => {
                (std::array::from_fn(|i| ca[i].wrapping_sub(cb[i])), oa.wrapping_sub(ob))
            }
            Opcode::Mul if is_constant(cb) => scaled(ca, oa, ob),
            Opcode::Mul if is_constant(ca) => scaled(cb, ob, oa),
            Opcode::Shl if is_constant(cb) && ob < u64::from(width) => scaled(ca, oa, 1 << ob),
            _ => return None,
        };
        Some(self.of_linear(coefs, offset, width))
    }

    /// A comparison.
    pub(crate) fn compare(&mut self, predicate: IntPredicate, a: Expr, b: Expr) -> Option<Expr> {
        self.intern(Node::Compare(predicate, a, b), 1)
    }

    /// A choice.
    pub(crate) fn select(&mut self, c: Expr, a: Expr, b: Expr) -> Option<Expr> {
        self.intern(Node::Select(c, a, b), self.width(a))
    }

    /// A conversion to another width.
    pub(crate) fn cast(&mut self, opcode: Opcode, a: Expr, width: u8) -> Option<Expr> {
        let info = *self.info(a);
        if let Variation::Constant(value) = info.variation {
            return Some(self.constant(cast(opcode, value, info.width), width));
        }
        if let Node::Linear { coefs, offset } = info.node {
            let is_exact = match (opcode, info.integer) {
                (Opcode::Trunc, _) => true,
                (Opcode::ZExt, Some((least, _))) => least >= 0,
                (Opcode::SExt, Some((least, largest))) => {
                    let half = 1i128 << (info.width - 1);
                    least >= -half && largest < half
                }
                _ => false,
            };
            if is_exact {
                let wide = |c: u64| signed(c, info.width) as u64;
                return Some(self.of_linear(coefs.map(wide), wide(offset), width));
            }
        }
        self.intern(Node::Cast(opcode, a), width)
    }

    fn intern(&mut self, node: Node, width: u8) -> Option<Expr> {
        if let Some(&known) = self.numbers.get(&(node, width)) {
            return Some(known);
        }
        let info = self.describe(node, width)?;
        // An expression that is constant in all threads becomes a constant.
        let expr = match (info.variation, node) {
            (Variation::Constant(value), node)
                if node != (Node::Linear { coefs: [0; 4], offset: value }) =>
            {
                self.constant(value, width)
            }
            _ => {
                self.infos.push(info);
                Expr((self.infos.len() - 1) as u32)
            }
        };
        self.numbers.insert((node, width), expr);
        Some(expr)
    }

    fn describe(&self, node: Node, width: u8) -> Option<Info> {
        let operands: &[Expr] = match &node {
            Node::Linear { .. } => &[],
            Node::Cast(_, a) => &[*a],
            Node::Binary(_, a, b) | Node::Compare(_, a, b) => &[*a, *b],
            Node::Select(c, a, b) => &[*c, *a, *b],
        };
        let mut size = 1u8;
        let mut sources = SourceSet::EMPTY;
        for &operand in operands {
            size = size.saturating_add(self.info(operand).size);
            sources |= self.info(operand).sources;
        }
        if size > LARGEST {
            return None;
        }
        if let Node::Linear { coefs, .. } = node {
            let used = coefs.iter().zip(SOURCES).filter(|&(&c, _)| c != 0);
            sources = used.map(|(_, source)| source).collect();
        }
        let integer = self.integer_range(node, width);
        let range = match integer {
            Some((least, largest)) if least >= 0 => (least as u64, largest as u64),
            Some(_) => (0, mask(width)),
            None => self.unsigned_range(node, width),
        };
        let variation = match range.0 == range.1 {
            true => Variation::Constant(range.0),
            false => self.geometry.variation(sources, |t| self.value_of(&node, width, t)),
        };
        let zeros = self.low_zeros(node, width, range);
        Some(Info { node, width, size, zeros, sources, range, integer, variation })
    }

    /// The least and the largest value of a linear expression as integers. `None` if it can wrap,
    /// both as a signed and as an unsigned number.
    fn integer_range(&self, node: Node, width: u8) -> Option<(i128, i128)> {
        let Node::Linear { coefs, offset } = node else { return None };
        let (mut least, mut largest) = (i128::from(signed(offset, width)), 0);
        if coefs == [0; 4] {
            // As an unsigned number: a constant cannot wrap.
            least = offset.into();
        }
        largest += least;
        for (dim, &coef) in coefs.iter().enumerate() {
            let end = i128::from(signed(coef, width)) * i128::from(self.geometry.last(dim));
            least += end.min(0);
            largest += end.max(0);
        }
        let (half, all) = (1i128 << (width - 1), 1i128 << width);
        let is_unsigned = least >= 0 && largest < all;
        let is_signed = least >= -half && largest < half;
        (is_unsigned || is_signed).then_some((least, largest))
    }

    fn unsigned_range(&self, node: Node, width: u8) -> (u64, u64) {
        let of = |e: Expr| self.info(e).range;
        let fixed = |e: Expr| Some(of(e)).filter(|r| r.0 == r.1).map(|r| r.0);
        let all = (0, mask(width));
        match node {
            Node::Linear { .. } => all,
            Node::Cast(Opcode::ZExt, a) => of(a),
            Node::Cast(Opcode::SExt, a) if of(a).1 >> (self.width(a) - 1) == 0 => of(a),
            Node::Cast(Opcode::Trunc, a) if of(a).1 <= mask(width) => of(a),
            Node::Cast(..) => all,
            Node::Binary(Opcode::And, a, b) => (0, of(a).1.min(of(b).1)),
            Node::Binary(Opcode::Or | Opcode::Xor, a, b) => {
                let bits = 64 - (of(a).1 | of(b).1).leading_zeros();
                (0, mask(bits as u8))
            }
            Node::Binary(Opcode::LShr, a, b) => match fixed(b) {
                Some(by) if by < u64::from(width) => (of(a).0 >> by, of(a).1 >> by),
                _ => (0, of(a).1),
            },
            Node::Binary(Opcode::UDiv, a, b) => match fixed(b) {
                Some(by) if by > 0 => (of(a).0 / by, of(a).1 / by),
                _ => (0, of(a).1),
            },
            Node::Binary(Opcode::URem, a, b) => match fixed(b) {
                Some(by) if by > 0 && of(a).1 >= by => (0, by - 1),
                _ => (0, of(a).1),
            },
            Node::Binary(Opcode::Add, a, b) => {
                let largest = of(a).1.checked_add(of(b).1).filter(|&sum| sum <= mask(width));
                largest.map_or(all, |largest| (of(a).0 + of(b).0, largest))
            }
            Node::Binary(..) => all,
            Node::Compare(predicate, a, b) => {
                match decided(predicate, of(a), of(b), self.width(a)) {
                    Some(known) => (known.into(), known.into()),
                    None => (0, 1),
                }
            }
            Node::Select(_, a, b) => (of(a).0.min(of(b).0), of(a).1.max(of(b).1)),
        }
    }

    fn low_zeros(&self, node: Node, width: u8, range: (u64, u64)) -> u8 {
        let of = |e: Expr| self.info(e).zeros;
        let of_number = |n: u64| (n.trailing_zeros() as u8).min(width);
        if range == (0, 0) {
            return width;
        }
        let zeros = match node {
            Node::Linear { coefs, offset } => {
                coefs.iter().fold(of_number(offset), |least, &c| least.min(of_number(c)))
            }
            Node::Cast(_, a) => of(a),
            Node::Binary(Opcode::And, a, b) => of(a).max(of(b)),
            Node::Binary(Opcode::Or | Opcode::Xor | Opcode::Add | Opcode::Sub, a, b) => {
                of(a).min(of(b))
            }
            Node::Binary(Opcode::Mul, a, b) => of(a).saturating_add(of(b)),
            Node::Select(_, a, b) => of(a).min(of(b)),
            _ => 0,
        };
        zeros.min(width)
    }
}

/// The result of a comparison of two numbers with known ranges, if the ranges decide it.
pub(crate) fn decided(
    predicate: IntPredicate,
    a: (u64, u64),
    b: (u64, u64),
    width: u8,
) -> Option<bool> {
    use IntPredicate as P;
    // As signed numbers they are in the same order as long as none is negative.
    let top = 1u64 << (width - 1);
    let is_signed = matches!(predicate, P::Sgt | P::Sge | P::Slt | P::Sle);
    if is_signed && (a.1 >= top || b.1 >= top) {
        return None;
    }
    let less = |a: (u64, u64), b: (u64, u64)| match (a.1 < b.0, a.0 >= b.1) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    match predicate {
        P::Ult | P::Slt => less(a, b),
        P::Ugt | P::Sgt => less(b, a),
        P::Uge | P::Sge => less(a, b).map(|l| !l),
        P::Ule | P::Sle => less(b, a).map(|l| !l),
        P::Eq | P::Ne => {
            let is_eq = match (a.1 < b.0 || b.1 < a.0, a.0 == a.1 && a == b) {
                (true, _) => Some(false),
                (_, true) => Some(true),
                _ => None,
            };
            is_eq.map(|eq| eq == (predicate == P::Eq))
        }
    }
}

fn cast(opcode: Opcode, value: u64, from: u8) -> u64 {
    match opcode {
        Opcode::SExt => signed(value, from) as u64,
        _ => value,
    }
}

/// The result of an operation on numbers, not yet cut to the width. `None` if it has no value.
pub(crate) fn binary(opcode: Opcode, a: u64, b: u64, width: u8) -> Option<u64> {
    let (sa, sb) = (signed(a, width), signed(b, width));
    let is_shift = matches!(opcode, Opcode::Shl | Opcode::LShr | Opcode::AShr);
    if is_shift && b >= u64::from(width) {
        return None;
    }
    Some(match opcode {
        Opcode::Add => a.wrapping_add(b),
        Opcode::Sub => a.wrapping_sub(b),
        Opcode::Mul => a.wrapping_mul(b),
        Opcode::UDiv => a.checked_div(b)?,
        Opcode::URem => a.checked_rem(b)?,
        Opcode::SDiv if sa != signed(1 << (width - 1), width) => sa.checked_div(sb)? as u64,
        Opcode::SRem if sa != signed(1 << (width - 1), width) => sa.checked_rem(sb)? as u64,
        Opcode::Shl => a << b,
        Opcode::LShr => a >> b,
        Opcode::AShr => (sa >> b) as u64,
        Opcode::And => a & b,
        Opcode::Or => a | b,
        Opcode::Xor => a ^ b,
        _ => return None,
    })
}

pub(crate) fn compare(predicate: IntPredicate, a: u64, b: u64, width: u8) -> bool {
    predicate.holds(a.cmp(&b), signed(a, width).cmp(&signed(b, width)))
}
