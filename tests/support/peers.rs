//! The files of other modules, beside which Roughly is tested. They are not part of the repository.

use std::env;
use std::path::{Path, PathBuf};

/// RedisBloom 2.8.2: the file in `ROUGHLY_REDISBLOOM`, by default the one that `scripts/fetch.sh redisbloom` fetches.
pub fn redisbloom() -> PathBuf {
    let remedy = "ROUGHLY_REDISBLOOM must be the path of RedisBloom";
    let specified = env::var_os("ROUGHLY_REDISBLOOM").map(|file| existing(file.into(), remedy));
    specified.unwrap_or_else(|| fetched("2.8.2"))
}

/// RedisBloom 2.6.12, which `scripts/fetch.sh redisbloom 2.6.12` fetches.
pub fn redisbloom_2_6() -> PathBuf {
    fetched("2.6.12")
}

fn fetched(version: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/redisbloom");
    let remedy = "`scripts/fetch.sh redisbloom 2.6.12 2.8.2` fetches it";
    existing(directory.join(version).join("redisbloom.so"), remedy)
}

/// valkey-bloom: the file in `ROUGHLY_VALKEY_BLOOM`.
pub fn valkey_bloom() -> PathBuf {
    let file = env::var_os("ROUGHLY_VALKEY_BLOOM").unwrap_or_default();
    let remedy = "ROUGHLY_VALKEY_BLOOM must be the path of valkey-bloom";
    existing(file.into(), remedy)
}

fn existing(file: PathBuf, remedy: &str) -> PathBuf {
    file.canonicalize()
        .unwrap_or_else(|error| panic!("{}: {error}; {remedy}", file.display()))
}
