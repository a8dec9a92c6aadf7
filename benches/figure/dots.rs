//! Charts of dots: a row per case, on linear axes.

use super::{Axis, Drawing, LINE, MARGIN, SERIES, TEXT, WIDTH, text_width};

/// Maximum width of a label on one line.
const MAX_LABEL: f64 = 268.0;
/// Height of a row with one line of text.
const ROW: f64 = 26.0;
/// Width of a column of numbers.
const NUMBER: f64 = 58.0;

/// A row: its label, and a value with its text for each series that has one.
#[derive(Clone, Debug)]
pub struct Dots {
    pub label: String,
    pub values: Vec<(usize, f64, String)>,
}

/// Rows that share an axis.
#[derive(Clone, Debug)]
pub struct Panel {
    pub axis: Axis,
    pub rows: Vec<Dots>,
}

/// A vertical line at a value, with a band of values that count as equal to it.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    pub value: f64,
    pub tolerance: f64,
}

/// Panels, from top to bottom.
#[derive(Clone, Debug)]
pub struct DotChart {
    /// One or more lines of text.
    pub title: String,
    /// Lines of text below the title.
    pub notes: Vec<String>,
    /// Names of the series, each with its own column of numbers. If empty, all series share one column.
    pub series: Vec<String>,
    pub reference: Option<Reference>,
    pub panels: Vec<Panel>,
}

/// Splits a label that is wider than [`MAX_LABEL`] after the first comma that a space follows.
fn lines(label: &str) -> Vec<&str> {
    match label.split_once(", ") {
        Some((first, rest)) if text_width(label) > MAX_LABEL => {
            vec![&label[..=first.len()], rest]
        }
        _ => vec![label],
    }
}

impl DotChart {
    /// Returns the chart as SVG.
    ///
    /// # Panics
    /// If it has too many series, or a text does not fit.
    pub fn svg(&self) -> String {
        let mut drawing = Drawing::default();
        let mut y = drawing.title(&self.title);
        for note in &self.notes {
            y += LINE;
            drawing.text("quiet", MARGIN, y - 6.0, note);
        }
        if !self.series.is_empty() {
            let names: Vec<_> = self.series.iter().map(String::as_str).enumerate().collect();
            y = drawing.legend(y, &names, false);
        }
        let columns = self.series.len().max(1) as f64;
        let labels = self.panels.iter().flat_map(|panel| &panel.rows);
        let widest = labels.flat_map(|row| lines(&row.label)).map(text_width);
        let left = MARGIN + widest.fold(0.0, f64::max) + 16.0;
        let right = WIDTH - MARGIN - columns * NUMBER - 8.0;
        for panel in &self.panels {
            y = self.panel(&mut drawing, panel, (left, right), y);
        }
        drawing.finish(&self.title, y + MARGIN)
    }

    /// Draws a panel below `y`. Returns the position below it.
    fn panel(
        &self,
        drawing: &mut Drawing,
        panel: &Panel,
        (left, right): (f64, f64),
        mut y: f64,
    ) -> f64 {
        for line in panel.axis.label.lines() {
            y += LINE;
            drawing.text("quiet", MARGIN, y - 6.0, line);
        }
        let x = |value: f64| panel.axis.position(value, left, right);
        let top = y + LINE + 4.0;
        let heights = panel.rows.iter().map(height);
        let bottom = top + heights.sum::<f64>();
        if let Some(Reference { value, tolerance }) = self.reference {
            let (from, to) = (x(value - tolerance), x(value + tolerance));
            drawing.rectangle("band", (from, top), to - from, bottom - top);
        }
        let labeled = panel
            .axis
            .labeled((left, right), |text| text_width(text) + 8.0);
        for i in labeled {
            let (value, text) = &panel.axis.ticks[i];
            drawing.text("middle", x(*value), top - 8.0, text);
            drawing.line("grid", (x(*value), top), (x(*value), bottom));
        }
        if self.series.len() > 1 {
            for series in 0..self.series.len() {
                drawing.marker(series, self.column(series) - NUMBER / 3.0, top - 14.0);
            }
        }
        let middle = |y: f64, row: &Dots| y + height(row) / 2.0;
        y = top;
        for row in &panel.rows {
            let lines = lines(&row.label);
            for (i, line) in lines.iter().enumerate() {
                let baseline = y + (i as f64 + 0.5) * (LINE - 3.0) + 8.0;
                drawing.text("", MARGIN, baseline, line);
            }
            drawing.line("grid", (left, middle(y, row)), (right, middle(y, row)));
            y += height(row);
        }
        if let Some(Reference { value, .. }) = self.reference {
            drawing.line("reference", (x(value), top), (x(value), bottom));
        }
        y = top;
        for row in &panel.rows {
            let middle = middle(y, row);
            y += height(row);
            for (series, value, text) in &row.values {
                assert!(*series < SERIES, "{}", row.label);
                drawing.marker(*series, x(*value), middle);
                let column = if self.series.is_empty() { 0 } else { *series };
                drawing.text("end", self.column(column), middle + 6.0, text);
            }
        }
        y + TEXT
    }

    /// The right end of a column of numbers.
    fn column(&self, series: usize) -> f64 {
        let after = self.series.len().max(1) - 1 - series;
        WIDTH - MARGIN - after as f64 * NUMBER
    }
}

fn height(row: &Dots) -> f64 {
    ROW + (lines(&row.label).len() as f64 - 1.0) * (LINE - 3.0)
}
