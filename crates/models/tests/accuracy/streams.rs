//! Reproducible random streams.

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
}

/// A Zipf(1.1) stream.
pub fn zipf(universe: usize, len: usize, seed: u64) -> Vec<u32> {
    zipf_of(1.1, universe, len, seed)
}

/// A Zipf stream: `len` draws from `universe` items. Item 0 is the most frequent.
pub fn zipf_of(exponent: f64, universe: usize, len: usize, seed: u64) -> Vec<u32> {
    let weights = (1..=universe).map(|rank| (rank as f64).powf(-exponent));
    Weights::new(weights).draws(len, &mut Random(seed))
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

/// How often each item occurs.
pub fn counts(universe: usize, stream: &[u32]) -> Vec<u64> {
    let mut counts = vec![0; universe];
    for &item in stream {
        counts[item as usize] += 1;
    }
    counts
}
