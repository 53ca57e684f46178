//! Development only: random programs, the abstract SIMT oracle, the LLVM runner.

pub mod compare;
pub mod lit;
pub mod llvm_tools;
