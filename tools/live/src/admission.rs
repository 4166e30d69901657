//! Admits the calls of a process, either through a private gate or through a shared budget.

use std::future::Future;
use std::time::Duration;
use tidegate::law::Basis;
use tidegate::{Outcome, Reply};
use tidegate_tower::local::{LocalAcquire, LocalGate, LocalPermit};
use tidegate_tower::{Acquire, Error, Gate, Permit};

/// The part of a gate that a worker uses.
pub trait Admission<const LIMITS: usize>: Send + Sync + 'static {
    type Permit: Send;
    type Turn: Future<Output = Result<Self::Permit, Error>> + Send + Unpin;

    /// Waits until the call is admitted, and returns its permit.
    fn acquire(&self, costs: [u32; LIMITS]) -> Self::Turn;

    /// Reports the result of a call, and waits for the next attempt if one is due.
    fn retry(&self, permit: Self::Permit, reply: Reply<LIMITS>) -> Result<Self::Turn, Error>;

    /// How long a new call would wait. Zero if unknown.
    fn wait(&self) -> Duration;

    /// The basis of the law's rate, if this process knows it.
    fn basis(&self) -> Option<Basis>;

    /// Returns unused leases.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

impl<const LIMITS: usize> Admission<LIMITS> for Gate<LIMITS> {
    type Permit = Permit<LIMITS>;
    type Turn = Acquire<LIMITS>;

    fn acquire(&self, costs: [u32; LIMITS]) -> Self::Turn {
        self.costing(costs).acquire()
    }

    fn retry(&self, permit: Self::Permit, reply: Reply<LIMITS>) -> Result<Self::Turn, Error> {
        permit.retry(reply)
    }

    fn wait(&self) -> Duration {
        // A call that would be rejected does not wait.
        self.peek().unwrap_or_default()
    }

    fn basis(&self) -> Option<Basis> {
        self.stats().basis
    }

    async fn close(&self) {}
}

/// All processes share one key.
const KEY: &str = "api";

impl Admission<1> for LocalGate {
    type Permit = LocalPermit;
    type Turn = LocalAcquire;

    fn acquire(&self, _: [u32; 1]) -> Self::Turn {
        LocalGate::acquire(self, KEY)
    }

    fn retry(&self, permit: Self::Permit, reply: Reply) -> Result<Self::Turn, Error> {
        let again = permit.retry(reply);
        // A call is repeated until it succeeds or the run ends, even after its attempts are used
        // up.
        if reply.outcome == Outcome::Ok {
            again
        } else {
            again.or_else(|_| Ok(LocalGate::acquire(self, KEY)))
        }
    }

    fn wait(&self) -> Duration {
        Duration::ZERO
    }

    fn basis(&self) -> Option<Basis> {
        None
    }

    async fn close(&self) {
        LocalGate::close(self).await;
    }
}
