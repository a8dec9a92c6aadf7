//! Bloom filters with a window: stored forms, and sequences of operations compared with the pane of each item.

use super::super::input::Input;
use super::super::stored::{self, Subject, reloads};
use super::super::window::{self, WindowedSubject, advance};
use super::super::{MAX_OPERATIONS, allows};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timed, Window};
use roughly_sketch::window_filter::{Addition, Error, SetParameters, WindowSet};
use std::collections::HashMap;

const ITEMS: [&[u8]; 4] = [b"", b"a", b"b", b"abcdefgh"];
/// Filters with this error rate have no false positives among the items of a sequence.
const EXACT: f64 = 1e-9;

impl Subject for WindowSet {
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], _number: i64) {
        let _ = WindowSet::add(self, item, Budget::new(&allows));
        self.advance(self.timeline().newest() + u64::from(item.len() == 8));
    }

    fn exercise(self) {
        let _ = (self.capacity(), self.grown_capacity(), self.slot_bytes());
        let newest = self.timeline().newest();
        let items = self
            .sub_filters(self.panes_in(newest))
            .map(|each| each.items)
            .sum::<u64>();
        assert_eq!(items, self.items(self.panes_in(newest)));
        window::exercise(self);
    }

    fn samples() -> Vec<Self> {
        let mut samples = Vec::new();
        for (capacity, error_rate, expansion, panes) in [
            (3, 0.01, 2, 2),
            (20, 0.001, 1, 12),
            (5, EXACT, 0, 1),
            (10, 0.1, 32768, 3),
            (50, 0.01, 2, 200),
        ] {
            let window = Window::new(1 << 20, panes).expect("a valid window");
            let parameters = SetParameters {
                capacity,
                error_rate,
                expansion,
            };
            let mut filter =
                WindowSet::new(window, &parameters, Budget::UNLIMITED).expect("valid parameters");
            let mut keep = |filter: &WindowSet| {
                samples.push(filter.try_clone().expect("enough memory"));
            };
            keep(&filter);
            for pane in 0..=panes.min(4) {
                filter.advance(pane + 50 + u64::from(pane > 1));
                for item in 0..10u8 {
                    let _ = filter.add(&[item, (pane / 2) as u8], Budget::new(&allows));
                }
                keep(&filter);
            }
            // Panes that expire without additions, and years.
            for step in [2, 1 << 30] {
                filter.advance(filter.timeline().newest() + step);
                keep(&filter);
                let _ = filter.add(b"a", Budget::UNLIMITED);
            }
        }
        samples
    }
}

impl WindowedSubject for WindowSet {
    type Results = (u64, Vec<bool>);

    fn write(&mut self) {
        let mut together = self.try_clone().expect("enough memory");
        let mut answers = Vec::new();
        let items: Vec<_> = (0..20u8).map(|item| [item]).collect();
        let slices = || items.iter().map(|item| &item[..]).chain(ITEMS);
        together.add_each(slices(), Budget::new(&allows), |answer| {
            answers.push(answer)
        });
        for (item, answer) in slices().zip(answers) {
            let result = self.add(item, Budget::new(&allows));
            assert_eq!(result, answer);
            if result.is_ok() {
                assert!(self.contains(item, Panes::ALL), "false negative");
                assert_eq!(self.add(item, Budget::UNLIMITED), Ok(Addition::Unchanged));
            }
        }
        assert!(together == *self, "single additions give another filter");
    }

    fn read(&self, current: u64) -> Self::Results {
        let mut found = Vec::new();
        self.contains_each(ITEMS, self.panes_in(current), |answer| found.push(answer));
        let one_by_one = ITEMS.map(|item| self.contains(item, self.panes_in(current)));
        assert_eq!(found, one_by_one);
        let live = self.timeline().counted(self.panes_in(current));
        let items = live.map(|pane| self.pane_total(pane)).sum();
        assert_eq!(self.items(self.panes_in(current)), items);
        (items, found)
    }
}

/// The pane of the last addition of each item.
type Model<'a> = HashMap<&'a [u8], u64>;

/// Adds an item and compares the result with the model.
fn add<'a>(filter: &mut WindowSet, model: &mut Model<'a>, item: &'a [u8], is_exact: bool) {
    let timeline = *filter.timeline();
    let pane = model
        .get(item)
        .filter(|&pane| timeline.live().contains(pane));
    let before = stored::digest(filter);
    let sub_filters = filter.num_sub_filters();
    match filter.add(item, Budget::new(&allows)) {
        Ok(addition) => {
            assert!(
                addition != Addition::New || pane.is_none(),
                "false negative"
            );
            if is_exact {
                let expected = match pane {
                    None => Addition::New,
                    Some(&pane) if pane < timeline.newest() => Addition::Refreshed,
                    Some(_) => Addition::Unchanged,
                };
                assert_eq!(addition, expected);
            }
            let is_unchanged = stored::digest(filter) == before;
            assert_eq!(is_unchanged, addition == Addition::Unchanged);
            assert!(filter.num_sub_filters() <= sub_filters + 1);
            model.insert(item, timeline.newest());
        }
        Err(error) => {
            assert!(pane.is_none(), "a refresh needs no memory");
            assert!(stored::digest(filter) == before, "nothing must change");
            if error == Error::Full {
                assert_eq!(filter.expansion(), 0);
                assert!(filter.items(Panes::ALL) >= filter.capacity());
            }
        }
    }
}

/// Compares all items with the model at a time.
fn check(filter: &WindowSet, model: &Model<'_>, current: u64, is_exact: bool) {
    let live = filter.timeline().counted(filter.panes_in(current));
    for (&item, pane) in model {
        let found = filter.contains(item, filter.panes_in(current));
        assert!(found || !live.contains(pane), "false negative");
        assert!(!is_exact || found == live.contains(pane));
    }
    if is_exact {
        let items = model.values().filter(|&pane| live.contains(pane)).count();
        assert_eq!(filter.items(filter.panes_in(current)), items as u64);
    }
}

/// Decodes `bytes` as a sequence of operations, and compares the filter with the pane of each item.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let window = window::window(&mut input);
    let parameters = SetParameters {
        capacity: u64::from(input.byte()).max(1),
        error_rate: input.pick(&[EXACT, 0.1, 0.01, 0.001, 0.5, 0.999, 1e-14]),
        expansion: input.pick(&[0, 1, 2, 3, 16, 32768]),
    };
    let is_exact = parameters.error_rate <= EXACT;
    let Ok(mut filter) = WindowSet::new(window, &parameters, Budget::new(&allows)) else {
        return;
    };
    let mut model = Model::new();
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=159 => add(&mut filter, &mut model, input.item(), is_exact),
            160..=209 => {
                let step = window::step(&mut input, window);
                let pane = filter.timeline().newest().saturating_add(step);
                advance(&mut filter, pane);
            }
            210..=234 => {
                let current = window::current(&mut input, &filter);
                check(&filter, &model, current, is_exact);
            }
            235..=244 => filter = window::copied(&mut input, &filter),
            _ => reloads(&filter),
        }
    }
    check(&filter, &model, 0, is_exact);
    reloads(&filter);
}
