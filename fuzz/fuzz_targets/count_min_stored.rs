#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivers::count_min::stored(bytes));
