//! The stored forms.

use super::*;
use roughly_dump::{Writer, type_id};

#[test]
fn payload_bytes_is_an_upper_bound() {
    for count in [0, 1, 100, 5000] {
        let mut digest = digest(1000);
        (digest.add(&Uniform(9).take(count).collect::<Vec<_>>())).unwrap();
        let mut dump = Writer::new(type_id(b"TDIS-TYPE", 0));
        digest.save(&mut dump);
        let payload = dump.finish().len() as u64;
        let said = digest.payload_bytes();
        assert!(payload <= said && said < payload + 100);
    }
}

#[test]
fn a_header_is_the_fields_in_order() {
    let mut one = digest(100);
    one.add(&[-7.25]).unwrap();
    let chunk = one.header().unwrap();
    assert_eq!(chunk.len(), 88);
    assert_eq!(chunk[..8], 100f64.to_le_bytes());
    assert_eq!(chunk[24..32], 610i64.to_le_bytes());
    assert_eq!(chunk[72..80], (-7.25f64).to_le_bytes());
    assert_eq!(TDigest::from_header(&chunk, ANY).unwrap(), one);
}
