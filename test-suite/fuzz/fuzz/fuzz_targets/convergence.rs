//! See `phalanx_fuzz::definition::convergence`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::definition::convergence(data));
