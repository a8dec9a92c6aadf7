//! A command that is replicated in place of the running one.
//!
//! The server needs a string for each argument, even if it has neither replicas nor an AOF. Most keys are created with the same
//! parameters, so each command keeps the strings of the last parameters, and passes references to them.

use crate::server::argument::{Argument, OwnedString};
use crate::server::call::Call;
use redis_module::raw;
use smallvec::SmallVec;
use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The maximum number of arguments, the command's name not included.
const MAX_ARGUMENTS: usize = 16;

/// The format of [`MAX_ARGUMENTS`] strings.
const FORMAT: &CStr = c"ssssssssssssssss";

/// The arguments of a replicated command, at most 16.
#[derive(Debug)]
pub struct ReplicatedArguments<'a>(SmallVec<[Replicated<'a>; MAX_ARGUMENTS]>);

#[derive(Debug, Clone, Copy)]
enum Replicated<'a> {
    Argument(Argument<'a>),
    Bytes(&'a [u8]),
    Hexadecimal(u128),
    /// An argument whose string is kept.
    Parameter(Parameter),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Parameter {
    Keyword(&'static str),
    Integer(u64),
    Decimal(f64),
    Scientific(f64),
}

impl Parameter {
    fn text(self) -> String {
        match self {
            Self::Keyword(keyword) => keyword.to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Decimal(number) => number.to_string(),
            Self::Scientific(number) => format!("{number:e}"),
        }
    }
}

impl<'a> ReplicatedArguments<'a> {
    /// The arguments that begin with these of the running command.
    #[inline]
    #[must_use]
    pub fn new(first: &[Argument<'a>]) -> Self {
        Self(first.iter().copied().map(Replicated::Argument).collect())
    }

    fn add(&mut self, argument: Replicated<'a>) -> &mut Self {
        self.0.push(argument);
        self
    }

    /// Adds bytes that are different for each key.
    pub fn bytes(&mut self, bytes: &'a [u8]) -> &mut Self {
        self.add(Replicated::Bytes(bytes))
    }

    /// Adds a number that is different for each key, as 32 hexadecimal digits.
    pub fn hexadecimal(&mut self, number: u128) -> &mut Self {
        self.add(Replicated::Hexadecimal(number))
    }

    /// Adds a keyword.
    pub fn keyword(&mut self, keyword: &'static str) -> &mut Self {
        self.add(Replicated::Parameter(Parameter::Keyword(keyword)))
    }

    /// Adds an integer.
    pub fn integer(&mut self, number: u64) -> &mut Self {
        self.add(Replicated::Parameter(Parameter::Integer(number)))
    }

    /// Adds the shortest decimal that is parsed to this number, without an exponent.
    pub fn decimal(&mut self, number: f64) -> &mut Self {
        self.add(Replicated::Parameter(Parameter::Decimal(number)))
    }

    /// As [`ReplicatedArguments::decimal`], with an exponent.
    pub fn scientific(&mut self, number: f64) -> &mut Self {
        self.add(Replicated::Parameter(Parameter::Scientific(number)))
    }
}

/// A parameter and its string.
#[derive(Debug)]
struct Kept {
    parameter: Parameter,
    string: OwnedString,
}

// SAFETY: strings of the server may be used on each thread that holds the server's lock, as the threads that run commands do.
unsafe impl Send for Kept {}

/// A command that is replicated in place of another one.
#[derive(Debug)]
pub struct ReplicatedCommand {
    name: &'static CStr,
    /// The parameter that was last at each position.
    kept: Mutex<[Option<Kept>; MAX_ARGUMENTS]>,
}

impl ReplicatedCommand {
    /// The command with this name.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            kept: Mutex::new([const { None }; MAX_ARGUMENTS]),
        }
    }
}

/// The string of a parameter, at the same position as in the last call.
#[inline]
fn kept(place: &mut Option<Kept>, parameter: Parameter) -> *mut raw::RedisModuleString {
    match place {
        Some(kept) if kept.parameter == parameter => {}
        _ => replace(place, parameter),
    }
    let string = place.as_ref().map(|kept| kept.string.as_argument());
    string.map_or(ptr::null_mut(), Argument::as_raw)
}

#[cold]
fn replace(place: &mut Option<Kept>, parameter: Parameter) {
    let string = OwnedString::new(parameter.text().as_bytes());
    *place = Some(Kept { parameter, string });
}

/// A number as 32 lower-case hexadecimal digits.
fn hexadecimal(number: u128) -> [u8; 32] {
    let mut digits = [0; 32];
    for (digits, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
        for (digit, value) in digits.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = b"0123456789abcdef"[usize::from(value)];
        }
    }
    digits
}

impl ReplicatedCommand {
    /// Replicates the command with these arguments.
    ///
    /// # Panics
    /// If there are more than 16 arguments.
    pub fn replicate(&self, call: &Call<'_>, arguments: &ReplicatedArguments<'_>) {
        let arguments = &*arguments.0;
        let mut all_kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut strings = [ptr::null_mut(); MAX_ARGUMENTS];
        let mut owned = SmallVec::<[OwnedString; 2]>::new();
        let mut own = |bytes: &[u8]| {
            owned.push(OwnedString::new(bytes));
            owned
                .last()
                .map_or(ptr::null_mut(), |string| string.as_argument().as_raw())
        };
        // An unused place would replicate too few arguments.
        assert!(arguments.len() <= MAX_ARGUMENTS, "too many arguments");
        for ((string, place), argument) in
            strings.iter_mut().zip(all_kept.iter_mut()).zip(arguments)
        {
            *string = match *argument {
                Replicated::Argument(argument) => argument.as_raw(),
                Replicated::Bytes(bytes) => own(bytes),
                Replicated::Hexadecimal(number) => own(&hexadecimal(number)),
                Replicated::Parameter(parameter) => kept(place, parameter),
            };
        }
        let [
            s0,
            s1,
            s2,
            s3,
            s4,
            s5,
            s6,
            s7,
            s8,
            s9,
            s10,
            s11,
            s12,
            s13,
            s14,
            s15,
        ] = strings;
        // SAFETY: the format has an "s", for a string, for each argument: its end is as long as there are arguments, and the server reads no
        // further arguments. With "v", which takes an array, the server would allocate its list of arguments twice. The strings live
        // until the return, and the server takes its own references.
        unsafe {
            let format: *const c_char = FORMAT.as_ptr().add(MAX_ARGUMENTS - arguments.len());
            api!(RedisModule_Replicate)(
                call.ctx(),
                self.name.as_ptr(),
                format,
                s0,
                s1,
                s2,
                s3,
                s4,
                s5,
                s6,
                s7,
                s8,
                s9,
                s10,
                s11,
                s12,
                s13,
                s14,
                s15,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_one_text() {
        for (parameter, text) in [
            (Parameter::Keyword("PANES"), "PANES"),
            (Parameter::Integer(u64::MAX), "18446744073709551615"),
            (Parameter::Decimal(0.000_001), "0.000001"),
            (Parameter::Scientific(0.01), "1e-2"),
            (Parameter::Scientific(0.25), "2.5e-1"),
        ] {
            assert_eq!(parameter.text(), text);
        }
    }

    #[test]
    fn a_seed_has_32_digits() {
        let number = 0x0012_3456_789a_bcde_f012_3456_789a_bcde;
        assert_eq!(hexadecimal(number), *b"00123456789abcdef0123456789abcde");
        assert_eq!(hexadecimal(0), [b'0'; 32]);
    }
}
