//! The module tests/server/modules/handler.c, which does to the server what other modules can do.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The path of the compiled module. Compiled once per run, with the C compiler of `scripts/install.sh build`.
///
/// # Panics
/// If it does not compile.
pub fn module() -> &'static str {
    static MODULE: OnceLock<String> = OnceLock::new();
    MODULE.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/modules/handler.c");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // Test programs may run side by side, so the module gets its name when it is complete.
        let partial = directory.join(format!("handler-{}.so", std::process::id()));
        let status = Command::new("cc")
            .args([
                "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o",
            ])
            .args([&partial, &source])
            .status()
            .expect("cc, which scripts/install.sh build installs");
        assert!(status.success(), "cc {}", source.display());
        let module = directory.join("handler.so");
        std::fs::rename(&partial, &module).expect("the compiled module");
        module.to_str().expect("a UTF-8 path").to_owned()
    })
}
