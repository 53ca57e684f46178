//! The rules for addresses without a property: those that may be private, or that are not passed.
//!
//! The fact holds for addresses from unknown places (the first item in [`super`]), and for each
//! address that is computed from one for which it holds. It also holds for every instruction that
//! gives no address, and nothing follows from that. So the addresses with the property are exactly
//! the instructions without the fact, even if an edit makes an address of an instruction.

use std::ops::ControlFlow;

use phalanx_fixpoint::{Rules, Seen};
use phalanx_ir::{InstId, Opcode};

use super::{From, Scan, number};

pub(super) struct Addresses<'a> {
    pub(super) scan: Scan<'a>,
    /// For each address, the addresses computed from it; sorted. If `None`, the rules use def-use
    /// lists.
    pub(super) users: Option<Vec<(u32, InstId)>>,
    /// The number of uses visited so far.
    pub(super) looked_at: usize,
}

pub(super) fn inst(number: u32) -> InstId {
    InstId::from_raw(number.into())
}

impl Addresses<'_> {
    fn is_made_from(&self, user: InstId, of: InstId) -> bool {
        let mut is_made = false;
        self.scan.made_from(user, |from| {
            is_made |= matches!(from, From::Inst(operand) if operand == of);
        });
        is_made
    }
}

impl Rules for Addresses<'_> {
    type Subject = u32;
    type Bits = bool;
    type Step = ();

    fn seed(&mut self, of: u32) -> bool {
        let (scan, of) = (&self.scan, inst(of));
        let mut is_first = !scan.is_address(of) || scan.is_private_only(scan.code.body.inst(of).ty);
        if !is_first {
            scan.made_from(of, |from| is_first |= matches!(from, From::Other));
        }
        is_first
    }

    fn gives(
        &mut self,
        of: u32,
        holds: bool,
        _: Seen<'_, u32, bool>,
        tell: &mut impl FnMut(u32, bool, ()) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !holds {
            return ControlFlow::Continue(());
        }
        if let Some(users) = &self.users {
            let first = users.partition_point(|(from, _)| *from < of);
            let mut own = users[first..].iter().take_while(|(from, _)| *from == of);
            return own.try_for_each(|(_, user)| tell(number(*user) as u32, true, ()));
        }
        let of = inst(of);
        if !self.scan.is_address(of) {
            return ControlFlow::Continue(());
        }
        let body = self.scan.code.body;
        for read in body.uses_of(of.into()) {
            self.looked_at += 1;
            let is_stored = body.inst(read.user).opcode == Opcode::Store && read.index == 0;
            let slot = is_stored.then(|| self.scan.slot(body.operands(read.user)[1])).flatten();
            if let Some(slot) = slot {
                // A stored address flows to the loads of the slot.
                self.looked_at += slot.loads.len();
                let mut loads = slot.loads.iter().filter(|load| self.scan.is_address(**load));
                loads.try_for_each(|load| tell(number(*load) as u32, true, ()))?;
            } else if self.scan.is_address(read.user) && self.is_made_from(read.user, of) {
                tell(number(read.user) as u32, true, ())?;
            }
        }
        ControlFlow::Continue(())
    }

    fn supported(&mut self, of: u32, want: bool, seen: Seen<'_, u32, bool>) -> bool {
        let mut holds = self.seed(of);
        if want && !holds {
            self.scan.made_from(inst(of), |from| {
                holds |= match from {
                    From::Inst(operand) => seen.get(number(operand) as u32),
                    From::Other => true,
                    From::Known => false,
                };
            });
        }
        want && holds
    }

    fn work(&self) -> usize {
        self.looked_at
    }
}
