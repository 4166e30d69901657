//! The page of the known survivors, each with its reason, and the table of the areas.

use super::Count;
use super::area::AREAS;

/// Which of the survivors `FILE: CHANGE` the page does not list, or not as often.
pub fn unknown(survivors: &[String], page: &str) -> Vec<usize> {
    let mut named = rows(page);
    let mut is_named = |survivor: &str| {
        let row = named.iter_mut().find(|(row, left)| *row == survivor && *left > 0);
        row.map(|(_, left)| *left -= 1).is_some()
    };
    let survivors = survivors.iter().enumerate();
    survivors.filter(|(_, survivor)| !is_named(survivor)).map(|(index, _)| index).collect()
}

/// The rows about the files of these areas that no survivor needs.
pub fn obsolete<'a>(
    survivors: &[String],
    page: &'a str,
    tried: impl Fn(&str) -> bool,
) -> Vec<&'a str> {
    let count = |row: &str| survivors.iter().filter(|survivor| *survivor == row).count();
    let file = |row: &'a str| row.strip_prefix("core/src/")?.split_once(':').map(|(file, _)| file);
    rows(page)
        .into_iter()
        .filter(|(row, places)| file(row).is_none_or(&tried) && count(row) < *places)
        .map(|(row, _)| row)
        .collect()
}

/// The page's rows, and how many places each covers: ` (2 places): …`, or one.
fn rows(page: &str) -> Vec<(&str, usize)> {
    let places = |rest: &str| {
        let told = rest.strip_prefix(" (").and_then(|rest| rest.split_once(" places)"));
        told.and_then(|(number, _)| number.parse().ok()).unwrap_or(1)
    };
    let rows = page.lines().filter_map(|row| row.strip_prefix("- `")?.split_once('`'));
    rows.map(|(name, rest)| (name, places(rest))).collect()
}

const HEAD: &str =
    "| area | files of core/src | changes | detected | never end | do not build | survive |";

/// The page with the new counts of the areas; the other areas' rows stay.
pub fn with_table(page: &str, counts: &[(&str, Count)]) -> String {
    let before: Vec<&str> = page.lines().take_while(|line| !line.starts_with('|')).collect();
    let table: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
    let after: Vec<&str> = page.lines().skip(before.len() + table.len()).collect();
    let mut lines: Vec<String> = before.into_iter().map(str::to_owned).collect();
    lines.extend([HEAD.to_owned(), "|---|---|---|---|---|---|---|".to_owned()]);
    for area in &AREAS {
        let old = table.iter().find(|row| row.starts_with(&format!("| {} |", area.name)));
        let new = counts.iter().find(|(name, _)| *name == area.name).map(|(name, count)| {
            let Count { changes, detected, endless, unbuilt, survive } = count;
            let files = area.files();
            format!(
                "| {name} | {files} | {changes} | {detected} | {endless} | {unbuilt} | {survive} |"
            )
        });
        lines.extend(new.or_else(|| old.map(|row| (*row).to_owned())));
    }
    lines.extend(after.into_iter().map(str::to_owned));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Survivors\n\nText.\n\n| area |\n|---|\n| time | old |\n\n\
        - `core/src/a.rs: replace < with <= in div`: it is the same there.\n\
        - `core/src/a.rs: replace + with - in sum` (2 places): so is this.\n";

    fn survivors(changes: &[&str]) -> Vec<String> {
        changes.iter().map(|change| format!("core/src/a.rs: replace {change}")).collect()
    }

    #[test]
    fn a_row_covers_its_number_of_survivors_and_none_with_a_longer_name() {
        let found = survivors(&[
            "< with <= in div",
            "+ with - in sum",
            "+ with - in sum",
            "+ with - in sum",
            "< with <= in div",
            "< with <= in div_signed",
        ]);
        assert_eq!(unknown(&found, PAGE), [3, 4, 5]);
    }

    #[test]
    fn an_unused_row_is_obsolete_if_its_area_was_tried() {
        let found = survivors(&["< with <= in div", "+ with - in sum"]);
        let obsolete = |tried| obsolete(&found, PAGE, |file| file == tried);
        assert_eq!(obsolete("a.rs"), ["core/src/a.rs: replace + with - in sum"]);
        assert_eq!(obsolete("b.rs"), [""; 0]);
    }

    #[test]
    fn the_table_keeps_the_rows_of_areas_that_did_not_run() {
        let count = Count { changes: 9, detected: 5, endless: 1, unbuilt: 2, survive: 1 };
        let page = with_table(PAGE, &[("hint", count)]);
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).skip(2).collect();
        assert_eq!(rows, ["| time | old |", "| hint | hint.rs | 9 | 5 | 1 | 2 | 1 |"]);
        assert_eq!(page.lines().count(), PAGE.lines().count() + 1);
        assert_eq!(with_table(&page, &[]), page);
    }
}
