//! Generates the JavaScript glue of tidegate-wasm: `tidegate-wasm-bind MODULE.wasm FOLDER`.
//!
//! A separate program, so that wasm-bindgen's tools are compiled only for the build of the npm
//! package.

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (Some(module), Some(folder), None) = (args.next(), args.next(), args.next()) else {
        bail!("usage: tidegate-wasm-bind MODULE.wasm FOLDER");
    };
    let mut bind = Bindgen::new();
    bind.input_path(&module).bundler(true)?.typescript(true);
    bind.remove_name_section(true).remove_producers_section(true).omit_default_module_path(true);
    bind.generate(&folder)
        .with_context(|| format!("no glue for {}", std::path::Path::new(&module).display()))
}
