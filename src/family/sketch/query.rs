//! SKETCH.WINDOW, SKETCH.ACCURACY and SKETCH.WITHIN.

use crate::MODULE;
use crate::server::call::{Call, Error};
use crate::server::command::{Command, Denied};
use crate::server::load::Family;
use crate::server::stats;
use roughly_sketch::accuracy::Figure;
use roughly_sketch::window::Window;
use std::ffi::{CStr, CString};
use std::sync::LazyLock;

pub const NO_KEY: &CStr = c"ERR no such key";
/// Not enough memory for a reply.
const NO_MEMORY: &CStr = c"ERR Insufficient memory";

/// SKETCH.WINDOW key
pub fn window(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let value = key.value(MODULE.data_types()).or_missing(NO_KEY)?;
    let panes = call.panes(value.timeline())?;
    let Some(timeline) = value.timeline() else {
        call.reply_null();
        return Ok(());
    };
    let (window, unix_ms) = (timeline.window(), call.unix_ms());
    let ranges = timeline.counted_panes(panes).map_err(|_| NO_MEMORY)?;
    call.reply_map(7);
    for (name, value) in [
        (c"window", window.ms()),
        (c"panes", window.panes()),
        (c"pane length", window.pane_ms()),
        (c"newest pane", window.start_of(timeline.newest())),
        (c"covered", timeline.covered_ms(unix_ms, panes)),
    ] {
        call.reply_simple(name);
        call.reply_count(value);
    }
    call.reply_simple(c"items per pane");
    call.reply_array(ranges.len());
    for range in &ranges {
        call.reply_count(value.pane_total(range.first));
    }
    call.reply_simple(c"pane starts");
    call.reply_array(ranges.len());
    for range in ranges {
        call.reply_count(window.start_of(range.first));
    }
    Ok(())
}

/// SKETCH.ACCURACY key
pub fn accuracy(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let value = key.value(MODULE.data_types()).or_missing(NO_KEY)?;
    let panes = call.panes(value.timeline())?;
    let fields = value.accuracy(panes).map_err(|_| NO_MEMORY)?;
    call.reply_map(fields.len());
    for (name, figure) in fields {
        call.reply_simple(name);
        match figure {
            Figure::Ratio(ratio) => call.reply_double(ratio),
            Figure::Count(count) => call.reply_count(count),
        }
    }
    Ok(())
}

/// A command that reads a part of the window.
struct Read {
    name: &'static [u8],
    command: &'static Command,
    /// The number of its family, for INFO.
    family: usize,
}

/// All of them. Fewer than the commands of the module, because each call looks its command up.
static READS: LazyLock<Vec<Read>> = LazyLock::new(|| {
    let commands = |(family, each): (usize, &'static Family)| {
        let reads = each.commands.iter().filter(|command| command.within);
        reads.map(move |command| Read {
            name: command.name.to_bytes(),
            command,
            family,
        })
    };
    (MODULE.families.iter().enumerate())
        .flat_map(commands)
        .collect()
});

/// SKETCH.WITHIN ms command key [argument …]
pub fn within(call: &mut Call<'_>) -> Result<(), Error> {
    let ms = call.arg(1).integer();
    let ms = ms.and_then(|ms| u64::try_from(ms).ok());
    let ms = ms.filter(|ms| (1..=Window::MAX_MS).contains(ms));
    let ms = ms.ok_or(c"ERR WITHIN must be between 1 and 315360000000 milliseconds")?;
    let name = call.arg(2).bytes();
    let read = find(name).ok_or_else(|| cannot_run(name))?;
    let command = read.command;
    let arguments = call.arguments(2..call.len());
    let permission = call.user().check_permission(command.name, arguments);
    permission.map_err(|denied| match denied {
        Denied::UnknownCommand => cannot_run(name),
        Denied::WrongArity => command.wrong_arity(),
        Denied::Permission(error) => error,
    })?;
    call.narrow(2, ms);
    let allowed = command.allows_arguments(call.len());
    let result = match (allowed, command.handler.run) {
        (true, Some(run)) => {
            stats::count_within(read.family);
            run(call)
        }
        _ => Err(Error::WrongArity),
    };
    result.map_err(|error| match error {
        // The server's text has the name of the running command.
        Error::WrongArity => command.wrong_arity(),
        error => error,
    })
}

/// The command with this name, in upper or lower case, if its family is loaded.
fn find(name: &[u8]) -> Option<&'static Read> {
    // The longest name has 20 bytes. All bytes of the array are converted at once, and not one by one.
    let mut lower = [0; 32];
    let lower_name = lower.get_mut(..name.len())?;
    lower_name.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let lower_name = &lower[..name.len()];
    let read = READS.iter().find(|read| read.name == lower_name)?;
    MODULE.has_family(read.family).then_some(read)
}

/// Maximum number of bytes of a command's name in an error.
const MAX_SHOWN_BYTES: usize = 64;

fn cannot_run(name: &[u8]) -> Error {
    let shown = name.get(..MAX_SHOWN_BYTES).unwrap_or(name);
    let shown = shown.iter().map(|&byte| match byte {
        // Would end the text, or begin another reply.
        0 | b'\r' | b'\n' => b' ',
        byte => byte,
    });
    let text = b"ERR SKETCH.WITHIN cannot run '".iter().copied();
    let text: Vec<u8> = text.chain(shown).chain(*b"'").collect();
    Error::Formatted(CString::new(text).unwrap_or_default())
}
