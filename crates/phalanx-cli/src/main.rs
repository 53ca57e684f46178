//! The `phalanx` command line.
fn main() {}
