//! Golden payloads and work counters for the tests of all sketches.

use roughly_dump::{Values, type_id};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// The work of a sketch in the current thread, in steps: tests compare counts instead of times.
#[derive(Debug, Default)]
pub struct Work(Cell<u64>);

impl Work {
    /// Counts a step.
    pub fn count(&self) {
        self.0.set(self.0.get() + 1);
    }

    /// The number of steps while `work` runs.
    pub fn during(&self, work: impl FnOnce()) -> u64 {
        let before = self.0.get();
        work();
        self.0.get() - before
    }
}

thread_local! {
    /// Passes over an item to hash it for a top-k sketch.
    pub static HASH_PASSES: Work = Work::default();
    /// Estimates that are read from the tables of a top-k sketch with a window.
    pub static ESTIMATES: Work = Work::default();
    /// Blocks of a source that a merge of count-min sketches with a window looks up.
    pub static MERGED_BLOCKS: Work = Work::default();
}

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
