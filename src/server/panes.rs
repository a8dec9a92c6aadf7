//! The panes that a command reads, and the rows of a series.

use super::call::{Call, Error};
use super::part::{Part, Parts, Series};
use roughly_sketch::memory::{OutOfMemory, with_capacity};
use roughly_sketch::window::{Panes, Timeline};
use std::ffi::CStr;

const NO_WINDOW: &CStr = c"ERR the key has no window";
/// The values of all rows of a series, about: each argument counts as one. Without a limit, a command of a few MB would have a reply of
/// gigabytes.
const MAX_SERIES_VALUES: usize = 1_000_000;
const TOO_MANY_VALUES: &CStr =
    c"ERR the rows would hold more than 1000000 values, use longer steps or a shorter period";
/// Not enough memory for a reply.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory";

impl Series {
    /// Replies with a row for each step: `read` reads its panes, and `reply` writes the reply about them. All rows are read before the
    /// first is written, because an error is the reply of the command.
    ///
    /// # Errors
    /// If the period cannot be read, the rows would hold more than a million values, or memory is refused; then nothing is written.
    pub fn reply<'a, R>(
        self,
        call: &mut Call<'a>,
        timeline: &Timeline,
        mut read: impl FnMut(Panes) -> Result<R, OutOfMemory>,
        mut reply: impl FnMut(&mut Call<'a>, R),
    ) -> Result<(), Error> {
        let rows = timeline.rows(self.0, self.1);
        let rows = rows.map_err(|error| Parts::Series.error(error))?;
        let len = rows.clone().count();
        if len.saturating_mul(call.len()) > MAX_SERIES_VALUES {
            return Err(TOO_MANY_VALUES.into());
        }
        let mut answers = with_capacity(len).map_err(|_| NO_MEMORY)?;
        for row in rows.clone() {
            answers.push(read(row.panes).map_err(|_| NO_MEMORY)?);
        }
        call.reply_array(answers.len());
        for (row, answer) in rows.zip(answers) {
            call.reply_array(3);
            call.reply_count(row.start_ms);
            call.reply_count(row.covered_ms);
            reply(call, answer);
        }
        Ok(())
    }
}

/// The panes that count for a read of a part of the window of a value with this timeline. Those of a series are in its rows, see
/// [`Series::reply`].
///
/// # Errors
/// For a part, if the value has no window, or the part is shorter than its panes.
#[inline(always)]
pub fn panes(call: &Call<'_>, part: Part<'_>, timeline: Option<&Timeline>) -> Result<Panes, Error> {
    match (part, timeline) {
        (Part::Whole, None) => Ok(Panes::ALL),
        (Part::Whole, Some(timeline)) => Ok(timeline.panes_at(call.unix_ms())),
        (part, timeline) => panes_of(call, part, timeline.ok_or(NO_WINDOW)?),
    }
}

#[inline(never)]
fn panes_of(call: &Call<'_>, part: Part<'_>, timeline: &Timeline) -> Result<Panes, Error> {
    let pane_ms = timeline.window().pane_ms();
    match part {
        Part::Whole => Ok(timeline.panes_at(call.unix_ms())),
        // Parts within the newest pane cannot be told apart: the reply would cover a longer time, without a sign.
        Part::Within(ms) if ms < pane_ms => Err(Error::formatted(format_args!(
            "ERR WITHIN must be at least the pane length of the key, {pane_ms} milliseconds"
        ))),
        Part::Within(ms) => Ok(timeline.panes_within(call.unix_ms(), ms)),
        Part::Between(&period) | Part::Series(&Series(period, _)) => {
            let panes = timeline.panes_of(period);
            panes.map_err(|error| part.kind().error(error))
        }
    }
}
