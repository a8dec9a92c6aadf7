//! The types `CMSk-TYPE` and, with a window, `cmswindow`, and what the commands need of them.

use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::data_type::{CountedUsage, DataType, MeasuredUsage, Registration, registration};
use crate::server::key::{either, one_of};
use roughly_sketch::count_min::{CountMin, CountMinError, CountMinWindow, Dimensions, NO_LIMIT};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::Panes;
use std::ffi::CStr;
use std::iter;

/// A command needs a key that does not exist.
pub const NOT_FOUND: &CStr = c"CMS: key does not exist";
const TOO_MUCH: &CStr = c"CMS: too much work for the depth of the sketch";

impl From<CountMinError> for Error {
    fn from(error: CountMinError) -> Self {
        Self::formatted(error)
    }
}

static CLASSIC: Registration = registration::<CountMin>("");
static WINDOWED: Registration = registration::<CountMinWindow>("_window");

impl DataType for CountMin {
    const REGISTRATION: &'static Registration = &CLASSIC;
    type Usage = MeasuredUsage;
    const LOADCHUNK: &'static CStr = c"CMS.LOADCHUNK";
}

impl DataType for CountMinWindow {
    const REGISTRATION: &'static Registration = &WINDOWED;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = c"CMS.LOADCHUNK";
}

one_of! {
    /// The types.
    CounterType,
    /// A count-min sketch.
    Counter,
    /// A count-min sketch that a command changes.
    CounterMut {
        /// Without a window.
        Classic: CountMin, CountMin;
        /// With a window.
        Windowed: CountMinWindow, CountMinWindow;
    }
}

impl Counter<'_> {
    /// Width, depth and cell size.
    #[inline(always)]
    pub fn dimensions(self) -> Dimensions {
        either!(self, |sketch| sketch.dimensions())
    }

    /// The sum of all increments in these panes.
    pub fn total(self, panes: Panes) -> u64 {
        match self {
            Self::Classic(sketch) => sketch.total(),
            Self::Windowed(sketch) => sketch.total(panes),
        }
    }

    /// Refuses a command whose items would take too long to hash for all rows; see [`CountMin::within_work_limit`]. The items
    /// start at argument `first`, and each has `args_per_item` arguments.
    #[inline(always)]
    pub fn check_work(
        self,
        call: &Call<'_>,
        first: usize,
        args_per_item: usize,
    ) -> Result<(), Error> {
        let items = call.args_from(first).step_by(args_per_item);
        let is_within_limit = match self {
            Self::Classic(sketch) => sketch.within_work_limit(items.map(Argument::bytes)),
            // The depth is limited.
            Self::Windowed(_) => true,
        };
        call.check_work(is_within_limit, TOO_MUCH)
    }

    /// Calls `answer` with the estimated count of each item in these panes, in order.
    #[inline(always)]
    pub fn query_all<'b>(
        self,
        items: impl ExactSizeIterator<Item = &'b [u8]>,
        panes: Panes,
        answer: impl FnMut(u64),
    ) {
        match self {
            Self::Classic(sketch) => sketch.query_all(items, answer),
            Self::Windowed(sketch) => sketch.query_all(items, panes, answer),
        }
    }
}

impl CounterMut<'_> {
    /// The same sketch for reads.
    #[inline(always)]
    pub fn as_ref(&self) -> Counter<'_> {
        match self {
            Self::Classic(sketch) => Counter::Classic(sketch),
            Self::Windowed(sketch) => Counter::Windowed(sketch),
        }
    }

    /// The limit of estimates of a command with the limit `max`. `None` if another copy of the sketch has accepted the increments:
    /// the command must be obeyed, and nobody reads the estimates. `Some` without a window, which computes them anyway.
    #[inline(always)]
    pub fn limit(&self, call: &Call<'_>, max: u64) -> Option<u64> {
        match self {
            Self::Windowed(_) if max == NO_LIMIT && call.must_obey() => None,
            _ => Some(max),
        }
    }

    /// Adds to the count of an item if the new estimate is at most [`CounterMut::limit`], and returns it. Only a sketch with a window
    /// requests memory.
    ///
    /// # Errors
    /// Those of [`CountMin::increment_limited`] and [`CountMinWindow::increment_limited`].
    #[inline(always)]
    pub fn increment(
        self,
        item: &[u8],
        by: i64,
        limit: Option<u64>,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        if let Self::Classic(sketch) = self {
            return sketch.increment_limited(item, by, limit.unwrap_or(NO_LIMIT));
        }
        let mut estimate = Err(CountMinError::Overflow);
        let items = iter::once((item, by));
        self.increment_all(items, limit, budget, |_, result| estimate = result);
        estimate
    }

    /// The result of [`CounterMut::increment`] after an advance, if these panes are live then and the increment changes nothing.
    /// `None` if the increment changes the sketch, or if that depends on the memory that is available.
    pub fn unchanged_by(
        &self,
        item: &[u8],
        by: i64,
        max: u64,
        later: Panes,
    ) -> Option<Result<u64, CountMinError>> {
        match self {
            Self::Classic(_) => None,
            Self::Windowed(sketch) => {
                Some(sketch.check_increment(item, by, max, later)).filter(|r| by == 0 || r.is_err())
            }
        }
    }

    /// [`CounterMut::increment`] for each item, in order. Calls `answer` with the increment and the result.
    #[inline(always)]
    pub fn increment_all<'b>(
        self,
        items: impl Iterator<Item = (&'b [u8], i64)>,
        limit: Option<u64>,
        budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        match (self, limit) {
            (Self::Classic(sketch), _) => {
                sketch.increment_all(items, limit.unwrap_or(NO_LIMIT), answer);
            }
            (Self::Windowed(sketch), Some(max)) => sketch.increment_all(items, max, budget, answer),
            (Self::Windowed(sketch), None) => sketch.apply_all(items, budget, answer),
        }
    }
}
