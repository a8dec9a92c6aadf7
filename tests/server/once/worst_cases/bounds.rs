//! The bounds of docs/operations.md, "Longest time of one command": CPU time on the reference machine.

/// Up to this many rows, a command has no work limit.
pub const MAX_UNLIMITED_ROWS: u64 = 32;

/// A command with one item.
const ONE_ITEM_NS: f64 = 0.1e9;
/// Each further item.
const FURTHER_ITEM_NS: f64 = 20e6;
/// Each further item, if the key has at most [`FEW_SUB_FILTERS`].
const FURTHER_ITEM_OF_FEW_NS: f64 = 0.1e6;
const FEW_SUB_FILTERS: u64 = 64;
/// A command that processes whole keys, if that is more than [`ONE_ITEM_NS`].
pub const WHOLE_KEY_NS_PER_GIB: f64 = 4e9;
/// The largest compression of a t-digest without a window for which that is the bound.
pub const MAX_COMPRESSION: u64 = 100_000;
/// A command that processes a whole t-digest of a larger compression.
const LARGE_DIGEST_NS_PER_GIB: f64 = 6e9;
/// RESTORE and LOADCHUNK of such a digest.
const LOADED_DIGEST_NS_PER_GIB: f64 = 30e9;
/// A compaction of a cuckoo filter without a window, up to [`SMALL_FILTER_BYTES`] and [`FEW_SUB_FILTERS`].
const COMPACTION_NS: f64 = 0.3e9;
/// A compaction of one with more sub-filters.
const COMPACTION_OF_MANY_NS: f64 = 0.4e9;
const SMALL_FILTER_BYTES: u64 = 17 << 20;
/// A compaction of a larger one.
const COMPACTION_NS_PER_GIB: f64 = 50e9;
const GIB: f64 = (1u64 << 30) as f64;

/// What decides the bound of a command.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub items: u64,
    /// The rows of the key. 0 for types without rows.
    pub rows: u64,
    /// The sub-filters of the key after the command. 0 for types without sub-filters.
    pub sub_filters: u64,
    /// The bytes of the keys, if the command processes whole keys.
    pub whole_keys: Option<u64>,
    /// Its time per GiB of the keys.
    pub ns_per_gib: f64,
}

impl Work {
    /// That of a command with one item.
    pub const ONE: Self = Self {
        items: 1,
        rows: 0,
        sub_filters: 0,
        whole_keys: None,
        ns_per_gib: WHOLE_KEY_NS_PER_GIB,
    };

    /// That of a command that processes keys of this many bytes.
    pub fn of_keys(bytes: u64) -> Self {
        let mut work = Self::ONE;
        work.whole_keys = Some(bytes);
        work
    }
}

/// Whether a t-digest without a window of this compression has other bounds than other keys: its limit on the compression and
/// its format, in which each double is a value, are RedisBloom's.
pub fn is_large_digest(of_type: &str, compression: Option<&u64>) -> bool {
    of_type == "tdigest" && compression.is_some_and(|&compression| compression > MAX_COMPRESSION)
}

/// The time per GiB of a command that processes whole keys.
pub fn ns_per_gib(command: &str, is_large_digest: bool) -> f64 {
    match (is_large_digest, command) {
        (false, _) => WHOLE_KEY_NS_PER_GIB,
        (true, "RESTORE" | "TDIGEST.LOADCHUNK") => LOADED_DIGEST_NS_PER_GIB,
        (true, _) => LARGE_DIGEST_NS_PER_GIB,
    }
}

/// Whether the command compacts a cuckoo filter that has no window, or may do so.
pub fn compacts(of_type: &str, command: &str) -> bool {
    of_type == "cf" && ["CF.COMPACT", "CF.DEL"].contains(&command)
}

/// The bound of a command that [`compacts`] a filter, in nanoseconds.
pub fn compaction_bound_ns(bytes: u64, sub_filters: u64) -> f64 {
    if bytes > SMALL_FILTER_BYTES {
        bytes as f64 / GIB * COMPACTION_NS_PER_GIB
    } else if sub_filters > FEW_SUB_FILTERS {
        COMPACTION_OF_MANY_NS
    } else {
        COMPACTION_NS
    }
}

pub fn processes_whole_keys(command: &str, is_first_write_after_idle_window: bool) -> bool {
    let command = command.to_lowercase();
    let (family, name) = command.split_once('.').unwrap_or(("", &command));
    let always = "accuracy merge compact load loadchunk scandump copy restore";
    is_first_write_after_idle_window
        || always.split(' ').any(|always| always == name)
        || matches!((family, name), ("topk", "list") | ("cf", "del"))
        // The first read of a t-digest merges and sorts its samples.
        || family == "tdigest" && !["create", "add", "reset", "min", "max", "info"].contains(&name)
}

pub fn bound_ns(work: &Work) -> f64 {
    if let Some(bytes) = work.whole_keys {
        return ONE_ITEM_NS.max(bytes as f64 / GIB * work.ns_per_gib);
    }
    if work.rows > MAX_UNLIMITED_ROWS {
        return ONE_ITEM_NS;
    }
    let further = match work.sub_filters {
        0..=FEW_SUB_FILTERS => FURTHER_ITEM_OF_FEW_NS,
        _ => FURTHER_ITEM_NS,
    };
    ONE_ITEM_NS + (work.items - 1) as f64 * further
}

#[test]
fn bounds_are_those_of_the_page() {
    let mut work = Work::ONE;
    assert_eq!(work.ns_per_gib, ns_per_gib("COPY", false));
    assert_eq!(bound_ns(&work), 0.1e9);
    work.items = 101;
    assert_eq!(bound_ns(&work), 0.11e9);
    work.sub_filters = 65;
    assert_eq!(bound_ns(&work), 2.1e9);
    (work.sub_filters, work.rows) = (0, 33);
    assert_eq!(bound_ns(&work), 0.1e9);
    let whole = |bytes| bound_ns(&Work::of_keys(bytes));
    assert_eq!([whole(1 << 20), whole(1 << 30)], [0.1e9, 4e9]);
    let compactions = [(17 << 20, 64), (17 << 20, 65), (1 << 30, 2)];
    let compactions = compactions.map(|(bytes, number)| compaction_bound_ns(bytes, number));
    assert_eq!(compactions, [0.3e9, 0.4e9, 50e9]);
    let compacting = ["CF.DEL", "CF.COMPACT", "CF.ADD"].map(|command| compacts("cf", command));
    assert_eq!(compacting, [true, true, false]);
    assert!(!compacts("cf-window", "CF.COMPACT"));
    let compressions = [MAX_COMPRESSION, MAX_COMPRESSION + 1];
    let is_large = |of_type| compressions.map(|value| is_large_digest(of_type, Some(&value)));
    assert_eq!(is_large("tdigest"), [false, true]);
    assert_eq!(is_large("tdigest-window"), [false, false]);
    let large = ["TDIGEST.ADD", "RESTORE"].map(|command| ns_per_gib(command, true));
    assert_eq!(large, [6e9, 30e9]);
}
