//! Imports without circles: files of the same folder do not use each other in a circle. A file of the module also imports
//! nothing from the `mod.rs` of a folder that contains it, nor from `lib.rs`: what siblings share is a file of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The names of a module, from the root of its crate.
type Name = Vec<String>;

/// Adds the sources of a folder, without unit tests.
pub(crate) fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            sources(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !is_test {
            files.push(path);
        }
    }
}

/// A source without comments and unit tests.
fn code_of(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests {").next();
    let lines = code.expect("a part").lines();
    lines
        .filter(|line| !line.trim().starts_with("//"))
        .collect()
}

/// All paths from the root of the crate, also those without `use`, such as the paths of macros.
fn paths_from_root(code: &str) -> impl Iterator<Item = Name> {
    code.split("crate::").skip(1).map(|path| {
        let is_path = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':');
        let path = path.split(|letter| !is_path(letter)).next();
        let names = path.into_iter().flat_map(|path| path.split("::"));
        let names = names.filter(|name| !name.is_empty()).map(str::to_owned);
        std::iter::once("crate".to_owned()).chain(names).collect()
    })
}

/// The paths of `use` declarations.
fn uses(code: &str) -> Vec<Name> {
    let mut paths = Vec::new();
    for part in code.split(';') {
        if let Some((before, tree)) = part.rsplit_once("use ")
            && !before.ends_with(char::is_alphanumeric)
        {
            expand(&Vec::new(), tree, &mut paths);
        }
    }
    paths
}

/// Adds the paths of a tree like `a::{b, c::d}` after a prefix.
fn expand(prefix: &Name, tree: &str, paths: &mut Vec<Name>) {
    let (head, group) = tree.split_once('{').unwrap_or((tree, ""));
    let names = head.split("::").map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    let names = names.map(|name| name.split(' ').next().unwrap_or(name).to_owned());
    let path: Name = prefix.iter().cloned().chain(names).collect();
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                expand(&path, &group[start..at], paths);
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    if group.is_empty() && path.len() > prefix.len() {
        paths.push(path);
    }
}

/// Checks the files below `root`, and returns the number of imports.
fn check(root: &str, may_import_from_parents: bool) -> usize {
    let mut files = Vec::new();
    sources(Path::new(root), &mut files);
    let name_of = |path: &PathBuf| -> Name {
        let path = path.strip_prefix(root).expect("below the root");
        let path = path.with_extension("");
        let names = path.iter().map(|name| name.to_string_lossy().into_owned());
        names
            .filter(|name| name != "mod" && name != "lib")
            .collect()
    };
    let modules: BTreeSet<Name> = files.iter().map(name_of).collect();
    let mut imports = 0;
    // For each folder, which of its children use which.
    let mut edges: BTreeMap<Name, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for file in &files {
        let module = name_of(file);
        let code = code_of(&fs::read_to_string(file).expect("UTF-8"));
        let mut paths = code.split("crate::").skip(1);
        let are_modules = !paths.any(|path| path.starts_with(char::is_uppercase));
        assert!(are_modules, "{} names an item of lib.rs", file.display());
        let uses: Vec<Name> = uses(&code);
        let number = uses.len();
        let paths = uses.into_iter().chain(paths_from_root(&code));
        for (position, path) in paths.enumerate() {
            let is_use = position < number;
            let supers = path.iter().take_while(|name| *name == "super").count();
            let mut target = match &path[0][..] {
                "crate" => path[1..].to_vec(),
                "super" => [
                    &module[..module.len().saturating_sub(supers)],
                    &path[supers..],
                ]
                .concat(),
                _ => continue,
            };
            let item = target.clone();
            while !modules.contains(&target) {
                target.pop();
            }
            imports += usize::from(is_use);
            let common = module.iter().zip(&target);
            let common = common.take_while(|(a, b)| a == b).count();
            let is_above = common == target.len() && target != module;
            assert!(
                may_import_from_parents || !is_use || !is_above,
                "{} imports {} from a folder that contains it",
                file.display(),
                item.join("::")
            );
            if common < module.len() && common < target.len() {
                let folder = edges.entry(module[..common].to_vec()).or_default();
                let used = folder.entry(module[common].clone()).or_default();
                used.insert(target[common].clone());
            }
        }
    }
    for (folder, mut children) in edges {
        // Children that use no child that is left are removed, until none is left or all are in circles or use these.
        while let Some(last) = children.keys().find(|child| {
            let used = &children[*child];
            used.iter().all(|used| !children.contains_key(used))
        }) {
            let last = last.clone();
            children.remove(&last);
        }
        assert!(
            children.is_empty(),
            "{root}/{}: circle in {children:?}",
            folder.join("/")
        );
    }
    imports
}

#[test]
fn imports_have_no_circles() {
    assert!(check("src", false) > 500);
    assert!(check("crates/sketch/src", true) > 300);
    assert!(check("crates/models/src", true) > 20);
    assert!(check("python/src", false) > 100);
}
