//! NumPy arrays as arguments and results. NumPy need not be installed.

use crate::error::Error;
use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyRange, PySet, PyTuple, PyType,
};
use pyo3::{IntoPyObjectExt, intern};

/// The type of arrays, once an argument was one.
static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// NumPy, if it is loaded: otherwise there is no array. The crate numpy panics if NumPy is not installed.
fn loaded<'py>(py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let modules = MODULES.import(py, "sys", "modules")?;
    // `None` prevents the import.
    let numpy = modules.get_item(intern!(py, "numpy"))?;
    Ok(numpy.filter(|numpy| !numpy.is_none()))
}

/// Whether an object has a type of Python that is neither an array nor a column nor a number. To look up the attributes of those
/// would take longer than to read a few elements.
pub fn is_builtin(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyList>()
        || object.is_exact_instance_of::<PyTuple>()
        || object.is_exact_instance_of::<PySet>()
        || object.is_exact_instance_of::<PyRange>()
}

/// Whether an object is a NumPy array and of no subclass, or [`is_builtin`]. False also for the first array.
pub fn is_plain(object: &Bound<'_, PyAny>) -> bool {
    let ndarray = NDARRAY.get(object.py());
    is_builtin(object) || ndarray.is_some_and(|ndarray| object.get_type().is(ndarray))
}

/// Whether an object, such as a column of pandas, has elements of a type of NumPy.
pub fn has_numpy_elements(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = intern!(object.py(), "dtype");
    match (loaded(object.py())?, object.getattr_opt(name)?) {
        (Some(numpy), Some(dtype)) => dtype.is_instance(&numpy.getattr(name)?),
        _ => Ok(false),
    }
}

/// The array of an argument: a NumPy array, or an object that has one (a column of a data frame). `None` for other objects.
/// A column with a null ends before it, or is refused if its elements have a name.
pub fn of<'py>(argument: &Bound<'py, PyAny>, name: Option<&str>) -> PyResult<Option<Array<'py>>> {
    let py = argument.py();
    if is_builtin(argument) {
        return Ok(None);
    }
    let Some(numpy) = loaded(py)? else {
        return Ok(None);
    };
    let ndarray = numpy.getattr(intern!(py, "ndarray"))?;
    let mut null = None;
    let array = if argument.is_instance(&ndarray)? {
        argument.clone()
    } else if argument.hasattr(intern!(py, "to_numpy"))? {
        null = null_of(&numpy, argument)?;
        let column = match (null, name) {
            (Some(null), Some(name)) => return Err(Error::null(name, null).into()),
            (Some(null), _) => {
                argument.call_method1("take", (PyRange::new(py, 0, null as isize)?,))?
            }
            (None, _) => argument.clone(),
        };
        column.call_method0(intern!(py, "to_numpy"))?
    } else {
        return Ok(None);
    };
    if !array.is_instance(&ndarray)? {
        return Err(PyTypeError::new_err("to_numpy() returned no NumPy array"));
    }
    if array.getattr(intern!(py, "ndim"))?.extract::<usize>()? != 1 {
        return Err(PyValueError::new_err("the array must have one dimension"));
    }
    if !array.get_type().is(&ndarray) && array.getattr_opt("mask")?.is_some() {
        let text = "a masked array has elements that do not count: use its method compressed()";
        return Err(PyTypeError::new_err(text));
    }
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let kind = dtype.getattr(intern!(py, "kind"))?.extract()?;
    let is_column = !array.is(argument);
    NDARRAY.get_or_try_init(py, || ndarray.cast_into().map(Bound::unbind))?;
    Ok(Some(Array {
        numpy,
        array,
        kind,
        is_column,
        null,
    }))
}

/// The position of the first null of a column of pandas. In its NumPy array, nulls are NaN or other objects. In a column of floats of NumPy,
/// NaN is a number.
fn null_of(numpy: &Bound<'_, PyAny>, column: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let (Some(dtype), Some(is_null)) = (column.getattr_opt("dtype")?, column.getattr_opt("isna")?)
    else {
        return Ok(None);
    };
    if has_numpy_elements(column)? && dtype.getattr("kind")?.extract::<char>()? != 'O' {
        return Ok(None);
    }
    let nulls = match is_null.call0() {
        // A `MultiIndex`, whose elements are tuples.
        Err(error) if error.is_instance_of::<PyNotImplementedError>(column.py()) => {
            return Ok(None);
        }
        nulls => numpy.call_method1("asarray", (nulls?,))?,
    };
    let positions = numpy.call_method1("flatnonzero", (nulls,))?;
    match positions.len()? {
        0 => Ok(None),
        _ => positions.get_item(0)?.extract().map(Some),
    }
}

/// Whether an object is a contiguous, aligned array of this type.
fn is_aligned<T: Element>(array: &Bound<'_, PyAny>) -> bool {
    let array = array.cast::<PyArray1<T>>();
    array.is_ok_and(|array| array.is_c_contiguous() && array.data().is_aligned())
}

/// A NumPy array of one dimension.
pub struct Array<'py> {
    numpy: Bound<'py, PyAny>,
    array: Bound<'py, PyAny>,
    /// NumPy's letter for the kind of the elements.
    pub kind: char,
    /// Whether it is the array of a column of a data frame.
    pub is_column: bool,
    /// The position of the null after the last element.
    pub null: Option<usize>,
}

impl<'py> Array<'py> {
    /// The elements as a contiguous, aligned array of this type, converted if it is another one.
    pub fn to<T: Element>(&self, dtype: &str) -> PyResult<PyReadonlyArray1<'py, T>> {
        match is_aligned::<T>(&self.array) {
            true => self.array.extract(),
            false => self.contiguous(dtype)?.extract(),
        }
    }

    fn contiguous(&self, dtype: impl IntoPyObject<'py>) -> PyResult<Bound<'py, PyAny>> {
        // Contiguous and aligned.
        let arguments = (&self.array, dtype.into_bound_py_any(self.array.py())?, "CA");
        self.numpy.call_method1("require", arguments)
    }

    /// The elements of an array of fixed-length strings, of a length above 0, as an array of this smaller type, and its number of
    /// elements per string.
    pub fn strings<T: Element>(&self) -> PyResult<(PyReadonlyArray1<'py, T>, usize)> {
        let py = self.array.py();
        let array: &Bound<'_, PyUntypedArray> = self.array.cast()?;
        let (dtype, elements) = (array.dtype(), numpy::dtype::<T>(py));
        let view = intern!(py, "view");
        if array.is_c_contiguous() && dtype.is_native_byteorder() != Some(false) {
            let view = array.call_method1(view, (&elements,))?;
            if is_aligned::<T>(&view) {
                return Ok((view.extract()?, dtype.itemsize() / size_of::<T>()));
            }
        }
        let array = self.contiguous(dtype.call_method1("newbyteorder", ("=",))?)?;
        let view = array.call_method1(view, (elements,))?;
        Ok((view.extract()?, dtype.itemsize() / size_of::<T>()))
    }

    /// The elements of the kind `M` in Unix milliseconds.
    pub fn milliseconds(&self) -> PyResult<PyReadonlyArray1<'py, i64>> {
        let array = self.contiguous("datetime64[ms]")?;
        array.call_method1("view", ("int64",))?.extract()
    }

    /// The size of an element in bytes.
    pub fn element_bytes(&self) -> PyResult<usize> {
        self.array.getattr("dtype")?.getattr("itemsize")?.extract()
    }

    /// The number of elements.
    pub fn len(&self) -> PyResult<usize> {
        self.array.len()
    }

    /// The elements as a list.
    pub fn to_list(&self) -> PyResult<Bound<'py, PyAny>> {
        self.array.call_method0("tolist")
    }
}

/// Refuses objects that are no numbers, although Python converts them: complex numbers, truth values, and NumPy's times and
/// durations.
///
/// # Errors
/// `TypeError`.
pub fn check_real(number: &Bound<'_, PyAny>) -> PyResult<()> {
    if number.is_exact_instance_of::<PyFloat>() || number.is_exact_instance_of::<PyInt>() {
        return Ok(());
    }
    let found = if number.is_instance_of::<PyComplex>() {
        "complex"
    } else if number.is_instance_of::<PyBool>() {
        "bool"
    } else {
        match kind(number)? {
            Some('c') => "complex",
            Some('b') => "bool",
            Some('M' | 'm') => "a time or a duration",
            _ => return Ok(()),
        }
    };
    let text = format!("a number must be real, not {found}");
    Err(PyTypeError::new_err(text))
}

/// NumPy's letter for the kind of a scalar, or of the elements of an array.
fn kind(object: &Bound<'_, PyAny>) -> PyResult<Option<char>> {
    let py = object.py();
    let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))? else {
        return Ok(None);
    };
    let kind = dtype.getattr_opt(intern!(py, "kind"))?;
    Ok(kind.and_then(|kind| kind.extract().ok()))
}

/// Whether an object is a scalar of NumPy.
pub fn is_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match loaded(object.py())? {
        Some(numpy) => object.is_instance(&numpy.getattr(intern!(object.py(), "generic"))?),
        None => Ok(false),
    }
}

/// The Unix milliseconds of a scalar of the kind `M`; `None` for other objects.
pub fn milliseconds(time: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if kind(time)? != Some('M') || !is_scalar(time)? {
        return Ok(None);
    }
    let ms = time.call_method1("astype", ("datetime64[ms]",))?;
    ms.call_method1("astype", ("int64",))?.extract().map(Some)
}

/// Results as a NumPy array, or as a list if NumPy is not installed.
pub fn results<'py, T>(py: Python<'py>, results: Vec<T>) -> PyResult<Bound<'py, PyAny>>
where
    T: Element + IntoPyObject<'py>,
{
    static IS_INSTALLED: PyOnceLock<bool> = PyOnceLock::new();
    let is_installed = IS_INSTALLED.get_or_init(py, || py.import("numpy").is_ok());
    match is_installed {
        true => Ok(PyArray1::from_vec(py, results).into_any()),
        false => results.into_bound_py_any(py),
    }
}
