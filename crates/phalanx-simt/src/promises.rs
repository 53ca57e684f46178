//! Checks promises about values besides the flags of operations: attributes of parameters and
//! results, and metadata of loads and calls.
//!
//! | promise | where | broken |
//! |---|---|---|
//! | `noundef`, `!noundef` | parameters, results, loads | undefined behaviour |
//! | `range(..)`, `!range` | parameters, results, loads | poison |
//! | `nonnull`, `!nonnull` | parameters, results, loads | poison |
//! | `llvm.assume` | its argument | undefined behaviour unless it is true |
//!
//! For example `call i32 @llvm.umin.i32(i32 noundef %x, i32 7)` is undefined behaviour where `%x`
//! is poison, so no pass may move it to where that can be. Source: LLVM 22, *Language Reference*,
//! parameter attributes and metadata.
//!
//! Only programs that follow `undef` are checked ([`Program::follow_undef`]). Promises about null
//! are not checked in address spaces whose null is not zero.
//!
//! Invariant: a check never makes a value more defined.

use phalanx_ir::{
    Const, Function, InstId, Type,
    attributes::{AttrKind, AttrSetData},
    metadata::{Attachment, Metadata, kind},
};

use crate::{
    fault::FaultKind,
    memory::Region,
    ops,
    program::Program,
    unknown::{is_followed, is_undefined},
    value::Value,
};

type Result<T> = std::result::Result<T, FaultKind>;

impl Program<'_> {
    /// An argument of a call, checked against the promises of the call and the callee.
    pub(crate) fn promised_argument(
        &self,
        caller: &Function,
        call: InstId,
        position: usize,
        ty: Type,
        mut value: Value,
    ) -> Result<Value> {
        let site = self.param_attributes(caller.body.call_info(call).attributes, position);
        value = self.attributed("an argument", site, ty, value)?;
        if let Some(callee) = self.named_callee(caller, call)
            && position < callee.header.params.len()
        {
            let own = self.param_attributes(callee.header.attributes, position);
            value = self.attributed("an argument", own, ty, value)?;
        }
        Ok(value)
    }

    /// The result of a load or call, checked against the promises of the instruction and the
    /// callee.
    pub(crate) fn promised_result(
        &self,
        function: &Function,
        inst: InstId,
        mut value: Value,
    ) -> Result<Value> {
        let data = function.body.inst(inst);
        if data.opcode.is_call() {
            let context = self.context();
            let site = context.return_attrs(function.body.call_info(inst).attributes);
            value = self.attributed("a result", site, data.ty, value)?;
            if let Some(callee) = self.named_callee(function, inst) {
                let own = context.return_attrs(callee.header.attributes);
                value = self.attributed("a result", own, data.ty, value)?;
            }
        }
        let attachments: Vec<Attachment> = function.extras.attachments_of(inst).collect();
        if attachments.is_empty() {
            return Ok(value);
        }
        let is_attached = |kind| Metadata::attached(&attachments, kind).is_some();
        if is_attached(kind::NOUNDEF) && is_undefined(&value) {
            return Err(FaultKind::undefined("what is loaded is not defined, against `!noundef`"));
        }
        if is_attached(kind::NONNULL) {
            value = self.not_null(data.ty, value);
        }
        match self.module.metadata.range(&attachments) {
            Some(ranges) => self.in_ranges(&ranges, value),
            None => Ok(value),
        }
    }

    fn attributed(
        &self,
        what: &str,
        attributes: &AttrSetData,
        ty: Type,
        mut value: Value,
    ) -> Result<Value> {
        if attributes.has(AttrKind::NonNull) {
            value = self.not_null(ty, value);
        }
        if let Some(range) = attributes.range() {
            value = self.in_ranges(&[range], value)?;
        }
        if attributes.has(AttrKind::NoUndef) && is_undefined(&value) {
            return Err(FaultKind::undefined(format!("{what} is not defined, against `noundef`")));
        }
        Ok(value)
    }

    /// The function that a call names.
    fn named_callee(&self, caller: &Function, call: InstId) -> Option<&Function> {
        match &self.context().const_data(caller.body.const_callee(call)?).kind {
            phalanx_ir::ConstKind::Global(name) => {
                self.number_of(*name).map(|number| &self.module.functions[number])
            }
            _ => None,
        }
    }

    fn not_null(&self, ty: Type, value: Value) -> Value {
        // Address 0 of shared and private memory of AMD GPUs is an ordinary address.
        let has_zero = |region: Region| self.apertures.null(region) == 0;
        match value {
            Value::Bits(0) if self.region(ty).is_ok_and(has_zero) => Value::Poison,
            value if is_followed(&value) => ops::poisoned(value),
            value => value,
        }
    }

    /// A value, with poison in lanes outside of all ranges. A range that ends where it begins
    /// contains all numbers.
    fn in_ranges(&self, ranges: &[(Const, Const)], value: Value) -> Result<Value> {
        let mut known = Vec::new();
        for &(low, high) in ranges {
            let ends = (self.constant(low)?.bits(), self.constant(high)?.bits());
            let (Some(low), Some(high)) = ends else { return Ok(value) };
            known.push((low, high));
        }
        let is_in = |bits: u128| {
            known.iter().any(|&(low, high)| match low < high {
                true => (low..high).contains(&bits),
                false => bits >= low || bits < high,
            })
        };
        let checked = ops::lanes1(&value, |bits| {
            Ok(if is_in(bits) { Value::Bits(bits) } else { Value::Poison })
        })?;
        Ok(if is_followed(&checked) { ops::poisoned(checked) } else { checked })
    }
}
