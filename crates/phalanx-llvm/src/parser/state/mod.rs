//! The state of the parser, by theme.
//!
//! This folder holds the types only. The functions that fill them are methods of
//! [`Parser`](super::Parser), in the file of the same theme beside this folder.

pub(super) mod attributes;
pub(super) mod constants;
pub(super) mod function;
pub(super) mod globals;
pub(super) mod locals;
pub(super) mod metadata;
pub(super) mod types;
pub(super) mod uses;
