//! The times of additions: the arguments `at` and `allow_future`.

use crate::arguments::arrow;
use crate::arguments::batch::Batch;
use crate::arguments::items::{for_each_chunk, with_bytes};
use crate::arguments::numbers::{Counts, CountsReader};
use crate::arguments::numpy_array;
use crate::error::Error;
use crate::sketch::lock::Shared;
use crate::sketch::variants::Variants;
use crate::sketch::window::{At, BEFORE_NEWEST, NO_TIME_ZONE, NO_WINDOW, timestamp};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use roughly_sketch::memory::{try_push, with_capacity};
use roughly_sketch::window::{Panes, Timed, Timeline};
use std::ops::Range;

const OTHER_LENGTH: Error = Error::value("items and at have different lengths");

/// The argument `at` of additions.
#[derive(Debug)]
enum Times {
    /// The time of each part of a batch.
    Now,
    All(At),
    Each(Vec<At>),
}

impl Times {
    fn of(at: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(at) = at else {
            return Ok(Self::Now);
        };
        // The time of pandas has `to_numpy`, too.
        if timestamp(at)?.is_some() {
            return Ok(Self::All(at.extract()?));
        }
        if let Some(mut column) = arrow::of(at, "time")? {
            let has_zone = column.has_time_zone();
            if has_zone == Some(false) {
                return Err(NO_TIME_ZONE.into());
            }
            let times = at.py().detach(|| match has_zone {
                Some(_) => each(&column.milliseconds()?, At::of_ms),
                None => each(column.numbers()?.as_slice(), At::of_seconds),
            });
            return Ok(Self::Each(times?));
        }
        let mut times = Vec::new();
        if let Some(array) = numpy_array::of(at, Some("time"))? {
            match array.kind {
                'M' if array.is_column => return Err(NO_TIME_ZONE.into()),
                // From datetime64 of any unit. The value for "not a time" is negative.
                'M' => {
                    let ms: PyReadonlyArray1<'_, i64> = array.milliseconds()?;
                    return Ok(Self::Each(each(ms.as_slice()?, At::of_ms)?));
                }
                'f' | 'i' | 'u' => {
                    let seconds = array.to::<f64>("float64")?;
                    return Ok(Self::Each(each(seconds.as_slice()?, At::of_seconds)?));
                }
                _ => {}
            }
        } else if at.try_iter().is_err() {
            return Ok(Self::All(at.extract()?));
        }
        for time in at.try_iter()? {
            try_push(&mut times, time?.extract()?).map_err(Error::from)?;
            if times.len() % SIGNAL_TIMES == 0 {
                at.py().check_signals()?;
            }
        }
        Ok(Self::Each(times))
    }
}

/// The time of each number.
fn each<T: Copy>(numbers: &[T], time: impl Fn(T) -> Result<At, Error>) -> Result<Vec<At>, Error> {
    let mut times = with_capacity(numbers.len())?;
    for &number in numbers {
        times.push(time(number)?);
    }
    Ok(times)
}

/// The advance that a sketch with a window needs before additions.
#[derive(Debug, Clone, Copy)]
pub struct Advance {
    /// The pane of the additions.
    pub pane: u64,
}

impl Advance {
    /// Advances the sketch.
    #[inline]
    pub fn run<T: Timed>(self, sketch: &mut T) {
        sketch.advance(self.pane);
    }

    /// Advances the sketch, unless `unchanged` has the result of additions that change nothing: then returns it. `unchanged` gets the panes that
    /// are live after the advance. It is not called if the sketch has advanced already.
    #[inline]
    pub fn unless<T: Timed, R>(
        self,
        sketch: &mut T,
        unchanged: impl FnOnce(&T, Panes) -> Option<R>,
    ) -> Option<R> {
        if (sketch.timeline()).is_some_and(|timeline| self.pane > timeline.newest()) {
            let result = unchanged(sketch, sketch.panes_in(self.pane));
            if result.is_some() {
                return result;
            }
            sketch.advance(self.pane);
        }
        None
    }
}

/// Times of an iterable between two checks for signals.
const SIGNAL_TIMES: usize = 4096;

/// The times of additions to a sketch. Sketches without a window take none.
#[derive(Debug)]
pub struct Additions {
    times: Times,
    /// Items that were added.
    added: usize,
}

impl Additions {
    /// Times from the argument `at`: none, one, or an array with one for each item.
    ///
    /// # Errors
    /// A time that is out of range, in a pane before the newest one or that of the item before or, without `allow_future`, ahead
    /// of the clock; a time for a sketch without a window; `TypeError` for other objects.
    pub fn of(
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        timeline: Option<Timeline>,
    ) -> PyResult<Self> {
        let times = Times::of(at)?;
        match (&times, timeline) {
            (Times::Now, _) => {}
            (_, None) => return Err(NO_WINDOW.into()),
            (Times::All(at), Some(timeline)) => {
                pane_of(*at, &timeline).ok_or(BEFORE_NEWEST)?;
                check_future(&[*at], allow_future, &timeline).map_err(|_| in_future("at"))?;
            }
            (Times::Each(times), Some(mut timeline)) => {
                check_future(times, allow_future, &timeline).map_err(|position| {
                    in_future(&format!("the time of the item at position {position}"))
                })?;
                for (position, &at) in times.iter().enumerate() {
                    let pane = pane_of(at, &timeline).ok_or_else(|| too_old(position))?;
                    if pane > timeline.newest() {
                        timeline.advance(pane);
                    }
                }
            }
        }
        Ok(Self { times, added: 0 })
    }

    /// The time of the addition of one item; by default, now.
    ///
    /// # Errors
    /// As [`Additions::of`].
    pub fn one(
        at: Option<At>,
        allow_future: bool,
        timeline: Option<&Timeline>,
    ) -> Result<Self, Error> {
        if let Some(at) = at {
            let timeline = timeline.ok_or(NO_WINDOW)?;
            check_future(&[at], allow_future, timeline).map_err(|_| in_future("at"))?;
        }
        Ok(Self {
            times: at.map_or(Times::Now, Times::All),
            added: 0,
        })
    }

    /// Checks the number of items, if they have one.
    ///
    /// # Errors
    /// As [`Additions::check_len`].
    pub fn check_items(&self, items: &Bound<'_, PyAny>) -> Result<(), Error> {
        match &self.times {
            Times::Each(_) => items.len().map_or(Ok(()), |len| self.check_len(len)),
            _ => Ok(()),
        }
    }

    /// Checks the number of items, if it is known before the first addition.
    ///
    /// # Errors
    /// Fewer or more times than items.
    pub fn check_len(&self, len: usize) -> Result<(), Error> {
        match &self.times {
            Times::Each(times) if times.len() != len => Err(OTHER_LENGTH),
            _ => Ok(()),
        }
    }

    /// Adds the next items: calls `add` for the items of each pane, with the advance that it makes first.
    ///
    /// # Errors
    /// A time before the newest pane, to which another thread can have advanced the sketch; fewer times than items; those of
    /// `add`.
    pub fn add<T: Timed>(
        &mut self,
        sketch: &mut T,
        len: usize,
        mut add: impl FnMut(&mut T, Range<usize>, Advance) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut start = 0;
        while start < len {
            let timeline = sketch.timeline().ok_or(NO_WINDOW)?;
            let (pane, items) = self.next_pane(timeline, len - start)?;
            add(sketch, start..start + items, Advance { pane })?;
            start += items;
            self.added += items;
        }
        Ok(())
    }

    /// As [`Additions::add`], for one item, with the result of `add`.
    ///
    /// # Errors
    /// As [`Additions::add`].
    #[inline]
    pub fn add_one<T: Timed, R>(
        &mut self,
        sketch: &mut T,
        add: impl FnOnce(&mut T, Advance) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let timeline = sketch.timeline().ok_or(NO_WINDOW)?;
        let (pane, items) = self.next_pane(timeline, 1)?;
        self.added += items;
        add(sketch, Advance { pane })
    }

    /// The pane of the next item, and how many of the next `len` items have this pane.
    fn next_pane(&self, timeline: &Timeline, len: usize) -> Result<(u64, usize), Error> {
        match &self.times {
            // As the server, whose clock can be behind the value.
            Times::Now => Ok((timeline.window().pane_at(At::now().ms()), len)),
            Times::All(at) => Ok((pane_of(*at, timeline).ok_or(BEFORE_NEWEST)?, len)),
            Times::Each(times) => {
                let next = times
                    .get(self.added..self.added + len)
                    .ok_or(OTHER_LENGTH)?;
                let pane_of = |at: &At| pane_of(*at, timeline);
                let pane = next.first().and_then(pane_of);
                let pane = pane.ok_or_else(|| too_old(self.added))?;
                let items = next.iter().take_while(|at| pane_of(at) == Some(pane));
                Ok((pane, items.count()))
            }
        }
    }

    /// Checks that no time is left.
    ///
    /// # Errors
    /// More times than items.
    pub fn finish(&self) -> Result<(), Error> {
        self.check_len(self.added)
    }
}

/// Adds an item: calls `add` with its bytes, and with the times from `at` and `allow_future`, the arguments of [`Additions::one`].
///
/// # Errors
/// Those of [`Additions::one`] and of `add`; `TypeError` for objects that are no items.
pub fn add_one<V: Variants, R: Send>(
    sketch: &Shared<V>,
    item: &Bound<'_, PyAny>,
    (at, allow_future): (Option<At>, bool),
    add: impl FnOnce(&mut V, &[u8], &mut Additions) -> Result<R, Error> + Send,
) -> PyResult<R> {
    let py = item.py();
    Ok(with_bytes(item, |item| {
        sketch.poke(py, |sketch| {
            let mut additions = Additions::one(at, allow_future, sketch.timeline())?;
            add(sketch, item, &mut additions)
        })
    })??)
}

/// Adds items: calls `add` with each batch of them. `at` and `allow_future` are the arguments of [`Additions::of`], and `chunk` is that of
/// [`for_each_chunk`].
///
/// # Errors
/// Fewer or more times than items; those of [`Additions::of`] and of `add`.
pub fn add_items<V: Variants>(
    sketch: &Shared<V>,
    items: &Bound<'_, PyAny>,
    times: (Option<&Bound<'_, PyAny>>, bool),
    chunk: usize,
    mut add: impl FnMut(&mut V, &Batch, &mut Additions) -> Result<(), Error> + Send,
) -> PyResult<()> {
    add_all(
        sketch,
        items,
        None,
        times,
        chunk,
        |sketch, batch, _, additions| add(sketch, batch, additions),
    )
}

/// Adds counts to items: one for all, or one for each. Of a mapping, the values are the counts. `at` and `allow_future` are the
/// arguments of [`Additions::of`], and `chunk` is that of [`for_each_chunk`]. Calls `add` with each batch of items.
///
/// # Errors
/// Counts beside a mapping; fewer or more counts or times than items; those of [`Additions::of`] and of `add`.
pub fn add_counts<V: Variants>(
    sketch: &Shared<V>,
    items: &Bound<'_, PyAny>,
    counts: Option<&Bound<'_, PyAny>>,
    times: (Option<&Bound<'_, PyAny>>, bool),
    chunk: usize,
    add: impl FnMut(&mut V, &Batch, &mut CountsReader<'_>, &mut Additions) -> Result<(), Error> + Send,
) -> PyResult<()> {
    if let Ok(mapping) = items.cast::<PyMapping>() {
        if counts.is_some() {
            let text = "a mapping has counts of its own: update takes no others";
            return Err(Error::Type(text.into()).into());
        }
        let (items, counts) = (mapping.keys()?, mapping.values()?);
        let (items, counts) = (items.as_any(), Some(counts.as_any()));
        return add_all(sketch, items, counts, times, chunk, add);
    }
    add_all(sketch, items, counts, times, chunk, add)
}

/// As [`add_counts`], of items that are no mapping.
fn add_all<V: Variants>(
    sketch: &Shared<V>,
    items: &Bound<'_, PyAny>,
    counts: Option<&Bound<'_, PyAny>>,
    (at, allow_future): (Option<&Bound<'_, PyAny>>, bool),
    chunk: usize,
    mut add: impl FnMut(&mut V, &Batch, &mut CountsReader<'_>, &mut Additions) -> Result<(), Error>
    + Send,
) -> PyResult<()> {
    let timeline = sketch.peek(items.py(), |sketch| sketch.timeline().copied());
    let mut additions = Additions::of(at, allow_future, timeline)?;
    additions.check_items(items)?;
    let counts = counts.map_or(Ok(Counts::All(1)), Counts::of)?;
    counts.check_items(items)?;
    let mut counts = counts.reader()?;
    for_each_chunk(items, chunk, |batch, py| {
        sketch.write_maybe_attached(py, |sketch| add(sketch, batch, &mut counts, &mut additions))
    })?;
    counts.finish()?;
    Ok(additions.finish()?)
}

/// The pane of an addition; `None` if it is before the newest one.
fn pane_of(at: At, timeline: &Timeline) -> Option<u64> {
    let pane = timeline.window().pane_at(at.ms());
    (pane >= timeline.newest()).then_some(pane)
}

/// Checks that times of additions are at most one pane ahead of the clock, or may be.
///
/// # Errors
/// The position of the first one that is not.
fn check_future(times: &[At], allow_future: bool, timeline: &Timeline) -> Result<(), usize> {
    let window = timeline.window();
    // Of a window whose panes grow with age, the newest one can be shorter than the difference of two clocks.
    let limit = At::now().ms() + window.ms().div_ceil(window.panes());
    match times.iter().position(|at| at.ms() > limit) {
        Some(position) if !allow_future => Err(position),
        _ => Ok(()),
    }
}

fn in_future(time: &str) -> Error {
    let text =
        format!("{time} is more than one pane ahead of the clock, and allow_future is not set");
    Error::Value(text.into())
}

fn too_old(position: usize) -> Error {
    let text = format!("the item at position {position} is older than the newest pane");
    Error::Value(text.into())
}
