//! The rules by which an address may lead to private memory, or to what is not passed.
//!
//! It holds of an address of the first kind ([`super`]), and of what is made from one of which it
//! holds. It also holds of every instruction that is no address, from which nothing follows: so
//! what is shared is the rest, whatever an edit makes of an instruction.

use std::ops::ControlFlow;

use phalanx_fixpoint::{Rules, Seen};
use phalanx_ir::{InstId, Opcode};

use super::{From, Scan, number};

pub(super) struct Addresses<'a> {
    pub(super) scan: Scan<'a>,
    /// By address, who is made from it, in order. If there is no such list, def-use lists tell.
    pub(super) users: Option<Vec<(u32, InstId)>>,
    /// How many uses have been looked at.
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
                // What is stored in a slot is loaded from it.
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
