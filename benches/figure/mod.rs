//! Figures of the documentation, as SVG, in one style.
//!
//! - A figure has a light and a dark style, each with its own background. The text is legible even if the browser
//!   chooses a style other than the page's.
//! - The smallest text is 11 pixels high if the figure is 360 pixels wide.
//! - The legend is above the plot and never covers data.
//! - Each series has its own color and its own marker shape, for readers who cannot tell the colors apart.
//!
//! docs/plots/choosing.svg is not generated, but contains the same style sheet.

// Each target uses only some kinds of charts.
#![allow(dead_code, unused_imports)]

mod axis;
mod dots;
mod lines;

pub use axis::{Axis, Scale};
pub use dots::{DotChart, Dots, Panel, Reference};
pub use lines::{LineChart, Point, Series};

use std::fmt::Write;

/// Width of every figure.
pub const WIDTH: f64 = 560.0;
/// Distance of all content from the edges.
const MARGIN: f64 = 14.0;
/// Height of text.
const TEXT: f64 = 17.5;
/// Distance between lines of text.
const LINE: f64 = 24.0;

/// Style sheet of every figure. The colors of the series follow Okabe and Ito (Color Universal Design, 2008), with
/// a contrast of at least 3:1 to the background.
pub const STYLE: &str = "\
text{font:17.5px Helvetica,Arial,\"Liberation Sans\",\"DejaVu Sans\",sans-serif;fill:#1f2328}
.title{font-weight:bold}
.end{text-anchor:end}
.middle{text-anchor:middle}
.quiet{fill:#59636e}
.page{fill:#fff}
.grid{stroke:#d8dee4}
.axis{stroke:#59636e}
.band{fill:#e6eaef}
.reference{stroke:#1f2328;stroke-width:2}
.s0{fill:#0072b2;stroke:#0072b2}
.s1{fill:#d55e00;stroke:#d55e00}
.s2{fill:#00865f;stroke:#00865f}
.s3{fill:#b0488a;stroke:#b0488a}
.s4{fill:#8a6d00;stroke:#8a6d00}
.s5{fill:#59636e;stroke:#59636e}
path.line{fill:none;stroke-width:2.5;stroke-linejoin:round}
.range{stroke-width:2;opacity:.6}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.quiet{fill:#9aa4af}
.page{fill:#0d1117}
.grid{stroke:#2f363e}
.axis{stroke:#9aa4af}
.band{fill:#262d36}
.reference{stroke:#e6edf3}
.s0{fill:#58b2f0;stroke:#58b2f0}
.s1{fill:#ff8f4a;stroke:#ff8f4a}
.s2{fill:#35c99b;stroke:#35c99b}
.s3{fill:#ee93c8;stroke:#ee93c8}
.s4{fill:#dcc04a;stroke:#dcc04a}
.s5{fill:#a8b1bb;stroke:#a8b1bb}
}
";

/// Maximum number of series: each has a different color and marker.
const SERIES: usize = 6;

/// Estimated width of a text in DejaVu Sans, the widest font of the style sheet.
fn text_width(text: &str) -> f64 {
    let widths = text.chars().map(|letter| match letter {
        ' ' | '.' | ',' | ':' | 'i' | 'j' | 'l' | 'I' | '\'' | '|' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '-' | '/' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' => 0.96,
        '×' | '÷' | '±' | '+' | '=' | '<' | '>' => 0.84,
        'A'..='Z' => 0.7,
        _ => 0.63,
    });
    widths.sum::<f64>() * TEXT
}

/// The elements of a figure.
#[derive(Debug, Default)]
struct Drawing(String);

impl Drawing {
    /// Adds an element.
    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{element}");
    }

    /// Adds a text with its baseline at `y`. The first word of `class` may be the anchor, `end` or `middle`.
    ///
    /// # Panics
    /// If the text does not fit into the figure.
    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let width = text_width(text) * if class == "title" { 1.13 } else { 1.0 };
        let from = match class.split(' ').next() {
            Some("end") => x - width,
            Some("middle") => x - width / 2.0,
            _ => x,
        };
        assert!(
            from >= 0.0 && from + width <= WIDTH,
            "{text:?} is {width:.0} wide and starts at {from:.0}: it does not fit"
        );
        let text = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let class = match class {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        self.element(format_args!(
            "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }

    fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.element(format_args!(
            "<path class=\"{class}\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    fn rectangle(&mut self, class: &str, (x, y): (f64, f64), width: f64, height: f64) {
        self.element(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        ));
    }

    /// Adds a line through the points of a series.
    fn curve(&mut self, series: usize, points: &[(f64, f64)]) {
        let points: Vec<_> = points
            .iter()
            .map(|(x, y)| format!("{x:.1} {y:.1}"))
            .collect();
        self.element(format_args!(
            "<path class=\"s{series} line\" d=\"M{}\"/>",
            points.join("L")
        ));
    }

    /// Adds a marker with the color and shape of a series.
    fn marker(&mut self, series: usize, x: f64, y: f64) {
        let path = match series {
            1 => "m-4-4h8v8h-8z",                                           // square
            2 => "m0-5.4l5.2 9h-10.4z",                                     // triangle
            3 => "m0-5.8l5.2 5.8l-5.2 5.8l-5.2-5.8z",                       // diamond
            4 => "m0 5.4l5.2-9h-10.4z",                                     // triangle, point down
            5 => "m-5-3l2-2l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3z", // cross
            _ => "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",            // circle
        };
        self.element(format_args!(
            "<path class=\"s{series}\" d=\"M{x:.1} {y:.1}{path}\"/>"
        ));
    }

    /// Adds the title. Returns the position below it.
    fn title(&mut self, title: &str) -> f64 {
        let mut y = MARGIN;
        for line in title.lines() {
            y += LINE;
            self.text("title", MARGIN, y - 6.0, line);
        }
        y + 2.0
    }

    /// Adds markers and names of series below `y`, in two columns if they fit. Returns the position below them.
    fn legend(&mut self, y: f64, names: &[(usize, &str)], with_lines: bool) -> f64 {
        const SAMPLE: f64 = 30.0;
        let widest = names.iter().map(|(_, name)| text_width(name));
        let widest = widest.fold(0.0, f64::max) + SAMPLE + 16.0;
        let columns = if MARGIN + 2.0 * widest < WIDTH { 2 } else { 1 };
        let rows = names.len().div_ceil(columns);
        for (i, (series, name)) in names.iter().enumerate() {
            let x = MARGIN + (i / rows) as f64 * (WIDTH / 2.0 - MARGIN).max(widest);
            let middle = y + (i % rows) as f64 * LINE + LINE / 2.0;
            if with_lines {
                self.curve(*series, &[(x, middle), (x + SAMPLE - 8.0, middle)]);
            }
            self.marker(*series, x + (SAMPLE - 8.0) / 2.0, middle);
            self.text("", x + SAMPLE, middle + 6.0, name);
        }
        y + rows as f64 * LINE + 6.0
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
