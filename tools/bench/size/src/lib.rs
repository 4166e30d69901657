//! The frame of all images. Each image is this frame with one table `ROOTS` of functions that the
//! linker must keep. The size of a part is the difference to the image with an empty table.
//!
//! The optimiser has to assume any caller with any argument, so it cannot remove code that firmware
//! could need.
#![no_std]

pub mod board;

use tidegate::Permit;
use tidegate::law::Law;
use tidegate::signal::http::{Answer, Common, Reading};
use tidegate::{
    Call, Controller, Costs, Decision, Hint, Instant, Policy, Reason, Reply, Rng, Span,
};

/// A time or a seed, of a few bytes.
fn number() -> u64 {
    board::read().into()
}

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

/// An image from which a panic is reachable does not link.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { a_panic_is_reachable() }
}

/// A controller whose policy is in flash, and whose calls cost one each.
pub type Gate<L, C = ()> = Controller<L, 1, &'static Policy<L>, C>;

/// The functions of a controller with one limit that firmware uses.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Verbs<L: Law + 'static, C: Costs<1> + 'static = ()> {
    new: fn(&'static Policy<L>, Rng, Instant) -> Gate<L, C>,
    poll: fn(&mut Gate<L, C>, Instant, &Call<1, C>) -> Decision<Permit<1, C>>,
    settle: fn(&mut Gate<L, C>, Instant, Permit<1, C>, &'static Reply),
}

impl<L: Law, C: Costs<1>> Verbs<L, C> {
    pub const ALL: Self = Self { new: Gate::with_rng, poll: Gate::poll, settle: Gate::settle };
}

/// The same for firmware that retries calls and sleeps in between.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct RetryVerbs<L: Law + 'static> {
    gate: Verbs<L>,
    /// What a policy has decides what is linked for it.
    policy: Policy<L>,
    retry: fn(&mut Gate<L>, Instant, &Call<1, ()>, &'static Reply) -> Result<Call<1, ()>, Reason>,
    next_at: fn(&Gate<L>, Instant) -> Option<Instant>,
}

impl<L: Law> RetryVerbs<L> {
    /// All of them, under this policy.
    pub const fn all(policy: Policy<L>) -> Self {
        Self { gate: Verbs::ALL, policy, retry: Gate::retry, next_at: Gate::next_at }
    }
}

#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Headers {
    reading: fn(u16) -> Reading,
    header: fn(&mut Reading, &[u8], &[u8]),
    finish: fn(&mut Reading, Option<Span>) -> Answer,
    last: fn(&Answer) -> Option<Hint>,
}

impl Headers {
    pub const ALL: Self = Self {
        reading: Reading::new,
        header: |reading, name, value| reading.header(name, value),
        finish: Reading::finish,
        last: |answer| answer.limits().last().map(|limit| limit.hint),
    };
}

#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct CommonHeaders {
    reading: fn(u16) -> Reading<Common>,
    header: fn(&mut Reading<Common>, &[u8], &[u8]),
    finish: fn(&mut Reading<Common>, Option<u32>) -> Reply,
}

impl CommonHeaders {
    pub const ALL: Self = Self {
        reading: Reading::common,
        header: |reading, name, value| reading.header(name, value),
        finish: Reading::reply,
    };
}

/// An image of a throttle that is started and whose calls return an outcome.
#[macro_export]
macro_rules! throttle {
    ($law:ty, $policy:expr) => {
        use core::task::{Context, Poll};
        use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
        use tidegate::{Outcome, Rng};
        use tidegate_embassy::{Rejection, Throttle};

        static UPLINK: Throttle<CriticalSectionRawMutex, $law> = Throttle::new();

        #[unsafe(no_mangle)]
        pub static ROOTS: fn(
            fn() -> Outcome,
            &mut Context<'_>,
        ) -> Poll<Result<Outcome, Rejection>> = |publish, context| {
            UPLINK.start(const { &$policy }, Rng::from_entropy($crate::board::seed()));
            let call = UPLINK.run(async || publish());
            // It may be suspended at any of its awaits.
            core::hint::black_box(core::pin::pin!(call)).as_mut().poll(context)
        };

        $crate::allow_panics!();
    };
}

/// Every `async` block panics if it is polled after completion. That never happens, but the linker cannot know.
#[macro_export]
macro_rules! allow_panics {
    () => {
        #[unsafe(no_mangle)]
        extern "C" fn a_panic_is_reachable() -> ! {
            loop {}
        }
    };
}
