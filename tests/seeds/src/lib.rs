//! Published figures of the systems that tidegate's laws come from.
//!
//! The files in `published/` have the figures as published, and state where each comes from. The
//! tests run core's implementation of the same law in the same situation: a
//! `tidegate::Controller` that is polled and settled like in a frontend, or clients and a server
//! in the simulator.

/// A file of published figures. A line that begins with `#` is a comment, `[a name]` begins a
/// section, and other lines belong to the section above.
#[derive(Clone, Copy, Debug)]
pub struct Published(&'static str);

/// The graph and the test vectors of `AutoSleeper`.
pub const AUTOSLEEPER: Published = Published(include_str!("../published/autosleeper.txt"));
/// The numbers of the EMR article.
pub const EMR: Published = Published(include_str!("../published/emr.txt"));
/// The benchmark of `rate_throttle_client`, and the README of its demonstration.
pub const HEROKU: Published = Published(include_str!("../published/heroku.txt"));
/// The list of elapsed times in "Go: Rate-limiting (done right)", and cenkalti's documentation.
pub const GO: Published = Published(include_str!("../published/go.txt"));
/// The four tables of `TChannel`'s busy throttling.
pub const TCHANNEL: Published = Published(include_str!("../published/tchannel.txt"));

impl Published {
    /// The lines of a section. Empty if it does not exist.
    pub fn section(self, name: &str) -> impl Iterator<Item = &'static str> {
        let head = format!("[{name}]");
        self.0
            .lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .skip_while(move |line| *line != head)
            .skip(1)
            .take_while(|line| !line.starts_with('['))
    }

    /// The numbers after the colon of the line that begins with `key` in a section.
    ///
    /// # Panics
    /// There is no such line, or it contains something else.
    #[must_use]
    pub fn numbers(self, section: &str, key: &str) -> Vec<f64> {
        let row = self.section(section).find_map(|line| {
            let (name, rest) = line.split_once(':')?;
            (name.trim() == key).then_some(rest)
        });
        let Some(row) = row else { panic!("no line `{key}:` in the section [{section}]") };
        let number = |word: &str| match word.parse() {
            Ok(number) => number,
            Err(_) => panic!("`{word}` in the line `{key}:` of [{section}] is not a number"),
        };
        row.split_whitespace().map(number).collect()
    }
}
