//! Calls every `BF.*` command, with the typed methods of the crate.

use crate::cmd;
use redis::bloom::{
    BloomFilterDumpIterator, BloomFilterInfoType, BloomFilterInsertOptions,
    BloomFilterScalingOptions,
};
use redis::{Connection, RedisResult, TypedCommands, Value};

/// An empty filter for five items, in the format of valkey-bloom.
fn valkey_payload() -> Vec<u8> {
    let mut payload = vec![1];
    payload.extend(2u32.to_le_bytes());
    payload.extend([0.1f64, 0.5].map(f64::to_le_bytes).concat());
    // Whether the seed is random; the number of sub-filters.
    payload.push(1);
    payload.extend(1u64.to_le_bytes());
    // The length of the stored sub-filter; its version, bytes, hashes, seed and bits.
    payload.extend(48u64.to_le_bytes());
    payload.push(1);
    payload.extend(3u64.to_le_bytes());
    payload.extend(3u32.to_le_bytes());
    payload.extend(b"0123456789abcdef".repeat(2));
    payload.extend([0; 3]);
    // Items and capacity.
    payload.extend([0i64, 5].map(i64::to_le_bytes).concat());
    payload
}

/// Calls every `BF.*` command and compares the replies.
pub fn walk(connection: &mut Connection) -> RedisResult<()> {
    connection.bf_reserve("bf", 0.01, 1000)?;
    assert!(connection.bf_add("bf", "a")?);
    assert!(!connection.bf_add("bf", "a")?);
    let added = connection.bf_madd("bf", &[&b"a"[..], b"b", b"\x00\xff"])?;
    assert_eq!(added, [false, true, true]);
    assert!(connection.bf_exists("bf", b"\x00\xff")?);
    assert_eq!(connection.bf_mexists("bf", &["a", "z"])?, [true, false]);
    assert_eq!(connection.bf_card("bf")?, 3);

    let info = connection.bf_info("bf")?;
    assert_eq!(info.len(), 5);
    for (field, value) in [
        ("Capacity", 1000.0),
        ("Number of filters", 1.0),
        ("Number of items inserted", 3.0),
        ("Expansion rate", 2.0),
    ] {
        assert_eq!(info[field], value, "{field}");
    }
    for (kind, value) in [
        (BloomFilterInfoType::Capacity, 1000.0),
        (BloomFilterInfoType::Size, *info["Size"]),
        (BloomFilterInfoType::Filters, 1.0),
        (BloomFilterInfoType::Items, 3.0),
        (BloomFilterInfoType::Expansion, 2.0),
    ] {
        assert_eq!(connection.bf_info_type("bf", kind)?, value);
    }
    // Only filters of valkey-bloom's type have the field `Tightening`.
    let error = connection.bf_info_type("bf", BloomFilterInfoType::Tightening);
    assert!(error.unwrap_err().to_string().contains("information value"));

    connection.bf_reserve_options("bf:n", 0.01, 2, BloomFilterScalingOptions::NonScaling)?;
    // As in RedisBloom, the reply is an array or a map that contains a null. The crate accepts only a null by itself.
    let none = connection.bf_info_type("bf:n", BloomFilterInfoType::Expansion);
    assert!(none.unwrap_err().to_string().contains("nil"));
    let none: Value = cmd("BF.INFO bf:n EXPANSION").query(connection)?;
    let name = Value::SimpleString("Expansion rate".to_owned());
    let wanted = [
        Value::Array(vec![Value::Nil]),
        Value::Map(vec![(name, Value::Nil)]),
    ];
    assert!(wanted.contains(&none), "{none:?}");
    connection.bf_reserve_options(
        "bf:e",
        0.01,
        20,
        BloomFilterScalingOptions::ExpansionRate(4),
    )?;
    assert_eq!(connection.bf_insert("bf:i", &["x", "y"])?, [true, true]);
    let options = BloomFilterInsertOptions::default()
        .capacity(50)
        .error_rate(0.001)
        .expansion(BloomFilterScalingOptions::ExpansionRate(2));
    assert_eq!(
        connection.bf_insert_options("bf:o", &["x"], options)?,
        [true]
    );
    let options = BloomFilterInsertOptions::default().nocreate();
    let error = connection
        .bf_insert_options("bf:none", &["x"], options)
        .unwrap_err();
    assert_eq!(error.detail(), Some("not found"));

    let numbers: Vec<usize> = (0..3000).collect();
    connection.bf_madd("bf", &numbers)?;
    let chunks: Vec<_> =
        BloomFilterDumpIterator::new(connection, "bf").collect::<RedisResult<_>>()?;
    assert_eq!(chunks.len(), 3, "the header and two filters");
    for chunk in chunks {
        connection.bf_loadchunk("bf:copy", chunk)?;
    }
    assert_eq!(connection.bf_card("bf:copy")?, connection.bf_card("bf")?);
    assert_eq!(
        connection.bf_mexists("bf:copy", &numbers)?,
        vec![true; 3000]
    );

    let debug: Vec<String> = cmd("BF.DEBUG bf").query(connection)?;
    assert_eq!(debug.len(), 3);
    // Creates a filter of valkey-bloom's type from the payload of an empty filter. The clients lack the command.
    cmd("BF.LOAD bf:load")
        .arg(valkey_payload())
        .exec(connection)?;
    assert!(connection.bf_add("bf:load", "a")?);
    assert!(connection.bf_exists("bf:load", "a")?);
    let capacity = connection.bf_info_type("bf:load", BloomFilterInfoType::Capacity)?;
    assert_eq!(capacity, 5.0);
    assert_eq!(
        connection.bf_info_type("bf:load", BloomFilterInfoType::Tightening)?,
        0.5
    );
    // Commands that RedisBloom and the clients lack.
    cmd("BF.MERGE bf:union 1 bf").exec(connection)?;
    let added: Vec<bool> = cmd("BF.ADDNX bf:union a new").query(connection)?;
    assert_eq!(added, [false, true]);
    assert_eq!(
        connection.bf_mexists("bf:union", &["a", "2999"])?,
        [true, true]
    );
    Ok(())
}
