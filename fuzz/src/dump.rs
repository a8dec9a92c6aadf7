//! Complete DUMP payloads of any family.

use super::FAMILIES;
use roughly_dump::Values;

/// Decodes `bytes` as a DUMP payload. The footer is ignored, because the server checks it.
pub fn payload(bytes: &[u8]) {
    if let Ok((id, mut values)) = Values::from_dump(bytes) {
        FAMILIES
            .iter()
            .any(|family| (family.payload)(id, &mut values));
    }
}

/// Payloads of the types without golden payloads, with the names of their families.
pub fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let samples = FAMILIES.iter().flat_map(|family| {
        let payloads = (family.samples)().into_iter();
        payloads.map(move |payload| (family.name, payload))
    });
    samples.collect()
}

/// Inputs for the `stored` target of a family, from a valid payload, with the name of the family.
pub fn seeds(payload: &[u8]) -> Option<(&'static str, Vec<Vec<u8>>)> {
    let (id, values) = Values::from_dump(payload).ok()?;
    let family = FAMILIES.iter().find(|family| (family.is_type)(id))?;
    Some((family.name, (family.seeds)(&values)))
}
