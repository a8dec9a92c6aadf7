//! scripts/run.sh checks the port before it builds the module.

use std::net::TcpListener;
use std::process::Command;

#[test]
fn a_port_in_use_is_reported_before_the_build() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    // Without programs on the PATH except for those of the system, a build would fail at once.
    let run = Command::new("scripts/run.sh")
        .env("PORT", port.to_string())
        .env("PATH", "/usr/bin:/bin")
        .env("CARGO_HOME", "/nonexistent")
        .output()
        .expect("scripts/run.sh");
    assert_eq!(run.status.code(), Some(1));
    let expected = format!("run: port {port} is in use; choose another one: make run PORT=6380\n");
    assert_eq!(String::from_utf8_lossy(&run.stderr), expected);
}
