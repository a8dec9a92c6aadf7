//! Several loads of the same file when the server starts: CONFIG REWRITE writes a `loadmodule` line into the main configuration
//! file, also if an included file or the command line has one. The server starts with one module.

use crate::families::FAMILIES;
use crate::support::resp::{Connection, Protocol};
use crate::support::server::{Options, Server, module_file, module_path};
use std::fs;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The line that loads the module, with arguments.
fn load_line(arguments: &str) -> String {
    format!("loadmodule {} {arguments}", module_file())
        .trim_end()
        .to_owned()
}

/// A server whose main configuration file and a file that it includes have these lines; with more arguments on the command line.
fn start(main: &str, included: &str, arguments: &[&str]) -> (Server, TempDir) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("included.conf");
    fs::write(&file, included).expect("a file");
    let lines = format!("include {}\n{main}\n", file.display());
    (configured(arguments).config(&lines).start(), dir)
}

/// Options of a server whose configuration loads the module; with more arguments on the command line.
fn configured(arguments: &[&str]) -> Options {
    let options = Options::new().without_module().config_file();
    options.arguments(arguments)
}

/// The lines of the main configuration file that load a module.
fn load_lines(server: &Server) -> Vec<String> {
    let lines = fs::read_to_string(server.config_path()).expect("a configuration");
    let lines = lines.lines().filter(|line| line.starts_with("loadmodule "));
    lines.map(|line| line.trim_end().to_owned()).collect()
}

/// The names of the modules of this file, in any order. Some servers list modules of their own.
fn loaded(connection: &mut Connection) -> Vec<String> {
    let list = connection.call("MODULE LIST");
    let modules = list.items().expect("a list").iter();
    let names = modules.map(|module| module.field("name").expect("a name").string());
    names
        .filter(|name| name == "bf" || name.starts_with("roughly"))
        .collect()
}

fn rewrite(connection: &mut Connection) {
    for _ in 0..2 {
        connection.ok("CONFIG REWRITE");
    }
}

/// A warning for each line without effect.
fn warnings(log: &str) -> usize {
    let warning =
        "<bf> a second loadmodule line for this file has no effect: it is loaded already, as bf.";
    log.matches(warning).count()
}

#[test]
fn ten_rewrites_and_restarts_leave_one_line() {
    const ARGUMENTS: &str = "cf-bucket-size 4 families bf,cf,cms,topk,tdigest";
    let line = load_line(ARGUMENTS);
    let module = module_file();
    let mut command_line = vec!["--loadmodule", &module];
    command_line.extend(ARGUMENTS.split(' '));
    let twice = format!("{line}\n{line}");
    // Lines of the main configuration file, and of a file that it includes; more arguments on the command line; loads without effect at
    // the first start, and at a start after CONFIG REWRITE; cycles of CONFIG REWRITE and restart.
    for ([main, included], command_line, [mut expected, later], cycles) in [
        ([&line[..], ""], &[""; 0][..], [0, 0], 2),
        (["", &line], &[], [0, 1], 10),
        (["", ""], &command_line, [0, 1], 10),
        (["", &line], &command_line, [1, 2], 2),
        ([&twice, &line], &[], [2, 1], 2),
    ] {
        let arguments = [&["--save", "3600 1"], command_line].concat();
        let (mut server, _dir) = start(main, included, &arguments);
        for cycle in 0..cycles {
            let mut connection = server.resp2();
            assert_eq!(loaded(&mut connection), ["bf"], "cycle {cycle}");
            assert_eq!(warnings(&server.log()), expected, "cycle {cycle}");
            let bucket_size = connection.send(&["CONFIG", "GET", "*cf-bucket-size"]);
            assert!(bucket_size.to_string().ends_with("$4]"), "{bucket_size}");
            for family in FAMILIES {
                if cycle == 0 {
                    family.build(&mut connection, family.type_name);
                }
                let kind = format!("+{}", family.type_name);
                connection.check(&format!("TYPE {}", family.type_name), kind);
            }
            rewrite(&mut connection);
            assert_eq!(load_lines(&server), [line.as_str()], "cycle {cycle}");
            server.restart();
            expected += later;
        }
        assert!(!server.log().contains("not loaded"));
    }
}

#[test]
fn the_first_load_line_counts_and_arguments_of_others_are_logged() {
    let lines = "families bf||families cf,cms|unknown 1|families bf".split('|');
    let lines: Vec<_> = lines.map(load_line).collect();
    let arguments = ["--enable-module-command", "yes"];
    let (server, _dir) = start(&lines.join("\n"), "", &arguments);
    let mut connection = server.resp2();
    assert_eq!(loaded(&mut connection), ["bf"]);
    connection.check("BF.ADD seen alice", ":1");
    connection.check("CF.ADD seen alice", "-ERR unknown command...");
    let log = server.log();
    assert_eq!(warnings(&log), 4);
    for ignored in ["none", "families cf,cms", "unknown 1"] {
        let line = format!(
            "<bf> the arguments of the second loadmodule line are ignored: {ignored}. Those of the first are: families bf\n"
        );
        assert_eq!(log.matches(&line).count(), 1, "{line}: {log}");
    }
    assert_eq!(log.matches("are ignored").count(), 3, "{log}");
    // Later loads are refused.
    for load in ["LOAD", "LOADEX"] {
        connection.check(&format!("MODULE {load} {}", module_file()), "-...");
        connection.check("MODULE UNLOAD roughly-load-2", "-...");
        assert_eq!(loaded(&mut connection), ["bf"]);
    }
    let refused =
        "<bf> not loaded: this file is loaded already, as bf. Remove one of its loadmodule lines";
    assert_eq!(server.log().matches(refused).count(), 2);
}

/// The module of the second load exists until the data is loaded. A rewrite then writes its line, and the next rewrite removes it.
#[test]
fn a_rewrite_while_the_data_is_loaded_keeps_no_line_for_long() {
    let line = load_line("");
    // The server handles clients after each key that it loads. The last argument overrides the delay that the rewrite writes into the
    // file.
    let arguments =
        "--rdbcompression no --loading-process-events-interval-bytes 1024 --key-load-delay 0";
    let arguments: Vec<_> = ["--save", "3600 1"]
        .into_iter()
        .chain(arguments.split(' '))
        .collect();
    let (mut server, _dir) = start("", &line, &arguments);
    let options = configured(&arguments);
    let mut connection = server.resp2();
    rewrite(&mut connection);
    for number in 0..200 {
        let key = format!("key{number}");
        connection.send_ok(&["SET", &key, &"-".repeat(2000)]);
    }
    server.shut_down();
    server = {
        let port = server.port();
        let slow = options.clone().arguments(&["--key-load-delay", "100000"]);
        let starting = thread::spawn(move || {
            server.relaunch_with(slow);
            server
        });
        while !starting.is_finished() {
            thread::sleep(Duration::from_millis(5));
            let Ok(mut connection) = Connection::open(port, Protocol::Resp2) else {
                continue;
            };
            let is_loading = |connection: &mut Connection| {
                let info = connection.try_send(&["INFO", "persistence"]);
                info.is_ok_and(|info| info.to_string().contains("\\nloading:1"))
            };
            if is_loading(&mut connection) {
                connection.ok("CONFIG REWRITE");
                // It would take 20 seconds.
                assert!(is_loading(&mut connection), "the data was loaded too fast");
                connection.ok("CONFIG SET key-load-delay 0");
                break;
            }
        }
        starting.join().expect("a server")
    };
    assert_eq!(load_lines(&server), [line.as_str(), line.as_str()]);
    for _ in 0..2 {
        server.restart_with(options.clone());
        let mut connection = server.resp2();
        assert_eq!(loaded(&mut connection), ["bf"]);
        rewrite(&mut connection);
        assert_eq!(load_lines(&server), [line.as_str()]);
    }
}

/// Without the command MODULE, the module of the second load cannot be unloaded.
#[test]
fn a_server_without_the_command_module_starts_and_logs_what_to_do() {
    let line = load_line("");
    let (mut server, _dir) = start(&line, &line, &["--rename-command", "MODULE", ""]);
    let mut connection = server.resp2();
    connection.check("BF.ADD seen alice", ":1");
    server.wait_until("the log", |server| {
        server.log().contains(
            "this server refuses MODULE UNLOAD roughly-load-2 to modules, so CONFIG REWRITE adds a loadmodule line. Remove the second loadmodule line for this file",
        )
    });
    server.restart();
    server.check("BF.ADD seen alice", ":1");
}

#[test]
fn a_copy_of_the_file_is_refused_and_the_log_names_both_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let copy = dir.path().join("copy.so");
    fs::copy(module_path(), &copy).expect("a copy");
    let (file, copy) = (&module_file(), copy.to_str().expect("UTF-8"));
    let expected = format!(
        "not loaded: another module with the name bf is loaded ({file}, version 81200). Remove its loadmodule line or the one of \
         Roughly ({copy})\n"
    );
    let lines = ["--loadmodule", file, "--loadmodule", copy];
    let log = configured(&lines).refused();
    assert!(log.contains(&expected), "{expected}: {log}");
    let lines = ["--loadmodule", file, "--enable-module-command", "yes"];
    let server = configured(&lines).start();
    server.check(&format!("MODULE LOAD {copy}"), "-...");
    assert_eq!(server.log().matches(&expected).count(), 1);
    server.check("BF.ADD seen alice", ":1");
}

/// Sentinel runs CONFIG REWRITE on both nodes at a failover.
#[test]
fn both_nodes_start_after_a_failover_by_sentinel() {
    let line = load_line("");
    let start_node = || start("", &line, &["--save", "3600 1"]);
    let ((first, _first_dir), (second, _second_dir)) = (start_node(), start_node());
    let mut nodes = [first, second];
    let [primary, replica] = &mut nodes;
    replica.replicate(primary);
    let monitor = format!("sentinel monitor nodes 127.0.0.1 {} 1", primary.port());
    let mut sentinel = configured(&["--sentinel"]).config(&monitor).start();
    primary.check("BF.ADD seen alice", ":1");
    primary.wait_for_replica(replica);
    sentinel.wait_until("the failover to start", |sentinel| {
        sentinel.call("SENTINEL FAILOVER nodes").is_ok()
    });
    // Sentinel closes the connections of clients, so only the files show when it is done.
    let conf = |node: &Server| fs::read_to_string(node.config_path()).expect("a file");
    let follows = format!("\nreplicaof 127.0.0.1 {}\n", replica.port());
    sentinel.wait_until("CONFIG REWRITE of both nodes", |_| {
        conf(primary).contains(&follows) && load_lines(replica) == [line.as_str()]
    });
    sentinel.kill();
    for node in &mut nodes {
        assert_eq!(load_lines(node), [line.as_str()]);
        node.restart();
        let mut connection = node.resp2();
        assert_eq!(loaded(&mut connection), ["bf"]);
        connection.check("BF.EXISTS seen alice", ":1");
    }
    let [follower, leader] = &mut nodes;
    follower.wait_for_link();
    leader.check("BF.ADD seen bob", ":1");
    leader.wait_for_replica(follower);
    follower.check("BF.EXISTS seen bob", ":1");
}
