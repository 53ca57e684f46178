//! Types as text.
//!
//! Nesting is followed with an explicit stack, so a type may be nested as deep as memory allows.

use phalanx_ir::{
    Type, TypeKind,
    types::{StructBody, StructName},
};
use smallvec::SmallVec;

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
    /// `, ...` or `...` and the closing parenthesis of a function type.
    Vararg {
        after_params: bool,
    },
    /// Integer parameters of a target type.
    Ints(&'a [u32]),
}

impl Writer<'_> {
    /// A type.
    pub(super) fn ty(&mut self, ty: Type) {
        if self.simple_type(ty) {
            return;
        }
        let mut stack: SmallVec<[Step<'_>; 8]> = SmallVec::new();
        stack.push(Step::Type(ty));
        self.type_steps(&mut stack);
    }

    /// Writes a type that holds no other; false when it does hold others.
    fn simple_type(&mut self, ty: Type) -> bool {
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
            TypeKind::Int(bits) => {
                self.out.push(b'i');
                self.number(u64::from(*bits));
                return true;
            }
            TypeKind::Ptr(0) => "ptr",
            TypeKind::Ptr(space) => {
                self.str("ptr addrspace(");
                self.number(u64::from(*space));
                ")"
            }
            TypeKind::Named(name) => {
                self.struct_name(*name);
                return true;
            }
            TypeKind::Array { .. }
            | TypeKind::Vector { .. }
            | TypeKind::Struct { .. }
            | TypeKind::Function { .. }
            | TypeKind::Target { .. } => return false,
        };
        self.str(text);
        true
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
    pub(super) fn struct_body(&mut self, body: &StructBody) {
        match body {
            StructBody::Opaque => self.str("opaque"),
            StructBody::Fields { packed, fields } => {
                let mut stack = SmallVec::new();
                self.open_struct(*packed, fields, &mut stack);
                self.type_steps(&mut stack);
            }
        }
    }

    fn open_struct<'t>(
        &mut self,
        packed: bool,
        fields: &'t [Type],
        stack: &mut SmallVec<[Step<'t>; 8]>,
    ) {
        self.str(match (packed, fields.is_empty()) {
            (false, true) => "{}",
            (true, true) => "<{}>",
            (false, false) => "{ ",
            (true, false) => "<{ ",
        });
        if !fields.is_empty() {
            let close = if packed { " }>" } else { " }" };
            stack.push(Step::List { types: fields, first: true, close });
        }
    }

    fn type_steps<'t>(&mut self, stack: &mut SmallVec<[Step<'t>; 8]>)
    where
        Self: 't,
    {
        while let Some(step) = stack.pop() {
            match step {
                Step::Text(text) => self.str(text),
                Step::Type(ty) => self.one_type(ty, stack),
                Step::List { types: [], close, .. } => self.str(close),
                Step::List { types: [ty, rest @ ..], first, close } => {
                    if !first {
                        self.str(", ");
                    }
                    stack.push(Step::List { types: rest, first: false, close });
                    stack.push(Step::Type(*ty));
                }
                Step::Vararg { after_params } => {
                    self.str(if after_params { ", ...)" } else { "...)" });
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
}
