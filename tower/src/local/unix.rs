//! The Unix part: sockets in folders.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) use tokio::net::UnixListener as Listener;
pub(super) use tokio::net::UnixStream as Stream;

/// The longest path of a socket, including the suffix while it is bound.
pub(super) const MOST_PATH: usize = 103 - 16;

static BOUND: AtomicU32 = AtomicU32::new(0);

/// This user's folder among those for temporary files.
pub(super) fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("tidegate-{}", rustix::process::getuid().as_raw()))
}

/// The socket's path.
pub(super) fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}

/// Creates the folder if it is missing. Returns whether it belongs to this user and is closed to
/// others.
pub(super) fn own_folder(folder: &Path) -> io::Result<bool> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = fs::symlink_metadata(folder)?;
    let mine = found.uid() == rustix::process::getuid().as_raw();
    Ok(found.is_dir() && mine && found.mode() & 0o077 == 0)
}

/// The inode of the file at a path.
pub(super) fn number(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.ino())
}

pub(super) async fn connect(path: &Path) -> io::Result<Stream> {
    Stream::connect(path).await
}

/// The next connection.
pub(super) async fn accept(listener: &mut Listener, _: &Path) -> io::Result<Stream> {
    listener.accept().await.map(|(stream, _)| stream)
}

/// Whether no process listens: the socket is missing, was moved, or its process has ended.
pub(super) fn is_nobody(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, NotFound};
    matches!(error.kind(), ConnectionRefused | ConnectionReset | NotFound)
}

/// Binds a socket and moves it to `path` if permitted. It replaces nothing but a socket.
pub(super) fn take(
    path: &Path,
    may: impl FnOnce() -> bool,
) -> io::Result<Option<(Listener, Option<u64>)>> {
    let mut aside: OsString = path.into();
    let count = BOUND.fetch_add(1, Ordering::Relaxed) % 1_000;
    aside.push(format!(".{}.{count}", std::process::id()));
    let listener = Listener::bind(&aside)?;
    let moved = fs::set_permissions(&aside, Permissions::from_mode(0o600)).and_then(|()| {
        if !may() {
            return Ok(None);
        }
        if fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
            return Err(io::Error::other("the file there is not a socket"));
        }
        let number = number(aside.as_ref());
        fs::rename(&aside, path).map(|()| number)
    });
    if !matches!(moved, Ok(Some(_))) {
        let _ = fs::remove_file(&aside);
    }
    Ok(moved?.map(|number| (listener, Some(number))))
}
