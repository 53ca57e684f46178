//! The bridge, held against execution, against what cubecl's own analysis says, and against
//! cubecl's `mem2reg`.

mod barriers;
mod graphs;
mod kernels;
mod programs;
mod random;
mod run;
mod text;
