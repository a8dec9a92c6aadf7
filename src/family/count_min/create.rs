//! CMS.INITBYDIM and CMS.INITBYPROB.

use super::types::CounterType;
use crate::family::new_key::{NewKey, create_and_store};
use crate::family::window_option::{COUNTER, NewWindow, WindowOption};
use crate::server::call::{Call, Error};
use crate::server::data_type::{NewValue, Value};
use crate::server::key::WriteKey;
use crate::server::replicated::ReplicatedCommand;
use roughly_sketch::count_min::{
    CellSize, CountMin, CountMinError, CountMinWindow, Dimensions, dimensions_for,
};
use roughly_sketch::memory::Purpose;
use roughly_sketch::seed::Seed;
use std::ffi::CStr;

/// The number of arguments without and with a cell size, and without a window.
const ARGUMENTS: [usize; 2] = [4, 6];

/// CMS.INITBYDIM key width depth [CELL_SIZE 1|2|4|8] [WINDOW ms [PANES n] [FINEST r] [SEED hex]]
pub fn initbydim(call: &mut Call<'_>) -> Result<(), Error> {
    let is_complete = call.len() == ARGUMENTS[0];
    create(call, c"cms.initbydim", dimensions, is_complete)
}

/// CMS.INITBYPROB key error probability [CELL_SIZE 1|2|4|8] [WINDOW ms [PANES n] [FINEST r] [SEED hex]]
pub fn initbyprob(call: &mut Call<'_>) -> Result<(), Error> {
    create(call, c"cms.initbyprob", bounds, false)
}

/// The dimensions of CMS.INITBYDIM.
fn dimensions(call: &Call<'_>) -> Result<WidthAndDepth, Error> {
    let positive = |index: usize| {
        let given = call.arg(index).integer().filter(|&given| given > 0);
        given.map(i64::unsigned_abs)
    };
    let width = positive(2).ok_or(c"CMS: invalid width")?;
    let depth = positive(3).ok_or(c"CMS: invalid depth")?;
    Ok(Ok((width, depth)))
}

/// The dimensions of CMS.INITBYPROB.
fn bounds(call: &Call<'_>) -> Result<WidthAndDepth, Error> {
    let fraction = |index: usize| {
        let given = call.double(call.arg(index));
        given.filter(|&given| given > 0.0 && given < 1.0)
    };
    let error = fraction(2).ok_or(c"CMS: invalid overestimation value")?;
    let probability = fraction(3).ok_or(c"CMS: invalid prob value")?;
    Ok(dimensions_for(error, probability))
}

/// Width and depth, or the error for their calculation.
type WidthAndDepth = Result<(u64, u64), CountMinError>;

struct NewSketch {
    dimensions: Dimensions,
    /// Whether the arguments of the command are those of the replicated form.
    is_complete: bool,
    window: Option<(NewWindow, Seed)>,
}

impl NewKey for NewSketch {
    type Types = CounterType;

    fn build(&self, call: &Call<'_>) -> Result<NewValue, Error> {
        let budget = call.memory().budget(Purpose::Create);
        let dimensions = self.dimensions;
        let built = match self.window {
            None => CountMin::new(
                dimensions.width(),
                dimensions.depth(),
                dimensions.cell_size(),
                budget,
            )
            .map(|sketch| Value::new(sketch) as _),
            Some((window, seed)) => CountMinWindow::new(dimensions, window.window, seed, budget)
                .map(|sketch| Value::new(sketch) as _),
        };
        built.map_err(error_of)
    }

    /// The dimensions are replicated: releases of RedisBloom differ in the depth that they calculate for some probabilities.
    fn replicate(&self, call: &mut Call<'_>) {
        static INITBYDIM: ReplicatedCommand = ReplicatedCommand::new(c"CMS.INITBYDIM");
        if self.is_complete {
            return call.replicate_verbatim();
        }
        let (width, depth) = (self.dimensions.width(), self.dimensions.depth());
        let mut replicated = INITBYDIM.with(call.arguments(1..2));
        replicated.integer(width).integer(depth);
        // RedisBloom up to 8.10 does not accept the keyword.
        let cell_size = self.dimensions.cell_size();
        if cell_size != CellSize::default() {
            replicated.keyword("CELL_SIZE").integer(cell_size.bytes());
        }
        if let Some((window, seed)) = self.window {
            window.add_to(&mut replicated, Some(seed));
        }
        replicated.replicate(call);
    }
}

/// Creates a sketch of the dimensions that `read` parses from arguments 2 and 3.
fn create(
    call: &mut Call<'_>,
    event: &CStr,
    read: fn(&Call<'_>) -> Result<WidthAndDepth, Error>,
    is_complete: bool,
) -> Result<(), Error> {
    let (len, option) = WindowOption::at_end(call, &ARGUMENTS, COUNTER)?;
    let key = WriteKey::open(call, 1);
    refuse_if!(!key.is_missing() => c"CMS: key already exists".into());
    let dimensions = read(call)?;
    let cell_size = cell_size(call, len)?;
    let (width, depth) = dimensions?;
    let new = NewSketch {
        dimensions: Dimensions::new(width, depth, cell_size)?,
        is_complete,
        // The arguments before WINDOW are checked first.
        window: option
            .map(|option| option.create::<CountMinWindow>(call))
            .transpose()?,
    };
    create_and_store(call, key, &new, event)
}

/// The cell size in arguments 4 and 5; the default if the command has only `len` arguments.
fn cell_size(call: &Call<'_>, len: usize) -> Result<CellSize, Error> {
    if len == ARGUMENTS[0] {
        return Ok(CellSize::default());
    }
    let has_keyword = call.arg(4).is("CELL_SIZE");
    let bytes = call.arg(5).integer().filter(|_| has_keyword);
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    let cell_size = bytes.and_then(CellSize::from_bytes);
    cell_size.ok_or(c"CMS: invalid cell size".into())
}

fn error_of(error: CountMinError) -> Error {
    match error {
        CountMinError::OutOfMemory(_) => c"CMS: Insufficient memory to create the key".into(),
        error => error.into(),
    }
}
