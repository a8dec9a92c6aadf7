//! `CountMinSketch`: the commands CMS.

use crate::arguments::batch::{Batch, chunk_items};
use crate::arguments::numbers::CountsReader;
use crate::arguments::scalars::{Integer, Real, integer};
use crate::error::Error;
use crate::sketch::additions::{Additions, add_counts, add_one};
use crate::sketch::answers::answers;
use crate::sketch::class::{Base, Class, class, merge};
use crate::sketch::lock::Shared;
use crate::sketch::period::{Step, Time, series};
use crate::sketch::variants::{either, variants};
use crate::sketch::window::{At, When, Within, new_seed, new_window};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use roughly_sketch::count_min::{
    CellSize, CountMin, CountMinError, CountMinWindow, Dimensions, MergeSource, NO_LIMIT,
    dimensions_for,
};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::Panes;

variants! {
    /// A count-min sketch.
    Counter {
        Classic(CountMin),
        Windowed(CountMinWindow),
    }
}

/// The estimate or error of an increment that changes nothing in a sketch of which only these panes are live; `None` if it changes the sketch.
fn unchanged_by(
    sketch: &CountMinWindow,
    item: &[u8],
    n: i64,
    later: Panes,
) -> Option<Result<u64, CountMinError>> {
    let estimate = sketch.check_increment(item, n, NO_LIMIT, later);
    (n == 0 || estimate.is_err()).then_some(estimate)
}

impl Counter {
    fn dimensions(&self) -> Dimensions {
        either!(Self, self, |sketch| sketch.dimensions())
    }

    /// The sum of the counts in these panes.
    fn total(&self, panes: Panes) -> u64 {
        match self {
            Self::Classic(sketch) => sketch.total(),
            Self::Windowed(sketch) => sketch.total(panes),
        }
    }
}

/// The sources of a merge: the destination, and the operands with this weight.
fn sources<'a, T>(
    operands: &[Option<&'a Counter>],
    weight: i64,
    source: impl Fn(&'a Counter) -> Result<&'a T, Error>,
) -> Result<Vec<MergeSource<'a, T>>, Error> {
    let mut sources = vec![MergeSource {
        sketch: None,
        weight: 1,
    }];
    for operand in operands {
        let sketch = operand.map(&source).transpose()?;
        sources.push(MergeSource { sketch, weight });
    }
    Ok(sources)
}

fn positive(number: i64, text: &'static str) -> Result<u64, Error> {
    let number = u64::try_from(number).ok().filter(|&number| number > 0);
    number.ok_or(Error::value(text))
}

/// A number between 0 and 1.
fn fraction(number: f64, text: &'static str) -> Result<f64, Error> {
    let number = Some(number).filter(|&number| number > 0.0 && number < 1.0);
    number.ok_or(Error::value(text))
}

/// The sketches of the arguments of `merge`, and the weight, which may be the last argument without its name.
fn weighted<'py>(
    others: &Bound<'py, PyTuple>,
    weight: i64,
) -> PyResult<(Vec<Bound<'py, CountMinSketch>>, i64)> {
    let mut others: Vec<_> = others.iter().collect();
    let last = others.pop_if(|last| !last.is_instance_of::<Base>());
    let weight = last.map_or(Ok(weight), |last| integer(&last))?;
    let others = others.into_iter().map(|other| Ok(other.cast_into()?));
    Ok((others.collect::<PyResult<_>>()?, weight))
}

/// A count-min sketch: estimates how often each item occurs, never too low (CMS.INITBYDIM, CMS.INITBYPROB).
///
/// The parameters are `width` and `depth`, or `error`, the excess of an estimate relative to the sum of all counts, and
/// `probability`, that of a larger excess, both in (0, 1). `cell_size` is 1, 2, 4 or 8 bytes.
///
/// With `window`, counts that are older than so many milliseconds do not count, in steps of a part of the window: one of `panes`,
/// 12 by default. `finest` is the length of the newest pane in milliseconds, if older panes shall be longer. `seed` is the key
/// of the hash: 16 bytes or 32 hexadecimal digits, by default random.
///
/// Raises `ValueError` with the text of the command for a parameter that is out of range, and `MemoryError`.
///
/// >>> clicks = CountMinSketch(error=0.001, probability=0.01)
/// >>> clicks.add("home", 3)
/// 3
/// >>> clicks.update({"home": 2, "help": 1})
/// >>> list(clicks.query(["home", "help", "none"])) == [5, 1, 0]
/// True
/// >>> clicks.count
/// 6
#[pyclass(module = "roughly", frozen, extends = Base)]
pub struct CountMinSketch {
    sketch: Shared<Counter>,
}

class!(CountMinSketch of Counter: "width", "depth", "cell_size", "count");

#[pymethods]
impl CountMinSketch {
    #[new]
    #[pyo3(signature = (
        width = None, depth = None, *, error = None, probability = None, cell_size = 4, window = None, panes = None, finest = None, seed = None
    ))]
    #[allow(clippy::too_many_arguments)] // Most have a default.
    fn new(
        py: Python<'_>,
        width: Option<Integer>,
        depth: Option<Integer>,
        error: Option<Real>,
        probability: Option<Real>,
        #[pyo3(from_py_with = integer)] cell_size: i64,
        window: Option<Integer>,
        panes: Option<Integer>,
        finest: Option<Integer>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let dimensions = match (width, depth, error, probability) {
            (Some(Integer(width)), Some(Integer(depth)), None, None) => Ok((
                positive(width, "CMS: invalid width")?,
                positive(depth, "CMS: invalid depth")?,
            )),
            (None, None, Some(Real(error)), Some(Real(probability))) => dimensions_for(
                fraction(error, "CMS: invalid overestimation value")?,
                fraction(probability, "CMS: invalid prob value")?,
            ),
            _ => {
                let text = "either width and depth, or error and probability are required";
                return Err(Error::Type(text.into()).into());
            }
        };
        let cell_size = u64::try_from(cell_size).ok().and_then(CellSize::from_bytes);
        let cell_size = cell_size.ok_or(Error::value("CMS: invalid cell size"))?;
        let (width, depth) = dimensions.map_err(Error::from)?;
        let window = new_window::<CountMinWindow>(window, panes, finest, seed.is_some())?;
        if let Some(window) = window {
            let seed = new_seed(py, seed)?;
            let dimensions = Dimensions::new(width, depth, cell_size).map_err(Error::from)?;
            let sketch = CountMinWindow::new(dimensions, window, seed, Budget::UNLIMITED);
            return Ok(Self::of(Counter::Windowed(
                sketch.map_err(Error::from)?.into(),
            )));
        }
        let sketch = py.detach(|| CountMin::new(width, depth, cell_size, Budget::UNLIMITED));
        let sketch = sketch.map_err(Error::from)?;
        Ok(Self::of(Counter::Classic(sketch.into())))
    }

    /// Adds `n` to the count of an item (CMS.INCRBY). Returns its estimate. `at` is the time of the addition to a sketch with a
    /// window, in Unix seconds or as a `datetime` with a time zone, by default now. `ValueError` if it is before the newest pane or,
    /// without `allow_future`, more than one pane ahead of the clock, for NaN as an item, and if a count overflows.
    ///
    /// >>> clicks = CountMinSketch(1000, 5)
    /// >>> clicks.add("home"), clicks.add("home", 3)
    /// (1, 4)
    #[pyo3(signature = (item, n = 1, *, at = None, allow_future = false))]
    fn add(
        &self,
        item: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = integer)] n: i64,
        at: Option<At>,
        allow_future: bool,
    ) -> PyResult<u64> {
        let add = |sketch: &mut Counter, item: &[u8], additions: &mut Additions| match sketch {
            Counter::Classic(sketch) => Ok(sketch.increment(item, n)?),
            Counter::Windowed(sketch) => additions.add_one(&mut **sketch, |sketch, advance| {
                let unchanged =
                    advance.unless(sketch, |sketch, later| unchanged_by(sketch, item, n, later));
                Ok(unchanged.unwrap_or_else(|| sketch.increment(item, n, Budget::UNLIMITED))?)
            }),
        };
        add_one(&self.sketch, item, (at, allow_future), add)
    }

    /// Adds counts to items: one for all, or one for each (CMS.INCRBY). Of a mapping, the values are the counts; `TypeError` for a
    /// mapping and `counts`. At most `chunk`
    /// items of an iterable are read before they are added, 1 to 4,096; counts are read at once. `at` is the time of the additions
    /// to a sketch with a window, or an array with a time for each item. `allow_future` is that of `add`. If the count of some items would
    /// overflow or underflow, the others are added and then `ValueError` is raised.
    ///
    /// >>> clicks = CountMinSketch(1000, 5)
    /// >>> clicks.update(["home", "help", "home"])
    /// >>> clicks.update(["home", "news"], [5, 2])
    /// >>> clicks.update({"help": 3})
    /// >>> [int(count) for count in clicks.query(["home", "help", "news"])]
    /// [7, 4, 2]
    #[pyo3(signature = (items, counts = None, *, at = None, allow_future = false, chunk = 4096))]
    fn update(
        &self,
        items: &Bound<'_, PyAny>,
        counts: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        #[pyo3(from_py_with = chunk_items)] chunk: usize,
    ) -> PyResult<()> {
        let mut result: Result<(), Error> = Ok(());
        let add = |sketch: &mut Counter,
                   batch: &Batch,
                   counts: &mut CountsReader<'_>,
                   additions: &mut Additions| {
            let mut on_result = |error: Option<CountMinError>| {
                if let (Some(error), Ok(())) = (error, &result) {
                    result = Err(error.into());
                }
            };
            match sketch {
                Counter::Classic(sketch) => {
                    let items = batch.iter().zip(counts.next(batch.len())?);
                    sketch.increment_all(items, NO_LIMIT, |_, estimate| on_result(estimate.err()));
                    Ok(())
                }
                Counter::Windowed(sketch) => {
                    additions.add(&mut **sketch, batch.len(), |sketch, range, advance| {
                        let counts = counts.next(range.len())?;
                        let items = batch.range(range).zip(counts);
                        let unchanged = advance.unless(sketch, |sketch, later| {
                            let mut errors = (items.clone())
                                .map(|(item, n)| unchanged_by(sketch, item, n, later));
                            errors.all(|each| each.is_some()).then_some(later)
                        });
                        if let Some(later) = unchanged {
                            items
                                .filter_map(|(item, n)| unchanged_by(sketch, item, n, later))
                                .for_each(|estimate| on_result(estimate.err()));
                            return Ok(());
                        }
                        let budget = Budget::UNLIMITED;
                        sketch.increment_all(items, NO_LIMIT, budget, |_, estimate| {
                            on_result(estimate.err());
                        });
                        Ok(())
                    })
                }
            }
        };
        add_counts(&self.sketch, items, counts, (at, allow_future), chunk, add)?;
        Ok(result?)
    }

    /// The estimate of each item (CMS.QUERY): a NumPy array, or a list without NumPy.
    ///
    /// >>> clicks = CountMinSketch(1000, 5)
    /// >>> clicks.update(["home", "help", "home"])
    /// >>> [int(count) for count in clicks.query(["home", "news"])]
    /// [2, 0]
    #[pyo3(signature = (items, *, at = None, within = None))]
    fn query<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let read = |sketch: &Counter, batch: &Batch, panes, estimates: &mut Vec<u64>| {
            let push = |estimate| estimates.push(estimate);
            match sketch {
                Counter::Classic(sketch) => sketch.query_all(batch.iter(), push),
                Counter::Windowed(sketch) => sketch.query_all(batch.iter(), panes, push),
            }
        };
        answers(&self.sketch, items, When::new(at, within), read)
    }

    /// The estimates of items in the panes of each `step` of a window (SKETCH.SERIES): a list per row, with the Unix time in milliseconds at which its first
    /// pane begins, the milliseconds that its panes cover, and the estimates. `step` is in milliseconds or a `timedelta`; the other arguments are
    /// those of `between`. Each pane is in the row of the step in which it begins.
    ///
    /// >>> clicks = CountMinSketch(1000, 5, window=60_000, panes=6)
    /// >>> clicks.update(["home", "help", "home"], at=[1_700_000_000, 1_700_000_010, 1_700_000_020])
    /// >>> clicks.series(20_000, items=["home", "help"], at=1_700_000_025)[-2:]
    /// [[1700000000000, 20000, 1, 1], [1700000020000, 5000, 1, 0]]
    #[pyo3(signature = (step, start = None, end = None, *, items, at = None))]
    fn series<'py>(
        this: &Bound<'py, Self>,
        step: Step,
        start: Option<Time>,
        end: Option<Time>,
        items: &Bound<'py, PyAny>,
        at: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        series(this, step, (start, end, at), ("query", &[items]))
    }

    /// Adds the counts of other sketches, multiplied by a weight (CMS.MERGE). `ValueError` if width, depth, cell size, window or
    /// seed differ. A sketch with a window advances to the time `at`, by default now. `allow_future` is that of `add`.
    ///
    /// >>> monday, tuesday = CountMinSketch(1000, 5), CountMinSketch(1000, 5)
    /// >>> monday.update({"home": 5})
    /// >>> tuesday.update({"home": 1, "help": 3})
    /// >>> monday.merge(tuesday)
    /// >>> monday.merge(tuesday, weight=10)
    /// >>> [int(count) for count in monday.query(["home", "help"])]
    /// [16, 33]
    #[pyo3(signature = (*others, weight = 1, at = None, allow_future = false))]
    fn merge(
        &self,
        py: Python<'_>,
        others: &Bound<'_, PyTuple>,
        #[pyo3(from_py_with = integer)] weight: i64,
        at: Option<At>,
        allow_future: bool,
    ) -> PyResult<()> {
        let (others, weight) = weighted(others, weight)?;
        merge(self, py, &others, |destination, operands| {
            match destination {
                Counter::Classic(destination) => {
                    When::new(at, None).resolve(None)?;
                    let sources = sources(operands, weight, |operand| match operand {
                        Counter::Classic(sketch) => Ok(&**sketch),
                        Counter::Windowed(_) => Err(CountMinError::WindowMismatch.into()),
                    })?;
                    destination.merge(&sources)?;
                }
                Counter::Windowed(destination) => {
                    let sources = sources(operands, weight, |operand| match operand {
                        Counter::Windowed(sketch) => {
                            destination.check_source(sketch)?;
                            When::new(at, None).resolve(Some(sketch.timeline()))?;
                            Ok(&**sketch)
                        }
                        Counter::Classic(_) => Err(CountMinError::WindowMismatch.into()),
                    })?;
                    if weight < 0 {
                        return Err(CountMinError::WindowDecrement.into());
                    }
                    let mut additions =
                        Additions::one(at, allow_future, Some(destination.timeline()))?;
                    additions.add_one(&mut **destination, |destination, advance| {
                        let refused = |destination: &CountMinWindow, _| {
                            (destination.check_merge(&sources, advance.pane, u64::MAX)).err()
                        };
                        match advance.unless(destination, refused) {
                            Some(error) => Err(error.into()),
                            None => Ok(destination.merge_within(
                                &sources,
                                u64::MAX,
                                Budget::UNLIMITED,
                            )?),
                        }
                    })?;
                }
            }
            Ok(())
        })
    }

    /// The sum of all counts; of those that count now, if the sketch has a window.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.sketch.peek_at(py, When::default(), Counter::total)
    }

    /// The number of cells of a row.
    #[getter]
    fn width(&self, py: Python<'_>) -> u64 {
        self.sketch.peek(py, Counter::dimensions).width()
    }

    /// The number of rows.
    #[getter]
    fn depth(&self, py: Python<'_>) -> u64 {
        self.sketch.peek(py, Counter::dimensions).depth()
    }

    /// The bytes of a cell.
    #[getter]
    fn cell_size(&self, py: Python<'_>) -> u64 {
        self.sketch
            .peek(py, Counter::dimensions)
            .cell_size()
            .bytes()
    }

    /// The fields of CMS.INFO.
    ///
    /// >>> CountMinSketch(1000, 5).info()
    /// {'width': 1000, 'depth': 5, 'count': 0}
    #[pyo3(signature = (*, at = None, within = None))]
    fn info<'py>(
        &self,
        py: Python<'py>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let fields = |sketch: &Counter, panes| (sketch.dimensions(), sketch.total(panes));
        let (dimensions, total) = (self.sketch).peek_at(py, When::new(at, within), fields)?;
        let info = PyDict::new(py);
        info.set_item("width", dimensions.width())?;
        info.set_item("depth", dimensions.depth())?;
        info.set_item("count", total)?;
        if dimensions.cell_size() != CellSize::default() {
            info.set_item("cell_size", dimensions.cell_size().bytes())?;
        }
        Ok(info)
    }
}
