//! Figures of the documentation, as SVG, in one style: light and dark, each with its own background; the smallest text is 11
//! pixels high if the figure is 360 pixels wide; each series has its own color and its own marker.

// Each program that includes this file uses a part of it.
#![allow(dead_code)]

use std::fmt::Write;

/// Width of every figure.
const WIDTH: f64 = 560.0;
/// Distance of all content from the edges.
const MARGIN: f64 = 14.0;
/// Height of text.
const TEXT: f64 = 17.5;
/// Distance between lines of text.
const LINE: f64 = 24.0;
/// Height of the plot of a [`LineChart`] without axes.
const PLOT: f64 = 270.0;
/// Style sheet of every figure, also of docs/plots/choosing.svg, which is not generated. The colors of the series follow Okabe and
/// Ito (Color Universal Design, 2008), with a contrast of at least 3:1 to the background.
pub const STYLE: &str = include_str!("figure.css");

/// The marker of each series: circle, square, triangle, diamond, triangle with the point down.
const MARKERS: [&str; 5] = [
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "m-4-4h8v8h-8z",
    "m0-5.4l5.2 9h-10.4z",
    "m0-5.8l5.2 5.8l-5.2 5.8l-5.2-5.8z",
    "m0 5.4l5.2-9h-10.4z",
];

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
    /// Values with a tick, in ascending order, and their texts; a tick with an empty text is only a mark.
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
        let ticks = ticks.into_iter().map(|value| (value, text(value)));
        Self {
            ticks: ticks.collect(),
            label: label.to_owned(),
            scale,
            from,
            to,
        }
    }

    /// The position of a value between `start` and `end`.
    fn position(&self, value: f64, start: f64, end: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        };
        let (from, to) = (place(self.from), place(self.to));
        start + (place(value) - from) / (to - from) * (end - start)
    }
}

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

/// The points of a line, or bars, and their name.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
}

/// Values over two axes.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// One or more lines of text.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// Estimated width of a text in DejaVu Sans, the widest font of the style sheet.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 0.62 * TEXT
}

/// The elements of a figure.
#[derive(Debug, Default)]
struct Drawing(String);

impl Drawing {
    /// Adds an element.
    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{element}");
    }

    /// Adds a text with its baseline at `y`. The first word of `class` may be the anchor, `end` or `middle`.
    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        assert!(!text.contains(['&', '<', '>']), "{text}");
        self.add(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }

    /// Adds lines through the points.
    fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}"));
        let points = points.collect::<Vec<_>>().join("L");
        self.add(format_args!("<path class=\"{class}\" d=\"M{points}\"/>"));
    }

    /// Adds the marker of a series.
    fn marker(&mut self, series: usize, x: f64, y: f64) {
        let path = MARKERS[series];
        self.add(format_args!(
            "<path class=\"s{series}\" d=\"M{x:.1} {y:.1}{path}\"/>"
        ));
    }

    /// Adds the lines of a text below `y`. Returns the position below them.
    fn lines(&mut self, class: &str, mut y: f64, text: &str) -> f64 {
        for line in text.lines() {
            y += LINE;
            self.text(class, MARGIN, y - 6.0, line);
        }
        y + 2.0
    }

    /// Adds markers and names of series below `y`. Returns the position below them.
    fn legend<'a>(&mut self, mut y: f64, names: impl Iterator<Item = &'a str>) -> f64 {
        for (series, name) in names.enumerate() {
            self.marker(series, MARGIN + 6.0, y + LINE / 2.0);
            self.text("", MARGIN + 20.0, y + LINE / 2.0 + 6.0, name);
            y += LINE;
        }
        y + 6.0
    }

    /// Returns the complete figure. `title` is for screen readers.
    fn finish(self, title: &str, height: f64) -> String {
        let title = title.replace('\n', " ");
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            self.0
        )
    }
}

impl LineChart {
    /// Returns the chart as SVG, with a line through the points of each series.
    ///
    /// # Panics
    /// If it has more than five series.
    pub fn svg(&self) -> String {
        self.draw(PLOT, true)
    }

    /// Like [`LineChart::svg`], without lines, and with a row for each tick of the vertical axis. A single series has bars.
    pub fn rows(&self) -> String {
        self.draw(self.y.ticks.len() as f64 * LINE, false)
    }

    fn draw(&self, height: f64, with_lines: bool) -> String {
        let mut drawing = Drawing::default();
        let below_title = drawing.lines("title", MARGIN, &self.title);
        let names = self.series.iter().map(|series| &*series.name);
        let below_legend = drawing.legend(below_title, names);
        let top = drawing.lines("quiet", below_legend, &self.y.label) + 14.0;
        let bottom = top + height;
        let widest = self.y.ticks.iter().map(|(_, text)| text_width(text));
        let left = MARGIN + widest.fold(0.0, f64::max) + 8.0;
        // Half of the text of the last tick is right of the axis.
        let right = WIDTH - 3.0 * MARGIN;
        for (value, text) in &self.y.ticks {
            let y = self.y.position(*value, bottom, top);
            drawing.path("grid", &[(left, y), (right, y)]);
            drawing.text("end", left - 8.0, y + 6.0, text);
        }
        for (value, text) in &self.x.ticks {
            let x = self.x.position(*value, left, right);
            let length = if text.is_empty() { 5.0 } else { 9.0 };
            drawing.path("axis", &[(x, bottom), (x, bottom + length)]);
            if !with_lines {
                drawing.path("grid", &[(x, top), (x, bottom)]);
            }
            drawing.text("middle", x, bottom + 12.0 + TEXT, text);
        }
        drawing.path("axis", &[(left, bottom), (right, bottom)]);
        let below = bottom + 12.0 + TEXT + LINE;
        drawing.text("end quiet", WIDTH - MARGIN, below, &self.x.label);
        for (i, series) in self.series.iter().enumerate() {
            let x = |point: &Point| self.x.position(point.x, left, right);
            let y = |value: f64| self.y.position(value, bottom, top);
            let points = series.points.iter();
            let ranges = points.filter_map(|point| Some((x(point), point.range?)));
            for (x, (least, most)) in ranges {
                drawing.path(&format!("s{i} range"), &[(x, y(least)), (x, y(most))]);
            }
            let points = series.points.iter();
            let points: Vec<_> = points.map(|point| (x(point), y(point.y))).collect();
            if with_lines {
                drawing.path(&format!("s{i} line"), &points);
            }
            // A dense curve has about eight markers.
            let is_dense = points.len() > 45;
            let step = if is_dense { points.len() / 8 } else { 1 };
            for &(x, y) in points.iter().skip(step / 2).step_by(step) {
                if with_lines || self.series.len() > 1 {
                    drawing.marker(i, x, y);
                } else {
                    drawing.path(&format!("s{i} bar"), &[(left, y), (x, y)]);
                }
            }
        }
        drawing.finish(&self.title, below + MARGIN)
    }
}
