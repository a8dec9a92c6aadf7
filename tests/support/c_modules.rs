//! Compiles the modules in tests/server/modules, which simulate the effects of other modules on the server.

use super::server::{self, Options};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// Functions that return the paths of compiled modules.
macro_rules! modules {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])* pub fn $name() -> &'static str {
            static MODULE: OnceLock<String> = OnceLock::new();
            MODULE.get_or_init(|| compile(stringify!($name)))
        })*
    };
}

modules! {
    /// handler.c: runs commands from inside keyspace events.
    handler;
    /// contexts.c: runs commands in each kind of context.
    contexts;
    /// names.c: registers the names of its arguments.
    names;
    /// no_fork.c, a library for `LD_PRELOAD`: lets fork fail.
    no_fork;
}

/// Options of a server with the module [`handler`].
pub fn with_handler() -> Options {
    Options::new().arguments(&["--loadmodule", handler()])
}

/// Compiles a module, once per run, with the C compiler in `ROUGHLY_CC` (default: `cc`, which
/// `scripts/install.sh build` installs). Returns its path.
fn compile(name: &str) -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/modules");
    let source = sources.join(format!("{name}.c"));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Test programs may run concurrently, so the file is renamed only when it is complete.
    let partial = directory.join(format!("{name}-{}.so", std::process::id()));
    let compiler = std::env::var_os("ROUGHLY_CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(&compiler)
        .args("-Wall -Wextra -Werror -O1 -shared -fPIC -o".split(' '))
        .args([&partial, &source])
        .arg("-ldl")
        .status()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", compiler.display()));
    assert!(status.success(), "{compiler:?} {source:?}");
    let module = directory.join(format!("{name}.so"));
    std::fs::rename(&partial, &module).expect("the compiled module");
    let module = server::without_spaces(module);
    module.to_str().expect("a UTF-8 path").to_owned()
}
