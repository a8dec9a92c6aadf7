//! Results of the benchmarks: each writes a JSON file to target/bench that also describes the machine.
//! `scripts/bench.sh report` generates the tables and figures of docs/performance.md from copies in benches/record.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes the repository the working directory, for relative paths such as that in `ROUGHLY_SERVER`. Cargo starts a benchmark in
/// the directory of its package.
pub fn enter_repository() {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).expect("the repository");
}

/// Writes the results of one benchmark together with a description of the machine to the target directory.
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
    shell("cut -d ' ' -f 1 /proc/loadavg")
        .parse()
        .unwrap_or(0.0)
}

/// Processor, memory, date, and the load averages before and after the benchmark.
fn machine(load_before: f64) -> Value {
    json!({
        "processor": shell("lscpu | sed -n 's/^Model name: *//p'"),
        "processors": std::thread::available_parallelism().map_or(1, usize::from),
        "memory": shell("sed -n 's/^MemTotal: *//p' /proc/meminfo"),
        "caches": shell("lscpu | sed -n 's/^L\\([123]d\\?\\) cache: */L\\1 /p' | paste -s -d ,"),
        "transparent_huge_pages": shell("cat /sys/kernel/mm/transparent_hugepage/enabled"),
        "kernel": shell("uname -sr"),
        "date": shell("date -u +%F"),
        "compiler": shell("rustc --version"),
        "load_before": load_before,
        "load_after": load_average(),
    })
}

/// Standard output of a command.
fn shell(command: &str) -> String {
    let output = Command::new("sh").args(["-c", command]).output();
    let output = output.expect("a shell").stdout;
    String::from_utf8_lossy(&output).trim().to_owned()
}
