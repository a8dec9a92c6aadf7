//! A plot of lines, as SVG.

pub use plotters::chart::SeriesLabelPosition;
use plotters::prelude::*;

const SIZE: (u32, u32) = (800, 450);
/// Told apart by eyes that see no red or no green too (Okabe & Ito, "Color Universal Design", 2008).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 86, 86),
];

/// An axis: what it shows, from where to where (powers of ten if logarithmic).
#[derive(Debug)]
pub struct Axis {
    pub label: &'static str,
    pub from: f64,
    pub to: f64,
    pub logarithmic: bool,
    pub format: fn(f64) -> String,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        if self.logarithmic {
            value.max(1e-12).log10().max(self.from)
        } else {
            value
        }
    }

    fn text(&self, place: f64) -> String {
        (self.format)(if self.logarithmic {
            10f64.powf(place)
        } else {
            place
        })
    }
}

/// A plot.
#[derive(Debug)]
pub struct Plot {
    pub title: &'static str,
    pub x: Axis,
    pub y: Axis,
    /// Lines with their names.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
    /// Where no line is in the way of their names.
    pub legend: SeriesLabelPosition,
}

impl Plot {
    /// Draws it.
    pub fn svg(&self) -> String {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            area.fill(&WHITE).expect("a background");
            let mut chart = ChartBuilder::on(&area)
                .caption(self.title, ("sans-serif", 20))
                .margin(14)
                .margin_right(40)
                .x_label_area_size(44)
                .y_label_area_size(70)
                .build_cartesian_2d(self.x.from..self.x.to, self.y.from..self.y.to)
                .expect("axes");
            chart
                .configure_mesh()
                .x_desc(self.x.label)
                .y_desc(self.y.label)
                .x_label_formatter(&|place| self.x.text(*place))
                .y_label_formatter(&|place| self.y.text(*place))
                .label_style(("sans-serif", 14))
                .light_line_style(WHITE)
                .draw()
                .expect("a mesh");
            for ((name, points), colour) in self.lines.iter().zip(COLOURS) {
                let places = points
                    .iter()
                    .map(|&(x, y)| (self.x.place(x), self.y.place(y)));
                chart
                    .draw_series(LineSeries::new(places, colour.stroke_width(2)))
                    .expect("a line")
                    .label(name)
                    .legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
                    });
            }
            chart
                .configure_series_labels()
                .position(self.legend.clone())
                .background_style(WHITE.mix(0.8))
                .label_font(("sans-serif", 14))
                .draw()
                .expect("a legend");
            area.present().expect("a picture");
        }
        svg
    }
}
