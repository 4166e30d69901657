//! Snapshots of a controller: writing and reading the record.

use core::borrow::Borrow;

use super::Controller;
use crate::costs::Costs;
use crate::gate::{Cooldown, Pacing};
use crate::law::Record;
use crate::mean_cost::MeanCost;
use crate::policy::Policy;
use crate::rng::Rng;
use crate::snapshot::{self, Field, Reader, SnapshotError};
use crate::time::{Instant, Span};

impl<L, const LIMITS: usize, P, C> Controller<L, LIMITS, P, C>
where
    L: Record,
    P: Borrow<Policy<L, LIMITS>>,
    C: Costs<LIMITS>,
{
    /// Length of a snapshot of this kind of controller, in bytes.
    pub const SNAPSHOT_BYTES: usize = snapshot::length(
        Self::GATES_BYTES
            .saturating_add(Self::LIMIT_BYTES.saturating_mul(LIMITS))
            .saturating_add(<MeanCost as Field>::BYTES.saturating_mul(LIMITS.saturating_sub(1))),
    );
    const GATES_BYTES: usize = <Cooldown as Field>::BYTES + <Option<u64> as Field>::BYTES;
    const LIMIT_BYTES: usize =
        (<Pacing as Field>::BYTES + <bool as Field>::BYTES).saturating_add(L::BYTES);

    /// Writes what has been learned, as of `now`, to the first
    /// [`SNAPSHOT_BYTES`](Self::SNAPSHOT_BYTES) of `record`, and returns their number.
    ///
    /// Calls in flight, the counters and the generator are not part of it.
    ///
    /// # Errors
    /// [`SnapshotError::Length`] if `record` is too short.
    pub fn snapshot(&self, now: Instant, record: &mut [u8]) -> Result<usize, SnapshotError> {
        let record = record.get_mut(..Self::SNAPSHOT_BYTES).ok_or(SnapshotError::Length)?;
        snapshot::seal(record, now, LIMITS, |out| {
            self.cooldown.write(out);
            let saved = self.saved.clone().as_mut().first().copied();
            self.rules().retry_budget.and(saved).write(out);
            for (limit, law) in self.limits.iter().zip(self.laws()) {
                limit.pacing.write(out);
                limit.rate_limited.write(out);
                law.write(&limit.state, out);
            }
            self.usual.0.iter().skip(1).for_each(|mean| mean.write(out));
        });
        Ok(Self::SNAPSHOT_BYTES)
    }

    /// Creates a controller from a snapshot that was taken `away` before `now`, under a policy with
    /// the same laws. It continues with the snapshot's pacing, cooldowns, retry budget and learned
    /// rate. If the time away is unknown, [`SleepClock`](crate::firmware::SleepClock) estimates it. Zero
    /// never exceeds a limit, but a cooldown does not pass while the device sleeps.
    ///
    /// Instants before the start of the current clock are moved to its start. A clock that restarts should therefore
    /// start late enough for the time away and before it, for example at 2^62 ns.
    ///
    /// `seed` must be a new one, because several controllers can be created from one snapshot. No call is in flight:
    /// see [`take_over`](Controller::take_over) for those of a controller that this one replaces.
    ///
    /// ```
    /// use tidegate::law::Adaptive;
    /// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Span};
    ///
    /// type Gate = Controller<Adaptive>;
    /// let (policy, start) = (Policy::new(Adaptive::DEFAULT), Instant::ZERO);
    /// let mut gate = Gate::new(policy, 7, start);
    /// let Decision::Admit(permit) = gate.poll(start, &Call::new()) else { panic!() };
    /// let second = Instant::from_nanos(1_000_000_000);
    /// gate.settle(second, permit, Outcome::Throttled);
    ///
    /// let mut record = [0; Gate::SNAPSHOT_BYTES];
    /// gate.snapshot(second, &mut record).unwrap();
    /// // Asleep for an hour, after which the clock starts anew.
    /// let mut again =
    ///     Gate::restore(policy, 8, &record, start, Span::from_secs(3_600)).unwrap();
    /// assert!(again.intervals(start).eq(gate.intervals(second)));
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError`] if the record is invalid. Then start with [`Controller::new`].
    pub fn restore(
        policy: P,
        seed: u64,
        record: &[u8],
        now: Instant,
        away: Span,
    ) -> Result<Self, SnapshotError> {
        let mut input = snapshot::unseal(record, now, away, LIMITS, Self::SNAPSHOT_BYTES)?;
        let mut made = Self::with_rng(policy, Rng::new(seed), now);
        let reached = made.read(&mut input).is_some();
        if reached && input.is_whole() { Ok(made) } else { Err(SnapshotError::OtherPolicy) }
    }

    fn read(&mut self, input: &mut Reader<'_>) -> Option<()> {
        self.cooldown = Cooldown::read(input);
        let read = Option::<u64>::read(input);
        let Policy { laws, rules } = self.policy.borrow();
        if let (Some(read), Some(policy), [saved]) = (read, rules.retry_budget, self.saved.as_mut())
        {
            *saved = read.min(policy.setting.brim());
        }
        for (limit, law) in self.limits.iter_mut().zip(laws) {
            limit.pacing = Pacing::read(input);
            limit.rate_limited = bool::read(input);
            limit.state = law.read(input)?;
        }
        for mean in self.usual.0.iter_mut().skip(1) {
            *mean = MeanCost::read(input);
        }
        Some(())
    }
}
