//! The panes of windows against a model that loops over all units.

use proptest::prelude::*;
use roughly_models::panes::{Leveled, PanesModel, timeline};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::{PaneList, Panes, Period, PeriodError, Timeline, UnitRange, Window};
use std::ops::RangeInclusive;

/// Windows of at most a few hundred units.
fn windows() -> impl Strategy<Value = Window> {
    (1u64..500, 1u64..=14, 1u64..60).prop_filter_map("no window", |(ms, panes, finest)| {
        Window::of::<Leveled>(ms, panes, Some(finest)).ok()
    })
}

/// Steps: mostly one, sometimes some, or more than the window.
fn steps(len: RangeInclusive<usize>) -> impl Strategy<Value = Vec<u64>> {
    let step = prop_oneof![6 => 1u64..=1, 3 => 1u64..12, 1 => 1u64..700];
    prop::collection::vec(step, len)
}

/// The text of the merge of two contents.
fn merged(older: &str, younger: &str) -> String {
    format!("({older} {younger})")
}

/// A list of panes whose contents are texts.
#[derive(Debug, PartialEq, Eq)]
struct Texts {
    timeline: Timeline,
    list: PaneList<String>,
    merges: usize,
}

impl Texts {
    fn new(window: Window, newest: u64) -> Self {
        Self {
            timeline: timeline(window, newest),
            list: PaneList::default(),
            merges: 0,
        }
    }

    fn add(&mut self, text: &str) {
        let timeline = self.timeline;
        match self.list.newest_mut(&timeline) {
            Some(content) => *content = merged(content, text),
            None => {
                let len = self.list.all().len() + 1;
                (self.list.reserve(len, &timeline, Budget::UNLIMITED)).unwrap();
                self.list.push(timeline.newest(), text.to_owned());
            }
        }
    }

    fn advance(&mut self, newest: u64) {
        let merges = &mut self.merges;
        let merge = |older: &mut String, younger: String, _: &_| {
            *merges += 1;
            *older = merged(older, &younger);
        };
        let advanced = self.list.advance(&mut self.timeline, newest, merge, drop);
        assert!(advanced);
    }

    fn contents(&self) -> Vec<(u64, String)> {
        let panes = self.list.all().iter();
        (panes.map(|pane| (pane.first, pane.content.clone()))).collect()
    }

    /// The words of the contents that count: the times of the additions.
    fn counted(&self, panes: Panes) -> Vec<u64> {
        let panes = self.list.counted(panes).iter();
        words(panes.map(|pane| pane.content.as_str()))
    }
}

fn words<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<u64> {
    let words = texts.flat_map(|text| text.split(['(', ')', ' ']));
    let words = words.filter(|word| !word.is_empty());
    words.map(|word| word.parse().unwrap()).collect()
}

/// Compares the list and the live panes with those of the model.
fn check(texts: &Texts, model: &PanesModel<String>) {
    let live = model.live();
    let ranges: Vec<_> =
        ((texts.timeline.panes()).map(|range| (range.first.into(), range.end.into()))).collect();
    let expected = (live.iter().map(|pane| (pane.first, pane.end))).collect::<Vec<(i128, i128)>>();
    assert_eq!(ranges, expected);
    assert!(live.len() <= texts.timeline.window().live_panes());
    let stored = (live.iter()).filter_map(|pane| Some((pane.first, pane.content.clone()?)));
    let stored = stored.map(|(first, text)| (u64::try_from(first).unwrap(), text));
    assert_eq!(texts.contents(), stored.collect::<Vec<_>>());
    let mut levels = texts.timeline.panes().peekable();
    for unit in texts.timeline.oldest()..=texts.timeline.newest() {
        let range = levels.peek().copied().unwrap();
        assert_eq!(texts.timeline.pane_of(unit), Some(range));
        let level = (range.first == unit).then(|| (range.end - range.first).ilog2());
        assert_eq!(texts.timeline.level_of(unit), level);
        levels.next_if(|range| range.end == unit + 1);
    }
    for unit in [
        texts.timeline.oldest().wrapping_sub(1),
        texts.timeline.newest() + 1,
    ] {
        assert_eq!(texts.timeline.pane_of(unit), None);
    }
}

/// Runs steps from a first newest pane on. The model and one list step by single units, the other list jumps.
fn run(window: Window, first: u64, steps: &[(u64, bool)]) {
    let mut model = PanesModel::new(window, first);
    let (mut jumps, mut singles) = (Texts::new(window, first), Texts::new(window, first));
    let mut newest = first;
    // All panes of the model are there after a window and its longest pane.
    let complete = match first {
        0 => 0,
        _ => first + window.units() + (1 << window.levels()),
    };
    for &(step, adds) in steps {
        if adds {
            let text = newest.to_string();
            *model.newest() = Some(text.clone());
            jumps.add(&text);
            singles.add(&text);
        }
        for _ in 0..step {
            newest += 1;
            assert!(model.step(|older, younger| merged(older, younger)) <= 1);
            let before = singles.merges;
            singles.advance(newest);
            assert!(singles.merges <= before + 1);
        }
        jumps.advance(newest);
        assert_eq!(jumps.contents(), singles.contents());
        if newest >= complete {
            check(&jumps, &model);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_panes_are_those_of_the_model(
        window in windows(), steps in steps(1..=60), adds in prop::collection::vec(any::<bool>(), 60),
    ) {
        let steps: Vec<_> = steps.into_iter().zip(adds).collect();
        run(window, 0, &steps);
    }

    /// The last step reaches the largest number of a pane, and there is no later one.
    #[test]
    fn the_panes_are_those_of_the_model_at_the_end_of_time(
        window in windows(), steps in steps(1..=20), adds in prop::collection::vec(any::<bool>(), 22),
    ) {
        let warm_up = window.units() + (1 << window.levels());
        let steps = [vec![warm_up], steps].concat();
        let first = window.max_pane() - steps.iter().sum::<u64>();
        let steps: Vec<_> = steps.into_iter().zip(adds).collect();
        run(window, first, &steps);
        let mut last = Texts::new(window, u64::MAX);
        prop_assert_eq!(last.timeline.newest(), window.max_pane());
        let advanced = last.list.advance(&mut last.timeline, u64::MAX, |_, _, _| {}, drop);
        prop_assert!(!advanced);
    }

    /// What was added at most `ms` ago counts; what was added more than `ms` and the length of a pane ago does not. A plain read
    /// counts what counts after an advance, and an advance changes no reply of it.
    #[test]
    fn reads_count_what_the_guarantee_says(
        window in windows(), steps in steps(1..=80), offset in 0u64..3_000, now in 0u64..2_000, behind in any::<bool>(),
        parts in prop::collection::vec(1u64..600, 8),
    ) {
        let (unit, panes) = (window.pane_ms(), window.panes());
        let mut texts = Texts::new(window, offset);
        let mut added = Vec::new();
        for step in steps {
            // The first and the last millisecond of a unit.
            for ms in [texts.timeline.newest() * unit, texts.timeline.newest() * unit + unit - 1] {
                added.push(ms);
                texts.add(&ms.to_string());
            }
            texts.advance(texts.timeline.newest() + step);
        }
        let start = texts.timeline.newest() * unit;
        let now = if behind { start.saturating_sub(now) } else { start + now };
        // How far the newest pane is ahead of the clock.
        let ahead = start.saturating_sub(now);
        let rounded = window.units() * unit;
        let check = |now: u64, ms: u64, panes_read: Panes, excess: u64| {
            let counted = texts.counted(panes_read);
            assert!(counted.is_sorted());
            for &at in &added {
                let counts = counted.binary_search(&at).is_ok();
                // A pane expires when the newest one is a window later, also while that is ahead of the clock.
                if at + ms >= now && at + rounded >= start {
                    assert!(counts, "{at} at {now} within {ms} of {window:?}");
                }
                if at + ms + excess < now {
                    assert!(!counts, "{at} at {now} within {ms} of {window:?}");
                }
            }
        };
        for ms in parts {
            let part = texts.timeline.panes_within(now, ms);
            if ms >= window.ms() {
                prop_assert_eq!(part, texts.timeline.panes_at(now));
                continue;
            }
            prop_assert!(part.is_part());
            check(now, ms, part, unit.max((ms + ahead) / panes) + ahead);
        }
        let plain = texts.timeline.panes_at(now);
        check(now.max(start), rounded, plain, unit.max(rounded / panes));
        let (before, covered) = (texts.counted(plain), texts.timeline.covered_ms(now, plain));
        let current = window.pane_at(now);
        if current > texts.timeline.newest() {
            texts.advance(current);
            prop_assert_eq!(texts.counted(Panes::ALL), before.clone());
        }
        let after = texts.timeline.panes_at(now);
        prop_assert_eq!(texts.counted(after), before);
        prop_assert_eq!(texts.timeline.covered_ms(now, after), covered);
    }

    /// A period counts the live panes that overlap it. Its rows have each live pane that begins in the period, or before it in the
    /// same step, once. Times are in milliseconds before the read.
    #[test]
    fn periods_and_rows_have_the_panes_that_the_rule_says(
        window in windows(), steps in steps(1..=60), offset in 0u64..3_000, now in 0u64..2_000, behind in any::<bool>(),
        periods in prop::collection::vec((0u64..1_000, 0u64..1_000, 1u64..400), 12),
    ) {
        let unit = window.pane_ms();
        let mut texts = Texts::new(window, offset);
        for step in steps {
            texts.add(&texts.timeline.newest().to_string());
            texts.advance(texts.timeline.newest() + step);
        }
        let timeline = texts.timeline;
        let newest_ms = timeline.newest() * unit;
        let now = if behind { newest_ms.saturating_sub(now) } else { newest_ms + now };
        let window_start = timeline.panes_at(now).oldest() * unit;
        let live: Vec<UnitRange> = timeline.panes().filter(|pane| pane.first * unit >= window_start).collect();
        let units = |panes: &[UnitRange]| {
            let contents = panes.iter().filter_map(|pane| texts.list.get(pane.first));
            words(contents.map(String::as_str))
        };
        let edges = [(u64::MAX, 0), (now - window_start.min(now), 0), (0, 0)].map(|(from, to)| (from, to, 7));
        for (from, to, step) in periods.into_iter().chain(edges) {
            let (from, to) = (now.saturating_sub(from), now.saturating_sub(to));
            let is_now = to == now;
            let begin = if is_now { from } else { from.max(window_start) };
            let period = Period::new(from, to, now);
            let panes = period.and_then(|period| timeline.panes_of(period));
            if begin >= to {
                prop_assert_eq!(panes, Err(PeriodError::Empty));
                continue;
            }
            let overlaps = |pane: &&UnitRange| pane.end * unit > begin && (is_now || pane.first * unit < to);
            let overlapping: Vec<_> = live.iter().filter(overlaps).copied().collect();
            let longest = overlapping.iter().map(|pane| (pane.end - pane.first) * unit).max();
            let longest = longest.unwrap_or(unit);
            if to - begin < longest {
                prop_assert_eq!(panes, Err(PeriodError::ShorterThanPanes(longest)));
                continue;
            }
            let (period, panes) = (period.unwrap(), panes.unwrap());
            if is_now {
                prop_assert_eq!(panes, timeline.panes_within(now, to - from));
            }
            if !is_now || to - from < window.ms() {
                prop_assert!(panes.is_part());
                prop_assert_eq!(timeline.counted_panes(panes).unwrap(), overlapping.clone());
                prop_assert_eq!(texts.counted(panes), units(&overlapping));
            }
            if !is_now {
                // Where there is no pane, a unit is one.
                let pane_of = |ms: u64| {
                    let pane = live.iter().find(|pane| (pane.first..pane.end).contains(&(ms / unit)));
                    pane.map_or([ms / unit, ms / unit + 1], |pane| [pane.first, pane.end])
                };
                let end = (pane_of(to - 1)[1] * unit).min(now.max(newest_ms));
                prop_assert_eq!(timeline.covered_ms(now, panes), end - pane_of(begin)[0] * unit);
            }
            let in_period = live.iter().filter(|pane| {
                let start = pane.first * unit;
                start >= from / step * step && (is_now || start < to)
            });
            let mut in_period = in_period.copied().collect::<Vec<_>>();
            for row in timeline.rows(period, step).unwrap() {
                let (start, covered_ms, row) = (row.start_ms, row.covered_ms, row.panes);
                let of_step = in_period.iter().take_while(|pane| pane.first * unit / step == start / step);
                let of_row: Vec<_> = in_period.drain(..of_step.count()).collect();
                prop_assert_eq!(start, of_row[0].first * unit);
                prop_assert_eq!(row.oldest() * unit, start);
                let is_newest = of_row.last().unwrap().end > timeline.newest();
                let mut end = of_row.last().unwrap().end * unit;
                // Nothing was added in the rest of the step.
                if is_newest {
                    end = end.max(to.min((start / step + 1) * step));
                }
                if is_newest && end > now {
                    end = now.max(newest_ms);
                }
                prop_assert_eq!(covered_ms, end - start);
                prop_assert_eq!(timeline.counted_panes(row).unwrap(), of_row.clone());
                prop_assert_eq!(texts.counted(row), units(&of_row));
                let is_all = of_row.len() == live.len() && is_newest;
                prop_assert_eq!(row == timeline.panes_at(now), is_all);
            }
            prop_assert_eq!(in_period, []);
        }
    }

    /// A timeline is stored as four numbers.
    #[test]
    fn a_timeline_is_stored_exactly(
        ms in 1..=Window::MAX_MS, panes in 1u64..=100, finest in 1..=Window::MAX_MS, newest: u64,
    ) {
        let finest = finest % ms.div_ceil(panes) + 1;
        let window = Window::of::<Leveled>(ms, panes, Some(finest));
        prop_assume!(window.is_ok());
        let window = window.unwrap();
        let timeline = timeline(window, newest);
        let mut values = roughly_dump::Values::default();
        timeline.save::<Leveled>(&mut values);
        prop_assert_eq!(values.values.len(), 4);
        prop_assert_eq!(Timeline::load::<Leveled>(&mut values), Ok(timeline));
        prop_assert!(timeline.panes().count() <= window.live_panes());
    }
}
