//! Commands on a key with a window, compared with the same commands on a key without one.

use crate::Figure;
use crate::load::{Connections, Load};
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};

/// A command on the keys `plain` and `windowed`.
struct Case {
    name: &'static str,
    /// Creates the key.
    create: &'static str,
    window: &'static str,
    /// Sent before the measurement.
    prefill: Option<fn(&str) -> Load>,
    load: fn(&str) -> Load,
    target: Option<f64>,
}

const CMS_SMALL: &str = "CMS.INITBYPROB KEY 0.001 0.01";
const CMS_LARGE: &str = "CMS.INITBYPROB KEY 0.00001 0.001";
const HOUR: &str = "WINDOW 3600000 PANES 60";
const COMMANDS: usize = 200_000;

fn increments(key: &str) -> Load {
    Load::new(&format!("CMS.INCRBY {key} item:# 1"), COMMANDS, 1_000_000)
}

fn queries(key: &str) -> Load {
    Load::new(&format!("CMS.QUERY {key} item:#"), COMMANDS, 1_000_000)
}

fn many_increments(key: &str) -> Load {
    Load::new(&format!("CMS.INCRBY {key}"), 6_000, 10_000_000).with(50, "item:# 3")
}

fn many_queries(key: &str) -> Load {
    Load::new(&format!("CMS.QUERY {key}"), 6_000, 10_000_000).with(50, "item:#")
}

fn additions(key: &str) -> Load {
    Load::new(&format!("TOPK.ADD {key} item:#"), COMMANDS, 5_000)
}

fn samples(key: &str) -> Load {
    Load::new(&format!("TDIGEST.ADD {key} #"), COMMANDS, 1_000_000_000)
}

fn quantiles(key: &str) -> Load {
    Load::new(&format!("TDIGEST.QUANTILE {key} 0.5 0.99"), COMMANDS, 1)
}

const CASES: &[Case] = &[
    Case {
        name: "CMS.QUERY, 0.001/0.01, 60 panes",
        create: CMS_SMALL,
        window: HOUR,
        prefill: Some(increments),
        load: queries,
        target: Some(1.1),
    },
    Case {
        name: "CMS.QUERY x50, 1e-5/0.001, 60 panes",
        create: CMS_LARGE,
        window: HOUR,
        prefill: Some(many_increments),
        load: many_queries,
        target: Some(1.1),
    },
    Case {
        name: "CMS.INCRBY, 0.001/0.01, 60 panes",
        create: CMS_SMALL,
        window: HOUR,
        prefill: Some(increments),
        load: increments,
        target: Some(1.5),
    },
    Case {
        name: "CMS.INCRBY x50, 1e-5/0.001, 60 panes",
        create: CMS_LARGE,
        window: HOUR,
        prefill: Some(many_increments),
        load: many_increments,
        target: Some(1.5),
    },
    Case {
        name: "CMS.INCRBY, 0.001/0.01, a new pane of 60 every 10 ms",
        create: CMS_SMALL,
        window: "WINDOW 600 PANES 60",
        prefill: Some(increments),
        load: increments,
        target: None,
    },
    Case {
        name: "TOPK.ADD, k 100, 2000 x 7, 60 panes",
        create: "TOPK.RESERVE KEY 100 2000 7 0.925",
        window: HOUR,
        prefill: Some(additions),
        load: additions,
        target: None,
    },
    Case {
        name: "TDIGEST.ADD, compression 100, 60 panes",
        create: "TDIGEST.CREATE KEY",
        window: HOUR,
        prefill: None,
        load: samples,
        target: None,
    },
    Case {
        name: "TDIGEST.QUANTILE, compression 100, 60 panes, no writes",
        create: "TDIGEST.CREATE KEY",
        window: HOUR,
        prefill: Some(samples),
        load: quantiles,
        target: None,
    },
];

/// CPU time of the server so far, in seconds.
pub fn cpu_seconds(server: &Server) -> f64 {
    let seconds = |field| -> f64 {
        let text = server.info(field);
        text.and_then(|text| text.parse().ok()).expect("a number")
    };
    seconds("used_cpu_user") + seconds("used_cpu_sys")
}

/// Measures all cases in this many rounds.
pub fn all(rounds: usize) -> Vec<Figure> {
    let server = Options::new().arguments(&["--hz", "1"]).start();
    let mut connections = Connections::open(server.port(), 1);
    let figures = CASES.iter().map(|case| {
        server.call("FLUSHALL SYNC");
        for (key, window) in [("plain", ""), ("windowed", case.window)] {
            let command = format!("{} {window}", case.create.replace("KEY", key));
            let reply = server.call(command.trim_end());
            assert_eq!(reply, Reply::Simple(b"OK".to_vec()), "{command}");
            if let Some(prefill) = case.prefill {
                connections.run(&prefill(key));
            }
        }
        let mut fastest = [f64::INFINITY; 2];
        for _ in 0..rounds {
            for (fastest, key) in fastest.iter_mut().zip(["plain", "windowed"]) {
                let before = cpu_seconds(&server);
                connections.run(&(case.load)(key));
                *fastest = fastest.min(cpu_seconds(&server) - before);
            }
        }
        Figure::new(case.name, fastest[1] / fastest[0], "×", case.target)
    });
    figures.collect()
}
