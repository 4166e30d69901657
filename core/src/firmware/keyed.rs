//! Keyed: a controller for each host, token or operation, in a table of fixed size.

use core::borrow::Borrow;
use core::num::NonZeroU16;

use heapless::Vec;

use crate::controller::Controller;
use crate::law::Record;
use crate::law::{AnyLaw, Law};
use crate::outcome::AsReply;
use crate::permit::Permit;
use crate::policy::Policy;
use crate::rng::Rng;
use crate::snapshot::SnapshotError;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Decision, Reason};

/// A bounded table of independent controllers, one for each key.
///
/// A program that calls several APIs, or one API with several tokens, has a separate limit for
/// each. The table holds `KEYS` controllers and does not allocate. [`poll`](Self::poll) adds a key
/// with a new controller. If the table is full, it evicts the least recently used key, preferably
/// one without calls in flight. It never evicts a key under a cooldown: if all keys are, a new key
/// waits until the first cooldown ends.
///
/// Lookup is linear, so use this table for dozens of keys. For thousands, use a map of
/// [`Controller`]s.
///
/// ```
/// use tidegate::law::Adaptive;
/// use tidegate::{Call, Decision, Hint, Instant, Outcome, Policy, Span, firmware::Keyed};
///
/// let now = Instant::ZERO;
/// let mut gates: Keyed<&str, Adaptive, 4> = Keyed::new(Policy::new(Adaptive::DEFAULT), 7);
/// let Decision::Admit(permit) = gates.poll(now, &"api.example.com", &Call::new()) else { panic!() };
/// let wait = Hint::retry_after(Span::from_secs(2));
/// gates.settle(now, &"api.example.com", permit, Outcome::Throttled.with(wait));
/// // A throttled call delays no other API.
/// assert!(matches!(gates.poll(now, &"api.example.com", &Call::new()), Decision::Wait(_)));
/// assert!(matches!(gates.poll(now, &"api.example.org", &Call::new()), Decision::Admit(_)));
/// assert_eq!(gates.len(), 2);
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Keyed<
    K,
    L: Law = AnyLaw,
    const KEYS: usize = 8,
    const LIMITS: usize = 1,
    P = Policy<L, LIMITS>,
> {
    policy: P,
    /// The concurrency limit that replaces the policy's.
    concurrency: Option<NonZeroU16>,
    entries: Vec<Entry<K, Controller<L, LIMITS, P>>, KEYS>,
    /// Number of uses of all keys. It orders the keys by their latest use.
    uses: u64,
    evicted: u32,
    seeds: Rng,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Entry<K, C> {
    key: K,
    controller: C,
    used: u64,
}

impl<K: Clone + Eq, L: Law, const KEYS: usize, const LIMITS: usize, P> Keyed<K, L, KEYS, LIMITS, P>
where
    P: Borrow<Policy<L, LIMITS>> + Copy,
{
    /// Creates an empty table whose controllers follow `policy`.
    ///
    /// `seed` must differ between the clients of a fleet, so that their jitter differs. Each key
    /// draws its own seed from it. See [`rng`](crate::rng) for sources.
    #[must_use]
    pub fn new(policy: P, seed: u64) -> Self {
        const { assert!(KEYS > 0, "a table needs room for at least one controller") };
        let (entries, seeds) = (Vec::new(), Rng::new(seed));
        Self { policy, concurrency: None, entries, uses: 0, evicted: 0, seeds }
    }

    /// Calls [`Controller::poll`] for `key`. Creates the controller if there is none.
    pub fn poll(&mut self, now: Instant, key: &K, call: &Call<LIMITS>) -> Decision<Permit<LIMITS>> {
        match self.entry(now, key) {
            Ok(controller) => controller.poll(now, call),
            Err(until) if until > call.not_after() => Decision::Reject(Reason::Late(until)),
            Err(until) => Decision::Wait(until),
        }
    }

    /// The controller of `key`, created if there is none.
    ///
    /// # Errors
    /// When the first cooldown ends, if the table is full of keys under a cooldown.
    pub fn entry(
        &mut self,
        now: Instant,
        key: &K,
    ) -> Result<&mut Controller<L, LIMITS, P>, Instant> {
        self.entry_beside(now, key, u64::MAX)
    }

    /// [`entry`](Self::entry), without the eviction of keys that were used after `kept`, a count of
    /// uses.
    fn entry_beside(
        &mut self,
        now: Instant,
        key: &K,
        kept: u64,
    ) -> Result<&mut Controller<L, LIMITS, P>, Instant> {
        let index = self.admit(key, now, kept)?;
        self.uses = self.uses.saturating_add(1);
        let entry = self.entries.get_mut(index).ok_or(now)?; // it was added above
        entry.used = self.uses;
        Ok(&mut entry.controller)
    }

    /// Calls [`Controller::settle`] for `key`. Does nothing if the key was evicted in the meantime.
    pub fn settle(
        &mut self,
        now: Instant,
        key: &K,
        permit: Permit<LIMITS>,
        reply: impl AsReply<LIMITS>,
    ) {
        if let Some(controller) = self.get_mut(key) {
            controller.settle(now, permit, reply);
        }
    }

    /// Calls [`Controller::retry`] for `key`. Creates the controller if there is none.
    ///
    /// # Errors
    /// Those of [`Controller::retry`], and [`Reason::Late`] if all keys in the table are under a
    /// cooldown.
    pub fn retry(
        &mut self,
        now: Instant,
        key: &K,
        call: &Call<LIMITS>,
        reply: impl AsReply<LIMITS>,
    ) -> Result<Call<LIMITS>, Reason> {
        self.entry(now, key).map_err(Reason::Late)?.retry(now, call, reply)
    }

    /// Calls [`Controller::set_policy`] for all controllers, including those of future keys.
    pub fn set_policy(&mut self, policy: P, now: Instant)
    where
        L: PartialEq,
    {
        (self.policy, self.concurrency) = (policy, None);
        for entry in &mut self.entries {
            entry.controller.set_policy(policy, now);
        }
    }

    /// Calls [`Controller::set_concurrency`] for all controllers, including those of future keys.
    /// For a single key, use [`get_mut`](Self::get_mut).
    pub fn set_concurrency(&mut self, limit: NonZeroU16) {
        self.concurrency = Some(limit);
        for entry in &mut self.entries {
            entry.controller.set_concurrency(limit);
        }
    }

    /// The controller of `key`, or `None` if it is not in the table. This does not count as a use
    /// of the key.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&Controller<L, LIMITS, P>> {
        self.entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.controller)
    }

    /// The controller of `key`, for changes to its concurrency limit or policy. `None` if it is not
    /// in the table.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut Controller<L, LIMITS, P>> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == *key)?;
        self.uses = self.uses.saturating_add(1);
        entry.used = self.uses;
        Some(&mut entry.controller)
    }

    /// All keys with their controllers, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &Controller<L, LIMITS, P>)> {
        self.entries.iter().map(|entry| (&entry.key, &entry.controller))
    }

    /// Number of keys in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of evicted keys. If it keeps rising, the table is too small: controllers are evicted
    /// before they have learned.
    #[must_use]
    pub const fn evicted(&self) -> u32 {
        self.evicted
    }

    /// Adds `key` if it is missing, and returns its index, or the time at which a key may be
    /// evicted.
    fn admit(&mut self, key: &K, now: Instant, kept: u64) -> Result<usize, Instant> {
        if let Some((index, _)) = (0..KEYS).zip(&self.entries).find(|(_, entry)| entry.key == *key)
        {
            return Ok(index);
        }
        let goes = if self.entries.is_full() { Some(self.oldest(now, kept)?) } else { None };
        let mut controller = Controller::new(self.policy, self.seed(), now);
        self.apply_concurrency(&mut controller);
        let entry = Entry { key: key.clone(), controller, used: self.uses };
        match goes.and_then(|index| self.entries.get_mut(index)) {
            Some(place) => {
                *place = entry;
                self.evicted = self.evicted.saturating_add(1);
            }
            None => _ = self.entries.push(entry),
        }
        Ok(goes.unwrap_or(self.entries.len().saturating_sub(1)))
    }

    /// The key to evict, among those not used after `kept`, or when there may be one.
    fn oldest(&self, now: Instant, kept: u64) -> Result<usize, Instant> {
        let (mut oldest, mut least, mut first) = (None, u64::MAX, Instant::MAX);
        for (index, entry) in (0..KEYS).zip(&self.entries) {
            let until = entry.controller.cooldown_until();
            if until > now {
                first = first.min(until);
                continue;
            }
            if entry.used > kept {
                continue;
            }
            // Keys with calls in flight come last.
            let order = entry.used | u64::from(entry.controller.in_flight() > 0) << 63;
            if order < least {
                (oldest, least) = (Some(index), order);
            }
        }
        oldest.ok_or(first)
    }

    /// Applies the concurrency limit that was set for all keys.
    fn apply_concurrency(&self, controller: &mut Controller<L, LIMITS, P>) {
        if let Some(limit) = self.concurrency {
            controller.set_concurrency(limit);
        }
    }

    /// The seed of the next key.
    fn seed(&mut self) -> u64 {
        u64::from(self.seeds.next_u32()) << 32 | u64::from(self.seeds.next_u32())
    }
}

impl<K: Clone + Eq, L: Record, const KEYS: usize, const LIMITS: usize, P>
    Keyed<K, L, KEYS, LIMITS, P>
where
    P: Borrow<Policy<L, LIMITS>> + Copy,
{
    /// Calls [`Controller::restore`] for `key` with the table's policy. Adds the key if it is
    /// missing. To take the snapshot of a key, use [`get`](Self::get)`(key)` and
    /// [`Controller::snapshot`].
    ///
    /// ```
    /// use tidegate::law::Adaptive;
    /// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Span, firmware::Keyed};
    ///
    /// type Gates = Keyed<&'static str, Adaptive>;
    /// let (policy, now) = (Policy::new(Adaptive::DEFAULT), Instant::from_nanos(1_000_000_000));
    /// let mut gates = Gates::new(policy, 7);
    /// let Decision::Admit(permit) = gates.poll(now, &"api", &Call::new()) else { panic!() };
    /// gates.settle(now, &"api", permit, Outcome::Throttled);
    /// let mut record = [0; Controller::<Adaptive>::SNAPSHOT_BYTES];
    /// gates.get(&"api").unwrap().snapshot(now, &mut record).unwrap();
    ///
    /// let mut again = Gates::new(policy, 8);
    /// again.restore(now, &"api", &record, Span::ZERO).unwrap();
    /// let rates = [&again, &gates].map(|gates| gates.get(&"api").unwrap().intervals(now).next());
    /// assert_eq!(rates[0], rates[1]);
    /// ```
    ///
    /// # Errors
    /// Those of [`Controller::restore`], and [`SnapshotError::NoRoom`] if the table is full of keys
    /// under a cooldown. The table is then unchanged.
    pub fn restore(
        &mut self,
        now: Instant,
        key: &K,
        record: &[u8],
        away: Span,
    ) -> Result<(), SnapshotError> {
        let seed = self.seed();
        let mut restored = Controller::restore(self.policy, seed, record, now, away)?;
        self.apply_concurrency(&mut restored);
        let entry = self.entry(now, key).map_err(|_| SnapshotError::NoRoom)?;
        restored.take_over(entry);
        *entry = restored;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint::Hint;
    use crate::law::Fixed;
    use crate::outcome::Outcome;
    use crate::rate::Quota;
    use crate::time::Span;
    use proptest::prelude::*;
    use std::vec::Vec;

    type Table = Keyed<u8, Fixed, 3>;

    fn table() -> Table {
        Keyed::new(Policy::new(Fixed::new(Quota::per_second(1).unwrap())), 9)
    }

    fn admit(table: &mut Table, key: u8) -> Permit {
        let Decision::Admit(permit) = table.poll(Instant::ZERO, &key, &Call::new()) else {
            panic!("key {key} has to wait")
        };
        permit
    }

    #[test]
    fn the_least_recently_used_key_is_evicted() {
        let mut table = table();
        for (len, key) in [1, 2, 3].into_iter().enumerate() {
            assert_eq!((table.len(), table.is_empty()), (len, len == 0));
            let permit = admit(&mut table, key);
            table.settle(Instant::ZERO, &key, permit, Outcome::Ok);
        }
        // Two is now the least recently used; a lookup does not change that.
        let _ = table.poll(Instant::ZERO, &1, &Call::new());
        assert!(table.get(&2).is_some());
        let _ = admit(&mut table, 4);
        let keys: Vec<u8> = table.iter().map(|(key, _)| *key).collect();
        assert!(!keys.contains(&2) && keys.len() == 3, "{keys:?}");
        assert_eq!(table.evicted(), 1);
    }

    #[test]
    fn a_key_with_calls_in_flight_is_evicted_last() {
        let mut table = table();
        let first = admit(&mut table, 1);
        for key in [2, 3] {
            let permit = admit(&mut table, key);
            table.settle(Instant::ZERO, &key, permit, Outcome::Ok);
        }
        let _ = admit(&mut table, 4);
        assert_eq!(table.get(&1).map(Controller::in_flight), Some(1));
        table.settle(Instant::ZERO, &1, first, Outcome::Ok);
        // If all keys have calls in flight, the least recently used is evicted.
        let mut full = self::table();
        let late = admit(&mut full, 1);
        let _ = (admit(&mut full, 2), admit(&mut full, 3), admit(&mut full, 4));
        assert!(full.get(&1).is_none());
        // Its call settles later, when the key has a new controller.
        let _ = admit(&mut full, 1);
        full.settle(Instant::ZERO, &1, late, Outcome::Ok);
        assert_eq!(
            full.get(&1).map(Controller::in_flight),
            Some(1),
            "the place belongs to another call"
        );
    }

    #[test]
    fn a_key_under_a_cooldown_is_evicted_last() {
        let mut table = table();
        for key in [1, 2, 3] {
            let permit = admit(&mut table, key);
            let reply = match key {
                1 => Outcome::Throttled.with(Hint::retry_after(Span::from_secs(60))),
                _ => Outcome::Ok.into(),
            };
            table.settle(Instant::ZERO, &key, permit, reply);
        }
        for key in [4, 5, 6] {
            let permit = admit(&mut table, key);
            table.settle(Instant::ZERO, &key, permit, Outcome::Ok);
        }
        let later = Instant::ZERO + Span::from_secs(59);
        assert!(matches!(table.poll(later, &1, &Call::new()), Decision::Wait(_)));
    }

    #[test]
    fn a_new_key_waits_until_the_first_cooldown_ends_if_all_keys_have_one() {
        let mut table = table();
        for key in [1, 2, 3] {
            let permit = admit(&mut table, key);
            let asked = Hint::retry_after(Span::from_secs(600 * u64::from(key)));
            table.settle(Instant::ZERO, &key, permit, Outcome::Throttled.with(asked));
        }
        let Decision::Wait(until) = table.poll(Instant::ZERO, &4, &Call::new()) else { panic!() };
        let asked = Instant::ZERO + Span::from_secs(600);
        assert!(until >= asked && until < asked + Span::from_secs(76));
        let hasty = Call::new().deadline(until - Span::from_nanos(1));
        let (in_time, reason) = (Call::new().deadline(until), Reason::Late(until));
        assert_eq!(table.poll(Instant::ZERO, &4, &in_time), Decision::Wait(until));
        assert_eq!(table.poll(Instant::ZERO, &4, &hasty), Decision::Reject(reason));
        let retry = table.retry(Instant::ZERO, &4, &Call::new(), Outcome::Failed);
        assert_eq!(retry, Err(Reason::Late(until)));
        let mut record = [0; Controller::<Fixed>::SNAPSHOT_BYTES];
        table.get(&1).unwrap().snapshot(Instant::ZERO, &mut record).unwrap();
        let restored = table.restore(Instant::ZERO, &4, &record, Span::ZERO);
        assert_eq!((restored, table.evicted()), (Err(SnapshotError::NoRoom), 0));
        assert!(matches!(table.poll(until, &4, &Call::new()), Decision::Admit(_)));
        assert!(table.get(&1).is_none() && table.get(&2).is_some() && table.get(&3).is_some());
    }

    #[test]
    fn keys_draw_different_seeds() {
        let seeds = [(); 2].map(|()| table().seed());
        assert!(seeds.map(|seed| seed >> 32 != 0 && seed << 32 != 0) == [true; 2], "{seeds:?}");
        let mut table: Keyed<u8> = Keyed::new(Policy::named("backoff").unwrap(), 9);
        let waits: Vec<Instant> = (0..8)
            .map(|key| {
                let retry = table.retry(Instant::ZERO, &key, &Call::new(), Outcome::Failed);
                retry.unwrap().not_before()
            })
            .collect();
        assert!((1..8).any(|key| waits[key] != waits[0]), "{waits:?}");
    }

    #[test]
    fn a_new_policy_applies_to_present_and_future_keys() {
        let mut table = table();
        let permit = admit(&mut table, 1);
        table.settle(Instant::ZERO, &1, permit, Outcome::Ok);
        table.set_policy(Policy::new(Fixed::UNLIMITED), Instant::ZERO);
        table.set_concurrency(NonZeroU16::MIN);
        let mut record = [0; Controller::<Fixed>::SNAPSHOT_BYTES];
        table.get(&1).unwrap().snapshot(Instant::ZERO, &mut record).unwrap();
        table.restore(Instant::ZERO, &3, &record, Span::ZERO).unwrap();
        for key in [1, 2, 3] {
            let _permit = admit(&mut table, key);
            assert_eq!(table.poll(Instant::ZERO, &key, &Call::new()), Decision::Full);
        }
    }

    #[test]
    fn a_restored_key_continues_and_a_damaged_record_changes_nothing() {
        let mut before = table();
        let _ = admit(&mut before, 1);
        let mut record = [0; Controller::<Fixed>::SNAPSHOT_BYTES];
        before.get(&1).unwrap().snapshot(Instant::ZERO, &mut record).unwrap();
        let mut after = table();
        let late = admit(&mut after, 1);
        after.restore(Instant::ZERO, &1, &record, Span::ZERO).unwrap();
        assert!(matches!(after.poll(Instant::ZERO, &1, &Call::new()), Decision::Wait(_)));
        after.settle(Instant::ZERO, &1, late, Outcome::Ok);
        assert_eq!(after.get(&1).map(Controller::in_flight), Some(0));
        record[9] ^= 1;
        let damaged = after.restore(Instant::ZERO, &2, &record, Span::ZERO);
        assert_eq!((damaged, after.len()), (Err(SnapshotError::Damaged), 1));
    }

    proptest! {
        #[test]
        fn each_key_has_its_own_controller_while_there_is_room(
            events in prop::collection::vec((0..3u8, 0..2_000u64, any::<bool>()), 1..200),
        ) {
            let quota = Quota::per_second(1).unwrap();
            let policy = Policy::new(Fixed::new(quota));
            let mut table = table();
            let mut alone = [(); 3].map(|()| Controller::<Fixed>::new(policy, 0, Instant::ZERO));
            let mut now = Instant::ZERO;
            for (key, pass, settles) in events {
                now += Span::from_millis(pass);
                let gate = &mut alone[usize::from(key)];
                match (table.poll(now, &key, &Call::new()), gate.poll(now, &Call::new())) {
                    (Decision::Admit(here), Decision::Admit(there)) => if settles {
                        table.settle(now, &key, here, Outcome::Ok);
                        gate.settle(now, there, Outcome::Ok);
                    },
                    (here, there) => prop_assert_eq!(here, there),
                }
            }
            prop_assert_eq!(table.evicted(), 0);
        }
    }
}
