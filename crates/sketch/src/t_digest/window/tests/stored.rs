//! The stored forms.

use super::*;
use roughly_dump::{Value, Writer, type_id};

/// Two panes: pane 4 with the samples 1 and 2, the newest pane 6 with the sample -7.25.
fn small() -> TDigestWindow {
    let mut digest = window(100, 4);
    digest.advance(4);
    add(&mut digest, &[2.0, 1.0]);
    digest.advance(6);
    add(&mut digest, &[-7.25]);
    digest
}

#[test]
fn the_values_are_the_timeline_and_the_panes() {
    let (double, integer) = (Value::Double, Value::Integer);
    let head = [1_000_000, 4, 6, 100, 2].map(integer);
    let closed = [
        integer(4),
        double(100.0),
        double(1.0),
        double(2.0),
        integer(610),
        integer(2),
        integer(0),
        integer(1),
        double(2.0),
        double(0.0),
        double(1.0),
        double(2.0),
        double(1.0),
        double(1.0),
    ];
    let newest = [
        integer(6),
        double(100.0),
        double(-7.25),
        double(-7.25),
        integer(610),
        integer(1),
        integer(1),
        integer(0),
        double(1.0),
        double(1.0),
        double(-7.25),
        double(1.0),
    ];
    let values = saved(&small()).values;
    assert_eq!(values, [&head[..], &closed, &newest].concat());
    // The header is the mark and the values, each of eight bytes.
    let header = small().header().unwrap();
    assert_eq!(header[..8], *b"TDWINDOW");
    let fields = values.iter().map(|value| match value {
        Value::Integer(value) => value.to_le_bytes(),
        Value::Double(value) => value.to_le_bytes(),
        Value::Bytes(_) => panic!("no strings"),
    });
    assert_eq!(header[8..], fields.collect::<Vec<_>>().concat());
}

#[test]
fn headers_with_and_without_a_window_exclude_each_other() {
    let header = small().header().unwrap();
    assert!(TDigest::from_header(&header, Budget::UNLIMITED).is_err());
    let classic = small().digest_at(0, Budget::UNLIMITED).unwrap();
    let classic = classic.header().unwrap();
    assert!(TDigestWindow::from_header(&classic, Budget::UNLIMITED).is_err());
    for len in 0..header.len() {
        assert!(TDigestWindow::from_header(&header[..len], Budget::UNLIMITED).is_err());
    }
    let longer = [&header[..], &[0]].concat();
    assert!(TDigestWindow::from_header(&longer, Budget::UNLIMITED).is_err());
    assert!(TDigestWindow::from_header(&header, Budget::new(&|_| false)).is_err());
}

#[test]
fn payload_bytes_is_an_upper_bound() {
    let mut digest = window(50, 7);
    let mut uniform = Uniform(4);
    for pane in 0..20 {
        digest.advance(pane);
        (0..uniform.below(900)).for_each(|_| add(&mut digest, &[uniform.normal()]));
        let mut dump = Writer::new(type_id(b"td-window", 1));
        digest.save(&mut dump);
        let payload = dump.finish().len() as u64;
        let bound = digest.payload_bytes();
        assert!(
            payload <= bound && bound < payload + 800,
            "{payload} {bound}"
        );
    }
}

#[test]
fn other_encoding_versions_are_refused() {
    for version in [0, 2] {
        assert!(TDigestWindow::load(&mut saved(&small()), version, &()).is_err());
    }
}

/// In every stored form and at creation.
#[test]
fn a_compression_with_too_much_work_per_addition_is_refused() {
    let largest = i64::from(MAX_WINDOW_COMPRESSION);
    let largest_digest = window(largest, 3);
    let length = Window::new(1000, 3).unwrap();
    let refused = TDigestWindow::new(largest + 1, length, Budget::UNLIMITED);
    assert_eq!(refused.unwrap_err(), DigestError::CompressionTooLarge);
    let mut values = saved(&largest_digest);
    assert!(load(values.clone()).is_ok());
    values.values[3] = Value::Integer(u64::from(MAX_WINDOW_COMPRESSION) + 1);
    assert!(load(values).is_err());
    let mut header = largest_digest.header().unwrap();
    header[8 + Timeline::BYTES] += 1;
    assert!(TDigestWindow::from_header(&header, Budget::UNLIMITED).is_err());
}
