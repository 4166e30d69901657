use tidegate_seeds::aws::{marks, recorded, vector};
use tidegate_seeds::published::AWS;

#[test]
fn the_vector_that_the_sdks_share_is_reproduced_to_six_digits() {
    let ours = vector();
    let published: Vec<f64> = AWS.words("vector").map(|word| word.parse().unwrap()).collect();
    assert_eq!((ours.len(), published.len()), (7, 7));
    for (ours, published) in ours.into_iter().zip(published) {
        assert!((ours - published).abs() < 2e-6, "{ours}, not {published}");
    }
}

#[test]
fn rates_after_throttling_responses_match_botocore() {
    let ours = recorded();
    for (section, ours) in [
        ("throttled at once", ours.at_once),
        ("throttled at 100 a second", ours.at_hundred),
        ("burst", ours.burst),
    ] {
        let published = AWS.numbers(section, "rate")[0];
        assert!((ours - published).abs() < 1e-5 * published, "{section}: {ours}, not {published}");
    }
}

#[test]
fn one_caller_sends_as_many_calls_as_with_botocore() {
    let ours = recorded();
    for (section, ours) in [
        ("throttled at once", ours.then),
        ("throttled at 100 a second", ours.after),
        ("idle", ours.idle),
    ] {
        let published: Vec<_> = marks(section).collect();
        assert_eq!(published.len(), ours.len(), "{section}");
        for ((at, (sent, rate)), ours) in published.into_iter().zip(ours) {
            assert_eq!(ours.0, sent, "{section}, {at:?}");
            assert_eq!(
                ours.1.map(|rate| format!("{rate:.1}")),
                rate.map(|rate| format!("{rate:.1}"))
            );
        }
    }
}

#[test]
fn a_clock_that_steps_back_takes_no_tokens_away() {
    assert!(recorded().clock_back < 1.0);
    assert!(AWS.numbers("clock back", "wait")[0] > 3_500.0);
}
