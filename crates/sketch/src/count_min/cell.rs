//! Cells: unsigned counters of 1, 2, 4 or 8 bytes, little-endian.
//!
//! The cell size of a sketch is a run-time parameter. The loops are generic over `Cell`, and `with_cell!` selects one
//! of the four types once per command.

/// The size of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CellSize {
    /// 1 byte, counts to 255.
    One,
    /// 2 bytes, counts to 65,535.
    Two,
    /// 4 bytes, counts to 2^32 - 1. The default.
    #[default]
    Four,
    /// 8 bytes, counts to 2^63 - 1.
    Eight,
}

impl CellSize {
    /// The size of this many bytes; `None` if there is none.
    #[must_use]
    pub fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            8 => Some(Self::Eight),
            _ => None,
        }
    }

    /// The size in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        1 << self.log2()
    }

    /// The logarithm of the size in bytes.
    #[inline]
    pub(super) fn log2(self) -> u32 {
        self as u32
    }

    /// The largest count of a cell of this size.
    #[must_use]
    pub fn max_count(self) -> u64 {
        with_cell!(self, C => C::MAX_COUNT)
    }
}

/// An unsigned counter, in its stored form.
pub(super) trait Cell {
    /// The cell's bytes.
    type Bytes: Copy + PartialEq + AsMut<[u8]>;

    /// The largest count: all bits are 1, except the sign bit of eight bytes.
    const MAX_COUNT: u64;

    /// The cells of a buffer.
    fn all(bytes: &[u8]) -> &[Self::Bytes];

    /// The cells of a buffer, mutable.
    fn all_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];

    /// The count in a cell.
    fn count(cell: Self::Bytes) -> u64;

    /// The cell with this count. If the count exceeds [`Cell::MAX_COUNT`], only the lower bits are kept.
    fn with_count(count: u64) -> Self::Bytes;
}

macro_rules! cell {
    ($cell:ty, $bytes:literal, $max:expr) => {
        impl Cell for $cell {
            type Bytes = [u8; $bytes];

            const MAX_COUNT: u64 = $max;

            #[inline]
            fn all(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }

            #[inline]
            fn all_mut(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }

            #[inline]
            #[allow(clippy::useless_conversion)]
            fn count(cell: Self::Bytes) -> u64 {
                u64::from(<$cell>::from_le_bytes(cell))
            }

            #[inline]
            fn with_count(count: u64) -> Self::Bytes {
                (count as $cell).to_le_bytes()
            }
        }
    };
}

cell!(u8, 1, 0xff);
cell!(u16, 2, 0xffff);
cell!(u32, 4, 0xffff_ffff);
cell!(u64, 8, i64::MAX as u64);

/// Evaluates an expression with a name bound to the [`Cell`] type of a [`CellSize`].
macro_rules! with_cell {
    ($size:expr, $cell:ident => $expression:expr) => {{
        use $crate::count_min::cell::CellSize;
        match $size {
            CellSize::One => {
                type $cell = u8;
                $expression
            }
            CellSize::Two => {
                type $cell = u16;
                $expression
            }
            CellSize::Four => {
                type $cell = u32;
                $expression
            }
            CellSize::Eight => {
                type $cell = u64;
                $expression
            }
        }
    }};
}
pub(super) use with_cell;

#[cfg(test)]
pub(super) const ALL_SIZES: [CellSize; 4] = [
    CellSize::One,
    CellSize::Two,
    CellSize::Four,
    CellSize::Eight,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_1_2_4_and_8_bytes() {
        let sizes: Vec<u64> = ((0..=u64::from(u16::MAX)).chain([u64::MAX]))
            .filter_map(|bytes| CellSize::from_bytes(bytes).map(CellSize::bytes))
            .collect();
        assert_eq!(sizes, [1, 2, 4, 8]);
        assert_eq!(
            ALL_SIZES.map(CellSize::max_count),
            [255, 65_535, 4_294_967_295, 9_223_372_036_854_775_807]
        );
        assert_eq!(CellSize::default().bytes(), 4);
    }

    #[test]
    fn counts_are_stored_in_little_endian_order() {
        assert_eq!(u32::with_count(0x0102_0304), [4, 3, 2, 1]);
        for size in ALL_SIZES {
            with_cell!(size, C => for count in [0, 1, 200, C::MAX_COUNT - 1, C::MAX_COUNT] {
                assert_eq!(C::count(C::with_count(count)), count);
            });
        }
    }
}
