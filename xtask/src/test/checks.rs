//! The checks that are one command, from a table.

use std::process::Command;

use anyhow::Result;

use crate::progress::step;
use crate::tally::Tally;
use crate::workspace::{self, root};
use crate::{npm, setup};

const TABLE: &str = include_str!("checks.txt");

struct Check {
    part: &'static str,
    in_short_suite: bool,
    in_full_part: bool,
    kind: &'static str,
    name: &'static str,
    needs: Vec<&'static str>,
    command: Vec<&'static str>,
}

fn checks() -> impl Iterator<Item = Check> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut cells = line.split('|').map(str::trim);
        let part = cells.next()?;
        Some(Check {
            part: part.trim_end_matches(['*', '!']),
            in_short_suite: part.ends_with(['*', '!']),
            in_full_part: !part.ends_with('!'),
            kind: cells.next()?,
            name: cells.next()?,
            needs: cells.next()?.split_whitespace().collect(),
            command: cells.next()?.split(' ').collect(),
        })
    })
}

/// Whether the short suite has checks of a part.
pub fn are_in_short_suite(part: &str) -> bool {
    checks().any(|check| check.part == part && check.in_short_suite)
}

/// Runs the checks of a part, or those that the short suite has of it.
pub fn run(part: &str, short: bool, tally: &mut Tally) {
    for check in checks().filter(|check| check.part == part) {
        let is_wanted = if short { check.in_short_suite } else { check.in_full_part };
        if is_wanted {
            check.run(tally);
        }
    }
}

impl Check {
    fn run(&self, tally: &mut Tally) {
        match (self.kind, self.command()) {
            ("tests", Ok(command)) => tally.tests(self.name, command),
            ("sum", Ok(command)) => tally.figures(self.name, || {
                let output = step(self.name, command)?;
                let last = output.lines().last().unwrap_or_default();
                Ok(last.split_whitespace().collect::<Vec<_>>().join(" "))
            }),
            (_, command) => _ = tally.verdict(self.name, || step(self.name, command?)),
        }
    }

    fn command(&self) -> Result<Command> {
        setup::need(&self.needs)?;
        for package in self.needs.iter().filter(|need| need.starts_with("tidegate-")) {
            npm::install(package)?;
        }
        let mut command = match self.command[0] {
            "cargo" => Command::new(workspace::program()),
            tool @ ("cargo-deny" | "cargo-hack") => setup::tool(tool)?,
            path if path.contains('/') => Command::new(root().join(path)),
            program => Command::new(program),
        };
        command.args(&self.command[1..]).current_dir(root());
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_check_of_a_part() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(checks().count(), lines.count());
        for Check { part, kind, name, .. } in checks() {
            assert!(crate::test::PARTS.iter().any(|it| it.name == part), "{part}, {name}");
            assert!(["run", "tests", "sum"].contains(&kind), "{kind}, {name}");
        }
    }
}
