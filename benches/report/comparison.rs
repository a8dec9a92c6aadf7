//! Times of Roughly as ratios to those of another module.
//!
//! The other module may have been measured beside an older commit of Roughly. If a newer commit was later measured
//! beside that commit, the present ratio is the product of the two ratios.

use serde_json::Value;

/// A ratio of times, and its quartiles if they were recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub value: f64,
    pub range: Option<(f64, f64)>,
    /// Whether two passes agree; `true` if it was not recorded.
    pub agree: bool,
}

impl Ratio {
    /// The ratio of Roughly to the other module in a case of a results file.
    fn of(case: &Value) -> Option<Self> {
        let number = |field: &str| case[field].as_f64();
        Some(Self {
            // Older results have no median of ratios.
            value: match number("ratio") {
                Some(median) => median,
                None => number("roughly")? / number("peer")?,
            },
            range: number("ratio_low").zip(number("ratio_high")),
            agree: case["agree"] != false,
        })
    }

    /// The product with the ratio of another run. A factor without a range counts as exact.
    fn times(self, other: Self) -> Self {
        let range = |ratio: Self| ratio.range.unwrap_or((ratio.value, ratio.value));
        let (a, b) = (range(self), range(other));
        let has_range = self.range.is_some() || other.range.is_some();
        Self {
            value: self.value * other.value,
            range: has_range.then_some((a.0 * b.0, a.1 * b.1)),
            agree: self.agree && other.agree,
        }
    }
}

/// The result of one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// CPU time of Roughly and of the other module, in ns per command, in the same run.
    pub roughly: f64,
    pub peer: f64,
    /// The ratio of these times.
    pub measured: Ratio,
    /// The ratio of a newer commit of Roughly: a product of two runs.
    pub product: Option<Ratio>,
}

impl Row {
    /// The ratio of the newest commit that was measured.
    pub fn newest(&self) -> Ratio {
        self.product.unwrap_or(self.measured)
    }
}

/// The results of Roughly beside another module.
#[derive(Clone, Debug)]
pub struct Comparison {
    results: Value,
    baseline: Option<Value>,
}

/// Whether two abbreviated hashes are of the same commit.
fn is_same_commit(a: &str, b: &str) -> bool {
    !a.is_empty() && !b.is_empty() && (a.starts_with(b) || b.starts_with(a))
}

fn field<'a>(results: &'a Value, name: &str) -> &'a str {
    results[name].as_str().unwrap_or_default()
}

impl Comparison {
    /// Results of Roughly beside another module, and of a newer commit beside a baseline. A baseline other than the commit of the first
    /// results is ignored.
    pub fn new(results: Value, baseline: Option<Value>) -> Self {
        let baseline = baseline
            .filter(|baseline| is_same_commit(field(baseline, "peer"), field(&results, "roughly")));
        Self { results, baseline }
    }

    /// Name and version of the other module.
    pub fn peer(&self) -> &str {
        field(&self.results, "peer")
    }

    /// Name and version of the server.
    pub fn server(&self) -> &str {
        field(&self.results, "server")
    }

    /// The commit that was measured beside the other module.
    pub fn commit(&self) -> &str {
        field(&self.results, "roughly")
    }

    /// The newer commit, and the server on which it was measured beside the older commit.
    pub fn newer(&self) -> Option<(&str, &str)> {
        let baseline = self.baseline.as_ref()?;
        Some((field(baseline, "roughly"), field(baseline, "server")))
    }

    /// The names of all cases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let cases = self.results["cases"].as_object().into_iter();
        cases.flat_map(|cases| cases.keys().map(String::as_str))
    }

    /// The result of a case, if it was measured.
    pub fn row(&self, name: &str) -> Option<Row> {
        let case = self.results["cases"].get(name)?;
        let measured = Ratio::of(case)?;
        let later = self.baseline.as_ref();
        let later = later.and_then(|baseline| Ratio::of(baseline["cases"].get(name)?));
        Some(Row {
            roughly: case["roughly"].as_f64()?,
            peer: case["peer"].as_f64()?,
            measured,
            product: later.map(|later| measured.times(later)),
        })
    }
}
