//! The modules to compare, and the servers on which they run. Environment variables select them.

use crate::cases::Case;
use crate::cpu;
use crate::load::{Connections, Load};
use crate::support::resp::Reply;
use crate::support::server::{Options, Server, module_path, server_program};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A module file.
#[derive(Debug)]
pub struct Module {
    /// Name in the output and, for other modules than Roughly, in the name of the results file.
    pub name: &'static str,
    /// Name in documents.
    title: &'static str,
    file: PathBuf,
    /// Commands sent to a new server before the setup of a case.
    settings: &'static [&'static str],
}

impl Module {
    fn roughly() -> Self {
        Self {
            name: "roughly",
            title: "Roughly",
            file: module_path(),
            settings: &[],
        }
    }

    /// The module file that an environment variable contains, if the variable is set and not empty.
    fn of_variable(
        variable: &str,
        name: &'static str,
        title: &'static str,
        settings: &'static [&'static str],
    ) -> Option<Self> {
        let file = std::env::var_os(variable).filter(|file| !file.is_empty())?;
        let file = Path::new(&file)
            .canonicalize()
            .unwrap_or_else(|error| panic!("{variable}={}: {error}", file.display()));
        Some(Self {
            name,
            title,
            file,
            settings,
        })
    }
}

/// A server program, and the modules to compare on it. The first module is Roughly.
#[derive(Debug)]
pub struct Group {
    pub modules: Vec<Module>,
    program: OsString,
    /// Whether only commands of Bloom filters are compared.
    only_bloom: bool,
}

/// valkey-bloom's default limit of 128 MiB is less than a filter for 200 million items.
const VALKEY_BLOOM_SETTINGS: &[&str] = &["CONFIG SET bf.bloom-memory-usage-limit 8589934592"];

impl Group {
    /// The groups that the environment variables select.
    ///
    /// # Panics
    /// If a module or a server does not exist.
    pub fn all() -> Vec<Self> {
        let baseline = |name| Module::of_variable("BASELINE", name, "Roughly", &[]);
        let redisbloom = Module::of_variable("REDISBLOOM", "redisbloom", "RedisBloom", &[]);
        let valkey_bloom = Module::of_variable(
            "VALKEY_BLOOM",
            "valkey-bloom",
            "valkey-bloom",
            VALKEY_BLOOM_SETTINGS,
        );
        let valkey = valkey_program();
        assert!(
            valkey_bloom.is_none() || valkey.is_some(),
            "VALKEY_BLOOM needs a Valkey server: ROUGHLY_VALKEY_SERVER=/path/to/valkey-server"
        );
        let with_roughly = |others: [Option<Module>; 2]| {
            let others: Vec<_> = others.into_iter().flatten().collect();
            (!others.is_empty()).then(|| [Module::roughly()].into_iter().chain(others).collect())
        };
        let general = with_roughly([redisbloom, baseline("baseline")]).map(|modules| Self {
            modules,
            program: server_program(),
            only_bloom: false,
        });
        let bloom = valkey.and_then(|program| {
            Some(Self {
                modules: with_roughly([valkey_bloom, baseline("baseline-valkey")])?,
                program,
                only_bloom: true,
            })
        });
        general.into_iter().chain(bloom).collect()
    }

    pub fn compares(&self, case: &Case) -> bool {
        case.is_bloom() || !self.only_bloom
    }

    fn start(&self, module: &Module) -> Server {
        let server = Options::new()
            .arguments(&["--hz", "1"])
            .program(self.program.clone().into())
            .module(&module.file)
            .start();
        for command in module.settings {
            send(&server, command);
        }
        server
    }

    /// Name and version of the server, and the version of each module: the commit of Roughly, or name and version of
    /// another module.
    pub fn versions(&self) -> (String, Vec<String>) {
        let mut server_version = String::new();
        let of_modules = self.modules.iter().map(|module| {
            let server = self.start(module);
            server_version = cpu::version(&server);
            (server.info("bf_roughly_revision"))
                .unwrap_or_else(|| format!("{} {}", module.title, module_version(&server)))
        });
        let of_modules = of_modules.collect();
        (server_version, of_modules)
    }

    /// Starts a server for each module and prepares it for a case. With `is_reversed`, begins with the last module. The load before
    /// the measurement is divided by `divisor`.
    ///
    /// # Panics
    /// If a server does not start or a reply is an error.
    pub fn prepare(&self, case: &Case, is_reversed: bool, divisor: usize) -> Vec<Prepared> {
        let prepare = |module: &Module| {
            let server = self.start(module);
            if let Some(command) = case.setup {
                send(&server, command);
            }
            let mut connections = Connections::open(server.port(), 1);
            if let Some(prefill) = &case.prefill {
                let mut prefill = prefill.clone();
                prefill.commands = prefill.commands.div_ceil(divisor);
                connections.run(&prefill);
            }
            Prepared {
                server,
                connections,
            }
        };
        if is_reversed {
            let mut prepared: Vec<_> = self.modules.iter().rev().map(prepare).collect();
            prepared.reverse();
            return prepared;
        }
        self.modules.iter().map(prepare).collect()
    }
}

/// A server that is ready for the load of a case.
#[derive(Debug)]
pub struct Prepared {
    server: Server,
    connections: Connections,
}

impl Prepared {
    /// Sends a load. Returns the server's CPU time per command, in ns.
    ///
    /// # Panics
    /// If a connection breaks or a reply is an error.
    pub fn per_command(&mut self, load: &Load) -> f64 {
        cpu::per_command(&self.server, &mut self.connections, load)
    }
}

fn send(server: &Server, command: &str) {
    let reply = server.call(command);
    assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
}

/// The version of the only module: MODULE LIST replies with 10,000 × major + 100 × minor + patch.
fn module_version(server: &Server) -> String {
    let list = server.call("MODULE LIST");
    let module = list.items().and_then(<[Reply]>::first);
    let fields = module.and_then(Reply::items).expect("a module");
    let after_name = fields
        .iter()
        .skip_while(|field| field.text() != Some(b"ver"));
    let number = after_name.skip(1).find_map(Reply::integer);
    let number = number.expect("a version");
    format!(
        "{}.{}.{}",
        number / 10_000,
        number / 100 % 100,
        number % 100
    )
}

/// The Valkey server, if there is one.
fn valkey_program() -> Option<OsString> {
    if let Some(program) = std::env::var_os("ROUGHLY_VALKEY_SERVER") {
        return Some(program);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join("valkey-server"));
    let fetched = crate::record::repository().join("target/servers/valkey-8.1/server");
    on_path
        .chain([fetched])
        .find(|program| program.is_file())
        .map(PathBuf::into_os_string)
}
