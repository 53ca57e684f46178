//! Types as text.
//!
//! Nested types are printed with an explicit stack, so types may nest arbitrarily deep.

use phalanx_ir::{
    Type, TypeKind,
    types::{StructBody, StructName},
};
use smallvec::{SmallVec, smallvec};

use super::Writer;

/// What remains to be written, innermost last.
enum Step<'a> {
    Type(Type),
    Text(&'static str),
    /// The rest of a list of types, then this text.
    List {
        types: &'a [Type],
        first: bool,
        close: &'static str,
    },
    /// Integer parameters of a target type and what closes it.
    Ints(&'a [u32]),
}

type Steps<'a> = SmallVec<[Step<'a>; 8]>;

impl<'a> Writer<'a> {
    /// A type.
    pub(super) fn ty(&mut self, ty: Type) {
        let mut steps = Steps::new();
        self.one_type(ty, &mut steps);
        self.type_steps(&mut steps);
    }

    /// `%name` or `%3` of an identified structure.
    pub(super) fn struct_name(&mut self, name: StructName) {
        match name {
            StructName::Named(symbol) => self.name(b'%', self.cx.context.bytes(symbol)),
            StructName::Numbered(number) => {
                self.out.push(b'%');
                let slot = self.cx.struct_order().slot(number).unwrap_or(number);
                self.number(u64::from(slot));
            }
        }
    }

    /// The body of an identified structure: `opaque`, `{ .. }` or `<{ .. }>`.
    pub(super) fn struct_body(&mut self, body: &'a StructBody) {
        match body {
            StructBody::Opaque => self.str("opaque"),
            StructBody::Fields { packed, fields } => {
                let mut steps = smallvec![open_struct(*packed, fields, self.out)];
                self.type_steps(&mut steps);
            }
        }
    }

    fn type_steps(&mut self, steps: &mut Steps<'a>) {
        while let Some(step) = steps.pop() {
            match step {
                Step::Text(text) => self.str(text),
                Step::Type(ty) => self.one_type(ty, steps),
                Step::List { types: [], close, .. } => self.str(close),
                Step::List { types: [ty, rest @ ..], first, close } => {
                    if !first {
                        self.str(", ");
                    }
                    steps.push(Step::List { types: rest, first: false, close });
                    self.one_type(*ty, steps);
                }
                Step::Ints(ints) => {
                    for &int in ints {
                        self.str(", ");
                        self.number(u64::from(int));
                    }
                    self.str(")");
                }
            }
        }
    }

    /// Writes a type as far as it holds no other and leaves the rest on the stack.
    fn one_type(&mut self, ty: Type, steps: &mut Steps<'a>) {
        let text = match self.cx.context.type_kind(ty) {
            TypeKind::Void => "void",
            TypeKind::Half => "half",
            TypeKind::BFloat => "bfloat",
            TypeKind::Float => "float",
            TypeKind::Double => "double",
            TypeKind::X86Fp80 => "x86_fp80",
            TypeKind::Fp128 => "fp128",
            TypeKind::PpcFp128 => "ppc_fp128",
            TypeKind::Label => "label",
            TypeKind::Metadata => "metadata",
            TypeKind::Token => "token",
            TypeKind::X86Amx => "x86_amx",
            TypeKind::Ptr(0) => "ptr",
            TypeKind::Ptr(space) => {
                self.str("ptr addrspace(");
                self.number(u64::from(*space));
                ")"
            }
            TypeKind::Int(bits) => {
                self.out.push(b'i');
                return self.number(u64::from(*bits));
            }
            TypeKind::Named(name) => return self.struct_name(*name),
            TypeKind::Array { elem, len } => {
                self.str("[");
                self.number(*len);
                self.str(" x ");
                steps.extend([Step::Text("]"), Step::Type(*elem)]);
                return;
            }
            TypeKind::Vector { elem, len, scalable } => {
                self.str(if *scalable { "<vscale x " } else { "<" });
                self.number(u64::from(*len));
                self.str(" x ");
                steps.extend([Step::Text(">"), Step::Type(*elem)]);
                return;
            }
            TypeKind::Struct { packed, fields } => {
                return steps.push(open_struct(*packed, fields, self.out));
            }
            TypeKind::Function { ret, params, vararg } => {
                let close = match (*vararg, params.is_empty()) {
                    (false, _) => ")",
                    (true, true) => "...)",
                    (true, false) => ", ...)",
                };
                steps.extend([
                    Step::List { types: params, first: true, close },
                    Step::Text(" ("),
                    Step::Type(*ret),
                ]);
                return;
            }
            TypeKind::Target { name, types, ints } => {
                self.str("target(");
                self.quoted(*name);
                steps.extend([Step::Ints(ints), Step::List { types, first: false, close: "" }]);
                return;
            }
        };
        self.str(text);
    }
}

fn open_struct<'a>(packed: bool, fields: &'a [Type], out: &mut Vec<u8>) -> Step<'a> {
    out.extend_from_slice(if packed { b"<{" } else { b"{" });
    let close = match (packed, fields.is_empty()) {
        (false, true) => "}",
        (true, true) => "}>",
        (false, false) => " }",
        (true, false) => " }>",
    };
    if !fields.is_empty() {
        out.push(b' ');
    }
    Step::List { types: fields, first: true, close }
}
