//! Events from bytes: calls, responses, clock jumps, restarts.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tidegate::{Instant, Outcome, Span};

use crate::hints::{outcome, reply};
use crate::input::Input;
use crate::terms::{self, Terms};
use crate::world::{Call, World};

/// Whether each event is printed with the state before it.
static TELLS: AtomicBool = AtomicBool::new(false);

/// Prints each event from now on, to follow a single run.
pub fn tell_of_events() {
    TELLS.store(true, Relaxed);
}

/// The maximum number of events per try.
const EVENTS: usize = 150;

/// One limit or two, a policy, a seed and a clock, followed by events.
pub fn try_with(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.u8() {
        // About one in sixteen is run twice, with equal results.
        kind @ 240.. if kind & 1 == 0 => twice::<1>(input),
        240.. => twice::<2>(input),
        kind if kind & 1 == 0 => _ = run::<1>(input),
        _ => _ = run::<2>(input),
    }
}

fn twice<const LIMITS: usize>(input: Input<'_>) {
    let (one, two) = (run::<LIMITS>(input), run::<LIMITS>(input));
    assert!(one.is_as(&two), "the same seed, policy and calls gave different decisions");
}

fn run<const LIMITS: usize>(mut input: Input<'_>) -> World<LIMITS> {
    let terms = Terms::of(&mut input);
    let (seed, start) = (input.u8(), input.instant());
    let mut world = World::new(terms, seed.into(), start);
    happen(&mut world, input);
    world.a_call_that_waits_as_told_is_sent();
    world
}

/// Runs the events of the input, and checks every promise after each.
pub fn happen<const LIMITS: usize>(world: &mut World<LIMITS>, mut input: Input<'_>) {
    for _ in 0..EVENTS {
        if input.is_empty() {
            return;
        }
        event(world, &mut input);
        world.every_promise_holds();
    }
}

fn event<const LIMITS: usize>(world: &mut World<LIMITS>, input: &mut Input<'_>) {
    let kind = input.u8();
    let which = usize::from(kind >> 4);
    if TELLS.load(Relaxed) {
        println!("event {kind:#04x} at {:?} of {:#?}", world.now, world.gate);
    }
    match kind & 15 {
        0 => _ = world.poll(Call::plain()),
        1 => {
            world.pass(Span::from_millis(7 << which));
            world.poll(Call::plain());
        }
        2 => world.wait_as_told(),
        3 => _ = world.poll(call(world.now, input)),
        4 => world.poll_again(which),
        5 => world.settle(0, Outcome::Ok.into()),
        6 => world.settle(0, Outcome::Throttled.into()),
        7 => {
            let reply = reply(outcome(kind >> 4), input);
            world.settle(0, reply);
        }
        8 => {
            let reply = reply(outcome(input.u8()), input);
            world.settle(which, reply);
        }
        9 => world.pass(input.span()),
        10 if which < 8 => {
            let back = world.now.as_nanos().saturating_sub(input.span().as_nanos());
            world.set_clock(Instant::from_nanos(back));
        }
        10 => world.set_clock(input.instant()),
        11 => world.set_concurrency(terms::concurrency(input)),
        12 => world.lose(which),
        13 if which < 8 => world.set_policy(Terms::of(input)),
        13 => world.set_policy(world.terms),
        14 if which < 8 => world.sleep(Span::ZERO, input.span()),
        14 => world.sleep(input.span(), input.span()),
        _ => world.wake_on_another_clock(input.instant()),
    }
}

fn call<const LIMITS: usize>(now: Instant, input: &mut Input<'_>) -> Call<LIMITS> {
    let flags = input.u8();
    let costs = [(); LIMITS].map(|()| input.small());
    let estimated = flags & 4 > 0;
    let call = tidegate::Call::of(costs);
    let call = if estimated { call.estimated() } else { call };
    let call = match flags & 3 {
        0 => call,
        1 => call.deadline(input.instant()),
        _ => call.deadline(now + input.span()),
    };
    Call { core: call, costs, estimated }
}
