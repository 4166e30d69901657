//! Days of devices, with servers with windows and buckets that send all hints, or few.

use tidegate::{Call, Controller, Decision, Hint, Outcome, Reply, Span};

use crate::client::{Client, Gate, POLICY};
use crate::{DAY, HOUR, MILLIS, SECOND, at};

/// The headers of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// `Retry-After` with each throttled call.
    RetryAfter,
    /// Also `RateLimit-Policy` and `RateLimit` with all responses.
    Ietf,
    /// Also `X-RateLimit-Limit`, `-Remaining` and `-Reset` with all responses.
    XRateLimit,
}

/// A server with this many calls per period: windows, or a bucket with this burst.
#[derive(Clone, Copy, Debug)]
struct Server {
    limit: u64,
    period: u64,
    burst: Option<u64>,
    says: Says,
    /// The remaining calls, in parts of a call.
    left: u64,
    latest: u64,
}

impl Server {
    fn new(limit: u64, period: u64, burst: Option<u64>, says: Says) -> Self {
        Self { limit, period, burst, says, left: burst.unwrap_or(limit) * period, latest: 0 }
    }

    /// A call that comes at `now`.
    fn call(&mut self, now: u64) -> Reply {
        let full = self.burst.unwrap_or(self.limit) * self.period;
        let now = now.max(self.latest);
        match self.burst {
            Some(_) => self.left = (self.left + (now - self.latest) * self.limit).min(full),
            None if now / self.period > self.latest / self.period => self.left = full,
            None => {}
        }
        self.latest = now;
        let served = self.left >= self.period;
        self.left -= if served { self.period } else { 0 };
        let ends = self.period - now % self.period;
        let (reset, next) = match self.burst {
            Some(_) => (
                (full - self.left).div_ceil(self.limit),
                (self.period - self.left.min(self.period)).div_ceil(self.limit),
            ),
            None => (ends, ends),
        };
        let whole = |span: u64| Span::from_secs(span.div_ceil(SECOND));
        let told = match self.says {
            Says::RetryAfter => Hint::NONE,
            Says::Ietf => Hint::quota(self.limit, Span::from_nanos(self.period))
                .and_remaining(self.left / self.period)
                .and_reset(whole(reset)),
            Says::XRateLimit => Hint::remaining(self.left / self.period)
                .and_limit(self.limit)
                .and_reset(whole(reset)),
        };
        match served {
            true => Outcome::Ok.with(told),
            false => Outcome::Throttled.with(told.and_retry_after(whole(next))),
        }
    }
}

const TAKES: u64 = 100 * MILLIS;

/// Makes `calls` calls in sequence, each with its retries. Returns the total time.
fn burst(client: &mut Client, server: &mut Server, calls: u64) -> u64 {
    let began = client.now;
    let mut served = 0;
    while served < calls {
        let permit = client.admitted();
        let reply = server.call(client.now);
        served += u64::from(reply.outcome == Outcome::Ok);
        client.now += TAKES;
        client.gate.settle(at(client.now), permit, reply);
    }
    client.now - began
}

/// Makes one call at each of these times. Returns the longest wait.
fn worst_wait(client: &mut Client, server: &mut Server, times: impl Iterator<Item = u64>) -> u64 {
    let mut worst = 0;
    for time in times {
        client.now = client.now.max(time);
        worst = worst.max((client.now - time + burst(client, server, 1)).saturating_sub(TAKES));
    }
    worst
}

/// The calls of a device. Returns their time.
type Life = fn(&mut Client, &mut Server) -> u64;

#[test]
fn a_device_far_below_its_limit_is_as_fast_with_all_hints_as_with_fewer() {
    let lives: [(&str, u64, u64, Life); 6] = [
        ("300 at 5000/h", 5_000, HOUR, |client, server| burst(client, server, 300)),
        ("50 at 1000/d", 1_000, DAY, |client, server| burst(client, server, 50)),
        ("300 at 1000/d", 1_000, DAY, |client, server| burst(client, server, 300)),
        ("20 at 100/h", 100, HOUR, |client, server| burst(client, server, 20)),
        ("8 a day of 10", 10, DAY, |client, server| {
            worst_wait(client, server, (0..8 * 14).map(|call| call * DAY / 8 + SECOND))
        }),
        ("5 at boot, then one in 6 h, of 10/d", 10, DAY, |client, server| {
            let boot = (0..5).map(|_| SECOND);
            worst_wait(client, server, boot.chain((1..56).map(|call| call * 6 * HOUR)))
        }),
    ];
    for (name, limit, period, life) in lives {
        for windows in [true, false] {
            let [less, ietf, fields] =
                [Says::RetryAfter, Says::Ietf, Says::XRateLimit].map(|says| {
                    let burst = (!windows).then_some(limit);
                    let mut server = Server::new(limit, period, burst, says);
                    life(&mut Client::new(7), &mut server)
                });
            for told in [ietf, fields] {
                assert!(told * 20 <= less * 21, "{name}, windows: {windows}: {told}, not {less}");
            }
        }
    }
}

#[test]
fn a_bucket_with_a_burst_below_its_quota_is_used_with_few_rejections() {
    for (limit, period, size) in
        [(100, HOUR, 10), (1_000, DAY, 50), (60, 60 * SECOND, 10), (600, 60 * SECOND, 20)]
    {
        for says in [Says::Ietf, Says::XRateLimit, Says::RetryAfter] {
            let (mut served, mut rejected, mut possible) = (0, 0, 0);
            for seed in 0..20 {
                let mut client = Client::new(seed);
                let mut server = Server::new(limit, period, Some(size), says);
                let end = if period == DAY { 7 * DAY } else { 24 * period };
                while client.now < end {
                    let permit = client.admitted();
                    let reply = server.call(client.now);
                    let ok = reply.outcome == Outcome::Ok;
                    (served, rejected) = (served + u64::from(ok), rejected + u64::from(!ok));
                    client.now += 20 * MILLIS;
                    client.gate.settle(at(client.now), permit, reply);
                }
                possible += size + end / period * limit;
            }
            let what = format!("{limit} in {} s, burst {size}, {says:?}", period / SECOND);
            assert!(served * 10 >= possible * 9, "{what}: {served} of {possible}");
            assert!(rejected * 33 <= served, "{what}: {rejected} rejected of {served}");
        }
    }
}

/// Devices that power up at once, with starts spread over this many seconds. Each makes one
/// reading, and then one every five minutes. Returns when all have been served once, and how many
/// calls of the first hour were throttled, in thousandths.
fn power_up(devices: u64, mut server: Server, over: u64, seed: u64) -> (u64, u64) {
    let mut fleet: Vec<_> = (0..devices)
        .map(|device| {
            let mut client = Client::new(1_000 * seed + device);
            client.gate.spread_start(at(client.now), Span::from_secs(over));
            (client, Call::new(), false)
        })
        .collect();
    let (mut once, mut last, mut calls, mut rejected) = (0, 0, 0, 0);
    loop {
        let (client, call, served) =
            fleet.iter_mut().min_by_key(|(client, ..)| client.now).unwrap();
        if client.now > HOUR {
            assert_eq!(once, devices);
            return (last, rejected * 1_000 / calls);
        }
        match client.gate.poll(at(client.now), call) {
            Decision::Admit(permit) => {
                let reply = server.call(client.now);
                let now = client.now + TAKES;
                client.gate.settle(at(now), permit, reply);
                calls += 1;
                if reply.outcome == Outcome::Ok {
                    if !*served {
                        (once, last, *served) = (once + 1, now, true);
                    }
                    (*call, client.now) = (Call::new(), client.now + 300 * SECOND);
                } else {
                    rejected += 1;
                    *call = client.gate.retry(at(now), call, reply).unwrap();
                    client.now = now;
                }
            }
            Decision::Wait(until) => client.now = until.as_nanos(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_fleet_that_powers_up_at_once_is_served_in_time() {
    for size in [Some(20), None] {
        for says in [Says::Ietf, Says::XRateLimit, Says::RetryAfter] {
            for seed in 0..5 {
                let server = Server::new(120, 60 * SECOND, size, says);
                // The ideal is 90 s for the bucket and 60 s for the windows.
                let [(at_once, _), (spread, rejected)] =
                    [0, 100].map(|over| power_up(200, server, over, seed));
                assert!(at_once <= 110 * SECOND, "{size:?} {says:?}: {} s", at_once / SECOND);
                assert!(spread <= 108 * SECOND, "{size:?} {says:?}: {} s", spread / SECOND);
                assert!(rejected <= 10, "{size:?} {says:?}: {rejected} of 1000 rejected");
            }
        }
    }
}

/// A reading every five minutes for a fortnight, within ten seconds, with a snapshot in each sleep.
/// Returns how many were served and how many throttled.
fn readings(mut server: Server, tells: bool, seed: u64) -> [u64; 2] {
    let (mut gate, mut counts) = (Gate::new(POLICY, seed, at(0)), [0; 2]);
    for wake in (7 * HOUR..14 * DAY).step_by(300 * SECOND as usize) {
        let mut now = wake;
        let mut call = Call::new().deadline(at(wake + 10 * SECOND));
        loop {
            match gate.poll(at(now), &call) {
                Decision::Admit(permit) => {
                    let mut reply = server.call(now);
                    if !tells {
                        reply = reply.outcome.into();
                    }
                    counts[usize::from(reply.outcome != Outcome::Ok)] += 1;
                    now += 200 * MILLIS;
                    gate.settle(at(now), permit, reply);
                    match gate.retry(at(now), &call, reply) {
                        Ok(next) => call = next,
                        Err(_) => break,
                    }
                }
                Decision::Wait(until) => now = until.as_nanos(),
                Decision::Full | Decision::Reject(_) => break,
            }
        }
        let mut record = [0; Gate::SNAPSHOT_BYTES];
        gate.snapshot(at(now), &mut record).unwrap();
        let next = wake + 300 * SECOND;
        let away = Span::from_nanos(next - now);
        gate = Controller::restore(POLICY, wake, &record, at(next), away).unwrap();
    }
    counts
}

#[test]
fn a_device_that_knows_how_long_it_slept_uses_its_quota() {
    let fortnight = 14 * DAY - 7 * HOUR;
    // With few hints, the law checks about every hour whether the quota is available again.
    for (limit, size, says, tells, most) in [
        (1_000, None, Says::Ietf, true, 0),
        (100, None, Says::Ietf, true, 28),
        (100, None, Says::RetryAfter, true, 42),
        (100, None, Says::RetryAfter, false, 56),
        (100, Some(5), Says::RetryAfter, true, 28),
        (100, Some(5), Says::Ietf, true, 28),
    ] {
        let possible = match size {
            Some(size) => size + limit * fortnight / DAY,
            None => (limit * 14).min(fortnight / (300 * SECOND)),
        };
        for seed in 0..3 {
            let server = Server::new(limit, DAY, size, says);
            let [served, rejected] = readings(server, tells, seed);
            let what = format!("{limit} a day, {size:?}, {says:?} {tells}");
            assert!(served * 100 >= possible * 98, "{what}: {served} of {possible}");
            assert!(rejected <= most, "{what}: {rejected} rejected");
        }
    }
}
