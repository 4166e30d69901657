//! A drawn world as the text of a scenario file.

use std::fmt::Write;

use super::Hints;

/// The names of the hints in a scenario, in the order of [`Hints::has`].
const KEYS: [&str; 4] = ["retry_after", "remaining", "reset", "quota"];

/// The parts of a scenario file that do not depend on the hints.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub title: String,
    /// In seconds.
    pub end: f64,
    /// In seconds.
    pub bin: f64,
    pub latency: String,
    /// Further keys of the world, one per line.
    pub world: String,
    /// Keys of `[server]`, one per line.
    pub server: String,
    /// `[server.bucket]` or `[server.window]`.
    pub limit: String,
    pub reset_form: &'static str,
    /// The value of each hint if it is false.
    pub lies: Option<[String; 4]>,
    pub clients: String,
}

impl Text {
    pub fn with(&self, hints: Hints) -> String {
        let Self { title, end, bin, latency, world, server, limit, clients, .. } = self;
        let mut told = String::new();
        for (index, key) in KEYS.iter().enumerate().filter(|(index, _)| hints.has()[*index]) {
            let value = self.lies.as_ref().map_or("\"honest\"", |lies| &lies[index]);
            _ = writeln!(told, "{key} = {value}");
            if *key == "reset" {
                _ = writeln!(told, "reset_form = \"{}\"", self.reset_form);
            }
        }
        if !told.is_empty() {
            told = format!("[server.hints]\n{told}\n");
        }
        format!(
            "title = \"{title}\"\nend = \"{}\"\nbin = \"{}\"\nlatency = {latency}\n{world}\n\
             [server]\n{server}\n{limit}\n{told}{clients}",
            time(*end),
            time(*bin),
        )
    }
}

/// Formats a time in seconds for a scenario, with four digits or more.
pub(super) fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0}us", seconds * 1e6)
    } else {
        format!("{:.0}ms", seconds * 1e3)
    }
}

/// Formats a rate in calls a second for a scenario.
pub(super) fn rate(per_second: f64) -> String {
    let units = [("s", 1.0), ("min", 60.0), ("h", 3_600.0)];
    let fits = units.into_iter().find(|(_, seconds)| per_second * seconds >= 1.0);
    let (unit, seconds) = fits.unwrap_or(("d", 86_400.0));
    let number = format!("{:.6}", per_second * seconds);
    format!("{}/{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}
