//! Convergent operations of a function, and the tokens that control who executes them together.
//!
//! A *convergent operation* communicates among the threads that execute it together, at some
//! *scope*: lanes of a wave for a vote, a workgroup for a barrier. A function is *controlled* when
//! its convergent operations name tokens for it (the `convergencectrl` bundle of LLVM's *Convergent
//! Operation Semantics* document). Otherwise it is *uncontrolled*: its operations are converged as
//! far as the control flow allows.
//!
//! | token of | made | its users are executed together by threads |
//! |---|---|---|
//! | `entry` | once per call | that made the call together |
//! | `anchor` | at each execution | that executed the anchor together, which is up to the implementation |
//! | `loop`, the *heart* of a cycle | in each round | whose operand tokens were together, and that are in rounds of equal number |
//!
//! The *region* of a token is where it is live: between its definition and its uses. A token that
//! is used outside of the cycle in which it is made *extends* that cycle: threads that left in
//! different rounds are not together within the region. See [`escape`] for what that means to
//! uniformity.
//!
//! Cost: O(instructions), and O(depth of cycles) per use of a token. A region is computed on
//! demand, O(blocks of the region).

pub mod escape;
pub mod tokens;

use phalanx_graph::{BitSet, Cfg, CycleId, Cycles, DomTree, Node};
use phalanx_ir::{
    GlobalName, InstId, Type,
    attributes::{AttrKind, AttrList},
    constant::ConstKind,
    flow::node_of,
};
use phalanx_target::{Architecture, IntrinsicInfo, Scope, Transfer, inline_asm::Assembly};
use rustc_hash::FxHashMap;

use crate::code::{Code, read_assembly};
pub use tokens::TokenKind;
use tokens::Tokens;

/// Whether a function says who executes its convergent operations together.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Control {
    /// There are no convergent operations.
    Nothing,
    /// By tokens.
    Controlled,
    /// By its control flow alone.
    Uncontrolled,
}

/// A convergent operation; those that make tokens are [`Token`]s.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The call.
    pub inst: InstId,
    /// Its block.
    pub block: Node,
    /// Among which threads it communicates; none if that is not known.
    pub scope: Option<Scope>,
    /// The instruction that makes its token.
    pub token: Option<InstId>,
    /// The innermost cycle around it.
    pub cycle: Option<CycleId>,
}

/// A token, identified by the instruction that makes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The call of the intrinsic.
    pub inst: InstId,
    /// Its block.
    pub block: Node,
    /// Which intrinsic.
    pub kind: TokenKind,
    /// The instruction that makes its operand token, which only `loop` has.
    pub given: Option<InstId>,
    /// The cycle that this token is the heart of: the outermost cycle around it from whose outside
    /// the operand token comes.
    pub heart_of: Option<CycleId>,
    /// Blocks with a use of it, by number.
    pub used_in: Vec<Node>,
    /// Cycles around it, innermost first, that have a use outside of them.
    pub extends: Vec<CycleId>,
}

/// Convergent operations and tokens of a function. See the [module documentation](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Convergence {
    control: Control,
    operations: Vec<Operation>,
    tokens: Vec<Token>,
}

impl Convergence {
    /// Finds the operations and tokens of a function. `callee` gives attributes of functions of the
    /// module.
    #[must_use]
    pub fn new(
        code: Code<'_>,
        cycles: &Cycles,
        callee: &dyn Fn(GlobalName) -> Option<AttrList>,
    ) -> Convergence {
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        Self::of(code, cycles, callee, insts)
    }

    /// The same, but looks only at `insts`: instructions that [affect](depends_on) it, in the
    /// order of the text.
    #[must_use]
    pub fn of(
        code: Code<'_>,
        cycles: &Cycles,
        callee: &dyn Fn(GlobalName) -> Option<AttrList>,
        insts: impl Iterator<Item = InstId>,
    ) -> Convergence {
        let names = Tokens::new(code.context);
        let mut operations = Vec::new();
        let mut tokens: Vec<Token> = Vec::new();
        let mut uses: FxHashMap<InstId, Vec<Node>> = FxHashMap::default();
        let body = code.body;
        for inst in insts.filter(|&i| body.inst(i).opcode.is_call()) {
            let Some(node) = body.block_of(inst).map(node_of) else { continue };
            let used = names.used(body, inst);
            if let Some(token) = used {
                uses.entry(token).or_default().push(node);
            }
            if let Some(kind) = names.kind(code, inst) {
                let heart_of = used.and_then(|given| heart_of(code, cycles, given, node));
                let (used_in, extends) = (Vec::new(), Vec::new());
                let given = used.filter(|_| kind == TokenKind::Loop);
                tokens.push(Token { inst, block: node, kind, given, heart_of, used_in, extends });
            } else if used.is_some() || is_convergent(code, inst, callee) {
                let (scope, cycle) = (scope(code, inst), cycles.innermost(node));
                operations.push(Operation { inst, block: node, scope, token: used, cycle });
            }
        }
        for token in &mut tokens {
            let mut used_in = uses.remove(&token.inst).unwrap_or_default();
            used_in.sort_unstable();
            used_in.dedup();
            let env = cycles.innermost(token.block).into_iter();
            let mut env: Vec<CycleId> = env.flat_map(|c| cycles.ancestors(c)).collect();
            env.retain(|&c| used_in.iter().any(|&block| !cycles.contains(c, block)));
            (token.used_in, token.extends) = (used_in, env);
        }
        let is_controlled = !tokens.is_empty() || operations.iter().any(|o| o.token.is_some());
        let control = match (is_controlled, operations.is_empty()) {
            (true, _) => Control::Controlled,
            (false, false) => Control::Uncontrolled,
            (false, true) => Control::Nothing,
        };
        Convergence { control, operations, tokens }
    }

    /// Whether tokens are used.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control
    }

    /// Convergent operations, in the order of the text.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Instructions that make tokens, in the order of the text.
    #[must_use]
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }
}

impl Token {
    /// Blocks in which the token is live somewhere, by number. O(blocks of the region).
    #[must_use]
    pub fn region(&self, cfg: &Cfg, dom: &DomTree) -> Vec<Node> {
        let mut found = BitSet::new(cfg.node_count());
        found.insert(self.block.index());
        let mut pending: Vec<Node> = self.used_in.clone();
        while let Some(node) = pending.pop() {
            // An unreachable block leads nowhere.
            if dom.is_reachable(node) && found.insert(node.index()) {
                pending.extend(cfg.predecessors(node));
            }
        }
        found.iter().map(Node::new).collect()
    }
}

/// Whether a [`Convergence`] may change after an instruction was inserted, removed, moved or
/// changed that is, or was, like this one: a convergent operation, or one that makes or uses a
/// token. `callee` gives attributes of functions of the module.
#[must_use]
pub fn depends_on(
    code: Code<'_>,
    inst: InstId,
    callee: &dyn Fn(GlobalName) -> Option<AttrList>,
) -> bool {
    let data = code.body.inst(inst);
    let uses_token = || Tokens::new(code.context).used(code.body, inst).is_some();
    data.ty == Type::TOKEN
        || data.opcode.is_call() && (uses_token() || is_convergent(code, inst, callee))
}

/// The outermost cycle around a block from whose outside a token comes.
fn heart_of(code: Code<'_>, cycles: &Cycles, given: InstId, here: Node) -> Option<CycleId> {
    let home = node_of(code.body.block_of(given)?);
    let innermost = cycles.innermost(here).filter(|&c| !cycles.contains(c, home))?;
    Some(cycles.outermost_without(innermost, home).unwrap_or(innermost))
}

/// Whether a call is a convergent operation, by its own attributes or by those of its callee.
/// `callee` gives attributes of functions.
#[must_use]
pub fn is_convergent(
    code: Code<'_>,
    call: InstId,
    callee: &dyn Fn(GlobalName) -> Option<AttrList>,
) -> bool {
    let (context, body) = (code.context, code.body);
    let marked = |list| context.function_attrs(list).has(AttrKind::Convergent);
    if marked(body.call_info(call).attributes) {
        return true;
    }
    let Some(constant) = body.const_callee(call) else { return false };
    let name = match &context.const_data(constant).kind {
        ConstKind::Global(name) => *name,
        // A barrier in the text counts, whatever the attribute says.
        ConstKind::InlineAsm(asm) => {
            return read_assembly(code, asm, Architecture::Generic).convergent;
        }
        _ => return false,
    };
    callee(name).is_some_and(marked) || {
        let found = code.intrinsic(name);
        found.is_some_and(|found| found.info.convergent || found.info.llvm_convergent)
    }
}

/// Among which threads a call communicates, if a table of the target says so.
fn scope(code: Code<'_>, call: InstId) -> Option<Scope> {
    let callee = code.body.const_callee(call)?;
    match &code.context.const_data(callee).kind {
        ConstKind::Global(_) => scope_of(code.called_intrinsic(call)?.info),
        ConstKind::InlineAsm(asm) => {
            scope_of_assembly(&read_assembly(code, asm, Architecture::Generic))
        }
        _ => None,
    }
}

/// The widest scope of the operations of an assembly text, if all of them are known.
fn scope_of_assembly(assembly: &Assembly) -> Option<Scope> {
    if assembly.may_hide_barrier() || assembly.is_convergent_otherwise {
        return None;
    }
    assembly.operations.iter().filter_map(|operation| scope_of(operation.intrinsic.info)).max()
}

fn scope_of(info: &IntrinsicInfo) -> Option<Scope> {
    if let Some(barrier) = info.barrier {
        return Some(barrier.scope);
    }
    let is_among_lanes = |transfer: &Transfer| {
        matches!(
            transfer,
            Transfer::Collective { .. }
                | Transfer::Agree { .. }
                | Transfer::Differ { .. }
                | Transfer::Shuffle { .. }
                | Transfer::Quad { .. }
                | Transfer::Clustered { .. }
                | Transfer::Neighbours
        )
    };
    (is_among_lanes(&info.result) || is_among_lanes(&info.further_results)).then_some(Scope::Wave)
}
