//! The Python classes, and what all of them have.

use crate::arguments::items::with_bytes;
use crate::error::Error;
use crate::sketch::lock::Shared;
use crate::sketch::variants::Variants;
use crate::sketch::window::When;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use roughly_sketch::window::Panes;

/// The base class of all sketches. It has their common methods and no objects of its own.
///
/// `Sketch.load`, `Sketch.open` and `Sketch.load_chunks` return an object of the class that fits the type of the value. The same
/// methods of another class return an object of this class, and raise `ValueError` if the value has another type.
///
/// >>> seen = BloomFilter()
/// >>> isinstance(seen, Sketch)
/// True
/// >>> BloomFilter.load(seen.dump()) == Sketch.load(seen.dump()) == seen
/// True
/// >>> TopK.load(seen.dump())
/// Traceback (most recent call last):
/// ValueError: the value is a BloomFilter, not a TopK
#[pyclass(module = "roughly", name = "Sketch", subclass, frozen, weakref)]
pub struct Base;

/// A Python class of sketches. The methods that all classes have are in [`Base`].
pub trait Class:
    pyo3::PyClass<Frozen = pyo3::pyclass::boolean_struct::True, BaseType = Base>
    + Into<PyClassInitializer<Self>>
    + Sync
{
    /// Its types.
    type Variants: Variants;

    /// The object of a sketch.
    fn of(sketch: Self::Variants) -> Self;

    /// The sketch of an object.
    ///
    /// # Errors
    /// If it is in a file. [`Class::in_memory`] returns an object for which there is none.
    fn sketch(&self) -> Result<&Shared<Self::Variants>, Error>;

    /// The object, or a copy in memory of one whose sketch is in a file.
    ///
    /// # Errors
    /// `ValueError` if the payload in the file is invalid, `OSError` and `MemoryError`.
    fn in_memory<'py>(object: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Ok(object.clone())
    }

    /// The attributes that the text of the object has. `len` is the number of items.
    const ATTRIBUTES: &'static [&'static str];

    /// Bytes of the memory blocks of the object.
    fn block_bytes(&self, py: Python<'_>) -> u64 {
        let bytes = |sketch: &Self::Variants| sketch.block_bytes();
        (self.sketch()).map_or(0, |sketch| py.detach(|| sketch.read(bytes)))
    }
}

/// Makes a class one whose base is [`Base`].
macro_rules! subclass {
    ($class:ident) => {
        impl From<$class> for pyo3::PyClassInitializer<$class> {
            fn from(object: $class) -> Self {
                pyo3::PyClassInitializer::from($crate::sketch::class::Base).add_subclass(object)
            }
        }

        impl<'py> pyo3::IntoPyObject<'py> for $class {
            type Target = Self;
            type Output = pyo3::Bound<'py, Self>;
            type Error = pyo3::PyErr;

            fn into_pyobject(self, py: pyo3::Python<'py>) -> PyResult<Self::Output> {
                pyo3::Bound::new(py, self)
            }
        }
    };
}
pub(crate) use subclass;

/// Implements [`Class`] for a class whose sketches are in memory.
macro_rules! class {
    ($class:ident of $variants:ident: $($attribute:literal),+) => {
        $crate::sketch::class::subclass!($class);

        impl $crate::sketch::class::Class for $class {
            type Variants = $variants;

            const ATTRIBUTES: &'static [&'static str] = &[$($attribute),+];

            fn of(sketch: $variants) -> Self {
                Self {
                    sketch: $crate::sketch::lock::Shared::new(sketch),
                }
            }

            fn sketch(
                &self,
            ) -> Result<&$crate::sketch::lock::Shared<$variants>, $crate::error::Error> {
                Ok(&self.sketch)
            }
        }
    };
}
pub(crate) use class;

impl<V: Variants> Shared<V> {
    /// As [`Shared::peek`], with the panes that count.
    ///
    /// # Errors
    /// As [`When::panes`].
    pub fn peek_at<R: Send>(
        &self,
        py: Python<'_>,
        when: When,
        read: impl FnOnce(&V, Panes) -> R + Send,
    ) -> PyResult<R> {
        let read = |sketch: &V| Ok::<_, Error>(read(sketch, sketch.panes(when)?));
        Ok(self.peek(py, read)?)
    }

    /// As [`Shared::peek_at`], with the bytes of an item.
    ///
    /// # Errors
    /// As [`When::panes`]; `TypeError` for objects that are no items.
    pub fn peek_item<R: Send>(
        &self,
        item: &Bound<'_, PyAny>,
        when: When,
        read: impl FnOnce(&V, &[u8], Panes) -> R + Send,
    ) -> PyResult<R> {
        let py = item.py();
        // Returned through `with_bytes`, the answer would be copied several times.
        let (mut answer, mut peeked) = (None, Ok(()));
        with_bytes(item, |item| {
            peeked = self.peek(py, |sketch| {
                answer = Some(read(sketch, item, sketch.panes(when)?));
                Ok::<_, Error>(())
            });
        })?;
        peeked?;
        Ok(answer.expect("it was read"))
    }
}

/// A copy of an object, in memory.
///
/// # Errors
/// `MemoryError`; those of [`Class::in_memory`].
pub fn copy<'py, T: Class>(object: &Bound<'py, T>) -> PyResult<Bound<'py, T>> {
    let py = object.py();
    let in_memory = T::in_memory(object)?;
    // That of a file is a copy.
    if !in_memory.as_any().is(object) {
        return Ok(in_memory);
    }
    let sketch = object.get().sketch()?;
    let copy = py.detach(|| sketch.read(Variants::try_clone))?;
    Bound::new(py, T::of(copy))
}

/// The objects of the arguments of `merge`.
///
/// # Errors
/// `TypeError` for objects of another class.
pub fn others_of<'py, T: Class>(others: &Bound<'py, PyTuple>) -> PyResult<Vec<Bound<'py, T>>> {
    let others = others.iter().map(|other| Ok(other.cast_into()?));
    others.collect()
}

/// Merges others into an object: calls `merge` as [`Shared::write_with`] does.
///
/// # Errors
/// Those of `merge` and of [`Class::in_memory`]; an object whose sketch is in a file.
pub fn merge<T: Class>(
    object: &T,
    py: Python<'_>,
    others: &[Bound<'_, T>],
    merge: impl FnOnce(&mut T::Variants, &[Option<&T::Variants>]) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let sketch = object.sketch()?;
    let others = others.iter().map(T::in_memory);
    let others = others.collect::<PyResult<Vec<_>>>()?;
    let locks = others.iter().map(|other| other.get().sketch());
    let locks = locks.collect::<Result<Vec<_>, Error>>()?;
    Ok(py.detach(|| sketch.write_with(&locks, merge))?)
}
