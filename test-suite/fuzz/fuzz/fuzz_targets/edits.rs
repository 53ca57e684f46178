//! See `phalanx_fuzz::edits::edits`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| phalanx_fuzz::edits::edits(data));
