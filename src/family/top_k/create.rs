//! TOPK.RESERVE.

use super::types::TopType;
use crate::family::new_key::{NewKey, create_and_store, replicate_with_window};
use crate::family::window_option::{COUNTER, NewWindow, WindowOption, in_log};
use crate::server::call::{Call, Error};
use crate::server::data_type::{NewValue, Value};
use crate::server::key::WriteKey;
use crate::server::log::{RateLimit, quoted};
use crate::server::replicated::ReplicatedCommand;
use roughly_sketch::memory::Purpose;
use roughly_sketch::seed::Seed;
use roughly_sketch::top_k::{
    DEFAULT_DECAY, DEFAULT_DEPTH, DEFAULT_WIDTH, TopK, TopKError, TopKWindow,
};

/// The number of arguments without and with dimensions and decay, and without a window.
const ARGUMENTS: [usize; 2] = [3, 6];

/// The largest k for which the log accepts the default width and depth, and the recommended depth beside a width of 8 k
/// (docs/families/top-k.md, "Sizing").
const MAX_K_OF_DEFAULTS: u64 = 10;
const RECOMMENDED_DEPTH: u64 = 5;

struct NewTopK {
    /// k, width, depth and decay.
    parameters: (u64, u64, u64, f64),
    /// The number of arguments before WINDOW.
    len: usize,
    window: Option<(NewWindow, Seed)>,
}

impl NewKey for NewTopK {
    type Types = TopType;

    fn build(&self, call: &Call<'_>) -> Result<NewValue, Error> {
        let budget = call.memory().budget(Purpose::Create);
        let (k, width, depth, decay) = self.parameters;
        let built = match self.window {
            None => TopK::new(k, width, depth, decay, budget).map(|sketch| Value::new(sketch) as _),
            Some((window, seed)) => {
                TopKWindow::new(k, width, depth, decay, window.window, seed, budget)
                    .map(|sketch| Value::new(sketch) as _)
            }
        };
        built.map_err(error_of)
    }

    fn replicate(&self, call: &mut Call<'_>) {
        static RESERVE: ReplicatedCommand = ReplicatedCommand::new(c"TOPK.RESERVE");
        let window = self.window.map(|(window, seed)| (window, Some(seed)));
        replicate_with_window(call, &RESERVE, self.len, window);
    }
}

/// TOPK.RESERVE key k [width depth decay] [WINDOW ms [PANES n] [FINEST r] [SEED hex]]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    let (len, option) = WindowOption::at_end(call, &ARGUMENTS, COUNTER)?;
    let key = WriteKey::open(call, 1);
    refuse_if!(!key.is_missing() => c"TopK: key already exists".into());
    // An invalid number becomes 0, which is out of range, so that the sketch returns the error. RedisBloom 2.x reduces numbers
    // to 32 bits.
    let number = |argument| {
        let number = call.arg(argument).integer();
        let number = number.map_or(0, |number| u64::try_from(number).unwrap_or(0));
        match number > u32::MAX.into() && option.is_none() && call.must_obey() {
            true => u64::from(number as u32),
            false => number,
        }
    };
    let (width, depth, decay) = if len == 3 {
        (DEFAULT_WIDTH, DEFAULT_DEPTH, DEFAULT_DECAY)
    } else {
        let decay = call.double(call.arg(5)).unwrap_or(f64::NAN);
        (number(3), number(4), decay)
    };
    let k = number(2);
    // The parameters are checked before the window.
    TopK::check(k, width, depth, decay).map_err(error_of)?;
    let new = NewTopK {
        parameters: (k, width, depth, decay),
        len,
        window: option
            .map(|option| option.create::<TopKWindow>(call))
            .transpose()?,
    };
    create_and_store(call, key, &new, c"topk.reserve")?;
    if len == ARGUMENTS[0] && k > MAX_K_OF_DEFAULTS && !call.must_obey() {
        static WARNINGS: RateLimit = RateLimit::per_minute();
        WARNINGS.warning(|| {
            let key = quoted(call.arg(1).bytes());
            let width = (8 * k).min(u32::MAX.into());
            let window = in_log(option.is_some());
            format!(
                "key {key} has the default width and depth, {DEFAULT_WIDTH} and {DEFAULT_DEPTH}, which are too small for a k of {k}. Reserve it with TOPK.RESERVE key {k} {width} {RECOMMENDED_DEPTH} {DEFAULT_DECAY}{window}"
            )
        });
    }
    Ok(())
}

fn error_of(error: TopKError) -> Error {
    match error {
        TopKError::OutOfMemory(_) => {
            c"ERR Insufficient memory to create topk data structure".into()
        }
        error => Error::formatted(error),
    }
}
