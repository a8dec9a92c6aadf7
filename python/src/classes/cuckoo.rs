//! `CuckooFilter`: the commands CF.

use crate::arguments::batch::{Batch, chunk_items, reserve};
use crate::arguments::items::are_several;
use crate::arguments::numpy_array::results;
use crate::arguments::scalars::{Integer, Real, checked_error_rate, in_range, integer};
use crate::error::Error;
use crate::sketch::additions::{Additions, add_items, add_one};
use crate::sketch::answers::answers;
use crate::sketch::class::{Base, Class, class};
use crate::sketch::lock::Shared;
use crate::sketch::variants::{Variants, either, variants};
use crate::sketch::window::{At, When, Within, new_seed, new_window};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyDict};
use roughly_sketch::cuckoo::{
    CuckooError, CuckooFilter as Cuckoo, DEFAULT_MAX_SUB_FILTERS, Duplicates, MAX_CAPACITY,
    MAX_EXPANSION, Parameters,
};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{self, CuckooWindow, CuckooWindowParameters};

variants! {
    /// A cuckoo filter.
    Filter {
        Classic(Cuckoo),
        Windowed(CuckooWindow),
    }
}

impl From<CuckooError> for Error {
    fn from(error: CuckooError) -> Self {
        match error {
            CuckooError::Full => Self::value("Filter is full"),
            CuckooError::Parameters(_) => Self::value("could not create filter"),
            CuckooError::OutOfMemory(error) => error.into(),
        }
    }
}

impl Filter {
    fn contains(&self, item: &[u8], panes: Panes) -> bool {
        match self {
            Self::Classic(filter) => filter.contains(item),
            Self::Windowed(filter) => filter.contains(item, panes),
        }
    }

    fn items(&self, panes: Panes) -> u64 {
        match self {
            Self::Classic(filter) => filter.items(),
            Self::Windowed(filter) => filter.items(panes),
        }
    }

    /// Bucket size, iterations and expansion.
    fn parameters(&self) -> (u8, u16, u32) {
        match self {
            Self::Classic(filter) => {
                let parameters = filter.parameters();
                let expansion = parameters.expansion.into();
                (parameters.bucket_size, parameters.max_iterations, expansion)
            }
            Self::Windowed(filter) => (
                filter.bucket_size(),
                filter.max_iterations(),
                filter.expansion(),
            ),
        }
    }

    /// Adds an item with the function of its type.
    fn add_with<R>(
        &mut self,
        additions: &mut Additions,
        classic: impl FnOnce(&mut Cuckoo) -> Result<R, CuckooError>,
        unchanged: impl FnOnce(&CuckooWindow, Panes) -> Option<Result<R, window_filter::Error>>,
        windowed: impl FnOnce(&mut CuckooWindow) -> Result<R, window_filter::Error>,
    ) -> Result<R, Error> {
        match self {
            Self::Classic(filter) => {
                check_limit(filter.num_sub_filters())?;
                Ok(classic(filter)?)
            }
            Self::Windowed(filter) => additions.add_one(&mut **filter, |filter, advance| {
                let unchanged = advance.unless(filter, |filter, later| {
                    match check_limit(filter.num_sub_filters_in(later)) {
                        Err(error) => Some(Err(error)),
                        Ok(()) => {
                            unchanged(filter, later).map(|result| result.map_err(window_error))
                        }
                    }
                });
                unchanged.unwrap_or_else(|| {
                    check_limit(filter.num_sub_filters())?;
                    windowed(filter).map_err(window_error)
                })
            }),
        }
    }

    fn add(&mut self, item: &[u8], additions: &mut Additions) -> Result<(), Error> {
        self.add_with(
            additions,
            |filter| filter.insert(item, Budget::UNLIMITED),
            |filter, later| {
                let unchanged = filter.unchanged_by(item, Duplicates::Insert, later);
                unchanged.map(|added| added.map(drop))
            },
            |filter| filter.insert_item(item, Budget::UNLIMITED),
        )
    }

    fn add_new(&mut self, item: &[u8], additions: &mut Additions) -> Result<bool, Error> {
        self.add_with(
            additions,
            |filter| filter.insert_if(item, Duplicates::Skip, Budget::UNLIMITED),
            |filter, later| filter.unchanged_by(item, Duplicates::Skip, later),
            |filter| filter.insert_if(item, Duplicates::Skip, Budget::UNLIMITED),
        )
    }

    /// Adds all items, or those that the filter does not contain. Passes to `on_result` whether each was added; an error does not stop the
    /// rest.
    fn add_all(
        &mut self,
        batch: &Batch,
        only_new: bool,
        additions: &mut Additions,
        is_checked: &mut bool,
        on_result: &mut impl FnMut(Result<bool, Error>),
    ) -> Result<(), Error> {
        let budget = Budget::UNLIMITED;
        let duplicates = match only_new {
            true => Duplicates::Skip,
            false => Duplicates::Insert,
        };
        match self {
            Self::Classic(filter) => {
                filter.insert_each(batch.iter(), duplicates, budget, |added| {
                    on_result(added.map_err(Error::from));
                });
                Ok(())
            }
            Self::Windowed(filter) => {
                additions.add(&mut **filter, batch.len(), |filter, range, advance| {
                    let items = batch.range(range);
                    let unchanged = advance.unless(filter, |filter, later| {
                        if !*is_checked
                            && let Err(error) = check_limit(filter.num_sub_filters_in(later))
                        {
                            return Some(Err(error));
                        }
                        let are_unchanged = (items.clone())
                            .all(|item| filter.unchanged_by(item, duplicates, later).is_some());
                        are_unchanged.then_some(Ok(later))
                    });
                    if let Some(later) = unchanged.transpose()? {
                        items
                            .filter_map(|item| filter.unchanged_by(item, duplicates, later))
                            .for_each(|added| on_result(added.map_err(window_error)));
                        return Ok(());
                    }
                    if !*is_checked {
                        check_limit(filter.num_sub_filters())?;
                        *is_checked = true;
                    }
                    filter.insert_each(items, duplicates, budget, |added| {
                        on_result(added.map_err(window_error));
                    });
                    Ok(())
                })
            }
        }
    }
}

/// Checks that a filter with so many sub-filters may get more items. The server checks it once per command.
fn check_limit(sub_filters: usize) -> Result<(), Error> {
    match sub_filters as u64 >= DEFAULT_MAX_SUB_FILTERS {
        true => Err(Error::value("Maximum expansions reached")),
        false => Ok(()),
    }
}

/// The error of a filter with a window.
fn window_error(error: window_filter::Error) -> Error {
    match error {
        window_filter::Error::Full => CuckooError::Full.into(),
        window_filter::Error::Parameters => Error::value("could not create filter"),
        window_filter::Error::OutOfMemory(error) => error.into(),
    }
}

/// A cuckoo filter: a set of items from which items can be removed, with some false positives (CF.RESERVE).
///
/// `capacity` is the number of items, 2 * `bucket_size` to 2**30. `bucket_size`, 1 to 255, is the number of slots of a bucket, and
/// `max_iterations`, 1 to 65535, that of the attempts to find a slot. A full filter gets another sub-filter of `expansion` times
/// the capacity; with an `expansion` of 0, it raises `ValueError`. `window`, `panes` and `seed` are those of `BloomFilter`. With
/// `window`, `error_rate` is the probability of a false positive, in (0, 1); by default it is at most 2 * `bucket_size` / 255 per
/// sub-filter.
///
/// Raises `ValueError` with the text of the command for a parameter that is out of range, and `MemoryError`.
///
/// >>> stock = CuckooFilter(1000)
/// >>> stock.add("apple")
/// >>> stock.add_new("apple"), stock.add_new("pear")
/// (False, True)
/// >>> stock.remove("apple"), "apple" in stock, len(stock)
/// (True, False, 1)
#[pyclass(module = "roughly", frozen, extends = Base)]
pub struct CuckooFilter {
    sketch: Shared<Filter>,
}

class!(CuckooFilter of Filter: "capacity", "bucket_size", "max_iterations", "expansion", "len", "error_rate");

#[pymethods]
impl CuckooFilter {
    #[new]
    #[pyo3(signature = (
        capacity = 1024, *, bucket_size = 2, max_iterations = 20, expansion = 1, window = None, panes = None, error_rate = None, seed = None
    ))]
    #[allow(clippy::too_many_arguments)] // Most have a default.
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = integer)] capacity: i64,
        #[pyo3(from_py_with = integer)] bucket_size: i64,
        #[pyo3(from_py_with = integer)] max_iterations: i64,
        #[pyo3(from_py_with = integer)] expansion: i64,
        window: Option<Integer>,
        panes: Option<Integer>,
        error_rate: Option<Real>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let parameters = Parameters {
            max_iterations: in_range(
                max_iterations,
                1..=65535,
                "MAXITERATIONS: value must be in the range [1, 65535]",
            )?,
            bucket_size: in_range(
                bucket_size,
                1..=255,
                "BUCKETSIZE: value must be in the range [1, 255]",
            )?,
            expansion: in_range(
                expansion,
                0..=MAX_EXPANSION.into(),
                "EXPANSION: value must be in the range [0, 32768]",
            )?,
        };
        let capacity = in_range(
            capacity,
            2 * i64::from(parameters.bucket_size)..=MAX_CAPACITY as i64,
            "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
        )?;
        if window.is_none() && error_rate.is_some() {
            return Err(Error::Type("error_rate requires window".into()).into());
        }
        if let Some(window) = new_window::<CuckooWindow>(window, panes, None, seed.is_some())? {
            let error_rate = error_rate.map(|Real(rate)| checked_error_rate(rate));
            let error_rate = error_rate.transpose()?;
            let parameters = CuckooWindowParameters {
                seed: new_seed(py, seed)?,
                capacity,
                error_rate,
                bucket_size: parameters.bucket_size,
                max_iterations: parameters.max_iterations,
                expansion: parameters.expansion.into(),
            };
            let filter = py.detach(|| CuckooWindow::new(window, &parameters, Budget::UNLIMITED));
            let filter = filter.map_err(window_error)?;
            return Ok(Self::of(Filter::Windowed(filter.into())));
        }
        let filter = py.detach(|| Cuckoo::new(capacity, parameters, Budget::UNLIMITED));
        let filter = filter.map_err(Error::from)?;
        Ok(Self::of(Filter::Classic(filter.into())))
    }

    /// Adds an item, also if the filter contains it (CF.ADD). `at` is the time of the addition to a filter with a window, in Unix
    /// seconds or as a `datetime` with a time zone, by default now. `ValueError` if it is before the newest pane or, without
    /// `allow_future`, more than one pane ahead of the clock, for NaN as an item, and if the filter is full.
    ///
    /// >>> stock = CuckooFilter()
    /// >>> stock.add("apple")
    /// >>> stock.add("apple")
    /// >>> stock.count("apple")
    /// 2
    #[pyo3(signature = (item, *, at = None, allow_future = false))]
    fn add(&self, item: &Bound<'_, PyAny>, at: Option<At>, allow_future: bool) -> PyResult<()> {
        add_one(&self.sketch, item, (at, allow_future), Filter::add)
    }

    /// Adds an item unless the filter contains it (CF.ADDNX). Returns whether it was added. `at` and `allow_future` are those of
    /// `add`.
    ///
    /// Of several items, as those of `update`, adds those that the filter does not contain (CF.INSERTNX), and returns which ones were added: a
    /// NumPy array, or a list without NumPy. Of an item that occurs several times, the first one is added.
    ///
    /// >>> stock = CuckooFilter()
    /// >>> stock.add_new("apple"), stock.add_new("apple")
    /// (True, False)
    /// >>> [bool(is_new) for is_new in stock.add_new(["apple", "pear", "pear"])]
    /// [False, True, False]
    #[pyo3(signature = (item, *, at = None, allow_future = false, chunk = 4096))]
    fn add_new<'py>(
        &self,
        item: &Bound<'py, PyAny>,
        at: Option<&Bound<'py, PyAny>>,
        allow_future: bool,
        #[pyo3(from_py_with = chunk_items)] chunk: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = item.py();
        if !are_several(item)? {
            let at = at.map(|at| at.extract()).transpose()?;
            let is_new = add_one(&self.sketch, item, (at, allow_future), Filter::add_new)?;
            return Ok(PyBool::new(py, is_new).to_owned().into_any());
        }
        let mut new = Vec::new();
        self.add_all(item, (at, allow_future), chunk, Some(&mut new))?;
        results(py, new)
    }

    /// Removes one occurrence of an item, the oldest of a filter with a window (CF.DEL). Returns whether there was one. `at`
    /// and `allow_future` are those of `add`.
    ///
    /// >>> stock = CuckooFilter()
    /// >>> stock.add("apple")
    /// >>> stock.remove("apple"), stock.remove("apple")
    /// (True, False)
    #[pyo3(signature = (item, *, at = None, allow_future = false))]
    fn remove(
        &self,
        item: &Bound<'_, PyAny>,
        at: Option<At>,
        allow_future: bool,
    ) -> PyResult<bool> {
        add_one(
            &self.sketch,
            item,
            (at, allow_future),
            |filter, item, additions| match filter {
                Filter::Classic(filter) => Ok(filter.delete(item, Budget::UNLIMITED)),
                Filter::Windowed(filter) => additions.add_one(&mut **filter, |filter, advance| {
                    let is_missing = |filter: &CuckooWindow, later| {
                        (!filter.contains(item, later)).then_some(false)
                    };
                    let unchanged = advance.unless(filter, is_missing);
                    Ok(unchanged.unwrap_or_else(|| filter.delete(item)))
                }),
            },
        )
    }

    /// Adds all items of an iterable, an array or a column (CF.INSERT). At most `chunk` items of an iterable are read before they
    /// are added, 1 to 4,096. `at` is the time of the additions to a filter with a window, or an array with a time for each item.
    /// `allow_future` is that of `add`. If the filter is full for some items, the others are added and then
    /// `ValueError` is raised.
    ///
    /// >>> stock = CuckooFilter()
    /// >>> stock.update(["apple", "pear"])
    /// >>> len(stock)
    /// 2
    #[pyo3(signature = (items, *, at = None, allow_future = false, chunk = 4096))]
    fn update(
        &self,
        items: &Bound<'_, PyAny>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        #[pyo3(from_py_with = chunk_items)] chunk: usize,
    ) -> PyResult<()> {
        self.add_all(items, (at, allow_future), chunk, None)
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        (self.sketch).peek_item(item, When::default(), Filter::contains)
    }

    /// Whether each item may have been added (CF.MEXISTS): a NumPy array, or a list without NumPy.
    ///
    /// >>> stock = CuckooFilter()
    /// >>> stock.update(["apple", "pear"])
    /// >>> [bool(found) for found in stock.contains(["apple", "plum"])]
    /// [True, False]
    #[pyo3(signature = (items, *, at = None, within = None))]
    fn contains<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let read = |filter: &Filter, batch: &Batch, panes, found: &mut Vec<bool>| {
            let push = |is_found| found.push(is_found);
            match filter {
                Filter::Classic(filter) => filter.contains_each(batch.iter(), push),
                Filter::Windowed(filter) => filter.contains_each(batch.iter(), panes, push),
            }
        };
        answers(&self.sketch, items, When::new(at, within), read)
    }

    /// How often an item may have been added (CF.COUNT).
    ///
    /// >>> stock = CuckooFilter()
    /// >>> stock.update(["apple", "pear", "apple"])
    /// >>> stock.count("apple"), stock.count("plum")
    /// (2, 0)
    #[pyo3(signature = (item, *, at = None, within = None))]
    fn count(
        &self,
        item: &Bound<'_, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<u64> {
        let count = |filter: &Filter, item: &[u8], panes| match filter {
            Filter::Classic(filter) => filter.count(item),
            Filter::Windowed(filter) => filter.count(item, panes),
        };
        (self.sketch).peek_item(item, When::new(at, within), count)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let items = self.sketch.peek_at(py, When::default(), Filter::items);
        Ok(usize::try_from(items?)?)
    }

    /// The fields of CF.INFO.
    ///
    /// >>> CuckooFilter(1024).info()["Number of buckets"]
    /// 512
    #[pyo3(signature = (*, at = None, within = None))]
    fn info<'py>(
        &self,
        py: Python<'py>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let read = |filter: &Filter, panes| {
            let items = filter.items(panes);
            let (bucket_size, max_iterations, expansion) = filter.parameters();
            let size = match filter {
                Filter::Classic(filter) => filter.nominal_bytes(),
                Filter::Windowed(filter) => filter.slot_bytes(),
            };
            either!(Filter, filter, |filter| [
                ("Size", size),
                ("Number of buckets", filter.num_buckets()),
                ("Number of filters", filter.num_sub_filters() as u64),
                ("Number of items inserted", items),
                ("Number of items deleted", filter.deletes()),
                ("Bucket size", bucket_size.into()),
                ("Expansion rate", expansion.into()),
                ("Max iterations", max_iterations.into()),
            ])
        };
        let fields: [(&str, u64); 8] = self.sketch.peek_at(py, When::new(at, within), read)?;
        fields.into_py_dict(py)
    }

    /// The number of slots of the first sub-filter, at least the capacity for which the filter was created; with a window, that
    /// capacity.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> u64 {
        self.sketch.peek(py, |filter| match filter {
            Filter::Classic(filter) => {
                filter.num_buckets() * u64::from(filter.parameters().bucket_size)
            }
            Filter::Windowed(filter) => filter.capacity(),
        })
    }

    /// The error rate of a filter with a window that was created for one; `None` if each sub-filter has that of its bucket size.
    #[getter]
    fn error_rate(&self, py: Python<'_>) -> Option<f64> {
        self.sketch.peek(py, |filter| match filter {
            Filter::Classic(_) => None,
            Filter::Windowed(filter) => filter.error_rate(),
        })
    }

    /// The share of the slots in use, from 0 to 1, in all sub-filters (`accuracy()["fill"]`); of those that count now, if the
    /// filter has a window. The cost is linear in the bytes of the filter.
    ///
    /// >>> seen = CuckooFilter(1024)
    /// >>> seen.update(range(512))
    /// >>> seen.fill
    /// 0.5
    #[getter]
    fn fill(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(py.detach(|| self.sketch.read(Variants::fill))?)
    }

    /// The number of slots of a bucket.
    #[getter]
    fn bucket_size(&self, py: Python<'_>) -> u8 {
        self.sketch.peek(py, Filter::parameters).0
    }

    /// The number of attempts to find a slot.
    #[getter]
    fn max_iterations(&self, py: Python<'_>) -> u16 {
        self.sketch.peek(py, Filter::parameters).1
    }

    /// The growth factor; 0 if the filter does not grow.
    #[getter]
    fn expansion(&self, py: Python<'_>) -> u32 {
        self.sketch.peek(py, Filter::parameters).2
    }
}

impl CuckooFilter {
    /// Adds all items, or with `new` those that the filter does not contain, and appends to `new` which ones were added.
    fn add_all(
        &self,
        items: &Bound<'_, PyAny>,
        times: (Option<&Bound<'_, PyAny>>, bool),
        chunk: usize,
        mut new: Option<&mut Vec<bool>>,
    ) -> PyResult<()> {
        self.sketch.peek(items.py(), |filter| match filter {
            Filter::Classic(filter) => check_limit(filter.num_sub_filters()),
            // Panes that expire can remove sub-filters.
            Filter::Windowed(_) => Ok(()),
        })?;
        let mut is_checked = false;
        let mut result: Result<(), Error> = Ok(());
        add_items(
            &self.sketch,
            items,
            times,
            chunk,
            |filter, batch, additions| {
                let mut memory = Ok(());
                if let Some(new) = &mut new {
                    reserve(new, batch.len())?;
                }
                let only_new = new.is_some();
                let mut on_result = |added: Result<bool, Error>| {
                    if let Some(new) = &mut new {
                        new.push(matches!(added, Ok(true)));
                    }
                    match added {
                        Err(Error::OutOfMemory(error)) => memory = Err(error.into()),
                        Err(error) => result = Err(error),
                        Ok(_) => {}
                    }
                };
                filter.add_all(batch, only_new, additions, &mut is_checked, &mut on_result)?;
                memory
            },
        )?;
        Ok(result?)
    }
}
