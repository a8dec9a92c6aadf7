//! The creation of a key. A command decides once what the new key is; the description is then built, replicated and stored.

use crate::family::window_option::replicate_creation;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::data_type::NewValue;
use crate::server::key::{Entry, WriteKey};
use std::ffi::CStr;

/// A new key: all that options, settings, the dialect, the sender and random bytes decide.
pub trait NewKey {
    /// Builds the value.
    ///
    /// # Errors
    /// Those of the structure, as the family replies them.
    fn build(&self, call: &Call<'_>) -> Result<NewValue, Error>;

    /// Replicates the creation with all parameters, because the settings of replicas may differ.
    fn replicate(&self, call: &mut Call<'_>);
}

/// The entry of a missing key with its new value. The creation is replicated; a value with a window is then advanced to the
/// current pane. The caller stores the entry.
///
/// # Errors
/// Those of [`NewKey::build`], and [`Error::KeyTooLarge`].
#[cold]
pub fn create(call: &mut Call<'_>, key: WriteKey, new: &impl NewKey) -> Result<Entry, Error> {
    let mut entry = key.create_boxed(call, new.build(call)?)?;
    new.replicate(call);
    entry.advance(call);
    Ok(entry)
}

/// Creates and stores the value of a missing key, and replies OK.
///
/// # Errors
/// Those of [`create`].
pub fn create_and_store(
    call: &mut Call<'_>,
    key: WriteKey,
    new: &impl NewKey,
    event: &CStr,
) -> Result<(), Error> {
    create(call, key, new)?.store();
    call.signal_changed(1, event);
    call.reply_ok();
    Ok(())
}

/// Replicates a creation verbatim, or, with a window, the command with its first `len` arguments and the words of the window.
pub fn replicate_with_window(
    call: &mut Call<'_>,
    name: &CStr,
    len: usize,
    words: Option<Vec<String>>,
) {
    let Some(words) = words else {
        return call.replicate_verbatim();
    };
    let before: Vec<_> = (call.args_from(1).take(len - 1))
        .map(Argument::bytes)
        .collect();
    replicate_creation(call, name, &before, &words);
}
