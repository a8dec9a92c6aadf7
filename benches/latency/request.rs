//! A command as a RESP request with numbers that change.

use crate::stream::Numbers;

/// Digits of a generated number.
const DIGITS: usize = 12;
/// Placeholder of a generated number in a command.
const NUMBER: char = '#';

/// The numbers of successive requests.
#[derive(Debug)]
pub enum Source {
    /// Uniform numbers in `0..range`.
    Random { numbers: Numbers, range: u64 },
    /// Each number is the previous one plus `step`.
    Sequence { next: u64, step: u64 },
}

impl Source {
    /// Uniform numbers in `0..range`.
    pub fn random(seed: u64, range: u64) -> Self {
        let numbers = Numbers(seed);
        Self::Random { numbers, range }
    }

    /// The numbers from `next`.
    pub fn from(next: u64) -> Self {
        Self::Sequence { next, step: 1 }
    }

    fn next(&mut self) -> u64 {
        match self {
            Self::Random { numbers, range } => numbers.below(*range),
            Self::Sequence { next, step } => {
                *next += *step;
                *next - *step
            }
        }
    }
}

/// A request, such as `BF.ADD key item:#`. Each `#` is a number with twelve digits.
#[derive(Debug)]
pub struct Request {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
    source: Source,
}

impl Request {
    /// The request of a command with arguments separated by spaces.
    pub fn new(command: &str, source: Source) -> Self {
        let arguments: Vec<_> = command.split(' ').collect();
        let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
        let mut offsets = Vec::new();
        for argument in arguments {
            let text = argument.replace(NUMBER, &"0".repeat(DIGITS));
            bytes.extend_from_slice(format!("${}\r\n", text.len()).as_bytes());
            offsets.extend(argument.find(NUMBER).map(|at| bytes.len() + at));
            bytes.extend_from_slice(text.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        Self {
            bytes,
            offsets,
            source,
        }
    }

    /// The bytes of the request with the next number in all places.
    pub fn next(&mut self) -> &[u8] {
        let number = self.source.next();
        for &at in &self.offsets {
            let mut rest = number;
            for digit in self.bytes[at..at + DIGITS].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        &self.bytes
    }
}
