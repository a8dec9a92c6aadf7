//! The stored forms.

use super::*;
use crate::format::FormatError;
use crate::window::Panes;
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
    let string = |doubles: &[f64]| Value::Bytes(string_of(doubles));
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
        string(&[1.0, 2.0]),
        string(&[1.0, 1.0]),
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
        string(&[-7.25]),
        string(&[1.0]),
    ];
    let values = saved(&small()).values;
    assert_eq!(values, [&head[..], &closed, &newest].concat());
    // The header is the mark and the values: numbers of eight bytes, and the strings.
    let header = small().header().unwrap();
    assert_eq!(header[..8], *b"TDWINDOW");
    let fields = values.iter().map(|value| match value {
        Value::Integer(value) => value.to_le_bytes().to_vec(),
        Value::Double(value) => value.to_le_bytes().to_vec(),
        Value::Bytes(value) => value.clone(),
    });
    assert_eq!(header[8..], fields.collect::<Vec<_>>().concat());
}

/// The server reads each value of an RDB file with a call.
#[test]
fn the_doubles_of_the_nodes_are_in_strings_of_512() {
    let mut digest = window(200, 3);
    digest.advance(4);
    add(&mut digest, &(0..1100).map(f64::from).collect::<Vec<_>>());
    let values = saved(&digest).values;
    let strings = values.iter().filter_map(|value| match value {
        Value::Bytes(bytes) => Some(bytes.len() / 8),
        _ => None,
    });
    assert_eq!(strings.collect::<Vec<_>>(), [512, 512, 76, 512, 512, 76]);
    assert_eq!(values.len(), 5 + 10 + 6);
    assert!(load(saved(&digest)).unwrap() == digest);
}

#[test]
fn headers_with_and_without_a_window_exclude_each_other() {
    let header = small().header().unwrap();
    assert!(TDigest::from_header(&header, Budget::UNLIMITED).is_err());
    let classic = small()
        .digest_at(Panes::ALL, &mut WindowCache::default(), Budget::UNLIMITED)
        .unwrap();
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
        let mut dump = Writer::new(type_id(b"td-window", TDigestWindow::ENCODING_VERSION));
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
    for version in [0, 1, 3] {
        let refused = TDigestWindow::load(&mut saved(&small()), version, &());
        assert_eq!(refused.unwrap_err(), FormatError::UnknownVersion(version));
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
