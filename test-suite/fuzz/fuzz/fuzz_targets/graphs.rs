//! See `phalanx_fuzz::graphs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::graphs(data));
