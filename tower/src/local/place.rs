//! The place where processes meet: a socket in a folder that belongs to one user, or a named pipe on Windows.
//!
//! The seat is the socket's path, and whose socket has that path holds the budgets. A process takes the seat
//! when it binds a socket under a name of its own and renames it to the path, which replaces what was there in
//! one step. So a socket that a dead process has left behind needs no care, and a process that was frozen finds
//! by the file's number that the seat is another's.

use std::io;
use std::path::PathBuf;

use super::LocalError;
use super::system::{self, Listener, Stream};

/// Which socket it is. A pipe has no number, and cannot be taken from a process that lives.
pub(super) type Number = Option<u64>;

/// See the module.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) name: String,
    /// What members connect to.
    pub(super) path: PathBuf,
}

impl Place {
    pub(super) fn new(name: String, folder: Option<PathBuf>) -> Result<Self, LocalError> {
        let mut letters = name.bytes();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let begins = letters.next().is_some_and(|byte| is_word(&byte));
        if !begins || !letters.all(|byte| is_word(&byte) || byte == b'.') || name.len() > 64 {
            return Err(LocalError::new(format!(
                "name is {name:?}; it is 1 to 64 letters, digits, dots, dashes and underscores"
            )));
        }
        let folder = folder.unwrap_or_else(system::folder);
        let path = system::path(&folder, &name);
        let (length, room) = (path.as_os_str().len(), system::MOST_PATH);
        if length > room {
            return Err(LocalError::new(format!(
                "the socket {} has a path of {length} bytes, and there is room for {room}: choose a shorter \
                 folder or name",
                path.display()
            )));
        }
        Ok(Self { folder, name, path })
    }

    /// Sees that the folder is there, and that nobody else may enter it.
    pub(super) fn open(&self) -> Result<(), LocalError> {
        let folder = self.folder.display();
        match system::own_folder(&self.folder) {
            Ok(true) => Ok(()),
            Ok(false) => Err(LocalError::new(format!(
                "the folder {folder} is open to others or belongs to another user: make it yours with mode \
                 700, or choose another"
            ))),
            Err(error) => Err(LocalError::unusable(
                format_args!("the folder {folder} cannot be made"),
                &error,
            )),
        }
    }

    /// The number of the socket that has the seat; none if there is no socket.
    pub(super) fn look(&self) -> Number {
        system::number(&self.path)
    }

    pub(super) async fn connect(&self) -> io::Result<Stream> {
        system::connect(&self.path).await
    }

    /// Binds a socket and moves it to the seat, if the one that has it is still `found`.
    pub(super) fn take(&self, found: Number) -> io::Result<Option<(Listener, Number)>> {
        system::take(&self.path, || self.look() == found)
    }

    /// Frees the seat, where it is still this socket's.
    pub(super) fn leave(&self, number: Number) {
        if number.is_some() && self.look() == number {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
