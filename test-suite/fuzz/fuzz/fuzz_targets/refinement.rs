//! See `phalanx_fuzz::refine::refinement`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::refine::refinement(data));
