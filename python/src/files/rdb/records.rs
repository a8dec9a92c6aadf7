//! The records of a file: keys, and what surrounds them.

use super::file_reader::{FileReader, reserve};
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
    reader: FileReader,
    /// `None` before the first record.
    header: Option<Header>,
    database: u64,
    /// For each module type that was read, whether it is a sketch.
    types: Vec<(u64, bool)>,
}

impl Records {
    /// The records of a file.
    pub fn new(reader: FileReader) -> Self {
        Self {
            reader,
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
        let reader = &mut self.reader;
        let mut expires = None;
        loop {
            let offset = reader.offset();
            match (reader.byte()?, header.family) {
                (255, _) => return self.end(header).map(|()| None),
                (254, _) => self.database = length(reader)?,
                (253, _) => {
                    expires = Some(i64::from(i32::from_le_bytes(reader.array()?)) * 1000);
                }
                (252, _) => expires = Some(i64::from_le_bytes(reader.array()?)),
                // Sizes of the hash tables.
                (251, _) => skip_lengths(reader, 2)?,
                // Name and value of a field about the file.
                (250, _) => skip_strings(reader, 2)?,
                // How often and how recently the next key was used.
                (249, _) => reader.skip(1)?,
                (248, _) => skip_lengths(reader, 1)?,
                (247, _) => {
                    // The type, and when to load it.
                    skip_lengths(reader, 3)?;
                    skip_module_values(reader)?;
                }
                // A library of functions.
                (245, _) => skip_string(reader)?,
                // Number and sizes of a slot of a cluster.
                (244, _) => skip_lengths(reader, 3)?,
                // A migration of slots: its name and ranges.
                (243, Family::Valkey) => {
                    skip_string(reader)?;
                    let ranges = length(reader)?;
                    (0..ranges).try_for_each(|_| skip_lengths(reader, 2))?;
                }
                // Metadata of the next key: for each class of metadata its number of 32 bits, and what a module wrote.
                (243, Family::Redis) => {
                    let classes = length(reader)?;
                    (0..classes).try_for_each(|_| {
                        reader.skip(4)?;
                        skip_module_values(reader)
                    })?;
                }
                (opcode @ 240.., _) => {
                    return reader.damaged(offset, format!("unknown opcode {opcode}"));
                }
                (MODULE_2, _) => {
                    let key = string(reader)?;
                    let offset = reader.offset();
                    reader.start_copy(&[MODULE_2])?;
                    let id = length(reader)?;
                    if is_sketch(&mut self.types, id) {
                        skip_module_values(reader)?;
                        let payload = with_footer(reader.end_copy()?)?;
                        return Ok(Some(Record {
                            database: self.database,
                            key,
                            expires,
                            offset,
                            payload,
                        }));
                    }
                    reader.end_copy()?;
                    skip_module_values(reader)?;
                    expires = None;
                }
                (kind, family) => {
                    skip_string(reader)?;
                    skip_value(reader, family, kind, offset)?;
                    expires = None;
                }
            }
        }
    }

    fn read_header(&mut self) -> Result<Header> {
        const NO_RDB_FILE: &str = "not an RDB file";
        let reader = &mut self.reader;
        let header: [u8; 9] = reader.array()?;
        let (family, version) = match (
            header.strip_prefix(b"REDIS"),
            header.strip_prefix(b"VALKEY"),
        ) {
            (Some(version), _) => (Family::Redis, version),
            (_, Some(version)) => (Family::Valkey, version),
            _ => return reader.damaged(0, NO_RDB_FILE),
        };
        let digits = version.iter().all(u8::is_ascii_digit);
        let version = str::from_utf8(version).ok().filter(|_| digits);
        match version.and_then(|version| version.parse().ok()) {
            Some(version) => Ok(Header { family, version }),
            None => reader.damaged(0, NO_RDB_FILE),
        }
    }

    /// Checks the checksum. It is 0 if the server does not compute it (`rdbchecksum no`).
    fn end(&mut self, header: Header) -> Result<()> {
        let reader = &mut self.reader;
        if header.version >= FIRST_WITH_CHECKSUM {
            let computed = reader.checksum()?;
            let offset = reader.offset();
            let stored = u64::from_le_bytes(reader.array()?);
            if stored != 0 && stored != computed {
                return reader.damaged(offset, "the checksum of the file is wrong");
            }
        }
        reader.report()
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
