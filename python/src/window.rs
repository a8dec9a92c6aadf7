//! Windows: the parameters of constructors, and the times of reads and additions.

use crate::arrow;
use crate::batch::Batch;
use crate::error::Error;
use crate::items::{ChunkItems, for_each_chunk};
use crate::lock::Shared;
use crate::numbers::{Counts, CountsReader, Integer};
use crate::numpy_array::{self, check_real};
use crate::sketch::Variants;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyString};
use roughly_sketch::memory::{try_push, with_capacity};
use roughly_sketch::seed::Seed;
use roughly_sketch::window::{Panes, Period, Timed, Timeline, Window, WindowError};
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// The window of a new sketch of type `T`; `None` without the argument `window`.
///
/// # Errors
/// Those of the option WINDOW of the commands; arguments that need `window` without it.
pub fn new_window<T: Timed>(
    window: Option<Integer>,
    panes: Option<Integer>,
    finest: Option<Integer>,
    has_seed: bool,
) -> Result<Option<Window>, Error> {
    // A negative number becomes 0, which is out of range.
    let number = |Integer(number)| u64::try_from(number).unwrap_or(0);
    let Some(ms) = window.map(number) else {
        return match panes.is_some() || finest.is_some() || has_seed {
            true => Err(Error::Type("panes, finest and seed require window".into())),
            false => Ok(None),
        };
    };
    let panes = panes.map_or(Window::DEFAULT_PANES.min(ms), number);
    let window = Window::of::<T>(ms, panes, finest.map(number));
    window.map(Some).map_err(|error| match error {
        WindowError::InvalidPanes => {
            let max = T::MAX_PANES;
            Error::Value(format!("PANES must be between 1 and {max}, and at most WINDOW").into())
        }
        error => Error::Value(error.to_string().into()),
    })
}

/// The seed of a new sketch: 16 bytes, or 32 hexadecimal digits. By default, random bytes of the system.
///
/// # Errors
/// That of the option SEED of the commands; `TypeError` for other objects.
pub fn new_seed(py: Python<'_>, seed: Option<&Bound<'_, PyAny>>) -> PyResult<Seed> {
    const INVALID: Error = Error::value("SEED must be 32 hexadecimal digits");
    let bytes = match seed {
        None => py.import("os")?.call_method1("urandom", (Seed::BYTES,))?,
        Some(seed) if seed.is_instance_of::<PyString>() => {
            let text = seed.cast::<PyString>()?.to_cow()?;
            let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            if text.len() != 2 * Seed::BYTES || !is_hex {
                return Err(INVALID.into());
            }
            py.get_type::<PyBytes>().call_method1("fromhex", (seed,))?
        }
        Some(seed) => seed.clone(),
    };
    let bytes = bytes.cast::<PyBytes>().map_err(|_| {
        PyTypeError::new_err("seed must be 16 bytes or a string of 32 hexadecimal digits")
    })?;
    let bytes = bytes
        .as_bytes()
        .try_into()
        .map_err(|_| PyErr::from(INVALID))?;
    Ok(Seed(bytes))
}

/// The hexadecimal digits of a seed.
pub fn hex(Seed(bytes): Seed) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A time in Unix milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct At(u64);

/// The end of the year 9999 in Unix seconds. A larger number is in milliseconds by mistake.
const END_OF_TIME: f64 = 253_402_300_800.0;

const NO_TIME_ZONE: Error = Error::value(
    "the time has no time zone: use datetime.now(timezone.utc), astimezone() for local time or, for a column, dt.tz_localize",
);

const OUT_OF_RANGE: Error =
    Error::value("the time must be Unix seconds between the years 1970 and 9999");

impl At {
    /// The time in Unix milliseconds.
    pub fn ms(self) -> u64 {
        self.0
    }

    /// The millisecond that contains this time. The difference of the nearest `f64` is far below a microsecond.
    fn of_seconds(seconds: f64) -> Result<Self, Error> {
        match (0.0..END_OF_TIME).contains(&seconds) {
            true => Ok(Self((seconds * 1e6).round() as u64 / 1000)),
            false => Err(OUT_OF_RANGE),
        }
    }

    fn of_ms(ms: i64) -> Result<Self, Error> {
        let ms = u64::try_from(ms).ok();
        let ms = ms.filter(|&ms| ms < END_OF_TIME as u64 * 1000);
        ms.map(Self).ok_or(OUT_OF_RANGE)
    }

    fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |since| since.as_millis() as u64))
    }
}

impl<'py> FromPyObject<'_, 'py> for At {
    type Error = PyErr;

    /// Takes seconds as a number, a `datetime` with a time zone, or a `datetime64` of NumPy, which is in UTC.
    fn extract(time: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = time.py();
        let seconds: PyResult<f64> = match time.getattr_opt("timestamp")? {
            Some(timestamp) => {
                if let Some(offset) = time.getattr_opt("utcoffset")?
                    && offset.call0()?.is_none()
                {
                    return Err(NO_TIME_ZONE.into());
                }
                timestamp.call0().and_then(|seconds| seconds.extract())
            }
            None => {
                if let Some(ms) = numpy_array::milliseconds(&time)? {
                    return Ok(Self::of_ms(ms)?);
                }
                check_real(&time)?;
                time.extract()
            }
        };
        let seconds = seconds.map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(py) {
                OUT_OF_RANGE.into()
            } else if error.is_instance_of::<PyTypeError>(py) {
                PyTypeError::new_err("the time must be Unix seconds or a datetime")
            } else {
                error
            }
        })?;
        Ok(Self::of_seconds(seconds)?)
    }
}

/// The part of a window that a read covers.
#[derive(Debug, Clone, Copy)]
pub enum Within {
    /// The last milliseconds.
    Last(u64),
    /// From a time until before another one, in Unix milliseconds, read at a time.
    Period(u64, u64, Option<At>),
    /// These panes.
    Panes(Panes),
}

/// A period, as the argument `within`.
#[pyclass(frozen)]
pub struct Part(pub Within);

impl<'py> FromPyObject<'_, 'py> for Within {
    type Error = PyErr;

    fn extract(within: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(part) = within.cast::<Part>() {
            return Ok(part.get().0);
        }
        let Integer(ms) = within.extract()?;
        let ms = u64::try_from(ms).ok();
        let ms = ms.filter(|ms| (1..=Window::MAX_MS).contains(ms));
        Ok(Self::Last(ms.ok_or(Error::value(
            "WITHIN must be between 1 and 315360000000 milliseconds",
        ))?))
    }
}

/// The arguments `at` and `within` of a read.
#[derive(Debug, Clone, Copy, Default)]
pub struct When {
    at: Option<At>,
    within: Option<Within>,
    /// The time of a read without `at`, if it is already known.
    now: Option<At>,
}

impl When {
    /// By default, the whole window, now.
    pub fn new(at: Option<At>, within: Option<Within>) -> Self {
        let at = match within {
            Some(Within::Period(.., of_period)) => at.or(of_period),
            _ => at,
        };
        Self {
            at,
            within,
            now: None,
        }
    }

    /// With the same time for all parts of a read. Has no effect on a value without a window.
    ///
    /// # Errors
    /// A time before the newest pane, for which the value has forgotten too much; a part that is shorter than a pane; a time
    /// for a value without a window.
    pub fn resolve(self, timeline: Option<&Timeline>) -> Result<Self, Error> {
        let newest = timeline.map(|timeline| timeline.window().start_of(timeline.newest()));
        let pane_ms = timeline.map_or(0, |timeline| timeline.window().pane_ms());
        match (newest, self.at, self.within) {
            (None, None, None) => Ok(self),
            (None, ..) => Err(NO_WINDOW),
            (Some(newest), Some(At(ms)), _) if ms < newest => Err(BEFORE_NEWEST),
            (Some(_), _, Some(Within::Last(ms))) if ms < pane_ms => {
                let text = format!(
                    "WITHIN must be at least the pane length of the sketch, {pane_ms} milliseconds"
                );
                Err(Error::Value(text.into()))
            }
            (Some(_), ..) => Ok(Self {
                now: Some(self.now.unwrap_or_else(At::now)),
                ..self
            }),
        }
    }

    /// The panes that count.
    ///
    /// # Errors
    /// As [`When::resolve`].
    #[inline]
    pub fn panes(self, timeline: Option<&Timeline>) -> Result<Panes, Error> {
        match (timeline, self.at, self.within) {
            (None, None, None) => Ok(Panes::ALL),
            _ => self.panes_of(timeline),
        }
    }

    fn panes_of(self, timeline: Option<&Timeline>) -> Result<Panes, Error> {
        let (ms, timeline) = self.now(timeline)?;
        Ok(match self.within {
            None => timeline.panes_at(ms),
            Some(Within::Last(part)) => timeline.panes_within(ms, part),
            Some(Within::Period(from, to, _)) => timeline.panes_of(Period::new(from, to, ms)?)?,
            Some(Within::Panes(panes)) => panes,
        })
    }

    /// The time of the read in Unix milliseconds, of a value with a window.
    ///
    /// # Errors
    /// As [`When::resolve`]; a value without a window.
    pub fn now(self, timeline: Option<&Timeline>) -> Result<(u64, &Timeline), Error> {
        let When { at, now, .. } = self.resolve(timeline)?;
        let (Some(timeline), Some(At(now))) = (timeline, now) else {
            return Err(NO_WINDOW);
        };
        // Another thread can have advanced the value since the time was read, and the clock can be behind the value.
        let newest = timeline.window().start_of(timeline.newest());
        Ok((at.map_or(now.max(newest), |At(ms)| ms), timeline))
    }
}

impl<V: Variants> Shared<V> {
    /// As [`Shared::peek`], with the panes that count.
    ///
    /// # Errors
    /// As [`When::panes`].
    pub fn peek_at<R: Send>(
        &self,
        py: Python<'_>,
        when: When,
        read: impl FnOnce(&V, Panes) -> R + Send,
    ) -> PyResult<R> {
        let read = |sketch: &V| Ok::<_, Error>(read(sketch, sketch.panes(when)?));
        Ok(self.peek(py, read)?)
    }
}

const NO_WINDOW: Error = Error::value("the sketch has no window");
const BEFORE_NEWEST: Error = Error::value("at is before the newest pane of the sketch");
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
        if at.hasattr("timestamp")? {
            return Ok(Self::All(at.extract()?));
        }
        if let Some(mut column) = arrow::of(at)? {
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
        if let Some(array) = numpy_array::of(at)? {
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
        match (&self.times, items.len()) {
            (Times::Each(_), Ok(len)) => self.check_len(len),
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

    /// Adds the next items: advances the sketch, and calls `add` for the items of each pane.
    ///
    /// # Errors
    /// A time before the newest pane, to which another thread can have advanced the sketch; fewer times than items; those of
    /// `add`.
    pub fn add<T: Timed>(
        &mut self,
        sketch: &mut T,
        len: usize,
        mut add: impl FnMut(&mut T, Range<usize>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut start = 0;
        while start < len {
            let timeline = sketch.timeline().ok_or(NO_WINDOW)?;
            let (pane, items) = self.next_pane(timeline, len - start)?;
            sketch.advance(pane);
            add(sketch, start..start + items)?;
            start += items;
            self.added += items;
        }
        Ok(())
    }

    /// The pane of the next item, and how many of the next `len` items have this pane.
    fn next_pane(&self, timeline: &Timeline, len: usize) -> Result<(u64, usize), Error> {
        match &self.times {
            // As the server, whose clock can be behind the value.
            Times::Now => Ok((timeline.window().pane_at(At::now().0), len)),
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

/// Adds counts to items: one for all, or one for each. Of a mapping, the values are the counts. `at` and `allow_future` are the
/// arguments of [`Additions::of`], and `chunk` is that of [`for_each_chunk`]. Calls `add` with each batch of items.
///
/// # Errors
/// Counts beside a mapping; fewer or more counts or times than items; those of [`Additions::of`] and of `add`.
pub fn add_counts<V: Variants>(
    sketch: &Shared<V>,
    items: &Bound<'_, PyAny>,
    counts: Option<&Bound<'_, PyAny>>,
    (at, allow_future): (Option<&Bound<'_, PyAny>>, bool),
    chunk: ChunkItems,
    mut add: impl FnMut(&mut V, &Batch, &mut CountsReader<'_>, &mut Additions) -> Result<(), Error>
    + Send,
) -> PyResult<()> {
    if let Ok(mapping) = items.cast::<PyMapping>() {
        if counts.is_some() {
            let text = "a mapping has counts of its own: update takes no others";
            return Err(Error::Type(text.into()).into());
        }
        let (items, counts) = (mapping.keys()?, mapping.values()?);
        let (items, counts) = (items.as_any(), Some(counts.as_any()));
        return add_counts(sketch, items, counts, (at, allow_future), chunk, add);
    }
    let timeline = sketch.peek(items.py(), |sketch| sketch.timeline().copied());
    let mut additions = Additions::of(at, allow_future, timeline)?;
    additions.check_items(items)?;
    let counts = counts.map_or(Ok(Counts::All(1)), Counts::of)?;
    counts.check_items(items)?;
    let mut counts = counts.reader()?;
    for_each_chunk(items, chunk, |batch| {
        sketch.write(|sketch| add(sketch, batch, &mut counts, &mut additions))
    })?;
    counts.finish()?;
    Ok(additions.finish()?)
}

/// The pane of an addition; `None` if it is before the newest one.
fn pane_of(At(ms): At, timeline: &Timeline) -> Option<u64> {
    let pane = timeline.window().pane_at(ms);
    (pane >= timeline.newest()).then_some(pane)
}

/// Checks that times of additions are at most one pane ahead of the clock, or may be.
///
/// # Errors
/// The position of the first one that is not.
fn check_future(times: &[At], allow_future: bool, timeline: &Timeline) -> Result<(), usize> {
    let window = timeline.window();
    // Of a window whose panes grow with age, the newest one can be shorter than the difference of two clocks.
    let limit = At::now().0 + window.ms().div_ceil(window.panes());
    match times.iter().position(|&At(ms)| ms > limit) {
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
