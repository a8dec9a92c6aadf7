//! The creation of a key. A command decides once what the new key is; the description is then built, replicated and stored.

use crate::family::window_option::NewWindow;
use crate::server::call::{Call, Error};
use crate::server::data_type::NewValue;
use crate::server::key::{Entry, Found, OneOf, WriteKey};
use crate::server::replicated::ReplicatedCommand;
use roughly_sketch::seed::Seed;
use std::ffi::CStr;
use std::ptr;

/// A new key: all that options, settings, the dialect, the sender and random bytes decide.
pub trait NewKey {
    /// The types of the family.
    type Types: OneOf;

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
pub fn create<N: NewKey>(
    call: &mut Call<'_>,
    key: WriteKey,
    new: &N,
) -> Result<Entry<N::Types>, Error> {
    let value = new.build(call)?;
    let of = N::Types::find(|of| ptr::eq(of, value.registration()));
    let mut entry = Entry::new(call, key, of.expect("a type of the family"), value)?;
    new.replicate(call);
    entry.begin_write(call);
    Ok(entry)
}

/// The value that was found. If the key is missing, creates what `new` decides.
///
/// # Errors
/// Those of `new` and of [`create`].
#[inline(always)]
pub fn entry_of<N: NewKey>(
    call: &mut Call<'_>,
    found: Found<N::Types>,
    new: impl FnOnce(&Call<'_>) -> Result<N, Error>,
) -> Result<Entry<N::Types>, Error> {
    match found {
        Found::Entry(entry) => Ok(entry),
        Found::Missing(key) => create_with(call, key, new),
    }
}

/// As [`create`], for the key that `new` decides.
///
/// # Errors
/// As [`entry_of`].
#[cold]
pub fn create_with<N: NewKey>(
    call: &mut Call<'_>,
    key: WriteKey,
    new: impl FnOnce(&Call<'_>) -> Result<N, Error>,
) -> Result<Entry<N::Types>, Error> {
    let new = new(call)?;
    create(call, key, &new)
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

/// Replicates a creation verbatim, or, with a window, the command with its first `len` arguments and the arguments of the window.
pub fn replicate_with_window(
    call: &mut Call<'_>,
    command: &ReplicatedCommand,
    len: usize,
    window: Option<(NewWindow, Option<Seed>)>,
) {
    let Some((window, seed)) = window else {
        return call.replicate_verbatim();
    };
    let mut replicated = command.with(call.arguments(1..len));
    window.add_to(&mut replicated, seed);
    replicated.replicate(call);
}
