//! Takes the MQTT session out of the README, for its test.

use std::path::Path;
use std::{env, fs};

const README: &str = "../README.md";

fn main() {
    println!("cargo:rerun-if-changed={README}");
    let readme = fs::read_to_string(README).expect("the README");
    let mut blocks = readme.split("```").filter(|block| block.starts_with("rust"));
    let session = blocks.find(|block| block.contains("rust_mqtt::")).expect("an MQTT session");
    // Without the first line, which is the fence, and without what the page hides.
    let lines = session.lines().skip(1).filter(|line| !line.starts_with("# "));
    let out = env::var_os("OUT_DIR").expect("a build");
    let code = lines.collect::<Vec<_>>().join("\n");
    fs::write(Path::new(&out).join("session.rs"), code).expect("a file");
}
