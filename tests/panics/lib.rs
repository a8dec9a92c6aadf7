//! A library that catches a panic, as the module does in its command handlers. No known command makes the module panic.

/// Whether the library catches a panic: 1 if it does.
#[unsafe(no_mangle)]
pub extern "C" fn caught() -> i32 {
    std::panic::catch_unwind(|| panic!("on purpose"))
        .is_err()
        .into()
}
