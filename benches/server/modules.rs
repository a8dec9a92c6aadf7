//! The modules to compare, and the servers on which they run. Environment variables select them.

use crate::cases::Case;
use crate::load::{Connections, Load, Replies};
use crate::support::resp::Reply;
use crate::support::server::{Options, Server, module_path, server_program};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A module file.
#[derive(Debug)]
pub struct Module {
    /// Name in the output and, for other modules than Roughly, in the name of the results file.
    pub name: &'static str,
    /// Name in documents.
    title: &'static str,
    file: PathBuf,
    /// Arguments of the module.
    arguments: &'static [&'static str],
    /// Commands sent to a new server before the setup of a case.
    settings: &'static [&'static str],
}

impl Module {
    fn roughly() -> Self {
        Self {
            name: "roughly",
            title: "Roughly",
            file: module_path(),
            arguments: &[],
            settings: &[],
        }
    }

    /// Roughly with a value of `sketch-huge-pages`.
    fn with_huge_pages(value: &'static str) -> Self {
        Self {
            name: value,
            arguments: match value {
                "yes" => WITH_HUGE_PAGES,
                _ => &["sketch-huge-pages", "no"],
            },
            ..Self::roughly()
        }
    }

    /// The module file that an environment variable contains, if the variable is set, not empty and not `none`.
    fn of_variable(
        variable: &str,
        name: &'static str,
        title: &'static str,
        settings: &'static [&'static str],
    ) -> Option<Self> {
        let file = std::env::var_os(variable).filter(|file| !file.is_empty() && file != "none")?;
        let file = Path::new(&file)
            .canonicalize()
            .unwrap_or_else(|error| panic!("{variable}={}: {error}", file.display()));
        Some(Self {
            name,
            title,
            file,
            arguments: &[],
            settings,
        })
    }
}

const WITH_HUGE_PAGES: &[&str] = &["sketch-huge-pages", "yes"];

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
    /// The groups that the environment variables select; Roughly alone if they select no other module.
    ///
    /// # Panics
    /// If a module or a server does not exist.
    pub fn all() -> Vec<Self> {
        let others = [
            Module::of_variable("ROUGHLY_REDISBLOOM", "redisbloom", "RedisBloom", &[]),
            Module::of_variable("ROUGHLY_BASELINE", "baseline", "Roughly", &[]),
        ];
        let others: Vec<_> = others.into_iter().flatten().collect();
        let valkey_bloom = Module::of_variable(
            "ROUGHLY_VALKEY_BLOOM",
            "valkey-bloom",
            "valkey-bloom",
            VALKEY_BLOOM_SETTINGS,
        );
        let mut groups = Vec::new();
        if !others.is_empty() || valkey_bloom.is_none() {
            groups.push(Self {
                modules: [Module::roughly()].into_iter().chain(others).collect(),
                program: server_program(),
                only_bloom: false,
            });
        }
        if let Some(valkey_bloom) = valkey_bloom {
            groups.push(Self {
                modules: vec![Module::roughly(), valkey_bloom],
                program: valkey_program().expect(
                    "a Valkey server for ROUGHLY_VALKEY_BLOOM: ROUGHLY_VALKEY_SERVER=/path/to/valkey-server",
                ),
                only_bloom: true,
            });
        }
        groups
    }

    /// Roughly with `sketch-huge-pages yes` and `no`.
    pub fn of_huge_pages() -> Self {
        Self {
            modules: ["yes", "no"].map(Module::with_huge_pages).into(),
            program: server_program(),
            only_bloom: false,
        }
    }

    /// Whether the modules of the group have the command of a case.
    pub fn compares(&self, case: &Case) -> bool {
        let is_roughly = |module: &Module| module.title == "Roughly";
        (case.is_bloom() || !self.only_bloom)
            && (!case.is_added() || self.modules.iter().all(is_roughly))
    }

    /// Starts a server with a module.
    pub fn start(&self, module: &Module) -> Server {
        let server = Options::new()
            .arguments(&["--hz", "1"])
            .program(self.program.clone().into())
            .module(&module.file)
            .module_arguments(module.arguments)
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
            server_version = version(&server);
            (server.info("bf_roughly_revision"))
                .unwrap_or_else(|| format!("{} {}", module.title, module_version(&server)))
        });
        let of_modules = of_modules.collect();
        (server_version, of_modules)
    }

    /// Starts a server for each module, and prepares each before the next one is started. With `is_reversed`, begins with the last
    /// module.
    ///
    /// # Panics
    /// If a server does not start.
    pub fn start_all(
        &self,
        is_reversed: bool,
        prepare: impl Fn(&Module, &mut Prepared),
    ) -> Vec<Prepared> {
        let start = |module: &Module| {
            let server = self.start(module);
            let connections = Connections::open(server.port(), 1);
            let mut prepared = Prepared {
                server,
                connections,
            };
            prepare(module, &mut prepared);
            prepared
        };
        if is_reversed {
            let mut prepared: Vec<_> = self.modules.iter().rev().map(start).collect();
            prepared.reverse();
            return prepared;
        }
        self.modules.iter().map(start).collect()
    }

    /// Starts a server for each module and prepares it for a case; see [`Group::start_all`]. The load before the measurement is
    /// divided by `divisor`.
    ///
    /// # Panics
    /// If a server does not start or a reply is an error.
    pub fn prepare(&self, case: &Case, is_reversed: bool, divisor: usize) -> Vec<Prepared> {
        self.start_all(is_reversed, |module, prepared| {
            prepared.send(case.setup);
            if let Some(prefill) = &case.prefill {
                let mut prefill = prefill.clone();
                prefill.commands = prefill.commands.div_ceil(divisor);
                prepared.run(&prefill);
                if module.arguments == WITH_HUGE_PAGES {
                    wait_for_huge_pages(&prepared.server);
                }
            }
        })
    }
}

/// A server that is ready for the load of a case.
#[derive(Debug)]
pub struct Prepared {
    server: Server,
    connections: Connections,
}

impl Prepared {
    /// Runs a command, unless it is empty.
    ///
    /// # Panics
    /// If the reply is an error.
    pub fn send(&self, command: &str) {
        if !command.is_empty() {
            send(&self.server, command);
        }
    }

    /// Sends a load. Its sequence of numbers begins with 0.
    ///
    /// # Panics
    /// If a connection breaks or a reply is an error.
    pub fn run(&mut self, load: &Load) {
        self.restart_sequence();
        self.connections.run(load);
    }

    /// Begins the sequence of numbers again.
    pub fn restart_sequence(&mut self) {
        self.connections.restart_sequence();
    }

    /// Sends a part of a load. Returns the server's CPU time per command, in ns.
    ///
    /// # Panics
    /// If a connection breaks or a reply is an error.
    pub fn ns_per_command(&mut self, load: &Load) -> f64 {
        let before = self.cpu_seconds();
        self.connections.run(load);
        (self.cpu_seconds() - before) * 1e9 / load.commands as f64
    }

    /// The bytes that the server has allocated.
    pub fn used_memory(&self) -> f64 {
        self.info("memory", "used_memory")
    }

    /// The replies to all loads since the server started.
    pub fn replies(&self) -> Replies {
        self.connections.replies
    }

    /// User and system CPU time of the server process, in seconds.
    fn cpu_seconds(&self) -> f64 {
        ["used_cpu_user", "used_cpu_sys"]
            .map(|field| self.info("cpu", field))
            .iter()
            .sum()
    }

    /// A field of a section of INFO.
    fn info(&self, section: &str, name: &str) -> f64 {
        let info = self.server.call(&format!("INFO {section}"));
        let text = String::from_utf8_lossy(info.text().expect("a text")).into_owned();
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .and_then(|number| number.parse().ok())
            .expect("a number")
    }
}

/// Name and version of the server, such as `Redis 8.0.2`.
fn version(server: &Server) -> String {
    match server.info("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", server.info("redis_version").unwrap_or_default()),
    }
}

/// Waits until the server has replaced the pages that are in use by huge pages. Returns the time in seconds since the call,
/// 0 if the setting is `no`.
pub fn wait_for_huge_pages(server: &Server) -> f64 {
    if server.info("bf_huge_pages").as_deref() != Some("active") {
        return 0.0;
    }
    let start = Instant::now();
    // The server looks at all pages in intervals.
    const QUIET: Duration = Duration::from_secs(10);
    let (mut last, mut seconds) = ([-1; 2], 0.0);
    while start.elapsed().as_secs_f64() < seconds + QUIET.as_secs_f64() {
        let fields = ["bf_huge_page_bytes", "bf_huge_page_bytes_waiting"];
        let bytes = fields.map(|field| server.info_number(field));
        if bytes != last || bytes[1] > 0 {
            last = bytes;
            seconds = start.elapsed().as_secs_f64();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    seconds
}

/// Runs a command.
///
/// # Panics
/// If the reply is an error.
pub fn send(server: &Server, command: &str) {
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
