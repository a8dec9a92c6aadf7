//! The server's log.

use redis_module::raw;
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Instant;

/// A context that tells the log which module speaks; null before the module is loaded.
static CONTEXT: AtomicPtr<raw::RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());

/// Lets log lines name the module. Called once, while it is loaded.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(super) unsafe fn name_module(ctx: *mut raw::RedisModuleCtx) {
    if let Some(detached) = optional_api!(RedisModule_GetDetachedThreadSafeContext) {
        // SAFETY: by the promise above. The context is kept as long as the process lives.
        CONTEXT.store(unsafe { detached(ctx) }, Ordering::Relaxed);
    }
}

fn write(level: &CStr, text: &str) {
    let Some(log) = optional_api!(RedisModule_Log) else {
        return;
    };
    let text = CString::new(one_line(text)).unwrap_or_default();
    // SAFETY: a null context is allowed, and the kept one is never freed; the format takes one C
    // string, which lives until the return.
    unsafe {
        log(
            CONTEXT.load(Ordering::Relaxed),
            level.as_ptr(),
            c"%s".as_ptr(),
            text.as_ptr(),
        );
    }
}

/// A text without control characters: each is escaped. What a client sent may be part of the text, and must not
/// begin another line or control the terminal of who reads the log.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// A detail that is of use only when something is wrong: not logged at the server's default level.
pub fn verbose(text: &str) {
    write(c"verbose", text);
}

/// Something an operator should know about but need not act on.
pub fn notice(text: &str) {
    write(c"notice", text);
}

/// Something an operator should act on.
pub fn warning(text: &str) {
    write(c"warning", text);
}

/// As [`warning`], about something that a client sent and can send again and again: one line a second at
/// most, so that nobody fills the disk.
pub fn warning_of_input(text: &str) {
    if let Some(text) = line_of_input(text) {
        warning(&text);
    }
}

/// The line about something that a client sent, with the number of lines that were held back before it;
/// `None` where this one is held back too.
pub(super) fn line_of_input(text: &str) -> Option<String> {
    static THROTTLE: Throttle = Throttle::new();
    THROTTLE.line(|| text.to_owned())
}

/// As [`warning_of_input`], about memory that was refused to a command. These lines are counted apart from
/// others, so that they hold back no others and are not held back by others.
pub(super) fn warning_of_refusal(text: impl FnOnce() -> String) {
    static THROTTLE: Throttle = Throttle::new();
    if let Some(text) = THROTTLE.line(text) {
        warning(&text);
    }
}

/// Lets one line a second pass.
#[derive(Debug)]
struct Throttle {
    /// The second after that of the last line; 0 before the first.
    next: AtomicU64,
    /// Lines held back since then.
    held_back: AtomicU64,
}

impl Throttle {
    const fn new() -> Self {
        Self {
            next: AtomicU64::new(0),
            held_back: AtomicU64::new(0),
        }
    }

    /// A line with the number of lines that were held back before it; `None` where this one is held back too.
    fn line(&self, text: impl FnOnce() -> String) -> Option<String> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let held_back = self.passes(START.elapsed().as_secs())?;
        Some(match held_back {
            0 => text(),
            lines => format!("{} ({lines} such lines were held back)", text()),
        })
    }

    /// Whether a line may pass in this second: the number of lines held back before it, or `None`.
    fn passes(&self, second: u64) -> Option<u64> {
        let next = self.next.load(Ordering::Relaxed);
        let is_first = second >= next
            && (self.next)
                .compare_exchange(next, second + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if is_first {
            return Some(self.held_back.swap(0, Ordering::Relaxed));
        }
        self.held_back.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            one_line("a\r\n1:M # b\0\x1b[2J\u{85} é"),
            "a\\r\\n1:M # b\\u{0}\\u{1b}[2J\\u{85} é"
        );
    }

    #[test]
    fn one_line_a_second_passes_and_the_others_are_counted() {
        let throttle = Throttle::new();
        assert_eq!(throttle.passes(0), Some(0));
        assert_eq!(throttle.passes(0), None);
        assert_eq!(throttle.passes(0), None);
        assert_eq!(throttle.passes(1), Some(2));
        assert_eq!(throttle.passes(1), None);
        assert_eq!(throttle.passes(7), Some(1));
        assert_eq!(throttle.passes(8), Some(0));
    }
}
