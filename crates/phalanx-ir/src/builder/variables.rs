//! Variables of a front end: assigned anywhere, read anywhere, and SSA comes out.
//!
//! A front end declares a [`Variable`], says what is assigned where
//! ([`FunctionBuilder::def_var`]), and asks what it holds ([`FunctionBuilder::use_var`]). The
//! builder places phis. A block is *sealed* when no edge into it will be made any more; reads in a
//! block that is not sealed yet get a phi that is filled when it is.
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
//! phi where there are several. A phi all of whose values are the same one is no phi: it becomes
//! that value when the function is finished, and so do phis that become so by that. What remains
//! is minimal where the flow is reducible. Nothing recurses: functions may be as deep as they like.
//!
//! What is read before anything was assigned is `undef`, as LLVM's `mem2reg` has it.
//!
//! # Cost
//!
//! Near O(1) for a read, amortised, and O(instructions) at the end where phis became values.

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

/// What is known of the variables of a function.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// Type and name.
    declared: Vec<(Type, Box<str>)>,
    /// What a variable holds at the end of a block, as far as the block is built.
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

    /// Assigns a value to a variable, in the block of the cursor, behind all that was said there
    /// before.
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

    /// What a variable holds in the block of the cursor, after all that was said there.
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

    /// No edge into the block will be made from now on. [`FunctionBuilder::finish`] seals what is
    /// left.
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

    /// What a variable holds at the end of a block. Phis that still need their values are added to
    /// `unfilled`.
    fn read(
        &mut self,
        variable: Variable,
        block: BlockId,
        unfilled: &mut Vec<(Variable, InstId)>,
    ) -> Result<Value, BuildError> {
        // Blocks on the way up in which nothing happens to the variable.
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
                // The entry, or blocks that nothing leads to; in a circle of these the way up has
                // more blocks than there are.
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

    /// A phi at the start of a block. The cursor and what the next instruction gets stay.
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

    /// Seals all blocks, and puts values in the place of phis that are none.
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

    /// Phis that always have one value, and the values.
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
            // Without a value, the phi is where no thread comes.
            let nothing = || self.context().const_undef(self.function.body.inst(phi).ty).into();
            let only = others.next().unwrap_or_else(nothing);
            if others.all(|value| value == only) {
                values.insert(phi, only);
                let told = readers.remove(&phi).unwrap_or_default();
                work.extend_from_slice(&told);
                // They read what has taken its place, and are told when that goes, too.
                if let Some(only) = only.as_inst().filter(|only| ours.contains(only)) {
                    readers.entry(only).or_default().extend(told);
                }
            }
        }
        values
    }
}

/// What takes the place of a value. O(phis on the way).
fn resolved(values: &FxHashMap<InstId, Value>, value: Value) -> Value {
    let mut value = value;
    while let ValueKind::Inst(inst) = value.kind()
        && let Some(&next) = values.get(&inst)
    {
        value = next;
    }
    value
}

/// Lets everything in a function read values in the place of phis.
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
