//! Days of devices, with servers with windows and buckets that send all hints, or few.

use tidegate::{Call, Decision, Outcome, Rng, Span};
use tidegate_limits::{Limit, Window};

use crate::client::Client;
use crate::server::{Says, Server};
use crate::{DAY, HOUR, MILLIS, SECOND, at};

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
                    [0, 100].map(|over| power_up(200, server.clone(), over, seed));
                assert!(at_once <= 110 * SECOND, "{size:?} {says:?}: {} s", at_once / SECOND);
                assert!(spread <= 108 * SECOND, "{size:?} {says:?}: {} s", spread / SECOND);
                assert!(rejected <= 10, "{size:?} {says:?}: {rejected} of 1000 rejected");
            }
        }
    }
}

/// The rate of the longest window is a fifth of what the shortest one allows, so it is used up within the first half
/// hour, and the dark time after it is a hundred times as long as those of the minute.
#[test]
fn a_busy_client_uses_each_hour_of_three_windows() {
    for seed in 1..=8 {
        let mut client = Client::new(seed);
        let phase = seed * 397 * SECOND;
        let mut windows = [(10, SECOND), (300, 60 * SECOND), (7_000, HOUR)]
            .map(|(calls, width)| Window::new(calls, width));
        let (mut hours, mut rejected) = ([0; 12], 0);
        while client.now < 12 * HOUR {
            let permit = client.admitted();
            let now = client.now + phase;
            let serves = windows.iter_mut().all(|window| window.fits(now, 1));
            if serves {
                windows.iter_mut().for_each(|window| window.charge(1));
            }
            let outcome = if serves { Outcome::Ok } else { Outcome::Throttled };
            let hour = usize::try_from(now / HOUR - phase / HOUR).unwrap();
            *hours.get_mut(hour).unwrap_or(&mut 0) += u64::from(serves);
            rejected += u64::from(!serves);
            client.now += 50 * MILLIS;
            client.gate.settle(at(client.now), permit, outcome);
        }
        let total: u64 = hours.iter().sum();
        let what = format!("seed {seed}: {hours:?} served, {rejected} rejected");
        assert!(hours[1..].iter().all(|served| *served >= 5_600), "{what}");
        assert!(hours[1..].iter().sum::<u64>() >= 11 * 6_650 && rejected * 100 <= total, "{what}");
    }
}

/// A gateway with a buffer for 20,000 readings. It sends 87 % of what the hour's window allows, and its link is down for
/// two hours a day.
#[test]
fn a_gateway_before_three_windows_loses_no_reading_in_thirty_days() {
    for says in [Says::Nothing, Says::RetryAfter, Says::XRateLimit, Says::Ietf] {
        let mut client = Client::new(7);
        let mut windows = [(10, SECOND), (300, 60 * SECOND), (7_000, HOUR)]
            .map(|(calls, period)| Server::new(calls, period, None, says));
        let (mut readings, mut second, mut chance) = (0, 0, Rng::new(4));
        let (mut served, mut rejected, mut lost) = (0, 0, 0);
        while client.now < 30 * DAY {
            while second * SECOND <= client.now {
                second += 1;
                readings += if chance.next_u32().is_multiple_of(10) { 8 } else { 1 };
                lost += readings.max(20_000) - 20_000;
                readings = readings.min(20_000);
            }
            if readings == 0 {
                client.now = second * SECOND;
                continue;
            }
            let permit = client.admitted();
            let reply = if (30_000..37_200).contains(&(client.now % DAY / SECOND)) {
                client.now += 5 * SECOND;
                Outcome::Failed.into()
            } else {
                let serves = windows.iter_mut().all(|window| window.limit.fits(client.now, 1));
                if serves {
                    windows.iter_mut().for_each(|window| window.limit.charge(1));
                }
                client.now += 50 * MILLIS;
                (served, rejected) = (served + u64::from(serves), rejected + u64::from(!serves));
                readings -= u64::from(serves);
                // Of the window that is closed for longest, or else of the hour.
                let tells = windows.iter().max_by_key(|window| window.limit.retry_after(1));
                tells.unwrap().reply(serves)
            };
            client.gate.settle(at(client.now), permit, reply);
        }
        let what = format!("{says:?}: {lost} lost, {served} served, {rejected} rejected");
        println!("{what}");
        assert!(lost == 0 && rejected * 1_000 <= served, "{what}");
    }
}
