#![no_main]
//! All fuzz targets share this file; the name of the binary selects the driver.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| run(env!("CARGO_BIN_NAME"), bytes));

/// Runs the target with this name: `dump`, `FAMILY_stored` or `FAMILY_commands`.
fn run(target: &str, bytes: &[u8]) {
    if target == "dump" {
        return drivers::dump::payload(bytes);
    }
    let (family, kind) = target.rsplit_once('_').expect("FAMILY_KIND");
    let family = drivers::FAMILIES.iter().find(|known| known.name == family);
    let family = family.expect("a known family");
    match kind {
        "stored" => (family.stored)(bytes),
        "commands" => (family.commands)(bytes),
        _ => panic!("unknown target: {target}"),
    }
}
