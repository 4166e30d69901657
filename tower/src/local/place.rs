//! The meeting point of the processes: a socket in a folder that belongs to one user, or a named
//! pipe on Windows; and the terms on which this one shares its budgets.
//!
//! The owner of the socket at this path, the seat, holds the budgets. A process takes the seat when
//! it binds a socket under another name and renames it to the path, which replaces the old one
//! atomically. So a dead process's socket needs no cleanup, and a process that was frozen learns
//! from the file's inode that it has lost the seat.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tidegate::law::AnyLaw;
use tidegate::{Policy, Quota};

use super::standing::Standing;
use super::{LocalError, Share, lock, system};
use crate::observe;

/// The inode of the socket. A pipe has none, and cannot be taken from a live process.
pub(super) type Number = Option<u64>;

/// When the same trouble is reported again.
const AGAIN: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Place {
    pub(super) share: Share,
    pub(super) folder: PathBuf,
    /// The path that members connect to.
    pub(super) path: PathBuf,
    pub(super) alone: Quota,
    pub(super) standing: Mutex<Standing>,
    /// What was reported in the last minute, and when.
    reported: Mutex<Vec<(LocalError, Instant)>>,
}

impl Place {
    pub(super) fn new(share: Share, policy: Policy<AnyLaw>) -> Result<Self, LocalError> {
        let Share { name, folder, expiry, alone, heartbeat } = share.clone();
        let mut letters = name.bytes();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let begins = letters.next().is_some_and(|byte| is_word(&byte));
        if !begins || !letters.all(|byte| is_word(&byte) || byte == b'.') || name.len() > 64 {
            return Err(LocalError::new(format!(
                "name is {name:?}; it must be 1 to 64 letters, digits, dots, dashes and underscores"
            )));
        }
        let folder = folder.unwrap_or_else(system::folder);
        let path = system::path(&folder, &name);
        let (length, room) = (path.as_os_str().len(), system::MOST_PATH);
        if length > room {
            return Err(LocalError::new(format!(
                "the path of the socket {} has {length} bytes, and the limit is {room}: choose a shorter \
                 folder or name",
                path.display()
            )));
        }
        let second = || Quota::per_second(1).map_err(|error| LocalError::new(error.to_string()));
        Ok(Self {
            share,
            folder,
            path,
            alone: alone.map_or_else(second, Ok)?,
            standing: Mutex::new(Standing::new(policy, expiry, heartbeat)),
            reported: Mutex::default(),
        })
    }

    pub(super) fn report(&self, trouble: &LocalError) {
        let mut reported = lock(&self.reported);
        reported.retain(|(_, at)| at.elapsed() < AGAIN);
        if reported.iter().all(|(earlier, _)| earlier != trouble) {
            reported.push((trouble.clone(), Instant::now()));
            drop(reported);
            observe::troubled(&self.share.name, trouble);
        }
    }

    /// The inode of the socket at the seat. `None` without one.
    pub(super) fn look(&self) -> Number {
        system::number(fs::metadata(&self.path))
    }
}
