//! BF.CARD, BF.INFO and BF.DEBUG.

use super::dialect::{replies_are_valkey, wrong_arity};
use super::key::{self, for_each_type};
use super::sketch::Sketch;
use super::texts::NOT_FOUND;
use super::valkey;
use crate::server::call::{Call, Error};
use crate::server::key::ReadKey;
use std::ffi::CStr;

/// BF.CARD key
pub fn card(call: &mut Call<'_>) -> Result<(), Error> {
    for_each_type!(key::read(call), key => card_of(call, key))
}

fn card_of<T: Sketch>(call: &mut Call<'_>, key: ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().optional()?;
    let items = match filter {
        None => 0,
        Some(filter) => filter.items_at(call.panes(filter.timeline())?),
    };
    drop(key);
    call.reply_count(items);
    Ok(())
}

/// A field of BF.INFO.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Field {
    Capacity,
    Size,
    Filters,
    Items,
    ErrorRate,
    Expansion,
    Tightening,
    MaxScaledCapacity,
}

/// The fields in valkey-bloom's order: the argument that selects one, and its name in the reply.
const FIELDS: [(Field, &str, &CStr); 8] = [
    (Field::Capacity, "CAPACITY", c"Capacity"),
    (Field::Size, "SIZE", c"Size"),
    (Field::Filters, "FILTERS", c"Number of filters"),
    (Field::Items, "ITEMS", c"Number of items inserted"),
    (Field::ErrorRate, "ERROR", c"Error rate"),
    (Field::Expansion, "EXPANSION", c"Expansion rate"),
    (Field::Tightening, "TIGHTENING", c"Tightening ratio"),
    (
        Field::MaxScaledCapacity,
        "MAXSCALEDCAPACITY",
        c"Max scaled capacity",
    ),
];

/// The value of a field.
enum Value {
    Count(u64),
    Ratio(f64),
    Null,
}

impl Value {
    fn reply(self, call: &mut Call<'_>) {
        match self {
            Self::Count(count) => call.reply_count(count),
            Self::Ratio(ratio) => call.reply_double(ratio),
            Self::Null => call.reply_null(),
        }
    }
}

impl Field {
    /// Whether RedisBloom has the field.
    fn is_common(self) -> bool {
        !matches!(
            self,
            Self::ErrorRate | Self::Tightening | Self::MaxScaledCapacity
        )
    }

    /// Whether a filter has the field. RedisBloom's fields are those of all filters; valkey-bloom's are also those of
    /// its own type and, if replies are those of valkey-bloom, of all filters, as far as they have such a property.
    fn applies_to<T: Sketch>(self, filter: &T) -> bool {
        self.is_common()
            || (T::IS_VALKEY || replies_are_valkey())
                && match self {
                    Self::Tightening => filter.tightening().is_some(),
                    Self::MaxScaledCapacity => T::IS_VALKEY && filter.growth_factor().is_some(),
                    _ => true,
                }
    }

    /// # Errors
    /// valkey-bloom's error if the capacity to which the filter can grow exceeds 63 bits.
    fn value_of(self, call: &Call<'_>, filter: &impl Sketch) -> Result<Value, Error> {
        Ok(match self {
            Self::Capacity => Value::Count(filter.capacity()),
            Self::Size => Value::Count(filter.reported_size()),
            Self::Filters => Value::Count(filter.num_sub_filters() as u64),
            Self::Items => Value::Count(filter.items_at(call.panes(filter.timeline())?)),
            Self::ErrorRate => Value::Ratio(filter.error_rate()),
            Self::Expansion => match filter.growth_factor() {
                Some(factor) => Value::Count(factor.into()),
                None => Value::Null,
            },
            Self::Tightening => filter.tightening().map_or(Value::Null, Value::Ratio),
            Self::MaxScaledCapacity => {
                let capacity = filter.max_scaled_capacity();
                Value::Count(capacity.map_err(|error| valkey::error_text(error, NOT_FOUND))?)
            }
        })
    }
}

/// BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | ERROR | EXPANSION | TIGHTENING | MAXSCALEDCAPACITY]
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() > 3 {
        return Err(wrong_arity(call));
    }
    for_each_type!(key::read(call), key => info_of(call, &key))
}

fn info_of<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().or_missing(NOT_FOUND)?;
    if call.len() == 2 {
        return all_fields(call, filter);
    }
    let unknown = match replies_are_valkey() {
        true => c"ERR invalid information value",
        false => c"Invalid information value",
    };
    let argument = call.arg(2);
    let (field, _, name) = FIELDS
        .into_iter()
        .find(|(field, selector, _)| argument.is(selector) && field.applies_to(filter))
        .ok_or(unknown)?;
    let value = field.value_of(call, filter)?;
    if !replies_are_valkey() {
        if call.is_resp3() {
            call.reply_map(1);
            call.reply_simple(name);
        } else {
            call.reply_array(1);
        }
    }
    value.reply(call);
    Ok(())
}

/// Replies with all fields: RedisBloom's as a map, valkey-bloom's as an array.
fn all_fields<T: Sketch>(call: &mut Call<'_>, filter: &T) -> Result<(), Error> {
    let is_valkey = replies_are_valkey();
    let mut fields = Vec::with_capacity(FIELDS.len());
    for (field, _, name) in FIELDS {
        if (is_valkey || field.is_common()) && field.applies_to(filter) {
            fields.push((name, field.value_of(call, filter)?));
        }
    }
    if is_valkey {
        call.reply_array(2 * fields.len());
    } else {
        call.reply_map(fields.len());
    }
    for (name, value) in fields {
        call.reply_simple(name);
        value.reply(call);
    }
    Ok(())
}

/// BF.DEBUG key
pub fn debug(call: &mut Call<'_>) -> Result<(), Error> {
    for_each_type!(key::read(call), key => debug_of(call, &key))
}

fn debug_of<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().or_missing(NOT_FOUND)?;
    let panes = call.panes(filter.timeline())?;
    let sub_filters = filter.sub_filters_at(panes);
    call.reply_array(sub_filters.len() + 1);
    call.reply_bulk(format!("size:{}", filter.items_at(panes)).as_bytes());
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
