//! See `phalanx_fuzz::reader`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::reader(data));
