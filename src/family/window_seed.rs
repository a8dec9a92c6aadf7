//! The secret seeds of filters with a window, and the option `SEED hex` (docs/window-operations.md, "Seeds of filters").

use super::window::{WindowArguments, WindowOption};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::options::{MissingValue, Options};
use roughly_sketch::window::{Timed, Window};
use roughly_sketch::window_filter::Seed;
use std::ffi::CStr;

/// The option `WINDOW ms [PANES n] [SEED hex]` of BF.RESERVE and CF.RESERVE.
#[derive(Debug, Clone, Copy)]
pub struct FilterWindowOption<'a> {
    window: WindowOption<'a>,
    seed: Option<Argument<'a>>,
}

impl<'a> FilterWindowOption<'a> {
    /// The option among options at any position. `SEED` is an option only directly after `WINDOW ms [PANES n]`.
    ///
    /// # Errors
    /// [`MissingValue`] if a value is missing.
    pub fn in_options(options: &mut Options<'_, 'a>) -> Result<Option<Self>, MissingValue> {
        let Some(window) = WindowOption::in_options(options)? else {
            return Ok(None);
        };
        let seed = options.next_value("SEED")?;
        Ok(Some(Self { window, seed }))
    }

    /// The option without a seed.
    pub fn without_seed(window: WindowOption<'a>) -> Self {
        Self { window, seed: None }
    }

    /// The number of arguments.
    #[must_use]
    pub fn num_arguments(&self) -> usize {
        let of_seed = if self.seed.is_some() { 2 } else { 0 };
        self.window.num_arguments() + of_seed
    }

    /// The window of a key of type `T` and its seed. Must be called when the arguments before the option were checked.
    ///
    /// # Errors
    /// If a value is invalid.
    pub fn parse<T: Timed>(self) -> Result<FilterWindow, Error> {
        let window = self.window.window::<T>()?;
        let seed = self.seed.map(|hex| parse_seed(hex.bytes()));
        let seed = seed.transpose()?;
        Ok(FilterWindow { window, seed })
    }
}

fn parse_seed(hex: &[u8]) -> Result<Seed, Error> {
    const INVALID: &CStr = c"ERR SEED must be 32 hexadecimal digits";
    let (digits, []) = hex.as_chunks::<2>() else {
        return Err(INVALID.into());
    };
    let mut seed = Seed::default();
    if digits.len() != seed.0.len() {
        return Err(INVALID.into());
    }
    for (byte, digits) in seed.0.iter_mut().zip(digits) {
        let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
        let value = high.zip(low).map(|(high, low)| high * 16 + low);
        *byte = value.ok_or(INVALID)? as u8;
    }
    Ok(seed)
}

/// The window of a new filter.
#[derive(Debug, Clone, Copy)]
pub struct FilterWindow {
    /// Length and panes.
    pub window: Window,
    /// The seed; `None` if the server draws it.
    seed: Option<Seed>,
}

impl FilterWindow {
    /// The specified seed, or random bytes from the server.
    pub fn seed(&self, call: &Call<'_>) -> Seed {
        self.seed.unwrap_or_else(|| Seed(call.random_bytes()))
    }
}

/// The arguments of the option, for the replicated form of a creation.
#[derive(Debug)]
pub struct FilterWindowArguments {
    window: WindowArguments,
    seed: String,
}

impl FilterWindowArguments {
    /// The arguments for this window and seed.
    #[must_use]
    pub fn of(window: Window, seed: Seed) -> Self {
        let digits = seed.0.iter().map(|byte| format!("{byte:02x}"));
        Self {
            window: WindowArguments::of(window),
            seed: digits.collect(),
        }
    }

    /// The arguments in order.
    pub fn as_bytes(&self) -> impl Iterator<Item = &[u8]> {
        let seed = [&b"SEED"[..], self.seed.as_bytes()];
        self.window.as_bytes().into_iter().chain(seed)
    }
}
