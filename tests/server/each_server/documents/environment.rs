//! The environment in which the blocks of a page run: a server, a second server and a cluster if needed, and a client
//! program that maps the ports on the page to the real ports.

use crate::each_server::cluster::nodes::Nodes;
use crate::support::page::Block;
use crate::support::server::{Options, Server, client_program, module_path};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::{env, fs};
use tempfile::TempDir;

/// Ports on the pages: of the server, of a second server, and of a cluster's first node.
const PORTS: [&str; 3] = ["6379", "6380", "7000"];
/// Path of the module on the pages.
const MODULE: &str = "/path/to/libroughly.so";
/// The starts of lines that sleep, in a shell and in Python. They move the clock of the server instead.
const SLEEPS: [&str; 2] = ["sleep ", "time.sleep("];
/// The clock of a page's server stands still except for sleeps, so that no minute, hour or day ends between two commands of an example.
/// In milliseconds since the Unix epoch: 15 November 2033, 12:30:30.
const MIDDLE_OF_A_MINUTE: u64 = 2_015_670_630_000;
/// Debian's Python, which has the packaged Redis client.
const PYTHON: &str = "/usr/bin/python3";
/// Whether it has one.
static HAS_CLIENT: LazyLock<bool> = LazyLock::new(|| {
    let mut trial = Command::new(PYTHON);
    trial.args(["-c", "import redis"]).stderr(Stdio::null());
    trial.status().is_ok_and(|status| status.success())
});

/// The servers of a page; each starts when a block first uses it.
#[derive(Debug, Default)]
pub struct Environment {
    single: Option<Server>,
    second: Option<Server>,
    cluster: Option<Nodes>,
    programs: Option<TempDir>,
}

impl Environment {
    /// An environment with these servers.
    pub fn of(single: Server, second: Server) -> Self {
        // The programs need it, a release module does not read it.
        single.set_clock(&MIDDLE_OF_A_MINUTE.to_string());
        Self {
            single: Some(single),
            second: Some(second),
            ..Self::default()
        }
    }

    /// Its servers, if they were started.
    pub fn into_servers(self) -> (Option<Server>, Option<Server>) {
        (self.single, self.second)
    }

    /// The server of the page.
    pub fn server(&mut self) -> &Server {
        self.single.get_or_insert_with(|| {
            let server = Options::new().debug_module().start();
            server.set_clock(&MIDDLE_OF_A_MINUTE.to_string());
            server
        })
    }

    /// Runs a block. The error is the difference between its output and the page.
    pub fn run(&mut self, block: &Block) -> Result<(), String> {
        let text = block.lines.join("\n");
        match block.language.as_str() {
            "redis" => self.type_in(block, &["--no-raw"]),
            // Settings have no prefix there.
            "redis redis-8" if !self.server().version().is_redis_at_least(8, 0) => Ok(()),
            "redis redis-8" => self.type_in(block, &["--no-raw"]),
            "redis resp3" => self.type_in(block, &["--no-raw", "-3"]),
            "sh" => {
                let script = self.with_ports(&text);
                let programs = self.programs().path().display().to_string();
                // In a directory without executable programs, the shell would run the real client on the user's server.
                let script = format!(
                    "[ \"$(command -v redis-cli)\" = '{programs}/redis-cli' ] || {{ echo '{programs} has no programs' >&2; exit 1; }}\n{script}"
                );
                // The pages call the installed programs by name.
                let here = env::current_dir().expect("a directory");
                let here = here.display();
                let path = env::var("PATH").unwrap_or_default();
                let mut command = Command::new("bash");
                let installed = format!("{here}/scripts:{here}/packaging/monitoring");
                command.env("PATH", format!("{programs}:{installed}:{path}"));
                command.args(["-euo", "pipefail"]);
                promised(block, &pipe(command, &script)?)
            }
            "python" => {
                let script = self.with_ports(&text);
                let missing = "has no Redis client: `make test` installs python3-redis";
                assert!(*HAS_CLIENT, "{PYTHON} {missing}");
                let mut start = String::new();
                if sleeps(block) {
                    let program = self.programs().path().join("sleep");
                    start = format!(
                        "import subprocess, time\ntime.sleep = lambda seconds: subprocess.check_call(['{}', str(seconds)])\n",
                        program.display()
                    );
                }
                promised(block, &pipe(Command::new(PYTHON), &(start + &script))?)
            }
            "make" => targets_exist(block.lines.iter()),
            "console" => {
                let lines = block.lines.iter();
                targets_exist(lines.filter(|line| line.starts_with("make ")))
            }
            "conf" => starts_with(&text),
            // python/tests/test_documents.py runs the examples of the Python package.
            "text" | "python roughly" | "python dask" | "python spark" => Ok(()),
            other => Err(format!("a block of an unknown kind: {other:?}")),
        }
    }

    /// Runs the commands of a block in the client, and compares the output with the lines below them.
    fn type_in(&mut self, block: &Block, options: &[&str]) -> Result<(), String> {
        let lines = block.lines.iter().map(String::as_str);
        let (typed, shown): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("> "));
        let typed = typed.iter().map(|line| &line[2..]).collect::<Vec<_>>();
        let typed = self.with_ports(&(typed.join("\n") + "\n"));
        let port = self.port("6379").to_string();
        let mut client = Command::new(client_program());
        client.args(["-p", &port]).args(options);
        let came = pipe(client, &typed)?;
        let lines: Vec<_> = came.lines().filter(|line| !is_duration(line)).collect();
        compare(&shown.join("\n"), lines.join("\n").trim_end())
    }

    /// The real port of the server that has this port on the page.
    fn port(&mut self, named: &str) -> u16 {
        match named {
            "6379" => self.server().port(),
            "6380" => self.second.get_or_insert_with(Server::start).port(),
            _ => {
                let cluster = self.cluster.get_or_insert_with(|| Nodes::start(3, false));
                cluster.servers[0].port()
            }
        }
    }

    /// Replaces the ports and the module path of the page with the real ones.
    fn with_ports(&mut self, text: &str) -> String {
        let mut text = text.replace(MODULE, &module_path().display().to_string());
        for named in PORTS {
            if text.contains(named) {
                text = text.replace(named, &self.port(named).to_string());
            }
        }
        text
    }

    /// A directory with a `redis-cli` that connects to the page's server by default, a `sleep` that adds to its clock, and a `date +%s` that
    /// prints it.
    fn programs(&mut self) -> &TempDir {
        let port = self.port("6379");
        let directory = self.server().dir().to_owned();
        self.programs.get_or_insert_with(|| {
            let dir = tempfile::tempdir().expect("a directory");
            let client = client_program();
            let script = format!(
                "#!/bin/sh\ncase \" $* \" in *' -p '*) ;; *) set -- -p {port} \"$@\" ;; esac\nexec '{}' -e \"$@\"\n",
                client.display()
            );
            let clock = directory.join("roughly-clock");
            let clock = clock.display();
            let sleep = format!(
                "#!/bin/sh\nawk -v seconds=\"$1\" '{{ printf \"%.0f\", $1 + 1000 * seconds }}' '{clock}' > '{clock}-new'\n\
                 mv '{clock}-new' '{clock}'\n"
            );
            let date = format!("#!/bin/sh\n[ \"$*\" = +%s ] && awk '{{ print int($1 / 1000) }}' '{clock}'\n");
            let python = format!("#!/bin/sh\nexec {PYTHON} \"$@\"\n");
            for (name, script) in [
                ("redis-cli", script),
                ("sleep", sleep),
                ("date", date),
                ("python3", python),
            ] {
                let program = dir.path().join(name);
                fs::write(&program, script).expect("a script");
                fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
            }
            dir
        })
    }
}

/// Whether a line of a block sleeps.
fn sleeps(block: &Block) -> bool {
    let mut lines = block.lines.iter();
    lines.any(|line| SLEEPS.iter().any(|start| line.starts_with(start)))
}

/// Runs a program with this input. Returns its output, or its error messages if it failed.
fn pipe(mut command: Command, input: &str) -> Result<String, String> {
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let mut stdin = process.stdin.take().expect("an input");
    // A program that ends early closes its input. Its status and output show whether that is an error.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = process.wait_with_output().expect("an output");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(shown + &errors)
    } else {
        Err(format!("{}\n{shown}{errors}", output.status))
    }
}

/// Checks that every argument of make is a target of the Makefile or sets a variable.
fn targets_exist<'a>(lines: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let makefile = fs::read_to_string("Makefile").expect("the Makefile");
    let commands = lines.filter_map(|line| line.split('#').next());
    for word in commands.flat_map(str::split_whitespace) {
        let is_target = word == "make" || makefile.contains(&format!("\n{word}: "));
        if !is_target && !word.contains('=') {
            return Err(format!("make has no target {word}"));
        }
    }
    Ok(())
}

/// A line of a script that ends with a comment after two spaces must print that comment.
fn promised(block: &Block, printed: &str) -> Result<(), String> {
    let mut rest = printed.lines();
    for line in &block.lines {
        let Some((_, promise)) = line.split_once("  # ") else {
            continue;
        };
        if !rest.any(|line| line == promise) {
            return Err(format!(
                "no line {promise:?} was printed in turn:\n{printed}"
            ));
        }
    }
    Ok(())
}

/// Whether the line is the duration that the client prints after a reply that took at least 0.5 seconds, for example
/// `(0.51s)`.
fn is_duration(line: &str) -> bool {
    let seconds = line
        .strip_prefix('(')
        .and_then(|line| line.strip_suffix("s)"));
    seconds.is_some_and(|seconds| seconds.parse::<f64>().is_ok())
}

fn compare(written: &str, came: &str) -> Result<(), String> {
    if written.trim_end() == came {
        return Ok(());
    }
    Err(format!("written:\n{written}\ncame:\n{came}\n"))
}

/// Starts a server with a configuration file of this content and waits until it replies.
fn starts_with(text: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("extra.conf");
    let text = text.replace(MODULE, &module_path().display().to_string());
    fs::write(&file, text).expect("a file");
    let file = file.display().to_string();
    let options = Options::new().without_module();
    options
        .arguments(&["--include", &file])
        .try_start()
        .map(drop)
}
