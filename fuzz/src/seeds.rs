//! Writes the initial corpus, `fuzz/corpus/TARGET/`, from the golden payloads and from generated ones.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --bin seeds`

use drivers::{FAMILIES, dump};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of a seed. Larger seeds slow the fuzzer down without reaching more code.
const MAX_SEED_BYTES: usize = 8192;

fn main() -> std::io::Result<()> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = package.join("corpus");
    let mut written = 0;
    let mut write = |target: &str, name: &str, seed: &[u8]| {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        if seed.len() <= MAX_SEED_BYTES {
            fs::write(folder.join(name), seed)?;
            written += 1;
        }
        Ok::<(), std::io::Error>(())
    };
    let mut write_payload = |name: &str, payload: &[u8]| {
        if payload.len() > 2 * MAX_SEED_BYTES {
            return Ok(());
        }
        write("dump", name, payload)?;
        let Some((family, seeds)) = dump::seeds(payload) else {
            return Ok(());
        };
        for (number, seed) in seeds.iter().enumerate() {
            write(
                &format!("{family}_stored"),
                &format!("{name}-{number}"),
                seed,
            )?;
        }
        Ok::<(), std::io::Error>(())
    };
    for version in ["dumps/2.8", "dumps/8.10", "valkey-bloom"] {
        let folder = package.join("../tests/golden").join(version);
        let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        let mut paths: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
        paths.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "dump")
        });
        paths.sort();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let version = version.trim_start_matches("dumps/");
            write_payload(&format!("{version}-{name}"), &fs::read(&path)?)?;
        }
    }
    for (number, (family, payload)) in dump::samples().iter().enumerate() {
        write_payload(&format!("{family}-{number}"), payload)?;
    }
    // Any bytes are a valid sequence of operations.
    for family in FAMILIES.map(|family| family.name) {
        for step in [1usize, 7, 31, 77] {
            let seed: Vec<u8> = (0..600).map(|byte| (byte * step) as u8).collect();
            write(
                &format!("{family}_commands"),
                &format!("step-{step}"),
                &seed,
            )?;
        }
    }
    println!("seeds: {written} in {}", corpus.display());
    Ok(())
}
