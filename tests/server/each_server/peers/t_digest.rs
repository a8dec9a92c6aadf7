//! The answers of t-digests with the same samples: docs/families/t-digest.md, "Comparison with RedisBloom".

use super::Peer;
use crate::support::repeated_values::{LOADS, quantiles, rank_error};
use crate::support::resp::Connection;
use crate::workload::Random;
use std::collections::BTreeSet;

/// Digests of each kind of samples.
const DIGESTS: u64 = 10;
const SAMPLES: usize = 3000;

/// Additions after the only sample 42 was loaded, which RedisBloom 2.x does not store, with the samples that Roughly restores.
const AFTER_A_LOAD: &[(&[&str], &[f64])] = &[
    (&[], &[42.0]),
    (&["TDIGEST.ADD t 41"], &[41.0, 42.0]),
    (&["TDIGEST.ADD t 43"], &[42.0, 43.0]),
    (&["TDIGEST.ADD t -5"], &[-5.0, 42.0]),
    (&["TDIGEST.ADD t 42"], &[42.0, 42.0]),
    // The sample is between the others: its value is unknown.
    (&["TDIGEST.ADD t 41 43"], &[41.0, 43.0]),
    (&["TDIGEST.RESET t", "TDIGEST.ADD t 3"], &[3.0]),
    (&["TDIGEST.RESET t"], &[]),
    // A merge copies a node without a sample.
    (&["TDIGEST.MERGE t 1 t"], &[]),
    (MERGES, &[7.0]),
];

const MERGES: &[&str] = &[
    "TDIGEST.MERGE t 1 t",
    "TDIGEST.MERGE u 1 t",
    "TDIGEST.ADD u 7",
    "RENAME u t",
];

pub fn t_digests_that_lack_their_first_sample_are_restored(peer: &Peer) {
    let debug = ["--enable-debug-command", "yes"];
    let other = peer.options().arguments(&debug).start();
    let roughly = peer.roughly().start();
    let (mut other, mut roughly) = (other.resp2(), roughly.resp2());
    for (commands, samples) in AFTER_A_LOAD {
        other.call("FLUSHALL");
        for command in ["TDIGEST.CREATE t", "TDIGEST.ADD t 42", "DEBUG RELOAD"] {
            other.ok(command);
        }
        for command in *commands {
            other.ok(command);
        }
        let payload = &other.payload("t");
        let reply = roughly.replace("t", payload);
        assert!(reply.is_ok(), "{commands:?}: {reply}");
        let count = roughly.call("TDIGEST.INFO t").number("Observations");
        assert_eq!(count, samples.len() as i64, "{commands:?}");
        for (rank, sample) in samples.iter().enumerate() {
            let found = roughly.call(&format!("TDIGEST.BYRANK t {rank}"));
            assert_eq!(found.to_string(), format!("*[${sample}]"), "{commands:?}");
        }
    }
}

/// Pseudo-random numbers.
fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || random.next())
}

const QUANTILES: &str = "0 0.001 0.01 0.1 0.25 0.5 0.75 0.9 0.99 0.999 1";

/// Adds the samples to a new digest.
fn add(connection: &mut Connection, samples: &[String]) {
    connection.call("DEL digest");
    connection.ok("TDIGEST.CREATE digest");
    for samples in samples.chunks(100) {
        connection.ok(&format!("TDIGEST.ADD digest {}", samples.join(" ")));
    }
}

/// Adds the samples to a new digest, then reads it.
fn answers(connection: &mut Connection, samples: &[String]) -> (Vec<f64>, Vec<f64>) {
    add(connection, samples);
    reads(connection, samples)
}

fn numbers(connection: &mut Connection, command: &str) -> Vec<f64> {
    let numbers = connection.call(command).strings().into_iter();
    numbers
        .map(|number| number.parse().expect("a number"))
        .collect()
}

/// Quantiles, and the CDF at some samples in ascending order of their texts.
fn reads(connection: &mut Connection, samples: &[String]) -> (Vec<f64>, Vec<f64>) {
    let points: BTreeSet<_> = samples.iter().step_by(30).collect();
    let points: Vec<_> = points.into_iter().map(String::as_str).collect();
    let quantiles = format!("TDIGEST.QUANTILE digest {QUANTILES}");
    let cdf = format!("TDIGEST.CDF digest {}", points.join(" "));
    (numbers(connection, &quantiles), numbers(connection, &cdf))
}

pub fn t_digests_of_distinct_samples_answer_as_those_of_redisbloom(peer: &Peer) {
    let (other, roughly) = (peer.options().start(), peer.roughly().start());
    let (mut other, mut roughly) = (other.resp2(), roughly.resp2());
    for seed in 0..DIGESTS {
        // Distinct: 53 random bits each.
        let samples = random(seed).take(SAMPLES);
        let samples = samples.map(|bits| format!("0.{:016}", bits >> 11));
        let samples: Vec<_> = samples.collect();
        let found = answers(&mut other, &samples);
        assert_eq!(found, answers(&mut roughly, &samples));
    }
}

pub fn t_digests_of_repeated_values_are_more_accurate_than_those_of_redisbloom(peer: &Peer) {
    let (other, roughly) = (peer.options().start(), peer.roughly().start());
    let (mut other, mut roughly) = (other.resp2(), roughly.resp2());
    // Four digits: their order is that of their texts.
    let sample = |bits| format!("{}", 1000 + bits % 1001);
    let mut errors = [0_f64; 2];
    for seed in 0..DIGESTS {
        let samples: Vec<_> = random(seed).take(SAMPLES).map(sample).collect();
        let points: BTreeSet<_> = samples.iter().step_by(30).collect();
        for (error, connection) in errors.iter_mut().zip([&mut roughly, &mut other]) {
            let (_, cdf) = answers(connection, &samples);
            for (point, cdf) in points.iter().zip(cdf) {
                let share = |count: usize| count as f64 / SAMPLES as f64;
                let below = share(samples.iter().filter(|sample| sample < point).count());
                let equal = share(samples.iter().filter(|sample| sample == point).count());
                *error = error.max((below + equal / 2.0 - cdf).abs());
            }
        }
    }
    let [own, other] = errors;
    println!("integers to 1,000: errors of the CDF of at most {own}, RedisBloom {other}");
    assert!(own < 0.75 * other, "{own} {other}");
}

/// The last column of docs/families/t-digest.md, "Repeated values", has the errors of RedisBloom.
pub fn t_digests_of_repeated_values_have_the_documented_errors(peer: &Peer) {
    let (other, roughly) = (peer.options().start(), peer.roughly().start());
    let (mut other, mut roughly) = (other.resp2(), roughly.resp2());
    let quantiles: Vec<_> = quantiles().map(|quantile| quantile.to_string()).collect();
    let read = format!("TDIGEST.QUANTILE digest {}", quantiles.join(" "));
    let mut failures = Vec::new();
    for load in &LOADS {
        let [samples, sorted] = load.samples();
        let samples: Vec<_> = samples.iter().map(f64::to_string).collect();
        let [own, other] = [&mut roughly, &mut other].map(|connection| {
            add(connection, &samples);
            rank_error(&sorted, numbers(connection, &read).into_iter())
        });
        // Two significant digits are within 5 % of the error.
        if own > load.max_error || (other - load.redisbloom).abs() > 0.05 * other {
            failures.push(format!("{}: {own}, RedisBloom {other}", load.name));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

pub fn t_digests_of_few_values_are_exact_in_redisbloom_after_a_restore(peer: &Peer) {
    let (other, roughly) = (peer.options().start(), peer.roughly().start());
    let (mut other, mut roughly) = (other.resp2(), roughly.resp2());
    for seed in 0..DIGESTS {
        // The digits from 0 to 9: their order is that of their texts.
        let samples = random(seed).take(SAMPLES).map(|bits| bits % 10);
        let samples: Vec<_> = samples.map(|digit| digit.to_string()).collect();
        let answers = answers(&mut roughly, &samples);
        let share = |is_counted: &dyn Fn(f64) -> bool| {
            let digits = samples
                .iter()
                .map(|text| text.parse::<f64>().expect("a digit"));
            let counted = digits.filter(|digit| is_counted(*digit));
            counted.count() as f64 / SAMPLES as f64
        };
        for (quantile, answer) in QUANTILES.split(' ').zip(&answers.0) {
            let quantile: f64 = quantile.parse().expect("a number");
            let range = share(&|sample| sample < *answer)..=share(&|sample| sample <= *answer);
            assert!(range.contains(&quantile), "{seed} {quantile}: {answer}");
        }
        for (digit, cdf) in answers.1.iter().enumerate() {
            let digit = digit as f64;
            let middle = share(&|sample| sample < digit) + share(&|sample| sample == digit) / 2.0;
            assert!((cdf - middle).abs() < 1e-12, "{seed} {digit}: {cdf}");
        }
        let payload = &roughly.payload("digest");
        assert!(other.replace("digest", payload).is_ok());
        assert_eq!(reads(&mut other, &samples), answers, "{seed}");
    }
}
