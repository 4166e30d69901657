//! The published figures, as published.
//!
//! The files in `published/` state where each figure comes from. A line that begins with `#` is a
//! comment, `[a name]` begins a section, and other lines belong to the section above.

/// A file of published figures.
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
/// The vector that the AWS SDKs share, and recordings of botocore's classes.
pub const AWS: Published = Published(include_str!("../published/aws.txt"));

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

    /// The words of a section, across its lines.
    pub fn words(self, section: &str) -> impl Iterator<Item = &'static str> {
        self.section(section).flat_map(str::split_whitespace)
    }

    /// The text after the colon of the line that begins with `key` in a section.
    ///
    /// # Panics
    /// There is no such line.
    #[must_use]
    pub fn row(self, section: &str, key: &str) -> Vec<&'static str> {
        let found = self.section(section).find_map(|line| {
            let (name, rest) = line.split_once(':')?;
            (name.trim() == key).then_some(rest)
        });
        let Some(rest) = found else { panic!("no line `{key}:` in the section [{section}]") };
        rest.split_whitespace().collect()
    }

    /// A [`row`](Self::row) of numbers.
    ///
    /// # Panics
    /// There is no such line, or it contains something else.
    #[must_use]
    pub fn numbers(self, section: &str, key: &str) -> Vec<f64> {
        let number = |word: &str| match word.parse() {
            Ok(number) => number,
            Err(_) => panic!("`{word}` in the line `{key}:` of [{section}] is not a number"),
        };
        self.row(section, key).into_iter().map(number).collect()
    }
}
