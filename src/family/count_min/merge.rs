//! CMS.MERGE, the weighted sum of sketches.

use super::NOT_FOUND;
use crate::family::merge::{self, FIRST_SOURCE, NumkeysErrors, max_bytes};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::data_type::DataType;
use crate::server::key::{Either, Slot, WriteKey};
use roughly_sketch::count_min::{CountMin, CountMinError, CountMinWindow, MergeSource, Sketch};
use roughly_sketch::memory::{Budget, with_capacity};
use std::ffi::CStr;

const NUMKEYS: NumkeysErrors = NumkeysErrors {
    not_integer: c"CMS: invalid numkeys",
    not_positive: c"CMS: Number of keys must be positive",
};
const NO_MEMORY: &CStr = c"CMS: Insufficient memory to merge";
const OTHER_WINDOW: &CStr = c"CMS: window/panes is not equal";

/// CMS.MERGE dest numkeys src [src …] [WEIGHTS w [w …]]
pub fn merge(call: &mut Call<'_>) -> Result<(), Error> {
    match call.write_either::<CountMin, CountMinWindow>(1) {
        Either::Plain(key) => merge_into::<CountMin, CountMinWindow>(call, key),
        Either::Windowed(key) => merge_into::<CountMinWindow, CountMin>(call, key),
    }
}

/// Merges into a sketch of type `T`. Sources of type `O` have another window.
fn merge_into<T: Sketch + DataType, O: DataType>(
    call: &mut Call<'_>,
    key: WriteKey<T>,
) -> Result<(), Error> {
    // Opened for writing, because opening a missing key for reading counts as a keyspace miss.
    key.get().or_missing(NOT_FOUND)?;
    drop(key);
    let numkeys = numkeys(call)?;
    let end = FIRST_SOURCE + numkeys;
    let keys = call.merge::<T>(1, FIRST_SOURCE..end);
    let mut keys = keys.map_err(|_| NO_MEMORY)?;
    let other = keys.first_of::<O>();
    if T::MAX_PANES > 0 {
        // The destination advances only if no argument is wrong.
        let (destination, sources) = keys.get();
        weighted(
            call,
            end,
            destination.or_missing(NOT_FOUND)?,
            sources,
            other,
        )?;
        keys.advance(call);
    }
    let (destination, sources) = keys.get();
    let destination = destination.or_missing(NOT_FOUND)?;
    let weighted = weighted(call, end, destination, sources, other)?;
    let allows = |bytes| call.allows_addition(bytes);
    let changed = destination.merge_within(&weighted, max_bytes(call), Budget::new(&allows));
    if T::MAX_PANES > 0 {
        keys.recount();
    }
    let changed = changed.map_err(|error| match error {
        CountMinError::OutOfMemory(_) => call.memory_error(NO_MEMORY),
        _ => error_text(error),
    })?;
    drop(keys);
    if changed {
        call.replicate_verbatim();
        call.signal_changed(1, c"cms.merge");
    }
    call.reply_ok();
    Ok(())
}

/// The sources with their weights, which begin after argument `end`. There are weights for all sources or for none. The
/// source with the number `other` has another window than the destination.
fn weighted<'a, T: Sketch + DataType>(
    call: &Call<'_>,
    end: usize,
    destination: &T,
    sources: impl Iterator<Item = Slot<Option<&'a T>>>,
    other: Option<usize>,
) -> Result<Vec<MergeSource<'a, T>>, Error> {
    let mut weighted = with_capacity(end - FIRST_SOURCE).map_err(|_| NO_MEMORY)?;
    let mut weights = call.args_from(end + 1);
    for (number, source) in sources.enumerate() {
        let weight = weights.next().map_or(Some(1), Argument::integer);
        let weight = weight.ok_or(c"CMS: invalid weight value")?;
        if Some(number) == other {
            return Err(OTHER_WINDOW.into());
        }
        let sketch = source.or_missing(NOT_FOUND)?;
        if let Some(sketch) = sketch {
            destination.check_source(sketch).map_err(error_text)?;
            if let (Some(timeline), Some(source)) = (destination.timeline(), sketch.timeline()) {
                call.check_pane(timeline, source.newest())?;
            }
        }
        weighted.push(MergeSource { sketch, weight });
    }
    Ok(weighted)
}

/// The number of sources. The number of arguments must match it.
///
/// A source may be named WEIGHTS: the keyword is expected after `numkeys` sources.
fn numkeys(call: &Call<'_>) -> Result<usize, Error> {
    let numkeys = merge::numkeys(call, &NUMKEYS)?;
    let rest = call.len() - FIRST_SOURCE;
    if numkeys == rest {
        return Ok(numkeys);
    }
    let mut arguments = call.args_from(FIRST_SOURCE);
    if rest % 2 == 1 && rest / 2 == numkeys && call.arg(FIRST_SOURCE + numkeys).is("WEIGHTS") {
        return Ok(numkeys);
    }
    Err(if arguments.any(|argument| argument.is("WEIGHTS")) {
        c"CMS: wrong number of keys/weights".into()
    } else {
        c"CMS: wrong number of keys".into()
    })
}

fn error_text(error: CountMinError) -> Error {
    match error {
        CountMinError::DimensionMismatch => c"CMS: width/depth is not equal".into(),
        CountMinError::CellSizeMismatch => c"CMS: cell size is not equal".into(),
        CountMinError::WindowMismatch => OTHER_WINDOW.into(),
        CountMinError::OutOfMemory(_) => NO_MEMORY.into(),
        CountMinError::TooMuchWork(_) => {
            c"CMS: too much work for one merge, merge fewer sources at a time".into()
        }
        _ => c"CMS: MERGE overflow".into(),
    }
}
