//! `instsimplify`: replaces instructions by constants or by existing values.
//!
//! Constants come from [`crate::fold`] and from dominating branches (`dominating`); the rest are
//! algebraic identities. The pass inserts no instructions: a result is an operand, an operand's
//! operand, or a constant. An identity may only make a result *more* defined: `x - x` is 0 although
//! it is poison or `undef` where `x` is, and `select c, x, poison` is `x`. But `freeze x` stays
//! unless `x` is known to be defined.
//!
//! The pass leaves results of convergent operations alone, except for a broadcast of a constant.
//!
//! Cost: O(instructions + operands), times the length of chains of instructions that become simple
//! one after the other. A worklist, one transaction.

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::DomTree;
use phalanx_ir::{
    ConstKind, InstFlags, InstId, Opcode, Type, TypeKind, Value,
    edit::Transaction,
    flow::{block_of, node_of},
    inst::IntPredicate,
};
use smallvec::SmallVec;

use crate::{
    code::Code,
    dominating::known_at,
    fold::{element, fold, is_defined},
    pass::{Outcome, Pass, PassError},
    simplify_cfg::only_value,
    speculated,
};

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct InstSimplify;

impl Pass for InstSimplify {
    fn name(&self) -> &str {
        "instsimplify"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let Some(graph) = queries::graph_facts(db, function).clone() else {
            return Ok(Outcome::Unchanged);
        };
        let order: Vec<_> = graph.dfs().rpo().map(block_of).collect();
        let changed = db.edit(function, |edit| {
            // The worklist is a stack, so the first instruction of the function goes in last.
            let mut work: Vec<InstId> = Vec::new();
            for &block in order.iter().rev() {
                let start = work.len();
                work.extend(edit.body().block_insts(block));
                work[start..].reverse();
            }
            run(edit, graph.dom_tree(), work)
        })?;
        Ok(Outcome::changed(changed))
    }
}

fn run(
    edit: &mut Transaction<'_>,
    dom: &DomTree,
    mut work: Vec<InstId>,
) -> Result<bool, PassError> {
    let mut changed = false;
    while let Some(inst) = work.pop() {
        if edit.body().block_of(inst).is_none() {
            continue;
        }
        let Some(value) = simpler(&Code::in_edit(edit), dom, inst) else { continue };
        if value == Value::inst(inst) {
            continue;
        }
        changed = true;
        work.extend(edit.uses_of(inst).map(|u| u.user));
        speculated::replace(edit, inst, value)?;
    }
    Ok(changed)
}

/// The existing value or constant that an instruction in a reachable block is equal to.
fn simpler(code: &Code<'_>, dom: &DomTree, inst: InstId) -> Option<Value> {
    let data = code.body.inst(inst);
    let operands = code.body.operands(inst);
    match data.opcode {
        Opcode::Phi => phi(code, dom, inst),
        Opcode::Call if code.has_side_effects(inst) => broadcast(code, inst),
        Opcode::Call => fold(code, inst).map(Value::from).or_else(|| broadcast(code, inst)),
        _ if data.ty == Type::VOID || code.has_side_effects(inst) => None,
        opcode => {
            if let Some(constant) = fold(code, inst) {
                return Some(constant.into());
            }
            match opcode {
                Opcode::Select => select(code, operands).or_else(|| chosen(code, dom, inst)),
                Opcode::ICmp => compare(code, inst).or_else(|| shown(code, dom, inst)),
                Opcode::FNeg => operation(code, operands[0], Opcode::FNeg).map(|inner| inner.1[0]),
                Opcode::Freeze => frozen(code, dom, operands[0]),
                Opcode::GetElementPtr => address(code, inst),
                Opcode::ExtractValue => member(code, inst),
                Opcode::ExtractElement => lane(code, inst),
                Opcode::ShuffleVector => shuffle(code, inst),
                _ if opcode.is_binary() => binary(code, inst),
                _ if opcode.is_cast() => cast(code, inst),
                _ => None,
            }
        }
    }
}

/// The instruction of this opcode that computes a value, with its operands.
fn operation<'a>(code: &Code<'a>, value: Value, opcode: Opcode) -> Option<(InstId, &'a [Value])> {
    let inst = value.as_inst().filter(|&inst| code.body.inst(inst).opcode == opcode)?;
    Some((inst, code.body.operands(inst)))
}

/// The kind of a constant, or of each lane of a splat.
fn kind<'a>(code: &Code<'a>, value: Value) -> Option<&'a ConstKind> {
    match &code.context.const_data(value.as_const()?).kind {
        ConstKind::Splat(lane) => Some(&code.context.const_data(*lane).kind),
        kind => Some(kind),
    }
}

fn is_zero(code: &Code<'_>, value: Value) -> bool {
    match kind(code, value) {
        Some(ConstKind::Int(int)) => int.words().iter().all(|&word| word == 0),
        Some(ConstKind::Zero | ConstKind::Null) => true,
        _ => false,
    }
}

fn is_one(code: &Code<'_>, value: Value) -> bool {
    matches!(kind(code, value), Some(ConstKind::Int(int)) if int.to_u64() == Some(1))
}

fn is_ones(code: &Code<'_>, value: Value) -> bool {
    let ty = code.type_of(value);
    let scalar = match *code.context.type_kind(ty) {
        TypeKind::Vector { elem, .. } => elem,
        _ => ty,
    };
    let &TypeKind::Int(bits) = code.context.type_kind(scalar) else { return false };
    match kind(code, value) {
        Some(ConstKind::Int(int)) => {
            let ones: u32 = int.words().iter().map(|word| word.count_ones()).sum();
            ones == bits
        }
        _ => false,
    }
}

fn is_poison(code: &Code<'_>, value: Value) -> bool {
    matches!(kind(code, value), Some(ConstKind::Poison))
}

fn binary(code: &Code<'_>, inst: InstId) -> Option<Value> {
    let data = code.body.inst(inst);
    let &[a, b] = code.body.operands(inst) else { return None };
    let zero = || Some(Value::constant(code.context.const_zero(data.ty)));
    // For commutative operands: the first one that passes the test, with the other one.
    let either = |test: &dyn Fn(Value) -> bool| match (test(b), test(a)) {
        (true, _) => Some((a, b)),
        (_, true) => Some((b, a)),
        _ => None,
    };
    let zero_operand = || either(&|v| is_zero(code, v));
    match data.opcode {
        Opcode::Add => {
            if let Some((other, _)) = zero_operand() {
                return Some(other);
            }
            // (x - y) + y
            [(a, b), (b, a)].into_iter().find_map(|(difference, y)| {
                operation(code, difference, Opcode::Sub)
                    .and_then(|(_, of)| (of[1] == y).then_some(of[0]))
            })
        }
        Opcode::Sub => {
            if is_zero(code, b) {
                return Some(a);
            }
            if a == b {
                return zero();
            }
            // (x + y) - y
            let (_, of) = operation(code, a, Opcode::Add)?;
            match (of[0] == b, of[1] == b) {
                (_, true) => Some(of[0]),
                (true, _) => Some(of[1]),
                _ => None,
            }
        }
        Opcode::Mul => match zero_operand() {
            Some((_, zero)) => Some(zero),
            None => either(&|v| is_one(code, v)).map(|(other, _)| other),
        },
        Opcode::UDiv | Opcode::SDiv => is_one(code, b).then_some(a),
        Opcode::URem | Opcode::SRem => {
            if is_one(code, b) {
                zero()
            } else {
                None
            }
        }
        Opcode::Shl | Opcode::LShr | Opcode::AShr => {
            (is_zero(code, a) || is_zero(code, b)).then_some(a)
        }
        Opcode::And => {
            if a == b {
                return Some(a);
            }
            if let Some((_, zero)) = zero_operand() {
                return Some(zero);
            }
            if let Some((other, _)) = either(&|v| is_ones(code, v)) {
                return Some(other);
            }
            absorbed(code, a, b, Opcode::Or)
        }
        Opcode::Or => {
            if a == b && !data.flags.contains(InstFlags::DISJOINT) {
                return Some(a);
            }
            if let Some((other, _)) = zero_operand() {
                return Some(other);
            }
            if let Some((_, ones)) = either(&|v| is_ones(code, v)) {
                return Some(ones);
            }
            absorbed(code, a, b, Opcode::And)
        }
        Opcode::Xor => {
            if a == b {
                return zero();
            }
            if let Some((other, _)) = zero_operand() {
                return Some(other);
            }
            // (x ^ y) ^ y
            [(a, b), (b, a)].into_iter().find_map(|(inner, y)| {
                let (_, of) = operation(code, inner, Opcode::Xor)?;
                match (of[0] == y, of[1] == y) {
                    (_, true) => Some(of[0]),
                    (true, _) => Some(of[1]),
                    _ => None,
                }
            })
        }
        _ => None,
    }
}

/// `x & (x | y)` and `x | (x & y)` are `x`.
fn absorbed(code: &Code<'_>, a: Value, b: Value, inner: Opcode) -> Option<Value> {
    [(a, b), (b, a)].into_iter().find_map(|(x, other)| {
        operation(code, other, inner).and_then(|(_, of)| of.contains(&x).then_some(x))
    })
}

fn select(code: &Code<'_>, operands: &[Value]) -> Option<Value> {
    let &[condition, yes, no] = operands else { return None };
    if yes == no || is_poison(code, no) || is_ones(code, condition) {
        return Some(yes);
    }
    if is_poison(code, yes) || is_zero(code, condition) {
        return Some(no);
    }
    let ty = code.type_of(condition);
    // `select c, true, false`
    (ty == code.type_of(yes) && is_ones(code, yes) && is_zero(code, no)).then_some(condition)
}

/// The operand that a selection always chooses in its block.
fn chosen(code: &Code<'_>, dom: &DomTree, inst: InstId) -> Option<Value> {
    let &[condition, yes, no] = code.body.operands(inst) else { return None };
    let holds = known_at(code, dom, code.body.block_of(inst)?, condition)?;
    Some(if holds { yes } else { no })
}

/// The result that a comparison always has in its block.
fn shown(code: &Code<'_>, dom: &DomTree, inst: InstId) -> Option<Value> {
    let holds = known_at(code, dom, code.body.block_of(inst)?, Value::inst(inst))?;
    Some(code.context.const_bool(holds).into())
}

fn compare(code: &Code<'_>, inst: InstId) -> Option<Value> {
    let data = code.body.inst(inst);
    let &[a, b] = code.body.operands(inst) else { return None };
    use IntPredicate as P;
    if let Some(bit) = widened_bit(code, data.int_predicate(), a, b) {
        return Some(bit);
    }
    let holds = if a == b {
        matches!(data.int_predicate(), P::Eq | P::Uge | P::Ule | P::Sge | P::Sle)
    } else {
        // Comparisons with the least or the greatest number.
        match data.int_predicate() {
            P::Ult if is_zero(code, b) => false,
            P::Uge if is_zero(code, b) => true,
            P::Ugt if is_ones(code, b) => false,
            P::Ule if is_ones(code, b) => true,
            P::Ugt if is_zero(code, a) => false,
            P::Ule if is_zero(code, a) => true,
            _ => return None,
        }
    };
    let bit = code.context.const_bool(holds);
    match code.context.type_kind(data.ty) {
        TypeKind::Vector { .. } => {
            Some(code.context.constant(data.ty, ConstKind::Splat(bit)).into())
        }
        _ => Some(bit.into()),
    }
}

/// A comparison that tests a widened bit: `zext i1 x != 0` is `x`.
fn widened_bit(code: &Code<'_>, predicate: IntPredicate, a: Value, b: Value) -> Option<Value> {
    use IntPredicate as P;
    let of = |opcode| operation(code, a, opcode).map(|(_, of)| of[0]);
    let bit = match (of(Opcode::ZExt), of(Opcode::SExt)) {
        (Some(bit), _) => {
            let asks = match predicate {
                P::Ne | P::Ugt | P::Sgt => is_zero(code, b),
                P::Eq | P::Uge | P::Sge => is_one(code, b),
                _ => false,
            };
            asks.then_some(bit)?
        }
        (_, Some(bit)) => {
            let asks = match predicate {
                P::Ne | P::Ugt | P::Slt => is_zero(code, b),
                P::Eq => is_ones(code, b),
                _ => false,
            };
            asks.then_some(bit)?
        }
        _ => return None,
    };
    let ty = code.type_of(bit);
    let scalar = match *code.context.type_kind(ty) {
        TypeKind::Vector { elem, .. } => elem,
        _ => ty,
    };
    (scalar == Type::I1).then_some(bit)
}

/// A vector whose lanes are shuffled back into their original places.
fn shuffle(code: &Code<'_>, inst: InstId) -> Option<Value> {
    let TypeKind::Vector { len: len @ ..=64, scalable: false, .. } =
        *code.context.type_kind(code.body.inst(inst).ty)
    else {
        return None;
    };
    let mut from: Option<Value> = None;
    for lane in 0..len {
        let Some((vector, at)) = picked(code, inst, lane)? else { continue };
        if at != lane || from.is_some_and(|from| from != vector) {
            return None;
        }
        from = Some(vector);
    }
    from
}

/// The vector, of the same type and some shuffles up, that a lane of a shuffle comes from, and the
/// lane in it. The inner option is none if the lane may be anything.
fn picked(code: &Code<'_>, shuffle: InstId, lane: u32) -> Option<Option<(Value, u32)>> {
    let ty = code.body.inst(shuffle).ty;
    let (mut vector, mut at) = (Value::inst(shuffle), lane);
    for _ in 0..4 {
        let (_, of) = operation(code, vector, Opcode::ShuffleVector)?;
        let TypeKind::Vector { len, scalable: false, .. } =
            *code.context.type_kind(code.type_of(of[0]))
        else {
            return None;
        };
        let mask = element(code.context, of[2].as_const()?, at as usize)?;
        (vector, at) = match &code.context.const_data(mask).kind {
            ConstKind::Poison | ConstKind::Undef => return Some(None),
            ConstKind::Int(int) => match u32::try_from(int.to_u64()?).ok()? {
                place if place < len => (of[0], place),
                place => (of[1], place - len),
            },
            _ => return None,
        };
        if is_poison(code, vector) {
            return Some(None);
        }
        if code.type_of(vector) == ty {
            return Some(Some((vector, at)));
        }
    }
    None
}

fn cast(code: &Code<'_>, inst: InstId) -> Option<Value> {
    let data = code.body.inst(inst);
    let operand = code.body.operands(inst)[0];
    match data.opcode {
        Opcode::BitCast => {
            if code.type_of(operand) == data.ty {
                return Some(operand);
            }
            let (_, of) = operation(code, operand, Opcode::BitCast)?;
            (code.type_of(of[0]) == data.ty).then_some(of[0])
        }
        // A truncation back to the value that was widened.
        Opcode::Trunc => [Opcode::ZExt, Opcode::SExt].into_iter().find_map(|opcode| {
            let (_, of) = operation(code, operand, opcode)?;
            (code.type_of(of[0]) == data.ty).then_some(of[0])
        }),
        _ => None,
    }
}

fn address(code: &Code<'_>, inst: InstId) -> Option<Value> {
    let (&base, indices) = code.body.operands(inst).split_first()?;
    let stays = code.type_of(base) == code.body.inst(inst).ty
        && indices.iter().all(|&index| is_zero(code, index));
    stays.then_some(base)
}

/// The member that an `insertvalue` above has just put in.
fn member(code: &Code<'_>, inst: InstId) -> Option<Value> {
    let mut aggregate = code.body.operands(inst)[0];
    let wanted = code.body.indices(inst);
    // Looks past insertions of other members; only a few, so that long chains do not take quadratic
    // time.
    for _ in 0..8 {
        let (insert, of) = operation(code, aggregate, Opcode::InsertValue)?;
        let indices = code.body.indices(insert);
        if indices == wanted {
            return Some(of[1]);
        }
        if indices.starts_with(wanted) || wanted.starts_with(indices) {
            return None;
        }
        aggregate = of[0];
    }
    None
}

/// The lane that an `insertelement` above has just put in.
fn lane(code: &Code<'_>, inst: InstId) -> Option<Value> {
    let operands = code.body.operands(inst);
    let mut vector = operands[0];
    let wanted = code.int(operands[1])?;
    let TypeKind::Vector { len, .. } = *code.context.type_kind(code.type_of(vector)) else {
        return None;
    };
    for _ in 0..8 {
        let (_, of) = operation(code, vector, Opcode::InsertElement)?;
        let at = code.int(of[2])?;
        if at == wanted && at < u128::from(len) {
            return Some(of[1]);
        }
        vector = of[0];
    }
    None
}

/// The value that all edges of a phi bring, if it is available there. Edges that bring poison do
/// not count, nor do those that bring `undef` if that value is defined.
fn phi(code: &Code<'_>, dom: &DomTree, inst: InstId) -> Option<Value> {
    let values = code.body.phi_values(inst);
    let value = only_value(inst, values).or_else(|| {
        let is_poison = |&value: &Value| is_poison(code, value);
        let known: SmallVec<[Value; 8]> =
            values.iter().copied().filter(|value| !is_poison(value)).collect();
        only_value(inst, &known).or_else(|| defined_but_undef(code, inst, &known))
    })?;
    is_there(code, dom, value, inst).then_some(value)
}

/// The only value of a phi besides `undef`, if all its bits are defined.
fn defined_but_undef(code: &Code<'_>, phi: InstId, values: &[Value]) -> Option<Value> {
    let is_undef = |&value: &Value| matches!(kind(code, value), Some(ConstKind::Undef));
    let known: SmallVec<[Value; 8]> =
        values.iter().copied().filter(|value| !is_undef(value)).collect();
    let value = only_value(phi, &known)?;
    let is_defined = match value.as_const() {
        Some(constant) => is_defined(code.context, constant),
        None => operation(code, value, Opcode::Freeze).is_some(),
    };
    is_defined.then_some(value)
}

/// Whether a value is available at an instruction.
fn is_there(code: &Code<'_>, dom: &DomTree, value: Value, at: InstId) -> bool {
    let Some(of) = value.as_inst() else { return true };
    let (Some(from), Some(to)) = (code.body.block_of(of), code.body.block_of(at)) else {
        return false;
    };
    dom.strictly_dominates(node_of(from), node_of(to))
}

/// The operand of a `freeze` if it is defined; for a phi, the one value that it brings if that is
/// defined.
fn frozen(code: &Code<'_>, dom: &DomTree, operand: Value) -> Option<Value> {
    if let Some((phi, _)) = operation(code, operand, Opcode::Phi) {
        let is_poison = |&value: &Value| is_poison(code, value);
        let values = code.body.phi_values(phi);
        let known: SmallVec<[Value; 8]> =
            values.iter().copied().filter(|value| !is_poison(value)).collect();
        return defined_but_undef(code, phi, &known)
            .filter(|&value| is_there(code, dom, value, phi));
    }
    operation(code, operand, Opcode::Freeze).map(|_| operand)
}

/// A broadcast of a constant is that constant, whichever lanes are active.
fn broadcast(code: &Code<'_>, inst: InstId) -> Option<Value> {
    let intrinsic = code.intrinsic(inst)?;
    if !matches!(intrinsic.base, "readfirstlane" | "readlane") {
        return None;
    }
    // A call that is controlled by a convergence token is replaced, too; other users of that token
    // are not affected.
    let value = *code.body.call_args(inst).first()?;
    let constant = value.as_const()?;
    is_defined(code.context, constant).then_some(value)
}
