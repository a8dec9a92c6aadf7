//! CMS.MERGE, the weighted sum of sketches.

use super::types::{Counter, CounterMut, CounterType, NOT_FOUND};
use crate::family::merge::{self, FIRST_SOURCE, NumkeysErrors};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Lookup, MergeKeys, WriteKey};
use crate::server::window::check_pane;
use roughly_sketch::count_min::{CountMin, CountMinError, CountMinWindow, MergeSource};
use roughly_sketch::memory::{Purpose, with_capacity};
use roughly_sketch::merge::MAX_BYTES;
use std::ffi::CStr;

const NUMKEYS: NumkeysErrors = NumkeysErrors {
    not_integer: c"CMS: invalid numkeys",
    not_positive: c"CMS: Number of keys must be positive",
};
const NO_MEMORY: &CStr = c"CMS: Insufficient memory to merge";

/// CMS.MERGE dest numkeys src [src …] [WEIGHTS w [w …]]
pub fn merge(call: &mut Call<'_>) -> Result<(), Error> {
    // Opened for writing, because opening a missing key for reading counts as a keyspace miss.
    let key = WriteKey::open(call, 1);
    let destination = key.get::<CounterType>().or_missing(NOT_FOUND)?;
    let has_window = matches!(destination, Counter::Windowed(_));
    drop(key);
    let numkeys = numkeys(call)?;
    let end = FIRST_SOURCE + numkeys;
    let keys = MergeKeys::<CounterType>::open(call, 1, FIRST_SOURCE..end);
    let mut keys = keys.map_err(|_| NO_MEMORY)?;
    let max_bytes = call.limit(MAX_BYTES);
    if has_window {
        keys.advance_if(call, |keys, call, pane| {
            let check = |sketch: &mut CountMinWindow, sources: &Sources<'_, _>| {
                sketch.check_merge(sources, pane, max_bytes).map(|()| false)
            };
            merge_keys(call, keys, end, |_, _| Ok(false), check).map(|_| ())
        })?;
    }
    let changed = merge_keys(
        call,
        &mut keys,
        end,
        |sketch, sources| match call.must_obey() {
            // RedisBloom 2.6 does not refuse an overflow.
            true => sketch.merge_wrapping(sources, max_bytes),
            false => sketch.merge_within(sources, max_bytes),
        },
        |sketch, sources| {
            sketch.merge_within(sources, max_bytes, call.memory().budget(Purpose::Create))
        },
    );
    if has_window && let Some(destination) = keys.destination() {
        destination.recount();
    }
    let changed = changed?;
    drop(keys);
    if changed {
        call.replicate_verbatim();
        call.signal_changed(1, c"cms.merge");
    }
    call.reply_ok();
    Ok(())
}

/// The sources of a merge into a sketch of type `T`.
type Sources<'a, T> = [MergeSource<'a, T>];

/// Checks the arguments, and calls the function for the type of the destination with the weighted sources.
fn merge_keys(
    call: &Call<'_>,
    keys: &mut MergeKeys<CounterType>,
    end: usize,
    classic: impl FnOnce(&mut CountMin, &Sources<'_, CountMin>) -> Result<bool, CountMinError>,
    windowed: impl FnOnce(
        &mut CountMinWindow,
        &Sources<'_, CountMinWindow>,
    ) -> Result<bool, CountMinError>,
) -> Result<bool, Error> {
    let (destination, sources) = keys.get();
    let merged = match destination.or_missing(NOT_FOUND)? {
        CounterMut::Classic(sketch) => {
            let sources = weighted(call, end, sources, i64::MIN, |source| match source {
                Counter::Windowed(_) => Err(CountMinError::WindowMismatch.into()),
                Counter::Classic(source) => {
                    sketch.check_source(source)?;
                    Ok(source)
                }
            })?;
            classic(sketch, &sources)
        }
        CounterMut::Windowed(sketch) => {
            let sources = weighted(call, end, sources, 0, |source| match source {
                Counter::Classic(_) => Err(CountMinError::WindowMismatch.into()),
                Counter::Windowed(source) => {
                    sketch.check_source(source)?;
                    check_pane(call, sketch.timeline(), source.timeline().newest())?;
                    Ok(source)
                }
            })?;
            windowed(sketch, &sources)
        }
    };
    merged.map_err(|error| match error {
        CountMinError::OutOfMemory(_) => call.memory().error(NO_MEMORY),
        error => error.into(),
    })
}

/// The sources with their weights, which begin after argument `end`. There are weights for all sources or for none.
/// `min_weight` is 0 for a destination with a window. `checked` returns a source that may be merged.
fn weighted<'a, T>(
    call: &Call<'_>,
    end: usize,
    sources: impl Iterator<Item = Lookup<Option<Counter<'a>>>>,
    min_weight: i64,
    checked: impl Fn(Counter<'a>) -> Result<&'a T, Error>,
) -> Result<Vec<MergeSource<'a, T>>, Error> {
    let mut weighted = with_capacity(end - FIRST_SOURCE).map_err(|_| NO_MEMORY)?;
    let mut weights = call.args_from(end + 1);
    for source in sources {
        let weight = weights.next().map_or(Some(1), Argument::integer);
        let weight = weight.ok_or(c"CMS: invalid weight value")?;
        refuse_if!(weight < min_weight => CountMinError::WindowDecrement.into());
        let sketch = source.or_missing(NOT_FOUND)?.map(&checked).transpose()?;
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
