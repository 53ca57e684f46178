//! Names of types for messages, shortened to a bounded length.

use phalanx_ir::{Context, Type, TypeKind, types::StructName};

use super::Parser;

/// Longer names end in dots.
const LIMIT: usize = 120;

enum Step {
    Type(Type),
    Text(String),
}

impl Parser<'_> {
    /// A type for a message.
    pub(crate) fn type_name(&self, ty: Type) -> String {
        type_name(self.context, ty)
    }
}

/// A type as it is written, cut where it gets long.
pub(crate) fn type_name(context: &Context, ty: Type) -> String {
    let mut name = String::new();
    let mut steps = vec![Step::Type(ty)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => name += &text,
            Step::Type(ty) => open(context, ty, &mut name, &mut steps),
        }
        if name.len() > LIMIT {
            let cut = (0..=LIMIT).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
            name.truncate(cut);
            return name + "...";
        }
    }
    name
}

/// Appends what comes before the first part of a type and leaves the rest as steps.
fn open(context: &Context, ty: Type, name: &mut String, steps: &mut Vec<Step>) {
    let list = |steps: &mut Vec<Step>, types: &[Type], close: &str| {
        steps.push(Step::Text(close.to_string()));
        // What a message of this length cannot show need not be put there.
        for (at, &ty) in types.iter().enumerate().take(LIMIT).rev() {
            steps.push(Step::Type(ty));
            if at > 0 {
                steps.push(Step::Text(", ".to_string()));
            }
        }
    };
    match context.type_kind(ty) {
        TypeKind::Void => *name += "void",
        TypeKind::Half => *name += "half",
        TypeKind::BFloat => *name += "bfloat",
        TypeKind::Float => *name += "float",
        TypeKind::Double => *name += "double",
        TypeKind::X86Fp80 => *name += "x86_fp80",
        TypeKind::Fp128 => *name += "fp128",
        TypeKind::PpcFp128 => *name += "ppc_fp128",
        TypeKind::Label => *name += "label",
        TypeKind::Metadata => *name += "metadata",
        TypeKind::Token => *name += "token",
        TypeKind::X86Amx => *name += "x86_amx",
        TypeKind::Int(bits) => *name += &format!("i{bits}"),
        TypeKind::Ptr(0) => *name += "ptr",
        TypeKind::Ptr(space) => *name += &format!("ptr addrspace({space})"),
        TypeKind::Named(StructName::Named(symbol)) => {
            *name += &format!("%{}", context.text(*symbol));
        }
        TypeKind::Named(StructName::Numbered(number)) => *name += &format!("%{number}"),
        TypeKind::Array { elem, len } => {
            *name += &format!("[{len} x ");
            list(steps, &[*elem], "]");
        }
        TypeKind::Vector { elem, len, scalable } => {
            *name += &format!("<{}{len} x ", if *scalable { "vscale x " } else { "" });
            list(steps, &[*elem], ">");
        }
        TypeKind::Struct { packed, fields } => {
            *name += if *packed { "<{ " } else { "{ " };
            list(steps, fields, if *packed { " }>" } else { " }" });
        }
        TypeKind::Function { ret, params, vararg } => {
            list(steps, params, if *vararg { ", ...)" } else { ")" });
            steps.extend([Step::Text(" (".to_string()), Step::Type(*ret)]);
        }
        TypeKind::Target { name: target, .. } => {
            *name += &format!("target(\"{}\")", context.text(*target));
        }
    }
}
