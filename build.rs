//! Stamps the git revision into the module, for the load log line and INFO. The environment variable
//! `ROUGHLY_REVISION` specifies it for builds without a repository.

use std::process::Command;

fn main() {
    let specified = std::env::var("ROUGHLY_REVISION").ok();
    let revision = specified.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let revision = revision.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=ROUGHLY_REVISION={revision}");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=ROUGHLY_REVISION");
    // Git knows where these are, in a work tree of its own too. A packaged source tree has none; a
    // missing path would rerun this at every build.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file]);
        if let Some(path) = path.filter(|path| std::path::Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}

/// What git prints, if it succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
