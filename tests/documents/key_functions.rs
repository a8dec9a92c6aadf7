//! The functions of the module API that take a key are called in two files: one for those that allow a missing key, and one whose
//! type proves that the key has a value.

use super::imports::sources;
use crate::support::names::assert_same_names;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The functions that every server defines for a key that is open for writing and missing.
const ALLOW_MISSING: &str = "CloseKey KeyType ModuleTypeGetType ModuleTypeSetValue OpenKey";

#[test]
fn functions_that_need_a_value_are_called_only_with_proof_of_one() {
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    let read = |path: &Path| fs::read_to_string(path).expect("a source");
    // Only a file that names the type can have the server's key.
    let names_it = |text: &str| {
        let mut parts = text.split("RedisModuleKey").skip(1);
        parts.any(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    files.retain(|path| names_it(&read(path)));
    files.sort();
    let folder = Path::new("src/server/key");
    assert_eq!(files, [folder.join("opened.rs"), folder.join("present.rs")]);
    let text = read(&folder.join("opened.rs"));
    let called = text.split("api!(RedisModule_").skip(1);
    let called: BTreeSet<_> = called.filter_map(|rest| rest.split(')').next()).collect();
    assert_same_names(called, ALLOW_MISSING.split(' '), "called functions");
}
