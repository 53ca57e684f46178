//! Resolves calls: to a function of the module, an intrinsic, a library function, or the
//! instruction in a line of inline assembly.
//!
//! ```text
//! call void @f()                  -> the function, if it has a body, also by an alias
//! call i32 @_Z3minii(..)          -> the signed minimum, if the module only declares it
//! call void asm "bar.sync 0;"()   -> the barrier
//! call @__spirv_GroupIAdd(2, 0, x) -> the workgroup's sum of x
//! ```
//!
//! O(1) for a name, O(text) for assembly.

use phalanx_ir::{ConstKind, Function, GlobalName, InstId, ValueKind};
use phalanx_target::{
    inline_asm::{AsmValue, Assembly},
    library::{self, Language},
};

use super::{Callee, Given, Program};
use crate::intrinsic::{self, Form, Intrinsic};

impl Program<'_> {
    /// The intrinsic for inline assembly that is one instruction, and its operands: arguments of
    /// the call, or numbers.
    pub(super) fn assembly(
        &self,
        function: &Function,
        call: InstId,
    ) -> Option<(Intrinsic, Vec<Given>)> {
        let context = self.context();
        let callee = function.body.const_callee(call)?;
        let ConstKind::InlineAsm(asm) = &context.const_data(callee).kind else { return None };
        let read = Assembly::read(
            self.architecture,
            &context.text(asm.template),
            &context.text(asm.constraints),
        );
        let [operation] = &read.operations[..] else { return None };
        let is_result = |&id: &usize| matches!(read.values[id], AsmValue::Result { index: 0, .. });
        let given = |&id: &usize| match read.values[id] {
            AsmValue::Argument(position) => Some(Given::Argument(position as usize)),
            AsmValue::Integer(number) => Some(Given::Number(number as u32)),
            _ => None,
        };
        let arguments: Vec<Given> = operation.arguments.iter().map(given).collect::<Option<_>>()?;
        let is_whole = read.is_operations
            && operation.predicate.is_none()
            && read.results.len() <= 1
            && read.results.iter().all(is_result);
        let found = operation.intrinsic;
        // Overloads have the same meaning.
        let known = Intrinsic::from_name(&format!("{}{}", found.family.prefix(), found.base))?;
        is_whole.then_some((known, arguments))
    }

    pub(super) fn callee(&self, function: &Function, call: InstId) -> Callee {
        let context = self.context();
        let ValueKind::Const(callee) = function.body.callee(call).kind() else {
            return Callee::Indirect;
        };
        match &context.const_data(callee).kind {
            ConstKind::Global(name) => match self.by_name.get(name) {
                Some(&number) if !self.module.functions[number].is_declaration() => {
                    Callee::Function(number)
                }
                Some(_) => {
                    let text = name.symbol().map(|s| context.text(s)).unwrap_or_default();
                    let row = name.symbol().and_then(|s| self.extension.find(context.bytes(s)));
                    if let Some(row) = row {
                        return self.callee_of_driver(*name, row);
                    }
                    let known = Intrinsic::from_name(&text)
                        .or_else(|| self.of_library(function, call, *name, &text));
                    known.map_or(Callee::Unknown, Callee::Intrinsic)
                }
                // An alias of a function.
                None => self
                    .addresses
                    .get(name)
                    .and_then(|&address| self.function_at(address))
                    .map_or(Callee::Unknown, Callee::Function),
            },
            ConstKind::InlineAsm(asm) if context.bytes(asm.template).is_empty() => Callee::Nothing,
            ConstKind::InlineAsm(_) => Callee::Unknown,
            _ => Callee::Indirect,
        }
    }

    /// The operation of a declared function that is known by name.
    fn of_library(
        &self,
        function: &Function,
        call: InstId,
        name: GlobalName,
        text: &str,
    ) -> Option<Intrinsic> {
        let found = self.row(name)?;
        let scope = self.constant_argument(function, call, 0);
        Intrinsic::of_library(library::with_scope(found, scope).base, text)
    }

    /// The intrinsic that a call of one of SPIR-V's functions is, and its arguments.
    pub(super) fn spirv(
        &self,
        function: &Function,
        call: InstId,
    ) -> Option<(Intrinsic, Vec<Given>)> {
        let context = self.context();
        let ConstKind::Global(name) = context.const_data(function.body.const_callee(call)?).kind
        else {
            return None;
        };
        let declared = self.by_name.get(&name).map(|&number| &self.module.functions[number])?;
        let found = self.row(name).filter(|_| declared.is_declaration())?;
        let number = |at| self.constant_argument(function, call, at);
        let called = context.text(name.symbol()?);
        let Form { intrinsic, arguments } = intrinsic::form(found.base, &called, &number)?;
        Some((intrinsic, arguments.into_iter().map(Given::Argument).collect()))
    }

    /// The table row of a function that is known by name, unless the driver has one of its own.
    fn row(&self, name: GlobalName) -> Option<phalanx_target::intrinsics::Intrinsic> {
        let (context, metadata) = (self.context(), self.module.metadata.named());
        let is_there = |of: &[u8]| metadata.iter().any(|named| context.bytes(named.name) == of);
        let bytes = context.bytes(name.symbol()?);
        match self.extension.find(bytes) {
            Some(_) => None,
            None => library::find(bytes, self.architecture, Language::of_metadata(is_there)),
        }
    }

    /// An argument of a call that is a number.
    fn constant_argument(&self, function: &Function, call: InstId, at: usize) -> Option<u64> {
        let argument = function.body.call_args(call).get(at)?.as_const()?;
        match &self.context().const_data(argument).kind {
            ConstKind::Int(number) => number.to_u64(),
            ConstKind::Null => Some(0),
            _ => None,
        }
    }
}
