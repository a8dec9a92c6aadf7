//! Recorded payloads are saved unchanged after a load, answer as recorded, and contain the nodes that the recorded
//! commands create.

use super::*;
use crate::stored::Stored;
use crate::testing::{GOLDEN_VERSIONS, golden_bytes, golden_values};
use roughly_dump::Value;

/// A recorded key: its payload, the commands that created it and the replies.
struct Golden {
    name: String,
    values: Values,
    built: Vec<String>,
    reads: Vec<String>,
}

fn golden() -> Vec<Golden> {
    let mut all = Vec::new();
    for version in GOLDEN_VERSIONS {
        for name in [
            "normal", "unmerged", "c10", "c500", "ties", "empty", "one", "wide", "merged",
        ] {
            let values = golden_values(version, &format!("td-{name}"), b"TDIS-TYPE", 0);
            let text = golden_bytes(version, &format!("td-{name}.txt"));
            let text = String::from_utf8(text).unwrap();
            let (built, reads) = text.split_once("\n\n").unwrap();
            let lines = |part: &str| {
                ((part.lines().filter(|line| !line.starts_with('#'))).map(String::from)).collect()
            };
            all.push(Golden {
                name: format!("{version} {name}"),
                values,
                built: lines(built),
                reads: lines(reads),
            });
        }
    }
    all
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Vec<f64> {
    words.map(|word| word.parse().unwrap()).collect()
}

/// Checks that replies agree, with a relative error of at most 1e-9.
fn assert_close(got: &[f64], want: &[f64], context: &str) {
    assert_eq!(got.len(), want.len(), "{context}");
    for (&got, &want) in got.iter().zip(want) {
        let close = got == want
            || (got.is_nan() && want.is_nan())
            || (got - want).abs() <= 1e-9 * want.abs();
        assert!(close, "{context}: {got} for {want}");
    }
}

fn info(digest: &TDigest) -> Vec<f64> {
    let Info {
        compression,
        capacity,
        merged_nodes,
        unmerged_nodes,
        merged_weight,
        unmerged_weight,
        observations,
        total_compressions,
    } = digest.info();
    vec![
        f64::from(compression),
        f64::from(capacity),
        merged_nodes as f64,
        unmerged_nodes as f64,
        merged_weight as f64,
        unmerged_weight as f64,
        observations as f64,
        total_compressions as f64,
    ]
}

fn reply(digest: &mut TDigest, command: &str) -> Vec<f64> {
    let mut words = command.split(' ');
    let name = words.next().unwrap().strip_prefix("TDIGEST.").unwrap();
    let arguments = numbers(words.skip(1));
    if name == "ADD" {
        digest.add(&arguments).unwrap();
        return Vec::new();
    }
    let compressed = digest.compressed().unwrap();
    let each = |answer: &dyn Fn(f64) -> f64| arguments.iter().map(|&x| answer(x)).collect();
    match name {
        "INFO" => info(digest),
        "MIN" => vec![digest.min()],
        "MAX" => vec![digest.max()],
        "QUANTILE" => each(&|q| compressed.quantile(q)),
        "CDF" => each(&|x| compressed.cdf(x)),
        "RANK" => each(&|x| compressed.rank(x) as f64),
        "REVRANK" => each(&|x| compressed.revrank(x) as f64),
        "BYRANK" => each(&|rank| compressed.by_rank(rank as i64)),
        "BYREVRANK" => each(&|rank| compressed.by_revrank(rank as i64)),
        "TRIMMED_MEAN" => vec![compressed.trimmed_mean(arguments[0], arguments[1])],
        other => panic!("unknown command {other}"),
    }
}

#[test]
fn recorded_payloads_are_saved_unchanged_after_a_load() {
    for Golden { name, values, .. } in golden() {
        let digest = TDigest::load(&mut values.clone(), 0, &()).unwrap();
        assert_eq!(saved(&digest), values, "{name}");
        assert!(TDigest::load(&mut values.clone(), 1, &()).is_err());
    }
}

#[test]
fn loaded_digests_answer_as_recorded() {
    for golden in golden() {
        let mut digest = TDigest::load(&mut golden.values.clone(), 0, &()).unwrap();
        for line in golden.reads {
            let (command, wanted) = line.split_once(" -> ").unwrap();
            let context = format!("{} {command}", golden.name);
            // A compression of nodes with equal means keeps runs of them, unlike RedisBloom.
            if golden.name.ends_with("ties") && command.starts_with("TDIGEST.ADD") {
                break;
            }
            let got = reply(&mut digest, command);
            if wanted == "OK" {
                assert!(got.is_empty(), "{context}");
                continue;
            }
            let wanted = numbers(wanted.split(' '));
            // The ninth field of INFO is a size, which may differ from RedisBloom's.
            assert_close(&got, &wanted[..wanted.len().min(got.len())], &context);
        }
    }
}

#[test]
fn the_same_commands_build_the_recorded_nodes() {
    for golden in golden() {
        // Equal samples: a compression keeps runs of equal means, unlike RedisBloom.
        if (["ties", "wide"].iter()).any(|name| golden.name.ends_with(name)) {
            continue;
        }
        let mut keys = std::collections::HashMap::new();
        for line in &golden.built {
            let words: Vec<&str> = line.split(' ').collect();
            let key = words[1];
            let compression = |at: usize| words.get(at).map_or(100, |word| word.parse().unwrap());
            match words[0] {
                "TDIGEST.CREATE" => keys.insert(key, digest(compression(3))),
                "TDIGEST.ADD" => {
                    let values = numbers(words[2..].iter().copied());
                    keys.get_mut(key).unwrap().add(&values).unwrap();
                    None
                }
                "TDIGEST.MERGE" => {
                    let operands = [&keys[key], &keys[words[3]]];
                    let merged = TDigest::merge(compression(5), &operands, ANY).unwrap();
                    keys.insert(key, merged)
                }
                "DEL" => keys.remove(key),
                other => panic!("unknown command {other}"),
            };
        }
        assert_eq!(keys.len(), 1);
        let built = keys.into_values().next().unwrap();
        let nodes: Vec<Centroid> = built.compressed().unwrap().centroids().collect();
        let means = nodes.iter().map(|node| node.mean);
        let weights = nodes.iter().map(|node| node.weight as f64);
        let got: Vec<f64> = means.chain(weights).collect();
        let wanted: Vec<f64> = (golden.values.values.iter().skip(9))
            .map(|value| match value {
                Value::Double(value) => *value,
                other => panic!("{other:?} among the nodes"),
            })
            .collect();
        assert_close(&got, &wanted, &golden.name);
        let same_head = (saved(&built).values.range(..4)).eq(golden.values.values.range(..4));
        assert!(same_head, "{}", golden.name);
    }
}
