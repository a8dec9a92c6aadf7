//! The files of other modules, beside which Roughly is tested. They are not part of the repository.

use std::env;
use std::path::{Path, PathBuf};

/// The absolute path of a module's file. `None` if the file is missing; then a line is printed, and the caller skips the
/// test. The directory is `ROUGHLY_PEERS`, by default `../shared/peers/bin` beside the repository.
pub fn find(file: &str) -> Option<PathBuf> {
    let directory = env::var_os("ROUGHLY_PEERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/peers/bin"),
        PathBuf::from,
    );
    let path = directory.join(file);
    let found = path.canonicalize().ok();
    if found.is_none() {
        println!("skipped: no {}", path.display());
    }
    found
}
