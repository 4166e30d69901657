//! Finds reachable panics in the assembly of an image.
//!
//! The linker only reports that there is one.

use std::collections::BTreeMap;

/// Each call into the panic machinery: its function and the nearest source line.
pub fn places(assembly: &str) -> Vec<String> {
    let mut files = BTreeMap::new();
    let mut function = "";
    let mut place = ("", "");
    let mut places = Vec::new();
    for line in assembly.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [".file", number, ..] if line.contains('"') => {
                // `.file 4 "folder" "src/name.rs"`, or a single string.
                files.insert(number, line.rsplit('"').nth(1).unwrap_or_default());
            }
            [".loc", file, line, ..] => place = (file, line),
            [label] if !label.starts_with('.') && label.ends_with(':') => {
                function = label.trim_end_matches(':');
            }
            [jump, callee, ..] if jump.starts_with('b') && panics(callee) && !panics(function) => {
                let (file, line) = place;
                let file = files.get(file).copied().unwrap_or("?");
                let function = rustc_demangle::demangle(function);
                let callee = rustc_demangle::demangle(callee);
                places.push(format!("{function:#} calls {callee:#} at {file}:{line}"));
            }
            _ => (),
        }
    }
    places
}

/// Whether a symbol belongs to core's panic machinery.
fn panics(symbol: &str) -> bool {
    symbol.contains("4core9panicking") || symbol.contains("4core6option13unwrap_failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "
	.file	7 \"/rustc/hash\" \"library/core/src/iter/traits/accum.rs\"
	.file	8 \"core/src/rate.rs\"
_ZN8tidegate4rate5quota17h0123456789abcdefE:
	.loc	8 10 4
	bl	memcpy
	.loc	7 53 28 is_stmt 1
	bl	_ZN4core9panicking11panic_const24panic_const_add_overflow17h0123456789abcdefE
.Lfunc_end1:
_ZN4core9panicking11panic_const24panic_const_add_overflow17h0123456789abcdefE:
	.loc	8 99 1
	bl	_ZN4core9panicking9panic_fmt17h0123456789abcdefE
";

    #[test]
    fn the_caller_and_its_line_are_reported_without_the_panic_machinery() {
        assert_eq!(
            places(ASSEMBLY),
            ["tidegate::rate::quota calls core::panicking::panic_const::panic_const_add_overflow \
              at library/core/src/iter/traits/accum.rs:53"]
        );
    }
}
