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
use super::memory_usage::MemoryUsage;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{OutOfMemory, with_capacity};
use roughly_sketch::window::{Window, Windowed};
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
        }
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

    /// Advances the value of the key in argument 1 to the current pane, if it has a window, and replicates the advance.
    pub(super) fn advance<T: DataType>(&mut self, counted: &mut Counted<T>) {
        let Some(panes) = T::PANES else {
            return;
        };
        let mut changes = BlockChanges::default();
        if (panes.release)(&mut counted.value, &mut changes) {
            counted.count_changes(&changes);
        }
        let value = &mut counted.value;
        let pane = (panes.at)(value, self.unix_ms());
        // In most commands the pane is not new. The test whether the command must be obeyed is a call into the server.
        if pane <= (panes.newest)(value) || self.must_obey() {
            return;
        }
        let mut changes = BlockChanges::default();
        if (panes.advance)(value, pane, &mut changes) {
            let pane = (panes.newest)(value).to_string();
            counted.count_changes(&changes);
            self.replicate(ADVANCE, &[self.arg(1).bytes(), pane.as_bytes()]);
            self.pending_advance = true;
        }
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

/// The window of a value, as SKETCH.WINDOW describes it.
#[derive(Debug)]
pub struct Description {
    /// Length and panes.
    pub window: Window,
    /// The number of the newest pane.
    pub newest: u64,
    /// The totals of the live panes; the newest is the last.
    pub totals: Vec<u64>,
}

/// Access to the window of a value whose type is known at run time.
#[derive(Debug, Clone, Copy)]
pub struct WindowAccess {
    /// Describes the window at this time, in milliseconds since the Unix epoch. `None` if the key holds no value of
    /// the type.
    pub describe: fn(AnyReadKey, u64) -> Result<Option<Description>, OutOfMemory>,
    /// Makes a pane the newest, and replicates and signals the change. Returns whether anything changed.
    pub advance: fn(&mut Call<'_>, AnyWriteKey, u64) -> Result<bool, Error>,
}

impl WindowAccess {
    /// The access to values of `T`.
    #[must_use]
    pub const fn of<T: DataType + Windowed>() -> Self {
        Self {
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
    let live = timeline.live_at(window.pane_at(unix_ms));
    totals.extend(live.map(|pane| value.pane_total(pane)));
    Ok(Some(Description {
        window,
        newest: timeline.newest(),
        totals,
    }))
}

/// A pane that begins later than this many milliseconds after the server's time is refused: it would freeze the key.
const MAX_AHEAD_MS: u64 = 60_000;

impl Call<'_> {
    /// Makes `pane` the newest pane of the value of the key, which is that of argument 1, replicates the command and
    /// signals the change. Returns false, and changes nothing, if the newest pane is not below `pane` or the key holds
    /// no value of `T`.
    ///
    /// # Errors
    /// From an ordinary client: if the pane begins more than one minute after the server's time.
    fn advance_to_pane<T: DataType + Windowed>(
        &mut self,
        key: AnyWriteKey,
        pane: u64,
    ) -> Result<bool, Error> {
        let mut key = key.typed::<T>(self);
        let Some(value) = key.get().found() else {
            return Ok(false);
        };
        let window = value.timeline().window();
        let is_near = pane <= window.max_pane()
            && window.start_of(pane) <= self.unix_ms().saturating_add(MAX_AHEAD_MS);
        if !is_near && !self.must_obey() {
            return Err(c"ERR pane is in the future".into());
        }
        let advanced = value.advance(pane);
        if advanced {
            key.recount();
        }
        drop(key);
        if advanced {
            self.replicate_verbatim();
            self.signal_changed(1, ADVANCE_EVENT);
        }
        Ok(advanced)
    }
}
