//! t-digests.

use super::bounds::MAX_COMPRESSION;
use super::keys::{Axis, Largest, MAX, PANES, Sizes, axis, in_newest, with_sizes};
use super::types::Type;
use crate::workload::{Command, words};

/// Samples in no order, as many as the digest keeps before it compresses them.
fn samples(sizes: &Sizes, pane: u64) -> Vec<Command> {
    let samples: Vec<_> = (0..6 * sizes["compression"]).collect();
    let command = |numbers: &[u64]| {
        let mut command = words("TDIGEST.ADD KEY");
        let sample = |number: &u64| (pane + number) * 2_654_435_761 % (1 << 32);
        command.extend((numbers.iter()).map(|number| sample(number).to_string().into_bytes()));
        command
    };
    samples.chunks(1000).map(command).collect()
}

fn bytes(sizes: &Sizes) -> f64 {
    96.0 * sizes["compression"] as f64
}

pub const CLASSIC: Type = Type {
    name: "tdigest",
    calls: &[
        "TDIGEST.CREATE new COMPRESSION 1000000",
        "TDIGEST.RESET KEY",
        "TDIGEST.ADD KEY VALUES",
        "TDIGEST.MERGE KEY 2 KEY SOURCE",
        "TDIGEST.MERGE new 1 SOURCE",
        "TDIGEST.MIN KEY",
        "TDIGEST.MAX KEY",
        "TDIGEST.QUANTILE KEY FRACTIONS",
        "TDIGEST.CDF KEY VALUES",
        "TDIGEST.RANK KEY VALUES",
        "TDIGEST.REVRANK KEY VALUES",
        "TDIGEST.BYRANK KEY RANKS",
        "TDIGEST.BYREVRANK KEY RANKS",
        "TDIGEST.TRIMMED_MEAN KEY 0.1 0.9",
        "TDIGEST.INFO KEY",
        "TDIGEST.SCANDUMP KEY 0",
        "TDIGEST.LOADCHUNK new HEADER",
    ],
    not_applicable: &[],
    refusals: &[],
    keeps_results: true,
    create_counted: "TDIGEST.CREATE KEY COMPRESSION 20000",
    counted: || samples(&Sizes::from([("compression", 20_000)]), 0),
    keys: &[Largest {
        axes: &[axis("compression", 1, &[MAX_COMPRESSION, MAX])],
        bytes,
        create: |sizes| with_sizes("TDIGEST.CREATE KEY COMPRESSION <compression>", sizes),
        fill: samples,
    }],
};

const WINDOW_AXES: &[Axis] = &[PANES, axis("compression", 1, &[MAX])];

fn create_window(sizes: &Sizes) -> Command {
    with_sizes(
        "TDIGEST.CREATE KEY COMPRESSION <compression><window>",
        sizes,
    )
}

pub const WINDOW: Type = Type {
    name: "tdigest-window",
    refusals: &[(
        "tdigest.merge",
        "ERR T-Digest: cannot merge into a digest with a window",
    )],
    keys: &[
        Largest {
            axes: WINDOW_AXES,
            bytes: |sizes| bytes(sizes) * (sizes["panes"] + 1) as f64,
            create: create_window,
            fill: samples,
        },
        Largest {
            axes: WINDOW_AXES,
            bytes,
            create: create_window,
            fill: |sizes, pane| in_newest(samples, sizes, pane),
        },
    ],
    ..CLASSIC
};
