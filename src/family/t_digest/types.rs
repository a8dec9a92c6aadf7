//! The types `TDIS-TYPE` and, with a window, `td-window`, and what the commands need of them.

use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::data_type::{
    AnyValue, CountedUsage, DataType, Registration, Value, registration,
};
use crate::server::key::{either, one_of};
use crate::server::part::Part;
use roughly_sketch::memory::Budget;
use roughly_sketch::refusable::refusable;
use roughly_sketch::t_digest::{Compressed, DigestError, Info, TDigest, TDigestWindow};
use roughly_sketch::window::Panes;
use smallvec::SmallVec;
use std::ffi::CStr;

pub const NOT_FOUND: &CStr = c"ERR T-Digest: key does not exist";
/// Not enough memory.
pub const NO_MEMORY: &CStr = c"ERR T-Digest: allocation failed";
/// Unknown option.
pub const WRONG_KEYWORD: &CStr = c"ERR T-Digest: wrong keyword";

impl From<DigestError> for Error {
    fn from(error: DigestError) -> Self {
        Self::formatted(format_args!("ERR {error}"))
    }
}

static CLASSIC: Registration = registration::<TDigest>("");
static WINDOWED: Registration = registration::<TDigestWindow>("_window");

impl DataType for TDigest {
    const REGISTRATION: &'static Registration = &CLASSIC;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = c"TDIGEST.LOADCHUNK";
}

impl DataType for TDigestWindow {
    const REGISTRATION: &'static Registration = &WINDOWED;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = c"TDIGEST.LOADCHUNK";
}

one_of! {
    /// The types.
    DigestType,
    /// A digest.
    Digest,
    /// A digest that a command changes.
    DigestMut {
        /// Without a window.
        Classic: TDigest, Value<TDigest>;
        /// With a window.
        Windowed: TDigestWindow, Value<TDigestWindow>;
    }
}

impl Digest<'_> {
    /// The smallest sample; nan if there is none.
    pub fn min(self, panes: Panes) -> f64 {
        match self {
            Self::Classic(digest) => digest.min(),
            Self::Windowed(digest) => digest.min_at(panes),
        }
    }

    /// The largest sample; nan if there is none.
    pub fn max(self, panes: Panes) -> f64 {
        match self {
            Self::Classic(digest) => digest.max(),
            Self::Windowed(digest) => digest.max_at(panes),
        }
    }

    /// The fields of TDIGEST.INFO.
    pub fn info(self, panes: Panes) -> Info {
        match self {
            Self::Classic(digest) => digest.info(),
            Self::Windowed(digest) => digest.info_at(panes),
        }
    }

    /// Bytes of the value, as MEMORY USAGE counts them.
    pub fn memory_usage(self) -> u64 {
        either!(self, |digest| digest.memory_usage())
    }

    /// Calls `reply` with the compressed form, which answers queries. It is kept until the next write, and its memory is
    /// counted, unless it is that of a row of a series.
    ///
    /// # Errors
    /// If the allocator refuses; then nothing is written.
    #[inline(always)]
    pub fn reply<'a>(
        self,
        call: &mut Call<'a>,
        part: Part<'_>,
        panes: Panes,
        mut reply: impl FnMut(&mut Call<'a>, &Compressed),
    ) -> Result<(), Error> {
        if let (Part::Series(series), Self::Windowed(digest)) = (part, self) {
            let read = |panes| digest.compressed_once(panes);
            let timeline = TDigestWindow::timeline(digest);
            return series.reply(call, timeline, read, |call, digest| reply(call, &digest));
        }
        let reply = |compressed: &Compressed| reply(call, compressed);
        let replied = match self {
            Self::Classic(digest) => {
                digest.with_cache(|digest, cache| digest.compressed_with(cache).map(reply))
            }
            Self::Windowed(digest) => {
                digest.with_cache(|digest, cache| digest.compressed_at(panes, cache).map(reply))
            }
        };
        Ok(replied.map_err(|_| NO_MEMORY)?)
    }
}

impl DigestMut<'_> {
    /// Adds samples of weight 1, in this order.
    ///
    /// # Errors
    /// Those of [`TDigest::add_within`]; then nothing has changed.
    #[inline(always)]
    pub fn add_within(self, values: &[f64], budget: Budget<'_>) -> Result<(), DigestError> {
        either!(self, |digest| digest.add_within(values, budget))
    }

    /// Whether an addition of this many samples overflows after an advance, if these panes are live then.
    pub fn overflows(&self, samples: usize, later: Panes) -> bool {
        let observations = match self {
            Self::Classic(digest) => digest.info().observations,
            Self::Windowed(digest) => digest.info_at(later).observations,
        };
        let samples = i64::try_from(samples).unwrap_or(i64::MAX);
        observations.checked_add(samples).is_none()
    }

    /// Removes all samples, unless the digest contains what a new one contains. Returns whether there were any.
    pub fn reset(self) -> bool {
        let is_new = either!(&self, |digest| digest.is_new());
        if !is_new {
            either!(self, |digest| digest.reset())
        }
        !is_new
    }

    /// Bytes of all blocks of the state.
    #[inline(always)]
    pub fn block_bytes(&self) -> usize {
        either!(self, |digest| digest.block_bytes())
    }
}

/// The numbers of a command. Up to 16 need no allocation.
pub type Numbers<T> = SmallVec<[T; 16]>;

/// Parses all arguments from number `first` on, because a command uses none of them unless all are valid. Appends them to
/// `parsed`, which the caller owns so that it is not moved.
///
/// # Errors
/// The first error of `parse`, or if there is no memory.
pub fn parse_all<T>(
    call: &Call<'_>,
    first: usize,
    parsed: &mut Numbers<T>,
    parse: impl Fn(Argument<'_>) -> Result<T, Error>,
) -> Result<(), Error> {
    let arguments = call.args_from(first);
    if arguments.len() > parsed.capacity() - parsed.len() {
        let bytes = (arguments.len() * size_of::<T>()) as u64;
        refusable(bytes, || parsed.try_reserve_exact(arguments.len()).ok()).ok_or(NO_MEMORY)?;
    }
    for argument in arguments {
        parsed.push(parse(argument)?);
    }
    Ok(())
}
