//! Functions with broken tables, which text cannot express. LLVM has no messages for most of these
//! mistakes.
//!
//! Mistakes that text can express are compared with LLVM's verdicts in the tests of the parser.

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_ir::{
    Const, Context, Function, GlobalName, GlobalVariable, InstFlags, InstId, MemInfo, Module,
    Opcode, StructName, Symbol, Type, TypeKind, Value, Verifier,
    builder::{BuildError, FunctionSpec, InstBuilder, ModuleBuilder},
    flow::BlockId,
    inst::{IntPredicate, OperandRange},
    metadata::LocalMetadata,
    module::{DllStorage, Linkage, Visibility},
    types::StructBody,
};
use rand::{
    Rng as _, SeedableRng as _,
    rngs::StdRng,
    seq::{IndexedMutRandom as _, IndexedRandom as _},
};

/// `f(i32 %x, i1 %c)`: entry branches to `a` and `b`, which meet in `join` with a phi; then a call
/// and a return.
fn diamond() -> Result<Module, BuildError> {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(context.clone());
    let g = module.declare_function("g", Type::I32, &[Type::I32, Type::PTR])?;
    let spec = FunctionSpec::new(Type::I32).param(Type::I32, "x").param(Type::I1, "c");
    let mut f = module.define_function("f", &spec)?;
    let [x, c] = f.args();
    let [entry, a, b, join] = [f.block("entry"), f.block("a"), f.block("b"), f.block("join")];
    f.switch_to(entry);
    let slot = f.named("slot").alloca(Type::I32, 0)?;
    f.cond_br(c, a, b)?;
    f.switch_to(a);
    let one = f.named("one").add(x, context.const_i32(1))?;
    f.br(join)?;
    f.switch_to(b);
    let two = f.named("two").add(x, context.const_i32(2))?;
    f.br(join)?;
    f.switch_to(join);
    let phi = f.named("phi").phi(Type::I32)?;
    f.add_incoming(phi, one, a)?;
    f.add_incoming(phi, two, b)?;
    let compared = f.named("compared").icmp(IntPredicate::Eq, phi, x)?;
    let chosen = f.named("chosen").select(compared, phi, x)?;
    let called = f.named("called").call(g, &[chosen, slot])?;
    f.ret(called)?;
    f.finish()?;
    module.finish()
}

fn named(function: &Function, name: &str) -> InstId {
    function
        .body
        .all_ids()
        .find(|&inst| function.extras.names.inst(inst) == Some(name.as_bytes()))
        .expect("an instruction of that name")
}

fn block(function: &Function, name: &str) -> BlockId {
    let mut blocks = function.flow.order().iter().copied();
    blocks
        .find(|&b| function.extras.names.block(b) == Some(name.as_bytes()))
        .expect("a block of that name")
}

/// Breaks the diamond and compares the errors of the verifier.
fn check(damage: impl FnOnce(&mut Function), expected: &Expect) {
    let mut module = diamond().expect("a well-formed function");
    damage(&mut module.functions[1]);
    let errors = Verifier::new(&module).module();
    let messages: Vec<String> = errors
        .iter()
        .map(|e| {
            let part = |text: String| if text.is_empty() { text } else { text + ": " };
            let f = &module.functions[1];
            let block = e.block.and_then(|b| f.extras.names.block(b)).unwrap_or_default();
            let inst = e.inst.and_then(|i| f.extras.names.inst(i)).unwrap_or_default();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            format!("{}{}{}", part(text(block)), part(text(inst)), e.message)
        })
        .collect();
    expected.assert_eq(&messages.join("\n"));
}

#[test]
fn the_diamond_is_well_formed() {
    check(|_| {}, &expect![""]);
}

#[test]
fn blocks_and_order() {
    let far = BlockId::from_raw(99.into());
    check(
        |f| f.flow.append_block(far),
        &expect!["Referring to a basic block in another function!"],
    );
    check(
        |f| {
            let a = block(f, "a");
            f.flow.append_block(a);
        },
        &expect!["a: Basic block is in the function twice!"],
    );
    check(
        |f| {
            let a = block(f, "a");
            f.flow.set_successors(a, &[far]);
        },
        &expect!["a: Referring to a basic block in another function!"],
    );
    check(
        |f| {
            let stray = f.flow.create_block();
            let a = block(f, "a");
            f.flow.set_successors(a, &[stray]);
        },
        &expect!["a: Referring to a basic block in another function!"],
    );
    check(
        |f| {
            let stray = f.flow.create_block();
            let chosen = named(f, "chosen");
            f.body.unlink(chosen);
            f.body.append(stray, chosen);
        },
        &expect!["Basic block is not in the function but has contents!"],
    );
    check(
        |f| {
            let empty = f.flow.create_block();
            f.flow.append_block(empty);
        },
        &expect!["Basic Block in function does not have terminator!"],
    );
    check(
        |f| {
            let a = block(f, "a");
            let last = f.body.last(a).expect("a terminator");
            f.body.unlink(last);
        },
        &expect!["a: Basic block has successors but no terminator!"],
    );
}

#[test]
fn terminators_stand_last() {
    check(
        |f| {
            let (a, two) = (block(f, "a"), named(f, "two"));
            f.body.unlink(two);
            f.body.append(a, two);
        },
        &expect!["a: Basic block has successors but no terminator!"],
    );
    check(
        |f| {
            let join = block(f, "join");
            let last = f.body.last(join).expect("a terminator");
            let data = *f.body.inst(last);
            let again = f.body.create(data, &[Value::arg(0)]);
            f.body.insert_before(again, last);
        },
        &expect!["join: Terminator found in the middle of a basic block!"],
    );
}

#[test]
fn operands_exist() {
    let cases: [(Value, Expect); 5] = [
        (
            Value::inst(InstId::from_raw(77.into())),
            expect!["join: chosen: Referring to an instruction in another function!"],
        ),
        (Value::arg(2), expect!["join: chosen: Referring to an argument in another function!"]),
        (
            Value::block(BlockId::from_raw(4.into())),
            expect!["join: chosen: Referring to a basic block in another function!"],
        ),
        (
            Value::constant(Const::from_raw(1 << 20)),
            expect!["join: chosen: Referring to a constant of another context!"],
        ),
        (
            Value::metadata(phalanx_ir::LocalMetadataId::from_raw(0.into())),
            expect!["join: chosen: Referring to metadata of another function!"],
        ),
    ];
    for (operand, expected) in cases {
        let damage = |f: &mut Function| {
            let chosen = named(f, "chosen");
            f.body.operands_mut(chosen)[1] = operand;
        };
        check(damage, &expected);
    }
    check(
        |f| {
            let chosen = named(f, "chosen");
            f.body.operands_mut(chosen)[1] = Value::block(BlockId::from_raw(0.into()));
        },
        &expect!["join: chosen: Invalid operands for select instruction!"],
    );
    check(
        |f| {
            let one = named(f, "one");
            f.body.unlink(one);
        },
        &expect!["join: phi: Referring to an instruction in another function!"],
    );
    check(
        |f| {
            let metadata = f.body.add_local_metadata(LocalMetadata::Value(Value::arg(9)));
            let called = named(f, "called");
            f.body.operands_mut(called)[0] = Value::metadata(metadata);
        },
        &expect!["join: called: Referring to an argument in another function!"],
    );
}

#[test]
fn operands_are_as_many_as_the_opcode_takes() {
    for (name, operands) in [("one", 1), ("chosen", 2), ("called", 0), ("phi", 3), ("slot", 0)] {
        let mut module = diamond().expect("a well-formed function");
        let f = &mut module.functions[1];
        let inst = named(f, name);
        f.body.set_operands(inst, &vec![Value::arg(0); operands]);
        let errors = Verifier::new(&module).module();
        assert_eq!(errors.len(), 1, "{name}");
        assert_eq!(errors[0].message, "Instruction has a wrong number of operands or successors!");
        assert_eq!(errors[0].inst, Some(inst));
    }
    check(
        |f| {
            let (entry, a) = (block(f, "entry"), block(f, "a"));
            f.flow.set_successors(entry, &[a]);
        },
        &expect!["entry: Instruction has a wrong number of operands or successors!"],
    );
    check(
        |f| {
            let phi = named(f, "phi");
            f.body.set_operands(phi, &[Value::arg(0); 4]);
        },
        &expect!["join: phi: PHI node has an incoming block that is not a block!"],
    );
}

#[test]
fn numbers_are_in_range() {
    let far = Type::from_raw(1 << 20);
    check(
        |f| {
            let one = named(f, "one");
            f.body.inst_mut(one).ty = far;
        },
        &expect!["a: one: Referring to a type of another context!"],
    );
    check(
        |f| {
            let slot = named(f, "slot");
            f.body.inst_mut(slot).words[0] = far.raw();
        },
        &expect!["entry: slot: Referring to a type of another context!"],
    );
    check(
        |f| {
            let slot = named(f, "slot");
            f.body.inst_mut(slot).words[1] = MemInfo::from_raw(7 << 6).raw();
        },
        &expect!["entry: slot: Memory operation has an invalid alignment, ordering or scope!"],
    );
    check(
        |f| {
            let called = named(f, "called");
            f.body.inst_mut(called).words[0] = 5;
        },
        &expect!["join: called: Instruction refers to operands that its function does not have!"],
    );
    check(
        |f| {
            let called = named(f, "called");
            f.body.inst_mut(called).operands = OperandRange { start: u32::MAX, len: u32::MAX };
        },
        &expect!["join: called: Instruction refers to operands that its function does not have!"],
    );
    check(
        |f| f.body.call_infos_mut()[0].function_type = Type::I32,
        &expect!["join: called: Type of the callee is not a function type!"],
    );
    check(
        |f| f.body.call_infos_mut()[0].bundles = Box::new([(Symbol::from_raw(1 << 20), 0)]),
        &expect!["join: called: Referring to a name of another context!"],
    );
    check(
        |f| {
            let compared = named(f, "compared");
            f.body.inst_mut(compared).sub = 200;
        },
        &expect!["join: compared: Invalid predicate in ICmp instruction!"],
    );
}

#[test]
fn results_have_the_type_of_their_operands() {
    for (name, ty, message) in [
        (
            "one",
            Type::I64,
            "Integer arithmetic operators must have same type for operands and result!",
        ),
        ("compared", Type::I32, "Result type of a comparison does not match its operands!"),
        ("chosen", Type::FLOAT, "Select values must have same type as select instruction!"),
        ("called", Type::VOID, "Result type does not match operands!"),
        ("slot", Type::I32, "Alloca result must be a pointer"),
    ] {
        let mut module = diamond().expect("a well-formed function");
        let f = &mut module.functions[1];
        let inst = named(f, name);
        f.body.inst_mut(inst).ty = ty;
        let errors = Verifier::new(&module).module();
        let error = errors.iter().find(|error| error.inst == Some(inst)).expect("an error of it");
        assert_eq!(error.message, message);
    }
}

#[test]
fn flags_and_names_fit() {
    check(
        |f| {
            let one = named(f, "one");
            f.body.inst_mut(one).flags = InstFlags::INBOUNDS;
        },
        &expect!["a: one: Instruction has flags that its opcode does not know!"],
    );
    check(
        |f| {
            let a = block(f, "a");
            let br = f.body.last(a).expect("a terminator");
            f.extras.names.set_inst(br, b"br");
        },
        &expect!["a: br: Instruction has a name, but provides a void value!"],
    );
    check(
        |f| f.header.params = Box::new([Type::I32]),
        &expect![[r#"
            Function header does not match function type!
            entry: Referring to an argument in another function!"#]],
    );
}

#[test]
fn constants_fit_their_types() {
    use phalanx_ir::ConstKind;
    type Make = fn(&Context) -> Const;
    let cases: [(Make, &str); 6] = [
        (|c| c.constant(Type::I32, ConstKind::Float(0)), "Constant does not match its type!"),
        (|c| c.constant(Type::I32, ConstKind::Null), "Constant does not match its type!"),
        (
            |c| c.const_aggregate(c.array_type(Type::I32, 2), &[c.const_i32(1)]),
            "Constant does not match its type!",
        ),
        (|c| c.const_global(GlobalName::Numbered(7), 0), "Referencing global in another module!"),
        (
            |c| c.constant(Type::PTR, ConstKind::BlockAddress { slot: 3 }),
            "Constant does not match its type!",
        ),
        (
            |c| c.constant(Type::I8, ConstKind::Splat(c.const_i32(1))),
            "Constant does not match its type!",
        ),
    ];
    for (make, message) in cases {
        let context = Arc::new(Context::new());
        let mut module = Module::new(context.clone());
        let constant = make(&context);
        let ty = context.const_data(constant).ty;
        module
            .variables
            .push(GlobalVariable { initializer: Some(constant), ..GlobalVariable::new(ty) });
        let errors = Verifier::new(&module).module();
        let messages: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
        assert_eq!(messages, [message], "{:?}", context.const_data(constant));
    }
}

#[test]
fn names_are_defined_once() {
    let context = Arc::new(Context::new());
    let mut module = Module::new(context);
    module.variables.push(GlobalVariable::new(Type::I32));
    module.variables.push(GlobalVariable::new(Type::I64));
    module.comdats.push((Symbol::from_raw(0), phalanx_ir::module::ComdatKind::Any));
    module.comdats.push((Symbol::from_raw(0), phalanx_ir::module::ComdatKind::Any));
    module.structs.push((StructName::Numbered(0), StructBody::Opaque));
    module.structs.push((StructName::Numbered(0), StructBody::Opaque));
    let errors = Verifier::new(&module).module();
    let messages: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
    assert_eq!(
        messages,
        ["Name is defined twice!", "Type is defined twice!", "Comdat is defined twice!"]
    );
}

/// Random damage of every table, many times over: the verifier answers and does not panic.
#[test]
fn what_is_local_is_seen_nowhere_else() {
    check(
        |f| (f.header.linkage, f.header.visibility) = (Linkage::Internal, Visibility::Hidden),
        &expect!["GlobalValue with local linkage must have default visibility"],
    );
    check(
        |f| (f.header.linkage, f.header.dll) = (Linkage::Private, DllStorage::Export),
        &expect!["GlobalValue with local linkage cannot have a DLL storage class"],
    );
}

#[test]
fn no_damage_makes_it_panic() {
    let sound = diamond().expect("a well-formed function");
    let context = sound.context.clone();
    for lanes in 1..4 {
        let vector = context.vector_type(Type::FLOAT, lanes);
        context.const_zero(context.array_type(vector, 3));
    }
    context.type_of_kind(&TypeKind::Named(StructName::Numbered(3)));
    let mut reject = 0;
    for seed in 0..4000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let mut module = sound.clone();
        for _ in 0..rng.random_range(1..5) {
            damage(&mut module.functions[1], &context, rng);
        }
        let errors = Verifier::new(&module).module();
        assert_eq!(errors, Verifier::new(&module).module(), "seed {seed}: twice the same");
        reject += usize::from(!errors.is_empty());
        for error in errors {
            assert!(!error.to_string().is_empty());
        }
    }
    assert!((2000..4000).contains(&reject), "{reject} of 4000 are broken");
}

fn damage(f: &mut Function, context: &Context, rng: &mut StdRng) {
    let count = f.body.id_count() as u32;
    let inst = InstId::from_raw(rng.random_range(0..count).into());
    let wild = |rng: &mut StdRng, count: usize| {
        let limit = if rng.random_bool(0.05) { 1 << 28 } else { count as u32 + 1 };
        rng.random_range(0..limit)
    };
    let value = |rng: &mut StdRng, f: &Function| match rng.random_range(0..12) {
        0..5 => Value::inst(InstId::from_raw(wild(rng, count as usize).into())),
        5..7 => Value::arg(wild(rng, 2)),
        7 => Value::block(BlockId::from_raw(wild(rng, f.flow.id_count()).into())),
        8..11 => Value::constant(Const::from_raw(wild(rng, context.const_count()))),
        _ => Value::metadata(phalanx_ir::LocalMetadataId::from_raw(wild(rng, 1).into())),
    };
    let target = |rng: &mut StdRng, f: &Function| {
        BlockId::from_raw(wild(rng, f.flow.id_count().saturating_sub(1)).into())
    };
    match rng.random_range(0..14) {
        0 => f.body.inst_mut(inst).opcode = *Opcode::ALL.choose(rng).expect("there are opcodes"),
        1 => f.body.inst_mut(inst).ty = Type::from_raw(wild(rng, context.type_count())),
        2 => f.body.inst_mut(inst).flags = InstFlags(1 << rng.random_range(0..16)),
        3 => f.body.inst_mut(inst).words[0] = wild(rng, context.type_count()),
        4 => f.body.inst_mut(inst).words[1] = wild(rng, 1 << 13),
        5 => f.body.inst_mut(inst).sub = rng.random_range(0..32),
        6 | 7 => {
            let len = rng.random_range(0..5);
            let operands: Vec<Value> = (0..len).map(|_| value(rng, f)).collect();
            f.body.set_operands(inst, &operands);
        }
        8 => {
            let new = value(rng, f);
            if let Some(slot) = f.body.operands_mut(inst).choose_mut(rng) {
                *slot = new;
            }
        }
        9 => f.body.unlink(inst),
        10 => {
            f.body.unlink(inst);
            let block = BlockId::from_raw(rng.random_range(0..f.flow.id_count() as u32 + 1).into());
            f.body.append(block, inst);
        }
        11 => {
            let from = BlockId::from_raw(rng.random_range(0..f.flow.id_count() as u32).into());
            let successors: Vec<BlockId> =
                (0..rng.random_range(0..4)).map(|_| target(rng, f)).collect();
            f.flow.set_successors(from, &successors);
        }
        12 => {
            let block = if rng.random_bool(0.5) { f.flow.create_block() } else { target(rng, f) };
            f.flow.append_block(block);
        }
        _ => {
            let info = &mut f.body.call_infos_mut()[0];
            match rng.random_range(0..4) {
                0 => info.args = rng.random_range(0..4),
                1 => info.function_type = Type::from_raw(wild(rng, context.type_count())),
                2 => info.attributes = phalanx_ir::AttrList::from_raw(wild(rng, 1)),
                _ => {
                    let tag = Symbol::from_raw(wild(rng, context.symbol_count()));
                    info.bundles = Box::new([(tag, rng.random_range(0..3))]);
                }
            }
        }
    }
}

/// Depth costs no stack: a nest of types, a chain of blocks, aliases and constants, each a hundred
/// thousand deep.
#[test]
fn depth_costs_no_stack() {
    let check = || {
        let context = Arc::new(Context::new());
        let mut module = ModuleBuilder::new(context.clone());
        let (mut ty, mut constant) = (Type::I32, context.const_i32(7));
        for _ in 0..100_000 {
            ty = context.struct_type(&[ty, Type::I8]);
            constant = context.const_aggregate(ty, &[constant, context.int_const(Type::I8, 1)]);
        }
        let variable = GlobalVariable { initializer: Some(constant), ..GlobalVariable::new(ty) };
        module.add_variable("deep", variable).expect("a variable");
        let mut f =
            module.define_function("f", &FunctionSpec::new(Type::VOID)).expect("a function");
        let mut last = f.block("");
        for _ in 0..100_000 {
            let next = f.block("");
            f.switch_to(last);
            f.br(next).expect("a branch");
            last = next;
        }
        f.switch_to(last);
        f.alloca(ty, 0).expect("an alloca of a sized type");
        f.ret_void().expect("a return");
        f.finish().expect("a well-formed function");
        module.finish().expect("a well-formed module");
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    thread.spawn(check).expect("a thread").join().expect("no overflow");
}
