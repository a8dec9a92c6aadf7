//! The pictures of docs/performance: curves with their names at their ends, and the overview of all cases.
//!
//! Colours are Okabe and Ito's, which colour-blind people can tell apart; the background is white, so that
//! the pictures can be read on dark pages too.

use crate::Results;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde_json::Value;
use std::ops::Range;
use std::path::Path;

const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];
const GREY: RGBColor = RGBColor(120, 120, 120);
const FONT: &str = "sans-serif";
/// Heights in pixels.
const TITLE: i32 = 17;
const LABEL: i32 = 13;
/// Room for names at the ends of the lines.
const NAMES_WIDTH: i32 = 215;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A line of a picture.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// What the axes say.
struct Axes {
    title: &'static str,
    x: &'static str,
    y: &'static str,
    /// How a number of the x axis is written.
    x_label: fn(&f64) -> String,
    x_is_logarithmic: bool,
}

/// Draws all pictures into a directory.
pub fn draw(results: &Results, directory: &Path) {
    let server = &results.server["curves"];
    let growth = &results.growth["curves"];
    let lines = |curves: &Value, unit: &str| -> Vec<Line> {
        let curves = curves.as_array().expect("curves").iter();
        curves
            .filter(|curve| curve["unit"] == unit)
            .map(line)
            .collect()
    };
    let size = "size of the filter, bytes";
    let pictures = [
        (
            "sizes-server.svg",
            lines(server, size),
            Axes {
                title: "Commands with 100 items: server CPU an item, by size of the filter",
                x: "size of the filter",
                y: "ns an item",
                x_label: bytes,
                x_is_logarithmic: true,
            },
        ),
        (
            "sizes-sketches.svg",
            lines(growth, size),
            Axes {
                title: "Look-ups without a server, by size of the filter",
                x: "size of the filter",
                y: "ns a look-up",
                x_label: bytes,
                x_is_logarithmic: true,
            },
        ),
        (
            "items.svg",
            lines(server, "items of a command"),
            Axes {
                title: "Server CPU an item, by items of a command",
                x: "items of a command",
                y: "ns an item",
                x_label: plain,
                x_is_logarithmic: true,
            },
        ),
        (
            "sub-filters.svg",
            lines(growth, "sub-filters"),
            Axes {
                title: "Look-ups without a server, by number of sub-filters",
                x: "sub-filters",
                y: "ns a look-up",
                x_label: plain,
                x_is_logarithmic: false,
            },
        ),
        (
            "k.svg",
            lines(growth, "k"),
            Axes {
                title: "Top-k without a server, by k (width 8 k, depth 7)",
                x: "k",
                y: "ns an operation",
                x_label: plain,
                x_is_logarithmic: true,
            },
        ),
        (
            "compression.svg",
            lines(growth, "compression"),
            Axes {
                title: "t-digest without a server, by compression",
                x: "compression",
                y: "ns an operation",
                x_label: plain,
                x_is_logarithmic: true,
            },
        ),
        (
            "rows.svg",
            lines(growth, "rows"),
            Axes {
                title: "Count-min sketch without a server, by rows",
                x: "rows",
                y: "ns an increment",
                x_label: plain,
                x_is_logarithmic: false,
            },
        ),
    ];
    for (name, lines, axes) in &pictures {
        let file = directory.join(name);
        curves(&file, lines, axes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        println!("wrote {}", file.display());
    }
    let file = directory.join("overview.svg");
    overview(&file, &results.server["cases"])
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    println!("wrote {}", file.display());
}

fn line(curve: &Value) -> Line {
    let points = curve["points"].as_array().expect("points").iter();
    Line {
        name: curve["name"].as_str().unwrap_or_default().to_owned(),
        points: points
            .map(|point| {
                let number = |i: usize| point[i].as_f64().expect("a number");
                (number(0), number(1))
            })
            .collect(),
    }
}

fn plain(number: &f64) -> String {
    match *number {
        1_000.0.. => format!("{:.0},000", number / 1_000.0),
        _ => format!("{number:.0}"),
    }
}

fn bytes(number: &f64) -> String {
    let exponent = number.log2().round() as u32;
    let (unit, shift) = match exponent {
        30.. => ("GiB", 30),
        20.. => ("MiB", 20),
        _ => ("KiB", 10),
    };
    format!("{} {unit}", 1u64 << (exponent - shift))
}

/// A text style of a size and colour, held at a point of it.
fn style(size: i32, colour: RGBColor, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    let mut style = TextStyle::from((FONT, size).into_font());
    style.color = colour.to_backend_color();
    style.pos(Pos::new(horizontal, vertical))
}

/// Where a range of numbers is on an axis.
struct Scale {
    numbers: Range<f64>,
    pixels: Range<i32>,
    is_logarithmic: bool,
}

impl Scale {
    fn pixel(&self, number: f64) -> i32 {
        let place = |number: f64| match self.is_logarithmic {
            true => number.ln(),
            false => number,
        };
        let (from, to) = (place(self.numbers.start), place(self.numbers.end));
        let share = (place(number) - from) / (to - from);
        let (first, last) = (f64::from(self.pixels.start), f64::from(self.pixels.end));
        (first + share * (last - first)).round() as i32
    }

    /// Round numbers of the axis: powers of ten with their doubles and halves, or even steps.
    fn marks(&self) -> Vec<f64> {
        let steps: Vec<f64> = if self.is_logarithmic {
            (-3..12)
                .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)))
                .collect()
        } else {
            let rough = (self.numbers.end - self.numbers.start) / 6.0;
            let power = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
            let step = step
                .into_iter()
                .find(|&step| step >= rough)
                .unwrap_or(power);
            (0..20).map(|i| f64::from(i) * step).collect()
        };
        let is_shown = |number: &f64| {
            *number >= self.numbers.start * 0.999 && *number <= self.numbers.end * 1.001
        };
        steps.into_iter().filter(is_shown).collect()
    }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A picture of several lines. Every number that was measured has a dot.
fn curves(file: &Path, lines: &[Line], axes: &Axes) -> Drawn {
    let (width, height) = (860, 440);
    let area = SVGBackend::new(file, (width as u32, height as u32)).into_drawing_area();
    area.fill(&WHITE)?;
    let all = || lines.iter().flat_map(|line| &line.points);
    let least = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(0.0, f64::max);
    let spread = most(|p| p.1) / least(|p| p.1);
    let y_is_logarithmic = spread > 8.0;
    let y_numbers = match y_is_logarithmic {
        true => least(|p| p.1) * 0.85..most(|p| p.1) * 1.15,
        false => 0.0..most(|p| p.1) * 1.08,
    };
    let x = Scale {
        numbers: least(|p| p.0)..most(|p| p.0),
        pixels: 70..width - NAMES_WIDTH,
        is_logarithmic: axes.x_is_logarithmic,
    };
    let y = Scale {
        numbers: y_numbers,
        pixels: height - 56..46,
        is_logarithmic: y_is_logarithmic,
    };
    area.draw(&Text::new(
        axes.title,
        (14, 14),
        style(TITLE, BLACK, HPos::Left, VPos::Top),
    ))?;
    grid(&area, &x, &y, axes, all().map(|point| point.0).collect())?;
    let mut ends = Vec::new();
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let pixels: Vec<_> = line
            .points
            .iter()
            .map(|p| (x.pixel(p.0), y.pixel(p.1)))
            .collect();
        area.draw(&PathElement::new(pixels.clone(), colour.stroke_width(2)))?;
        for &pixel in &pixels {
            area.draw(&Circle::new(pixel, 3, colour.filled()))?;
        }
        if let Some(&end) = pixels.last() {
            ends.push((end, &line.name, *colour));
        }
    }
    names(&area, ends)?;
    area.present()?;
    Ok(())
}

/// Marks, their numbers, and what the axes are.
fn grid(area: &Area<'_>, x: &Scale, y: &Scale, axes: &Axes, mut measured: Vec<f64>) -> Drawn {
    let light = RGBColor(225, 225, 225);
    let (left, right) = (x.pixels.start, x.pixels.end);
    let (bottom, top) = (y.pixels.start, y.pixels.end);
    for mark in y.marks() {
        let at = y.pixel(mark);
        area.draw(&PathElement::new([(left, at), (right, at)], light))?;
        let number = if mark < 1.0 {
            format!("{mark}")
        } else {
            plain(&mark)
        };
        area.draw(&Text::new(
            number,
            (left - 8, at),
            style(LABEL, BLACK, HPos::Right, VPos::Center),
        ))?;
    }
    // The numbers that were measured, where there is room for them.
    measured.sort_by(f64::total_cmp);
    measured.dedup();
    let mut free_from = i32::MIN;
    for number in measured {
        let at = x.pixel(number);
        area.draw(&PathElement::new([(at, bottom), (at, bottom + 4)], GREY))?;
        if at >= free_from {
            let text = (axes.x_label)(&number);
            area.draw(&Text::new(
                text,
                (at, bottom + 8),
                style(LABEL, BLACK, HPos::Center, VPos::Top),
            ))?;
            free_from = at + 62;
        }
    }
    area.draw(&PathElement::new(
        [(left, top), (left, bottom), (right, bottom)],
        GREY,
    ))?;
    let middle = (left + right) / 2;
    area.draw(&Text::new(
        axes.x,
        (middle, bottom + 30),
        style(LABEL, BLACK, HPos::Center, VPos::Top),
    ))?;
    let upright = style(LABEL, BLACK, HPos::Center, VPos::Top);
    let upright = upright.transform(FontTransform::Rotate270);
    area.draw(&Text::new(axes.y, (12, (top + bottom) / 2), upright))?;
    Ok(())
}

/// Names at the ends of lines, in their colours, pushed apart where they would overlap.
fn names(area: &Area<'_>, mut ends: Vec<((i32, i32), &String, RGBColor)>) -> Drawn {
    ends.sort_by_key(|end| end.0.1);
    let mut free_from = i32::MIN;
    for ((x, y), name, colour) in ends {
        let at = y.max(free_from);
        free_from = at + LABEL + 4;
        area.draw(&PathElement::new([(x + 5, y), (x + 12, at)], colour))?;
        let text = style(LABEL, colour, HPos::Left, VPos::Center);
        area.draw(&Text::new(name.as_str(), (x + 15, at), text))?;
    }
    Ok(())
}

/// Commands of the overview: built-in ones, then the families; the colour of each.
fn colour_of(name: &str) -> RGBColor {
    let families = ["BF.", "CF.", "CMS.", "TOPK.", "TDIGEST."];
    let family = families.iter().position(|prefix| name.starts_with(prefix));
    family.map_or(GREY, |i| COLOURS[i])
}

/// Multiples of EXISTS, a bar a case, on a logarithmic axis; a mark where there is a goal.
fn overview(file: &Path, cases: &Value) -> Drawn {
    const ROW: i32 = 17;
    let cases = cases.as_array().expect("cases");
    let multiple = |case: &Value| case["multiple"].as_f64().expect("a number");
    let (width, first_row) = (860, 62);
    let height = first_row + ROW * cases.len() as i32 + 16;
    let area = SVGBackend::new(file, (width as u32, height as u32)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = "Server CPU time of a command, in multiples of EXISTS (logarithmic; | is the goal)";
    area.draw(&Text::new(
        title,
        (14, 12),
        style(TITLE, BLACK, HPos::Left, VPos::Top),
    ))?;
    let most = cases.iter().map(multiple).fold(10.0, f64::max);
    let x = Scale {
        numbers: 0.8..most * 1.1,
        pixels: 320..width - 70,
        is_logarithmic: true,
    };
    for mark in x.marks() {
        let at = x.pixel(mark);
        let light = RGBColor(225, 225, 225);
        area.draw(&PathElement::new(
            [(at, first_row - 6), (at, height - 12)],
            light,
        ))?;
        let centred = style(LABEL, BLACK, HPos::Center, VPos::Bottom);
        area.draw(&Text::new(plain(&mark), (at, first_row - 8), centred))?;
    }
    for (case, row) in cases.iter().zip(0i32..) {
        let name = case["name"].as_str().unwrap_or_default();
        let top = first_row + row * ROW;
        let middle = top + ROW / 2;
        let end = x.pixel(multiple(case));
        area.draw(&Text::new(
            name,
            (x.pixels.start - 8, middle),
            style(LABEL, BLACK, HPos::Right, VPos::Center),
        ))?;
        area.draw(&Rectangle::new(
            [(x.pixels.start, top + 3), (end, top + ROW - 3)],
            colour_of(name).filled(),
        ))?;
        let mut number_from = end;
        if let Some(goal) = case["goal"].as_f64() {
            let at = x.pixel(goal);
            area.draw(&PathElement::new(
                [(at, top), (at, top + ROW)],
                BLACK.stroke_width(2),
            ))?;
            number_from = end.max(at);
        }
        let number = match multiple(case) {
            10.0.. => format!("{:.0}", multiple(case)),
            _ => format!("{:.2}", multiple(case)),
        };
        area.draw(&Text::new(
            number,
            (number_from + 6, middle),
            style(LABEL, BLACK, HPos::Left, VPos::Center),
        ))?;
    }
    area.present()?;
    Ok(())
}
