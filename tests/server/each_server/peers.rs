//! Roughly beside RedisBloom and valkey-bloom on the server under test: replication, files, DUMPs, chunks,
//! `scripts/copy-sketches` and failovers, in both directions.
//!
//! The tests beside RedisBloom run always. Those beside valkey-bloom are ignored, because no registry has its module:
//! `ROUGHLY_VALKEY_BLOOM=/path/libvalkey_bloom.so scripts/test.sh` runs them, on a server that can load it.
//! `tests/server/valkey/recorded_*.rs` test files and streams of valkey-bloom without its module.

mod beside;
mod check;
mod compare;
mod copy_sketches;
mod extremes;
mod files;
mod keys;
mod random_commands;
mod replication;
mod stages;
mod switch_over;
mod t_digest;

use crate::families::{FAMILIES, Family};
use crate::support::peers;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use crate::workload::{Command, Workload, words};
use std::path::PathBuf;

/// Keys per type.
const KEYS: u64 = 10;

/// Declares tests of functions in files of this folder, which take the module beside which they test.
macro_rules! tests {
    ($peer:expr, $attribute:tt: $($file:ident { $($name:ident)* })*) => {
        $($(
            #[test]
            #$attribute
            fn $name() {
                super::$file::$name(&$peer);
            }
        )*)*
    };
}

/// The tests beside RedisBloom.
mod redisbloom {
    tests! {
        super::Peer::redisbloom(),
        [cfg_attr(
            not(all(target_arch = "x86_64", target_env = "gnu")),
            ignore = "needs RedisBloom, which is published for x86-64 Linux with glibc"
        )]:
        beside {
            a_load_of_all_families_beside_another_module_logs_what_to_do
            a_load_of_some_families_beside_redisbloom_logs_its_file
        }
        check {
            check_predicts_what_becomes_of_the_keys_of_roughly
            check_predicts_what_becomes_of_the_keys_of_redisbloom
        }
        copy_sketches {
            copy_sketches_copies_in_both_directions
            compare_reports_what_differs_between_a_server_and_its_replica
            keys_of_types_that_the_destination_lacks_are_reported
            a_t_digest_that_was_copied_to_redisbloom_answers_as_the_original
            the_only_sample_of_a_digest_is_equal_after_the_copy
            repeated_values_that_were_copied_to_redisbloom_stay_exact
            count_min_sketches_with_other_cells_are_not_copied
        }
        extremes { large_filters_are_obeyed }
        files {
            rdb_files_load_in_both_directions
            append_only_files_load_in_both_directions
            rewritten_append_only_files_load_in_both_directions
        }
        keys {
            dumps_are_restored_in_both_directions
            chunks_are_loaded_in_both_directions
        }
        random_commands {
            random_commands_have_the_same_replies_over_resp2
            random_commands_have_the_same_replies_over_resp3
            replicas_obey_random_commands
            replicas_obey_unusual_parameters
        }
        replication {
            replicas_have_the_same_keys_in_both_directions
            a_chain_of_both_modules_has_the_same_keys
            failovers_to_roughly_and_back_lose_no_key
        }
        switch_over {
            a_failover_to_roughly_loses_no_acknowledged_write
            a_migration_without_failover_loses_no_acknowledged_write
        }
        t_digest {
            t_digests_of_distinct_samples_answer_as_those_of_redisbloom
            t_digests_of_repeated_values_are_more_accurate_than_those_of_redisbloom
            t_digests_of_repeated_values_have_the_documented_errors
            t_digests_of_few_values_are_exact_in_redisbloom_after_a_restore
            t_digests_that_lack_their_first_sample_are_restored
        }
    }
}

/// The tests beside RedisBloom of Redis Stack 7.2.
mod redisbloom_2_6 {
    tests! {
        super::Peer::redisbloom_2_6(),
        [cfg_attr(
            not(all(target_arch = "x86_64", target_env = "gnu")),
            ignore = "needs RedisBloom, which is published for x86-64 Linux with glibc"
        )]:
        check {
            check_predicts_what_becomes_of_the_keys_of_roughly
            check_predicts_what_becomes_of_the_keys_of_redisbloom
        }
        extremes { large_filters_are_obeyed }
        files {
            rdb_files_load_in_both_directions
            append_only_files_load_in_both_directions
            rewritten_append_only_files_load_in_both_directions
        }
        keys {
            dumps_are_restored_in_both_directions
            chunks_are_loaded_in_both_directions
        }
        random_commands {
            random_commands_have_the_same_replies_over_resp2
            replicas_obey_random_commands
            replicas_obey_unusual_parameters
        }
        replication { replicas_have_the_same_keys_in_both_directions }
        t_digest { t_digests_that_lack_their_first_sample_are_restored }
    }
}

/// docs/migration-replication.md, "Redis 8 to Valkey".
mod needs_redis_8_and_valkey_9 {
    tests! {
        super::Peer::redisbloom(),
        [ignore = "needs Redis 8 and target/servers/valkey-newest"]:
        switch_over { redis_8_with_redisbloom_moves_to_valkey_9_with_roughly }
    }
}

/// The tests beside valkey-bloom.
mod needs_valkey_bloom {
    tests! {
        super::Peer::valkey_bloom(),
        [ignore = "needs Valkey 8 and valkey-bloom: ROUGHLY_VALKEY_BLOOM"]:
        beside {
            both_modules_serve_one_server_in_any_order
            keys_of_both_modules_survive_replication_files_and_dumps
            a_file_of_all_families_loads_beside_valkey_bloom_if_its_bloom_filters_are_of_its_type
            a_load_of_all_families_beside_another_module_logs_what_to_do
        }
        copy_sketches {
            copy_sketches_copies_in_both_directions
            compare_reports_what_differs_between_a_server_and_its_replica
            keys_of_types_that_the_destination_lacks_are_reported
        }
        files {
            rdb_files_load_in_both_directions
            append_only_files_load_in_both_directions
            rewritten_append_only_files_load_in_both_directions
        }
        keys { dumps_are_restored_in_both_directions }
        replication {
            replicas_have_the_same_keys_in_both_directions
            replicas_with_other_settings_have_the_same_keys
            a_chain_of_both_modules_has_the_same_keys
            failovers_to_roughly_and_back_lose_no_key
        }
        switch_over {
            a_failover_to_roughly_loses_no_acknowledged_write
            a_migration_without_failover_loses_no_acknowledged_write
        }
    }
}

/// Another module, beside which Roughly is tested.
struct Peer {
    module: PathBuf,
    /// Whether the module has a type.
    has_type: fn(&Family) -> bool,
    /// Module arguments with which Roughly creates keys as this module does.
    settings: &'static [&'static str],
    /// Whether filters have the size of [`stages`] if their number of bits does not fit in 64 bits.
    has_wrapped_sizes: bool,
    /// Whether a command for keys of these types works on a server with Roughly, but not on one with this module.
    lacks: fn(&Command) -> bool,
}

impl Peer {
    fn redisbloom() -> Self {
        Self {
            module: peers::redisbloom(),
            has_type: |family| family.recorded.is_some(),
            settings: &[],
            has_wrapped_sizes: true,
            lacks: redisbloom_lacks,
        }
    }

    fn redisbloom_2_6() -> Self {
        Self {
            module: peers::redisbloom_2_6(),
            has_wrapped_sizes: false,
            ..Self::redisbloom()
        }
    }

    fn valkey_bloom() -> Self {
        Self {
            module: peers::valkey_bloom(),
            has_type: |family| family.name == "bloomfltr",
            settings: &["bf-new-keys", "valkey-bloom", "bf-replies", "valkey-bloom"],
            has_wrapped_sizes: false,
            lacks: |_| false,
        }
    }

    /// A server with this module.
    fn options(&self) -> Options {
        Options::new().module(&self.module)
    }

    /// A server with Roughly, which ends if it replies an error to its primary or to the AOF.
    fn roughly(&self) -> Options {
        Options::new()
            .module_arguments(self.settings)
            .arguments(&["--propagation-error-behavior", "panic"])
    }

    /// The types that both modules have.
    fn types(&self) -> impl Iterator<Item = &'static Family> {
        FAMILIES.iter().filter(|family| (self.has_type)(family))
    }

    /// Random commands that both modules support.
    fn workload(&self, seed: u64) -> Workload {
        Workload::new(seed, "", KEYS)
            .of_types(self.types())
            .without(self.lacks)
    }

    /// Both directions: this module first, then Roughly.
    fn both_ways(&self) -> [(Options, Options, &'static str); 2] {
        [
            (self.options(), self.roughly(), "to Roughly"),
            (self.roughly(), self.options(), "from Roughly"),
        ]
    }
}

fn redisbloom_lacks(command: &Command) -> bool {
    let has = |wanted: fn(&[u8]) -> bool| command[1..].iter().any(|argument| wanted(argument));
    match command[0].as_slice() {
        b"BF.MERGE" | b"COPY" => true,
        b"CMS.INCRBY" => has(|argument| argument.starts_with(b"-")),
        b"TOPK.ADD" | b"TOPK.INCRBY" => has(|argument| argument.contains(&0)),
        _ => has(|argument| argument == b"CELL_SIZE"),
    }
}

/// Builds keys of the types, named after them, keys at every stage, and keys by random commands.
fn fill(peer: &Peer, connection: &mut Connection, workload: &mut Workload) {
    for family in peer.types() {
        let mut commands = family.build.iter().map(|command| words(command));
        if !commands.any(|command| (peer.lacks)(&command)) {
            family.build(connection, family.name);
        }
    }
    stages::run(peer, connection);
    workload.create(connection);
    workload.run(connection, 1000);
}

fn assert_no_refused_command(replica: &Server) {
    let log = replica.log();
    let mut lines = log.lines();
    assert_eq!(lines.find(|line| line.contains("== CRITICAL ==")), None);
}
