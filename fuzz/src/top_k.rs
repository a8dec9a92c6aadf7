//! Top-k sketches: stored forms, and sequences of operations compared with exact counts.

pub mod window;

use super::input::Input;
use super::stored::{Subject, digest, reloaded, reloads};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::memory::Budget;
use roughly_sketch::top_k::TopK;
use std::collections::{HashMap, HashSet};

impl Subject for TopK {
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], number: i64) {
        TopK::add(self, item, number as u32).expect("enough memory");
    }

    fn exercise(self) {
        let mut sketch = self;
        check_list(&sketch);
        for increment in [0, 1, 100_000, u32::MAX] {
            for item in [&b""[..], b"a", b"bc\0d", b"new", b"newer"] {
                sketch.add(item, increment).expect("enough memory");
            }
        }
        for item in [&b"a"[..], b"", b"x"] {
            let hash = sketch.hash(item);
            assert_eq!(sketch.count_hashed(item, &hash), sketch.count(item));
        }
        check_list(&sketch);
    }
}

/// Checks that the list is sorted, has no duplicates and at most k items, and that the sketch can be copied, saved
/// and loaded.
fn check_list(sketch: &TopK) {
    let list: Vec<_> = sketch.list().expect("enough memory").collect();
    assert!(list.is_sorted_by(|left, right| left.1 >= right.1));
    let distinct: HashSet<_> = list.iter().map(|&(item, _)| item).collect();
    assert_eq!(distinct.len(), list.len(), "the list has duplicates");
    assert!(list.len() <= sketch.k() as usize);
    assert!(distinct.into_iter().all(|item| sketch.query(item)));
    reloads(sketch);
}

/// Decodes `bytes` as a sequence of operations, and compares the sketch with exact counts: no estimate exceeds the
/// count, because the fingerprints of the 65 items differ. A replica that receives the changing commands must stay
/// identical.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (k, width, depth) = (input.byte() % 20, input.byte() % 40, input.byte() % 10);
    let decay = input.pick(&[0.9, 0.5, 1.0, 1e-300, 0.1]);
    let new = || {
        TopK::new(
            k.into(),
            width.into(),
            depth.into(),
            decay,
            Budget::new(&allows),
        )
    };
    let (Ok(mut sketch), Ok(mut replica)) = (new(), new()) else {
        return;
    };
    let mut model: HashMap<Vec<u8>, u64> = HashMap::new();
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=199 => {
                // Only short items, whose fingerprints differ.
                let item = &input
                    .item()
                    .iter()
                    .take(1)
                    .map(|b| b % 64)
                    .collect::<Vec<_>>()[..];
                let increment = match input.byte() {
                    byte if byte < 240 => byte.into(),
                    _ => input.u32(),
                };
                *model.entry(item.to_vec()).or_default() += u64::from(increment);
                let before = digest(&sketch);
                let added = sketch.add(item, increment).expect("enough memory");
                let expelled = added.expelled.map(<[u8]>::to_vec);
                let changed = added.changed;
                assert_eq!(changed, before != digest(&sketch), "`changed` is wrong");
                if changed {
                    let added = replica.add(item, increment).expect("enough memory");
                    assert_eq!(added.expelled.map(<[u8]>::to_vec), expelled);
                }
                if let Some(expelled) = expelled {
                    assert!(!sketch.query(&expelled));
                }
            }
            200..=229 => {
                let item = input.item();
                let _ = (sketch.query(item), sketch.count(item));
            }
            230..=239 => {
                sketch = reloaded(&sketch);
            }
            _ => check_list(&sketch),
        }
        assert!(sketch == replica, "a replica differs");
    }
    for (item, count) in model {
        assert!(
            u64::from(sketch.count(&item)) <= count,
            "the estimate exceeds the count"
        );
    }
    check_list(&sketch);
}
