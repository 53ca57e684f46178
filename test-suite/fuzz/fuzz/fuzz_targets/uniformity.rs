//! See `phalanx_fuzz::uniformity`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::uniformity(data));
