//! The layout of slots: a fingerprint and a state in one number of a few bits.
//!
//! A slot is `fingerprint * states + state`, so neither part needs a whole number of bits. The state 0 is an empty slot, and
//! the state `1 + tick mod cycle` is an entry that was added or refreshed at this tick. Slots are packed without gaps,
//! the first slot in the lowest bits.

use super::size::{SubFilterSize, log2_group_buckets};
use super::ticks::LiveTicks;
use crate::hash::modulus::Modulus;

/// The layout of the slots of a sub-filter. Its size, the bucket size and the number of panes determine it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotLayout {
    /// That of the modulus `states`.
    inverse_of_states: u64,
    /// That of the modulus `states - 1`: the ticks that can be stored.
    inverse_of_cycle: u64,
    /// The bits of a slot, as the lowest of a number.
    mask: u64,
    /// States, the one of empty slots included: at most 2,001.
    states: u16,
    /// [`SubFilterSize::generation_ticks`], at most 1,000.
    pub generation_ticks: u16,
    bits: u8,
    /// Slots per bucket.
    pub bucket_size: u8,
    /// The binary logarithm of the buckets per group.
    pub log2_group_buckets: u8,
}

/// The states that are live in a group: `length` consecutive ones from `start` on, modulo the number of ticks that can be
/// stored. Each live tick has one state, so a state in this range has the tick `oldest + distance from start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveStates {
    /// The oldest live tick.
    pub oldest: u64,
    start: u64,
    length: u64,
}

/// The live ticks as the groups of a sub-filter store them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredTicks {
    /// The generation of the newest tick.
    pub generation: u64,
    live: LiveTicks,
    /// The live states of groups of this generation.
    states: LiveStates,
}

impl SlotLayout {
    /// The layout of the slots of a sub-filter.
    pub fn new(size: &SubFilterSize, bucket_size: u8, panes: u64) -> Self {
        let states = size.states(panes);
        Self {
            inverse_of_states: Modulus::<u64>::new(states).inverse(),
            inverse_of_cycle: Modulus::<u64>::new(states - 1).inverse(),
            mask: (1 << size.slot_bits(panes)) - 1,
            states: states as u16,
            generation_ticks: size.generation_ticks as u16,
            bits: size.slot_bits(panes) as u8,
            bucket_size,
            log2_group_buckets: log2_group_buckets(bucket_size) as u8,
        }
    }

    /// States, the one of empty slots included.
    #[inline(always)]
    fn states(&self) -> u64 {
        self.states.into()
    }

    /// A tick modulo the number of ticks that can be stored.
    #[inline(always)]
    fn in_cycle(&self, tick: u64) -> u64 {
        Modulus::<u64>::of_parts(self.states() - 1, self.inverse_of_cycle).of(tick)
    }

    /// The byte that contains the first bit of a slot.
    #[inline(always)]
    pub fn byte_of(&self, index: u64) -> usize {
        ((index * u64::from(self.bits)) >> 3) as usize
    }

    /// The slot with this index.
    #[inline(always)]
    pub fn get(&self, slots: &[u8], index: u64) -> u64 {
        let bit = index * u64::from(self.bits);
        let word = &slots[(bit >> 3) as usize..][..8];
        let word = word
            .first_chunk()
            .map_or(0, |word| u64::from_le_bytes(*word));
        word >> (bit & 7) & self.mask
    }

    /// Replaces the slot with this index.
    #[inline(always)]
    pub fn set(&self, slots: &mut [u8], index: u64, slot: u64) {
        let bit = index * u64::from(self.bits);
        let place = &mut slots[(bit >> 3) as usize..][..8];
        if let Some(place) = place.first_chunk_mut() {
            let others = u64::from_le_bytes(*place) & !(self.mask << (bit & 7));
            *place = (others | slot << (bit & 7)).to_le_bytes();
        }
    }

    /// The smallest slot with this fingerprint, the one with the state 0.
    #[inline(always)]
    pub fn base(&self, fingerprint: u64) -> u64 {
        fingerprint * self.states()
    }

    /// The fingerprint of a slot.
    #[inline]
    pub fn fingerprint_of(&self, slot: u64) -> u64 {
        slot / self.states()
    }

    /// The slot of a fingerprint that was added at `tick`.
    #[inline]
    pub fn entry(&self, fingerprint: u64, tick: u64) -> u64 {
        self.base(fingerprint) + 1 + self.in_cycle(tick)
    }

    /// The live ticks as the groups of this sub-filter store them.
    #[inline]
    pub fn stored_ticks(&self, live: LiveTicks) -> StoredTicks {
        StoredTicks {
            generation: live.newest / u64::from(self.generation_ticks),
            live,
            states: LiveStates {
                oldest: live.oldest,
                start: 1 + self.in_cycle(live.oldest),
                length: (live.newest + 1).saturating_sub(live.oldest),
            },
        }
    }

    /// The live states in a group whose stored generation is `stored`: the low 16 bits of a generation that is at most
    /// that of the ticks. The group contains no tick after its generation.
    #[inline(always)]
    pub fn live_states(&self, ticks: &StoredTicks, stored: u16) -> LiveStates {
        if ticks.generation as u16 == stored {
            ticks.states
        } else {
            self.live_states_of_old(ticks, stored)
        }
    }

    fn live_states_of_old(&self, ticks: &StoredTicks, stored: u16) -> LiveStates {
        let age = (ticks.generation as u16).wrapping_sub(stored);
        let generation = ticks.generation.saturating_sub(age.into());
        let end = (generation + 1).saturating_mul(self.generation_ticks.into());
        let end = end.min(ticks.live.newest + 1);
        LiveStates {
            length: end.saturating_sub(ticks.live.oldest),
            ..ticks.states
        }
    }

    /// The tick of a slot that has this fingerprint and is live.
    #[inline(always)]
    pub fn match_tick(&self, live: &LiveStates, base: u64, slot: u64) -> Option<u64> {
        let state = slot.wrapping_sub(base);
        let distance = self.distance(live, state);
        (state < self.states() && distance < live.length)
            .then_some(live.oldest.wrapping_add(distance))
    }

    /// The tick of a slot that is live, whatever its fingerprint.
    #[inline(always)]
    pub fn live_tick(&self, live: &LiveStates, slot: u64) -> Option<u64> {
        let by_states = Modulus::<u64>::of_parts(self.states(), self.inverse_of_states);
        let distance = self.distance(live, by_states.of(slot));
        (distance < live.length).then_some(live.oldest.wrapping_add(distance))
    }

    /// How far a state is from the first live one. Large for the state 0.
    #[inline(always)]
    fn distance(&self, live: &LiveStates, state: u64) -> u64 {
        let ahead = state.wrapping_sub(live.start);
        if state >= live.start {
            ahead
        } else if state == 0 {
            u64::MAX
        } else {
            ahead.wrapping_add(self.states() - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slots_do_not_overlap(
            fingerprints in 1u64..1 << 40, panes in 1u64..=1000, values: Vec<u64>,
        ) {
            let size = SubFilterSize { limit: 1, buckets: 2, fingerprints, generation_ticks: 1 };
            let layout = SlotLayout::new(&size, 4, panes);
            let mut slots = vec![0; values.len() * layout.bits as usize / 8 + 9];
            for (index, value) in values.iter().enumerate() {
                layout.set(&mut slots, index as u64, value & layout.mask);
            }
            for (index, value) in values.iter().enumerate().rev() {
                prop_assert_eq!(layout.get(&slots, index as u64), value & layout.mask);
                layout.set(&mut slots, index as u64, 0);
            }
            prop_assert!(slots.iter().all(|&byte| byte == 0));
        }

        /// Every entry of a group is decoded exactly until the generations wrap.
        #[test]
        fn ticks_of_a_group_are_exact(
            fingerprint in 0u64..1000, panes in 1u64..60, generation_ticks in 1u64..20,
            written in 1u64..1 << 40, behind in 0u64..60, ahead in 0u64..2000, dead in 0u64..61,
        ) {
            let size = SubFilterSize { limit: 1, buckets: 2, fingerprints: 1000, generation_ticks };
            let layout = SlotLayout::new(&size, 4, panes);
            // The group was swept at the tick `written`; the entry is at most `panes` ticks older or in the same
            // generation.
            let generation = written / generation_ticks;
            let entry = (generation * generation_ticks).saturating_sub(behind.min(panes)).max(1);
            let newest = written + ahead;
            prop_assume!(newest / generation_ticks - generation < 1 << 16);
            let oldest = newest.saturating_sub(panes).max(1) + dead.min(panes + 1);
            let ticks = layout.stored_ticks(LiveTicks { oldest, newest });
            let states = layout.live_states(&ticks, generation as u16);
            let slot = layout.entry(fingerprint, entry);
            let expected = (entry >= oldest).then_some(entry);
            prop_assert_eq!(layout.live_tick(&states, slot), expected);
            prop_assert_eq!(layout.match_tick(&states, layout.base(fingerprint), slot), expected);
            prop_assert_eq!(layout.match_tick(&states, layout.base(fingerprint + 1), slot), None);
            prop_assert_eq!(layout.fingerprint_of(slot), fingerprint);
            prop_assert_eq!(layout.live_tick(&states, layout.base(fingerprint)), None);
            prop_assert_eq!(layout.match_tick(&states, layout.base(fingerprint), layout.base(fingerprint)), None);
        }
    }
}
