//! How the calls of one function are rewritten.
//!
//! A call becomes one or more instructions. The last one replaces the call and keeps its id, so
//! uses of the result need no change; the instructions before it are new. Every new instruction has
//! the debug location of the call (`!dbg`). A function costs O(instructions) if it has an old call
//! at all.

use phalanx_ir::{
    AttrSet, BlockId, Body, CallConv, CallInfo, ConstKind, Context, Extras, Function, InstData,
    InstFlags, InstId, Opcode, SyncScope, Type, TypeKind, Value, ValueKind,
    attributes::{AttrKind, AttrListData, AttrSetBuilder, Attribute},
    inst::{IntPredicate, OperandRange, Ordering},
    metadata::{Attachment, Metadata, MetadataId, kind},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    calls::{Arg, Declarations, Keep, Old, Rule, Turn},
    mangle::remangled,
};

/// Rewrites a function. Returns for each new instruction, in order, the call it is for.
pub(super) fn rewrite(
    function: &mut Function,
    place: &dyn Fn(InstId) -> u32,
    olds: &FxHashMap<Value, Old>,
    declarations: &mut Declarations<'_>,
    metadata: &mut Metadata,
) -> Vec<InstId> {
    let Function { header, flow, body, extras, .. } = function;
    let mut calls: Vec<InstId> = body
        .all_ids()
        .filter(|&inst| {
            body.inst(inst).opcode.is_call()
                && olds.contains_key(&body.callee(inst))
                && body.block_of(inst).is_some()
        })
        .collect();
    if calls.is_empty() {
        return Vec::new();
    }
    // LLVM goes through the declarations in order; the names that it makes depend on that order.
    let turn = |call: InstId| olds[&body.callee(call)].turn(place(call));
    calls
        .sort_by_key(|&call| (olds[&body.callee(call)].order, turn(call), std::cmp::Reverse(call)));
    let turns: Vec<Turn> = calls.iter().map(|&call| turn(call)).collect();
    let mut site = Site {
        context: declarations.context,
        params: &header.params,
        body,
        extras,
        metadata,
        inst: calls[0],
        stripped: FxHashSet::default(),
        removed: FxHashSet::default(),
        attached: Vec::new(),
        made_for: Vec::new(),
        empty: None,
        shapes: FxHashMap::default(),
        blocks: flow.order(),
        taken: None,
        last_unique: 0,
    };
    for (&call, turn) in calls.iter().zip(turns) {
        site.inst = call;
        declarations.now = turn;
        let old = &olds[&site.body.callee(call)];
        let given = site.extras.names.inst(call).map(Box::<[u8]>::from);
        if site.apply(old, declarations).is_none() {
            declarations.keep(old);
        }
        let after = site.extras.names.inst(call);
        if let (Some(taken), Some(given)) = (&mut site.taken, given)
            && after != Some(&*given)
        {
            taken.remove(&given);
        }
    }
    let Site { stripped, removed, attached, made_for, .. } = site;
    extras.attachments.retain(|(at, attachment)| {
        !removed.contains(at) && (attachment.kind == kind::DBG || !stripped.contains(at))
    });
    extras.attachments.extend(attached);
    extras.attachments.sort_by_key(|&(at, _)| at);
    made_for
}

/// A call that is being rewritten, and what has been done in its function.
pub(super) struct Site<'a> {
    pub(super) context: &'a Context,
    params: &'a [Type],
    pub(super) body: &'a mut Body,
    pub(super) extras: &'a mut Extras,
    pub(super) metadata: &'a mut Metadata,
    pub(super) inst: InstId,
    /// Instructions that lose all attachments but their place in the source program.
    pub(super) stripped: FxHashSet<InstId>,
    /// Instructions that are in no block any more.
    pub(super) removed: FxHashSet<InstId>,
    pub(super) attached: Vec<(InstId, Attachment)>,
    made_for: Vec<InstId>,
    /// `!{}`, once it is needed.
    pub(super) empty: Option<MetadataId>,
    shapes: FxHashMap<CallInfo, u32>,
    blocks: &'a [BlockId],
    /// Names that are in use, once one has to be made.
    taken: Option<FxHashSet<Box<[u8]>>>,
    /// The last number that was appended to a name.
    last_unique: u32,
}

pub(super) fn data(opcode: Opcode, ty: Type) -> InstData {
    InstData {
        opcode,
        sub: 0,
        flags: InstFlags::NONE,
        ty,
        operands: OperandRange::default(),
        words: [0; 2],
    }
}

impl Site<'_> {
    /// None when the rule does not fit the call, which is left alone then.
    fn apply(&mut self, old: &Old, declarations: &mut Declarations<'_>) -> Option<()> {
        let ret = self.body.inst(self.inst).ty;
        match &old.rule {
            Rule::Rename(name) => {
                let ty = self.body.call_info(self.inst).function_type;
                let callee = declarations.intrinsic(old, name, ty);
                let last = self.body.operands(self.inst).len() - 1;
                self.body.operands_mut(self.inst)[last] = callee;
                return Some(());
            }
            Rule::Call(name, args, keep) => {
                return self.change_call(old, declarations, name, args, *keep);
            }
            Rule::Renew(name) => {
                let count = self.body.call_info(self.inst).args as usize;
                let args: Vec<Arg> = (0..count).map(Arg::Old).collect();
                return self.change_call(old, declarations, name, &args, Keep::Nothing);
            }
            Rule::CoroutineEnd => {
                // LLVM refuses a module that uses, or names, the result.
                let result = Value::inst(self.inst);
                let is_used = |inst: InstId| self.body.operands(inst).contains(&result);
                let is_named = self.extras.names.inst(self.inst).is_some();
                if ret == Type::I1 && (is_named || self.body.all_ids().any(is_used)) {
                    return None;
                }
                self.body.inst_mut(self.inst).ty = Type::VOID;
                let args = [Arg::Old(0), Arg::Old(1), Arg::NoToken];
                return self.change_call(old, declarations, "coro.end", &args, Keep::Nothing);
            }
            _ => {}
        }
        // The rest becomes something else, which cannot be done for an `invoke` or with operand
        // bundles.
        let info = self.body.call_info(self.inst);
        if self.body.inst(self.inst).opcode != Opcode::Call || !info.bundles.is_empty() {
            return None;
        }
        match &old.rule {
            Rule::Rename(_) | Rule::Renew(_) | Rule::Call(..) | Rule::CoroutineEnd => None,
            Rule::Splice => {
                let [a, b, offset] = [self.arg(0)?, self.arg(1)?, self.arg(2)?];
                let offset =
                    Some(self.constant_arg(2)?).filter(|_| self.ty(offset) == Type::I32)?;
                let offset = u32::try_from(offset).ok()?.cast_signed();
                let side = if offset < 0 { "right" } else { "left" };
                let distance = self.context.int_const(Type::I32, offset.unsigned_abs().into());
                let distance = distance.into();
                let name = remangled(
                    self.context,
                    &format!("vector.splice.{side}"),
                    ret,
                    &[ret, ret, Type::I32],
                    false,
                )?;
                self.become_call(old, declarations, &name, ret, &[a, b, distance])
            }
            Rule::Replace(name, args) => {
                let operands = self.pick(args)?;
                self.become_call(old, declarations, name, ret, &operands)
            }
            Rule::Cast(opcode) => {
                let value = self.arg(0)?;
                self.become_inst(data(*opcode, ret), &[value])
            }
            Rule::Reduction(name, ty) => self.reduction(old, declarations, name, *ty),
            Rule::InvariantLoad => self.invariant_load(ret),
            Rule::Lifetime => self.lifetime(old, declarations),
            Rule::Rotate(name) => {
                let (value, mut distance) = (self.arg(0)?, self.arg(1)?);
                if self.ty(distance) != ret {
                    distance = match self.constant_arg(1) {
                        Some(known) => self.context.int_const(ret, known).into(),
                        None => self.before(data(Opcode::ZExt, ret), &[distance]),
                    };
                }
                let name = format!("{name}.{}", self.int_suffix(ret)?);
                self.become_call(old, declarations, &name, ret, &[value, value, distance])
            }
            Rule::SwapHalves => {
                let (value, half) = (self.arg(0)?, self.context.int_const(Type::I64, 32));
                self.become_call(old, declarations, "fshl.i64", ret, &[value, value, half.into()])
            }
            Rule::Count(name, args) => {
                let operands = self.pick(args)?;
                let wide = self.ty(operands[0]);
                let name = format!("{name}.{}", self.int_suffix(wide)?);
                let base = name.split('.').next().unwrap_or_default().to_string();
                let count = self.call_before(old, declarations, &name, wide, &operands);
                self.name(count, &base);
                self.become_inst(data(Opcode::Trunc, ret), &[count])?;
                self.name(self.inst.into(), &format!("{base}.trunc"));
                Some(())
            }
            Rule::Abs => {
                let (value, zero) = (self.arg(0)?, self.context.int_const(ret, 0).into());
                let negated = self.before(data(Opcode::Sub, ret), &[zero, value]);
                self.name(negated, "neg");
                let mut compare = data(Opcode::ICmp, Type::I1);
                compare.sub = IntPredicate::Sge as u8;
                let condition = self.before(compare, &[value, zero]);
                self.name(condition, "abs.cond");
                self.become_inst(data(Opcode::Select, ret), &[condition, value, negated])?;
                self.name(self.inst.into(), "abs");
                Some(())
            }
            Rule::FromHalf => {
                let value = self.arg(0)?;
                self.become_call(old, declarations, "convert.from.fp16.f32", ret, &[value])?;
                self.name(self.inst.into(), "h2f");
                Some(())
            }
            Rule::Approximate(name) => {
                let operands = self.pick(&[Arg::Old(0)])?;
                self.become_call(old, declarations, name, ret, &operands)?;
                self.body.inst_mut(self.inst).flags = InstFlags::AFN;
                Some(())
            }
            Rule::ToCluster { has_group } => {
                let mut operands = self.body.call_args(self.inst).to_vec();
                let first = operands.first_mut()?;
                if self.ty(*first) == Type::PTR3 {
                    let ty = self.context.ptr_type(7);
                    *first = self.before(data(Opcode::AddrSpaceCast, ty), &[*first]);
                }
                if !has_group {
                    operands.push(self.context.int_const(Type::I32, 0).into());
                }
                let name = declarations.base_name(old)?;
                self.become_call(old, declarations, &name, ret, &operands)
            }
            Rule::Converted(space) => {
                let operands = self.body.call_args(self.inst).to_vec();
                let (name, ty) = (declarations.base_name(old)?, self.context.ptr_type(*space));
                let address = self.call_before(old, declarations, &name, ty, &operands);
                let given = self.extras.names.inst(self.inst).map(<[u8]>::to_vec);
                if let (Some(given), Some(address)) = (given, address.as_inst()) {
                    self.extras.names.set_inst(address, &given);
                }
                self.become_inst(data(Opcode::AddrSpaceCast, ret), &[address])
            }
            Rule::Atomic(op) => {
                self.atomic(*op, SyncScope::SYSTEM, Ordering::SeqCst, false).map(|_| ())
            }
            Rule::AgentAtomic(op) => self.agent_atomic(*op),
        }
    }

    /// Names a result; a number is appended when the function has the name already.
    fn name(&mut self, value: Value, base: &str) {
        let Some(inst) = value.as_inst() else { return };
        let names = &mut self.extras.names;
        let taken = self.taken.get_or_insert_with(|| {
            let insts = self.body.all_ids().filter_map(|inst| names.inst(inst));
            let args = (0..self.params.len() as u32).filter_map(|at| names.arg(at));
            let blocks = self.blocks.iter().filter_map(|&block| names.block(block));
            insts.chain(args).chain(blocks).map(Box::from).collect()
        });
        let mut name: Box<[u8]> = base.as_bytes().into();
        while !taken.insert(name.clone()) {
            self.last_unique += 1;
            name = format!("{base}{}", self.last_unique).into_bytes().into();
        }
        names.set_inst(inst, &name);
    }

    pub(super) fn arg(&self, at: usize) -> Option<Value> {
        self.body.call_args(self.inst).get(at).copied()
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        match value.kind() {
            ValueKind::Inst(inst) => self.body.inst(inst).ty,
            ValueKind::Arg(at) => self.params[at as usize],
            ValueKind::Const(constant) => self.context.const_data(constant).ty,
            ValueKind::Block(_) => Type::LABEL,
            ValueKind::Metadata(_) => Type::METADATA,
        }
    }

    fn int_suffix(&self, ty: Type) -> Option<String> {
        match self.context.type_kind(ty) {
            TypeKind::Int(bits) => Some(format!("i{bits}")),
            _ => None,
        }
    }

    /// The value of a constant argument.
    pub(super) fn constant_arg(&self, at: usize) -> Option<u64> {
        match &self.context.const_data(self.arg(at)?.as_const()?).kind {
            ConstKind::Int(int) => int.to_u64(),
            _ => None,
        }
    }

    fn pick(&self, args: &[Arg]) -> Option<Vec<Value>> {
        args.iter()
            .map(|arg| match *arg {
                Arg::Old(at)
                | Arg::Aligned(at, _)
                | Arg::OnlyAligned(at, _)
                | Arg::ElementsAligned(at, _) => self.arg(at),
                Arg::Zero => Some(self.context.int_const(Type::I32, 0).into()),
                Arg::False => Some(self.context.int_const(Type::I1, 0).into()),
                Arg::NoToken => {
                    Some(self.context.constant(Type::TOKEN, ConstKind::NoneToken).into())
                }
            })
            .collect()
    }

    /// A new instruction before the call.
    pub(super) fn before(&mut self, data: InstData, operands: &[Value]) -> Value {
        let new = self.body.create(data, operands);
        self.body.insert_before(new, self.inst);
        let place = self.extras.attachments_of(self.inst).find(|a| a.kind == kind::DBG);
        self.attached.extend(place.map(|place| (new, place)));
        self.made_for.push(self.inst);
        new.into()
    }

    /// Puts an instruction in the place of the call. Its name and attachments are gone.
    pub(super) fn become_inst(&mut self, mut data: InstData, operands: &[Value]) -> Option<()> {
        data.operands = self.body.inst(self.inst).operands;
        *self.body.inst_mut(self.inst) = data;
        self.body.set_operands(self.inst, operands);
        self.extras.names.set_inst(self.inst, b"");
        self.stripped.insert(self.inst);
        Some(())
    }

    /// A call of an intrinsic: its record and operands.
    fn call(
        &mut self,
        old: &Old,
        declarations: &mut Declarations<'_>,
        name: &str,
        ret: Type,
        args: &[Value],
    ) -> (InstData, Vec<Value>) {
        let params = args.iter().map(|&arg| self.ty(arg)).collect();
        let function_type =
            self.context.type_of_kind(&TypeKind::Function { ret, params, vararg: false });
        let callee = declarations.intrinsic(old, name, function_type);
        let mut data = data(Opcode::Call, ret);
        data.words[0] = self.shape(CallInfo {
            function_type,
            call_conv: CallConv::C,
            attributes: phalanx_ir::AttrList::EMPTY,
            args: args.len() as u32,
            bundles: Box::default(),
        });
        (data, args.iter().copied().chain([callee]).collect())
    }

    fn shape(&mut self, info: CallInfo) -> u32 {
        let body = &mut *self.body;
        *self.shapes.entry(info).or_insert_with_key(|info| body.add_call_info(info.clone()))
    }

    fn call_before(
        &mut self,
        old: &Old,
        declarations: &mut Declarations<'_>,
        name: &str,
        ret: Type,
        args: &[Value],
    ) -> Value {
        let (data, operands) = self.call(old, declarations, name, ret, args);
        self.before(data, &operands)
    }

    pub(super) fn become_call(
        &mut self,
        old: &Old,
        declarations: &mut Declarations<'_>,
        name: &str,
        ret: Type,
        args: &[Value],
    ) -> Option<()> {
        let (data, operands) = self.call(old, declarations, name, ret, args);
        self.become_inst(data, &operands)
    }

    /// Other operands for the same call.
    fn change_call(
        &mut self,
        old: &Old,
        declarations: &mut Declarations<'_>,
        name: &str,
        args: &[Arg],
        keep: Keep,
    ) -> Option<()> {
        let mut operands = self.pick(args)?;
        let info = self.body.call_info(self.inst).clone();
        let mut sets = self.context.attr_list_data(info.attributes).clone();
        if !matches!(keep, Keep::Attributes | Keep::All) {
            sets = AttrListData::default();
        }
        let mut params = Vec::new();
        for arg in args {
            let set = match *arg {
                Arg::Old(at) | Arg::Aligned(at, _) => {
                    sets.params.get(at).copied().unwrap_or(AttrSet::EMPTY)
                }
                _ => AttrSet::EMPTY,
            };
            let align = match *arg {
                Arg::Aligned(_, at) => self.constant_arg(at)?,
                // LLVM refuses what is no alignment, and so does the verifier what stays.
                Arg::OnlyAligned(_, at) => {
                    Some(self.constant_arg(at)?).filter(|align| align.is_power_of_two())?
                }
                Arg::ElementsAligned(_, at) => match self.constant_arg(at)? {
                    0 => self.element_align(declarations)?,
                    align => Some(align).filter(|align| align.is_power_of_two())?,
                },
                _ => 0,
            };
            params.push(if align.is_power_of_two() {
                let mut builder = AttrSetBuilder::from_set(self.context.attr_set_data(set));
                builder.add(Attribute::Int(AttrKind::Align, align));
                builder.finish(self.context)
            } else {
                set
            });
        }
        let keeps_metadata = matches!(keep, Keep::Metadata | Keep::All);
        if keep == Keep::All {
            self.extras.names.set_inst(self.inst, b"");
        }
        if !keeps_metadata {
            self.stripped.insert(self.inst);
        }
        let flags = self.body.inst(self.inst).flags;
        let tail = [InstFlags::TAIL, InstFlags::MUST_TAIL, InstFlags::NO_TAIL];
        self.body.inst_mut(self.inst).flags = tail
            .into_iter()
            .find(|&tail| keeps_metadata && flags.contains(tail))
            .unwrap_or(InstFlags::NONE);
        let types: Box<[Type]> = operands.iter().map(|&value| self.ty(value)).collect();
        let ret = self.body.inst(self.inst).ty;
        let function_type =
            self.context.type_of_kind(&TypeKind::Function { ret, params: types, vararg: false });
        let callee = declarations.intrinsic(old, name, function_type);
        let list = AttrListData::new(sets.function, sets.ret, &params);
        let shape = self.shape(CallInfo {
            function_type,
            attributes: self.context.attr_list(&list),
            args: operands.len() as u32,
            ..info.clone()
        });
        let all = self.body.operands(self.inst);
        operands.extend_from_slice(&all[info.args as usize..all.len() - 1]);
        operands.push(callee);
        self.body.inst_mut(self.inst).words[0] = shape;
        self.body.set_operands(self.inst, &operands);
        Some(())
    }

    fn reduction(
        &mut self,
        old: &Old,
        declarations: &mut Declarations<'_>,
        name: &str,
        ty: Type,
    ) -> Option<()> {
        let (value, zero) = (self.arg(0)?, self.context.int_const(Type::I32, 0).into());
        if self.ty(value) != Type::I32 {
            return None;
        }
        let name = format!("nvvm.barrier.cta.red.{name}.aligned.all");
        let mut compare = data(Opcode::ICmp, Type::I1);
        compare.sub = IntPredicate::Ne as u8;
        let condition = match self.constant_arg(0) {
            Some(known) => self.context.int_const(Type::I1, u64::from(known != 0)).into(),
            None => self.before(compare, &[value, zero]),
        };
        if ty == Type::I32 {
            return self.become_call(old, declarations, &name, ty, &[zero, condition]);
        }
        let result = self.call_before(old, declarations, &name, ty, &[zero, condition]);
        self.become_inst(data(Opcode::ZExt, Type::I32), &[result])
    }
}
