//! A model of the panes of a window: one step per unit, and one test per pane in each step.

use roughly_sketch::blocks::{BlockMover, BlockVisitor, Blocks};
use roughly_sketch::window::{Timed, Timeline, Window};

/// A type of sketch whose panes may grow with age, without a sketch.
#[derive(Debug)]
pub struct Leveled;

impl Blocks for Leveled {
    fn for_each_block(&self, _: &mut impl BlockVisitor) {}

    fn relocate_block(&mut self, _: usize, _: &mut impl BlockMover) -> bool {
        false
    }
}

impl Timed for Leveled {
    const MAX_PANES: u64 = 100;
    const HAS_LEVELS: bool = true;
}

/// A live pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPane<C> {
    /// The first unit.
    pub first: i128,
    /// The unit after the last one.
    pub end: i128,
    /// `None` without increments.
    pub content: Option<C>,
}

/// The live panes of a window, with contents of type `C`.
#[derive(Debug, Clone)]
pub struct PanesModel<C> {
    panes: i128,
    units: i128,
    /// The highest level.
    levels: u32,
    newest: i128,
    live: Vec<ModelPane<C>>,
}

impl<C: Clone> PanesModel<C> {
    /// The panes of a window whose newest pane is `newest`. If it is not 0, older panes are missing until a window has passed.
    pub fn new(window: Window, newest: u64) -> Self {
        let units = window.ms().div_ceil(window.pane_ms());
        let mut levels = 0;
        while (window.panes() + 1) << (levels + 1) <= units {
            levels += 1;
        }
        let mut model = Self {
            panes: window.panes().into(),
            units: units.into(),
            levels,
            newest: newest.into(),
            live: Vec::new(),
        };
        model.begin();
        model
    }

    fn begin(&mut self) {
        self.live.push(ModelPane {
            first: self.newest,
            end: self.newest + 1,
            content: None,
        });
    }

    /// The content of the newest pane.
    pub fn newest(&mut self) -> &mut Option<C> {
        &mut self.live.last_mut().expect("the newest pane").content
    }

    /// The live panes, oldest first.
    pub fn live(&self) -> &[ModelPane<C>] {
        &self.live
    }

    /// Makes the next unit the newest pane. `merge` returns the merge of an older and a younger content. Returns the number of
    /// merges of panes, also of those without content.
    pub fn step(&mut self, merge: impl Fn(&C, &C) -> C) -> usize {
        self.newest += 1;
        self.begin();
        let mut merges = 0;
        for level in 0..self.levels {
            let len = 1i128 << level;
            let end_of_pair = |pane: &ModelPane<C>| (pane.first.div_euclid(2 * len) + 1) * 2 * len;
            let due = self.newest - self.panes * 2 * len - len;
            let older = (self.live.iter())
                .position(|pane| pane.end - pane.first == len && end_of_pair(pane) == due);
            let Some(at) = older else { continue };
            merges += 1;
            let younger = self.live.get(at + 1).filter(|pane| pane.first < due);
            let contents = (&self.live[at].content, younger.map(|pane| &pane.content));
            let content = match contents {
                (Some(older), Some(Some(younger))) => Some(merge(older, younger)),
                (None, Some(content)) | (content, _) => content.clone(),
            };
            let count = 1 + usize::from(younger.is_some());
            let merged = ModelPane {
                first: due - 2 * len,
                end: due,
                content,
            };
            self.live.splice(at..at + count, [merged]);
        }
        let (newest, units) = (self.newest, self.units);
        self.live.retain(|pane| pane.end + units > newest);
        merges
    }

    /// Steps until `newest` is the newest pane. After a jump over the whole window, the panes without content are missing.
    pub fn advance(&mut self, newest: u64, merge: impl Fn(&C, &C) -> C) {
        if i128::from(newest) > self.newest + 2 * self.units {
            self.newest = newest.into();
            self.live.clear();
            self.begin();
        }
        while self.newest < newest.into() {
            self.step(&merge);
        }
    }
}

/// A timeline with this newest pane.
pub fn timeline(window: Window, newest: u64) -> Timeline {
    let mut timeline = Timeline::new::<Leveled>(window).expect("a window");
    timeline.advance(newest);
    timeline
}
