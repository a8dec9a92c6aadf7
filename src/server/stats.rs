//! The module's section of INFO, and the counters of each family and of the module that it shows.

use super::part::Parts;
use redis_module::raw;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicI64, Ordering};

/// The counters of one family. They are atomic because values may be freed on a background thread; each is independent of
/// the others, so relaxed order is enough.
#[derive(Debug, Default)]
pub struct Stats([AtomicI64; NAMES.len()]);

/// A counter of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Values that exist.
    Keys,
    /// Keys that commands of the family created.
    KeysCreated,
    /// Bytes of all values.
    Bytes,
    /// The high-water mark of these bytes.
    BytesPeak,
    /// That of the bytes of one key.
    KeyBytesPeak,
    /// Items that commands added to values of the family.
    ItemsAdded,
    /// Items that were refused because the value was full or could not grow.
    Refusals,
    /// Stored values that could not be loaded.
    LoadsRefused,
    /// Items that commands deleted.
    ItemsDeleted,
    /// Sub-filters that were added to full filters.
    Growths,
    /// Filters that were compacted.
    Compactions,
    /// Increments above the limit of their command.
    LimitRefusals,
}

/// The names of the counters in INFO, in the order of [`Statistic`].
const NAMES: [&str; 12] = [
    "keys",
    "keys_created",
    "bytes",
    "bytes_peak",
    "key_bytes_peak",
    "items_added",
    "refusals",
    "loads_refused",
    "items_deleted",
    "growths",
    "compactions",
    "limit_refusals",
];

/// The number of counters that all families have, which are the first.
const COMMON: usize = 8;

/// Adds to a counter that only commands change. They run on one thread at a time, so a load and a store are sufficient.
/// On x86-64, an atomic addition is a locked instruction, which waits until the writes before it are visible to other
/// processors.
///
/// 63 bits are sufficient: a billion counts per second would take 292 years.
#[inline]
fn add(counter: &AtomicI64, more: u64) {
    let sum = counter.load(Ordering::Relaxed) + more.cast_signed();
    counter.store(sum, Ordering::Relaxed);
}

/// Raises a high-water mark to `value` if it is lower.
fn raise(peak: &AtomicI64, value: i64) {
    // Most calls change nothing, and a load costs less than a read-modify-write.
    if value > peak.load(Ordering::Relaxed) {
        peak.fetch_max(value, Ordering::Relaxed);
    }
}

impl Stats {
    /// All zero.
    pub const fn new() -> Self {
        Self([const { AtomicI64::new(0) }; NAMES.len()])
    }

    /// Counts a value that was created (1) or freed (-1) with this size in bytes.
    pub(super) fn count_value(&self, values: i64, bytes: u64) {
        self.of(Statistic::Keys)
            .fetch_add(values, Ordering::Relaxed);
        self.count_bytes(values * i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Counts a change of the size of a value, in bytes.
    pub(super) fn count_bytes(&self, change: i64) {
        let before = self
            .of(Statistic::Bytes)
            .fetch_add(change, Ordering::Relaxed);
        raise(self.of(Statistic::BytesPeak), before + change);
    }

    /// Raises the high-water mark of the size of one key, in bytes.
    pub(super) fn raise_key_bytes_peak(&self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        raise(self.of(Statistic::KeyBytesPeak), bytes);
    }

    /// Adds to a counter that only commands change.
    #[inline]
    pub fn count(&self, counter: Statistic, more: u64) {
        add(self.of(counter), more);
    }

    #[inline]
    fn of(&self, counter: Statistic) -> &AtomicI64 {
        &self.0[counter as usize]
    }

    /// The fields of INFO, name and value: those of all families, then those of `extra`.
    pub(super) fn fields(
        &self,
        extra: &'static [Statistic],
    ) -> impl Iterator<Item = (&'static str, i64)> {
        let extra = extra.iter().map(|&counter| counter as usize);
        let numbers = (0..COMMON).chain(extra);
        numbers.map(|number| (NAMES[number], self.0[number].load(Ordering::Relaxed)))
    }
}

/// What refused memory to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryRefusal {
    /// The memory of the machine.
    Machine,
    /// The limit of a control group.
    ControlGroup,
    /// The setting `maxmemory`.
    Maxmemory,
    /// The setting `sketch-max-key-bytes`.
    KeyLimit,
    /// The number of sub-filters that one command may add.
    SubFilters,
    /// The allocator, which has no block of the size.
    Allocator,
}

/// Commands to which memory was refused, by what refused it.
static MEMORY_REFUSALS: [AtomicI64; 6] = [const { AtomicI64::new(0) }; 6];

/// Calls of the commands that run others on a part of the window, by family in the order of the module's list.
static PART_CALLS: [[AtomicI64; 8]; 4] = [const { [const { AtomicI64::new(0) }; 8] }; 4];

/// Writes to keys whose newest pane was ahead of the clock.
static WINDOW_KEYS_AHEAD: AtomicI64 = AtomicI64::new(0);

/// Panics that were caught.
static INTERNAL_ERRORS: AtomicI64 = AtomicI64::new(0);

/// Counts a command to which memory was refused.
pub(super) fn count_memory_refusal(refusal: MemoryRefusal) {
    add(&MEMORY_REFUSALS[refusal as usize], 1);
}

/// Counts a command of the family with this number that such a command runs.
pub fn count_part(of: Parts, family: usize) {
    add(&PART_CALLS[of as usize][family], 1);
}

/// The calls of such a command for a family.
pub(super) fn part_calls(of: Parts, family: usize) -> i64 {
    PART_CALLS[of as usize][family].load(Ordering::Relaxed)
}

/// Counts a write to a key whose newest pane is ahead of the clock.
pub(super) fn count_key_ahead() {
    add(&WINDOW_KEYS_AHEAD, 1);
}

/// Counts a panic that was caught.
pub(super) fn count_internal_error() {
    // A value may be freed on a background thread.
    INTERNAL_ERRORS.fetch_add(1, Ordering::Relaxed);
}

/// The fields of INFO that are not of a family: name and value.
pub(super) fn module_fields() -> impl Iterator<Item = (&'static str, i64)> {
    let refusal = |name, refusal: MemoryRefusal| (name, &MEMORY_REFUSALS[refusal as usize]);
    let counters = [
        refusal("memory_refusals_machine", MemoryRefusal::Machine),
        refusal("memory_refusals_control_group", MemoryRefusal::ControlGroup),
        refusal("memory_refusals_maxmemory", MemoryRefusal::Maxmemory),
        refusal("memory_refusals_key_limit", MemoryRefusal::KeyLimit),
        refusal("memory_refusals_sub_filters", MemoryRefusal::SubFilters),
        refusal("memory_refusals_allocator", MemoryRefusal::Allocator),
        ("window_keys_ahead", &WINDOW_KEYS_AHEAD),
        ("internal_errors", &INTERNAL_ERRORS),
    ];
    counters
        .into_iter()
        .map(|(name, counter)| (name, counter.load(Ordering::Relaxed)))
}

/// Writes fields. The server puts the module's name before each.
#[derive(Debug)]
pub struct InfoWriter {
    ctx: *mut raw::RedisModuleInfoCtx,
}

impl InfoWriter {
    /// # Safety
    /// `ctx` must be that of the running INFO callback.
    pub(super) unsafe fn new(ctx: *mut raw::RedisModuleInfoCtx) -> Self {
        Self { ctx }
    }

    /// Begins a section. Returns false if INFO omits the section; the caller then writes no fields.
    pub fn section(&mut self, name: &CStr) -> bool {
        // SAFETY: the context is the running callback's, the name is read before the return, as in
        // all methods here.
        unsafe {
            api!(RedisModule_InfoAddSection)(self.ctx, name.as_ptr()) == raw::REDISMODULE_OK as i32
        }
    }

    /// A number.
    pub fn number(&mut self, name: &str, value: i64) {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: as above.
        unsafe { api!(RedisModule_InfoAddFieldLongLong)(self.ctx, name.as_ptr(), value) };
    }

    /// A text.
    pub fn text(&mut self, name: &str, value: &str) {
        let name = CString::new(name).unwrap_or_default();
        let value = CString::new(value).unwrap_or_default();
        // SAFETY: as above; the value is only read, although the parameter is not const.
        unsafe {
            api!(RedisModule_InfoAddFieldCString)(self.ctx, name.as_ptr(), value.as_ptr());
        };
    }
}
