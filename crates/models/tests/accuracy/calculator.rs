//! The measured values in docs/sizing.html.

use crate::digests::{COMPRESSIONS, MEASURED, QUANTILES, SAMPLES, STREAMS, short};
use crate::sizes::{FILLS, MAX_SLOTS_OF_FIRST_SHARE};
use crate::{check_or_write, read};

const BEGIN: &str = "// Measured by crates/models/tests/accuracy, written by `make pages`.\n";
const END: &str = "// End of the measured values.\n";

fn constants() -> String {
    let mut text = format!(
        "// Share of the slots that are in use before an insertion fails, with 20 iterations, by bucket size: of at most this number of slots, and of more.
const SLOTS_OF_FIRST_FILL = {MAX_SLOTS_OF_FIRST_SHARE};
const FILL = [{}];
// Rank errors of t-digests in %, for each kind of samples by compression and quantile: mean and maximum of the streams.
const RANKS = {{
  streams: {STREAMS}, samples: {SAMPLES}, quantiles: {QUANTILES:?}, compressions: {COMPRESSIONS:?},
  kinds: {{
",
        FILLS
            .map(|(bucket_size, small, large)| format!("[{bucket_size}, {small}, {large}]"))
            .join(", ")
    );
    for (name, errors) in MEASURED.iter() {
        let of_compression = errors.map(|errors| {
            let pairs = (errors.at).map(|(mean, max)| format!("[{},{}]", short(mean), short(max)));
            format!("[{}]", pairs.join(","))
        });
        text += &format!("    \"{name}\": [{}],\n", of_compression.join(","));
    }
    text + "  },\n};\n"
}

/// Compares the page with the results.
pub fn the_calculator_has_the_measured_values() {
    let path = "docs/sizing.html";
    let text = read(path);
    let (before, rest) = text.split_once(BEGIN).expect("the begin of the constants");
    let (_, after) = rest.split_once(END).expect("the end of the constants");
    let expected = format!("{before}{BEGIN}{}{END}{after}", constants());
    check_or_write(path, &expected);
}
