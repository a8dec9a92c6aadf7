//! What the benches leave behind: a JSON file each in target/bench, with the machine that it was
//! measured on. `make bench-report` makes docs/performance.md of them.

#[allow(dead_code)] // Of the sketches only.
pub mod segments;

use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Where the results are, in the package's own target directory.
pub fn directory() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(target)
        .join("bench")
}

/// Writes the results of one bench, with the machine added.
///
/// # Panics
/// If the file cannot be written.
#[allow(dead_code)] // Not by the report, which only reads.
pub fn write(name: &str, mut results: Value, load_before: f64) {
    results["machine"] = machine(load_before);
    let file = directory().join(name);
    fs::create_dir_all(directory()).expect("target/bench");
    let text = serde_json::to_string_pretty(&results).expect("JSON");
    fs::write(&file, text + "\n").expect("the results");
    println!("wrote {}", file.display());
}

/// Processes that ran or wanted to, on average over the last minute, as Linux counts them; 0 where it
/// does not.
#[allow(dead_code)]
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0.0)
}

/// The processor, the memory, the date, and how busy the machine was before and after.
fn machine(load_before: f64) -> Value {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let field = |text: &str, name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.split_once(':'))
            .map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let huge_pages = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    json!({
        "processor": field(&processors, "model name"),
        "processors": std::thread::available_parallelism().map_or(1, usize::from),
        "memory": field(&memory, "MemTotal"),
        "caches": said_by("sh", &["-c", "lscpu | sed -n 's/^L\\([123]d\\?\\) cache: */L\\1 /p'"])
            .lines().collect::<Vec<_>>().join(", "),
        "transparent_huge_pages": huge_pages.unwrap_or_default().trim(),
        "kernel": said_by("uname", &["-sr"]),
        "date": said_by("date", &["-u", "+%Y-%m-%d"]),
        "compiler": said_by("rustc", &["--version"]),
        "load_before": load_before,
        "load_after": load_average(),
    })
}

fn said_by(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .output()
        .map_or("unknown".to_owned(), |output| {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        })
}
