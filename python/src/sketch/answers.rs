//! Answers for several items.

use crate::arguments::batch::{Batch, reserve};
use crate::arguments::items::for_each_batch;
use crate::arguments::numpy_array::results;
use crate::sketch::lock::Shared;
use crate::sketch::variants::Variants;
use crate::sketch::window::When;
use numpy::Element;
use pyo3::prelude::*;
use roughly_sketch::window::Panes;

/// The answers for items, as a NumPy array or a list: calls `read` with each batch of items, the panes that count, and the list to which
/// it appends an answer per item.
///
/// # Errors
/// Those of [`When::panes`]; `TypeError` for objects that are no items.
pub fn answers<'py, V: Variants, R>(
    sketch: &Shared<V>,
    items: &Bound<'py, PyAny>,
    when: When,
    read: impl Fn(&V, &Batch, Panes, &mut Vec<R>) + Sync,
) -> PyResult<Bound<'py, PyAny>>
where
    R: Element + IntoPyObject<'py>,
{
    let when = sketch.peek(items.py(), |sketch| when.resolve(sketch.timeline()))?;
    let mut answers = Vec::new();
    for_each_batch(items, |batch, py| {
        reserve(&mut answers, batch.len())?;
        sketch.read_maybe_attached(py, |sketch| {
            read(sketch, batch, sketch.panes(when)?, &mut answers);
            Ok(())
        })
    })?;
    results(items.py(), answers)
}
