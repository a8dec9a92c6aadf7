//! Cuckoo filters with a window: stored forms, and sequences of operations compared with the panes of each item's
//! occurrences.

use super::super::input::Input;
use super::super::stored::{self, Subject, reloads};
use super::super::window::{self, WindowedSubject, advance};
use super::super::{MAX_OPERATIONS, allows};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timed, Window};
use roughly_sketch::window_filter::{Error, MultisetParameters, WindowMultiset};
use std::collections::{BTreeMap, HashMap};

const ITEMS: [&[u8]; 4] = [b"", b"a", b"b", b"abcdefgh"];

impl Subject for WindowMultiset {
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], _number: i64) {
        let _ = self.insert_item(item, Budget::new(&allows));
        self.advance(self.timeline().newest() + u64::from(item.len() == 8));
    }

    fn exercise(self) {
        let _ = (self.capacity(), self.num_buckets(), self.slot_bytes());
        let newest = self.timeline().newest();
        let items = self
            .sub_filters(self.panes_in(newest))
            .map(|each| each.items)
            .sum::<u64>();
        assert_eq!(items, self.items(self.panes_in(newest)));
        let mut compacted = self.try_clone().expect("enough memory");
        compacted.compact();
        assert!(!compacted.compact(), "nothing is left to compact");
        assert_eq!(compacted.items(Panes::ALL), self.items(Panes::ALL));
        let current = newest.saturating_add(1);
        for item in ITEMS {
            assert_eq!(
                compacted.count(item, Panes::ALL),
                self.count(item, Panes::ALL)
            );
            assert_eq!(
                compacted.count(item, compacted.panes_in(current)),
                self.count(item, self.panes_in(current))
            );
        }
        reloads(&compacted);
        window::exercise(self);
    }

    fn samples() -> Vec<Self> {
        let mut samples = Vec::new();
        for (capacity, bucket_size, max_iterations, expansion, panes) in [
            (4, 2, 20, 1, 3),
            (20, 4, 500, 2, 12),
            (5, 1, 1, 0, 1),
            (10, 255, 20, 32768, 2),
            (40, 8, 20, 1, 200),
        ] {
            let window = Window::new(1 << 20, panes).expect("a valid window");
            let parameters = MultisetParameters {
                capacity,
                bucket_size,
                max_iterations,
                expansion,
            };
            let mut filter = WindowMultiset::new(window, &parameters, Budget::UNLIMITED)
                .expect("valid parameters");
            let mut keep = |filter: &WindowMultiset| {
                samples.push(filter.try_clone().expect("enough memory"));
            };
            keep(&filter);
            for pane in 0..=panes.min(4) {
                filter.advance(pane + 50 + u64::from(pane > 1));
                for item in 0..10u8 {
                    let _ = filter.insert_item(&[item % 7, pane as u8 / 2], Budget::new(&allows));
                }
                keep(&filter);
            }
            filter.delete(&[0, 0]);
            keep(&filter);
            // Panes that expire without insertions, and years.
            for step in [2, 1 << 30] {
                filter.advance(filter.timeline().newest() + step);
                keep(&filter);
                let _ = filter.insert_item(b"a", Budget::UNLIMITED);
            }
        }
        samples
    }
}

impl WindowedSubject for WindowMultiset {
    type Results = (u64, Vec<u64>);

    fn write(&mut self) {
        let budget = || Budget::new(&allows);
        let mut together = self.try_clone().expect("enough memory");
        let items: Vec<_> = (0..20u8).map(|item| [item]).collect();
        let slices = || items.iter().map(|item| &item[..]).chain(ITEMS);
        let (mut inserted, mut unique) = (Vec::new(), Vec::new());
        together.insert_each(slices(), budget(), |answer| inserted.push(answer));
        together.insert_unique_each(slices(), budget(), |answer| unique.push(answer));
        for (item, answer) in slices().zip(inserted) {
            let count = self.count(item, Panes::ALL);
            let result = self.insert_item(item, budget());
            assert_eq!(result, answer);
            assert_eq!(
                self.count(item, Panes::ALL),
                count + u64::from(result.is_ok())
            );
        }
        for (item, answer) in slices().zip(unique) {
            let is_present = self.contains(item, Panes::ALL);
            let result = self.insert_unique(item, budget());
            assert_eq!(result, answer);
            assert!(result.is_err() || result == Ok(!is_present));
        }
        assert!(together == *self, "single insertions give another filter");
        for item in ITEMS {
            let (count, deletes) = (self.count(item, Panes::ALL), self.deletes());
            let is_deleted = self.delete(item);
            assert_eq!(is_deleted, count > 0);
            assert_eq!(self.count(item, Panes::ALL), count - u64::from(is_deleted));
            assert_eq!(self.deletes(), deletes.saturating_add(is_deleted.into()));
        }
    }

    fn read(&self, current: u64) -> Self::Results {
        let counts = ITEMS.map(|item| self.count(item, self.panes_in(current)));
        let mut found = Vec::new();
        self.contains_each(ITEMS, self.panes_in(current), |answer| found.push(answer));
        assert_eq!(found, counts.map(|count| count > 0));
        assert_eq!(
            found,
            ITEMS.map(|item| self.contains(item, self.panes_in(current)))
        );
        let live = self.timeline().counted(self.panes_in(current));
        let items = live.map(|pane| self.pane_total(pane)).sum();
        assert_eq!(self.items(self.panes_in(current)), items);
        (items, counts.to_vec())
    }
}

/// The occurrences of the items, and the number of occurrences per pane.
#[derive(Default)]
struct Model<'a> {
    /// The panes of each item, in order. The filter has at least these occurrences.
    panes: HashMap<&'a [u8], Vec<u64>>,
    /// `None` after a deletion, because it may have deleted an occurrence of another item.
    per_pane: Option<BTreeMap<u64, u64>>,
}

impl<'a> Model<'a> {
    fn insert(&mut self, item: &'a [u8], pane: u64) {
        self.panes.entry(item).or_default().push(pane);
        if let Some(per_pane) = &mut self.per_pane {
            *per_pane.entry(pane).or_default() += 1;
        }
    }

    /// Compares all items with the filter at a time.
    fn check(&self, filter: &WindowMultiset, current: u64) {
        let live = filter.timeline().counted(filter.panes_in(current));
        for (item, panes) in &self.panes {
            let count = panes.iter().filter(|pane| live.contains(pane)).count();
            assert!(
                filter.count(item, filter.panes_in(current)) >= count as u64,
                "false negative"
            );
        }
        if let Some(per_pane) = &self.per_pane {
            let counts = per_pane.iter().filter(|(pane, _)| live.contains(pane));
            let items = counts.map(|(_, count)| count).sum::<u64>();
            assert_eq!(filter.items(filter.panes_in(current)), items);
        }
    }
}

fn insert<'a>(filter: &mut WindowMultiset, model: &mut Model<'a>, item: &'a [u8]) {
    let before = (stored::digest(filter), filter.count(item, Panes::ALL));
    match filter.insert_item(item, Budget::new(&allows)) {
        Ok(()) => {
            assert_eq!(filter.count(item, Panes::ALL), before.1 + 1);
            model.insert(item, filter.timeline().newest());
        }
        Err(error) => {
            assert!(stored::digest(filter) == before.0, "nothing must change");
            assert!(error != Error::Full || filter.expansion() == 0);
        }
    }
}

/// Deletes an occurrence of an item that has one. Items with the same fingerprint and buckets lose the oldest occurrence
/// of any of them, so they keep at least as many as in the model. With several sub-filters, another item can lose an
/// occurrence, so the model forgets all items.
fn delete<'a>(filter: &mut WindowMultiset, model: &mut Model<'a>, item: &'a [u8]) {
    let oldest = filter.timeline().oldest();
    let Some(panes) = model.panes.get_mut(item) else {
        return;
    };
    panes.retain(|&pane| pane >= oldest);
    if panes.is_empty() {
        return;
    }
    panes.remove(0);
    let items = filter.items(Panes::ALL);
    if filter.num_sub_filters() > 1 {
        model.panes.clear();
    }
    assert!(filter.delete(item), "false negative");
    assert_eq!(filter.items(Panes::ALL), items - 1);
    model.per_pane = None;
}

/// Decodes `bytes` as a sequence of operations, and compares the filter with the occurrences of each item.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let window = window::window(&mut input);
    let parameters = MultisetParameters {
        capacity: u64::from(input.byte()).max(1),
        bucket_size: input.pick(&[1, 2, 3, 4, 7, 8, 16, 255]),
        max_iterations: input.pick(&[1, 2, 20, 500]),
        expansion: input.pick(&[0, 1, 2, 4, 32768]),
    };
    let Ok(mut filter) = WindowMultiset::new(window, &parameters, Budget::new(&allows)) else {
        return;
    };
    let mut model = Model {
        per_pane: Some(BTreeMap::new()),
        ..Model::default()
    };
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=109 => insert(&mut filter, &mut model, input.item()),
            110..=129 => {
                let item = input.item();
                let is_present = filter.contains(item, Panes::ALL);
                let result = filter.insert_unique(item, Budget::new(&allows));
                assert!(result.is_err() || result == Ok(!is_present));
                if result == Ok(true) {
                    model.insert(item, filter.timeline().newest());
                }
            }
            130..=159 => delete(&mut filter, &mut model, input.item()),
            160..=204 => {
                let step = window::step(&mut input, window);
                let pane = filter.timeline().newest().saturating_add(step);
                advance(&mut filter, pane);
            }
            205..=229 => {
                let current = window::current(&mut input, &filter);
                model.check(&filter, current);
            }
            230..=236 => {
                let items = filter.items(Panes::ALL);
                filter.compact();
                assert_eq!((filter.items(Panes::ALL), filter.deletes()), (items, 0));
            }
            237..=245 => filter = window::copied(&mut input, &filter),
            _ => reloads(&filter),
        }
    }
    model.check(&filter, 0);
    reloads(&filter);
}
