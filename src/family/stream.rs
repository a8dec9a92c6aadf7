//! Joins the server's value streams to those that sketches read and write.

use crate::server::rdb::{RdbReader, RdbWriter, Truncated};
use roughly_sketch::buffer::Buffer;
use roughly_sketch::format::{FormatError, Sink, Source};

impl From<Truncated> for FormatError {
    fn from(_: Truncated) -> Self {
        Self::Truncated
    }
}

impl Source for RdbReader {
    fn read_unsigned(&mut self) -> Result<u64, FormatError> {
        Ok(self.unsigned()?)
    }

    fn read_double(&mut self) -> Result<f64, FormatError> {
        Ok(self.double()?)
    }

    fn read_bytes(&mut self) -> Result<Buffer, FormatError> {
        Ok(self.bytes()?.into())
    }
}

impl Sink for RdbWriter {
    fn write_unsigned(&mut self, value: u64) {
        self.unsigned(value);
    }

    fn write_double(&mut self, value: f64) {
        self.double(value);
    }

    fn write_bytes(&mut self, value: &[u8]) {
        self.bytes(value);
    }
}
