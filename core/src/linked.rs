//! Settings with the code that they need.

use core::fmt;

/// A setting, and the function that follows it.
///
/// A policy refers to the function, so a program whose policies are constants links it only if one of them has the
/// setting.
#[derive(Clone, Copy)]
pub(crate) struct Linked<T, F> {
    pub(crate) setting: T,
    pub(crate) follow: F,
}

impl<T: PartialEq, F> PartialEq for Linked<T, F> {
    fn eq(&self, other: &Self) -> bool {
        self.setting == other.setting
    }
}

impl<T: Eq, F> Eq for Linked<T, F> {}

impl<T: fmt::Debug, F> fmt::Debug for Linked<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.setting.fmt(f)
    }
}

#[cfg(feature = "defmt")]
impl<T: defmt::Format, F> defmt::Format for Linked<T, F> {
    fn format(&self, f: defmt::Formatter<'_>) {
        self.setting.format(f);
    }
}

#[cfg(test)]
mod tests {
    use crate::backoff::{Backoff, Growth, Jitter};
    use crate::law::Adaptive;
    use crate::{Policy, Ratio, Span};

    #[test]
    fn policies_with_another_setting_are_not_equal() {
        let policy = Policy::new(Adaptive::DEFAULT);
        assert_eq!(policy, policy.backoff(Some(Backoff::DEFAULT)));
        let double = Growth::Exponential(Ratio::new(2, 1).unwrap());
        let [base, most] = [1, 20].map(Span::from_secs);
        let slow = Backoff::new(double, Jitter::Full, base, most).unwrap();
        assert_ne!(policy, policy.backoff(Some(slow)));
    }
}
