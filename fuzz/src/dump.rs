//! Whole DUMP payloads, of whichever family their type names.

use super::FAMILIES;
use roughly_dump::Values;

/// Takes bytes for a payload. Its footer is skipped, since the server checks it.
pub fn payload(bytes: &[u8]) {
    if let Ok((id, mut values)) = Values::from_dump(bytes) {
        FAMILIES
            .iter()
            .any(|family| (family.payload)(id, &mut values));
    }
}

/// The inputs for a family's `stored` from a golden payload, and the family's name.
pub fn seeds(payload: &[u8]) -> Option<(&'static str, Vec<Vec<u8>>)> {
    let (id, values) = Values::from_dump(payload).ok()?;
    let family = FAMILIES.iter().find(|family| (family.is_type)(id))?;
    Some((family.name, (family.seeds)(&values)))
}
