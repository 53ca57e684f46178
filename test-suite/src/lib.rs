//! Kernels of our own, their golden answers and the runner.
