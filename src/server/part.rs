//! Which panes of a window a command reads: all, or those of SKETCH.WITHIN, SKETCH.BETWEEN or SKETCH.SERIES.

use super::error::Error;
use roughly_sketch::window::{Period, PeriodError};

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

    /// The name of the command after `SKETCH.`, in upper case.
    pub fn name(self) -> &'static str {
        ["", "WITHIN", "BETWEEN", "SERIES"][self as usize]
    }

    /// The error for a period that this command cannot read.
    #[cold]
    pub fn error(self, error: PeriodError) -> Error {
        let name = self.name();
        Error::formatted(match error {
            PeriodError::Empty => format!("ERR SKETCH.{name} needs a period: from before to"),
            PeriodError::ShorterThanPanes(_) => format!("ERR {error}"),
        })
    }
}

/// What a command reads of a window.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// All of it.
    Whole,
    /// The last milliseconds, at least 1.
    Within(u64),
    /// The panes of a period.
    Between(&'a Period),
    /// The panes of a period, in rows.
    Series(&'a Series),
}

/// A period that is read in rows, and the length of a step in milliseconds, at least 1.
#[derive(Debug, Clone, Copy)]
pub struct Series(pub Period, pub u64);

impl Part<'_> {
    /// The command that reads such a part.
    pub fn kind(self) -> Parts {
        match self {
            Self::Whole => Parts::None,
            Self::Within(_) => Parts::Within,
            Self::Between(_) => Parts::Between,
            Self::Series(_) => Parts::Series,
        }
    }
}
