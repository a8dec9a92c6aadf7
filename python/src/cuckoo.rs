//! `CuckooFilter`: the commands CF.

use crate::error::Error;
use crate::items::{for_each_batch, reserve, with_bytes};
use crate::numbers::Integer;
use crate::numpy_array::results;
use crate::sketch::{Variants, Writable, class, variants};
use crate::window::At;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use roughly_sketch::cuckoo::{
    CuckooError, CuckooFilter as Cuckoo, DEFAULT_CAPACITY, DEFAULT_MAX_SUB_FILTERS, MAX_CAPACITY,
    MAX_EXPANSION, Parameters,
};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::WindowMultiset;

variants! {
    /// A cuckoo filter.
    Filter {
        Classic(Cuckoo),
        Windowed(WindowMultiset),
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
}

/// Checks that a filter may get more items. The server checks it once per command.
fn check_limit(filter: &Cuckoo) -> Result<(), Error> {
    match filter.num_sub_filters() as u64 >= DEFAULT_MAX_SUB_FILTERS {
        true => Err(Error::value("Maximum expansions reached")),
        false => Ok(()),
    }
}

/// A number in a range.
fn in_range<T: TryFrom<i64>>(
    number: i64,
    range: std::ops::RangeInclusive<i64>,
    text: &'static str,
) -> Result<T, Error> {
    let number = Some(number).filter(|number| range.contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or(Error::value(text))
}

/// A cuckoo filter.
#[pyclass(module = "roughly")]
pub struct CuckooFilter {
    sketch: Filter,
}

class!(CuckooFilter of Filter);

#[pymethods]
impl CuckooFilter {
    #[new]
    #[pyo3(signature = (
        capacity = Integer(DEFAULT_CAPACITY as i64),
        *,
        bucket_size = Integer(Parameters::DEFAULT.bucket_size.into()),
        max_iterations = Integer(Parameters::DEFAULT.max_iterations.into()),
        expansion = Integer(Parameters::DEFAULT.expansion.into()),
    ), text_signature = "(capacity=1024, *, bucket_size=2, max_iterations=20, expansion=1)")]
    fn new(
        py: Python<'_>,
        capacity: Integer,
        bucket_size: Integer,
        max_iterations: Integer,
        expansion: Integer,
    ) -> PyResult<Self> {
        let Integer(capacity) = capacity;
        let Integer(bucket_size) = bucket_size;
        let Integer(max_iterations) = max_iterations;
        let Integer(expansion) = expansion;
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
            2 * bucket_size..=MAX_CAPACITY as i64,
            "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
        )?;
        let filter = py.detach(|| Cuckoo::new(capacity, parameters, Budget::UNLIMITED));
        Ok(Self {
            sketch: Filter::Classic(filter.map_err(Error::from)?.into()),
        })
    }

    /// Adds an item, also if the filter contains it (CF.ADD).
    fn add(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let filter = self.sketch.writable()?;
        check_limit(filter)?;
        let added = with_bytes(item, |item| filter.insert(item, Budget::UNLIMITED))?;
        Ok(added.map_err(Error::from)?)
    }

    /// Adds an item unless the filter contains it (CF.ADDNX). Returns whether it was added.
    fn add_new(&mut self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let filter = self.sketch.writable()?;
        check_limit(filter)?;
        let added = with_bytes(item, |item| filter.insert_unique(item, Budget::UNLIMITED))?;
        Ok(added.map_err(Error::from)?)
    }

    /// Removes one occurrence of an item (CF.DEL). Returns whether there was one.
    fn remove(&mut self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let filter = self.sketch.writable()?;
        with_bytes(item, |item| filter.delete(item, Budget::UNLIMITED))
    }

    /// Adds all items of an iterable or a NumPy array (CF.INSERT). If the filter is full for some of them, the others are
    /// added.
    fn update(&mut self, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let filter = self.sketch.writable()?;
        check_limit(filter)?;
        let mut result: Result<(), Error> = Ok(());
        for_each_batch(items, |batch| {
            let mut memory = Ok(());
            filter.insert_each(batch.iter(), Budget::UNLIMITED, |added| match added {
                Err(CuckooError::OutOfMemory(error)) => memory = Err(error.into()),
                Err(error) => result = Err(error.into()),
                Ok(_) => {}
            });
            memory
        })?;
        Ok(result?)
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let panes = self.sketch.panes(None)?;
        with_bytes(item, |item| self.sketch.contains(item, panes))
    }

    /// Whether each item may have been added (CF.MEXISTS).
    #[pyo3(signature = (items, *, at = None))]
    fn contains<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        at: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let panes = self.sketch.panes(at)?;
        let mut found = Vec::new();
        for_each_batch(items, |batch| {
            reserve(&mut found, batch.len())?;
            let push = |is_found| found.push(is_found);
            match &self.sketch {
                Filter::Classic(filter) => filter.contains_each(batch.iter(), push),
                Filter::Windowed(filter) => filter.contains_each(batch.iter(), panes, push),
            }
            Ok(())
        })?;
        results(items.py(), found)
    }

    /// How often an item may have been added (CF.COUNT).
    #[pyo3(signature = (item, *, at = None))]
    fn count(&self, item: &Bound<'_, PyAny>, at: Option<At>) -> PyResult<u64> {
        let panes = self.sketch.panes(at)?;
        with_bytes(item, |item| match &self.sketch {
            Filter::Classic(filter) => filter.count(item),
            Filter::Windowed(filter) => filter.count(item, panes),
        })
    }

    fn __len__(&self) -> PyResult<usize> {
        let items = self.sketch.items(self.sketch.panes(None)?);
        Ok(usize::try_from(items)?)
    }

    /// The fields of CF.INFO.
    #[pyo3(signature = (*, at = None))]
    fn info<'py>(&self, py: Python<'py>, at: Option<At>) -> PyResult<Bound<'py, PyDict>> {
        let items = self.sketch.items(self.sketch.panes(at)?);
        let fields: [(&str, u64); 8] = match &self.sketch {
            Filter::Classic(filter) => [
                ("Size", filter.nominal_bytes()),
                ("Number of buckets", filter.num_buckets()),
                ("Number of filters", filter.num_sub_filters() as u64),
                ("Number of items inserted", items),
                ("Number of items deleted", filter.deletes()),
                ("Bucket size", filter.parameters().bucket_size.into()),
                ("Expansion rate", filter.parameters().expansion.into()),
                ("Max iterations", filter.parameters().max_iterations.into()),
            ],
            Filter::Windowed(filter) => [
                ("Size", filter.slot_bytes()),
                ("Number of buckets", filter.num_buckets()),
                ("Number of filters", filter.num_sub_filters() as u64),
                ("Number of items inserted", items),
                ("Number of items deleted", filter.deletes()),
                ("Bucket size", filter.bucket_size().into()),
                ("Expansion rate", filter.expansion().into()),
                ("Max iterations", filter.max_iterations().into()),
            ],
        };
        let info = PyDict::new(py);
        for (name, value) in fields {
            info.set_item(name, value)?;
        }
        Ok(info)
    }
}
