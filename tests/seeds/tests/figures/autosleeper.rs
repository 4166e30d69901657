use tidegate_seeds::autosleeper::{
    APART, EVEN, Threshold, equilibria, failure_share, graph, share_by_arithmetic, vectors,
};
use tidegate_seeds::published::AUTOSLEEPER;

#[test]
fn the_27_labels_of_the_published_graph_are_reproduced() {
    let published: Vec<&str> = AUTOSLEEPER.words("graph").collect();
    assert_eq!(published.len(), 27);
    assert_eq!(graph(), published);
}

#[test]
fn the_vectors_of_the_source_are_reproduced() {
    for (name, worker) in vectors() {
        let (invoked, up, down, slept, total) = worker.metrics();
        let counts = [invoked, up, down, slept].map(f64::from);
        let micros = total.as_nanos() as f64 / 1e3;
        assert_eq!(
            [&counts[..], &[micros]].concat(),
            AUTOSLEEPER.numbers("vectors", name),
            "{name}"
        );
    }
}

#[test]
fn the_long_term_failure_rate_matches_the_arithmetic_with_either_server() {
    for ((name, config), expected) in equilibria().into_iter().zip([2.53, 3.00, 20.13]) {
        assert!((share_by_arithmetic(config) - expected).abs() < 0.005, "{name}");
        for server in [Threshold::Hard(APART), Threshold::Soft(EVEN)] {
            let share = failure_share(config, server, 1_000_000);
            assert!((share - expected).abs() < 0.05, "{name}, {server:?}: {share}");
        }
    }
}
