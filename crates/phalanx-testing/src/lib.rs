//! Development only: random programs, the abstract SIMT oracle, the LLVM runner.
