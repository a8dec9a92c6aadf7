//! Windows, timelines and their stored forms. The rule of panes is tested against a model in `roughly-models`.

use super::*;
use crate::count_min::CountMinWindow;
use crate::format::Sink;
use crate::t_digest::TDigestWindow;
use crate::top_k::TopKWindow;
use crate::window_filter::{BloomWindow, CuckooWindow};
use proptest::prelude::*;

#[test]
fn windows_are_in_range() {
    use WindowError::{InvalidLength, InvalidPanes};
    assert_eq!(Window::new(0, 1, None), Err(InvalidLength));
    assert_eq!(Window::new(Window::MAX_MS + 1, 0, None), Err(InvalidLength));
    assert_eq!(Window::new(1000, 0, None), Err(InvalidPanes));
    assert_eq!(Window::new(5000, 1001, None), Err(InvalidPanes));
    assert_eq!(Window::new(5, 6, None), Err(InvalidPanes));
    for (ms, panes, pane_ms) in [(1, 1, 1), (5, 5, 1), (10, 3, 4), (3_600_000, 12, 300_000)] {
        assert_eq!(Window::new(ms, panes, None).unwrap().pane_ms(), pane_ms);
    }
    assert!(Window::new(Window::MAX_MS, Window::MAX_PANES, None).is_ok());
}

#[test]
fn a_window_has_as_many_panes_as_fill_it() {
    for (ms, specified, panes, pane_ms) in [
        (1001, 1000, 501, 2),
        (1000, 1000, 1000, 1),
        (5, 4, 3, 2),
        (13, 12, 7, 2),
        (3_600_000, 7, 7, 514_286),
    ] {
        let window = Window::new(ms, specified, None).unwrap();
        assert_eq!((window.panes(), window.pane_ms()), (panes, pane_ms));
    }
}

/// Stored windows have the numbers that [`Window::new`] makes, and not more panes than the sketch allows.
#[test]
fn other_stored_windows_are_refused() {
    fn is_loaded<T: Timed>(ms: u64, panes: u64) -> bool {
        let mut values = roughly_dump::Values::default();
        values.write_three([ms, panes, 0]);
        if T::HAS_LEVELS {
            values.write_unsigned(ms.div_ceil(panes));
        }
        Timeline::load::<T>(&mut values).is_ok()
    }
    fn check<T: Timed>(max_panes: u64) {
        assert_eq!(T::MAX_PANES, max_panes);
        assert!(is_loaded::<T>(max_panes, max_panes));
        assert!(!is_loaded::<T>(max_panes + 1, max_panes + 1));
        assert!(is_loaded::<T>(13, 7));
        assert!(!is_loaded::<T>(13, 8) && !is_loaded::<T>(13, 12));
        let more = Window::new(max_panes + 1, max_panes + 1, None);
        let timeline = more.map(Timeline::new::<T>);
        assert!(matches!(
            timeline,
            Err(_) | Ok(Err(WindowError::InvalidPanes))
        ));
    }
    check::<BloomWindow>(1000);
    check::<CuckooWindow>(1000);
    check::<CountMinWindow>(100);
    check::<TopKWindow>(100);
    check::<TDigestWindow>(100);
}

#[test]
fn early_panes_have_no_negative_numbers() {
    let mut timeline = Timeline::new::<BloomWindow>(Window::new(10, 5, None).unwrap()).unwrap();
    assert_eq!(timeline.live(), 0..=0);
    assert!(timeline.advance(3).unwrap().is_empty());
    assert_eq!(timeline.live(), 0..=3);
    assert_eq!(timeline.advance(6), Some(0..=0));
    assert_eq!(timeline.advance(6), None);
    assert_eq!(timeline.advance(2), None);
    assert_eq!(timeline.live(), 1..=6);
    assert_eq!(timeline.counted(timeline.panes_in(2)), 1..=6);
    assert_eq!(timeline.counted(timeline.panes_in(8)), 3..=6);
    assert!(timeline.counted(timeline.panes_in(100)).is_empty());
    assert_eq!(timeline.advance(100), Some(1..=6));
    assert_eq!(timeline.advance(u64::MAX), Some(95..=100));
    assert_eq!(timeline.newest(), timeline.window().max_pane());
    assert!(i64::try_from(timeline.window().start_of(timeline.newest())).is_ok());
}

proptest! {
    /// A read of a part covers it, and at most a pane of a window of that length more, or a unit if that is longer. The
    /// lengths of windows, units, parts and of the time since the last write are log-uniform.
    #[test]
    fn parts_of_any_length_are_covered(
        bits in 0.0f64..38.0, panes in 1u64..=100, finest in 0.0f64..=1.0, part in 0.0f64..=1.0, idle in 0.0f64..=1.0,
        after in 0u64..1 << 40,
    ) {
        let power = |base: u64, exponent: f64| (base as f64).powf(exponent) as u64;
        let ms = bits.exp2() as u64;
        let panes = panes.min(ms);
        let window = Window::new(ms, panes, Some(power(ms.div_ceil(panes), finest)));
        // More than 255 panes.
        prop_assume!(window.is_ok());
        let window = window.unwrap();
        let (part, idle) = (power(ms, part), power(ms, idle) - 1);
        let now = ms + after;
        let mut timeline = Timeline::new::<TDigestWindow>(window).unwrap();
        timeline.advance(window.pane_at(now - idle));
        let covered = timeline.covered_ms(now, timeline.panes_within(now, part));
        prop_assert!(covered >= part, "{covered} of {part}");
        let more = part.div_ceil(window.panes()).max(window.pane_ms());
        prop_assert!(covered <= part + more, "{covered} of {part}, {more} more");
    }

    #[test]
    fn a_timeline_is_stored_exactly(ms in 1u64..=Window::MAX_MS, panes in 1u64..=1000, newest: u64) {
        let mut timeline = Timeline::new::<BloomWindow>(Window::new(ms, panes.min(ms), None).unwrap()).unwrap();
        timeline.advance(newest);
        let mut values = roughly_dump::Values::default();
        timeline.save::<BloomWindow>(&mut values);
        prop_assert_eq!(Timeline::load::<BloomWindow>(&mut values), Ok(timeline));
    }
}

#[test]
fn the_number_of_panes_of_level_0_is_exact() {
    for (panes, units) in [(1, 4), (2, 6), (3, 40), (12, 26), (12, 720), (30, 1000)] {
        let window = Window::new(units, panes, Some(1)).unwrap();
        assert!(window.levels() > 0);
        let numbers = (0..2 * units + 5).map(|newest| {
            let mut timeline = Timeline::new::<TopKWindow>(window).unwrap();
            timeline.advance(newest);
            let units = 0..=newest;
            (units.filter(|&unit| timeline.level_of(unit) == Some(0))).count() as u64
        });
        let most = numbers.max();
        assert_eq!(most, Some(window.finest_panes()), "{panes}, {units}");
    }
}

/// Milliseconds of the window and of a unit, live panes for 4, 6, 12 and 24 panes, and the largest number of panes.
#[test]
fn the_number_of_live_panes_is_limited() {
    const DAY: u64 = 86_400_000;
    for (ms, finest, live_panes, max_panes) in [
        (3_600_000, 1000, [54, 72, 120, 205], 31),
        (DAY, 60_000, [47, 62, 102, 171], 40),
        (DAY, 1000, [77, 103, 179, 0], 18),
        (30 * DAY, 3_600_000, [42, 55, 89, 146], 53),
        (30 * DAY, 1000, [101, 137, 242, 0], 12),
        (Window::MAX_MS, 1000, [136, 186, 0, 0], 8),
    ] {
        let new = |panes| Window::new(ms, panes, Some(finest));
        for (panes, live_panes) in [4, 6, 12, 24].into_iter().zip(live_panes) {
            let window = new(panes).ok();
            assert_eq!(window.map_or(0, Window::live_panes), live_panes);
            let kept = window.map(|window| (window.panes(), window.pane_ms()));
            assert!(kept.is_none_or(|kept| kept == (panes, finest)));
        }
        assert!(new(max_panes).is_ok());
        assert_eq!(new(max_panes + 1), Err(WindowError::TooManyPanes));
    }
    let longest = Window::new(Window::MAX_MS, 1, Some(1)).unwrap();
    assert_eq!(longest.levels(), Window::MAX_LEVELS);
}

#[test]
fn errors_are_in_the_order_of_the_parameters() {
    use WindowError::{InvalidFinest, InvalidLength, InvalidPanes, TooManyPanes};
    for (ms, panes, finest, error) in [
        (0, 0, 0, InvalidLength),
        (10, 0, 0, InvalidPanes),
        (10, 11, 0, InvalidPanes),
        (10, 3, 0, InvalidFinest),
        (10, 3, 5, InvalidFinest),
        (1_000_000, 50, 20_001, InvalidFinest),
        (1_000_000, 50, 1, TooManyPanes),
    ] {
        assert_eq!(Window::new(ms, panes, Some(finest)), Err(error));
    }
    let uniform = Window::new(13, 12, Some(2));
    assert_eq!(uniform, Window::new(13, 12, None));
    assert_eq!(uniform.map(Window::panes), Ok(7));
    let levels = Window::new(13, 6, Some(1)).unwrap();
    let counts = (levels.panes(), levels.levels(), levels.live_panes());
    assert_eq!(counts, (6, 0, 14));
    let of_filter = Window::of::<BloomWindow>(13, 6, Some(1));
    assert_eq!(of_filter, Err(InvalidFinest));
    assert!(Window::of::<BloomWindow>(13, 6, Some(3)).is_ok());
}
