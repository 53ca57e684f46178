//! Copies the body of another function into the edited one: the first step of inlining.
//!
//! ```text
//! define i32 @f(i32 %p) {        inserted with %x for %p and the exit `rest`:
//! e: %r = add i32 %p, 1          e: %r = add i32 %x, 1
//!    ret i32 %r                     br label %rest
//! }
//! ```

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::{
    body::{InstId, raw},
    builder::{BuildError, NewInst, check},
    edit::{Clones, Transaction, store},
    extras::Named,
    flow::BlockId,
    function::FunctionRef,
    inst::{InstData, InstFlags, Opcode},
    metadata::{Attachment, DebugRecord, InlinedLocations, MetadataId, kind},
    value::{Value, ValueKind},
    verify,
};

/// What [`Transaction::insert_body`] has inserted.
#[derive(Clone, Debug)]
pub struct Inserted {
    /// The copy of the entry. No edge leads there yet.
    pub entry: BlockId,
    /// Copies of blocks that return, in the order of the text, with what is returned. Each branches
    /// to the exit.
    pub returns: Vec<(BlockId, Option<Value>)>,
    /// Copies by original; the keys are blocks and instructions of the other function.
    pub clones: Clones,
}

impl Transaction<'_> {
    /// Copies the blocks of another function behind those of this one, with values in place of its
    /// arguments. Returns become branches to `exit`: phis there need a value for each, by
    /// [`Transaction::add_phi_input`]. To inline a call, split the block behind the call, insert
    /// the body with the new block as the exit, make the old block branch to [`Inserted::entry`],
    /// and replace the call by a phi.
    ///
    /// Stack slots stay in the blocks that they are in. If the call is in a loop, move them to the
    /// entry, or each round takes more stack. Debug records and locations are left out, since they
    /// belong to another function: see [`Transaction::insert_body_at`]. All other attachments are
    /// copied. O(body).
    ///
    /// To inline a function of the same session, clone it first
    /// (`session.code(callee).to_function()`): it cannot be read while another function is edited.
    ///
    /// # Errors
    /// When the other function has no body or breaks a rule in this module, the values are not what
    /// it takes, or its code cannot stand in another function: one of its blocks has its address
    /// taken, it takes variable arguments, has a `musttail` call, or another personality. When
    /// `exit` is the entry of this function, begins with a pad, or is no block of it.
    pub fn insert_body(
        &mut self,
        source: FunctionRef<'_>,
        args: &[Value],
        exit: BlockId,
    ) -> Result<Inserted, BuildError> {
        self.insert_body_at(source, args, exit, &InlinedLocations::default())
    }

    /// As [`Transaction::insert_body`], with locations and debug records that say through which
    /// call the code was inlined. Make them beforehand, by
    /// [`Additions::inlined`](crate::metadata::Additions::inlined). A record whose location is left
    /// out is left out too. So are all records of a variable that has assignments: what links these
    /// to stores is local to each function.
    ///
    /// # Errors
    /// As [`Transaction::insert_body`], and when the locations are of another module.
    pub fn insert_body_at(
        &mut self,
        source: FunctionRef<'_>,
        args: &[Value],
        exit: BlockId,
        locations: &InlinedLocations,
    ) -> Result<Inserted, BuildError> {
        self.placed(exit)?;
        self.check_not_entry(exit)?;
        self.check_no_pad(exit)?;
        self.check_source(source, args)?;
        if !locations.are_of(&self.module().metadata) {
            return Err(BuildError::Entity {
                function: crate::describe::global(self.context(), self.header().name),
                entity: String::from("the locations of the body"),
                message: "are of another module",
            });
        }
        self.check_room(source.flow.id_count(), source.body.id_count())?;
        let mut clones = Clones::default();
        let end = self.flow().order().len();
        for (at, &block) in (end..).zip(source.flow.order()) {
            let new = self.block_at(at, "");
            let name = source.extras.names.block(block).unwrap_or_default();
            self.put_name(Named::Block(raw(new)), name);
            clones.blocks.insert(block, new);
        }
        for &block in source.flow.order() {
            for inst in source.body.block_insts(block) {
                let new = self.copy_inst(source, inst);
                self.link(clones.blocks[&block], new, None);
                clones.insts.insert(inst, new);
                self.put_attachments(new, attachments(source, inst, locations));
                let name = source.extras.names.inst(inst).unwrap_or_default();
                self.put_name(Named::Inst(raw(new)), name);
            }
        }
        let mut copy = Copy { source, args, clones, metadata: FxHashMap::default() };
        self.copy_records(&mut copy, locations);
        let mut returns = Vec::new();
        for &block in source.flow.order() {
            let new = copy.clones.blocks[&block];
            for inst in source.body.block_insts(block) {
                if source.body.inst(inst).opcode == Opcode::Ret {
                    let value = source.body.operands(inst).first();
                    returns.push((new, value.map(|&value| copy.value(self, value))));
                    continue;
                }
                let operands: SmallVec<[Value; 8]> =
                    source.body.operands(inst).iter().map(|&v| copy.value(self, v)).collect();
                self.put_operands(copy.clones.insts[&inst], &operands);
            }
            let successors: SmallVec<[BlockId; 4]> =
                source.flow.successors(block).iter().map(|s| copy.clones.blocks[s]).collect();
            self.put_successors(new, &successors);
        }
        for &(block, _) in &returns {
            self.put_successors(block, &[exit]);
            self.edges_added(block, exit, 1, false);
        }
        self.forget_mentions();
        let entry = source.flow.order()[0];
        Ok(Inserted { entry: copy.clones.blocks[&entry], returns, clones: copy.clones })
    }

    /// Copies debug records to before the copies of their instructions.
    fn copy_records(&mut self, copy: &mut Copy<'_>, locations: &InlinedLocations) {
        let records = &copy.source.extras.debug_records;
        let assigned: FxHashSet<MetadataId> = records
            .iter()
            .filter_map(|(_, record)| match record {
                DebugRecord::Assign(assign) => Some(assign.variable),
                _ => None,
            })
            .collect();
        for run in records.chunk_by(|a, b| a.0 == b.0) {
            let copies = run.iter().filter_map(|(_, record)| {
                let mut record = record.clone();
                match &mut record {
                    DebugRecord::Variable(of) if !assigned.contains(&of.variable) => {
                        of.location = locations.of(of.location)?;
                    }
                    DebugRecord::Label { location, .. } => *location = locations.of(*location)?,
                    _ => return None,
                }
                record.for_each_value_mut(&mut |value| *value = copy.plain(*value));
                Some(record)
            });
            let copies: Vec<DebugRecord> = copies.collect();
            if let Some(&inst) = copy.clones.insts.get(&run[0].0)
                && !copies.is_empty()
            {
                self.put_debug_records(inst, copies);
            }
        }
    }

    /// A copy of an instruction without its operands; for a return, a branch.
    pub(super) fn copy_inst(&mut self, source: FunctionRef<'_>, inst: InstId) -> InstId {
        let data = *source.body.inst(inst);
        let data = match data.opcode {
            Opcode::Ret => InstData { opcode: Opcode::Br, flags: InstFlags::NONE, ..data },
            _ => data,
        };
        let mut new = NewInst::new(data.opcode, &[]);
        match data.opcode {
            Opcode::ExtractValue | Opcode::InsertValue | Opcode::LandingPad => {
                new.indices = source.body.indices(inst);
            }
            opcode if opcode.is_call() => new.call = Some(source.body.call_info(inst).clone()),
            _ => {}
        }
        check::create(self.body_to_change(), data, &new)
    }

    fn check_source(&self, source: FunctionRef<'_>, args: &[Value]) -> Result<(), BuildError> {
        let name = source.header.name;
        let is_known =
            name.symbol().is_none_or(|name| (name.raw() as usize) < self.context().symbol_count());
        let function = match is_known {
            true => crate::describe::global(self.context(), name),
            false => "a function of another context".to_owned(),
        };
        let errors = verify::function_over(&store::env(self.store), source);
        if !errors.is_empty() {
            let messages = errors.iter().map(|e| e.message.clone().into_owned()).collect();
            return Err(BuildError::Function { function, messages, errors });
        }
        let refuse = |message| {
            let entity = String::from("the body");
            Err(BuildError::Entity { function: function.clone(), entity, message })
        };
        if source.flow.entry().is_none() {
            return refuse("is not there to be inserted");
        }
        let is_musttail = |inst: InstId| {
            let data = source.body.inst(inst);
            data.opcode == Opcode::Call && data.flags.contains(InstFlags::MUST_TAIL)
        };
        let mut insts = source.flow.order().iter().flat_map(|&b| source.body.block_insts(b));
        if insts.any(is_musttail) {
            return refuse("has a `musttail` call, which must stay before its return");
        }
        if source.header.vararg {
            return refuse("takes variable arguments");
        }
        let personality = source.header.personality;
        if personality.is_some() && personality != self.header().personality {
            return refuse("has another personality");
        }
        if self.module().block_addresses.iter().any(|address| address.function == name) {
            return refuse("has a block that has its address taken");
        }
        if args.len() != source.header.params.len() {
            return refuse("takes another number of arguments");
        }
        for (&arg, &ty) in args.iter().zip(&source.header.params) {
            if self.checked_type(arg)? != ty {
                return Err(self.entity(arg, "has another type than the parameter"));
            }
        }
        Ok(())
    }
}

/// The copy of a body, being made.
struct Copy<'a> {
    source: FunctionRef<'a>,
    args: &'a [Value],
    clones: Clones,
    /// Copies of metadata that is an operand.
    metadata: FxHashMap<Value, Value>,
}

/// Attachments of a copy.
fn attachments(
    source: FunctionRef<'_>,
    inst: InstId,
    locations: &InlinedLocations,
) -> Vec<Attachment> {
    let moved = |a: Attachment| match a.kind == kind::DBG {
        true => Some(Attachment { node: locations.of(a.node)?, ..a }),
        false => Some(a),
    };
    let mut list: Vec<Attachment> = source.extras.attachments_of(inst).filter_map(moved).collect();
    if let Some(node) = locations.of_others()
        && !list.iter().any(|a| a.kind == kind::DBG)
    {
        list.insert(0, Attachment { kind: kind::DBG, node });
    }
    list
}

impl Copy<'_> {
    /// As `value`, for a value that is no metadata.
    fn plain(&self, value: Value) -> Value {
        match value.kind() {
            ValueKind::Arg(position) => self.args[position as usize],
            _ => self.clones.value(value),
        }
    }

    /// The value that a copy reads where the original reads `value`.
    fn value(&mut self, edit: &mut Transaction<'_>, value: Value) -> Value {
        match value.kind() {
            ValueKind::Metadata(id) => {
                if let Some(&known) = self.metadata.get(&value) {
                    return known;
                }
                let mut copy = self.source.body.local_metadata(id).clone();
                copy.for_each_value_mut(&mut |value| *value = self.plain(*value));
                let new = Value::metadata(edit.body_to_change().add_local_metadata(copy));
                self.metadata.insert(value, new);
                new
            }
            _ => self.plain(value),
        }
    }
}
