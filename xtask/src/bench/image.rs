//! Linked images: their size in flash, and the size of each item.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, elf};

#[derive(Default)]
pub struct Image {
    pub code: u64,
    /// Bytes of constants and of initialised memory.
    pub data: u64,
    /// Of these, the first values of initialised memory.
    pub initial: u64,
    /// The sizes of functions and constants by name.
    symbols: HashMap<String, u64>,
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
        let symbols = file.symbols();
        image.symbols =
            symbols.filter_map(|it| Some((it.name().ok()?.to_owned(), it.size()))).collect();
        Ok(image)
    }

    pub fn flash(&self) -> u64 {
        self.code + self.data
    }

    pub fn size_of(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }
}
