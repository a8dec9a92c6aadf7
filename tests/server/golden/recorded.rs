//! Reads transcripts and manifests: the JSON forms of commands and replies.

use crate::support::resp::{Protocol, Reply, Text};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A command and RedisBloom's replies.
#[derive(Debug)]
pub struct Step {
    /// The arguments in their JSON form; see [`argument`].
    pub command: Vec<Value>,
    resp2: Value,
    resp3: Value,
}

impl Step {
    /// Parses `{"cmd": .., "r2": .., "r3": ..}`.
    pub fn new(step: &Value) -> Self {
        Self {
            command: step["cmd"].as_array().expect("a command").clone(),
            resp2: step["r2"].clone(),
            resp3: step["r3"].clone(),
        }
    }

    /// The name of the command in upper case.
    pub fn name(&self) -> String {
        self.command[0].as_str().unwrap_or("").to_uppercase()
    }

    /// The recorded reply.
    pub fn expected(&self, protocol: Protocol) -> &Value {
        match protocol {
            Protocol::Resp2 => &self.resp2,
            Protocol::Resp3 => &self.resp3,
        }
    }

    /// The numbers of the commands whose replies are used in the arguments.
    pub fn references(&self) -> impl Iterator<Item = usize> {
        self.command.iter().filter_map(reference)
    }
}

/// The folder of the transcripts of a version of RedisBloom, such as `8.10`, or of `valkey-bloom`.
pub fn folder(name: &str) -> PathBuf {
    match name {
        "valkey-bloom" => directory().join(name),
        version => directory().join("transcripts").join(version),
    }
}

/// The family and the steps of a transcript with a name such as `8.10/bf-101` or `valkey-bloom/vb-mix`.
pub fn transcript(name: &str) -> (String, Vec<Step>) {
    let (folder, file) = name.split_once('/').expect("a folder");
    let path = self::folder(folder).join(format!("{file}.jsonl.gz"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = BufReader::new(GzDecoder::new(file))
        .lines()
        .map(|line| -> Value { serde_json::from_str(&line.expect("text")).expect("JSON") });
    let head = lines.next().expect("a first line");
    let family = head["meta"]["family"].as_str().expect("a family");
    let steps: Vec<_> = lines.map(|line| Step::new(&line)).collect();
    assert_eq!(Some(steps.len() as u64), head["meta"]["commands"].as_u64());
    (family.to_owned(), steps)
}

/// The bytes of a string or of `{"b64": ..}`.
pub fn bytes(text: &Value) -> Vec<u8> {
    let Some(text) = text.as_str() else {
        let encoded = text["b64"].as_str().expect("base64");
        return BASE64_STANDARD.decode(encoded).expect("base64");
    };
    text.into()
}

/// The number of the command that an argument refers to, if any.
fn reference(argument: &Value) -> Option<usize> {
    let command = argument.get("ref")?[0].as_u64();
    Some(command.expect("a command's number") as usize)
}

/// The bytes of an argument: a string, `{"rep": [unit, length]}`, or `{"ref": [command, path..]}`, which is taken
/// from the replies of this run.
pub fn argument(argument: &Value, replies: &HashMap<usize, Reply>) -> Vec<u8> {
    if let Some(repeat) = argument.get("rep") {
        let len = repeat[1].as_u64().expect("a length") as usize;
        return bytes(&repeat[0]).into_iter().cycle().take(len).collect();
    }
    let Some(command) = reference(argument) else {
        return bytes(argument);
    };
    let path = &argument["ref"].as_array().expect("a path")[1..];
    let reply = path.iter().try_fold(replies.get(&command), |reply, step| {
        Some(reply?.items()?.get(step.as_u64()? as usize))
    });
    match reply.flatten() {
        Some(Reply::Bulk(text) | Reply::Simple(text)) => text.clone(),
        Some(Reply::Integer(value)) => value.to_string().into_bytes(),
        Some(Reply::Double(text)) => text.clone().into_bytes(),
        _ => Vec::new(),
    }
}

/// The recorded form of a reply.
pub fn json(reply: &Reply) -> Value {
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => json!({ "b64": BASE64_STANDARD.encode(bytes) }),
    };
    let list = |items: &[Reply]| items.iter().map(json).collect::<Vec<_>>();
    match reply {
        Reply::Simple(value) => json!(["str", text(value)]),
        Reply::Error(value) => json!(["err", text(value)]),
        Reply::Integer(value) => json!(["int", value]),
        Reply::Bulk(value) => json!(["bulk", text(value)]),
        Reply::Null(form) => json!(["null", form.to_string()]),
        Reply::Array(items) => json!(["arr", list(items)]),
        Reply::Map(pairs) => {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(key, value)| json!([json(key), json(value)]));
            json!(["map", pairs.collect::<Vec<_>>()])
        }
        Reply::Set(items) => json!(["set", list(items)]),
        Reply::Boolean(value) => json!(["bool", value]),
        Reply::Double(value) => json!(["dbl", value]),
        Reply::Verbatim(value) => json!(["verb", text(value)]),
        Reply::Push(_) | Reply::BigNumber(_) => panic!("no recorded form of {reply}"),
    }
}

/// A recorded reply in the notation of [`Reply`]'s text.
pub fn show(recorded: &Value) -> String {
    let value = &recorded[1];
    let joined = |items: &Value| {
        let items = items.as_array().expect("items");
        items.iter().map(show).collect::<Vec<_>>().join(" ")
    };
    let text = || Text(&bytes(value)).to_string();
    match recorded[0].as_str() {
        Some("str") => format!("+{}", text()),
        Some("err") => format!("-{}", text()),
        Some("bulk") => format!("${}", text()),
        Some("verb") => format!("={}", text()),
        Some("int") => format!(":{value}"),
        Some("bool") => format!("#{}", if value == true { "t" } else { "f" }),
        Some("dbl") => format!(",{}", text()),
        Some("null") if value == "_" => "_".to_owned(),
        Some("null") => format!("{}-1", text()),
        Some("arr") => format!("*[{}]", joined(value)),
        Some("set") => format!("~[{}]", joined(value)),
        Some("map") => {
            let pairs = value.as_array().expect("pairs");
            let pairs: Vec<_> = pairs.iter().map(&joined).collect();
            format!("%{{{}}}", pairs.join(" "))
        }
        _ => recorded.to_string(),
    }
}
