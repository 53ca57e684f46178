//! The facade an embedding compiler driver depends on.
