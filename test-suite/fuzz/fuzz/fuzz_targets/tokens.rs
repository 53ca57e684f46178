//! See `phalanx_fuzz::tokens::tokens`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::tokens::tokens(data));
