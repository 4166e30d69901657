//! Requires every table of src/main.rs, and nothing else, in the image.

fn main() {
    println!("cargo::rerun-if-changed=src/main.rs");
    let source = std::fs::read_to_string("src/main.rs").expect("src/main.rs exists");
    let tables: Vec<&str> = source
        .lines()
        .filter_map(|line| {
            ["pub static ", "table!(", "verbs!("].iter().find_map(|start| line.strip_prefix(start))
        })
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    assert!(!tables.is_empty(), "src/main.rs has no table, so nothing would be proved");

    println!("cargo::rustc-link-arg-bins=--gc-sections");
    println!("cargo::rustc-link-arg-bins=--entry={}", tables[0]);
    for table in tables {
        // A second name keeps the first in the image, and is an error if the first is missing.
        println!("cargo::rustc-link-arg-bins=--defsym=required_{table}={table}");
    }
}
