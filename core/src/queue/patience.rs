//! How long a call that counts against the limits of several keys keeps permits that it cannot use yet.

use core::borrow::Borrow;

use crate::controller::Controller;
use crate::law::Law;
use crate::policy::Policy;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Verdict};

/// A call waits this many times as long as it keeps permits that it cannot use yet.
const PATIENCE: u64 = 4;

/// How long permits are kept at least, so that calls do not pass them around.
const MOMENT: Span = Span::from_millis(1);

/// How long a call with several keys keeps the permits of some while another one delays it.
///
/// It waits in one queue at a time. When that key admits it, it takes the permits of the others. If one of them delays
/// it, it enters that queue, and refunds its permits, so calls of other keys do not wait for it. But two keys in
/// constant demand would never have room at the same time. So a call that is next in the queue it has entered keeps
/// its permits, for up to a quarter of the time that it has waited, if that queue is known to continue by then or waits
/// for a call in flight. This bound grows, so the call is sent at last. Two calls that keep what the other one needs
/// would wait for nothing: the second to come refunds its permits at once.
///
/// ```
/// use tidegate::queue::Patience;
/// use tidegate::{Call, Controller, Decision, Instant, Policy, Quota, Span, law::Fixed};
///
/// let at = |seconds| Instant::ZERO.saturating_add(Span::from_secs(seconds));
/// let (law, call) = (Fixed::new(Quota::per_second(1).unwrap()), Call::new());
/// let mut model: Controller<Fixed> = Controller::new(Policy::new(law), 7, at(0));
/// assert!(matches!(model.poll(at(8), &call), Decision::Admit(_)));
/// // The model admits the call a second later, and it has waited for eight.
/// let mut patience = Patience::new(at(0), at(0));
/// assert_eq!(patience.keeps_until(at(8), true, &model, &call, 0), at(10));
/// // Another call keeps a permit of the model, and perhaps waits for those of this one.
/// let mut patience = Patience::new(at(0), at(0));
/// assert!(patience.keeps_until(at(8), true, &model, &call, 1) <= at(8));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Patience {
    since: Instant,
    delayed: Instant,
}

impl Patience {
    /// For a call that has waited since then, and that a key last `delayed` after another one had admitted it;
    /// [`Instant::ZERO`] if none has.
    #[must_use]
    pub const fn new(since: Instant, delayed: Instant) -> Self {
        Self { since, delayed }
    }

    /// Until when the call keeps its permits, now that `control` delays it; not after `now` if it refunds them at once.
    /// `is_next` is whether it is the first in this key's queue. `kept` counts the permits of this key that calls keep
    /// while they wait for others.
    pub fn keeps_until<L: Law, const LIMITS: usize, P: Borrow<Policy<L, LIMITS>>>(
        &mut self,
        now: Instant,
        is_next: bool,
        control: &Controller<L, LIMITS, P>,
        call: &Call<LIMITS>,
        kept: usize,
    ) -> Instant {
        let waited = now.saturating_since(self.since).as_nanos();
        let until = now.saturating_add(MOMENT.max(Span::from_nanos(waited / PATIENCE)));
        // If it was delayed a moment ago, all calls that keep permits may do the same.
        let again = now < self.delayed.saturating_add(MOMENT);
        self.delayed = now;
        match control.check(now, call) {
            _ if !is_next => Instant::ZERO,
            Verdict::Full if usize::from(control.in_flight()) > kept => until,
            Verdict::Wait(due) if due <= until && kept == 0 => until,
            // Another call may return its permit at once.
            _ if kept == 0 || again => now.saturating_add(MOMENT),
            _ => Instant::ZERO,
        }
    }
}
