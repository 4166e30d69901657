//! A wrapping 32-bit counter as the only clock.

use core::num::NonZeroU32;

use tidegate::time::Ticks;
use tidegate::{Call, Decision, Instant, Outcome, Rng};

use super::{Gate, every_policy};

/// The expected clock: the exact quotient of all ticks so far.
fn exact(ticks: u64, hertz: u32) -> Instant {
    let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(hertz);
    Instant::from_nanos(u64::try_from(nanos).unwrap())
}

#[test]
fn a_counter_that_wraps_a_thousand_times_works_like_any_clock() {
    for hertz in [1_000, 32_768, 1_000_000, 16_000_000] {
        for (name, policy) in every_policy() {
            let mut counter = Ticks::new(NonZeroU32::new(hertz).unwrap());
            let mut ticks = u64::from(u32::MAX) - 3; // the first wrap is near
            let first = counter.extend(ticks as u32);
            let [mut one, mut two] = [(); 2].map(|()| Gate::new(policy, 7, first));
            let (mut out, mut chance) = (Vec::new(), Rng::new(7));
            while ticks >> 32 <= 1_000 {
                // From an instant to almost half of the range, the longest gap between two
                // readings.
                let most =
                    if chance.next_u32().is_multiple_of(3) { i32::MAX as u32 } else { hertz };
                ticks += u64::from(chance.next_u32() % most) + 1;
                let (now, then) = (counter.extend(ticks as u32), exact(ticks, hertz));
                assert_eq!(now, then, "{name}: {ticks} ticks at {hertz} Hz");
                let answers = (one.poll(now, &Call::new()), two.poll(then, &Call::new()));
                assert_eq!(answers.0, answers.1, "{name}");
                if let (Decision::Admit(here), Decision::Admit(there)) = answers {
                    out.push((here, there));
                }
                if let Some((here, there)) = out.pop() {
                    let throttled = chance.next_u32().is_multiple_of(9);
                    let outcome = if throttled { Outcome::Throttled } else { Outcome::Ok };
                    one.settle(now, here, outcome);
                    two.settle(then, there, outcome);
                }
            }
            assert!(one.stats().admitted > 100, "{name}: {} calls left", one.stats().admitted);
            assert_eq!(one, two);
        }
    }
}

#[test]
fn a_wait_in_ticks_is_at_most_a_tick_late_over_a_thousand_wraps() {
    let hertz = NonZeroU32::new(32_768).unwrap();
    let mut counter = Ticks::new(hertz);
    let start = counter.extend(0);
    let policy = tidegate::Policy::named("fixed").unwrap(); // ten a second
    let (mut gate, mut ticks) = (Gate::new(policy, 7, start), 0_u64);
    while ticks >> 32 <= 1_000 {
        let now = counter.extend(ticks as u32);
        match gate.poll(now, &Call::new()) {
            Decision::Admit(permit) => {
                gate.settle(now, permit, Outcome::Ok);
                // Then nothing for as long as the counter may stay unread.
                if gate.stats().admitted.is_multiple_of(10) {
                    ticks += i32::MAX as u64;
                }
            }
            Decision::Wait(until) => {
                let wait = until - now;
                let sleep = counter.to_ticks_ceil(wait);
                assert!(exact(ticks + sleep, hertz.get()) >= until, "woken too early");
                assert!(exact(ticks + sleep - 2, hertz.get()) < until, "woken too late");
                ticks += sleep;
            }
            other => panic!("{other:?}"),
        }
    }
    // No wait was unnecessary: one for each call, except for calls after a cooldown.
    let stats = gate.stats();
    assert!(stats.waits < stats.admitted, "{} waits for {} calls", stats.waits, stats.admitted);
}
