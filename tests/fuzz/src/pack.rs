//! A corpus in one file, with the length before each input. It replaces thousands of tiny files.

use std::path::Path;
use std::{fs, io};

/// Reads the inputs of a file. Each is preceded by its length in four bytes, little-endian.
///
/// # Errors
/// Errors of reading the file; `InvalidData` if it ends within an input.
pub fn read(file: &Path) -> io::Result<Vec<Vec<u8>>> {
    let packed = fs::read(file)?;
    inputs(&packed).ok_or_else(|| {
        let told = format!("{} is truncated within an input", file.display());
        io::Error::new(io::ErrorKind::InvalidData, told)
    })
}

fn inputs(mut packed: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut inputs = Vec::new();
    while !packed.is_empty() {
        let (length, rest) = packed.split_first_chunk()?;
        let (input, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        inputs.push(input.to_vec());
        packed = rest;
    }
    Some(inputs)
}

/// Writes the inputs to a file, short ones first, so that equal inputs give equal files.
///
/// # Errors
/// Errors of writing the file.
pub fn write(file: &Path, mut inputs: Vec<Vec<u8>>) -> io::Result<()> {
    inputs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    inputs.dedup();
    fs::write(file, packed(&inputs))
}

fn packed(inputs: &[Vec<u8>]) -> Vec<u8> {
    let length = |input: &[u8]| u32::try_from(input.len()).unwrap_or(u32::MAX).to_le_bytes();
    inputs.iter().flat_map(|input| length(input).into_iter().chain(input.iter().copied())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_inputs_are_unpacked() {
        let kept = vec![vec![], vec![7], vec![0; 300]];
        assert_eq!(inputs(&packed(&kept)), Some(kept));
        assert_eq!(inputs(&[]), Some(vec![]));
    }

    #[test]
    fn a_truncated_file_is_detected() {
        let whole = packed(&[vec![1, 2, 3]]);
        for length in 1..whole.len() {
            assert_eq!(inputs(&whole[..length]), None, "{length}");
        }
    }
}
