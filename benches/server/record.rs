//! Results of the benchmarks: each writes a JSON file to target/bench that also describes the machine.
//! `scripts/bench.sh report` generates the tables and figures of docs/performance.md from copies in benches/record.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes the repository the working directory, for relative paths such as that in `ROUGHLY_SERVER`. Cargo starts a benchmark in
/// the directory of its package.
///
/// # Panics
/// If the directory does not exist.
pub fn enter_repository() {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).expect("the repository");
}

/// Writes the results of one benchmark together with a description of the machine to the target directory.
///
/// # Panics
/// If the file cannot be written.
pub fn write(name: &str, mut results: Value, load_before: f64) {
    results["machine"] = machine(load_before);
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let directory = Path::new(&target).join("bench");
    fs::create_dir_all(&directory).expect("target/bench");
    let text = serde_json::to_string_pretty(&results).expect("JSON");
    fs::write(directory.join(name), text + "\n").expect("the results");
    println!("wrote {}", directory.join(name).display());
}

/// Linux's load average of the last minute; 0 on other systems.
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0.0)
}

/// Processor, memory, date, and the load averages before and after the benchmark.
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
        "caches": output_of("sh", &["-c", "lscpu | sed -n 's/^L\\([123]d\\?\\) cache: */L\\1 /p'"])
            .lines().collect::<Vec<_>>().join(", "),
        "transparent_huge_pages": huge_pages.unwrap_or_default().trim(),
        "kernel": output_of("uname", &["-sr"]),
        "date": output_of("date", &["-u", "+%Y-%m-%d"]),
        "compiler": output_of("rustc", &["--version"]),
        "load_before": load_before,
        "load_after": load_average(),
    })
}

/// Standard output of a program; "unknown" if it cannot be started.
fn output_of(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .output()
        .map_or("unknown".to_owned(), |output| {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        })
}
