//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-fuzz --test suite NAME` runs those of a module.

mod against;
mod alias;
mod built_ins;
mod copies;
mod data_flow;
mod definition;
mod edits;
mod hangs;
mod kernels;
mod legality;
mod linear;
mod loads;
mod machines;
mod marks;
mod masks;
mod motions;
mod numbers;
mod oracle;
mod races;
mod reference;
mod refine;
mod replay;
mod rounds;
mod scripts;
mod spaces;
mod stable;
mod stack;
mod strides;
mod tbaa;
mod tokens;
mod transforms;
mod turns;
mod walker;
