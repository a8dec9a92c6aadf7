//! TDIGEST.MERGE.

use super::create;
use super::types::{Digest, DigestType, NOT_FOUND, WRONG_KEYWORD};
use crate::family::merge::{self, FIRST_SOURCE, NumkeysErrors};
use crate::server::call::{Call, Error};
use crate::server::command::Options;
use crate::server::data_type::DataType;
use crate::server::key::{Lookup, ReadKey, WriteKey};
use crate::server::part::Part;
use crate::server::replicated::ReplicatedCommand;
use roughly_sketch::memory::{Budget, Purpose, with_capacity};
use roughly_sketch::merge::{Distinct, MAX_BYTES};
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{DigestError, TDigest};
use std::ffi::CStr;
use std::ops::Range;
use std::ptr;

const NUMKEYS: NumkeysErrors = NumkeysErrors {
    not_integer: c"ERR T-Digest: error parsing numkeys",
    not_positive: c"ERR T-Digest: numkeys needs to be a positive integer",
};
const NO_MEMORY: &CStr = c"ERR T-Digest: allocation of destination digest failed";

/// TDIGEST.MERGE destination numkeys source [source …] [COMPRESSION compression] [OVERRIDE]
pub fn merge(call: &mut Call<'_>) -> Result<(), Error> {
    let (mut merged, has_window) = merged(call)?;
    let mut header = None;
    if has_window {
        // The live panes of a source depend on the clock of this server, so the result is replicated as data. Here, too,
        // it is loaded from these data: TDIGEST.INFO then replies as on a replica.
        let data = merged.header().map_err(|_| NO_MEMORY)?;
        merged = TDigest::from_header(&data, Budget::UNLIMITED).map_err(|_| NO_MEMORY)?;
        header = Some(data);
    }
    let mut key = WriteKey::open(call, 1);
    let changes = match key.get::<DigestType>() {
        Lookup::Found(Digest::Classic(old)) => **old != merged || old.info() != merged.info(),
        _ => true,
    };
    if call.must_obey() {
        // In RedisBloom, the destination loses its time to live. A primary with Roughly sends it afterwards.
        key.persist();
    }
    if changes {
        static LOADCHUNK: ReplicatedCommand = ReplicatedCommand::new(TDigest::LOADCHUNK);
        static PEXPIREAT: ReplicatedCommand = ReplicatedCommand::new(c"PEXPIREAT");
        let expires_at = key.expires_at();
        let entry = key.replace(call, merged)?;
        let key_name = call.arguments(1..2);
        match (&header, expires_at) {
            // On a copy, too, the header replaces the value of an existing key, which keeps its time to live.
            (Some(header), _) => {
                let mut replicated = LOADCHUNK.with(key_name);
                replicated.integer(1).bytes(header).replicate(call);
            }
            (None, None) => call.replicate_verbatim(),
            (None, Some(unix_ms)) => {
                call.replicate_verbatim();
                let mut replicated = PEXPIREAT.with(key_name);
                replicated.integer(unix_ms.unsigned_abs()).replicate(call);
            }
        }
        entry.store();
        call.signal_changed(1, c"tdigest.merge");
    }
    call.reply_ok();
    Ok(())
}

/// The result of the merge, and whether a source has a window.
fn merged(call: &Call<'_>) -> Result<(TDigest, bool), Error> {
    // Opened for writing, because opening a missing key for reading counts as a keyspace miss.
    let key = WriteKey::open(call, 1);
    let exists = match key.get::<DigestType>().optional()? {
        Some(Digest::Windowed(_)) => {
            return Err(c"ERR T-Digest: cannot merge into a digest with a window".into());
        }
        destination => destination.is_some(),
    };
    drop(key);
    let (sources, compression, overrides) = parse(call)?;
    let destination = (exists && !overrides).then_some(1);
    let len = sources.len();
    let keys = ReadKey::open_all(call, sources.chain(destination));
    let keys = keys.map_err(|_| NO_MEMORY)?;
    let (sources, destination) = keys.split_at(len);
    let live = LiveDigests::of(call, sources, call.memory().budget(Purpose::Create))?;
    let mut operands = with_capacity(keys.len()).map_err(|_| NO_MEMORY)?;
    for (key, number) in sources.iter().zip(&live.numbers) {
        operands.push(match key.get::<DigestType>().or_missing(NOT_FOUND)? {
            Digest::Classic(digest) => (&**digest, Some(digest.cache())),
            Digest::Windowed(_) => {
                let live = live.digests[*number].as_ref();
                (live.ok_or(NOT_FOUND)?, None)
            }
        });
    }
    let content = match destination.first().map(|key| key.get::<DigestType>()) {
        Some(Lookup::Found(Digest::Classic(digest))) => Some((&**digest, Some(digest.cache()))),
        _ => None,
    };
    let compressions = operands.iter().map(|(digest, _)| digest.compression());
    let default = match content {
        Some((digest, _)) => Some(digest.compression()),
        None => compressions.max(),
    };
    let compression = compression.or(default.map(i64::from));
    let compression = compression.ok_or(Error::WrongArity)?;
    if let Some(content) = content {
        operands.insert(0, content);
    }
    let merged = TDigest::merge_within(
        compression,
        &operands,
        call.memory().budget(Purpose::Create),
        call.limit(MAX_BYTES),
    );
    let merged = merged.map_err(|error| match error {
        DigestError::Overflow | DigestError::TooMuchWork(_) => error.into(),
        _ => Error::from(NO_MEMORY),
    })?;
    Ok((merged, live.digests.iter().any(Option::is_some)))
}

/// The live panes of the sources with a window. A source that is specified several times is read once.
struct LiveDigests {
    /// For each distinct source its live panes, as a digest without a window; `None` if it has no window.
    digests: Vec<Option<TDigest>>,
    /// For each source, its index among the distinct ones.
    numbers: Vec<usize>,
}

impl LiveDigests {
    /// Reads the sources, all of which must be digests.
    fn of(call: &Call<'_>, sources: &[ReadKey], budget: Budget<'_>) -> Result<Self, Error> {
        let mut addresses = with_capacity(sources.len()).map_err(|_| NO_MEMORY)?;
        for key in sources {
            addresses.push(match key.get::<DigestType>().or_missing(NOT_FOUND)? {
                Digest::Classic(digest) => ptr::from_ref(digest).addr(),
                Digest::Windowed(digest) => ptr::from_ref(digest).addr(),
            });
        }
        let distinct = Distinct::of(addresses.iter()).map_err(|_| NO_MEMORY)?;
        let mut digests = with_capacity(distinct.firsts.len()).map_err(|_| NO_MEMORY)?;
        for first in distinct.firsts {
            digests.push(
                match sources[first].get::<DigestType>().or_missing(NOT_FOUND)? {
                    Digest::Classic(_) => None,
                    source @ Digest::Windowed(digest) => {
                        let panes = source.panes(call, Part::Whole)?;
                        let live = digest
                            .with_cache(|digest, cache| digest.digest_at(panes, cache, budget));
                        Some(live.map_err(|_| NO_MEMORY)?)
                    }
                },
            );
        }
        Ok(Self {
            digests,
            numbers: distinct.numbers,
        })
    }
}

/// The arguments of the sources, at least one, the option COMPRESSION, and whether there is the option OVERRIDE.
fn parse(call: &Call<'_>) -> Result<(Range<usize>, Option<i64>, bool), Error> {
    let numkeys = merge::numkeys(call, &NUMKEYS)?;
    refuse_if!(numkeys > call.len() - FIRST_SOURCE => Error::WrongArity);
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
    Ok((sources, compression, overrides))
}
