//! Lists of a part of the window: they equal those of a computation without bounds, and read few tables.

use super::{RankingCache, Step, TopKWindow, leveled, of_units, shapes, sketch, steps};
use crate::testing::ESTIMATES;
use crate::top_k::item_hash::order;
use crate::top_k::window::candidates::saturated;
use crate::top_k::window::sum_of_estimates;
use crate::window::{Panes, Period, Timed};
use proptest::prelude::*;

/// The list of these panes: the sums of all candidates.
fn expected(sketch: &TopKWindow, panes: Panes) -> Vec<(Vec<u8>, u32)> {
    let counted = sketch.panes.counted(panes);
    let places = |number| sketch.buckets.places(sketch.candidates.get(number).hash);
    let sums = (0..sketch.candidates.len()).map(|number| {
        let sum = saturated(sum_of_estimates(counted, places(number)));
        (sketch.candidates.item(number).to_vec(), sum)
    });
    let mut sums: Vec<_> = sums.filter(|&(_, sum)| sum > 0).collect();
    sums.sort_by(|one, other| (other.1.cmp(&one.1)).then_with(|| order(&one.0, &other.0)));
    sums.truncate(sketch.k() as usize);
    sums
}

/// The list of these panes with an empty cache. A query finds its items, and no other.
fn listed(sketch: &TopKWindow, panes: Panes) -> Vec<(Vec<u8>, u32)> {
    let mut cache = RankingCache::default();
    let items = sketch.list_at(panes, &mut cache).unwrap();
    let list: Vec<_> = items.map(|(item, count)| (item.to_vec(), count)).collect();
    for number in 0..sketch.candidates.len() {
        let item = sketch.candidates.item(number);
        let is_listed = list.iter().any(|(listed, _)| listed == item);
        let found = sketch.query_at(item, panes, &mut cache);
        assert_eq!(found, Ok(is_listed), "{}", item.escape_ascii());
    }
    list
}

proptest! {
    #[test]
    fn the_list_of_a_part_equals_that_of_all_sums(
        (k, width, depth, decay, panes) in shapes(),
        units in prop::sample::select(vec![0u64, 100]),
        steps in steps(),
    ) {
        let panes = if units > 0 { panes.clamp(2, 12) } else { panes };
        let mut sketch = of_units((k, width, depth, decay), panes, units);
        for step in steps {
            match step {
                Step::Add(item, increment) => {
                    sketch.add(&item, increment).unwrap();
                }
                Step::Advance(ahead) => {
                    sketch.advance(sketch.timeline().newest().saturating_add(ahead));
                }
                Step::Read(_) => continue,
            }
            let timeline = *sketch.timeline();
            let now = timeline.window().start_of(timeline.newest());
            let ms = timeline.window().ms();
            for part in [ms / 2, ms / 12, 0] {
                let panes = timeline.panes_within(now, part);
                prop_assert_eq!(listed(&sketch, panes), expected(&sketch, panes));
            }
            let live: Vec<_> = timeline.panes().collect();
            for from in live.iter().step_by(3) {
                for to in live.iter().rev().step_by(4) {
                    let times = [from.first, to.end].map(|unit| timeline.window().start_of(unit));
                    let period = Period::new(times[0], times[1], now);
                    let panes = period.and_then(|period| timeline.panes_of(period));
                    if let Some(panes) = panes.ok().filter(|panes| panes.is_part()) {
                        prop_assert_eq!(listed(&sketch, panes), expected(&sketch, panes));
                    }
                }
            }
            listed(&sketch, timeline.panes_in(timeline.newest()));
            let later = timeline.panes_in(timeline.newest().saturating_add(panes / 3 + 1));
            prop_assert_eq!(listed(&sketch, later), expected(&sketch, later));
        }
    }
}

/// Adds ten items of all panes and ten other ones with smaller counts in each pane.
fn fill(sketch: &mut TopKWindow, panes: u64) {
    for pane in 0..panes {
        sketch.advance(pane);
        for item in 0..10 {
            let steady = item.to_string();
            let other = format!("{pane} {item}");
            let count = 1 + (pane * 7919 + item * 104_729) % 300;
            sketch.add(steady.as_bytes(), 1000).unwrap();
            sketch.add(other.as_bytes(), count as u32).unwrap();
        }
    }
}

#[test]
fn most_candidates_are_read_in_the_newest_pane_only() {
    let mut uniform = sketch(20, 4000, 4, 1.0, 60);
    fill(&mut uniform, 60);
    let mut finest = leveled((20, 4000, 4, 1.0), 12, 240);
    fill(&mut finest, 240);
    for (sketch, share) in [(uniform, 2), (finest, 12)] {
        let timeline = *sketch.timeline();
        let now = timeline.window().start_of(timeline.newest());
        let panes = timeline.panes_within(now, timeline.window().ms() / share);
        let candidates = u64::from(sketch.candidates.len());
        let read = ESTIMATES
            .with(|estimates| estimates.during(|| assert_eq!(listed(&sketch, panes).len(), 20)));
        // Without bounds: 20 to 30 panes for each candidate.
        let is_within = read < 7 * candidates;
        assert!(is_within, "{read} estimates for {candidates} candidates");
    }
}
