//! Sketches with a window: their panes advance before writes (docs/sliding-windows.md, "Time, clocks and replicas").
//!
//! The state of a value is a function of the commands applied to it. So only the server that accepts a write reads its
//! clock: it advances the value to the current pane, and replicates `SKETCH.ADVANCE key pane` before the write. A
//! replica, and a server that reads the AOF, apply writes to the newest pane, whatever their clocks.
//!
//! A command that changes nothing does not advance the value: the family checks what the command would do in the panes that
//! are live now, before the advance ([`Entry::begin_write`](super::key::Entry::begin_write)). Only where that depends on
//! the advanced value, it is advanced for a command that is then refused: the memory of expired panes counts until they are
//! freed.

use super::call::{Call, Error};
use super::config::{Setting, store_boolean};
use super::data_type::AnyValue;
use super::log::{RateLimit, quoted};
use super::replicated::ReplicatedCommand;
use super::stats;
use roughly_sketch::window::{Timeline, Window};
use std::sync::atomic::{AtomicBool, Ordering};

/// The setting `sketch-windows`: yes or no.
pub(super) const SETTINGS: &[Setting] = &[Setting::new(c"sketch-windows", c"yes", |text| {
    store_boolean(text, &ENABLED)
})];

static ENABLED: AtomicBool = AtomicBool::new(true);

/// Replicated after an advance of the key in argument 1: advances its copies.
static ADVANCE: ReplicatedCommand = ReplicatedCommand::new(c"SKETCH.ADVANCE");

/// Whether this command may create sketches with a window (`sketch-windows`). Commands from a primary or an AOF
/// always may.
pub fn is_allowed(call: &Call<'_>) -> bool {
    ENABLED.load(Ordering::Relaxed) || call.must_obey()
}

/// Checks that a command may make `pane` the newest of a value, if it is not yet. A pane that begins more than its
/// length and a second after the server's time, or more than a minute, would freeze the key.
///
/// # Errors
/// From an ordinary client, if the pane begins later.
pub fn check_pane(call: &Call<'_>, timeline: &Timeline, pane: u64) -> Result<(), Error> {
    let window = timeline.window();
    let max_ms = MAX_AHEAD_MS.min(window.pane_ms().saturating_add(1000));
    let is_allowed = pane <= timeline.newest()
        || distance(window, pane, call.unix_ms()) <= max_ms
        || call.must_obey();
    match is_allowed {
        true => Ok(()),
        false => Err(c"ERR pane is in the future".into()),
    }
}

/// Begins a write to the value of the key in argument 1, which has a window. Frees a part of the memory that expired panes
/// have left. Returns the current pane if the value is to advance to it.
#[inline]
pub(super) fn begin_write(call: &mut Call<'_>, value: &mut dyn AnyValue) -> Option<u64> {
    value.release();
    let timeline = value.timeline()?;
    let unix_ms = call.unix_ms();
    let (pane, newest) = (timeline.window().pane_at(unix_ms), timeline.newest());
    // In most commands the pane is not new. The test whether the command must be obeyed is a call into the server.
    if pane != newest && !call.must_obey() {
        if pane > newest {
            return Some(pane);
        }
        report_ahead(call, distance(timeline.window(), newest, unix_ms));
    }
    call.memory().set_key_bytes(|| value.live_bytes());
    None
}

/// Advances the value of the key in argument 1 to the pane that [`begin_write`] returned, and replicates the
/// advance.
pub(super) fn advance(call: &mut Call<'_>, value: &mut dyn AnyValue, pane: u64) {
    if value.advance(pane) {
        let newest = value.timeline().map_or(pane, Timeline::newest);
        let mut replicated = ADVANCE.with(call.arguments(1..2));
        replicated.integer(newest).replicate(call);
        call.pending_advance = true;
    }
    call.memory().set_key_bytes(|| value.live_bytes());
}

/// Reports a write to the key in argument 1, whose newest pane begins in so many milliseconds.
#[cold]
fn report_ahead(call: &Call<'_>, distance_ms: u64) {
    static WARNINGS: RateLimit = RateLimit::per_minute();
    stats::count_key_ahead();
    WARNINGS.warning(|| {
        format!(
            "the newest pane of the key {} begins {} after the server's time: nothing in the key expires before",
            quoted(call.arg(1).bytes()),
            duration(distance_ms),
        )
    });
}

/// By how many milliseconds a pane begins after a time; `u64::MAX` if there is no such pane.
fn distance(window: Window, pane: u64, unix_ms: u64) -> u64 {
    match pane <= window.max_pane() {
        true => window.start_of(pane).saturating_sub(unix_ms),
        false => u64::MAX,
    }
}

/// See [`check_pane`].
const MAX_AHEAD_MS: u64 = 60_000;

/// A duration as the log shows it.
fn duration(ms: u64) -> String {
    const UNITS: [(u64, &str); 3] = [
        (86_400_000, "days"),
        (3_600_000, "hours"),
        (60_000, "minutes"),
    ];
    match UNITS.into_iter().find(|&(unit, _)| ms >= 2 * unit) {
        Some((unit, name)) => format!("{} {name}", ms / unit),
        None => format!("{}.{} seconds", ms / 1000, ms % 1000 / 100),
    }
}
