//! BF.CARD, BF.INFO and BF.DEBUG.

use super::NOT_FOUND;
use super::sketch::Sketch;
use crate::server::call::{Call, Error};
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::bloom::Chain;
use roughly_sketch::window_filter::WindowSet;
use std::ffi::CStr;

/// BF.CARD key
pub fn card(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<Chain, WindowSet>(1), key => card_of(call, key))
}

fn card_of<T: Sketch>(call: &mut Call<'_>, key: ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().optional()?;
    let items = filter.map_or(0, |filter| filter.items_at(call.current_pane(filter)));
    drop(key);
    call.reply_count(items);
    Ok(())
}

/// The size as RedisBloom computes it: the arrays and RedisBloom's structures. The tests of client libraries assert it.
fn reported_size(filter: &impl Sketch) -> u64 {
    32 + 64 * filter.num_sub_filters() as u64 + filter.array_bytes()
}

/// A field of BF.INFO.
#[derive(Clone, Copy)]
enum Field {
    Capacity,
    Size,
    Filters,
    Items,
    Expansion,
}

/// The fields: the argument that selects one, and its name in the reply.
const FIELDS: [(Field, &str, &CStr); 5] = [
    (Field::Capacity, "CAPACITY", c"Capacity"),
    (Field::Size, "SIZE", c"Size"),
    (Field::Filters, "FILTERS", c"Number of filters"),
    (Field::Items, "ITEMS", c"Number of items inserted"),
    (Field::Expansion, "EXPANSION", c"Expansion rate"),
];

impl Field {
    fn reply_of(self, call: &mut Call<'_>, filter: &impl Sketch) {
        call.reply_count(match self {
            Self::Capacity => filter.capacity(),
            Self::Size => reported_size(filter),
            Self::Filters => filter.num_sub_filters() as u64,
            Self::Items => filter.items_at(call.current_pane(filter)),
            Self::Expansion => match filter.growth_factor() {
                Some(factor) => factor.into(),
                None => return call.reply_null(),
            },
        });
    }
}

/// BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() > 3 {
        return Err(Error::WrongArity);
    }
    for_either!(call.read_either::<Chain, WindowSet>(1), key => info_of(call, &key))
}

fn info_of<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().or_missing(NOT_FOUND)?;
    if call.len() == 2 {
        call.reply_map(FIELDS.len());
        for (field, _, name) in FIELDS {
            call.reply_simple(name);
            field.reply_of(call, filter);
        }
        return Ok(());
    }
    let argument = call.arg(2);
    let (field, _, name) = FIELDS
        .into_iter()
        .find(|(_, selector, _)| argument.is(selector))
        .ok_or(c"Invalid information value")?;
    if call.is_resp3() {
        call.reply_map(1);
        call.reply_simple(name);
    } else {
        call.reply_array(1);
    }
    field.reply_of(call, filter);
    Ok(())
}

/// BF.DEBUG key
pub fn debug(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<Chain, WindowSet>(1), key => debug_of(call, &key))
}

fn debug_of<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().or_missing(NOT_FOUND)?;
    let current = call.current_pane(filter);
    let sub_filters = filter.sub_filters_at(current);
    call.reply_array(sub_filters.len() + 1);
    call.reply_bulk(format!("size:{}", filter.items_at(current)).as_bytes());
    for sub_filter in sub_filters {
        let line = format!(
            "bytes:{} bits:{} hashes:{} hashwidth:{} capacity:{} size:{} ratio:{}",
            sub_filter.bytes,
            sub_filter.bits,
            sub_filter.hashes,
            filter.hash_width(),
            sub_filter.capacity,
            sub_filter.items,
            six_digits(sub_filter.error_rate),
        );
        call.reply_bulk(line.as_bytes());
    }
    Ok(())
}

/// A positive number as C's `%g` prints it: six significant digits, no trailing zeros, and scientific notation if the
/// exponent is below -4 or above 5.
fn six_digits(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |digits: &str| -> String {
        if digits.contains('.') {
            digits
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        } else {
            digits.to_owned()
        }
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return without_zeros(&format!("{number:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::six_digits;

    #[test]
    fn numbers_are_printed_as_c_prints_them() {
        for (number, text) in [
            (0.01, "0.01"),
            (0.005, "0.005"),
            (0.025, "0.025"),
            (0.5, "0.5"),
            (0.000_312_5, "0.0003125"),
            (0.000_039_062_5, "3.90625e-05"),
            (1e-290, "1e-290"),
            (1.0 / 3.0, "0.333333"),
            (0.999_999_9, "1"),
            (5e-324, "4.94066e-324"),
        ] {
            assert_eq!(six_digits(number), text);
        }
    }
}
