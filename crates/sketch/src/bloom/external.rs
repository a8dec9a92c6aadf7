//! [`ExternalChain`]: a chain whose bit arrays are not in memory.

use super::{Chain, nominal_bytes};
use crate::buffer::Buffer;
use crate::format::{FormatError, Source};
use crate::stored::Stored;

/// The parameters of a chain, for look-ups in bit arrays that are elsewhere, such as in a file.
#[derive(Debug)]
pub struct ExternalChain {
    /// Its filters have no bits.
    chain: Chain,
    /// Bytes of all bit arrays together.
    bit_bytes: u64,
}

impl ExternalChain {
    /// Reads the values of an encoding version. `skip_array` skips the next value of the source, a byte string, and returns its
    /// length. It is called once per filter, from the oldest to the newest.
    ///
    /// # Errors
    /// As [`Stored::load`], and those of `skip_array`.
    pub fn load<S: Source>(
        source: &mut S,
        encoding_version: u16,
        mut skip_array: impl FnMut(&mut S) -> Result<u64, FormatError>,
    ) -> Result<Self, FormatError> {
        if !(Chain::MIN_ENCODING_VERSION..=Chain::MAX_ENCODING_VERSION).contains(&encoding_version)
        {
            return Err(FormatError::UnknownVersion(encoding_version));
        }
        let mut bit_bytes = 0u64;
        let chain = Chain::load_with(source, encoding_version, |source| {
            let len = skip_array(source)?;
            bit_bytes = bit_bytes.saturating_add(len);
            Ok((len, Buffer::default()))
        })?;
        Ok(Self { chain, bit_bytes })
    }

    /// [`Chain::contains`]. `byte_at` returns the byte at an offset of the bit array of a filter; the oldest filter has number
    /// 0, and the offset is less than the length of the array.
    ///
    /// # Errors
    /// Those of `byte_at`.
    pub fn contains<E>(
        &self,
        item: &[u8],
        byte_at: impl FnMut(usize, u64) -> Result<u8, E>,
    ) -> Result<bool, E> {
        self.chain.contains_by(item, byte_at)
    }

    /// The chain without bits: only its numbers, such as [`Chain::items`] and [`Chain::capacity`], are those of the external one.
    #[must_use]
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The size in BF.INFO, with the bytes of the bit arrays.
    #[must_use]
    pub fn nominal_bytes(&self) -> u64 {
        nominal_bytes(self.chain.filters().len(), self.bit_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::Parameters;
    use crate::format::Sink;
    use crate::memory::Budget;
    use roughly_dump::{Value, Values};

    /// A growing chain, and its values.
    fn saved(scaling: bool) -> (Chain, Values) {
        let parameters = Parameters {
            capacity: 50,
            scaling,
            ..Parameters::DEFAULT
        };
        let mut chain = Chain::new(&parameters, Budget::UNLIMITED).unwrap();
        for item in 0..if scaling { 500u32 } else { 50 } {
            let _ = chain.add(&item.to_le_bytes(), (), Budget::UNLIMITED);
        }
        let mut values = Values::default();
        chain.save(&mut values);
        (chain, values)
    }

    /// The length of the next value, a byte string, which becomes one of `arrays`.
    fn take_array(source: &mut Values, arrays: &mut Vec<Vec<u8>>) -> Result<u64, FormatError> {
        let Some(Value::Bytes(array)) = source.values.pop_front() else {
            return Err(FormatError::Truncated);
        };
        arrays.push(array);
        Ok(arrays.last().map_or(0, |array| array.len() as u64))
    }

    #[test]
    fn answers_and_parameters_are_those_of_the_chain() {
        for scaling in [true, false] {
            let (chain, mut values) = saved(scaling);
            let mut arrays = Vec::new();
            let external =
                ExternalChain::load(&mut values, 4, |source| take_array(source, &mut arrays))
                    .unwrap();
            assert_eq!(arrays.len(), chain.filters().len());
            for item in 0..2000u32 {
                let item = item.to_le_bytes();
                let mut bytes_read = 0u32;
                let found = external.contains(&item, |filter, offset| {
                    bytes_read += 1;
                    arrays[filter].get(offset as usize).copied().ok_or(())
                });
                assert_eq!(found, Ok(chain.contains(&item)));
                let hashes: u32 = chain.filters().iter().map(|filter| filter.hashes()).sum();
                assert!(bytes_read <= hashes);
            }
            let numbers = |chain: &Chain| {
                let growth = (chain.is_scaling(), chain.expansion());
                (chain.items(), chain.capacity(), chain.error_rate(), growth)
            };
            assert_eq!(numbers(external.chain()), numbers(&chain));
            assert_eq!(external.chain().filters()[0].capacity(), 50);
            let expected = nominal_bytes(chain.filters().len(), chain.bit_bytes());
            assert_eq!(external.nominal_bytes(), expected);
            assert_eq!(external.contains(b"x", |_, _| Err(7)), Err(7));
        }
    }

    #[test]
    fn invalid_values_are_refused_as_in_a_chain() {
        let (_, values) = saved(true);
        let mut short = values.clone();
        let skip = |source: &mut Values| take_array(source, &mut Vec::new());
        // Fewer bytes than bits.
        assert!(ExternalChain::load(&mut short, 4, |source| Ok(skip(source)? - 1)).is_err());
        let refused = ExternalChain::load(&mut values.clone(), 5, skip).unwrap_err();
        assert_eq!(refused, FormatError::UnknownVersion(5));
        let mut damaged = values.clone();
        damaged.values.pop_back();
        damaged.write_unsigned(7);
        assert!(ExternalChain::load(&mut damaged, 4, skip).is_err());
    }
}
