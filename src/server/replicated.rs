//! A command that is replicated in place of the running one.
//!
//! The server needs a string for each argument, even if it has neither replicas nor an AOF. Most keys are created with the same
//! parameters, so each command keeps the strings of the last parameters, and passes references to them.

use super::argument::{Argument, OwnedString};
use super::call::Call;
use redis_module::raw;
use smallvec::SmallVec;
use std::ffi::CStr;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of arguments, the command's name not included.
const MAX_ARGUMENTS: usize = 16;

/// The format of [`MAX_ARGUMENTS`] strings. With "v", which takes an array, the server would allocate its list of arguments twice.
const FORMAT: &CStr = c"ssssssssssssssss";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Parameter {
    Keyword(&'static str),
    Integer(u64),
    Decimal(f64),
    Scientific(f64),
}

impl Parameter {
    #[cold]
    fn text(self) -> String {
        match self {
            Self::Keyword(keyword) => keyword.to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Decimal(number) => number.to_string(),
            Self::Scientific(number) => format!("{number:e}"),
        }
    }
}

/// A parameter and its string.
#[derive(Debug)]
struct Kept(Parameter, OwnedString);

// SAFETY: strings of the server may be used on each thread that holds the server's lock, as the threads that run commands do.
unsafe impl Send for Kept {}

/// The parameter that was last at each position.
type AllKept = [Option<Kept>; MAX_ARGUMENTS];

/// A command that is replicated in place of another one.
#[derive(Debug)]
pub struct ReplicatedCommand(&'static CStr, Mutex<AllKept>);

impl ReplicatedCommand {
    /// The command with this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self(name, Mutex::new([const { None }; MAX_ARGUMENTS]))
    }

    /// The command with arguments that begin with these of the running command. There are at most 16.
    #[must_use]
    pub fn with<'a>(&'a self, first: &'a [Argument<'a>]) -> Replicated<'a> {
        let mut replicated = Replicated {
            name: self.0,
            kept: self.1.lock().unwrap_or_else(PoisonError::into_inner),
            strings: [ptr::null_mut(); MAX_ARGUMENTS],
            len: 0,
            owned: SmallVec::new(),
        };
        first
            .iter()
            .for_each(|argument| replicated.push(argument.as_raw()));
        replicated
    }
}

/// A command that is replicated, with its arguments so far.
#[derive(Debug)]
pub struct Replicated<'a> {
    name: &'static CStr,
    kept: MutexGuard<'a, AllKept>,
    /// Strings of the running command, of `kept` and of `owned`.
    strings: [*mut raw::RedisModuleString; MAX_ARGUMENTS],
    len: usize,
    owned: SmallVec<[OwnedString; 2]>,
}

impl Replicated<'_> {
    fn push(&mut self, string: *mut raw::RedisModuleString) {
        self.strings[self.len] = string;
        self.len += 1;
    }

    fn add(&mut self, parameter: Parameter) -> &mut Self {
        let place = &mut self.kept[self.len];
        if place.as_ref().is_none_or(|kept| kept.0 != parameter) {
            let string = OwnedString::new(parameter.text().as_bytes());
            *place = Some(Kept(parameter, string));
        }
        if let Some(Kept(_, string)) = place {
            let string = string.as_argument().as_raw();
            self.push(string);
        }
        self
    }

    /// Adds bytes that are different for each key.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let string = OwnedString::new(bytes);
        self.push(string.as_argument().as_raw());
        self.owned.push(string);
        self
    }

    /// Adds a keyword.
    pub fn keyword(&mut self, keyword: &'static str) -> &mut Self {
        self.add(Parameter::Keyword(keyword))
    }

    /// Adds an integer.
    pub fn integer(&mut self, number: u64) -> &mut Self {
        self.add(Parameter::Integer(number))
    }

    /// Adds the shortest decimal that is parsed to this number, without an exponent.
    pub fn decimal(&mut self, number: f64) -> &mut Self {
        self.add(Parameter::Decimal(number))
    }

    /// As [`Replicated::decimal`], with an exponent.
    pub fn scientific(&mut self, number: f64) -> &mut Self {
        self.add(Parameter::Scientific(number))
    }

    /// Replicates the command.
    pub fn replicate(&self, call: &Call<'_>) {
        let (function, strings) = (api!(RedisModule_Replicate), self.strings);
        macro_rules! replicate {
            ($format:expr, $($place:literal)*) => {
                function(call.ctx(), self.name.as_ptr(), $format, $(strings[$place]),*)
            };
        }
        // SAFETY: the format has an "s", for a string, for each argument: its end is as long as there are arguments, and the server
        // reads no further arguments. The strings live until the return, and the server takes its own references.
        unsafe {
            let format = FORMAT.as_ptr().add(MAX_ARGUMENTS - self.len);
            replicate!(format, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Parameter::{Decimal, Integer, Keyword, Scientific};

    #[test]
    fn parameters_have_one_text() {
        for (parameter, text) in [
            (Keyword("PANES"), "PANES"),
            (Integer(u64::MAX), "18446744073709551615"),
            (Decimal(0.000_001), "0.000001"),
            (Scientific(0.01), "1e-2"),
            (Scientific(0.25), "2.5e-1"),
        ] {
            assert_eq!(parameter.text(), text);
        }
    }
}
