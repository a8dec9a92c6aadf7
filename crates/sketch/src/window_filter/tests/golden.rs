//! The stored bytes of small values, so that the format does not change unnoticed.

use super::*;
use roughly_dump::Value;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Numbers in decimal, doubles by their bits, bytes in hexadecimal without the zeros at the end.
fn text(values: &Values) -> String {
    let texts = values.values.iter().map(|value| match value {
        Value::Integer(number) => number.to_string(),
        Value::Double(number) => format!("{:x}", number.to_bits()),
        Value::Bytes(bytes) => {
            let end = (bytes.iter().rposition(|&byte| byte != 0)).map_or(0, |last| last + 1);
            format!("{}:{}", bytes.len(), hex(&bytes[..end]))
        }
    });
    texts.collect::<Vec<_>>().join(" ")
}

fn small_set() -> BloomWindow {
    let mut filter = set(3, 0.01, 2, 2);
    filter.advance(1000);
    for item in ["apple", "banana", "cherry"] {
        filter.add(item.as_bytes(), ANY).unwrap();
    }
    filter.advance(1002);
    for item in ["banana", "date", "elderberry"] {
        filter.add(item.as_bytes(), ANY).unwrap();
    }
    filter
}

fn small_multiset() -> CuckooWindow {
    let mut filter = multiset(4, 2, 1, 3);
    filter.advance(7);
    for item in ["apple", "apple", "banana", "cherry"] {
        filter.insert_item(item.as_bytes(), ANY).unwrap();
    }
    filter.delete(b"cherry");
    filter
}

#[test]
fn stored_values() {
    let stored = [text(&saved(&small_set())), text(&saved(&small_multiset()))];
    assert_eq!(
        stored,
        [
            "2 2 1002 16:30313233343536373839616263646566 3 3f847ae147ae147b 4 1024 2 0 1 2 24:0000000000000000e903000000000000eb0\
             3 1 5 14 102 2 24:0000000000000000020000000000000003 71:0000000000000080ee0000000000000000000000004002000000000\
             00000000000008088000000300600000045 2:01",
            "3 3 7 16:30313233343536373839616263646566 4 3f90101010101010 2 20 1 1 1 1 32:000000000000000008 1 6 16 51 1 32\
             :000000000000000003 40:0000000000340000000000340000000000000098 2:01"
        ]
    );
}

#[test]
fn headers() {
    let headers =
        [small_set().header(), small_multiset().header()].map(|header| hex(&header.unwrap()));
    assert_eq!(
        headers,
        [
            "62662d77696e32ff02000000000000000200000000000000ea030000000000003031323334353637383961626364656603000000000000007b14ae47e17a843f\
             040004020000000000000000000000010000000000000002000000000000000000000000000000e903000000000000eb\
             030000000000000100000005000000000000000e00000000000000660000000000000002000000000000000000000000\
             00000002000000000000000300000000000000",
            "63662d77696e33ff030000000000000003000000000000000700000000000000303132333435363738396162636465660400000000000000101010101010903f\
             021400010000000100000000000000010000000000000001000000000000000000000000000000080000000000000000\
             000000000000000000000000000000010000000600000000000000100000000000000033000000000000000100000000\
             0000000000000000000000030000000000000000000000000000000000000000000000"
        ]
    );
}
