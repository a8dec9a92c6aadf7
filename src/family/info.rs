//! The module's sections of INFO: what is loaded, and figures of each family.

use super::{bloom, count_min, cuckoo, t_digest, top_k};
use crate::server::info::InfoWriter;
use crate::server::stats::Stats;

/// Every family with its prefix, in the order they are shown.
fn families() -> [(&'static str, &'static Stats); 5] {
    [
        ("bloom", bloom::stats()),
        ("cuckoo", cuckoo::stats()),
        ("cms", count_min::stats()),
        ("topk", top_k::stats()),
        ("tdigest", t_digest::stats()),
    ]
}

/// Writes the sections `version` and `stats`. The server puts `bf_` before each name.
pub fn write(info: &mut InfoWriter) {
    if info.section(c"version") {
        info.text("roughly_version", env!("CARGO_PKG_VERSION"));
        info.text("roughly_revision", env!("ROUGHLY_REVISION"));
    }
    if info.section(c"stats") {
        for (family, stats) in families() {
            let mut number = |name: &str, value: i64| {
                info.number(&format!("{family}_{name}"), value);
            };
            number("keys", stats.keys());
            number("bytes", stats.bytes());
            number("items_added", stats.items_added().cast_signed());
            number("growths", stats.growths().cast_signed());
            number("refusals", stats.refusals().cast_signed());
        }
    }
}
