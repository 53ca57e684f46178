//! The adapter, held against execution, against pliron's own `mem2reg`, and against what the words
//! of a dialect say.

mod dialect;
mod edits;
mod programs;
mod structured;
mod together;
