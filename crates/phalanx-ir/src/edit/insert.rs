//! The body of another function, copied into this one: what inlining begins with.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    body::{InstId, raw},
    builder::{BuildError, NewInst, check},
    edit::{Clones, Transaction, store, undo::Named},
    flow::BlockId,
    function::FunctionRef,
    inst::{InstData, InstFlags, Opcode},
    metadata::kind,
    value::{Value, ValueKind},
    verify,
};

/// What [`Transaction::insert_body`] has inserted.
#[derive(Clone, Debug)]
pub struct Inserted {
    /// The copy of the entry. No edge leads there yet.
    pub entry: BlockId,
    /// Copies of blocks that return, in the order of the text, with what is returned. Each branches to the exit.
    pub returns: Vec<(BlockId, Option<Value>)>,
    /// What became of what; blocks and instructions are named as in the other function.
    pub clones: Clones,
}

impl Transaction<'_> {
    /// Copies the blocks of another function behind those of this one, with values in place of its arguments. Returns become branches to `exit`: phis there
    /// need a value for each, by [`Transaction::add_phi_input`]. Whoever inlines a call splits the block behind it, inserts the body with the
    /// new block for an exit, lets the old block branch to [`Inserted::entry`], and replaces the call by a phi.
    ///
    /// Stack slots stay where they are: a copy that will be in a loop takes more stack each time, unless they are moved. Debug records and
    /// locations are left out, for they are of another function; all other attachments are copied. O(body).
    ///
    /// A function of the session is cloned first, for it cannot be read while another is edited: `session.code(callee).to_function()`.
    ///
    /// # Errors
    /// When the other function has no body or breaks a rule in this module, the values are not what it takes, or its code cannot stand in another
    /// function: one of its blocks has its address taken, it takes variable arguments, has a `musttail` call, or another personality. When
    /// `exit` is the entry of this function, begins with a pad, or is no block of it.
    pub fn insert_body(
        &mut self,
        source: FunctionRef<'_>,
        args: &[Value],
        exit: BlockId,
    ) -> Result<Inserted, BuildError> {
        self.placed(exit)?;
        self.check_not_entry(exit)?;
        self.check_no_pad(exit)?;
        self.check_source(source, args)?;
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
                let attachments = source.extras.attachments_of(inst);
                self.put_attachments(new, attachments.filter(|a| a.kind != kind::DBG).collect());
                let name = source.extras.names.inst(inst).unwrap_or_default();
                self.put_name(Named::Inst(raw(new)), name);
            }
        }
        let mut copy = Copy { source, args, clones, metadata: FxHashMap::default() };
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

    /// A copy of an instruction without its operands; a branch in place of a return.
    fn copy_inst(&mut self, source: FunctionRef<'_>, inst: InstId) -> InstId {
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

impl Copy<'_> {
    /// What a copy reads where the original reads `value`.
    fn value(&mut self, edit: &mut Transaction<'_>, value: Value) -> Value {
        match value.kind() {
            ValueKind::Arg(position) => self.args[position as usize],
            ValueKind::Metadata(id) => {
                if let Some(&known) = self.metadata.get(&value) {
                    return known;
                }
                let mut copy = self.source.body.local_metadata(id).clone();
                copy.for_each_value_mut(&mut |v| {
                    *v = match v.kind() {
                        ValueKind::Arg(position) => self.args[position as usize],
                        _ => self.clones.value(*v),
                    }
                });
                let new = Value::metadata(edit.body_to_change().add_local_metadata(copy));
                self.metadata.insert(value, new);
                new
            }
            _ => self.clones.value(value),
        }
    }
}
