//! Real servers for tests: each on its own port and in its own directory, removed when dropped.
//!
//! The program is `ROUGHLY_SERVER`, else `redis-server` or `valkey-server` of the PATH; the module is
//! `ROUGHLY_MODULE`, else `target/release/libroughly.so`. `make test` sees to both.

use super::resp::{Connection, Protocol, Reply};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a server may take to answer PING, loading its data included.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a server may take to shut down, or a replica to catch up.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between two checks of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How often another port is tried when someone else takes the one that was free.
const PORT_ATTEMPTS: usize = 5;
/// Lines of the log that a panic message shows.
const LOG_LINES: usize = 40;

/// What a server is started with, beyond what all tests have in common.
#[derive(Debug, Clone, Default)]
pub struct Options {
    arguments: Vec<String>,
    module_arguments: Vec<String>,
    without_module: bool,
    address_space: Option<u64>,
    environment: Vec<(&'static str, &'static str)>,
    config_file: bool,
}

impl Options {
    /// The module without arguments, no persistence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds arguments of the server, as `["--appendonly", "yes"]`. They win over those of the harness.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(ToString::to_string));
        self
    }

    /// Adds arguments of the module, as in `loadmodule libroughly.so NAME value`.
    pub fn module_arguments(mut self, arguments: &[&str]) -> Self {
        self.module_arguments
            .extend(arguments.iter().map(ToString::to_string));
        self
    }

    /// Leaves the module out.
    pub fn without_module(mut self) -> Self {
        self.without_module = true;
        self
    }

    /// Limits the address space of the server (`ulimit -v`), in bytes. The system refuses
    /// more, whatever the server would allow.
    pub fn address_space(mut self, bytes: u64) -> Self {
        self.address_space = Some(bytes);
        self
    }

    /// Sets an environment variable of the server.
    pub fn environment(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Starts the server with the file server.conf of its directory, which is empty at first: for CONFIG
    /// REWRITE.
    pub fn config_file(mut self) -> Self {
        self.config_file = true;
        self
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Panics
    /// If it does not come up. The message has the end of its log.
    pub fn start(self) -> Server {
        self.try_start()
            .unwrap_or_else(|log| panic!("the server did not start; its log ends:\n{log}"))
    }

    /// As [`Options::start`], for servers that are meant not to come up.
    ///
    /// # Errors
    /// The end of the log of a server that stopped by itself.
    pub fn try_start(self) -> Result<Server, String> {
        let dir = tempfile::Builder::new()
            .prefix("roughly-test-")
            .tempdir()
            .expect("a temporary directory");
        let mut server = Server {
            options: self,
            dir,
            port: 0,
            process: None,
        };
        for _ in 0..PORT_ATTEMPTS {
            server.port = free_port();
            match server.launch() {
                Err(log) if log.contains("Address already in use") => {}
                done => return done.map(|()| server),
            }
        }
        Err(server.log_tail())
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    options: Options,
    dir: TempDir,
    port: u16,
    process: Option<Child>,
}

impl Server {
    /// A server with the module, no persistence. See [`Options`] for more.
    pub fn start() -> Self {
        Options::new().start()
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process number.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("a running server").id()
    }

    /// Its working directory, where dump.rdb and appendonlydir are. Deleted on drop.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A new connection that shows replies as they come.
    ///
    /// # Panics
    /// If the server does not take it. The message has the end of the log.
    pub fn connect(&self, protocol: Protocol) -> Connection {
        Connection::open(self.port, protocol)
            .unwrap_or_else(|error| panic!("no connection: {error}\n{}", self.log_tail()))
    }

    /// A new connection over RESP2.
    pub fn resp2(&self) -> Connection {
        self.connect(Protocol::Resp2)
    }

    /// A new connection over RESP3.
    pub fn resp3(&self) -> Connection {
        self.connect(Protocol::Resp3)
    }

    /// A new connection of the `redis` crate, which converts replies to the types asked for.
    ///
    /// # Panics
    /// As [`Server::connect`].
    pub fn client(&self, protocol: Protocol) -> redis::Connection {
        let version = match protocol {
            Protocol::Resp2 => 2,
            Protocol::Resp3 => 3,
        };
        redis::Client::open(format!(
            "redis://127.0.0.1:{}/?protocol=resp{version}",
            self.port
        ))
        .and_then(|client| client.get_connection())
        .unwrap_or_else(|error| panic!("no connection: {error}\n{}", self.log_tail()))
    }

    /// Sends one command over a new connection, in RESP2; arguments are separated by spaces.
    pub fn call(&self, command: &str) -> Reply {
        self.resp2().call(command)
    }

    /// A field of `INFO`, whatever its section; `None` if there is no such field.
    pub fn info(&self, field: &str) -> Option<String> {
        let reply = self.call("INFO everything");
        let text = String::from_utf8_lossy(reply.text().expect("INFO is a text")).into_owned();
        text.lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .map(str::to_owned)
    }

    /// A number of `INFO`.
    ///
    /// # Panics
    /// If there is no such field, or it is not a number.
    pub fn info_number(&self, field: &str) -> i64 {
        let text = self.info(field);
        text.and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("no number {field} in INFO"))
    }

    /// The name of a setting of the module: Redis from 8.0 on takes it without the prefix `bf.`.
    pub fn setting(&self, name: &str) -> String {
        let is_prefixed = !self.version().is_redis_at_least(8, 0);
        format!("{}{name}", if is_prefixed { "bf." } else { "" })
    }

    /// Rewrites the append-only file and waits for the end; whether that succeeded.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn rewrite_aof(&mut self) -> bool {
        // The server may be rewriting a file that grew.
        self.wait_until("the rewrite to start", |server| {
            let reply = server.call("BGREWRITEAOF");
            let is_busy = reply.to_string().contains("already in progress");
            assert!(is_busy || !matches!(reply, Reply::Error(_)), "{reply}");
            !is_busy
        });
        self.wait_for_rewrite()
    }

    /// Waits until no rewrite of the append-only file runs or is scheduled; whether the last one succeeded.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn wait_for_rewrite(&mut self) -> bool {
        self.wait_until("the rewrite", |server| {
            ["in_progress", "scheduled"]
                .iter()
                .all(|state| server.info_number(&format!("aof_rewrite_{state}")) == 0)
        });
        self.info("aof_last_bgrewrite_status").as_deref() == Some("ok")
    }

    /// Bytes of memory that the process really takes, as Linux counts them.
    ///
    /// # Panics
    /// Where there is no /proc.
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("a status");
        let kilobytes = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
        kilobytes
            .and_then(|n| n.parse::<u64>().ok())
            .expect("a number")
            << 10
    }

    /// Which server this is.
    pub fn version(&self) -> Version {
        let valkey = self.info("valkey_version");
        let numbers = valkey
            .clone()
            .or_else(|| self.info("redis_version"))
            .expect("INFO has a version");
        let mut numbers = numbers.split('.').map(|part| part.parse().unwrap_or(0));
        Version {
            is_valkey: valkey.is_some(),
            number: (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)),
        }
    }

    /// Stops the server as SHUTDOWN does (with a save if it has save points), and starts it again in the
    /// same directory, on the same port, with the same options.
    ///
    /// # Panics
    /// If it does not stop or start.
    pub fn restart(&mut self) {
        self.shut_down();
        self.relaunch();
    }

    /// As [`Server::restart`], with other options (of the server and the module).
    pub fn restart_with(&mut self, options: Options) {
        self.shut_down();
        self.options = options;
        self.relaunch();
    }

    /// As [`Server::restart`], but with a kill that leaves no time to save anything.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        self.relaunch();
    }

    /// Kills the process, if there is one, and any child that saves or rewrites for it. The directory
    /// stays, for [`Server::relaunch`].
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // An error means that it has ended already.
            let _ = process.kill();
            let _ = process.wait();
            self.kill_children();
        }
    }

    /// Children outlive a server that is killed. They are known by the directory that they work in.
    fn kill_children(&self) {
        let Ok(dir) = self.dir.path().canonicalize() else {
            return;
        };
        let works_here =
            |id: &str| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|d| d == dir);
        // Where there is no /proc they are left to end by themselves, which they do.
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let id = entry.file_name().to_string_lossy().into_owned();
            if id.bytes().all(|digit| digit.is_ascii_digit()) && works_here(&id) {
                let killed = Command::new("kill").args(["-9", &id]).status();
                assert!(killed.is_ok(), "no program `kill`");
                while works_here(&id) {
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
        }
    }

    /// Starts a server that was killed or shut down, in the same directory, on the same port.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn relaunch(&mut self) {
        let start = Instant::now();
        loop {
            match self.launch() {
                Ok(()) => return,
                // A connection of someone else may have been given the port for a moment.
                Err(log) if log.contains("Address already in use") => {
                    assert!(
                        start.elapsed() < patience(CHANGE_TIMEOUT),
                        "the port stays taken"
                    );
                    std::thread::sleep(POLL_INTERVAL);
                    fs::remove_file(self.log_path()).expect("a log");
                }
                Err(log) => panic!("the server did not come back; its log ends:\n{log}"),
            }
        }
    }

    /// Stops the server as SHUTDOWN does and waits for its end. The directory stays.
    ///
    /// # Panics
    /// If the server refuses or takes too long.
    pub fn shut_down(&mut self) {
        // The reply is the end of the connection, or an error.
        if let Ok(refusal) = self.resp2().try_send(&["SHUTDOWN"]) {
            panic!("SHUTDOWN was answered {refusal}\n{}", self.log_tail());
        }
        self.wait_until("the server to stop", |server| !server.is_running());
        self.process = None;
    }

    /// Whether the process is there.
    pub fn is_running(&mut self) -> bool {
        self.process
            .as_mut()
            .is_some_and(|process| matches!(process.try_wait(), Ok(None)))
    }

    /// Makes this server a replica and waits until it has all of the primary's data.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn replicate(&mut self, primary: &Server) {
        let reply = self.call(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
        assert!(reply.is_ok(), "REPLICAOF was answered {reply}");
        self.wait_until("the replica to be in step", |server| {
            server.info("master_link_status").as_deref() == Some("up")
        });
    }

    /// Waits until the one replica has received and applied all writes so far.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn wait_for_replica(&mut self, replica: &Server) {
        self.wait_until("the replica to catch up", |primary| {
            let sent = primary.info("master_repl_offset");
            sent.is_some() && sent == replica.info("slave_repl_offset")
        });
    }

    /// Waits for a condition of this server.
    ///
    /// # Panics
    /// If it does not become true in time; the message has `what` and the end of the log.
    pub fn wait_until(&mut self, what: &str, mut condition: impl FnMut(&mut Self) -> bool) {
        let start = Instant::now();
        while !condition(self) {
            assert!(
                start.elapsed() < patience(CHANGE_TIMEOUT),
                "waited too long for {what}\n{}",
                self.log_tail()
            );
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The whole log, since the first start in this directory.
    pub fn log(&self) -> String {
        fs::read(self.log_path()).map_or_else(
            |_| String::new(),
            |log| String::from_utf8_lossy(&log).into_owned(),
        )
    }

    /// The last lines of the log.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("server.log")
    }

    /// Starts the process and waits for PONG; the end of the log if it stops before that.
    fn launch(&mut self) -> Result<(), String> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())
            .expect("a log file");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(match self.options.address_space {
                Some(bytes) => format!("ulimit -v {}; exec \"$0\" \"$@\"", bytes >> 10),
                None => "exec \"$0\" \"$@\"".to_owned(),
            })
            .arg(server_program());
        if self.options.config_file {
            let file = self.dir.path().join("server.conf");
            File::options()
                .create(true)
                .append(true)
                .open(&file)
                .expect("a configuration file");
            command.arg(file);
        }
        command
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .args(["--enable-debug-command", "yes"])
            .args(["--repl-diskless-sync-delay", "0"])
            .arg("--dir")
            .arg(self.dir.path())
            .args(&self.options.arguments);
        if !self.options.without_module {
            command
                .arg("--loadmodule")
                .arg(module_path())
                .args(&self.options.module_arguments);
        }
        let process = command
            .envs(self.options.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log file again"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        self.process = Some(process);
        let start = Instant::now();
        while !self.answers() {
            if !self.is_running() {
                return Err(self.log_tail());
            }
            assert!(
                start.elapsed() < patience(START_TIMEOUT),
                "the server is up but does not answer PING\n{}",
                self.log_tail()
            );
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Whether this process answers commands. While it loads its data, PING is an error. Another server
    /// may have taken the port in the meantime, so the process number must match as well.
    fn answers(&self) -> bool {
        let Ok(mut connection) = Connection::open(self.port, Protocol::Resp2) else {
            return false;
        };
        let pong = Reply::Simple(b"PONG".to_vec());
        connection
            .try_send(&["PING"])
            .is_ok_and(|reply| reply == pong)
            && connection
                .try_send(&["INFO", "server"])
                .is_ok_and(|info| self.is_described_by(&info))
    }

    /// Whether a reply of INFO is from this process.
    fn is_described_by(&self, info: &Reply) -> bool {
        let Reply::Bulk(text) = info else {
            return false;
        };
        let line = format!("process_id:{}\r", self.pid());
        text.split(|&byte| byte == b'\n')
            .any(|found| found == line.as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the log of the server ends:\n{}", self.log_tail());
        } else if is_checked() && self.is_running() {
            // A checker of memory reports leaks at a process's own end only.
            let stopping = Connection::open(self.port, Protocol::Resp2)
                .and_then(|mut connection| connection.try_send(&["SHUTDOWN", "NOSAVE", "FORCE"]));
            let end = Instant::now() + patience(CHANGE_TIMEOUT);
            while stopping.is_err() && self.is_running() && Instant::now() < end {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        self.kill();
    }
}

/// A server's kind and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    is_valkey: bool,
    number: (u32, u32),
}

impl Version {
    /// Whether it is Valkey; otherwise it is Redis.
    pub fn is_valkey(self) -> bool {
        self.is_valkey
    }

    /// Whether it is a Redis of at least this version.
    pub fn is_redis_at_least(self, major: u32, minor: u32) -> bool {
        !self.is_valkey && self.number >= (major, minor)
    }

    /// Whether it is a Valkey of at least this version.
    pub fn is_valkey_at_least(self, major: u32, minor: u32) -> bool {
        self.is_valkey && self.number >= (major, minor)
    }
}

/// Whether the servers run under a checker of memory (`ROUGHLY_SHUTDOWN`, scripts/valgrind.sh).
fn is_checked() -> bool {
    std::env::var_os("ROUGHLY_SHUTDOWN").is_some()
}

/// How long to wait for a server that may take so long: a checker of memory makes it ten times slower and
/// more.
fn patience(time: Duration) -> Duration {
    if is_checked() { time * 10 } else { time }
}

/// A port that was free a moment ago, and that no other test of this process was given.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if given.insert(port) {
            return port;
        }
    }
}

/// The server to test with.
///
/// # Panics
/// If there is none.
pub fn server_program() -> OsString {
    if let Some(program) = std::env::var_os("ROUGHLY_SERVER") {
        // Tests of cargo run in the package's directory, so that a relative path is one from there.
        return program;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    ["redis-server", "valkey-server"]
        .iter()
        .find(|program| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
        .unwrap_or_else(|| {
            panic!(
                "no redis-server or valkey-server on the PATH. `make test` installs one; \
                 or name one: ROUGHLY_SERVER=/path/to/server"
            )
        })
        .into()
}

/// The command line client that belongs to the server: beside it, or on the PATH.
///
/// # Panics
/// If there is none.
pub fn client_program() -> PathBuf {
    let server = PathBuf::from(server_program());
    let beside = ["cli", "redis-cli", "valkey-cli"].map(|name| server.with_file_name(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path)
        .flat_map(|dir| ["redis-cli", "valkey-cli"].map(|name| dir.join(name)));
    beside
        .into_iter()
        .filter(|_| server.components().count() > 1)
        .chain(on_path)
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!(
                "no redis-cli or valkey-cli beside the server or on the PATH. `make test` installs one \
                 with the server"
            )
        })
}

/// The module to test.
///
/// # Panics
/// If it was not built.
pub fn module_path() -> PathBuf {
    let path = std::env::var_os("ROUGHLY_MODULE").map_or_else(
        || {
            let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
            PathBuf::from(target).join("release/libroughly.so")
        },
        PathBuf::from,
    );
    path.canonicalize().unwrap_or_else(|error| {
        panic!(
            "the module {} is not there ({error}). `make build` builds it; \
             or name one: ROUGHLY_MODULE=/path/to/libroughly.so",
            path.display()
        )
    })
}
