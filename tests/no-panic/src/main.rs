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

use core::num::NonZeroU32;
use core::ops::{Deref, DerefMut};

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{CooldownPolicy, Gate, Permit, RetryBudgetPolicy};
use tidegate::law::{Aimd, AimdConfig, AnyLaw, Autosleeper, AutosleeperConfig, Fixed, Law};
use tidegate::queue::{self, Joined, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::shared::{Coordinator, Leases, Member, MessageError};
use tidegate::signal::body::{self, Body};
use tidegate::signal::http::{Answer, Common, Reading, Unit};
use tidegate::signal::{aws, coap, grpc, http, mqtt};
use tidegate::snapshot::{Record, SnapshotError};
use tidegate::time::Ticks;
use tidegate::{
    Call, CallTime, ConfigError, Controller, Costs, Decision, Hint, Instant, Keyed, Outcome,
    Policy, Quota, Ratio, Reason, Reply, Rng, Session, Span, Verdict,
};

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { a_panic_is_reachable() }
}

/// The law is chosen at run time, so every law is included.
#[unsafe(no_mangle)]
pub static CHOSEN: Verbs<AnyLaw, 1> = Verbs::ALL;

/// The law is a constant, and each call counts against two limits.
#[unsafe(no_mangle)]
pub static SETTLED: Verbs<Aimd, 2> = Verbs::ALL;

/// Each law alone, so that the optimiser sees less at a time.
#[unsafe(no_mangle)]
pub static FIXED: Verbs<Fixed, 1, ()> = Verbs::ALL;

#[unsafe(no_mangle)]
pub static AUTOSLEEPER: Verbs<Autosleeper, 1> = Verbs::ALL;

/// A controller for each key.
#[unsafe(no_mangle)]
pub static KEYED: Table = Table {
    new: Keyed::new,
    poll: Keyed::poll,
    settle: |gates, now, key, permit, reply| gates.settle(now, key, permit, reply),
    retry: Keyed::retry,
    get: Keyed::get,
};

/// Sessions, and calls that must be done by a deadline.
#[unsafe(no_mangle)]
pub static SESSIONS: Sessions = Sessions {
    new: Session::new,
    spread_start: Session::spread_start,
    begin: Session::begin,
    open: Session::open,
    end: Session::end,
    link_up: Session::link_up,
    took: CallTime::took,
    took_longer: CallTime::took_longer,
    leave_by: CallTime::leave_by,
};

/// A queue with a controller.
#[unsafe(no_mangle)]
pub static QUEUE: Calls<Controller<Aimd, 2>> = Calls::ALL;

/// A shared budget, with messages from anyone.
#[unsafe(no_mangle)]
pub static SHARED: Shared = Shared {
    member: Member::new,
    poll: Member::poll,
    settle: |member, now, permit, reply| member.settle(now, permit, reply),
    retry: |member, now, call, outcome| member.retry(now, call, outcome),
    request_at: Member::request_at,
    request: Member::request,
    leave: Member::leave,
    hear: Member::hear,
    miss: Member::miss,
    next_at: Member::next_at,
    coordinator: |source, now, heartbeat| {
        Coordinator::new(Leases::new(source), now).heartbeat(heartbeat)
    },
    answer: Coordinator::answer,
    members: Coordinator::members,
    snapshot: Coordinator::snapshot,
    restore: Coordinator::restore,
    in_place: Coordinator::in_place_of_another,
    branch: Coordinator::request,
    branch_answer: Coordinator::answer,
};

/// The constructors of policies.
#[unsafe(no_mangle)]
pub static PARTS: Parts = Parts {
    named: Policy::named,
    settled: |seed, now| Controller::new(Policy::of([Aimd::DEFAULT; 2]), seed, now),
    quota: |count, period, burst| Quota::per(count, period)?.with_burst(burst),
    cooldown: CooldownPolicy::new,
    retry_budget: RetryBudgetPolicy::new,
    backoff: Backoff::new,
    aimd: Aimd::new,
    autosleeper: Autosleeper::new,
};

/// The conversions of frontends.
#[unsafe(no_mangle)]
pub static CONVERSIONS: Conversions = Conversions {
    status: http::outcome,
    ticks: Ticks::new,
    extend: Ticks::extend,
    to_ticks: Ticks::to_ticks_ceil,
    between: Rng::between,
    around: Rng::around,
};

/// The parsers of responses.
#[unsafe(no_mangle)]
pub static SIGNALS: Signals = Signals {
    reading: Reading::new,
    header: |reading, name, value| reading.header(name, value),
    finish: Reading::finish,
    common: Reading::common,
    common_header: |reading, name, value| reading.header(name, value),
    reply: Reading::reply,
    is_worth: |status, content_type| body::is_worth(status, content_type),
    feed: |body, bytes| body.feed(bytes),
    refine: Body::refine,
    body: Reading::body,
    points: Body::points,
    last: |answer| answer.limits().last().map(|limit| limit.hint),
    unit: Answer::of,
    about: |answer, units| answer.about(units),
    named: |answer, name| answer.named(name),
    aws: |code| aws::outcome(code),
    grpc: grpc::reply,
    retry_delay: |status| grpc::retry_delay(status),
    retry_delay_base64: |trailer| grpc::retry_delay_base64(trailer),
    mqtt: mqtt::outcome,
    coap: coap::reply,
    max_age: coap::max_age,
};

/// The functions of sessions and call times.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Sessions {
    new: fn(Backoff, Span, u64) -> Session,
    spread_start: fn(&mut Session, Instant, Span),
    begin: fn(&mut Session, Instant),
    open: fn(&mut Session, Instant),
    end: fn(&mut Session, Instant),
    link_up: fn(&mut Session, Instant),
    took: fn(&mut CallTime, Span),
    took_longer: fn(&mut CallTime, Span),
    leave_by: fn(&mut CallTime, Instant, Instant) -> Instant,
}

type Gated<L, const LIMITS: usize, C> = Controller<L, LIMITS, Policy<L, LIMITS>, C>;

/// The functions of a controller.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Verbs<L: Law, const LIMITS: usize, C: Costs<LIMITS> = [u32; LIMITS]> {
    new: fn(Policy<L, LIMITS>, Rng, Instant) -> Gated<L, LIMITS, C>,
    check: fn(&Gated<L, LIMITS, C>, Instant, &Call<LIMITS, C>) -> Verdict,
    why: fn(&Gated<L, LIMITS, C>, Instant, &Call<LIMITS, C>) -> Option<Gate>,
    poll: fn(&mut Gated<L, LIMITS, C>, Instant, &Call<LIMITS, C>) -> Decision<Permit<LIMITS, C>>,
    settle: fn(&mut Gated<L, LIMITS, C>, Instant, Permit<LIMITS, C>, Reply<LIMITS>),
    learn: fn(&mut Gated<L, LIMITS, C>, Instant, &mut Permit<LIMITS, C>, Reply<LIMITS>),
    report: fn(&mut Gated<L, LIMITS, C>, Instant, Reply<LIMITS>),
    refund: fn(&mut Gated<L, LIMITS, C>, Instant, Permit<LIMITS, C>),
    ready_at: fn(&Gated<L, LIMITS, C>, Instant, &Call<LIMITS, C>) -> Option<Instant>,
    retry: fn(
        &mut Gated<L, LIMITS, C>,
        Instant,
        &Call<LIMITS, C>,
        Outcome,
    ) -> Result<Call<LIMITS, C>, Reason>,
    next_at: fn(&Gated<L, LIMITS, C>, Instant) -> Option<Instant>,
    set_policy: fn(&mut Gated<L, LIMITS, C>, Policy<L, LIMITS>, Instant),
    spread_start: fn(&mut Gated<L, LIMITS, C>, Instant, Span),
    snapshot: fn(&Gated<L, LIMITS, C>, Instant, &mut [u8]) -> Result<usize, SnapshotError>,
    restore: fn(
        Policy<L, LIMITS>,
        u64,
        &[u8],
        Instant,
        Span,
    ) -> Result<Gated<L, LIMITS, C>, SnapshotError>,
    /// The negative control: it can panic, and the image with it must not link.
    #[cfg(feature = "bad")]
    bad: fn(u64, u64) -> u64,
}

impl<L: Record + Copy + PartialEq, const LIMITS: usize, C: Costs<LIMITS>> Verbs<L, LIMITS, C> {
    const ALL: Self = Self {
        new: Controller::with_rng,
        check: Controller::check,
        why: Controller::why,
        poll: Controller::poll,
        settle: |gate, now, permit, reply| gate.settle(now, permit, reply),
        learn: |gate, now, permit, reply| gate.learn(now, permit, reply),
        report: |gate, now, reply| gate.report(now, reply),
        refund: Controller::refund,
        ready_at: Controller::ready_at,
        retry: Controller::retry,
        next_at: Controller::next_at,
        set_policy: Controller::set_policy,
        spread_start: Controller::spread_start,
        snapshot: Controller::snapshot,
        restore: Controller::restore,
        #[cfg(feature = "bad")]
        bad: |dividend, divisor| dividend / divisor,
    };
}

type Gates = Keyed<u32, Fixed, 4>;

/// The functions of a table of controllers.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Table {
    new: fn(Policy<Fixed>, u64) -> Gates,
    poll: fn(&mut Gates, Instant, &u32, &Call) -> Decision,
    settle: fn(&mut Gates, Instant, &u32, Permit, Reply),
    retry: fn(&mut Gates, Instant, &u32, &Call, Outcome) -> Result<Call, Reason>,
    get: for<'a> fn(&'a Gates, &u32) -> Option<&'a Controller<Fixed>>,
}

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

/// The functions of a queue.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Calls<G> {
    place: fn(&mut Line, u8) -> Place,
    first: fn(&Line, bool) -> Option<usize>,
    waiting: fn(&Line) -> usize,
    admit_or_join:
        fn(&mut Line, Instant, &mut G, &Call<2>, Place) -> Result<Joined<Permit<2>>, Reason>,
    rejoin: fn(&mut Line, Instant, &mut G, &Call<2>, Place) -> Result<Joined<Permit<2>>, Reason>,
    turn: fn(&Line, Instant, &G, &Call<2>, u8) -> Instant,
    poll: fn(&mut Line, Instant, &mut G) -> Step,
    take: fn(&mut Line, Ticket) -> Turn<Permit<2>>,
    is_admitted: fn(&Line, Ticket) -> bool,
    cancel: fn(&mut Line, Instant, &mut G, Ticket),
}

impl<G: queue::Gate<2, Permit = Permit<2>>> Calls<G> {
    const ALL: Self = Self {
        place: Queue::place,
        first: Queue::first,
        waiting: Queue::waiting,
        admit_or_join: Queue::admit_or_join,
        rejoin: Queue::rejoin,
        turn: Queue::turn,
        poll: Queue::poll,
        take: Queue::take,
        is_admitted: Queue::is_admitted,
        cancel: Queue::cancel,
    };
}

type Desk = Coordinator<Leases<AnyLaw, 8>, 4>;
type Branch = Coordinator<Member<8>, 4>;

/// The functions of a shared budget.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Shared {
    member: fn(u64, Quota, Instant) -> Member<8>,
    poll: fn(&mut Member<8>, Instant, &Call) -> Decision<u64>,
    settle: fn(&mut Member<8>, Instant, u64, Reply),
    retry: fn(&mut Member<8>, Instant, &Call, Outcome) -> Result<Call, Reason>,
    request_at: fn(&Member<8>) -> Option<Instant>,
    request: fn(&mut Member<8>, Instant, u16, &mut [u8]) -> Option<usize>,
    leave: fn(&mut Member<8>, Instant, &mut [u8]) -> Option<usize>,
    hear: fn(&mut Member<8>, Instant, &[u8]) -> Result<(), MessageError>,
    miss: fn(&mut Member<8>, Instant),
    next_at: fn(&Member<8>) -> Option<Instant>,
    coordinator: fn(Controller<AnyLaw>, Instant, Span) -> Desk,
    answer: fn(&mut Desk, Instant, &[u8], &mut [u8]) -> Result<usize, MessageError>,
    members: fn(&Desk) -> u16,
    snapshot: fn(&mut Desk, Instant, &mut [u8]) -> Result<usize, SnapshotError>,
    restore: fn(Policy<AnyLaw>, u64, &[u8], Instant, Span, bool) -> Result<Desk, SnapshotError>,
    in_place: fn(Desk, Instant, Span) -> Desk,
    branch: fn(&mut Branch, Instant, &mut [u8]) -> Option<usize>,
    branch_answer: fn(&mut Branch, Instant, &[u8], &mut [u8]) -> Result<usize, MessageError>,
}

/// The constructors that validate their arguments.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Parts {
    named: fn(&str) -> Option<Policy>,
    settled: fn(u64, Instant) -> Controller<Aimd, 2>,
    quota: fn(u64, Span, u32) -> Result<Quota, ConfigError>,
    cooldown: fn(Span, Ratio) -> Result<CooldownPolicy, ConfigError>,
    retry_budget: fn(Ratio, u32) -> Result<RetryBudgetPolicy, ConfigError>,
    backoff: fn(Growth, Jitter, Span, Span) -> Result<Backoff, ConfigError>,
    aimd: fn(AimdConfig) -> Result<Aimd, ConfigError>,
    autosleeper: fn(AutosleeperConfig) -> Result<Autosleeper, ConfigError>,
}

/// The conversions, and the random generator.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Conversions {
    status: fn(u16) -> Outcome,
    ticks: fn(NonZeroU32) -> Ticks,
    extend: fn(&mut Ticks, u32) -> Instant,
    to_ticks: fn(&Ticks, Span) -> u64,
    between: fn(&mut Rng, Span, Span) -> Span,
    around: fn(&mut Rng, Span, Ratio) -> Span,
}

/// The parsers, with input from anyone.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Signals {
    reading: fn(u16) -> Reading,
    header: fn(&mut Reading, &[u8], &[u8]),
    finish: fn(&mut Reading, Option<Span>) -> Answer,
    common: fn(u16) -> Reading<Common>,
    common_header: fn(&mut Reading<Common>, &[u8], &[u8]),
    reply: fn(&mut Reading<Common>, Option<u32>) -> Reply<2>,
    is_worth: fn(u16, &[u8]) -> bool,
    feed: fn(&mut Body, &[u8]),
    refine: fn(&Body, u16, Reply<2>) -> Reply<2>,
    body: fn(&mut Reading, &Body),
    points: fn(&Body) -> Hint,
    last: fn(&Answer) -> Option<Hint>,
    unit: fn(&Answer, Unit) -> Hint,
    about: fn(&Answer, [Unit; 2]) -> Reply<2>,
    named: fn(&Answer, &[u8]) -> Hint,
    aws: fn(&[u8]) -> Option<Outcome>,
    grpc: fn(u32, &[u8], Option<&[u8]>, Option<Span>) -> Reply,
    retry_delay: fn(&[u8]) -> Option<Span>,
    retry_delay_base64: fn(&[u8]) -> Option<Span>,
    mqtt: fn(u8) -> Outcome,
    coap: fn(u8, Option<u32>) -> Reply,
    max_age: fn(&[u8]) -> Option<u32>,
}
