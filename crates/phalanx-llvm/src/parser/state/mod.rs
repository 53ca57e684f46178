//! What the parser has read so far, by theme.
//!
//! Here are the types alone. The functions that fill them are methods of
//! [`Parser`](super::Parser), in the file of the same theme beside this folder.

pub(super) mod attributes;
pub(super) mod constants;
pub(super) mod function;
pub(super) mod globals;
pub(super) mod locals;
pub(super) mod metadata;
pub(super) mod types;
pub(super) mod uses;
