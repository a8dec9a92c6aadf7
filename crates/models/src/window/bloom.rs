//! Bloom filters with a window.

use super::super::allows;
use super::super::input::Input;
use super::super::stored::{Subject, digest};
use super::WindowedModel;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timed, Window};
use roughly_sketch::window_filter::{
    Addition, BloomWindow, BloomWindowParameters, Error, IfPresent, Seed,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Filters with this error rate have no false positives among the items of a sequence.
const EXACT: f64 = 1e-9;

impl Subject for BloomWindow {
    const LOAD_OPTIONS: () = ();
    type Results = (u64, u64, Vec<bool>);

    fn add(&mut self, item: &[u8], _number: i64, budget: Budget<'_>) {
        if BloomWindow::add(self, item, budget).is_ok() {
            assert!(self.contains(item, Panes::ALL), "false negative");
            let again = BloomWindow::add(self, item, Budget::UNLIMITED);
            assert_eq!(again, Ok(Addition::Unchanged));
        }
    }

    fn change(&mut self) {
        let items: Vec<_> = (0..20u8).map(|item| [item, 1]).collect();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        let (mut one_by_one, mut results) = (self.try_clone().expect("enough memory"), Vec::new());
        let budget = Budget::new(&allows);
        self.add_each(slices.clone(), IfPresent::Refresh, budget, |result| {
            results.push(result);
            ControlFlow::Continue(())
        });
        let mut add = |item| BloomWindow::add(&mut one_by_one, item, Budget::new(&allows));
        assert!(slices.map(&mut add).eq(results));
        assert!(*self == one_by_one, "single additions give another filter");
    }

    fn read(&self, current: u64) -> Self::Results {
        let panes = self.panes_in(current);
        let (items, mut found) = ([&b""[..], b"a", b"b", b"abcdefgh"], Vec::new());
        self.contains_each(items, panes, |is_found| found.push(is_found));
        assert_eq!(found, items.map(|item| self.contains(item, panes)));
        let totals = (self.timeline().counted(panes)).map(|pane| self.pane_total(pane));
        assert_eq!(self.items(panes), totals.sum());
        let of_sub_filters = self.sub_filters(panes).map(|each| each.items);
        assert_eq!(self.items(panes), of_sub_filters.sum());
        (self.items(panes), self.grown_capacity(), found)
    }
}

/// The pane of the last addition of each item.
pub struct BloomModel {
    panes: HashMap<Vec<u8>, u64>,
    /// Whether the filter has no false positives among the items of a sequence.
    is_exact: bool,
}

impl BloomModel {
    /// Adds an item and compares the result.
    fn add(&mut self, filter: &mut BloomWindow, item: &[u8]) {
        let timeline = *filter.timeline();
        let pane = (self.panes.get(item).copied()).filter(|pane| timeline.live().contains(pane));
        let before = (digest(filter), filter.num_sub_filters());
        match filter.add(item, Budget::new(&allows)) {
            Ok(addition) => {
                let is_possible = addition != Addition::New || pane.is_none();
                assert!(is_possible, "false negative");
                let expected = match pane {
                    None => Addition::New,
                    Some(pane) if pane < timeline.newest() => Addition::Refreshed,
                    Some(_) => Addition::Unchanged,
                };
                assert!(addition == expected || !self.is_exact);
                // Only changes are replicated.
                let is_unchanged = digest(filter) == before.0;
                assert_eq!(is_unchanged, addition == Addition::Unchanged);
                assert!(filter.num_sub_filters() <= before.1 + 1);
                self.panes.insert(item.to_vec(), timeline.newest());
            }
            Err(error) => {
                assert!(pane.is_none(), "a refresh needs no memory");
                assert!(digest(filter) == before.0, "nothing must change");
                assert_eq!(error == Error::Full, filter.expansion() == 0);
                assert!(error != Error::Full || filter.items(Panes::ALL) >= filter.capacity());
            }
        }
    }
}

impl BloomModel {
    /// Adds an item without a refresh, and compares the result with the filter before.
    fn add_new(&mut self, filter: &mut BloomWindow, item: &[u8]) {
        let is_present = filter.contains(item, Panes::ALL);
        let before = digest(filter);
        let mut answers = Vec::new();
        filter.add_each([item], IfPresent::Skip, Budget::new(&allows), |answer| {
            answers.push(answer);
            ControlFlow::Continue(())
        });
        match answers[..] {
            [Ok(Addition::New)] => {
                assert!(!is_present && filter.contains(item, Panes::ALL));
                self.panes.insert(item.to_vec(), filter.timeline().newest());
            }
            [Ok(Addition::Unchanged)] => assert!(is_present && digest(filter) == before),
            [Err(_)] => assert!(!is_present && digest(filter) == before),
            _ => panic!("{answers:?}"),
        }
    }
}

impl WindowedModel for BloomModel {
    type Value = BloomWindow;

    fn create(window: Window, input: &mut Input<'_>) -> Option<(BloomWindow, Self)> {
        let parameters = BloomWindowParameters {
            capacity: match input.byte() {
                255 => u64::from(input.u16()) % 3000 + 1,
                byte => u64::from(byte) + 1,
            },
            error_rate: input.pick(&[EXACT, 0.1, 0.01, 0.001, 0.5, 0.999, 1e-14, EXACT]),
            expansion: input.pick(&[0, 1, 2, 3, 16, 32768]),
            seed: Seed([input.byte(); 16]),
        };
        let filter = BloomWindow::new(window, &parameters, Budget::new(&allows)).ok()?;
        let model = Self {
            panes: HashMap::new(),
            is_exact: parameters.error_rate <= EXACT,
        };
        Some((filter, model))
    }

    fn write(&mut self, filter: &mut BloomWindow, input: &mut Input<'_>) {
        match input.byte() {
            0..30 => return self.add_new(filter, input.item()),
            30..200 => return self.add(filter, input.item()),
            _ => {}
        }
        let items = input.items();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        let mut together = filter.try_clone().expect("enough memory");
        let budget = Budget::new(&allows);
        together.add_each(slices.clone(), IfPresent::Refresh, budget, |_| {
            ControlFlow::Continue(())
        });
        slices.for_each(|item| self.add(filter, item));
        assert!(together == *filter, "single additions give another filter");
    }

    fn check_at(&self, filter: &BloomWindow, current: u64) {
        let panes = filter.panes_in(current);
        let live = filter.timeline().counted(panes);
        for (item, pane) in &self.panes {
            let found = filter.contains(item, panes);
            assert!(found || !live.contains(pane), "false negative");
            assert!(!self.is_exact || found == live.contains(pane));
            let last = filter.last_pane(item, panes);
            assert_eq!(last.is_some(), found);
            let expected = Some(*pane).filter(|pane| live.contains(pane));
            assert!(last >= expected && (!self.is_exact || last == expected));
            assert!(last.is_none_or(|last| live.contains(&last)));
        }
        if self.is_exact {
            let items = self.panes.values().filter(|pane| live.contains(pane));
            assert_eq!(filter.items(panes), items.count() as u64);
        }
    }

    fn pane_total(&self, pane: u64) -> Option<u64> {
        let items = self.panes.values().filter(|of_item| **of_item == pane);
        self.is_exact.then_some(items.count() as u64)
    }
}
