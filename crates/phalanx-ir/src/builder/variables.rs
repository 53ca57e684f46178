//! Variables of a front end, which the builder turns into SSA values.
//!
//! A front end declares a [`Variable`], states each assignment ([`FunctionBuilder::def_var`]), and
//! asks for the current value ([`FunctionBuilder::use_var`]). The builder places phis. A block is
//! *sealed* when no more edges into it will be made. A read in a block that is not sealed gets a
//! phi, which is filled when the block is sealed.
//!
//! ```
//! # use std::sync::Arc;
//! # use phalanx_ir::{Context, Type, builder::*, inst::IntPredicate};
//! # fn main() -> Result<(), BuildError> {
//! # let context = Arc::new(Context::new());
//! # let mut module = ModuleBuilder::new(context.clone());
//! // int sum(int n) { int i = 0, s = 0; do { s += i; i += 1; } while (i != n); return s; }
//! let mut f = module.define_function("sum", &FunctionSpec::new(Type::I32).param(Type::I32, "n"))?;
//! let [n] = f.args();
//! let [entry, body, exit] = ["entry", "body", "exit"].map(|name| f.block(name));
//! let [i, s] = ["i", "s"].map(|name| f.declare_var(Type::I32, name));
//! f.switch_to(entry);
//! f.seal_block(entry)?;
//! f.def_var(i, context.const_i32(0))?;
//! f.def_var(s, context.const_i32(0))?;
//! f.br(body)?;
//!
//! f.switch_to(body); // Not sealed: it is a loop, and its back edge comes later.
//! let (old_s, old_i) = (f.use_var(s)?, f.use_var(i)?);
//! let new_s = f.add(old_s, old_i)?;
//! f.def_var(s, new_s)?;
//! let next = f.add(old_i, context.const_i32(1))?;
//! f.def_var(i, next)?;
//! let done = f.icmp(IntPredicate::Eq, next, n)?;
//! f.cond_br(done, exit, body)?;
//! f.seal_block(body)?;
//!
//! f.switch_to(exit);
//! f.seal_block(exit)?;
//! let result = f.use_var(s)?;
//! f.ret(result)?;
//! f.finish()?;
//! # let module = module.finish()?;
//! # let body = &module.function("sum").unwrap().body;
//! # assert_eq!(body.all_ids().filter(|&i| body.inst(i).opcode == phalanx_ir::Opcode::Phi && body.block_of(i).is_some()).count(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! # How
//!
//! Braun, Buchwald, Hack, Leißa, Mallon and Zwinkau, *Simple and efficient construction of static
//! single assignment form* (2013): a read looks in its block, then in the predecessors, and makes a
//! phi where there are several. A phi with only one value (itself aside) is redundant. When the
//! function is finished, such phis are replaced by that value, and so are phis that become
//! redundant by this. The result is minimal SSA if the flow is reducible. Nothing recurses:
//! functions may be arbitrarily deep.
//!
//! A variable that is read before any assignment is `undef`, as in LLVM's `mem2reg`.
//!
//! # Cost
//!
//! Near O(1) amortised for a read, and O(instructions) at the end if phis were replaced.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    function::FunctionBuilder,
    inst::InstBuilder,
    new_inst::{Modifiers, NewInst},
};
use crate::{
    body::InstId,
    builder::BuildError,
    flow::BlockId,
    function::Function,
    inst::Opcode,
    types::Type,
    value::{Value, ValueKind},
};

/// A variable of a function that is being built. See the [module documentation](self).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Variable(u32);

/// The builder's tables for the variables of a function.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// Type and name.
    declared: Vec<(Type, Box<str>)>,
    /// The value of a variable at the end of a block, as far as the block is built.
    held: FxHashMap<(Variable, BlockId), Value>,
    sealed: FxHashSet<BlockId>,
    /// Phis of blocks that are not sealed, which have no values yet.
    open: FxHashMap<BlockId, Vec<(Variable, InstId)>>,
    /// Phis that were made here, in this order.
    phis: Vec<InstId>,
}

impl Variables {
    pub(super) fn is_sealed(&self, block: BlockId) -> bool {
        self.sealed.contains(&block)
    }
}

impl FunctionBuilder<'_> {
    /// A variable of this type. Phis that are made for it have its name.
    pub fn declare_var(&mut self, ty: Type, name: &str) -> Variable {
        let number = self.variables.declared.len() as u32;
        self.variables.declared.push((ty, name.into()));
        Variable(number)
    }

    /// Assigns a value to a variable, in the block of the cursor, after all earlier assignments
    /// there.
    ///
    /// # Errors
    /// When the value has another type than the variable, or the cursor is in no block.
    pub fn def_var(
        &mut self,
        variable: Variable,
        value: impl Into<Value>,
    ) -> Result<(), BuildError> {
        let value = value.into();
        let ty = self.type_of(value).ok_or_else(|| self.stray(value))?;
        if ty != self.declared(variable)?.0 {
            return Err(self.entity(value, "has another type than the variable it is assigned to"));
        }
        let block = self.block_to_say()?;
        self.variables.held.insert((variable, block), value);
        Ok(())
    }

    /// The value of a variable in the block of the cursor, after all assignments there so far.
    ///
    /// # Errors
    /// When the cursor is in no block, or a value of this type cannot be a phi.
    pub fn use_var(&mut self, variable: Variable) -> Result<Value, BuildError> {
        self.declared(variable)?;
        let block = self.block_to_say()?;
        let mut unfilled = Vec::new();
        let value = self.read(variable, block, &mut unfilled)?;
        self.fill(unfilled)?;
        Ok(value)
    }

    /// States that no more edges into the block will be made. [`FunctionBuilder::finish`] seals the
    /// remaining blocks.
    ///
    /// # Errors
    /// When a phi cannot be made.
    pub fn seal_block(&mut self, block: BlockId) -> Result<(), BuildError> {
        if self.variables.sealed.insert(block)
            && let Some(open) = self.variables.open.remove(&block)
        {
            self.fill(open)?;
        }
        Ok(())
    }

    fn declared(&self, variable: Variable) -> Result<&(Type, Box<str>), BuildError> {
        let found = self.variables.declared.get(variable.0 as usize);
        found.ok_or_else(|| self.misuse("reads or assigns a variable that it did not declare"))
    }

    fn block_to_say(&self) -> Result<BlockId, BuildError> {
        self.current_block().ok_or_else(|| self.misuse("has its cursor in no block"))
    }

    /// The value of a variable at the end of a block. Phis that still need their values are added
    /// to `unfilled`.
    fn read(
        &mut self,
        variable: Variable,
        block: BlockId,
        unfilled: &mut Vec<(Variable, InstId)>,
    ) -> Result<Value, BuildError> {
        // Blocks on the way up that do not assign the variable.
        let mut passed = Vec::new();
        let mut at = block;
        let value = loop {
            if let Some(&value) = self.variables.held.get(&(variable, at)) {
                break value;
            }
            passed.push(at);
            if !self.variables.is_sealed(at) {
                let phi = self.make_phi(variable, at)?;
                self.variables.open.entry(at).or_default().push((variable, phi));
                break phi.into();
            }
            match self.predecessors(at) {
                // The entry, or unreachable blocks; if these form a cycle, the walk up ends after
                // as many steps as there are blocks.
                [] => break self.nothing(variable)?,
                _ if passed.len() > self.function().flow.id_count() => {
                    break self.nothing(variable)?;
                }
                [first, rest @ ..] if rest.iter().all(|other| other == first) => at = *first,
                _ => {
                    let phi = self.make_phi(variable, at)?;
                    unfilled.push((variable, phi));
                    break phi.into();
                }
            }
        };
        self.variables.held.extend(passed.into_iter().map(|at| ((variable, at), value)));
        Ok(value)
    }

    fn nothing(&self, variable: Variable) -> Result<Value, BuildError> {
        let ty = self.declared(variable)?.0;
        Ok(self.context().const_undef(ty).into())
    }

    /// Gives phis a value for each edge, which may make more of them.
    fn fill(&mut self, mut phis: Vec<(Variable, InstId)>) -> Result<(), BuildError> {
        while let Some((variable, phi)) = phis.pop() {
            let Some(block) = self.function().body.block_of(phi) else { continue };
            for from in self.predecessors(block).to_vec() {
                let value = self.read(variable, from, &mut phis)?;
                self.incoming.entry(phi).or_default().push((value, from));
            }
        }
        Ok(())
    }

    /// Makes a phi at the start of a block. The cursor and the modifiers for the next instruction
    /// stay.
    fn make_phi(&mut self, variable: Variable, block: BlockId) -> Result<InstId, BuildError> {
        let (ty, name) = self.declared(variable)?;
        let (ty, name) = (*ty, name.as_bytes().to_vec());
        let next = std::mem::replace(&mut self.next, Modifiers { name, ..Modifiers::default() });
        let (cursor, location) = (self.cursor, self.location.take());
        self.switch_to(block);
        let phi = self.emit(NewInst::new(Opcode::Phi, &[]).of_type(ty));
        (self.next, self.cursor, self.location) = (next, cursor, location);
        let phi = phi?;
        self.variables.phis.push(phi);
        Ok(phi)
    }

    /// Seals all blocks, and replaces redundant phis by their values.
    pub(super) fn finish_variables(&mut self) -> Result<(), BuildError> {
        if self.variables.declared.is_empty() {
            return Ok(());
        }
        for block in self.function().flow.order().to_vec() {
            self.seal_block(block)?;
        }
        let phis = std::mem::take(&mut self.variables.phis);
        let values = self.values_of(&phis);
        if values.is_empty() {
            return Ok(());
        }
        let resolve = |value: &mut Value| *value = resolved(&values, *value);
        for (value, _) in self.incoming.values_mut().flatten() {
            resolve(value);
        }
        let is_phi = |inst: &InstId| !values.contains_key(inst);
        self.phis.retain(is_phi);
        self.function.extras.attachments.retain(|(inst, _)| is_phi(inst));
        for &phi in values.keys() {
            self.function.body.unlink(phi);
            self.function.extras.names.set_inst(phi, b"");
        }
        replace_all(&mut self.function, &values);
        Ok(())
    }

    /// Redundant phis, and their values.
    fn values_of(&self, phis: &[InstId]) -> FxHashMap<InstId, Value> {
        let ours: FxHashSet<InstId> = phis.iter().copied().collect();
        let mut readers: FxHashMap<InstId, Vec<InstId>> = FxHashMap::default();
        for &phi in phis {
            for (value, _) in self.incoming.get(&phi).into_iter().flatten() {
                if let Some(read) = value.as_inst().filter(|read| ours.contains(read)) {
                    readers.entry(read).or_default().push(phi);
                }
            }
        }
        let mut values = FxHashMap::default();
        let mut work = phis.to_vec();
        while let Some(phi) = work.pop() {
            if values.contains_key(&phi) {
                continue;
            }
            let all = self.incoming.get(&phi).into_iter().flatten();
            let all = all.map(|&(value, _)| resolved(&values, value));
            let mut others = all.filter(|&value| value != Value::inst(phi));
            // A phi without a value is in unreachable code.
            let nothing = || self.context().const_undef(self.function.body.inst(phi).ty).into();
            let only = others.next().unwrap_or_else(nothing);
            if others.all(|value| value == only) {
                values.insert(phi, only);
                let told = readers.remove(&phi).unwrap_or_default();
                work.extend_from_slice(&told);
                // The readers of the phi read `only` now; if that is removed too, they must be
                // looked at again.
                if let Some(only) = only.as_inst().filter(|only| ours.contains(only)) {
                    readers.entry(only).or_default().extend(told);
                }
            }
        }
        values
    }
}

/// The value that replaces a value in the end. O(phis on the way).
fn resolved(values: &FxHashMap<InstId, Value>, value: Value) -> Value {
    let mut value = value;
    while let ValueKind::Inst(inst) = value.kind()
        && let Some(&next) = values.get(&inst)
    {
        value = next;
    }
    value
}

/// Replaces phis by values in the whole function.
fn replace_all(function: &mut Function, values: &FxHashMap<InstId, Value>) {
    let resolve = |value: &mut Value| *value = resolved(values, *value);
    let body = &mut function.body;
    let mut operands = Vec::new();
    for inst in body.all_ids().collect::<Vec<_>>() {
        operands.clear();
        operands.extend_from_slice(body.operands(inst));
        operands.iter_mut().for_each(resolve);
        if *operands != *body.operands(inst) {
            body.set_operands(inst, &operands);
        }
    }
    for metadata in body.local_metadata_mut() {
        metadata.for_each_value_mut(&mut |value| resolve(value));
    }
}
