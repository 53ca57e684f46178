//! Names of entities for messages.
//!
//! For people, not for reading back: another crate prints the textual format.

use std::fmt::Write as _;

use crate::{
    constant::ConstKind,
    context::Context,
    flow::BlockId,
    function::FunctionRef,
    module::Module,
    symbol::GlobalName,
    types::{StructName, Type, TypeKind},
    value::{Value, ValueKind},
    verify::{Related, VerifyError, view::type_of_checked},
};

pub(crate) fn global(context: &Context, name: GlobalName) -> String {
    match name {
        GlobalName::Named(symbol) => format!("@{}", context.text(symbol)),
        GlobalName::Numbered(number) => format!("@{number}"),
    }
}

pub(crate) fn block(function: FunctionRef<'_>, block: BlockId) -> String {
    match function.extras.names.block(block) {
        Some(name) => format!("%{}", String::from_utf8_lossy(name)),
        None => format!("{:?}", Value::block(block)),
    }
}

pub(crate) fn value(context: &Context, function: FunctionRef<'_>, value: Value) -> String {
    let names = &function.extras.names;
    let name = match value.kind() {
        ValueKind::Inst(inst) => names.inst(inst),
        ValueKind::Arg(position) => names.arg(position),
        ValueKind::Block(id) => return block(function, id),
        ValueKind::Const(constant) if (constant.raw() as usize) < context.const_count() => {
            return match &context.const_data(constant).kind {
                ConstKind::Global(name) => global(context, *name),
                ConstKind::Int(int) => match int.to_u64() {
                    Some(number) => format!("{number}"),
                    None => "constant".into(),
                },
                ConstKind::Null => "null".into(),
                ConstKind::Zero => "zeroinitializer".into(),
                ConstKind::Undef => "undef".into(),
                ConstKind::Poison => "poison".into(),
                _ => "constant".into(),
            };
        }
        ValueKind::Const(_) => return "constant".into(),
        ValueKind::Metadata(_) => return "metadata".into(),
    };
    name.map_or_else(|| format!("{value:?}"), |name| format!("%{}", String::from_utf8_lossy(name)))
}

/// `type value`, or the value alone when it has none.
pub(crate) fn typed_value(context: &Context, function: FunctionRef<'_>, operand: Value) -> String {
    let text = value(context, function, operand);
    match type_of_checked(context, function.header, function.body, operand) {
        Some(ty) => format!("{} {text}", type_name(context, ty)),
        None => text,
    }
}

/// How deep a type is spelt out before `..` stands for the rest.
const DEPTH: u32 = 3;

pub(crate) fn type_name(context: &Context, ty: Type) -> String {
    let mut text = String::new();
    write_type(context, ty, DEPTH, &mut text);
    text
}

/// Nested calls are bounded by [`DEPTH`].
fn write_type(context: &Context, ty: Type, depth: u32, out: &mut String) {
    if ty.raw() as usize >= context.type_count() {
        out.push_str("<unknown type>");
        return;
    }
    let Some(less) = depth.checked_sub(1) else {
        out.push_str("..");
        return;
    };
    let list = |types: &[Type], out: &mut String| {
        for (at, &ty) in types.iter().enumerate() {
            out.push_str(if at == 0 { "" } else { ", " });
            write_type(context, ty, less, out);
        }
    };
    // Writing to a string cannot fail.
    let _ = match context.type_kind(ty) {
        TypeKind::Void => write!(out, "void"),
        TypeKind::Half => write!(out, "half"),
        TypeKind::BFloat => write!(out, "bfloat"),
        TypeKind::Float => write!(out, "float"),
        TypeKind::Double => write!(out, "double"),
        TypeKind::X86Fp80 => write!(out, "x86_fp80"),
        TypeKind::Fp128 => write!(out, "fp128"),
        TypeKind::PpcFp128 => write!(out, "ppc_fp128"),
        TypeKind::Label => write!(out, "label"),
        TypeKind::Metadata => write!(out, "metadata"),
        TypeKind::Token => write!(out, "token"),
        TypeKind::X86Amx => write!(out, "x86_amx"),
        TypeKind::Int(bits) => write!(out, "i{bits}"),
        TypeKind::Ptr(0) => write!(out, "ptr"),
        TypeKind::Ptr(space) => write!(out, "ptr addrspace({space})"),
        TypeKind::Named(StructName::Named(name)) => write!(out, "%{}", context.text(*name)),
        TypeKind::Named(StructName::Numbered(number)) => write!(out, "%{number}"),
        TypeKind::Target { name, .. } => write!(out, "target(\"{}\")", context.text(*name)),
        TypeKind::Array { elem, len } => {
            let _ = write!(out, "[{len} x ");
            write_type(context, *elem, less, out);
            write!(out, "]")
        }
        TypeKind::Vector { elem, len, scalable } => {
            let _ = write!(out, "<{}{len} x ", if *scalable { "vscale x " } else { "" });
            write_type(context, *elem, less, out);
            write!(out, ">")
        }
        TypeKind::Struct { packed, fields } => {
            out.push_str(if *packed { "<{ " } else { "{ " });
            list(fields, out);
            write!(out, "{}", if *packed { " }>" } else { " }" })
        }
        TypeKind::Function { ret, params, vararg } => {
            write_type(context, *ret, less, out);
            out.push_str(" (");
            list(params, out);
            write!(out, "{})", if *vararg { ", ..." } else { "" })
        }
    };
}

/// A verifier's error with its entities named.
pub(crate) fn error(
    module: &Module,
    function: Option<FunctionRef<'_>>,
    error: &VerifyError,
) -> String {
    let context = &module.context;
    let mut text = String::new();
    if let Some(function) = function {
        if let Some(at) = error.block {
            let _ = write!(text, "{}: ", block(function, at));
        }
        if let Some(inst) = error.inst {
            let opcode = function.body.inst(inst).opcode.text();
            let _ = write!(text, "{} ({opcode}): ", value(context, function, inst.into()));
        }
    }
    text.push_str(&error.message);
    let related = error.related.iter().filter_map(|related| match (related, function) {
        (Related::Inst(inst), Some(f)) => Some(value(context, f, (*inst).into())),
        (Related::Value(v), Some(f)) => Some(typed_value(context, f, *v)),
        (Related::Block(b), Some(f)) => Some(block(f, *b)),
        (Related::Type(ty), _) => Some(type_name(context, *ty)),
        (Related::Global(name), _) => Some(global(context, *name)),
        (Related::Name(name), _) => Some(context.text(*name).into_owned()),
        (Related::Cycle { entries, .. }, Some(f)) => {
            entries.first().map(|&header| format!("cycle of {}", block(f, header)))
        }
        _ => None,
    });
    let related: Vec<String> = related.collect();
    if !related.is_empty() {
        let _ = write!(text, " ({})", related.join(", "));
    }
    text
}
