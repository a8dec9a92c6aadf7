//! The collection of streams: tests, tables and benchmarks of accuracy use all of those that have a meaning for them.
//!
//! A stream is a function that returns the events of a pane; to add one, write the function and add it to [`STREAMS`]. The events
//! are numbers: items, or samples. They depend on the pane, the seed and the parameters only. [`REALS`] has samples that are no whole
//! numbers. `python/tests/streams.json` has the first events of each stream, written by `make pages`.

/// SplitMix64 (Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Uniform in [0, 1).
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From the normal distribution.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.fraction()).cos()
    }
}

/// A Zipf stream: `len` draws from `universe` items. Item 0 is the most frequent.
pub fn zipf_of(exponent: f64, universe: usize, len: usize, seed: u64) -> Vec<u32> {
    zipf_weights(exponent, universe).draws(len, &mut Random(seed))
}

fn zipf_weights(exponent: f64, universe: usize) -> Weights {
    Weights::new((1..=universe).map(|rank| (rank as f64).powf(-exponent)))
}

/// The relative frequencies of items.
#[derive(Debug)]
pub struct Weights {
    /// Of all items up to each one.
    sums: Vec<f64>,
}

impl Weights {
    pub fn new(weights: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let sums = weights.map(|weight| {
            sum += weight;
            sum
        });
        Self {
            sums: sums.collect(),
        }
    }

    /// Independent draws.
    pub fn draws(&self, len: usize, random: &mut Random) -> Vec<u32> {
        let sum = self.sums.last().expect("an item");
        (0..len)
            .map(|_| {
                let drawn = random.fraction() * sum;
                self.sums.partition_point(|&end| end <= drawn) as u32
            })
            .collect()
    }
}

/// What a stream returns the events of.
#[derive(Debug, Clone, Copy)]
pub struct Pane {
    /// From 0.
    pub number: u32,
    /// Its events; a stream can return a few less.
    pub events: usize,
    /// The number of items that are of interest: k of a top-k.
    pub k: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct Stream {
    pub name: &'static str,
    /// Whether k items are more frequent than the others, so that a top-k has a meaning.
    pub has_top: bool,
    /// Whether numbers are samples, not only names of items.
    pub has_samples: bool,
    events: fn(Pane, &mut Random) -> Vec<u32>,
}

impl Stream {
    pub fn events(&self, pane: Pane, seed: u64) -> Vec<u32> {
        let mut random = Random(seed);
        let mut random = Random(random.next_u64() ^ u64::from(pane.number));
        (self.events)(pane, &mut random)
    }

    /// About this many samples: twelve panes.
    pub fn samples(&self, count: usize, seed: u64) -> Vec<f64> {
        let pane = |number| Pane {
            number,
            events: count / 12,
            k: 10,
        };
        let events = (0..12).flat_map(|number| self.events(pane(number), seed));
        events.map(f64::from).collect()
    }
}

const fn items(name: &'static str, events: fn(Pane, &mut Random) -> Vec<u32>) -> Stream {
    Stream {
        name,
        has_top: true,
        has_samples: false,
        events,
    }
}

const fn flat(stream: Stream) -> Stream {
    Stream {
        has_top: false,
        ..stream
    }
}

const fn samples(name: &'static str, events: fn(Pane, &mut Random) -> Vec<u32>) -> Stream {
    Stream {
        name,
        has_top: false,
        has_samples: true,
        events,
    }
}

pub const STREAMS: [Stream; 22] = [
    samples("uniform", uniform),
    items("Zipf(0.6)", |pane, random| zipf_events(0.6, pane, random)),
    items("Zipf(1.0)", |pane, random| zipf_events(1.0, pane, random)),
    items("Zipf(1.3)", |pane, random| zipf_events(1.3, pane, random)),
    samples("sorted", sorted),
    items("events of an item together", together),
    items("bursts", bursts),
    items("drift", drift),
    items("churn", churn),
    items("rotating panes", rotating),
    items("rotating panes, busy items first", rotating_busy_first),
    items("news", news),
    items("every third pane", every_third_pane),
    flat(items("ties", ties)),
    samples("whole milliseconds", milliseconds),
    samples("whole numbers, normal", whole_normal),
    samples("geometric", geometric),
    samples("ratings", ratings),
    samples("85 % zeros", zeros),
    samples("half one value", half_one_value),
    samples("one item only", one_item),
    samples("all different", all_different),
];

/// A kind of samples, of which hardly any occurs twice.
#[derive(Debug, Clone, Copy)]
pub struct Reals {
    pub name: &'static str,
    /// The sample with this number of so many.
    sample: fn(&mut Random, usize, usize) -> f64,
}

impl Reals {
    pub fn samples(&self, count: usize, seed: u64) -> Vec<f64> {
        let mut random = Random(seed);
        let sample = |number| (self.sample)(&mut random, number, count);
        (0..count).map(sample).collect()
    }
}

const fn reals(name: &'static str, sample: fn(&mut Random, usize, usize) -> f64) -> Reals {
    Reals { name, sample }
}

pub const EXPONENTIAL: Reals = reals("exponential", |random, _, _| {
    -(1.0 - random.fraction()).ln()
});
pub const LOGNORMAL: Reals = reals("lognormal, σ = 2", |random, _, _| {
    (2.0 * random.normal()).exp()
});
pub const TWO_MODES: Reals = reals("two modes: 20 ± 2, 400 ± 40", |random, _, _| {
    with_second_mode(random, 0.25)
});
pub const ALTERNATING: Reals = reals(
    "the smallest and the largest in turn",
    |random, number, count| {
        let rank = match number % 2 {
            0 => number / 2,
            _ => count - number / 2,
        };
        rank as f64 + random.fraction()
    },
);

/// Samples around 20, and a share of others around 400.
pub fn with_second_mode(random: &mut Random, share: f64) -> f64 {
    match random.fraction() < share {
        true => 400.0 + 40.0 * random.normal(),
        false => 20.0 + 2.0 * random.normal(),
    }
}

/// The samples of the collection that are no whole numbers.
pub const REALS: [Reals; 9] = [
    reals("uniform", |random, _, _| random.fraction()),
    EXPONENTIAL,
    LOGNORMAL,
    reals("the logarithms of these", |random, _, _| {
        2.0 * random.normal()
    }),
    TWO_MODES,
    reals("two modes, 1.5 % in the second one", |random, _, _| {
        with_second_mode(random, 0.015)
    }),
    reals(
        "blocks of 1,000 around a rising mean",
        |random, number, _| (number / 1000) as f64 * 10.0 + random.normal(),
    ),
    ALTERNATING,
    reals("± 10^x, x from -300 to 300", |random, _, _| {
        let sign = if random.fraction() < 0.5 { -1.0 } else { 1.0 };
        sign * 10f64.powf(600.0 * random.fraction() - 300.0)
    }),
];

/// Items of the streams that do not state another number.
const UNIVERSE: usize = 20_000;

/// The number of an item that occurs in one pane only.
fn of_pane(pane: Pane, item: u32) -> u32 {
    1_000_000 + 10_000 * pane.number + item
}

pub fn shuffle(events: &mut [u32], random: &mut Random) {
    for last in (1..events.len()).rev() {
        let other = (random.next_u64() % (last as u64 + 1)) as usize;
        events.swap(last, other);
    }
}

/// Draws from the whole numbers below a million.
fn uniform(pane: Pane, random: &mut Random) -> Vec<u32> {
    (0..pane.events)
        .map(|_| (random.next_u64() % 1_000_000) as u32)
        .collect()
}

fn zipf_events(exponent: f64, pane: Pane, random: &mut Random) -> Vec<u32> {
    zipf_weights(exponent, UNIVERSE).draws(pane.events, random)
}

/// Uniform draws in ascending order.
fn sorted(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut events = uniform(pane, random);
    events.sort_unstable();
    events
}

/// Zipf draws; all events of an item in a pane follow each other.
fn together(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut events = zipf_events(0.8, pane, random);
    let key = random.next_u64();
    events.sort_by_cached_key(|&item| Random(key ^ u64::from(item)).next_u64());
    events
}

/// Zipf draws; an item occurs 16 times in a row.
fn bursts(pane: Pane, random: &mut Random) -> Vec<u32> {
    let drawn = zipf_weights(0.8, UNIVERSE).draws(pane.events / 16, random);
    drawn.into_iter().flat_map(|item| [item; 16]).collect()
}

/// Zipf draws; the ranking moves by an item per pane.
fn drift(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut events = zipf_events(1.0, pane, random);
    events.iter_mut().for_each(|item| *item += pane.number);
    events
}

/// Zipf draws; in each pane, a tenth of the items is replaced by new ones.
fn churn(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut events = zipf_events(1.0, pane, random);
    for item in &mut events {
        let replaced = (pane.number + 9 - *item % 10) / 10;
        *item += replaced * UNIVERSE as u32;
    }
    events
}

/// A pane has 2 · k busy items of its own; k steady items have 60 % of their frequency.
fn rotating(pane: Pane, random: &mut Random) -> Vec<u32> {
    let (busy, steady) = (2 * pane.k, pane.k);
    let weights = Weights::new((0..busy + steady).map(|item| if item < busy { 1.0 } else { 0.6 }));
    let mut events = weights.draws(pane.events, random);
    for item in &mut events {
        *item = match item.checked_sub(busy as u32) {
            Some(steady) => steady,
            None => of_pane(pane, *item),
        };
    }
    events
}

/// [`rotating`]; the busy items of a pane precede the steady ones.
fn rotating_busy_first(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut events = rotating(pane, random);
    events.sort_by_key(|&item| item < pane.k as u32);
    events
}

/// 60 % of the events are 3 · k stories of the pane, 40 % are 3,000 steady pages.
fn news(pane: Pane, random: &mut Random) -> Vec<u32> {
    let of_stories = pane.events * 3 / 5;
    let mut events = zipf_weights(0.3, 3 * pane.k).draws(of_stories, random);
    events
        .iter_mut()
        .for_each(|story| *story = of_pane(pane, *story));
    events.extend(zipf_weights(0.6, 3_000).draws(pane.events - of_stories, random));
    shuffle(&mut events, random);
    events
}

/// k items of every third pane, and 3 · k items of this pane with 1.2 times their frequency.
fn every_third_pane(pane: Pane, random: &mut Random) -> Vec<u32> {
    let returning = pane.k;
    let weights = (0..4 * pane.k).map(|item| if item < returning { 0.5 } else { 0.6 });
    let mut events = Weights::new(weights).draws(pane.events, random);
    for item in &mut events {
        *item = match item.checked_sub(returning as u32) {
            Some(other) => of_pane(pane, other),
            None => *item + pane.number % 3 * returning as u32,
        };
    }
    events
}

/// 4 · k items, equally often, in random order.
fn ties(pane: Pane, random: &mut Random) -> Vec<u32> {
    let each = pane.events / (4 * pane.k);
    let mut events: Vec<u32> = (0..4 * pane.k as u32)
        .flat_map(|item| std::iter::repeat_n(item, each))
        .collect();
    shuffle(&mut events, random);
    events
}

/// Response times, log-normal with a median of 20 ms and σ = 0.7.
fn milliseconds(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut sample = || (20.0 * (0.7 * random.normal()).exp()).round() as u32;
    (0..pane.events).map(|_| sample()).collect()
}

/// From a normal distribution with a mean of 100 and a deviation of 6.
fn whole_normal(pane: Pane, random: &mut Random) -> Vec<u32> {
    (0..pane.events)
        .map(|_| (100.0 + 6.0 * random.normal()).round() as u32)
        .collect()
}

/// Numbers of failures; a trial succeeds with probability 0.1.
fn geometric(pane: Pane, random: &mut Random) -> Vec<u32> {
    (0..pane.events)
        .map(|_| ((1.0 - random.fraction()).ln() / 0.9f64.ln()) as u32)
        .collect()
}

/// From 1 to 5; most are 4 and 5.
fn ratings(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut events =
        Weights::new([10.0, 5.0, 10.0, 30.0, 45.0].into_iter()).draws(pane.events, random);
    events.iter_mut().for_each(|rating| *rating += 1);
    events
}

/// 85 % zeros; the others are exponential with a mean of 1,000.
fn zeros(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut sample = || match random.fraction() < 0.85 {
        true => 0,
        false => (-1000.0 * (1.0 - random.fraction()).ln()) as u32,
    };
    (0..pane.events).map(|_| sample()).collect()
}

/// Half of the events are one number; the others are uniform.
fn half_one_value(pane: Pane, random: &mut Random) -> Vec<u32> {
    let mut events = uniform(pane, random);
    for event in &mut events {
        if random.fraction() < 0.5 {
            *event = 300_000;
        }
    }
    events
}

fn one_item(pane: Pane, _: &mut Random) -> Vec<u32> {
    vec![7; pane.events]
}

/// Ascending numbers.
fn all_different(pane: Pane, _: &mut Random) -> Vec<u32> {
    let first = pane.number * pane.events as u32;
    (first..first + pane.events as u32).collect()
}
