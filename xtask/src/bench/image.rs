//! Linked images: their size in flash, and the size of each function.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind, elf};
use rustc_demangle::demangle;

/// The content of one image.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Image {
    /// Bytes of code.
    pub code: u64,
    /// Bytes of constants and of initialised memory.
    pub data: u64,
    /// Of these, the first values of initialised memory.
    pub initial: u64,
    /// All functions and constants by name, the largest first.
    pub symbols: Vec<(String, u64)>,
}

impl Image {
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        let file = object::File::parse(&*bytes).with_context(|| path.display().to_string())?;
        let mut image = Self::default();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
            let loaded = sh_flags & u64::from(elf::SHF_ALLOC) != 0;
            // Firmware's linker scripts discard these: nothing unwinds if a panic aborts.
            let unwinds = section.name().is_ok_and(|name| {
                [".ARM.exidx", ".ARM.extab", ".eh_frame"]
                    .iter()
                    .any(|table| name.starts_with(table))
            });
            if !loaded || unwinds || section.kind() == SectionKind::UninitializedData {
                continue;
            }
            if sh_flags & u64::from(elf::SHF_WRITE) != 0 {
                image.initial += section.size();
            }
            match section.kind() {
                SectionKind::Text => image.code += section.size(),
                _ => image.data += section.size(),
            }
        }
        let symbols = file.symbols().filter(|symbol| symbol.size() > 0);
        let symbols = symbols.filter(|s| matches!(s.kind(), SymbolKind::Text | SymbolKind::Data));
        image.symbols = symbols
            .filter_map(|symbol| {
                Some((format!("{:#}", demangle(symbol.name().ok()?)), symbol.size()))
            })
            .collect();
        image.symbols.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        Ok(image)
    }

    pub fn flash(&self) -> u64 {
        self.code + self.data
    }

    /// The size of the constant of this name.
    pub fn size_of(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|symbol| symbol.0 == name).map(|symbol| symbol.1)
    }

    /// Software floating point functions.
    pub fn floats(&self) -> Vec<&str> {
        let names = self.symbols.iter().map(|symbol| &*symbol.0);
        names.filter(|name| computes_with_floats(name)).collect()
    }
}

/// Whether a name is one of the compiler's floating point functions: `__addsf3`, `__fixdfdi`, and
/// on Arm `__aeabi_dmul`, `__aeabi_ui2f`.
fn computes_with_floats(name: &str) -> bool {
    if let Some(arm) = name.strip_prefix("__aeabi_") {
        return arm.starts_with(['f', 'd']) || arm.ends_with("2f") || arm.ends_with("2d");
    }
    let own = name.starts_with("__") && ["sf", "df", "tf"].iter().any(|kind| name.contains(kind));
    own || name.contains("compiler_builtins::float")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floating_point_functions_are_distinguished_from_integer_functions() {
        for name in [
            "__addsf3",
            "__fixdfdi",
            "__aeabi_dmul",
            "__aeabi_ui2f",
            "__aeabi_f2d",
            "__floatundidf",
        ] {
            assert!(computes_with_floats(name), "{name}");
        }
        for name in
            ["__aeabi_uldivmod", "__aeabi_lmul", "__udivdi3", "__aeabi_memcpy", "tidegate::offset"]
        {
            assert!(!computes_with_floats(name), "{name}");
        }
    }
}
