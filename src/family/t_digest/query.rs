//! TDIGEST.MIN, MAX, QUANTILE, CDF, RANK, REVRANK, BYRANK, BYREVRANK, TRIMMED_MEAN and INFO.
//!
//! None of them changes the state of the digest. After a write, the first of them other than MIN, MAX and INFO creates the
//! compressed form. It is kept until the next write and counts as memory of the key.

use super::types::{Digest, DigestType, NOT_FOUND, Numbers, parse_all};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::ReadKey;
use crate::server::part::Part;
use roughly_sketch::t_digest::Compressed;
use roughly_sketch::window::Panes;
use std::ffi::CStr;

/// TDIGEST.MIN key
pub fn min(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    extreme(call, part, |digest, panes| digest.min(panes))
}

/// TDIGEST.MAX key
pub fn max(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    extreme(call, part, |digest, panes| digest.max(panes))
}

fn extreme(
    call: &mut Call<'_>,
    part: Part<'_>,
    of: impl Fn(Digest<'_>, Panes) -> f64,
) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let digest = key.get::<DigestType>().or_missing(NOT_FOUND)?;
    let panes = digest.panes(call, part)?;
    if let (Part::Series(series), Digest::Windowed(windowed)) = (part, digest) {
        return series.reply(call, windowed.timeline(), Ok, |call, panes| {
            call.reply_double(of(digest, panes));
        });
    }
    let value = of(digest, panes);
    drop(key);
    call.reply_double(value);
    Ok(())
}

/// TDIGEST.QUANTILE key quantile [quantile …]
pub fn quantile(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let parse = |argument: Argument<'_>| {
        let quantile = double(argument, c"ERR T-Digest: error parsing quantile")?;
        if !(0.0..=1.0).contains(&quantile) {
            return Err(c"ERR T-Digest: quantile should be in [0,1]".into());
        }
        Ok(quantile)
    };
    reply_each(call, part, parse, Compressed::quantile)
}

/// TDIGEST.CDF key value [value …]
pub fn cdf(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let parse = |argument: Argument<'_>| double(argument, c"ERR T-Digest: error parsing cdf");
    reply_each(call, part, parse, Compressed::cdf)
}

/// TDIGEST.RANK key value [value …]
pub fn rank(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    reply_each(call, part, parse_value, Compressed::rank)
}

/// TDIGEST.REVRANK key value [value …]
pub fn revrank(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    reply_each(call, part, parse_value, Compressed::revrank)
}

/// TDIGEST.BYRANK key rank [rank …]
pub fn byrank(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    reply_each(call, part, parse_rank, Compressed::by_rank)
}

/// TDIGEST.BYREVRANK key rank [rank …]
pub fn byrevrank(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    reply_each(call, part, parse_rank, Compressed::by_revrank)
}

/// TDIGEST.TRIMMED_MEAN key low_cut_quantile high_cut_quantile
pub fn trimmed_mean(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let digest = key.get::<DigestType>().or_missing(NOT_FOUND)?;
    let panes = digest.panes(call, part)?;
    let low = call.arg(2).double();
    let low = low.ok_or(c"ERR T-Digest: error parsing low_cut_percentile")?;
    let high = call.arg(3).double();
    let high = high.ok_or(c"ERR T-Digest: error parsing high_cut_percentile")?;
    if ![low, high].iter().all(|cut| (0.0..=1.0).contains(cut)) {
        let text = c"ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]";
        return Err(text.into());
    }
    if low >= high {
        let text = c"ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile";
        return Err(text.into());
    }
    digest.reply(call, part, panes, |call, digest| {
        call.reply_double(digest.trimmed_mean(low, high));
    })
}

fn double(argument: Argument<'_>, error: &'static CStr) -> Result<f64, Error> {
    argument.double().ok_or(error.into())
}

fn parse_value(argument: Argument<'_>) -> Result<f64, Error> {
    double(argument, c"ERR T-Digest: error parsing value")
}

fn parse_rank(argument: Argument<'_>) -> Result<i64, Error> {
    let rank = argument.integer();
    let rank = rank.ok_or(c"ERR T-Digest: error parsing rank")?;
    refuse_if!(rank < 0 => c"ERR T-Digest: rank needs to be non negative".into());
    Ok(rank)
}

/// The reply for a number of a command.
trait Answer {
    fn reply(self, call: &mut Call<'_>);
}

impl Answer for f64 {
    fn reply(self, call: &mut Call<'_>) {
        call.reply_double(self);
    }
}

impl Answer for i64 {
    fn reply(self, call: &mut Call<'_>) {
        call.reply_integer(self);
    }
}

/// Replies with an array of one result for each argument from number 2 on. All arguments must be valid.
fn reply_each<N: Copy, R: Answer>(
    call: &mut Call<'_>,
    part: Part<'_>,
    parse: impl Fn(Argument<'_>) -> Result<N, Error>,
    answer: impl Fn(&Compressed, N) -> R,
) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let digest = key.get::<DigestType>().or_missing(NOT_FOUND)?;
    let panes = digest.panes(call, part)?;
    let mut numbers = Numbers::new();
    parse_all(call, 2, &mut numbers, parse)?;
    digest.reply(call, part, panes, |call, digest| {
        call.reply_array(numbers.len());
        for &number in numbers.iter() {
            answer(digest, number).reply(call);
        }
    })
}

/// TDIGEST.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let digest = key.get::<DigestType>().or_missing(NOT_FOUND)?;
    let (info, bytes) = (
        digest.info(digest.panes(call, Part::Whole)?),
        digest.memory_usage(),
    );
    drop(key);
    call.reply_map(9);
    for (name, value) in [
        (c"Compression", info.compression.into()),
        (c"Capacity", info.capacity.into()),
        (c"Merged nodes", info.merged_nodes as i64),
        (c"Unmerged nodes", info.unmerged_nodes as i64),
        (c"Merged weight", info.merged_weight),
        (c"Unmerged weight", info.unmerged_weight),
        (c"Observations", info.observations),
        (c"Total compressions", info.total_compressions),
        (c"Memory usage", i64::try_from(bytes).unwrap_or(i64::MAX)),
    ] {
        call.reply_simple(name);
        call.reply_integer(value);
    }
    Ok(())
}
