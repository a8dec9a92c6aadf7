//! The commands that read: BF.EXISTS, BF.MEXISTS, BF.CARD, BF.INFO and BF.DEBUG.

use super::config::Dialect::{self, RedisBloom, Valkey};
use super::types::{AddError, Description, Filter, FilterType, NOT_FOUND};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::ReadKey;
use crate::server::part::Part;
use std::ffi::CStr;

/// BF.EXISTS key item
pub fn exists(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let dialect = Dialect::current();
    let key = ReadKey::open(call, 1);
    let found = match dialect.lenient(part, key.get::<FilterType>())? {
        None => false,
        Some(filter) => filter.contains(call.arg(2).bytes(), filter.panes(call, part)?),
    };
    drop(key);
    dialect.reply_flag(call, found);
    Ok(())
}

/// BF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let dialect = Dialect::current();
    let key = ReadKey::open(call, 1);
    let items = call.args_from(2);
    match dialect.lenient(part, key.get::<FilterType>())? {
        Some(filter) => {
            let panes = filter.panes(call, part)?;
            call.reply_array(items.len());
            let items = items.map(Argument::bytes);
            filter.contains_each(items, panes, |found| dialect.reply_flag(call, found));
        }
        None => {
            call.reply_array(items.len());
            items.for_each(|_| dialect.reply_flag(call, false));
        }
    }
    Ok(())
}

/// BF.CARD key
pub fn card(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let items = match key.get::<FilterType>().optional()? {
        None => 0,
        Some(filter) => filter.items(filter.panes(call, part)?),
    };
    drop(key);
    call.reply_count(items);
    Ok(())
}

/// The value of a field of BF.INFO.
enum FieldValue {
    Count(u64),
    Ratio(f64),
    Null,
}

impl FieldValue {
    fn reply(self, call: &mut Call<'_>) {
        match self {
            Self::Count(count) => call.reply_count(count),
            Self::Ratio(ratio) => call.reply_double(ratio),
            Self::Null => call.reply_null(),
        }
    }
}

/// The function that returns the value of a field: `None` if the filter has no such property.
type ValueOf = fn(Filter<'_>, &Description) -> Result<Option<FieldValue>, Error>;

fn count(count: u64) -> Result<Option<FieldValue>, Error> {
    Ok(Some(FieldValue::Count(count)))
}

/// The fields of BF.INFO in valkey-bloom's order: the argument that selects one, its name in the reply, the module that has it, and
/// its value. RedisBloom's fields are those of all filters; valkey-bloom's are also those of its own type and, if replies are those
/// of valkey-bloom, of all filters.
const FIELDS: [(&str, &CStr, Dialect, ValueOf); 8] = [
    ("CAPACITY", c"Capacity", RedisBloom, |_, of| {
        count(of.capacity)
    }),
    ("SIZE", c"Size", RedisBloom, |_, of| count(of.size)),
    ("FILTERS", c"Number of filters", RedisBloom, |_, of| {
        count(of.sub_filters as u64)
    }),
    ("ITEMS", c"Number of items inserted", RedisBloom, |_, of| {
        count(of.items)
    }),
    ("ERROR", c"Error rate", Valkey, |_, of| {
        Ok(Some(FieldValue::Ratio(of.error_rate)))
    }),
    (
        "EXPANSION",
        c"Expansion rate",
        RedisBloom,
        |_, of| match of.growth_factor {
            Some(factor) => count(factor.into()),
            None => Ok(Some(FieldValue::Null)),
        },
    ),
    ("TIGHTENING", c"Tightening ratio", Valkey, |_, of| {
        Ok(of.tightening.map(FieldValue::Ratio))
    }),
    (
        "MAXSCALEDCAPACITY",
        c"Max scaled capacity",
        Valkey,
        |filter, _| {
            let capacity = filter.max_scaled_capacity();
            let capacity = capacity.map_err(|error| AddError::from(error).text())?;
            Ok(capacity.map(FieldValue::Count))
        },
    ),
];

/// BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | ERROR | EXPANSION | TIGHTENING | MAXSCALEDCAPACITY]
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let dialect = Dialect::current();
    refuse_if!(call.len() > 3 => dialect.wrong_arity(call));
    let key = ReadKey::open(call, 1);
    let filter = key.get::<FilterType>().or_missing(NOT_FOUND)?;
    let description = filter.describe(filter.panes(call, Part::Whole)?);
    if call.len() == 2 {
        return all_fields(call, dialect, filter, &description);
    }
    let unknown = match dialect {
        Valkey => c"ERR invalid information value",
        RedisBloom => c"Invalid information value",
    };
    let has_all = description.is_valkey || dialect == Valkey;
    let (_, name, _, value_of) = FIELDS
        .into_iter()
        .find(|(selector, _, of, _)| call.arg(2).is(selector) && (has_all || *of == RedisBloom))
        .ok_or(unknown)?;
    let value = value_of(filter, &description)?.ok_or(unknown)?;
    if dialect == RedisBloom {
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
fn all_fields(
    call: &mut Call<'_>,
    dialect: Dialect,
    filter: Filter<'_>,
    description: &Description,
) -> Result<(), Error> {
    let mut fields = Vec::with_capacity(FIELDS.len());
    for (_, name, of, value_of) in FIELDS {
        if (dialect == Valkey || of == RedisBloom)
            && let Some(value) = value_of(filter, description)?
        {
            fields.push((name, value));
        }
    }
    match dialect {
        RedisBloom => call.reply_map(fields.len()),
        Valkey => call.reply_array(2 * fields.len()),
    }
    for (name, value) in fields {
        call.reply_simple(name);
        value.reply(call);
    }
    Ok(())
}

/// BF.DEBUG key
pub fn debug(call: &mut Call<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let filter = key.get::<FilterType>().or_missing(NOT_FOUND)?;
    let panes = filter.panes(call, Part::Whole)?;
    let description = filter.describe(panes);
    call.reply_array(description.sub_filters + 1);
    call.reply_bulk(format!("size:{}", description.items).as_bytes());
    filter.for_each_sub_filter(panes, |sub_filter| {
        let line = format!(
            "bytes:{} bits:{} hashes:{} hashwidth:{} capacity:{} size:{} ratio:{}",
            sub_filter.bytes,
            sub_filter.bits,
            sub_filter.hashes,
            description.hash_width,
            sub_filter.capacity,
            sub_filter.items,
            six_digits(sub_filter.error_rate),
        );
        call.reply_bulk(line.as_bytes());
    });
    Ok(())
}

/// A number in [0, 1] as C's `%g` prints it: six significant digits, no trailing zeros, and scientific notation if the exponent
/// is below -4.
fn six_digits(number: f64) -> String {
    let without_zeros = |digits: &str| {
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        digits.to_owned()
    };
    let scientific = format!("{number:.5e}");
    let (mantissa, exponent) = scientific.split_once("e-").unwrap_or((&scientific, "0"));
    match exponent.parse() {
        Ok(exponent @ 0..=4) => without_zeros(&format!("{number:.0$}", 5 + exponent)),
        _ => format!("{}e-{exponent:0>2}", without_zeros(mantissa)),
    }
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
