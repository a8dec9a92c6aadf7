//! `Sketch`: the base of all classes, with the methods that all of them have.

use crate::arguments::batch::chunk_items;
use crate::arguments::bytes::bytes_of;
use crate::arguments::scalars::{Integer, integer};
use crate::classes::bloom::BloomFilter;
use crate::classes::bloom_file::BloomFile;
use crate::classes::count_min::CountMinSketch;
use crate::classes::cuckoo::CuckooFilter;
use crate::classes::t_digest::TDigest;
use crate::classes::top_k::TopK;
use crate::error::Error;
use crate::files::any;
use crate::files::argument::{Access, FileArgument};
use crate::files::chunks::{Chunks, check_class};
use crate::sketch::class::{Base, Class, copy};
use crate::sketch::period::{Time, between};
use crate::sketch::variants::Variants;
use crate::sketch::window::{At, When, Within, hex};
use crate::sketch::{dump, export};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyBytes, PyDict, PyFloat, PyTuple, PyType};
use roughly_dump::RDB_VERSION;
use roughly_sketch::accuracy::Figure;

/// An expression with an object as one of its class.
macro_rules! with_class {
    ($sketch:expr, |$object:ident| $result:expr) => {{
        let sketch = $sketch;
        if let Ok($object) = sketch.cast::<BloomFilter>() {
            $result
        } else if let Ok($object) = sketch.cast::<CuckooFilter>() {
            $result
        } else if let Ok($object) = sketch.cast::<CountMinSketch>() {
            $result
        } else if let Ok($object) = sketch.cast::<TopK>() {
            $result
        } else if let Ok($object) = sketch.cast::<TDigest>() {
            $result
        } else {
            // No other class has objects.
            Err(PyTypeError::new_err("not a sketch of this package"))
        }
    }};
}

/// The value of an attribute of a window; `None` without a window.
macro_rules! of_window {
    ($sketch:expr, |$state:ident| $value:expr) => {
        with_class!($sketch, |object| {
            // A filter in a file has no window.
            let Ok(sketch) = object.get().sketch() else {
                return Ok(None);
            };
            Ok(sketch.peek(object.py(), |$state| $value))
        })
    };
}

#[pymethods]
impl Base {
    /// The object whose DUMP payload this is: any bytes-like object, which is copied. `ValueError` if RESTORE would refuse it, if
    /// it is the value of another class, and for `None`, the reply to DUMP for a missing key.
    ///
    /// >>> seen = BloomFilter()
    /// >>> seen.add("alice")
    /// True
    /// >>> BloomFilter.load(seen.dump()) == seen
    /// True
    #[classmethod]
    fn load<'py>(
        cls: &Bound<'py, PyType>,
        payload: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if payload.is_none() {
            return Err(Error::value("the key does not exist").into());
        }
        load_bytes(cls, bytes_of(payload)?.as_bytes())
    }

    /// The object in a file that `save` wrote: a path, or a binary file object, of which all bytes are read. `ValueError` if
    /// RESTORE would refuse the payload in it, or if it is the value of another class; `OSError` if it cannot be read.
    ///
    /// With `lazy`, a Bloom filter whose bits stay in the file, which must be a path: a look-up reads one byte per bit that it
    /// tests, and the checksum is not verified. The filter cannot be changed; its `copy()` is in memory. `ValueError` if the filter
    /// has a window, is of valkey-bloom's type or has compressed bits: it can only be read whole. A look-up raises `OSError` if the
    /// file has become shorter. `save` replaces the file, and the filter keeps the old one.
    ///
    /// >>> counts = CountMinSketch(100, 4)
    /// >>> counts.save("counts.dump")
    /// >>> CountMinSketch.open("counts.dump")
    /// <CountMinSketch width=100 depth=4 cell_size=4 count=0>
    #[classmethod]
    #[pyo3(signature = (file, *, lazy = false))]
    fn open<'py>(
        cls: &Bound<'py, PyType>,
        file: &Bound<'py, PyAny>,
        lazy: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = cls.py();
        let file = FileArgument::of(file, Access::Read)?;
        if !lazy {
            return file.read(py, |payload| load_bytes(cls, payload));
        }
        let FileArgument::Path(path, name) = file else {
            return Err(PyTypeError::new_err("lazy requires a path"));
        };
        if !BloomFilter::type_object(py).is_subclass(cls)? {
            return Err(Error::value("only a Bloom filter can be opened with lazy=True").into());
        }
        let filter = py.detach(|| BloomFile::open(&path, name))?;
        Ok(Bound::new(py, BloomFilter::in_file(filter))?.into_any())
    }

    /// The object whose chunks these are: pairs of an iterator and bytes, as the replies to SCANDUMP, in any order after the first
    /// one. `ValueError` if bytes are missing or invalid, or if it is the value of another class. Takes memory in proportion to the
    /// chunks.
    ///
    /// >>> digest = TDigest()
    /// >>> digest.update([1, 2, 3])
    /// >>> TDigest.load_chunks(digest.to_chunks()).max()
    /// 3.0
    #[classmethod]
    fn load_chunks<'py>(
        cls: &Bound<'py, PyType>,
        pairs: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        any::load_chunks(pairs, cls)
    }

    /// Adds one item; of a t-digest, one sample. The methods of the classes have more parameters.
    ///
    /// >>> counts = CountMinSketch(100, 4)
    /// >>> counts.add("alice")
    /// 1
    #[pyo3(signature = (item, /, *, at = None, allow_future = false))]
    fn add(
        &self,
        item: &Bound<'_, PyAny>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
    ) -> PyResult<()> {
        let _ = (item, at, allow_future);
        Err(PyNotImplementedError::new_err(()))
    }

    /// Adds several items; of a t-digest, samples. The methods of the classes have more parameters.
    ///
    /// >>> counts = CountMinSketch(100, 4)
    /// >>> counts.update(["alice", "bob", "alice"])
    /// >>> counts.count
    /// 3
    #[pyo3(signature = (items, /, *, at = None, allow_future = false, chunk = 4096))]
    fn update(
        &self,
        items: &Bound<'_, PyAny>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        #[pyo3(from_py_with = chunk_items)] chunk: usize,
    ) -> PyResult<()> {
        let _ = (items, at, allow_future, chunk);
        Err(PyNotImplementedError::new_err(()))
    }

    /// The fields of the command INFO of the family.
    ///
    /// >>> CountMinSketch(100, 4).info()
    /// {'width': 100, 'depth': 4, 'count': 0}
    fn info(&self) -> PyResult<()> {
        Err(PyNotImplementedError::new_err(()))
    }

    /// How wrong the answers are now: the fields of SKETCH.ACCURACY (docs/commands/sketch.accuracy.md), for the window at `at`
    /// or the last `within` milliseconds before it.
    ///
    /// >>> BloomFilter(1000).accuracy()["false positive rate"]
    /// 0.0
    #[pyo3(signature = (*, at = None, within = None))]
    fn accuracy<'py>(
        this: &Bound<'py, Self>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = this.py();
        let when = When::new(at, within);
        let fields = with_class!(this, |object| {
            let object = Class::in_memory(object)?;
            let sketch = object.get().sketch()?;
            Ok(py.detach(|| sketch.read(|sketch| sketch.accuracy(sketch.panes(when)?)))?)
        })?;
        let dictionary = PyDict::new(py);
        for (name, figure) in fields {
            let name = name.to_string_lossy();
            match figure {
                Figure::Ratio(ratio) => dictionary.set_item(name, ratio)?,
                Figure::Count(count) => dictionary.set_item(name, count)?,
            }
        }
        Ok(dictionary)
    }

    /// The methods that read a count-min sketch, a top-k or a t-digest with a window, for the panes that overlap a period
    /// (SKETCH.BETWEEN): from `start` until before `end`, by default until now. Both are datetimes with a time zone or Unix times in
    /// milliseconds; a `timedelta`, or a negative number of milliseconds, is relative to now, which is `at`.
    ///
    /// `ValueError` if a pane is longer than the period, or for a filter, which stores only the last addition of an item.
    ///
    /// >>> latency = TDigest(window=60_000, panes=6)
    /// >>> latency.update([250, 10, 20], at=[1_700_000_000, 1_700_000_045, 1_700_000_045])
    /// >>> latency.between(-60_000, -20_000, at=1_700_000_049).max()
    /// 250.0
    #[pyo3(signature = (start, end = None, *, at = None))]
    fn between<'py>(
        this: &Bound<'py, Self>,
        start: Time,
        end: Option<Time>,
        at: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if this.is_instance_of::<BloomFilter>() || this.is_instance_of::<CuckooFilter>() {
            return Err(Error::value(ONLY_THE_LAST_ADDITION).into());
        }
        with_class!(this, |object| between(object, (Some(start), end, at)))
    }

    /// The bytes of DUMP, for RESTORE. `rdb_version` is 9 to 65535: a server refuses one above its own, and all supported
    /// servers accept 9.
    ///
    /// >>> len(BloomFilter(1000).dump())
    /// 1446
    #[pyo3(signature = (rdb_version = 9))]
    fn dump<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = integer)] rdb_version: i64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        dump(this, rdb_version)
    }

    /// Writes `dump()` into a file: a path, or a binary file object. `OSError` if it cannot be written.
    ///
    /// The file of a path is complete or unchanged, also after a crash: a temporary file in the same directory (`.roughly-*.tmp`)
    /// replaces it after it was written to the disk. It keeps its permissions, and a symbolic link to it. Pipes and devices are
    /// written directly. A file object is neither flushed nor closed.
    ///
    /// >>> BloomFilter(1000).save("seen.dump")
    /// >>> BloomFilter.open("seen.dump").capacity
    /// 1000
    fn save<'py>(this: &Bound<'py, Self>, file: &Bound<'py, PyAny>) -> PyResult<()> {
        let file = FileArgument::of(file, Access::Write)?;
        file.write(this.py(), dump(this, RDB_VERSION.into())?.as_bytes())
    }

    /// Iterates over the pairs (iterator, bytes) of SCANDUMP, for LOADCHUNK.
    ///
    /// >>> [iterator for iterator, chunk in BloomFilter(1000).to_chunks()]
    /// [1, 1385]
    fn to_chunks(this: &Bound<'_, Self>) -> PyResult<Chunks> {
        with_class!(this, |object| Ok(Chunks::of(
            Class::in_memory(object)?.unbind()
        )))
    }

    /// A copy.
    ///
    /// >>> seen = BloomFilter()
    /// >>> copy = seen.copy()
    /// >>> copy.add("alice"), len(seen), len(copy)
    /// (True, 0, 1)
    fn copy<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_class!(this, |object| Ok(copy(object)?.into_any()))
    }

    /// The length of the window in milliseconds; `None` without a window.
    #[getter]
    fn window(this: &Bound<'_, Self>) -> PyResult<Option<u64>> {
        of_window!(this, |sketch| Some(sketch.timeline()?.window().ms()))
    }

    /// The number of panes of the window; `None` without a window.
    #[getter]
    fn panes(this: &Bound<'_, Self>) -> PyResult<Option<u64>> {
        of_window!(this, |sketch| Some(sketch.timeline()?.window().panes()))
    }

    /// The length of the newest pane in milliseconds; `None` without a window.
    #[getter]
    fn finest(this: &Bound<'_, Self>) -> PyResult<Option<u64>> {
        of_window!(this, |sketch| Some(sketch.timeline()?.window().pane_ms()))
    }

    /// The key of the hash as 32 hexadecimal digits; `None` without a window. Keep it secret from those who choose items.
    #[getter]
    fn seed(this: &Bound<'_, Self>) -> PyResult<Option<String>> {
        let seed = of_window!(this, |sketch| sketch.seed())?;
        Ok(seed.map(hex))
    }

    fn __eq__(this: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<bool> {
        with_class!(this, |object| is_equal(object, other))
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let mut text = format!("<{}", this.get_type().name()?);
        let attributes = with_class!(this, |object| Ok(attributes(object)))?;
        for name in attributes.iter().chain(&["window", "panes", "finest"]) {
            let value = match *name {
                "len" => Some(this.len()?.to_string()),
                name => text_of(&this.getattr(name)?)?,
            };
            text.extend(value.map(|value| format!(" {name}={value}")));
        }
        Ok(text + ">")
    }

    /// The bytes of the object and its memory blocks. The system provides pages of large blocks when they are first used.
    fn __sizeof__(this: &Bound<'_, Self>) -> PyResult<u64> {
        let py = this.py();
        let object: u64 = this.get_type().getattr("__basicsize__")?.extract()?;
        let blocks = with_class!(this, |object| Ok(object.get().block_bytes(py)))?;
        Ok(object + blocks)
    }

    fn __copy__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(this)
    }

    fn __deepcopy__<'py>(
        this: &Bound<'py, Self>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(this)
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        Self::__reduce_ex__(this, Integer(0))
    }

    /// From protocol 5 on, the arrays are buffers, which `pickle` passes on without a copy if it has a `buffer_callback`.
    fn __reduce_ex__<'py>(this: &Bound<'py, Self>, protocol: Integer) -> PyResult<Reduced<'py>> {
        let py = this.py();
        let roughly = py.import("roughly")?;
        if let Ok(filter) = this.cast::<BloomFilter>()
            && let Some(path) = filter.get().path()
        {
            let lazy = [("lazy", true)].into_py_dict(py)?;
            let partial = py.import("functools")?.getattr("partial")?;
            let open = partial.call((roughly.getattr("open")?,), Some(&lazy))?;
            return Ok((open, PyTuple::new(py, [path.as_os_str()])?));
        }
        if protocol.0 >= 5
            && let Some(arrays) = with_class!(this, |object| export::arrays(object.get(), py))?
        {
            let load = roughly.getattr("_roughly")?.getattr("_load_arrays")?;
            return Ok((load, arrays));
        }
        let payload = dump(this, RDB_VERSION.into())?;
        Ok((roughly.getattr("load")?, PyTuple::new(py, [payload])?))
    }
}

/// A function, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

const ONLY_THE_LAST_ADDITION: &str =
    "a filter stores only the last addition of an item: within= reads the last part of a window";

/// The object whose payload this is, of a class or a subclass of it.
fn load_bytes<'py>(cls: &Bound<'py, PyType>, payload: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let object = any::load(cls.py(), payload)?.into_bound(cls.py());
    check_class(&object.get_type(), cls)?;
    Ok(object)
}

fn dump<'py>(sketch: &Bound<'py, Base>, rdb_version: i64) -> PyResult<Bound<'py, PyBytes>> {
    let py = sketch.py();
    with_class!(sketch, |object| {
        dump::of(Class::in_memory(object)?.get(), py, rdb_version)
    })
}

fn attributes<T: Class>(_: &Bound<'_, T>) -> &'static [&'static str] {
    T::ATTRIBUTES
}

/// The text of an attribute; `None` for `None` and `False`.
fn text_of(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if value.is_none() || value.cast::<PyBool>().is_ok_and(|value| !value.is_true()) {
        return Ok(None);
    }
    match value.cast::<PyFloat>() {
        // Without an exponent.
        Ok(float) => Ok(Some(float.value().to_string())),
        Err(_) => Ok(Some(value.str()?.to_string())),
    }
}

fn is_equal<T: Class>(object: &Bound<'_, T>, other: &Bound<'_, Base>) -> PyResult<bool> {
    let Ok(other) = other.cast::<T>() else {
        return Ok(false);
    };
    let (one, other) = (T::in_memory(object)?, T::in_memory(other)?);
    let py = object.py();
    let (one, other) = (one.get().sketch()?, other.get().sketch()?);
    Ok(py.detach(|| one.share().is_equal(&other.share()))?)
}

/// `Sketch.load`: the object whose DUMP payload this is.
///
/// >>> seen = BloomFilter()
/// >>> seen.add("alice")
/// True
/// >>> load(seen.dump()) == seen
/// True
#[pyfunction]
pub fn load<'py>(payload: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Base::load(&Base::type_object(payload.py()), payload)
}

/// `Sketch.open`: the object in a file that `save` wrote.
///
/// >>> counts = CountMinSketch(100, 4)
/// >>> counts.save("counts.dump")
/// >>> open("counts.dump")
/// <CountMinSketch width=100 depth=4 cell_size=4 count=0>
#[pyfunction]
#[pyo3(signature = (file, *, lazy = false))]
pub fn open<'py>(file: &Bound<'py, PyAny>, lazy: bool) -> PyResult<Bound<'py, PyAny>> {
    Base::open(&Base::type_object(file.py()), file, lazy)
}

/// `Sketch.load_chunks`: the object whose chunks these are.
///
/// >>> digest = TDigest()
/// >>> digest.update([1, 2, 3])
/// >>> load_chunks(digest.to_chunks()).max()
/// 3.0
#[pyfunction]
pub fn load_chunks<'py>(pairs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Base::load_chunks(&Base::type_object(pairs.py()), pairs)
}
