//! Several keys for one call: credentials to choose from, and limits in layers.

use core::borrow::Borrow;

use super::Keyed;
use crate::gate::Permit;
use crate::law::Law;
use crate::outcome::{Outcome, Reply};
use crate::policy::Policy;
use crate::time::Instant;
use crate::verdict::{Call, Decision, Reason, Verdict};

impl<K: Clone + Eq, L: Law, const KEYS: usize, const LIMITS: usize, P> Keyed<K, L, KEYS, LIMITS, P>
where
    P: Borrow<Policy<L, LIMITS>> + Copy,
{
    /// The key under which `call` can be sent first, for example one of several credentials. If two
    /// are equal, the one with fewer calls in flight, then the earlier one. Charges nothing. `None`
    /// if `keys` is empty.
    ///
    /// ```
    /// use tidegate::law::Adaptive;
    /// use tidegate::{Call, Decision, Hint, Instant, Keyed, Outcome, Policy, Span};
    ///
    /// let now = Instant::ZERO;
    /// let mut gates: Keyed<&str, Adaptive, 4> = Keyed::new(Policy::new(Adaptive::DEFAULT), 7);
    /// let tokens = ["one", "two"];
    /// let Decision::Admit(permit) = gates.poll(now, &"one", &Call::new()) else { panic!() };
    /// let minute = Hint::retry_after(Span::from_secs(60));
    /// gates.settle(now, &"one", permit, Outcome::Throttled.with(minute));
    /// assert_eq!(gates.soonest(now, &tokens, &Call::new()), Some(&"two"));
    /// ```
    #[must_use]
    pub fn soonest<'a>(&self, now: Instant, keys: &'a [K], call: &Call<LIMITS>) -> Option<&'a K> {
        keys.iter().min_by_key(|key| {
            let gate = self.get(key);
            gate.map_or((Verdict::Admit, 0), |gate| (gate.check(now, call), gate.in_flight()))
        })
    }

    /// [`poll`](Self::poll) for a call that counts against the limits of all `keys`, which must
    /// differ: for example those of an account, a model and a route. All are checked before any is
    /// charged. Each key has its own permit.
    ///
    /// ```
    /// use tidegate::law::Fixed;
    /// use tidegate::{Call, Decision, Instant, Keyed, Outcome, Policy, Quota};
    ///
    /// let (now, call) = (Instant::ZERO, Call::new());
    /// let policy = Policy::new(Fixed::new(Quota::per_second(1).unwrap()));
    /// let mut gates: Keyed<&str, Fixed, 4> = Keyed::new(policy, 7);
    /// let [small, large] = [["account", "small"], ["account", "large"]];
    /// let Decision::Admit(permits) = gates.poll_all(now, &small, &call) else { panic!() };
    /// // The account has to wait, and the other model is not charged for that.
    /// assert!(matches!(gates.poll_all(now, &large, &call), Decision::Wait(_)));
    /// assert!(matches!(gates.poll(now, &"large", &call), Decision::Admit(_)));
    /// gates.settle_all(now, &small, permits, [Outcome::Ok.into(); 2]);
    /// ```
    pub fn poll_all<const LAYERS: usize>(
        &mut self,
        now: Instant,
        keys: &[K; LAYERS],
        call: &Call<LIMITS>,
    ) -> Decision<[Permit<LIMITS>; LAYERS]> {
        const { assert!(LAYERS <= KEYS, "the table has no room for the layers of one call") };
        let mut verdict = Verdict::Admit;
        // Adding one layer must not evict another layer of the same call.
        let kept = self.uses;
        for key in keys {
            let _ = self.get_mut(key);
        }
        for key in keys {
            let of_key = match self.entry_beside(now, key, kept) {
                Ok(gate) => match gate.check(now, call) {
                    Verdict::Admit => Verdict::Admit,
                    // Those that delay the call learn that it waited.
                    of_key => {
                        let _ = gate.poll(now, call);
                        of_key
                    }
                },
                Err(until) if until > call.not_after() => Verdict::Reject(Reason::Late(until)),
                Err(until) => Verdict::Wait(until),
            };
            verdict = verdict.max(of_key);
        }
        match verdict {
            Verdict::Admit => Decision::Admit(keys.each_ref().map(|key| {
                self.get_mut(key).map_or(Permit::UNKNOWN, |gate| gate.charge(now, call))
            })),
            Verdict::Wait(until) => Decision::Wait(until),
            Verdict::Full => Decision::Full,
            Verdict::Reject(reason) => Decision::Reject(reason),
        }
    }

    /// [`settle`](Self::settle) for a call of [`poll_all`](Self::poll_all), with the server's hints
    /// for each limit. If the call was throttled and hints say which limits are used up, it counts
    /// only against these.
    pub fn settle_all<const LAYERS: usize>(
        &mut self,
        now: Instant,
        keys: &[K; LAYERS],
        permits: [Permit<LIMITS>; LAYERS],
        replies: [Reply<LIMITS>; LAYERS],
    ) {
        let blame = permits.iter().zip(&replies).any(|(permit, reply)| permit.is_blamed_by(reply));
        for ((key, permit), mut reply) in keys.iter().zip(permits).zip(replies) {
            if blame && reply.outcome == Outcome::Throttled && !permit.is_blamed_by(&reply) {
                // The charge stays, and there is nothing to learn.
                reply = Outcome::Abandoned.into();
            }
            self.settle(now, key, permit, reply);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::ConcurrencyLimit;
    use crate::hint::Hint;
    use crate::law::{Adaptive, Fixed};
    use crate::rate::Quota;
    use crate::time::Span;

    const NOW: Instant = Instant::ZERO;

    fn permits<K: Clone + Eq, L: Law + Copy, const KEYS: usize, const LAYERS: usize>(
        gates: &mut Keyed<K, L, KEYS>,
        keys: &[K; LAYERS],
    ) -> [Permit; LAYERS] {
        let Decision::Admit(permits) = gates.poll_all(NOW, keys, &Call::new()) else {
            panic!("it has to wait")
        };
        permits
    }

    #[test]
    fn the_longest_wait_of_all_layers_applies_and_none_is_charged_before() {
        let policy = Policy::new(Fixed::new(Quota::per_second(2).unwrap().with_burst(2).unwrap()));
        let mut gates: Keyed<&str, Fixed, 4> = Keyed::new(policy, 7);
        let slow = Policy::new(Fixed::new(Quota::per_minute(1).unwrap()));
        gates.entry(NOW, &"route").unwrap().set_policy(slow, NOW);
        let layers = ["account", "model", "route"];
        let _ = permits(&mut gates, &layers);
        let minute = NOW.saturating_add(Span::from_secs(60));
        for _ in 0..9 {
            assert_eq!(gates.poll_all(NOW, &layers, &Call::new()), Decision::Wait(minute));
        }
        // The other two each have room for one more call.
        let _ = permits(&mut gates, &["account", "model"]);
        let half = NOW.saturating_add(Span::from_millis(500));
        assert_eq!(gates.poll_all(NOW, &["account", "other"], &Call::new()), Decision::Wait(half));
        let late = Call::new().deadline(half);
        let rejection = Decision::Reject(Reason::Late(minute));
        assert_eq!(gates.poll_all(NOW, &layers, &late), rejection);
    }

    #[test]
    fn a_layer_does_not_evict_another_of_the_same_call() {
        let policy = Policy::new(Fixed::new(Quota::per_second(9).unwrap().with_burst(9).unwrap()));
        let mut gates: Keyed<&str, Fixed, 3> = Keyed::new(policy, 7);
        let _ = permits(&mut gates, &["account"]);
        let _ = permits(&mut gates, &["busy", "busy too"]);
        // The account, which is the least recently used, comes after a model for which the table
        // has no room.
        let _ = permits(&mut gates, &["model", "account"]);
        for (key, calls) in [("account", 2), ("model", 1)] {
            assert_eq!(gates.get(&key).map(|gate| gate.in_flight()), Some(calls), "{key}");
        }
        // As many layers as the table has room for replace all that were there before.
        let layers = ["one", "two", "three"];
        let _ = permits(&mut gates, &layers);
        assert!(layers.iter().all(|key| gates.get(key).is_some()));
    }

    #[test]
    fn a_throttled_call_counts_against_the_exhausted_layer() {
        let mut gates: Keyed<&str, Adaptive, 4> = Keyed::new(Policy::new(Adaptive::DEFAULT), 7);
        let layers = ["account", "model"];
        let used = permits(&mut gates, &layers);
        let minute = Hint::retry_after(Span::from_secs(60));
        let said = [minute.and_remaining(700), minute.and_remaining(0)];
        gates.settle_all(NOW, &layers, used, said.map(|hint| Outcome::Throttled.with(hint)));
        assert!(matches!(gates.poll(NOW, &"account", &Call::new()), Decision::Admit(_)));
        assert!(matches!(gates.poll_all(NOW, &layers, &Call::new()), Decision::Wait(_)));
        assert_eq!(gates.get(&"account").map(|gate| gate.in_flight()), Some(1));
        // If no hint says which limit it was, all have to wait.
        let layers = ["account", "another"];
        let used = permits(&mut gates, &layers);
        gates.settle_all(NOW, &layers, used, [Outcome::Throttled.with(minute); 2]);
        for key in layers {
            assert!(!matches!(gates.poll(NOW, &key, &Call::new()), Decision::Admit(_)), "{key}");
        }
    }

    #[test]
    fn soonest_chooses_the_credential_that_admits_first() {
        let mut gates: Keyed<u8, Adaptive, 4> = Keyed::new(Policy::new(Adaptive::DEFAULT), 7);
        let soonest =
            |gates: &Keyed<u8, Adaptive, 4>| gates.soonest(NOW, &[1, 2, 3], &Call::new()).copied();
        assert_eq!(gates.soonest(NOW, &[], &Call::new()), None);
        for expected in [1, 2, 3, 1] {
            assert_eq!(soonest(&gates), Some(expected), "one with fewer calls in flight");
            let _ = permits(&mut gates, &[expected]);
        }
        let mut gates: Keyed<u8, Adaptive, 4> = Keyed::new(Policy::new(Adaptive::DEFAULT), 7);
        for (key, seconds) in [(1, 90), (2, 60), (3, 30)] {
            let used = permits(&mut gates, &[key]);
            let wait = Hint::retry_after(Span::from_secs(seconds));
            gates.settle_all(NOW, &[key], used, [Outcome::Throttled.with(wait)]);
        }
        assert_eq!(soonest(&gates), Some(3));
        let one = ConcurrencyLimit::new(1, Span::from_secs(600)).unwrap();
        gates.get_mut(&3).unwrap().set_concurrency(one, NOW);
        let _ = gates.get_mut(&3).unwrap().charge(NOW, &Call::new());
        assert_eq!(soonest(&gates), Some(2), "the wait for a place is unknown");
    }
}
