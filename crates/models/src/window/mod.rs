//! Sketches with a window: what the models of all types share, and the models of the filters.

pub mod bloom;
pub mod cuckoo;

use super::input::Input;
use super::sequence::Model;
use super::stored::{Subject, advance, digest, times};
use roughly_sketch::window::{Timed, Timeline, Window};

/// Milliseconds of a pane in sequences of operations.
const PANE_MS: u64 = 1000;

/// The timeline of a value.
fn timeline(value: &impl Timed) -> &Timeline {
    value.timeline().expect("a window")
}

/// A model of a sketch with a window.
pub trait WindowedModel: Sized {
    /// The sketch.
    type Value: Subject;

    /// An empty sketch and its model, see [`Model::new`].
    fn create(window: Window, input: &mut Input<'_>) -> Option<(Self::Value, Self)>;

    /// Executes a write, see [`Model::step`].
    fn write(&mut self, value: &mut Self::Value, input: &mut Input<'_>);

    /// Makes `pane` the newest pane. That of the sketch is already.
    fn advance(&mut self, _pane: u64) {}

    /// Compares the results of reads at a time.
    fn check_at(&self, value: &Self::Value, current: u64);

    /// The sum of the increments in a live unit, if it is known.
    fn pane_total(&self, unit: u64) -> Option<u64>;
}

impl<M: WindowedModel> Model for M {
    type Sketch = M::Value;

    fn new(input: &mut Input<'_>) -> Option<(M::Value, Self)> {
        let panes = input.pick(&[1, 2, 3, 5, 12, 60, 100]);
        let finest = match M::Value::HAS_LEVELS && input.byte() >= 80 {
            true => Some(input.pick(&[500, 300, 100, 30, 10, 3, 1])),
            false => None,
        };
        let window = Window::new(panes * PANE_MS, panes, finest).ok()?;
        Self::create(window, input)
    }

    fn step(&mut self, value: &mut M::Value, input: &mut Input<'_>) {
        let before = digest(value);
        match input.byte() {
            0..=49 => {
                let pane = later(input, timeline(value));
                advance(value, pane);
                self.advance(timeline(value).newest());
            }
            50..=79 => {
                let newest = timeline(value).newest();
                let current = match input.byte() {
                    byte @ 0..=60 => newest.saturating_sub(byte.into()),
                    // The number of a unit has 63 bits.
                    _ => later(input, timeline(value)).min(i64::MAX.cast_unsigned()),
                };
                self.check_at(value, current);
                assert!(digest(value) == before, "a read changed the state");
            }
            80..=85 => {
                assert_eq!(value.expire(), digest(value) != before);
            }
            _ => self.write(value, input),
        }
    }

    fn check(&self, value: &M::Value) {
        let timeline = timeline(value);
        for current in times(value) {
            self.check_at(value, current);
        }
        for range in timeline.panes() {
            let units = (range.first..range.end).map(|unit| self.pane_total(unit));
            if let Some(total) = units.sum::<Option<u64>>() {
                assert_eq!(value.pane_total(range.first), total);
            }
            (range.first + 1..range.end).for_each(|unit| assert_eq!(value.pane_total(unit), 0));
        }
        let ends = [
            timeline.oldest().checked_sub(1),
            Some(timeline.newest() + 1),
        ];
        for unit in ends.into_iter().flatten() {
            assert_eq!(value.pane_total(unit), 0);
        }
    }
}

/// A pane after the newest: by none, one, some, all or years.
fn later(input: &mut Input<'_>, timeline: &Timeline) -> u64 {
    let panes = timeline.window().units();
    let step = match input.byte() {
        0..=30 => 0,
        31..=130 => 1,
        byte @ 131..=230 => u64::from(byte) % panes + 1,
        231..=240 => panes + 1,
        241..=250 => u64::from(input.u32()),
        _ => u64::MAX,
    };
    timeline.newest().saturating_add(step)
}
