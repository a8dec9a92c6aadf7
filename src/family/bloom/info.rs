//! BF.CARD, BF.INFO and BF.DEBUG.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use roughly_sketch::bloom::Chain;
use std::ffi::CStr;

/// BF.CARD key
pub fn card(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<Chain>(1);
    let items = key.get().optional()?.map_or(0, Chain::items);
    drop(key);
    call.reply_count(items);
    Ok(())
}

/// The size as RedisBloom computes it: the bit arrays and RedisBloom's structures. The tests of client libraries assert
/// it.
fn reported_size(chain: &Chain) -> u64 {
    32 + 64 * chain.filters().len() as u64 + chain.bit_bytes()
}

/// A field of BF.INFO: the argument that selects it, its name in the reply, and its value (`None` for null).
struct Field {
    argument: &'static str,
    name: &'static CStr,
    value: fn(&Chain) -> Option<u64>,
}

const FIELDS: [Field; 5] = [
    Field {
        argument: "CAPACITY",
        name: c"Capacity",
        value: |chain| Some(chain.capacity()),
    },
    Field {
        argument: "SIZE",
        name: c"Size",
        value: |chain| Some(reported_size(chain)),
    },
    Field {
        argument: "FILTERS",
        name: c"Number of filters",
        value: |chain| Some(chain.filters().len() as u64),
    },
    Field {
        argument: "ITEMS",
        name: c"Number of items inserted",
        value: |chain| Some(chain.items()),
    },
    Field {
        argument: "EXPANSION",
        name: c"Expansion rate",
        value: |chain| chain.is_scaling().then_some(u64::from(chain.expansion())),
    },
];

fn reply_value(call: &mut Call<'_>, value: Option<u64>) {
    match value {
        Some(value) => call.reply_count(value),
        None => call.reply_null(),
    }
}

/// BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() > 3 {
        return Err(Error::WrongArity);
    }
    let key = call.read::<Chain>(1);
    let chain = key.get().or_missing(NOT_FOUND)?;
    if call.len() == 2 {
        call.reply_map(FIELDS.len());
        for field in &FIELDS {
            call.reply_simple(field.name);
            reply_value(call, (field.value)(chain));
        }
        return Ok(());
    }
    let argument = call.arg(2);
    let field = FIELDS
        .iter()
        .find(|field| argument.is(field.argument))
        .ok_or(c"Invalid information value")?;
    if call.is_resp3() {
        call.reply_map(1);
        call.reply_simple(field.name);
    } else {
        call.reply_array(1);
    }
    reply_value(call, (field.value)(chain));
    Ok(())
}

/// BF.DEBUG key
pub fn debug(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<Chain>(1);
    let chain = key.get().or_missing(NOT_FOUND)?;
    call.reply_array(chain.filters().len() + 1);
    call.reply_bulk(format!("size:{}", chain.items()).as_bytes());
    for filter in chain.filters() {
        let shape = filter.shape();
        let line = format!(
            "bytes:{} bits:{} hashes:{} hashwidth:{} capacity:{} size:{} ratio:{}",
            filter.bits().len(),
            shape.bits,
            shape.hashes,
            chain.hash_width(),
            shape.capacity,
            filter.items(),
            six_digits(shape.error_rate),
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
