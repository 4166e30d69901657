//! Means, deviations and quantiles in the forms that the sources use.

/// The mean. 0 if there are no values.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "far below 2^52 of them")]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The sample standard deviation (n - 1).
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "far below 2^52 of them")]
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// The bounds of the middle nine tenths of a set, and its median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// A twentieth lies below.
    pub low: f64,
    /// Half lies below.
    pub median: f64,
    /// A twentieth lies above.
    pub high: f64,
}

impl Spread {
    /// The spread of a non-empty set.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let part =
            |percent: usize| sorted.get(sorted.len() * percent / 100).copied().unwrap_or(f64::NAN);
        Self { low: part(5), median: part(50), high: part(95) }
    }

    /// Whether a value is between the bounds.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The percentage of a set that is at most a value.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "far below 2^52 of them")]
pub fn rank(values: &[f64], value: f64) -> f64 {
    let below = values.iter().filter(|other| **other <= value).count();
    100.0 * below as f64 / values.len() as f64
}
