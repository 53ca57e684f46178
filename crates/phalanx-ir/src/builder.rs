//! Building modules in memory: what an embedding compiler uses instead of writing text.
//!
//! A [`ModuleBuilder`] holds the module so far; it declares functions, variables and types. A
//! [`FunctionBuilder`] defines one function: it makes blocks and appends instructions at a cursor,
//! one method of [`InstBuilder`] for each kind. Every step is checked at once against the rules of
//! the verifier. A mistake is reported where it is made, as a [`BuildError`] that names the
//! function, the block, the instruction and its operands. The rules that need the whole function
//! (dominance, phis, convergence tokens) are checked by [`FunctionBuilder::finish`]. A function
//! that `finish` accepts is well-formed.
//!
//! ```
//! use std::sync::Arc;
//! use phalanx_ir::{
//!     CallConv, Context, Type,
//!     builder::{BuildError, FunctionSpec, InstBuilder, ModuleBuilder},
//!     inst::IntPredicate,
//! };
//!
//! // kernel void scale(float *data, float factor, int n) { int i = id(); if (i < n) data[i] *= factor; }
//! # fn main() -> Result<(), BuildError> {
//! let context = Arc::new(Context::new());
//! let mut module = ModuleBuilder::new(context.clone());
//! module.set_triple("amdgcn-amd-amdhsa");
//! let spec = FunctionSpec::new(Type::VOID)
//!     .param(Type::PTR1, "data")
//!     .param(Type::FLOAT, "factor")
//!     .param(Type::I32, "n")
//!     .call_conv(CallConv::AMDGPU_KERNEL);
//!
//! let mut f = module.define_function("scale", &spec)?;
//! let [data, factor, n] = f.args();
//! let [entry, body, exit] = [f.block("entry"), f.block("body"), f.block("exit")];
//!
//! f.switch_to(entry);
//! let id = f.named("id").call_intrinsic("llvm.amdgcn.workitem.id.x", Type::I32, &[])?;
//! let inside = f.named("inside").icmp(IntPredicate::Slt, id, n)?;
//! f.cond_br(inside, body, exit)?;
//!
//! f.switch_to(body);
//! let address = f.named("address").gep(Type::FLOAT, data, &[id])?;
//! let old = f.named("old").aligned(4).load(Type::FLOAT, address)?;
//! let new = f.named("new").fmul(old, factor)?;
//! f.aligned(4).store(new, address)?;
//! f.br(exit)?;
//!
//! f.switch_to(exit);
//! f.ret_void()?;
//! f.finish()?;
//!
//! let module = module.finish()?;
//! assert_eq!(module.function("scale").unwrap().flow.order().len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! Loops take a phi whose values come later, or [variables], for which the builder makes phis:
//!
//! ```
//! # use std::sync::Arc;
//! # use phalanx_ir::{Context, Type, builder::*, inst::IntPredicate};
//! # fn main() -> Result<(), BuildError> {
//! # let context = Arc::new(Context::new());
//! # let mut module = ModuleBuilder::new(context.clone());
//! let spec = FunctionSpec::new(Type::I32).param(Type::I32, "n");
//! let mut f = module.define_function("sum", &spec)?;
//! let [n] = f.args();
//! let [entry, header, exit] = [f.block("entry"), f.block("header"), f.block("exit")];
//! f.switch_to(entry);
//! f.br(header)?;
//!
//! f.switch_to(header);
//! let i = f.named("i").phi(Type::I32)?;
//! let sum = f.named("sum").phi(Type::I32)?;
//! let next_sum = f.add(sum, i)?;
//! let next = f.add(i, context.const_i32(1))?;
//! let done = f.icmp(IntPredicate::Eq, next, n)?;
//! f.cond_br(done, exit, header)?;
//! for (phi, later) in [(i, next), (sum, next_sum)] {
//!     f.add_incoming(phi, context.const_i32(0), entry)?;
//!     f.add_incoming(phi, later, header)?;
//! }
//!
//! f.switch_to(exit);
//! f.ret(next_sum)?;
//! f.finish()?;
//! # Ok(())
//! # }
//! ```

mod call;
pub(crate) mod check;
mod error;
mod function;
mod inst;
mod module;
pub(crate) mod names;
mod new_inst;
mod shorthand;
pub mod variables;

pub use self::{
    call::{CallSpec, Callee},
    error::BuildError,
    function::FunctionBuilder,
    inst::InstBuilder,
    module::{FunctionHandle, FunctionSpec, ModuleBuilder},
    new_inst::{Modifiers, NewInst},
    variables::Variable,
};

#[cfg(test)]
mod tests;
