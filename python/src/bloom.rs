//! `BloomFilter`: the commands BF.

use crate::error::{Error, READ_ONLY};
use crate::items::{for_each_batch, reserve, with_bytes};
use crate::numbers::Integer;
use crate::numpy_array::results;
use crate::sketch::{Variants, class, variants};
use crate::window::At;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use roughly_sketch::bloom::{self, Chain, MAX_CAPACITY, MAX_ERROR_RATE, MAX_EXPANSION, Parameters};
use roughly_sketch::chain::batch::Additions;
use roughly_sketch::memory::Budget;
use roughly_sketch::valkey_bloom::{self, DEFAULT_MAX_SIZE, ValkeyChain};
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::WindowSet;

variants! {
    /// A Bloom filter.
    Filter {
        Classic(Chain),
        Windowed(WindowSet),
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

impl Filter {
    fn items(&self, panes: Panes) -> u64 {
        match self {
            Self::Classic(chain) => chain.items(),
            Self::Windowed(set) => set.items(panes),
            Self::Valkey(chain) => chain.items(),
        }
    }

    fn add(&mut self, item: &[u8]) -> Result<bool, Error> {
        match self {
            Self::Classic(chain) => Ok(chain.add(item, (), Budget::UNLIMITED)?),
            Self::Windowed(_) => Err(READ_ONLY),
            Self::Valkey(chain) => Ok(chain.add(item, DEFAULT_MAX_SIZE, Budget::UNLIMITED)?),
        }
    }

    fn add_all<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> Result<(), Error> {
        match self {
            Self::Classic(chain) => {
                let mut additions = Additions::new(items, (), chain);
                while let Some(added) = additions.add_next(Budget::UNLIMITED) {
                    added?;
                }
            }
            Self::Windowed(_) => return Err(READ_ONLY),
            Self::Valkey(chain) => {
                let mut additions = Additions::new(items, DEFAULT_MAX_SIZE, chain);
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

/// A Bloom filter.
#[pyclass(module = "roughly")]
pub struct BloomFilter {
    sketch: Filter,
}

class!(BloomFilter of Filter);

#[pymethods]
impl BloomFilter {
    #[new]
    #[pyo3(signature = (
        capacity = Integer(Parameters::DEFAULT.capacity as i64),
        error_rate = Parameters::DEFAULT.error_rate,
        *,
        expansion = None,
        nonscaling = false,
    ), text_signature = "(capacity=100, error_rate=0.01, *, expansion=None, nonscaling=False)")]
    fn new(
        py: Python<'_>,
        capacity: Integer,
        error_rate: f64,
        expansion: Option<Integer>,
        nonscaling: bool,
    ) -> PyResult<Self> {
        let Integer(capacity) = capacity;
        if !(error_rate > 0.0 && error_rate < 1.0) {
            let text = "error rate must be in the range (0.000000, 1.000000)";
            return Err(Error::value(text).into());
        }
        let in_range = u64::try_from(capacity).ok();
        let in_range = in_range.filter(|capacity| (1..=MAX_CAPACITY).contains(capacity));
        let capacity = in_range.ok_or(Error::value(
            "capacity must be in the range [1, 1073741824]",
        ))?;
        if nonscaling && expansion.as_ref().is_some_and(|factor| factor.0 != 0) {
            return Err(Error::value("Nonscaling filters cannot expand").into());
        }
        let expansion = expansion.map(|Integer(factor)| {
            let factor = u32::try_from(factor).ok();
            let factor = factor.filter(|&factor| factor <= MAX_EXPANSION);
            factor.ok_or(Error::value("expansion must be in the range [0, 32768]"))
        });
        let expansion = expansion
            .transpose()?
            .unwrap_or(Parameters::DEFAULT.expansion);
        let parameters = Parameters {
            capacity,
            error_rate: error_rate.min(MAX_ERROR_RATE),
            expansion,
            scaling: !nonscaling && expansion != 0,
        };
        let chain = py.detach(|| Chain::new(&parameters, Budget::UNLIMITED));
        let chain = chain.map_err(|error| match error {
            bloom::Error::OutOfMemory(error) => error.into(),
            bloom::Error::Shape | bloom::Error::Full => Error::value("could not create filter"),
        })?;
        Ok(Self {
            sketch: Filter::Classic(chain.into()),
        })
    }

    /// Adds an item. Returns whether it is new (BF.ADD).
    fn add(&mut self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(with_bytes(item, |item| self.sketch.add(item))??)
    }

    /// Adds all items of an iterable or a NumPy array (BF.MADD).
    fn update(&mut self, items: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Filter::Windowed(_) = self.sketch {
            return Err(READ_ONLY.into());
        }
        for_each_batch(items, |batch| self.sketch.add_all(batch.iter()))
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let panes = self.sketch.panes(None)?;
        with_bytes(item, |item| self.sketch.contains(item, panes))
    }

    /// Whether each item may have been added (BF.MEXISTS).
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
            self.sketch.contains_each(batch.iter(), panes, push);
            Ok(())
        })?;
        results(items.py(), found)
    }

    fn __len__(&self) -> PyResult<usize> {
        let items = self.sketch.items(self.sketch.panes(None)?);
        Ok(usize::try_from(items)?)
    }

    /// The fields of BF.INFO.
    #[pyo3(signature = (*, at = None))]
    fn info<'py>(&self, py: Python<'py>, at: Option<At>) -> PyResult<Bound<'py, PyDict>> {
        let items = self.sketch.items(self.sketch.panes(at)?);
        let (capacity, size, filters, expansion) = match &self.sketch {
            Filter::Classic(chain) => (
                chain.capacity(),
                bloom::nominal_bytes(chain.filters().len(), chain.bit_bytes()),
                chain.filters().len(),
                chain.is_scaling().then_some(chain.expansion()),
            ),
            Filter::Windowed(set) => (
                set.grown_capacity(),
                bloom::nominal_bytes(set.num_sub_filters(), set.slot_bytes()),
                set.num_sub_filters(),
                Some(set.expansion()).filter(|&factor| factor != 0),
            ),
            Filter::Valkey(chain) => (
                chain.capacity(),
                chain.size(),
                chain.filters().len(),
                Some(chain.parameters().expansion).filter(|&factor| factor != 0),
            ),
        };
        let info = PyDict::new(py);
        info.set_item("Capacity", capacity)?;
        info.set_item("Size", size)?;
        info.set_item("Number of filters", filters)?;
        info.set_item("Number of items inserted", items)?;
        info.set_item("Expansion rate", expansion)?;
        Ok(info)
    }
}
