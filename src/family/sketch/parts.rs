//! SKETCH.WITHIN, SKETCH.BETWEEN and SKETCH.SERIES.

use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::{Command, Denied, User};
use crate::server::key::ReadKey;
use crate::server::load::{Family, module};
use crate::server::part::{Part, Parts, Series};
use crate::server::stats;
use roughly_sketch::window::{Period, PeriodError, Window};
use std::ffi::{CStr, CString};
use std::sync::LazyLock;

/// The error of SKETCH.BETWEEN and SKETCH.SERIES for filters, whose slots have the pane of the last addition only.
pub const LAST_ADDITION: &CStr =
    c"ERR a filter stores only the last addition of an item: SKETCH.WITHIN and SKETCH.AGE read it";

/// The error of the SKETCH commands for a missing key.
pub const NO_KEY: &CStr = c"ERR no such key";

/// The commands that read a part of the window: name, command, and the number of its family for INFO. Fewer than the commands of the
/// module, because each call looks its command up.
static READS: LazyLock<Vec<(&[u8], &Command, usize)>> = LazyLock::new(|| {
    let families = module().families.iter().enumerate();
    let commands = families.flat_map(|(number, family): (usize, &'static Family)| {
        let reads = |command: &&Command| command.handler.parts > Parts::None;
        let commands = family.commands.iter().filter(reads);
        commands.map(move |command| (command.name.to_bytes(), command, number))
    });
    commands.collect()
});

/// SKETCH.WITHIN ms command key [argument …]
pub fn within(call: &mut Call<'_>) -> Result<(), Error> {
    let ms = milliseconds(call.arg(1));
    let ms = ms.ok_or(c"ERR WITHIN must be between 1 and 315360000000 milliseconds")?;
    run(call, 2, Part::Within(ms))
}

/// SKETCH.BETWEEN from to command key [argument …]
pub fn between(call: &mut Call<'_>) -> Result<(), Error> {
    let period = period(call, Parts::Between)?;
    run(call, 3, Part::Between(&period))
}

/// SKETCH.SERIES from to step command key [argument …]
pub fn series(call: &mut Call<'_>) -> Result<(), Error> {
    let period = period(call, Parts::Series)?;
    let step_ms = milliseconds(call.arg(3));
    let step_ms = step_ms.ok_or(c"ERR step must be between 1 and 315360000000 milliseconds")?;
    run(call, 4, Part::Series(&Series(period, step_ms)))
}

/// A number of milliseconds, from 1 to the length of the longest window.
fn milliseconds(argument: Argument<'_>) -> Option<u64> {
    let ms = argument.integer().and_then(|ms| u64::try_from(ms).ok());
    ms.filter(|ms| (1..=Window::MAX_MS).contains(ms))
}

/// The period of the arguments 1 and 2.
fn period(call: &Call<'_>, of: Parts) -> Result<Period, Error> {
    let now = call.unix_ms();
    let time = |argument: Argument<'_>| match argument.bytes() {
        b"-" => Some(0),
        b"+" | b"-0" => Some(now),
        _ => argument
            .integer()
            .map(|ms| u64::try_from(ms).unwrap_or_else(|_| now.saturating_sub(ms.unsigned_abs()))),
    };
    let period = match (time(call.arg(1)), time(call.arg(2))) {
        (Some(from), Some(to)) => Period::new(from, to, now),
        _ => Err(PeriodError::Empty),
    };
    period.map_err(|error| of.error(error))
}

/// Runs the command whose name is the argument at `first` on a part of the window.
fn run(call: &mut Call<'_>, first: usize, part: Part<'_>) -> Result<(), Error> {
    let (kind, name) = (part.kind(), call.arg(first).bytes());
    let (command, family) = find(name).ok_or_else(|| cannot_run(kind, name))?;
    if command.handler.parts < kind {
        return Err(match command.handler.parts {
            Parts::Within => LAST_ADDITION.into(),
            _ => cannot_run(kind, name),
        });
    }
    let arguments = call.arguments(first..call.len());
    let permission = User::of(call).check_permission(command.name, arguments);
    permission.map_err(|denied| match denied {
        Denied::UnknownCommand => cannot_run(kind, name),
        Denied::WrongArity => command.wrong_arity(),
        Denied::Permission(error) => error,
    })?;
    call.skip_to(first);
    let (true, Some(run)) = (command.allows_arguments(call.len()), command.handler.read) else {
        return Err(command.wrong_arity());
    };
    stats::count_part(kind, family);
    match run(call, part) {
        // The server's text has the name of the running command.
        Err(Error::WrongArity) => Err(command.wrong_arity()),
        Err(error) if kind == Parts::Series && is_missing(call, &error) => {
            call.reply_array(0);
            Ok(())
        }
        result => result,
    }
}

/// Whether the key of a command that failed is missing. The server counts a miss each time that a missing key is opened: once, by the
/// command, or here if it has checked its arguments first.
#[cold]
fn is_missing(call: &Call<'_>, error: &Error) -> bool {
    matches!(error, Error::Text(text) if *text == NO_KEY || text.to_bytes().ends_with(b"key does not exist"))
        || ReadKey::open(call, 1).is_missing()
}

/// The command with this name, in upper or lower case, if its family is loaded.
fn find(name: &[u8]) -> Option<(&'static Command, usize)> {
    let mut reads = READS.iter();
    let &(_, command, family) = reads.find(|(read, ..)| read.eq_ignore_ascii_case(name))?;
    module().has_family(family).then_some((command, family))
}

/// Maximum number of bytes of a command's name in an error.
const MAX_SHOWN_BYTES: usize = 64;

#[cold]
fn cannot_run(kind: Parts, name: &[u8]) -> Error {
    let shown = name.get(..MAX_SHOWN_BYTES).unwrap_or(name);
    let shown = shown.iter().map(|&byte| match byte {
        // Would end the text, or begin another reply.
        0 | b'\r' | b'\n' => b' ',
        byte => byte,
    });
    let text = format!("ERR SKETCH.{} cannot run '", kind.name()).into_bytes();
    let text: Vec<u8> = text.into_iter().chain(shown).chain(*b"'").collect();
    Error::Formatted(CString::new(text).unwrap_or_default())
}
