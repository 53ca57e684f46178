//! Carries out a plan in one transaction.
//!
//! 1. Creates the copied phis, without values yet.
//! 2. In the preorder of the dominator tree, creates every other address in its new space, next to
//!    the address that it replaces.
//! 3. Gives the phis their values.
//! 4. Lets accesses, comparisons and calls read the new addresses.
//! 5. Remaining uses of a copied address read a cast of the copy, if that gives the same pointer.
//!    Addresses without uses are erased.

use phalanx_analysis::spaces::SpaceSet;
use phalanx_graph::Node;
use phalanx_ir::{
    AttrList, BlockId, Const, InstId, Opcode, Type, TypeKind, Value, ValueKind,
    attributes::{AttrKind, AttrListData, AttrSet, AttrSetBuilder},
    builder::{CallSpec, Callee, InstBuilder, NewInst},
    constant::{ConstExpr, ConstKind},
    edit::Transaction,
    flow::block_of,
    inst::InstFlags,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{
    calls::{self, retyped},
    is_plain,
    plan::{Make, Plan},
};
use crate::{code::Code, pass::PassError};

/// Where to insert a cast that serves one use.
#[derive(Copy, Clone, Debug)]
enum CastPlace {
    Before(InstId),
    EndOf(BlockId),
}

/// Attributes that say that an address is not null, or that say something if it is not null.
const NOT_NULL: [AttrKind; 2] = [AttrKind::NonNull, AttrKind::DereferenceableOrNull];

/// How many steps of a constant address are followed.
const STEPS: usize = 64;

struct Rewriter<'e, 's, 'p> {
    edit: &'e mut Transaction<'s>,
    plan: &'p Plan,
    /// The addresses that have been computed so far.
    values: FxHashMap<(InstId, u32), Value>,
    arguments: FxHashMap<(u32, u32), Value>,
}

/// Carries out a plan; `order` is the preorder of the dominator tree.
pub(super) fn rewrite(
    edit: &mut Transaction<'_>,
    plan: &Plan,
    order: &[Node],
) -> Result<(), PassError> {
    let mut rewriter =
        Rewriter { edit, plan, values: FxHashMap::default(), arguments: FxHashMap::default() };
    let mut by_inst: FxHashMap<InstId, SmallVec<[(u32, Make); 1]>> = FxHashMap::default();
    for (&(inst, space), &make) in &plan.made {
        by_inst.entry(inst).or_default().push((space, make));
    }
    by_inst.values_mut().for_each(|list| list.sort_unstable_by_key(|(space, _)| *space));
    let mut sequence: Vec<(InstId, u32, Make)> = Vec::new();
    for &node in order {
        for inst in rewriter.edit.body().block_insts(block_of(node)) {
            let makes = by_inst.get(&inst).into_iter().flatten();
            sequence.extend(makes.map(|&(space, make)| (inst, space, make)));
        }
    }
    rewriter.make(&sequence)?;
    rewriter.use_them()?;
    rewriter.clean(&sequence)
}

impl Rewriter<'_, '_, '_> {
    fn opcode(&self, inst: InstId) -> Opcode {
        self.edit.body().inst(inst).opcode
    }

    fn type_in(&self, value: Value, space: u32) -> Result<Type, PassError> {
        let ty = self
            .edit
            .type_of(value)
            .ok_or_else(|| PassError::Other("an address without a type".to_owned()))?;
        Ok(retyped(self.edit.context(), ty, space))
    }

    fn make(&mut self, sequence: &[(InstId, u32, Make)]) -> Result<(), PassError> {
        let is_phi = |this: &Self, inst: InstId, make: Make| {
            make == Make::Copy && this.opcode(inst) == Opcode::Phi
        };
        for &(inst, space, make) in sequence {
            if is_phi(self, inst, make) {
                let ty = self.type_in(inst.into(), space)?;
                let copy = self.edit.before(inst).phi(ty)?;
                self.values.insert((inst, space), copy);
            }
        }
        for &(inst, space, make) in sequence {
            let made = match make {
                Make::Through => Some(self.edit.body().operands(inst)[0]),
                Make::Cast if self.opcode(inst).is_terminator() => None,
                Make::Cast => {
                    let ty = self.type_in(inst.into(), space)?;
                    Some(self.edit.after(inst).addrspacecast(inst, ty)?)
                }
                Make::Copy if self.opcode(inst) == Opcode::Phi => continue,
                Make::Copy => Some(self.copy(inst, space)?),
            };
            if let Some(made) = made {
                self.values.insert((inst, space), made);
            }
        }
        for &(inst, space, make) in sequence {
            if !is_phi(self, inst, make) {
                continue;
            }
            let Some(copy) = self.values.get(&(inst, space)).and_then(|value| value.as_inst())
            else {
                continue;
            };
            let incoming: SmallVec<[(Value, BlockId); 8]> =
                self.edit.body().phi_incoming(inst).collect();
            // All edges from one block must have the same value.
            let mut from_block: FxHashMap<BlockId, Value> = FxHashMap::default();
            for (value, from) in incoming {
                let made = match from_block.get(&from) {
                    Some(&made) => made,
                    None => self.value_in(value, space, CastPlace::EndOf(from))?,
                };
                from_block.insert(from, made);
                self.edit.add_phi_input(copy, made, from)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, inst: InstId, space: u32) -> Result<Value, PassError> {
        let data = *self.edit.body().inst(inst);
        let operands: SmallVec<[Value; 8]> = self.edit.body().operands(inst).into();
        let here = CastPlace::Before(inst);
        let made = match data.opcode {
            Opcode::Select => {
                let yes = self.value_in(operands[1], space, here)?;
                let no = self.value_in(operands[2], space, here)?;
                self.edit.before(inst).select(operands[0], yes, no)?
            }
            Opcode::GetElementPtr => {
                let base = self.value_in(operands[0], space, here)?;
                let mut new = NewInst::new(Opcode::GetElementPtr, &[base]);
                new.operands.extend_from_slice(&operands[1..]);
                new.element_type = Some(data.element_type());
                let mut flags = data.flags;
                if !flags.contains(InstFlags::INBOUNDS) {
                    // Offsets wrap at another width in a narrower space.
                    flags = InstFlags(flags.0 & !InstFlags::NUW.0 & !InstFlags::NUSW.0);
                }
                let mut cursor = self.edit.before(inst);
                cursor.flagged(flags);
                cursor.emit(new)?.into()
            }
            _ => {
                let code = Code::in_edit(self.edit);
                let Some((new, mask)) = calls::mask_in(&code, self.plan, inst, space) else {
                    return self.cast(inst.into(), space, CastPlace::Before(inst));
                };
                let base = self.value_in(operands[0], space, here)?;
                let call = self.call_spec(inst, &new, &[base, mask]);
                self.edit.before(inst).call_with(&call)?
            }
        };
        if let Some(made) = made.as_inst() {
            self.copy_attachments(inst, made)?;
        }
        Ok(made)
    }

    fn call_spec(&self, like: InstId, new: &calls::Replacement, arguments: &[Value]) -> CallSpec {
        let context = self.edit.context();
        let function_type = context.type_of_kind(&TypeKind::Function {
            ret: new.ret,
            params: new.params.clone().into(),
            vararg: false,
        });
        let address = calls::address(context, &new.name);
        let info = self.edit.body().call_info(like);
        let callee = Callee::indirect(address.into(), function_type).with_call_conv(info.call_conv);
        CallSpec::new(callee).args(arguments).attributes(self.attributes_for(like, new))
    }

    /// The attributes of a call, without those that say that an address is not null if null has
    /// other bits in its new space.
    fn attributes_for(&self, like: InstId, new: &calls::Replacement) -> AttrList {
        let context = self.edit.context();
        let list = self.edit.body().call_info(like).attributes;
        let mut data = context.attr_list_data(list).clone();
        let forget = |set: &mut AttrSet, ty: Type| {
            let scalar = match context.type_kind(ty) {
                TypeKind::Vector { elem, .. } => *elem,
                _ => ty,
            };
            let space = context.type_kind(scalar).address_space();
            let is_same = |space| {
                space == self.plan.generic
                    || self.plan.architecture.is_some_and(|of| is_plain(of, space))
            };
            if space.is_none_or(is_same) {
                return;
            }
            let mut rest = AttrSetBuilder::from_set(context.attr_set_data(*set));
            NOT_NULL.into_iter().for_each(|kind| rest.remove(kind));
            *set = rest.finish(context);
        };
        forget(&mut data.ret, new.ret);
        data.params.iter_mut().zip(&new.params).for_each(|(set, &ty)| forget(set, ty));
        context.attr_list(&AttrListData::new(data.function, data.ret, &data.params))
    }

    fn copy_attachments(&mut self, from: InstId, to: InstId) -> Result<(), PassError> {
        let attachments: Vec<_> = self.edit.extras().attachments_of(from).collect();
        for attachment in attachments {
            let kind = self.edit.context().text(attachment.kind).into_owned();
            self.edit.attach(to, &kind, Some(attachment.node))?;
        }
        Ok(())
    }

    fn cast(&mut self, value: Value, space: u32, place: CastPlace) -> Result<Value, PassError> {
        let ty = self.type_in(value, space)?;
        Ok(match place {
            CastPlace::Before(inst) => self.edit.before(inst).addrspacecast(value, ty)?,
            CastPlace::EndOf(block) => self.edit.at_end(block).addrspacecast(value, ty)?,
        })
    }

    /// The address in a space, for a use.
    fn value_in(&mut self, value: Value, space: u32, place: CastPlace) -> Result<Value, PassError> {
        if self.type_in(value, space)? == self.edit.type_of(value).unwrap_or(Type::VOID) {
            return Ok(value);
        }
        match value.kind() {
            ValueKind::Inst(inst) => {
                if let Some(&made) = self.values.get(&(inst, space)) {
                    return Ok(made);
                }
            }
            ValueKind::Arg(position) => {
                if let Some(&made) = self.arguments.get(&(position, space)) {
                    return Ok(made);
                }
                let set = self.plan.kinds.of(value).memories();
                let is_within = set != SpaceSet::OTHER
                    && self.plan.model.is_some_and(|model| model.of(space).contains(set));
                if is_within && let Some(entry) = self.edit.flow().entry() {
                    let ty = self.type_in(value, space)?;
                    let made = self.edit.at_start(entry).addrspacecast(value, ty)?;
                    self.arguments.insert((position, space), made);
                    return Ok(made);
                }
            }
            ValueKind::Const(constant) => {
                if let Some(made) = self.constant_in(constant, space) {
                    return Ok(made.into());
                }
            }
            _ => {}
        }
        self.cast(value, space, place)
    }

    /// The constant address in a space.
    fn constant_in(&self, constant: Const, space: u32) -> Option<Const> {
        let context = self.edit.context();
        let data = context.const_data(constant);
        let ty = retyped(context, data.ty, space);
        if let (TypeKind::Vector { elem, .. }, ConstKind::Zero) =
            (context.type_kind(data.ty), &data.kind)
        {
            let null = context.constant(*elem, ConstKind::Null);
            let element = self.constant_in(null, space)?;
            return Some(context.constant(ty, ConstKind::Splat(element)));
        }
        match &data.kind {
            ConstKind::Undef | ConstKind::Poison => {
                return Some(context.constant(ty, data.kind.clone()));
            }
            _ if ty == data.ty => return Some(constant),
            _ if !matches!(context.type_kind(data.ty), TypeKind::Ptr(_)) => return None,
            _ => {}
        }
        // Address steps above a base, outermost first.
        let mut steps: Vec<&ConstExpr> = Vec::new();
        let mut base = constant;
        for _ in 0..STEPS {
            match &context.const_data(base).kind {
                ConstKind::Expr(expr) if expr.opcode == Opcode::GetElementPtr => {
                    steps.push(expr);
                    base = *expr.operands.first()?;
                }
                _ => break,
            }
        }
        let mut made = match &context.const_data(base).kind {
            ConstKind::Expr(expr)
                if expr.opcode == Opcode::AddrSpaceCast
                    && context.const_data(expr.operands[0]).ty == ty =>
            {
                expr.operands[0]
            }
            _ => {
                steps.clear();
                let cast = ConstExpr {
                    opcode: Opcode::AddrSpaceCast,
                    flags: InstFlags::NONE,
                    operands: [constant].into(),
                    source_type: None,
                    in_range: None,
                    mask: [].into(),
                };
                context.constant(ty, ConstKind::Expr(Box::new(cast)))
            }
        };
        for step in steps.iter().rev() {
            let mut new = (*step).clone();
            new.operands[0] = made;
            if !new.flags.contains(InstFlags::INBOUNDS) {
                new.flags = InstFlags::NONE;
            }
            made = context.constant(ty, ConstKind::Expr(Box::new(new)));
        }
        Some(made)
    }

    fn use_them(&mut self) -> Result<(), PassError> {
        for rewrite in &self.plan.accesses {
            let value = self.edit.body().operands(rewrite.user)[rewrite.index as usize];
            let made = self.value_in(value, rewrite.space, CastPlace::Before(rewrite.user))?;
            self.edit.set_operand(rewrite.user, rewrite.index, made)?;
        }
        for &(inst, space) in &self.plan.comparisons {
            let data = *self.edit.body().inst(inst);
            let operands: [Value; 2] =
                [self.edit.body().operands(inst)[0], self.edit.body().operands(inst)[1]];
            let left = self.value_in(operands[0], space, CastPlace::Before(inst))?;
            let right = self.value_in(operands[1], space, CastPlace::Before(inst))?;
            let mut cursor = self.edit.before(inst);
            cursor.flagged(data.flags);
            let new = cursor.icmp(data.int_predicate(), left, right)?;
            if let Some(new) = new.as_inst() {
                self.copy_attachments(inst, new)?;
            }
            self.edit.replace(inst, new)?;
        }
        for (call, rewrites) in &self.plan.calls {
            let code = Code::in_edit(self.edit);
            let Some(new) = calls::replacement(&code, *call, rewrites) else { continue };
            let mut arguments: Vec<Value> = self.edit.body().call_args(*call).to_vec();
            for rewrite in rewrites {
                let argument = arguments[rewrite.index as usize];
                arguments[rewrite.index as usize] =
                    self.value_in(argument, rewrite.space, CastPlace::Before(*call))?;
            }
            let flags = self.edit.body().inst(*call).flags;
            let spec = self.call_spec(*call, &new, &arguments);
            let mut cursor = self.edit.before(*call);
            cursor.flagged(flags);
            let made = cursor.call_with(&spec)?;
            if let Some(made) = made.as_inst() {
                self.copy_attachments(*call, made)?;
            }
            match new.ret == Type::VOID {
                true => self.edit.erase(*call)?,
                false => self.edit.replace(*call, made)?,
            }
        }
        for &(test, answer) in &self.plan.tests {
            let constant = self.edit.context().int_const(Type::I1, u64::from(answer));
            self.edit.replace_all_uses(test, constant)?;
            self.edit.erase(test)?;
        }
        Ok(())
    }

    /// Erases addresses that nothing reads any more.
    fn clean(&mut self, sequence: &[(InstId, u32, Make)]) -> Result<(), PassError> {
        let is_copied = |make: Make| matches!(make, Make::Copy | Make::Through);
        let copied = sequence.iter().filter(|(.., make)| is_copied(*make));
        let mut dead: FxHashSet<InstId> = copied.clone().map(|(inst, ..)| *inst).collect();
        let lossless: FxHashMap<InstId, u32> = copied
            .clone()
            .filter(|&&(inst, space, _)| self.plan.is_lossless.get(&(inst, space)) == Some(&true))
            .map(|&(inst, space, _)| (inst, space))
            .collect();
        // Backwards: an instruction that stays keeps its operands.
        let mut work: Vec<InstId> = copied.clone().map(|(inst, ..)| *inst).collect();
        while let Some(inst) = work.pop() {
            if lossless.contains_key(&inst) || !dead.contains(&inst) {
                continue;
            }
            if self.edit.uses_of(inst).any(|u| !dead.contains(&u.user)) {
                dead.remove(&inst);
                work.extend(self.edit.body().operands(inst).iter().filter_map(|v| v.as_inst()));
            }
        }
        let mut order: Vec<InstId> = copied.map(|(inst, ..)| *inst).collect();
        order.dedup();
        order.retain(|inst| dead.contains(inst));
        for &inst in &order {
            let Some(&space) = lossless.get(&inst) else { continue };
            let is_read = self.edit.uses_of(inst).any(|u| !dead.contains(&u.user));
            let Some(&made) = self.values.get(&(inst, space)) else { continue };
            let name = self.edit.extras().names.inst(inst).map(<[u8]>::to_vec);
            if is_read && let Some(copy) = made.as_inst() {
                let ty = self.edit.body().inst(inst).ty;
                let back = self.edit.after(copy).addrspacecast(made, ty)?;
                self.edit.replace_uses_where(inst, back, |u| !dead.contains(&u.user))?;
            }
            if let (Some(name), Some(copy)) = (name, made.as_inst())
                && self.edit.extras().names.inst(copy).is_none()
            {
                self.edit.set_name(inst, "")?;
                self.edit.set_name(copy, &String::from_utf8_lossy(&name))?;
            }
        }
        for &inst in &order {
            let poison =
                self.edit.context().constant(self.edit.body().inst(inst).ty, ConstKind::Poison);
            self.edit.replace_uses_where(inst, poison, |u| dead.contains(&u.user))?;
        }
        for &inst in order.iter().rev() {
            self.edit.erase(inst)?;
        }
        Ok(())
    }
}
