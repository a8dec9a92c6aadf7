//! The types of a class, and the methods that all classes have.

use crate::error::Error;
use crate::window::{At, panes};
use roughly_dump::Reader;
use roughly_sketch::format::FormatError;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timeline};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// A sketch with the cache of its reads.
#[derive(Debug)]
pub struct Sketch<T: Stored> {
    state: T,
    cache: Mutex<T::Cache>,
}

impl<T: Stored> Sketch<T> {
    /// Calls `read` with the state and the cache.
    pub fn with_cache<R>(&self, read: impl FnOnce(&T, &mut T::Cache) -> R) -> R {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        read(&self.state, &mut cache)
    }
}

impl<T: Stored> From<T> for Sketch<T> {
    fn from(state: T) -> Self {
        Self {
            state,
            cache: Mutex::default(),
        }
    }
}

impl<T: Stored> Deref for Sketch<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T: Stored> DerefMut for Sketch<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state
    }
}

/// The types of a class: that without a window, that with one, and for Bloom filters that of valkey-bloom.
pub trait Variants: Sized + Send + Sync {
    /// Loads the values of a payload, if its type is one of these.
    fn load(reader: &mut Reader<'_>) -> Option<Result<Self, FormatError>>;

    /// The sketch that a header describes.
    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError>;

    /// A DUMP payload.
    fn dump(&self, rdb_version: u16) -> Result<Vec<u8>, Error>;

    /// The header of the chunks.
    fn header(&self) -> Result<Vec<u8>, Error>;

    /// The chunk at an iterator, with the next iterator.
    fn chunk(&self, iterator: i64) -> Option<(i64, &[u8])>;

    /// Copies a chunk to its place.
    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), Error>;

    /// A copy.
    fn try_clone(&self) -> Result<Self, Error>;

    /// The panes, if the type has a window.
    fn timeline(&self) -> Option<&Timeline>;

    /// The panes that count at a time; see [`panes`].
    fn panes(&self, at: Option<At>) -> Result<Panes, Error> {
        panes(self.timeline(), at)
    }
}

/// Types of a class of which only the one without a window can be changed.
pub trait Writable {
    /// The type without a window.
    type Classic: Stored;

    /// The sketch, for a write.
    fn writable(&mut self) -> Result<&mut Sketch<Self::Classic>, Error>;
}

/// Defines the enum of the types of a class.
macro_rules! variants {
    ($(#[$doc:meta])* $name:ident { Classic($classic:ty), Windowed($windowed:ty) $(,)? }) => {
        $crate::sketch::variants! {
            $(#[$doc])*
            $name {
                Classic($classic),
                Windowed($windowed);
            }
        }

        impl $crate::sketch::Writable for $name {
            type Classic = $classic;

            fn writable(
                &mut self,
            ) -> Result<&mut $crate::sketch::Sketch<$classic>, $crate::error::Error> {
                match self {
                    Self::Classic(sketch) => Ok(sketch),
                    Self::Windowed(_) => Err($crate::error::READ_ONLY),
                }
            }
        }
    };
    ($(#[$doc:meta])* $name:ident { $($variant:ident($type:ty)),+ $(,)? $(;)? }) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant)] // An object has one.
        pub enum $name {
            $($variant($crate::sketch::Sketch<$type>),)+
        }

        impl $crate::sketch::Variants for $name {
            fn load(
                reader: &mut roughly_dump::Reader<'_>,
            ) -> Option<Result<Self, roughly_sketch::format::FormatError>> {
                $(if let Some(loaded) = $crate::payload::load_values::<$type>(reader) {
                    return Some(loaded.map(|sketch| Self::$variant(sketch.into())));
                })+
                None
            }

            fn from_header(
                header: &[u8],
                budget: roughly_sketch::memory::Budget<'_>,
            ) -> Result<Self, roughly_sketch::format::FormatError> {
                use roughly_sketch::{format::FormatError, stored::Stored};
                $(match <$type as Stored>::from_header(header, budget) {
                    Ok(sketch) => return Ok(Self::$variant(sketch.into())),
                    Err(FormatError::OutOfMemory(refused)) => return Err(refused.into()),
                    Err(_) => {}
                })+
                Err(FormatError::Invalid("received bad data"))
            }

            fn dump(&self, rdb_version: u16) -> Result<Vec<u8>, $crate::error::Error> {
                match self {
                    $(Self::$variant(sketch) => $crate::payload::dump::<$type>(sketch, rdb_version),)+
                }
            }

            fn header(&self) -> Result<Vec<u8>, $crate::error::Error> {
                match self {
                    $(Self::$variant(sketch) => $crate::payload::header::<$type>(sketch),)+
                }
            }

            fn chunk(&self, iterator: i64) -> Option<(i64, &[u8])> {
                use roughly_sketch::{format::chunks::CHUNK_BYTES, stored::Stored};
                match self {
                    $(Self::$variant(sketch) => sketch.chunk(iterator, CHUNK_BYTES),)+
                }
            }

            fn load_chunk(
                &mut self,
                iterator: i64,
                chunk: &[u8],
            ) -> Result<(), $crate::error::Error> {
                use roughly_sketch::stored::Stored;
                match self {
                    $(Self::$variant(sketch) => Ok(sketch.load_chunk(iterator, chunk)?),)+
                }
            }

            fn try_clone(&self) -> Result<Self, $crate::error::Error> {
                use roughly_sketch::stored::Stored;
                Ok(match self {
                    $(Self::$variant(sketch) => {
                        Self::$variant(<$type as Stored>::try_clone(sketch)?.into())
                    })+
                })
            }

            fn timeline(&self) -> Option<&roughly_sketch::window::Timeline> {
                use roughly_sketch::window::Timed;
                match self {
                    $(Self::$variant(sketch) => Timed::timeline(&**sketch),)+
                }
            }
        }
    };
}
pub(crate) use variants;

/// A Python class of sketches.
pub trait Class: pyo3::PyClass + Into<pyo3::PyClassInitializer<Self>> + Sync {
    /// Its types.
    type Variants: Variants;

    /// The object of a sketch.
    fn of(sketch: Self::Variants) -> Self;

    /// The sketch of an object.
    fn sketch(&self) -> &Self::Variants;
}

/// Implements [`Class`] and the methods that all classes have.
macro_rules! class {
    ($class:ident of $variants:ident) => {
        impl $crate::sketch::Class for $class {
            type Variants = $variants;

            fn of(sketch: $variants) -> Self {
                Self { sketch }
            }

            fn sketch(&self) -> &$variants {
                &self.sketch
            }
        }

        #[pymethods]
        impl $class {
            /// The bytes of DUMP, for RESTORE. A server refuses an RDB version above its own; all accept 9.
            #[pyo3(
                                        signature = (rdb_version = $crate::numbers::Integer(9)),
                                        text_signature = "($self, rdb_version=9)",
                                    )]
            fn dump<'py>(
                &self,
                py: pyo3::Python<'py>,
                rdb_version: $crate::numbers::Integer,
            ) -> PyResult<pyo3::Bound<'py, pyo3::types::PyBytes>> {
                let payload = $crate::payload::of(self, py, rdb_version.0)?;
                $crate::payload::bytes(py, &payload)
            }

            /// Writes dump() into a file.
            fn save(&self, py: pyo3::Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
                $crate::payload::save(self, py, &path)
            }

            /// Iterates over the pairs (iterator, bytes) of SCANDUMP, for LOADCHUNK.
            fn to_chunks(this: pyo3::Py<Self>) -> $crate::payload::Chunks {
                $crate::payload::Chunks::of(this)
            }

            /// A copy.
            fn copy(&self, py: pyo3::Python<'_>) -> PyResult<Self> {
                use $crate::sketch::{Class, Variants};
                Ok(Self::of(py.detach(|| self.sketch.try_clone())?))
            }

            fn __copy__(&self, py: pyo3::Python<'_>) -> PyResult<Self> {
                self.copy(py)
            }

            fn __deepcopy__(
                &self,
                py: pyo3::Python<'_>,
                _memo: &pyo3::Bound<'_, pyo3::PyAny>,
            ) -> PyResult<Self> {
                self.copy(py)
            }

            fn __reduce__<'py>(
                &self,
                py: pyo3::Python<'py>,
            ) -> PyResult<(
                pyo3::Bound<'py, pyo3::PyAny>,
                (pyo3::Bound<'py, pyo3::types::PyBytes>,),
            )> {
                let load = py.import("roughly")?.getattr("load")?;
                Ok((
                    load,
                    (self.dump(
                        py,
                        $crate::numbers::Integer(roughly_dump::RDB_VERSION.into()),
                    )?,),
                ))
            }
        }
    };
}
pub(crate) use class;
