//! CMS.INCRBYLIMIT with a window: a sliding limit.

use super::{LOG, dumps, logged_commands, set_ms, start, with_window};
use crate::workload::Random;
use std::collections::VecDeque;

/// Requests of this many clients.
const CLIENTS: u64 = 50;
const LIMIT: u64 = 20;
/// The window: 12 panes of 5 seconds.
const PANE_MS: u64 = 5000;
const PANES: usize = 12;

#[test]
fn a_client_is_accepted_again_when_its_requests_expire() {
    let create =
        "CMS.INITBYDIM k 1000 5 WINDOW 60000 PANES 12 SEED 00112233445566778899aabbccddeeff";
    let (server, mut connection) = start(LOG).connected();
    set_ms(&server, 1_000_000);
    connection.ok(create);
    // At 1,070,000, the pane of the first requests has expired.
    for (ms, arguments, reply) in [
        (1_000_000, "3 a 2", "*[*[:1 :2]]"),
        (1_030_000, "3 a 2", "*[*[:0 :2]]"),
        (1_030_000, "3 a 1", "*[*[:1 :3]]"),
        (1_070_000, "3 a 3", "*[*[:0 :1]]"),
        (1_070_000, "3 a 2 a 0 a 1", "*[*[:1 :3] *[:1 :3] *[:0 :3]]"),
        (1_070_000, "3 a -1", "-CMS: Cannot parse number"),
    ] {
        set_ms(&server, ms);
        connection.check(&format!("CMS.INCRBYLIMIT k {arguments}"), reply);
    }
    // An advance and the increments are one transaction. A refused increment does not advance the window.
    let expected = format!(
        "MULTI; {create}; SKETCH.ADVANCE k 200; EXEC; CMS.INCRBY k a 2; \
         MULTI; SKETCH.ADVANCE k 206; CMS.INCRBY k a 1; EXEC; \
         MULTI; SKETCH.ADVANCE k 214; CMS.INCRBY k a 2; EXEC"
    );
    assert_eq!(logged_commands(&server).join("; "), expected);
}

/// Requests of random clients at random times, compared with exact counters. The sketch is so wide that estimates are exact:
/// each of 50 clients shares its cells in all 5 rows with another with a probability below (50 / 5,000)^5 = 1e-10. The seed
/// is fixed.
#[test]
fn the_limit_is_that_of_exact_counters_on_all_servers() {
    for cell_size in [1, 2, 4, 8] {
        let mut primary = start(&["--appendonly", "yes"]);
        let mut replica = start(&[]);
        // A replica and an AOF apply the increments whatever their clock is.
        replica.set_clock("+1000000");
        replica.replicate(&primary);
        let mut connection = primary.resp2();
        let mut now = 1_700_000_000_000;
        set_ms(&primary, now);
        let create = format!("CMS.INITBYDIM k 5000 5 CELL_SIZE {cell_size}");
        connection.ok(&with_window(&create, "WINDOW 60000 PANES 12"));
        let mut random = Random::new(34);
        let mut requests: VecDeque<(u64, u64, u64)> = VecDeque::new();
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..1500 {
            now += random.below(200) * random.below(2);
            set_ms(&primary, now);
            let pane = now / PANE_MS;
            requests.retain(|&(at, ..)| at + PANES as u64 >= pane);
            let mut command = format!("CMS.INCRBYLIMIT k {LIMIT}");
            let mut expected = Vec::new();
            for _ in 0..=random.below(3) {
                let (client, by) = (random.below(CLIENTS), random.below(4));
                command += &format!(" {client} {by}");
                let of_client = requests.iter().filter(|&&(_, other, _)| other == client);
                let count: u64 = of_client.map(|&(.., by)| by).sum();
                if count + by <= LIMIT {
                    requests.push_back((pane, client, by));
                    expected.push(format!("*[:1 :{}]", count + by));
                    accepted += 1;
                } else {
                    expected.push(format!("*[:0 :{count}]"));
                    refused += 1;
                }
            }
            connection.check(&command, format!("*[{}]", expected.join(" ")));
        }
        assert!(accepted > 1000 && refused > 100, "{accepted} {refused}");
        primary.wait_for_replica(&replica);
        let keys = ["k".to_owned()];
        let expected = dumps(&mut connection, &keys);
        assert_eq!(dumps(&mut replica.resp2(), &keys), expected);
        primary.kill_and_restart();
        assert_eq!(dumps(&mut primary.resp2(), &keys), expected);
    }
}
