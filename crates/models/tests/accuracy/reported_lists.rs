//! The agreement that SKETCH.ACCURACY reports of top-k sketches, compared with their lists.

use crate::recall::{counts, last_of_top, panes, with_top};
use crate::sample::Sample;
use crate::streams::zipf_of;
use crate::table;
use roughly_sketch::accuracy::{Accuracy, Figure};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::top_k::{TopK, TopKWindow};
use roughly_sketch::window::{Panes, Timed, Window};

const SEEDS: u64 = 2;
/// The numbers of events.
const LENGTHS: [usize; 2] = [20_000, 100_000];

/// k, width and depth.
const SHAPES: [(u64, u64, u64); 8] = [
    (10, 8, 7),
    (10, 80, 5),
    (50, 200, 2),
    (50, 100, 5),
    (50, 400, 5),
    (50, 1600, 5),
    (100, 800, 5),
    (1000, 1700, 3),
];

/// A listed item: the error of its count relative to the true one, whether it is among the true top k, and whether its count is
/// confirmed.
#[derive(Debug)]
struct Item {
    error: f64,
    is_top: bool,
    is_confirmed: bool,
}

#[derive(Debug)]
struct List {
    is_classic: bool,
    agreement: f64,
    recall: f64,
    items: Vec<Item>,
}

/// The share of the top k that is listed, and the listed items, compared with their occurrences.
fn items_of<'a>(
    list: impl Iterator<Item = (&'a [u8], u32)>,
    occurrences: &[u32],
    k: u64,
    is_confirmed: impl Fn(&[u8], u32) -> bool,
) -> (f64, Vec<Item>) {
    let counts = counts(occurrences);
    let (k, least) = last_of_top(k, &counts);
    let items = list.map(|(item, count)| {
        let truth = counts[&u32::from_le_bytes(item.try_into().expect("an item"))];
        Item {
            error: f64::from(truth.abs_diff(count)) / f64::from(truth),
            is_top: truth >= least,
            is_confirmed: is_confirmed(item, count),
        }
    });
    let items: Vec<_> = items.collect();
    let found = items.iter().filter(|item| item.is_top).count();
    (found as f64 / k as f64, items)
}

/// The field `agreement`, which is at most the share of the confirmed items.
fn agreement_of(fields: &[(&std::ffi::CStr, Figure)], items: &[Item]) -> f64 {
    let Figure::Ratio(agreement) = fields[0].1 else {
        panic!("{fields:?}");
    };
    let confirmed = items.iter().filter(|item| item.is_confirmed).count();
    assert!(agreement <= confirmed as f64 / items.len() as f64);
    agreement
}

/// The lists of a sketch without a window.
fn classic((k, width, depth): (u64, u64, u64), stream: &[u32]) -> List {
    let mut sketch = TopK::new(k, width, depth, 0.9, Budget::UNLIMITED).expect("a sketch");
    for item in stream {
        sketch.add(&item.to_le_bytes(), 1).expect("memory");
    }
    let list = sketch.list().expect("memory");
    let (recall, items) = items_of(list, stream, k, |item, count| {
        sketch.is_confirmed(item, count)
    });
    let fields = sketch.accuracy(Panes::ALL, &mut ()).expect("memory");
    List {
        is_classic: true,
        agreement: agreement_of(&fields, &items),
        recall,
        items,
    }
}

/// The lists of a window of so many units, to each of which so many events are added: of all panes, and of the last quarter.
fn windowed(
    (k, width, depth): (u64, u64, u64),
    (units, finest): (u64, Option<u64>),
    seed: u8,
    of_unit: usize,
    stream: &[u32],
) -> [List; 2] {
    let window = Window::new(units, units.min(12), finest).expect("a window");
    let seed = Seed([seed; Seed::BYTES]);
    let mut sketch =
        TopKWindow::new(k, width, depth, 0.9, window, seed, Budget::UNLIMITED).expect("a sketch");
    for (unit, added) in stream.chunks(of_unit).enumerate() {
        sketch.advance(unit as u64);
        for item in added {
            sketch.add(&item.to_le_bytes(), 1).expect("memory");
        }
    }
    let timeline = *sketch.timeline();
    let part = timeline.panes_within(timeline.newest(), units / 4);
    let mut cache = Default::default();
    [Panes::ALL, part].map(|panes| {
        let mut ranges = timeline.panes();
        let first = ranges.find(|range| range.first >= panes.oldest());
        let start = first.expect("a pane").first as usize * of_unit;
        let list = sketch.list_at(panes, &mut cache).expect("memory");
        let (recall, items) = items_of(list, &stream[start..], k, |item, _| {
            sketch.is_confirmed_at(&sketch.hash(item), panes)
        });
        let fields = sketch.accuracy(panes, &mut cache).expect("memory");
        List {
            is_classic: false,
            agreement: agreement_of(&fields, &items),
            recall,
            items,
        }
    })
}

fn all_lists(sample: Sample) -> Vec<List> {
    let streams = with_top().flat_map(|stream| (0..SEEDS).map(move |seed| (stream, seed)));
    let mut lists = Vec::new();
    for &(stream, seed) in sample.of(&streams.collect::<Vec<_>>()) {
        for (len, of_shape) in (LENGTHS.into_iter())
            .flat_map(|len| SHAPES.into_iter().map(move |of_shape| (len, of_shape)))
        {
            let occurrences = panes(stream, len, of_shape.0, 1300 + seed);
            let [uniform, finest] = [(12, None), (13 << 3, Some(1))].map(|window| {
                let of_unit = occurrences.len().div_ceil(window.0 as usize);
                windowed(of_shape, window, 7, of_unit, &occurrences)
            });
            lists.push(classic(of_shape, &occurrences));
            lists.extend(uniform.into_iter().chain(finest));
        }
    }
    lists
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

/// The errors of the items that are, or are not, confirmed.
fn errors<'a>(lists: &'a [&List], is_confirmed: bool) -> impl Iterator<Item = f64> + Clone + 'a {
    let items = lists.iter().flat_map(|list| &list.items);
    (items.filter(move |item| item.is_confirmed == is_confirmed)).map(|item| item.error)
}

fn per_cent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

/// The mean and the largest of these errors.
fn mean_and_max(errors: impl Iterator<Item = f64> + Clone) -> [String; 2] {
    let largest = errors.clone().fold(0.0, f64::max);
    [mean(errors), largest].map(|error| format!("{:.2}", error * 100.0))
}

/// The quality of the lists, by agreement. A sample has too few lists for a table.
pub fn agreement(sample: Sample) -> Option<String> {
    let lists = all_lists(sample);
    const STEPS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.01];
    // The page has these lists, whose recall is below the agreement.
    let below_agreement = [
        ((20, 37, 3), 5968, 0x6b1b_0a36_c78a_9a08, 31, 0),
        ((10, 42, 3), 3449, 0x927e_783e_7460_cee8, 207, 1),
    ]
    .map(|(shape, of_unit, random, seed, part)| {
        let units = [random, random ^ 1].map(|seed| zipf_of(0.8, 50_000, of_unit, seed));
        let moved: Vec<_> = units[1].iter().map(|item| item + 100).collect();
        let stream = [&units[0][..], &moved].concat();
        let list = &windowed(shape, (1, None), seed, of_unit, &stream)[part];
        [list.agreement, list.recall].map(per_cent)
    });
    assert_eq!(below_agreement, [["95", "75"], ["80", "70"]]);
    for list in &lists {
        let mut steps = STEPS.iter().rev();
        let step = steps.find(|&&step| step <= list.agreement);
        let least = step.filter(|&&step| step >= 0.4).unwrap_or(&0.0);
        assert!(list.recall >= *least, "{list:?}");
    }
    if !sample.is_all() {
        return None;
    }
    let mut by_agreement = Vec::new();
    for is_classic in [true, false] {
        for limits in STEPS.windows(2) {
            let of_row = |list: &&List| {
                list.is_classic == is_classic && (limits[0]..limits[1]).contains(&list.agreement)
            };
            let lists: Vec<_> = lists.iter().filter(of_row).collect();
            let mut recalls: Vec<_> = lists.iter().map(|list| list.recall).collect();
            recalls.sort_unstable_by(f64::total_cmp);
            if limits[0] >= 0.4 {
                assert!(recalls[recalls.len() / 2] >= 0.98);
                assert!(mean(errors(&lists, true)) < 0.01);
            }
            let [mean_error, largest] = mean_and_max(errors(&lists, true));
            let [mean_of_others, _] = mean_and_max(errors(&lists, false));
            let kind = if is_classic {
                "no window"
            } else {
                "with a window"
            };
            by_agreement.push(vec![
                kind.to_owned(),
                format!(
                    "{} to {} %",
                    per_cent(limits[0]),
                    per_cent(limits[1].min(1.0))
                ),
                format!(
                    "{}, {}",
                    per_cent(recalls[recalls.len() / 2]),
                    per_cent(recalls[0])
                ),
                format!("{mean_error}, {largest}"),
                mean_of_others,
            ]);
        }
    }
    let head = [
        "sketch",
        "agreement",
        "recall: median, smallest",
        "error of confirmed counts: mean, largest",
        "mean error of the others",
    ];
    Some(table(&head, &by_agreement))
}
