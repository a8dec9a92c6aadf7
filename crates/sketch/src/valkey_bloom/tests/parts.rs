//! Stored forms of chains that are valid or not.

use super::*;
use crate::format::Sink;

/// A filter of a stored chain.
#[derive(Debug, Clone)]
pub struct FilterParts {
    pub capacity: u64,
    pub items: u64,
    pub version: u8,
    pub bytes: u64,
    pub hashes: u32,
    pub seed: Seed,
    pub bits: Vec<u8>,
}

/// A chain that can be stored in all forms, valid or not.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The number of filters that is stored.
    pub number: u64,
    pub expansion: u64,
    pub error_rate: f64,
    pub tightening: f64,
    pub flag: u64,
    pub filters: Vec<FilterParts>,
}

impl FilterParts {
    fn header(&self) -> Vec<u8> {
        let mut header = vec![self.version];
        header.extend_from_slice(&self.bytes.to_le_bytes());
        header.extend_from_slice(&self.hashes.to_le_bytes());
        header.extend_from_slice(&self.seed);
        header
    }

    /// The stored form: header and bits.
    pub fn blob(&self) -> Vec<u8> {
        [self.header(), self.bits.clone()].concat()
    }
}

impl Parts {
    /// A valid chain of two filters.
    pub fn valid() -> Self {
        let filter = |capacity, items, bytes: u64| FilterParts {
            capacity,
            items,
            version: 1,
            bytes,
            hashes: 7,
            seed: FIXED_SEED,
            bits: vec![0x5a; bytes as usize],
        };
        Self {
            number: 2,
            expansion: 2,
            error_rate: 0.01,
            tightening: 0.5,
            flag: 1,
            filters: vec![filter(10, 10, 12), filter(20, 5, 27)],
        }
    }

    /// The values of RDB.
    pub fn values(&self) -> Values {
        let mut values = Values::default();
        values.write_unsigned(self.number);
        values.write_unsigned(self.expansion);
        values.write_double(self.error_rate);
        values.write_double(self.tightening);
        values.write_unsigned(self.flag);
        for (index, filter) in self.filters.iter().enumerate() {
            values.write_unsigned(filter.capacity);
            if index + 1 == self.filters.len() {
                values.write_unsigned(filter.items);
            }
            values.write_bytes(&filter.blob());
        }
        values
    }

    /// Loads the values of RDB.
    pub fn rdb(&self) -> Result<ValkeyChain, FormatError> {
        ValkeyChain::load(&mut self.values(), 1, &None)
    }

    /// The payload of BF.LOAD.
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = vec![1];
        payload.extend_from_slice(&(self.expansion as u32).to_le_bytes());
        payload.extend_from_slice(&self.error_rate.to_le_bytes());
        payload.extend_from_slice(&self.tightening.to_le_bytes());
        payload.push(self.flag as u8);
        payload.extend_from_slice(&self.number.to_le_bytes());
        for filter in &self.filters {
            let blob = filter.blob();
            payload.extend_from_slice(&(blob.len() as u64).to_le_bytes());
            payload.extend_from_slice(&blob);
            payload.extend_from_slice(&filter.items.to_le_bytes());
            payload.extend_from_slice(&filter.capacity.to_le_bytes());
        }
        payload
    }

    /// Loads the payload of BF.LOAD.
    pub fn load(&self, budget: Budget<'_>) -> Result<ValkeyChain, LoadError> {
        ValkeyChain::from_load_payload(&self.payload(), NO_LIMIT, budget)
    }

    /// The header of SCANDUMP, with at least four slots.
    pub fn header(&self) -> Vec<u8> {
        let mut header = ValkeyChain::HEADER_MARK.to_vec();
        header.extend_from_slice(&(self.expansion as u32).to_le_bytes());
        header.extend_from_slice(&self.error_rate.to_le_bytes());
        header.extend_from_slice(&self.tightening.to_le_bytes());
        header.push(self.flag as u8);
        header.extend_from_slice(&self.number.max(4).to_le_bytes());
        let items = self.filters.last().map_or(0, |newest| newest.items);
        header.extend_from_slice(&items.to_le_bytes());
        header.extend_from_slice(&(self.number as u32).to_le_bytes());
        for filter in &self.filters {
            header.extend_from_slice(&filter.capacity.to_le_bytes());
            header.extend_from_slice(&filter.header());
        }
        header
    }

    /// The newest filter.
    pub fn newest(&mut self) -> &mut FilterParts {
        self.filters.last_mut().unwrap()
    }
}
