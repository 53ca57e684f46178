//! SSA repair after blocks were copied.
//!
//! A transform that copies blocks defines one value in several blocks, while uses elsewhere still
//! read the first definition. [`repair`] gives each use the definition that reaches it, and inserts
//! phis where several reach it.
//!
//! **Definition.** The definition that reaches the start of a block is that of its immediate
//! dominator's end, unless the block is in the iterated dominance frontier of the definitions: then
//! it is a phi of what reaches the ends of its predecessors (Cytron, Ferrante, Rosen, Wegman and
//! Zadeck, *Efficiently computing static single assignment form and the control dependence graph*,
//! 1991).
//!
//! ```
//! use std::sync::Arc;
//! use phalanx_ir::{*, builder::*, edit::{InModule, Transaction}, inst::IntPredicate};
//! use phalanx_transform::ssa::{Variable, repair};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // v = n + 1; if (n < 10) { } return v;
//! let context = Arc::new(Context::new());
//! let mut module = ModuleBuilder::new(Arc::clone(&context));
//! let mut f = module.define_function("f", &FunctionSpec::new(Type::I32).param(Type::I32, "n"))?;
//! let [n] = f.args();
//! let [entry, then, exit] = ["entry", "then", "exit"].map(|name| f.block(name));
//! f.switch_to(entry);
//! let v = f.add(n, context.const_i32(1))?;
//! let low = f.icmp(IntPredicate::Slt, n, context.const_i32(10))?;
//! f.cond_br(low, then, exit)?;
//! f.switch_to(then);
//! f.br(exit)?;
//! f.switch_to(exit);
//! f.ret(v)?;
//! f.finish()?;
//! let mut module = module.finish()?;
//!
//! // In `then`, v becomes v * 2: what returns it reads one or the other.
//! let mut function = InModule::new(&mut module, 0);
//! let mut edit = Transaction::new(&mut function);
//! let twice = edit.at_start(then).mul(v, context.const_i32(2))?;
//! let original = v.as_inst().expect("it is computed");
//! let made = repair(&mut edit, &[Variable { original, definitions: vec![(entry, v), (then, twice)] }])?;
//! assert_eq!(made.len(), 1, "a phi where both meet");
//! edit.commit()?;
//! # Ok(())
//! # }
//! ```
//!
//! Phis are created only where a use needs them, so none is dead. A block that no definition
//! reaches gets poison: it is unreachable, or its value is never read.
//!
//! O(blocks) for the dominator tree and its frontiers, once for all values; then O(blocks between
//! definitions and uses) for each value.

use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};
use phalanx_ir::{
    BlockId, InstBuilder as _, InstId, Opcode, Type, Value,
    edit::{Transaction, Use},
    flow::{block_of, node_of},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::pass::PassError;

/// A value that is defined in several blocks.
#[derive(Debug)]
pub struct Variable {
    /// The definition that all uses read now. Its block is in `definitions`, too.
    pub original: InstId,
    /// What the value is at the end of a block.
    pub definitions: Vec<(BlockId, Value)>,
}

/// The block where a use reads its value, and whether it reads it at the end of that block, as a
/// phi does. None if the use is in no block.
fn place(edit: &Transaction<'_>, found: Use) -> Option<(BlockId, bool)> {
    let body = edit.body();
    match body.inst(found.user).opcode {
        Opcode::Phi => Some((body.phi_incoming(found.user).nth(found.index as usize)?.1, true)),
        _ => Some((body.block_of(found.user)?, false)),
    }
}

/// Whether a value is read outside of the given blocks.
pub(crate) fn is_read_outside(
    edit: &Transaction<'_>,
    inst: InstId,
    inside: &dyn Fn(BlockId) -> bool,
) -> bool {
    edit.uses_of(inst).any(|found| place(edit, found).is_some_and(|(block, _)| !inside(block)))
}

/// Gives every use of the originals the definition that reaches it, and returns the phis that were
/// made. See the [module documentation](self).
///
/// # Errors
/// When a phi cannot be made.
pub fn repair(
    edit: &mut Transaction<'_>,
    variables: &[Variable],
) -> Result<Vec<InstId>, PassError> {
    let mut made = Vec::new();
    if variables.is_empty() {
        return Ok(made);
    }
    let Some(cfg) = edit.flow().cfg() else { return Ok(made) };
    let dom = DomTree::new(&cfg);
    let frontier = DominanceFrontier::new(&cfg, &dom);
    for variable in variables {
        let ty = edit.body().inst(variable.original).ty;
        let nodes = variable.definitions.iter().map(|&(block, _)| node_of(block));
        let joins = frontier.iterated_frontier(&dom, nodes.filter(|&n| dom.is_reachable(n)));
        let mut reaching = Reaching {
            cfg: &cfg,
            dom: &dom,
            joins: joins.into_iter().collect(),
            at_end: variable.definitions.iter().map(|&(b, v)| (node_of(b), v)).collect(),
            at_start: FxHashMap::default(),
            open: Vec::new(),
            made: Vec::new(),
            ty,
            name: edit
                .extras()
                .names
                .inst(variable.original)
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .unwrap_or_default(),
        };
        let uses: Vec<Use> = edit.uses_of(variable.original).collect();
        for found in uses {
            let Some((block, is_at_end)) = place(edit, found) else { continue };
            let node = node_of(block);
            let value = match is_at_end {
                true => reaching.at_end(edit, node)?,
                false if edit.body().block_of(variable.original) == Some(block) => continue,
                false => reaching.at_start(edit, node)?,
            };
            if value != Value::inst(variable.original) {
                edit.set_operand(found.user, found.index, value)?;
            }
        }
        reaching.fill(edit)?;
        made.append(&mut reaching.made);
    }
    Ok(made)
}

struct Reaching<'r> {
    cfg: &'r Cfg,
    dom: &'r DomTree,
    joins: FxHashSet<Node>,
    /// The given definitions, at the ends of blocks.
    at_end: FxHashMap<Node, Value>,
    /// The definitions that reach the starts of blocks, as far as they are known.
    at_start: FxHashMap<Node, Value>,
    /// Phis without values so far.
    open: Vec<(Node, InstId)>,
    /// All new phis.
    made: Vec<InstId>,
    ty: Type,
    name: String,
}

impl Reaching<'_> {
    fn at_end(&mut self, edit: &mut Transaction<'_>, node: Node) -> Result<Value, PassError> {
        match self.at_end.get(&node) {
            Some(&value) => Ok(value),
            None => self.at_start(edit, node),
        }
    }

    fn at_start(&mut self, edit: &mut Transaction<'_>, node: Node) -> Result<Value, PassError> {
        // Blocks on the way up that neither define the value nor need a phi.
        let mut passed: Vec<Node> = Vec::new();
        let mut at = node;
        let value = loop {
            if let Some(&value) = self.at_start.get(&at) {
                break value;
            }
            if self.joins.contains(&at) {
                let phi = edit.at_start(block_of(at)).named(&self.name).phi(self.ty)?;
                self.open.extend(phi.as_inst().map(|phi| (at, phi)));
                self.made.extend(phi.as_inst());
                self.at_start.insert(at, phi);
                break phi;
            }
            passed.push(at);
            match self.dom.idom(at).filter(|_| self.dom.is_reachable(at)) {
                None => break edit.context().const_poison(self.ty).into(),
                Some(above) => {
                    if let Some(&value) = self.at_end.get(&above) {
                        break value;
                    }
                    at = above;
                }
            }
        };
        self.at_start.extend(passed.into_iter().map(|node| (node, value)));
        Ok(value)
    }

    /// Gives phis their values, which may create more phis.
    fn fill(&mut self, edit: &mut Transaction<'_>) -> Result<(), PassError> {
        while let Some((node, phi)) = self.open.pop() {
            let block = block_of(node);
            let mut preds: Vec<Node> = self.cfg.predecessors(node).to_vec();
            preds.sort_unstable();
            preds.dedup();
            for pred in preds {
                let value = self.at_end(edit, pred)?;
                let from = block_of(pred);
                let edges = edit.flow().successors(from).iter().filter(|&&to| to == block).count();
                for _ in 0..edges {
                    edit.add_phi_input(phi, value, from)?;
                }
            }
        }
        Ok(())
    }
}
