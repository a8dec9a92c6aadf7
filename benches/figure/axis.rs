//! Axes.

/// How an axis maps values to positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    Logarithmic,
}

/// An axis from one value to another.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    pub scale: Scale,
    pub from: f64,
    pub to: f64,
    /// Values with a tick, in ascending order, and their texts.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis with ticks at the given values.
    pub fn new(
        label: &str,
        scale: Scale,
        (from, to): (f64, f64),
        ticks: impl IntoIterator<Item = f64>,
        text: impl Fn(f64) -> String,
    ) -> Self {
        Self {
            label: label.to_owned(),
            scale,
            from,
            to,
            ticks: ticks
                .into_iter()
                .map(|value| (value, text(value)))
                .collect(),
        }
    }

    /// The position of a value between `start` and `end`.
    pub(super) fn position(&self, value: f64, start: f64, end: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        };
        let (from, to) = (place(self.from), place(self.to));
        start + (place(value) - from) / (to - from) * (end - start)
    }

    /// Indexes of the ticks with visible texts on an axis from `start` to `end`: no texts overlap. `room` is the space
    /// that a text needs. The first and the last tick have priority, then powers of ten on a logarithmic axis.
    pub(super) fn labeled(
        &self,
        (start, end): (f64, f64),
        room: impl Fn(&str) -> f64,
    ) -> Vec<usize> {
        let last = self.ticks.len().saturating_sub(1);
        let mut order: Vec<usize> = (0..self.ticks.len()).collect();
        let has_priority = |&i: &usize| i == 0 || i == last;
        order.sort_by_key(|i| {
            (
                !has_priority(i),
                self.scale == Scale::Logarithmic && !self.ticks[*i].1.starts_with('1'),
            )
        });
        let mut chosen: Vec<usize> = Vec::new();
        for i in order {
            let (value, text) = &self.ticks[i];
            let at = self.position(*value, start, end);
            let is_free = chosen.iter().all(|&other| {
                let (value, other) = &self.ticks[other];
                let distance = (self.position(*value, start, end) - at).abs();
                distance >= (room(text) + room(other)) / 2.0
            });
            if is_free && !text.is_empty() {
                chosen.push(i);
            }
        }
        chosen.sort_unstable();
        chosen
    }
}
