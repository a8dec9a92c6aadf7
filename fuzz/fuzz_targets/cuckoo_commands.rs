#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivers::cuckoo::commands(bytes));
