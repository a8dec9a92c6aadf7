//! packaging/install.sh: installs the module and adds its line to a configuration file.

use crate::support::server::{Options, module_path};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The files of the programs that the script installs beside the module.
const PROGRAM_FILES: &str = "scripts/copy-sketches packaging/monitoring/bf-exporter \
    packaging/monitoring/bf-exporter.default packaging/monitoring/bf-exporter.service \
    packaging/monitoring/alerts.yml packaging/monitoring/bf-stats.lua packaging/monitoring/dashboard.json";

/// An installation in a directory of its own, and a configuration file.
struct Installation {
    dir: TempDir,
}

/// What a run of the script printed.
struct Run {
    succeeded: bool,
    output: String,
    errors: String,
}

impl Run {
    fn of(command: &mut Command) -> Self {
        let run = command.output().expect("the script runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            succeeded: run.status.success(),
            output: text(run.stdout),
            errors: text(run.stderr),
        }
    }

    /// The script failed with this text.
    #[track_caller]
    fn assert_failed(&self, reason: &str) {
        assert!(!self.succeeded, "{}", self.output);
        assert!(self.errors.contains(reason), "{}", self.errors);
    }
}

impl Installation {
    /// Installs the module from a directory like that of a tarball.
    fn new() -> Self {
        let installation = Self {
            dir: tempfile::tempdir().expect("a directory"),
        };
        let unpacked = installation.unpack();
        let run = installation.run(&unpacked, &[]);
        assert!(run.succeeded, "{}", run.errors);
        assert!(run.output.contains(&installation.line()), "{}", run.output);
        assert_eq!(run.errors, "");
        let documents = installation.path("usr/share/doc/roughly");
        assert_eq!(names(&documents), ["README.md"]);
        fs::remove_dir_all(unpacked).expect("a removed directory");
        installation
    }

    /// Creates a directory like that of a tarball.
    fn unpack(&self) -> PathBuf {
        let unpacked = self.path("unpacked");
        fs::create_dir(&unpacked).expect("a new directory");
        fs::copy("packaging/install.sh", unpacked.join("install.sh")).expect("a copy");
        fs::copy("README.md", unpacked.join("README.md")).expect("a copy");
        fs::copy(module_path(), unpacked.join("libroughly.so")).expect("a copy");
        for name in PROGRAM_FILES.split(' ') {
            let copy = unpacked.join(name);
            fs::create_dir_all(copy.parent().expect("a directory")).expect("a directory");
            fs::copy(name, copy).expect("a copy");
        }
        unpacked
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn module(&self) -> String {
        let module = self.path("usr/lib/redis/modules/libroughly.so");
        module.to_str().expect("a UTF-8 path").to_owned()
    }

    fn line(&self) -> String {
        format!("loadmodule {}", self.module())
    }

    /// Runs the script in this directory.
    fn run(&self, directory: &Path, arguments: &[&str]) -> Run {
        let mut command = Command::new(directory.join("install.sh"));
        command.env("PREFIX", self.path("usr"));
        command.env("SYSCONFDIR", self.path("etc"));
        Run::of(command.args(arguments))
    }

    fn run_installed(&self, arguments: &[&str]) -> Run {
        self.run(&self.path("usr/share/roughly"), arguments)
    }

    /// Writes a file and configures it.
    fn configure(&self, text: &str) -> Run {
        let file = self.path("server.conf");
        fs::write(&file, text).expect("a written file");
        self.run_installed(&["--configure", file.to_str().expect("UTF-8")])
    }

    fn configured(&self) -> String {
        fs::read_to_string(self.path("server.conf")).expect("a file")
    }

    /// Configures a text, which must become `expected`, with these changed lines. The second run must change nothing.
    fn assert(&self, text: &str, expected: &str, changes: &[&str]) {
        let run = self.configure(text);
        assert!(run.succeeded, "{text}: {}", run.errors);
        assert_eq!(self.configured(), expected, "{text}");
        let shown = |line: &&str| line.starts_with(['+', '-']);
        let shown: Vec<_> = run.output.lines().filter(shown).collect();
        assert_eq!(shown, changes, "{text}: {}", run.output);
        let run = self.configure(expected);
        assert!(run.succeeded, "{expected}: {}", run.errors);
        assert_eq!(self.configured(), expected);
        assert!(run.output.contains("was not changed"), "{}", run.output);
    }

    /// Configures a text, which must fail with this text and without a change.
    fn assert_refused(&self, text: &str, reason: &str) {
        let run = self.configure(text);
        assert!(!run.succeeded, "{text}: {}", run.output);
        assert!(run.errors.contains(reason), "{text}: {}", run.errors);
        assert_eq!(self.configured(), text);
        assert_eq!(self.files_beside(), ["server.conf"]);
    }

    /// The paths of all installed files.
    fn files(&self) -> String {
        let list = Command::new("find")
            .args(["usr", "etc", "-not", "-type", "d"])
            .current_dir(&self.dir)
            .output();
        String::from_utf8(list.expect("a list").stdout).expect("UTF-8")
    }

    fn mode(&self, name: &str) -> u32 {
        let metadata = fs::metadata(self.path(name)).unwrap_or_else(|_| panic!("{name}"));
        metadata.permissions().mode() & 0o7777
    }

    /// The names of the configuration file and of temporary files.
    fn files_beside(&self) -> Vec<String> {
        let mut names = names(self.dir.path());
        names.retain(|name| name.starts_with("server.conf"));
        names
    }
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).expect("a directory");
    let names = names.map(|entry| entry.expect("a name").file_name());
    names
        .map(|name| name.into_string().expect("UTF-8"))
        .collect()
}

#[test]
fn the_line_is_added_once_and_the_server_starts() {
    let installation = Installation::new();
    let line = installation.line();
    let added = format!("+{line}");
    installation.assert("", &format!("{line}\n"), &[&added]);
    let text = "# text\r\nmaxmemory 1gb\r\n";
    installation.assert(text, &format!("{text}{line}\n"), &[&added]);
    let text = format!("# {line}\nmaxmemory 1gb");
    let changes = ["-maxmemory 1gb", "+maxmemory 1gb", &added];
    installation.assert(&text, &format!("{text}\n{line}\n"), &changes);
    // The documents name the script of an installation without variables.
    for page in ["README.md", "docs/packages.md"] {
        let page = fs::read_to_string(page).expect("a page");
        let script = "sudo /usr/share/roughly/install.sh --configure";
        assert!(page.contains(&format!("{script} /etc/redis/redis.conf")));
    }
    let text = installation.configured();
    let server = Options::new().without_module().config(&text).start();
    let modules = server.call("MODULE LIST").to_string();
    assert!(modules.contains(&installation.module()), "{modules}");
    server.ok("CONFIG REWRITE");
    let rewritten = fs::read_to_string(server.config_path()).expect("a file");
    let run = installation.configure(&rewritten);
    assert!(run.output.contains("was not changed"), "{}", run.output);
}

#[test]
fn lines_that_load_the_module_in_another_notation_are_found() {
    let installation = Installation::new();
    let module = installation.module();
    for line in [
        format!("  LoadModule\t\"{module}\"\r\n"),
        format!("loadmodule '{module}' bf-error-rate 0.001"),
        format!("\"loadmodule\" /{module} families cf\n"),
        format!("loadmodule /other/redisbloom.so\nloadmodule {module} families cf\n"),
    ] {
        let run = installation.configure(&line);
        let is_unchanged = run.output.contains("was not changed");
        assert!(is_unchanged, "{line}: {}", run.output);
        assert_eq!(installation.configured(), line);
    }
}

/// The included file of version 1.0.0, also beside the line that CONFIG REWRITE added.
#[test]
fn an_included_roughly_conf_is_replaced_with_its_lines() {
    let installation = Installation::new();
    let line = installation.line();
    let added = format!("+{line}");
    let included = installation.path("roughly.conf");
    let include = format!("include {}", included.display());
    let loading = format!("{line} bf-error-rate 0.001");
    let text = format!("# Loads Roughly.\n\n{loading}\nmaxclients 100\n");
    fs::write(&included, text).expect("a written file");
    let changes = format!("-{include}|+{loading}|+maxclients 100|-{loading}");
    let changes: Vec<_> = changes.split('|').collect();
    let text = format!("port 1\n{include}\nport 2\nport 3\nport 4\n");
    let expected = text.replace(&include, &format!("{loading}\nmaxclients 100"));
    installation.assert(&text, &expected, &changes[..3]);
    installation.assert(&format!("{text}{loading}\n"), &expected, &changes);
    // Without the included file, the server does not start.
    fs::remove_file(&included).expect("a removed file");
    let [text, expected] = [include, line].map(|line| format!("port 1\n{line}\n"));
    installation.assert(&text, &expected, &[changes[0], &added]);
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let installation = Installation::new();
    let modules = "/usr/lib/redis/modules//redisbloom.so /opt/libvalkey_bloom.so";
    for path in modules.split(' ') {
        let beside = format!("{} families cf,cms,topk,tdigest", installation.line());
        installation.assert_refused(&format!("loadmodule {path}\n"), &beside);
        let included = installation.path("other modules.conf");
        fs::write(&included, format!("LOADMODULE \"{path}\"\n")).expect("a written file");
        for include in ["other modules.conf", "other*.conf"] {
            let include = installation.path(include);
            let text = format!("include \"{}\"\n", include.display());
            installation.assert_refused(&text, "other modules.conf, which ");
        }
    }
    let other = "loadmodule /opt/libroughly.so cf-bucket-size 4\n";
    installation.assert_refused(other, "loads /opt/libroughly.so, not ");
    let run = installation.run_installed(&["--configure", "/no/such.conf"]);
    run.assert_failed("/no/such.conf is not a file");
    for arguments in [&["--configure"][..], &["--reconfigure", "x"]] {
        let run = installation.run_installed(arguments);
        assert!(!run.succeeded, "{arguments:?}");
    }

    // CONFIG REWRITE would write a line that the server cannot read.
    let text = "port 1\n";
    fs::rename(installation.path("usr"), installation.path("usr b")).expect("a new name");
    let file = installation.path("server.conf");
    fs::write(&file, text).expect("a written file");
    let mut command = Command::new(installation.path("usr b/share/roughly/install.sh"));
    command.arg("--configure").arg(&file);
    Run::of(command.env("PREFIX", installation.path("usr b"))).assert_failed("usr b");
    let run = Run::of(command.env("PREFIX", installation.path("usr")));
    run.assert_failed("Install the module first");
    assert_eq!(installation.configured(), text);
}

/// The file is replaced in one step, keeps its mode, and stays the target of a link.
#[test]
fn the_file_keeps_its_mode_and_its_links() {
    let installation = Installation::new();
    let file = installation.path("server.conf");
    fs::write(&file, "port 1\n").expect("a written file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("a mode");
    let before = fs::metadata(&file).expect("a file");
    let link = installation.path("link.conf");
    symlink("server.conf", &link).expect("a link");
    let run = installation.run_installed(&["--configure", link.to_str().expect("UTF-8")]);
    assert!(run.succeeded, "{}", run.errors);
    assert!(link.is_symlink());
    let after = fs::metadata(&file).expect("a file");
    assert_ne!(after.ino(), before.ino());
    let attributes = |file: &fs::Metadata| (file.mode(), file.uid(), file.gid());
    assert_eq!(attributes(&after), attributes(&before));
    let line = installation.line();
    assert_eq!(installation.configured(), format!("port 1\n{line}\n"));
    assert_eq!(installation.files_beside(), ["server.conf"]);
}

#[test]
fn directories_that_the_server_may_be_unable_to_read_are_reported() {
    let installation = Installation::new();
    let modules = installation.path("usr/lib/redis/modules");
    fs::set_permissions(&modules, fs::Permissions::from_mode(0o750)).expect("a mode");
    let run = installation.configure("port 1\n");
    assert!(run.succeeded, "{}", run.errors);
    for (directory, is_reported) in [("usr/lib/redis/modules", true), ("usr/lib", false)] {
        let directory = installation.path(directory);
        let line = format!("read files in {}. ", directory.display());
        assert_eq!(run.errors.contains(&line), is_reported, "{}", run.errors);
    }
}

#[test]
fn uninstall_removes_every_installed_file() {
    let installation = Installation::new();
    let run = installation.run_installed(&["uninstall"]);
    assert!(run.succeeded, "{}", run.errors);
    assert!(run.output.contains(&installation.line()), "{}", run.output);
    assert_eq!(installation.files(), "");
    assert!(!installation.path("usr/lib/redis").exists());
    assert!(!installation.path("usr/share/roughly").exists());
}

#[test]
fn the_programs_and_their_files_are_installed() {
    let installation = Installation::new();
    for program in ["copy-sketches", "bf-exporter"] {
        let program = format!("usr/bin/{program}");
        assert_eq!(installation.mode(&program), 0o755);
        let mut help = Command::new(installation.path(&program));
        // Debian's Python has the library of copy-sketches.
        let run = Run::of(help.arg("--help").env("PATH", "/usr/bin:/bin"));
        assert!(run.succeeded, "{}", run.errors);
    }
    for name in ["alerts.yml", "bf-stats.lua", "dashboard.json"] {
        let installed = format!("usr/share/roughly/{name}");
        assert_eq!(installation.mode(&installed), 0o644);
    }
    let unit = "usr/lib/systemd/system/bf-exporter.service";
    assert_eq!(installation.mode(unit), 0o644);
    let unit = fs::read_to_string(installation.path(unit)).expect("a unit");
    let root = installation.dir.path().display();
    for line in [
        format!("ExecStart={root}/usr/bin/bf-exporter $BF_EXPORTER_OPTIONS"),
        format!("EnvironmentFile=-{root}/etc/default/bf-exporter"),
        format!("Documentation=file://{root}/usr/share/doc/roughly/docs/monitoring.md"),
    ] {
        assert!(unit.lines().any(|each| each == line), "{line}\n{unit}");
    }
    // It can have a password.
    assert_eq!(installation.mode("etc/default/bf-exporter"), 0o600);
}

#[test]
fn a_changed_environment_file_stays() {
    let installation = Installation::new();
    let file = installation.path("etc/default/bf-exporter");
    let changed = "BF_EXPORTER_PASSWORD=secret\n";
    fs::write(&file, changed).expect("a written file");
    let unpacked = installation.unpack();
    for run in [
        installation.run(&unpacked, &[]),
        installation.run_installed(&["uninstall"]),
    ] {
        assert!(run.succeeded, "{}", run.errors);
        let line = format!("{} was changed, and stays as it is", file.display());
        assert!(run.errors.contains(&line), "{}", run.errors);
        assert_eq!(fs::read_to_string(&file).expect("the file"), changed);
        assert_eq!(installation.mode("etc/default/bf-exporter"), 0o600);
    }
    assert_eq!(installation.files(), "etc/default/bf-exporter\n");
}
