//! Every error in a scenario file is one sentence with the file, the line and the reason.

use tidegate_sim::Scenario;

/// A good file. Then what spoils it: the line of the error, the text to replace, what replaces it, and the reason.
const CASES: &str = include_str!("scenario_errors.txt");

#[test]
fn an_error_names_its_file_line_and_reason() {
    let (whole, cases) = CASES.split_once("---\n").unwrap();
    for case in cases.lines() {
        let [line, good, bad, reason] = case.splitn(4, " | ").collect::<Vec<_>>()[..] else {
            panic!("{case} has no four columns");
        };
        let [good, bad] = [good, bad].map(|text| text.replace("\\n", "\n"));
        let at = whole.rfind(&good).unwrap_or_else(|| panic!("{good} is not in the good file"));
        let text = format!("{}{bad}{}", &whole[..at], &whole[at + good.len()..]);
        let error = match Scenario::parse(&text, "world.toml", "world") {
            Ok(_) => panic!("{bad} was taken for good"),
            Err(error) => error.to_string(),
        };
        assert!(error.starts_with(&format!("world.toml, line {line}: ")), "{bad}: {error}");
        assert!(error.contains(reason), "{bad}: {error}");
        assert!(!error.contains('\n'), "{bad}: {error}");
    }
}
