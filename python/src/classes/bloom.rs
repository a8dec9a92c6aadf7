//! `BloomFilter`: the commands BF.

use crate::arguments::batch::{Batch, chunk_items, reserve};
use crate::arguments::items::{for_each_batch, with_bytes};
use crate::arguments::numpy_array::results;
use crate::arguments::scalars::{Integer, Real, checked_error_rate, in_range, integer, number};
use crate::classes::bloom_file::BloomFile;
use crate::error::Error;
use crate::sketch::additions::{Additions, add_items, add_one};
use crate::sketch::answers::answers;
use crate::sketch::class::{Base, Class, copy, merge, others_of, subclass};
use crate::sketch::dump;
use crate::sketch::lock::Shared;
use crate::sketch::variants::{Variants, variants};
use crate::sketch::window::{At, When, Within, new_seed, new_window, seed_bytes};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use roughly_sketch::bloom::external::ExternalChain;
use roughly_sketch::bloom::merge::MergeError;
use roughly_sketch::bloom::{self, Chain, MAX_CAPACITY, MAX_EXPANSION, Parameters};
use roughly_sketch::chain::batch;
use roughly_sketch::memory::Budget;
use roughly_sketch::valkey_bloom::{self, DEFAULT_MAX_SIZE, ValkeyChain};
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{
    self, Addition, BloomWindow, BloomWindowParameters, IfPresent,
};
use std::ops::ControlFlow;
use std::path::Path;

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

/// A merge may exceed the error rate of a filter by this factor: its capacity need not be exact.
const FULL_TOLERANCE: f64 = 1.25;

/// The error of a merge whose result would have a higher false positive rate than is allowed.
fn too_many_false_positives(rate: f64, max: f64) -> Error {
    // Rounded up to three digits, so that a merge with this rate is allowed.
    let digits = (2 - rate.log10().floor() as i32).clamp(0, 300);
    let unit = 10f64.powi(digits);
    let digits = digits as usize;
    let rate = ((rate * unit).ceil() / unit).min(1.0);
    let text = format!(
        "cannot merge: the false positive rate would be {rate:.digits$}, above {max:.digits$}: create the filters with a capacity \
         for the items of all, or use merge(..., allow_rate={rate:.digits$})"
    );
    Error::Value(text.into())
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
        window_filter::Error::Parameters => PROBLEM,
        window_filter::Error::OutOfMemory(error) => error.into(),
    }
}

/// The parameters of a filter of valkey-bloom's type, except for the seed: the ranges and the texts are those of its BF.RESERVE.
fn valkey_parameters(
    capacity: i64,
    error_rate: f64,
    expansion: Option<Integer>,
    nonscaling: bool,
) -> Result<valkey_bloom::Parameters, Error> {
    if !(error_rate > 0.0 && error_rate < 1.0) {
        return Err(Error::value("(0 < error rate range < 1)"));
    }
    let capacity = match u64::try_from(capacity) {
        Ok(0) => return Err(Error::value("(capacity should be larger than 0)")),
        capacity => capacity.map_err(|_| Error::value("bad capacity"))?,
    };
    let expansion = match nonscaling {
        true => 0,
        false => in_range(
            expansion.map_or(VALKEY_EXPANSION, |Integer(factor)| factor),
            1..=u32::MAX.into(),
            "bad expansion",
        )?,
    };
    Ok(valkey_bloom::Parameters {
        capacity,
        error_rate,
        tightening: VALKEY_TIGHTENING,
        expansion,
        seed: valkey_bloom::FIXED_SEED,
        seed_is_random: false,
    })
}

/// The defaults of the settings bf.bloom-expansion and bf.bloom-tightening-ratio.
const VALKEY_EXPANSION: i64 = 2;
const VALKEY_TIGHTENING: f64 = 0.5;

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
            Self::Classic(chain) => expansion(chain),
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
            Self::Windowed(set) => additions.add_one(&mut **set, |set, advance| {
                let refused =
                    |set: &BloomWindow, later| set.unchanged_by(item, IfPresent::Refresh, later);
                let unchanged = advance.unless(set, refused);
                let added = unchanged.unwrap_or_else(|| set.add(item, Budget::UNLIMITED));
                Ok(added.map_err(set_error)? == Addition::New)
            }),
            Self::Valkey(chain) => Ok(chain.add(item, DEFAULT_MAX_SIZE, Budget::UNLIMITED)?),
        }
    }

    /// Adds all items. Appends to `new` whether each is new.
    fn add_all(
        &mut self,
        items: &Batch,
        additions: &mut Additions,
        new: &mut Option<Vec<bool>>,
    ) -> Result<(), Error> {
        if let Some(new) = new {
            reserve(new, items.len())?;
        }
        // A closure per method would double the code of the loops.
        let mut on_added = |is_new| {
            if let Some(new) = new {
                new.push(is_new);
            }
        };
        match self {
            Self::Classic(chain) => {
                let mut additions = batch::Additions::new(items.iter(), (), chain);
                while let Some(added) = additions.add_next(Budget::UNLIMITED) {
                    on_added(added?);
                }
            }
            Self::Windowed(set) => {
                additions.add(&mut **set, items.len(), |set, range, advance| {
                    let (items, mut result) = (items.range(range), Ok(()));
                    // The first error ends the additions.
                    let refused = |set: &BloomWindow, later| {
                        let first = items.clone().next()?;
                        set.unchanged_by(first, IfPresent::Refresh, later)
                    };
                    if let Some(Err(error)) = advance.unless(set, refused) {
                        return Err(set_error(error));
                    }
                    let budget = Budget::UNLIMITED;
                    set.add_each(items, IfPresent::Refresh, budget, |added| match added {
                        Ok(added) => {
                            on_added(added == Addition::New);
                            ControlFlow::Continue(())
                        }
                        Err(error) => {
                            result = Err(set_error(error));
                            ControlFlow::Break(())
                        }
                    });
                    result
                })?
            }
            Self::Valkey(chain) => {
                let mut additions = batch::Additions::new(items.iter(), DEFAULT_MAX_SIZE, chain);
                while let Some(added) = additions.add_next(Budget::UNLIMITED) {
                    on_added(added?);
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
/// With `valkey`, the filter has the type of the module valkey-bloom, whose BF.RESERVE the parameters are then those of: `capacity`
/// is 1 to 2**63 - 1, `expansion` is 1 to 2**32 - 1, the filter takes at most 128 MiB, and `seed` is 32 bytes or 64 hexadecimal
/// digits, by default random.
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
#[pyclass(module = "roughly", frozen, extends = Base)]
pub struct BloomFilter {
    state: State,
}

/// Where a filter is.
enum State {
    Memory(Shared<Filter>),
    File(BloomFile),
}

const READ_ONLY: Error =
    Error::value("the filter was opened with lazy=True and is read-only: use its copy()");

subclass!(BloomFilter);

impl Class for BloomFilter {
    type Variants = Filter;

    const ATTRIBUTES: &'static [&'static str] = &[
        "capacity",
        "error_rate",
        "expansion",
        "nonscaling",
        "valkey",
        "count",
    ];

    fn of(sketch: Filter) -> Self {
        Self {
            state: State::Memory(Shared::new(sketch)),
        }
    }

    fn sketch(&self) -> Result<&Shared<Filter>, Error> {
        match &self.state {
            State::Memory(sketch) => Ok(sketch),
            State::File(_) => Err(READ_ONLY),
        }
    }

    fn in_memory<'py>(object: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let State::File(file) = &object.get().state else {
            return Ok(object.clone());
        };
        let py = object.py();
        let payload = py.detach(|| file.payload())?;
        dump::check(py, &payload)?;
        let filter = dump::load_as::<Self>(py, &payload);
        let filter = filter.ok_or(Error::value("the value is not a BloomFilter"))?;
        Ok(filter?.into_bound(py))
    }

    fn block_bytes(&self, py: Python<'_>) -> u64 {
        match &self.state {
            State::Memory(sketch) => py.detach(|| sketch.read(Variants::block_bytes)),
            State::File(file) => file.block_bytes(),
        }
    }
}

#[pymethods]
impl BloomFilter {
    #[new]
    #[pyo3(signature = (
        capacity = 100, error_rate = 0.01, *, expansion = None, nonscaling = false, window = None, panes = None, seed = None, valkey = false
    ))]
    #[allow(clippy::too_many_arguments)] // Most have a default.
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = integer)] capacity: i64,
        #[pyo3(from_py_with = number)] error_rate: f64,
        expansion: Option<Integer>,
        nonscaling: bool,
        window: Option<Integer>,
        panes: Option<Integer>,
        seed: Option<&Bound<'_, PyAny>>,
        valkey: bool,
    ) -> PyResult<Self> {
        if nonscaling && expansion.as_ref().is_some_and(|factor| factor.0 != 0) {
            return Err(Error::value("Nonscaling filters cannot expand").into());
        }
        if valkey {
            if window.is_some() || panes.is_some() {
                return Err(Error::Type("window and valkey exclude each other".into()).into());
            }
            let parameters = valkey_parameters(capacity, error_rate, expansion, nonscaling)?;
            let seed = seed_bytes(py, seed, Error::value("invalid seed"))?;
            let parameters = valkey_bloom::Parameters { seed, ..parameters };
            let chain =
                py.detach(|| ValkeyChain::new(&parameters, DEFAULT_MAX_SIZE, Budget::UNLIMITED));
            return Ok(Self::of(Filter::Valkey(chain.map_err(Error::from)?.into())));
        }
        let error_rate = checked_error_rate(error_rate)?;
        let capacity = in_range(
            capacity,
            1..=MAX_CAPACITY as i64,
            "capacity must be in the range [1, 1073741824]",
        )?;
        let expansion = in_range(
            expansion.map_or(Parameters::DEFAULT.expansion.into(), |Integer(factor)| {
                factor
            }),
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
    ///
    /// >>> seen = BloomFilter()
    /// >>> seen.add("alice"), seen.add("alice")
    /// (True, False)
    #[pyo3(signature = (item, *, at = None, allow_future = false))]
    fn add(&self, item: &Bound<'_, PyAny>, at: Option<At>, allow_future: bool) -> PyResult<bool> {
        add_one(self.sketch()?, item, (at, allow_future), Filter::add)
    }

    /// Adds all items of an iterable, an array or a column (BF.MADD). At most `chunk` items of an iterable are read before they are
    /// added, 1 to 4,096: with 1, a generator that reads the filter finds all items before. `at` is the time of the additions to a
    /// filter with a window, or an array with a time for each item. `allow_future` is that of `add`.
    ///
    /// >>> seen = BloomFilter()
    /// >>> seen.update(["alice", "bob", 7])
    /// >>> "bob" in seen, "7" in seen, "dave" in seen
    /// (True, True, False)
    #[pyo3(signature = (items, *, at = None, allow_future = false, chunk = 4096))]
    fn update(
        &self,
        items: &Bound<'_, PyAny>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        #[pyo3(from_py_with = chunk_items)] chunk: usize,
    ) -> PyResult<()> {
        self.add_all(items, (at, allow_future), chunk, &mut None)
    }

    /// As `update`, and returns which items were new (BF.MADD): a NumPy array, or a list without NumPy. Of an item that occurs several
    /// times, the first one is new. A false positive is not new.
    ///
    /// >>> seen = BloomFilter()
    /// >>> [bool(is_new) for is_new in seen.add_new(["alice", "bob", "alice"])]
    /// [True, True, False]
    #[pyo3(signature = (items, *, at = None, allow_future = false, chunk = 4096))]
    fn add_new<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        at: Option<&Bound<'py, PyAny>>,
        allow_future: bool,
        #[pyo3(from_py_with = chunk_items)] chunk: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut new = Some(Vec::new());
        self.add_all(items, (at, allow_future), chunk, &mut new)?;
        results(items.py(), new.unwrap_or_default())
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = item.py();
        match &self.state {
            State::Memory(sketch) => sketch.peek_item(item, When::default(), Filter::contains),
            State::File(file) => Ok(with_bytes(item, |item| py.detach(|| file.contains(item)))??),
        }
    }

    /// Whether each item may have been added (BF.MEXISTS): a NumPy array, or a list without NumPy.
    ///
    /// >>> seen = BloomFilter()
    /// >>> seen.update(["alice", "bob"])
    /// >>> [bool(found) for found in seen.contains(["alice", "dave"])]
    /// [True, False]
    #[pyo3(signature = (items, *, at = None, within = None))]
    fn contains<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let when = When::new(at, within);
        let file = match &self.state {
            State::Memory(sketch) => {
                let read = |filter: &Filter, batch: &Batch, panes, found: &mut Vec<bool>| {
                    filter.contains_each(batch.iter(), panes, |is_found| found.push(is_found));
                };
                return answers(sketch, items, when, read);
            }
            State::File(file) => file,
        };
        when.panes(None)?;
        let mut found = Vec::new();
        for_each_batch(items, |batch, py| {
            let mut read = || {
                reserve(&mut found, batch.len())?;
                for item in batch.iter() {
                    found.push(file.contains(item)?);
                }
                Ok(())
            };
            match py {
                Some(py) => py.detach(read),
                None => read(),
            }
        })?;
        results(items.py(), found)
    }

    /// Adds the items of other filters with the same parameters (BF.MERGE). The number of items is an estimate afterwards.
    ///
    /// `allow_rate`, in (0, 1], is the largest false positive rate of the merged filter. By default, it is 1.25 times
    /// `error_rate`, or that of full filters or of this filter if they are higher. So the capacity must suffice for the items of
    /// all filters.
    ///
    /// Raises `ValueError` if the merged filter would have a higher rate, which the text contains, if the parameters differ, or
    /// if a filter has a window or the type of valkey-bloom; then this filter has not changed.
    ///
    /// >>> monday, tuesday = BloomFilter(1000), BloomFilter(1000)
    /// >>> monday.update(["alice", "bob"])
    /// >>> tuesday.update(["bob", "carol"])
    /// >>> monday.merge(tuesday)
    /// >>> "carol" in monday, monday.count
    /// (True, 3)
    /// >>> tuesday.update(range(900))
    /// >>> monday.update(range(1000, 1900))
    /// >>> monday.merge(tuesday, allow_rate=0.1)
    #[pyo3(signature = (*others, allow_rate = None))]
    fn merge(
        &self,
        py: Python<'_>,
        others: &Bound<'_, PyTuple>,
        allow_rate: Option<Real>,
    ) -> PyResult<()> {
        let others = others_of::<Self>(others)?;
        let allow_rate = match allow_rate {
            Some(Real(rate)) if !(rate > 0.0 && rate <= 1.0) => {
                return Err(Error::value("allow_rate must be in the range (0, 1]").into());
            }
            rate => rate.map(|Real(rate)| rate),
        };
        self.merge_all(py, &others, allow_rate)
    }

    fn __ior__(&self, py: Python<'_>, other: Bound<'_, Self>) -> PyResult<()> {
        self.merge_all(py, &[other], None)
    }

    fn __or__<'py>(this: &Bound<'py, Self>, other: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let union: Bound<'py, Self> = copy(this)?;
        union.get().merge_all(this.py(), &[other], None)?;
        Ok(union)
    }

    /// The number of items that were added (BF.CARD); now, if the filter has a window.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let items = |filter: &Filter| {
            filter
                .panes(When::default())
                .map(|panes| filter.items(panes))
        };
        Ok(self.parameter(py, items, |file| Ok(file.chain().items()))?)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.count(py)?)?)
    }

    /// The number of items for which the filter was created: that of its first sub-filter.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> u64 {
        let capacity = |filter: &Filter| match filter {
            Filter::Classic(chain) => first_capacity(chain),
            Filter::Windowed(set) => set.capacity(),
            Filter::Valkey(chain) => chain.parameters().capacity,
        };
        self.parameter(py, capacity, |file| first_capacity(file.chain()))
    }

    /// The probability of a false positive for which the filter was created.
    #[getter]
    fn error_rate(&self, py: Python<'_>) -> f64 {
        let error_rate = |filter: &Filter| match filter {
            Filter::Classic(chain) => chain.error_rate(),
            Filter::Windowed(set) => set.error_rate(),
            Filter::Valkey(chain) => chain.parameters().error_rate,
        };
        self.parameter(py, error_rate, |file| file.chain().error_rate())
    }

    /// The share of the bits that are set, from 0 to 1, in all sub-filters (`accuracy()["fill"]`); of those that count now, if the
    /// filter has a window. The cost is linear in the bytes of the filter. A filter with as many items as its capacity has 0.5.
    ///
    /// >>> seen = BloomFilter(1000, 0.001, nonscaling=True)
    /// >>> seen.fill
    /// 0.0
    /// >>> seen.update(range(1000))
    /// >>> round(seen.fill, 1)
    /// 0.5
    #[getter]
    fn fill(this: &Bound<'_, Self>) -> PyResult<f64> {
        let filter = Self::in_memory(this)?;
        let sketch = filter.get().sketch()?;
        Ok(this.py().detach(|| sketch.read(Variants::fill))?)
    }

    /// The growth factor; `None` if the filter does not grow.
    #[getter]
    fn expansion(&self, py: Python<'_>) -> Option<u32> {
        self.parameter(py, Filter::expansion, |file| expansion(file.chain()))
    }

    /// Whether the filter has the type of valkey-bloom.
    #[getter]
    fn valkey(&self, py: Python<'_>) -> bool {
        let is_valkey = |filter: &Filter| matches!(filter, Filter::Valkey(_));
        self.parameter(py, is_valkey, |_| false)
    }

    /// Whether the filter does not grow.
    #[getter]
    fn nonscaling(&self, py: Python<'_>) -> bool {
        self.expansion(py).is_none()
    }

    /// The fields of BF.INFO.
    ///
    /// >>> BloomFilter(1000).info()["Capacity"]
    /// 1000
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
        let read_file = |file: &ExternalChain| {
            when.panes(None)?;
            let (chain, size) = (file.chain(), file.nominal_bytes());
            let (filters, expansion) = (chain.filters().len(), expansion(chain));
            Ok((chain.items(), chain.capacity(), size, filters, expansion))
        };
        let (items, capacity, size, filters, expansion) = self.parameter(py, read, read_file)?;
        let info = PyDict::new(py);
        info.set_item("Capacity", capacity)?;
        info.set_item("Size", size)?;
        info.set_item("Number of filters", filters)?;
        info.set_item("Number of items inserted", items)?;
        info.set_item("Expansion rate", expansion)?;
        Ok(info)
    }
}

/// The capacity of the first sub-filter.
fn first_capacity(chain: &Chain) -> u64 {
    chain.filters().first().map_or(0, |first| first.capacity())
}

/// The growth factor; `None` if the filter does not grow.
fn expansion(chain: &Chain) -> Option<u32> {
    chain.is_scaling().then_some(chain.expansion())
}

impl BloomFilter {
    /// Adds all items, and appends to `new` which ones are new.
    fn add_all(
        &self,
        items: &Bound<'_, PyAny>,
        times: (Option<&Bound<'_, PyAny>>, bool),
        chunk: usize,
        new: &mut Option<Vec<bool>>,
    ) -> PyResult<()> {
        let add = |filter: &mut Filter, batch: &Batch, additions: &mut Additions| {
            filter.add_all(batch, additions, new)
        };
        add_items(self.sketch()?, items, times, chunk, add)
    }

    /// The path of a filter that stays in a file.
    pub fn path(&self) -> Option<&Path> {
        match &self.state {
            State::Memory(_) => None,
            State::File(file) => Some(file.path()),
        }
    }

    /// A filter that stays in a file.
    pub fn in_file(file: BloomFile) -> Self {
        Self {
            state: State::File(file),
        }
    }

    /// Calls a function with the filter in memory, or another one with the parameters of a filter in a file.
    fn parameter<R: Send>(
        &self,
        py: Python<'_>,
        of_filter: impl FnOnce(&Filter) -> R + Send,
        of_file: impl FnOnce(&ExternalChain) -> R,
    ) -> R {
        match &self.state {
            State::Memory(sketch) => sketch.peek(py, of_filter),
            State::File(file) => of_file(file.chain()),
        }
    }

    fn merge_all(
        &self,
        py: Python<'_>,
        others: &[Bound<'_, Self>],
        allow_rate: Option<f64>,
    ) -> PyResult<()> {
        merge(self, py, others, |destination, operands| {
            classic(destination)?;
            // The filter itself adds nothing.
            let others = operands.iter().flatten().map(|other| classic(other));
            let others = others.collect::<Result<Vec<_>, Error>>()?;
            if let Filter::Classic(chain) = destination {
                let rates = chain.merge_rates(&others)?;
                let usual_max = (FULL_TOLERANCE * chain.error_rate()).max(rates.full);
                let max = allow_rate.unwrap_or(usual_max.max(rates.before));
                if rates.merged > max {
                    return Err(too_many_false_positives(rates.merged, max));
                }
                chain.merge(&others, Budget::UNLIMITED)?;
            }
            Ok(())
        })
    }
}
