//! Every request for memory of every command is refused once.
//!
//! For each type, state of a key and command, the sweep counts the requests n of the successful command. Then it repeats
//! the command 2n times: the i-th request is refused, or all from the i-th on (`ROUGHLY.FAULT`, src/server/injected.rs). Each
//! run has a key of its own. Afterwards:
//!
//! - The reply is an error of the command's page and the key is unchanged, or the reply and the key are those of the
//!   successful command, or the reply refuses some items and the key has the others.
//! - If the key is unchanged, the command succeeds without the fault on a copy.
//! - INFO counts the memory that MEMORY USAGE measures.
//! - A replica and the reloaded AOF have the same keys.
//!
//! In a [`Sample`](crate::support::sample::Sample), each type runs an eighth of the cases. `ROUGHLY_FAULTS=TEXT` runs those whose description
//! contains the text.

mod callbacks;
mod cases;
mod documented;
mod injector;
mod large;
mod obeyed;
mod payloads;
mod states;
mod sweep;

macro_rules! sweeps {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                sweep::run($name, &[]);
            }
        )*

        #[test]
        fn every_type_has_a_sweep() {
            let all = crate::families::FAMILIES.iter().map(|family| family.name);
            crate::support::names::assert_same_names([$($name),*], all, "swept types");
        }
    };
}

sweeps! {
    bloom: "bf",
    cuckoo: "cf",
    count_min: "cms",
    top_k: "topk",
    t_digest: "tdigest",
    bloom_window: "bf-window",
    cuckoo_window: "cf-window",
    count_min_window: "cms-window",
    top_k_window: "topk-window",
    t_digest_window: "tdigest-window",
    valkey_bloom: "bloomfltr",
}

/// The replies of valkey-bloom, and new keys of its type.
#[test]
fn bloom_like_valkey_bloom() {
    let settings = ["bf-replies", "bf-new-keys"].map(|name| (name, "valkey-bloom"));
    sweep::run("bf", &settings);
}
