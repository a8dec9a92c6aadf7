//! SKETCH.WINDOW and SKETCH.ACCURACY.

use super::age::is_filter;
use super::parts::{LAST_ADDITION, NO_KEY};
use crate::server::call::{Call, Error};
use crate::server::data_type::AnyValue;
use crate::server::key::ReadKey;
use crate::server::load::module;
use crate::server::panes::{NO_MEMORY, panes};
use crate::server::part::{Part, Parts};
use roughly_sketch::accuracy::{Field, Figure};
use roughly_sketch::window::Panes;

/// The value of a key, and the panes of a part of its window.
fn panes_of<'a>(
    call: &Call<'_>,
    part: Part<'_>,
    key: &'a ReadKey,
) -> Result<(&'a dyn AnyValue, Panes), Error> {
    if is_filter(key) && part.kind() > Parts::Within {
        return Err(LAST_ADDITION.into());
    }
    let value = key.value(module().data_types()).or_missing(NO_KEY)?;
    Ok((value, panes(call, part, value.timeline())?))
}

/// SKETCH.WINDOW key
pub fn window(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let (value, panes) = panes_of(call, part, &key)?;
    let Some(timeline) = value.timeline() else {
        call.reply_null();
        return Ok(());
    };
    let window = timeline.window();
    let ranges = timeline.counted_panes(panes).map_err(|_| NO_MEMORY)?;
    call.reply_map(7);
    for (name, value) in [
        (c"window", window.ms()),
        (c"panes", window.panes()),
        (c"pane length", window.pane_ms()),
        (c"newest pane", window.start_of(timeline.newest())),
        (c"covered", timeline.covered_ms(call.unix_ms(), panes)),
    ] {
        call.reply_simple(name);
        call.reply_count(value);
    }
    call.reply_simple(c"items per pane");
    call.reply_array(ranges.len());
    for range in &ranges {
        call.reply_count(value.pane_total(range.first));
    }
    call.reply_simple(c"pane starts");
    call.reply_array(ranges.len());
    for range in ranges {
        call.reply_count(window.start_of(range.first));
    }
    Ok(())
}

/// SKETCH.ACCURACY key
pub fn accuracy(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let (value, panes) = panes_of(call, part, &key)?;
    if let (Part::Series(series), Some(timeline)) = (part, value.timeline()) {
        return series.reply(call, timeline, value.accuracy_of_rows(), reply_fields);
    }
    let fields = value.accuracy(panes).map_err(|_| NO_MEMORY)?;
    reply_fields(call, fields);
    Ok(())
}

fn reply_fields(call: &mut Call<'_>, fields: Vec<Field>) {
    call.reply_map(fields.len());
    for (name, figure) in fields {
        call.reply_simple(name);
        match figure {
            Figure::Ratio(ratio) => call.reply_double(ratio),
            Figure::Count(count) => call.reply_count(count),
        }
    }
}
