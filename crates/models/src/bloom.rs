//! Bloom filters.

use super::allows;
use super::input::{Input, bits, with_refusal};
use super::sequence::Model;
use super::stored::{Subject, digest};
use murmurhash64::murmur_hash64a;
use roughly_sketch::bloom::{Chain, Error, Parameters};
use roughly_sketch::chain::batch::Additions;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;

fn add(chain: &mut Chain, item: &[u8]) -> Result<bool, Error> {
    chain.add(item, (), Budget::new(&allows))
}

impl Subject for Chain {
    const LOAD_OPTIONS: () = ();
    type Results = (u64, u64, Vec<bool>);

    fn add(&mut self, item: &[u8], _number: i64, budget: Budget<'_>) {
        let is_full = Chain::add(self, item, (), budget).is_err();
        assert!(is_full || self.contains(item), "false negative");
    }

    fn change(&mut self) {
        let items: Vec<_> = (0..40u8).map(|item| [item / 2, 1]).collect();
        let mut one_by_one = self.try_clone().expect("enough memory");
        let mut additions = Additions::new(items.iter().map(<[u8; 2]>::as_slice), (), self);
        for item in &items {
            let result = additions.add_next(Budget::new(&allows));
            assert_eq!(result, Some(add(&mut one_by_one, item)));
        }
        assert!(digest(self) == digest(&one_by_one));
    }

    fn read(&self, _current: u64) -> Self::Results {
        let items: Vec<_> = (0..80u8).map(|item| [item]).collect();
        let (slices, mut found) = (items.iter().map(<[u8; 1]>::as_slice), Vec::new());
        self.contains_each(slices.clone(), |is_found| found.push(is_found));
        let is_right = (slices.map(|item| self.contains(item))).eq(found.iter().copied());
        assert!(is_right);
        (self.capacity(), self.bit_bytes(), found)
    }

    fn old_seeds(&self, latest: &[u8]) -> Vec<Vec<u8>> {
        // Encoding versions below 4 lack some of the values of version 4.
        let old = (0..4u8).map(|version| {
            let mut old = latest.to_vec();
            old[0] = version;
            // Versions 2 and 3 lack the growth factor (bytes 25..33). Versions 0 and 1 also lack the options (17..25).
            old.drain(if version < 2 { 17..33 } else { 25..33 });
            old
        });
        old.collect()
    }
}

/// A filter as a list of bits.
struct Filter {
    bits: Vec<bool>,
    hashes: u64,
    capacity: u64,
    error_rate: f64,
    items: u64,
}

impl Filter {
    #[allow(clippy::approx_constant)] // the truncated ln 2 of the format
    fn new(capacity: u64, error_rate: f64, budget: Budget<'_>) -> Result<Self, Error> {
        if error_rate == 0.0 {
            return Err(Error::Shape);
        }
        let bits_per_entry = error_rate.ln().abs() / 0.480453013918201;
        let bits = (capacity as f64 * bits_per_entry) as u64;
        let bits = bits.max(1).div_ceil(64) * 64;
        budget.request(bits / 8)?;
        Ok(Self {
            bits: vec![false; bits as usize],
            hashes: (0.693147180559945 * bits_per_entry).ceil() as u64,
            capacity,
            error_rate,
            items: 0,
        })
    }

    fn probes(&self, item: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let (hashes, bits) = (self.hashes, self.bits.len() as u64);
        let a = murmur_hash64a(item, 0xc6a4a7935bd1e995);
        let b = murmur_hash64a(item, a);
        (0..hashes).map(move |i| (a.wrapping_add(i.wrapping_mul(b)) % bits) as usize)
    }
}

/// A chain as a list of lists of bits (docs/contributing/formats.md, "Bloom filters").
pub struct BloomModel {
    filters: Vec<Filter>,
    parameters: Parameters,
}

impl BloomModel {
    fn contains(&self, item: &[u8]) -> bool {
        let mut filters = self.filters.iter();
        filters.any(|filter| filter.probes(item).all(|bit| filter.bits[bit]))
    }

    fn add(&mut self, item: &[u8], budget: Budget<'_>) -> Result<bool, Error> {
        if self.contains(item) {
            return Ok(false);
        }
        let newest = self.filters.last().expect("a filter");
        if newest.items >= newest.capacity {
            if !self.parameters.scaling {
                return Err(Error::Full);
            }
            let capacity = newest.capacity * u64::from(self.parameters.expansion);
            let next = Filter::new(capacity, newest.error_rate / 2.0, budget)?;
            self.filters.push(next);
        }
        let newest = self.filters.last_mut().expect("a filter");
        for bit in newest.probes(item) {
            newest.bits[bit] = true;
        }
        newest.items += 1;
        Ok(true)
    }
}

impl Model for BloomModel {
    type Sketch = Chain;

    fn new(input: &mut Input<'_>) -> Option<(Chain, Self)> {
        let expansion = input.pick(&[0, 1, 2, 3, 16, 32768]);
        let parameters = Parameters {
            capacity: u64::from(input.byte()).max(1),
            error_rate: input.pick(&[0.25, 0.1, 0.01, 0.001, 1e-9, 1e-300, 0.9, 1e-322]),
            expansion,
            scaling: expansion > 0,
        };
        let budget = Budget::new(&allows);
        let error_rate = match parameters.scaling {
            true => parameters.error_rate / 2.0,
            false => parameters.error_rate,
        };
        let chain = Chain::new(&parameters, budget);
        let filter = Filter::new(parameters.capacity, error_rate, budget);
        assert_eq!(chain.as_ref().err(), filter.as_ref().err());
        let filters = vec![filter.ok()?];
        Some((
            chain.ok()?,
            Self {
                filters,
                parameters,
            },
        ))
    }

    fn step(&mut self, chain: &mut Chain, input: &mut Input<'_>) {
        match input.byte() {
            0..=139 => {
                let item = input.item();
                let budget = Budget::new(&allows);
                assert_eq!(add(chain, item), self.add(item, budget));
            }
            140..=199 => {
                // The requests before this one are allowed.
                let (items, refused) = (input.items(), input.byte() % 4);
                let results = with_refusal(refused, |budget| {
                    let slices = items.iter().map(<[u8; 2]>::as_slice);
                    let mut additions = Additions::new(slices, (), chain);
                    std::iter::from_fn(|| additions.add_next(budget)).collect::<Vec<_>>()
                });
                let expected = with_refusal(refused, |budget| {
                    (items.iter().map(|item| self.add(item, budget))).collect::<Vec<_>>()
                });
                assert_eq!(results, expected);
            }
            _ => {
                let items = input.items();
                let slices = || items.iter().map(<[u8; 2]>::as_slice);
                let (expected, mut found): (Vec<_>, _) = (
                    slices().map(|item| self.contains(item)).collect(),
                    Vec::new(),
                );
                chain.contains_each(slices(), |is_found| found.push(is_found));
                assert_eq!(found, expected);
                assert!(slices().map(|item| chain.contains(item)).eq(expected));
            }
        }
        let items = self.filters.iter().map(|filter| filter.items).sum::<u64>();
        assert_eq!(chain.items(), items);
    }

    fn check(&self, chain: &Chain) {
        assert_eq!(chain.filters().len(), self.filters.len());
        for (filter, expected) in chain.filters().iter().zip(&self.filters) {
            assert_eq!(filter.items(), expected.items);
            assert_eq!(filter.shape().capacity, expected.capacity);
            assert_eq!(filter.shape().error_rate, expected.error_rate);
            assert!(bits(filter.bits()).eq(expected.bits.iter().copied()));
        }
    }
}
