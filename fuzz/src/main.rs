#![no_main]
//! Runs one target under libFuzzer. The environment variable `ROUGHLY_TARGET` names it: see [`roughly_models::targets`].
//!
//! Before, it writes the initial corpus of the target, `fuzz/corpus/TARGET/`. Without a name, it prints all names.

use roughly_models::{seeds, targets};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// The function of the target.
static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("ROUGHLY_TARGET").unwrap_or_default();
    let Some((_, target)) = targets().find(|(known, _)| *known == name) else {
        targets().for_each(|(known, _)| println!("{known}"));
        std::process::exit(i32::from(!name.is_empty()));
    };
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(&name);
    fs::create_dir_all(&corpus).expect("the folder of the corpus");
    for (number, seed) in seeds::of_target(&name).iter().enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), seed).expect("a file of the corpus");
    }
    target
});

libfuzzer_sys::fuzz_target!(init: LazyLock::force(&TARGET), |bytes: &[u8]| TARGET(bytes));
