//! The files of other modules, beside which Roughly is tested. They are not part of the repository.

use std::env;
use std::path::{Path, PathBuf};

/// RedisBloom 2.8.2: the file in `ROUGHLY_REDISBLOOM`, by default the one that `scripts/fetch.sh redisbloom` fetches.
pub fn redisbloom() -> PathBuf {
    env::var_os("ROUGHLY_REDISBLOOM").map_or_else(
        || fetched("2.8.2"),
        |file| {
            existing(
                file.into(),
                "ROUGHLY_REDISBLOOM must be the path of RedisBloom",
            )
        },
    )
}

/// RedisBloom 2.6.12, which `scripts/fetch.sh redisbloom 2.6.12` fetches.
pub fn redisbloom_2_6() -> PathBuf {
    fetched("2.6.12")
}

fn fetched(version: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/redisbloom");
    existing(
        directory.join(version).join("redisbloom.so"),
        "`scripts/fetch.sh redisbloom 2.6.12 2.8.2` fetches it",
    )
}

/// valkey-bloom: the file in `ROUGHLY_VALKEY_BLOOM`.
pub fn valkey_bloom() -> PathBuf {
    let file = env::var_os("ROUGHLY_VALKEY_BLOOM").unwrap_or_default();
    existing(
        file.into(),
        "ROUGHLY_VALKEY_BLOOM must be the path of valkey-bloom",
    )
}

fn existing(file: PathBuf, remedy: &str) -> PathBuf {
    file.canonicalize()
        .unwrap_or_else(|error| panic!("{}: {error}; {remedy}", file.display()))
}
