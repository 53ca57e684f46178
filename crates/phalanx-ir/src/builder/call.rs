//! Callees and calls, as arguments of the builder.

use crate::{
    attributes::AttrList,
    builder::module::FunctionHandle,
    call_conv::CallConv,
    constant::{ConstKind, InlineAsm},
    context::Context,
    function::FunctionHeader,
    inst::CallInfo,
    symbol::Symbol,
    types::Type,
    value::Value,
};

/// A function, a pointer to one, or inline assembly, with the type it is called with.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Callee {
    /// The function, pointer or assembly.
    pub value: Value,
    /// The function type of the call.
    pub function_type: Type,
    /// The calling convention of the call.
    pub call_conv: CallConv,
}

impl Callee {
    /// A function of the module, by its header, with the type and the convention of the header.
    pub fn function(context: &Context, header: &FunctionHeader) -> Callee {
        let address = context.const_global(header.name, header.address_space);
        Callee { value: address.into(), function_type: header.ty, call_conv: header.call_conv }
    }

    /// A function that a pointer points to.
    pub fn indirect(pointer: Value, function_type: Type) -> Callee {
        Callee { value: pointer, function_type, call_conv: CallConv::C }
    }

    /// Inline assembly, by template and constraints.
    pub fn inline_asm(
        context: &Context,
        function_type: Type,
        template: &str,
        constraints: &str,
        side_effects: bool,
    ) -> Callee {
        let asm = InlineAsm {
            template: context.symbol(template.as_bytes()),
            constraints: context.symbol(constraints.as_bytes()),
            function_type,
            side_effects,
            align_stack: false,
            intel_dialect: false,
            can_unwind: false,
        };
        let constant = context.constant(Type::PTR, ConstKind::InlineAsm(Box::new(asm)));
        Callee { value: constant.into(), function_type, call_conv: CallConv::C }
    }

    /// The same callee with another calling convention.
    #[must_use]
    pub fn with_call_conv(mut self, call_conv: CallConv) -> Callee {
        self.call_conv = call_conv;
        self
    }
}

impl From<FunctionHandle> for Callee {
    fn from(function: FunctionHandle) -> Callee {
        Callee {
            value: function.address().into(),
            function_type: function.function_type(),
            call_conv: function.call_conv(),
        }
    }
}

/// A call in full: callee, arguments, bundles, attributes.
///
/// ```
/// # use std::sync::Arc;
/// # use phalanx_ir::{Context, Type, builder::*};
/// # fn main() -> Result<(), BuildError> {
/// # let context = Arc::new(Context::new());
/// # let mut module = ModuleBuilder::new(context.clone());
/// let barrier = module.declare_function("barrier", Type::VOID, &[])?;
/// let mut f = module.define_function("f", &FunctionSpec::new(Type::VOID))?;
/// let entry = f.block("entry");
/// f.switch_to(entry);
/// let token = f.call_intrinsic("llvm.experimental.convergence.anchor", Type::TOKEN, &[])?;
/// f.call_with(&CallSpec::new(barrier).bundle(&context, "convergencectrl", &[token]))?;
/// f.ret_void()?;
/// f.finish()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSpec {
    callee: Callee,
    args: Vec<Value>,
    bundles: Vec<(Symbol, Vec<Value>)>,
    attributes: AttrList,
}

impl CallSpec {
    /// A call without arguments.
    pub fn new(callee: impl Into<Callee>) -> CallSpec {
        CallSpec {
            callee: callee.into(),
            args: Vec::new(),
            bundles: Vec::new(),
            attributes: AttrList::EMPTY,
        }
    }

    /// With one argument more.
    #[must_use]
    pub fn arg(mut self, value: impl Into<Value>) -> CallSpec {
        self.args.push(value.into());
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args(mut self, values: &[Value]) -> CallSpec {
        self.args.extend_from_slice(values);
        self
    }

    /// With an operand bundle.
    #[must_use]
    pub fn bundle(mut self, context: &Context, tag: &str, operands: &[Value]) -> CallSpec {
        self.bundles.push((context.symbol(tag.as_bytes()), operands.to_vec()));
        self
    }

    /// With attributes of the call site.
    #[must_use]
    pub fn attributes(mut self, attributes: AttrList) -> CallSpec {
        self.attributes = attributes;
        self
    }

    /// The operands in the order of [`crate::Opcode::Call`], and the shape.
    pub(crate) fn parts(&self) -> (impl Iterator<Item = Value> + '_, CallInfo) {
        let info = CallInfo {
            function_type: self.callee.function_type,
            call_conv: self.callee.call_conv,
            attributes: self.attributes,
            args: self.args.len() as u32,
            bundles: self.bundles.iter().map(|(tag, list)| (*tag, list.len() as u32)).collect(),
        };
        let bundled = self.bundles.iter().flat_map(|(_, list)| list);
        (self.args.iter().chain(bundled).copied().chain([self.callee.value]), info)
    }
}
