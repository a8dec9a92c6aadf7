//! Stamps the git revision into the module, for the load log line and INFO.

use std::process::Command;

fn main() {
    let revision = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(
            || "unknown".to_owned(),
            |revision| revision.trim().to_owned(),
        );
    println!("cargo:rustc-env=ROUGHLY_REVISION={revision}");
    println!("cargo:rerun-if-changed=build.rs");
    // A packaged source tree has no .git; a missing path would rerun this at every build.
    for path in [".git/HEAD", ".git/logs/HEAD"] {
        if std::path::Path::new(path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
