//! Code that the drivers of all types with a window share.

use super::input::Input;
use super::stored::{self, Subject, from_chunks, reloaded, reloads};
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Timed, Timeline, Window};
use std::fmt::Debug;

/// Milliseconds of a pane in sequences of operations.
const PANE_MS: u64 = 1000;

/// A type with a window whose stored forms are fuzzed.
pub trait WindowedSubject: Subject {
    /// The results of reads.
    type Results: PartialEq + Debug;

    /// Executes writes, most of which add to the newest pane.
    fn write(&mut self);

    /// Executes all reads at this time, and checks and returns the results.
    fn read(&self, current: u64) -> Self::Results;
}

/// The timeline of a value.
fn timeline(value: &impl Timed) -> &Timeline {
    value.timeline().expect("a window")
}

/// Writes to a value and advances it, until all panes have expired. In each state, reads must not change the value, and
/// copies must give equal results and continue as the value.
pub fn exercise<T: WindowedSubject>(mut value: T) {
    let panes = timeline(&value).window().panes();
    let steps = [0, 1, 1, panes / 2, panes, panes + 1, u64::MAX];
    for (number, step) in steps.into_iter().enumerate() {
        let results = read(&value);
        let mut copy = match number % 3 {
            0 => value.try_clone().expect("enough memory"),
            1 => reloaded(&value),
            _ => from_chunks(&value),
        };
        assert!(read(&copy) == results, "a copy gives other results");
        let pane = timeline(&value).newest().saturating_add(step);
        for value in [&mut value, &mut copy] {
            value.write();
            advance(value, pane);
            value.expire();
        }
        assert!(
            stored::digest(&copy) == stored::digest(&value),
            "a copy continues in another way"
        );
        assert_eq!(read(&copy), read(&value));
        reloads(&value);
    }
}

/// Advances a value and checks its timeline.
pub fn advance<T: Stored>(value: &mut T, pane: u64) {
    let (newest, max) = (
        timeline(value).newest(),
        timeline(value).window().max_pane(),
    );
    let before = (pane <= newest).then(|| stored::digest(value));
    assert_eq!(value.advance(pane), newest < pane.min(max));
    assert_eq!(timeline(value).newest(), newest.max(pane.min(max)));
    if let Some(before) = before {
        assert!(stored::digest(value) == before, "nothing must change");
    }
}

/// Reads before, at and after the newest pane. The value must not change.
fn read<T: WindowedSubject>(value: &T) -> Vec<T::Results> {
    let before = stored::digest(value);
    let timeline = timeline(value);
    let (newest, panes) = (timeline.newest(), timeline.window().panes());
    let ahead = [0, 1, panes, panes + 1].map(|ahead| newest.saturating_add(ahead));
    let times = [0].into_iter().chain(ahead).chain([u64::MAX, newest]);
    let results = times.map(|current| value.read(current)).collect();
    for pane in [newest.checked_add(1), timeline.oldest().checked_sub(1)] {
        assert_eq!(pane.map_or(0, |pane| value.pane_total(pane)), 0);
    }
    assert!(stored::digest(value) == before, "a read changed the state");
    results
}

/// A window of 1 to 60 panes.
pub fn window(input: &mut Input<'_>) -> Window {
    let panes = input.pick(&[1, 2, 3, 5, 12, 60]);
    Window::new(panes * PANE_MS, panes).expect("a valid window")
}

/// By how many panes to advance: none, one, some, all or years.
pub fn step(input: &mut Input<'_>, window: Window) -> u64 {
    match input.byte() {
        0..=30 => 0,
        31..=130 => 1,
        byte @ 131..=230 => u64::from(byte) % window.panes() + 1,
        231..=240 => window.panes() + 1,
        241..=250 => u64::from(input.u32()),
        _ => u64::MAX,
    }
}

/// The current pane of a read: before, at or after the newest one.
pub fn current(input: &mut Input<'_>, value: &impl Timed) -> u64 {
    let newest = timeline(value).newest();
    match input.byte() {
        0..=60 => newest,
        byte @ 61..=90 => newest.saturating_sub(byte.into()),
        _ => newest.saturating_add(step(input, timeline(value).window())),
    }
}

/// The value after it was copied, saved and loaded, or loaded from chunks.
pub fn copied<T: Subject>(input: &mut Input<'_>, value: &T) -> T {
    match input.byte() % 3 {
        0 => value.try_clone().expect("enough memory"),
        1 => reloaded(value),
        _ => from_chunks(value),
    }
}
