//! The option `WINDOW ms [PANES n]` of the commands that create a key (spec: window.md, "Creation").

use crate::server::call::{Call, Error};
use crate::server::datatype::DataType;
use crate::server::key::Entry;
use roughly_sketch::window::{Window, WindowError};

/// The end of a command that creates a key: `[WINDOW ms [PANES n]]`.
#[derive(Debug, Clone, Copy)]
pub struct WindowOption {
    /// The number of arguments before the option.
    pub len: usize,
    /// The arguments of the numbers.
    ms: usize,
    panes: Option<usize>,
}

impl WindowOption {
    /// The option at the end of the command, if it begins after one of these numbers of arguments.
    ///
    /// # Errors
    /// [`Error::WrongArity`] if a number is missing, `ERR syntax error` if a keyword is.
    pub fn at_end(call: &Call<'_>, lens: &[usize]) -> Result<Option<Self>, Error> {
        let is_start = |&len: &usize| len < call.len() && call.arg(len).is("WINDOW");
        let Some(len) = lens.iter().copied().find(is_start) else {
            return Ok(None);
        };
        let panes = match call.len() - len {
            2 => None,
            4 if call.arg(len + 2).is("PANES") => Some(len + 3),
            4 => return Err(c"ERR syntax error".into()),
            _ => return Err(Error::WrongArity),
        };
        Ok(Some(Self {
            len,
            ms: len + 1,
            panes,
        }))
    }

    /// The window. Must be called when all other arguments were checked.
    ///
    /// # Errors
    /// If a number is out of range, or `sketch-windows` disables windows.
    pub fn window(self, call: &Call<'_>) -> Result<Window, Error> {
        const BAD_PANES: &std::ffi::CStr =
            c"ERR PANES must be between 1 and 1000, and at most WINDOW";
        // An invalid number becomes 0, which is out of range.
        let number = |argument| {
            let number = call.arg(argument).integer();
            number.map_or(0, |number| u64::try_from(number).unwrap_or(0))
        };
        let ms = number(self.ms);
        let panes = self.panes.map_or(Window::DEFAULT_PANES.min(ms), number);
        let window = Window::new(ms, panes).map_err(|error| match error {
            WindowError::InvalidLength => {
                c"ERR WINDOW must be between 1 and 315360000000 milliseconds"
            }
            WindowError::InvalidPanes => BAD_PANES,
        })?;
        if !call.allows_windows() {
            return Err(c"ERR sketches with a window are disabled (sketch-windows)".into());
        }
        Ok(window)
    }
}

/// Advances a new value to the current pane, and puts it into its key. Must be called after the creation was
/// replicated: the creation makes pane 0 the newest everywhere.
pub fn store_new<T: DataType>(call: &mut Call<'_>, mut entry: Entry<T>) {
    entry.advance(call);
    entry.store();
}
