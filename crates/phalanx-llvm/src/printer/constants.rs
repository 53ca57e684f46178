//! Constants as text.
//!
//! Constants may nest arbitrarily deep (arrays of arrays, expressions of expressions), so the
//! printer keeps the remaining steps on an explicit stack. Constants are canonical (see
//! [`ConstKind`]), and LLVM prints the canonical form, except that it writes the lanes of a vector
//! one by one if they are not numbers.

use phalanx_ir::{
    Const, ConstKind, Opcode, Type, TypeKind,
    constant::{ConstData, ConstExpr, InlineAsm},
};
use smallvec::SmallVec;

use super::{Writer, float, integer};

/// Longest vector of a value other than a number that is written lane by lane; LLVM has no shorter
/// form for it, and a longer one is written as `splat (..)`, which LLVM reads.
const LONGEST_REPETITION: u32 = 1 << 20;

/// What remains to be written, innermost last.
enum Step<'a> {
    /// A constant without its type.
    Plain(Const),
    /// A constant after its type.
    Typed(Const),
    Text(&'static str),
    Type(Type),
    Number(u32),
    /// Constants with types, separated by commas.
    List {
        constants: &'a [Const],
        first: bool,
    },
    /// One constant with its type, this often.
    Repeat {
        constant: Const,
        times: u32,
    },
    /// The lanes of a `shufflevector`.
    Mask {
        lanes: &'a [i32],
        scalable: bool,
    },
}

type Steps<'a> = SmallVec<[Step<'a>; 8]>;

impl<'a> Writer<'a> {
    /// A constant without its type.
    pub(super) fn constant(&mut self, constant: Const) {
        self.constant_steps(Step::Plain(constant));
    }

    /// A constant after its type.
    pub(super) fn typed_constant(&mut self, constant: Const) {
        self.constant_steps(Step::Typed(constant));
    }

    fn constant_steps(&mut self, first: Step<'a>) {
        let mut steps = Steps::new();
        let mut next = Some(first);
        while let Some(step) = next {
            match step {
                Step::Text(text) => self.str(text),
                Step::Type(ty) => self.ty(ty),
                Step::Number(number) => self.number(u64::from(number)),
                Step::Plain(constant) => self.one_constant(constant, &mut steps),
                Step::Typed(constant) => self.one_typed_constant(constant, &mut steps),
                Step::List { constants: [], .. } | Step::Repeat { times: 0, .. } => {}
                Step::List { constants: [constant, rest @ ..], first } => {
                    if !first {
                        self.str(", ");
                    }
                    steps.push(Step::List { constants: rest, first: false });
                    self.one_typed_constant(*constant, &mut steps);
                }
                Step::Repeat { constant, times } => {
                    if times > 1 {
                        steps.push(Step::Repeat { constant, times: times - 1 });
                        steps.push(Step::Text(", "));
                    }
                    self.one_typed_constant(constant, &mut steps);
                }
                Step::Mask { lanes, scalable } => self.shuffle_mask(lanes, scalable),
            }
            next = steps.pop();
        }
    }

    fn one_typed_constant(&mut self, constant: Const, steps: &mut Steps<'a>) {
        self.ty(self.cx.context.const_data(constant).ty);
        self.out.push(b' ');
        self.one_constant(constant, steps);
    }

    /// Writes a constant as far as it holds no other and leaves the rest on the stack.
    fn one_constant(&mut self, constant: Const, steps: &mut Steps<'a>) {
        let ConstData { ty, kind } = self.cx.context.const_data(constant);
        match kind {
            ConstKind::Int(int) => {
                let bits = match self.cx.context.type_kind(*ty) {
                    TypeKind::Int(bits) => *bits,
                    _ => 64,
                };
                integer::integer(bits, int.words(), self.out);
            }
            ConstKind::Float(bits) => {
                float::float(self.cx.context.type_kind(*ty), *bits, self.out);
            }
            ConstKind::Null => self.str("null"),
            ConstKind::NoneToken => self.str("none"),
            ConstKind::Zero => self.str("zeroinitializer"),
            ConstKind::Undef => self.str("undef"),
            ConstKind::Poison => self.str("poison"),
            ConstKind::Aggregate(elements) => {
                self.aggregate(self.cx.context.type_kind(*ty), elements, steps);
            }
            ConstKind::Bytes(bytes) => {
                self.out.push(b'c');
                self.quoted_bytes(bytes);
            }
            ConstKind::Splat(element) => {
                self.splat(*ty, *element, steps);
            }
            ConstKind::Global(name) => self.global(*name),
            ConstKind::BlockAddress { slot } => self.block_address(*slot),
            ConstKind::DsoLocalEquivalent(name) => {
                self.str("dso_local_equivalent ");
                self.global(*name);
            }
            ConstKind::NoCfi(name) => {
                self.str("no_cfi ");
                self.global(*name);
            }
            ConstKind::PtrAuth(parts) => {
                // Pointer and key are always written, the rest as far as the last that is not zero.
                let written =
                    parts.iter().rposition(|&part| !self.is_zero(part)).map_or(0, |p| p + 1);
                let written = written.max(2).min(parts.len());
                self.str("ptrauth (");
                steps.extend([
                    Step::Text(")"),
                    Step::List { constants: &parts[..written], first: true },
                ]);
            }
            ConstKind::Expr(expr) => self.expression(*ty, expr, steps),
            ConstKind::InlineAsm(asm) => self.inline_asm(asm),
        }
    }

    /// Whether a constant is zero of its type, as far as can be told without looking inside
    /// aggregates.
    fn is_zero(&self, constant: Const) -> bool {
        match &self.cx.context.const_data(constant).kind {
            ConstKind::Int(int) => int.words().iter().all(|&word| word == 0),
            ConstKind::Float(bits) => *bits == 0,
            ConstKind::Null | ConstKind::Zero | ConstKind::NoneToken => true,
            _ => false,
        }
    }

    fn is_number(&self, constant: Const) -> bool {
        matches!(self.cx.context.const_data(constant).kind, ConstKind::Int(_) | ConstKind::Float(_))
    }

    fn aggregate(&mut self, ty: &'a TypeKind, elements: &'a [Const], steps: &mut Steps<'a>) {
        let (open, close) = match ty {
            TypeKind::Struct { packed: false, .. } => ("{ ", " }"),
            TypeKind::Struct { packed: true, .. } => ("<{ ", " }>"),
            TypeKind::Vector { .. } => ("<", ">"),
            TypeKind::Named(name) => match self.cx.bodies.is_packed(*name) {
                true => ("<{ ", " }>"),
                false => ("{ ", " }"),
            },
            _ => ("[", "]"),
        };
        self.str(open);
        steps.extend([Step::Text(close), Step::List { constants: elements, first: true }]);
    }

    fn splat(&mut self, ty: Type, element: Const, steps: &mut Steps<'a>) {
        let context = self.cx.context;
        let (len, scalable) = match context.type_kind(ty) {
            TypeKind::Vector { len, scalable, .. } => (*len, *scalable),
            _ => (0, false),
        };
        match context.const_data(element).kind {
            ConstKind::Int(_) | ConstKind::Float(_) => {
                self.str("splat (");
                steps.extend([Step::Text(")"), Step::Typed(element)]);
            }
            _ if scalable => steps.extend([
                // Lane 0 set, then spread: how LLVM holds such a vector.
                Step::Text(" x i32> zeroinitializer)"),
                Step::Number(len),
                Step::Text(" poison, <vscale x "),
                Step::Type(ty),
                Step::Text(", i64 0), "),
                Step::Typed(element),
                Step::Text(" poison, "),
                Step::Type(ty),
                Step::Text(" insertelement ("),
                Step::Type(ty),
                Step::Text("shufflevector ("),
            ]),
            _ if len > LONGEST_REPETITION => {
                self.str("splat (");
                steps.extend([Step::Text(")"), Step::Typed(element)]);
            }
            _ => {
                self.str("<");
                steps.extend([Step::Text(">"), Step::Repeat { constant: element, times: len }]);
            }
        }
    }

    fn expression(&mut self, ty: Type, expr: &'a ConstExpr, steps: &mut Steps<'a>) {
        if let Some(element) = self.spread_number(expr) {
            self.str("splat (");
            steps.extend([Step::Text(")"), Step::Typed(element)]);
            return;
        }
        self.str(expr.opcode.text());
        self.flags(expr.opcode, expr.flags);
        if let Some((from, to)) = expr.in_range {
            self.str(" inrange(");
            self.signed(from);
            self.str(", ");
            self.signed(to);
            self.str(")");
        }
        self.str(" (");
        if let Some(source) = expr.source_type {
            self.ty(source);
            self.str(", ");
        }
        steps.push(Step::Text(")"));
        if expr.opcode.is_cast() {
            steps.extend([Step::Type(ty), Step::Text(" to ")]);
        } else if expr.opcode == Opcode::ShuffleVector && !expr.mask.is_empty() {
            let scalable =
                matches!(self.cx.context.type_kind(ty), TypeKind::Vector { scalable: true, .. });
            steps.push(Step::Mask { lanes: &expr.mask, scalable });
        }
        steps.push(Step::List { constants: &expr.operands, first: true });
    }

    /// The number that a scalable vector expression holds in all lanes, when it is of the form LLVM
    /// has for that: `shufflevector (insertelement (poison, number, 0), poison, zeroinitializer)`.
    fn spread_number(&self, expr: &ConstExpr) -> Option<Const> {
        let context = self.cx.context;
        let kind = |constant: Const| &context.const_data(constant).kind;
        if expr.opcode != Opcode::ShuffleVector || expr.mask.iter().any(|&lane| lane != 0) {
            return None;
        }
        let ConstKind::Expr(insert) = kind(*expr.operands.first()?) else { return None };
        match (insert.opcode, &insert.operands[..]) {
            (Opcode::InsertElement, &[base, element, lane])
                if self.is_number(element)
                    && self.is_zero(lane)
                    && matches!(kind(base), ConstKind::Poison) =>
            {
                Some(element)
            }
            _ => None,
        }
    }

    /// `, <4 x i32> <i32 0, ..>`: the lanes of a `shufflevector`, the comma before them included.
    pub(super) fn shuffle_mask(&mut self, lanes: &[i32], scalable: bool) {
        self.str(if scalable { ", <vscale x " } else { ", <" });
        self.number(lanes.len() as u64);
        self.str(" x i32> ");
        if lanes.iter().all(|&lane| lane == 0) {
            self.str("zeroinitializer");
        } else if lanes.iter().all(|&lane| lane == -1) {
            self.str("poison");
        } else {
            for (at, &lane) in lanes.iter().enumerate() {
                self.str(if at == 0 { "<i32 " } else { ", i32 " });
                match lane {
                    -1 => self.str("poison"),
                    lane => self.signed(i64::from(lane)),
                }
            }
            self.str(">");
        }
    }

    fn inline_asm(&mut self, asm: &InlineAsm) {
        self.str("asm ");
        for (set, text) in [
            (asm.side_effects, "sideeffect "),
            (asm.align_stack, "alignstack "),
            (asm.intel_dialect, "inteldialect "),
            (asm.can_unwind, "unwind "),
        ] {
            if set {
                self.str(text);
            }
        }
        self.quoted(asm.template);
        self.str(", ");
        self.quoted(asm.constraints);
    }

    /// `blockaddress(@function, %block)`
    fn block_address(&mut self, slot: u32) {
        self.str("blockaddress(");
        match self.cx.module.block_addresses.get(slot as usize) {
            Some(address) => {
                self.global(address.function);
                self.str(", ");
                self.block_address_label(slot, *address);
            }
            None => self.str("<badref>"),
        }
        self.str(")");
    }
}
