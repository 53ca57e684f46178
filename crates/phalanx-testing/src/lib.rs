//! Development only: random programs, the abstract SIMT oracle, the LLVM runner.

pub mod abstract_families;
pub mod abstract_oracle;
pub mod abstract_program;
pub mod block_arguments;
pub mod compare;
pub mod files;
pub mod generate;
pub mod giants;
pub mod growth;
pub mod inlined;
pub mod listing;
pub mod lit;
pub mod llvm_tools;
pub mod mutate;
pub mod opt_timers;
pub mod pointers;
pub mod public_items;
pub mod recursive;
pub mod verdict;
