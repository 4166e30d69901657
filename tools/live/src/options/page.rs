//! The web page beside the demo.

use clap::Args;
use std::path::{Path, PathBuf};

/// The web page.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The page")]
pub struct PageOptions {
    /// Serve only the page and the API, until Ctrl-C.
    #[arg(long = "page", conflicts_with_all = ["no_page", "keep", "json"])]
    pub alone: bool,
    /// Continue to serve the page and an API after the run, until Ctrl-C.
    #[arg(long, conflicts_with = "json")]
    pub keep: bool,
    /// Do not serve the page.
    #[arg(long)]
    no_page: bool,
    /// The port of the page on 127.0.0.1 [default: 8433, or any free one].
    #[arg(long)]
    pub page_port: Option<u16>,
    /// Where the built page is; `cargo xtask demo` passes it.
    #[arg(long, hide = true, value_name = "FOLDER")]
    page_folder: Option<PathBuf>,
}

impl PageOptions {
    /// The folder of the built page, if it is to be served.
    pub fn folder(&self) -> Option<&Path> {
        self.page_folder.as_deref().filter(|_| !self.no_page)
    }

    pub fn check(&self) -> Result<(), String> {
        match self.alone && self.page_folder.is_none() {
            true => Err("--page needs the built page; cargo xtask demo --page builds it".into()),
            false => Ok(()),
        }
    }
}
