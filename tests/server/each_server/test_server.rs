//! The test server itself.

use crate::support::server::Options;

#[test]
fn dropping_a_server_stops_it_and_removes_its_directory() {
    let server = Options::new().without_module().start();
    let (port, dir) = (server.port(), server.dir().to_owned());
    assert!(dir.is_dir());
    drop(server);
    assert!(!dir.exists());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}
