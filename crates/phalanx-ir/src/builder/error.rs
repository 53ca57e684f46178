//! Errors of the builder.

use std::borrow::Cow;

use crate::{inst::Opcode, verify::VerifyError};

/// A mistake made while building a module, with the names of what it concerns.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// An instruction breaks a rule. Nothing was inserted.
    #[error("{function}, {block}: {}: {message}{}", opcode.text(), list(operands))]
    Inst {
        /// `@name` of the function.
        function: String,
        /// `%name` of the block.
        block: String,
        /// What was to be inserted.
        opcode: Opcode,
        /// The broken rule, in the verifier's words.
        message: Cow<'static, str>,
        /// The operands, each with its type.
        operands: Vec<String>,
    },
    /// No block has been chosen to insert into, or the chosen place is gone.
    #[error("{function}: no place to insert {}", opcode.text())]
    NoPlace {
        /// `@name` of the function.
        function: String,
        /// What was to be inserted.
        opcode: Opcode,
    },
    /// The block is complete already.
    #[error("{function}, {block}: {} after the terminator of its block", opcode.text())]
    Terminated {
        /// `@name` of the function.
        function: String,
        /// `%name` of the block.
        block: String,
        /// What was to be inserted.
        opcode: Opcode,
    },
    /// An entity is not what the operation needs.
    #[error("{function}: {entity} {message}")]
    Entity {
        /// `@name` of the function.
        function: String,
        /// The entity.
        entity: String,
        /// What is wrong with it.
        message: &'static str,
    },
    /// A value cannot go while something reads it.
    #[error("{function}: {entity} is still read by {user}")]
    Used {
        /// `@name` of the function.
        function: String,
        /// The value.
        entity: String,
        /// One that reads it.
        user: String,
    },
    /// The incoming values of a phi are not those of the edges into its block.
    #[error("{function}: {phi} has {entries} incoming values for {edges} edges from {block}")]
    Incoming {
        /// `@name` of the function.
        function: String,
        /// The phi.
        phi: String,
        /// Where the edges come from.
        block: String,
        /// Values the phi has for them.
        entries: usize,
        /// Edges there are.
        edges: usize,
    },
    /// A name is taken.
    #[error("{name} is defined already{}", if *other_type { ", with another type" } else { "" })]
    DuplicateName {
        /// `@name` or `%name`.
        name: String,
        /// Whether it is a declaration with another type that stands in the way.
        other_type: bool,
    },
    /// A complete function breaks rules.
    #[error("{function} is not well-formed: {}", messages.join("; "))]
    Function {
        /// `@name` of the function.
        function: String,
        /// One line per error, entities named.
        messages: Vec<String>,
        /// The errors.
        errors: Vec<VerifyError>,
    },
    /// A complete module breaks rules.
    #[error("the module is not well-formed: {}", messages.join("; "))]
    Module {
        /// One line per error, entities named.
        messages: Vec<String>,
        /// The errors.
        errors: Vec<VerifyError>,
    },
}

fn list(operands: &[String]) -> String {
    if operands.is_empty() { String::new() } else { format!(" ({})", operands.join(", ")) }
}
