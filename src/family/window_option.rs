//! The option `WINDOW ms [PANES n] [FINEST r] [ERROR rate] [SEED hex]` of the commands that create a key
//! (docs/sliding-windows.md): the only parser, and the description of a window that is checked, created and replicated.

use crate::family::filters;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::Options;
use crate::server::replicated::Replicated;
use crate::server::window;
use roughly_sketch::seed::Seed;
use roughly_sketch::window::{Timed, Window, WindowError};
use std::ffi::CStr;

const SYNTAX: &CStr = c"ERR syntax error";

/// The words that may follow `WINDOW ms`, in any order and once each.
pub type Words = &'static [&'static str];

/// The words of a Bloom filter that a command reserves.
pub const BLOOM: Words = &["PANES", "SEED"];
/// The words of a cuckoo filter that a command reserves.
pub const CUCKOO: Words = &["PANES", "ERROR", "SEED"];
/// The words of BF.INSERT and CF.INSERT.
pub const INSERT: Words = &["PANES"];
/// The words of count-min sketches and top-k.
pub const COUNTER: Words = &["PANES", "FINEST", "SEED"];
/// The words of t-digests, which have no hash.
pub const DIGEST: Words = &["PANES", "FINEST"];

/// The option at the end of a command that the log recommends.
pub fn in_log(has_window: bool) -> &'static str {
    match has_window {
        true => " WINDOW ...",
        false => "",
    }
}

/// The arguments of the option.
#[derive(Debug, Clone, Copy)]
pub struct WindowOption<'a> {
    ms: Argument<'a>,
    panes: Option<Argument<'a>>,
    finest: Option<Argument<'a>>,
    error: Option<Argument<'a>>,
    seed: Option<Argument<'a>>,
    /// The number of the arguments, the word WINDOW included.
    len: usize,
}

impl<'a> WindowOption<'a> {
    /// The option at this argument; `None` if another argument is there. It ends at the first argument that is none of
    /// `words`.
    ///
    /// # Errors
    /// [`Error::WrongArity`] if a value is missing, `ERR syntax error` if a word is repeated.
    pub fn at(call: &Call<'a>, index: usize, words: Words) -> Result<Option<Self>, Error> {
        let mut arguments = call.args_from(index);
        if !arguments.next().is_some_and(|first| first.is("WINDOW")) {
            return Ok(None);
        }
        let mut option = Self {
            ms: arguments.next().ok_or(Error::WrongArity)?,
            panes: None,
            finest: None,
            error: None,
            seed: None,
            len: 2,
        };
        while let Some(argument) = arguments.next() {
            let Some(&word) = words.iter().find(|word| argument.is(word)) else {
                break;
            };
            option.set(word, arguments.next())?;
        }
        Ok(Some(option))
    }

    /// Sets the value of a word, which is `None` if it is missing.
    fn set(&mut self, word: &str, value: Option<Argument<'a>>) -> Result<(), Error> {
        let place = match word {
            "PANES" => &mut self.panes,
            "FINEST" => &mut self.finest,
            "ERROR" => &mut self.error,
            _ => &mut self.seed,
        };
        self.len += 2;
        match place.replace(value.ok_or(Error::WrongArity)?) {
            Some(_) => Err(SYNTAX.into()),
            None => Ok(()),
        }
    }

    /// The option at the end of a command with one of these numbers of arguments before it, and that number.
    ///
    /// # Errors
    /// Those of [`WindowOption::at`], [`Error::WrongArity`] for another number of arguments, `ERR syntax error` for an argument
    /// after the option.
    pub fn at_end(
        call: &Call<'a>,
        lens: &[usize],
        words: Words,
    ) -> Result<(usize, Option<Self>), Error> {
        for &len in lens {
            if let Some(option) = Self::at(call, len, words)? {
                return match call.len() - len == option.len {
                    true => Ok((len, Some(option))),
                    false => Err(SYNTAX.into()),
                };
            }
        }
        refuse_if!(!lens.contains(&call.len()) => Error::WrongArity);
        Ok((call.len(), None))
    }

    /// The option among options at any position. Other options can be between its words.
    ///
    /// # Errors
    /// Those of [`WindowOption::at`].
    pub fn in_options(
        options: &mut Options<'_, 'a>,
        call: &Call<'a>,
        words: Words,
    ) -> Result<Option<Self>, Error> {
        let Some(index) = options.position("WINDOW") else {
            return Ok(None);
        };
        let Some(mut option) = Self::at(call, index, words)? else {
            return Ok(None);
        };
        options.take(index, option.len);
        for word in words {
            let position = options.untaken(word).filter(|&position| position > index);
            if let Some(position) = position {
                option.set(word, call.args_from(position + 1).next())?;
                options.take(position, 2);
            }
        }
        Ok(Some(option))
    }

    /// The number of arguments.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The window of a key of type `T` that the command creates now, and its seed. Must be called as [`WindowOption::parse`].
    ///
    /// # Errors
    /// Those of [`WindowOption::parse`] and [`NewWindow::check_allowed`].
    pub fn create<T: Timed>(self, call: &Call<'_>) -> Result<(NewWindow, Seed), Error> {
        let window = self.parse::<T>(call)?.check_allowed(call)?;
        Ok((window, window.seed(call)))
    }

    /// The window of a key of type `T`. Must be called when the arguments before the option were checked.
    ///
    /// # Errors
    /// If a value is out of range.
    pub fn parse<T: Timed>(self, call: &Call<'_>) -> Result<NewWindow, Error> {
        // An invalid number becomes 0, which is out of range.
        let number = |argument: Argument<'_>| {
            let number = argument.integer();
            number.map_or(0, |number| u64::try_from(number).unwrap_or(0))
        };
        let ms = number(self.ms);
        let panes = self.panes.map_or(Window::DEFAULT_PANES.min(ms), number);
        let window = Window::of::<T>(ms, panes, self.finest.map(number));
        let window = window.map_err(|error| match (error, T::MAX_PANES) {
            (WindowError::InvalidPanes, max) => Error::formatted(format!(
                "ERR PANES must be between 1 and {max}, and at most WINDOW"
            )),
            (error, _) => Error::formatted(format_args!("ERR {error}")),
        })?;
        let error_rate = self.error.map(|rate| filters::error_rate(call, rate));
        let error_rate = error_rate.transpose()?;
        let seed = self.seed.map(|hex| parse_seed(hex.bytes())).transpose()?;
        Ok(NewWindow {
            window,
            error_rate,
            seed,
        })
    }
}

fn parse_seed(hex: &[u8]) -> Result<Seed, Error> {
    // The parser of the standard library also accepts a sign.
    let is_valid = hex.len() == 2 * Seed::BYTES && hex.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(hex).ok().filter(|_| is_valid);
    let seed = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
    let seed = seed.ok_or(c"ERR SEED must be 32 hexadecimal digits")?;
    Ok(Seed(seed.to_be_bytes()))
}

/// The window of a new key: what the option describes.
#[derive(Debug, Clone, Copy)]
pub struct NewWindow {
    /// Length and panes.
    pub window: Window,
    /// The error rate, in (0, 1).
    pub error_rate: Option<f64>,
    /// The seed; `None` if the server draws it.
    seed: Option<Seed>,
}

impl NewWindow {
    /// The specified seed, or random bytes from the server.
    pub fn seed(&self, call: &Call<'_>) -> Seed {
        self.seed.unwrap_or_else(|| Seed(call.random_bytes()))
    }

    /// Checks that the command may create a sketch with a window.
    ///
    /// # Errors
    /// If `sketch-windows` disables windows.
    pub fn check_allowed(self, call: &Call<'_>) -> Result<Self, Error> {
        match window::is_allowed(call) {
            true => Ok(self),
            false => Err(c"ERR sketches with a window are disabled (sketch-windows)".into()),
        }
    }

    /// Adds the option for a window with this seed to the replicated form of a creation.
    pub fn add_to(self, replicated: &mut Replicated<'_>, seed: Option<Seed>) {
        let window = self.window;
        replicated.keyword("WINDOW").integer(window.ms());
        replicated.keyword("PANES").integer(window.panes());
        if !window.is_uniform() {
            replicated.keyword("FINEST").integer(window.pane_ms());
        }
        if let Some(rate) = self.error_rate {
            replicated.keyword("ERROR").scientific(rate);
        }
        if let Some(seed) = seed {
            let digit = |number: u8| b"0123456789abcdef"[usize::from(number)];
            let digits = seed.0.map(|byte| [digit(byte >> 4), digit(byte & 15)]);
            replicated.keyword("SEED").bytes(digits.as_flattened());
        }
    }
}

/// Handles arguments that are no options. RedisBloom accepts them, and it has no windows, so they are refused only if there
/// is a window.
///
/// # Errors
/// Those of [`Options::refuse_others`].
pub fn check_others(options: &Options<'_, '_>, has_window: bool) -> Result<(), Error> {
    if has_window {
        return options.refuse_others();
    }
    options.warn_of_ignored();
    Ok(())
}
