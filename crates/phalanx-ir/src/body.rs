//! The body of a function: instructions, operands and their order.
//!
//! Instructions live in a table and are never removed from it, only unlinked. So an [`InstId`]
//! stays valid for the life of the function, and facts can be kept in dense tables. Their order is
//! a doubly linked list per block: inserting, erasing and moving are O(1) in blocks of any size.
//! Operands are runs in one pool of four-byte handles.
//!
//! The methods here build a body. To change a complete body, use [`crate::edit`], which keeps the
//! def-use lists and the journal up to date. Public methods of this module that change instructions
//! or their order discard both.
//!
//! Cost: 24 bytes per instruction, 12 for its place, 4 per operand.

use la_arena::Idx;

use crate::{
    constant::Const,
    edit::history::History,
    flow::BlockId,
    inst::{CallInfo, InstData, Opcode, OperandRange},
    metadata::LocalMetadata,
    value::Value,
};

/// An instruction of a function.
pub type InstId = Idx<InstData>;
/// Metadata used as an operand; entry of [`Body::local_metadata`].
pub type LocalMetadataId = Idx<LocalMetadata>;

pub(crate) const NONE: u32 = u32::MAX;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Links {
    block: u32,
    prev: u32,
    next: u32,
}

const UNLINKED: Links = Links { block: NONE, prev: NONE, next: NONE };

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ends {
    first: u32,
    last: u32,
}

/// Instructions, operands, order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Body {
    pub(crate) insts: Vec<InstData>,
    pub(crate) places: Vec<Links>,
    pub(crate) ends: Vec<Ends>,
    pub(crate) pool: Vec<Value>,
    /// Shapes of calls: [`CallInfo`] by the index in word 0 of a call.
    pub(crate) calls: Vec<CallInfo>,
    /// Index lists of `extractvalue`, `insertvalue` and clause kinds of `landingpad`.
    pub(crate) indices: Vec<u32>,
    pub(crate) local_metadata: Vec<LocalMetadata>,
    /// The journal and the def-use lists, which are no part of the content.
    pub(crate) history: History,
}

#[inline]
pub(crate) fn raw<T>(id: Idx<T>) -> u32 {
    id.into_raw().into_u32()
}

#[inline]
pub(crate) fn id<T>(raw: u32) -> Option<Idx<T>> {
    (raw != NONE).then(|| Idx::from_raw(raw.into()))
}

/// The position of an entry whose removal shifts the entries before it by one to the back, since
/// these are fewer than those behind it: the run of operands then begins one later.
pub(crate) fn from_front(run: OperandRange, gone: &[u32]) -> Option<usize> {
    match *gone {
        [at] if at < run.len / 4 => Some(at as usize),
        _ => None,
    }
}

impl Body {
    /// A body without instructions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an instruction that is in no block yet.
    pub fn create(&mut self, mut data: InstData, operands: &[Value]) -> InstId {
        data.operands = self.store_operands(operands);
        self.places.push(UNLINKED);
        self.insts.push(data);
        Idx::from_raw((self.insts.len() as u32 - 1).into())
    }

    /// Makes an instruction at the end of a block.
    pub fn push(&mut self, block: BlockId, data: InstData, operands: &[Value]) -> InstId {
        let inst = self.create(data, operands);
        self.append(block, inst);
        inst
    }

    pub(crate) fn store_operands(&mut self, operands: &[Value]) -> OperandRange {
        let start = u32::try_from(self.pool.len()).expect("fewer than 2^32 operands");
        self.pool.extend_from_slice(operands);
        OperandRange { start, len: operands.len() as u32 }
    }

    /// The record of an instruction.
    #[inline]
    pub fn inst(&self, inst: InstId) -> &InstData {
        &self.insts[raw(inst) as usize]
    }

    /// The record of an instruction, to change. Operands change through [`Body::set_operands`]
    /// only.
    pub fn inst_mut(&mut self, inst: InstId) -> &mut InstData {
        self.history.forget();
        &mut self.insts[raw(inst) as usize]
    }

    /// Operands of an instruction, as its opcode orders them.
    #[inline]
    pub fn operands(&self, inst: InstId) -> &[Value] {
        let run = self.insts[raw(inst) as usize].operands;
        &self.pool[run.start as usize..][..run.len as usize]
    }

    /// Operands of an instruction, to change in place.
    #[inline]
    pub fn operands_mut(&mut self, inst: InstId) -> &mut [Value] {
        self.history.forget();
        let run = self.insts[raw(inst) as usize].operands;
        &mut self.pool[run.start as usize..][..run.len as usize]
    }

    /// Replaces all operands of an instruction.
    pub fn set_operands(&mut self, inst: InstId, operands: &[Value]) {
        self.history.forget();
        let run = self.insts[raw(inst) as usize].operands;
        if operands.len() <= run.len as usize {
            self.pool[run.start as usize..][..operands.len()].copy_from_slice(operands);
            self.insts[raw(inst) as usize].operands.len = operands.len() as u32;
        } else {
            self.insts[raw(inst) as usize].operands = self.store_operands(operands);
        }
    }

    /// How many instruction ids have been given out: the length of a dense table.
    #[inline]
    pub fn id_count(&self) -> usize {
        self.insts.len()
    }

    /// All instructions ever made, unlinked ones included, by id.
    pub fn all_ids(&self) -> impl ExactSizeIterator<Item = InstId> + DoubleEndedIterator + use<> {
        (0..self.insts.len() as u32).map(|n| InstId::from_raw(n.into()))
    }

    /// The block an instruction is in; none when it is unlinked.
    #[inline]
    pub fn block_of(&self, inst: InstId) -> Option<BlockId> {
        id(self.places[raw(inst) as usize].block)
    }

    /// Whether there is such an instruction, and it is in a block: not so of what was erased.
    #[inline]
    pub fn has(&self, inst: InstId) -> bool {
        self.places.get(raw(inst) as usize).is_some_and(|place| place.block != NONE)
    }

    /// First instruction of a block.
    #[inline]
    pub fn first(&self, block: BlockId) -> Option<InstId> {
        self.ends.get(raw(block) as usize).and_then(|e| id(e.first))
    }

    /// Last instruction of a block: its terminator, in a complete function.
    #[inline]
    pub fn last(&self, block: BlockId) -> Option<InstId> {
        self.ends.get(raw(block) as usize).and_then(|e| id(e.last))
    }

    /// The terminator of a block, if it ends in one.
    #[inline]
    pub fn terminator(&self, block: BlockId) -> Option<InstId> {
        self.last(block).filter(|&last| self.inst(last).opcode.is_terminator())
    }

    /// The instruction after this one in its block.
    #[inline]
    pub fn next(&self, inst: InstId) -> Option<InstId> {
        id(self.places[raw(inst) as usize].next)
    }

    /// The instruction before this one in its block.
    #[inline]
    pub fn prev(&self, inst: InstId) -> Option<InstId> {
        id(self.places[raw(inst) as usize].prev)
    }

    /// Instructions of a block, in order.
    pub fn block_insts(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        std::iter::successors(self.first(block), move |&inst| self.next(inst))
    }

    /// The phis at the start of a block.
    pub fn phis(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        self.block_insts(block).take_while(move |&inst| self.inst(inst).opcode == Opcode::Phi)
    }

    /// Links an instruction at the end of a block.
    ///
    /// # Panics
    /// When it is in a block already.
    pub fn append(&mut self, block: BlockId, inst: InstId) {
        self.history.forget();
        self.link(block, inst, None);
    }

    /// Links an instruction before another.
    ///
    /// # Panics
    /// When it is in a block already, or `before` is in none.
    pub fn insert_before(&mut self, inst: InstId, before: InstId) {
        self.history.forget();
        let block = self.block_of(before).expect("the instruction to insert before is in a block");
        self.link(block, inst, Some(before));
    }

    pub(crate) fn link(&mut self, block: BlockId, inst: InstId, before: Option<InstId>) {
        assert_eq!(
            self.places[raw(inst) as usize],
            UNLINKED,
            "instruction {inst:?} is in a block already"
        );
        let at = raw(block) as usize;
        if at >= self.ends.len() {
            self.ends.resize(at + 1, Ends { first: NONE, last: NONE });
        }
        let next = before.map_or(NONE, raw);
        let prev = match before {
            Some(before) => self.places[raw(before) as usize].prev,
            None => self.ends[at].last,
        };
        let number = raw(inst);
        self.places[number as usize] = Links { block: raw(block), prev, next };
        match prev {
            NONE => self.ends[at].first = number,
            prev => self.places[prev as usize].next = number,
        }
        match next {
            NONE => self.ends[at].last = number,
            next => self.places[next as usize].prev = number,
        }
    }

    /// Takes an instruction out of its block; its id stays valid. Nothing happens when it is in
    /// none.
    pub fn unlink(&mut self, inst: InstId) {
        self.history.forget();
        self.take_out(inst);
    }

    pub(crate) fn take_out(&mut self, inst: InstId) {
        let Links { block, prev, next } = self.places[raw(inst) as usize];
        if block == NONE {
            return;
        }
        match prev {
            NONE => self.ends[block as usize].first = next,
            prev => self.places[prev as usize].next = next,
        }
        match next {
            NONE => self.ends[block as usize].last = prev,
            next => self.places[next as usize].prev = prev,
        }
        self.places[raw(inst) as usize] = UNLINKED;
    }

    /// Moves the instructions of a block from `at` to its end to the empty block `to`. O(moved).
    pub(crate) fn split_list(&mut self, at: InstId, to: BlockId) {
        let Links { block, prev, .. } = self.places[raw(at) as usize];
        let to = raw(to);
        if to as usize >= self.ends.len() {
            self.ends.resize(to as usize + 1, Ends { first: NONE, last: NONE });
        }
        let last = self.ends[block as usize].last;
        self.ends[to as usize] = Ends { first: raw(at), last };
        self.ends[block as usize].last = prev;
        match prev {
            NONE => self.ends[block as usize].first = NONE,
            prev => self.places[prev as usize].next = NONE,
        }
        self.places[raw(at) as usize].prev = NONE;
        self.set_blocks(raw(at), to);
    }

    /// Moves all instructions of `from` to the end of `to`. O(moved).
    pub(crate) fn join_lists(&mut self, to: BlockId, from: BlockId) {
        let (to, from) = (raw(to), raw(from) as usize);
        let Some(&Ends { first, last }) = self.ends.get(from).filter(|e| e.first != NONE) else {
            return;
        };
        self.ends[from] = Ends { first: NONE, last: NONE };
        let end = std::mem::replace(&mut self.ends[to as usize].last, last);
        match end {
            NONE => self.ends[to as usize].first = first,
            end => self.places[end as usize].next = first,
        }
        self.places[first as usize].prev = end;
        self.set_blocks(first, to);
    }

    fn set_blocks(&mut self, first: u32, block: u32) {
        let mut at = first;
        while at != NONE {
            self.places[at as usize].block = block;
            at = self.places[at as usize].next;
        }
    }

    /// Incoming values of a phi.
    #[inline]
    pub fn phi_values(&self, phi: InstId) -> &[Value] {
        let operands = self.operands(phi);
        &operands[..operands.len() / 2]
    }

    /// Incoming blocks of a phi.
    #[inline]
    pub fn phi_blocks(&self, phi: InstId) -> &[Value] {
        let operands = self.operands(phi);
        &operands[operands.len() / 2..]
    }

    /// Incoming pairs of a phi: value and block, in the order of the text.
    pub fn phi_incoming(
        &self,
        phi: InstId,
    ) -> impl ExactSizeIterator<Item = (Value, BlockId)> + '_ {
        let (values, blocks) = self.operands(phi).split_at(self.operands(phi).len() / 2);
        values.iter().zip(blocks).map(|(&value, block)| (value, block.as_block().expect("a block")))
    }

    /// Adds an entry at the end of a phi. If the run of operands has no room left, it moves to a
    /// place with as much room again; then the old run is returned.
    ///
    /// Room are the slots behind a non-empty run that hold [`Value::ROOM`]. O(1) amortised, except
    /// that the incoming blocks move by one slot.
    pub(crate) fn push_incoming(
        &mut self,
        phi: InstId,
        value: Value,
        from: BlockId,
    ) -> Option<OperandRange> {
        let old = self.insts[raw(phi) as usize].operands;
        let end = (old.start + old.len) as usize;
        let has_room = old.len > 0 && self.pool.get(end..end + 2) == Some(&[Value::ROOM; 2]);
        let mut run = old;
        if !has_room {
            run.start = u32::try_from(self.pool.len()).expect("fewer than 2^32 operands");
            self.pool.extend_from_within(old.start as usize..end);
            let room = old.len.max(4) as usize;
            self.pool.resize(self.pool.len() + room, Value::ROOM);
        }
        let (half, end) = ((run.start + run.len / 2) as usize, (run.start + run.len) as usize);
        self.pool.copy_within(half..end, half + 1);
        self.pool[half] = value;
        self.pool[end + 1] = Value::block(from);
        run.len += 2;
        self.insts[raw(phi) as usize].operands = run;
        (!has_room).then_some(old)
    }

    /// Removes entries of a phi, by position in ascending order. Their slots become room.
    /// O(entries).
    pub(crate) fn take_incoming(&mut self, phi: InstId, gone: &[u32]) {
        let run = self.insts[raw(phi) as usize].operands;
        let (start, count) = (run.start as usize, run.len as usize / 2);
        let left = count - gone.len();
        if let Some(at) = from_front(run, gone) {
            let blocks = start + count;
            self.pool.copy_within(start..start + at, start + 1);
            self.pool.copy_within(blocks + at + 1..blocks + count, blocks + at);
            self.pool[blocks + left] = Value::ROOM;
            self.insts[raw(phi) as usize].operands =
                OperandRange { start: run.start + 1, len: run.len - 2 };
            return;
        }
        // The removed entries cut the others into pieces; the piece `at` moves by `at` slots to the
        // front.
        let piece = |at: usize| {
            let from = at.checked_sub(1).map_or(0, |before| gone[before] as usize + 1);
            from..gone.get(at).map_or(count, |&next| next as usize)
        };
        for (first, to) in [(start, start), (start + count, start + left)] {
            for at in 0..=gone.len() {
                let piece = piece(at);
                let target = to + piece.start - at;
                self.pool.copy_within(first + piece.start..first + piece.end, target);
            }
        }
        // An empty run gets no room: its slots could belong to another run.
        if left > 0 {
            self.pool[start + 2 * left..start + 2 * count].fill(Value::ROOM);
        }
        self.insts[raw(phi) as usize].operands.len = 2 * left as u32;
    }

    /// Puts back entries that [`Body::take_incoming`] removed, at the positions that they had.
    /// `start` is where the operands began.
    pub(crate) fn put_incoming(
        &mut self,
        phi: InstId,
        start: u32,
        entries: &[(u32, Value, BlockId)],
    ) {
        let run = self.insts[raw(phi) as usize].operands;
        let (first, left) = (start, run.len as usize / 2);
        let start = start as usize;
        let count = left + entries.len();
        if let &[(at, value, block)] = entries
            && run.start != first
        {
            let (at, blocks) = (at as usize, start + count);
            self.pool.copy_within(start + 1..start + 1 + at, start);
            self.pool.copy_within(blocks + at..blocks + left, blocks + at + 1);
            self.pool[start + at] = value;
            self.pool[blocks + at] = Value::block(block);
            self.insts[raw(phi) as usize].operands =
                OperandRange { start: first, len: run.len + 2 };
            return;
        }
        let piece = |at: usize| {
            let from = at.checked_sub(1).map_or(0, |before| entries[before].0 as usize + 1);
            from..entries.get(at).map_or(count, |entry| entry.0 as usize)
        };
        for (from, first) in [(start + left, start + count), (start, start)] {
            for at in (0..=entries.len()).rev() {
                let piece = piece(at);
                let source = from + piece.start - at;
                self.pool.copy_within(source..source + piece.len(), first + piece.start);
            }
        }
        for &(at, value, block) in entries {
            self.pool[start + at as usize] = value;
            self.pool[start + count + at as usize] = Value::block(block);
        }
        self.insts[raw(phi) as usize].operands.len = 2 * count as u32;
    }

    /// Adds a call shape and returns its index. Call [`Body::call_info`] to read it back.
    pub fn add_call_info(&mut self, info: CallInfo) -> u32 {
        self.calls.push(info);
        self.calls.len() as u32 - 1
    }

    /// The shape of a call, invoke or callbr.
    #[inline]
    pub fn call_info(&self, call: InstId) -> &CallInfo {
        &self.calls[self.insts[raw(call) as usize].words[0] as usize]
    }

    /// All call shapes, by index.
    pub fn call_infos(&self) -> &[CallInfo] {
        &self.calls
    }

    /// All call shapes, to change.
    pub fn call_infos_mut(&mut self) -> &mut [CallInfo] {
        self.history.forget();
        &mut self.calls
    }

    /// Arguments of a call.
    #[inline]
    pub fn call_args(&self, call: InstId) -> &[Value] {
        &self.operands(call)[..self.call_info(call).args as usize]
    }

    /// The callee of a call: last operand.
    #[inline]
    pub fn callee(&self, call: InstId) -> Value {
        *self.operands(call).last().expect("a call has a callee")
    }

    /// The callee of a call when it is a constant (a function, an alias, inline assembly ...).
    #[inline]
    pub fn const_callee(&self, call: InstId) -> Option<Const> {
        self.callee(call).as_const()
    }

    /// Operands of the bundles of a call, by bundle, in order.
    pub fn bundles(&self, call: InstId) -> impl Iterator<Item = (crate::Symbol, &[Value])> + '_ {
        let info = self.call_info(call);
        let mut rest = &self.operands(call)[info.args as usize..];
        info.bundles.iter().map(move |&(tag, len)| {
            let (these, others) = rest.split_at(len as usize);
            rest = others;
            (tag, these)
        })
    }

    /// Stores an index list and returns the two words that name it.
    pub fn add_indices(&mut self, indices: &[u32]) -> [u32; 2] {
        let start = self.indices.len() as u32;
        self.indices.extend_from_slice(indices);
        [start, indices.len() as u32]
    }

    /// The index list of an `extractvalue` or `insertvalue`, the clause kinds of a `landingpad`.
    #[inline]
    pub fn indices(&self, inst: InstId) -> &[u32] {
        let [start, len] = self.insts[raw(inst) as usize].words;
        &self.indices[start as usize..][..len as usize]
    }

    /// Stores metadata used as an operand.
    pub fn add_local_metadata(&mut self, metadata: LocalMetadata) -> LocalMetadataId {
        self.local_metadata.push(metadata);
        Idx::from_raw((self.local_metadata.len() as u32 - 1).into())
    }

    /// Metadata used as an operand, if the body has any under this number.
    pub fn try_local_metadata(&self, id: LocalMetadataId) -> Option<&LocalMetadata> {
        self.local_metadata.get(raw(id) as usize)
    }

    /// Whether the operands, call shape and index list of an instruction are in the body's tables.
    ///
    /// Always so of what [`Body::create`] and the `add_…` methods made; [`Body::inst_mut`] can
    /// break it.
    pub fn is_intact(&self, inst: InstId) -> bool {
        let within = |start: u32, len: u32, table: usize| start as usize + len as usize <= table;
        let data = self.inst(inst);
        let [first, second] = data.words;
        within(data.operands.start, data.operands.len, self.pool.len())
            && match data.opcode {
                Opcode::ExtractValue | Opcode::InsertValue | Opcode::LandingPad => {
                    within(first, second, self.indices.len())
                }
                opcode if opcode.is_call() => (first as usize) < self.calls.len(),
                _ => true,
            }
    }

    /// Metadata used as an operand.
    pub fn local_metadata(&self, id: LocalMetadataId) -> &LocalMetadata {
        &self.local_metadata[raw(id) as usize]
    }

    /// All metadata used as operands.
    pub fn all_local_metadata(&self) -> impl Iterator<Item = &LocalMetadata> + '_ {
        self.local_metadata.iter()
    }

    /// All metadata used as operands, to change (forward references are resolved once a function is
    /// complete).
    pub fn local_metadata_mut(&mut self) -> impl Iterator<Item = &mut LocalMetadata> + '_ {
        self.history.forget();
        self.local_metadata.iter_mut()
    }

    /// Gives back spare capacity, after a body has been built.
    pub fn shrink_to_fit(&mut self) {
        self.insts.shrink_to_fit();
        self.places.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.pool.shrink_to_fit();
        self.calls.shrink_to_fit();
        self.indices.shrink_to_fit();
        self.local_metadata.shrink_to_fit();
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.insts.capacity() * size_of::<InstData>()
            + self.places.capacity() * size_of::<Links>()
            + self.ends.capacity() * size_of::<Ends>()
            + self.pool.capacity() * size_of::<Value>()
            + self.calls.capacity() * size_of::<CallInfo>()
            + self.indices.capacity() * size_of::<u32>()
            + self.local_metadata.capacity() * size_of::<LocalMetadata>()
            + self.history.heap_bytes()
    }
}
