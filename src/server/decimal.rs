//! Decimal numbers, parsed without a call into the server.
//!
//! In a command with many numbers, this saves one call into the server per number. Both parsers round to the nearest
//! double. They can differ in what they accept (a sign `+`, hexadecimal digits, `inf`, `nan`, overflow, underflow), so
//! such texts are passed to the server.

/// The double nearest to a decimal number. `None` for texts that the server must parse.
#[inline]
pub(super) fn parse_decimal(text: &[u8]) -> Option<f64> {
    if text.first() == Some(&b'+') {
        return None;
    }
    let value: f64 = lexical_core::parse(text).ok()?;
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

    proptest! {
        /// Rust's own parser rounds to the nearest double, as the servers' parsers do.
        #[test]
        fn the_value_is_the_nearest_double(text in "[-+.0-9e]{0,24}") {
            if let Some(value) = parse_decimal(text.as_bytes()) {
                prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
            }
        }

        #[test]
        fn plain_numbers_are_parsed_without_the_server(text in "-?[1-9][0-9]{0,19}(\\.[0-9]{1,19})?") {
            prop_assert!(parse_decimal(text.as_bytes()).is_some());
        }
    }
}
