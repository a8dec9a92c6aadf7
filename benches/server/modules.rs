//! The modules to compare. Environment variables select them.

use crate::cases::Case;
use crate::load::{Connections, Load};
use crate::support::resp::Reply;
use crate::support::server::{Options, Server, module_path};
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
    /// A command sent to a new server before the setup of a case; may be empty.
    setting: &'static str,
}

impl Module {
    /// Roughly, with these arguments.
    fn roughly(name: &'static str, arguments: &'static [&'static str]) -> Self {
        Self {
            name,
            title: "Roughly",
            file: module_path(),
            arguments,
            setting: "",
        }
    }

    /// The module file that an environment variable contains, if the variable is set, not empty and not `none`.
    fn of_variable(
        variable: &str,
        name: &'static str,
        title: &'static str,
        setting: &'static str,
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
            setting,
        })
    }

    /// Starts a server with the module.
    pub fn start(&self) -> Server {
        let server = Options::new()
            .arguments(&["--hz", "1"])
            .module(&self.file)
            .module_arguments(self.arguments)
            .start();
        send(&server, self.setting);
        server
    }
}

const WITH_HUGE_PAGES: &[&str] = &["sketch-huge-pages", "yes"];

/// The modules to compare on a server. The first module is Roughly.
#[derive(Debug)]
pub struct Group {
    pub modules: Vec<Module>,
}

/// valkey-bloom's default limit of 128 MiB is less than a filter for 200 million items.
const VALKEY_BLOOM_SETTING: &str = "CONFIG SET bf.bloom-memory-usage-limit 8589934592";

impl Group {
    /// Roughly, and the modules that the environment variables select.
    pub fn of_environment() -> Self {
        let of_variable = Module::of_variable;
        let name = "valkey-bloom";
        let others = [
            of_variable("ROUGHLY_REDISBLOOM", "redisbloom", "RedisBloom", ""),
            of_variable("ROUGHLY_VALKEY_BLOOM", name, name, VALKEY_BLOOM_SETTING),
            of_variable("ROUGHLY_BASELINE", "baseline", "Roughly", ""),
        ];
        let mut modules = vec![Module::roughly("roughly", &[])];
        modules.extend(others.into_iter().flatten());
        Self { modules }
    }

    /// Roughly with `sketch-huge-pages yes` and `no`.
    pub fn of_huge_pages() -> Self {
        Self {
            modules: vec![
                Module::roughly("yes", WITH_HUGE_PAGES),
                Module::roughly("no", &["sketch-huge-pages", "no"]),
            ],
        }
    }

    /// Whether the modules of the group have the command of a case.
    pub fn compares(&self, case: &Case) -> bool {
        self.modules.iter().all(|module| match module.title {
            "Roughly" => true,
            "valkey-bloom" => case.is_bloom(),
            _ => !case.is_added(),
        })
    }

    /// Name and version of the server, and the version of each module: the commit of Roughly, or name and version of
    /// another module.
    pub fn versions(&self) -> (String, Vec<String>) {
        let mut server_version = String::new();
        let of_modules = self.modules.iter().map(|module| {
            let server = module.start();
            server_version = version(&server);
            (server.info("bf_roughly_revision"))
                .unwrap_or_else(|| format!("{} {}", module.title, module_version(&server)))
        });
        let of_modules = of_modules.collect();
        (server_version, of_modules)
    }

    /// Starts a server for each module, and prepares each before the next one is started. With `is_reversed`, begins with the last
    /// module.
    pub fn start_all(
        &self,
        is_reversed: bool,
        prepare: impl Fn(&Module, &mut Prepared),
    ) -> Vec<Prepared> {
        let mut modules: Vec<_> = self.modules.iter().collect();
        if is_reversed {
            modules.reverse();
        }
        let prepared = modules.into_iter().map(|module| {
            let server = module.start();
            let connections = Connections::open(server.port(), 1);
            let mut prepared = Prepared {
                server,
                connections,
            };
            prepare(module, &mut prepared);
            prepared
        });
        let mut prepared: Vec<_> = prepared.collect();
        if is_reversed {
            prepared.reverse();
        }
        prepared
    }

    /// Starts a server for each module and prepares it for a case; see [`Group::start_all`]. The load before the measurement is
    /// divided by `divisor`.
    pub fn prepare(&self, case: &Case, is_reversed: bool, divisor: usize) -> Vec<Prepared> {
        self.start_all(is_reversed, |module, prepared| {
            send(&prepared.server, case.setup);
            if let Some(prefill) = &case.prefill {
                let mut prefill = prefill.clone();
                prefill.commands = prefill.commands.div_ceil(divisor);
                prepared.connections.run(&prefill);
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
    pub connections: Connections,
}

impl Prepared {
    /// Sends a part of a load. Returns the server's CPU time per command, in ns.
    pub fn ns_per_command(&mut self, load: &Load) -> f64 {
        let before = self.cpu_seconds();
        self.connections.run(load);
        (self.cpu_seconds() - before) * 1e9 / load.commands as f64
    }

    /// The bytes that the server has allocated.
    pub fn used_memory(&self) -> f64 {
        self.info("memory", "used_memory")
    }

    /// User and system CPU time of the server process, in seconds.
    fn cpu_seconds(&self) -> f64 {
        self.info("cpu", "used_cpu_user") + self.info("cpu", "used_cpu_sys")
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

/// Waits until the server has replaced the pages that are in use by huge pages, unless the setting is `no`.
pub fn wait_for_huge_pages(server: &Server) {
    if server.info("bf_huge_pages").as_deref() != Some("active") {
        return;
    }
    // The server looks at all pages in intervals.
    const QUIET: Duration = Duration::from_secs(10);
    let (mut last, mut since) = ([-1; 2], Instant::now());
    while since.elapsed() < QUIET {
        let fields = ["bf_huge_page_bytes", "bf_huge_page_bytes_waiting"];
        let bytes = fields.map(|field| server.info_number(field));
        if bytes != last || bytes[1] > 0 {
            (last, since) = (bytes, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Runs a command, unless it is empty.
pub fn send(server: &Server, command: &str) {
    if !command.is_empty() {
        let reply = server.call(command);
        assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
    }
}

/// The version of the only module: MODULE LIST replies with 10,000 × major + 100 × minor + patch.
fn module_version(server: &Server) -> String {
    let list = server.call("MODULE LIST");
    let module = list.items().and_then(<[Reply]>::first);
    let number = module.and_then(|module| module.field("ver")?.integer());
    let number = number.expect("a version");
    let (major, minor, patch) = (number / 10_000, number / 100 % 100, number % 100);
    format!("{major}.{minor}.{patch}")
}
