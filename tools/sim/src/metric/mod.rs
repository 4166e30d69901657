//! The metrics of a run.

mod asked;
mod measure;
mod tally;

use std::borrow::Cow;

#[cfg(feature = "cli")]
pub(crate) use tally::Micros;
pub use tally::Tally;

/// Named figures in the order of the report. `None` if a metric does not apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(pub Vec<(Cow<'static, str>, Option<f64>)>);

impl Metrics {
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|metric| metric.0 == name).and_then(|metric| metric.1)
    }

    fn add(&mut self, name: impl Into<Cow<'static, str>>, value: Option<f64>) {
        self.0.push((name.into(), value.filter(|value| value.is_finite())));
    }
}

/// Jain's fairness index: 1 if all are equal, 1/n if one has all. `None` for fewer than two values,
/// or if all are zero.
pub fn jain(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    for value in values {
        sum += value;
        squares += value * value;
        count += 1.0;
    }
    (count > 1.0 && squares > 0.0).then(|| sum * sum / (count * squares))
}

/// The median. `None` if there are no values.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The sample standard deviation. `None` for fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| libm::sqrt(squares / (count - 1.0)))
}

/// `part / whole`. `None` if `whole` is zero.
pub(crate) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equal_shares_and_one_over_n_if_one_has_all() {
        for (values, expected) in [
            (vec![3.0, 3.0, 3.0], Some(1.0)),
            (vec![1.0, 0.0, 0.0, 0.0], Some(0.25)),
            (vec![1.0, 3.0], Some(0.8)),
            (vec![5.0], None),
            (vec![0.0, 0.0], None),
            (vec![], None),
        ] {
            assert_eq!(jain(values.clone()), expected, "{values:?}");
        }
    }
}
