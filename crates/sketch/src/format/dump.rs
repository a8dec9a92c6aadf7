//! DUMP payloads as streams of values.

use super::{FormatError, Sink, Source};
use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use roughly_dump::{Error, Output, Reader, Value, Values, Writer};

impl From<Error> for FormatError {
    fn from(error: Error) -> Self {
        match error {
            Error::Truncated => Self::Truncated,
            Error::Invalid(text) => Self::Invalid(text),
            Error::OutOfMemory(bytes) => OutOfMemory { bytes }.into(),
        }
    }
}

impl Source for Reader<'_> {
    fn read_unsigned(&mut self) -> Result<u64, FormatError> {
        match self.next_value()? {
            Some(Value::Integer(value)) => Ok(value),
            _ => Err(FormatError::Truncated),
        }
    }

    fn read_double(&mut self) -> Result<f64, FormatError> {
        match self.next_value()? {
            Some(Value::Double(value)) => Ok(value),
            _ => Err(FormatError::Truncated),
        }
    }

    fn read_bytes(&mut self) -> Result<Buffer, FormatError> {
        match self.next_value()? {
            Some(Value::Bytes(value)) => Ok(value.into()),
            _ => Err(FormatError::Truncated),
        }
    }
}

impl Source for Values {
    fn read_unsigned(&mut self) -> Result<u64, FormatError> {
        match self.values.pop_front() {
            Some(Value::Integer(value)) => Ok(value),
            _ => Err(FormatError::Truncated),
        }
    }

    fn read_double(&mut self) -> Result<f64, FormatError> {
        match self.values.pop_front() {
            Some(Value::Double(value)) => Ok(value),
            _ => Err(FormatError::Truncated),
        }
    }

    fn read_bytes(&mut self) -> Result<Buffer, FormatError> {
        match self.values.pop_front() {
            Some(Value::Bytes(value)) => Ok(value.into()),
            _ => Err(FormatError::Truncated),
        }
    }
}

impl Sink for Values {
    fn write_unsigned(&mut self, value: u64) {
        self.values.push_back(Value::Integer(value));
    }

    fn write_double(&mut self, value: f64) {
        self.values.push_back(Value::Double(value));
    }

    fn write_bytes(&mut self, value: &[u8]) {
        self.values.push_back(Value::Bytes(value.to_vec()));
    }
}

impl<O: Output> Sink for Writer<O> {
    fn write_unsigned(&mut self, value: u64) {
        Writer::write_unsigned(self, value);
    }

    fn write_double(&mut self, value: f64) {
        Writer::write_double(self, value);
    }

    fn write_bytes(&mut self, value: &[u8]) {
        Writer::write_bytes(self, value);
    }
}
