//! See `phalanx_fuzz::oracle::divergence`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::oracle::divergence(data));
