//! The records of a file: keys, and what surrounds them.

use super::source::{Source, reserve};
use super::text::{skip_lengths, skip_string, skip_strings, string};
use super::value::{Family, MODULE_2, skip_module_values, skip_value};
use crate::files::any;
use crate::sketch::lengths::{Result, length};
use roughly_dump::{RDB_VERSION, checksum};

/// A key with a sketch.
#[derive(Debug)]
pub struct Record {
    /// The number of the database.
    pub database: u64,
    /// The name of the key.
    pub key: Vec<u8>,
    /// When the key expires, in Unix milliseconds.
    pub expires: Option<i64>,
    /// The offset of the value in the file.
    pub offset: u64,
    /// The value as a DUMP payload.
    pub payload: Vec<u8>,
}

/// Magic and version in the first nine bytes.
#[derive(Debug, Clone, Copy)]
struct Header {
    family: Family,
    version: u32,
}

/// The first RDB version whose files end with a checksum.
const FIRST_WITH_CHECKSUM: u32 = 5;

/// The records of a file, from the start to the end.
pub struct Records {
    source: Source,
    /// `None` before the first record.
    header: Option<Header>,
    database: u64,
    /// For each module type that was read, whether it is a sketch.
    types: Vec<(u64, bool)>,
}

impl Records {
    /// The records of a file.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            header: None,
            database: 0,
            types: Vec::new(),
        }
    }

    /// The next key with a sketch; `None` at the end.
    pub fn next_sketch(&mut self) -> Result<Option<Record>> {
        let header = match self.header {
            Some(header) => header,
            None => {
                let header = self.read_header()?;
                *self.header.insert(header)
            }
        };
        let source = &mut self.source;
        let mut expires = None;
        loop {
            let offset = source.offset();
            match (source.byte()?, header.family) {
                (255, _) => return self.end(header).map(|()| None),
                (254, _) => self.database = length(source)?,
                (253, _) => {
                    expires = Some(i64::from(i32::from_le_bytes(source.array()?)) * 1000);
                }
                (252, _) => expires = Some(i64::from_le_bytes(source.array()?)),
                // Sizes of the hash tables.
                (251, _) => skip_lengths(source, 2)?,
                // Name and value of a field about the file.
                (250, _) => skip_strings(source, 2)?,
                // How often and how recently the next key was used.
                (249, _) => source.skip(1)?,
                (248, _) => skip_lengths(source, 1)?,
                (247, _) => {
                    // The type, and when to load it.
                    skip_lengths(source, 3)?;
                    skip_module_values(source)?;
                }
                // A library of functions.
                (245, _) => skip_string(source)?,
                // Number and sizes of a slot of a cluster.
                (244, _) => skip_lengths(source, 3)?,
                // A migration of slots: its name and ranges.
                (243, Family::Valkey) => {
                    skip_string(source)?;
                    let ranges = length(source)?;
                    (0..ranges).try_for_each(|_| skip_lengths(source, 2))?;
                }
                // Metadata of the next key: for each class of metadata its number of 32 bits, and what a module wrote.
                (243, Family::Redis) => {
                    let classes = length(source)?;
                    (0..classes).try_for_each(|_| {
                        source.skip(4)?;
                        skip_module_values(source)
                    })?;
                }
                (opcode @ 240.., _) => {
                    return source.damaged(offset, format!("unknown opcode {opcode}"));
                }
                (MODULE_2, _) => {
                    let key = string(source)?;
                    let offset = source.offset();
                    source.start_copy(&[MODULE_2])?;
                    let id = length(source)?;
                    if is_sketch(&mut self.types, id) {
                        skip_module_values(source)?;
                        let payload = with_footer(source.end_copy()?)?;
                        return Ok(Some(Record {
                            database: self.database,
                            key,
                            expires,
                            offset,
                            payload,
                        }));
                    }
                    source.end_copy()?;
                    skip_module_values(source)?;
                    expires = None;
                }
                (kind, family) => {
                    skip_string(source)?;
                    skip_value(source, family, kind, offset)?;
                    expires = None;
                }
            }
        }
    }

    fn read_header(&mut self) -> Result<Header> {
        const NO_RDB_FILE: &str = "not an RDB file";
        let source = &mut self.source;
        let header: [u8; 9] = source.array()?;
        let (family, version) = match (
            header.strip_prefix(b"REDIS"),
            header.strip_prefix(b"VALKEY"),
        ) {
            (Some(version), _) => (Family::Redis, version),
            (_, Some(version)) => (Family::Valkey, version),
            _ => return source.damaged(0, NO_RDB_FILE),
        };
        let digits = version.iter().all(u8::is_ascii_digit);
        let version = str::from_utf8(version).ok().filter(|_| digits);
        match version.and_then(|version| version.parse().ok()) {
            Some(version) => Ok(Header { family, version }),
            None => source.damaged(0, NO_RDB_FILE),
        }
    }

    /// Checks the checksum. It is 0 if the server does not compute it (`rdbchecksum no`).
    fn end(&mut self, header: Header) -> Result<()> {
        let source = &mut self.source;
        if header.version >= FIRST_WITH_CHECKSUM {
            let computed = source.checksum()?;
            let offset = source.offset();
            let stored = u64::from_le_bytes(source.array()?);
            if stored != 0 && stored != computed {
                return source.damaged(offset, "the checksum of the file is wrong");
            }
        }
        source.report()
    }
}

/// Whether the module type with this id is one of the classes.
fn is_sketch(types: &mut Vec<(u64, bool)>, id: u64) -> bool {
    if let Some((_, is_sketch)) = types.iter().find(|(other, _)| *other == id) {
        return *is_sketch;
    }
    let is_sketch = any::is_sketch(id);
    // A damaged file can have any number of types.
    if types.len() < 100 {
        types.push((id, is_sketch));
    }
    is_sketch
}

/// A DUMP payload from the bytes before its footer.
fn with_footer(mut payload: Vec<u8>) -> Result<Vec<u8>> {
    reserve(&mut payload, 10)?;
    payload.extend_from_slice(&RDB_VERSION.to_le_bytes());
    let checksum = checksum(&payload);
    payload.extend_from_slice(&checksum.to_le_bytes());
    Ok(payload)
}
