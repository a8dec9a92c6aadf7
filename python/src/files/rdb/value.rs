//! Skips values.

use super::source::Source;
use super::text::{skip_lengths, skip_string, skip_strings};
use crate::sketch::lengths::{Result, length};

/// The servers that gave the same numbers to different types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Redis, and Valkey before 9.0.
    Redis,
    /// Valkey from 9.0.
    Valkey,
}

/// The type of a module value.
pub const MODULE_2: u8 = 7;

/// Consumes a value of a type, whose number is at `offset`.
pub fn skip_value(source: &mut Source, family: Family, kind: u8, offset: u64) -> Result<()> {
    match (kind, family) {
        // A string; zipmap, ziplist, intset and listpack are stored as one.
        (0 | 9..=13 | 16 | 17 | 20, _) | (23, Family::Redis) => skip_string(source),
        // Lists, sets, and lists of ziplists.
        (1 | 2 | 14, _) => {
            let count = length(source)?;
            skip_strings(source, count)
        }
        // Sorted sets with scores as text.
        (3, _) => each(source, |source| {
            skip_string(source)?;
            match source.byte()? {
                // Not a number and the infinities.
                253..=255 => Ok(()),
                digits => source.skip(digits.into()),
            }
        }),
        // Hashes.
        (4, _) => each(source, |source| skip_strings(source, 2)),
        // Sorted sets with binary scores.
        (5, _) => each(source, |source| {
            skip_string(source)?;
            source.skip(8)
        }),
        (MODULE_2, _) => {
            length(source)?;
            skip_module_values(source)
        }
        (15, _) => skip_stream(source, 1),
        (19, _) => skip_stream(source, 2),
        (21, _) => skip_stream(source, 3),
        (26, Family::Redis) => skip_stream(source, 4),
        // Lists of listpacks and large elements, each with its kind.
        (18, _) => each(source, |source| {
            length(source)?;
            skip_string(source)
        }),
        // Hashes with an expiry per field: absolute, and relative to the first one.
        (22, Family::Valkey) => each(source, |source| {
            skip_strings(source, 2)?;
            source.skip(8)
        }),
        (22, Family::Redis) => each(source, skip_field),
        (24, Family::Redis) => {
            source.skip(8)?;
            each(source, skip_field)
        }
        (25, Family::Redis) => {
            source.skip(8)?;
            skip_string(source)
        }
        _ => source.damaged(offset, format!("unknown type of value {kind}")),
    }
}

/// Consumes a length and as many elements.
fn each(source: &mut Source, mut skip: impl FnMut(&mut Source) -> Result<()>) -> Result<()> {
    let count = length(source)?;
    (0..count).try_for_each(|_| skip(source))
}

/// Consumes expiry, name and value of a field of a hash.
fn skip_field(source: &mut Source) -> Result<()> {
    length(source)?;
    skip_strings(source, 2)
}

/// Consumes the values that a module wrote, with their end.
pub fn skip_module_values(source: &mut Source) -> Result<()> {
    loop {
        let offset = source.offset();
        match length(source)? {
            0 => return Ok(()),
            1 | 2 => skip_lengths(source, 1)?,
            3 => source.skip(4)?,
            4 => source.skip(8)?,
            5 => skip_string(source)?,
            opcode => {
                return source.damaged(offset, format!("unknown type of module value {opcode}"));
            }
        }
    }
}

/// Consumes a stream. Version 2 added `entries-added` and its companions, 3 the times of consumers, and 4 the ids of
/// idempotent producers.
fn skip_stream(source: &mut Source, version: u8) -> Result<()> {
    // Entries.
    each(source, |source| skip_strings(source, 2))?;
    // Number of entries, and the last id.
    skip_lengths(source, 3)?;
    if version >= 2 {
        // The first id, the highest deleted one, and the number of added entries.
        skip_lengths(source, 5)?;
    }
    // Groups.
    each(source, |source| {
        skip_string(source)?;
        skip_lengths(source, if version >= 2 { 3 } else { 2 })?;
        // Pending entries: id, time and number of deliveries.
        each(source, |source| {
            source.skip(16 + 8)?;
            skip_lengths(source, 1)
        })?;
        // Consumers.
        each(source, |source| {
            skip_string(source)?;
            source.skip(if version >= 3 { 16 } else { 8 })?;
            // Ids of pending entries.
            each(source, |source| source.skip(16))
        })
    })?;
    if version >= 4 {
        // Limits of time and number of ids.
        skip_lengths(source, 2)?;
        // Producers, each with its ids.
        each(source, |source| {
            skip_string(source)?;
            each(source, |source| {
                skip_string(source)?;
                skip_lengths(source, 2)
            })
        })?;
        // Numbers of added and of duplicate ids.
        skip_lengths(source, 2)?;
    }
    Ok(())
}
