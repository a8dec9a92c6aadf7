//! The layout of slots: a fingerprint and a tag in one number of a few bits.
//!
//! A slot is `fingerprint * tags + tag`, so neither part needs a whole number of bits. The tag 0 is an empty slot, and
//! the tag `1 + tick mod cycle` is an entry that was added or refreshed at this tick. Slots are packed without gaps,
//! the first slot in the lowest bits.

use super::shape::Shape;
use super::ticks::LiveTicks;
use crate::modulus::Modulus;

/// The layout of the slots of a sub-filter. Its shape and the number of panes determine it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotLayout {
    bits: u32,
    mask: u64,
    /// Tags, the one of empty slots included.
    tags: u64,
    by_tags: Modulus<u64>,
    by_cycle: Modulus<u64>,
    generation_ticks: u64,
}

/// The tags that are live in a region: `length` consecutive ones from `start` on, modulo the number of ticks that can be
/// stored. Each live tick has one tag, so a tag in this range has the tick `oldest + distance from start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveTags {
    /// The oldest live tick.
    pub oldest: u64,
    start: u64,
    length: u64,
}

/// The live ticks as the regions of a sub-filter store them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The generation of the newest tick.
    pub generation: u64,
    live: LiveTicks,
    /// The live tags of regions of this generation.
    tags: LiveTags,
}

impl SlotLayout {
    /// The layout of the slots of a sub-filter.
    pub fn new(shape: &Shape, panes: u64) -> Self {
        let (bits, tags) = (shape.slot_bits(panes), shape.tags(panes));
        Self {
            bits,
            mask: (1 << bits) - 1,
            tags,
            by_tags: Modulus::<u64>::new(tags),
            by_cycle: Modulus::<u64>::new(tags - 1),
            generation_ticks: shape.generation_ticks,
        }
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

    /// The smallest slot with this fingerprint, the one with the tag 0.
    #[inline(always)]
    pub fn base(&self, fingerprint: u64) -> u64 {
        fingerprint * self.tags
    }

    /// The fingerprint of a slot.
    #[inline]
    pub fn fingerprint_of(&self, slot: u64) -> u64 {
        slot / self.tags
    }

    /// The slot of a fingerprint that was added at `tick`.
    #[inline]
    pub fn entry(&self, fingerprint: u64, tick: u64) -> u64 {
        self.base(fingerprint) + 1 + self.by_cycle.of(tick)
    }

    /// The live ticks as the regions of this sub-filter store them.
    #[inline]
    pub fn view(&self, live: LiveTicks) -> View {
        View {
            generation: live.newest / self.generation_ticks,
            live,
            tags: LiveTags {
                oldest: live.oldest,
                start: 1 + self.by_cycle.of(live.oldest),
                length: (live.newest + 1).saturating_sub(live.oldest),
            },
        }
    }

    /// The live tags in a region whose stored generation is `stored`: the low 16 bits of a generation that is at most
    /// that of the view. The region contains no tick after its generation.
    #[inline(always)]
    pub fn live_tags(&self, view: &View, stored: u16) -> LiveTags {
        if view.generation as u16 == stored {
            view.tags
        } else {
            self.live_tags_of_old(view, stored)
        }
    }

    fn live_tags_of_old(&self, view: &View, stored: u16) -> LiveTags {
        let age = (view.generation as u16).wrapping_sub(stored);
        let generation = view.generation.saturating_sub(age.into());
        let end = (generation + 1).saturating_mul(self.generation_ticks);
        let end = end.min(view.live.newest + 1);
        LiveTags {
            length: end.saturating_sub(view.live.oldest),
            ..view.tags
        }
    }

    /// The tick of a slot that has this fingerprint and is live.
    #[inline(always)]
    pub fn match_tick(&self, live: &LiveTags, base: u64, slot: u64) -> Option<u64> {
        let tag = slot.wrapping_sub(base);
        let distance = self.distance(live, tag);
        (tag < self.tags && distance < live.length).then_some(live.oldest.wrapping_add(distance))
    }

    /// The tick of a slot that is live, whatever its fingerprint.
    #[inline(always)]
    pub fn live_tick(&self, live: &LiveTags, slot: u64) -> Option<u64> {
        let distance = self.distance(live, self.by_tags.of(slot));
        (distance < live.length).then_some(live.oldest.wrapping_add(distance))
    }

    /// How far a tag is from the first live one. Large for the tag 0.
    #[inline(always)]
    fn distance(&self, live: &LiveTags, tag: u64) -> u64 {
        let ahead = tag.wrapping_sub(live.start);
        if tag >= live.start {
            ahead
        } else if tag == 0 {
            u64::MAX
        } else {
            ahead.wrapping_add(self.tags - 1)
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
            let shape = Shape { limit: 1, buckets: 2, fingerprints, generation_ticks: 1 };
            let layout = SlotLayout::new(&shape, panes);
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

        /// Every entry of a region is decoded exactly until the generations wrap.
        #[test]
        fn ticks_of_a_region_are_exact(
            fingerprint in 0u64..1000, panes in 1u64..60, generation_ticks in 1u64..20,
            written in 1u64..1 << 40, behind in 0u64..60, ahead in 0u64..2000, dead in 0u64..61,
        ) {
            let shape = Shape { limit: 1, buckets: 2, fingerprints: 1000, generation_ticks };
            let layout = SlotLayout::new(&shape, panes);
            // The region was swept at the tick `written`; the entry is at most `panes` ticks older or in the same
            // generation.
            let generation = written / generation_ticks;
            let entry = (generation * generation_ticks).saturating_sub(behind.min(panes)).max(1);
            let newest = written + ahead;
            prop_assume!(newest / generation_ticks - generation < 1 << 16);
            let oldest = newest.saturating_sub(panes).max(1) + dead.min(panes + 1);
            let view = layout.view(LiveTicks { oldest, newest });
            let tags = layout.live_tags(&view, generation as u16);
            let slot = layout.entry(fingerprint, entry);
            let expected = (entry >= oldest).then_some(entry);
            prop_assert_eq!(layout.live_tick(&tags, slot), expected);
            prop_assert_eq!(layout.match_tick(&tags, layout.base(fingerprint), slot), expected);
            prop_assert_eq!(layout.match_tick(&tags, layout.base(fingerprint + 1), slot), None);
            prop_assert_eq!(layout.fingerprint_of(slot), fingerprint);
            prop_assert_eq!(layout.live_tick(&tags, layout.base(fingerprint)), None);
            prop_assert_eq!(layout.match_tick(&tags, layout.base(fingerprint), layout.base(fingerprint)), None);
        }
    }
}
