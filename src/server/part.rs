//! Which panes of a window a command reads: all, or those of SKETCH.WITHIN, SKETCH.BETWEEN or SKETCH.SERIES.

use super::call::{Call, Error};
use roughly_sketch::memory::{OutOfMemory, with_capacity};
use roughly_sketch::window::{Panes, Period, PeriodError, Timeline};
use std::ffi::{CStr, CString};

/// Not enough memory for the rows of a series.
const NO_MEMORY: &CStr = c"ERR Insufficient memory";

/// The commands that run a command on a part of the window. Each runs what the ones after it run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parts {
    /// None.
    None,
    /// SKETCH.WITHIN.
    Within,
    /// SKETCH.BETWEEN.
    Between,
    /// SKETCH.SERIES.
    Series,
}

impl Parts {
    /// The three commands.
    pub const ALL: [Self; 3] = [Self::Within, Self::Between, Self::Series];

    /// The last part of the command's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Within => "within",
            Self::Between => "between",
            Self::Series => "series",
        }
    }

    /// The name of the command.
    #[must_use]
    pub fn command(self) -> String {
        format!("SKETCH.{}", self.name().to_uppercase())
    }

    /// The error for a period that this command cannot read.
    #[cold]
    #[must_use]
    pub fn error(self, error: PeriodError) -> Error {
        let text = match error {
            PeriodError::Empty => format!("ERR {} needs a period: from before to", self.command()),
            error @ PeriodError::ShorterThanPanes(_) => format!("ERR {error}"),
        };
        Error::Formatted(CString::new(text).unwrap_or_default())
    }
}

/// What a command reads of a window.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// All of it.
    Whole,
    /// The last milliseconds, at least 1.
    Within(u64),
    /// The panes of a period.
    Between(Period),
    /// The panes of a period, in rows.
    Series(Series),
}

/// A period that is read in rows.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    /// The period.
    pub period: Period,
    /// The length of a step in milliseconds, at least 1.
    pub step_ms: u64,
}

impl Part {
    /// Whether it is the whole window.
    #[inline]
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Whole)
    }

    /// The command that reads such a part.
    #[must_use]
    pub fn kind(self) -> Parts {
        match self {
            Self::Whole => Parts::None,
            Self::Within(_) => Parts::Within,
            Self::Between(_) => Parts::Between,
            Self::Series(_) => Parts::Series,
        }
    }

    /// The time of the read, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn unix_ms(self, call: &Call<'_>) -> u64 {
        match self {
            Self::Between(period) | Self::Series(Series { period, .. }) => period.now(),
            Self::Whole | Self::Within(_) => call.unix_ms(),
        }
    }
}

impl Series {
    /// Replies with a row for each step: `read` reads its panes, and `reply` writes the reply about them. All rows are read before the
    /// first is written, because an error is the reply of the command.
    ///
    /// # Errors
    /// If the period cannot be read, or memory is refused; then nothing is written.
    pub fn reply<'a, R>(
        self,
        call: &mut Call<'a>,
        timeline: &Timeline,
        mut read: impl FnMut(Panes) -> Result<R, OutOfMemory>,
        mut reply: impl FnMut(&mut Call<'a>, R),
    ) -> Result<(), Error> {
        let rows = timeline.rows(self.period, self.step_ms);
        let rows = rows.map_err(|error| Parts::Series.error(error))?;
        let mut answers = with_capacity(rows.clone().count()).map_err(|_| NO_MEMORY)?;
        for row in rows.clone() {
            answers.push(read(row.panes).map_err(|_| NO_MEMORY)?);
        }
        call.reply_array(answers.len());
        for (row, answer) in rows.zip(answers) {
            call.reply_array(3);
            call.reply_count(row.start);
            call.reply_count(row.covered_ms);
            reply(call, answer);
        }
        Ok(())
    }
}

impl Call<'_> {
    /// The panes of the window that count for a read of a value with this timeline.
    #[inline(always)]
    #[must_use]
    pub fn panes(&self, timeline: Option<&Timeline>) -> Panes {
        timeline.map_or(Panes::ALL, |timeline| timeline.panes_at(self.unix_ms()))
    }

    /// The panes of a part of the window. Those of a series are in its rows, see [`Series::reply`].
    ///
    /// # Errors
    /// For a part, if the value has no window, or the part is shorter than its panes.
    #[inline(always)]
    pub fn panes_of(&self, part: Part, timeline: Option<&Timeline>) -> Result<Panes, Error> {
        match part {
            Part::Whole => Ok(self.panes(timeline)),
            part => self.panes_of_part(part, timeline),
        }
    }

    #[inline(never)]
    fn panes_of_part(&self, part: Part, timeline: Option<&Timeline>) -> Result<Panes, Error> {
        let timeline = timeline.ok_or(c"ERR the key has no window")?;
        match part {
            Part::Whole => Ok(Panes::ALL),
            Part::Within(ms) => {
                // Parts within the newest pane cannot be told apart: the reply would cover a longer time, without a sign.
                let pane_ms = timeline.window().pane_ms();
                if ms < pane_ms {
                    return Err(shorter_than_pane(pane_ms));
                }
                Ok(timeline.panes_within(self.unix_ms(), ms))
            }
            Part::Between(period) | Part::Series(Series { period, .. }) => {
                let panes = timeline.panes_of(period);
                panes.map_err(|error| part.kind().error(error))
            }
        }
    }
}

#[cold]
fn shorter_than_pane(pane_ms: u64) -> Error {
    let text =
        format!("ERR WITHIN must be at least the pane length of the key, {pane_ms} milliseconds");
    Error::Formatted(CString::new(text).unwrap_or_default())
}
