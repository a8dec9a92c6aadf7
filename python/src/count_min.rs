//! `CountMinSketch`: the commands CMS.

use crate::error::Error;
use crate::items::{for_each_batch, reserve, with_bytes};
use crate::numbers::{Counts, Integer};
use crate::numpy_array::results;
use crate::sketch::{Variants, Writable, class, variants};
use crate::window::At;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use roughly_sketch::count_min::{
    CellSize, CountMin, CountMinError, CountMinWindow, MergeSource, dimensions_for,
};
use roughly_sketch::memory::Budget;

variants! {
    /// A count-min sketch.
    Counter {
        Classic(CountMin),
        Windowed(CountMinWindow),
    }
}

impl From<CountMinError> for Error {
    fn from(error: CountMinError) -> Self {
        Self::value(match error {
            CountMinError::OutOfMemory(error) => return error.into(),
            CountMinError::Underflow => "CMS: INCRBY underflow",
            CountMinError::DimensionMismatch => "CMS: width/depth is not equal",
            CountMinError::CellSizeMismatch => "CMS: cell size is not equal",
            CountMinError::MergeOverflow => "CMS: MERGE overflow",
            CountMinError::InvalidDimensions => "CMS: invalid init arguments",
            _ => "CMS: INCRBY overflow",
        })
    }
}

/// A positive number.
fn positive(number: i64, text: &'static str) -> Result<u64, Error> {
    let number = u64::try_from(number).ok().filter(|&number| number > 0);
    number.ok_or(Error::value(text))
}

/// A number between 0 and 1.
fn fraction(number: f64, text: &'static str) -> Result<f64, Error> {
    let number = Some(number).filter(|&number| number > 0.0 && number < 1.0);
    number.ok_or(Error::value(text))
}

/// A count-min sketch.
#[pyclass(module = "roughly")]
pub struct CountMinSketch {
    sketch: Counter,
}

class!(CountMinSketch of Counter);

#[pymethods]
impl CountMinSketch {
    #[new]
    #[pyo3(signature = (
        width = None,
        depth = None,
        *,
        error = None,
        probability = None,
        cell_size = Integer(CellSize::default().bytes() as i64),
    ), text_signature = "(width=None, depth=None, *, error=None, probability=None, cell_size=4)")]
    fn new(
        py: Python<'_>,
        width: Option<Integer>,
        depth: Option<Integer>,
        error: Option<f64>,
        probability: Option<f64>,
        cell_size: Integer,
    ) -> PyResult<Self> {
        let Integer(cell_size) = cell_size;
        let dimensions = match (width, depth, error, probability) {
            (Some(Integer(width)), Some(Integer(depth)), None, None) => Ok((
                positive(width, "CMS: invalid width")?,
                positive(depth, "CMS: invalid depth")?,
            )),
            (None, None, Some(error), Some(probability)) => dimensions_for(
                fraction(error, "CMS: invalid overestimation value")?,
                fraction(probability, "CMS: invalid prob value")?,
            ),
            _ => {
                let text = "either width and depth, or error and probability are required";
                return Err(Error::Type(text).into());
            }
        };
        let cell_size = u64::try_from(cell_size).ok().and_then(CellSize::from_bytes);
        let cell_size = cell_size.ok_or(Error::value("CMS: invalid cell size"))?;
        let (width, depth) = dimensions.map_err(Error::from)?;
        let sketch = py.detach(|| CountMin::new(width, depth, cell_size, Budget::UNLIMITED));
        Ok(Self {
            sketch: Counter::Classic(sketch.map_err(Error::from)?.into()),
        })
    }

    /// Adds n to the count of an item (CMS.INCRBY). Returns its estimate.
    #[pyo3(signature = (item, n = Integer(1)), text_signature = "($self, item, n=1)")]
    fn add(&mut self, item: &Bound<'_, PyAny>, n: Integer) -> PyResult<u64> {
        let Integer(n) = n;
        let sketch = self.sketch.writable()?;
        let estimate = with_bytes(item, |item| sketch.increment(item, n))?;
        Ok(estimate.map_err(Error::from)?)
    }

    /// Adds counts to items: one for all, or one for each (CMS.INCRBY). If the count of some of them would overflow or
    /// underflow, the others are added.
    #[pyo3(signature = (items, counts = None))]
    fn update(
        &mut self,
        items: &Bound<'_, PyAny>,
        counts: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let sketch = self.sketch.writable()?;
        let counts = counts.map_or(Ok(Counts::All(1)), Counts::of)?;
        let mut counts = counts.reader()?;
        let mut result: Result<(), Error> = Ok(());
        for_each_batch(items, |batch| {
            let items = batch.iter();
            let counts = counts.next(items.len())?;
            sketch.increment_all(items.zip(counts), |_, estimate| {
                if let (Err(error), Ok(())) = (estimate, &result) {
                    result = Err(error.into());
                }
            });
            Ok(())
        })?;
        counts.finish()?;
        Ok(result?)
    }

    /// The estimate of each item (CMS.QUERY).
    #[pyo3(signature = (items, *, at = None))]
    fn query<'py>(&self, items: &Bound<'py, PyAny>, at: Option<At>) -> PyResult<Bound<'py, PyAny>> {
        let panes = self.sketch.panes(at)?;
        let mut estimates = Vec::new();
        for_each_batch(items, |batch| {
            reserve(&mut estimates, batch.len())?;
            let push = |estimate| estimates.push(estimate);
            match &self.sketch {
                Counter::Classic(sketch) => sketch.query_all(batch.iter(), push),
                Counter::Windowed(sketch) => sketch.query_all(batch.iter(), panes, push),
            }
            Ok(())
        })?;
        results(items.py(), estimates)
    }

    /// Adds the counts of another sketch, multiplied by a weight (CMS.MERGE).
    #[pyo3(
        signature = (other, weight = Integer(1)),
        text_signature = "($self, other, weight=1)",
    )]
    fn merge(this: &Bound<'_, Self>, other: &Bound<'_, Self>, weight: Integer) -> PyResult<()> {
        let Integer(weight) = weight;
        let itself = MergeSource {
            sketch: None,
            weight: 1,
        };
        let py = this.py();
        let mut destination = this.try_borrow_mut()?;
        let sketch = destination.sketch.writable()?;
        let merged = if this.is(other) {
            let again = MergeSource {
                sketch: None,
                weight,
            };
            py.detach(|| sketch.merge(&[itself, again]))
        } else {
            let source = other.try_borrow()?;
            let Counter::Classic(source) = &source.sketch else {
                return Err(Error::value("CMS: window/panes is not equal").into());
            };
            let source = MergeSource {
                sketch: Some(&**source),
                weight,
            };
            py.detach(|| sketch.merge(&[itself, source]))
        };
        merged.map_err(Error::from)?;
        Ok(())
    }

    /// The fields of CMS.INFO.
    #[pyo3(signature = (*, at = None))]
    fn info<'py>(&self, py: Python<'py>, at: Option<At>) -> PyResult<Bound<'py, PyDict>> {
        let panes = self.sketch.panes(at)?;
        let (shape, total) = match &self.sketch {
            Counter::Classic(sketch) => (sketch.shape(), sketch.total()),
            Counter::Windowed(sketch) => (sketch.shape(), sketch.total(panes)),
        };
        let info = PyDict::new(py);
        info.set_item("width", shape.width())?;
        info.set_item("depth", shape.depth())?;
        info.set_item("count", total)?;
        if shape.cell_size() != CellSize::default() {
            info.set_item("cell_size", shape.cell_size().bytes())?;
        }
        Ok(info)
    }
}
