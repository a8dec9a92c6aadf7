//! Sketches with a window: their panes advance before writes (spec: window.md, "Replication, AOF, reads").
//!
//! The state of a value is a function of the commands applied to it. So only the server that accepts a write reads its
//! clock: it advances the value to the current pane, and replicates `SKETCH.ADVANCE key pane` before the write. A
//! replica, and a server that reads the AOF, apply writes to the newest pane, whatever their clocks.

use super::call::{Call, Error};
use super::config::{Setting, store_boolean};
use super::counted::Counted;
use super::datatype::DataType;
use super::key::{AnyReadKey, AnyWriteKey};
use super::log;
use super::log_text::quoted;
use super::memory_usage::MemoryUsage;
use super::stats;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{OutOfMemory, with_capacity};
use roughly_sketch::window::{EXPIRED_BYTES, Window, Windowed};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The setting `sketch-windows`: yes or no.
pub(super) const SETTINGS: &[Setting] = &[Setting {
    name: c"sketch-windows",
    old_name: None,
    default: c"yes",
    set: |text| store_boolean(text, &ENABLED),
    ..Setting::TEMPLATE
}];

static ENABLED: AtomicBool = AtomicBool::new(true);

/// Replicates, after an advance of the key in argument 1, the command that advances its copies.
pub const ADVANCE: &CStr = c"SKETCH.ADVANCE";

/// The keyspace event of an advance.
const ADVANCE_EVENT: &CStr = c"sketch.advance";

/// The panes of values of `T`. Times are in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy)]
pub struct Panes<T> {
    /// The number of the pane at a time.
    at: fn(&T, u64) -> u64,
    /// The number of the newest pane.
    newest: fn(&T) -> u64,
    /// Advances a value to a pane and records the change of its blocks. Returns whether the pane is a new one.
    advance: fn(&mut T, u64, &mut BlockChanges<MemoryUsage>) -> bool,
    /// Frees a part of the memory that expired panes have left, and records the change. Returns whether there was any.
    release: fn(&mut T, &mut BlockChanges<MemoryUsage>) -> bool,
    /// Bytes that `release` will free.
    retired_bytes: fn(&T) -> u64,
    /// By how many milliseconds a pane begins after a time; `u64::MAX` if there is no such pane.
    distance: fn(&T, u64, u64) -> u64,
    /// The length of a pane in milliseconds.
    pane_ms: fn(&T) -> u64,
}

impl<T: Windowed> Panes<T> {
    /// The [`DataType::PANES`] of a sketch with a window.
    #[must_use]
    pub const fn of_sketch() -> Self {
        Self {
            at: |value, unix_ms| value.timeline().window().pane_at(unix_ms),
            newest: |value| value.timeline().newest(),
            advance: |value, pane, changes| value.advance_recorded(pane, changes),
            release: |value, changes| value.release_recorded(changes),
            retired_bytes: |value| value.retired_bytes(),
            distance: |value, pane, unix_ms| {
                let window = value.timeline().window();
                match pane <= window.max_pane() {
                    true => window.start_of(pane).saturating_sub(unix_ms),
                    false => u64::MAX,
                }
            },
            pane_ms: |value| value.timeline().window().pane_ms(),
        }
    }
}

impl<T> Panes<T> {
    /// Bytes of a value that are freed step by step.
    pub(super) fn retired_bytes(&self, value: &T) -> u64 {
        (self.retired_bytes)(value)
    }
}

impl Call<'_> {
    /// Whether this command may create sketches with a window (`sketch-windows`). Commands from a primary or an AOF
    /// always may.
    #[must_use]
    pub fn allows_windows(&self) -> bool {
        ENABLED.load(Ordering::Relaxed) || self.must_obey()
    }

    /// The number of the current pane of a value, for reads; 0 for a sketch without a window.
    #[must_use]
    #[inline]
    pub fn current_pane<T: DataType>(&self, value: &T) -> u64 {
        T::PANES.map_or(0, |panes| (panes.at)(value, self.unix_ms()))
    }

    /// The number of the newest pane of a value; 0 for a sketch without a window.
    #[must_use]
    pub fn newest_pane<T: DataType>(&self, value: &T) -> u64 {
        T::PANES.map_or(0, |panes| (panes.newest)(value))
    }

    /// Checks that a command may make `pane` the newest of a value, if it is not yet. A pane that begins more than its
    /// length and a second after the server's time, or more than a minute, would freeze the key.
    ///
    /// # Errors
    /// From an ordinary client, if the pane begins later.
    pub fn check_pane<T: DataType>(&self, value: &T, pane: u64) -> Result<(), Error> {
        let Some(panes) = T::PANES else {
            return Ok(());
        };
        let max_ms = MAX_AHEAD_MS.min((panes.pane_ms)(value).saturating_add(1000));
        let is_allowed = pane <= (panes.newest)(value)
            || (panes.distance)(value, pane, self.unix_ms()) <= max_ms
            || self.must_obey();
        match is_allowed {
            true => Ok(()),
            false => Err(c"ERR pane is in the future".into()),
        }
    }

    /// Advances the value of the key in argument 1 to the current pane, if it has a window, and replicates the advance.
    /// Frees a part of the memory that expired panes have left.
    pub(super) fn advance<T: DataType>(&mut self, counted: &mut Counted<T>) {
        let Some(panes) = T::PANES else {
            return;
        };
        let mut changes = BlockChanges::default();
        if (panes.release)(&mut counted.value, &mut changes) {
            counted.count_changes(&changes);
        }
        let value = &mut counted.value;
        let unix_ms = self.unix_ms();
        let (pane, newest) = ((panes.at)(value, unix_ms), (panes.newest)(value));
        // In most commands the pane is not new. The test whether the command must be obeyed is a call into the server.
        if pane != newest && !self.must_obey() {
            let mut changes = BlockChanges::default();
            if (panes.advance)(value, pane, &mut changes) {
                let pane = (panes.newest)(value).to_string();
                counted.count_changes(&changes);
                self.replicate(ADVANCE, &[self.arg(1).bytes(), pane.as_bytes()]);
                self.pending_advance = true;
            } else if pane < newest {
                self.report_ahead((panes.distance)(value, newest, unix_ms));
            }
        }
        if self.is_key_limited() {
            self.set_key_bytes(counted.live_bytes());
        }
    }

    /// Reports a write to the key in argument 1, whose newest pane begins in so many milliseconds.
    #[cold]
    fn report_ahead(&self, distance_ms: u64) {
        stats::count_key_ahead();
        log::warning_of_key_ahead(|| {
            format!(
                "the newest pane of the key {} begins {} after the server's time: nothing in the key expires before",
                quoted(self.arg(1).bytes()),
                duration(distance_ms),
            )
        });
    }

    /// Signals an advance of the key in argument 1 that was not signaled yet. No key may be open.
    #[inline]
    pub(super) fn signal_advance(&mut self) {
        if std::mem::take(&mut self.pending_advance) {
            self.signal_pending_advance();
        }
    }

    #[cold]
    fn signal_pending_advance(&mut self) {
        self.signal_changed(1, ADVANCE_EVENT);
    }
}

/// Removes what expired panes have left, and frees at least [`EXPIRED_BYTES`] of it, or all. Returns whether there was
/// anything.
fn free(value: &mut impl Windowed) -> bool {
    let mut any = value.expire();
    let before = value.retired_bytes();
    while before - value.retired_bytes() < EXPIRED_BYTES as u64
        && value.release_recorded(&mut BlockChanges::<()>::default())
    {
        any = true;
    }
    any
}

/// The window of a value, as SKETCH.WINDOW describes it.
#[derive(Debug)]
pub struct Description {
    /// Length and panes.
    pub window: Window,
    /// The number of the newest pane.
    pub newest: u64,
    /// The milliseconds that a read covers: the full panes and the part of the current pane that has passed.
    pub covered_ms: u64,
    /// The totals of the live panes; the newest is the last.
    pub totals: Vec<u64>,
}

/// Access to the window of a value whose type is known at run time.
#[derive(Debug, Clone, Copy)]
pub struct WindowAccess {
    /// [`Windowed::MAX_PANES`].
    pub max_panes: u64,
    /// Describes the window at this time, in milliseconds since the Unix epoch. `None` if the key holds no value of
    /// the type.
    pub describe: fn(AnyReadKey, u64) -> Result<Option<Description>, OutOfMemory>,
    /// `Call::advance_to_pane`.
    pub advance: fn(&mut Call<'_>, AnyWriteKey, u64) -> Result<bool, Error>,
}

impl WindowAccess {
    /// The access to values of `T`.
    #[must_use]
    pub const fn of<T: DataType + Windowed>() -> Self {
        Self {
            max_panes: T::MAX_PANES,
            describe: describe::<T>,
            advance: |call, key, pane| call.advance_to_pane::<T>(key, pane),
        }
    }
}

fn describe<T: DataType + Windowed>(
    key: AnyReadKey,
    unix_ms: u64,
) -> Result<Option<Description>, OutOfMemory> {
    let key = key.typed::<T>();
    let Some(value) = key.get().found() else {
        return Ok(None);
    };
    let timeline = value.timeline();
    let window = timeline.window();
    let mut totals = with_capacity(window.live_panes())?;
    let current = window.pane_at(unix_ms).max(timeline.newest());
    let passed = unix_ms.saturating_sub(window.start_of(current));
    let live = timeline.live_at(current);
    totals.extend(live.map(|pane| value.pane_total(pane)));
    Ok(Some(Description {
        window,
        newest: timeline.newest(),
        covered_ms: window.panes() * window.pane_ms() + passed.min(window.pane_ms()),
        totals,
    }))
}

/// See [`Call::check_pane`].
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

impl Call<'_> {
    /// SKETCH.ADVANCE on the key of argument 1: makes `pane` the newest pane of the value, if it is not yet, and frees memory
    /// of expired panes. Replicates and signals what changed. Returns whether the value advanced; false if the key holds no
    /// value of `T`.
    ///
    /// An advance before a write removes nothing of the expired panes, and copies must do the same. So a copy only advances
    /// if the pane is new, and only frees if it is not. A call that does both is replicated twice.
    ///
    /// # Errors
    /// Those of [`Call::check_pane`].
    fn advance_to_pane<T: DataType + Windowed>(
        &mut self,
        key: AnyWriteKey,
        pane: u64,
    ) -> Result<bool, Error> {
        let mut key = key.typed::<T>(self);
        let Some(value) = key.get().found() else {
            return Ok(false);
        };
        self.check_pane(value, pane)?;
        let must_obey = self.must_obey();
        let change = |value: &mut T| {
            let advanced = value.advance(pane);
            let freed = !(advanced && must_obey) && free(value);
            (advanced, freed)
        };
        let (advanced, freed) = key.change(change).found().unwrap_or_default();
        drop(key);
        for _ in 0..u8::from(advanced) + u8::from(freed) {
            self.replicate_verbatim();
        }
        if advanced || freed {
            self.signal_changed(1, ADVANCE_EVENT);
        }
        Ok(advanced)
    }
}
