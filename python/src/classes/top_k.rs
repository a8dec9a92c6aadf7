//! `TopK`: the commands TOPK.

use crate::arguments::batch::{Batch, chunk_items};
use crate::arguments::bytes::bytes;
use crate::arguments::items::with_bytes;
use crate::arguments::numbers::CountsReader;
use crate::arguments::scalars::{Integer, integer, number};
use crate::error::Error;
use crate::sketch::additions::{Additions, add_counts, add_one};
use crate::sketch::class::{Base, Class, class, merge, others_of};
use crate::sketch::lock::Shared;
use crate::sketch::period::{Step, Time, series};
use crate::sketch::variants::{Variants, either, variants};
use crate::sketch::window::{At, When, Within, new_seed, new_window};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{Budget, OutOfMemory, with_capacity};
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::{
    BLOCK_ITEMS, DEFAULT_WIDTH, ItemHash, MAX_INCREMENT, MergeError, TopK as Classic, TopKWindow,
};
use roughly_sketch::window::Panes;

variants! {
    /// A top-k sketch.
    Top {
        Classic(Classic),
        Windowed(TopKWindow),
    }
}

/// Checks that a count and `n` occurrences more have 32 bits. `counted` returns the count, unless no count exceeds `bound`.
fn check_overflow(bound: u64, n: i64, counted: impl FnOnce() -> u32) -> Result<(), Error> {
    let n = n.max(0).cast_unsigned();
    let fits = |count: u64| count.saturating_add(n) <= u32::MAX.into();
    match fits(bound) || fits(counted().into()) {
        true => Ok(()),
        false => Err(MergeError::Overflow.into()),
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

/// The default number of counters of a row of an object: with that of the command, the counters of a long list would be shared
/// by too many items.
fn default_width(k: i64) -> i64 {
    k.saturating_mul(10)
        .clamp(DEFAULT_WIDTH as i64, u32::MAX.into())
}

/// The increments of an item: a count above the limit of the command is added in parts, as by several commands.
fn increments(n: i64) -> Result<impl Iterator<Item = u32>, Error> {
    const BAD_INCREMENT: Error = Error::value(
        "TopK: increment must be an integer greater or equal to 0 and smaller or equal to 4,294,967,295",
    );
    let n = u32::try_from(n).map_err(|_| BAD_INCREMENT)?;
    let mut rest = n;
    // One increment of 0 for a count of 0.
    let parts = n.div_ceil(MAX_INCREMENT).max(1);
    Ok((0..parts).map(move |_| {
        let part = rest.min(MAX_INCREMENT);
        rest -= part;
        part
    }))
}

/// Checks an addition to a sketch with a window, of which these panes count.
fn check_addition(sketch: &TopKWindow, item: &[u8], n: i64, panes: Panes) -> Result<(), Error> {
    drop(increments(n)?);
    check_overflow(sketch.total(), n, || sketch.count_at(item, panes))
}

/// The function that adds items in blocks to a sketch of this type: the counters of a block are loaded into the processor's cache
/// while its items are hashed.
macro_rules! add_all {
    ($name:ident, $type:ty, $bound:expr, $count:expr, $refused:expr) => {
        fn $name<'a>(
            sketch: &mut $type,
            mut items: impl Iterator<Item = (&'a [u8], i64)>,
        ) -> Result<(), Error> {
            let mut changes = BlockChanges::<()>::default();
            let mut bound: u64 = $bound(sketch);
            loop {
                let mut block = [(&[][..], ItemHash::default(), 0); BLOCK_ITEMS];
                let mut len = 0;
                for (place, (item, n)) in block.iter_mut().zip(&mut items) {
                    *place = (item, sketch.hash(item), n);
                    len += 1;
                }
                for (item, hash, n) in &block[..len] {
                    let increments = increments(*n)?;
                    check_overflow(bound, *n, || $count(sketch, item, hash))?;
                    bound = bound.saturating_add_signed(*n);
                    for n in increments {
                        let budget = Budget::UNLIMITED;
                        let added = sketch.add_hashed(item, hash, n, budget, &mut changes);
                        if let Err(error) = added {
                            return Err($refused(sketch, item, error));
                        }
                    }
                }
                if len < BLOCK_ITEMS {
                    return Ok(());
                }
            }
        }
    };
}
add_all!(
    add_all,
    Classic,
    |_: &Classic| u64::MAX,
    |sketch: &Classic, item, hash| sketch.count_hashed(item, hash),
    |_: &Classic, _, error: OutOfMemory| error.into()
);
// The count of an item has a step per pane.
add_all!(
    add_all_windowed,
    TopKWindow,
    |sketch: &TopKWindow| sketch.total(),
    |sketch: &TopKWindow, _, hash| sketch.count_hashed_at(hash, Panes::ALL),
    refused
);

/// The error of an addition to a sketch with a window.
fn refused(sketch: &TopKWindow, item: &[u8], error: OutOfMemory) -> Error {
    match sketch.has_room(item.len()) {
        true => error.into(),
        false => Error::value(
            "TopK: the items of a sketch with a window can have at most 16 MiB in total",
        ),
    }
}

impl Top {
    fn update(
        &mut self,
        batch: &Batch,
        counts: &mut CountsReader<'_>,
        additions: &mut Additions,
    ) -> Result<(), Error> {
        match self {
            Self::Classic(sketch) => add_all(sketch, batch.iter().zip(counts.next(batch.len())?)),
            Self::Windowed(sketch) => {
                additions.add(&mut **sketch, batch.len(), |sketch, range, advance| {
                    let counts = counts.next(range.len())?;
                    let mut items = batch.range(range).zip(counts).peekable();
                    if let Some(&(item, n)) = items.peek() {
                        let invalid =
                            |sketch: &_, later| check_addition(sketch, item, n, later).err();
                        if let Some(error) = advance.unless(sketch, invalid) {
                            return Err(error);
                        }
                    }
                    add_all_windowed(sketch, items)
                })
            }
        }
    }
}

impl From<MergeError> for Error {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::OutOfMemory(error) => error.into(),
            MergeError::Overflow => Self::Overflow(error.to_string().into()),
            error => Self::Value(error.to_string().into()),
        }
    }
}

/// A sketch that can be merged.
fn classic(sketch: &Top) -> Result<&Classic, Error> {
    match sketch {
        Top::Classic(sketch) => Ok(sketch),
        Top::Windowed(_) => Err(Error::value(
            "TopK: sketches with a window cannot be merged",
        )),
    }
}

fn copy(item: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = with_capacity(item.len())?;
    copy.extend_from_slice(item);
    Ok(copy)
}

/// Copies of items with their counts.
fn copies<'a>(
    items: impl ExactSizeIterator<Item = (&'a [u8], u32)>,
) -> Result<Vec<(Vec<u8>, u32)>, OutOfMemory> {
    let mut copies = with_capacity(items.len())?;
    for (item, count) in items {
        copies.push((copy(item)?, count));
    }
    Ok(copies)
}

/// Estimates the `k` most frequent items and their counts (TOPK.RESERVE).
///
/// `width` and `depth` are the dimensions of the table of counters: by default 10 * `k`, at least 8, and 5. For the default of the
/// command, specify 8 and 7, with which a list of 10 items lacks 8 to 58 % of the most frequent ones. `decay`, in (0, 1], is the base of the
/// probability with which the counter of another item decreases.
///
/// `window`, `panes`, `finest` and `seed` are those of `CountMinSketch`.
///
/// Raises `ValueError` with the text of the command for a parameter that is out of range, and `MemoryError`.
///
/// >>> words = TopK(2)
/// >>> words.update("to be or not to be that is to".split())
/// >>> words.items()
/// [(b'to', 3), (b'be', 2)]
/// >>> words
/// <TopK k=2 width=20 depth=5 decay=0.9>
#[pyclass(module = "roughly", frozen, extends = Base)]
pub struct TopK {
    sketch: Shared<Top>,
}

class!(TopK of Top: "k", "width", "depth", "decay");

#[pymethods]
impl TopK {
    #[new]
    #[pyo3(signature = (
        k, width = None, depth = 5, decay = 0.9, *, window = None, panes = None, finest = None, seed = None
    ))]
    #[allow(clippy::too_many_arguments)] // Most have a default.
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = integer)] k: i64,
        width: Option<Integer>,
        #[pyo3(from_py_with = integer)] depth: i64,
        #[pyo3(from_py_with = number)] decay: f64,
        window: Option<Integer>,
        panes: Option<Integer>,
        finest: Option<Integer>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let width = width.map_or_else(|| default_width(k), |Integer(width)| width);
        // 0 is out of range.
        let [k, width, depth] = [k, width, depth].map(|number| number.max(0).cast_unsigned());
        Classic::check(k, width, depth, decay).map_err(Error::from)?;
        if let Some(window) = new_window::<TopKWindow>(window, panes, finest, seed.is_some())? {
            let seed = new_seed(py, seed)?;
            let sketch = py.detach(|| {
                TopKWindow::new(k, width, depth, decay, window, seed, Budget::UNLIMITED)
            });
            return Ok(Self::of(Top::Windowed(sketch.map_err(Error::from)?.into())));
        }
        let sketch = py.detach(|| Classic::new(k, width, depth, decay, Budget::UNLIMITED));
        let sketch = sketch.map_err(Error::from)?;
        Ok(Self::of(Top::Classic(sketch.into())))
    }

    /// Adds `n`, 0 to 2**32 - 1, to the count of an item (TOPK.INCRBY, several times above 100,000). Returns the item that was
    /// expelled, or `None`. `at` is the time of the addition to a sketch with a window, in Unix seconds or as a `datetime` with a
    /// time zone, by default now. `ValueError` if it is before the newest pane or, without `allow_future`, more than one pane ahead
    /// of the clock, and for NaN as an item. `OverflowError` if the count would exceed 2**32 - 1; then it does not change.
    ///
    /// >>> words = TopK(1)
    /// >>> words.add("be")
    /// >>> words.add("to", 3)
    /// b'be'
    #[pyo3(signature = (item, n = 1, *, at = None, allow_future = false))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        item: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = integer)] n: i64,
        at: Option<At>,
        allow_future: bool,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let add = |sketch: &mut Top, item: &[u8], additions: &mut Additions| {
            let increments = increments(n)?;
            // At most one of the increments expels an item.
            let mut expelled = None;
            match sketch {
                Top::Classic(sketch) => {
                    check_overflow(u64::MAX, n, || sketch.count(item))?;
                    for n in increments {
                        if let Some(item) = sketch.add(item, n)?.expelled {
                            expelled = Some(copy(item)?);
                        }
                    }
                    Ok(expelled)
                }
                Top::Windowed(sketch) => additions.add_one(&mut **sketch, |sketch, advance| {
                    let invalid = |sketch: &_, later| check_addition(sketch, item, n, later).err();
                    if let Some(error) = advance.unless(sketch, invalid) {
                        return Err(error);
                    }
                    check_addition(sketch, item, n, Panes::ALL)?;
                    for n in increments {
                        let added = match sketch.add(item, n) {
                            Ok(added) => added.expelled.map(copy).transpose(),
                            Err(error) => Err(error),
                        };
                        let added = added.map_err(|error| refused(sketch, item, error))?;
                        expelled = added.or(expelled);
                    }
                    Ok(expelled)
                }),
            }
        };
        let expelled: Option<Vec<u8>> = add_one(&self.sketch, item, (at, allow_future), add)?;
        expelled.map(|item| bytes(py, &item)).transpose()
    }

    /// Adds counts to items: one for all, or one for each, 0 to 2**32 - 1 (TOPK.INCRBY). Of a mapping, the values are the counts;
    /// `TypeError` for a mapping and `counts`. At most `chunk` items of an iterable are read before they are added, 1 to 4,096;
    /// counts are read at once. `at` is the time of the additions to a sketch with a window, or an array with a time for each item.
    /// `allow_future` is that of `add`. `OverflowError` at the first item whose count would exceed 2**32 - 1: the items before it were
    /// added.
    ///
    /// >>> words = TopK(2)
    /// >>> words.update({"to": 3, "be": 2})
    /// >>> words.update(["be", "or"], [4, 1])
    /// >>> words.items()
    /// [(b'be', 6), (b'to', 3)]
    #[pyo3(signature = (items, counts = None, *, at = None, allow_future = false, chunk = 4096))]
    fn update(
        &self,
        items: &Bound<'_, PyAny>,
        counts: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        #[pyo3(from_py_with = chunk_items)] chunk: usize,
    ) -> PyResult<()> {
        add_counts(
            &self.sketch,
            items,
            counts,
            (at, allow_future),
            chunk,
            Top::update,
        )
    }

    /// Adds the counts of other sketches with the same `k`, `width`, `depth` and `decay`. Keeps the `k` most frequent items of all
    /// lists. An item that is frequent in all, but on no list, is missing; and the counts that remain are too low rather than too
    /// high.
    ///
    /// `ValueError` if the parameters differ or a sketch has a window, `OverflowError` if a count would exceed 2**32 - 1; then this
    /// sketch has not changed.
    ///
    /// >>> monday, tuesday = TopK(2), TopK(2)
    /// >>> monday.update({"home": 5, "news": 2})
    /// >>> tuesday.update({"home": 1, "help": 3})
    /// >>> monday.merge(tuesday)
    /// >>> monday.items()
    /// [(b'home', 6), (b'help', 3)]
    #[pyo3(signature = (*others))]
    fn merge(&self, py: Python<'_>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        let others = others_of::<Self>(others)?;
        merge(self, py, &others, |destination, operands| {
            let sources = operands.iter().flatten().map(|operand| classic(operand));
            sources.collect::<Result<Vec<_>, _>>()?;
            let mut merged = Stored::try_clone(classic(destination)?)?;
            for operand in operands {
                merged.merge(classic(operand.unwrap_or(destination))?)?;
            }
            *destination = Top::Classic(merged.into());
            Ok(())
        })
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = item.py();
        Ok(with_bytes(item, |item| {
            // The list of a window may have to be computed.
            py.detach(|| {
                self.sketch.read(|sketch| {
                    Ok::<_, Error>(sketch.query(item, sketch.panes(When::default())?)?)
                })
            })
        })??)
    }

    /// The items with their counts, the most frequent first (TOPK.LIST WITHCOUNT).
    ///
    /// >>> words = TopK(1)
    /// >>> words.update(["to", "be", "to"])
    /// >>> words.items()
    /// [(b'to', 2)]
    #[pyo3(signature = (*, at = None, within = None))]
    fn items<'py>(
        &self,
        py: Python<'py>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyList>> {
        let when = When::new(at, within);
        let list_of = |sketch: &Top| {
            let panes = sketch.panes(when)?;
            let copies = match sketch {
                Top::Classic(sketch) => sketch.list().and_then(copies),
                Top::Windowed(sketch) => {
                    sketch.with_cache(|sketch, cache| sketch.list_at(panes, cache).and_then(copies))
                }
            };
            Ok::<_, Error>(copies?)
        };
        let copies = py.detach(|| self.sketch.read(list_of))?;
        let list = PyList::empty(py);
        for (item, count) in copies {
            list.append((bytes(py, &item)?, count))?;
        }
        Ok(list)
    }

    /// The list of each `step` of a window (SKETCH.SERIES): a list per row, with the Unix time in milliseconds at which its first
    /// pane begins, the milliseconds that its panes cover, and the list of `items`. `step` is in milliseconds or a `timedelta`; the other arguments are
    /// those of `between`. Each pane is in the row of the step in which it begins.
    ///
    /// >>> words = TopK(1, window=60_000, panes=6)
    /// >>> words.update(["to", "be", "be"], at=[1_700_000_000, 1_700_000_020, 1_700_000_020])
    /// >>> words.series(20_000, at=1_700_000_025)[-2:]
    /// [[1700000000000, 20000, [(b'to', 1)]], [1700000020000, 5000, [(b'be', 2)]]]
    #[pyo3(signature = (step, start = None, end = None, *, at = None))]
    fn series<'py>(
        this: &Bound<'py, Self>,
        step: Step,
        start: Option<Time>,
        end: Option<Time>,
        at: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        series(this, step, (start, end, at), ("items", &[]))
    }

    /// The estimate of an item (TOPK.COUNT).
    ///
    /// >>> words = TopK(1)
    /// >>> words.update(["to", "be", "to"])
    /// >>> words.count("to"), words.count("or")
    /// (2, 0)
    #[pyo3(signature = (item, *, at = None, within = None))]
    fn count(
        &self,
        item: &Bound<'_, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<u32> {
        let count = |sketch: &Top, item: &[u8], panes| match sketch {
            Top::Classic(sketch) => sketch.count(item),
            Top::Windowed(sketch) => sketch.count_at(item, panes),
        };
        (self.sketch).peek_item(item, When::new(at, within), count)
    }

    /// The number of items in the list.
    #[getter]
    fn k(&self, py: Python<'_>) -> u32 {
        (self.sketch).peek(py, |sketch| either!(Top, sketch, |sketch| sketch.k()))
    }

    /// The number of counters of a row.
    #[getter]
    fn width(&self, py: Python<'_>) -> u32 {
        (self.sketch).peek(py, |sketch| either!(Top, sketch, |sketch| sketch.width()))
    }

    /// The number of rows.
    #[getter]
    fn depth(&self, py: Python<'_>) -> u32 {
        (self.sketch).peek(py, |sketch| either!(Top, sketch, |sketch| sketch.depth()))
    }

    /// The base of the probability with which the counter of another item decreases.
    #[getter]
    fn decay(&self, py: Python<'_>) -> f64 {
        (self.sketch).peek(py, |sketch| either!(Top, sketch, |sketch| sketch.decay()))
    }

    /// The fields of TOPK.INFO.
    ///
    /// >>> TopK(10).info()
    /// {'k': 10, 'width': 100, 'depth': 5, 'decay': 0.9}
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = PyDict::new(py);
        info.set_item("k", self.k(py))?;
        info.set_item("width", self.width(py))?;
        info.set_item("depth", self.depth(py))?;
        info.set_item("decay", self.decay(py))?;
        Ok(info)
    }
}
