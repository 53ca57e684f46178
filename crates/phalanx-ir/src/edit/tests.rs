//! One behaviour of each operation.

mod limits;

use std::sync::Arc;

use expect_test::{Expect, expect};

use super::*;
use crate::{
    Function, FunctionBuilder, InstBuilder, Module, ModuleBuilder, Opcode,
    builder::FunctionSpec,
    inst::{InstFlags, IntPredicate},
    metadata::LocalMetadata,
};

/// `if (n < 10) { a = n + 1 } else { a = n * 2 }; return phi(a, b) + n`
fn diamond() -> Module {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(Arc::clone(&context));
    let spec = FunctionSpec::new(Type::I32).param(Type::I32, "n");
    let mut f: FunctionBuilder<'_> = module.define_function("f", &spec).unwrap();
    let [n] = f.args();
    let [entry, then, other, join] = ["entry", "then", "other", "join"].map(|b| f.block(b));
    f.switch_to(entry);
    let c = f.named("c").icmp(IntPredicate::Slt, n, context.const_i32(10)).unwrap();
    f.cond_br(c, then, other).unwrap();
    f.switch_to(then);
    let a = f.named("a").add(n, context.const_i32(1)).unwrap();
    f.br(join).unwrap();
    f.switch_to(other);
    let b = f.named("b").mul(n, context.const_i32(2)).unwrap();
    f.br(join).unwrap();
    f.switch_to(join);
    let p = f.named("p").phi(Type::I32).unwrap();
    f.add_incoming(p, a, then).unwrap();
    f.add_incoming(p, b, other).unwrap();
    let r = f.named("r").add(p, n).unwrap();
    f.ret(r).unwrap();
    f.finish().unwrap();
    module.finish().unwrap()
}

fn text(function: FunctionRef<'_>, context: &Context) -> String {
    let mut out = String::new();
    for &block in function.flow.order() {
        out.push_str(&format!("{}:\n", &describe::block(function, block)[1..]));
        for inst in function.body.block_insts(block) {
            let value = |v: &Value| describe::value(context, function, *v);
            let operands: Vec<String> = function.body.operands(inst).iter().map(value).collect();
            let name = match function.body.inst(inst).ty {
                Type::VOID => String::new(),
                _ => format!("{} = ", describe::value(context, function, inst.into())),
            };
            let opcode = function.body.inst(inst).opcode.text();
            let to: Vec<String> = match function.body.terminator(block) == Some(inst) {
                true => function
                    .flow
                    .successors(block)
                    .iter()
                    .map(|&b| describe::block(function, b))
                    .collect(),
                false => Vec::new(),
            };
            let line =
                [&[format!("  {name}{opcode}")], operands.as_slice(), to.as_slice()].concat();
            out.push_str(line.join(" ").trim_end());
            out.push('\n');
        }
    }
    out
}

/// Edits the diamond and compares the result.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), BuildError>, expect: Expect) {
    let mut module = diamond();
    let before = module.clone();
    let mut store = InModule::new(&mut module, 0);
    let mut transaction = Transaction::new(&mut store);
    transaction.body().is_used(Value::arg(0));
    let result = edit(&mut transaction).and_then(|()| transaction.commit());
    let context = Arc::clone(&module.context);
    match result {
        Ok(()) => {
            uses_are_right(&module.functions[0]);
            expect.assert_eq(&text(module.functions[0].view(), &context));
        }
        Err(error) => {
            assert!(module == before, "what failed leaves nothing behind");
            expect.assert_eq(&format!("{error}\n"));
        }
    }
}

/// The def-use lists that were kept up to date equal lists made from scratch.
pub(super) fn uses_are_right(function: &Function) {
    let fresh = function.body.clone();
    for inst in function.body.all_ids() {
        let sorted = |body: &Body| {
            let mut uses: Vec<Use> = body.uses_of(inst.into()).collect();
            uses.sort();
            uses
        };
        assert_eq!(sorted(&function.body), sorted(&fresh), "{inst:?}");
    }
}

pub(super) fn named(edit: &Transaction<'_>, name: &str) -> InstId {
    let names = &edit.extras().names;
    edit.body().all_ids().find(|&i| names.inst(i) == Some(name.as_bytes())).unwrap()
}

pub(super) fn block(edit: &Transaction<'_>, name: &str) -> BlockId {
    let names = &edit.extras().names;
    let mut order = edit.flow().order().iter().copied();
    order.find(|&b| names.block(b) == Some(name.as_bytes())).unwrap()
}

#[test]
fn an_operand_is_changed() {
    check(
        |edit| {
            let (a, r) = (named(edit, "a"), named(edit, "r"));
            edit.set_operand(r, 1, named(edit, "p"))?;
            edit.set_flags(a, InstFlags::NSW)
        },
        expect![[r#"
            entry:
              %c = icmp %n 10
              br %c %then %other
            then:
              %a = add %n 1
              br %join
            other:
              %b = mul %n 2
              br %join
            join:
              %p = phi %a %b %then %other
              %r = add %p %p
              ret %r
        "#]],
    );
}

#[test]
fn a_value_takes_the_place_of_another() {
    check(
        |edit| {
            let b = named(edit, "b");
            let one = edit.context().const_i32(1);
            let shl = edit.before(b).shl(Value::arg(0), one)?;
            edit.replace(b, shl)
        },
        expect![[r#"
            entry:
              %c = icmp %n 10
              br %c %then %other
            then:
              %a = add %n 1
              br %join
            other:
              %b = shl %n 1
              br %join
            join:
              %p = phi %a %b %then %other
              %r = add %p %n
              ret %r
        "#]],
    );
}

#[test]
fn what_is_read_cannot_be_erased() {
    check(
        |edit| edit.erase(named(edit, "a")),
        expect![[r#"
        @f: %a is still read by %p
    "#]],
    );
}

/// An erased instruction keeps its record, since ids are never used again, but the transaction does
/// not show it.
#[test]
fn what_was_erased_cannot_be_read_again() {
    type Read = fn(&mut Transaction<'_>, InstId) -> Result<(), BuildError>;
    let reads: [(Read, &str); 6] = [
        (|edit, gone| edit.set_operand(named(edit, "a"), 0, gone), "is not a value of"),
        (|edit, gone| edit.replace_all_uses(Value::arg(0), gone), "is not a value of"),
        (|edit, gone| edit.replace_all_uses(gone, Value::arg(0)), "is not a value of"),
        (
            |edit, gone| {
                let [then, p] = [named(edit, "a"), named(edit, "p")];
                let then = edit.body().block_of(then).unwrap();
                edit.set_phi_input(p, gone, then)
            },
            "is not a value of",
        ),
        (|edit, gone| edit.set_name(gone, "again"), "is not a value of"),
        (|edit, gone| edit.before(named(edit, "r")).add(gone, gone).map(drop), "was erased"),
    ];
    for (at, (read, message)) in reads.into_iter().enumerate() {
        let mut module = diamond();
        let mut store = InModule::new(&mut module, 0);
        let mut edit = Transaction::new(&mut store);
        edit.verifying(false);
        let r = named(&edit, "r");
        let gone = edit.before(r).mul(r, r).unwrap().as_inst().unwrap();
        edit.erase(gone).unwrap();
        let error = read(&mut edit, gone).unwrap_err().to_string();
        assert!(error.contains(message), "{at}: {error}");
        assert_eq!(edit.type_of(gone), None);
        edit.commit().unwrap();
    }
}

/// Questions about entities that do not exist, or are of another kind, have no answer.
#[test]
fn blocks_and_phis_that_were_erased_tell_nothing() {
    let mut module = diamond();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    let [entry, other, join] = ["entry", "other", "join"].map(|name| block(&edit, name));
    let [p, r] = ["p", "r"].map(|name| named(&edit, name));
    assert_eq!(edit.phi_input(r, other), None, "it is no phi");
    assert_eq!(edit.phi_input(InstId::from_raw(1000.into()), other), None);
    edit.redirect_edge(entry, 1, block(&edit, "then")).unwrap();
    edit.erase_block(other).unwrap();
    assert_eq!(edit.type_of(Value::block(other)), None);
    edit.set_name(Value::block(other), "again").unwrap_err();
    edit.replace_all_uses(p, Value::arg(0)).unwrap();
    edit.erase(p).unwrap();
    assert_eq!(edit.phi_input(p, block(&edit, "then")), None);
    assert!(edit.type_of(Value::block(join)).is_some());
    edit.commit().unwrap();
}

#[test]
fn metadata_of_another_module_is_not_attached() {
    check(
        |edit| {
            let node = crate::metadata::MetadataId::from_raw(0.into());
            edit.attach(named(edit, "a"), "prof", Some(node))
        },
        expect![[r#"
            @f: %a cannot have metadata that its module does not have
        "#]],
    );
}

#[test]
fn another_type_is_refused() {
    check(
        |edit| edit.set_operand(named(edit, "r"), 0, named(edit, "c")),
        expect![[r#"
        @f, %join: add: Both operands to a binary operator are not of the same type! (i1 %c, i32 %n)
    "#]],
    );
}

#[test]
fn a_use_before_its_definition_is_found_at_the_commit() {
    check(
        |edit| edit.set_operand(named(edit, "a"), 0, named(edit, "r")),
        expect![[r#"
        @f is not well-formed: %then: %a (add): Instruction does not dominate all uses! (%r, %a)
    "#]],
    );
}

#[test]
fn a_block_is_split() {
    check(
        |edit| edit.split_before(named(edit, "r"), "tail").map(drop),
        expect![[r#"
        entry:
          %c = icmp %n 10
          br %c %then %other
        then:
          %a = add %n 1
          br %join
        other:
          %b = mul %n 2
          br %join
        join:
          %p = phi %a %b %then %other
          br %tail
        tail:
          %r = add %p %n
          ret %r
    "#]],
    );
}

#[test]
fn an_edge_is_split_and_its_phi_follows() {
    check(
        |edit| {
            let then = block(edit, "then");
            edit.split_edge(then, 0, "edge").map(drop)
        },
        expect![[r#"
            entry:
              %c = icmp %n 10
              br %c %then %other
            then:
              %a = add %n 1
              br %edge
            edge:
              br %join
            other:
              %b = mul %n 2
              br %join
            join:
              %p = phi %a %b %edge %other
              %r = add %p %n
              ret %r
        "#]],
    );
}

#[test]
fn a_redirected_edge_takes_its_phi_value_along_and_blocks_merge() {
    check(
        |edit| {
            let [entry, then, join] = ["entry", "then", "join"].map(|b| block(edit, b));
            edit.redirect_edge(entry, 1, then)?;
            assert_eq!(edit.erase_unreachable()?, 1);
            edit.replace_terminator(entry).br(then)?;
            edit.erase(named(edit, "c"))?;
            edit.merge_successor(entry)?;
            edit.merge_successor(entry)?;
            assert!(edit.body().first(join).is_none());
            Ok(())
        },
        expect![[r#"
            entry:
              %a = add %n 1
              %r = add %a %n
              ret %r
        "#]],
    );
}

#[test]
fn a_new_edge_needs_values_for_phis() {
    check(
        |edit| {
            let [entry, join] = ["entry", "join"].map(|b| block(edit, b));
            edit.redirect_edge(entry, 0, join)
        },
        expect![[r#"
            @f: %p has 0 incoming values for 1 edges from %entry
        "#]],
    );
    check(
        |edit| {
            let [entry, join] = ["entry", "join"].map(|b| block(edit, b));
            edit.redirect_edge(entry, 0, join)?;
            edit.add_phi_input(named(edit, "p"), Value::arg(0), entry)?;
            edit.erase_unreachable().map(drop)
        },
        expect![[r#"
            entry:
              %c = icmp %n 10
              br %c %join %other
            other:
              %b = mul %n 2
              br %join
            join:
              %p = phi %b %n %other %entry
              %r = add %p %n
              ret %r
        "#]],
    );
}

/// Whether or not the commit verifies: graph facts assume that no edge leads to the entry.
#[test]
fn no_terminator_leads_to_the_entry() {
    type Lead = fn(&mut Transaction<'_>) -> Result<(), BuildError>;
    let to_entry: [Lead; 3] = [
        |edit| {
            let [entry, then] = ["entry", "then"].map(|b| block(edit, b));
            edit.replace_terminator(then).br(entry).map(drop)
        },
        |edit| {
            let [entry, then, other] = ["entry", "then", "other"].map(|b| block(edit, b));
            let cases = [(edit.context().const_i32(1), entry)];
            edit.replace_terminator(then).switch(Value::arg(0), other, &cases).map(drop)
        },
        |edit| {
            let late = edit.create_block("late", None)?;
            let entry = block(edit, "entry");
            edit.at_end(late).br(entry).map(drop)
        },
    ];
    for lead in to_entry {
        check(
            |edit| {
                edit.verifying(false);
                lead(edit)
            },
            expect![[r#"
                @f: %entry is the entry of its function
            "#]],
        );
    }
}

#[test]
fn a_block_without_terminator_is_refused() {
    check(
        |edit| edit.create_block("late", None).map(drop),
        expect![[r#"
        @f: %late has no terminator
    "#]],
    );
}

#[test]
fn blocks_are_cloned_with_the_edges_that_leave_them() {
    check(
        |edit| {
            let [entry, then] = ["entry", "then"].map(|b| block(edit, b));
            let clones = edit.clone_blocks(&[then])?;
            edit.redirect_edge(entry, 1, clones.block(then).unwrap())?;
            edit.erase_unreachable().map(drop)
        },
        expect![[r#"
            entry:
              %c = icmp %n 10
              br %c %then %then1
            then:
              %a = add %n 1
              br %join
            then1:
              %a1 = add %n 1
              br %join
            join:
              %p = phi %a %a1 %then %then1
              %r = add %p %n
              ret %r
        "#]],
    );
}

#[test]
fn instructions_move_and_are_cloned() {
    check(
        |edit| {
            let (a, b, entry) = (named(edit, "a"), named(edit, "b"), block(edit, "entry"));
            edit.move_to_end(a, entry)?;
            let copy = edit.after(a).clone_of(a)?;
            edit.set_opcode(copy, Opcode::Sub)?;
            edit.set_operand(b, 0, copy)
        },
        expect![[r#"
            entry:
              %c = icmp %n 10
              %a = add %n 1
              %a1 = sub %n 1
              br %c %then %other
            then:
              br %join
            other:
              %b = mul %a1 2
              br %join
            join:
              %p = phi %a %b %then %other
              %r = add %p %n
              ret %r
        "#]],
    );
}

#[test]
fn the_journal_tells_what_changed() {
    let mut module = diamond();
    let start = module.functions[0].body.journal().position();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    let (a, r) = (named(&edit, "a"), named(&edit, "r"));
    edit.set_operand(r, 1, named(&edit, "p")).unwrap();
    edit.commit().unwrap();
    let mut aborted = Transaction::new(&mut store);
    aborted.set_flags(a, InstFlags::NSW).unwrap();
    aborted.abort();
    Transaction::new(&mut store).commit().unwrap();
    let journal = module.functions[0].body.journal();
    assert_eq!(
        journal.position(),
        start + 1,
        "what is taken back is not told, nor what changes nothing"
    );
    let changes = journal.since(start).unwrap();
    assert_eq!((changes.insts.as_ref(), changes.flow), (&[r][..], false));
    assert_ne!(module.functions[0].body.clone().journal().position(), start + 1);
}

/// A mention of a value is no operand. But when the value is replaced, the instruction that has the
/// mention reads another value, so it counts as changed.
#[test]
fn the_journal_tells_of_who_mentions_what_is_replaced() {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(Arc::clone(&context));
    let holds = module.declare_function("llvm.dbg.label", Type::VOID, &[Type::METADATA]).unwrap();
    let spec = FunctionSpec::new(Type::VOID).param(Type::I32, "n");
    let mut f: FunctionBuilder<'_> = module.define_function("f", &spec).unwrap();
    let [n] = f.args();
    let entry = f.block("entry");
    f.switch_to(entry);
    let a = f.named("a").add(n, context.const_i32(1)).unwrap();
    let mention = f.metadata(LocalMetadata::Value(a));
    let call = f.call(holds, &[mention]).unwrap();
    f.ret_void().unwrap();
    f.finish().unwrap();
    let mut module = module.finish().unwrap();
    let start = module.functions[1].body.journal().position();
    let mut store = InModule::new(&mut module, 1);
    let mut edit = Transaction::new(&mut store);
    edit.verifying(false);
    edit.replace_all_uses(a, n).unwrap();
    edit.commit().unwrap();
    let journal = module.functions[1].body.journal();
    assert_eq!(journal.position(), start + 1);
    assert_eq!(journal.since(start).unwrap().insts.as_ref(), &[call.as_inst().unwrap()][..]);
}
