//! `TopK`: the commands TOPK.

use crate::error::Error;
use crate::items::{for_each_batch, with_bytes};
use crate::numbers::{Counts, Integer};
use crate::payload::bytes;
use crate::sketch::{Variants, Writable, class, variants};
use crate::window::At;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{Budget, OutOfMemory, with_capacity};
use roughly_sketch::top_k::{
    BLOCK_ITEMS, DEFAULT_DECAY, DEFAULT_DEPTH, DEFAULT_WIDTH, ItemHash, MAX_INCREMENT,
    TopK as Classic, TopKError, TopKWindow,
};
use roughly_sketch::window::Panes;

variants! {
    /// A top-k sketch.
    Top {
        Classic(Classic),
        Windowed(TopKWindow),
    }
}

impl From<TopKError> for Error {
    fn from(error: TopKError) -> Self {
        Self::value(match error {
            TopKError::InvalidK => "TopK: invalid k",
            TopKError::InvalidWidth => "TopK: invalid width",
            TopKError::InvalidDepth => "TopK: invalid depth",
            TopKError::InvalidDecay => "TopK: invalid decay value. must be '<= 1' & '> 0'",
            TopKError::OutOfMemory(error) => return error.into(),
            _ => "TopK: invalid window",
        })
    }
}

impl Top {
    fn query(&self, item: &[u8], panes: Panes) -> Result<bool, OutOfMemory> {
        match self {
            Self::Classic(sketch) => Ok(sketch.query(item)),
            Self::Windowed(sketch) => {
                sketch.with_cache(|sketch, cache| sketch.query_at(item, panes, cache))
            }
        }
    }
}

/// An increment.
fn increment(n: i64) -> Result<u32, Error> {
    const BAD_INCREMENT: Error = Error::value(
        "TopK: increment must be an integer greater or equal to 0                            and smaller or equal to 100,000",
    );
    let increment = u32::try_from(n).ok();
    increment
        .filter(|&increment| increment <= MAX_INCREMENT)
        .ok_or(BAD_INCREMENT)
}

/// Adds items in blocks: the counters of a block are loaded into the processor's cache while its items are hashed.
fn add_all<'a>(
    sketch: &mut Classic,
    mut items: impl Iterator<Item = (&'a [u8], i64)>,
) -> Result<(), Error> {
    let mut changes = BlockChanges::<()>::default();
    loop {
        let mut block = [(&[][..], ItemHash::default(), 0); BLOCK_ITEMS];
        let mut len = 0;
        for (place, (item, n)) in block.iter_mut().zip(&mut items) {
            *place = (item, sketch.hash(item), n);
            len += 1;
        }
        for (item, hash, n) in &block[..len] {
            sketch.add_hashed(item, hash, increment(*n)?, Budget::UNLIMITED, &mut changes)?;
        }
        if len < BLOCK_ITEMS {
            return Ok(());
        }
    }
}

/// Copies of items with their counts.
fn copies<'a>(
    items: impl ExactSizeIterator<Item = (&'a [u8], u32)>,
) -> Result<Vec<(Vec<u8>, u32)>, OutOfMemory> {
    let mut copies = with_capacity(items.len())?;
    for (item, count) in items {
        let mut copy = with_capacity(item.len())?;
        copy.extend_from_slice(item);
        copies.push((copy, count));
    }
    Ok(copies)
}

/// The most frequent items.
#[pyclass(module = "roughly")]
pub struct TopK {
    sketch: Top,
}

class!(TopK of Top);

#[pymethods]
impl TopK {
    #[new]
    #[pyo3(signature = (
        k,
        width = Integer(DEFAULT_WIDTH as i64),
        depth = Integer(DEFAULT_DEPTH as i64),
        decay = DEFAULT_DECAY,
    ), text_signature = "(k, width=8, depth=7, decay=0.9)")]
    fn new(
        py: Python<'_>,
        k: Integer,
        width: Integer,
        depth: Integer,
        decay: f64,
    ) -> PyResult<Self> {
        let Integer(k) = k;
        let Integer(width) = width;
        let Integer(depth) = depth;
        // 0 is out of range.
        let [k, width, depth] = [k, width, depth].map(|number| number.max(0).cast_unsigned());
        let sketch = py.detach(|| Classic::new(k, width, depth, decay, Budget::UNLIMITED));
        Ok(Self {
            sketch: Top::Classic(sketch.map_err(Error::from)?.into()),
        })
    }

    /// Adds n to the count of an item (TOPK.INCRBY). Returns the item that was expelled, or None.
    #[pyo3(signature = (item, n = Integer(1)), text_signature = "($self, item, n=1)")]
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        item: &Bound<'_, PyAny>,
        n: Integer,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Integer(n) = n;
        let sketch = self.sketch.writable()?;
        let n = increment(n)?;
        with_bytes(item, |item| {
            let added = sketch.add(item, n).map_err(Error::from)?;
            added.expelled.map(|item| bytes(py, item)).transpose()
        })?
    }

    /// Adds counts to items: one for all, or one for each (TOPK.INCRBY).
    #[pyo3(signature = (items, counts = None))]
    fn update(
        &mut self,
        items: &Bound<'_, PyAny>,
        counts: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let sketch = self.sketch.writable()?;
        let counts = counts.map_or(Ok(Counts::All(1)), Counts::of)?;
        let mut counts = counts.reader()?;
        for_each_batch(items, |batch| {
            let items = batch.iter();
            let counts = counts.next(items.len())?;
            add_all(sketch, items.zip(counts))
        })?;
        Ok(counts.finish()?)
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let panes = self.sketch.panes(None)?;
        let found = with_bytes(item, |item| self.sketch.query(item, panes))?;
        Ok(found.map_err(Error::from)?)
    }

    /// The items with their counts, the most frequent first (TOPK.LIST WITHCOUNT).
    #[pyo3(signature = (*, at = None))]
    fn items<'py>(&self, py: Python<'py>, at: Option<At>) -> PyResult<Bound<'py, PyList>> {
        let panes = self.sketch.panes(at)?;
        // New objects may start the garbage collector, whose finalizers may read this object: the cache must not be locked.
        let copies = match &self.sketch {
            Top::Classic(sketch) => sketch.list().and_then(copies),
            Top::Windowed(sketch) => {
                sketch.with_cache(|sketch, cache| sketch.list_at(panes, cache).and_then(copies))
            }
        };
        let list = PyList::empty(py);
        for (item, count) in copies.map_err(Error::from)? {
            list.append((bytes(py, &item)?, count))?;
        }
        Ok(list)
    }

    /// The estimate of an item (TOPK.COUNT).
    #[pyo3(signature = (item, *, at = None))]
    fn count(&self, item: &Bound<'_, PyAny>, at: Option<At>) -> PyResult<u32> {
        let panes = self.sketch.panes(at)?;
        with_bytes(item, |item| match &self.sketch {
            Top::Classic(sketch) => sketch.count(item),
            Top::Windowed(sketch) => sketch.count_at(item, panes),
        })
    }

    /// The fields of TOPK.INFO.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (k, width, depth, decay) = match &self.sketch {
            Top::Classic(sketch) => (sketch.k(), sketch.width(), sketch.depth(), sketch.decay()),
            Top::Windowed(sketch) => (sketch.k(), sketch.width(), sketch.depth(), sketch.decay()),
        };
        let info = PyDict::new(py);
        info.set_item("k", k)?;
        info.set_item("width", width)?;
        info.set_item("depth", depth)?;
        info.set_item("decay", decay)?;
        Ok(info)
    }
}
