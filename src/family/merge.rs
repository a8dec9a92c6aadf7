//! What the merges of all families share.

use crate::server::call::Call;
use roughly_sketch::merge::MAX_BYTES;

/// Bytes that a merge may read. What must be obeyed was within the limit elsewhere.
pub fn max_bytes(call: &Call<'_>) -> u64 {
    if call.must_obey() {
        u64::MAX
    } else {
        MAX_BYTES
    }
}
