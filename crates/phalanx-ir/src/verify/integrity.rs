//! Checks that a function's tables are consistent, which all other rules rely on.
//!
//! LLVM's pointers cannot dangle in these ways, so it has no messages for them. Numbers can: an
//! operand may name an instruction that does not exist, or a branch may have the wrong number of
//! successors. If a function fails here, no other rule is checked. So no other rule needs to test
//! whether a number is in range.

use crate::{
    body::InstId,
    flow::BlockId,
    function::{FunctionHeader, FunctionRef},
    inst::{CallInfo, InstData, InstFlags, Opcode, RmwOp},
    metadata::{LocalMetadata, MetadataId},
    types::TypeKind,
    verify::{
        env::Env,
        fault::VerifyError,
        view::{dangling, dangling_leaf},
    },
};

/// Every dangling number and wrong count of the function, in order of instruction ids. O(function).
pub(crate) fn check(env: &Env<'_>, function: FunctionRef<'_>) -> Vec<VerifyError> {
    let mut errors = Errors { function, list: Vec::new() };
    let context = env.types.context;
    let header = function.header;
    let mut types = header.params.iter().chain([&header.ty, &header.ret]);
    if types.any(|ty| ty.raw() as usize >= context.type_count()) {
        errors.push(None, None, "Referring to a type of another context!");
        return errors.list;
    }
    match context.type_kind(header.ty) {
        TypeKind::Function { ret, params, vararg }
            if *ret == header.ret && *params == header.params && *vararg == header.vararg => {}
        _ => errors.push(None, None, "Function header does not match function type!"),
    }
    if header.attributes.raw() as usize >= context.attr_list_count() {
        errors.push(None, None, "Referring to attributes of another context!");
    }
    if let Some(message) = rest_of_header(env, function.header) {
        errors.push(None, None, message);
    }
    blocks(function, &mut errors);
    extras(env, function, &mut errors);
    for inst in function.body.all_ids() {
        if let Some(message) = instruction(env, function, inst) {
            errors.push(function.body.block_of(inst), Some(inst), message);
        }
    }
    errors.list
}

struct Errors<'a> {
    function: FunctionRef<'a>,
    list: Vec<VerifyError>,
}

impl Errors<'_> {
    fn push(&mut self, block: Option<BlockId>, inst: Option<InstId>, message: &'static str) {
        self.list.push(VerifyError {
            function: Some(self.function.header.name),
            block,
            inst,
            message: message.into(),
            related: Vec::new(),
        });
    }
}

fn number(block: BlockId) -> usize {
    block.into_raw().into_u32() as usize
}

/// Constants, names and metadata that a header refers to.
fn rest_of_header(env: &Env<'_>, header: &FunctionHeader) -> Option<&'static str> {
    let context = env.types.context;
    let constants = [header.prefix, header.prologue, header.personality];
    if constants.into_iter().flatten().any(|c| c.raw() as usize >= context.const_count()) {
        return Some("Referring to a constant of another context!");
    }
    let names = [header.section, header.partition, header.comdat, header.gc];
    if names.into_iter().flatten().any(|name| name.raw() as usize >= context.symbol_count()) {
        return Some("Referring to a name of another context!");
    }
    if !header.metadata.iter().all(|attachment| has_node(env, attachment.node)) {
        return Some(STRANGE_METADATA);
    }
    None
}

const STRANGE_METADATA: &str = "Referring to metadata of another module!";

fn has_node(env: &Env<'_>, node: MetadataId) -> bool {
    (node.into_raw().into_u32() as usize) < env.module.metadata.len()
}

/// Attachments, metadata operands and debug records. O(their number).
fn extras(env: &Env<'_>, function: FunctionRef<'_>, errors: &mut Errors<'_>) {
    let place = |inst: InstId| function.body.has(inst).then(|| function.body.block_of(inst));
    for &(inst, attachment) in &function.extras.attachments {
        if !has_node(env, attachment.node) {
            errors.push(place(inst).flatten(), place(inst).map(|_| inst), STRANGE_METADATA);
        }
    }
    let operands = function.body.local_metadata.iter();
    if !operands.filter_map(LocalMetadata::as_node).all(|node| has_node(env, node)) {
        errors.push(None, None, STRANGE_METADATA);
    }
    for (inst, record) in &function.extras.debug_records {
        let message = match record.nodes().iter().all(|&node| has_node(env, node)) {
            false => Some(STRANGE_METADATA),
            true => record
                .values()
                .find_map(|value| dangling_leaf(&env.types, function.header, function.body, value)),
        };
        if let Some(message) = message {
            errors.push(place(*inst).flatten(), place(*inst).map(|_| *inst), message);
        }
    }
}

/// Checks that the order names each block at most once, and that blocks outside of it are empty and
/// not referred to.
fn blocks(function: FunctionRef<'_>, errors: &mut Errors<'_>) {
    let (flow, body) = (function.flow, function.body);
    let mut placed = vec![false; flow.id_count()];
    for &block in flow.order() {
        match placed.get_mut(number(block)) {
            None => errors.push(None, None, "Referring to a basic block in another function!"),
            Some(true) => errors.push(Some(block), None, "Basic block is in the function twice!"),
            Some(place) => *place = true,
        }
    }
    for (at, &is_placed) in placed.iter().enumerate() {
        let block = BlockId::from_raw((at as u32).into());
        let successors = flow.successors(block);
        if !successors.iter().all(|&s| placed.get(number(s)).copied().unwrap_or(false)) {
            errors.push(Some(block), None, "Referring to a basic block in another function!");
        }
        if !is_placed && (!successors.is_empty() || body.first(block).is_some()) {
            errors.push(Some(block), None, "Basic block is not in the function but has contents!");
        }
        let is_terminated = body.terminator(block).is_some();
        if !is_terminated && !successors.is_empty() {
            errors.push(Some(block), None, "Basic block has successors but no terminator!");
        }
    }
}

fn instruction(env: &Env<'_>, function: FunctionRef<'_>, inst: InstId) -> Option<&'static str> {
    let (context, body, flow) = (env.types.context, function.body, function.flow);
    let data = body.inst(inst);
    if !body.is_intact(inst) {
        return Some("Instruction refers to operands that its function does not have!");
    }
    let type_exists = |raw: u32| (raw as usize) < context.type_count();
    let mut types_exist = type_exists(data.ty.raw());
    let block = body.block_of(inst);
    if block.is_some_and(|block| number(block) >= flow.id_count()) {
        return Some("Instruction is in a basic block of another function!");
    }
    match data.opcode {
        Opcode::Alloca | Opcode::GetElementPtr => types_exist &= type_exists(data.words[0]),
        Opcode::Call | Opcode::Invoke | Opcode::CallBr => {
            types_exist &= type_exists(body.call_info(inst).function_type.raw());
        }
        _ => {}
    }
    if !types_exist {
        return Some("Referring to a type of another context!");
    }
    let operands = body.operands(inst);
    if let Some(message) =
        operands.iter().find_map(|&v| dangling(&env.types, function.header, body, flow, v))
    {
        return Some(message);
    }
    let is_last = block.is_some_and(|block| body.last(block) == Some(inst));
    let shape = Shape {
        data,
        call: data.opcode.is_call().then(|| body.call_info(inst)),
        indices: match data.opcode {
            Opcode::LandingPad => body.indices(inst).len(),
            _ => 0,
        },
        successors: block.filter(|_| is_last).map(|block| flow.successors(block).len()),
    };
    if let Some(message) = shape.fault(env) {
        return Some(message);
    }
    if data.opcode == Opcode::Phi {
        let (_, blocks) = operands.split_at(operands.len() / 2);
        if blocks.iter().any(|value| value.as_block().is_none()) {
            return Some("PHI node has an incoming block that is not a block!");
        }
    }
    None
}

/// Counts and packed words of an instruction, linked or about to be.
pub(crate) struct Shape<'a> {
    pub(crate) data: &'a InstData,
    pub(crate) call: Option<&'a CallInfo>,
    /// Number of indices; of a `landingpad`, of clause kinds.
    pub(crate) indices: usize,
    /// Number of successors; known only of the last instruction of a block.
    pub(crate) successors: Option<usize>,
}

impl Shape<'_> {
    /// The count or word that does not fit the opcode, if any.
    pub(crate) fn fault(&self, env: &Env<'_>) -> Option<&'static str> {
        let context = env.types.context;
        match self.data.opcode {
            Opcode::Alloca
            | Opcode::Load
            | Opcode::Store
            | Opcode::Fence
            | Opcode::CmpXchg
            | Opcode::AtomicRmw
                if !self.mem_is_valid(context.symbol_count()) =>
            {
                return Some("Memory operation has an invalid alignment, ordering or scope!");
            }
            opcode if opcode.is_call() => {
                let Some(info) = self.call else {
                    return Some("A call without a callee's type!");
                };
                if info.function_type.raw() as usize >= context.type_count() {
                    return Some("Referring to a type of another context!");
                }
                if !matches!(context.type_kind(info.function_type), TypeKind::Function { .. }) {
                    return Some("Type of the callee is not a function type!");
                }
                if info.attributes.raw() as usize >= context.attr_list_count() {
                    return Some("Referring to attributes of another context!");
                }
                let symbols = context.symbol_count();
                if info.bundles.iter().any(|&(tag, _)| tag.raw() as usize >= symbols) {
                    return Some("Referring to a name of another context!");
                }
            }
            _ => {}
        }
        let fits = self.counts_fit();
        (!fits).then_some("Instruction has a wrong number of operands or successors!")
    }

    fn mem_is_valid(&self, symbols: usize) -> bool {
        let raw = self.data.words[1];
        let sub = usize::from(self.data.sub);
        let sub_fits = self.data.opcode != Opcode::AtomicRmw || sub < RmwOp::ALL.len();
        sub_fits
            && (raw & 0x3f) <= 33
            && (raw >> 6 & 7) < 7
            && (raw >> 9 & 7) < 7
            && ((raw >> 12) as usize) < symbols
    }

    /// Operand and successor counts of each opcode.
    fn counts_fit(&self) -> bool {
        let operands = self.data.operands.len as usize;
        // If the terminator is not linked, its successors are unknown and any number fits.
        let has = |wanted: &dyn Fn(usize) -> bool| self.successors.is_none_or(wanted);
        match self.data.opcode {
            Opcode::Ret => operands <= 1 && has(&|n| n == 0),
            Opcode::Br => operands <= 1 && has(&|n| n == operands + 1),
            Opcode::Switch => operands >= 1 && has(&|n| n == operands),
            Opcode::IndirectBr => operands == 1,
            Opcode::Unreachable => operands == 0 && has(&|n| n == 0),
            Opcode::Resume => operands == 1 && has(&|n| n == 0),
            Opcode::CatchRet => operands == 1 && has(&|n| n == 1),
            Opcode::CleanupRet => operands == 1 && has(&|n| n <= 1),
            Opcode::CatchSwitch => {
                let unwinds = usize::from(self.data.flags.contains(InstFlags::CLEANUP));
                operands == 1 && has(&|n| n >= unwinds)
            }
            Opcode::Call | Opcode::Invoke | Opcode::CallBr => {
                let fits = self.call.is_some_and(|info| {
                    let bundles: u64 = info.bundles.iter().map(|&(_, len)| u64::from(len)).sum();
                    u64::from(info.args) + bundles + 1 == operands as u64
                });
                fits && match self.data.opcode {
                    Opcode::Invoke => has(&|n| n == 2),
                    Opcode::CallBr => has(&|n| n >= 1),
                    _ => true,
                }
            }
            Opcode::FNeg
            | Opcode::Alloca
            | Opcode::Load
            | Opcode::VaArg
            | Opcode::ExtractValue
            | Opcode::Freeze => operands == 1,
            Opcode::Fence => operands == 0,
            Opcode::CmpXchg | Opcode::Select | Opcode::InsertElement | Opcode::ShuffleVector => {
                operands == 3
            }
            Opcode::GetElementPtr | Opcode::CleanupPad | Opcode::CatchPad => operands >= 1,
            Opcode::Phi => operands.is_multiple_of(2),
            Opcode::LandingPad => self.indices == operands,
            opcode if opcode.is_cast() => operands == 1,
            _ => operands == 2,
        }
    }
}
