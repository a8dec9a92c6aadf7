//! CPU time and page faults of a server's main thread, and the speed of the machine: for tests that bound the work of a command.
//!
//! The scheduler counts the CPU time of a thread in nanoseconds when the thread stops running, so other processes do not
//! change it, except through shared caches and memory. Tests divide it by [`MainThread::slowness`], which they measure in the
//! same run.

use super::resp::{Connection, request};
use std::fs;

/// EXISTS takes this long on the reference machine.
const REFERENCE_EXISTS_NS: f64 = 300.0;
/// The first use of a page of memory takes this long on the reference machine.
const REFERENCE_PAGE_NS: f64 = 2000.0;
/// A read of memory at a random address, which is known only after the read before, takes this long on the reference machine.
const REFERENCE_READ_NS: f64 = 150.0;
/// To hash 1 MiB for 64 rows (CMS.QUERY) takes this long on the reference machine: two passes.
const REFERENCE_HASH_NS: f64 = 1.8e6;
/// EXISTS commands per round.
const EXISTS: usize = 4000;
/// Bytes of new memory per round.
const NEW_BYTES: usize = 32 << 20;
const PAGE_BYTES: usize = 4096;
/// Reads of that memory per round.
const READS: usize = 20_000;
/// Rounds of each; the median counts.
const ROUNDS: usize = 5;

#[derive(Debug, Clone, Copy)]
pub struct MainThread {
    process: u32,
}

impl MainThread {
    /// That of the server of a connection.
    pub fn of(connection: &mut Connection) -> Self {
        let process = connection.info("server", "process_id");
        let process = process.and_then(|id| id.parse().ok());
        Self {
            process: process.expect("a process id"),
        }
    }

    /// The CPU time that the thread has used, in nanoseconds. Waits until the thread sleeps, so that the work after the last
    /// reply is included.
    pub fn ns(self) -> u64 {
        loop {
            let before = self.read("schedstat");
            let is_asleep = self.stat(0).starts_with('S');
            if is_asleep && self.read("schedstat") == before {
                return first_number(&before);
            }
            std::thread::yield_now();
        }
    }

    /// How often the operating system had to provide a page of memory, of any size, since the thread began.
    pub fn page_faults(self) -> u64 {
        self.stat(7).parse().expect("a number of page faults")
    }

    fn read(self, name: &str) -> String {
        let file = format!("/proc/{0}/task/{0}/{name}", self.process);
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// A field of `stat`, counted from the state of the thread, which follows the name in parentheses.
    fn stat(self, field: usize) -> String {
        let stat = self.read("stat");
        let after_name = stat.rsplit_once(')').map(|(_, rest)| rest);
        let field = after_name.and_then(|rest| rest.split_whitespace().nth(field));
        field.expect("a field").to_owned()
    }

    /// The CPU time of the thread for what `run` does, in nanoseconds, and its result.
    pub fn measured<R>(self, run: impl FnOnce() -> R) -> (u64, R) {
        let before = self.ns();
        let result = run();
        (self.ns() - before, result)
    }

    /// How many times slower than the reference machine this one is now: the largest of four ratios, the CPU time of EXISTS in a
    /// pipeline to 0.3 µs, that of the first use of a page of memory to 2 µs, that of a random read to 0.15 µs, and that of hashing
    /// 1 MiB for 64 rows to 1.8 ms.
    pub fn slowness(self, connection: &mut Connection) -> f64 {
        let requests = request(&["EXISTS", "missing"]).repeat(EXISTS);
        let exists = median(|_| {
            self.measured(|| {
                connection.write_raw(&requests).expect("EXISTS");
                for _ in 0..EXISTS {
                    connection.read().expect("a reply");
                }
            })
            .0
        });
        connection.ok("CMS.INITBYDIM slowness 1 64");
        let query = request(&[&b"CMS.QUERY"[..], b"slowness", &[b'x'; 1 << 20]]);
        let hash = median(|_| {
            self.measured(|| {
                connection.write_raw(&query).expect("CMS.QUERY");
                connection.read().expect("a reply");
            })
            .0
        });
        connection.call("DEL slowness");
        let memory = (0..ROUNDS).map(|_| memory_ns()).collect::<Vec<_>>();
        let new_pages = median(|round| memory[round].0);
        let reads = median(|round| memory[round].1);
        let ratios = [
            (exists, EXISTS, REFERENCE_EXISTS_NS),
            (new_pages, NEW_BYTES / PAGE_BYTES, REFERENCE_PAGE_NS),
            (reads, READS, REFERENCE_READ_NS),
            (hash, 1, REFERENCE_HASH_NS),
        ];
        let ratios = ratios.map(|(ns, number, reference)| ns as f64 / number as f64 / reference);
        ratios.into_iter().fold(0.0, f64::max)
    }
}

/// The CPU time of the first use of [`NEW_BYTES`] of memory, and of [`READS`] of it, in nanoseconds.
fn memory_ns() -> (u64, u64) {
    const LEN: usize = NEW_BYTES / size_of::<usize>();
    let start = own_ns();
    let mut memory = vec![0; LEN];
    for page in memory.chunks_mut(PAGE_BYTES / size_of::<usize>()) {
        page[0] = 1;
    }
    std::hint::black_box(&memory);
    let new_pages = own_ns() - start;
    // A linear congruential generator with all numbers below LEN, a power of two (Knuth, The Art of Computer Programming, volume 2, 3.2.1.2).
    for (at, next) in memory.iter_mut().enumerate() {
        *next = (at * 6_364_137 + 1_442_695) % LEN;
    }
    let start = own_ns();
    let last = (0..READS).fold(0, |at, _| memory[at]);
    std::hint::black_box(last);
    (new_pages, own_ns() - start)
}

/// The median of the results of [`ROUNDS`] calls.
fn median(round: impl FnMut(usize) -> u64) -> u64 {
    let mut rounds: Vec<u64> = (0..ROUNDS).map(round).collect();
    rounds.sort_unstable();
    rounds[ROUNDS / 2]
}

/// The CPU time of this thread in nanoseconds. The scheduler adds the current time slice when the thread yields.
fn own_ns() -> u64 {
    std::thread::yield_now();
    first_number(&fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat"))
}

fn first_number(text: &str) -> u64 {
    let number = text.split_whitespace().next();
    number
        .and_then(|number| number.parse().ok())
        .expect("a number")
}
