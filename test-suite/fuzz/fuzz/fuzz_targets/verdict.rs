//! See `phalanx_fuzz::verdict`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::verdict(data));
