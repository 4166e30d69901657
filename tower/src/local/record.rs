//! The record of a budget, in a file beside the socket.
//!
//! It is written before each grant is sent, so that the next holder continues from all grants. Each
//! holder has its own file under that name: no process reads what a former holder still writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::place::{Number, Place};
use super::system;

/// The start of a file: a name and the version of the format.
const BEGIN: [u8; 9] = *b"tidegate\x01";

#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    key: Box<[u8]>,
    /// With its inode: a former holder may still replace it.
    file: Option<(File, Number)>,
}

impl RecordFile {
    pub(super) fn new(place: &Place, key: &[u8]) -> Self {
        let name = format!("{}-{:016x}.budget", place.share.name, digest(key));
        Self { path: place.folder.join(name), key: key.into(), file: None }
    }

    /// Reads the previous holder's record, and its age. `None` if there is none that can be read.
    pub(super) fn read(&self) -> Option<(Vec<u8>, Duration)> {
        let bytes = fs::read(&self.path).ok()?;
        let rest = bytes.strip_prefix(&BEGIN)?;
        let (at, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        if u16::from_le_bytes(*key) != u16::try_from(self.key.len()).ok()? {
            return None;
        }
        let rest = rest.strip_prefix(&*self.key)?;
        let record = rest.get(..u16::from_le_bytes(*length).into())?.to_vec();
        let at = UNIX_EPOCH.checked_add(Duration::from_millis(u64::from_le_bytes(*at)))?;
        Some((record, at.elapsed().unwrap_or_default()))
    }

    /// Writes a record.
    ///
    /// # Errors
    /// The system's error. The previous record is then removed.
    pub(super) fn write(&mut self, record: &[u8]) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut bytes = BEGIN.to_vec();
        bytes.extend(u64::try_from(now.as_millis()).unwrap_or(u64::MAX).to_le_bytes());
        bytes.extend(u16::try_from(self.key.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(u16::try_from(record.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(&self.key);
        bytes.extend(record);
        let written = match &mut self.file {
            Some((file, number)) if *number == system::number(fs::metadata(&self.path)) => {
                file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&bytes))
            }
            _ => made(&self.path, &bytes).map(|file| {
                let number = system::number(file.metadata());
                self.file = Some((file, number));
            }),
        };
        if written.is_err() {
            self.file = None;
            let _ = fs::remove_file(&self.path);
        }
        written
    }
}

/// Creates a new file in place of the previous one.
fn made(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let aside = path.with_extension(format!("budget.{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&aside).and_then(|mut file| {
        file.write_all(bytes)?;
        fs::rename(&aside, path)?;
        Ok(file)
    });
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

/// FNV-1a with 64 bits. If two keys collide, the key in the file tells them apart.
fn digest(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
