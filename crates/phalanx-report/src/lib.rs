//! Renders facts: LLVM-style text, diagnostics, DOT and JSON.
