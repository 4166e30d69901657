//! The bounded table of keys, with a lane for each.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate::law::AnyLaw;
use tidegate::{Instant, Policy, Rng, Span};

use crate::error::RestoreError;
use crate::lane::{Held, Lane};
use crate::shared::Shared;
use crate::stats::{self, Stats};
use crate::timer::{Timer, duration};

pub(crate) struct Keys<const LIMITS: usize, T> {
    pub(crate) shared: Arc<Shared<T>>,
    most: usize,
    table: Mutex<Table<LIMITS, T>>,
}

struct Table<const LIMITS: usize, T> {
    policy: Policy<AnyLaw, LIMITS>,
    lanes: HashMap<Arc<str>, Entry<LIMITS, T>>,
    /// The number of uses of all keys. It orders the keys by their latest use.
    uses: u64,
    seeds: Rng,
    /// The counters of evicted keys.
    past: tidegate::Stats,
}

struct Entry<const LIMITS: usize, T> {
    lane: Arc<Lane<LIMITS, T>>,
    used: u64,
}

impl<const LIMITS: usize, T: Timer> Keys<LIMITS, T> {
    pub(crate) fn new(
        shared: Shared<T>,
        most: usize,
        policy: Policy<AnyLaw, LIMITS>,
        seed: u64,
    ) -> Self {
        let table = Table {
            policy,
            lanes: HashMap::new(),
            uses: 0,
            seeds: Rng::new(seed),
            past: tidegate::Stats::default(),
        };
        Self { shared: Arc::new(shared), most, table: Mutex::new(table) }
    }

    /// The lane of a key in the table.
    pub(crate) fn find(&self, key: &str) -> Option<Held<LIMITS, T>> {
        self.lock().find(key)
    }

    /// The lane of a key, which is added if there is room. `Err` returns when to try again if no
    /// call ends until then.
    pub(crate) fn find_or_make(&self, key: &str) -> Result<Held<LIMITS, T>, Instant> {
        let mut table = self.lock();
        if let Some(held) = table.find(key) {
            return Ok(held);
        }
        table.make(key, &self.shared, self.most, &[]).map(Held::new)
    }

    /// The lanes of keys that are all in the table.
    pub(crate) fn find_all(&self, keys: &[String]) -> Option<Vec<Held<LIMITS, T>>> {
        self.lock().find_all(keys)
    }

    /// [`find_or_make`](Self::find_or_make) for the keys of one call. There is room at least for these.
    pub(crate) fn find_or_make_all(
        &self,
        keys: &[String],
    ) -> Result<Vec<Held<LIMITS, T>>, Instant> {
        let mut table = self.lock();
        for key in keys {
            if !table.lanes.contains_key(key.as_str()) {
                table.make(key, &self.shared, self.most.max(keys.len()), keys)?;
            }
        }
        table.find_all(keys).ok_or(Instant::MAX)
    }

    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        let lanes: Vec<_> = {
            let mut table = self.lock();
            table.policy = policy;
            table.lanes.values().map(|entry| Held::new(&entry.lane)).collect()
        };
        lanes.iter().for_each(|lane| lane.set_policy(policy));
    }

    /// The counters of all keys, including evicted ones.
    pub(crate) fn stats(&self) -> Stats {
        let table = self.lock();
        let mut all = Stats { counts: table.past, keys: table.lanes.len(), ..Stats::default() };
        for entry in table.lanes.values() {
            let one = entry.lane.glance();
            stats::add(&mut all.counts, &one.counts);
            all.waiting += one.waiting;
            all.in_flight += one.in_flight;
            all.interval = all.interval.max(one.interval.map(duration));
            all.basis = all.basis.max(one.basis);
        }
        all
    }

    /// The snapshots of each key.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        let table = self.lock();
        let record =
            |(key, entry): (&Arc<str>, &Entry<_, _>)| (String::from(&**key), entry.lane.snapshot());
        table.lanes.iter().map(record).collect()
    }

    /// Restores snapshots for keys that are idle and for which there is room. Returns their number.
    /// If one is damaged, nothing changes.
    pub(crate) fn restore(
        &self,
        records: &BTreeMap<String, Vec<u8>>,
        away: Span,
    ) -> Result<usize, RestoreError> {
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
            let place = match table.lanes.get(&lane.key) {
                Some(entry) => !entry.lane.is_used(),
                None => table.make_room(self.most, &[]).is_ok(),
            };
            if place {
                table.forget(&lane.key);
                table.put(lane);
                count += 1;
            }
        }
        Ok(count)
    }

    fn lock(&self) -> MutexGuard<'_, Table<LIMITS, T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<const LIMITS: usize, T: Timer> Table<LIMITS, T> {
    fn find(&mut self, key: &str) -> Option<Held<LIMITS, T>> {
        let entry = self.lanes.get_mut(key)?;
        self.uses += 1;
        entry.used = self.uses;
        Some(Held::new(&entry.lane))
    }

    fn find_all(&mut self, keys: &[String]) -> Option<Vec<Held<LIMITS, T>>> {
        let all = keys.iter().all(|key| self.lanes.contains_key(key.as_str()));
        all.then(|| keys.iter().filter_map(|key| self.find(key)).collect())
    }

    /// Adds a lane, if there is room without those of `kept`.
    fn make(
        &mut self,
        key: &str,
        shared: &Arc<Shared<T>>,
        most: usize,
        kept: &[String],
    ) -> Result<&Arc<Lane<LIMITS, T>>, Instant> {
        self.make_room(most, kept)?;
        let seed = self.seed();
        Ok(self.put(Lane::new(key.into(), shared.clone(), self.policy, seed)))
    }

    fn put(&mut self, lane: Lane<LIMITS, T>) -> &Arc<Lane<LIMITS, T>> {
        self.uses += 1;
        let entry = self.lanes.entry(lane.key.clone());
        &entry.insert_entry(Entry { lane: Arc::new(lane), used: self.uses }).into_mut().lane
    }

    /// Evicts the least recently used key if the table is full. Keys with calls stay, and so do
    /// keys under a cooldown, which would otherwise be forgotten, and those of `kept`.
    fn make_room(&mut self, most: usize, kept: &[String]) -> Result<(), Instant> {
        if self.lanes.len() < most {
            return Ok(());
        }
        let is_idle =
            |lane: &Lane<_, _>| !lane.is_used() && !kept.iter().any(|key| **key == *lane.key);
        let mut idle: Vec<_> = self.lanes.values().filter(|entry| is_idle(&entry.lane)).collect();
        idle.sort_unstable_by_key(|entry| entry.used);
        let mut again = Instant::MAX;
        for entry in idle {
            match entry.lane.kept_until() {
                Some(until) => again = again.min(until),
                None => {
                    let key = entry.lane.key.clone();
                    self.forget(&key);
                    return Ok(());
                }
            }
        }
        Err(again)
    }

    fn forget(&mut self, key: &str) {
        if let Some(entry) = self.lanes.remove(key) {
            stats::add(&mut self.past, &entry.lane.glance().counts);
        }
    }

    /// The seed of the next key.
    fn seed(&mut self) -> u64 {
        u64::from(self.seeds.next_u32()) << 32 | u64::from(self.seeds.next_u32())
    }
}
