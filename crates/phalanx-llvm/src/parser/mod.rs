//! Parses tokens into a module, in one pass.
//!
//! [`Parser`] is a cursor with one token of look-ahead. Every other file of this directory adds the
//! functions of one theme to it. No function recurses over the input: types, constants and metadata
//! nest to any depth on explicit stacks.
//!
//! | file | theme |
//! |---|---|
//! | `cursor`, `state` | the parser itself, and what it has read so far |
//! | `keyword` | words and the table that finds them |
//! | `literal` | integers and floating-point numbers |
//! | `types` | types, identified structures |
//! | `constants` | constants and constant expressions |
//! | `globals` | variables, aliases, comdats, references to them |
//! | `toplevel` | the entities of a file, and the checks at its end |
//! | `header` | headers of functions |
//! | `function`, `locals`, `names` | bodies, and the names of their values |
//! | `instructions`, `memory`, `calls`, `asm` | instructions |
//! | `checks`, `describe` | type rules, and names of types in messages |
//! | `attributes`, `metadata`, `debug` | attributes and metadata |

mod asm;
mod attribute_payloads;
mod attributes;
mod calls;
mod checks;
mod composites;
mod constants;
mod cursor;
mod debug;
mod definitions;
mod describe;
mod function;
mod globals;
pub(crate) mod header;
mod instructions;
pub(crate) mod keyword;
mod literal;
mod locals;
mod memory;
mod metadata;
mod metadata_fields;
mod names;
mod parsed;
mod state;
mod toplevel;
mod types;
mod undeclared;
mod use_lists;

pub(crate) use cursor::Parser;
pub(crate) use literal::IntLiteral;
pub use parsed::Parsed;
pub use toplevel::{parse_module, parse_module_for, parse_module_in_threads};
