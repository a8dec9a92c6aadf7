//! An argument: its bytes, and the numbers that the server parses from them.

use super::decimal::parse_decimal;
use redis_module::raw;
use std::marker::PhantomData;
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
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string is valid for 'a by the contract of `new`, and so are its bytes.
        unsafe {
            let start = api!(RedisModule_StringPtrLen)(self.string, &raw mut len);
            slice::from_raw_parts(start.cast(), len)
        }
    }

    /// Whether it is this keyword, in upper or lower case.
    #[must_use]
    pub fn is(self, keyword: &str) -> bool {
        self.bytes().eq_ignore_ascii_case(keyword.as_bytes())
    }

    /// The integer, as the server parses integers: no spaces, no sign except `-`, no exponent.
    #[must_use]
    pub fn integer(self) -> Option<i64> {
        let mut value = 0;
        // SAFETY: the string is valid by the contract of `new`.
        let status = unsafe { api!(RedisModule_StringToLongLong)(self.string, &raw mut value) };
        (status == raw::REDISMODULE_OK as i32).then_some(value)
    }

    /// The double, as the server parses doubles: `inf` is valid, `nan` is not.
    #[inline]
    #[must_use]
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
