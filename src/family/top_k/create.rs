//! TOPK.RESERVE.

use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use roughly_sketch::memory::Budget;
use roughly_sketch::top_k::{DEFAULT_DECAY, DEFAULT_DEPTH, DEFAULT_WIDTH, TopK, TopKError};
use std::ffi::CStr;

/// TOPK.RESERVE key k [width depth decay]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    if !matches!(call.len(), 3 | 6) {
        return Err(Error::WrongArity);
    }
    let mut key = call.write::<TopK>(1);
    if !matches!(key.get(), Slot::Missing) {
        return Err(c"TopK: key already exists".into());
    }
    // An invalid number becomes 0, which is out of range, so that the sketch returns the error.
    let number = |argument| {
        let number = call.arg(argument).integer();
        number.map_or(0, |number| u64::try_from(number).unwrap_or(0))
    };
    let (width, depth, decay) = if call.len() == 3 {
        (DEFAULT_WIDTH, DEFAULT_DEPTH, DEFAULT_DECAY)
    } else {
        let decay = call.arg(5).double().unwrap_or(f64::NAN);
        (number(3), number(4), decay)
    };
    let sketch = TopK::new(
        number(2),
        width,
        depth,
        decay,
        Budget::new(&|bytes| call.allows_bytes(bytes)),
    );
    let entry = key.create(sketch.map_err(error_text)?)?;
    call.replicate_verbatim();
    entry.store();
    call.signal_changed(1, c"topk.reserve");
    call.reply_ok();
    Ok(())
}

fn error_text(error: TopKError) -> &'static CStr {
    match error {
        TopKError::InvalidK => c"TopK: invalid k",
        TopKError::InvalidWidth => c"TopK: invalid width",
        TopKError::InvalidDepth => c"TopK: invalid depth",
        TopKError::InvalidDecay => c"TopK: invalid decay value. must be '<= 1' & '> 0'",
        TopKError::OutOfMemory(_) => c"ERR Insufficient memory to create topk data structure",
    }
}
