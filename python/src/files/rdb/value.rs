//! Skips values.

use super::file_reader::FileReader;
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
pub fn skip_value(reader: &mut FileReader, family: Family, kind: u8, offset: u64) -> Result<()> {
    match (kind, family) {
        // A string; zipmap, ziplist, intset and listpack are stored as one.
        (0 | 9..=13 | 16 | 17 | 20, _) | (23, Family::Redis) => skip_string(reader),
        // Lists, sets, and lists of ziplists.
        (1 | 2 | 14, _) => {
            let count = length(reader)?;
            skip_strings(reader, count)
        }
        // Sorted sets with scores as text.
        (3, _) => each(reader, |reader| {
            skip_string(reader)?;
            match reader.byte()? {
                // Not a number and the infinities.
                253..=255 => Ok(()),
                digits => reader.skip(digits.into()),
            }
        }),
        // Hashes.
        (4, _) => each(reader, |reader| skip_strings(reader, 2)),
        // Sorted sets with binary scores.
        (5, _) => each(reader, |reader| {
            skip_string(reader)?;
            reader.skip(8)
        }),
        (MODULE_2, _) => {
            length(reader)?;
            skip_module_values(reader)
        }
        (15, _) => skip_stream(reader, 1),
        (19, _) => skip_stream(reader, 2),
        (21, _) => skip_stream(reader, 3),
        (26, Family::Redis) => skip_stream(reader, 4),
        // Lists of listpacks and large elements, each with its kind.
        (18, _) => each(reader, |reader| {
            length(reader)?;
            skip_string(reader)
        }),
        // Hashes with an expiry per field: absolute, and relative to the first one.
        (22, Family::Valkey) => each(reader, |reader| {
            skip_strings(reader, 2)?;
            reader.skip(8)
        }),
        (22, Family::Redis) => each(reader, skip_field),
        (24, Family::Redis) => {
            reader.skip(8)?;
            each(reader, skip_field)
        }
        (25, Family::Redis) => {
            reader.skip(8)?;
            skip_string(reader)
        }
        _ => reader.damaged(offset, format!("unknown type of value {kind}")),
    }
}

/// Consumes a length and as many elements.
fn each(
    reader: &mut FileReader,
    mut skip: impl FnMut(&mut FileReader) -> Result<()>,
) -> Result<()> {
    let count = length(reader)?;
    (0..count).try_for_each(|_| skip(reader))
}

/// Consumes expiry, name and value of a field of a hash.
fn skip_field(reader: &mut FileReader) -> Result<()> {
    length(reader)?;
    skip_strings(reader, 2)
}

/// Consumes the values that a module wrote, with their end.
pub fn skip_module_values(reader: &mut FileReader) -> Result<()> {
    loop {
        let offset = reader.offset();
        match length(reader)? {
            0 => return Ok(()),
            1 | 2 => skip_lengths(reader, 1)?,
            3 => reader.skip(4)?,
            4 => reader.skip(8)?,
            5 => skip_string(reader)?,
            opcode => {
                return reader.damaged(offset, format!("unknown type of module value {opcode}"));
            }
        }
    }
}

/// Consumes a stream. Version 2 added `entries-added` and its companions, 3 the times of consumers, and 4 the ids of
/// idempotent producers.
fn skip_stream(reader: &mut FileReader, version: u8) -> Result<()> {
    // Entries.
    each(reader, |reader| skip_strings(reader, 2))?;
    // Number of entries, and the last id.
    skip_lengths(reader, 3)?;
    if version >= 2 {
        // The first id, the highest deleted one, and the number of added entries.
        skip_lengths(reader, 5)?;
    }
    // Groups.
    each(reader, |reader| {
        skip_string(reader)?;
        skip_lengths(reader, if version >= 2 { 3 } else { 2 })?;
        // Pending entries: id, time and number of deliveries.
        each(reader, |reader| {
            reader.skip(16 + 8)?;
            skip_lengths(reader, 1)
        })?;
        // Consumers.
        each(reader, |reader| {
            skip_string(reader)?;
            reader.skip(if version >= 3 { 16 } else { 8 })?;
            // Ids of pending entries.
            each(reader, |reader| reader.skip(16))
        })
    })?;
    if version >= 4 {
        // Limits of time and number of ids.
        skip_lengths(reader, 2)?;
        // Producers, each with its ids.
        each(reader, |reader| {
            skip_string(reader)?;
            each(reader, |reader| {
                skip_string(reader)?;
                skip_lengths(reader, 2)
            })
        })?;
        // Numbers of added and of duplicate ids.
        skip_lengths(reader, 2)?;
    }
    Ok(())
}
