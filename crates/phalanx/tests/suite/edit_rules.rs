//! Edits that a transaction refuses, with and without the verifier, and the metadata about uses
//! after an edit.

use expect_test::{Expect, expect};
use phalanx::{
    Session,
    ir::{BuildError, InstBuilder, edit::Transaction},
    prelude::*,
};

/// The entities of the function by name, as they are before it is edited.
struct Named<'c>(&'c phalanx::ir::Function);

impl Named<'_> {
    fn inst(&self, name: &str) -> InstId {
        let mut ids = self.0.body.all_ids();
        let is_named = |&i: &InstId| self.0.extras.names.inst(i) == Some(name.as_bytes());
        ids.find(is_named).expect("an instruction has the name")
    }

    fn block(&self, name: &str) -> BlockId {
        let is_named = |&b: &BlockId| self.0.extras.names.block(b) == Some(name.as_bytes());
        self.0.flow.order().iter().copied().find(is_named).expect("a block has the name")
    }
}

/// Edits `@f`; a refused edit changes nothing.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn refused(
    text: &str,
    edit: impl FnOnce(&mut Transaction<'_>, Named<'_>) -> Result<(), BuildError>,
    why: Expect,
) {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("it is valid");
    let function = session.function(module, "f").expect("it is defined");
    let before = session.code(function).to_function();
    let done = session.edit(function, |transaction| {
        transaction.verifying(false);
        edit(transaction, Named(&before))
    });
    why.assert_eq(&done.expect_err("a rule is broken").to_string());
    assert!(session.code(function).to_function() == before);
}

const INVOKE: &str = "
declare i32 @g()
define i32 @f(i1 %c, i32 %n) personality ptr null {
entry:
  br i1 %c, label %a, label %b
a:
  %v = invoke i32 @g() to label %ok unwind label %pad
b:
  br label %ok
ok:
  %p = phi i32 [ %v, %a ], [ %n, %b ]
  ret i32 %p
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}
";

/// The result of an invoke is available behind it, but not at the place of the old terminator.
#[test]
fn a_terminator_does_not_read_the_one_that_it_replaces() {
    refused(
        INVOKE,
        |edit, named| {
            edit.set_phi_input(named.inst("p"), Value::arg(1), named.block("a"))?;
            edit.replace_terminator(named.block("a")).ret(named.inst("v")).map(drop)
        },
        expect!["@f: %v cannot be read by what takes its place"],
    );
}

#[test]
fn no_branch_leads_to_a_pad() {
    let pad = || expect!["@f: %pad is only entered by unwinding"];
    refused(
        INVOKE,
        |edit, named| edit.redirect_edge(named.block("b"), 0, named.block("pad")),
        pad(),
    );
    refused(
        INVOKE,
        |edit, named| edit.redirect_edge(named.block("a"), 0, named.block("pad")),
        pad(),
    );
    refused(
        INVOKE,
        |edit, named| {
            let [b, pad] = ["b", "pad"].map(|name| named.block(name));
            edit.replace_terminator(b).br(pad).map(drop)
        },
        pad(),
    );
}

#[test]
fn a_phi_has_one_value_for_parallel_edges() {
    let both = |edit: &mut Transaction<'_>, named: &Named<'_>| {
        let [b, ok] = ["b", "ok"].map(|name| named.block(name));
        edit.replace_terminator(b).cond_br(Value::arg(0), ok, ok).map(drop)
    };
    let why = || expect!["@f: %p has different values for edges from one block"];
    refused(
        INVOKE,
        |edit, named| {
            both(edit, &named)?;
            let nine = edit.context().const_i32(9);
            edit.set_operand(named.inst("p"), 1, nine)
        },
        why(),
    );
    refused(
        INVOKE,
        |edit, named| {
            let (p, b) = (named.inst("p"), named.block("b"));
            let nine = edit.context().const_i32(9);
            edit.add_phi_input(p, nine, b)?;
            let cases = [(nine, named.block("ok"))];
            edit.replace_terminator(b).switch(Value::arg(1), named.block("ok"), &cases)?;
            edit.remove_phi_input(p, b)?;
            edit.add_phi_input(p, nine, b)?;
            edit.add_phi_input(p, Value::arg(1), b)
        },
        why(),
    );
}

const CATCH: &str = "
declare void @g()
declare i32 @__CxxFrameHandler3(...)
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  invoke void @g() to label %done unwind label %switch
switch:
  %s = catchswitch within none [label %handler] unwind to caller
handler:
  %h = catchpad within %s [ptr null, i32 64, ptr null]
  catchret from %h to label %done
done:
  ret void
}
";

/// The copy of one would lead to the original of the other.
#[test]
fn what_catches_is_copied_with_its_pads() {
    let copy = |name: &'static str| {
        move |edit: &mut Transaction<'_>, named: Named<'_>| {
            edit.clone_blocks(&[named.block(name)]).map(drop)
        }
    };
    refused(CATCH, copy("switch"), expect!["@f: %s is in the region without its pads"]);
    refused(CATCH, copy("handler"), expect!["@f: %h is in the region without its `catchswitch`"]);
}

/// If nothing unwinds to the pad any more, it may be removed.
#[test]
fn a_pad_stays_while_something_unwinds_to_it() {
    let text = INVOKE.replace("resume { ptr, i32 } %l", "unreachable");
    let why = || expect!["@f: %l is what its block is entered by unwinding with"];
    refused(&text, |edit, named| edit.erase(named.inst("l")), why());
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("it is valid");
    let function = session.function(module, "f").expect("it is defined");
    let before = session.code(function).to_function();
    let done = session.edit(function, |edit| {
        let named = Named(&before);
        edit.set_phi_input(named.inst("p"), Value::arg(1), named.block("a"))?;
        edit.replace_terminator(named.block("a")).br(named.block("ok"))?;
        edit.erase(named.inst("l"))
    });
    done.expect("nothing unwinds");
}

/// A token identifies its origin, so another token of the same type cannot replace it.
#[test]
fn a_token_is_not_replaced_by_another() {
    let text =
        CATCH.replace("  catchret", "  call void @g() [ \"funclet\"(token %h) ]\n  catchret");
    refused(
        &text,
        |edit, named| {
            let poison = edit.context().const_poison(phalanx::ir::Type::TOKEN);
            edit.replace_all_uses(named.inst("h"), poison)
        },
        expect![
            "@f, %handler: call: Funclet bundle operands should correspond to a FuncletPadInst (token poison, ptr @g)"
        ],
    );
}

#[test]
fn a_pad_is_of_one_catchswitch() {
    let why = || expect!["@f: %h stays with its `catchswitch`"];
    let copy = |edit: &mut Transaction<'_>, named: &Named<'_>| {
        let region = ["switch", "handler"].map(|name| named.block(name));
        let clones = edit.clone_blocks(&region)?;
        Ok::<_, BuildError>(clones.inst(named.inst("s")).expect("it was copied"))
    };
    refused(
        CATCH,
        |edit, named| {
            let other = copy(edit, &named)?;
            edit.replace_all_uses(named.inst("s"), other)
        },
        why(),
    );
    refused(
        CATCH,
        |edit, named| {
            let other = copy(edit, &named)?;
            let place = edit.uses_of(named.inst("s")).next().expect("a pad reads it").index;
            edit.set_operand(named.inst("h"), place, other)
        },
        why(),
    );
}

/// Lifetime markers need a stack slot.
#[test]
fn a_slot_with_a_lifetime_is_not_replaced_by_another_address() {
    let text = "
declare void @llvm.lifetime.start.p0(ptr)
define void @f(ptr %p) {
  %s = alloca i32
  call void @llvm.lifetime.start.p0(ptr %s)
  store i32 0, ptr %s
  ret void
}
";
    refused(
        text,
        |edit, named| edit.replace_all_uses(named.inst("s"), Value::arg(0)),
        expect![
            "@f, %bb0: call: llvm.lifetime.start/end can only be used on alloca or poison (ptr %p, ptr @llvm.lifetime.start.p0)"
        ],
    );
}

const CHAIN: &str = "
define i32 @f(i1 %c, i32 %n) {
entry:
  br label %loop
loop:
  %p = phi i32 [ 0, %entry ], [ %x, %loop ]
  %x = mul i32 %p, %n
  %y = add i32 %x, 1
  br i1 %c, label %loop, label %out
out:
  ret i32 %x
}
";

/// A value cannot be replaced by an instruction that reads it.
#[test]
fn nothing_reads_itself() {
    let why = || expect!["@f: %y would read itself"];
    refused(CHAIN, |edit, named| edit.replace_all_uses(named.inst("x"), named.inst("y")), why());
    refused(CHAIN, |edit, named| edit.replace(named.inst("x"), named.inst("y")), why());
    refused(CHAIN, |edit, named| edit.set_operand(named.inst("y"), 1, named.inst("y")), why());
}

/// In unreachable code an instruction may read itself.
#[test]
fn what_is_not_reached_may_read_itself() {
    let text = CHAIN.replace("out:\n", "nowhere:\n  %z = add i32 %n, 1\n  br label %out\nout:\n");
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("it is valid");
    let function = session.function(module, "f").expect("it is defined");
    let z = Named(&session.code(function).to_function()).inst("z");
    let done: Result<(), BuildError> = session.edit(function, |edit| edit.set_operand(z, 0, z));
    done.expect("no rule is broken");
}

/// A phi may read its own value of the round before.
#[test]
fn a_phi_reads_itself() {
    let mut session = Session::new();
    let module = session.read(CHAIN.as_bytes()).expect("it is valid");
    let function = session.function(module, "f").expect("it is defined");
    let before = session.code(function).to_function();
    let [p, x, y] = ["p", "x", "y"].map(|name| Named(&before).inst(name));
    let done: Result<(), BuildError> = session.edit(function, |edit| {
        edit.replace_uses_where(x, y, |read| read.user != y)?;
        edit.replace_all_uses(y, p)
    });
    done.expect("no rule is broken");
    assert_eq!(session.code(function).body.phi_values(p)[1], p.into());
}

const TAIL: &str = "
define i32 @f(i1 %c, i32 %n) {
entry:
  %m = add i32 %n, 1
  %v = musttail call i32 @f(i1 %c, i32 %n)
  ret i32 %v
}
";

#[test]
fn nothing_comes_between_a_must_tail_call_and_its_return() {
    let why = || expect!["@f: %v must stay just before its return"];
    let n = Value::arg(1);
    refused(TAIL, |edit, named| edit.after(named.inst("v")).add(n, n).map(drop), why());
    refused(TAIL, |edit, named| edit.at_end(named.block("entry")).add(n, n).map(drop), why());
    refused(TAIL, |edit, named| edit.move_to_end(named.inst("m"), named.block("entry")), why());
    refused(
        TAIL,
        |edit, named| edit.move_before(named.inst("v"), named.inst("m")),
        expect!["@f: %v stays where it is in its block"],
    );
    refused(
        TAIL,
        |edit, named| {
            let ret = edit.body().terminator(named.block("entry")).expect("it is complete");
            edit.split_before(ret, "late").map(drop)
        },
        why(),
    );
}

/// An intrinsic has the type that it has, whatever the call of an address expects.
#[test]
fn what_is_called_by_its_address_is_not_replaced_by_an_intrinsic_of_another_type() {
    let text = "
declare i32 @llvm.ctpop.i32(i32)
define i32 @f(ptr %callee, i32 %n) {
  %x = call i32 @llvm.ctpop.i32(i32 %n)
  %y = call i32 %callee(i32 %n, i32 %n)
  ret i32 %y
}
";
    refused(
        text,
        |edit, named| {
            let intrinsic = edit.body().callee(named.inst("x"));
            edit.replace_all_uses(Value::arg(0), intrinsic)
        },
        expect![
            "@f, %bb0: call: Intrinsic called with incompatible signature (i32 %n, i32 %n, ptr @llvm.ctpop.i32)"
        ],
    );
}

/// The order of uses in the text refers to the number of uses.
#[test]
fn the_order_of_uses_is_forgotten_where_they_become_others() {
    let text = "
@g = global i32 0
define void @f(i32 %n) {
  store i32 %n, ptr @g
  store i32 %n, ptr @g
  ret void
  uselistorder i32 %n, { 1, 0 }
}
uselistorder ptr @g, { 1, 0 }
";
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("it is valid");
    let function = session.function(module, "f").expect("it is defined");
    let orders = |session: &Session| {
        let printed = String::from_utf8_lossy(&session.print(module)).into_owned();
        printed.lines().filter(|line| line.trim().starts_with("uselistorder ")).count()
    };
    let named = session.edit(function, |edit| edit.set_name(Value::arg(0), "m"));
    named.expect("arguments have names");
    assert_eq!(orders(&session), 2, "a name is no use");
    let done = session.edit(function, |edit| {
        let first = edit.body().block_insts(BlockId::from_raw(0.into())).next();
        edit.erase(first.expect("there are some"))
    });
    done.expect("nobody reads a store");
    assert_eq!(orders(&session), 0);
}
