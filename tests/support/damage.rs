//! Reproducible damage to stored forms.

use roughly_dump::{Value, Values};

/// Integers near the limits of sizes and counts.
pub const NUMBERS: [u64; 20] = [
    0,
    1,
    2,
    3,
    7,
    255,
    256,
    65535,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 56,
    1 << 61,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];

/// Doubles near the limits of parameters.
pub const DOUBLES: [f64; 15] = [
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.0,
    2.0,
    5e-324,
    1e300,
    -1e300,
    2_147_483_648.0,
    9.3e18,
    f64::MAX,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Pseudorandom number generator (xorshift64*, Vigna 2016). The field is its state; it must not be 0.
#[derive(Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// The next 64-bit number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number in `0..end`; 0 if the range is empty.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }

    /// Selects one of these values.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Applies one fault at `at`: writes a number near a limit, flips a bit, or truncates, removes or duplicates bytes.
pub fn damage_bytes(bytes: &mut Vec<u8>, at: usize, numbers: &mut Numbers) {
    let end = bytes.len().min(at + 1 + numbers.below(64));
    match numbers.below(10) {
        0..=3 => {
            let number = match numbers.below(3) {
                0 => numbers.pick(&DOUBLES).to_bits(),
                _ => numbers.pick(&NUMBERS),
            };
            let width = numbers.pick(&[1, 2, 4, 8]);
            for (byte, new) in bytes
                .iter_mut()
                .skip(at)
                .zip(&number.to_le_bytes()[..width])
            {
                *byte = *new;
            }
        }
        4..=6 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << numbers.below(8);
            }
        }
        7 => bytes.truncate(at),
        8 => drop(bytes.drain(at..end)),
        _ => {
            let duplicate = bytes[at..end].to_vec();
            bytes.splice(at..at, duplicate);
        }
    }
}

/// Applies one to three faults to the values of a payload, most of them to the first values: changes, replaces, moves,
/// removes or duplicates a value, or truncates the payload.
pub fn damage_values(values: &mut Values, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(3) {
        let values = &mut values.values;
        let front = match numbers.below(4) {
            0 => values.len(),
            _ => values.len().min(16),
        };
        if front == 0 {
            return;
        }
        let (at, other) = (numbers.below(front), numbers.below(values.len()));
        match (numbers.below(20), &mut values[at]) {
            (0, _) => values.swap(at, other),
            (1, _) => drop(values.remove(at)),
            (2, value) => {
                let duplicate = value.clone();
                values.insert(at, duplicate);
            }
            (3, _) => values.truncate(at),
            (4, value) => *value = Value::Bytes(vec![0xff; numbers.below(40)]),
            (5, value) => *value = Value::Integer(numbers.pick(&NUMBERS)),
            (6, value) => *value = Value::Double(numbers.pick(&DOUBLES)),
            (7..=10, Value::Integer(number)) => {
                let step = numbers.pick(&[1, u64::MAX, 2, 64, 1 << 31]);
                *number = number.wrapping_add(step);
            }
            (_, Value::Integer(number)) => *number = numbers.pick(&NUMBERS),
            (7..=10, Value::Double(double)) => {
                *double = f64::from_bits(double.to_bits() ^ 1 << numbers.below(64));
            }
            (_, Value::Double(double)) => *double = numbers.pick(&DOUBLES),
            (_, Value::Bytes(bytes)) => {
                let at = numbers.below(bytes.len());
                damage_bytes(bytes, at, numbers);
            }
        }
    }
}
