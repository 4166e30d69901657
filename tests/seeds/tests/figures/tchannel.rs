use tidegate::law::{Recovery, TchannelVariant};
use tidegate_seeds::published::TCHANNEL;
use tidegate_seeds::tchannel::{DOCUMENT, Pattern, closed_loop, run};

#[test]
fn all_102_published_lines_are_reproduced_exactly() {
    let mut lines = 0;
    for (pattern, recovery) in DOCUMENT {
        let run = run(TchannelVariant::Faithful, pattern, recovery);
        let published: Vec<&str> = TCHANNEL.section(&run.name()).collect();
        similar_asserts::assert_eq!(published, run.lines());
        lines += published.len();
    }
    assert_eq!(lines, 102);
}

#[test]
fn the_promised_variant_satisfies_the_text() {
    // "When there is no busy reponses and the service is back to healthy. Traffic should not take
    // too long to recover": within the 20 seconds that the document allows.
    for pattern in [Pattern::Steady, Pattern::Flappy] {
        let run = run(TchannelVariant::Promised, pattern, Recovery::Rate(3));
        assert!(run.converged, "{pattern:?}");
        // And never to zero, where nothing can be learned.
        assert!(run.rows.iter().all(|row| row.second.sent > 0), "{pattern:?}");
    }
}

#[test]
fn the_promised_variant_uses_more_of_a_server_than_the_faithful_one() {
    for capacity in [100, 1_000, 4_000] {
        let part = |variant| closed_loop(variant, Recovery::Rate(3), capacity);
        let (faithful, promised) =
            (part(TchannelVariant::Faithful), part(TchannelVariant::Promised));
        assert!(promised > 3 * faithful, "{capacity}: {faithful} and {promised} per mille");
    }
}
