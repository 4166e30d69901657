//! Keyed: a controller for each host, token or operation, in a table that does not grow.

use heapless::Vec;

use crate::controller::Controller;
use crate::gate::Permit;
use crate::law::{AnyLaw, Law};
use crate::outcome::Reply;
use crate::policy::Policy;
use crate::rng::Rng;
use crate::time::Instant;
use crate::verdict::{Ask, Decision};

/// A bounded table of controllers, each with its key and no other tie.
///
/// Whoever calls several APIs, or one API under several tokens, has a limit for each, and what one
/// of them says must not slow the others. The table holds `KEYS` of them and allocates nothing. A
/// key is let in by [`poll`](Self::poll), with a controller that knows nothing yet. Where the table
/// is full, the key that was used longest ago goes, and one with calls in flight only where all
/// have some.
///
/// Finding a key takes a step for each key that is there, so this is for dozens; a frontend that
/// serves thousands keeps a map of its own, with a [`Controller`] in each place.
///
/// ```
/// use tidegate::law::Adaptive;
/// use tidegate::{Ask, Decision, Instant, Keyed, Outcome, Policy};
///
/// let now = Instant::ZERO;
/// let mut gates: Keyed<&str, Adaptive, 4> = Keyed::new(Policy::new(Adaptive::DEFAULT), 7);
/// let Decision::Go(permit) = gates.poll(now, &"api.example.com", &Ask::new()) else { panic!() };
/// gates.settle(now, &"api.example.com", permit, Outcome::Throttled);
/// // What one API refuses does not hold another back.
/// assert!(matches!(gates.poll(now, &"api.example.com", &Ask::new()), Decision::Wait(_)));
/// assert!(matches!(gates.poll(now, &"api.example.org", &Ask::new()), Decision::Go(_)));
/// assert_eq!(gates.len(), 2);
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Keyed<
    K,
    L: Law = AnyLaw,
    const KEYS: usize = 8,
    const LIMITS: usize = 1,
    const SLOTS: usize = 32,
> {
    policy: Policy<L, LIMITS>,
    entries: Vec<Entry<K, L, LIMITS, SLOTS>, KEYS>,
    /// How often any key was used: the clock that tells which was used longest ago.
    uses: u64,
    evicted: u32,
    /// No key that has gone has handed out a permit with this number, or with a later one.
    fresh_number: u32,
    seeds: Rng,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Entry<K, L: Law, const LIMITS: usize, const SLOTS: usize> {
    key: K,
    controller: Controller<L, LIMITS, SLOTS>,
    used: u64,
}

impl<K: Clone + Eq, L: Law + Copy, const KEYS: usize, const LIMITS: usize, const SLOTS: usize>
    Keyed<K, L, KEYS, LIMITS, SLOTS>
{
    /// An empty table, whose controllers will all follow `policy`.
    ///
    /// `seed` spreads this client's waits against those of its fleet, and every key draws a seed of
    /// its own from it; see [`rng`](crate::rng) for what to feed it.
    #[must_use]
    pub fn new(policy: Policy<L, LIMITS>, seed: u64) -> Self {
        const { assert!(KEYS > 0, "a table of controllers has room for one at least") };
        Self {
            policy,
            entries: Vec::new(),
            uses: 0,
            evicted: 0,
            fresh_number: 0,
            seeds: Rng::new(seed),
        }
    }

    /// [`Controller::poll`] of the controller of `key`, which is made where there is none.
    pub fn poll(&mut self, now: Instant, key: &K, ask: &Ask<LIMITS>) -> Decision {
        self.admit(key, now);
        match self.get_mut(key) {
            Some(controller) => controller.poll(now, ask),
            None => Decision::Full, // not reached: it has been let in
        }
    }

    /// [`Controller::settle`] of the controller of `key`. Where the key has gone meanwhile, what the
    /// call would have taught goes with it.
    pub fn settle(
        &mut self,
        now: Instant,
        key: &K,
        permit: Permit,
        reply: impl Into<Reply<LIMITS>>,
    ) {
        if let Some(controller) = self.get_mut(key) {
            controller.settle(now, permit, reply);
        }
    }

    /// [`Controller::retry`] of the controller of `key`, which is made where there is none.
    pub fn retry(
        &mut self,
        now: Instant,
        key: &K,
        ask: &Ask<LIMITS>,
        reply: impl Into<Reply<LIMITS>>,
    ) -> Option<Ask<LIMITS>> {
        self.admit(key, now);
        self.get_mut(key)?.retry(now, ask, reply)
    }

    /// The controller of `key`, to look at; `None` where it is not in the table. Looking is no use.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&Controller<L, LIMITS, SLOTS>> {
        self.entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.controller)
    }

    /// The controller of `key`, to set its window or policy; `None` where it is not in the table.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut Controller<L, LIMITS, SLOTS>> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == *key)?;
        self.uses = self.uses.saturating_add(1);
        entry.used = self.uses;
        Some(&mut entry.controller)
    }

    /// Every key with its controller, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &Controller<L, LIMITS, SLOTS>)> {
        self.entries.iter().map(|entry| (&entry.key, &entry.controller))
    }

    /// How many keys are in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key has been used yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many keys had to go for others. Where it rises all the time, the table is too small: its
    /// controllers forget before they have learnt.
    #[must_use]
    pub const fn evicted(&self) -> u32 {
        self.evicted
    }

    /// Lets a key in, if it is not there.
    fn admit(&mut self, key: &K, now: Instant) {
        if self.get(key).is_some() {
            return;
        }
        let seed = u64::from(self.seeds.next_u32()) << 32 | u64::from(self.seeds.next_u32());
        let controller = Controller::new(self.policy, seed, now);
        let entry = Entry { key: key.clone(), controller, used: self.uses };
        let Err(mut entry) = self.entries.push(entry) else { return };
        let order = |entry: &Entry<_, L, _, _>| (entry.controller.has_calls(now), entry.used);
        if let Some(oldest) = self.entries.iter_mut().min_by_key(|entry| order(entry)) {
            // A late permit of a key that has gone must be unknown to whoever has the key then.
            self.fresh_number = self.fresh_number.max(oldest.controller.next_permit());
            entry.controller.number_permits_from(self.fresh_number);
            *oldest = entry;
            self.evicted = self.evicted.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Fixed;
    use crate::outcome::Outcome;
    use crate::rate::Quota;
    use crate::time::Span;
    use proptest::prelude::*;
    use std::vec::Vec;

    type Table = Keyed<u8, Fixed, 3, 1, 2>;

    fn table() -> Table {
        Keyed::new(Policy::new(Fixed::new(Quota::per_second(1).unwrap())), 9)
    }

    fn go(table: &mut Table, key: u8) -> Permit {
        let Decision::Go(permit) = table.poll(Instant::ZERO, &key, &Ask::new()) else {
            panic!("key {key} has to wait")
        };
        permit
    }

    #[test]
    fn the_key_that_was_used_longest_ago_makes_room() {
        let mut table = table();
        for key in [1, 2, 3] {
            let permit = go(&mut table, key);
            table.settle(Instant::ZERO, &key, permit, Outcome::Ok);
        }
        // Two is the oldest now; looking at it changes nothing.
        let _ = table.poll(Instant::ZERO, &1, &Ask::new());
        assert!(table.get(&2).is_some());
        let _ = go(&mut table, 4);
        let keys: Vec<u8> = table.iter().map(|(key, _)| *key).collect();
        assert!(!keys.contains(&2) && keys.len() == 3, "{keys:?}");
        assert_eq!(table.evicted(), 1);
    }

    #[test]
    fn a_key_with_calls_in_flight_goes_last() {
        let mut table = table();
        let first = go(&mut table, 1);
        for key in [2, 3] {
            let permit = go(&mut table, key);
            table.settle(Instant::ZERO, &key, permit, Outcome::Ok);
        }
        let _ = go(&mut table, 4);
        assert_eq!(table.get(&1).map(Controller::in_flight), Some(1));
        table.settle(Instant::ZERO, &1, first, Outcome::Ok);
        // Where all have some, the oldest goes all the same.
        let mut full = self::table();
        let late = go(&mut full, 1);
        let _ = (go(&mut full, 2), go(&mut full, 3), go(&mut full, 4));
        assert!(full.get(&1).is_none());
        // Its call comes back late, to a new controller of the same key: it is another call's.
        let _ = go(&mut full, 1);
        full.settle(Instant::ZERO, &1, late, Outcome::Ok);
        let gate = full.get(&1).unwrap();
        assert_eq!((gate.in_flight(), gate.stats().unknown), (1, 1));
    }

    #[test]
    fn a_call_that_was_lost_does_not_keep_its_key_for_good() {
        let mut table = table();
        let _ = (go(&mut table, 1), go(&mut table, 2), go(&mut table, 3));
        let later = Instant::ZERO.saturating_add(Span::from_secs(86_400));
        for key in [4, 5, 4, 5] {
            if let Decision::Go(permit) = table.poll(later, &key, &Ask::new()) {
                table.settle(later, &key, permit, Outcome::Ok);
            }
        }
        // Each came once, and the other did not have to go for it.
        assert_eq!(table.evicted(), 2);
        assert!(table.get(&4).is_some() && table.get(&5).is_some());
    }

    #[test]
    fn keys_draw_different_seeds() {
        let mut table: Keyed<u8> = Keyed::new(Policy::named("backoff").unwrap(), 9);
        let waits: Vec<Instant> = (0..8)
            .map(|key| {
                let retry = table.retry(Instant::ZERO, &key, &Ask::new(), Outcome::Failed);
                retry.unwrap().not_before()
            })
            .collect();
        assert!((1..8).any(|key| waits[key] != waits[0]), "{waits:?}");
    }

    proptest! {
        #[test]
        fn each_key_is_a_controller_by_itself_as_long_as_there_is_room(
            events in prop::collection::vec((0..3u8, 0..2_000u64, any::<bool>()), 1..200),
        ) {
            let quota = Quota::per_second(1).unwrap();
            let policy = Policy::new(Fixed::new(quota));
            let mut table = table();
            let mut alone = [(); 3].map(|()| Controller::<Fixed, 1, 2>::new(policy, 0, Instant::ZERO));
            let mut now = Instant::ZERO;
            for (key, pass, settles) in events {
                now = now.saturating_add(Span::from_millis(pass));
                let gate = &mut alone[usize::from(key)];
                match (table.poll(now, &key, &Ask::new()), gate.poll(now, &Ask::new())) {
                    (Decision::Go(here), Decision::Go(there)) => if settles {
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
