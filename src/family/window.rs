//! The option `WINDOW ms [PANES n]` of the commands that create a key (docs/sliding-windows.md).

use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::options::{MissingValue, Options};
use roughly_sketch::window::{Timed, Window, WindowError};
use std::ffi::{CStr, CString};

const BAD_LENGTH: &CStr = c"ERR WINDOW must be between 1 and 315360000000 milliseconds";

/// The error for a number of panes of a sketch with at most so many.
fn bad_panes(max: u64) -> Error {
    let text = format!("ERR PANES must be between 1 and {max}, and at most WINDOW");
    Error::Formatted(CString::new(text).unwrap_or_default())
}

/// The numbers of an option `WINDOW ms [PANES n]`.
#[derive(Debug, Clone, Copy)]
pub struct WindowOption<'a> {
    ms: Argument<'a>,
    panes: Option<Argument<'a>>,
}

impl<'a> WindowOption<'a> {
    /// The number of arguments before the option, which ends the command if it is specified, and the option. It can begin
    /// after one of these numbers of arguments.
    ///
    /// # Errors
    /// [`Error::WrongArity`] if a number is missing, `ERR syntax error` if a keyword is.
    pub fn at_end(call: &Call<'a>, lens: &[usize]) -> Result<(usize, Option<Self>), Error> {
        let is_start = |&len: &usize| len < call.len() && call.arg(len).is("WINDOW");
        let Some(len) = lens.iter().copied().find(is_start) else {
            return Ok((call.len(), None));
        };
        let panes = match call.len() - len {
            2 => None,
            4 if call.arg(len + 2).is("PANES") => Some(call.arg(len + 3)),
            4 => return Err(c"ERR syntax error".into()),
            _ => return Err(Error::WrongArity),
        };
        let ms = call.arg(len + 1);
        Ok((len, Some(Self { ms, panes })))
    }

    /// The option at this argument, `None` if another argument is there.
    ///
    /// # Errors
    /// [`Error::WrongArity`] if a number is missing.
    pub fn at(call: &Call<'a>, index: usize) -> Result<Option<Self>, Error> {
        let value_of = |keyword, index: usize| {
            if index >= call.len() || !call.arg(index).is(keyword) {
                return Ok(None);
            }
            let mut values = call.args_from(index + 1);
            values.next().map(Some).ok_or(Error::WrongArity)
        };
        let Some(ms) = value_of("WINDOW", index)? else {
            return Ok(None);
        };
        let panes = value_of("PANES", index + 2)?;
        Ok(Some(Self { ms, panes }))
    }

    /// The option among options at any position. Without `WINDOW`, `PANES` is no option.
    ///
    /// # Errors
    /// [`MissingValue`] if a number is missing.
    pub fn in_options(options: &mut Options<'_, 'a>) -> Result<Option<Self>, MissingValue> {
        let Some(ms) = options.value("WINDOW")? else {
            return Ok(None);
        };
        let panes = options.value("PANES")?;
        Ok(Some(Self { ms, panes }))
    }

    /// The number of arguments.
    #[must_use]
    pub fn num_arguments(&self) -> usize {
        match self.panes {
            None => 2,
            Some(_) => 4,
        }
    }

    /// The window of a key of type `T`. Must be called when the arguments before the option were checked.
    ///
    /// # Errors
    /// If a number is out of range.
    pub fn window<T: Timed>(self) -> Result<Window, Error> {
        // An invalid number becomes 0, which is out of range.
        let number = |argument: Argument<'_>| {
            let number = argument.integer();
            number.map_or(0, |number| u64::try_from(number).unwrap_or(0))
        };
        let ms = number(self.ms);
        let panes = self.panes.map_or(Window::DEFAULT_PANES.min(ms), number);
        Window::of::<T>(ms, panes).map_err(|error| match error {
            WindowError::InvalidLength => BAD_LENGTH.into(),
            WindowError::InvalidPanes => bad_panes(T::MAX_PANES),
        })
    }

    /// The window of a new key of type `T`. Must be called when all other arguments were checked.
    ///
    /// # Errors
    /// Those of [`WindowOption::window`] and [`check_allowed`].
    pub fn window_of_new<T: Timed>(self, call: &Call<'_>) -> Result<Window, Error> {
        let window = self.window::<T>()?;
        check_allowed(call)?;
        Ok(window)
    }
}

/// The arguments of the option for a window, for the replicated form of a creation.
#[derive(Debug)]
pub struct WindowArguments([String; 2]);

impl WindowArguments {
    /// The arguments for this window.
    #[must_use]
    pub fn of(window: Window) -> Self {
        Self([window.ms(), window.panes()].map(|number| number.to_string()))
    }

    /// The arguments in order.
    #[must_use]
    pub fn as_bytes(&self) -> [&[u8]; 4] {
        let [ms, panes] = self.0.each_ref().map(String::as_bytes);
        [b"WINDOW", ms, b"PANES", panes]
    }
}

/// Replicates a creation whose arguments before the option, which is at argument `option`, are replicated as they are.
pub fn replicate_creation(call: &mut Call<'_>, name: &CStr, option: usize, window: Window) {
    let window = WindowArguments::of(window);
    let before = call.args_from(1).take(option - 1).map(Argument::bytes);
    let arguments: Vec<_> = before.chain(window.as_bytes()).collect();
    call.replicate(name, &arguments);
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

/// Checks that the command may create a sketch with a window.
///
/// # Errors
/// If `sketch-windows` disables windows.
pub fn check_allowed(call: &Call<'_>) -> Result<(), Error> {
    if call.allows_windows() {
        return Ok(());
    }
    Err(c"ERR sketches with a window are disabled (sketch-windows)".into())
}
