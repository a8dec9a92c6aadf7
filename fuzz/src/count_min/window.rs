//! Count-min sketches with a window: stored forms, and sequences of operations compared with a sketch without a window
//! and exact counts for each pane.

use super::super::input::Input;
use super::super::stored::{self, Subject, reloads};
use super::super::window::{self, WindowedSubject, advance};
use super::super::{MAX_OPERATIONS, allows};
use roughly_sketch::count_min::{
    CellSize, CountMin, CountMinError, CountMinWindow, MergeSource, Shape,
};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timed, Window};
use std::collections::{BTreeMap, HashMap};

const ITEMS: [&[u8]; 3] = [b"", b"a", b"abcdefgh"];

impl Subject for CountMinWindow {
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], number: i64) {
        let _ = self.increment(item, number, Budget::new(&allows));
        self.advance(self.timeline().newest() + u64::from(item.len() == 8));
    }

    fn exercise(self) {
        merge(&self);
        window::exercise(self);
    }

    fn samples() -> Vec<Self> {
        let mut samples = Vec::new();
        for (width, depth, cell_bytes, panes) in [
            (3, 2, 4, 2),
            (5, 2, 1, 1),
            (40, 3, 8, 3),
            (100, 3, 2, 4),
            (60, 4, 1, 100),
        ] {
            let window = Window::new(1 << 20, panes).expect("a valid window");
            let cell_size = CellSize::from_bytes(cell_bytes).expect("a valid cell size");
            let mut sketch =
                CountMinWindow::new(width, depth, cell_size, window, Budget::UNLIMITED)
                    .expect("a valid shape");
            let mut keep = |sketch: &CountMinWindow| {
                samples.push(sketch.try_clone().expect("enough memory"));
            };
            keep(&sketch);
            for pane in 0..=panes.min(4) {
                sketch.advance(pane + 50);
                for item in 0..20u8 {
                    let by = i64::from(item) % 3;
                    let _ = sketch.increment(&[item], by, Budget::UNLIMITED);
                }
                keep(&sketch);
            }
            // Two more panes, so that blocks are stale, and years.
            for step in [2, 1 << 30] {
                sketch.advance(sketch.timeline().newest() + step);
                keep(&sketch);
                let _ = sketch.increment(b"a", 1, Budget::UNLIMITED);
                keep(&sketch);
            }
        }
        samples
    }
}

impl WindowedSubject for CountMinWindow {
    type Results = (u64, Vec<u64>);

    fn write(&mut self) {
        let amounts = [0, 1, -1, 255, 1 << 32, i64::MAX, i64::MIN];
        let mut together = self.try_clone().expect("enough memory");
        let mut answers = Vec::new();
        for by in amounts {
            let items = ITEMS.into_iter().map(|item| (item, by));
            together.increment_all(items, Budget::new(&allows), |_, answer| {
                answers.push(answer);
            });
        }
        let mut answers = answers.into_iter();
        for by in amounts {
            for item in ITEMS {
                let before = self.query(item, Panes::ALL);
                let result = self.increment(item, by, Budget::new(&allows));
                assert_eq!(self.query(item, Panes::ALL), result.unwrap_or(before));
                assert_eq!(answers.next(), Some(result));
            }
        }
        assert!(together == *self, "single increments give another sketch");
    }

    fn read(&self, current: u64) -> Self::Results {
        let mut estimates = Vec::new();
        self.query_all(ITEMS.into_iter(), self.panes_in(current), |estimate| {
            estimates.push(estimate);
        });
        assert_eq!(
            estimates,
            ITEMS.map(|item| self.query(item, self.panes_in(current)))
        );
        let live = self.timeline().counted(self.panes_in(current));
        let total = live.map(|pane| self.pane_total(pane)).sum();
        assert_eq!(self.total(self.panes_in(current)), total);
        (total, estimates)
    }
}

/// Merges a sketch with itself and with a copy of its later state. After an error nothing must have changed.
fn merge(sketch: &CountMinWindow) {
    let mut later = sketch.try_clone().expect("enough memory");
    later.advance(sketch.timeline().newest() + 1);
    let _ = later.increment(b"later", 1, Budget::new(&allows));
    for weight in [0, 1, -1, 2, 1 << 33, i64::MAX, i64::MIN] {
        let mut merged = sketch.try_clone().expect("enough memory");
        let sources = [
            source(None, weight),
            source(Some(&later), 1),
            source(Some(sketch), weight),
        ];
        for sources in [&sources[..], &sources[..2], &sources[1..]] {
            let before = stored::digest(&merged);
            let result = merged.merge_within(sources, u64::MAX, Budget::new(&allows));
            let changed = stored::digest(&merged) != before;
            assert_eq!(result.unwrap_or(false), changed);
            reloads(&merged);
        }
    }
}

fn source(sketch: Option<&CountMinWindow>, weight: i64) -> MergeSource<'_, CountMinWindow> {
    MergeSource { sketch, weight }
}

/// A pane of the model.
struct Pane<'a> {
    /// Exact counts: lower bounds of the estimates.
    counts: HashMap<&'a [u8], u64>,
    cells: CountMin,
}

impl Pane<'_> {
    fn try_clone(&self) -> Self {
        Self {
            counts: self.counts.clone(),
            cells: self.cells.try_clone().expect("enough memory"),
        }
    }
}

/// The panes with increments, also those that have expired.
struct Model<'a> {
    shape: Shape,
    window: Window,
    newest: u64,
    panes: BTreeMap<u64, Pane<'a>>,
}

impl<'a> Model<'a> {
    fn new(shape: Shape, window: Window) -> Self {
        Self {
            shape,
            window,
            newest: 0,
            panes: BTreeMap::new(),
        }
    }

    fn no_cells(&self) -> CountMin {
        let (width, depth) = (self.shape.width(), self.shape.depth());
        CountMin::new(width, depth, self.shape.cell_size(), Budget::UNLIMITED)
            .expect("enough memory")
    }

    fn live(&self, current: u64) -> impl Iterator<Item = (&u64, &Pane<'a>)> {
        let oldest = current.max(self.newest).saturating_sub(self.window.panes());
        self.panes.range(oldest..)
    }

    /// A sketch of all increments in the live panes.
    fn all_at(&self, current: u64) -> Result<CountMin, CountMinError> {
        let mut all = self.no_cells();
        let sources: Vec<_> = self
            .live(current)
            .map(|(_, pane)| MergeSource {
                sketch: Some(&pane.cells),
                weight: 1,
            })
            .collect();
        all.merge(&sources)?;
        Ok(all)
    }

    fn increment(
        &mut self,
        all: &mut CountMin,
        item: &'a [u8],
        by: i64,
    ) -> Result<u64, CountMinError> {
        if by < 0 {
            return Err(CountMinError::WindowDecrement);
        }
        let estimate = all.increment(item, by)?;
        if by > 0 {
            let cells = self.no_cells();
            let pane = self.panes.entry(self.newest).or_insert_with(|| Pane {
                counts: HashMap::new(),
                cells,
            });
            *pane.counts.entry(item).or_default() += by.cast_unsigned();
            let pane = pane.cells.increment(item, by);
            assert!(pane.expect("at most the count of all panes") <= estimate);
        }
        Ok(estimate)
    }

    /// The weighted sum of two models, and of all their live panes.
    fn merged(
        &self,
        weight: i64,
        other: &Self,
        other_weight: i64,
    ) -> Result<(Self, CountMin), CountMinError> {
        let mut merged = Self::new(self.shape, self.window);
        merged.newest = self.newest.max(other.newest);
        let empty = Pane {
            counts: HashMap::new(),
            cells: self.no_cells(),
        };
        for pane in merged.newest.saturating_sub(self.window.panes())..=merged.newest {
            let own = self.panes.get(&pane);
            let others = other.panes.get(&pane);
            if own.is_none() && others.is_none() {
                continue;
            }
            let mut sum = own.unwrap_or(&empty).try_clone();
            let others = others.unwrap_or(&empty);
            sum.cells.merge(&[
                MergeSource {
                    sketch: None,
                    weight,
                },
                MergeSource {
                    sketch: Some(&others.cells),
                    weight: other_weight,
                },
            ])?;
            let weights = [weight, other_weight].map(i64::cast_unsigned);
            sum.counts
                .values_mut()
                .for_each(|count| *count *= weights[0]);
            for (item, count) in &others.counts {
                *sum.counts.entry(item).or_default() += count * weights[1];
            }
            merged.panes.insert(pane, sum);
        }
        let all = merged.all_at(0)?;
        Ok((merged, all))
    }

    /// Compares the total and the estimate of an item at a time.
    fn check(&self, sketch: &CountMinWindow, item: &[u8], current: u64) {
        let all = self.all_at(current).expect("at most the sums of all panes");
        assert_eq!(sketch.total(sketch.panes_in(current)), all.total());
        let estimate = sketch.query(item, sketch.panes_in(current));
        assert_eq!(estimate, all.query(item));
        let counts = self
            .live(current)
            .filter_map(|(_, pane)| pane.counts.get(item));
        assert!(estimate >= counts.sum(), "the estimate is below the count");
    }
}

/// Decodes `bytes` as a sequence of operations on two sketches of the same shape and window, and compares them with the
/// model.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let window = window::window(&mut input);
    let (width, depth) = (u64::from(input.byte()), u64::from(input.byte() % 20));
    let cell_size = CellSize::from_bytes(input.pick(&[1, 2, 4, 8])).expect("a valid cell size");
    let new = || CountMinWindow::new(width, depth, cell_size, window, Budget::new(&allows));
    let (Ok(mut sketch), Ok(mut other)) = (new(), new()) else {
        return;
    };
    let shape = sketch.shape();
    let (mut model, mut other_model) = (Model::new(shape, window), Model::new(shape, window));
    // The sum of the live panes of the model.
    let mut all = model.no_cells();
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=39 => {
                let (item, by) = (input.item(), i64::from(input.byte()));
                let limit = u64::from(input.byte()) + 1;
                let estimate = all.query(item);
                let result = sketch.increment_limited(item, by, limit, Budget::UNLIMITED);
                let expected = match estimate + by.cast_unsigned() <= limit {
                    true => model.increment(&mut all, item, by),
                    false => Err(CountMinError::Overflow),
                };
                assert_eq!(
                    result,
                    expected.map_err(|_| CountMinError::AboveLimit(estimate))
                );
                assert_eq!(sketch.query(item, Panes::ALL), all.query(item));
            }
            40..=129 => {
                let item = input.item();
                let by = match input.byte() {
                    byte if byte < 245 => byte.into(),
                    _ => input.u64().cast_signed(),
                };
                let before = (by <= 0).then(|| stored::digest(&sketch));
                let result = sketch.increment(item, by, Budget::UNLIMITED);
                assert_eq!(result, model.increment(&mut all, item, by));
                assert_eq!(sketch.query(item, Panes::ALL), all.query(item));
                if let Some(before) = before {
                    assert!(stored::digest(&sketch) == before, "nothing must change");
                }
            }
            130..=174 => {
                let step = window::step(&mut input, window);
                advance(&mut sketch, model.newest.saturating_add(step));
                model.newest = sketch.timeline().newest();
                all = model.all_at(0).expect("at most the sums before");
            }
            175..=199 => {
                let current = window::current(&mut input, &sketch);
                model.check(&sketch, input.item(), current);
            }
            200..=219 => {
                std::mem::swap(&mut sketch, &mut other);
                std::mem::swap(&mut model, &mut other_model);
                all = model.all_at(0).expect("this state was reached before");
            }
            220..=234 => {
                let [own, others] =
                    [(); 2].map(|()| input.pick(&[1, 0, 2, 1, 3, 1 << 40, i64::MAX]));
                let before = stored::digest(&sketch);
                let sources = [source(None, own), source(Some(&other), others)];
                let result = sketch.merge_within(&sources, u64::MAX, Budget::UNLIMITED);
                match model.merged(own, &other_model, others) {
                    Ok(merged) => {
                        assert_eq!(result, Ok(stored::digest(&sketch) != before));
                        (model, all) = merged;
                    }
                    Err(error) => {
                        assert_eq!(result, Err(error));
                        assert!(stored::digest(&sketch) == before, "nothing must change");
                    }
                }
            }
            235..=249 => sketch = window::copied(&mut input, &sketch),
            _ => reloads(&sketch),
        }
        assert_eq!(sketch.timeline().newest(), model.newest);
        assert_eq!(sketch.total(Panes::ALL), all.total());
    }
    for (pane, sum) in model.live(0) {
        assert_eq!(sketch.pane_total(*pane), sum.cells.total());
        for item in sum.counts.keys() {
            model.check(&sketch, item, *pane);
        }
    }
    reloads(&sketch);
}
