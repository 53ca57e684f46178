//! Work-group functions of OpenCL C: all threads of a workgroup wait for each other, and each gets
//! a result of the operands of all.
//!
//! ```text
//! work_group_scan_exclusive_add(x)     // the sum over the threads before this one
//! work_group_broadcast(x, 2, 0)        // the operand of the thread with these local ids
//! ```
//!
//! Threads are ordered by their linear local ids. The result is that of the [sub-group
//! function](crate::sub_groups) of the same name with threads as lanes. Each call is a barrier as
//! well: all threads that have not ended must stand at the same call, or the launch hangs.
//!
//! Cost: O(threads²) for scans, O(threads) for the others.

use super::{Run, Seat, State};
use crate::{
    collective::Lane,
    fault::{Failure, Fault, FaultKind},
    sub_groups::{self, WorkGroup},
    thread::Group,
    value::Value,
};

impl Run<'_, '_> {
    /// Completes a work-group function at which all threads of the workgroup stand.
    pub(super) fn release_work_group(&mut self, seats: &mut [Seat]) -> Result<(), Failure> {
        let is_live = |seat: &Seat| !matches!(seat.state, State::Ended);
        let members: Vec<usize> = (0..seats.len()).filter(|&at| is_live(&seats[at])).collect();
        let Some(&first) = members.first() else { return Ok(()) };
        let State::Waiting { group: Group::WorkGroup(kind), .. } = seats[first].state else {
            return Ok(());
        };
        let site = seats[first].thread.site(self.program);
        let stands_there = |&member: &usize| {
            let State::Waiting { group: Group::WorkGroup(_), .. } = seats[member].state else {
                return false;
            };
            seats[member].thread.site(self.program) == site
        };
        if !members.iter().all(stands_there) {
            return Ok(());
        }
        let thread = seats[first].thread.at.number;
        let fault = |kind| Failure::Fault(Fault { kind, thread, site });
        let mut lanes = Vec::with_capacity(members.len());
        let mut types = Vec::new();
        for &member in &members {
            let (args, of) = seats[member].thread.call_arguments(self.program).map_err(fault)?;
            lanes.push(Lane { number: member as u32, args });
            types = of;
        }
        let results = match kind {
            WorkGroup::Broadcast => broadcast(seats, &lanes),
            WorkGroup::As(kind) => {
                let (shapes, width) = (&self.program.shapes, seats.len() as u32);
                sub_groups::perform(kind, shapes, &types, width, &lanes)
            }
        };
        let results = results.map_err(fault)?;
        self.report.barriers += 1;
        if self.wants_accesses {
            self.tell_meeting(seats, &members);
        }
        for (&member, result) in members.iter().zip(results) {
            self.resume(&mut seats[member], result);
        }
        Ok(())
    }
}

/// The operand of the thread whose local ids are the remaining arguments.
fn broadcast(seats: &[Seat], lanes: &[Lane]) -> Result<Vec<Value>, FaultKind> {
    // Numbers, or a vector of them.
    let ids = |lane: &Lane| {
        let given = lane.args[1..].iter();
        let all = given.flat_map(|id| id.elements().unwrap_or(std::slice::from_ref(id)));
        all.map(Value::bits).collect::<Option<Vec<u128>>>()
    };
    let Some(wanted) = ids(&lanes[0]) else {
        return Err(FaultKind::undefined("a local id of work_group_broadcast is poison"));
    };
    if lanes.iter().any(|lane| ids(lane).as_ref() != Some(&wanted)) {
        let what = "threads name different local ids in work_group_broadcast";
        return Err(FaultKind::undefined(what));
    }
    let is_named = |lane: &&Lane| {
        let own = seats[lane.number as usize].thread.at.thread.map(u128::from);
        let given = (0..3).map(|at| wanted.get(at).copied().unwrap_or(0));
        own.into_iter().eq(given)
    };
    let Some(named) = lanes.iter().find(is_named) else {
        return Err(FaultKind::undefined("work_group_broadcast names no thread"));
    };
    Ok(vec![named.args[0].clone(); lanes.len()])
}
