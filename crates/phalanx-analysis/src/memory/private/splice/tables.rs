//! Replaces the affected objects in the tables of a function.
//!
//! # What
//!
//! [`Places`] finds the positions of the touches and objects of a part among the old ones.
//! [`joined`] inserts them there, and leaves out the old entries of the affected objects.
//!
//! # How
//!
//! A place is an index in the old table: the new entry goes before the old entry with that index.
//! Unchanged instructions keep their order. So the place of an instruction that has changed or had
//! no touches is behind the nearest unchanged instruction above it that had some. If there is none
//! in its block, it is the place where the block begins.
//!
//! One pass then merges old and new entries, in the order of a scan of the whole function. The pass
//! also numbers the events: those of a block are adjacent in both orders.
//!
//! An edit of blocks may change the order of unchanged blocks. Then the old entries are cut into
//! one [`Run`] per block, and these are sorted. In edited blocks all instructions count as changed,
//! so no old entries remain there.

use std::ops::Range;

use phalanx_graph::{DomTree, Node};
use phalanx_ir::{BlockId, Body, InstId, Opcode, flow::node_of};

use super::question::Question;
use crate::code::Code;
use crate::edited::Edited;
use crate::memory::{
    private::{
        PrivateMemory, Slot, Touch, accesses::Access, dependencies::DependencySet,
        entries::Entries, objects::number,
    },
    ssa::{LEFT_OUT, Part, Ssa},
};

/// Finds places for new entries.
pub(super) struct Places<'a> {
    old: &'a PrivateMemory,
    body: &'a Body,
    dom: &'a DomTree,
    question: &'a mut Question,
    edited: Edited<'a>,
}

impl<'a> Places<'a> {
    pub(super) fn new(
        old: &'a PrivateMemory,
        code: Code<'a>,
        dom: &'a DomTree,
        question: &'a mut Question,
        edited: Edited<'a>,
    ) -> Self {
        Places { old, body: code.body, dom, question, edited }
    }

    fn is_changed(&self, inst: InstId) -> bool {
        self.edited.insts.binary_search_by_key(&number(inst), |inst| number(*inst)).is_ok()
    }

    /// Whether all instructions of a block count as changed.
    fn is_all_changed(&self, block: BlockId) -> bool {
        self.edited.blocks.is_some_and(|blocks| blocks.binary_search(&block).is_ok())
    }

    /// The place of the nearest unchanged instruction with one, from `inst` upwards in its block,
    /// `inst` included.
    fn above<T>(
        &mut self,
        inst: InstId,
        place: impl Fn(InstId) -> Option<T>,
    ) -> Option<Option<(InstId, T)>> {
        let block = self.body.block_of(inst)?;
        let mut at = Some(inst).filter(|_| !self.is_all_changed(block));
        while let Some(inst) = at {
            self.question.step()?;
            if !self.is_changed(inst)
                && let Some(place) = place(inst)
            {
                return Some(Some((inst, place)));
            }
            at = self.body.prev(inst);
        }
        Some(None)
    }

    /// The first touch of a block after the graph has changed. If it has none, the place behind the
    /// last block before it that has some.
    fn begin_among_others(&mut self, block: Node) -> Option<u32> {
        let (events, touch_of) = (&self.old.events, &self.old.touch_of);
        let own = events.of(block);
        if !own.is_empty() {
            return Some(touch_of[own.start as usize]);
        }
        let before = &self.dom.preorder()[..self.dom.tin(block)? as usize];
        for &block in before.iter().rev() {
            self.question.step()?;
            if let Some(last) = events.of(block).last() {
                return Some(touch_of[last as usize] + 1);
            }
        }
        Some(0)
    }

    /// For each instruction of a part: the place of its touches, and the range of its touches in
    /// the part.
    pub(super) fn of_touches(&mut self, part: &PrivateMemory) -> Option<Vec<(u32, Range<u32>)>> {
        let mut places = Vec::new();
        let mut from = 0;
        for touches in part.touches.chunk_by(|a, b| a.inst == b.inst) {
            let inst = touches.first()?.inst;
            let (old, body) = (self.old, self.body);
            let place = match self.above(inst, |inst| old.first.get(inst))? {
                Some((above, first)) if above == inst => first,
                Some((above, first)) => first + old.of(above).len() as u32,
                None => {
                    let block = node_of(body.block_of(inst)?);
                    match self.edited.blocks {
                        None => old.begin(self.dom, block),
                        Some(_) => self.begin_among_others(block)?,
                    }
                }
            };
            let end = from + touches.len() as u32;
            places.push((place, from..end));
            from = end;
        }
        Some(places)
    }

    /// All objects in order. Each one is taken from the old table or from the part, and has its
    /// number there.
    pub(super) fn of_objects(&mut self, part: &PrivateMemory) -> Option<Vec<Piece>> {
        let (old, body) = (&self.old.dependencies.allocas, self.body);
        let mut objects = Vec::with_capacity(old.len() + part.dependencies.allocas.len());
        let mut at: usize = 0;
        for (new, &alloca) in (0..).zip(&part.dependencies.allocas) {
            // Places are in ascending order.
            let from = at.saturating_sub(1);
            let is_alloca = |inst: &InstId| body.inst(*inst).opcode == Opcode::Alloca;
            let known = |inst| Some(from + old[from..].iter().position(|&object| object == inst)?);
            let end =
                match self.above(alloca, |inst| Some(inst).filter(is_alloca).and_then(known))? {
                    Some((above, place)) if above == alloca => place,
                    Some((_, place)) => place + 1,
                    None => 0,
                };
            self.keep(&mut objects, at..end);
            at = at.max(end);
            objects.push(Piece { alloca, number: new, is_new: true });
        }
        self.keep(&mut objects, at..old.len());
        Some(objects)
    }

    fn keep(&self, objects: &mut Vec<Piece>, range: Range<usize>) {
        for number in range {
            let alloca = self.old.dependencies.allocas[number];
            if !self.question.objects.contains(&alloca) {
                objects.push(Piece { alloca, number: number as u32, is_new: false });
            }
        }
    }
}

impl PrivateMemory {
    /// The first touch of a block, or the place where it would be.
    fn begin(&self, dom: &DomTree, block: Node) -> u32 {
        let is_before = |touch: &Touch| dom.tin(self.block(touch)) < dom.tin(block);
        self.touches.partition_point(is_before) as u32
    }

    fn block(&self, touch: &Touch) -> Node {
        self.dependencies.accesses[touch.access as usize].block
    }
}

/// An object of the new table.
pub(super) struct Piece {
    alloca: InstId,
    /// Its number in the table that it is taken from.
    number: u32,
    /// Whether it is taken from the part.
    is_new: bool,
}

/// New numbers for the entries of one of the two tables.
struct Numbers<'a> {
    from: &'a PrivateMemory,
    object: Vec<u32>,
    slot: Vec<u32>,
    event: Vec<u32>,
    /// The slots of each object.
    slots_of: Vec<Range<usize>>,
}

impl<'a> Numbers<'a> {
    fn new(from: &'a PrivateMemory) -> Self {
        let mut end = 0;
        let slots_of = |alloca: &InstId| {
            let first = end;
            let own = from.slots[first..].iter().take_while(|slot| slot.alloca == *alloca);
            end += own.count();
            first..end
        };
        Numbers {
            slots_of: from.dependencies.allocas.iter().map(slots_of).collect(),
            from,
            object: vec![LEFT_OUT; from.dependencies.allocas.len()],
            slot: vec![LEFT_OUT; from.slots.len()],
            event: vec![LEFT_OUT; from.touches.len()],
        }
    }

    fn part(&self) -> Part<'_> {
        let PrivateMemory { events, ssa, .. } = self.from;
        Part { events, ssa, event: &self.event, variable: &self.slot }
    }
}

/// The new tables of touches, under construction.
#[derive(Default)]
struct Made {
    accesses: Vec<Access>,
    touches: Vec<Touch>,
    touch_of: Vec<u32>,
    /// The first event of each block, and then the number of events.
    start: Vec<u32>,
    /// The block of the last touch, and the next event number there.
    last: Option<Node>,
    next: u32,
}

impl Made {
    /// Adds touches, and the accesses that they are from.
    fn put(&mut self, numbers: &mut Numbers<'_>, range: Range<u32>) -> Option<()> {
        let from = numbers.from;
        let touches = from.touches.get(range.start as usize..range.end as usize)?;
        let Some(first) = touches.first() else { return Some(()) };
        let behind = from.touches.get(range.end as usize);
        let end = behind.map_or(from.dependencies.accesses.len(), |touch| touch.access as usize);
        let accesses = &from.dependencies.accesses[first.access as usize..end];
        let (first, moved) = (first.access, self.accesses.len() as u32);
        let object = |access: &Access| numbers.object[access.object as usize];
        self.accesses.extend(accesses.iter().map(|a| Access { object: object(a), ..*a }));
        for touch in touches {
            let block = accesses[(touch.access - first) as usize].block;
            if self.last != Some(block) {
                (self.last, self.next) = (Some(block), self.start[block.index()]);
            }
            let event = self.next;
            numbers.event[touch.event as usize] = event;
            *self.touch_of.get_mut(event as usize)? = self.touches.len() as u32;
            let slot = numbers.slot[touch.slot as usize];
            self.touches.push(Touch {
                slot,
                event,
                access: touch.access - first + moved,
                ..*touch
            });
            self.next += 1;
        }
        Some(())
    }
}

/// Lists the slots of all objects, and assigns the new numbers of objects and slots.
fn slots(numbers: &mut [Numbers<'_>; 2], objects: &[Piece]) -> Vec<Slot> {
    let mut slots = Vec::with_capacity(numbers.iter().map(|of| of.slot.len()).sum());
    for (object, piece) in (0..).zip(objects) {
        let numbers = &mut numbers[usize::from(piece.is_new)];
        numbers.object[piece.number as usize] = object;
        let own = numbers.slots_of[piece.number as usize].clone();
        for at in own {
            numbers.slot[at] = slots.len() as u32;
            slots.push(numbers.from.slots[at]);
        }
    }
    slots
}

/// The old memory with the affected objects replaced by the part. Of the dependency set, the result
/// has only the accesses and the order of objects. `None` if the part does not fit.
///
/// `order` is the new dominator tree, if the order of blocks may have changed.
pub(super) fn joined(
    (old, part): (&PrivateMemory, &PrivateMemory),
    question: &Question,
    (mut inserted, objects): (Vec<(u32, Range<u32>)>, &[Piece]),
    order: Option<&DomTree>,
) -> Option<PrivateMemory> {
    let mut numbers = [Numbers::new(old), Numbers::new(part)];
    let slots = slots(&mut numbers, objects);
    let range_of = |&inst: &InstId| {
        let first = old.first.get(inst)?;
        Some(first..first + old.of(inst).len() as u32)
    };
    let mut gone: Vec<Range<u32>> = question.all.iter().filter_map(range_of).collect();
    gone.sort_unstable_by_key(|range| range.start);
    let block =
        |of: &PrivateMemory, range: &Range<u32>| of.block(&of.touches[range.start as usize]);
    let less = gone.iter().map(|range| (block(old, range), -(range.len() as i64)));
    let more = inserted.iter().map(|(_, range)| (block(part, range), range.len() as i64));
    let mut changes: Vec<(Node, i64)> = less.chain(more).collect();
    let start = old.events.shifted(&mut changes);
    let count = *start.last()? as usize;
    let mut made = Made { start, touch_of: vec![0; count], ..Made::default() };
    made.touches.reserve_exact(count);
    made.accesses.reserve_exact(old.dependencies.accesses.len() + part.dependencies.accesses.len());
    inserted.sort_by_key(|(place, _)| *place);
    let mut runs = runs(old.touches.len() as u32, &gone, inserted);
    if let Some(dom) = order {
        runs = sorted(runs, (old, part), dom)?;
    }
    for Run { is_new, range } in runs {
        made.put(&mut numbers[usize::from(is_new)], range)?;
    }
    let Made { accesses, touches, touch_of, start, .. } = made;
    if touches.len() != count {
        return None;
    }
    let (events, ssa) = Ssa::joined(start, [numbers[0].part(), numbers[1].part()])?;
    let kept = old.objects.iter().filter(|object| !question.objects.contains(object));
    let mut private: Vec<InstId> = kept.chain(&part.objects).copied().collect();
    private.sort_by_key(|object| number(*object));
    let allocas = objects.iter().map(|piece| piece.alloca).collect();
    Some(PrivateMemory {
        first: first_of(&touches),
        slots,
        touches,
        touch_of,
        events,
        ssa,
        affected: old.affected.clone(),
        has_slots: old.has_slots || part.has_slots,
        dependencies: DependencySet { accesses, allocas, ..DependencySet::default() },
        objects: private,
        ..PrivateMemory::default()
    })
}

/// A range of touches in one of the two tables.
struct Run {
    is_new: bool,
    range: Range<u32>,
}

/// The old touches `0..count` without the ranges in `gone`, and with the ranges of `inserted` at
/// their places.
fn runs(count: u32, gone: &[Range<u32>], inserted: Vec<(u32, Range<u32>)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::with_capacity(gone.len() + 2 * inserted.len() + 1);
    let (mut at, mut gone) = (0, gone.iter().peekable());
    let mut keep_until = |runs: &mut Vec<Run>, end: u32| {
        let mut keep = |range: Range<u32>| {
            if !range.is_empty() {
                runs.push(Run { is_new: false, range });
            }
        };
        while let Some(range) = gone.next_if(|range| range.start < end) {
            keep(at..range.start);
            at = range.end;
        }
        keep(at..end);
        at = end.max(at);
    };
    for (place, range) in inserted {
        keep_until(&mut runs, place);
        runs.push(Run { is_new: true, range });
    }
    keep_until(&mut runs, count);
    runs
}

/// Sorts runs by block, in the preorder of the dominator tree. The order within each block stays.
fn sorted(
    runs: Vec<Run>,
    (old, part): (&PrivateMemory, &PrivateMemory),
    dom: &DomTree,
) -> Option<Vec<Run>> {
    let mut cut: Vec<(u32, Run)> = Vec::with_capacity(runs.len());
    for Run { is_new, range } in runs {
        let of = if is_new { part } else { old };
        let mut start = range.start;
        while start < range.end {
            let block = of.block(of.touches.get(start as usize)?);
            let rest = &of.touches[start as usize..range.end as usize];
            let own = rest.iter().take_while(|touch| of.block(touch) == block).count();
            let end = start + own as u32;
            cut.push((dom.tin(block)?, Run { is_new, range: start..end }));
            start = end;
        }
    }
    cut.sort_by_key(|(at, _)| *at);
    // Most runs keep their position.
    let mut runs: Vec<Run> = Vec::with_capacity(cut.len());
    for (_, run) in cut {
        match runs.last_mut() {
            Some(last) if last.is_new == run.is_new && last.range.end == run.range.start => {
                last.range.end = run.range.end;
            }
            _ => runs.push(run),
        }
    }
    Some(runs)
}

/// The first touch of each instruction.
fn first_of(touches: &[Touch]) -> Entries {
    let end = touches.iter().map(|touch| number(touch.inst) as usize + 1).max();
    let mut first = Entries::All(vec![0; end.unwrap_or(0)]);
    let mut last = None;
    for (at, touch) in (0..).zip(touches) {
        if last.replace(touch.inst) != Some(touch.inst) {
            first.set(touch.inst, at);
        }
    }
    first
}
