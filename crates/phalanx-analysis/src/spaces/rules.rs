//! The transfer rules: how the memory set of a value is computed from other sets.
//!
//! A value's set is the union of the sets of its *inputs*, restricted by its type. Inputs are other
//! values, versions of private memory, and fixed sets. Everything else about the analysis,
//! including the order of evaluation, is in [`solve`](super::solve).
//!
//! | value | inputs |
//! |---|---|
//! | argument of a kernel | device memory, since the host passes it; a `byval` argument is parameter memory or a private copy of it |
//! | argument of a function whose callers are all known | what callers pass |
//! | `alloca` | private memory |
//! | address of a variable | the memory of its space; in the generic space of NVPTX, device memory, where the backend puts it |
//! | `getelementptr`, casts, `freeze`, `llvm.ptrmask` and the like | the address that it is made from; indices are no addresses |
//! | `phi`, `select`, vectors and structures of pointers | all parts; a member of a structure is looked up where it was put in |
//! | `ptrtoint`, and integers made from it by steps and masks with constants | the pointer |
//! | `load` of a private object | the content of the version of memory that reaches it |
//! | `load` of a constant variable | what its initial value holds there |
//! | `load` of a generic pointer from constant memory or parameters of a kernel | device memory: only the host writes there |
//! | a call | what the summary of the callee says, or a `returned` argument |
//! | anything else | all that its type can address |
//!
//! **Null is an address** in every address space but number 0 (LLVM's `NullPointerIsDefined`), and
//! in space 0 if the function is marked `null_pointer_is_valid`. There, a pointer that may be null
//! leads to all that its type can address.
//!
//! **A cast is a bound, not evidence.** An `addrspacecast` to a space keeps those members of the
//! set that the space has, and says nothing about the operand.
//!
//! Sets are words of 64 bits: 16 bits are memories, the others stand for parameters while a summary
//! is computed (see [`summary`](super::summary)).

use phalanx_graph::Node;
use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Type, TypeKind, Value, ValueKind,
    attributes::AttrKind,
    constant::{ConstKind, Int},
    flow::node_of,
};
use phalanx_target::{Architecture, calling_convention::Entry, intrinsics};
use rustc_hash::FxHashMap;

use super::{SpaceFacts, predicates::Refinements};
use crate::code::{SpaceModel, SpaceSet};
use crate::{
    code::{Code, Environment, TypeSizes},
    memory::{
        PrivateMemory,
        private::{Effect, Touch},
        ssa::{EventKind, Version},
    },
};

/// The bits of a word that are memories; the others are parameters.
pub(super) const MEMORIES: u64 = 0xffff;
/// The number of parameters that have a bit.
pub(super) const PARAMETERS: u32 = 48;

/// How many steps of a chain of addresses, insertions or constants are looked at.
pub(super) const STEPS: usize = 64;

/// An input of a value's set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A fixed set.
    Set(u64),
    /// The set of a value, refined by tests at the user.
    Value(Value),
    /// The set of a value at the end of the block that it comes from.
    Incoming(Value, Node),
    /// What a version of private memory holds.
    Version(Version),
}

/// Whether values of a type have a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Not looked at yet.
    New,
    /// They cannot hold an address.
    Nothing,
    /// Pointers of a space, or vectors of them: nothing but these memories.
    Pointer(u64),
    /// Integers that can hold all of an address.
    Integer,
    /// Arrays and structures.
    Aggregate,
}

/// The rules for one function.
pub(super) struct SpaceRules<'a> {
    pub(super) code: Code<'a>,
    pub(super) model: SpaceModel,
    pub(super) memory: &'a PrivateMemory,
    pub(super) refinements: Refinements,
    pub(super) facts: &'a dyn SpaceFacts,
    pub(super) architecture: Architecture,
    pub(super) is_kernel: bool,
    /// Whether parameters stand for themselves, as bits of their own.
    pub(super) is_symbolic: bool,
    /// Whether integers have sets: some become pointers.
    pub(super) has_integers: bool,
    classes: Vec<Class>,
    pub(super) constants: FxHashMap<Const, u64>,
    /// What constant variables hold at any offset, by initial value and by the type that is loaded.
    pub(super) contents: FxHashMap<(Const, Type), Option<SpaceSet>>,
    arguments: Vec<u64>,
    pub(super) sizes: TypeSizes<'a>,
}

impl<'a> SpaceRules<'a> {
    pub(super) fn new(
        code: Code<'a>,
        env: Environment<'a>,
        memory: &'a PrivateMemory,
        facts: &'a dyn SpaceFacts,
        is_symbolic: bool,
    ) -> Self {
        let architecture = env.target.architecture();
        let entry = code.entry(architecture);
        let mut rules = SpaceRules {
            code,
            model: SpaceModel::new(architecture),
            memory,
            refinements: Refinements::default(),
            facts,
            architecture,
            is_kernel: entry == Entry::Kernel,
            is_symbolic,
            has_integers: false,
            classes: Vec::new(),
            constants: FxHashMap::default(),
            contents: FxHashMap::default(),
            arguments: Vec::new(),
            sizes: TypeSizes::new(code.context, env.layout),
        };
        rules.arguments =
            (0..code.header.params.len() as u32).map(|at| rules.argument(at)).collect();
        rules
    }

    pub(super) fn class(&mut self, ty: Type) -> Class {
        let at = ty.raw() as usize;
        match self.classes.get(at) {
            Some(Class::New) | None => {}
            Some(known) => return *known,
        }
        let context = self.code.context;
        let scalar = match context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => *elem,
            _ => ty,
        };
        let class = match context.type_kind(scalar) {
            TypeKind::Ptr(space) => {
                let memories = match Some(*space) == self.model.generic() {
                    // A space that has no conversion to the generic space may be cast to it
                    // nevertheless.
                    true => SpaceSet::ALL,
                    false => self.model.of(*space) | SpaceSet::NOWHERE,
                };
                Class::Pointer(u64::from(memories.bits()))
            }
            TypeKind::Int(bits) if *bits >= 32 && scalar == ty => Class::Integer,
            TypeKind::Struct { .. } | TypeKind::Named(_) | TypeKind::Array { .. } => {
                Class::Aggregate
            }
            _ => Class::Nothing,
        };
        if self.classes.len() <= at {
            self.classes.resize(at + 1, Class::New);
        }
        self.classes[at] = class;
        class
    }

    /// What pointers of a type can lead to if nothing else is known; anything for values of other
    /// types.
    pub(super) fn all_of(&mut self, ty: Type) -> u64 {
        match (self.class(ty), self.generic_of(ty)) {
            (_, true) => u64::from((self.generic_set() | SpaceSet::NOWHERE).bits()),
            (Class::Pointer(mask), _) => mask,
            _ => u64::from(SpaceSet::ALL.bits()),
        }
    }

    fn generic_set(&self) -> SpaceSet {
        self.model.generic().map_or(SpaceSet::ALL, |number| self.model.of(number))
    }

    /// Whether values of a type are generic pointers.
    pub(super) fn generic_of(&self, ty: Type) -> bool {
        let context = self.code.context;
        let scalar = match context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => *elem,
            _ => ty,
        };
        let space = context.type_kind(scalar).address_space();
        space.is_some() && space == self.model.generic()
    }

    /// Whether the result of an instruction has a set. Nothing is known of all others.
    pub(super) fn is_tracked(&mut self, inst: InstId) -> bool {
        let data = self.code.body.inst(inst);
        let (ty, opcode) = (data.ty, data.opcode);
        match self.class(ty) {
            Class::Pointer(_) => true,
            Class::Integer => {
                self.has_integers
                    && matches!(
                        opcode,
                        Opcode::PtrToInt
                            | Opcode::Phi
                            | Opcode::Select
                            | Opcode::Freeze
                            | Opcode::Add
                            | Opcode::Sub
                            | Opcode::And
                            | Opcode::Or
                            | Opcode::Load
                            | Opcode::ExtractValue
                    )
            }
            Class::Aggregate => {
                matches!(
                    opcode,
                    Opcode::Phi
                        | Opcode::Select
                        | Opcode::Freeze
                        | Opcode::InsertValue
                        | Opcode::Load
                ) || opcode.is_call()
            }
            Class::Nothing | Class::New => false,
        }
    }

    /// Whether the null pointer of a type is an address like others: in all spaces but number 0,
    /// and there in functions that are marked `null_pointer_is_valid`.
    pub(super) fn null_is_address(&self, ty: Type) -> bool {
        let context = self.code.context;
        let scalar = match context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => *elem,
            _ => ty,
        };
        let attributes = context.function_attrs(self.code.header.attributes);
        match context.type_kind(scalar).address_space() {
            Some(0) => attributes.has(AttrKind::NullPointerIsValid),
            space => space.is_some(),
        }
    }

    /// Restricts the union of the inputs of an instruction by its type: removes memories that the
    /// type cannot address. If null is an address, a pointer that may be null may lead anywhere.
    pub(super) fn clamp(&mut self, inst: InstId, set: u64) -> u64 {
        let ty = self.code.body.inst(inst).ty;
        let Class::Pointer(mask) = self.class(ty) else { return set };
        let set = match mask != u64::from(SpaceSet::ALL.bits()) {
            true => restrict(set, mask),
            false => set,
        };
        let may_be_null = set & u64::from(SpaceSet::NOWHERE.bits()) != 0;
        match may_be_null && self.null_is_address(ty) {
            true => set | self.all_of(ty),
            false => set,
        }
    }

    /// The set of an argument, of a constant, or of a value that is not tracked; none for the
    /// result of a tracked instruction.
    pub(super) fn fixed(&mut self, value: Value) -> Option<u64> {
        match value.kind() {
            ValueKind::Inst(inst) => {
                (!self.is_tracked(inst)).then_some(u64::from(SpaceSet::ALL.bits()))
            }
            ValueKind::Arg(position) => Some(
                self.arguments
                    .get(position as usize)
                    .copied()
                    .unwrap_or(u64::from(SpaceSet::ALL.bits())),
            ),
            ValueKind::Const(constant) => Some(self.constant(constant)),
            _ => Some(u64::from(SpaceSet::ALL.bits())),
        }
    }

    fn argument(&mut self, position: u32) -> u64 {
        let Code { context, header, .. } = self.code;
        let Some(&ty) = header.params.get(position as usize) else { return 0 };
        let all = self.all_of(ty);
        if !matches!(self.class(ty), Class::Pointer(_)) {
            return all;
        }
        let attributes = context.param_attrs(header.attributes, position as usize);
        if attributes.has(AttrKind::ByVal) || attributes.has(AttrKind::ByRef) {
            let copy = match (self.architecture, self.is_kernel) {
                // The backend makes a copy in the frame of the function.
                (Architecture::Nvptx, false) => SpaceSet::PRIVATE,
                (Architecture::Nvptx, true) => SpaceSet::PRIVATE | SpaceSet::PARAMETER,
                _ => SpaceSet::from_bits(all as u16),
            };
            return all & u64::from(copy.bits());
        }
        if !self.generic_of(ty) {
            // A summary has to hold for any caller.
            if !self.is_symbolic
                && let Some(known) = self.facts.argument(position)
            {
                return all & u64::from(known.bits());
            }
            return all;
        }
        if self.is_kernel {
            let device = match self.architecture {
                Architecture::Nvptx | Architecture::Spirv => SpaceSet::GLOBAL,
                _ => SpaceSet::GLOBAL | SpaceSet::CONSTANT,
            };
            return all & u64::from((device | SpaceSet::NOWHERE).bits());
        }
        if self.is_symbolic {
            return if position < PARAMETERS { 1 << (16 + position) } else { all };
        }
        match self.facts.argument(position) {
            Some(known) => u64::from(known.bits()),
            None => all,
        }
    }

    /// Calls `tell` with each input of the set of a tracked instruction.
    pub(super) fn inputs(&mut self, inst: InstId, mut tell: impl FnMut(Input)) {
        let body = self.code.body;
        let data = *body.inst(inst);
        let operands = body.operands(inst);
        let anything = u64::from(SpaceSet::ALL.bits());
        match data.opcode {
            Opcode::Alloca => {
                tell(Input::Set(u64::from(self.of_alloca(data.ty).bits())));
            }
            Opcode::GetElementPtr => {
                if !data.flags.contains(phalanx_ir::inst::InstFlags::INBOUNDS) {
                    tell(Input::Set(u64::from(SpaceSet::NOWHERE.bits())));
                }
                tell(Input::Value(operands[0]));
            }
            Opcode::AddrSpaceCast | Opcode::BitCast | Opcode::Freeze => {
                tell(Input::Value(operands[0]));
            }
            Opcode::ExtractElement => tell(Input::Value(operands[0])),
            Opcode::PtrToInt | Opcode::IntToPtr => {
                let from = self.type_of(operands[0]);
                match from.is_some_and(|from| self.keeps_bits(data.opcode, from, data.ty)) {
                    true => tell(Input::Value(operands[0])),
                    false => tell(Input::Set(anything)),
                }
            }
            Opcode::Add | Opcode::Sub | Opcode::And | Opcode::Or => {
                match self.stepped(data.opcode, operands[0], operands[1]) {
                    Some(base) => tell(Input::Value(base)),
                    None => tell(Input::Set(anything)),
                }
            }
            Opcode::Select => operands[1..].iter().for_each(|&operand| tell(Input::Value(operand))),
            Opcode::InsertElement | Opcode::ShuffleVector | Opcode::InsertValue => {
                operands[..2].iter().for_each(|&operand| tell(Input::Value(operand)));
            }
            Opcode::ExtractValue => self.member(inst, operands[0], tell),
            Opcode::Phi => {
                for (value, from) in body.phi_incoming(inst) {
                    tell(Input::Incoming(value, node_of(from)));
                }
            }
            Opcode::Load => self.load(inst, data.ty, operands[0], tell),
            opcode if opcode.is_call() => self.call(inst, data.ty, tell),
            _ => tell(Input::Set(self.all_of(data.ty))),
        }
    }

    fn of_alloca(&self, ty: Type) -> SpaceSet {
        let space = self.code.context.type_kind(ty).address_space();
        match space == self.model.generic() || self.architecture == Architecture::Generic {
            true => SpaceSet::PRIVATE,
            false => space.map_or(SpaceSet::PRIVATE, |space| self.model.of(space)),
        }
    }

    pub(super) fn type_of(&self, value: Value) -> Option<Type> {
        crate::code::value_type(self.code, value)
    }

    /// The integer that holds the address, if this operation is a step or a mask with a constant
    /// that keeps it an address in the same memory.
    fn stepped(&self, opcode: Opcode, left: Value, right: Value) -> Option<Value> {
        let number = |value: Value| match &self.code.context.const_data(value.as_const()?).kind {
            ConstKind::Int(Int::Small(number)) => Some(*number),
            _ => None,
        };
        let (base, by) = match (number(left), number(right)) {
            (None, Some(by)) => (left, by),
            (Some(by), None) if opcode != Opcode::Sub => (right, by),
            _ => return None,
        };
        let TypeKind::Int(bits @ 32..=64) = self.code.context.type_kind(self.type_of(base)?) else {
            return None;
        };
        // As a signed number of the type's width.
        let by = (by << (64 - bits)) as i64 >> (64 - bits);
        let is_step = match opcode {
            // Much less than the distance between the windows of spaces.
            Opcode::Add | Opcode::Sub => by.unsigned_abs() < 1 << 31,
            // Only low bits are cleared.
            Opcode::And => (-(1 << 16)..0).contains(&by),
            Opcode::Or => (0..1 << 16).contains(&by),
            _ => false,
        };
        is_step.then_some(base)
    }

    /// The input for a member of a structure, found where the member was put in.
    fn member(&self, inst: InstId, mut aggregate: Value, mut tell: impl FnMut(Input)) {
        let body = self.code.body;
        let wanted = body.indices(inst);
        for _ in 0..STEPS {
            let Some(from) = aggregate.as_inst() else { break };
            if body.inst(from).opcode != Opcode::InsertValue {
                break;
            }
            let (operands, given) = (body.operands(from), body.indices(from));
            if given == wanted {
                return tell(Input::Value(operands[1]));
            }
            if given.starts_with(wanted) || wanted.starts_with(given) {
                break;
            }
            aggregate = operands[0];
        }
        tell(Input::Value(aggregate));
    }

    fn load(&mut self, inst: InstId, ty: Type, address: Value, mut tell: impl FnMut(Input)) {
        if self.memory.is_load(inst) {
            for touch in self.memory.of(inst) {
                tell(Input::Version(self.memory.reaching(touch)));
            }
            return;
        }
        if let Some(constants) = self.initial(ty, address) {
            return tell(Input::Set(u64::from(constants.bits())));
        }
        let all = self.all_of(ty);
        if self.generic_of(ty) && self.is_written_by_host(address) {
            let device = match self.architecture {
                Architecture::Nvptx => SpaceSet::GLOBAL,
                _ => SpaceSet::GLOBAL | SpaceSet::CONSTANT,
            };
            return tell(Input::Set(all & u64::from((device | SpaceSet::NOWHERE).bits())));
        }
        tell(Input::Set(all));
    }

    fn call(&mut self, inst: InstId, ty: Type, mut tell: impl FnMut(Input)) {
        let Code { context, body, .. } = self.code;
        let arguments = body.call_args(inst);
        let info = body.call_info(inst);
        let is_returned =
            |at: &usize| context.param_attrs(info.attributes, *at).has(AttrKind::Returned);
        if let Some(at) = (0..arguments.len()).find(is_returned) {
            return tell(Input::Value(arguments[at]));
        }
        let all = self.all_of(ty);
        let name =
            body.const_callee(inst).and_then(|callee| match context.const_data(callee).kind {
                ConstKind::Global(name) => Some(name),
                _ => None,
            });
        let Some(name) = name else { return tell(Input::Set(all)) };
        if let GlobalName::Named(symbol) = name
            && let text = context.bytes(symbol)
            && intrinsics::is_intrinsic_name(text)
        {
            let base = intrinsics::lookup(text).map(|found| found.base);
            match base {
                Some(
                    "ptrmask"
                    | "launder.invariant.group"
                    | "strip.invariant.group"
                    | "addrspacecast.nonnull"
                    | "readfirstlane"
                    | "readlane"
                    | "ssa.copy"
                    | "expect",
                ) if !arguments.is_empty() => {
                    if base == Some("ptrmask") {
                        tell(Input::Set(u64::from(SpaceSet::NOWHERE.bits())));
                    }
                    tell(Input::Value(arguments[0]));
                }
                Some("mapa") if self.architecture == Architecture::Nvptx => {
                    let cluster = SpaceSet::SHARED | SpaceSet::PEERS | SpaceSet::NOWHERE;
                    tell(Input::Set(all & u64::from(cluster.bits())));
                }
                _ => tell(Input::Set(all)),
            }
            return;
        }
        match self.facts.returned(name) {
            Some(returned) if returned.function_type == info.function_type => {
                tell(Input::Set(u64::from(returned.own.bits())));
                for (at, &argument) in arguments.iter().enumerate().take(PARAMETERS as usize) {
                    if returned.arguments >> at & 1 != 0 {
                        tell(Input::Value(argument));
                    }
                }
            }
            _ => tell(Input::Set(all)),
        }
    }

    /// Whether a summary says what a call returns.
    pub(super) fn is_known_call(&self, inst: InstId) -> bool {
        let callee = self.code.body.const_callee(inst);
        match callee.map(|callee| &self.code.context.const_data(callee).kind) {
            Some(ConstKind::Global(name)) => self.facts.returned(*name).is_some(),
            _ => false,
        }
    }

    /// The inputs for what a definition leaves in private memory.
    pub(super) fn stored(&self, event: u32, mut tell: impl FnMut(Input)) {
        let touch = self.memory.touch_of(event);
        let operands = self.code.body.operands(touch.inst);
        let anything = Input::Set(u64::from(SpaceSet::ALL.bits()));
        match touch.effect {
            Effect::Store => tell(Input::Value(operands[0])),
            Effect::Fill => match operands.get(1) {
                Some(&byte) => tell(Input::Value(byte)),
                None => tell(anything),
            },
            Effect::CopyTo => self.copied(touch, &mut tell),
            _ => tell(anything),
        }
        if self.memory.events().event(event).kind != EventKind::MustDef {
            tell(Input::Version(self.memory.reaching(touch)));
        }
    }

    fn copied(&self, to: &Touch, tell: &mut impl FnMut(Input)) {
        let own = self.memory.of(to.inst);
        let mut is_known = false;
        for from in own.iter().filter(|touch| touch.effect == Effect::CopyFrom) {
            is_known = true;
            tell(Input::Version(self.memory.reaching(from)));
        }
        if !is_known {
            tell(Input::Set(u64::from(SpaceSet::ALL.bits())));
        }
    }
}

/// Whether an instruction makes an address from another one that leads into the same variable.
pub(super) fn is_step(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast | Opcode::Freeze
    )
}

/// Restricts a set by a bound. If the set has parameters, it becomes all of the bound.
pub(super) fn restrict(set: u64, bound: u64) -> u64 {
    let own = set & MEMORIES & bound;
    if set & !MEMORIES == 0 { own } else { bound & MEMORIES }
}
