//! The message of a broken rule, [`VerifyError`], and how rules report it.

use std::{borrow::Cow, fmt};

use crate::{
    body::InstId,
    flow::BlockId,
    symbol::{GlobalName, Symbol},
    types::Type,
    value::Value,
};

/// One broken rule, and where.
///
/// The message is LLVM's for the same mistake if LLVM has one, so that people can search for it. It
/// names no entity; the other fields have their ids, so that a caller that knows names can print
/// them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The function, when the rule is about one.
    pub function: Option<GlobalName>,
    /// The block, when the rule is about one or about an instruction.
    pub block: Option<BlockId>,
    /// The instruction, when the rule is about one.
    pub inst: Option<InstId>,
    /// What is wrong.
    pub message: Cow<'static, str>,
    /// Further entities the rule speaks of, in the order LLVM names them.
    pub related: Vec<Related>,
}

/// An entity that has to do with an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Related {
    /// An instruction of the function.
    Inst(InstId),
    /// An operand: argument, constant ...
    Value(Value),
    /// A block of the function.
    Block(BlockId),
    /// A type.
    Type(Type),
    /// A function, variable, alias or ifunc of the module.
    Global(GlobalName),
    /// A comdat, bundle tag or other name.
    Name(Symbol),
    /// A cycle of the function's flow.
    Cycle {
        /// Nesting depth; 1 for an outermost cycle.
        depth: u32,
        /// Entry blocks, the header first.
        entries: Vec<BlockId>,
        /// The other blocks, nested cycles' blocks included.
        blocks: Vec<BlockId>,
    },
}

impl fmt::Display for VerifyError {
    /// The message, then the entities by number: `@12, %bb3, %i7: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        match self.function {
            Some(GlobalName::Named(symbol)) => write!(f, "@<symbol {}>", symbol.raw())?,
            Some(GlobalName::Numbered(number)) => write!(f, "@{number}")?,
            None => {}
        }
        if self.function.is_some() {
            separator = ", ";
        }
        if let Some(block) = self.block {
            write!(f, "{separator}{:?}", Value::block(block))?;
            separator = ", ";
        }
        if let Some(inst) = self.inst {
            write!(f, "{separator}{:?}", Value::inst(inst))?;
            separator = ", ";
        }
        let colon = if separator.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}", self.message)
    }
}

impl std::error::Error for VerifyError {}

/// A broken rule without its place: what a rule returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) message: Cow<'static, str>,
    pub(crate) related: Vec<Related>,
}

impl Fault {
    pub(crate) fn new(message: impl Into<Cow<'static, str>>, related: Vec<Related>) -> Fault {
        Fault { message: message.into(), related }
    }
}

/// What a rule returns: nothing, or the first thing that is wrong.
pub(crate) type Check = Result<(), Fault>;

/// Returns a [`Fault`] unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $message:expr $(, $related:expr)* $(,)?) => {
        if !$condition {
            return Err($crate::verify::fault::Fault::new($message, vec![$($related),*]));
        }
    };
}
pub(crate) use ensure;
