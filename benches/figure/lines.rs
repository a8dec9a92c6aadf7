//! Charts of lines.

use super::{Axis, Drawing, LINE, MARGIN, SERIES, TEXT, WIDTH, text_width};

/// Height of the plot without axes.
const PLOT: f64 = 270.0;
/// Maximum number of points with a marker each. A series with more points has about eight markers.
const MAX_MARKERS: usize = 45;

/// A point of a series. `range` is the smallest and the largest value if several were measured.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub range: Option<(f64, f64)>,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, range: None }
    }
}

/// A line and its name.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
}

/// Lines over two axes.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// One or more lines of text.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

impl LineChart {
    /// Returns the chart as SVG.
    ///
    /// # Panics
    /// If it has too many series, or a text does not fit.
    pub fn svg(&self) -> String {
        assert!(self.series.len() <= SERIES, "{}", self.title);
        let mut drawing = Drawing::default();
        let below_title = drawing.title(&self.title);
        // The legend has the order of the lines, from top to bottom.
        let mut names: Vec<_> = self.series.iter().enumerate().collect();
        let mean = |series: &Series| {
            let values = series.points.iter().map(|point| point.y);
            values.sum::<f64>() / series.points.len() as f64
        };
        names.sort_by(|a, b| mean(b.1).total_cmp(&mean(a.1)));
        let names: Vec<_> = names.iter().map(|(i, s)| (*i, s.name.as_str())).collect();
        let below_legend = drawing.legend(below_title, &names, true);

        drawing.text("quiet", MARGIN, below_legend + TEXT, &self.y.label);
        let top = below_legend + LINE + 14.0;
        let bottom = top + PLOT;
        let widest = self.y.ticks.iter().map(|(_, text)| text_width(text));
        let left = MARGIN + widest.fold(0.0, f64::max) + 8.0;
        let half_of_last = self.x.ticks.last().map_or(0.0, |t| text_width(&t.1)) / 2.0;
        let right = WIDTH - (half_of_last + 2.0).max(MARGIN);
        let height = self.axes(&mut drawing, (left, right), (bottom, top));

        for (i, series) in self.series.iter().enumerate() {
            let at = |point: &Point, y: f64| {
                (
                    self.x.position(point.x, left, right),
                    self.y.position(y, bottom, top),
                )
            };
            for point in &series.points {
                if let Some((least, most)) = point.range {
                    let class = format!("s{i} range");
                    drawing.line(&class, at(point, least), at(point, most));
                }
            }
            let points: Vec<_> = series.points.iter().map(|p| at(p, p.y)).collect();
            drawing.curve(i, &points);
            let step = match points.len() {
                0..=MAX_MARKERS => 1,
                many => many / 8,
            };
            for (x, y) in points
                .iter()
                .skip(step / 2 * usize::from(step > 1))
                .step_by(step)
            {
                drawing.marker(i, *x, *y);
            }
        }
        drawing.finish(&self.title, height)
    }

    /// Draws grid, ticks and texts of the axes. Returns the height of the figure.
    fn axes(
        &self,
        drawing: &mut Drawing,
        (left, right): (f64, f64),
        (bottom, top): (f64, f64),
    ) -> f64 {
        for i in self.y.labeled((bottom, top), |_| LINE) {
            let (value, text) = &self.y.ticks[i];
            let y = self.y.position(*value, bottom, top);
            drawing.line("grid", (left, y), (right, y));
            drawing.text("end", left - 8.0, y + 6.0, text);
        }
        let labeled = self
            .x
            .labeled((left, right), |text| text_width(text) + 12.0);
        for (i, (value, text)) in self.x.ticks.iter().enumerate() {
            let x = self.x.position(*value, left, right);
            if labeled.contains(&i) {
                drawing.line("grid", (x, bottom), (x, top));
                drawing.text("middle", x, bottom + 12.0 + TEXT, text);
            }
            let length = if labeled.contains(&i) { 9.0 } else { 5.0 };
            drawing.line("axis", (x, bottom), (x, bottom + length));
        }
        drawing.line("axis", (left, bottom), (right, bottom));
        let mut y = bottom + 12.0 + TEXT;
        for line in self.x.label.lines() {
            y += LINE;
            drawing.text("end quiet", WIDTH - MARGIN, y, line);
        }
        y + 14.0
    }
}
