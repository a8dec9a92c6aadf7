//! The clock of tests. Not in release builds.
//!
//! The tests write a time in milliseconds to the file `roughly-clock` in the server's working directory. With a sign in
//! front, it is added to the time of the server; without a sign, it replaces it. The rate limits of the log use the same clock.

/// The time of a test in milliseconds since the Unix epoch, or `ms` if there is none.
#[cfg(debug_assertions)]
pub(super) fn adjusted(ms: u64) -> u64 {
    let Ok(text) = std::fs::read_to_string("roughly-clock") else {
        return ms;
    };
    let text = text.trim();
    let number = |text: &str| text.parse().unwrap_or(0);
    match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(later), _) => ms.saturating_add(number(later)),
        (_, Some(earlier)) => ms.saturating_sub(number(earlier)),
        _ => number(text),
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn adjusted(ms: u64) -> u64 {
    ms
}
