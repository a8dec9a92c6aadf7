//! Cuckoo filters with a window.

use super::super::allows;
use super::super::input::Input;
use super::super::stored::{Subject, digest, times};
use super::WindowedModel;
use roughly_sketch::cuckoo::Duplicates;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timed, Window};
use roughly_sketch::window_filter::{CuckooWindow, CuckooWindowParameters, Error, Seed};
use std::collections::{BTreeMap, HashMap};

impl Subject for CuckooWindow {
    const LOAD_OPTIONS: () = ();
    type Results = (u64, Vec<u64>);

    fn add(&mut self, item: &[u8], _number: i64, budget: Budget<'_>) {
        let count = self.count(item, Panes::ALL);
        if count > 4 {
            // More occurrences need large sub-filters, which take time.
            return;
        }
        let is_inserted = self.insert_item(item, budget).is_ok();
        assert_eq!(self.count(item, Panes::ALL), count + u64::from(is_inserted));
    }

    fn change(&mut self) {
        let budget = Budget::new(&allows);
        let items: Vec<_> = (0..20u8).map(|item| [item, 1]).collect();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        let mut one_by_one = self.try_clone().expect("enough memory");
        let (mut inserted, mut unique) = (Vec::new(), Vec::new());
        self.insert_each(slices.clone(), Duplicates::Insert, budget, |result| {
            inserted.push(result)
        });
        self.insert_each(slices.clone(), Duplicates::Skip, budget, |result| {
            unique.push(result)
        });
        let insert = |item| one_by_one.insert_if(item, Duplicates::Insert, budget);
        assert!(slices.clone().map(insert).eq(inserted));
        let insert = |item| one_by_one.insert_if(item, Duplicates::Skip, budget);
        assert!(slices.clone().map(insert).eq(unique));
        assert!(*self == one_by_one, "single insertions give another filter");
        for item in slices.step_by(2) {
            let (count, deletes) = (self.count(item, Panes::ALL), self.deletes());
            let is_deleted = self.delete(item);
            assert_eq!(is_deleted, count > 0);
            assert_eq!(self.count(item, Panes::ALL), count - u64::from(is_deleted));
            assert_eq!(self.deletes(), deletes.saturating_add(is_deleted.into()));
        }
        let before = times(self).into_iter().map(|current| self.read(current));
        let before: Vec<_> = before.collect();
        self.compact();
        assert!(!self.compact(), "nothing is left to compact");
        let after = times(self).into_iter().map(|current| self.read(current));
        assert!(after.eq(before));
    }

    fn read(&self, current: u64) -> Self::Results {
        let panes = self.panes_in(current);
        let (items, mut found) = ([&b""[..], b"a", b"b", b"abcdefgh"], Vec::new());
        self.contains_each(items, panes, |is_found| found.push(is_found));
        assert_eq!(found, items.map(|item| self.contains(item, panes)));
        let counts = items.map(|item| self.count(item, panes));
        assert_eq!(found, counts.map(|count| count > 0));
        let totals = (self.timeline().counted(panes)).map(|pane| self.pane_total(pane));
        assert_eq!(self.items(panes), totals.sum());
        let of_sub_filters = self.sub_filters(panes).map(|each| each.items);
        assert_eq!(self.items(panes), of_sub_filters.sum());
        (self.items(panes), counts.into())
    }
}

/// The occurrences of the items, and the number of occurrences per pane.
pub struct CuckooModel {
    /// The panes of each item, in order. The filter has at least these occurrences.
    panes: HashMap<Vec<u8>, Vec<u64>>,
    /// `None` after a deletion, because it may have deleted an occurrence of another item.
    per_pane: Option<BTreeMap<u64, u64>>,
}

impl CuckooModel {
    fn insert(&mut self, filter: &mut CuckooWindow, item: &[u8], is_unique: bool) {
        let (before, count) = (digest(filter), filter.count(item, Panes::ALL));
        let result = match is_unique {
            true => filter.insert_if(item, Duplicates::Skip, Budget::new(&allows)),
            false => (filter.insert_item(item, Budget::new(&allows))).map(|()| true),
        };
        if let Err(error) = result {
            assert_eq!(error == Error::Full, filter.expansion() == 0);
        } else {
            assert_eq!(result, Ok(!is_unique || count == 0));
        }
        let is_inserted = result == Ok(true);
        assert_eq!(is_inserted, digest(filter) != before);
        let expected = count + u64::from(is_inserted);
        assert_eq!(filter.count(item, Panes::ALL), expected);
        if is_inserted {
            let newest = filter.timeline().newest();
            self.panes.entry(item.to_vec()).or_default().push(newest);
            if let Some(per_pane) = &mut self.per_pane {
                *per_pane.entry(newest).or_default() += 1;
            }
        }
    }

    /// Deletes an item that is present. Of items with the same fingerprint and buckets, the oldest occurrence of any is
    /// deleted, so they keep at least as many as here. With several sub-filters, another item can lose an occurrence,
    /// so all items are forgotten.
    fn delete(&mut self, filter: &mut CuckooWindow, item: &[u8]) {
        let before = (filter.items(Panes::ALL), filter.deletes());
        let count = filter.count(item, Panes::ALL);
        let oldest = filter.timeline().oldest();
        let panes = self.panes.entry(item.to_vec()).or_default();
        panes.retain(|&pane| pane >= oldest);
        if panes.is_empty() || filter.num_sub_filters() > 1 {
            // It may be the occurrence of another item.
            self.panes.clear();
        } else {
            panes.remove(0);
        }
        let counts = |filter: &CuckooWindow| -> Vec<u64> {
            let newest = filter.timeline().newest();
            let ahead = 0..=filter.timeline().window().panes();
            (ahead.map(|ahead| filter.count(item, filter.panes_in(newest + ahead)))).collect()
        };
        let before_each = counts(filter);
        let is_deleted = filter.delete(item);
        assert_eq!(is_deleted, count > 0);
        // The oldest occurrence is deleted, which counts as long as the count is that of now.
        let is_oldest = |of_time: &u64| u64::from(is_deleted && *of_time == count);
        let expected = (before_each.iter()).map(|of_time| of_time - is_oldest(of_time));
        assert!(expected.eq(counts(filter)), "not the oldest is deleted");
        let deleted = u64::from(is_deleted);
        let after = (filter.items(Panes::ALL), filter.deletes());
        assert_eq!(after, (before.0 - deleted, before.1 + deleted));
        self.per_pane = self.per_pane.take().filter(|_| !is_deleted);
    }
}

impl WindowedModel for CuckooModel {
    type Value = CuckooWindow;

    fn create(window: Window, input: &mut Input<'_>) -> Option<(CuckooWindow, Self)> {
        let parameters = CuckooWindowParameters {
            capacity: match input.byte() {
                255 => u64::from(input.u16()) % 3000 + 1,
                byte => u64::from(byte) + 1,
            },
            error_rate: input.pick(&[None, None, Some(0.25), Some(0.001), Some(1e-9)]),
            bucket_size: input.pick(&[1, 2, 3, 4, 7, 8, 16, 255]),
            max_iterations: input.pick(&[1, 2, 20, 500]),
            expansion: input.pick(&[0, 1, 2, 4, 32768]),
            seed: Seed([input.byte(); 16]),
        };
        let filter = CuckooWindow::new(window, &parameters, Budget::new(&allows)).ok()?;
        let model = Self {
            panes: HashMap::new(),
            per_pane: Some(BTreeMap::new()),
        };
        Some((filter, model))
    }

    fn write(&mut self, filter: &mut CuckooWindow, input: &mut Input<'_>) {
        match input.byte() {
            0..=119 => self.insert(filter, input.item(), false),
            120..=149 => self.insert(filter, input.item(), true),
            150..=179 => {
                let items = input.items();
                let slices = items.iter().map(<[u8; 2]>::as_slice);
                let budget = Budget::new(&allows);
                let mut together = filter.try_clone().expect("enough memory");
                together.insert_each(slices.clone(), Duplicates::Insert, budget, |_| ());
                together.insert_each(slices.clone(), Duplicates::Skip, budget, |_| ());
                (slices.clone()).for_each(|item| self.insert(filter, item, false));
                slices.for_each(|item| self.insert(filter, item, true));
                assert!(together == *filter, "single insertions give another filter");
            }
            180..=229 => self.delete(filter, input.item()),
            _ => {
                let (before, items) = (digest(filter), filter.items(Panes::ALL));
                assert_eq!(filter.compact(), digest(filter) != before);
                assert_eq!((filter.items(Panes::ALL), filter.deletes()), (items, 0));
            }
        }
    }

    fn check_at(&self, filter: &CuckooWindow, current: u64) {
        let in_time = filter.panes_in(current);
        let live = filter.timeline().counted(in_time);
        for (item, panes) in &self.panes {
            let count = panes.iter().filter(|pane| live.contains(pane)).count();
            let found = filter.count(item, in_time);
            assert!(found >= count as u64, "false negative");
            assert_eq!(filter.contains(item, in_time), found > 0);
            let last = filter.last_pane(item, in_time);
            assert_eq!(last.is_some(), found > 0);
            let newest = panes.iter().filter(|pane| live.contains(pane)).max();
            assert!(last.as_ref() >= newest && last.is_none_or(|last| live.contains(&last)));
        }
        if let Some(per_pane) = &self.per_pane {
            let counts = per_pane.iter().filter(|(pane, _)| live.contains(pane));
            let items = counts.map(|(_, count)| count).sum::<u64>();
            assert_eq!(filter.items(in_time), items);
        }
    }

    fn pane_total(&self, pane: u64) -> Option<u64> {
        let per_pane = self.per_pane.as_ref()?;
        Some(per_pane.get(&pane).copied().unwrap_or(0))
    }
}
