use tidegate::law::Recovery;
use tidegate_seeds::published::TCHANNEL;
use tidegate_seeds::tchannel::{DOCUMENT, closed_loop, run};

#[test]
fn all_102_published_lines_are_reproduced_exactly() {
    let mut lines = 0;
    for (pattern, recovery) in DOCUMENT {
        let run = run(pattern, recovery);
        let published: Vec<&str> = TCHANNEL.section(&run.name()).collect();
        similar_asserts::assert_eq!(published, run.lines());
        lines += published.len();
    }
    assert_eq!(lines, 102);
}

#[test]
fn with_rate_3_the_law_uses_14_to_18_per_cent_of_a_server() {
    for capacity in [100, 1_000, 2_000, 4_000] {
        let part = closed_loop(Recovery::Rate(3), capacity);
        assert!((140..185).contains(&part), "{capacity}: {part} per mille");
    }
}
