//! Compiles tests/server/modules/handler.c, a module that simulates the effects of other modules on the server.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The path of the module. Compiled once per run, with the C compiler in `ROUGHLY_CC` (default: `cc`, which
/// `scripts/install.sh build` installs).
///
/// # Panics
/// If the compilation fails.
pub fn module() -> &'static str {
    static MODULE: OnceLock<String> = OnceLock::new();
    MODULE.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/modules/handler.c");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // Test programs may run concurrently, so the file is renamed only when it is complete.
        let partial = directory.join(format!("handler-{}.so", std::process::id()));
        let compiler = std::env::var_os("ROUGHLY_CC").unwrap_or_else(|| "cc".into());
        let status = Command::new(&compiler)
            .args([
                "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o",
            ])
            .args([&partial, &source])
            .status()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", compiler.display()));
        assert!(
            status.success(),
            "{} {}",
            compiler.display(),
            source.display()
        );
        let module = directory.join("handler.so");
        std::fs::rename(&partial, &module).expect("the compiled module");
        module.to_str().expect("a UTF-8 path").to_owned()
    })
}
