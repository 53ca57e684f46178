//! Static rules of convergence control tokens.
//!
//! # What
//!
//! A token made by one of the three convergence intrinsics (`entry`, `anchor`, `loop`) and used by
//! a `"convergencectrl"` bundle says which threads execute the user together. The *Convergent
//! Operation Semantics* document of LLVM gives the static rules that give such tokens a meaning:
//!
//! * `entry` stands in the entry block of a convergent function, before any other convergent
//!   operation; `loop` is the first convergent operation of its block and is the only one of the
//!   three that uses a token;
//! * a function uses tokens for all of its convergent operations or for none;
//! * the *regions* of tokens nest: from the definition of `T` to a use of `T`, no use of `T` may
//!   lie behind a use of a token that was live before `T`;
//! * a use of `T` inside a cycle that does not contain the definition of `T` is a `loop` intrinsic,
//!   the *heart* of the cycle: it stands in the header of a reducible cycle, and each cycle has one
//!   heart at most.
//!
//! # How
//!
//! The nesting rule is decided on a stack of live tokens per block. Blocks are visited in reverse
//! post-order; a block inherits from its first visited predecessor those tokens whose definitions
//! dominate it, cut down to what the other visited predecessors have live too; a use pops
//! everything above its token.
//!
//! Each token is pushed once, when its block is visited, onto the stack at that time. So all stacks
//! are paths of one tree, and a stack is represented by the number of its top entry. A token is on
//! a stack exactly if it is an ancestor of the top. Popping down to a token is an assignment, and
//! the intersection of two stacks is their lowest common ancestor. Entries keep skew-binary jump
//! pointers (Myers, *An applicative random-access stack*, 1983), which makes every step O(log n);
//! copying stacks would cost their depth for each block.

use rustc_hash::FxHashMap;

use phalanx_graph::{CycleId, Cycles, Dfs};

use crate::{
    body::InstId,
    flow::{BlockId, block_of, node_of},
    types::Type,
    verify::{
        call,
        fault::{Fault, Related},
        function::Context,
        view::InstView,
    },
};

/// Which of the intrinsics a call is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    Entry,
    Anchor,
    Loop,
}

impl Control {
    pub(crate) fn of_name(name: &[u8]) -> Option<Control> {
        match name {
            b"llvm.experimental.convergence.entry" => Some(Control::Entry),
            b"llvm.experimental.convergence.anchor" => Some(Control::Anchor),
            b"llvm.experimental.convergence.loop" => Some(Control::Loop),
            _ => None,
        }
    }
}

/// Whether a function's convergent operations use tokens.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    Unknown,
    Controlled,
    Uncontrolled,
}

/// Checks one function: [`Checker::visit`] its instructions in order, then [`Checker::finish`].
pub(crate) struct Checker<'a> {
    cx: &'a Context<'a>,
    kind: Kind,
    seen_convergent_in_block: bool,
    block: Option<BlockId>,
    /// Token makers and users, in order: the input of the second half.
    events: Vec<Event>,
    makers: FxHashMap<InstId, Control>,
}

/// An instruction that makes or uses a token.
#[derive(Copy, Clone)]
struct Event {
    block: BlockId,
    inst: InstId,
    uses: Option<InstId>,
}

const MIXED: &str = "Cannot mix controlled and uncontrolled convergence in the same function.";

impl<'a> Checker<'a> {
    pub(crate) fn new(cx: &'a Context<'a>) -> Self {
        Checker {
            cx,
            kind: Kind::Unknown,
            seen_convergent_in_block: false,
            block: None,
            events: Vec::new(),
            makers: FxHashMap::default(),
        }
    }

    pub(crate) fn enter_block(&mut self, block: BlockId) {
        self.block = Some(block);
        self.seen_convergent_in_block = false;
    }

    /// Looks at one instruction of the current block.
    pub(crate) fn visit(
        &mut self,
        inst: InstId,
        view: &InstView<'_>,
        report: &mut impl FnMut(Fault),
    ) {
        let (Some(block), true) = (self.block, view.opcode().is_call()) else { return };
        let used = match self.used_token(inst, view) {
            Ok(used) => used,
            Err(fault) => {
                report(fault);
                None
            }
        };
        let control = self.control_of(view);
        if let Some(control) = control
            && let Err(message) = self.place_of(control, block, used)
        {
            report(Fault::new(message, vec![Related::Inst(inst)]));
            // It makes a token all the same, whose uses are checked.
            self.record(block, inst, used, Some(control));
            return;
        }
        let is_convergent = call::is_convergent(self.cx.env, view);
        if is_convergent {
            self.seen_convergent_in_block = true;
        }
        let wanted = if used.is_some() || control.is_some() {
            Kind::Controlled
        } else if is_convergent {
            Kind::Uncontrolled
        } else {
            return;
        };
        self.record(block, inst, used, control);
        if self.kind != Kind::Unknown && self.kind != wanted {
            report(Fault::new(MIXED, vec![Related::Inst(inst)]));
            return;
        }
        self.kind = wanted;
    }

    fn record(
        &mut self,
        block: BlockId,
        inst: InstId,
        uses: Option<InstId>,
        control: Option<Control>,
    ) {
        if let Some(control) = control {
            self.makers.insert(inst, control);
        }
        if uses.is_some() || control.is_some() {
            self.events.push(Event { block, inst, uses });
        }
    }

    fn control_of(&self, view: &InstView<'_>) -> Option<Control> {
        Control::of_name(call::callee_name(self.cx.env, view))
    }

    /// The maker of the token that a call uses.
    fn used_token(&self, inst: InstId, view: &InstView<'_>) -> Result<Option<InstId>, Fault> {
        let fault = |message: &'static str, related| Err(Fault::new(message, related));
        let mut bundles = view
            .bundles()
            .filter(|&(tag, _)| self.cx.env.types.context.bytes(tag) == b"convergencectrl");
        let Some((_, operands)) = bundles.next() else { return Ok(None) };
        if bundles.next().is_some() {
            return fault(
                "The 'convergencectrl' bundle can occur at most once on a call",
                vec![Related::Inst(inst)],
            );
        }
        let &[operand] = operands else {
            return fault(
                "The 'convergencectrl' bundle requires exactly one token use.",
                vec![Related::Inst(inst)],
            );
        };
        if self.cx.type_of(operand) != Type::TOKEN {
            return fault(
                "The 'convergencectrl' bundle requires exactly one token use.",
                vec![Related::Inst(inst)],
            );
        }
        let body = self.cx.function.body;
        let maker = operand.as_inst().filter(|&def| {
            let opcode = body.inst(def).opcode;
            let name = body
                .inst(def)
                .opcode
                .is_call()
                .then(|| body.const_callee(def))
                .flatten()
                .and_then(|constant| self.cx.env.function_of(constant))
                .map_or(&b""[..], |header| self.cx.env.name_bytes(header.name));
            opcode.is_call() && Control::of_name(name).is_some()
        });
        match maker {
            Some(maker) => Ok(Some(maker)),
            None => fault(
                "Convergence control tokens can only be produced by calls to the convergence control intrinsics.",
                match operand.as_inst() {
                    Some(def) => vec![Related::Inst(def), Related::Inst(inst)],
                    None => vec![Related::Value(operand), Related::Inst(inst)],
                },
            ),
        }
    }

    /// Checks where each intrinsic stands and whether it uses a token.
    fn place_of(
        &self,
        control: Control,
        block: BlockId,
        used: Option<InstId>,
    ) -> Result<(), &'static str> {
        let function = self.cx.function;
        match control {
            Control::Loop => {
                if used.is_none() {
                    return Err("Loop intrinsic must have a convergencectrl token operand.");
                }
                if self.seen_convergent_in_block {
                    return Err(
                        "Loop intrinsic cannot be preceded by a convergent operation in the same basic block.",
                    );
                }
            }
            Control::Entry | Control::Anchor => {
                if control == Control::Entry {
                    let attributes =
                        self.cx.env.types.context.function_attrs(function.header.attributes);
                    if !attributes.has(crate::attributes::AttrKind::Convergent) {
                        return Err("Entry intrinsic can occur only in a convergent function.");
                    }
                    if function.flow.entry() != Some(block) {
                        return Err("Entry intrinsic can occur only in the entry block.");
                    }
                    if self.seen_convergent_in_block {
                        return Err(
                            "Entry intrinsic cannot be preceded by a convergent operation in the same basic block.",
                        );
                    }
                }
                if used.is_some() {
                    return Err(
                        "Entry or anchor intrinsic cannot have a convergencectrl token operand.",
                    );
                }
            }
        }
        Ok(())
    }

    /// Regions and cycles, once all instructions have been seen.
    pub(crate) fn finish(self, report: &mut impl FnMut(InstId, Fault)) {
        if self.kind == Kind::Controlled {
            Regions::new(&self).check(report);
        }
    }
}

/// The second half: one pass over the blocks in reverse post-order.
struct Regions<'a, 'b> {
    checker: &'b Checker<'a>,
    cycles: Cycles,
    tree: TokenTree,
    /// The use of an outer token in each cycle.
    hearts: FxHashMap<CycleId, InstId>,
}

impl<'a, 'b> Regions<'a, 'b> {
    fn new(checker: &'b Checker<'a>) -> Self {
        Regions {
            checker,
            cycles: Cycles::new(&checker.cx.cfg),
            tree: TokenTree::default(),
            hearts: FxHashMap::default(),
        }
    }

    fn check(mut self, report: &mut impl FnMut(InstId, Fault)) {
        let cx = self.checker.cx;
        let mut by_block: FxHashMap<BlockId, Vec<Event>> = FxHashMap::default();
        for &event in &self.checker.events {
            by_block.entry(event.block).or_default().push(event);
        }
        // `None`: not reached yet. A stack is a top entry in the tree of tokens.
        let mut live: Vec<Option<Stack>> = vec![None; cx.cfg.node_count()];
        for node in Dfs::new(&cx.cfg).rpo() {
            let block = block_of(node);
            let mut stack = live[node.index()].unwrap_or(TokenTree::EMPTY);
            for event in by_block.get(&block).map_or(&[][..], |events| events) {
                if let Some(token) = event.uses {
                    match self.tree.pop_to(stack, token) {
                        Some(popped) => {
                            stack = popped;
                            if let Err(fault) = self.cycle_rules(token, event) {
                                report(event.inst, fault);
                            }
                        }
                        None => report(
                            event.inst,
                            Fault::new(
                                "Convergence region is not well-nested.",
                                vec![Related::Inst(token), Related::Inst(event.inst)],
                            ),
                        ),
                    }
                }
                if self.checker.makers.contains_key(&event.inst) {
                    stack = self.tree.push(stack, event.inst);
                }
            }
            for &successor in cx.cfg.successors(node) {
                let slot = &mut live[successor.index()];
                *slot = Some(match *slot {
                    Some(other) => self.tree.common(other, stack),
                    None => self.tree.trim(stack, |token| {
                        let home = cx.function.body.block_of(token);
                        home.is_some_and(|home| cx.dom.dominates(node_of(home), successor))
                    }),
                });
            }
        }
    }

    /// Rules for a use in a cycle that does not contain the definition of the token.
    fn cycle_rules(&mut self, token: InstId, event: &Event) -> Result<(), Fault> {
        let cx = self.checker.cx;
        let body = cx.function.body;
        let Some(home) = body.block_of(token).map(node_of) else { return Ok(()) };
        let here = node_of(event.block);
        let Some(innermost) = self.cycles.innermost(here) else { return Ok(()) };
        if home == here || self.cycles.contains(innermost, home) {
            return Ok(());
        }
        let user = event.inst;
        if self.checker.makers.get(&user) != Some(&Control::Loop) {
            return Err(Fault::new(
                "Convergence token used by an instruction other than llvm.experimental.convergence.loop in a cycle that does not contain the token's definition.",
                vec![Related::Inst(user), self.describe(innermost)],
            ));
        }
        let outermost = self.cycles.outermost_without(innermost, home).unwrap_or(innermost);
        if !self.cycles.is_reducible(outermost) || self.cycles.header(outermost) != here {
            return Err(Fault::new(
                "Cycle heart must dominate all blocks in the cycle.",
                vec![Related::Inst(user), Related::Block(event.block), self.describe(outermost)],
            ));
        }
        if let Some(&other) = self.hearts.get(&outermost) {
            return Err(Fault::new(
                "Two static convergence token uses in a cycle that does not contain either token's definition.",
                vec![Related::Inst(user), Related::Inst(other), self.describe(outermost)],
            ));
        }
        self.hearts.insert(outermost, user);
        Ok(())
    }

    fn describe(&self, cycle: CycleId) -> Related {
        let entries: Vec<BlockId> = self.cycles.entries(cycle).map(block_of).collect();
        let blocks = self.cycles.blocks(cycle).iter().map(|&node| block_of(node));
        Related::Cycle {
            depth: self.cycles.depth(cycle),
            blocks: blocks.filter(|block| !entries.contains(block)).collect(),
            entries,
        }
    }
}

/// A stack of tokens: the number of its top entry plus one, 0 being the empty stack.
type Stack = u32;

/// All stacks of one function, as paths of a tree.
#[derive(Default)]
struct TokenTree {
    entries: Vec<TokenEntry>,
    /// The entry of each token pushed so far.
    of_token: FxHashMap<InstId, Stack>,
}

#[derive(Copy, Clone)]
struct TokenEntry {
    token: InstId,
    below: Stack,
    jump: Stack,
    depth: u32,
}

impl TokenTree {
    const EMPTY: Stack = 0;

    fn depth(&self, stack: Stack) -> u32 {
        match stack {
            Self::EMPTY => 0,
            stack => self.entries[stack as usize - 1].depth,
        }
    }

    fn below(&self, stack: Stack) -> Stack {
        match stack {
            Self::EMPTY => Self::EMPTY,
            stack => self.entries[stack as usize - 1].below,
        }
    }

    fn jump(&self, stack: Stack) -> Stack {
        match stack {
            Self::EMPTY => Self::EMPTY,
            stack => self.entries[stack as usize - 1].jump,
        }
    }

    fn push(&mut self, below: Stack, token: InstId) -> Stack {
        let first = self.jump(below);
        let second = self.jump(first);
        let even = self.depth(below) - self.depth(first) == self.depth(first) - self.depth(second);
        let jump = if even && below != Self::EMPTY { second } else { below };
        self.entries.push(TokenEntry { token, below, jump, depth: self.depth(below) + 1 });
        let stack = self.entries.len() as Stack;
        self.of_token.insert(token, stack);
        stack
    }

    /// The lowest `depth` entries of a stack. O(log n).
    fn cut(&self, mut stack: Stack, depth: u32) -> Stack {
        while self.depth(stack) > depth {
            let jump = self.jump(stack);
            stack = if self.depth(jump) >= depth { jump } else { self.below(stack) };
        }
        stack
    }

    /// The stack with this token on top, if the token is on it. O(log n).
    fn pop_to(&self, stack: Stack, token: InstId) -> Option<Stack> {
        let wanted = *self.of_token.get(&token)?;
        (self.cut(stack, self.depth(wanted)) == wanted).then_some(wanted)
    }

    /// The common lower part of two stacks. O(log n).
    fn common(&self, a: Stack, b: Stack) -> Stack {
        let depth = self.depth(a).min(self.depth(b));
        let (mut a, mut b) = (self.cut(a, depth), self.cut(b, depth));
        while a != b {
            // Equal depths have equal jump distances.
            let jumps = (self.jump(a), self.jump(b));
            (a, b) = if jumps.0 != jumps.1 { jumps } else { (self.below(a), self.below(b)) };
        }
        a
    }

    /// The longest lower part of a stack whose tokens all satisfy `keep`, which must hold for a
    /// lower part. O(log n).
    ///
    /// Tokens on a stack are in dominance order, so "dominates this block" is such a test.
    fn trim(&self, mut stack: Stack, keep: impl Fn(InstId) -> bool) -> Stack {
        let holds =
            |stack: Stack| stack == Self::EMPTY || keep(self.entries[stack as usize - 1].token);
        while !holds(stack) {
            let jump = self.jump(stack);
            // If the test fails after a jump too, a single step is not too far.
            stack = if holds(jump) { self.below(stack) } else { jump };
        }
        stack
    }
}

#[cfg(test)]
#[path = "convergence_tests.rs"]
mod tests;
