//! See `phalanx_fuzz::transforms::transforms`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::transforms::transforms(data));
