//! An image of core's functions that links only if none of them can reach a panic.
//!
//! The panic handler calls an undefined function, so the linker reports an error exactly if the
//! optimiser could not remove every call of the handler. The functions are in tables that the
//! linker must keep (`build.rs` names them), so the optimiser has to assume any caller with any
//! argument. With overflow checks, arithmetic is covered too.
//!
//! `cargo xtask test no-panic` links it, and lists the reachable panics if that fails.
#![no_std]
#![no_main]

#[macro_use]
mod table;

use core::num::NonZeroU32;
use core::ops::{Deref, DerefMut};

use tidegate::Permit;
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{self, CooldownPolicy, RetryBudgetPolicy};
use tidegate::law::{
    Aimd, AimdConfig, AnyLaw, Fixed,
    published::{Autosleeper, AutosleeperConfig},
};
use tidegate::queue::{Joined, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::shared::{Coordinator, Leases, Member, MessageError};
use tidegate::signal::body::{self, Body};
use tidegate::signal::http::{Answer, Common, Reading, Unit};
use tidegate::signal::{aws, coap, grpc, http, mqtt};
use tidegate::snapshot::SnapshotError;
use tidegate::time::Ticks;
use tidegate::{
    Call, ConfigError, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Ratio, Reason,
    Reply, Rng, Span, Verdict,
    call_time::{CallTime, FastestCall},
    firmware::{Keyed, Session},
};

// The functions of a controller.
macro_rules! verbs {
    ($name:ident: $kind:ident<$law:ty, $limits:tt, $costs:ty>) => {
        table!($name: $kind {
            new: fn(Policy<$law, $limits>, Rng, Instant) -> Gate<$law, $limits, $costs> = Controller::with_rng,
            check: fn(&Gate<$law, $limits, $costs>, Instant, &Call<$limits, $costs>) -> Verdict = Controller::check,
            why: fn(&Gate<$law, $limits, $costs>, Instant, &Call<$limits, $costs>) -> Option<gate::Gate>
                = Controller::why,
            poll: fn(&mut Gate<$law, $limits, $costs>, Instant, &Call<$limits, $costs>)
                -> Decision<Permit<$limits, $costs>> = Controller::poll,
            poll_queued: fn(&mut Gate<$law, $limits, $costs>, Instant, &Call<$limits, $costs>, bool,
                &mut Option<Permit<$limits, $costs>>) -> Verdict = Controller::poll_queued,
            settle: fn(&mut Gate<$law, $limits, $costs>, Instant, Permit<$limits, $costs>, Reply<$limits>)
                = |gate, now, permit, reply| gate.settle(now, permit, reply),
            learn: fn(&mut Gate<$law, $limits, $costs>, Instant, &mut Permit<$limits, $costs>, Reply<$limits>)
                = |gate, now, permit, reply| gate.learn(now, permit, reply),
            report: fn(&mut Gate<$law, $limits, $costs>, Instant, Reply<$limits>)
                = |gate, now, reply| gate.report(now, reply),
            refund: fn(&mut Gate<$law, $limits, $costs>, Instant, Permit<$limits, $costs>) = Controller::refund,
            ready_at: fn(&Gate<$law, $limits, $costs>, Instant, &Call<$limits, $costs>) -> Option<Instant>
                = Controller::ready_at,
            retry: fn(&mut Gate<$law, $limits, $costs>, Instant, &Call<$limits, $costs>, Outcome)
                -> Result<Call<$limits, $costs>, Reason> = Controller::retry,
            next_at: fn(&Gate<$law, $limits, $costs>, Instant) -> Option<Instant> = Controller::next_at,
            set_policy: fn(&mut Gate<$law, $limits, $costs>, Policy<$law, $limits>, Instant) = Controller::set_policy,
            spread_start: fn(&mut Gate<$law, $limits, $costs>, Instant, Span) = Controller::spread_start,
            snapshot: fn(&Gate<$law, $limits, $costs>, Instant, &mut [u8]) -> Result<usize, SnapshotError>
                = Controller::snapshot,
            restore: fn(Policy<$law, $limits>, u64, &[u8], Instant, Span)
                -> Result<Gate<$law, $limits, $costs>, SnapshotError> = Controller::restore,
        });
    };
}

// The law is chosen at run time, so every law is included.
verbs!(CHOSEN: Chosen<AnyLaw, 1, [u32; 1]>);

// The law is a constant, and each call counts against two limits.
verbs!(SETTLED: Settled<Aimd, 2, [u32; 2]>);

// Each law alone, so that the optimiser sees less at a time.
verbs!(FIXED: Constant<Fixed, 1, ()>);
verbs!(AUTOSLEEPER: Sleeper<Autosleeper, 1, [u32; 1]>);

// A controller for each key.
table!(KEYED: Table {
    new: fn(Policy<Fixed>, u64) -> Gates = Keyed::new,
    poll: fn(&mut Gates, Instant, &u32, &Call) -> Decision = Keyed::poll,
    settle: fn(&mut Gates, Instant, &u32, Permit, Reply)
        = |gates, now, key, permit, reply| gates.settle(now, key, permit, reply),
    retry: fn(&mut Gates, Instant, &u32, &Call, Outcome) -> Result<Call, Reason> = Keyed::retry,
    get: for<'a> fn(&'a Gates, &u32) -> Option<&'a Controller<Fixed>> = Keyed::get,
});

// Sessions, and calls that must be done by a deadline.
table!(SESSIONS: Sessions {
    new: fn(Backoff, Span, u64) -> Session = Session::new,
    spread_start: fn(&mut Session, Instant, Span) = Session::spread_start,
    begin: fn(&mut Session, Instant) = Session::begin,
    open: fn(&mut Session, Instant) = Session::open,
    end: fn(&mut Session, Instant) = Session::end,
    link_up: fn(&mut Session, Instant) = Session::link_up,
    snapshot: fn(&Session, Instant, &mut [u8]) -> Result<usize, SnapshotError> = Session::snapshot,
    restore: fn(&mut Session, &[u8], Instant, Span) -> Result<(), SnapshotError> = Session::restore,
    took: fn(&mut CallTime, Span) = CallTime::took,
    took_longer: fn(&mut CallTime, Span) = CallTime::took_longer,
    leave_by: fn(&mut CallTime, Instant, Instant) -> Instant = CallTime::leave_by,
    fastest: fn(FastestCall, Span) -> FastestCall = FastestCall::took,
    fastest_leaves_by: fn(FastestCall, Instant, Instant) -> Instant = FastestCall::leave_by,
});

// A queue, whose gate has two limits.
table!(QUEUE: Waiting {
    place: fn(&mut Line, u8) -> Place = Queue::place,
    first: fn(&Line, bool) -> Option<usize> = Queue::first,
    waiting: fn(&Line) -> usize = Queue::waiting,
    admit_or_join: fn(&mut Line, Instant, &mut Two, &Call<2>, Place) -> Result<Joined<Permit<2>>, Reason>
        = Queue::admit_or_join,
    rejoin: fn(&mut Line, Instant, &mut Two, &Call<2>, Place) -> Result<Joined<Permit<2>>, Reason> = Queue::rejoin,
    turn: fn(&Line, Instant, &Two, &Call<2>, u8) -> Instant = Queue::turn,
    poll: fn(&mut Line, Instant, &mut Two) -> Step = Queue::poll,
    take: fn(&mut Line, Ticket) -> Turn<Permit<2>> = Queue::take,
    is_admitted: fn(&Line, Ticket) -> bool = Queue::is_admitted,
    cancel: fn(&mut Line, Instant, &mut Two, Ticket) = Queue::cancel,
});

// A shared budget, with messages from anyone.
table!(SHARED: Shared {
    member: fn(u64, Quota, Instant) -> Member<8> = Member::new,
    poll: fn(&mut Member<8>, Instant, &Call) -> Decision<u64> = Member::poll,
    settle: fn(&mut Member<8>, Instant, u64, Reply)
        = |member, now, permit, reply| member.settle(now, permit, reply),
    retry: fn(&mut Member<8>, Instant, &Call, Outcome) -> Result<Call, Reason>
        = |member, now, call, outcome| member.retry(now, call, outcome),
    request_at: fn(&Member<8>) -> Option<Instant> = Member::request_at,
    request: fn(&mut Member<8>, Instant, u16, &mut [u8]) -> Option<usize> = Member::request,
    leave: fn(&mut Member<8>, Instant, &mut [u8]) -> Option<usize> = Member::leave,
    hear: fn(&mut Member<8>, Instant, &[u8]) -> Result<(), MessageError> = Member::hear,
    miss: fn(&mut Member<8>, Instant) = Member::miss,
    next_at: fn(&Member<8>) -> Option<Instant> = Member::next_at,
    coordinator: fn(Controller<AnyLaw>, Instant, Span) -> Desk
        = |source, now, heartbeat| { Coordinator::new(Leases::new(source), now).heartbeat(heartbeat) },
    answer: fn(&mut Desk, Instant, &[u8], &mut [u8]) -> Result<usize, MessageError>
        = Coordinator::answer,
    members: fn(&Desk) -> u16 = Coordinator::members,
    snapshot: fn(&mut Desk, Instant, &mut [u8]) -> Result<usize, SnapshotError>
        = Coordinator::snapshot,
    restore: fn(Policy<AnyLaw>, u64, &[u8], Instant, Span, bool) -> Result<Desk, SnapshotError>
        = Coordinator::restore,
    in_place: fn(Desk, Instant, Span) -> Desk = Coordinator::in_place_of_another,
    branch: fn(&mut Branch, Instant, &mut [u8]) -> Option<usize> = Coordinator::request,
    branch_answer: fn(&mut Branch, Instant, &[u8], &mut [u8]) -> Result<usize, MessageError>
        = Coordinator::answer,
});

// The constructors of policies.
table!(PARTS: Parts {
    named: fn(&str) -> Option<Policy> = Policy::named,
    settled: fn(u64, Instant) -> Controller<Aimd, 2>
        = |seed, now| Controller::new(Policy::of([Aimd::DEFAULT; 2]), seed, now),
    quota: fn(u64, Span, u32) -> Result<Quota, ConfigError>
        = |count, period, burst| Quota::per(count, period)?.with_burst(burst),
    cooldown: fn(Span, Ratio) -> Result<CooldownPolicy, ConfigError> = CooldownPolicy::new,
    retry_budget: fn(Ratio, u32) -> Result<RetryBudgetPolicy, ConfigError> = RetryBudgetPolicy::new,
    backoff: fn(Growth, Jitter, Span, Span) -> Result<Backoff, ConfigError> = Backoff::new,
    aimd: fn(AimdConfig) -> Result<Aimd, ConfigError> = Aimd::new,
    autosleeper: fn(AutosleeperConfig) -> Result<Autosleeper, ConfigError> = Autosleeper::new,
});

// The conversions of frontends.
table!(CONVERSIONS: Conversions {
    status: fn(u16) -> Outcome = http::outcome,
    ticks: fn(NonZeroU32) -> Ticks = Ticks::new,
    extend: fn(&mut Ticks, u32) -> Instant = Ticks::extend,
    to_ticks: fn(&Ticks, Span) -> u64 = Ticks::to_ticks_ceil,
    between: fn(&mut Rng, Span, Span) -> Span = Rng::between,
    around: fn(&mut Rng, Span, Ratio) -> Span = Rng::around,
    // The negative control: it can panic, and the image with it must not link.
    #[cfg(feature = "bad")]
    bad: fn(u64, u64) -> u64 = |dividend, divisor| dividend / divisor,
});

// The parsers of responses.
table!(SIGNALS: Signals {
    reading: fn(u16) -> Reading = Reading::new,
    header: fn(&mut Reading, &[u8], &[u8]) = |reading, name, value| reading.header(name, value),
    finish: fn(&mut Reading, Option<Span>) -> Answer = Reading::finish,
    common: fn(u16) -> Reading<Common> = Reading::common,
    common_header: fn(&mut Reading<Common>, &[u8], &[u8])
        = |reading, name, value| reading.header(name, value),
    reply: fn(&mut Reading<Common>, Option<u32>) -> Reply<2> = Reading::reply,
    is_worth: fn(u16, &[u8]) -> bool = |status, content_type| body::is_worth(status, content_type),
    feed: fn(&mut Body, &[u8]) = |body, bytes| body.feed(bytes),
    refine: fn(&Body, u16, Reply<2>) -> Reply<2> = Body::refine,
    body: fn(&mut Reading, &Body) = Reading::body,
    points: fn(&Body) -> Hint = Body::points,
    last: fn(&Answer) -> Option<Hint> = |answer| answer.limits().last().map(|limit| limit.hint),
    unit: fn(&Answer, Unit) -> Hint = Answer::of,
    about: fn(&Answer, [Unit; 2]) -> Reply<2> = |answer, units| answer.about(units),
    named: fn(&Answer, &[u8]) -> Hint = |answer, name| answer.named(name),
    aws: fn(&[u8]) -> Option<Outcome> = |code| aws::outcome(code),
    grpc: fn(u32, &[u8], Option<&[u8]>, Option<Span>) -> Reply = grpc::reply,
    retry_delay: fn(&[u8]) -> Option<Span> = |status| grpc::retry_delay(status),
    retry_delay_base64: fn(&[u8]) -> Option<Span> = |trailer| grpc::retry_delay_base64(trailer),
    mqtt: fn(u8) -> Outcome = mqtt::outcome,
    coap: fn(u8, Option<u32>) -> Reply = coap::reply,
    max_age: fn(&[u8]) -> Option<u32> = coap::max_age,
});

type Gate<L, const LIMITS: usize, C> = Controller<L, LIMITS, Policy<L, LIMITS>, C>;
type Two = Controller<Aimd, 2>;
type Gates = Keyed<u32, Fixed, 4>;

/// A list with a small capacity.
pub struct Nodes {
    nodes: [Node<2>; 4],
    length: usize,
}

impl Deref for Nodes {
    type Target = [Node<2>];

    fn deref(&self) -> &[Node<2>] {
        self.nodes.get(..self.length).unwrap_or_default()
    }
}

impl DerefMut for Nodes {
    fn deref_mut(&mut self) -> &mut [Node<2>] {
        self.nodes.get_mut(..self.length).unwrap_or_default()
    }
}

impl Extend<Node<2>> for Nodes {
    fn extend<I: IntoIterator<Item = Node<2>>>(&mut self, nodes: I) {
        for (place, node) in self.nodes.iter_mut().skip(self.length).zip(nodes) {
            *place = node;
            self.length = self.length.saturating_add(1);
        }
    }
}

type Line = Queue<Nodes, 2>;

type Desk = Coordinator<Leases<AnyLaw, 8>, 4>;
type Branch = Coordinator<Member<8>, 4>;
