//! Queries about entities that a function does not have, or does not have any more: each has an
//! answer, and none panics.

use phalanx::{
    FunctionId, ModuleId, Session,
    analysis::{
        affect,
        data_flow::{Edges, Entity},
        legality::Refusal,
        loads::Root,
        memory::MemoryClass,
        spaces::{SpaceSet, SpaceSubject},
        stable::Assumptions,
    },
    ir::{BuildError, Const, flow, function::LocalMetadataId},
    prelude::*,
};

const TEXT: &[u8] = br#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %inside = icmp ult i32 %tid, %n
  br i1 %inside, label %then, label %exit
then:
  %slot = alloca i32, addrspace(5)
  store i32 %tid, ptr addrspace(5) %slot
  %v = load i32, ptr addrspace(5) %slot
  store i32 %v, ptr addrspace(1) %out
  br label %exit
exit:
  ret void
}
define void @other() {
  ret void
}
"#;

/// Numbers that no function here has assigned.
const FAR: [u32; 2] = [1000, 100_000_000];

/// A session, its module and two functions; an instruction and a block that were erased from the
/// first.
fn edited() -> (Session, ModuleId, [FunctionId; 2], InstId, BlockId) {
    let mut session = Session::new();
    let module = session.read(TEXT).expect("it is valid");
    let functions =
        ["k", "other"].map(|name| session.function(module, name).expect("it is defined"));
    let gone = session.edit(functions[0], |edit| {
        let names = &edit.extras().names;
        let mut insts = edit.body().all_ids();
        let v = insts.find(|&i| names.inst(i) == Some(b"v")).expect("it is there");
        let then = edit.body().block_of(v).expect("it is in a block");
        let entry = edit.flow().entry().expect("it has a body");
        let exit = edit.flow().successors(then)[0];
        edit.redirect_edge(entry, 0, exit)?;
        edit.erase_block(then)?;
        Ok::<_, BuildError>((v, then))
    });
    let (inst, block) = gone.expect("nobody reads it");
    (session, module, functions, inst, block)
}

#[test]
fn nothing_is_known_of_values_that_are_not_there() {
    let (session, _, functions, erased, _) = edited();
    let far = FAR.map(|number| Value::inst(InstId::from_raw(number.into())));
    let arguments = [Value::arg(2), Value::arg(FAR[0])];
    for function in functions {
        let divergence = session.divergence(function).expect("it has a body");
        let assumed = session.divergence_assuming(function, Assumptions::NONE);
        let assumed = assumed.expect("it has a body");
        let variance = session.variance(function).expect("it has a body");
        let kinds = session.memory_kinds(function).expect("it has a body");
        for value in far.into_iter().chain(arguments) {
            assert_eq!(divergence.mask(value), SourceSet::ALL);
            assert_eq!(assumed.mask(value), SourceSet::ALL);
            assert!(!divergence.is_uniform(value, Scope::Wave));
            assert!(!variance.value(value).is_empty());
            assert_eq!(kinds.of(value), SpaceSet::ALL);
        }
        for value in far.into_iter().chain(arguments).chain([Value::inst(erased)]) {
            assert!(!session.is_truly_uniform(function, value));
            assert_eq!(session.explain(function, Subject::Value(value), Scope::Wave), []);
            let subject = Subject::Value(value);
            let through = session.explain_through_calls(function, subject, SourceSet::ALL, None);
            assert_eq!(through, []);
            let subject = SpaceSubject::Value(value);
            assert!(session.explain_spaces(function, subject, SpaceSet::ALL).is_empty());
        }
        let constant = Value::constant(Const::from_raw(FAR[1]));
        let metadata = Value::metadata(LocalMetadataId::from_raw(FAR[0].into()));
        for value in [constant, metadata] {
            let subject = SpaceSubject::Value(value);
            assert!(session.explain_spaces(function, subject, SpaceSet::ALL).is_empty());
        }
    }
}

#[test]
fn nothing_is_known_of_instructions_that_are_not_there() {
    let (session, _, functions, erased, _) = edited();
    let far = FAR.map(|number| InstId::from_raw(number.into()));
    for function in functions {
        let divergence = session.divergence(function).expect("it has a body");
        let variance = session.variance(function).expect("it has a body");
        let kinds = session.memory_kinds(function).expect("it has a body");
        let memory = session.memory_ssa(function).expect("it has a body");
        let code = session.code(function);
        for user in far {
            assert_eq!(divergence.mask_at(Value::arg(0), user), SourceSet::ALL);
            assert!(!variance.statement(user).is_empty());
        }
        for user in far.into_iter().chain([erased]) {
            assert_eq!(session.print_inst(function, user), "");
            for operand in [0, 99] {
                let subject = Subject::Use { user, operand };
                assert_eq!(session.explain(function, subject, Scope::Wave), []);
            }
            let subject = SpaceSubject::Use(user, 0);
            assert!(session.explain_spaces(function, subject, SpaceSet::ALL).is_empty());
            assert_eq!(kinds.at(code.body, user, 0), SpaceSet::ALL);
            assert_eq!(memory.of(user).count(), 0);
            assert_eq!(memory.private().object_of(code.body, user.into()), None);
        }
    }
}

#[test]
fn nothing_is_known_of_blocks_that_are_not_there() {
    let (session, _, functions, _, erased) = edited();
    for function in functions {
        let divergence = session.divergence(function).expect("it has a body");
        let assumed = session.divergence_assuming(function, Assumptions::NONE);
        let assumed = assumed.expect("it has a body");
        let variance = session.variance(function).expect("it has a body");
        let legality = session.legality(function, Scope::Wave).expect("it has a body");
        let far = FAR.map(|number| BlockId::from_raw(number.into()));
        for block in far {
            for view in [divergence, assumed] {
                assert_eq!(view.branch_mask(block), SourceSet::ALL);
                assert!(view.is_divergent_control(block, Scope::Wave));
            }
            assert!(!variance.terminator(block).is_empty());
            assert!(!variance.block(block).is_empty());
            let block = flow::node_of(block);
            let refused = Err(Refusal::NoSuchBlock { block });
            assert!(legality.is_divergent(block));
            assert_eq!(legality.same_set(block, block), refused);
            assert_eq!(legality.hoist(block, block, true), refused);
            assert_eq!(legality.duplicate(block), refused);
            assert_eq!(legality.merge(block, block), refused);
            assert_eq!(legality.speculate(block, true), refused);
        }
        for block in far.into_iter().chain([erased]) {
            for subject in [Subject::Branch(block), Subject::Block(block)] {
                assert_eq!(session.explain(function, subject, Scope::Wave), []);
            }
        }
    }
}

#[test]
fn what_is_not_there_influences_nothing() {
    let (session, _, functions, ..) = edited();
    for function in functions {
        let flow = session.data_flow(function).expect("it has a body");
        for far in FAR {
            let (inst, block) = (InstId::from_raw(far.into()), BlockId::from_raw(far.into()));
            let mut entities = vec![
                Entity::Value(affect::Value::from_raw(far)),
                Entity::Slot(far),
                Entity::SlotPhi(far),
            ];
            for class in MemoryClass::ALL {
                entities.push(Entity::Class(class, inst));
                entities.push(Entity::ClassPhi(class, flow::node_of(block)));
            }
            for &entity in &entities {
                assert_eq!(flow.users(entity).count(), 0);
                assert!(!flow.reached([entity], Edges::All).contains(entity));
            }
        }
    }
}

/// It is treated like a declaration.
#[test]
fn a_function_that_was_removed_has_no_facts() {
    let (mut session, module, [_, other], ..) = edited();
    let done = session.remove_functions(module, &[other]);
    done.expect("nobody calls it");
    assert!(session.divergence(other).is_none());
    assert!(session.variance(other).is_none());
    assert!(session.cfg(other).is_none());
    assert!(session.legality(other, Scope::Wave).is_none());
    assert!(session.diagnostics(other).is_empty());
    assert!(session.explain(other, Subject::Value(Value::arg(0)), Scope::Wave).is_empty());
    assert_eq!(session.print_inst(other, InstId::from_raw(0.into())), "");
    assert!(!session.is_truly_uniform(other, Value::arg(0)));
    session.written_by_kernel(other, Root::Argument(FAR[0]));
    assert_eq!(session.function(module, "other"), None);
    assert!(!session.has_function(other));
}
