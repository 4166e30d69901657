//! The modules of core import each other in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What each module imports, by its path: `law::adaptive`.
fn read(folder: &Path, parent: &str, modules: &mut BTreeMap<String, String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = format!("{parent}{}", path.file_stem().unwrap().display());
        if path.is_dir() {
            read(&path, &(name + "::"), modules);
            continue;
        }
        let name = name.trim_end_matches("::mod");
        let above = name.rsplit_once("::").map_or(String::new(), |(above, _)| format!("{above}::"));
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.split("\n#[cfg(test)]\n").next().unwrap().lines();
        let uses: String =
            lines.filter(|line| line.contains("use ") && !line.starts_with([' ', '/'])).collect();
        modules.insert(name.to_owned(), uses.replace("super::", &format!("crate::{above}")));
    }
}

#[test]
fn no_modules_import_each_other() {
    let mut modules = BTreeMap::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut modules);
    for depth in 1..=3 {
        let cut = |path: &str| path.split("::").take(depth).collect::<Vec<_>>().join("::");
        let mut left = BTreeMap::<String, BTreeSet<String>>::new();
        for (name, uses) in &modules {
            let imports = uses.split("crate::").skip(1).map(|path| {
                let named = modules.keys().filter(|name| path.starts_with(&***name));
                let named = named.max_by_key(|name| name.len());
                cut(named.unwrap_or_else(|| panic!("{name} imports from the root: {path:.30}")))
            });
            left.entry(cut(name)).or_default().extend(imports.filter(|other| *other != cut(name)));
        }
        let mut before = usize::MAX;
        while left.len() < before {
            before = left.len();
            let open: BTreeSet<_> = left.keys().cloned().collect();
            left.retain(|_, imports| !imports.is_disjoint(&open));
        }
        assert!(left.is_empty(), "they import each other: {left:?}");
    }
}
