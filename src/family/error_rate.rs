//! The error rate of a new filter, as BF.RESERVE and, with a window, CF.RESERVE take it.

use crate::server::argument::Argument;
use crate::server::call::Error;
use crate::server::log;
use roughly_sketch::bloom::MAX_ERROR_RATE;

/// Parses an error rate.
///
/// # Errors
/// If it is not a number in (0, 1).
pub fn parse(argument: Argument<'_>) -> Result<f64, Error> {
    let rate = argument.double().ok_or(c"ERR bad error rate")?;
    match rate > 0.0 && rate < 1.0 {
        true => Ok(rate),
        false => Err(c"ERR error rate must be in the range (0.000000, 1.000000)".into()),
    }
}

/// An error rate in (0, 1), reduced to [`MAX_ERROR_RATE`] with a warning in the log, at most once a second.
pub fn capped(rate: f64) -> f64 {
    if rate > MAX_ERROR_RATE {
        log::warning_of_input(&format!(
            "error rate {rate} is above the maximum and was set to {MAX_ERROR_RATE}"
        ));
    }
    rate.min(MAX_ERROR_RATE)
}
