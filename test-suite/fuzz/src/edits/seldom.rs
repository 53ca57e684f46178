//! Constructs that are rare in random programs, and random edits of them: attachments, attributes
//! of calls, bundles, callees, exceptions.

use phalanx::ir::{
    BlockId, BuildError, Context, GlobalName, InstBuilder, InstId, Opcode, Type, Value,
    attributes::{
        Access, AttrKind, AttrList, AttrListData, AttrSet, AttrSetBuilder, Attribute, MemoryEffects,
    },
    builder::{CallSpec, Callee},
    edit::Transaction,
    inst::{CallInfo, FloatPredicate, InstFlags, Ordering},
    metadata::Attachment,
    symbol::SyncScope,
    types::TypeKind,
};
use rand::{Rng, RngCore, seq::IndexedRandom};

use super::instructions::{Graph, any_inst, any_value};

/// A function that is never removed.
pub(super) const KEEPS: &str = "e.keeps";

/// The program with constructs that random programs lack. The kernel begins with a load that is
/// stable if there are no races, and an address that is taken out of a vector, tested, and made
/// from a number. There are attachments, and a value that metadata mentions. Edits give all of them
/// users. The kernel can have calls that unwind. Sometimes a function has an unusual name.
pub(super) fn with_seldom(text: &str, rng: &mut dyn RngCore) -> String {
    let kernel = text.find(" void @f(").expect("the kernel is called @f");
    let line = kernel + text[kernel..].find("{\n").expect("it has a body");
    let head = &text[kernel..line];
    let attached = kernel + head.find(" !").unwrap_or(head.len());
    let entry = kernel + text[kernel..].find("b0:\n").expect("it begins with b0") + "b0:\n".len();
    let test = match text.contains("amdgcn") {
        true => "llvm.amdgcn.is.shared",
        false => "llvm.nvvm.isspacep.shared",
    };
    let insts = format!(
        "  %early = load i32, ptr addrspace(1) %gp
  %e.ranged = load i32, ptr addrspace(1) %gp, !range !{{i32 0, i32 64}}
  %e.same = load i32, ptr addrspace(1) %gp, !invariant.load !{{}}
  %e.generic = addrspacecast ptr addrspace(1) %gp to ptr
  %e.one = insertelement <2 x ptr> poison, ptr %e.generic, i32 0
  %e.two = insertelement <2 x ptr> %e.one, ptr null, i32 1
  %e.taken = extractelement <2 x ptr> %e.two, i32 0
  %e.test = call i1 @{test}(ptr %e.taken)
  %e.not = xor i1 %e.test, true
  call void @llvm.assume(i1 %e.not)
  %e.number = ptrtoint ptr %e.taken to i64
  %e.sum = add i64 %e.number, 4
  %e.made = inttoptr i64 %e.sum to ptr
  %e.frozen = freeze ptr %e.made
  %e.load = load i32, ptr %e.frozen
  store i32 %e.load, ptr %e.taken
  call void @llvm.dbg.value(metadata i32 %e.load, metadata !{{}}, metadata !DIExpression())
"
    );
    let mut all = format!(
        "{} personality ptr null{}{insts}{}",
        text[..attached].trim_end(),
        &text[attached..entry],
        &text[entry..]
    );
    for declaration in [
        format!("declare i1 @{test}(ptr)"),
        "declare void @llvm.assume(i1)".to_owned(),
        "declare void @llvm.dbg.value(metadata, metadata, metadata)".to_owned(),
        // While there is such a call, the parser keeps the declaration.
        format!(
            "define void @{KEEPS}() {{
  call void @llvm.dbg.value(metadata i32 0, metadata !{{}}, metadata !DIExpression())
  ret void
}}"
        ),
    ] {
        if !text.contains(&declaration) {
            all.push_str(&format!("\n{declaration}\n"));
        }
    }
    for (head, alias) in [
        (
            "define internal i32 @h0(ptr addrspace(1) %",
            "@e.h0 = internal alias i32 (ptr addrspace(1), i32, i32, i32), ptr @h0\n",
        ),
        (
            "define internal i32 @next(ptr addrspace(5) %",
            "@e.next = internal alias i32 (ptr addrspace(5)), ptr @next\n",
        ),
        ("define internal i32 @next(ptr %", "@e.next = internal alias i32 (ptr), ptr @next\n"),
    ] {
        if text.contains(head) && rng.random_bool(0.3) {
            all.push_str(alias);
        }
    }
    all
}

/// Makes one edit that only suits some instructions. `callees` are functions that can be called,
/// with their types.
pub(super) fn instructions(
    edit: &mut Transaction<'_>,
    graph: &Graph,
    callees: &[(Type, Value)],
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    match rng.random_range(0..13) {
        0 => attachment(edit, rng),
        1 => {
            let memory = [Opcode::Load, Opcode::Store, Opcode::Alloca];
            let Some(inst) = one_of(edit, |o| memory.contains(&o), rng) else { return Ok(()) };
            edit.set_align(inst, 1 << rng.random_range(0..5))
        }
        2 => attributes_of_call(edit, rng),
        3 => bundle(edit, graph, rng),
        4 | 5 => callee(edit, graph, callees, rng),
        6 => {
            let Some(inst) = any_inst(edit, rng) else { return Ok(()) };
            let value = any_value(edit, graph, inst, edit.body().inst(inst).ty, rng);
            if value == Value::inst(inst) || edit.body().inst(inst).ty == Type::VOID {
                return Ok(());
            }
            let half = rng.random_bool(0.5);
            edit.replace_uses_where(inst, value, |u| !half || u.index % 2 == 0).map(drop)
        }
        7 => {
            let Some(inst) = any_inst(edit, rng) else { return Ok(()) };
            let block = *edit.flow().order().choose(rng).expect("there is an entry");
            edit.move_to_end(inst, block)
        }
        8 => phi_input(edit, graph, rng),
        9 => {
            let Some(inst) = any_inst(edit, rng) else { return Ok(()) };
            let flags = [
                InstFlags::NONE,
                InstFlags::VOLATILE,
                InstFlags(InstFlags::NSW.0 | InstFlags::NUW.0),
                InstFlags::EXACT,
                InstFlags::DISJOINT,
                InstFlags::SAME_SIGN,
                InstFlags(InstFlags::INBOUNDS.0 | InstFlags::NUSW.0),
            ];
            edit.set_flags(inst, *flags.choose(rng).expect("there are some"))
        }
        10 => {
            let Some(cast) = one_of(edit, Opcode::is_cast, rng) else { return Ok(()) };
            let all: Vec<Opcode> = Opcode::ALL.iter().copied().filter(|o| o.is_cast()).collect();
            edit.set_opcode(cast, *all.choose(rng).expect("there are some"))
        }
        11 => foreign(edit, rng),
        _ => {
            let Some(compared) = one_of(edit, |o| o == Opcode::FCmp, rng) else { return Ok(()) };
            let all = FloatPredicate::ALL;
            edit.set_float_predicate(compared, *all.choose(rng).expect("there are some"))
        }
    }
}

/// Any instruction whose opcode is one of these.
fn one_of(
    edit: &Transaction<'_>,
    which: impl Fn(Opcode) -> bool,
    rng: &mut dyn RngCore,
) -> Option<InstId> {
    let body = edit.body();
    let insts: Vec<InstId> = body
        .all_ids()
        .filter(|&inst| which(body.inst(inst).opcode) && body.block_of(inst).is_some())
        .collect();
    insts.choose(rng).copied()
}

/// Adds an attachment that a similar instruction has, or removes one.
fn attachment(edit: &mut Transaction<'_>, rng: &mut dyn RngCore) -> Result<(), BuildError> {
    let (body, extras) = (edit.body(), edit.extras());
    let of_all = body.all_ids().filter(|&inst| body.block_of(inst).is_some());
    // Other attachments are printed in the order in which the text first mentions them.
    let is_known = |a: &Attachment| {
        ["range", "invariant.load", "tbaa", "nontemporal"].contains(&&*edit.context().text(a.kind))
    };
    let all: Vec<_> = of_all
        .flat_map(|inst| extras.attachments_of(inst).map(move |a| (inst, a)))
        .filter(|(_, a)| is_known(a))
        .collect();
    let Some(&(from, attached)) = all.choose(rng) else { return Ok(()) };
    let kind = String::from_utf8_lossy(edit.context().bytes(attached.kind)).into_owned();
    if rng.random_bool(0.4) {
        return edit.attach(from, &kind, None);
    }
    let (opcode, ty) = (body.inst(from).opcode, body.inst(from).ty);
    let alike: Vec<InstId> = body
        .all_ids()
        .filter(|&inst| body.block_of(inst).is_some())
        .filter(|&inst| (body.inst(inst).opcode, body.inst(inst).ty) == (opcode, ty))
        .collect();
    let to = *alike.choose(rng).expect("it is like itself");
    edit.attach(to, &kind, Some(attached.node))
}

/// Attributes about the effects of a function or call.
const SAYINGS: [AttrKind; 6] = [
    AttrKind::Convergent,
    AttrKind::NoUnwind,
    AttrKind::WillReturn,
    AttrKind::NoReturn,
    AttrKind::NoCallback,
    AttrKind::NoSync,
];

/// The attributes with one of them added or removed, or with another memory effect.
pub(super) fn said_otherwise(context: &Context, set: AttrSet, rng: &mut dyn RngCore) -> AttrSet {
    let mut builder = AttrSetBuilder::from_set(context.attr_set_data(set));
    let kind = match rng.random_bool(0.3) {
        true => AttrKind::Memory,
        false => *SAYINGS.choose(rng).expect("there are some"),
    };
    match builder.has(kind) {
        true => builder.remove(kind),
        false if kind == AttrKind::Memory => {
            let access = [Access::None, Access::Read, Access::ReadWrite];
            let effects = MemoryEffects::all(*access.choose(rng).expect("there are some"));
            builder.add(Attribute::Int(kind, effects.raw()));
        }
        false => builder.add(Attribute::Enum(kind)),
    }
    builder.finish(context)
}

fn attributes_of_call(edit: &mut Transaction<'_>, rng: &mut dyn RngCore) -> Result<(), BuildError> {
    let Some(call) = one_of(edit, Opcode::is_call, rng) else { return Ok(()) };
    let (context, info) = (edit.context(), edit.body().call_info(call).clone());
    let function = context.attr_list_data(info.attributes).function;
    let function = said_otherwise(context, function, rng);
    let attributes = context.with_function_attrs(info.attributes, function);
    edit.set_call_info(call, CallInfo { attributes, ..info })
}

/// Adds a deoptimisation bundle to a call, or removes it.
fn bundle(
    edit: &mut Transaction<'_>,
    graph: &Graph,
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    let Some(call) = one_of(edit, Opcode::is_call, rng) else { return Ok(()) };
    let has_some = !edit.body().call_info(call).bundles.is_empty();
    let (tag, value) =
        (edit.context().symbol(b"deopt"), any_value(edit, graph, call, Type::I32, rng));
    match has_some {
        true => edit.set_bundles(call, &[]),
        false => edit.set_bundles(call, &[(tag, &[value])]),
    }
}

/// Replaces the callee by another function of the same type.
fn callee(
    edit: &mut Transaction<'_>,
    graph: &Graph,
    callees: &[(Type, Value)],
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    let Some(call) = one_of(edit, Opcode::is_call, rng) else { return Ok(()) };
    let ty = edit.body().call_info(call).function_type;
    let last = edit.body().operands(call).len() as u32 - 1;
    if rng.random_bool(0.1) {
        // An unknown callee.
        let any = any_value(edit, graph, call, Type::PTR, rng);
        return edit.set_operand(call, last, any);
    }
    let alike: Vec<Value> = callees.iter().filter(|c| c.0 == ty).map(|c| c.1).collect();
    let Some(&other) = alike.choose(rng) else { return Ok(()) };
    edit.set_operand(call, last, other)
}

/// Inserts opaque assembly, perhaps one that must not move, or a fence.
fn foreign(edit: &mut Transaction<'_>, rng: &mut dyn RngCore) -> Result<(), BuildError> {
    let Some(before) = any_inst(edit, rng) else { return Ok(()) };
    if rng.random_bool(0.5) {
        let ordering = if rng.random() { Ordering::Acquire } else { Ordering::Release };
        return edit.before(before).fence(ordering, SyncScope::SYSTEM).map(drop);
    }
    let context = edit.context();
    let ty = TypeKind::Function { ret: Type::VOID, params: Box::default(), vararg: false };
    let ty = context.type_of_kind(&ty);
    let assembly = Callee::inline_asm(context, ty, "nop", "", rng.random());
    let none = context.attr_list_data(AttrList::EMPTY);
    let attributes = match rng.random_bool(0.5) {
        true => {
            let mut set = AttrSetBuilder::new();
            set.add(Attribute::Enum(AttrKind::Convergent));
            context.attr_list(&AttrListData { function: set.finish(context), ..none.clone() })
        }
        false => AttrList::EMPTY,
    };
    let spec = CallSpec::new(assembly).attributes(attributes);
    edit.before(before).call_with(&spec).map(drop)
}

/// Sets another value of a phi for a block, or removes its values for the block and adds them
/// again.
fn phi_input(
    edit: &mut Transaction<'_>,
    graph: &Graph,
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    let Some(phi) = one_of(edit, |o| o == Opcode::Phi, rng) else { return Ok(()) };
    let incoming: Vec<(Value, BlockId)> = edit.body().phi_incoming(phi).collect();
    let Some(&(old, from)) = incoming.choose(rng) else { return Ok(()) };
    if rng.random_bool(0.5) {
        let Some(last) = edit.body().last(from) else { return Ok(()) };
        let value = any_value(edit, graph, last, edit.body().inst(phi).ty, rng);
        return edit.set_phi_input(phi, value, from);
    }
    edit.remove_phi_input(phi, from)?;
    for _ in incoming.iter().filter(|(_, block)| *block == from) {
        edit.add_phi_input(phi, old, from)?;
    }
    Ok(())
}

/// Turns a call into an invoke, where the function may have such calls. The unwind block resumes,
/// or branches to some block.
pub(super) fn unwinding(
    edit: &mut Transaction<'_>,
    to: BlockId,
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    if edit.header().personality.is_none() {
        return Ok(());
    }
    let Some(call) = one_of(edit, |o| o == Opcode::Call, rng) else { return Ok(()) };
    let (body, info) = (edit.body(), edit.body().call_info(call).clone());
    let callee = body.callee(call);
    let header = callee.as_const().and_then(|c| edit.function_named(c));
    let is_intrinsic = header.is_none_or(|header| match header.name {
        GlobalName::Named(name) => edit.context().bytes(name).starts_with(b"llvm."),
        GlobalName::Numbered(_) => false,
    });
    let block = body.block_of(call).expect("it stands in a block");
    let next = body.block_insts(block).skip_while(|&inst| inst != call).nth(1);
    let Some(next) = next.filter(|_| !is_intrinsic && info.bundles.is_empty()) else {
        return Ok(());
    };
    let arguments = body.operands(call)[..info.args as usize].to_vec();
    let called = Callee::indirect(callee, info.function_type).with_call_conv(info.call_conv);
    let spec = CallSpec::new(called).args(&arguments).attributes(info.attributes);
    let normal = edit.split_before(next, "normal")?;
    let pad = edit.create_block("pad", Some(normal))?;
    let context = edit.context();
    let caught = context
        .type_of_kind(&TypeKind::Struct { fields: [Type::PTR, Type::I32].into(), packed: false });
    let caught = edit.at_end(pad).landing_pad(caught, true, &[])?;
    match rng.random_bool(0.5) {
        true => drop(edit.at_end(pad).resume(caught)?),
        false => {
            edit.at_end(pad).br(to)?;
            super::flow::complete(edit, pad, to)?;
        }
    }
    let new = edit.replace_terminator(block).invoke(&spec, normal, pad)?;
    if edit.type_of(new) != Some(Type::VOID) {
        edit.replace_all_uses(call, new)?;
    }
    edit.erase(call)
}

#[cfg(test)]
mod tests {
    use phalanx::Session;
    use phalanx_testing::generate::{Options, program_from};
    use rand::{SeedableRng, rngs::SmallRng};

    use super::*;
    use crate::{
        edits::{Refused, around::Around},
        oracle::programs::{Kind, runnable},
    };

    type Edit = fn(
        &mut Transaction<'_>,
        &Graph,
        &[(Type, Value)],
        &mut dyn RngCore,
    ) -> Result<(), BuildError>;

    /// If there is nothing to edit, an edit does nothing; that must not always be so.
    #[test]
    fn each_of_them_happens() {
        let edits: [(&str, Edit); 8] = [
            ("attachment", |edit, _, _, rng| attachment(edit, rng)),
            ("attributes", |edit, _, _, rng| attributes_of_call(edit, rng)),
            ("bundle", |edit, graph, _, rng| bundle(edit, graph, rng)),
            ("callee", callee),
            ("phi input", |edit, graph, _, rng| phi_input(edit, graph, rng)),
            ("foreign", |edit, _, _, rng| foreign(edit, rng)),
            ("unwinding", |edit, _, _, rng| {
                let to = *edit.flow().order().last().expect("there is an entry");
                unwinding(edit, to, rng)
            }),
            ("any", instructions),
        ];
        let mut done = [0; 8];
        for seed in 0..60 {
            let rng = &mut SmallRng::seed_from_u64(seed);
            let program = program_from(rng, Options { blocks: 12, ..Options::default() });
            let kind = if seed % 2 == 0 { Kind::Amdgcn } else { Kind::Nvptx };
            let text = with_seldom(&runnable(&program, kind, seed), rng);
            let mut session = Session::new();
            let module = session.read(text.as_bytes()).expect("it is well-formed");
            let kernel = session.function(module, "f").expect("the kernel is called @f");
            let callees = Around::new(&session, module, "f").callees;
            for ((_, run), count) in edits.iter().zip(&mut done) {
                let before = session.code(kernel).to_function();
                let kept = session.edit(kernel, |edit| {
                    edit.verifying(true);
                    let graph = Graph::new(edit.flow());
                    run(edit, &graph, &callees, rng).map_err(Refused::from)
                });
                let is_other = session.code(kernel).to_function() != before;
                *count += usize::from(kept.is_ok() && is_other);
            }
        }
        let seldom = edits.iter().zip(done).filter(|(_, count)| *count < 5);
        let seldom: Vec<_> = seldom.map(|((name, _), count)| (name, count)).collect();
        assert!(seldom.is_empty(), "{seldom:?} of {done:?}");
    }
}
