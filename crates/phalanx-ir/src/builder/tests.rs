//! The builder as its users see it: what it accepts, and the errors for mistakes.

use std::sync::Arc;

use super::*;
use crate::{
    CallConv, Context, GlobalName, InstFlags, Module, Opcode, Type, TypeKind, Value,
    inst::{FloatPredicate, IntPredicate, Ordering, RmwOp},
    module::Linkage,
    symbol::SyncScope,
};

fn module() -> (Arc<Context>, ModuleBuilder) {
    let context = Arc::new(Context::new());
    (context.clone(), ModuleBuilder::new(context))
}

/// A function `@f(i32 %x, float %y, ptr %p)` with an entry block that the cursor is in.
fn with_function(
    build: impl FnOnce(&Context, &mut FunctionBuilder<'_>) -> Result<(), BuildError>,
) -> Result<Module, BuildError> {
    let (context, mut module) = module();
    let spec = FunctionSpec::new(Type::VOID)
        .param(Type::I32, "x")
        .param(Type::FLOAT, "y")
        .param(Type::PTR, "p");
    let mut f = module.define_function("f", &spec)?;
    let entry = f.block("entry");
    f.switch_to(entry);
    build(&context, &mut f)?;
    if !f.is_terminated(entry) {
        f.switch_to(entry);
        f.ret_void()?;
    }
    f.finish()?;
    module.finish()
}

fn error(
    build: impl FnOnce(&Context, &mut FunctionBuilder<'_>) -> Result<(), BuildError>,
) -> String {
    with_function(build).expect_err("a mistake is an error").to_string()
}

#[test]
fn a_wrong_operand_is_reported_where_it_is_used() {
    let text = error(|_, f| f.add(Value::arg(0), Value::arg(1)).map(drop));
    assert_eq!(
        text,
        "@f, %entry: add: Both operands to a binary operator are not of the same type! (i32 %x, float %y)"
    );
    let text = error(|_, f| f.load(Type::I32, Value::arg(0)).map(drop));
    assert_eq!(text, "@f, %entry: load: Load operand must be a pointer. (i32 %x)");
    let text = error(|_, f| f.fneg(Value::arg(0)).map(drop));
    assert!(text.contains("FNeg operator only works with float types!"), "{text}");
    let text = error(|_, f| f.freeze(Value::arg(9)).map(drop));
    assert_eq!(text, "@f, %entry: freeze: Referring to an argument in another function! (%arg9)");
}

#[test]
fn a_failed_step_inserts_nothing() {
    let module = with_function(|_, f| {
        assert!(f.named("bad").add(Value::arg(0), Value::arg(1)).is_err());
        let sum = f.add(Value::arg(0), Value::arg(0))?;
        let names = &f.function().extras.names;
        assert_eq!(names.inst(sum.as_inst().unwrap()), None, "the name went with the mistake");
        Ok(())
    });
    let module = module.unwrap();
    assert_eq!(module.functions[0].body.id_count(), 2);
}

#[test]
fn instructions_need_a_place() {
    let (_, mut module) = module();
    let mut f = module.define_function("f", &FunctionSpec::new(Type::VOID)).unwrap();
    let text = f.ret_void().unwrap_err().to_string();
    assert_eq!(text, "@f: no place to insert ret");
    let entry = f.block("entry");
    f.switch_to(entry);
    f.ret_void().unwrap();
    let text = f.ret_void().unwrap_err().to_string();
    assert_eq!(text, "@f, %entry: ret after the terminator of its block");
    f.finish().unwrap();
}

#[test]
fn a_function_without_terminator_or_blocks_is_not_finished() {
    let (_, mut module) = module();
    let mut f = module.define_function("f", &FunctionSpec::new(Type::VOID)).unwrap();
    f.block("entry");
    let text = f.finish().unwrap_err().to_string();
    assert_eq!(
        text,
        "@f is not well-formed: %entry: Basic Block in function does not have terminator!"
    );
    let f = module.define_function("f", &FunctionSpec::new(Type::VOID)).unwrap();
    assert_eq!(
        f.finish().unwrap_err().to_string(),
        "@f is not well-formed: Function has no blocks!"
    );
    assert!(module.module().functions[0].is_declaration());
}

#[test]
fn dominance_is_checked_at_the_end() {
    let text = error(|context, f| {
        let [one, two] = [f.block("one"), f.block("two")];
        let condition = f.icmp(IntPredicate::Eq, Value::arg(0), context.const_i32(0))?;
        f.cond_br(condition, one, two)?;
        f.switch_to(one);
        let sum = f.named("sum").add(Value::arg(0), Value::arg(0))?;
        f.br(two)?;
        f.switch_to(two);
        f.named("use").add(sum, sum)?;
        f.ret_void().map(drop)
    });
    assert_eq!(
        text,
        "@f is not well-formed: %two: %use (add): Instruction does not dominate all uses! (%sum, %use)"
    );
}

#[test]
fn phis_stand_first_and_take_their_values_later() {
    let module = with_function(|context, f| {
        let (entry, next) = (f.current_block().unwrap(), f.block("next"));
        f.br(next)?;
        f.switch_to(next);
        f.add(Value::arg(0), Value::arg(0))?;
        let phi = f.named("merge").phi(Type::I32)?;
        let text = f.add_incoming(phi, Value::arg(1), entry).unwrap_err().to_string();
        assert_eq!(
            text,
            "@f, %next: phi: PHI node operands are not the same type as the result! (i32 %merge, float %y)"
        );
        assert!(f.add_incoming(Value::arg(0), Value::arg(0), entry).is_err());
        f.add_incoming(phi, context.const_i32(7), entry)?;
        f.ret_void().map(drop)
    });
    let module = module.unwrap();
    let function = &module.functions[0];
    let next = function.flow.order()[1];
    let phi = function.body.first(next).unwrap();
    assert_eq!(function.body.inst(phi).opcode, Opcode::Phi);
    assert_eq!(function.body.phi_incoming(phi).len(), 1);
    let text = error(|_, f| {
        let next = f.block("next");
        f.br(next)?;
        f.switch_to(next);
        f.phi(Type::I32)?;
        f.ret_void().map(drop)
    });
    assert!(text.contains("PHINode should have one entry for each predecessor"), "{text}");
}

#[test]
fn names_are_made_unique() {
    let module = with_function(|_, f| {
        let first = f.named("x").add(Value::arg(0), Value::arg(0))?;
        let second = f.named("x").add(first, first)?;
        let block = f.block("entry");
        let names = &f.function().extras.names;
        assert_eq!(names.inst(first.as_inst().unwrap()), Some(&b"x1"[..]));
        assert_eq!(names.inst(second.as_inst().unwrap()), Some(&b"x2"[..]));
        assert_eq!(names.block(block), Some(&b"entry1"[..]));
        f.br(block)?;
        f.switch_to(block);
        f.ret_void().map(drop)
    });
    module.unwrap();
}

#[test]
fn result_types_follow_from_operands() {
    let module = with_function(|context, f| {
        let v4 = context.vector_type(Type::FLOAT, 4);
        let vector: Value = context.const_zero(v4).into();
        let is = |f: &FunctionBuilder<'_>, value: Value, ty: Type| {
            assert_eq!(f.type_of(value), Some(ty));
        };
        let lane = f.extract_element(vector, context.const_i32(1))?;
        is(f, lane, Type::FLOAT);
        let vector = f.insert_element(vector, lane, Value::arg(0))?;
        is(f, vector, v4);
        let wide = f.shuffle_vector(vector, vector, &[0, 1, -1, 7, 6, 5, 4, 3])?;
        is(f, wide, context.vector_type(Type::FLOAT, 8));
        let mask = f.fcmp(FloatPredicate::Olt, vector, vector)?;
        is(f, mask, context.vector_type(Type::I1, 4));
        let chosen = f.flagged(InstFlags::FAST).select(mask, vector, vector)?;
        is(f, chosen, v4);
        let pair = f.cmpxchg(
            Value::arg(2),
            Value::arg(0),
            context.const_i32(1),
            (Ordering::AcqRel, Ordering::Monotonic),
            SyncScope::SYSTEM,
        )?;
        is(f, pair, context.struct_type(&[Type::I32, Type::I1]));
        let won = f.extract_value(pair, &[1])?;
        is(f, won, Type::I1);
        let pair = f.insert_value(pair, Value::arg(0), &[0])?;
        is(f, pair, context.struct_type(&[Type::I32, Type::I1]));
        let v2 = context.vector_type(Type::I64, 2);
        let addresses = f.gep(Type::I32, Value::arg(2), &[context.const_zero(v2).into()])?;
        let pointers = context.vector_type(Type::PTR, 2);
        is(f, addresses, pointers);
        let old = f.atomic_rmw(
            RmwOp::FAdd,
            Value::arg(2),
            Value::arg(1),
            Ordering::Monotonic,
            SyncScope(context.symbol(b"agent")),
        )?;
        is(f, old, Type::FLOAT);
        f.fence(Ordering::SeqCst, SyncScope::SINGLE_THREAD)?;
        f.aligned(4).atomic_load(Type::I32, Value::arg(2), Ordering::Acquire, SyncScope::SYSTEM)?;
        f.aligned(4).atomic_store(
            Value::arg(0),
            Value::arg(2),
            Ordering::Release,
            SyncScope::SYSTEM,
        )?;
        let slot = f.aligned(8).alloca(Type::I64, 0)?;
        is(f, slot, Type::PTR);
        let bits = f.bitcast(Value::arg(1), Type::I32)?;
        f.store(bits, slot).map(drop)
    });
    module.unwrap();
    let bad = [
        error(|_, f| f.extract_element(Value::arg(0), Value::arg(0)).map(drop)),
        error(|_, f| f.extract_value(Value::arg(0), &[0]).map(drop)),
        error(|_, f| f.shuffle_vector(Value::arg(0), Value::arg(0), &[0]).map(drop)),
        error(|_, f| f.gep(Type::VOID, Value::arg(2), &[Value::arg(0)]).map(drop)),
        error(|_, f| f.bitcast(Value::arg(2), Type::I64).map(drop)),
        error(|_, f| f.aligned(3).load(Type::I32, Value::arg(2)).map(drop)),
        error(|_, f| f.flagged(InstFlags::EXACT).add(Value::arg(0), Value::arg(0)).map(drop)),
        error(|_, f| f.fence(Ordering::Monotonic, SyncScope::SYSTEM).map(drop)),
    ];
    expect_test::expect![[r#"
        @f, %entry: extractelement: Invalid extractelement operands! (i32 %x, i32 %x)
        @f, %entry: extractvalue: Invalid ExtractValueInst operands! (i32 %x)
        @f, %entry: shufflevector: Invalid shufflevector operands! (i32 %x, i32 %x, <1 x i32> zeroinitializer)
        @f, %entry: getelementptr: GEP into unsized type! (ptr %p, i32 %x)
        @f, %entry: bitcast: Invalid bitcast (ptr %p)
        @f, %entry: load: alignment is not a power of two (ptr %p)
        @f, %entry: add: Instruction has flags that its opcode does not know! (i32 %x, i32 %x)
        @f, %entry: fence: fence instructions may only have acquire, release, acq_rel, or seq_cst ordering."#]]
    .assert_eq(&bad.join("\n"));
}

#[test]
fn a_gep_by_a_field_follows_identified_structures() {
    let (context, mut module) = module();
    let pair = module.define_struct("pair", &[Type::I32, Type::FLOAT]).unwrap();
    assert!(module.define_struct("pair", &[Type::I8]).is_err());
    let opaque = module.declare_struct("later");
    let spec = FunctionSpec::new(Type::FLOAT).param(Type::PTR, "p");
    let mut f = module.define_function("f", &spec).unwrap();
    let [p] = f.args();
    let entry = f.block("");
    f.switch_to(entry);
    assert!(f.struct_gep(pair, p, 2).is_err(), "there is no field 2");
    assert!(f.struct_gep(opaque, p, 0).is_err(), "its fields are unknown");
    let field = f.struct_gep(pair, p, 1).unwrap();
    let loaded = f.load(Type::FLOAT, field).unwrap();
    f.ret(loaded).unwrap();
    f.module().define_struct("later", &[pair]).unwrap();
    f.finish().unwrap();
    assert_eq!(context.type_kind(pair), context.type_kind(pair));
    module.finish().unwrap();
}

#[test]
fn calls_of_every_kind() {
    let (context, mut module) = module();
    let callee = module.declare_function("callee", Type::I32, &[Type::I32]).unwrap();
    let printf = FunctionSpec::new(Type::I32).params(&[Type::PTR]).vararg();
    let printf = module.declare_function_with("printf", &printf).unwrap();
    let personality = module.declare_function("__gxx_personality_v0", Type::I32, &[]).unwrap();
    let spec = FunctionSpec::new(Type::I32).param(Type::I32, "x").param(Type::PTR, "p");
    let mut f = module.define_function("f", &spec).unwrap();
    f.header_mut().personality = Some(personality.address());
    let [entry, normal, unwind] = [f.block("entry"), f.block("normal"), f.block("unwind")];
    f.switch_to(entry);
    let r = f.named("r").call(callee, &[Value::arg(0)]).unwrap();
    assert!(f.call(callee, &[]).is_err());
    assert!(f.call(callee, &[Value::arg(1)]).is_err());
    f.call(printf, &[Value::arg(1), r, r]).unwrap();
    let ty = context.function_type(Type::I32, &[Type::I32], false);
    f.call(Callee::indirect(Value::arg(1), ty), &[r]).unwrap();
    let asm_type = context.function_type(Type::VOID, &[], false);
    f.call(Callee::inline_asm(&context, asm_type, "nop", "", true), &[]).unwrap();
    let me = f.reference();
    f.call(me, &[r, Value::arg(1)]).unwrap();
    let invoked = f.invoke(&CallSpec::new(callee).arg(r), normal, unwind).unwrap();
    f.switch_to(normal);
    f.ret(invoked).unwrap();
    f.switch_to(unwind);
    let exception = context.struct_type(&[Type::PTR, Type::I32]);
    let pad = f.landing_pad(exception, true, &[]).unwrap();
    f.resume(pad).unwrap();
    f.finish().unwrap();
    let module = module.finish().unwrap();
    assert_eq!(module.functions.len(), 4);
}

#[test]
fn names_of_the_module_are_its_own() {
    let (context, mut module) = module();
    let f = module.declare_function("f", Type::VOID, &[]).unwrap();
    assert_eq!(module.declare_function("f", Type::VOID, &[]).unwrap(), f);
    let text = module.declare_function("f", Type::I32, &[]).unwrap_err().to_string();
    assert_eq!(text, "@f is defined already, with another type");
    let variable = crate::GlobalVariable::new(Type::I32);
    assert!(module.add_variable("f", variable.clone()).is_err());
    let g = module.add_variable("g", variable).unwrap();
    assert_eq!(context.const_data(g).ty, Type::PTR);
    assert!(module.define_function("g", &FunctionSpec::new(Type::VOID)).is_err());
    let mut b = module.define_function("f", &FunctionSpec::new(Type::VOID)).unwrap();
    let entry = b.block("entry");
    b.switch_to(entry);
    b.ret_void().unwrap();
    b.finish().unwrap();
    assert!(module.define_function("f", &FunctionSpec::new(Type::VOID)).is_err());
}

#[test]
fn what_no_step_sees_is_seen_at_the_end_of_the_module() {
    let (context, mut module) = module();
    let bad = crate::GlobalVariable {
        linkage: Linkage::Internal,
        initializer: Some(context.const_i32(1)),
        ..crate::GlobalVariable::new(Type::FLOAT)
    };
    module.add_variable("v", bad).unwrap();
    let text = module.finish().unwrap_err().to_string();
    assert_eq!(
        text,
        "the module is not well-formed: Global variable initializer type does not match global variable type! (@v)"
    );
}

#[test]
fn kernels_return_nothing() {
    let (context, mut module) = module();
    let spec = FunctionSpec::new(Type::I32).call_conv(CallConv::AMDGPU_KERNEL);
    let mut f = module.define_function("k", &spec).unwrap();
    let entry = f.block("entry");
    f.switch_to(entry);
    f.ret(context.const_i32(0)).unwrap();
    let text = f.finish().unwrap_err().to_string();
    assert_eq!(text, "@k is not well-formed: Calling convention requires void return type");
}

#[test]
fn erased_instructions_may_not_be_used() {
    let text = error(|_, f| {
        let sum = f.named("sum").add(Value::arg(0), Value::arg(0))?;
        f.named("more").add(sum, sum)?;
        f.erase(sum.as_inst().unwrap());
        Ok(())
    });
    assert!(
        text.contains("%more (add): Referring to an instruction in another function!"),
        "{text}"
    );
}

#[test]
fn the_cursor_goes_before_an_instruction() {
    let module = with_function(|_, f| {
        let last = f.named("last").add(Value::arg(0), Value::arg(0))?;
        f.switch_before(last.as_inst().unwrap());
        f.named("first").add(Value::arg(0), Value::arg(0))?;
        assert!(f.ret_void().is_err(), "no terminator in the middle");
        Ok(())
    });
    let module = module.unwrap();
    let (f, names) = (&module.functions[0], &module.functions[0].extras.names);
    let order = f.body.block_insts(f.flow.order()[0]).filter_map(|inst| names.inst(inst));
    assert_eq!(order.collect::<Vec<_>>(), [&b"first"[..], b"last"]);
}

#[test]
fn switches_check_their_cases() {
    let case = |a: i32, b: i32| {
        with_function(|context, f| {
            let exit = f.block("exit");
            let cases = [(context.const_i32(a), exit), (context.const_i32(b), exit)];
            f.switch(Value::arg(0), exit, &cases)?;
            f.switch_to(exit);
            f.ret_void().map(drop)
        })
    };
    case(1, 2).unwrap();
    assert!(case(3, 3).unwrap_err().to_string().contains("Duplicate integer as switch case"));
    let text = error(|context, f| {
        let exit = f.block("exit");
        f.switch(Value::arg(0), exit, &[(context.const_i64(1), exit)]).map(drop)
    });
    assert!(text.contains("Switch constants must all be same type as switch value!"), "{text}");
}

#[test]
fn identifiers_of_another_function_do_not_panic() {
    let (context, mut module) = module();
    let mut g = module.define_function("g", &FunctionSpec::new(Type::VOID)).unwrap();
    let blocks: Vec<_> = (0..5).map(|_| g.block("b")).collect();
    g.switch_to(blocks[0]);
    for _ in 0..9 {
        g.add(context.const_i32(1), context.const_i32(2)).unwrap();
    }
    let last = g.add(context.const_i32(1), context.const_i32(2)).unwrap();
    drop(g);
    let mut f = module.define_function("f", &FunctionSpec::new(Type::VOID)).unwrap();
    let entry = f.block("entry");
    f.switch_to(blocks[4]);
    assert!(f.ret_void().is_err());
    f.switch_to(entry);
    assert!(f.add(last, last).is_err());
    assert!(f.br(blocks[4]).is_err());
    f.switch_before(last.as_inst().unwrap());
    assert!(f.ret_void().is_err());
    f.erase(last.as_inst().unwrap());
    let foreign = Type::from_raw(1 << 20);
    f.switch_to(entry);
    assert!(f.load(foreign, context.const_null(Type::PTR)).is_err());
    assert!(f.phi(foreign).is_err());
    f.ret_void().unwrap();
    f.finish().unwrap();
    assert_eq!(module.function("f").unwrap().name(), GlobalName::Named(context.symbol(b"f")));
    assert!(matches!(context.type_kind(Type::VOID), TypeKind::Void));
}
