//! The Unix part: sockets in folders.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(super) use tokio::net::UnixListener as Listener;
pub(super) use tokio::net::UnixStream as Stream;

use crate::gate::random;

/// The longest path of a socket, including the suffix while it is bound.
pub(super) const MOST_PATH: usize = 103 - 16;

/// The default folder, as in Node.
pub(super) fn folder() -> PathBuf {
    let name = format!("tidegate-{}", rustix::process::getuid().as_raw());
    base(|variable| std::env::var_os(variable)).join(name)
}

fn base(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    absolute("XDG_RUNTIME_DIR")
        .filter(|folder| is_private(folder).is_ok_and(|is| is))
        .or_else(|| absolute("TMPDIR"))
        .unwrap_or_else(|| "/tmp".into())
}

/// Whether this is a folder of this user that no other user can enter.
fn is_private(folder: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(folder)?;
    let mine = found.uid() == rustix::process::getuid().as_raw();
    Ok(found.is_dir() && mine && found.mode() & 0o077 == 0)
}

pub(super) fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}

/// Creates the folder if it is missing. Fails if it belongs to another user or is open to others.
pub(super) fn own_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if is_private(folder)? {
        return Ok(());
    }
    Err(io::Error::other(
        "it is open to others or belongs to another user: make it yours with mode 700, or choose another",
    ))
}

pub(super) fn number(found: io::Result<Metadata>) -> Option<u64> {
    found.ok().map(|found| found.ino())
}

pub(super) async fn connect(path: &Path) -> io::Result<Stream> {
    Stream::connect(path).await
}

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
    // Not the process's number: containers that share the folder can have the same.
    aside.push(format!(".{:015x}", random() >> 4));
    let listener = Listener::bind(&aside)?;
    let moved = fs::set_permissions(&aside, Permissions::from_mode(0o600)).and_then(|()| {
        if !may() {
            return Ok(None);
        }
        if fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
            return Err(io::Error::other("the file there is not a socket"));
        }
        let number = number(fs::metadata(&aside));
        fs::rename(&aside, path).map(|()| number)
    });
    if !matches!(moved, Ok(Some(_))) {
        let _ = fs::remove_file(&aside);
    }
    Ok(moved?.map(|number| (listener, Some(number))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_the_private_runtime_folder_or_an_absolute_one_for_temporary_files()
    -> io::Result<()> {
        let own = std::env::temp_dir().join(format!("tidegate-base-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&own)?;
        let own_text = &*own.to_string_lossy();
        for (runtime, temporary, expected) in [
            (None, None, "/tmp"),
            (None, Some(""), "/tmp"),
            (None, Some("x"), "/tmp"),
            (None, Some("/var/tmp"), "/var/tmp"),
            (None, Some("/var/tmp/../lib"), "/var/tmp/../lib"),
            (Some(own_text), Some("/var/tmp"), own_text),
            (Some("/usr"), None, "/tmp"),
            (Some("/nowhere"), Some("/var/tmp"), "/var/tmp"),
            (Some("x"), None, "/tmp"),
            (Some(""), None, "/tmp"),
        ] {
            let base = base(|name| match name {
                "XDG_RUNTIME_DIR" => runtime.map(OsString::from),
                "TMPDIR" => temporary.map(OsString::from),
                _ => Some("/elsewhere".into()),
            });
            assert_eq!(base, Path::new(expected), "{runtime:?}, {temporary:?}");
        }
        fs::remove_dir(&own)
    }
}
