//! The Windows part: named pipes, which end with their process.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use tokio::net::windows::named_pipe::{
    ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions,
};

/// Pipes have names of any reasonable length.
pub(super) const MOST_PATH: usize = 250;

/// The next instance of the pipe, for the next member.
pub(super) type Listener = NamedPipeServer;

pub(super) type Stream = Box<dyn Pipe>;

pub(super) trait Pipe:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + std::fmt::Debug + Send + Unpin
{
}
impl Pipe for NamedPipeClient {}
impl Pipe for NamedPipeServer {}

fn user() -> String {
    std::env::var("USERNAME").unwrap_or_default()
}

pub(super) fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("tidegate-{}", user()))
}

pub(super) fn path(_: &Path, name: &str) -> PathBuf {
    format!(r"\\.\pipe\tidegate-{}-{name}", user()).into()
}

/// Creates the folder if necessary. The folder for temporary files belongs to the user.
pub(super) fn own_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

pub(super) fn number(_: io::Result<Metadata>) -> Option<u64> {
    None
}

pub(super) async fn connect(path: &Path) -> io::Result<Stream> {
    Ok(Box::new(ClientOptions::new().open(path)?))
}

pub(super) async fn accept(listener: &mut Listener, path: &Path) -> io::Result<Stream> {
    listener.connect().await?;
    let next = ServerOptions::new().create(path)?;
    Ok(Box::new(std::mem::replace(listener, next)))
}

pub(super) fn is_nobody(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

pub(super) fn take(
    path: &Path,
    _: impl FnOnce() -> bool,
) -> io::Result<Option<(Listener, Option<u64>)>> {
    match ServerOptions::new().first_pipe_instance(true).create(path) {
        Ok(pipe) => Ok(Some((pipe, None))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}
