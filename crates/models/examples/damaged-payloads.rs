//! Prints damaged DUMP payloads with valid checksums, for tests in other languages: each after its length, a little-endian
//! `u32`. The argument is their number.

#[path = "../../../tests/support/damage.rs"]
mod damage;

use damage::{Numbers, damage_bytes, damage_values};
use roughly_dump::Values;
use roughly_models::seeds;
use std::io::Write;

/// Length of the footer of a payload: RDB version and checksum.
const FOOTER_BYTES: usize = 10;

/// A payload whose bytes before the footer are these.
fn with_footer(body: &[u8]) -> Vec<u8> {
    let mut payload = body.to_vec();
    payload.extend(9u16.to_le_bytes());
    payload.extend(roughly_dump::checksum(&payload).to_le_bytes());
    payload
}

fn main() -> std::io::Result<()> {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok());
    let payloads = seeds::payloads();
    let mut numbers = Numbers(0xbad_5eed);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for round in 0..count.unwrap_or(1000) {
        let payload = &payloads[round % payloads.len()];
        let damaged = if round % 2 == 0 {
            let mut body = payload[..payload.len() - FOOTER_BYTES].to_vec();
            for _ in 0..=numbers.below(3) {
                let front = body.len().min(120);
                let end = numbers.pick(&[front, body.len()]);
                let at = numbers.below(end);
                damage_bytes(&mut body, at, &mut numbers);
            }
            with_footer(&body)
        } else {
            let (id, mut values) = Values::from_dump(payload).expect("a valid payload");
            damage_values(&mut values, &mut numbers);
            let version = [id & 1023, 0, 1, 2, 3, 4, 5, 1023][numbers.below(8)];
            values.to_dump(id & !1023 | version)
        };
        out.write_all(&(damaged.len() as u32).to_le_bytes())?;
        out.write_all(&damaged)?;
    }
    out.flush()
}
