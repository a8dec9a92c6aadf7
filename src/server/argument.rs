//! An argument: its bytes, and the numbers that the server parses from them.

use redis_module::raw;
use roughly_sketch::memory::with_capacity;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::slice;

/// An argument of a command, of the load line or of CONFIG SET. Lives as long as the call.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Argument<'a> {
    string: *mut raw::RedisModuleString,
    call: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    /// Wraps a string of the server.
    ///
    /// # Safety
    /// `string` must be valid and unchanged for `'a`.
    pub(super) unsafe fn new(string: *mut raw::RedisModuleString) -> Self {
        Self {
            string,
            call: PhantomData,
        }
    }

    /// The server's string.
    pub(super) fn as_raw(self) -> *mut raw::RedisModuleString {
        self.string
    }

    /// The bytes, not copied.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string is valid for 'a by the contract of `new`, and so are its bytes.
        unsafe {
            let start = api!(RedisModule_StringPtrLen)(self.string, &raw mut len);
            slice::from_raw_parts(start.cast(), len)
        }
    }

    /// Whether it is this keyword, in upper or lower case.
    pub fn is(self, keyword: &str) -> bool {
        self.bytes().eq_ignore_ascii_case(keyword.as_bytes())
    }

    /// The integer, as the server parses integers: no spaces, no sign except `-`, no exponent.
    pub fn integer(self) -> Option<i64> {
        let mut value = 0;
        // SAFETY: the string is valid by the contract of `new`.
        let status = unsafe { api!(RedisModule_StringToLongLong)(self.string, &raw mut value) };
        (status == raw::REDISMODULE_OK as i32).then_some(value)
    }

    /// The double, as the server parses doubles: `inf` is valid, `nan` is not. Commands that write use
    /// [`Call::double`](super::call::Call::double).
    #[inline]
    pub fn double(self) -> Option<f64> {
        parse_decimal(self.bytes()).or_else(|| self.server_double())
    }

    /// The double that the server parses.
    #[inline(never)]
    fn server_double(self) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: the string is valid by the contract of `new`.
        let status = unsafe { api!(RedisModule_StringToDouble)(self.string, &raw mut value) };
        (status == raw::REDISMODULE_OK as i32 && !value.is_nan()).then_some(value)
    }
}

/// The double that C parses from hexadecimal digits, as in `0x1p-1`. `None` for other texts, and if the number is too large or too
/// small for a double.
pub(super) fn parse_hexadecimal(text: &[u8]) -> Option<f64> {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+"));
    let [b'0', b'x' | b'X', digits @ ..] = unsigned.unwrap_or(text) else {
        return None;
    };
    let mut copy = with_capacity(text.len() + 1).ok()?;
    copy.extend_from_slice(text);
    copy.push(0);
    let copy = CStr::from_bytes_with_nul(&copy).ok()?;
    let mut end = ptr::null_mut();
    // SAFETY: the text ends with a zero byte.
    let value = unsafe { libc::strtod(copy.as_ptr(), &raw mut end) };
    let is_whole = end.addr() == copy.as_ptr().addr() + text.len();
    let is_zero = || {
        let mut mantissa = digits.split(|digit| digit.eq_ignore_ascii_case(&b'p'));
        let mut mantissa = mantissa.next().into_iter().flatten();
        mantissa.all(|digit| matches!(digit, b'0' | b'.'))
    };
    (is_whole && value.is_finite() && (value != 0.0 || is_zero())).then_some(value)
}

/// A string of the server that the module owns.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct OwnedString(NonNull<raw::RedisModuleString>);

impl OwnedString {
    /// A string with these bytes. May be called only where functions of the server may be called.
    pub(super) fn new(bytes: &[u8]) -> Self {
        // SAFETY: without a context the caller owns the string. The server copies the bytes.
        unsafe {
            let start = bytes.as_ptr().cast();
            let string = api!(RedisModule_CreateString)(ptr::null_mut(), start, bytes.len());
            Self::from_raw(string).expect("the server ends if it has no memory for a string")
        }
    }

    /// `None` for null.
    ///
    /// # Safety
    /// `string` must be null or a string with a reference that nothing else frees.
    pub(super) unsafe fn from_raw(string: *mut raw::RedisModuleString) -> Option<Self> {
        NonNull::new(string).map(Self)
    }

    pub(super) fn as_argument(&self) -> Argument<'_> {
        // SAFETY: the string lives as long as `self`.
        unsafe { Argument::new(self.0.as_ptr()) }
    }

    /// The string with its reference, which the caller frees.
    pub(super) fn into_raw(self) -> *mut raw::RedisModuleString {
        ManuallyDrop::new(self).0.as_ptr()
    }
}

impl Drop for OwnedString {
    fn drop(&mut self) {
        // SAFETY: the reference is freed once. Without a context, because automatic memory management is off.
        unsafe { api!(RedisModule_FreeString)(ptr::null_mut(), self.0.as_ptr()) };
    }
}

/// The double nearest to a decimal number, without a call into the server, which a command with many numbers would need for each.
/// `None` for texts that the server must parse: Rust's parser and the server's round to the nearest double, and can differ in what
/// they accept (a sign `+`, hexadecimal digits, `inf`, `nan`, overflow, underflow).
#[inline]
fn parse_decimal(text: &[u8]) -> Option<f64> {
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

    #[test]
    fn hexadecimal_numbers_are_parsed_as_in_c() {
        for (text, value) in [
            ("0x10", Some(16.0)),
            ("-0X1P+3", Some(-8.0)),
            ("+0x.8", Some(0.5)),
            ("0x1.8p1", Some(3.0)),
            ("0x0.0p9", Some(0.0)),
            ("0x1p-1074", Some(5e-324)),
            ("0x1.fffffffffffffp1023", Some(f64::MAX)),
            ("0x20000000000001", Some(9_007_199_254_740_992.0)),
            ("0x1p-1075", None),
            ("0x1p1024", None),
            ("0x", None),
            ("0x1p", None),
            ("0x1 ", None),
            ("0x1\0", None),
            (" 0x1", None),
            ("--0x1", None),
            ("16", None),
            ("inf", None),
            ("", None),
        ] {
            assert_eq!(parse_hexadecimal(text.as_bytes()), value, "{text}");
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
