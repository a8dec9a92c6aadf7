//! Refused memory: every request of an operation is refused once.

use super::allows;
use super::input::{CHUNKED, Input};
use super::stored::{Subject, digest, values};
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::Budget;

/// Counts and refuses requests for memory: allocations that can be refused, and requests to a budget.
pub trait Faults {
    /// Counts from here on. Refuses the requests from number `first` to number `last`; none if they are 0.
    fn begin(&self, first: u64, last: u64);

    /// Counts a request to a budget. Whether it is allowed.
    fn allows(&self) -> bool;

    /// Refuses no more, and returns the number of requests.
    fn end(&self) -> u64;
}

/// What [`check`] has run.
#[derive(Debug, Default, Clone, Copy)]
pub struct Runs {
    /// Operations with refused memory.
    pub runs: u64,
    /// Requests of the operations without refusals.
    pub positions: u64,
}

/// How an operation may end if memory is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// With an error, and nothing has changed; or as without refusals.
    Unchanged,
    /// As without refusals.
    Completely,
}

/// An operation. Its result is bytes that describe what it has created, or `None` for an error.
type Operation<T> = (
    &'static str,
    Ends,
    fn(&mut T, &dyn Faults) -> Option<Vec<u8>>,
);

fn operations<T: Subject>() -> [Operation<T>; 9] {
    [
        ("copy", Ends::Unchanged, |value, _| {
            Some(digest(&value.try_clone().ok()?))
        }),
        ("header", Ends::Unchanged, |value, _| {
            match value.has_header() {
                true => value.header().ok(),
                false => Some(Vec::new()),
            }
        }),
        ("from header", Ends::Unchanged, |value, faults| {
            if !value.has_header() {
                return Some(Vec::new());
            }
            let allows = |bytes| faults.allows() && allows(bytes);
            let created = T::from_header(&value.header().ok()?, Budget::new(&allows));
            Some(digest(&created.ok()?))
        }),
        ("load", Ends::Unchanged, |value, _| {
            let loaded = T::load(&mut values(value), T::ENCODING_VERSION, &T::LOAD_OPTIONS);
            Some(digest(&loaded.ok()?))
        }),
        ("save", Ends::Completely, |value, _| {
            Some(values(value).to_dump(super::stored::id_of::<T>()))
        }),
        ("add", Ends::Unchanged, |value, faults| {
            let allows = |bytes| faults.allows() && allows(bytes);
            let item = b"an item that is not in the sketch";
            value.add(item, 7, Budget::new(&allows));
            None
        }),
        ("advance by a pane", Ends::Completely, |value, _| {
            advance(value, 1)
        }),
        ("advance by all panes", Ends::Completely, |value, _| {
            advance(value, T::MAX_PANES)
        }),
        ("expire", Ends::Completely, |value, _| {
            advance(value, T::MAX_PANES);
            while value.expire() || value.release_recorded(&mut BlockChanges::<()>::default()) {}
            None
        }),
    ]
}

fn advance<T: Subject>(value: &mut T, panes: u64) -> Option<Vec<u8>> {
    let newest = value.timeline()?.newest();
    value.advance(newest.saturating_add(panes));
    None
}

/// Runs each operation on the value of a stored form, and refuses each of its requests: only that, and all from it on.
///
/// # Panics
/// If an operation changes a value in another way than allowed.
pub fn check<T: Subject>(bytes: &[u8], faults: &dyn Faults) -> Runs {
    let load = || {
        let mut input = Input::new(bytes);
        let version = input.byte();
        let loaded = T::load(&mut input, version.into(), &T::LOAD_OPTIONS);
        loaded.ok().filter(|_| version < CHUNKED)
    };
    let mut done = Runs::default();
    for (name, ends, operation) in operations::<T>() {
        let run = |first, last| {
            let mut value = load()?;
            faults.begin(first, last);
            let result = operation(&mut value, faults);
            let count = faults.end();
            Some((result, value, count))
        };
        let Some((expected, after, count)) = run(0, 0) else {
            return done;
        };
        let (before, after) = (digest(&load().expect("a value")), digest(&after));
        done.positions += count;
        for position in 1..=count {
            for last in [position, u64::MAX] {
                done.runs += 1;
                let (result, mut value, _) = run(position, last).expect("a value");
                let what = format!("{name}: request {position} to {last}");
                let state = digest(&value);
                if ends == Ends::Completely || state != before || result.is_some() {
                    assert!(result == expected, "{what}: another result");
                    assert!(state == after, "{what}: another state");
                } else {
                    // Another attempt succeeds.
                    let is_equal = operation(&mut value, faults) == expected;
                    assert!(is_equal, "{what}: then an error");
                    assert!(digest(&value) == after, "{what}: then another state");
                }
            }
        }
    }
    done
}
