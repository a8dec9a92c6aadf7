//! Replication between servers with different modules.

use super::compare::{Transfer, assert_same};
use super::stages::add_more;
use super::{Peer, assert_no_refused_command, fill};
use crate::integration::odd_settings;
use crate::support::server::{Options, Server};
use crate::support::state::select;

/// Commands per database after the full synchronization.
const COMMANDS: usize = 1500;

fn assert_replicated(primary: &mut Server, replica: &Server, when: &str) {
    primary.wait_for_replica(replica);
    let (one, other) = (&mut primary.resp2(), &mut replica.resp2());
    let keys = assert_same(one, other, Transfer::Commands, when);
    assert!(keys > 5, "{when}: {keys} keys");
    assert_no_refused_command(replica);
}

/// A full synchronization, then a stream of commands.
fn replicate(peer: &Peer, primary: Options, replica: Options, when: &str) {
    let (mut primary, mut replica) = (primary.start(), replica.start());
    let mut workload = peer.workload(101);
    let mut connection = primary.resp2();
    fill(peer, &mut connection, &mut workload);
    replica.replicate(&primary);
    assert_replicated(&mut primary, &replica, when);
    add_more(&mut connection);
    for db in [0, 3] {
        select(&mut connection, db);
        workload.run(&mut connection, COMMANDS);
    }
    assert_replicated(&mut primary, &replica, when);
}

pub fn replicas_have_the_same_keys_in_both_directions(peer: &Peer) {
    for (primary, replica, when) in peer.both_ways() {
        replicate(peer, primary, replica, when);
    }
}

/// valkey-bloom replicates all parameters of a key that it creates.
pub fn replicas_with_other_settings_have_the_same_keys(peer: &Peer) {
    replicate(peer, peer.options(), odd_settings(), "other settings");
}

pub fn a_chain_of_both_modules_has_the_same_keys(peer: &Peer) {
    let mut first = peer.options().start();
    let (mut middle, mut last) = (peer.roughly().start(), peer.options().start());
    let mut workload = peer.workload(102);
    let mut connection = first.resp2();
    fill(peer, &mut connection, &mut workload);
    middle.replicate(&first);
    last.replicate(&middle);
    workload.run(&mut connection, COMMANDS);
    assert_replicated(&mut first, &middle, "the first and the second");
    assert_replicated(&mut middle, &last, "the second and the third");
}

pub fn failovers_to_roughly_and_back_lose_no_key(peer: &Peer) {
    let (mut one, mut two) = (peer.options().start(), peer.roughly().start());
    let mut workload = peer.workload(103);
    fill(peer, &mut one.resp2(), &mut workload);
    two.replicate(&one);
    for round in 0..4 {
        let (from, to) = if round % 2 == 0 {
            (&mut one, &mut two)
        } else {
            (&mut two, &mut one)
        };
        workload.run(&mut from.resp2(), 300);
        from.fail_over(to);
        workload.run(&mut to.resp2(), 300);
        assert_replicated(to, from, &format!("failover {round}"));
    }
}
