//! DUMP payloads and headers of sketches.

use crate::error::Error;
use roughly_dump::{Output, RDB_VERSION, Reader, Writer, type_id};
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::memory::with_capacity;
use roughly_sketch::stored::Stored;

/// The lowest ten bits of a type id are the encoding version.
const VERSION_BITS: u32 = 10;

/// The type id of the payloads that a type writes.
fn id_of<T: Stored>() -> u64 {
    let name = T::TYPE_NAME.to_bytes().first_chunk();
    name.map_or(0, |name| type_id(name, T::ENCODING_VERSION))
}

/// The sketch whose values a payload has; `None` if it has another type.
pub fn sketch_of<T: Stored<LoadOptions: Default>>(
    reader: &mut Reader<'_>,
) -> Option<Result<T, FormatError>> {
    let version = version_of::<T>(reader.type_id())?;
    Some(T::load(reader, version, &T::LoadOptions::default()))
}

/// The encoding version in the type id of a payload; `None` if it is the id of another type.
pub fn version_of<T: Stored>(id: u64) -> Option<u16> {
    let version = (id & ((1 << VERSION_BITS) - 1)) as u16;
    (id >> VERSION_BITS == id_of::<T>() >> VERSION_BITS).then_some(version)
}

/// Writes the payload of a sketch.
pub fn dump<T: Stored>(sketch: &T, rdb_version: u16, output: &mut dyn Output) {
    let mut writer = Writer::to(output, id_of::<T>());
    sketch.save(&mut writer);
    writer.finish_with(rdb_version);
}

/// The header of the chunks of a sketch.
pub fn header<T: Stored>(sketch: &T) -> Result<Vec<u8>, Error> {
    match sketch.has_header() {
        true => Ok(sketch.header()?),
        false => Err(Error::value("the sketch has no chunks")),
    }
}

/// Whether two sketches have the same state: the same header and chunks.
///
/// # Errors
/// The memory for their headers or, of a type without chunks, payloads is refused.
pub fn is_equal<T: Stored>(one: &T, other: &T) -> Result<bool, Error> {
    if !one.has_header() || !other.has_header() {
        let payload = |sketch: &T| {
            let bytes = usize::try_from(sketch.payload_bytes()).unwrap_or(usize::MAX);
            let mut payload = with_capacity(bytes)?;
            dump(sketch, RDB_VERSION, &mut payload);
            Ok::<_, Error>(payload)
        };
        return Ok(payload(one)? == payload(other)?);
    }
    if one.header()? != other.header()? {
        return Ok(false);
    }
    let mut iterator = 1;
    loop {
        let chunks = [one, other].map(|sketch| sketch.chunk(iterator, CHUNK_BYTES));
        match chunks {
            [None, None] => return Ok(true),
            [Some((next, chunk)), Some(chunk_and_next)] if chunk_and_next == (next, chunk) => {
                iterator = next;
            }
            _ => return Ok(false),
        }
    }
}
