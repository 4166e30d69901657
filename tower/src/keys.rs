//! The table of keys, with a lane for each.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LinkedHashMap;
use smallvec::SmallVec;
use tidegate::law::AnyLaw;
use tidegate::queue::Place;
use tidegate::{Controller, Policy, Rng, Span};

use crate::error::RestoreError;
use crate::gate::Builder;
use crate::lane::Lane;
use crate::layers::{Layer, Layers};
use crate::source::Source;
use crate::stats::{self, Stats};
use crate::timer::Timer;

pub(crate) struct Keys<const LIMITS: usize, T: Timer> {
    pub(crate) settings: Arc<Builder<LIMITS, T>>,
    table: Mutex<Table<LIMITS, T>>,
}

pub(crate) type Names<const LIMITS: usize, T> = SmallVec<[Name<LIMITS, T>; 1]>;

/// The key of a call.
pub(crate) enum Name<const LIMITS: usize, T: Timer> {
    New(String),
    /// It has a lane, which stays in the table as long as the call.
    Known(Arc<Lane<LIMITS, T>>),
}

impl<const LIMITS: usize, T: Timer> Deref for Name<LIMITS, T> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::New(key) => key,
            Self::Known(lane) => &lane.key,
        }
    }
}

struct Table<const LIMITS: usize, T: Timer> {
    policy: Policy<AnyLaw, LIMITS>,
    /// The least recently used first.
    lanes: LinkedHashMap<Arc<str>, Arc<Lane<LIMITS, T>>, RandomState>,
    seeds: Rng,
    past: tidegate::Stats,
}

impl<const LIMITS: usize, T: Timer> Keys<LIMITS, T> {
    pub(crate) fn new(settings: Builder<LIMITS, T>, seed: u64) -> Self {
        let table = Table {
            policy: settings.policy,
            lanes: LinkedHashMap::default(),
            seeds: Rng::new(seed),
            past: tidegate::Stats::default(),
        };
        Self { settings: Arc::new(settings), table: Mutex::new(table) }
    }

    pub(crate) fn find(&self, key: &str) -> Option<Arc<Lane<LIMITS, T>>> {
        self.lock().find(key).cloned()
    }

    /// A key that is known needs no other copy and no second search.
    pub(crate) fn name(&self, key: &str) -> Name<LIMITS, T> {
        self.find(key).map_or_else(|| Name::New(key.into()), Name::Known)
    }

    /// The keys of a call, which are added to the table.
    pub(crate) fn layers(&self, names: Names<LIMITS, T>, priority: u8) -> Layers<LIMITS, T> {
        let mut layers = Layers::new();
        for name in names {
            let lane = match name {
                Name::Known(lane) => lane,
                Name::New(key) => self.lock().find_or_make(&key, self),
            };
            layers.push(Layer::new(lane, Place::new(priority, 0)));
        }
        layers
    }

    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        let lanes = {
            let mut table = self.lock();
            table.policy = policy;
            table.all()
        };
        for lane in lanes {
            lane.change(|gate, now| gate.set_policy(policy, now));
        }
        #[cfg(feature = "local")]
        if let Some(sharing) = &self.settings.sharing {
            sharing.post.set_policy(policy);
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let (past, lanes) = {
            let table = self.lock();
            (table.past, table.all())
        };
        let mut all = Stats { counts: past, ..Stats::default() };
        lanes.iter().for_each(|lane| all.add(&lane.stats()));
        all
    }

    pub(crate) fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        let lanes = self.lock().all();
        let snapshot = |lane: Arc<Lane<_, _>>| Some((lane.key.to_string(), lane.snapshot()?));
        lanes.into_iter().filter_map(snapshot).collect()
    }

    /// Restores snapshots for keys that are idle and for which there is room. Returns their number.
    /// If one is damaged, nothing changes.
    pub(crate) fn restore(
        &self,
        records: &BTreeMap<String, Vec<u8>>,
        away: Span,
    ) -> Result<usize, RestoreError> {
        #[cfg(feature = "local")]
        if self.settings.sharing.is_some() {
            return Ok(0);
        }
        let (mut table, most) = (self.lock(), self.settings.keys);
        let mut restored = Vec::new();
        for (key, record) in records {
            let seed = table.seed();
            let key: Arc<str> = key.as_str().into();
            let settings = self.settings.clone();
            let now = settings.timer.now();
            match Controller::restore(table.policy, seed, record, now, away) {
                Ok(own) => restored.push(Lane::new(key, settings, Source::new(own))),
                Err(reason) => return Err(RestoreError { key, reason }),
            }
        }
        let mut count = 0;
        for lane in restored {
            let fits = match table.find(&lane.key) {
                Some(lane) => !is_used(lane),
                None => table.has_room(most) && (lane.is_kept() || table.lanes.len() < most),
            };
            if fits {
                table.put(lane);
                count += 1;
            }
        }
        Ok(count)
    }

    #[cfg(feature = "local")]
    pub(crate) fn take(&self) -> Vec<Arc<Lane<LIMITS, T>>> {
        let mut table = self.lock();
        let lanes = table.all();
        table.lanes.clear();
        lanes.iter().for_each(|lane| table.forget(lane));
        lanes
    }

    fn lock(&self) -> MutexGuard<'_, Table<LIMITS, T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<const LIMITS: usize, T: Timer> Table<LIMITS, T> {
    fn all(&self) -> Vec<Arc<Lane<LIMITS, T>>> {
        self.lanes.values().cloned().collect()
    }

    fn find(&mut self, key: &str) -> Option<&Arc<Lane<LIMITS, T>>> {
        // Often the same key is used again.
        if self.lanes.back().is_some_and(|(last, _)| **last == *key) {
            return self.lanes.back().map(|(_, lane)| lane);
        }
        self.lanes.to_back(key).map(|lane| &*lane)
    }

    fn find_or_make(&mut self, key: &str, keys: &Keys<LIMITS, T>) -> Arc<Lane<LIMITS, T>> {
        if let Some(lane) = self.find(key) {
            return lane.clone();
        }
        self.make_room(keys.settings.keys);
        let source = Source::of(&keys.settings, self.policy, self.seed());
        let lane = Lane::new(key.into(), keys.settings.clone(), source);
        self.put(lane.clone());
        lane
    }

    /// Adds a lane, or replaces that of its key.
    fn put(&mut self, lane: Arc<Lane<LIMITS, T>>) {
        if let Some(before) = self.lanes.insert(lane.key.clone(), lane) {
            self.forget(&before);
        }
    }

    /// Evicts the least recently used keys of a full table, after a look at a few. Keys that are needed count as used
    /// now, so that others are found next time.
    fn make_room(&mut self, most: usize) {
        for _ in 0..LOOKS {
            if self.lanes.len() < most {
                return;
            }
            let Some((key, lane)) = self.lanes.pop_front() else { return };
            match is_used(&lane) || self.has_room(most) && lane.is_kept() {
                true => _ = self.lanes.insert(key, lane),
                false => self.forget(&lane),
            }
        }
    }

    /// Whether another key that has to wait fits.
    fn has_room(&self, most: usize) -> bool {
        self.lanes.len() < most.saturating_mul(KEPT)
    }

    fn forget(&mut self, lane: &Lane<LIMITS, T>) {
        stats::add(&mut self.past, &lane.stats().counts);
    }

    fn seed(&mut self) -> u64 {
        u64::from(self.seeds.next_u32()) << 32 | u64::from(self.seeds.next_u32())
    }
}

/// Keys without calls that have to wait, as in a cooldown, make the table at most this many times as large.
const KEPT: usize = 8;

/// How many keys are looked at to evict one.
const LOOKS: usize = 4;

/// Whether a call, or somebody who reads the counters, has a lane. Only under the lock does another one get it, except
/// the courier of a shared budget, which does no harm to an unused lane.
fn is_used<const LIMITS: usize, T: Timer>(lane: &Arc<Lane<LIMITS, T>>) -> bool {
    Arc::strong_count(lane) > 1
}
