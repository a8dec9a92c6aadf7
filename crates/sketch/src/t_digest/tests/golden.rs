//! Recorded payloads are saved unchanged after a load, and contain the nodes that the recorded commands create.

use super::*;
use crate::stored::Stored;
use crate::testing::{GOLDEN_VERSIONS, golden_bytes, golden_values};
use roughly_dump::Value;

/// A recorded key: its payload, and the commands that created it.
struct Golden {
    name: String,
    values: Values,
    built: Vec<String>,
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
            let (built, _) = text.split_once("\n\n").unwrap();
            let built = built.lines().filter(|line| !line.starts_with('#'));
            all.push(Golden {
                name: format!("{version} {name}"),
                values,
                built: built.map(String::from).collect(),
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

#[test]
fn recorded_payloads_are_saved_unchanged_after_a_load() {
    for Golden { name, values, .. } in golden() {
        let digest = TDigest::load(&mut values.clone(), 0, &()).unwrap();
        assert_eq!(saved(&digest), values, "{name}");
        assert!(TDigest::load(&mut values.clone(), 1, &()).is_err());
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
