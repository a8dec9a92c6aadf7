//! `BloomFilter`: the commands BF.

use crate::batch::{Batch, reserve};
use crate::error::Error;
use crate::items::{ChunkItems, for_each_batch, for_each_chunk, with_bytes};
use crate::lock::Shared;
use crate::numbers::{Integer, Real, checked_error_rate, in_range};
use crate::numpy_array::results;
use crate::sketch::{Class, Variants, class, variants};
use crate::window::{Additions, At, When, Within, new_seed, new_window};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use roughly_sketch::bloom::merge::MergeError;
use roughly_sketch::bloom::{self, Chain, MAX_CAPACITY, MAX_EXPANSION, Parameters};
use roughly_sketch::chain::batch;
use roughly_sketch::memory::Budget;
use roughly_sketch::valkey_bloom::{self, DEFAULT_MAX_SIZE, ValkeyChain};
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{
    self, Addition, BloomWindow, BloomWindowParameters, IfPresent,
};

variants! {
    /// A Bloom filter.
    Filter {
        Classic(Chain),
        Windowed(BloomWindow),
        Valkey(ValkeyChain),
    }
}

const FULL: Error = Error::value("non scaling filter is full");
const PROBLEM: Error = Error::value("problem inserting into filter");

impl From<bloom::Error> for Error {
    fn from(error: bloom::Error) -> Self {
        match error {
            bloom::Error::Full => FULL,
            bloom::Error::Shape => PROBLEM,
            bloom::Error::OutOfMemory(error) => error.into(),
        }
    }
}

impl From<valkey_bloom::Error> for Error {
    fn from(error: valkey_bloom::Error) -> Self {
        match error {
            valkey_bloom::Error::Full => FULL,
            valkey_bloom::Error::ErrorRate => {
                Self::value("false positive degrades to 0 on scale out")
            }
            valkey_bloom::Error::Hashes => {
                Self::value("bloom object reached max number of filters")
            }
            valkey_bloom::Error::Capacity | valkey_bloom::Error::Size => {
                Self::value("operation exceeds bloom object memory limit")
            }
            valkey_bloom::Error::OutOfMemory(error) => error.into(),
        }
    }
}

impl From<MergeError> for Error {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::OutOfMemory(error) => error.into(),
            error => Self::Value(format!("cannot merge: {error}").into()),
        }
    }
}

/// The error of a creation.
fn not_created(error: Error) -> Error {
    match error {
        Error::OutOfMemory(_) => error,
        _ => Error::value("could not create filter"),
    }
}

/// The error of an addition to a filter with a window.
fn set_error(error: window_filter::Error) -> Error {
    match error {
        window_filter::Error::Full => FULL,
        window_filter::Error::Shape => PROBLEM,
        window_filter::Error::OutOfMemory(error) => error.into(),
    }
}

/// A filter that can be merged.
fn classic(filter: &Filter) -> Result<&Chain, Error> {
    match filter {
        Filter::Classic(chain) => Ok(chain),
        Filter::Windowed(_) => Err(Error::value("filters with a window cannot be merged")),
        Filter::Valkey(_) => Err(Error::value("filters of valkey-bloom cannot be merged")),
    }
}

impl Filter {
    fn expansion(&self) -> Option<u32> {
        match self {
            Self::Classic(chain) => chain.is_scaling().then_some(chain.expansion()),
            Self::Windowed(set) => Some(set.expansion()).filter(|&factor| factor != 0),
            Self::Valkey(chain) => Some(chain.parameters().expansion).filter(|&factor| factor != 0),
        }
    }

    fn items(&self, panes: Panes) -> u64 {
        match self {
            Self::Classic(chain) => chain.items(),
            Self::Windowed(set) => set.items(panes),
            Self::Valkey(chain) => chain.items(),
        }
    }

    fn add(&mut self, item: &[u8], additions: &mut Additions) -> Result<bool, Error> {
        match self {
            Self::Classic(chain) => Ok(chain.add(item, (), Budget::UNLIMITED)?),
            Self::Windowed(set) => {
                let mut is_new = false;
                additions.add(&mut **set, 1, |set, _| {
                    let added = set.add(item, Budget::UNLIMITED).map_err(set_error)?;
                    is_new = added == Addition::New;
                    Ok(())
                })?;
                Ok(is_new)
            }
            Self::Valkey(chain) => Ok(chain.add(item, DEFAULT_MAX_SIZE, Budget::UNLIMITED)?),
        }
    }

    fn add_all(&mut self, items: &Batch, additions: &mut Additions) -> Result<(), Error> {
        match self {
            Self::Classic(chain) => {
                let mut additions = batch::Additions::new(items.iter(), (), chain);
                while let Some(added) = additions.add_next(Budget::UNLIMITED) {
                    added?;
                }
            }
            Self::Windowed(set) => additions.add(&mut **set, items.len(), |set, range| {
                let items = items.range(range);
                let mut additions = window_filter::Additions::new(items, IfPresent::Refresh, set);
                while let Some(added) = additions.add_next(Budget::UNLIMITED) {
                    added.map_err(set_error)?;
                }
                Ok(())
            })?,
            Self::Valkey(chain) => {
                let mut additions = batch::Additions::new(items.iter(), DEFAULT_MAX_SIZE, chain);
                while let Some(added) = additions.add_next(Budget::UNLIMITED) {
                    added?;
                }
            }
        }
        Ok(())
    }

    fn contains(&self, item: &[u8], panes: Panes) -> bool {
        match self {
            Self::Classic(chain) => chain.contains(item),
            Self::Windowed(set) => set.contains(item, panes),
            Self::Valkey(chain) => chain.contains(item),
        }
    }

    fn contains_each<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        panes: Panes,
        on_result: impl FnMut(bool),
    ) {
        match self {
            Self::Classic(chain) => chain.contains_each(items, on_result),
            Self::Windowed(set) => set.contains_each(items, panes, on_result),
            Self::Valkey(chain) => chain.contains_each(items, on_result),
        }
    }
}

/// A Bloom filter: a set of items, with some false positives (BF.RESERVE).
///
/// `capacity` is the number of items, 1 to 2**30, and `error_rate` the probability of a false positive, in (0, 1). A full filter
/// gets another sub-filter of `expansion` times the capacity, 2 by default; with `nonscaling`, or an `expansion` of 0, it
/// raises `ValueError`.
///
/// With `window`, the filter forgets items that were added more than so many milliseconds ago, in steps of a part of the window:
/// one of `panes`, 12 by default. `seed` is the key of its hash: 16 bytes or 32 hexadecimal digits, by default random.
///
/// Raises `ValueError` with the text of the command for a parameter that is out of range, and `MemoryError`.
///
/// >>> seen = BloomFilter(1000, 0.001)
/// >>> seen.add("alice"), seen.add("alice")
/// (True, False)
/// >>> seen.update(["bob", "carol"])
/// >>> "bob" in seen, "dave" in seen, len(seen)
/// (True, False, 3)
/// >>> seen
/// <BloomFilter capacity=1000 error_rate=0.001 expansion=2 count=3>
#[pyclass(module = "roughly", frozen)]
pub struct BloomFilter {
    sketch: Shared<Filter>,
}

class!(BloomFilter of Filter);

#[pymethods]
impl BloomFilter {
    #[new]
    #[pyo3(signature = (
        capacity = Integer(Parameters::DEFAULT.capacity as i64),
        error_rate = Real(Parameters::DEFAULT.error_rate),
        *,
        expansion = None,
        nonscaling = false,
        window = None,
        panes = None,
        seed = None,
    ), text_signature = "(capacity=100, error_rate=0.01, *, expansion=None, nonscaling=False, window=None, panes=None, seed=None)")]
    #[allow(clippy::too_many_arguments)] // Most have a default.
    fn new(
        py: Python<'_>,
        capacity: Integer,
        error_rate: Real,
        expansion: Option<Integer>,
        nonscaling: bool,
        window: Option<Integer>,
        panes: Option<Integer>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let error_rate = checked_error_rate(error_rate)?;
        let capacity = in_range(
            capacity,
            1..=MAX_CAPACITY as i64,
            "capacity must be in the range [1, 1073741824]",
        )?;
        if nonscaling && expansion.as_ref().is_some_and(|factor| factor.0 != 0) {
            return Err(Error::value("Nonscaling filters cannot expand").into());
        }
        let expansion = in_range(
            expansion.unwrap_or(Integer(Parameters::DEFAULT.expansion.into())),
            0..=MAX_EXPANSION.into(),
            "expansion must be in the range [0, 32768]",
        )?;
        let scaling = !nonscaling && expansion != 0;
        if let Some(window) = new_window::<BloomWindow>(window, panes, None, seed.is_some())? {
            let parameters = BloomWindowParameters {
                seed: new_seed(py, seed)?,
                capacity,
                error_rate,
                expansion: if scaling { expansion } else { 0 },
            };
            let set = py.detach(|| BloomWindow::new(window, &parameters, Budget::UNLIMITED));
            let set = set.map_err(|error| not_created(set_error(error)))?;
            return Ok(Self::of(Filter::Windowed(set.into())));
        }
        let parameters = Parameters {
            capacity,
            error_rate,
            expansion,
            scaling,
        };
        let chain = py.detach(|| Chain::new(&parameters, Budget::UNLIMITED));
        let chain = chain.map_err(|error| not_created(error.into()))?;
        Ok(Self::of(Filter::Classic(chain.into())))
    }

    /// Adds an item (BF.ADD). Returns whether it is new. `at` is the time of the addition to a filter with a window, in Unix
    /// seconds or as a `datetime` with a time zone, by default now. `ValueError` if it is before the newest pane or, without
    /// `allow_future`, more than one pane ahead of the clock, and for NaN as an item.
    #[pyo3(signature = (item, *, at = None, allow_future = false))]
    fn add(&self, item: &Bound<'_, PyAny>, at: Option<At>, allow_future: bool) -> PyResult<bool> {
        let py = item.py();
        Ok(with_bytes(item, |item| {
            self.sketch.poke(py, |filter| {
                let mut additions = Additions::one(at, allow_future, filter.timeline())?;
                filter.add(item, &mut additions)
            })
        })??)
    }

    /// Adds all items of an iterable, an array or a column (BF.MADD). At most `chunk` items of an iterable are read before they are
    /// added, 1 to 4,096: with 1, a generator that reads the filter finds all items before. `at` is the time of the additions to a
    /// filter with a window, or an array with a time for each item. `allow_future` is that of `add`.
    #[pyo3(
        signature = (items, *, at = None, allow_future = false, chunk = ChunkItems::MAX),
        text_signature = "($self, items, *, at=None, allow_future=False, chunk=4096)",
    )]
    fn update(
        &self,
        items: &Bound<'_, PyAny>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        chunk: ChunkItems,
    ) -> PyResult<()> {
        let timeline = self
            .sketch
            .peek(items.py(), |filter| filter.timeline().copied());
        let mut additions = Additions::of(at, allow_future, timeline)?;
        additions.check_items(items)?;
        for_each_chunk(items, chunk, |batch| {
            self.sketch
                .write(|filter| filter.add_all(batch, &mut additions))
        })?;
        Ok(additions.finish()?)
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = item.py();
        with_bytes(item, |item| {
            self.sketch.peek(py, |filter| {
                Ok(filter.contains(item, filter.panes(When::default())?))
            })
        })?
    }

    /// Whether each item may have been added (BF.MEXISTS): a NumPy array, or a list without NumPy.
    #[pyo3(signature = (items, *, at = None, within = None))]
    fn contains<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let when = When::new(at, within);
        let when = self
            .sketch
            .peek(items.py(), |filter| when.resolve(filter.timeline()))?;
        let mut found = Vec::new();
        for_each_batch(items, |batch| {
            reserve(&mut found, batch.len())?;
            let push = |is_found| found.push(is_found);
            self.sketch.read(|filter| {
                filter.contains_each(batch.iter(), filter.panes(when)?, push);
                Ok(())
            })
        })?;
        results(items.py(), found)
    }

    /// Adds the items of other filters with the same parameters (BF.MERGE). `ValueError` if the parameters differ or a filter
    /// has a window; then this filter has not changed. The number of items is an estimate afterwards.
    #[pyo3(signature = (*others))]
    fn merge(&self, py: Python<'_>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        let others: Vec<Bound<'_, Self>> = others
            .iter()
            .map(|other| Ok(other.cast_into()?))
            .collect::<PyResult<_>>()?;
        Ok(self.merge_all(py, &others)?)
    }

    fn __ior__(&self, py: Python<'_>, other: Bound<'_, Self>) -> PyResult<()> {
        Ok(self.merge_all(py, &[other])?)
    }

    /// The number of items that were added (BF.CARD); now, if the filter has a window.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let items = |filter: &Filter| {
            filter
                .panes(When::default())
                .map(|panes| filter.items(panes))
        };
        Ok(self.sketch.peek(py, items)?)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.count(py)?)?)
    }

    /// The number of items for which the filter was created: that of its first sub-filter.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> u64 {
        self.sketch.peek(py, |filter| match filter {
            Filter::Classic(chain) => chain.filters().first().map_or(0, |first| first.capacity()),
            Filter::Windowed(set) => set.capacity(),
            Filter::Valkey(chain) => chain.parameters().capacity,
        })
    }

    /// The probability of a false positive for which the filter was created.
    #[getter]
    fn error_rate(&self, py: Python<'_>) -> f64 {
        self.sketch.peek(py, |filter| match filter {
            Filter::Classic(chain) => chain.error_rate(),
            Filter::Windowed(set) => set.error_rate(),
            Filter::Valkey(chain) => chain.parameters().error_rate,
        })
    }

    /// The growth factor; `None` if the filter does not grow.
    #[getter]
    fn expansion(&self, py: Python<'_>) -> Option<u32> {
        self.sketch.peek(py, Filter::expansion)
    }

    /// Whether the filter does not grow.
    #[getter]
    fn nonscaling(&self, py: Python<'_>) -> bool {
        self.expansion(py).is_none()
    }

    /// The fields of BF.INFO.
    #[pyo3(signature = (*, at = None, within = None))]
    fn info<'py>(
        &self,
        py: Python<'py>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let when = When::new(at, within);
        let read = |filter: &Filter| {
            let items = filter.items(filter.panes(when)?);
            let (capacity, size, filters) = match filter {
                Filter::Classic(chain) => (
                    chain.capacity(),
                    bloom::nominal_bytes(chain.filters().len(), chain.bit_bytes()),
                    chain.filters().len(),
                ),
                Filter::Windowed(set) => (
                    set.grown_capacity(),
                    bloom::nominal_bytes(set.num_sub_filters(), set.slot_bytes()),
                    set.num_sub_filters(),
                ),
                Filter::Valkey(chain) => (chain.capacity(), chain.size(), chain.filters().len()),
            };
            Ok::<_, Error>((items, capacity, size, filters, filter.expansion()))
        };
        let (items, capacity, size, filters, expansion) = self.sketch.peek(py, read)?;
        let info = PyDict::new(py);
        info.set_item("Capacity", capacity)?;
        info.set_item("Size", size)?;
        info.set_item("Number of filters", filters)?;
        info.set_item("Number of items inserted", items)?;
        info.set_item("Expansion rate", expansion)?;
        Ok(info)
    }
}

impl BloomFilter {
    fn merge_all(&self, py: Python<'_>, others: &[Bound<'_, Self>]) -> Result<(), Error> {
        let locks: Vec<_> = others.iter().map(|other| &other.get().sketch).collect();
        py.detach(|| {
            self.sketch.write_with(&locks, |destination, operands| {
                classic(destination)?;
                // The filter itself adds nothing.
                let others = operands.iter().flatten().map(|other| classic(other));
                let others = others.collect::<Result<Vec<_>, Error>>()?;
                if let Filter::Classic(chain) = destination {
                    chain.merge(&others, Budget::UNLIMITED)?;
                }
                Ok(())
            })
        })
    }

    /// The parameters that the text of the object has.
    fn parameters(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        let mut parameters = vec![
            ("capacity", self.capacity(py).to_string()),
            ("error_rate", self.error_rate(py).to_string()),
        ];
        parameters.push(match self.expansion(py) {
            Some(expansion) => ("expansion", expansion.to_string()),
            None => ("nonscaling", "True".to_owned()),
        });
        parameters.push(("count", self.count(py)?.to_string()));
        Ok(parameters)
    }
}
