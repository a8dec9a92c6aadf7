//! The stored forms.

use super::*;
use roughly_dump::Value::{self, Bytes, Double, Integer};
use roughly_dump::{Writer, type_id};

/// A window of 100 units whose panes have up to 16 units. The samples 1 to 5 were added in the units 3, 9, 14, 90 and 102, one
/// in each, and 8 and -7.25 in unit 110, the newest.
pub(super) fn leveled() -> TDigestWindow {
    let window = Window::new(100_000, 5, Some(1000)).unwrap();
    let mut digest = TDigestWindow::new(100, window, Budget::UNLIMITED).unwrap();
    for (unit, value) in [(3, 1.0), (9, 2.0), (14, 3.0), (90, 4.0), (102, 5.0)] {
        digest.advance(unit);
        add(&mut digest, &[value]);
    }
    digest.advance(110);
    add(&mut digest, &[8.0, -7.25]);
    digest
}

fn node(mean: f64, weight: u64) -> Vec<u8> {
    [mean.to_le_bytes(), weight.to_le_bytes()].concat()
}

/// The values of a pane of these samples.
fn pane(first: u64, compressions: u64, samples: &[f64]) -> Vec<Value> {
    let [min, max] = [samples[0], samples[samples.len() - 1]].map(Double);
    let nodes = samples.iter().flat_map(|&sample| node(sample, 1)).collect();
    let [first, compressions] = [first, compressions].map(Integer);
    let len = Integer(samples.len() as u64);
    vec![first, compressions, min, max, len, Bytes(nodes)]
}

#[test]
fn the_values_are_the_timeline_and_the_panes() {
    let values = saved(&leveled()).values;
    // The units 3, 9 and 14 are in one pane, which was compressed when three panes closed, and in two merges.
    let head = [100_000, 5, 110, 1000, 100, 3].map(Integer);
    let merged = pane(0, 5, &[1.0, 2.0, 3.0]);
    // Of the newest pane, the number of compressions and that of unmerged nodes.
    let newest = pane(0, 2, &[-7.25, 8.0]);
    let panes = [pane(90, 1, &[4.0]), pane(102, 1, &[5.0])].concat();
    assert_eq!(values, [&head[..], &merged, &panes, &newest].concat());
    // The header is the mark and the values: numbers of eight bytes, and strings with their lengths.
    let header = leveled().header().unwrap();
    assert_eq!(header[..8], *b"TDWINDO3");
    let fields = values.iter().map(|value| match value {
        Integer(value) => value.to_le_bytes().to_vec(),
        Double(value) => value.to_le_bytes().to_vec(),
        Bytes(value) => [&(value.len() as u64).to_le_bytes(), &value[..]].concat(),
    });
    let fields = fields.collect::<Vec<_>>().concat();
    assert_eq!(header[8..], fields);
    assert_eq!(fed(&leveled()), fields);
}

/// The server reads each value of an RDB file with a call.
#[test]
fn the_nodes_are_in_strings_of_256() {
    let mut digest = window(200, 3);
    digest.advance(4);
    add(&mut digest, &(0..1100).map(f64::from).collect::<Vec<_>>());
    let values = saved(&digest).values;
    let strings = values.iter().filter_map(|value| match value {
        Bytes(bytes) => Some(bytes.len() / 16),
        _ => None,
    });
    assert_eq!(strings.collect::<Vec<_>>(), [256, 256, 256, 256, 76]);
    assert!(load(saved(&digest)).unwrap() == digest);
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
        let is_close = payload <= bound && bound < payload + 500;
        assert!(is_close, "{payload} {bound}");
    }
}

/// In every stored form and at creation.
#[test]
fn a_compression_with_too_much_work_per_addition_is_refused() {
    let largest = i64::from(MAX_WINDOW_COMPRESSION);
    let largest_digest = window(largest, 3);
    let length = Window::new(1000, 3, None).unwrap();
    let refused = TDigestWindow::new(largest + 1, length, Budget::UNLIMITED);
    assert_eq!(refused.unwrap_err(), DigestError::CompressionTooLarge);
    let mut values = saved(&largest_digest);
    assert!(load(values.clone()).is_ok());
    values.values[4] = Integer(u64::from(MAX_WINDOW_COMPRESSION) + 1);
    assert!(load(values).is_err());
    let mut header = largest_digest.header().unwrap();
    header[8 + 4 * 8] += 1;
    assert!(TDigestWindow::from_header(&header, Budget::UNLIMITED).is_err());
}
