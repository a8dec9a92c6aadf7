//! Keys, arguments and sizes as the log shows them.

/// Maximum number of bytes of a key or an argument in a log line.
const MAX_QUOTED_BYTES: usize = 64;

/// A key or an argument, quoted and short. Bytes that are not printable ASCII are escaped, so that it cannot begin
/// another line or control a terminal. The CLI reads the same escapes.
#[must_use]
pub fn quoted(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(MAX_QUOTED_BYTES)];
    let dots = if start.len() < bytes.len() { "..." } else { "" };
    format!("\"{}\"{dots}", start.escape_ascii())
}

/// A number of bytes in the largest unit of which it has at least one, with one decimal. As in the server's settings and
/// INFO, 1 KB is 1,024 bytes.
#[must_use]
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
#[must_use]
pub fn sizes(one: u64, other: u64) -> (String, String) {
    let texts = (size(one), size(other));
    if one != other && texts.0 == texts.1 {
        return (format!("{one} bytes"), format!("{other} bytes"));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::{quoted, size, sizes};

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
