//! Starts real servers for tests. Each has its own port and directory; dropping it kills the process and removes the
//! directory.
//!
//! The environment variable `ROUGHLY_SERVER` selects the program (default: `redis-server` or `valkey-server` in PATH), and
//! `ROUGHLY_MODULE` the module (default: the one that scripts/build-module.sh builds). `make test` provides both. `ROUGHLY_SERVER_ARGUMENTS`
//! has further arguments of all servers, such as `--io-threads 4`. For servers of another platform, `ROUGHLY_DEBUG_MODULE` selects the module of [`Options::debug_module`].

use super::resp::{Connection, Protocol, Reply};
use super::time;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server that starts, and may load data, is given up after this time in which it used less than [`MIN_START_CPU`].
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// More than the replies to the attempts to connect take.
const MIN_START_CPU: Duration = Duration::from_secs(1);
/// Maximum time until a condition is true, such as a shutdown or the synchronization of a replica.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between two checks of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Number of ports to try if another process takes the port before the server starts.
const PORT_ATTEMPTS: usize = 5;
/// What the servers log then, with the texts of glibc and of musl.
const IN_USE: [&str; 2] = ["Address already in use", "Address in use"];
/// Number of log lines in a panic message.
const LOG_LINES: usize = 40;

/// Options of a server, in addition to those of all test servers.
#[derive(Debug, Clone, Default)]
pub struct Options {
    program: Option<PathBuf>,
    arguments: Vec<String>,
    module_arguments: Vec<String>,
    without_module: bool,
    debug_module: bool,
    module: Option<PathBuf>,
    address_space: Option<u64>,
    tolerates_file_limit: bool,
    environment: Vec<(&'static str, &'static str)>,
    config: Option<String>,
    cluster: bool,
}

impl Options {
    /// The module without arguments, and no persistence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects the server program; by default, `ROUGHLY_SERVER` or the program in PATH.
    pub fn program(mut self, program: PathBuf) -> Self {
        self.program = Some(program);
        self
    }

    /// Adds server arguments, such as `["--appendonly", "yes"]`. They override those of all test servers.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(ToString::to_string));
        self
    }

    /// Adds module arguments, as in `loadmodule libroughly.so NAME value`.
    pub fn module_arguments(mut self, arguments: &[&str]) -> Self {
        self.module_arguments
            .extend(arguments.iter().map(ToString::to_string));
        self
    }

    pub fn without_module(mut self) -> Self {
        self.without_module = true;
        self
    }

    /// Uses the module as `cargo test` builds it, without optimization: only debug builds support injected faults
    /// and the test clock (src/server/injected.rs).
    pub fn debug_module(mut self) -> Self {
        self.debug_module = true;
        self
    }

    /// Loads this module file instead of the one of [`module_path`].
    pub fn module(mut self, file: &Path) -> Self {
        self.module = Some(file.to_owned());
        self
    }

    /// Limits the address space of the server (`ulimit -v`) to `bytes` bytes. Allocations beyond it fail.
    pub fn address_space(mut self, bytes: u64) -> Self {
        self.address_space = Some(bytes);
        self
    }

    /// Lets [`Server::limit_files`] work: writes beyond the limit fail instead of ending the process.
    pub fn tolerates_file_limit(mut self) -> Self {
        self.tolerates_file_limit = true;
        self
    }

    /// Sets an environment variable of the server.
    pub fn environment(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Starts the server with a configuration file, server.conf in its directory, so that CONFIG REWRITE works. The
    /// file is initially empty.
    pub fn config_file(self) -> Self {
        self.config("")
    }

    /// Like [`Options::config_file`], for a file that initially has this text.
    pub fn config(mut self, text: &str) -> Self {
        self.config = Some(text.to_owned());
        self
    }

    /// Starts the server as a node of a cluster, with a free port for the cluster bus ([`Server::bus_port`]).
    pub fn cluster(mut self) -> Self {
        self.cluster = true;
        self
    }

    /// Starts the server and waits until it replies to PING.
    pub fn start(self) -> Server {
        self.try_start()
            .unwrap_or_else(|log| panic!("the server did not start; its log ends:\n{log}"))
    }

    /// The end of the log of a server that does not start.
    #[track_caller]
    pub fn refused(self) -> String {
        let log = self.try_start();
        log.expect_err("a server that does not start")
    }

    /// Like [`Options::start`]. Returns the end of the log if the server stops.
    pub fn try_start(self) -> Result<Server, String> {
        let dir = tempfile::Builder::new()
            .prefix("roughly-test-")
            .tempdir()
            .expect("a temporary directory");
        let mut server = Server {
            options: self,
            dir,
            port: 0,
            bus_port: 0,
            process: None,
        };
        for _ in 0..PORT_ATTEMPTS {
            server.port = free_port();
            server.bus_port = free_port();
            match server.launch() {
                Err(log) if IN_USE.iter().any(|text| log.contains(text)) => {}
                done => return done.map(|()| server),
            }
        }
        Err(server.log_tail())
    }
}

#[derive(Debug)]
pub struct Server {
    options: Options,
    dir: TempDir,
    port: u16,
    bus_port: u16,
    process: Option<Child>,
}

impl Server {
    /// Starts a server with the module and without persistence. [`Options`] starts others.
    pub fn start() -> Self {
        Options::new().start()
    }

    /// Starts a server as [`Server::start`], and a replica of it.
    pub fn with_replica() -> (Self, Self) {
        let (primary, mut replica) = (Self::start(), Self::start());
        replica.replicate(&primary);
        (primary, replica)
    }

    /// A connection that receives the keyspace events of database 0 from now on.
    pub fn listener(&self) -> Connection {
        self.ok("CONFIG SET notify-keyspace-events KEA");
        let mut listener = self.resp2();
        listener.call("PSUBSCRIBE __keyspace@0__:*");
        listener
    }

    /// The server, and a connection with RESP2.
    pub fn connected(self) -> (Self, Connection) {
        let connection = self.resp2();
        (self, connection)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of the cluster bus of a server with [`Options::cluster`].
    pub fn bus_port(&self) -> u16 {
        self.bus_port
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("a running server").id()
    }

    /// Its working directory, with dump.rdb and appendonlydir. Deleted on drop.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The configuration file of a server with [`Options::config`] or [`Options::config_file`].
    pub fn config_path(&self) -> PathBuf {
        self.dir().join("server.conf")
    }

    /// Sets the clock of a server with [`Options::debug_module`]: milliseconds since the Unix epoch, or with a sign, a
    /// difference to the server's time.
    pub fn set_clock(&self, clock: &str) {
        // A server must not read an incomplete file.
        let file = |name: &str| self.dir().join(name);
        fs::write(file("new-clock"), clock).expect("a written file");
        fs::rename(file("new-clock"), file("roughly-clock")).expect("a renamed file");
    }

    /// Moves the clock of a server with [`Options::debug_module`] to another second and stops it there. Rate limits of the log
    /// allow one line in each second.
    pub fn enter_next_second(&self) {
        // Later than the clocks of all servers that were started before.
        static SECOND: AtomicU64 = AtomicU64::new(1 << 30);
        let second = SECOND.fetch_add(1, Ordering::Relaxed);
        self.set_clock(&(second * 1000).to_string());
    }

    /// Limits the size of files that a server with [`Options::tolerates_file_limit`] writes; no limit if `None`. A write
    /// across the limit is short, and further ones fail.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        let set = Command::new("prlimit")
            .arg(format!("--pid={}", self.pid()))
            .arg(format!("--fsize={limit}:"))
            .status();
        assert!(set.is_ok_and(|status| status.success()), "prlimit");
    }

    /// Opens a connection that does not convert replies.
    pub fn connect(&self, protocol: Protocol) -> Connection {
        Connection::open(self.port, protocol)
            .unwrap_or_else(|error| panic!("no connection: {error}\n{}", self.log_tail()))
    }

    pub fn resp2(&self) -> Connection {
        self.connect(Protocol::Resp2)
    }

    pub fn resp3(&self) -> Connection {
        self.connect(Protocol::Resp3)
    }

    /// Sends a command over a new RESP2 connection. Arguments are separated by spaces.
    pub fn call(&self, command: &str) -> Reply {
        self.resp2().call(command)
    }

    /// [`Connection::run`] over a new connection.
    #[track_caller]
    pub fn run(&self, command: &str) -> Reply {
        self.resp2().run(command)
    }

    /// [`Connection::ok`] over a new connection.
    #[track_caller]
    pub fn ok(&self, command: &str) {
        self.resp2().ok(command);
    }

    /// [`Connection::check`] over a new connection.
    #[track_caller]
    pub fn check(&self, command: &str, reply: impl AsRef<str>) {
        self.resp2().check(command, reply);
    }

    /// The value of a field in any section of INFO; `None` if there is no such field.
    pub fn info(&self, field: &str) -> Option<String> {
        self.resp2().info("everything", field)
    }

    pub fn info_number(&self, field: &str) -> i64 {
        let text = self.info(field);
        text.and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("no number {field} in INFO"))
    }

    /// The full name of a setting of the module: without the prefix `bf.` on Redis 8.0 and above, unless the name has it
    /// already.
    pub fn setting(&self, name: &str) -> String {
        let is_prefixed = !self.version().is_redis_at_least(8, 0) && !name.starts_with("bf.");
        format!("{}{name}", if is_prefixed { "bf." } else { "" })
    }

    /// Changes a setting of the module.
    #[track_caller]
    pub fn set(&self, name: &str, value: impl Display) {
        self.ok(&format!("CONFIG SET {} {value}", self.setting(name)));
    }

    /// Rewrites the append-only file and waits until it ends. Returns whether it succeeded.
    pub fn rewrite_aof(&mut self) -> bool {
        // An automatic rewrite may be in progress.
        self.wait_until("the rewrite to start", |server| {
            let reply = server.call("BGREWRITEAOF");
            let is_busy = reply.to_string().contains("already in progress");
            assert!(is_busy || !matches!(reply, Reply::Error(_)), "{reply}");
            !is_busy
        });
        self.wait_for_rewrite()
    }

    /// Waits until no rewrite of the append-only file is running or scheduled. Returns whether the last one succeeded.
    pub fn wait_for_rewrite(&mut self) -> bool {
        // In this order: a scheduled rewrite can start between the two replies.
        self.wait_until("the rewrite", |server| {
            ["scheduled", "in_progress"]
                .iter()
                .all(|state| server.info_number(&format!("aof_rewrite_{state}")) == 0)
        });
        self.info("aof_last_bgrewrite_status").as_deref() == Some("ok")
    }

    /// Resident memory of the process (VmRSS) in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.expect("a number") << 10
    }

    /// The version of the module `bf` in MODULE LIST.
    pub fn module_version(&self) -> i64 {
        let modules = self.call("MODULE LIST");
        let mut modules = modules.items().expect("modules").iter();
        let module = modules.find(|module| module.field("name").expect("a name").string() == "bf");
        module.expect("the module").number("ver")
    }

    pub fn version(&self) -> Version {
        let valkey = self.info("valkey_version");
        let numbers = valkey.clone().or_else(|| self.info("redis_version"));
        let numbers = numbers.expect("INFO has a version");
        let mut numbers = numbers.split('.').map(|part| part.parse().unwrap_or(0));
        Version {
            is_valkey: valkey.is_some(),
            number: (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)),
        }
    }

    /// Stops the server with SHUTDOWN (which saves if the server has save points) and starts it again in the same
    /// directory, on the same port, with the same options.
    pub fn restart(&mut self) {
        self.shut_down();
        self.relaunch();
    }

    /// Like [`Server::restart`], with other options.
    pub fn restart_with(&mut self, options: Options) {
        self.shut_down();
        self.relaunch_with(options);
    }

    /// Starts a server that was killed, with other options: it loads the files in its directory.
    pub fn relaunch_with(&mut self, options: Options) {
        self.options = options;
        self.relaunch();
    }

    /// Like [`Server::relaunch_with`]. Returns the end of the log if the server stops.
    pub fn try_relaunch_with(&mut self, options: Options) -> Result<(), String> {
        self.options = options;
        self.launch()
    }

    /// Like [`Server::restart`], but kills the server, which cannot save its data.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        self.relaunch();
    }

    /// Kills the process, if it is running, and its child processes that save or rewrite. Keeps the directory for
    /// [`Server::relaunch`].
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // An error means that the process has already ended.
            let _ = process.kill();
            let _ = process.wait();
            self.kill_children();
        }
    }

    /// Whether the working directory of a process is that of this server.
    fn works_here(&self, id: &str) -> bool {
        let dir = self.dir.path().canonicalize();
        dir.is_ok_and(|dir| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|of| of == dir))
    }

    /// The server's child processes, which save or rewrite; after its end, all that are left. Without /proc, none.
    fn children(&self) -> Vec<String> {
        let server = self.process.as_ref().map(Child::id);
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|id| id.parse::<u32>().is_ok_and(|id| Some(id) != server))
            .filter(|id| self.works_here(id))
            .collect()
    }

    /// Sends a signal to the child processes, for example `-STOP`. Returns their number.
    pub fn signal_children(&self, signal: &str) -> usize {
        let children = self.children();
        for id in &children {
            // The shell has `kill`; the program of this name is missing on a minimal Debian system. An error means that the child process
            // has already ended.
            let mut shell = Command::new("sh");
            let status = shell
                .args(["-c", "kill \"$@\"", "sh", signal, id])
                .stderr(Stdio::null())
                .status();
            assert!(status.is_ok(), "cannot run `sh`");
        }
        children.len()
    }

    /// Kills the child processes of a killed server, which would survive it.
    fn kill_children(&self) {
        self.signal_children("-9");
        // Without /proc, they continue until they are done.
        while !self.children().is_empty() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Starts a server that was killed or shut down, in the same directory, on the same port.
    pub fn relaunch(&mut self) {
        let start = Instant::now();
        loop {
            match self.launch() {
                Ok(()) => return,
                // An outgoing connection of another process may use the port temporarily.
                Err(log) if IN_USE.iter().any(|text| log.contains(text)) => {
                    let is_late = start.elapsed() >= time::limit(CHANGE_TIMEOUT);
                    assert!(!is_late, "the port is still in use");
                    std::thread::sleep(POLL_INTERVAL);
                    fs::remove_file(self.log_path()).expect("a log");
                }
                Err(log) => panic!("the server did not restart; its log ends:\n{log}"),
            }
        }
    }

    /// Stops the server with SHUTDOWN and waits until it has ended. Keeps the directory.
    pub fn shut_down(&mut self) {
        // A server refuses while it writes its first append-only file, which it also does after a synchronization.
        if self.info("aof_enabled").as_deref() == Some("1") {
            self.wait_for_rewrite();
        }
        // SHUTDOWN replies only if it fails.
        if let Ok(reply) = self.resp2().try_send(&["SHUTDOWN"]) {
            panic!("SHUTDOWN replied {reply}\n{}", self.log_tail());
        }
        self.wait_until("the server to stop", |server| !server.is_running());
        self.process = None;
    }

    pub fn is_running(&mut self) -> bool {
        self.process
            .as_mut()
            .is_some_and(|process| matches!(process.try_wait(), Ok(None)))
    }

    /// Makes this server a replica of `primary` and waits until the initial synchronization is complete.
    pub fn replicate(&mut self, primary: &Server) {
        self.ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
        self.wait_for_link();
    }

    /// Whether it is a replica with a connection to its primary, after the initial synchronization.
    pub fn is_linked(&self) -> bool {
        self.info("master_link_status").as_deref() == Some("up")
    }

    /// Waits until [`Server::is_linked`].
    pub fn wait_for_link(&mut self) {
        self.wait_until("the synchronization", |server| server.is_linked());
    }

    /// Runs BGSAVE and waits until it ends. Returns whether it succeeded.
    pub fn save_in_background(&mut self) -> bool {
        self.check("BGSAVE", "+...");
        self.wait_until("BGSAVE to end", |server| {
            server.info_number("rdb_bgsave_in_progress") == 0
        });
        self.info("rdb_last_bgsave_status").as_deref() == Some("ok")
    }

    /// The files of the append-only file whose names have this text.
    pub fn aof_parts(&self, name: &str) -> Vec<PathBuf> {
        let parts = fs::read_dir(self.dir().join("appendonlydir")).expect("a directory");
        let parts = parts.map(|part| part.expect("a part").path());
        parts
            .filter(|part| part.to_string_lossy().contains(name))
            .collect()
    }

    /// Waits until the replica has applied all writes of this server so far.
    pub fn wait_for_replica(&mut self, replica: &Server) {
        self.wait_until("the replica to catch up", |primary| {
            let sent = primary.info("master_repl_offset");
            sent.is_some() && sent == replica.info("slave_repl_offset")
        });
    }

    /// Makes its replica `to` the primary, and waits until this server has become a synchronized replica of it.
    pub fn fail_over(&mut self, to: &mut Server) {
        self.wait_until("an online replica", |from| {
            let reply = from.call(&format!("FAILOVER TO 127.0.0.1 {}", to.port));
            let is_early = reply.to_string().contains("is not online");
            assert!(is_early || reply.is_ok(), "{reply}");
            !is_early
        });
        to.wait_until("the failover", |to| {
            to.info("role").as_deref() == Some("master")
        });
        self.wait_until("the old primary to follow", |from| {
            from.info("role").as_deref() == Some("slave") && from.is_linked()
        });
    }

    /// Waits until the append-only file has the commands before this call: a server with I/O threads can reply before it writes them
    /// (findings/redis-replies-before-it-logs.sh).
    pub fn wait_until_logged(&self) {
        let is_logged = || self.info_number("aof_buffer_length") == 0;
        let is_logged = time::becomes_true(CHANGE_TIMEOUT, POLL_INTERVAL, is_logged);
        assert!(is_logged, "timeout: no log\n{}", self.log_tail());
    }

    pub fn wait_until(&mut self, what: &str, mut condition: impl FnMut(&mut Self) -> bool) {
        let is_true = time::becomes_true(CHANGE_TIMEOUT, POLL_INTERVAL, || condition(self));
        assert!(is_true, "timeout: waited for {what}\n{}", self.log_tail());
    }

    /// The complete log since the first start in this directory.
    pub fn log(&self) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Asserts that it has replied to no command of its primary with an error: a primary replicates only commands that succeeded,
    /// and some servers can be configured to stop at an error.
    #[track_caller]
    pub fn assert_obeys(&self) {
        let log = self.log();
        assert!(!log.contains("error to its"), "{log}");
    }

    /// The last lines of the log, and all lines of a crash report.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let is_report = |line: &&str| line.contains("BUG REPORT START");
        let tail = lines.len().saturating_sub(LOG_LINES);
        let first = lines.iter().position(is_report).unwrap_or(tail).min(tail);
        lines[first..].join("\n")
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("server.log")
    }

    /// Starts the process and waits until it replies to PING. Returns the end of the log if it stops before.
    fn launch(&mut self) -> Result<(), String> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())
            .expect("a log file");
        let mut command = Command::new("sh");
        let address_space = self.options.address_space;
        let address_space = address_space.map(|bytes| format!("ulimit -v {}; ", bytes >> 10));
        let tolerates = self.options.tolerates_file_limit;
        let ignore = if tolerates { "trap '' XFSZ; " } else { "" };
        let limits = format!("{}{ignore}", address_space.unwrap_or_default());
        command
            .arg("-c")
            .arg(format!("{limits}exec \"$0\" \"$@\""))
            .arg((self.options.program.clone()).map_or_else(server_program, OsString::from));
        if let Some(text) = &self.options.config {
            let file = self.config_path();
            if !file.exists() {
                fs::write(&file, text).expect("a configuration file");
            }
            command.arg(file);
        }
        command
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            // With the default, everysec, the server postpones a write to the AOF while it synchronizes the file. The test that
            // kills the server then would lose commands.
            .args(["--appendfsync", "no"])
            .args(["--enable-debug-command", "yes"])
            .args(["--repl-diskless-sync-delay", "0"])
            .arg("--dir")
            .arg(self.dir.path());
        if let Ok(arguments) = std::env::var("ROUGHLY_SERVER_ARGUMENTS") {
            command.args(arguments.split_whitespace());
        }
        command.args(&self.options.arguments);
        if self.options.cluster {
            let bus_port = self.bus_port.to_string();
            command.args(["--cluster-enabled", "yes", "--cluster-port", &bus_port]);
        }
        if !self.options.without_module {
            let module = match &self.options.module {
                Some(module) => module.clone(),
                None if self.options.debug_module => debug_module_path(),
                None => module_path(),
            };
            command
                .arg("--loadmodule")
                .arg(module)
                .args(&self.options.module_arguments);
        }
        command.envs(self.options.environment.iter().copied());
        command
            .stdin(Stdio::null())
            .stderr(log.try_clone().expect("the log file again"));
        let process = command.stdout(log).spawn();
        let process = process.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        self.process = Some(process);
        let (mut start, mut cpu) = (Instant::now(), Duration::ZERO);
        while !self.replies() {
            if !self.is_running() {
                return Err(self.log_tail());
            }
            let now = time::of_process(self.pid());
            if now >= cpu + MIN_START_CPU {
                (start, cpu) = (Instant::now(), now);
            }
            assert!(
                start.elapsed() < time::limit(START_TIMEOUT),
                "the server does nothing, and does not reply to PING\n{}",
                self.log_tail()
            );
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Whether this process replies to commands. PING replies with an error while the server loads its data. Another
    /// server may use the port, so the process id must match as well.
    fn replies(&self) -> bool {
        let replies = Connection::open(self.port, Protocol::Resp2).and_then(|mut connection| {
            let pong = connection.try_send(&["PING"])?;
            Ok((pong, connection.try_send(&["INFO", "server"])?))
        });
        let process = format!("process_id:{}", self.pid());
        replies.is_ok_and(|(pong, info)| {
            let info = String::from_utf8_lossy(info.text().unwrap_or_default());
            pong.to_string() == "+PONG" && info.lines().any(|line| line == process)
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("end of the server log:\n{}", self.log_tail());
        } else if has_memory_checker() && self.is_running() {
            // A memory checker reports leaks only if the process exits normally.
            let stopping = Connection::open(self.port, Protocol::Resp2)
                .and_then(|mut connection| connection.try_send(&["SHUTDOWN", "NOSAVE", "FORCE"]));
            if stopping.is_err() {
                time::becomes_true(CHANGE_TIMEOUT, POLL_INTERVAL, || !self.is_running());
            }
        }
        self.kill();
    }
}

/// Kind and version of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    is_valkey: bool,
    number: (u32, u32),
}

impl Version {
    /// `Redis` or `Valkey`, and major and minor version.
    pub fn kind_and_number(self) -> (&'static str, (u32, u32)) {
        let kind = if self.is_valkey { "Valkey" } else { "Redis" };
        (kind, self.number)
    }

    /// Whether the server is Valkey; otherwise, it is Redis.
    pub fn is_valkey(self) -> bool {
        self.is_valkey
    }

    /// Whether the server is Redis of at least this version.
    pub fn is_redis_at_least(self, major: u32, minor: u32) -> bool {
        !self.is_valkey && self.number >= (major, minor)
    }

    /// Whether the server is Valkey of at least this version.
    pub fn is_valkey_at_least(self, major: u32, minor: u32) -> bool {
        self.is_valkey && self.number >= (major, minor)
    }
}

/// Whether the servers run under a memory checker (scripts/memory.sh valgrind sets `ROUGHLY_SHUTDOWN`).
fn has_memory_checker() -> bool {
    std::env::var_os("ROUGHLY_SHUTDOWN").is_some()
}

/// A port to which no test connects successfully: only root can use it, and the system never assigns it.
pub const UNUSED_PORT: u16 = 1;

/// A port that was free during the call, and that this function has not returned before in this process.
fn free_port() -> u16 {
    static RETURNED: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let mut returned = RETURNED.lock().unwrap_or_else(PoisonError::into_inner);
        if returned.insert(port) {
            return port;
        }
    }
}

/// The program of a server that `scripts/fetch.sh server` fetches.
pub fn fetched(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("target/servers/{name}/server"))
}

pub fn server_program() -> OsString {
    if let Some(program) = std::env::var_os("ROUGHLY_SERVER") {
        // Cargo runs tests in the package directory, so a relative path starts there.
        return program;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    ["redis-server", "valkey-server"]
        .iter()
        .find(|program| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
        .unwrap_or_else(|| {
            panic!(
                "no redis-server or valkey-server in PATH. `make test` installs one, or select one with \
                 ROUGHLY_SERVER=/path/to/server"
            )
        })
        .into()
}

/// The command-line client: from the directory of the server program, or from PATH.
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
                "no redis-cli or valkey-cli in the directory of the server or in PATH. `make test` installs \
                 one with the server"
            )
        })
}

/// The module that is built with the tests, or the one in `ROUGHLY_DEBUG_MODULE`.
pub fn debug_module_path() -> PathBuf {
    if let Some(module) = std::env::var_os("ROUGHLY_DEBUG_MODULE") {
        return module.into();
    }
    let program = std::env::current_exe().expect("the path of this program");
    let module = program.with_file_name("libroughly.so");
    assert!(module.is_file(), "no {}", module.display());
    module
}

/// The module file to test.
pub fn module_path() -> PathBuf {
    let path = std::env::var_os("ROUGHLY_MODULE").map(PathBuf::from);
    let path = path.unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let profile = std::env::var_os("ROUGHLY_PROFILE").unwrap_or_else(|| "checks".into());
        PathBuf::from(target).join(profile).join("libroughly.so")
    });
    let path = path.canonicalize().unwrap_or_else(|error| {
        panic!(
            "cannot find the module {} ({error}). scripts/build-module.sh builds it, or select one with \
             ROUGHLY_MODULE=/path/to/libroughly.so",
            path.display()
        )
    });
    without_spaces(path)
}

/// [`module_path`] as text.
pub fn module_file() -> String {
    module_path().to_str().expect("a UTF-8 path").to_owned()
}

/// A path of the file without spaces: CONFIG REWRITE writes paths without quotes, and the linker splits `LD_PRELOAD` at spaces. It is
/// that of a link in the directory for temporary files, if necessary.
pub fn without_spaces(path: PathBuf) -> PathBuf {
    if !path.as_os_str().as_encoded_bytes().contains(&b' ') {
        return path;
    }
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    let directory = std::env::temp_dir().join(format!("roughly-link-{:x}", hasher.finish()));
    fs::create_dir_all(&directory).expect("a directory");
    let link = directory.join(path.file_name().expect("a file"));
    // Other tests may have created it.
    if let Err(error) = std::os::unix::fs::symlink(&path, &link) {
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{error}");
    }
    link
}
