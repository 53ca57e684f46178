//! Operations of random kernels of the refinement law: operations with promises, vectors, memory,
//! calls, and operations of a wave.
//!
//! Each function writes one statement. A result is certain if its operands are and no promise can
//! be broken; see [`programs`](super::programs).
//!
//! For example `or disjoint i32 %a, %b` of certain values is uncertain, and `freeze` of it is
//! certain again.

use rand::{RngCore, seq::IndexedRandom as _};

use super::programs::{Need, Writer};
use crate::oracle::programs::Kind;

/// Types of values.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    I1,
    I8,
    I32,
    I64,
    Float,
    /// `<4 x i32>`
    Ints,
    /// `<4 x i1>`
    Bits,
}

impl Ty {
    pub(super) fn text(self) -> &'static str {
        match self {
            Ty::I1 => "i1",
            Ty::I8 => "i8",
            Ty::I32 => "i32",
            Ty::I64 => "i64",
            Ty::Float => "float",
            Ty::Ints => "<4 x i32>",
            Ty::Bits => "<4 x i1>",
        }
    }

    pub(super) fn lane(self) -> Ty {
        match self {
            Ty::Ints => Ty::I32,
            Ty::Bits => Ty::I1,
            other => other,
        }
    }

    pub(super) fn choose(rng: &mut dyn RngCore) -> Ty {
        const ALL: &[Ty] =
            &[Ty::I32, Ty::I32, Ty::I32, Ty::I1, Ty::I1, Ty::I8, Ty::I64, Ty::Ints, Ty::Bits];
        ALL.choose(rng).copied().unwrap_or(Ty::I32)
    }
}

impl Writer<'_> {
    /// An operation on numbers, or one of vectors.
    pub(super) fn operation(&mut self) {
        match self.below(14) {
            0..=3 => self.arithmetic(),
            4 => self.logical(),
            5 => self.shift(),
            6 => self.division(),
            7 | 8 => self.comparison(),
            9 => self.selection(),
            10 => {
                let ty = Ty::choose(self.rng);
                let (x, _) = self.operand(ty, Need::Any);
                self.value(ty, true, &format!("freeze {} {x}", ty.text()));
            }
            11 => self.conversion(),
            12 => self.lanes(),
            _ => self.of_floats(),
        }
    }

    fn int(&mut self) -> Ty {
        [Ty::I32, Ty::I32, Ty::I32, Ty::I8, Ty::I64, Ty::Ints]
            .choose(self.rng)
            .copied()
            .unwrap_or(Ty::I32)
    }

    fn arithmetic(&mut self) {
        let ty = self.int();
        let op = self.one_of(&["add", "sub", "mul"]);
        let flags = self.one_of(&["", "", "", "", "nsw ", "nuw ", "nuw nsw "]);
        let (a, is_sure) = self.operand(ty, Need::Any);
        let (b, is_sure_too) = match self.chance(0.15) {
            true => (a.clone(), is_sure),
            false => self.operand(ty, Need::Any),
        };
        let is_certain = is_sure && is_sure_too && flags.is_empty();
        self.value(ty, is_certain, &format!("{op} {flags}{} {a}, {b}", ty.text()));
    }

    fn logical(&mut self) {
        let ty = if self.chance(0.4) { Ty::I1 } else { self.int() };
        let op = self.one_of(&["and", "or", "or disjoint", "xor"]);
        let (a, is_sure) = self.operand(ty, Need::Any);
        let (b, is_sure_too) = match self.chance(0.15) {
            true => (a.clone(), is_sure),
            false => self.operand(ty, Need::Any),
        };
        let is_certain = is_sure && is_sure_too && op != "or disjoint";
        self.value(ty, is_certain, &format!("{op} {} {a}, {b}", ty.text()));
    }

    fn shift(&mut self) {
        let op = self.one_of(&["shl", "shl nuw", "shl nsw", "lshr", "lshr exact", "ashr"]);
        let ty = self.int();
        let (a, is_sure) = self.operand(ty, Need::Any);
        let is_plain = !op.contains(' ') && ty == Ty::I32;
        let (b, is_small) = match is_plain && self.chance(0.4) {
            true => (self.one_of(&["1", "3", "31"]).to_owned(), true),
            false => (self.operand(ty, Need::Any).0, false),
        };
        self.value(ty, is_sure && is_small, &format!("{op} {} {a}, {b}", ty.text()));
    }

    fn division(&mut self) {
        let (a, is_sure) = self.operand(Ty::I32, Need::Any);
        let (b, _) = self.operand(Ty::I32, Need::Certain);
        let divisor = match self.chance(0.3) {
            true => self.one_of(&["2", "3", "7", "8"]).to_owned(),
            false => self.value(Ty::I32, true, &format!("or i32 {b}, 1")),
        };
        let op = self.one_of(&["udiv", "urem", "udiv exact"]);
        let is_certain = is_sure && op != "udiv exact";
        self.value(Ty::I32, is_certain, &format!("{op} i32 {a}, {divisor}"));
    }

    fn comparison(&mut self) {
        let predicates = ["eq", "ne", "ult", "ule", "ugt", "slt", "sle", "sgt", "samesign ult"];
        let predicate = self.one_of(&predicates);
        let ty = self.int();
        let result = if ty == Ty::Ints { Ty::Bits } else { Ty::I1 };
        let (a, is_sure) = self.operand(ty, Need::Any);
        let (b, is_sure_too) = match self.chance(0.1) {
            true => (a.clone(), is_sure),
            false => self.operand(ty, Need::Any),
        };
        let is_certain = is_sure && is_sure_too && predicate != "samesign ult";
        self.value(result, is_certain, &format!("icmp {predicate} {} {a}, {b}", ty.text()));
    }

    fn selection(&mut self) {
        let ty = Ty::choose(self.rng);
        let by_lane = matches!(ty, Ty::Ints | Ty::Bits) && self.chance(0.6);
        let of = if by_lane { Ty::Bits } else { Ty::I1 };
        let (c, is_sure) = self.operand(of, Need::Any);
        let (a, is_sure_too) = self.operand(ty, Need::Any);
        let (b, is_sure_also) = match self.chance(0.1) {
            true => (a.clone(), is_sure_too),
            false => self.operand(ty, Need::Any),
        };
        let (of, text) = (of.text(), ty.text());
        let is_certain = is_sure && is_sure_too && is_sure_also;
        self.value(ty, is_certain, &format!("select {of} {c}, {text} {a}, {text} {b}"));
    }

    fn conversion(&mut self) {
        let all: &[(&str, Ty, Ty, bool)] = &[
            ("trunc", Ty::I32, Ty::I8, true),
            ("trunc nuw", Ty::I32, Ty::I8, false),
            ("trunc nsw", Ty::I64, Ty::I32, false),
            ("trunc", Ty::I32, Ty::I1, true),
            ("trunc", Ty::I64, Ty::I32, true),
            ("zext", Ty::I1, Ty::I32, true),
            ("zext nneg", Ty::I8, Ty::I32, false),
            ("zext nneg", Ty::I32, Ty::I64, false),
            ("sext", Ty::I32, Ty::I64, true),
            ("sext", Ty::I1, Ty::I32, true),
            ("zext", Ty::Bits, Ty::Ints, true),
            ("trunc", Ty::Ints, Ty::Bits, true),
            ("bitcast", Ty::I32, Ty::Float, true),
        ];
        let Some(&(op, from, to, keeps)) = all.choose(self.rng) else { return };
        let (a, is_sure) = self.operand(from, Need::Any);
        self.value(to, is_sure && keeps, &format!("{op} {} {a} to {}", from.text(), to.text()));
    }

    fn lanes(&mut self) {
        let ty = if self.chance(0.6) { Ty::Ints } else { Ty::Bits };
        let (text, lane) = (ty.text(), ty.lane());
        let (vector, is_sure) = self.operand(ty, Need::Any);
        match self.below(4) {
            0 => {
                let index = self.one_of(&["0", "1", "3", "3", "4", "poison"]);
                let is_certain = is_sure && matches!(index, "0" | "1" | "3");
                self.value(
                    lane,
                    is_certain,
                    &format!("extractelement {text} {vector}, i32 {index}"),
                );
            }
            1 | 2 => {
                let (element, is_sure_too) = self.operand(lane, Need::Any);
                let index = self.one_of(&["0", "1", "2", "%few"]);
                let is_certain = is_sure && is_sure_too && index != "%few";
                let element = format!("{} {element}", lane.text());
                self.value(
                    ty,
                    is_certain,
                    &format!("insertelement {text} {vector}, {element}, i32 {index}"),
                );
            }
            _ => {
                let (other, is_sure_too) = self.operand(ty, Need::Any);
                let masks = [
                    "<i32 0, i32 5, i32 2, i32 7>",
                    "<i32 3, i32 poison, i32 1, i32 0>",
                    "<i32 poison, i32 poison, i32 4, i32 4>",
                    "zeroinitializer",
                ];
                let mask = self.one_of(&masks);
                let is_certain = is_sure && is_sure_too && !mask.contains("poison");
                self.value(
                    ty,
                    is_certain,
                    &format!("shufflevector {text} {vector}, {text} {other}, <4 x i32> {mask}"),
                );
            }
        }
    }

    /// Small numbers, so that no result is NaN.
    fn of_floats(&mut self) {
        let (a, is_sure) = self.operand(Ty::I8, Need::Any);
        let (b, is_sure_too) = self.operand(Ty::I8, Need::Any);
        let is_certain = is_sure && is_sure_too;
        let conversion = self.one_of(&["sitofp", "uitofp", "uitofp nneg"]);
        let is_certain = is_certain && conversion != "uitofp nneg";
        let x = self.value(Ty::Float, is_certain, &format!("{conversion} i8 {a} to float"));
        let y = self.value(Ty::Float, is_sure_too, &format!("sitofp i8 {b} to float"));
        match self.below(3) {
            0 => {
                let op = self.one_of(&["fadd", "fsub nnan ninf", "fmul nnan"]);
                let z = self.value(Ty::Float, is_certain, &format!("{op} float {x}, {y}"));
                self.value(Ty::I32, false, &format!("fptosi float {z} to i32"));
            }
            1 => {
                let op = self.one_of(&["olt", "oge", "nnan ult", "une"]);
                self.value(Ty::I1, is_certain, &format!("fcmp {op} float {x}, {y}"));
            }
            _ => {
                self.value(Ty::I8, false, &format!("fptoui float {x} to i8"));
            }
        }
    }

    /// `and` and `or` that evaluate their second operand only if the first one requires it.
    pub(super) fn logic(&mut self) {
        let (x, _) = self.operand(Ty::I32, Need::Certain);
        let guard = self.value(Ty::I1, true, &format!("icmp ult i32 {x}, 32"));
        let shifted = self.value(Ty::I32, false, &format!("shl i32 3, {x}"));
        let (y, is_sure) = self.operand(Ty::I32, Need::Certain);
        let part = self.value(Ty::I1, false, &format!("icmp ugt i32 {shifted}, {y}"));
        match self.below(3) {
            // Certain, since what is chosen is.
            0 => {
                let text = format!("select i1 {guard}, i1 {part}, i1 false");
                self.value(Ty::I1, is_sure, &text);
            }
            1 => {
                let not = self.value(Ty::I1, true, &format!("xor i1 {guard}, true"));
                let text = format!("select i1 {not}, i1 true, i1 {part}");
                self.value(Ty::I1, is_sure, &text);
            }
            _ => {
                let op = self.one_of(&["and", "or"]);
                self.value(Ty::I1, false, &format!("{op} i1 {guard}, {part}"));
            }
        }
    }

    /// The address of a slot of the thread, spelled in one of several ways.
    fn slot(&mut self) -> (String, &'static str) {
        let private = match self.kind {
            Kind::Amdgcn => "ptr addrspace(5)",
            Kind::Nvptx => "ptr",
        };
        match self.below(7) {
            0 => ("%slot".to_owned(), private),
            1 => {
                let flags = self.one_of(&["", "inbounds ", "nuw "]);
                let (index, _) = self.operand(Ty::I32, Need::Certain);
                let name = self.name();
                self.line(&format!("{name}.i = and i32 {index}, 3"));
                self.line(&format!(
                    "{name} = getelementptr {flags}[4 x i32], {private} %arr, i32 0, i32 {name}.i"
                ));
                (name, private)
            }
            2 => ("%lds.at".to_owned(), "ptr addrspace(3)"),
            3 | 4 => {
                let (name, at) = (self.name(), self.below(8));
                self.line(&format!("{name} = getelementptr i32, ptr %gen, i32 {at}"));
                (name, "ptr")
            }
            _ => {
                let flags = self.one_of(&["", "inbounds ", "nuw ", "nusw "]);
                let (name, at) = (self.name(), self.below(12));
                self.line(&format!(
                    "{name} = getelementptr {flags}i32, ptr addrspace(1) %own, i32 {at}"
                ));
                (name, "ptr addrspace(1)")
            }
        }
    }

    /// Reads or writes the number that an address of the thread's area leads to.
    pub(super) fn through(&mut self, address: &str, pointer: &str) {
        if self.chance(0.5) {
            let (value, _) = self.operand(Ty::I32, Need::Any);
            self.line(&format!("store i32 {value}, {pointer} {address}, align 4"));
        } else {
            self.value(Ty::I32, false, &format!("load i32, {pointer} {address}, align 4"));
        }
    }

    /// One of two addresses, and what is there.
    fn either_address(&mut self) {
        let (base, pointer) = match self.chance(0.5) {
            true => ("%own", "ptr addrspace(1)"),
            false => ("%gen", "ptr"),
        };
        let names = [self.name(), self.name(), self.name()];
        for name in &names[..2] {
            let (flags, at) = (self.one_of(&["", "inbounds ", "nuw "]), self.below(12));
            self.line(&format!("{name} = getelementptr {flags}i32, {pointer} {base}, i32 {at}"));
        }
        let (condition, _) = self.operand(Ty::I1, Need::Certain);
        let [first, second, chosen] = &names;
        self.line(&format!(
            "{chosen} = select i1 {condition}, {pointer} {first}, {pointer} {second}"
        ));
        let frozen = self.name();
        match self.chance(0.3) {
            true => {
                self.line(&format!("{frozen} = freeze {pointer} {chosen}"));
                self.through(&frozen, pointer);
            }
            false => self.through(chosen, pointer),
        }
    }

    /// Some bytes of the thread's area, from one place to another or all the same.
    fn bytes(&mut self) {
        let (to, from) = (self.name(), self.name());
        let (at, of) = (self.below(8), 8 + self.below(8));
        let pointer = "ptr addrspace(1)";
        self.line(&format!("{to} = getelementptr i32, {pointer} %own, i32 {at}"));
        self.line(&format!("{from} = getelementptr i32, {pointer} %own, i32 {of}"));
        if self.chance(0.5) {
            let (byte, _) = self.operand(Ty::I8, Need::Any);
            let call = "call void @llvm.memset.p1.i64";
            self.line(&format!("{call}({pointer} {to}, i8 {byte}, i64 8, i1 false)"));
        } else {
            let call = "call void @llvm.memcpy.p1.p1.i64";
            self.line(&format!("{call}({pointer} {to}, {pointer} {from}, i64 4, i1 false)"));
        }
    }

    pub(super) fn store(&mut self) {
        match self.below(12) {
            0 => return self.bytes(),
            1 | 2 => return self.either_address(),
            _ => {}
        }
        if self.chance(0.15) {
            let (value, _) = self.operand(Ty::Ints, Need::Any);
            let name = self.name();
            self.line(&format!("{name} = getelementptr i32, ptr addrspace(1) %own, i32 16"));
            self.line(&format!("store <4 x i32> {value}, ptr addrspace(1) {name}, align 16"));
            return;
        }
        let (at, pointer) = self.slot();
        let ty = if self.chance(0.8) { Ty::I32 } else { Ty::I8 };
        let (value, _) = self.operand(ty, Need::Any);
        self.line(&format!("store {} {value}, {pointer} {at}, align 1", ty.text()));
    }

    pub(super) fn load(&mut self) {
        match self.below(8) {
            0 => {
                let name = self.name();
                self.line(&format!("{name} = getelementptr i32, ptr addrspace(1) %own, i32 16"));
                let text = format!("load <4 x i32>, ptr addrspace(1) {name}, align 16");
                self.value(Ty::Ints, false, &text);
            }
            1 | 2 => {
                let promise = self.one_of(&["", ", !noundef !0", ", !range !1"]);
                let name = self.name();
                self.line(&format!("{name} = getelementptr i32, ptr addrspace(1) %gp, i32 %few"));
                let text = format!("load i32, ptr addrspace(1) {name}, align 4{promise}");
                self.value(Ty::I32, promise != ", !range !1", &text);
            }
            _ => {
                let (at, pointer) = self.slot();
                let promise = if self.chance(0.1) { ", !range !1" } else { "" };
                let ty = if self.chance(0.8) || !promise.is_empty() { Ty::I32 } else { Ty::I8 };
                let text = format!("load {}, {pointer} {at}, align 1{promise}", ty.text());
                self.value(ty, false, &text);
            }
        }
    }

    pub(super) fn call(&mut self) {
        let (a, is_sure) = self.operand(Ty::I32, Need::Any);
        let (b, is_sure_too) = self.operand(Ty::I32, Need::Any);
        let (sure, _) = self.operand(Ty::I32, Need::Certain);
        let both = is_sure && is_sure_too;
        match self.below(11) {
            0 => {
                let text = format!("call i32 @llvm.umin.i32(i32 noundef {sure}, i32 {b})");
                self.value(Ty::I32, is_sure_too, &text);
            }
            1 => {
                self.value(Ty::I32, both, &format!("call i32 @llvm.smax.i32(i32 {a}, i32 {b})"));
            }
            2 => {
                let text = format!("call i32 @llvm.abs.i32(i32 {a}, i1 true)");
                self.value(Ty::I32, false, &text);
            }
            3 => {
                let text = format!("call i32 @llvm.ctlz.i32(i32 {a}, i1 true)");
                self.value(Ty::I32, false, &text);
            }
            4 => {
                let text = format!("call range(i32 0, 20) i32 @llvm.ctpop.i32(i32 {a})");
                self.value(Ty::I32, false, &text);
            }
            5 => {
                let text = format!("call i32 @llvm.fshl.i32(i32 {a}, i32 {b}, i32 {sure})");
                self.value(Ty::I32, both, &text);
            }
            6 => {
                let text = format!("call i32 @llvm.usub.sat.i32(i32 {a}, i32 {b})");
                self.value(Ty::I32, both, &text);
            }
            7 => {
                let name = self.name();
                let call = "call { i32, i1 } @llvm.uadd.with.overflow.i32";
                self.line(&format!("{name} = {call}(i32 {a}, i32 {b})"));
                self.value(Ty::I32, both, &format!("extractvalue {{ i32, i1 }} {name}, 0"));
                self.value(Ty::I1, both, &format!("extractvalue {{ i32, i1 }} {name}, 1"));
            }
            8 => {
                let (c, _) = self.operand(Ty::I1, Need::Certain);
                let text = format!("call i32 @picks(i1 {c}, i32 {a}, i32 {b})");
                self.value(Ty::I32, both, &text);
            }
            9 => {
                let text = format!("call i32 @sure(i32 {sure}, i32 {b})");
                self.value(Ty::I32, true, &text);
            }
            _ => {
                let text = format!("call i32 @ways(i32 {a}, i32 {sure})");
                self.value(Ty::I32, false, &text);
            }
        }
    }

    /// An operation among the threads of a wave or of a workgroup, or an assumption.
    pub(super) fn talk(&mut self) {
        if self.chance(0.25) {
            let (x, _) = self.operand(Ty::I32, Need::Certain);
            let masked = self.value(Ty::I32, true, &format!("and i32 {x}, 15"));
            let holds = self.value(Ty::I1, true, &format!("icmp ult i32 {masked}, 16"));
            return self.line(&format!("call void @llvm.assume(i1 {holds})"));
        }
        if !self.is_inside() && self.chance(0.4) {
            return self.exchange();
        }
        let (bit, _) = self.operand(Ty::I1, Need::Certain);
        let (number, _) = self.operand(Ty::I32, Need::Any);
        match (self.kind, self.chance(0.5)) {
            (Kind::Amdgcn, true) => {
                let text = format!("call i64 @llvm.amdgcn.ballot.i64(i1 {bit})");
                self.value(Ty::I64, true, &text);
            }
            (Kind::Amdgcn, false) => {
                let text = format!("call i32 @llvm.amdgcn.readfirstlane.i32(i32 {number})");
                self.value(Ty::I32, false, &text);
            }
            (Kind::Nvptx, true) => {
                let text = format!("call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 {bit})");
                self.value(Ty::I32, true, &text);
            }
            (Kind::Nvptx, false) => {
                let call = "call i32 @llvm.nvvm.shfl.sync.idx.i32";
                let text = format!("{call}(i32 -1, i32 {number}, i32 0, i32 31)");
                self.value(Ty::I32, false, &text);
            }
        }
    }

    /// Each thread gives a number to another one, through workgroup memory.
    fn exchange(&mut self) {
        let barrier = match self.kind {
            Kind::Amdgcn => "call void @llvm.amdgcn.s.barrier()",
            Kind::Nvptx => "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        };
        let (value, _) = self.operand(Ty::I32, Need::Any);
        self.line(&format!("store i32 {value}, ptr addrspace(3) %lds.at, align 4"));
        self.line(barrier);
        let name = self.name();
        self.line(&format!("{name}.o = xor i32 %own.n, 1"));
        let array = "[64 x i32], ptr addrspace(3) @lds";
        self.line(&format!("{name} = getelementptr {array}, i32 0, i32 {name}.o"));
        self.value(Ty::I32, false, &format!("load i32, ptr addrspace(3) {name}, align 4"));
        self.line(barrier);
    }
}
