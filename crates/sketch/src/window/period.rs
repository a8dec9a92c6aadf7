//! Reads of a period that can lie in the past, as a whole or in rows of equal steps.

use super::{Panes, Timeline, UnitRange};

/// Why a period cannot be read, with the text that a command replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeriodError {
    /// It ends before it begins, or before the window begins.
    #[error("a period needs a start that is before its end")]
    Empty,
    /// The longest of its panes, in milliseconds, is longer.
    #[error("the panes of this period are {0} milliseconds long, read at least as much")]
    ShorterThanPanes(u64),
}

/// A period in milliseconds since the Unix epoch, and the time at which it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    from: u64,
    to: u64,
    now: u64,
}

impl Period {
    /// From `from` to the millisecond before `to`. If `to` is after `now`, the period ends now.
    ///
    /// # Errors
    /// [`PeriodError::Empty`] if it then ends before it begins.
    pub fn new(from: u64, to: u64, now: u64) -> Result<Self, PeriodError> {
        let to = to.min(now);
        let period = (from < to).then_some(Self { from, to, now });
        period.ok_or(PeriodError::Empty)
    }

    /// Whether it ends before the time at which it is read.
    fn is_past(self) -> bool {
        self.to < self.now
    }
}

/// The panes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The panes that begin in it.
    pub panes: Panes,
    /// The start of the first in milliseconds since the Unix epoch.
    pub start_ms: u64,
    /// The milliseconds from there to the end of the last. With the newest pane, to the end of the step or of the period if that
    /// is later, but at most to the time of the read: nothing was added after the pane.
    pub covered_ms: u64,
}

impl Timeline {
    /// The live panes that overlap a period. A period that begins before the window begins with it. Whatever was added in the period
    /// counts; at either end, whatever is in the same pane counts, too. If the period ends at the time of the read, the panes are
    /// those of [`Timeline::panes_within`].
    ///
    /// # Errors
    /// [`PeriodError::Empty`] if the window begins at the end of the period or later, [`PeriodError::ShorterThanPanes`].
    pub fn panes_of(&self, period: Period) -> Result<Panes, PeriodError> {
        let Period { from, to, now } = period;
        let window = self.window();
        let begin = from.max(window.start_of(self.panes_at(now).oldest()));
        let from = if period.is_past() { begin } else { from };
        refuse_if!(from >= to => PeriodError::Empty);
        // Where there is no pane, a unit is one. Younger panes are not longer.
        let pane_of = |ms| {
            let first = window.pane_at(ms);
            let end = first + 1;
            self.pane_of(first).unwrap_or(UnitRange { first, end })
        };
        let first = pane_of(begin);
        let longest_ms = (first.end - first.first) * window.pane_ms();
        refuse_if!(to - from < longest_ms => PeriodError::ShorterThanPanes(longest_ms));
        Ok(match period.is_past() {
            true => Panes::part(first.first, Some(pane_of(to - 1).end)),
            false => self.panes_within(now, to - from),
        })
    }

    /// The live panes that begin in a period, or before it in the same step, by steps of `step_ms` milliseconds that begin at
    /// multiples of `step_ms`. Each pane is in one row. A step in which no pane begins has none. A row with all live panes is
    /// that of [`Timeline::panes_at`].
    ///
    /// # Errors
    /// Those of [`Timeline::panes_of`].
    pub fn rows(
        &self,
        period: Period,
        step_ms: u64,
    ) -> Result<impl Iterator<Item = Row> + Clone + use<>, PeriodError> {
        let end = self.panes_of(period)?.end();
        let (timeline, window, live) = (*self, self.window(), self.panes_at(period.now));
        let now = period.now.max(window.start_of(self.newest()));
        let step = move |pane: &UnitRange| window.start_of(pane.first) / step_ms;
        let is_in_period = move |pane: &UnitRange| {
            live.contains(pane.first) && pane.first < end && step(pane) >= period.from / step_ms
        };
        let mut panes = self.panes().filter(is_in_period).peekable();
        Ok(std::iter::from_fn(move || {
            let first = panes.next()?;
            let others = std::iter::from_fn(|| panes.next_if(|next| step(next) == step(&first)));
            let last = others.last().unwrap_or(first);
            let (start_ms, end_ms) = (window.start_of(first.first), window.start_of(last.end));
            let end = Some(last.end).filter(|&end| end <= timeline.newest());
            let end_of_step = (step(&first) + 1) * step_ms;
            Some(Row {
                panes: match end {
                    None if first.first == live.oldest() => live,
                    end => Panes::part(first.first, end),
                },
                start_ms,
                covered_ms: match end {
                    None => end_ms.max(end_of_step.min(period.to)).min(now),
                    Some(_) => end_ms,
                } - start_ms,
            })
        }))
    }
}
