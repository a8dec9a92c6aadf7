//! CMS.MERGE, the weighted sum of sketches.

use super::NOT_FOUND;
use crate::family::merge::{self, FIRST_SOURCE, NumkeysErrors, max_bytes};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use roughly_sketch::count_min::{CountMin, CountMinError, MergeSource};
use roughly_sketch::memory::with_capacity;
use std::ffi::CStr;

const NUMKEYS: NumkeysErrors = NumkeysErrors {
    not_integer: c"CMS: invalid numkeys",
    not_positive: c"CMS: Number of keys must be positive",
};
const NO_MEMORY: &CStr = c"CMS: Insufficient memory to merge";

/// CMS.MERGE dest numkeys src [src …] [WEIGHTS w [w …]]
pub fn merge(call: &mut Call<'_>) -> Result<(), Error> {
    // Opened for writing, because opening a missing key for reading counts as a keyspace miss.
    call.write::<CountMin>(1).get().or_missing(NOT_FOUND)?;
    let numkeys = numkeys(call)?;
    let end = FIRST_SOURCE + numkeys;
    let mut weighted = with_capacity(numkeys).map_err(|_| NO_MEMORY)?;
    let keys = call.merge::<CountMin>(1, FIRST_SOURCE..end);
    let mut keys = keys.map_err(|_| NO_MEMORY)?;
    let (destination, sources) = keys.get();
    let destination = destination.or_missing(NOT_FOUND)?;
    // There are weights for all sources or for none.
    let mut weights = call.args_from(end + 1);
    for source in sources {
        let weight = weights.next().map_or(Some(1), Argument::integer);
        let weight = weight.ok_or(c"CMS: invalid weight value")?;
        let sketch = source.or_missing(NOT_FOUND)?;
        if let Some(sketch) = sketch {
            destination.check_source(sketch).map_err(error_text)?;
        }
        weighted.push(MergeSource { sketch, weight });
    }
    let changed = destination.merge_within(&weighted, max_bytes(call));
    let changed = changed.map_err(error_text)?;
    drop(keys);
    if changed {
        call.replicate_verbatim();
        call.signal_changed(1, c"cms.merge");
    }
    call.reply_ok();
    Ok(())
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
        CountMinError::OutOfMemory(_) => NO_MEMORY.into(),
        CountMinError::TooMuchWork(_) => {
            c"CMS: too much work for one merge, merge fewer sources at a time".into()
        }
        _ => c"CMS: MERGE overflow".into(),
    }
}
