//! Our rules for each instruction: sound in every execution, and as precise as a rule can be that
//! looks at one operand at a time.
//!
//! Intrinsics follow the tables of `phalanx-target`. Besides them:
//!
//! - arguments of kernels are launch constants. Arguments of other functions are unknown, except
//!   that AMDGPU passes `inreg` arguments in scalar registers, one value per wave;
//! - a plain load gives a converged group one value if its address is uniform and the memory is not
//!   private to the thread. Another wave may read another value at another time;
//! - the result of a call is unknown if its convergence token comes from a cycle that the call is
//!   outside of ([`escape`]);
//! - results of atomics and unknown calls, and of whatever has no rule, are unknown.

mod loads;

use phalanx_core::divergence::{self, Definition};
use phalanx_ir::{
    Const, InstData, InstId, Opcode, TypeKind, Value,
    attributes::{AttrKind, AttrSetData},
    constant::{ConstKind, InlineAsm},
    inst::InstFlags,
};
use phalanx_target::{
    Intrinsic, SourceSet, Transfer, TransferContext,
    calling_convention::{Entry, argument_is_wave_uniform},
};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::cell::OnceCell;

use super::rule::{LoweringRules, Reads, Rule, TerminatorRule};
use super::{
    assembly, calls,
    omitted::{Family, OmittedPart},
    results::{OperandFacts, rule_of},
};
use crate::code::{Code, Environment};
use crate::memory::PrivateView;
use crate::{
    code::calls::CallFacts,
    convergence::{escape, tokens::Tokens},
    shape::{self, Dependence, ShapeContext, Shapes, Trust},
};

/// The rules of a function.
pub struct FullRules<'a> {
    code: Code<'a>,
    env: Environment<'a>,
    /// Boxed, as in the state that retains it, which is passed on with every edit.
    shapes: Box<Shapes>,
    /// The context in which intrinsics are evaluated, once the rules have met one.
    context: OnceCell<TransferContext>,
    entry: Entry,
    /// Callees that the rules have met, by the low bits of their numbers; empty until they have met
    /// one.
    intrinsics: Vec<Option<(Const, Option<Intrinsic>)>>,
    /// Private memory, if the contents of its loads are used.
    memory: Option<PrivateView<'a>>,
    /// Rules that are left out.
    without: Option<Family>,
    /// A part of what shapes say that is left out.
    without_part: Option<OmittedPart>,
    /// Convergence tokens, once the rules have met a call.
    tokens: OnceCell<Tokens>,
    /// Calls whose token comes from a cycle that they are outside of, once the rules have met a
    /// call with a token.
    escaping: OnceCell<FxHashSet<InstId>>,
}

/// How many callees are cached. A power of two.
const KNOWN: usize = 16;

impl<'a> FullRules<'a> {
    /// The rules for a function in its environment.
    #[must_use]
    pub fn new(code: Code<'a>, env: Environment<'a>) -> Self {
        Self::with_shapes(code, env, Box::new(Shapes::new(code, env, Trust::Nothing)))
    }

    /// The same rules, with shapes that were found before, with [`Trust::Nothing`].
    pub(super) fn with_shapes(code: Code<'a>, env: Environment<'a>, shapes: Box<Shapes>) -> Self {
        FullRules {
            code,
            env,
            shapes,
            context: OnceCell::new(),
            entry: code.entry(env.target.architecture()),
            intrinsics: Vec::new(),
            memory: None,
            without: None,
            without_part: None,
            tokens: OnceCell::new(),
            escaping: OnceCell::new(),
        }
    }

    /// Whether a call has a token from a cycle that it is outside of.
    pub(super) fn escapes(&self, call: InstId) -> bool {
        let tokens = self.tokens.get_or_init(|| Tokens::new(self.code.context));
        !tokens.is_unused()
            && tokens.used(self.code.body, call).is_some()
            && self.escaping.get_or_init(|| escape::escaping(self.code)).contains(&call)
    }

    /// The same rules, with the contents of private memory.
    pub(super) fn with_memory(self, memory: PrivateView<'a>) -> Self {
        FullRules { memory: Some(memory), ..self }
    }

    /// The same rules, without a family.
    pub(super) fn without(self, family: Family) -> Self {
        FullRules { without: Some(family), ..self }
    }

    /// The same rules, made unsound: without a part of what shapes say.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn without_part(self, part: OmittedPart) -> Self {
        let trust = match part {
            OmittedPart::Poison => Trust::Flags,
            _ => Trust::Nothing,
        };
        let shapes = Box::new(Shapes::new(self.code, self.env, trust));
        FullRules { shapes, without_part: Some(part), ..self }
    }

    /// Summaries of callees.
    pub(super) fn calls(&self) -> &'a dyn CallFacts {
        self.env.calls
    }

    /// The shapes that were found.
    pub(super) fn into_shapes(self) -> Box<Shapes> {
        self.shapes
    }

    fn context(&self) -> &TransferContext {
        self.context.get_or_init(|| {
            let Environment { launch, lockstep, permutes_halves, .. } = self.env;
            let context = TransferContext::new(launch, lockstep);
            if permutes_halves { context.with_halves(launch) } else { context }
        })
    }

    fn is_kernel(&self) -> bool {
        self.entry == Entry::Kernel
    }

    fn intrinsic(&mut self, callee: Const) -> Option<Intrinsic> {
        let slot = callee.raw() as usize % KNOWN;
        match self.intrinsics.get(slot) {
            Some(Some((known, intrinsic))) if *known == callee => return *intrinsic,
            Some(_) => {}
            None => self.intrinsics.resize(KNOWN, None),
        }
        let context = self.code.context;
        let intrinsic = match context.const_data(callee).kind {
            ConstKind::Global(name) => self.code.intrinsic(name),
            _ => None,
        };
        self.intrinsics[slot] = Some((callee, intrinsic));
        intrinsic
    }

    /// Facts about the operands of a call. Whether an operand may point to private memory is found
    /// only if the call loads.
    fn operand_facts(&self, operands: &[Value], loads: bool) -> SmallVec<[OperandFacts; 8]> {
        operands
            .iter()
            .map(|&operand| OperandFacts {
                constant: operand.as_const().and_then(|constant| self.integer(constant)),
                varies: operand.as_const().is_none() && operand.as_block().is_none(),
                may_be_private: !loads || self.may_be_private(operand),
            })
            .collect()
    }

    pub(super) fn integer(&self, constant: Const) -> Option<u64> {
        match &self.code.context.const_data(constant).kind {
            ConstKind::Int(int) => int.to_u64(),
            ConstKind::Zero | ConstKind::Null => Some(0),
            _ => None,
        }
    }

    /// The rule of a call, or of member `result` of the structure that it returns.
    fn call(&mut self, call: InstId, result: Option<u32>) -> Rule {
        let unknown = Rule::new(Definition::source(SourceSet::OPAQUE_THREAD));
        let body = self.code.body;
        let Some(callee) = body.const_callee(call) else { return unknown };
        if self.escapes(call) {
            return unknown;
        }
        if let ConstKind::InlineAsm(asm) = &self.code.context.const_data(callee).kind {
            return self.inline_asm(asm, call, result);
        }
        let Some(intrinsic) = self.intrinsic(callee) else {
            return calls::rule(self.code, self.env.calls, self.memory, call, result)
                .unwrap_or(unknown);
        };
        let info = intrinsic.info;
        if self.without == Some(Family::Subgroups)
            && !matches!(info.result, Transfer::Source(_) | Transfer::Coordinate(_))
            && info.convergent
        {
            return unknown;
        }
        if self.env.scratch_is_global
            && intrinsic.base == "addrspacecast.nonnull"
            && body.call_args(call).first().is_some_and(|&pointer| self.may_be_private(pointer))
        {
            return Self::scratch_address();
        }
        let is_struct = matches!(
            self.code.context.type_kind(body.inst(call).ty),
            TypeKind::Struct { .. } | TypeKind::Named(_)
        );
        let results = [info.result, info.further_results];
        let loads = results.iter().any(|result| matches!(result, Transfer::Load { .. }));
        let facts = self.operand_facts(body.call_args(call), loads);
        let is_pure = info.is_invariant_with_operands();
        let member = |index: usize| rule_of(info.result_at(index), &facts, self.context(), is_pure);
        let rule = match result {
            Some(index) => member(index as usize),
            None if is_struct && info.result != info.further_results => union(member(0), member(1)),
            None => member(0),
        };
        let rule = match rule.reads {
            // The transfer has no bundle operands and no callee.
            Reads::Some(mask) if facts.len() < 64 => {
                Rule { reads: Reads::Some(mask & ((1 << facts.len()) - 1)), ..rule }
            }
            _ => rule,
        };
        match result {
            None => calls::with_uses(self.code, call, rule, false),
            Some(_) => rule,
        }
    }

    /// The rule of a call that may unwind. Only threads for which the call returns have the result,
    /// which is that of an ordinary call.
    fn invoke(&mut self, invoke: InstId) -> Rule {
        let unknown = Rule::new(Definition::source(SourceSet::OPAQUE_THREAD));
        match self.code.body.const_callee(invoke) {
            Some(callee) if !self.escapes(invoke) && self.intrinsic(callee).is_none() => {
                calls::rule(self.code, self.env.calls, None, invoke, None).unwrap_or(unknown)
            }
            _ => unknown,
        }
    }

    /// The rule of a result of assembly. A scalar register has one value per wave, whatever the
    /// text says.
    fn inline_asm(&self, asm: &InlineAsm, call: InstId, result: Option<u32>) -> Rule {
        let target = self.env.target;
        let architecture = target.architecture();
        let arguments = self.code.body.call_args(call);
        let integer = |constant| self.integer(constant);
        let known = assembly::is_read(architecture).then(|| {
            assembly::rule(
                self.code,
                (asm, architecture),
                (arguments, &integer),
                self.context(),
                result,
            )
        });
        let known = known.flatten();
        let constraints = self.code.context.text(asm.constraints);
        let scalar = target.asm_result_is_scalar(&constraints, result.map(|r| r as usize));
        let rule = match known {
            _ if scalar => assembly::in_scalar_register(known, self.context()),
            Some(rule) => rule,
            None => Rule::new(Definition::source(SourceSet::OPAQUE_THREAD)),
        };
        match result {
            None => calls::with_uses(self.code, call, rule, false),
            Some(_) => rule,
        }
    }

    /// The rule of the generic address of private memory, on targets where it differs in each lane.
    fn scratch_address() -> Rule {
        let source = Definition::source(SourceSet::LANE | SourceSet::OPAQUE_WAVE);
        Rule::new(Definition { is_pure: true, ..source })
    }

    fn alloca(&self, inst: InstId, data: &InstData) -> Rule {
        let entry = self.code.flow.entry();
        let is_static = self.code.body.block_of(inst) == entry
            && self
                .code
                .body
                .operands(inst)
                .first()
                .is_some_and(|count| count.as_const().is_some())
            && !data.flags.contains(InstFlags::IN_ALLOCA);
        // The frame of a kernel is at one address for all threads. The frame of a function depends
        // on where its callers left the stack.
        let seed = match (is_static, self.is_kernel()) {
            (true, true) => SourceSet::EMPTY,
            (true, false) if self.env.lockstep => SourceSet::OPAQUE_WAVE,
            _ => SourceSet::OPAQUE_THREAD,
        };
        let is_pure = is_static && self.is_kernel();
        Rule::new(Definition { seed, transfer: divergence::Transfer::Propagate, is_pure })
    }

    fn place(&self) -> ShapeContext<'a> {
        ShapeContext::new(self.code, self.env)
    }

    /// The rule that follows from the shape of a value, where it says more than the operands.
    #[inline]
    fn by_shape(&mut self, inst: InstId) -> Option<Rule> {
        let place = self.place();
        let Dependence { mut sources, mut atoms, is_of_round } =
            self.shapes.dependence(place, inst)?;
        match self.without_part {
            Some(OmittedPart::Indices) => sources = SourceSet::EMPTY,
            Some(OmittedPart::Atoms) => atoms.clear(),
            _ => {}
        }
        if atoms.is_empty() && !is_of_round {
            let transfer = divergence::Transfer::Fixed;
            return Some(Rule::new(Definition { seed: sources, transfer, is_pure: true }));
        }
        let definition = Definition { seed: sources, is_pure: !is_of_round, ..Definition::PURE };
        let values = std::array::from_fn(|at| atoms.get(at).copied());
        Some(Rule { definition, image: None, reads: Reads::Values(values) })
    }

    fn freeze(&self, operand: Value) -> Rule {
        match operand.as_const().is_some_and(|constant| self.has_undef(constant)) {
            true => Rule::new(Definition::source(SourceSet::OPAQUE_THREAD)),
            false => Rule::IMPURE,
        }
    }

    /// Whether a literal, or an element of it, is undefined.
    fn has_undef(&self, constant: Const) -> bool {
        let mut work: SmallVec<[Const; 8]> = SmallVec::from_slice(&[constant]);
        let mut seen = FxHashSet::default();
        while let Some(constant) = work.pop() {
            let kind = &self.code.context.const_data(constant).kind;
            match kind {
                ConstKind::Undef | ConstKind::Poison => return true,
                _ => work.extend(kind.parts().iter().copied().filter(|&part| seen.insert(part))),
            }
        }
        false
    }

    /// The rule of a member that is taken out of a structure. If the structure is the result of a
    /// call, the member has a rule of its own; otherwise it is a pure function of the structure.
    ///
    /// The call has to be in the same block. In other blocks threads may hold the results of
    /// different executions, which the analysis finds at the use of the call's result.
    fn extract_value(&mut self, inst: InstId) -> Rule {
        let body = self.code.body;
        let aggregate = body.operands(inst)[0].as_inst();
        let call = aggregate.filter(|&call| {
            body.inst(call).opcode == Opcode::Call && body.block_of(call) == body.block_of(inst)
        });
        match (call, body.indices(inst).first()) {
            (Some(call), Some(&member)) => {
                let (facts, known) = (self.env.calls, (call, member));
                if calls::is_known_as_whole(self.code, facts, self.memory, known) {
                    return Rule::PURE;
                }
                let rule = self.call(call, Some(member));
                match rule.reads {
                    Reads::Some(mask) => Rule { reads: Reads::Of(call, mask), ..rule },
                    Reads::All => Rule { reads: Reads::Of(call, u64::MAX), ..rule },
                    Reads::Of(..) | Reads::Values(_) => rule,
                }
            }
            _ => Rule::PURE,
        }
    }
}

/// Whether facts about an argument of a function that is called are about what it points to.
fn is_by_content(attributes: &AttrSetData) -> bool {
    attributes.has(AttrKind::ByVal) || attributes.has(AttrKind::ByRef)
}

/// Whether some instruction with this opcode, which is no terminator's, has another rule than a
/// pure function of its operands. Phis have a rule elsewhere.
#[inline]
const fn has_rule(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Phi
            | Opcode::Call
            | Opcode::Load
            | Opcode::Alloca
            | Opcode::Freeze
            | Opcode::ExtractValue
            | Opcode::AddrSpaceCast
            | Opcode::Store
            | Opcode::Fence
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::VaArg
            | Opcode::LandingPad
            | Opcode::CatchPad
            | Opcode::CleanupPad
    )
}

fn union(a: Rule, b: Rule) -> Rule {
    let mask = |rule: &Rule| match rule.reads {
        Reads::Some(mask) => mask,
        _ => u64::MAX,
    };
    let identity: [SourceSet; SourceSet::COUNT] =
        std::array::from_fn(|bit| SourceSet::from_bits(1 << bit));
    let image = match (a.image, b.image) {
        (None, None) => None,
        (a, b) => {
            let (a, b) = (a.unwrap_or(identity), b.unwrap_or(identity));
            Some(std::array::from_fn(|bit| a[bit] | b[bit]))
        }
    };
    let fixed = divergence::Transfer::Fixed;
    let transfer = match a.definition.transfer == fixed && b.definition.transfer == fixed {
        true => fixed,
        false => divergence::Transfer::Propagate,
    };
    let definition = Definition {
        seed: a.definition.seed | b.definition.seed,
        transfer,
        is_pure: a.definition.is_pure && b.definition.is_pure,
    };
    Rule { definition, image, reads: Reads::Some(mask(&a) | mask(&b)) }
}

impl LoweringRules for FullRules<'_> {
    #[inline]
    fn is_plain(&self, opcode: Opcode) -> bool {
        opcode >= Opcode::FNeg && !has_rule(opcode) && !shape::asks(opcode)
    }

    fn argument(&mut self, position: u32) -> Definition {
        let attributes =
            self.code.context.param_attrs(self.code.header.attributes, position as usize);
        let (architecture, inreg) =
            (self.env.target.architecture(), attributes.has(AttrKind::InReg));
        // A kernel that functions call gets arguments from its callers.
        let is_called_kernel = self.code.library.is_called_kernel(self.code.header.name);
        let convention = self.code.header.call_conv;
        let is_uniform =
            !is_called_kernel && argument_is_wave_uniform(architecture, convention, inreg);
        let seed = match is_uniform {
            true if self.is_kernel() => SourceSet::EMPTY,
            // What is known of the argument is about what it points to.
            _ if self.entry == Entry::Call && is_by_content(attributes) => SourceSet::OPAQUE_THREAD,
            is_scalar if self.entry == Entry::Call => {
                calls::argument(self.env.calls, position, is_scalar, self.context().wave)
            }
            true => SourceSet::OPAQUE_WAVE,
            false => SourceSet::OPAQUE_THREAD,
        };
        Definition { seed, transfer: divergence::Transfer::Propagate, is_pure: true }
    }

    #[inline(always)]
    fn inst(&mut self, inst: InstId) -> Rule {
        let body = self.code.body;
        let data = body.inst(inst);
        if shape::asks(data.opcode)
            && self.without != Some(Family::Shapes)
            && let Some(rule) = self.by_shape(inst)
        {
            return rule;
        }
        match data.opcode {
            Opcode::Call => self.call(inst, None),
            Opcode::Invoke => self.invoke(inst),
            Opcode::Load => self.load(inst, data, body.operands(inst)[0]),
            Opcode::Alloca => self.alloca(inst, data),
            Opcode::Freeze => self.freeze(body.operands(inst)[0]),
            Opcode::ExtractValue => self.extract_value(inst),
            Opcode::AddrSpaceCast
                if self.env.scratch_is_global && self.may_be_private(body.operands(inst)[0]) =>
            {
                Self::scratch_address()
            }
            Opcode::Store | Opcode::Fence => Rule::IMPURE,
            Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::CallBr
            | Opcode::VaArg
            | Opcode::LandingPad
            | Opcode::CatchPad
            | Opcode::CleanupPad => Rule::new(Definition::source(SourceSet::OPAQUE_THREAD)),
            _ => Rule::PURE,
        }
    }

    fn representative(&mut self, phi: InstId, position: usize) -> usize {
        /// Phis with more entries are not searched for equal values.
        const FEW: usize = 8;
        let values = self.code.body.phi_values(phi);
        if values.len() > FEW || self.without == Some(Family::Shapes) {
            return position;
        }
        let place = self.place();
        let is_same =
            |&other: &usize| self.shapes.are_congruent(place, values[other], values[position]);
        (0..position).find(is_same).unwrap_or(position)
    }

    fn terminator(&mut self, inst: InstId) -> TerminatorRule {
        match self.code.body.inst(inst).opcode {
            // Each thread unwinds, or jumps out of assembly, on its own.
            Opcode::Invoke | Opcode::CallBr | Opcode::CatchSwitch => {
                TerminatorRule::Source(SourceSet::OPAQUE_THREAD)
            }
            _ => TerminatorRule::Operands,
        }
    }
}
