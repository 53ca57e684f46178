//! Branches, loops and joins of random kernels of the refinement law.
//!
//! Each function writes one statement and ends in a block of its own, where earlier values are
//! visible again. The shapes are those that passes look for: diamonds that become selections,
//! conditions that imply later ones, arms that compute the same, loops with invariant operations,
//! and code that is never executed.
//!
//! For example [`Writer::guarded`] writes a value that is poison unless a test holds, and behind
//! the test uses it where poison is undefined behaviour. A pass that moves the use before the test
//! makes the kernel worse.
//!
//! Invariant: a value of an arm is not read behind the arm, except by a phi.

use super::{
    operations::Ty,
    programs::{Known, Need, Writer},
};

impl Writer<'_> {
    /// Phis of a join: one of each of some types, from these blocks with what was seen at their
    /// ends.
    pub(super) fn phis(&mut self, from: &[(String, Vec<Known>, bool)]) {
        let outer = self.scope.clone();
        let mut phis = Vec::new();
        for _ in 0..self.below(4) {
            let ty = Ty::choose(self.rng);
            let mut is_certain = true;
            let mut incoming = Vec::new();
            for (block, seen, is_taken) in from {
                self.scope.clone_from(seen);
                let (value, certain) = self.operand(ty, Need::Any);
                is_certain &= certain || !is_taken;
                incoming.push(format!("[ {value}, %{block} ]"));
            }
            self.scope.clone_from(&outer);
            let name = self.name();
            self.line(&format!("{name} = phi {} {}", ty.text(), incoming.join(", ")));
            phis.push(Known { text: name, ty, is_certain });
        }
        self.scope.extend(phis);
        self.keep();
    }

    /// A branch with one arm or two.
    pub(super) fn diamond(&mut self) {
        let condition = self.condition();
        let [yes, no, end] = [self.label(), self.label(), self.label()];
        let has_both = self.chance(0.6);
        let outer = self.scope.clone();
        let from = self.block.clone();
        self.branch(&condition, &yes, if has_both { &no } else { &end });
        let mut ends = Vec::new();
        if !has_both {
            ends.push((from, outer.clone(), true));
        }
        let leaves = self.chance(0.06);
        for (label, is_there, leaves) in [(yes, true, leaves), (no, has_both, false)] {
            if is_there {
                self.begin(&label);
                self.arm(false);
                if leaves {
                    self.line("ret void");
                    self.scope.clone_from(&outer);
                    continue;
                }
                self.jump(&end);
                ends.push((self.block.clone(), std::mem::take(&mut self.scope), true));
                self.scope.clone_from(&outer);
            }
        }
        self.begin(&end);
        self.phis(&ends);
    }

    /// A condition that never holds.
    fn never(&mut self) -> String {
        match self.below(5) {
            0 | 1 => "false".to_owned(),
            2 => {
                let (x, _) = self.operand(Ty::I32, Need::Certain);
                self.value(Ty::I1, true, &format!("icmp ult i32 {x}, 0"))
            }
            3 => {
                let (x, _) = self.operand(Ty::I32, Need::Certain);
                let none = self.value(Ty::I32, true, &format!("and i32 {x}, 0"));
                self.value(Ty::I1, true, &format!("icmp eq i32 {none}, 5"))
            }
            _ => self.value(Ty::I1, true, "icmp ugt i32 %few, 7"),
        }
    }

    /// A branch whose arm is never executed, so anything may stand there.
    pub(super) fn dead_arm(&mut self) {
        let condition = self.never();
        let [yes, end] = [self.label(), self.label()];
        let (outer, from) = (self.scope.clone(), self.block.clone());
        self.branch(&condition, &yes, &end);
        self.begin(&yes);
        self.arm(true);
        let ends_here = self.chance(0.2);
        if ends_here {
            self.line("unreachable");
        } else {
            self.jump(&end);
        }
        let arm = (self.block.clone(), std::mem::take(&mut self.scope), false);
        self.scope.clone_from(&outer);
        self.begin(&end);
        if ends_here {
            return;
        }
        let (before, dead) = (from.clone(), arm.0.clone());
        let has_pointer = self.chance(0.3);
        if has_pointer {
            let name = self.name();
            let other = self.one_of(&["undef", "poison", "null", "%own"]);
            let pointer = "ptr addrspace(1)";
            self.line(&format!("{name} = phi {pointer} [ %own, %{before} ], [ {other}, %{dead} ]"));
            self.phis(&[(from, outer, true), arm]);
            self.through(&name, pointer);
        } else {
            self.phis(&[(from, outer, true), arm]);
        }
    }

    /// A division behind a test of its divisor, in a loop or not.
    pub(super) fn guarded_division(&mut self) {
        let (divisor, _) = self.operand(Ty::I32, Need::Certain);
        let (dividend, certain) = self.operand(Ty::I32, Need::Any);
        let is_signed = self.chance(0.3);
        let test = if is_signed { "sgt" } else { "ne" };
        let name = self.value(Ty::I1, true, &format!("icmp {test} i32 {divisor}, 0"));
        let [yes, end] = [self.label(), self.label()];
        let (outer, from) = (self.scope.clone(), self.block.clone());
        self.branch(&name, &yes, &end);
        self.begin(&yes);
        let op = self.one_of(if is_signed { &["sdiv", "srem"] } else { &["udiv", "urem"] });
        self.value(Ty::I32, certain, &format!("{op} i32 {dividend}, {divisor}"));
        self.arm(false);
        self.jump(&end);
        let arm = (self.block.clone(), std::mem::take(&mut self.scope), true);
        self.scope.clone_from(&outer);
        self.begin(&end);
        self.phis(&[(from, outer, true), arm]);
    }

    /// A loop of few rounds, tested at its end or at its start.
    pub(super) fn rounds(&mut self) {
        let [head, body, end] = [self.label(), self.label(), self.label()];
        let limit = match self.chance(0.6) {
            true => self.one_of(&["1", "2", "3"]).to_owned(),
            false => {
                let (x, _) = self.operand(Ty::I32, Need::Certain);
                self.value(Ty::I32, true, &format!("and i32 {x}, 3"))
            }
        };
        let before = self.block.clone();
        let (first, _) = self.operand(Ty::I32, Need::Any);
        self.jump(&head);
        let outer = self.scope.clone();
        self.begin(&head);
        let [index, next, carried, step] = [self.name(), self.name(), self.name(), self.name()];
        // The way back is known only behind the body: it goes in here afterwards.
        let place = self.out.len();
        self.scope.push(Known { text: index.clone(), ty: Ty::I32, is_certain: true });
        self.scope.push(Known { text: carried.clone(), ty: Ty::I32, is_certain: false });
        let tests_first = self.chance(0.5);
        if tests_first {
            let test = self.name();
            self.line(&format!("{test} = icmp ult i32 {index}, {limit}"));
            self.branch(&test, &body, &end);
            self.begin(&body);
        }
        let seen = self.scope.clone();
        self.arm(false);
        let (latest, _) = self.operand(Ty::I32, Need::Any);
        let flags = self.one_of(&["", "nuw ", "nsw ", "nuw nsw "]);
        self.line(&format!("{next} = add {flags}i32 {index}, 1"));
        let flags = self.one_of(&["", "nuw ", "nsw "]);
        self.line(&format!("{step} = add {flags}i32 {latest}, {carried}"));
        let latch = self.block.clone();
        if tests_first {
            self.jump(&head);
            self.scope = seen;
        } else {
            let test = self.name();
            self.line(&format!("{test} = icmp ult i32 {next}, {limit}"));
            self.branch(&test, &head, &end);
            self.scope.push(Known { text: step.clone(), ty: Ty::I32, is_certain: false });
        }
        let phis = format!(
            "  {index} = phi i32 [ 0, %{before} ], [ {next}, %{latch} ]\n  \
             {carried} = phi i32 [ {first}, %{before} ], [ {step}, %{latch} ]\n"
        );
        self.out.insert_str(place, &phis);
        self.begin(&end);
        // What a loop leaves is seen behind it, with its own names.
        self.scope.retain(|known| {
            let is_outer = outer.iter().any(|o| o.text == known.text);
            is_outer || known.text == carried || known.text == step || known.text == index
        });
    }

    pub(super) fn cases(&mut self) {
        let (mut chosen, _) = self.operand(Ty::I32, Need::Certain);
        if self.chance(0.7) {
            chosen = self.value(Ty::I32, true, &format!("and i32 {chosen}, 3"));
        }
        let [one, two, other, end] = [self.label(), self.label(), self.label(), self.label()];
        let is_shared = self.chance(0.4);
        let third = if is_shared { &two } else { &other };
        self.line(&format!(
            "switch i32 {chosen}, label %{other} [ i32 0, label %{one} i32 1, label %{two} i32 2, \
             label %{third} i32 9, label %{one} ]"
        ));
        let outer = self.scope.clone();
        let mut ends = Vec::new();
        for label in [one, two, other] {
            self.begin(&label);
            self.arm(false);
            self.jump(&end);
            ends.push((self.block.clone(), std::mem::take(&mut self.scope), true));
            self.scope.clone_from(&outer);
        }
        self.begin(&end);
        self.phis(&ends);
    }

    /// A block to which two branches lead: `a or b`, and what only one of them says is known in it.
    pub(super) fn shared_arm(&mut self) {
        let first = self.condition();
        let [second, shared, other, end] = [self.label(), self.label(), self.label(), self.label()];
        let from = self.block.clone();
        let outer = self.scope.clone();
        if self.chance(0.5) {
            self.branch(&first, &shared, &second);
        } else {
            self.branch(&first, &second, &shared);
        }
        self.begin(&second);
        self.arm(false);
        let condition = self.condition();
        let middle = (self.block.clone(), std::mem::replace(&mut self.scope, outer.clone()), true);
        self.branch(&condition, &shared, &other);
        self.begin(&shared);
        self.phis(&[(from, outer.clone(), true), middle]);
        self.arm(false);
        self.jump(&end);
        let mut ends = vec![(self.block.clone(), std::mem::take(&mut self.scope), true)];
        self.scope.clone_from(&outer);
        self.begin(&other);
        self.arm(false);
        self.jump(&end);
        ends.push((self.block.clone(), std::mem::take(&mut self.scope), true));
        self.scope.clone_from(&outer);
        self.begin(&end);
        self.phis(&ends);
    }

    /// Two arms that compute the same, if with other promises, and end alike.
    pub(super) fn twins(&mut self) {
        let condition = self.condition();
        let [yes, no, end] = [self.label(), self.label(), self.label()];
        let outer = self.scope.clone();
        let before = self.history.len();
        self.branch(&condition, &yes, &no);
        self.begin(&yes);
        for _ in 0..=self.below(2) {
            self.operation();
        }
        let made: Vec<Known> = self.history[before..].to_vec();
        let first = (self.block.clone(), std::mem::replace(&mut self.scope, outer.clone()), true);
        let slot = self.below(12);
        let stores = self.chance(0.4);
        if stores {
            self.scope.clone_from(&first.1);
            self.store_to(slot);
            self.scope.clone_from(&outer);
        }
        self.jump(&end);
        self.begin(&no);
        for known in made {
            if self.is_seen(&known.text) {
                let text = self.with_other_promises(&known.text);
                self.value(known.ty, known.is_certain && text == known.text, &text);
            }
        }
        if stores {
            self.store_to(slot);
        }
        self.jump(&end);
        let second = (self.block.clone(), std::mem::replace(&mut self.scope, outer), true);
        self.begin(&end);
        self.phis(&[first, second]);
    }

    /// What is poison unless a test holds, behind the test, where it is certain.
    pub(super) fn guarded(&mut self) {
        let (x, _) = self.operand(Ty::I32, Need::Certain);
        let (y, _) = self.operand(Ty::I32, Need::Certain);
        let (test, text) = match self.below(4) {
            0 => (format!("icmp ult i32 {x}, 32"), format!("shl i32 {y}, {x}")),
            1 => (format!("icmp ult i32 {x}, 7"), format!("add nuw i32 {x}, 40")),
            2 => (format!("icmp ugt i32 {x}, 4"), format!("sub nuw i32 {x}, 5")),
            _ => (format!("icmp sgt i32 {x}, -1"), format!("zext nneg i32 {x} to i64")),
        };
        let ty = if text.starts_with("zext") { Ty::I64 } else { Ty::I32 };
        // Outside it is poison for some.
        let early = self.chance(0.5).then(|| self.value(ty, false, &text));
        let guard = self.value(Ty::I1, true, &test);
        let [yes, second, end] = [self.label(), self.label(), self.label()];
        let (outer, from) = (self.scope.clone(), self.block.clone());
        self.branch(&guard, &yes, &end);
        self.begin(&yes);
        let value = match early {
            Some(value) => {
                self.scope.iter_mut().filter(|k| k.text == value).for_each(|k| k.is_certain = true);
                value
            }
            None => self.value(ty, true, &text),
        };
        let mut ends = vec![(from, outer.clone(), true)];
        match self.below(5) {
            0 => {
                let limit = self.one_of(&["3", "9", "45", "100"]);
                let part = format!("icmp ult {} {value}, {limit}", ty.text());
                let part = self.value(Ty::I1, true, &part);
                self.branch(&part, &second, &end);
                ends.push((self.block.clone(), self.scope.clone(), true));
                self.begin(&second);
            }
            1 if ty == Ty::I32 => {
                let call = "call i32 @llvm.umin.i32";
                self.value(Ty::I32, true, &format!("{call}(i32 noundef {value}, i32 noundef 9)"));
                self.keep();
            }
            2 if ty == Ty::I32 => {
                let odd = self.value(Ty::I32, true, &format!("or i32 {value}, 1"));
                self.value(Ty::I32, true, &format!("udiv i32 1000, {odd}"));
                self.keep();
            }
            // What demands a value is the declaration.
            3 if ty == Ty::I32 => {
                self.value(Ty::I32, true, &format!("call i32 @llvm.bitreverse.i32(i32 {value})"));
                self.keep();
            }
            _ => {}
        }
        self.arm(false);
        self.jump(&end);
        ends.push((self.block.clone(), std::mem::take(&mut self.scope), true));
        self.scope = outer;
        self.begin(&end);
        self.phis(&ends);
    }

    /// A phi of constants, and a branch or switch on it or on what is frozen of it.
    pub(super) fn chosen_way(&mut self) {
        let condition = self.condition();
        let ty = if self.chance(0.6) { Ty::I1 } else { Ty::I32 };
        let [yes, no, join, left, right] =
            [self.label(), self.label(), self.label(), self.label(), self.label()];
        let end = self.label();
        let outer = self.scope.clone();
        self.branch(&condition, &yes, &no);
        let (mut incoming, mut is_certain) = (Vec::new(), true);
        for label in [yes, no] {
            self.begin(&label);
            self.arm(false);
            let (value, is_sure) = match self.below(5) {
                0 | 1 => self.operand(ty, Need::Any),
                2 => (self.one_of(&["undef", "poison"]).to_owned(), false),
                _ => self.constant(ty, false),
            };
            is_certain &= is_sure;
            incoming.push(format!("[ {value}, %{} ]", self.block));
            self.jump(&join);
            self.scope.clone_from(&outer);
        }
        self.begin(&join);
        let phi = format!("phi {} {}", ty.text(), incoming.join(", "));
        let mut chosen = self.name();
        self.line(&format!("{chosen} = {phi}"));
        self.scope.push(Known { text: chosen.clone(), ty, is_certain });
        if !is_certain || self.chance(0.2) {
            chosen = self.value(ty, true, &format!("freeze {} {chosen}", ty.text()));
        }
        let outer = self.scope.clone();
        match ty {
            Ty::I1 => self.branch(&chosen, &left, &right),
            _ => self.line(&format!(
                "switch i32 {chosen}, label %{left} [ i32 0, label %{right} i32 7, label %{right} \
                 i32 1, label %{left} ]"
            )),
        }
        let mut ends = Vec::new();
        for label in [left, right] {
            self.begin(&label);
            self.arm(false);
            self.jump(&end);
            ends.push((self.block.clone(), std::mem::take(&mut self.scope), true));
            self.scope.clone_from(&outer);
        }
        self.begin(&end);
        self.phis(&ends);
    }
}
