//! Whole DUMP payloads, of whichever family their type says.

use super::{bloom, count_min, cuckoo, t_digest, top_k};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::format::dump::{Values, type_id};
use roughly_sketch::{bloom::parts, count_min::CountMin, t_digest::TDigest, top_k::TopK};

/// The encoding version is in a type id's last ten bits.
const VERSION_BITS: u64 = (1 << 10) - 1;

/// Bytes for a payload. Its footer is not looked at, as the server has done that.
pub fn payload(bytes: &[u8]) {
    let Ok((id, mut values)) = Values::from_dump(bytes) else {
        return;
    };
    let version = (id & VERSION_BITS) as u16;
    let is = |name| id == type_id(name, version);
    if is(b"MBbloom--") {
        let _ = parts::load(&mut values, version.into()).map(bloom::exercise);
    } else if is(b"MBbloomCF") {
        let defaults = cuckoo::DEFAULTS;
        let _ = CuckooFilter::load(&mut values, version.into(), defaults).map(cuckoo::exercise);
    } else if is(b"CMSk-TYPE") {
        let _ = CountMin::load(&mut values, version).map(count_min::exercise);
    } else if is(b"TopK-TYPE") {
        let _ = TopK::load(&mut values, version.into()).map(top_k::exercise);
    } else if is(b"TDIS-TYPE") {
        let _ = TDigest::load(&mut values, version.into()).map(t_digest::exercise);
    }
}

/// The seeds of a family's `stored` for a golden payload, and the family's name.
pub fn seeds(payload: &[u8]) -> Option<(&'static str, Vec<Vec<u8>>)> {
    let (id, values) = Values::from_dump(payload).ok()?;
    Some(match id >> 10 {
        id if id == type_id(b"MBbloom--", 0) >> 10 => ("bloom", bloom::seeds(&values)),
        id if id == type_id(b"MBbloomCF", 0) >> 10 => ("cuckoo", cuckoo::seeds(&values)),
        id if id == type_id(b"CMSk-TYPE", 0) >> 10 => ("count_min", count_min::seeds(&values)),
        id if id == type_id(b"TopK-TYPE", 0) >> 10 => ("top_k", top_k::seeds(&values)),
        id if id == type_id(b"TDIS-TYPE", 0) >> 10 => ("t_digest", t_digest::seeds(&values)),
        _ => return None,
    })
}
