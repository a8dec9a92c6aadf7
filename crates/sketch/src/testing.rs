//! Golden payloads for the tests of all sketches.

use roughly_dump::{Values, type_id};
use std::path::{Path, PathBuf};

/// Versions of RedisBloom that recorded the golden payloads.
pub const GOLDEN_VERSIONS: [&str; 2] = ["8.10", "2.8"];

/// A file of the golden payloads that this version recorded.
pub fn golden_path(version: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden/dumps")
        .join(version)
        .join(file)
}

/// The bytes of a file of the golden payloads.
pub fn golden_bytes(version: &str, file: &str) -> Vec<u8> {
    let path = golden_path(version, file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The values of the golden payload `name`, which must be of the type `type_name` and of this encoding version.
pub fn golden_values(version: &str, name: &str, type_name: &[u8; 9], encoding: u16) -> Values {
    let payload = golden_bytes(version, &format!("{name}.dump"));
    let (id, values) = Values::from_dump(&payload).expect("a payload");
    assert_eq!(id, type_id(type_name, encoding), "{version} {name}");
    values
}
