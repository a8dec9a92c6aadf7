//! TDIGEST.MERGE.

use super::{OVERFLOW, WRONG_KEYWORD, create};
use crate::family::merge::{self, FIRST_SOURCE, NumkeysErrors, max_bytes};
use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use crate::server::options::Options;
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{DigestError, TDigest};
use std::ffi::CStr;
use std::ops::Range;

const NUMKEYS: NumkeysErrors = NumkeysErrors {
    not_integer: c"ERR T-Digest: error parsing numkeys",
    not_positive: c"ERR T-Digest: numkeys needs to be a positive integer",
};
const NO_MEMORY: &CStr = c"ERR T-Digest: allocation of destination digest failed";

/// TDIGEST.MERGE destination numkeys source [source …] [COMPRESSION compression] [OVERRIDE]
pub fn merge(call: &mut Call<'_>) -> Result<(), Error> {
    let merged = merged(call)?;
    let mut key = call.write::<TDigest>(1);
    let changes = match key.get() {
        Slot::Found(old) => *old != merged || old.info() != merged.info(),
        Slot::Missing | Slot::WrongType => true,
    };
    if changes {
        // The key keeps its time to live, even with OVERRIDE.
        let entry = key.replace(merged)?;
        call.replicate_verbatim();
        entry.store();
        call.signal_changed(1, c"tdigest.merge");
    }
    call.reply_ok();
    Ok(())
}

/// The result of the merge.
fn merged(call: &Call<'_>) -> Result<TDigest, Error> {
    // Opened for writing, because opening a missing key for reading counts as a keyspace miss.
    let exists = call.write::<TDigest>(1).get().optional()?.is_some();
    let options = MergeOptions::parse(call)?;
    let destination = (exists && !options.overrides).then_some(1);
    let sources = options.sources.len();
    let keys = call.read_all::<TDigest>(options.sources.chain(destination));
    let keys = keys.map_err(|_| NO_MEMORY)?;
    let (sources, destination) = keys.split_at(sources);
    let mut operands = merge::values(sources, keys.len(), NO_MEMORY)?;
    let content = destination.first().and_then(|key| key.get().found());
    let largest = || operands.iter().map(|digest| digest.compression()).max();
    let compression = options
        .compression
        .or_else(|| content.map(|digest| i64::from(digest.compression())))
        .or_else(|| largest().map(i64::from))
        .ok_or(Error::WrongArity)?;
    if let Some(content) = content {
        operands.insert(0, content);
    }
    let allows = |bytes| call.allows_bytes(bytes);
    let merged = TDigest::merge_within(
        compression,
        &operands,
        Budget::new(&allows),
        max_bytes(call),
    );
    merged.map_err(|error| match error {
        DigestError::Overflow => OVERFLOW.into(),
        DigestError::TooMuchWork(_) => {
            c"ERR T-Digest: too much work for one merge, merge fewer sources at a time".into()
        }
        _ => NO_MEMORY.into(),
    })
}

/// The arguments after the destination.
struct MergeOptions {
    /// The arguments of the sources; at least one.
    sources: Range<usize>,
    compression: Option<i64>,
    overrides: bool,
}

impl MergeOptions {
    fn parse(call: &Call<'_>) -> Result<Self, Error> {
        let numkeys = merge::numkeys(call, &NUMKEYS)?;
        if numkeys > call.len() - FIRST_SOURCE {
            return Err(Error::WrongArity);
        }
        let sources = FIRST_SOURCE..FIRST_SOURCE + numkeys;
        let mut options = Options::new(call, sources.end);
        let overrides = options.flag("OVERRIDE");
        let compression = options.value("COMPRESSION");
        let compression = compression.map_err(|_| Error::WrongArity)?;
        let compression = compression.map(create::compression).transpose()?;
        if compression.is_none() && !overrides && sources.end < call.len() {
            return Err(WRONG_KEYWORD.into());
        }
        options.warn_of_ignored();
        Ok(Self {
            sources,
            compression,
            overrides,
        })
    }
}
