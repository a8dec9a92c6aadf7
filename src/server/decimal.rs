//! Decimal numbers, parsed without a call into the server.
//!
//! In a command with many numbers, this saves one call into the server per number. Rust's parser and the server's round
//! to the nearest double. They can differ in what they accept (a sign `+`, hexadecimal digits, `inf`, `nan`, overflow,
//! underflow), so such texts are passed to the server.

/// The double nearest to a decimal number. `None` for texts that the server must parse.
#[inline]
pub(super) fn parse_decimal(text: &[u8]) -> Option<f64> {
    if text.first() == Some(&b'+') || !text.is_ascii() {
        return None;
    }
    // Validation as UTF-8 would take as long as parsing.
    // SAFETY: ASCII is UTF-8.
    let decimal = unsafe { str::from_utf8_unchecked(text) };
    let value: f64 = decimal.parse().ok()?;
    (value.is_normal() || text == b"0").then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_numbers_are_parsed() {
        for (text, value) in [
            ("0", 0.0),
            ("7", 7.0),
            ("-12", -12.0),
            ("007", 7.0),
            ("0.1", 0.1),
            (".5", 0.5),
            ("5.", 5.0),
            ("-2.25001", -2.25001),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("9007199254740995", 9_007_199_254_740_996.0),
            ("12345678901234567890", 12_345_678_901_234_567_890.0),
            ("0.000000000000000001", 1e-18),
            ("2.2250738585072014e-308", f64::MIN_POSITIVE),
            ("1.7976931348623157e308", f64::MAX),
        ] {
            assert_eq!(parse_decimal(text.as_bytes()), Some(value), "{text}");
        }
    }

    #[test]
    fn other_texts_are_passed_to_the_server() {
        for text in [
            "", "-", ".", "-.", "1.2.3", "+5", "--5", "1e", " 1", "1 ", "1\0", "inf", "-inf",
            "infinity", "nan", "0x10", "0x1p3", "1_0", "1e400", "1e-400", "4.9e-324", "0.0", "-0",
            "\u{661}",
        ] {
            assert_eq!(parse_decimal(text.as_bytes()), None, "{text}");
        }
    }

    /// Whether a text has the form `-?digits[.digits][e[+-]digits]`. One of the first two groups of digits may be empty.
    fn is_decimal(text: &str) -> bool {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let text = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (
                mantissa,
                exponent.strip_prefix(['+', '-']).unwrap_or(exponent),
            ),
            None => (text, "0"),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let has_digits = !(whole.is_empty() && fraction.is_empty() || exponent.is_empty());
        has_digits && [whole, fraction, exponent].into_iter().all(is_number)
    }

    proptest! {
        /// Other texts, such as `inf` and `nan` in any case, may mean something else to the server.
        #[test]
        fn only_decimal_numbers_are_parsed(text in "[-+.0-9eE]{0,12}|[-+]?(?i:inf|infinity|nan)|\\PC{0,4}") {
            if parse_decimal(text.as_bytes()).is_some() {
                prop_assert!(is_decimal(&text), "{}", text);
            }
        }

        #[test]
        fn plain_numbers_are_parsed_without_the_server(text in "-?[1-9][0-9]{0,19}(\\.[0-9]{1,19})?") {
            prop_assert!(parse_decimal(text.as_bytes()).is_some());
        }
    }
}
