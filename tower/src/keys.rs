//! The bounded table of keys, with a lane for each.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LinkedHashMap;
use tidegate::law::AnyLaw;
use tidegate::{Instant, Policy, Rng, Span};

use crate::error::RestoreError;
use crate::lane::{Held, Lane};
use crate::shared::Shared;
use crate::stats::{self, Stats};
use crate::timer::{Timer, duration};

pub(crate) struct Keys<const LIMITS: usize, T: Timer> {
    pub(crate) shared: Arc<Shared<LIMITS, T>>,
    most: usize,
    table: Mutex<Table<LIMITS, T>>,
}

/// A key is found, added and evicted in constant time, or logarithmic where keys are under a cooldown.
struct Table<const LIMITS: usize, T: Timer> {
    policy: Policy<AnyLaw, LIMITS>,
    /// The keys that may be evicted, as far as is known, the least recently used first.
    free: LinkedHashMap<Arc<str>, Slot<LIMITS, T>, RandomState>,
    /// The keys that a call used or a cooldown kept when room was needed, and until when.
    kept: HashMap<Arc<str>, (Instant, Slot<LIMITS, T>)>,
    /// Those of `kept` that are under a cooldown, by its end.
    ends: BTreeSet<(Instant, Arc<str>)>,
    lanes: Slots<Arc<Lane<LIMITS, T>>>,
    seeds: Rng,
    /// The counters of evicted keys.
    past: tidegate::Stats,
}

/// The keys of a call. Most have one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) first: String,
    pub(crate) others: Vec<String>,
}

impl Names {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        iter::once(&self.first).chain(&self.others).map(String::as_str)
    }
}

/// The lanes of a call's keys: the first, and the others.
pub(crate) type Lanes<const LIMITS: usize, T> = (Held<LIMITS, T>, Vec<Held<LIMITS, T>>);

/// A lane, and where it is among the lanes.
type Slot<const LIMITS: usize, T> = (Arc<Lane<LIMITS, T>>, usize);

/// How many keys are looked at before the lock is released.
const LOOKS: usize = 32;

/// Look again at once: there were more than [`LOOKS`] keys.
const MORE: Instant = Instant::ZERO;

impl<const LIMITS: usize, T: Timer> Keys<LIMITS, T> {
    pub(crate) fn new(
        shared: Shared<LIMITS, T>,
        most: usize,
        policy: Policy<AnyLaw, LIMITS>,
        seed: u64,
    ) -> Self {
        let table = Table {
            policy,
            free: LinkedHashMap::default(),
            kept: HashMap::new(),
            ends: BTreeSet::new(),
            lanes: Slots::EMPTY,
            seeds: Rng::new(seed),
            past: tidegate::Stats::default(),
        };
        Self { shared: Arc::new(shared), most, table: Mutex::new(table) }
    }

    /// The lane of a key in the table.
    pub(crate) fn find(&self, key: &str) -> Option<Held<LIMITS, T>> {
        self.lock().find(key)
    }

    /// The lanes of a call's keys, if all are in the table.
    pub(crate) fn find_all(&self, names: &Names) -> Option<Lanes<LIMITS, T>> {
        self.lock().find_all(names)
    }

    /// The lanes of a call's keys, which are added if there is room. There is room at least for these. `Err` returns
    /// when to try again if no call ends until then.
    pub(crate) fn find_or_make(&self, names: &Names) -> Result<Lanes<LIMITS, T>, Instant> {
        self.with_room(|table| {
            for key in names.iter() {
                if table.get(key).is_none() {
                    let most = self.most.max(names.iter().count());
                    table.make(key, &self.shared, most, names)?;
                }
            }
            table.find_all(names).ok_or(Instant::MAX)
        })
    }

    /// Looks for room, with the lock released from time to time.
    fn with_room<R>(
        &self,
        mut act: impl FnMut(&mut Table<LIMITS, T>) -> Result<R, Instant>,
    ) -> Result<R, Instant> {
        loop {
            let done = act(&mut self.lock());
            if !matches!(done, Err(MORE)) {
                return done;
            }
        }
    }

    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        let lanes = {
            let mut table = self.lock();
            table.policy = policy;
            table.lanes.clone()
        };
        lanes.iter().for_each(|lane| lane.set_policy(policy));
        #[cfg(feature = "local")]
        if let Some(sharing) = &self.shared.sharing {
            sharing.set_policy(policy);
        }
        // It can end a cooldown.
        self.lock().put_back_until(Instant::MAX);
        self.shared.line.wake_first(None);
    }

    /// The counters of all keys, including evicted ones.
    pub(crate) fn stats(&self) -> Stats {
        let (past, keys, lanes) = {
            let table = self.lock();
            (table.past, table.len(), table.lanes.clone())
        };
        let mut all = Stats { counts: past, keys, ..Stats::default() };
        for lane in lanes.iter() {
            let one = lane.glance();
            stats::add(&mut all.counts, &one.counts);
            all.waiting += one.waiting;
            all.in_flight += one.in_flight;
            all.interval = all.interval.max(one.interval.map(duration));
            all.basis = all.basis.max(one.basis);
            #[cfg(feature = "local")]
            all.sharing.add(&one.sharing);
        }
        all
    }

    /// The snapshots of each key.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        let lanes = self.lock().lanes.clone();
        let snapshot = |lane: &Arc<Lane<_, _>>| Some((lane.key.to_string(), lane.snapshot()?));
        lanes.iter().filter_map(snapshot).collect()
    }

    /// Restores snapshots for keys that are idle and for which there is room. Returns their number.
    /// If one is damaged, nothing changes.
    pub(crate) fn restore(
        &self,
        records: &BTreeMap<String, Vec<u8>>,
        away: Span,
    ) -> Result<usize, RestoreError> {
        #[cfg(feature = "local")]
        if self.shared.sharing.is_some() {
            return Ok(0);
        }
        let mut table = self.lock();
        let mut restored = Vec::new();
        for (key, record) in records {
            let seed = table.seed();
            let key: Arc<str> = key.as_str().into();
            let shared = self.shared.clone();
            let lane = Lane::restore(key.clone(), shared, table.policy, seed, record, away);
            restored.push(lane.map_err(|reason| RestoreError { key, reason })?);
        }
        let mut count = 0;
        for lane in restored {
            let place = match table.get(&lane.key) {
                Some((lane, _)) => !lane.is_used(),
                None => loop {
                    match table.make_room(self.most, &self.shared, &Names::default()) {
                        Err(MORE) => {}
                        room => break room.is_ok(),
                    }
                },
            };
            if place {
                table.put(lane);
                count += 1;
            }
        }
        Ok(count)
    }

    /// Removes and returns the lanes of all keys.
    #[cfg(feature = "local")]
    pub(crate) fn take(&self) -> Vec<Arc<Lane<LIMITS, T>>> {
        let mut table = self.lock();
        table.put_back_until(Instant::MAX);
        let free = std::mem::take(&mut table.free).into_iter().map(|(_, slot)| slot);
        let kept = std::mem::take(&mut table.kept).into_values().map(|(_, slot)| slot);
        let all: Vec<_> = free.chain(kept).collect();
        let lanes = all.iter().map(|(lane, _)| lane.clone()).collect();
        all.into_iter().for_each(|slot| table.forget(slot));
        lanes
    }

    fn lock(&self) -> MutexGuard<'_, Table<LIMITS, T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<const LIMITS: usize, T: Timer> Table<LIMITS, T> {
    fn len(&self) -> usize {
        self.free.len() + self.kept.len()
    }

    fn get(&self, key: &str) -> Option<&Slot<LIMITS, T>> {
        self.free.get(key).or_else(|| self.kept.get(key).map(|(_, slot)| slot))
    }

    fn find(&mut self, key: &str) -> Option<Held<LIMITS, T>> {
        if let Some((last, (lane, _))) = self.free.back()
            && **last == *key
        {
            return Some(Held::new(lane));
        }
        let (lane, _) = match self.free.to_back(key) {
            Some(slot) => slot,
            None => self.put_back(key)?,
        };
        Some(Held::new(lane))
    }

    fn find_all(&mut self, names: &Names) -> Option<Lanes<LIMITS, T>> {
        if names.others.iter().any(|key| self.get(key).is_none()) {
            return None;
        }
        let first = self.find(&names.first)?;
        Some((first, names.others.iter().filter_map(|key| self.find(key)).collect()))
    }

    /// A kept key may be evicted again, after all others.
    fn put_back(&mut self, key: &str) -> Option<&Slot<LIMITS, T>> {
        let (key, (until, slot)) = self.kept.remove_entry(key)?;
        let kept = (until, key);
        self.ends.remove(&kept);
        Some(self.free.entry(kept.1).or_insert(slot))
    }

    /// The cooldowns that end by then are over.
    fn put_back_until(&mut self, now: Instant) {
        while let Some((until, key)) = self.ends.pop_first() {
            if until > now {
                self.ends.insert((until, key));
                break;
            }
            self.put_back(&key);
        }
    }

    /// Adds a lane, if there is room without those of `wanted`.
    fn make(
        &mut self,
        key: &str,
        shared: &Arc<Shared<LIMITS, T>>,
        most: usize,
        wanted: &Names,
    ) -> Result<&Arc<Lane<LIMITS, T>>, Instant> {
        self.make_room(most, shared, wanted)?;
        let seed = self.seed();
        Ok(self.put(Lane::new(key.into(), shared.clone(), self.policy, seed)))
    }

    /// Adds a lane, or replaces that of its key.
    fn put(&mut self, lane: Arc<Lane<LIMITS, T>>) -> &Arc<Lane<LIMITS, T>> {
        self.put_back(&lane.key);
        if let Some(slot) = self.free.remove(&lane.key) {
            self.forget(slot);
        }
        let slot = self.lanes.put(lane.clone());
        &self.free.entry(lane.key.clone()).or_insert((lane, slot)).0
    }

    /// Evicts the least recently used key if the table is full. Keys with calls stay, and so do
    /// keys under a cooldown, which would otherwise be forgotten, and those of `wanted`.
    fn make_room(
        &mut self,
        most: usize,
        shared: &Shared<LIMITS, T>,
        wanted: &Names,
    ) -> Result<(), Instant> {
        if self.len() < most {
            return Ok(());
        }
        for key in shared.line.returned() {
            self.put_back(&key);
        }
        self.put_back_until(shared.timer.now());
        for key in wanted.iter() {
            self.free.to_back(key);
        }
        for _ in 0..LOOKS {
            let until = self.ends.first().map_or(Instant::MAX, |(until, _)| *until);
            let is_wanted = |key: &Arc<str>| wanted.iter().any(|wanted| *wanted == **key);
            if self.free.front().is_none_or(|(key, _)| is_wanted(key)) {
                return Err(until);
            }
            let Some((key, slot)) = self.free.pop_front() else { return Err(until) };
            match slot.0.kept_until() {
                Some(until) => {
                    if until < Instant::MAX {
                        self.ends.insert((until, key.clone()));
                    }
                    self.kept.insert(key, (until, slot));
                }
                None => {
                    self.forget(slot);
                    return Ok(());
                }
            }
        }
        Err(MORE)
    }

    fn forget(&mut self, (lane, slot): Slot<LIMITS, T>) {
        self.lanes.remove(slot);
        stats::add(&mut self.past, &lane.glance().counts);
    }

    /// The seed of the next key.
    fn seed(&mut self) -> u64 {
        u64::from(self.seeds.next_u32()) << 32 | u64::from(self.seeds.next_u32())
    }
}

/// A list whose clone costs little, because it shares parts until they change.
#[derive(Clone)]
struct Slots<V> {
    parts: Vec<Arc<[Option<V>; PART]>>,
    unused: Vec<usize>,
}

const PART: usize = 256;

impl<V: Clone> Slots<V> {
    const EMPTY: Self = Self { parts: Vec::new(), unused: Vec::new() };

    /// Adds a value, and returns its number.
    fn put(&mut self, value: V) -> usize {
        if self.unused.is_empty() {
            let first = self.parts.len() * PART;
            self.unused.extend((first..first + PART).rev());
            self.parts.push(Arc::new([const { None }; PART]));
        }
        let slot = self.unused.pop().unwrap_or_default();
        self.set(slot, Some(value));
        slot
    }

    fn set(&mut self, slot: usize, value: Option<V>) {
        Arc::make_mut(&mut self.parts[slot / PART])[slot % PART] = value;
    }

    fn remove(&mut self, slot: usize) {
        self.set(slot, None);
        self.unused.push(slot);
    }

    fn iter(&self) -> impl Iterator<Item = &V> {
        self.parts.iter().flat_map(|part| part.iter().flatten())
    }
}
