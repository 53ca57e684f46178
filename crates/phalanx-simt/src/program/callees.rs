//! What a call calls: a function of the module, an intrinsic, a function of a library, or what a
//! line of inline assembly is.
//!
//! ```text
//! call void @f()                  -> the function, if it has a body, also by an alias
//! call i32 @_Z3minii(..)          -> the signed minimum, if the module only declares it
//! call void asm "bar.sync 0;"()   -> the barrier
//! ```
//!
//! O(1) for a name, O(text) for assembly.

use phalanx_ir::{ConstKind, Function, GlobalName, InstId, ValueKind};
use phalanx_target::{
    inline_asm::{AsmValue, Assembly},
    library::{self, Language},
};

use super::{Callee, Program};
use crate::intrinsic::Intrinsic;

impl Program<'_> {
    /// The intrinsic that inline assembly is, where it is one instruction, and its arguments:
    /// those of the call, or numbers.
    pub(super) fn assembly(
        &self,
        function: &Function,
        call: InstId,
    ) -> Option<(Intrinsic, Vec<AsmValue>)> {
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
        let is_given =
            |id: &usize| matches!(read.values[*id], AsmValue::Argument(_) | AsmValue::Integer(_));
        let is_whole = read.is_operations
            && operation.predicate.is_none()
            && read.results.len() <= 1
            && read.results.iter().all(is_result)
            && operation.arguments.iter().all(is_given);
        let found = operation.intrinsic;
        // Overloads have no other meaning.
        let known = Intrinsic::from_name(&format!("{}{}", found.family.prefix(), found.base))?;
        let arguments = operation.arguments.iter().map(|&id| read.values[id].clone()).collect();
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

    /// What a function does that is declared only, and known by name.
    fn of_library(
        &self,
        function: &Function,
        call: InstId,
        name: GlobalName,
        text: &str,
    ) -> Option<Intrinsic> {
        let (context, metadata) = (self.context(), self.module.metadata.named());
        let is_there = |of: &[u8]| metadata.iter().any(|named| context.bytes(named.name) == of);
        let language = Language::of_metadata(is_there);
        let bytes = context.bytes(name.symbol()?);
        if self.extension.find(bytes).is_some() {
            return None;
        }
        let found = library::find(bytes, self.architecture, language)?;
        let scope = function.body.call_args(call).first().and_then(|scope| scope.as_const());
        let scope = scope.and_then(|scope| match &context.const_data(scope).kind {
            ConstKind::Int(scope) => scope.to_u64(),
            _ => None,
        });
        Intrinsic::of_library(library::with_scope(found, scope).base, text)
    }
}
