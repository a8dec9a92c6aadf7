//! What some tests need, and not every server or machine has.
//!
//! These tests are in modules with the names of their needs, and ignored: a test that cannot run does not pass.
//! scripts/server-tests.sh runs those whose needs are met here.

use crate::huge_pages;
use crate::support::server::{Server, Version, fetched};
use std::env;
use std::path::Path;
use std::process::Command;

/// A need: the name of the modules of its tests, and whether it is met on a server of this version.
struct Need {
    module: &'static str,
    is_met: fn(Version) -> bool,
}

const NEEDS: &[Need] = &[
    Need {
        module: "needs_huge_pages",
        is_met: |_| huge_pages::expected() == "active",
    },
    Need {
        module: "needs_jemalloc",
        is_met: |_| {
            let allocator = Server::start().info("mem_allocator");
            allocator.is_some_and(|name| name.starts_with("jemalloc"))
        },
    },
    Need {
        module: "needs_rdb_save",
        is_met: |version| version.is_valkey() || version.is_redis_at_least(7, 2),
    },
    Need {
        module: "needs_redis_8_6",
        is_met: |version| version.is_redis_at_least(8, 6),
    },
    Need {
        module: "needs_redis_8_and_valkey_9",
        is_met: |version| version.is_redis_at_least(8, 0) && fetched("valkey-newest").is_file(),
    },
    Need {
        module: "needs_slot_migration",
        is_met: |version| version.is_redis_at_least(8, 4) || version.is_valkey_at_least(9, 0),
    },
    Need {
        module: "needs_threaded_reads",
        is_met: |version| version.is_redis_at_least(8, 0) || version.is_valkey_at_least(9, 0),
    },
    Need {
        module: "needs_valkey_bloom",
        is_met: |version| {
            env::var_os("ROUGHLY_VALKEY_BLOOM").is_some() && version.is_valkey_at_least(8, 0)
        },
    },
    // Ignored only where RedisBloom is not published.
    Need {
        module: "redisbloom",
        is_met: |_| env::var_os("ROUGHLY_REDISBLOOM").is_some(),
    },
    Need {
        module: "redisbloom_2_6",
        is_met: |_| Path::new("target/redisbloom/2.6.12/redisbloom.so").is_file(),
    },
];

/// The name of the ignored test that lists the others.
const LIST: &str = "needs::list";

/// The ignored tests with their needs.
fn ignored() -> impl Iterator<Item = (String, Vec<&'static Need>)> {
    let program = env::current_exe().expect("the path of this program");
    let listed = Command::new(program)
        .args(["--list", "--ignored", "--format", "terse"])
        .output()
        .expect("a list");
    let listed = String::from_utf8(listed.stdout).expect("names");
    let names = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    let names = names.filter(|name| *name != LIST).map(str::to_owned);
    let names: Vec<_> = names.collect();
    names.into_iter().map(|name| {
        let modules = name.split("::");
        let needs = modules.filter_map(|part| NEEDS.iter().find(|need| need.module == part));
        let needs = needs.collect();
        (name, needs)
    })
}

#[test]
fn every_ignored_test_states_its_needs() {
    for (name, needs) in ignored() {
        assert!(!needs.is_empty(), "{name} is in no module of a need");
    }
}

#[test]
#[ignore = "prints the ignored tests that can run here, for scripts/"]
fn list() {
    let version = Server::start().version();
    for (name, needs) in ignored() {
        if needs.iter().all(|need| (need.is_met)(version)) {
            println!("can run: {name}");
        }
    }
}
