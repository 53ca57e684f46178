//! LLVM IR text: lexer, parser, printer and source map.
//!
//! It turns bytes into a [`phalanx_ir::Module`] and back, and knows no analysis and no salsa.
//!
//! Read first: [`parse_module`], [`Parsed`] and [`ParseError`].

mod age;
mod error;
mod lexer;
mod parser;
mod printer;
mod radix;
mod source_map;
mod tokens;
mod upgrade;

pub use error::{Note, ParseError, Span, line_col};
pub use parser::{Parsed, parse_module, parse_module_for, parse_module_in_threads};
pub use printer::{FunctionPrinter, ModulePrinter, print_module, write_module};
pub use source_map::SourceMap;
