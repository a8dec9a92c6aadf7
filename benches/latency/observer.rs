//! Counters of the server's main thread, from /proc, about once per millisecond.
//!
//! They show what the server did during a pause: it ran, it waited for a processor, or it handled page faults.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use crate::client::Interval;
use std::sync::Arc;

/// Interval between two samples.
const INTERVAL: Duration = Duration::from_millis(1);

/// The counters of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Time on a processor, in ns.
    pub running_ns: u64,
    /// Time in the run queue of the scheduler, in ns: the thread was ready, but the processors ran other threads.
    pub waiting_ns: u64,
    /// Minor page faults: first writes to new pages, and copies of pages after a fork.
    pub page_faults: u64,
}

impl Counters {
    /// Reads the counters of the main thread of a process.
    ///
    /// # Panics
    /// If /proc does not have them.
    pub fn of(process: u32) -> Self {
        let read = |name: &str| {
            let file = format!("/proc/{process}/task/{process}/{name}");
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
        };
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        let times = read("schedstat");
        let mut times = times.split_whitespace();
        // The fields of `stat` after the name in parentheses begin with field 3; field 10 counts minor page faults.
        let status = read("stat");
        let fields = status.rsplit_once(')').map_or("", |(_, rest)| rest);
        Self {
            running_ns: number(times.next()).expect("a time"),
            waiting_ns: number(times.next()).expect("a time"),
            page_faults: number(fields.split_whitespace().nth(7)).expect("a number of faults"),
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            running_ns: self.running_ns - earlier.running_ns,
            waiting_ns: self.waiting_ns - earlier.waiting_ns,
            page_faults: self.page_faults - earlier.page_faults,
        }
    }
}

/// Samples of the counters.
#[derive(Debug)]
pub struct Samples(Vec<(Instant, Counters)>);

impl Samples {
    /// The change of the counters in an interval, from the last sample before to the first sample after it.
    pub fn within(&self, interval: &Interval) -> Counters {
        let before = self.0.partition_point(|sample| sample.0 <= interval.start);
        let after = self.0.partition_point(|sample| sample.0 < interval.end);
        let first = &self.0[before.saturating_sub(1)].1;
        self.0[after.min(self.0.len() - 1)].1.since(first)
    }
}

/// A thread that samples the counters of a process.
#[derive(Debug)]
pub struct Observer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Samples>,
}

impl Observer {
    /// Starts the thread.
    pub fn start(process: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = spawn(move || {
            let mut samples = vec![(Instant::now(), Counters::of(process))];
            while !stopped.load(Ordering::Relaxed) {
                sleep(INTERVAL);
                samples.push((Instant::now(), Counters::of(process)));
            }
            Samples(samples)
        });
        Self { stop, thread }
    }

    /// Stops the thread. Returns its samples.
    ///
    /// # Panics
    /// If the thread panicked.
    pub fn finish(self) -> Samples {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("samples")
    }
}

/// Whether a process has child processes, such as one that saves.
///
/// # Panics
/// If /proc does not have the list.
pub fn has_children(process: u32) -> bool {
    let file = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(&file);
    !(children.unwrap_or_else(|error| panic!("{file}: {error}")))
        .trim()
        .is_empty()
}
