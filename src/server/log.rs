//! The server's log, and keys, arguments and sizes as it shows them.

use super::injected;
use redis_module::raw;
use std::ffi::{CStr, CString};
use std::ptr::{self, NonNull};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Instant;

/// A context with which the log shows the module's name; null before the module has it.
static CONTEXT: AtomicPtr<raw::RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());

/// Makes log lines show no name. Called when loading fails: the context is that of a module that no longer exists, and the
/// library may stay in memory.
pub(super) fn forget_module() {
    CONTEXT.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Makes log lines show the module's name. Called once, while the module is loaded.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(super) unsafe fn name_module(ctx: *mut raw::RedisModuleCtx) {
    if let Some(detached) = optional_api!(RedisModule_GetDetachedThreadSafeContext) {
        // SAFETY: by the function's contract. The context is kept as long as the process lives.
        CONTEXT.store(unsafe { detached(ctx) }, Ordering::Relaxed);
    }
}

/// A context of the loaded module, which is never freed. `None` if loading failed, and before.
pub(super) fn context() -> Option<NonNull<raw::RedisModuleCtx>> {
    NonNull::new(CONTEXT.load(Ordering::Relaxed))
}

fn write(level: &CStr, text: &str) {
    let Some(log) = optional_api!(RedisModule_Log) else {
        return;
    };
    let text = CString::new(one_line(text)).unwrap_or_default();
    // SAFETY: a null context is allowed, and the stored one is never freed; the format takes one C
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

/// Escapes control characters. The text may include input of a client, which must not begin another line or control the
/// terminal of a reader.
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

/// Logs a detail for debugging. The server's default level omits it.
pub fn verbose(text: &str) {
    write(c"verbose", text);
}

/// Logs information for an operator that needs no action.
pub fn notice(text: &str) {
    write(c"notice", text);
}

/// Logs a problem that an operator should act on.
pub fn warning(text: &str) {
    write(c"warning", text);
}

/// The limit of the lines about the input of clients.
pub(super) static OF_INPUT: RateLimit = RateLimit::per_second();

/// As [`warning`], for a problem that a client can cause repeatedly: at most one line per second, so that clients cannot
/// fill the disk.
pub fn warning_of_input(text: &str) {
    OF_INPUT.warning(|| text.to_owned());
}

/// Limits lines of one kind to one per interval. Lines of different kinds do not suppress each other.
#[derive(Debug)]
pub struct RateLimit {
    /// Seconds between two lines.
    interval: u64,
    /// The first second in which another line passes; 0 before the first line.
    next: AtomicU64,
    /// Lines suppressed since the last line.
    suppressed: AtomicU64,
}

impl RateLimit {
    /// One line per second.
    pub(super) const fn per_second() -> Self {
        Self::per(1)
    }

    /// One line per minute.
    pub const fn per_minute() -> Self {
        Self::per(60)
    }

    const fn per(interval: u64) -> Self {
        Self {
            interval,
            next: AtomicU64::new(0),
            suppressed: AtomicU64::new(0),
        }
    }

    /// As [`warning_of_input`], with this limit. `text` is called only if the line is not suppressed.
    pub fn warning(&self, text: impl FnOnce() -> String) {
        if let Some(text) = self.line(text) {
            warning(&text);
        }
    }

    /// A line with the number of lines that were suppressed before it; `None` if this one is suppressed.
    pub(super) fn line(&self, text: impl FnOnce() -> String) -> Option<String> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let ms = u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX);
        let suppressed = self.passes(injected::time(ms) / 1000)?;
        Some(match suppressed {
            0 => text(),
            lines => format!("{} ({lines} similar lines were suppressed)", text()),
        })
    }

    /// The number of lines suppressed before a line in this second, or `None` if it is suppressed.
    fn passes(&self, second: u64) -> Option<u64> {
        let next = self.next.load(Ordering::Relaxed);
        let is_first = second >= next
            && (self.next)
                .compare_exchange(
                    next,
                    second + self.interval,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        if is_first {
            return Some(self.suppressed.swap(0, Ordering::Relaxed));
        }
        self.suppressed.fetch_add(1, Ordering::Relaxed);
        None
    }
}

/// Maximum number of bytes of a key or an argument in a log line.
const MAX_QUOTED_BYTES: usize = 64;

/// A key or an argument, quoted and short. Bytes that are not printable ASCII are escaped, so that it cannot begin
/// another line or control a terminal. The CLI reads the same escapes.
pub fn quoted(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(MAX_QUOTED_BYTES)];
    let dots = if start.len() < bytes.len() { "..." } else { "" };
    format!("\"{}\"{dots}", start.escape_ascii())
}

/// A number of bytes in the largest unit of which it has at least one, with one decimal. As in the server's settings and
/// INFO, 1 KB is 1,024 bytes.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    // One decimal would show 1024.0 of a unit.
    while size >= 1023.95
        && let Some(larger) = units.next()
    {
        size /= 1024.0;
        unit = larger;
    }
    format!("{size:.1} {unit}")
}

/// Two sizes of which one is larger. In exact bytes if one decimal does not show the difference.
pub fn sizes(one: u64, other: u64) -> (String, String) {
    let texts = (size(one), size(other));
    if one != other && texts.0 == texts.1 {
        return (format!("{one} bytes"), format!("{other} bytes"));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use super::{quoted, size, sizes};

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            one_line("a\r\n1:M # b\0\x1b[2J\u{85} é"),
            "a\\r\\n1:M # b\\u{0}\\u{1b}[2J\\u{85} é"
        );
    }

    #[test]
    fn one_line_per_second_is_logged_and_the_others_are_counted() {
        let limit = RateLimit::per_second();
        assert_eq!(limit.passes(0), Some(0));
        assert_eq!(limit.passes(0), None);
        assert_eq!(limit.passes(0), None);
        assert_eq!(limit.passes(1), Some(2));
        assert_eq!(limit.passes(1), None);
        assert_eq!(limit.passes(7), Some(1));
        assert_eq!(limit.passes(8), Some(0));
        let limit = RateLimit::per_minute();
        assert_eq!((limit.passes(0), limit.passes(59)), (Some(0), None));
        assert_eq!(limit.passes(60), Some(1));
    }

    #[test]
    fn a_key_is_shown_in_one_short_line_of_printable_characters() {
        assert_eq!(quoted(b"NOSCALING"), "\"NOSCALING\"");
        assert_eq!(quoted(b""), "\"\"");
        let bytes = b"a\r\n\"b\" \\ \x1b[2J\0\xc3\xa9";
        let text = r#""a\r\n\"b\" \\ \x1b[2J\x00\xc3\xa9""#;
        assert_eq!(quoted(bytes), text);
        assert_eq!(quoted(&[b'x'; 64]), format!("\"{}\"", "x".repeat(64)));
        let long = format!("\"{}\"...", r"\xff".repeat(64));
        assert_eq!(quoted(&[0xff; 1000]), long);
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_with_one_decimal() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KB"),
            (1_048_524, "1023.9 KB"),
            (1_048_525, "1.0 MB"),
            (32_715_571, "31.2 MB"),
            (8_128_000_000_000, "7.4 TB"),
            (u64::MAX, "16.0 EB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn two_sizes_are_shown_in_bytes_if_they_would_look_equal() {
        assert_eq!(sizes(2048, 1024), ("2.0 KB".into(), "1.0 KB".into()));
        let exact = ("1048577 bytes".into(), "1048576 bytes".into());
        assert_eq!(sizes(1_048_577, 1_048_576), exact);
        assert_eq!(sizes(1024, 1024), ("1.0 KB".into(), "1.0 KB".into()));
    }
}
