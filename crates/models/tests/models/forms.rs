//! The encoding versions and the headers that the types load.

use roughly_models::input::{CHUNKED, Input};
use roughly_models::{TYPES, Type, seeds};

#[test]
fn encoding_versions() {
    let versions = TYPES.map(|of| of.versions);
    let of_windows = [(2, 2), (3, 3), (3, 3), (4, 4), (3, 3)];
    let others = [(0, 4), (0, 4), (0, 1), (0, 0), (0, 0), (1, 1)];
    assert_eq!(versions[..], [&others[..], &of_windows].concat());
}

/// Only complete headers, and not those of another type of the family.
#[test]
fn headers() {
    let family = |name: &str| name.replace("valkey_", "").replace("_window", "");
    for of in TYPES {
        let seeds = seeds::stored(of.name).into_iter();
        let seeds: Vec<_> = seeds.filter(|seed| seed[0] == CHUNKED).collect();
        assert!(seeds.len() > 1, "{}", of.name);
        for seed in seeds {
            let mut input = Input::new(&seed[1..]);
            let len = input.u16();
            let header = [input.bytes(len.into()), &[0]].concat();
            let len = header.len() - 1;
            let of_family = |other: &&Type| family(other.name) == family(of.name);
            for other in TYPES.iter().filter(of_family) {
                // The header of a top-k has no number of elements.
                let has_prefixes = [of.name, other.name] == ["top_k"; 2];
                for end in if has_prefixes { len } else { 0 }..=len + 1 {
                    let is_loaded = (other.loads_header)(&header[..end]);
                    let is_header = other.name == of.name && end == len;
                    assert_eq!(is_loaded, is_header, "{} {header:?} {end}", other.name);
                }
            }
        }
    }
}
