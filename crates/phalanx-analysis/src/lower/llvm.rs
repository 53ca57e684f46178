//! The rules of LLVM 22 for each instruction, so that our answers can be compared with LLVM's,
//! value by value.
//!
//! LLVM knows three classes: a source of divergence, always uniform, and as uniform as the
//! operands. All its sources become [`SourceSet::OPAQUE_THREAD`]. The rules themselves are in
//! [`phalanx_target::llvm_rules`]; this module matches instructions to them. The rules are LLVM's,
//! and may be wrong about an execution.

use phalanx_core::divergence::{self, Definition};
use phalanx_ir::{
    Const, GlobalName, InstData, InstId, Opcode, Type, TypeKind, Value,
    attributes::{AttrKind, AttrList},
    constant::{ConstKind, InlineAsm},
    inst::Ordering,
    metadata::LocalMetadata,
};
use phalanx_target::{
    Architecture, Extent, LlvmUniformity, SourceSet,
    calling_convention::llvm_argument_is_uniform,
    inline_asm::{Constraints, ResultShape, llvm_call, llvm_output},
    llvm_rules::{self, AmdgpuWorkgroup, Callee},
};

use super::rule::{LoweringRules, Rule, TerminatorRule};
use crate::code::{Code, Environment, pointer_space};

/// The rules of a function.
pub struct LlvmRules<'a> {
    code: Code<'a>,
    env: Environment<'a>,
    architecture: Architecture,
    workgroup: AmdgpuWorkgroup,
    /// Nothing diverges: one thread, or a target without divergence.
    all_uniform: bool,
    /// Leave out what LLVM leaves out; see [`as_exact_llvm`](super::as_exact_llvm).
    exact: bool,
    known: [Option<Known>; KNOWN],
}

/// What the name of a callee and the attributes of a call say, independent of the operands.
#[derive(Copy, Clone)]
struct Known {
    callee: Const,
    attributes: AttrList,
    /// None if the operands matter.
    uniformity: Option<LlvmUniformity>,
    /// See [`Definition::is_pure`].
    is_pure: bool,
    is_workitem_id_x: bool,
}

/// How many callees are cached, by the low bits of their numbers. A power of two.
const KNOWN: usize = 16;

impl<'a> LlvmRules<'a> {
    /// The rules for a function in its environment.
    #[must_use]
    pub fn new(code: Code<'a>, env: Environment<'a>, exact: bool) -> Self {
        let architecture = env.target.architecture();
        let sizes = env.launch.workgroup_size.map(|extent| match extent {
            Extent::Exactly(n) => Some(n),
            _ => None,
        });
        // If a function names no processor, LLVM takes that of the command line.
        let waves = env.launch.wave_width.or_else(|| env.target.wave_width("", ""));
        let workgroup = AmdgpuWorkgroup {
            required: match sizes {
                [Some(x), Some(y), Some(z)] => Some([x, y, z]),
                _ => None,
            },
            max_flat_size: env.launch.max_flat_workgroup_size,
            wave_width: waves.unwrap_or(64),
        };
        let all_uniform = !env.target.llvm_has_divergence()
            || architecture == Architecture::Amdgcn && workgroup.is_single_thread();
        LlvmRules { code, env, architecture, workgroup, all_uniform, exact, known: [None; KNOWN] }
    }

    fn callee(&self, call: InstId) -> Option<Const> {
        self.code.body.const_callee(call)
    }

    /// The name of the called function; none for pointers and assembly.
    fn callee_name(&self, call: InstId) -> Option<&'a str> {
        match self.code.context.const_data(self.callee(call)?).kind {
            ConstKind::Global(GlobalName::Named(symbol)) => {
                std::str::from_utf8(self.code.context.bytes(symbol)).ok()
            }
            _ => None,
        }
    }

    fn assembly(&self, call: InstId) -> Option<&'a InlineAsm> {
        match &self.code.context.const_data(self.callee(call)?).kind {
            ConstKind::InlineAsm(asm) => Some(asm),
            _ => None,
        }
    }

    /// Whether `nodivergencesource` is on the call or on the callee.
    fn is_no_source(&self, call: InstId) -> bool {
        let context = self.code.context;
        let at_site = self.code.body.call_info(call).attributes;
        let at_callee = match self.callee(call).map(|callee| &context.const_data(callee).kind) {
            Some(ConstKind::Global(name)) => (self.env.callee)(*name),
            _ => None,
        };
        let has = |list| {
            list != AttrList::EMPTY
                && context.function_attrs(list).has(AttrKind::NoDivergenceSource)
        };
        has(at_site) || at_callee.is_some_and(has)
    }

    /// What is known of the callee of a call; none for pointers.
    #[inline]
    fn known(&mut self, call: InstId) -> Option<&Known> {
        let callee = self.callee(call)?;
        let attributes = self.code.body.call_info(call).attributes;
        let slot = callee.raw() as usize % KNOWN;
        let is_known = self.known[slot]
            .as_ref()
            .is_some_and(|known| known.callee == callee && known.attributes == attributes);
        if !is_known {
            self.known[slot] = Some(self.look_up(call, callee, attributes));
        }
        self.known[slot].as_ref()
    }

    fn look_up(&self, call: InstId, callee: Const, attributes: AttrList) -> Known {
        let name = self.callee_name(call);
        let found = name.and_then(phalanx_target::intrinsics::lookup);
        let is_workitem_id_x = name == Some("llvm.amdgcn.workitem.id.x");
        let asks_operands = self.architecture == Architecture::Amdgcn
            && match name {
                None => true,
                Some(name) => {
                    name.starts_with("llvm.amdgcn.addrspacecast.nonnull")
                        || name.starts_with("llvm.read_register")
                }
            };
        let uniformity = (!asks_operands).then(|| {
            if name.is_some_and(|name| name.starts_with("llvm.amdgcn.workitem.id.")) {
                return self.call(call);
            }
            let name = name.map_or(Callee::Indirect, Callee::Function);
            let is_no_source = self.is_no_source(call);
            llvm_rules::call_of(self.architecture, name, found.as_ref(), is_no_source)
        });
        let is_pure = found.is_some_and(|found| found.info.is_invariant_with_operands());
        Known { callee, attributes, uniformity, is_pure, is_workitem_id_x }
    }

    fn call(&self, call: InstId) -> LlvmUniformity {
        if self.architecture == Architecture::Amdgcn
            && let Some(asm) = self.assembly(call)
        {
            return match self.code.body.inst(call).opcode {
                // LLVM looks at assembly in plain calls only.
                Opcode::CallBr => LlvmUniformity::Default,
                _ => llvm_call(&self.assembly_outputs(asm, self.code.body.inst(call).ty)),
            };
        }
        let name = self.callee_name(call);
        if self.architecture == Architecture::Amdgcn && !self.is_no_source(call) {
            let dimension = match name {
                Some("llvm.amdgcn.workitem.id.x") => Some(0),
                Some("llvm.amdgcn.workitem.id.y") => Some(1),
                Some("llvm.amdgcn.workitem.id.z") => Some(2),
                _ => None,
            };
            if let Some(dimension) = dimension {
                return llvm_rules::workitem_id(dimension, &self.workgroup);
            }
            if self.env.scratch_is_global
                && name.is_some_and(|name| name.starts_with("llvm.amdgcn.addrspacecast.nonnull"))
                && self
                    .code
                    .body
                    .call_args(call)
                    .first()
                    .is_some_and(|&p| self.address_space(p) == 5)
            {
                return LlvmUniformity::NeverUniform;
            }
            if name.is_some_and(|name| name.starts_with("llvm.read_register"))
                && let Some(register) = self.register_name(call)
            {
                return llvm_rules::read_register(self.architecture, register);
            }
        }
        let callee = name.map_or(Callee::Indirect, Callee::Function);
        llvm_rules::call(self.architecture, callee, self.is_no_source(call))
    }

    /// The register that `llvm.read_register` names: a string, or a node that holds one.
    fn register_name(&self, call: InstId) -> Option<&'a str> {
        let phalanx_ir::ValueKind::Metadata(id) = self.code.body.call_args(call).first()?.kind()
        else {
            return None;
        };
        let symbol = match self.code.body.local_metadata(id) {
            LocalMetadata::String(symbol) => *symbol,
            LocalMetadata::Node(node) => (self.env.node_string)(*node)?,
            _ => return None,
        };
        std::str::from_utf8(self.code.context.bytes(symbol)).ok()
    }

    fn assembly_outputs(&self, asm: &InlineAsm, ty: Type) -> Vec<LlvmUniformity> {
        let context = self.code.context;
        let text = context.text(asm.constraints);
        let Ok(constraints) = Constraints::parse(&text) else {
            return vec![LlvmUniformity::NeverUniform];
        };
        let shapes: Vec<ResultShape> = match context.type_kind(ty) {
            TypeKind::Struct { fields, .. } => {
                fields.iter().map(|&field| self.shape(field)).collect()
            }
            _ => vec![self.shape(ty)],
        };
        let outputs = constraints.outputs().enumerate();
        outputs
            .map(|(at, output)| {
                llvm_output(output, shapes.get(at).copied().unwrap_or(ResultShape::Aggregate))
            })
            .collect()
    }

    fn shape(&self, ty: Type) -> ResultShape {
        match self.code.context.type_kind(ty) {
            TypeKind::Int(bits) => ResultShape::Integer(*bits),
            TypeKind::Half | TypeKind::BFloat => ResultShape::Float(16),
            TypeKind::Float => ResultShape::Float(32),
            TypeKind::Double => ResultShape::Float(64),
            TypeKind::Ptr(space) => ResultShape::Pointer(pointer_bits(*space)),
            TypeKind::Vector { elem, len, .. } => {
                let element_bits = match self.shape(*elem) {
                    ResultShape::Integer(bits)
                    | ResultShape::Float(bits)
                    | ResultShape::Pointer(bits) => bits,
                    ResultShape::Vector { .. } | ResultShape::Aggregate => {
                        return ResultShape::Aggregate;
                    }
                };
                ResultShape::Vector { elements: *len, element_bits }
            }
            _ => ResultShape::Aggregate,
        }
    }

    #[inline]
    fn address_space(&self, address: Value) -> u32 {
        let ty = match address.kind() {
            phalanx_ir::ValueKind::Inst(inst) => self.code.body.inst(inst).ty,
            phalanx_ir::ValueKind::Arg(position) => self.code.header.params[position as usize],
            phalanx_ir::ValueKind::Const(constant) => self.code.context.const_data(constant).ty,
            _ => return 0,
        };
        pointer_space(self.code.context, ty).unwrap_or(0)
    }

    fn integer(&self, value: Value) -> Option<u64> {
        match &self.code.context.const_data(value.as_const()?).kind {
            ConstKind::Int(int) => int.to_u64(),
            ConstKind::Zero => Some(0),
            _ => None,
        }
    }

    fn is_workitem_id_x(&mut self, value: Value) -> bool {
        value.as_inst().is_some_and(|inst| {
            self.code.body.inst(inst).opcode == Opcode::Call
                && self.known(inst).is_some_and(|known| known.is_workitem_id_x)
        })
    }

    /// A lower bound of the number of zero bits at the end of a value, from a look at one
    /// instruction.
    fn trailing_zeros(&self, value: Value) -> u32 {
        if let Some(constant) = self.integer(value) {
            return constant.trailing_zeros();
        }
        let shift = value.as_inst().filter(|&inst| self.code.body.inst(inst).opcode == Opcode::Shl);
        let amount = shift.and_then(|shift| self.integer(self.code.body.operands(shift)[1]));
        amount.map_or(0, |amount| u32::try_from(amount).unwrap_or(0))
    }

    #[inline]
    fn classify(&mut self, inst: InstId, data: &InstData) -> LlvmUniformity {
        let body = self.code.body;
        let operands = body.operands(inst);
        let is_amdgpu = self.architecture == Architecture::Amdgcn;
        match data.opcode {
            Opcode::Call | Opcode::Invoke | Opcode::CallBr => {
                let known = self.known(inst).and_then(|known| known.uniformity);
                known.unwrap_or_else(|| self.call(inst))
            }
            // If scratch memory has global addresses, one offset has another address in each lane.
            Opcode::AddrSpaceCast
                if is_amdgpu
                    && self.env.scratch_is_global
                    && self.address_space(operands[0]) == 5
                    && self.code.context.type_kind(data.ty).address_space() == Some(0) =>
            {
                LlvmUniformity::NeverUniform
            }
            Opcode::Load => llvm_rules::load(self.architecture, self.address_space(operands[0])),
            Opcode::AtomicRmw | Opcode::CmpXchg => {
                llvm_rules::atomic_read_modify_write(self.architecture)
            }
            Opcode::Fence => llvm_rules::fence_or_atomic_store(self.architecture),
            Opcode::Store if data.mem().ordering() != Ordering::NotAtomic => {
                llvm_rules::fence_or_atomic_store(self.architecture)
            }
            Opcode::LShr | Opcode::AShr if is_amdgpu && self.is_workitem_id_x(operands[0]) => {
                match self.integer(operands[1]) {
                    Some(amount) => llvm_rules::shifted_workitem_id_x(amount, &self.workgroup),
                    None => LlvmUniformity::Default,
                }
            }
            Opcode::And if is_amdgpu => {
                let mask = match (
                    self.is_workitem_id_x(operands[0]),
                    self.is_workitem_id_x(operands[1]),
                ) {
                    (true, _) => operands[1],
                    (_, true) => operands[0],
                    _ => return LlvmUniformity::Default,
                };
                llvm_rules::masked_workitem_id_x(self.trailing_zeros(mask), &self.workgroup)
            }
            Opcode::ExtractValue => self.extracted(inst),
            _ => LlvmUniformity::Default,
        }
    }

    /// The class of a member of a call's result, in the block of the call. LLVM does not compare
    /// the blocks, and is wrong if the member is taken after a cycle that threads left in different
    /// iterations.
    fn extracted(&self, inst: InstId) -> LlvmUniformity {
        let body = self.code.body;
        let aggregate = body.operands(inst)[0].as_inst();
        let Some(call) = aggregate.filter(|&call| {
            body.inst(call).opcode == Opcode::Call && body.block_of(call) == body.block_of(inst)
        }) else {
            return LlvmUniformity::Default;
        };
        let &[member] = body.indices(inst) else { return LlvmUniformity::Default };
        if let Some(asm) = self.assembly(call).filter(|_| self.architecture == Architecture::Amdgcn)
        {
            let outputs = self.assembly_outputs(asm, body.inst(call).ty);
            let output = outputs.get(member as usize).copied().unwrap_or_default();
            // A member in a vector register is as divergent as the call, which is a source already.
            return match output {
                LlvmUniformity::AlwaysUniform => output,
                _ => LlvmUniformity::Default,
            };
        }
        match self.callee_name(call) {
            Some(name) => llvm_rules::extracted_result(self.architecture, name, member as usize),
            None => LlvmUniformity::Default,
        }
    }

    /// Whether the result is a function of the operands alone: it is then invariant if they are.
    #[inline(always)]
    fn is_pure(&mut self, inst: InstId, opcode: Opcode) -> bool {
        match opcode {
            Opcode::Call => self.known(inst).is_some_and(|known| known.is_pure),
            Opcode::Load
            | Opcode::Store
            | Opcode::Fence
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::Alloca
            | Opcode::Invoke
            | Opcode::CallBr
            | Opcode::VaArg
            | Opcode::Freeze
            | Opcode::LandingPad
            | Opcode::CatchPad
            | Opcode::CleanupPad => false,
            _ => true,
        }
    }
}

/// Whether some instruction with this opcode, which is no terminator's, is neither as uniform as
/// its operands nor pure. Phis have a rule elsewhere.
#[inline]
const fn has_rule(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Phi
            | Opcode::Call
            | Opcode::Load
            | Opcode::Store
            | Opcode::Fence
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::Alloca
            | Opcode::VaArg
            | Opcode::Freeze
            | Opcode::LandingPad
            | Opcode::CatchPad
            | Opcode::CleanupPad
            | Opcode::AddrSpaceCast
            | Opcode::LShr
            | Opcode::AShr
            | Opcode::And
            | Opcode::ExtractValue
    )
}

impl LoweringRules for LlvmRules<'_> {
    #[inline]
    fn is_plain(&self, opcode: Opcode) -> bool {
        opcode >= Opcode::FNeg && !self.all_uniform && !has_rule(opcode)
    }

    fn argument(&mut self, position: u32) -> Definition {
        let attributes =
            self.code.context.param_attrs(self.code.header.attributes, position as usize);
        let uniform = self.all_uniform
            || llvm_argument_is_uniform(
                self.architecture,
                self.code.header.call_conv,
                attributes.has(AttrKind::InReg),
                attributes.has(AttrKind::ByVal),
            );
        let seed = if uniform { SourceSet::EMPTY } else { SourceSet::OPAQUE_THREAD };
        Definition { seed, transfer: divergence::Transfer::Propagate, is_pure: true }
    }

    #[inline(always)]
    fn inst(&mut self, inst: InstId) -> Rule {
        let data = self.code.body.inst(inst);
        // The result of a terminator that has none is not used.
        let no_value = data.opcode.is_terminator() && (self.exact || data.ty == Type::VOID);
        let uniformity = match self.all_uniform || no_value {
            true => LlvmUniformity::AlwaysUniform,
            false => self.classify(inst, data),
        };
        let is_pure = self.is_pure(inst, data.opcode);
        Rule::new(match uniformity {
            LlvmUniformity::Default => Definition {
                seed: SourceSet::EMPTY,
                transfer: divergence::Transfer::Propagate,
                is_pure,
            },
            LlvmUniformity::AlwaysUniform => Definition {
                seed: SourceSet::EMPTY,
                transfer: divergence::Transfer::Fixed,
                is_pure,
            },
            LlvmUniformity::NeverUniform => Definition {
                seed: SourceSet::OPAQUE_THREAD,
                transfer: divergence::Transfer::Propagate,
                is_pure,
            },
        })
    }

    #[inline]
    fn terminator(&mut self, inst: InstId) -> TerminatorRule {
        if self.all_uniform {
            return TerminatorRule::Fixed;
        }
        let is_source = match self.code.body.inst(inst).opcode {
            // On NVPTX, LLVM looks at plain calls only, and threads do not unwind.
            Opcode::Invoke if self.architecture == Architecture::Nvptx => !self.exact,
            Opcode::Invoke => self.call(inst) == LlvmUniformity::NeverUniform,
            _ => false,
        };
        match is_source {
            true => TerminatorRule::Source(SourceSet::OPAQUE_THREAD),
            false => TerminatorRule::Operands,
        }
    }
}

/// Bits of an AMDGPU pointer.
fn pointer_bits(space: u32) -> u32 {
    match space {
        2 | 3 | 5 | 6 => 32,
        7 => 160,
        8 => 128,
        9 => 192,
        _ => 64,
    }
}
