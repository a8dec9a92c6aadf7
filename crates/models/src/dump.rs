//! Complete DUMP payloads of any type.

use super::TYPES;
use roughly_dump::Values;

/// Decodes `bytes` as a DUMP payload. The footer is ignored, because the server checks it.
pub fn payload(bytes: &[u8]) {
    if let Ok((id, mut values)) = Values::from_dump(bytes) {
        TYPES.iter().any(|of| (of.payload)(id, &mut values));
    }
}

/// Inputs for [`stored`](super::stored::stored) from a valid payload, with the name of its type.
pub fn seeds(payload: &[u8]) -> Option<(&'static str, Vec<Vec<u8>>)> {
    let (id, values) = Values::from_dump(payload).ok()?;
    let of = TYPES.iter().find(|of| (of.is_type)(id))?;
    Some((of.name, (of.seeds)(&values)))
}
