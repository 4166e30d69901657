use tidegate::{Ratio, Span};
use tidegate_seeds::go::{attempts, gaps, schedule, totals, waits, windows};
use tidegate_seeds::published::GO;
use tidegate_seeds::statistics::Spread;

#[test]
fn every_published_gap_fits_the_schedule_and_the_time_of_a_write() {
    let gaps = gaps();
    assert_eq!(gaps.len(), 16);
    for (number, gap) in gaps.iter().enumerate() {
        let (low, high) = (0.5 * gap.nominal, 1.5 * gap.nominal);
        assert!((gap.nominal - 1.5f64.powi(number as i32)).abs() < 0.001 * gap.nominal, "{gap:?}");
        assert!(gap.band.0 >= low - 1e-6 && gap.band.1 <= high + 1e-6, "{gap:?}");
        assert!(gap.band.0 < 1.01 * low && gap.band.1 > 0.99 * high, "all of the band: {gap:?}");
        assert!(gap.published >= low && gap.published <= high + 0.13, "{gap:?}");
    }
}

#[test]
fn the_published_total_is_within_nine_tenths_of_ours() {
    let spread = Spread::of(&totals());
    assert!(spread.holds(1_208.119_654), "{spread:?}");
    // 2 * (1.5^16 - 1) ms
    assert!((spread.median - 1_311.7).abs() < 10.0, "{spread:?}");
}

#[test]
fn the_documented_intervals_are_reproduced() {
    let half = Span::from_millis(500);
    let ours = waits(schedule(half, Ratio::ZERO), None, 10, 0);
    for (published, ours) in GO.numbers("defaults", "intervals").into_iter().zip(ours) {
        let ours = ours.as_nanos() as f64 / 1e9;
        // Truncated to three digits, the later ones computed from truncated values.
        assert!((published - ours).abs() < 0.001 * ours, "{published} and {ours}");
    }
}

#[test]
fn no_wait_exceeds_the_maximum_so_there_are_more_attempts_than_in_the_source() {
    let most = Span::from_secs(60);
    let waits = waits(schedule(most, Ratio::HALF), None, 10_000, 1);
    assert!(waits.iter().all(|wait| *wait <= most && *wait >= Span::from_secs(30)));
    for (key, initial) in [("from 500 ms", 500), ("from 1 ms", 1)] {
        let median = Spread::of(&attempts(Span::from_millis(initial))).median;
        let theirs = GO.numbers("by its source", key)[0];
        assert!(median > theirs && median < theirs + 7.0, "{key}: {median}");
    }
}

#[test]
fn the_limit_finds_the_capacity_of_the_database() {
    let windows = windows(20, 2_000);
    let settled = &windows[1_000..];
    assert!(settled.iter().all(|window| (18..=21).contains(window)), "{settled:?}");
    assert!(settled.contains(&21) && settled.contains(&18));
}
