//! The share of a processor that a thread uses.

use std::mem::MaybeUninit;
use std::thread;
use std::time::{Duration, Instant};

/// The thread works during a tenth of the time.
const FACTOR: u32 = 10;

/// It works during up to half of the time if it would not be finished in time.
const MIN_FACTOR: u32 = 2;

/// The time for a task. In a usual configuration (`save 60 10000`), a save starts 60 seconds after the last one ended.
const TASK_TIME: Duration = Duration::from_secs(30);

/// Shorter pauses are added up.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// The maximum time by which pauses become shorter because earlier ones were too long.
const MAX_CREDIT: Duration = Duration::from_millis(100);

/// The pause between two looks is this many times the CPU time of the last look while arrays are being filled: a tenth of a
/// processor.
const BUSY_FACTOR: u32 = 9;

/// While they are not, the factor is doubled up to this one: a hundredth of a processor.
const IDLE_FACTOR: u32 = 99;

/// Arrays are being filled if the number of their ordinary pages grows by more than one in this many from one look to the
/// next.
const GROWTH: usize = 64;

/// Limits the share of the current thread.
#[derive(Debug)]
pub(super) struct Pace {
    /// The CPU time of the thread at the last call.
    worked: Duration,
    /// The time at which that work is the thread's share of the elapsed time.
    due: Instant,
    /// The elapsed time divided by the work.
    factor: u32,
}

/// A task of equal steps that a thread should finish in [`TASK_TIME`].
#[derive(Debug)]
pub(super) struct Task {
    end: Instant,
    /// The CPU time of the thread at the start.
    worked: Duration,
    steps: u32,
}

impl Task {
    pub(super) fn new() -> Self {
        Self {
            end: Instant::now() + TASK_TIME,
            worked: cpu_time(),
            steps: 0,
        }
    }
}

/// Determines the pauses between looks at all pages.
#[derive(Debug)]
pub(super) struct Pause {
    factor: u32,
    /// The number of resident pages that the last look found.
    resident: usize,
}

impl Pause {
    pub(super) fn new() -> Self {
        Self {
            factor: BUSY_FACTOR,
            resident: 0,
        }
    }

    /// The pause after a look that took this CPU time and found so many resident ordinary pages.
    pub(super) fn after(&mut self, look: Duration, resident: usize) -> Duration {
        self.factor = match resident > self.resident + self.resident / GROWTH {
            true => BUSY_FACTOR,
            false => (2 * self.factor).min(IDLE_FACTOR),
        };
        self.resident = resident;
        look * self.factor
    }
}

/// The elapsed time divided by the work that lets `remaining` steps end in `left`, if the first `steps` took the CPU time
/// `worked`.
fn factor(steps: u32, worked: Duration, remaining: usize, left: Duration) -> u32 {
    let work = worked.as_secs_f64() / f64::from(steps.max(1)) * remaining as f64;
    if work == 0.0 {
        return FACTOR;
    }
    (left.as_secs_f64() / work).clamp(MIN_FACTOR.into(), FACTOR.into()) as u32
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            worked: cpu_time(),
            due: Instant::now(),
            factor: FACTOR,
        }
    }

    /// Waits after a step of a task if the thread has worked for more than its share, which grows with the work that remains.
    pub(super) fn pause_in(&mut self, task: &mut Task, remaining: usize) {
        task.steps += 1;
        let worked = cpu_time().saturating_sub(task.worked);
        let left = task.end.saturating_duration_since(Instant::now());
        self.factor = factor(task.steps, worked, remaining, left);
        self.pause();
    }

    /// Waits if the thread has worked for more than its share. If the machine has other load, pauses become longer than
    /// intended; later ones are then shorter.
    pub(super) fn pause(&mut self) {
        let worked = cpu_time();
        self.due += worked.saturating_sub(self.worked) * self.factor;
        self.worked = worked;
        let now = Instant::now();
        if let Some(earliest) = now.checked_sub(MAX_CREDIT) {
            self.due = self.due.max(earliest);
        }
        let pause = self.due.saturating_duration_since(now);
        if pause >= MIN_PAUSE {
            thread::sleep(pause);
        }
    }
}

/// The CPU time of the current thread.
pub(super) fn cpu_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the call fills in the time; it remains zero if the call fails.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    let seconds = Duration::from_secs(time.tv_sec.try_into().unwrap_or(0));
    seconds + Duration::from_nanos(time.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(time: Duration) {
        let start = cpu_time();
        while cpu_time().saturating_sub(start) < time {}
    }

    #[test]
    fn the_share_grows_with_the_work_that_remains() {
        let seconds = Duration::from_secs;
        let of =
            |remaining, left| factor(100, Duration::from_millis(100), remaining, seconds(left));
        // A millisecond per step.
        assert_eq!(of(3_000, 30), 10);
        assert_eq!(of(6_000, 30), 5);
        assert_eq!(of(60_000, 30), 2);
        assert_eq!(of(1, 0), 2);
        assert_eq!(of(0, 0), 10);
        assert_eq!(factor(1, seconds(0), 1_000_000, seconds(30)), 10);
    }

    #[test]
    fn pauses_are_short_while_arrays_are_being_filled() {
        let mut pause = Pause::new();
        let mut after = |resident| pause.after(Duration::from_secs(1), resident).as_secs();
        // An empty array, filled, then written to slowly.
        let found = [
            0, 0, 100, 6_400, 6_500, 6_602, 6_603, 6_604, 6_605, 6_606, 6_607,
        ];
        assert_eq!(
            found.map(&mut after),
            [18, 36, 9, 9, 18, 9, 18, 36, 72, 99, 99]
        );
        // Huge pages replace most of the pages, and another array is filled.
        assert_eq!([10, 500].map(after), [99, 9]);
    }

    #[test]
    fn the_share_is_a_tenth_of_a_processor() {
        let mut pace = Pace::new();
        let (start, worked) = (Instant::now(), cpu_time());
        for _ in 0..20 {
            work(Duration::from_micros(500));
            pace.pause();
        }
        let worked = cpu_time().saturating_sub(worked);
        // The last half millisecond may not have been paused for.
        let least = worked.saturating_sub(MIN_PAUSE) * FACTOR;
        assert!(start.elapsed() >= least, "{worked:?}");
    }
}
