//! Operations outside of the cycle that their token comes from.
//!
//! Such an operation is executed together by threads of one round of the cycle, though threads of
//! all rounds meet in its block when the cycle has a divergent exit:
//!
//! ```text
//! loop:  %heart = loop intrinsic
//!        br i1 %varies, label %exit, label %loop
//! exit:  %vote = ballot(..) [ %heart ]        ; one vote per round
//!        store %vote                          ; threads of all rounds: their votes differ
//! ```
//!
//! The result has one value in each group, and may differ between groups. After the region of the
//! token, where threads of several rounds are converged again, it is not uniform. *Inside* the
//! region the groups are subsets of those that control flow gives, so a value that is uniform by
//! control flow is uniform there, too. Only operations that turn divergent operands into a uniform
//! result need a rule of their own: their result is divergent. An operation *escapes* when a token
//! in its chain is made in a cycle that the operation is not in. The chain is its own token, the
//! operand of the `loop` that made this token, and so on.
//!
//! Cost: O(instructions + cycles) for a function with tokens, O(1) if no function of the context
//! uses one.

use phalanx_graph::{CycleId, Cycles, Node};
use phalanx_ir::{Body, InstId, Type, flow::node_of};
use rustc_hash::{FxHashMap, FxHashSet};

use super::tokens::Tokens;
use crate::code::Code;

/// Where the users of a token have to be in order not to escape.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Home {
    Anywhere,
    In(CycleId),
    /// No place: every user escapes.
    Nowhere,
}

/// Calls that escape. Each chain of tokens is walked once.
#[must_use]
pub fn escaping(code: Code<'_>) -> FxHashSet<InstId> {
    let tokens = Tokens::new(code.context);
    let users = controlled(code);
    let mut found = FxHashSet::default();
    if users.is_empty() {
        return found;
    }
    let Some(cycles) = code.flow.cfg().map(|cfg| Cycles::new(&cfg)) else { return found };
    let mut homes: FxHashMap<InstId, Home> = FxHashMap::default();
    let block_of = |inst: InstId| code.body.block_of(inst).map(node_of);
    for user in users {
        let (Some(here), Some(token)) = (block_of(user), tokens.used(code.body, user)) else {
            continue;
        };
        let is_outside = match home(code.body, tokens, &cycles, token, &mut homes) {
            Home::Anywhere => false,
            Home::In(cycle) => !cycles.contains(cycle, here),
            Home::Nowhere => true,
        };
        if is_outside {
            found.insert(user);
        }
    }
    found
}

/// Where users of a token have to be: in all cycles that tokens of its chain are made in.
fn home(
    body: &Body,
    tokens: Tokens,
    cycles: &Cycles,
    token: InstId,
    homes: &mut FxHashMap<InstId, Home>,
) -> Home {
    let mut chain = Vec::new();
    let mut next = Some(token);
    let mut home = Home::Anywhere;
    while let Some(token) = next {
        if let Some(&known) = homes.get(&token) {
            home = known;
            break;
        }
        // A malformed chain that returns to this token ends here.
        homes.insert(token, Home::Nowhere);
        chain.push(token);
        next = body.inst(token).opcode.is_call().then(|| tokens.used(body, token)).flatten();
    }
    for token in chain.into_iter().rev() {
        let block: Option<Node> = body.block_of(token).map(node_of);
        home = match (home, block.and_then(|block| cycles.innermost(block))) {
            (home, None) => home,
            (Home::Anywhere, Some(own)) => Home::In(own),
            (Home::In(outer), Some(own)) if cycles.contains_cycle(outer, own) => Home::In(own),
            (Home::In(inner), Some(own)) if cycles.contains_cycle(own, inner) => Home::In(inner),
            _ => Home::Nowhere,
        };
        homes.insert(token, home);
    }
    home
}

/// Calls that use a token, in the order of their numbers. O(instructions) in a context with tokens.
#[must_use]
pub fn controlled(code: Code<'_>) -> Vec<InstId> {
    let (tokens, body) = (Tokens::new(code.context), code.body);
    if tokens.is_unused() {
        return Vec::new();
    }
    let uses = |&inst: &InstId| {
        body.block_of(inst).is_some()
            && body.inst(inst).opcode.is_call()
            && tokens.used(body, inst).is_some()
    };
    body.all_ids().filter(uses).collect()
}

/// Whether changed instructions make or use tokens, so that the set of escaping calls may change.
/// O(changed).
#[must_use]
pub fn depends_on(code: Code<'_>, changed: &[InstId]) -> bool {
    let body = code.body;
    let is_call = |inst: &InstId| body.inst(*inst).opcode.is_call();
    // Most edits change no call, which is cheaper to find out than whether a call has a token.
    changed.iter().any(is_call) && {
        let tokens = Tokens::new(code.context);
        let is_controlled =
            |&inst: &InstId| body.inst(inst).ty == Type::TOKEN || tokens.used(body, inst).is_some();
        !tokens.is_unused() && changed.iter().filter(|inst| is_call(inst)).any(is_controlled)
    }
}
