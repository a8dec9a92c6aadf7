//! Copying a digest: TDIGEST.SCANDUMP and TDIGEST.LOADCHUNK. It fits one chunk.

use super::{NO_MEMORY, NOT_FOUND};
use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use roughly_sketch::t_digest::TDigest;

/// The iterator of the one chunk.
pub const ONLY_CHUNK: i64 = 1;

/// TDIGEST.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<TDigest>(1);
    let digest = key.get().or_missing(NOT_FOUND)?;
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    let (next, chunk) = if iterator == 0 {
        (ONLY_CHUNK, digest.to_chunk().map_err(|_| NO_MEMORY)?)
    } else {
        (0, Vec::new())
    };
    drop(key);
    call.reply_array(2);
    call.reply_integer(next);
    call.reply_bulk(&chunk);
    Ok(())
}

/// TDIGEST.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"ERR Second argument must be numeric")?;
    let mut key = call.write::<TDigest>(1);
    match key.get() {
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Found(_) => return Err(c"ERR received bad data".into()),
        Slot::Missing if iterator != ONLY_CHUNK => return Err(NOT_FOUND.into()),
        Slot::Missing => {}
    }
    let chunk = call.arg(3).bytes();
    // The block of the nodes doubles while they are read.
    let digest = Some(chunk).filter(|chunk| call.allows_bytes(2 * chunk.len() as u64));
    let digest = digest.and_then(|chunk| TDigest::from_chunk(chunk).ok());
    let entry = key.create(digest.ok_or(c"ERR received bad data")?)?;
    call.replicate_verbatim();
    entry.store();
    call.signal_changed(1, c"tdigest.loadchunk");
    call.reply_ok();
    Ok(())
}
