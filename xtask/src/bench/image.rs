//! Linked images: their size in flash, and the size of each function.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind, elf};
use rustc_demangle::demangle;

#[derive(Debug, Default, Eq, PartialEq)]
pub struct Image {
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
            let unwinds = [".ARM.exidx", ".ARM.extab", ".eh_frame"];
            let unwinds =
                section.name().is_ok_and(|name| unwinds.iter().any(|it| name.starts_with(it)));
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
        let named = |name: &str| format!("{:#}", demangle(name));
        let symbols =
            symbols.filter_map(|symbol| Some((named(symbol.name().ok()?), symbol.size())));
        image.symbols = symbols.collect();
        image.symbols.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        Ok(image)
    }

    pub fn flash(&self) -> u64 {
        self.code + self.data
    }

    pub fn size_of(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|symbol| symbol.0 == name).map(|symbol| symbol.1)
    }
}
