//! Worlds of mixed traffic: rejections that the rate does not cause, and other clients.

use std::fmt::Write;

use super::{
    CALLS, CLOSED, Dice, Facts, Limit, Text, WIDTHS, Way, bucket, clients, closed, convergence,
    open, poisson, rate, roomy, threads, time, travel, way, whole, window, working,
};

/// Clients at a limit, clients in a closed loop that no limit slows down, or clients that request
/// less than the limit at random.
fn traffic(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let (number, calls) = (dice.count(1, 16.0), dice.pick(&CALLS));
    let kind = dice.pick(&["limit", "loop", "random"]);
    let (mut limit, number) = roomy(dice, number, way.trip, calls);
    let mut own = threads(dice, number, limit.rate, way.trip);
    if kind == "loop" {
        own = dice.pick(&[1, 4, 16]);
        let possible = f64::from(number * own) / way.trip;
        limit = Limit { rate: possible, ..bucket(dice, 4.0 * possible, 10 * number * own) };
    }
    if kind == "random" {
        let most = f64::from(number) * 64.0 / way.trip / 3.0;
        let load = (dice.even(0.2, 0.8) * limit.rate).min(most);
        let demand = poisson(number, load, way.trip);
        let (mut text, facts) = open(dice, &way, &limit, number, demand, calls);
        _ = write!(text.title, ", {} requested", rate(load));
        return (text, facts);
    }
    let (mut text, facts) = closed(dice, &way, &limit, number, own, calls);
    if kind == "loop" {
        text.title.push_str(", a limit that is never reached");
        _ = writeln!(text.world, "offered = \"{}\"", rate(limit.rate));
    }
    (text, facts)
}

pub(super) fn noise(dice: &mut Dice, index: u32) -> (Text, Facts) {
    let (mut text, facts) = traffic(dice);
    reject(dice, &mut text, [0.02, 0.01, 0.001, 0.05, 0.003][index as usize % 5]);
    (text, facts)
}

/// Adds random rejections of this share of all calls.
fn reject(dice: &mut Dice, text: &mut Text, share: f64) {
    let (reply, to) = (dice.pick(&["throttled", "busy"]), time(text.end));
    _ = write!(text.title, ", {} % {reply} at random", share * 100.0);
    text.server = format!("faults = [{{ to = \"{to}\", share = {share}, reply = \"{reply}\" }}]\n");
}

pub(super) fn bad(dice: &mut Dice) -> (Text, Facts) {
    let (mut text, facts) = traffic(dice);
    let (of, tries) = (dice.count(100, 2_000.0), dice.count(2, 10.0));
    let reply = dice.pick(&["throttled", "failed", "too_large"]);
    _ = write!(text.title, ", one call in {of} always {}", reply.replace('_', " "));
    let share = 1.0 / f64::from(of);
    _ = writeln!(
        text.clients,
        "tries = {tries}\nbad = {{ share = {share:.6}, reply = \"{reply}\" }}"
    );
    (text, facts)
}

/// Strangers that request this many calls a second on average from a limit.
fn beside(dice: &mut Dice, limit: &Limit, mean: f64) -> (&'static str, String) {
    let cycle = dice.log(50.0, 1_000.0) / limit.rate;
    match dice.pick(&["random", "on and off", "cron"]) {
        "random" => ("at random", format!("\"{}\"", rate(mean))),
        "on and off" => {
            // While on, they leave at least a twentieth of the limit.
            let on = dice.even(0.2, 0.8).max(mean / limit.rate / 0.95);
            let rate = rate(mean / on);
            let [on, off] = [on, 1.0 - on].map(|part| time(cycle * part));
            ("on and off", format!("{{ rate = \"{rate}\", on = \"{on}\", off = \"{off}\" }}"))
        }
        _ => {
            let calls = (mean * cycle).ceil();
            let every = time(calls / mean);
            ("by cron", format!("{{ calls = {calls}, every = \"{every}\" }}"))
        }
    }
}

pub(super) fn strangers(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let number = dice.count(1, 4.0);
    let per_second = dice.log(0.01, (f64::from(number) * 32.0 / way.trip).min(200.0));
    let mut limit = if dice.happens(0.7) {
        let burst = dice.count(number.max(2), 30.0 * per_second);
        let mut limit = bucket(dice, per_second, burst);
        limit.text = limit.text.replace("start = 0\n", "");
        limit
    } else {
        let width = dice.pick(&[1.0, 10.0, 60.0, 300.0]);
        window(dice.count(number + 2, (per_second * width).min(100.0)), width)
    };
    limit.text.push_str("start = 0\n");
    let share = dice.even(0.1, 0.9);
    let (how, strangers) = beside(dice, &limit, limit.rate * share);
    let own = threads(dice, number, limit.rate, way.trip);
    let each = (f64::from(number) * dice.log(300.0, 2_000.0) / f64::from(number * own)).ceil();
    let job = each * f64::from(number * own);
    let ideal = job / (limit.rate * (1.0 - share)) + way.trip;
    let end = 12.0 * ideal + 60.0;
    let work = (own, format!("{{ work = {each} }}"));
    let (mut text, facts) = open(dice, &way, &limit, number, work, 0.0);
    _ = write!(text.title, ", a job of {job} beside {:.0} % of strangers {how}", share * 100.0);
    (text.end, text.bin) = (end, end / 3_000.0);
    text.world = "stop_when_work_is_done = true\n".into();
    text.server = format!("strangers = {strangers}\n");
    (text, Facts { ideal, end, ..facts })
}

/// Adds strangers that take 10 to 40 % of a limit, in one world of four.
fn crowded(dice: &mut Dice, limit: &Limit, (mut text, facts): (Text, Facts)) -> (Text, Facts) {
    if dice.happens(0.25) {
        let share = dice.even(0.1, 0.4);
        let (how, strangers) = beside(dice, limit, limit.rate * share);
        _ = write!(text.title, ", {:.0} % of strangers {how}", share * 100.0);
        _ = writeln!(text.server, "strangers = {strangers}");
    }
    (text, facts)
}

pub(super) fn nested(dice: &mut Dice) -> (Text, Facts) {
    let (way, number) = (way(dice), dice.count(1, 8.0));
    let ladders: [&[f64]; 5] =
        [&[1.0, 60.0], &[1.0, 60.0, 3_600.0], &[10.0, 600.0], &[60.0, 3_600.0], &[1.0, 3_600.0]];
    let widths = dice.pick(&ladders);
    let first = window(dice.count(number + 2, 50.0), widths[0]);
    let (mut limit, mut also) = (first.pool, Vec::new());
    for pair in widths.windows(2) {
        let most = f64::from(limit) * pair[1] / pair[0] * dice.even(0.1, 0.5);
        limit = whole(most.min(5_000.0)).max(limit + 1);
        also.push(format!("{{ limit = {limit}, width = \"{}\" }}", time(pair[1])));
    }
    let slowest = Limit { text: first.text, ..window(limit, widths[widths.len() - 1]) };
    let own = threads(dice, number, first.rate, way.trip);
    let calls = dice.pick(&CALLS);
    let (mut text, facts) = closed(dice, &way, &slowest, number, own, calls);
    _ = write!(text.title, ", and {} in {} s", first.pool, widths[0]);
    text.server = format!("also = [{}]\n", also.join(", "));
    crowded(dice, &slowest, (text, facts))
}

/// A sliding window that is enforced late, by at most this part of its width, so that no more than
/// ten times its limit can pass.
pub(super) fn sliding(dice: &mut Dice, late: f64) -> (Text, Facts) {
    let (way, number) = (way(dice), dice.count(1, 16.0));
    let width = dice.pick(&WIDTHS[..11]);
    let most = (f64::from(number) * 32.0 / way.trip * width).min(2_000.0);
    let mut limit = window(dice.count(number + 2, most), width);
    let own = threads(dice, number, limit.rate, way.trip);
    let passing = limit.rate * way.trip / f64::from(number * own);
    let late = late.min(10.0 * passing);
    let counter = late == 0.0 && dice.happens(0.5);
    let rejected = dice.happens(0.5);
    limit.text = format!(
        "[server.sliding]\nlimit = {}\nwidth = \"{}\"\ncounter = {counter}\n\
         counts_rejected = {rejected}\nlag = \"{}\"\n",
        limit.pool,
        time(width),
        time(width * late)
    );
    let calls = dice.pick(&CALLS);
    let (mut text, facts) = closed(dice, &way, &limit, number, own, calls);
    let kind = if counter { "a counter" } else { "a log" };
    let rejected = if rejected { ", throttled calls count" } else { "" };
    _ = write!(text.title, ", {kind}, {:.2} s late{rejected}", width * late);
    crowded(dice, &limit, (text, facts))
}

/// A bucket of at most `most` calls a second for 1 to 8 clients of so many threads.
fn few(dice: &mut Dice, least: f64, threads: f64, most: f64) -> (Way, u32, Limit) {
    let (way, number) = (way(dice), dice.count(1, 8.0));
    let per_second = dice.log(least, (f64::from(number) * threads / way.trip).min(most));
    let burst = dice.count(number + 2, 30.0 * per_second);
    let limit = bucket(dice, per_second, burst);
    (way, number, limit)
}

pub(super) fn bans(dice: &mut Dice) -> (Text, Facts) {
    let (way, number, limit) = few(dice, 0.1, 32.0, 100.0);
    let own = threads(dice, number, limit.rate, way.trip);
    let (mut text, facts) = closed(dice, &way, &limit, number, own, 4_000.0);
    // The run is at least eight bans long.
    let length = dice.log(10.0, 3_600.0).min(text.end / 8.0);
    let (after, within) = (dice.count(1, 50.0), dice.log(10.0, 600.0));
    let extends = dice.happens(0.3);
    _ = write!(text.title, ", {after} throttled in {within:.0} s cost {length:.0} s");
    let (within, length) = (time(within), time(length));
    text.server = format!(
        "ban = {{ after = {after}, within = \"{within}\", length = \"{length}\", extends = {extends} }}\n"
    );
    crowded(dice, &limit, (text, facts))
}

pub(super) fn flight(dice: &mut Dice) -> (Text, Facts) {
    let (way, number) = (way(dice), dice.count(1, 8.0));
    let (most, work) = (dice.count(2, 32.0).max(number), dice.log(0.05, 5.0));
    let possible = f64::from(most) / work;
    let per_second = possible * dice.log(0.3, 3.0);
    let burst = dice.count(number + 2, 30.0 * per_second);
    let rate = per_second.min(possible);
    let limit = Limit { rate, ..bucket(dice, per_second, burst) };
    let slow = Way { trip: way.trip + work, ..way };
    let own = threads(dice, number, per_second.max(possible), slow.trip);
    let calls = dice.pick(&CALLS);
    let (mut text, facts) = closed(dice, &slow, &limit, number, own, calls);
    _ = write!(text.title, ", {most} calls of {work:.2} s in flight");
    text.server = format!("flight = {most}\n{}", working(work));
    crowded(dice, &limit, (text, facts))
}

pub(super) fn tenants(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let (stay, come, calls) = (dice.count(1, 4.0), dice.count(1, 8.0), dice.pick(&CALLS));
    let (limit, number) = roomy(dice, stay + come, way.trip, calls);
    let own = threads(dice, number, limit.rate, way.trip);
    let (mut text, facts) = closed(dice, &way, &limit, number, own, calls);
    let phase = text.end / dice.even(6.0, 20.0);
    _ = write!(text.title, ", of which {come} come and go every {phase:.0} s");
    let demand = format!("{{ on_off = {{ on = \"{0}\", off = \"{0}\" }} }}", time(phase));
    text.clients = clients(number - come, own, CLOSED);
    // Jain's index leaves out clients that join later.
    _ = write!(text.clients, "\n{}from = \"1ms\"\n", clients(come, own, &demand));
    (text, facts)
}

/// Clients whose calls arise in rounds, each of which takes this part of the time until the next.
fn rounds(dice: &mut Dice, number: u32, own: u32, each: u32, busy: f64) -> (Text, Facts) {
    let way = way(dice);
    let calls = f64::from(number * own * each);
    let most = (f64::from(number * own) / 2.0 / way.trip).min(200.0);
    let per_second = dice.log((most / 100.0).min(0.05), most);
    let burst = dice.count(2, (calls / 4.0).max(2.0));
    let limit = bucket(dice, per_second, burst);
    let every = calls / per_second / busy;
    let demand = format!("{{ cron = {{ calls = {each}, every = \"{}\" }} }}", time(every));
    let (mut text, facts) = open(dice, &way, &limit, number, (own, demand), 0.0);
    _ = write!(text.title, ", {each} calls every {every:.0} s");
    text.end = every * (8_000.0 / calls).clamp(8.0, 40.0);
    text.bin = text.end / 300.0;
    text.world = String::new();
    (text, facts)
}

pub(super) fn cron(dice: &mut Dice) -> (Text, Facts) {
    let (number, own, each) = (dice.count(1, 8.0), dice.count(1, 16.0), dice.count(5, 50.0));
    let busy = dice.even(0.2, 0.9);
    rounds(dice, number, own, each, busy)
}

pub(super) fn wake(dice: &mut Dice) -> (Text, Facts) {
    let (number, each, busy) = (dice.count(20, 60.0), dice.count(1, 5.0), dice.log(0.02, 0.3));
    rounds(dice, number, 1, each, busy)
}

pub(super) fn near(dice: &mut Dice) -> (Text, Facts) {
    let (way, number, limit) = few(dice, 0.05, 16.0, 200.0);
    let load = limit.rate * dice.even(0.85, 0.97);
    let demand = poisson(number, load, way.trip);
    let (mut text, facts) = open(dice, &way, &limit, number, demand, 4_000.0);
    _ = write!(text.title, ", {:.0} % requested", 100.0 * load / limit.rate);
    (text, facts)
}

/// Clients that request little, and some of them much in between, with random rejections.
pub(super) fn light(dice: &mut Dice, index: u32) -> (Text, Facts) {
    let (way, number, limit) = few(dice, 0.05, 16.0, 200.0);
    let [load, peak] = [dice.log(0.01, 0.1), dice.even(0.3, 0.9)].map(|part| part * limit.rate);
    let own = poisson(number, peak, way.trip).0;
    let each = |load: f64| rate(load / f64::from(number * own));
    let demand = format!("{{ poisson = \"{}\" }}\nsteady = true", each(load));
    let (mut text, facts) = open(dice, &way, &limit, number, (own, demand), 0.0);
    text.end = 2_000.0 * f64::from(number) / load;
    (text.bin, text.world) = (text.end / 300.0, "stop_after_calls = 200000\n".into());
    _ = write!(text.title, ", {} requested", rate(load));
    if dice.happens(0.5) {
        let from = text.end / 3.0;
        let to = from + (3_000.0 * f64::from(number) / peak).min(from);
        _ = write!(text.title, ", {} from {from:.0} s to {to:.0} s", rate(peak));
        let step = |at, load| format!("{{ at = \"{}\", rate = \"{}\" }}", time(at), each(load));
        _ = writeln!(text.clients, "steps = [{}, {}]", step(from, peak), step(to, load));
    }
    let shares = [0.01, 0.001, 0.02, 0.003, 0.0005];
    reject(dice, &mut text, shares[index as usize % 5]);
    (text, facts)
}

pub(super) fn nodes(dice: &mut Dice) -> (Text, Facts) {
    let (way, number, own) = (way(dice), dice.count(1, 8.0), dice.pick(&[2, 4, 16]));
    let share = dice.pick(&[1, 2]);
    let nodes = number * own / share;
    let per_second = dice.log(0.01, (f64::from(share) / 2.0 / way.trip).min(50.0));
    let burst = dice.count(2 * share, 30.0 * per_second);
    let node = bucket(dice, per_second, burst);
    let limit = Limit { rate: f64::from(nodes) * per_second, pool: nodes * burst, ..node };
    let calls = dice.pick(&CALLS);
    let (mut text, facts) = closed(dice, &way, &limit, number, own, calls);
    _ = write!(text.title, ", evenly on {nodes} nodes");
    text.server = format!("nodes = {nodes}\n");
    (text, facts)
}

pub(super) fn latecomer(dice: &mut Dice) -> (Text, Facts) {
    let (way, limit) = (travel(dice, 0.2), bucket(dice, 100.0, 20));
    let own = threads(dice, 1, 200.0, way.trip);
    let [up, joins] = [(20.0, 120.0), (300.0, 600.0)].map(|(a, b)| dice.even(a, b).round());
    let (down, end) = (up + 60.0, joins + 60.0);
    let (mut text, facts) = closed(dice, &way, &limit, 1, own, 0.0);
    _ = write!(text.title, ", twice the rate at {up} s for a minute, another client at {joins} s");
    _ = writeln!(
        text.limit,
        "steps = [{{ at = \"{up}s\", rate = \"200/s\" }}, {{ at = \"{down}s\", rate = \"100/s\" }}]"
    );
    (text.end, text.bin) = (end, 1.0);
    text.world = format!("stop_after_calls = {}\n", 300.0 * end + 20_000.0);
    text.clients += &convergence("up_s", "up", up, down, 1.0, 200.0);
    _ = write!(
        text.clients,
        "\n[[stretch]]\nname = \"join\"\nfrom = \"{joins}s\"\nto = \"{end}s\"\nshow = [\"least\"]\n\
         \n{}from = \"{joins}s\"\n",
        clients(1, own, CLOSED)
    );
    (text, facts)
}

pub(super) fn fair(dice: &mut Dice) -> (Text, Facts) {
    let (way, number) = (way(dice), dice.pick(&[4, 8, 16]));
    let per_second = 10.0 * f64::from(number);
    let limit = if dice.happens(0.7) {
        let burst = dice.count(number, 20.0 * per_second);
        bucket(dice, per_second, burst)
    } else {
        window(60 * 10 * number, 60.0)
    };
    let own = threads(dice, number, per_second, way.trip);
    let (mut text, facts) = closed(dice, &way, &limit, number, own, 0.0);
    text.end = 10_000.0;
    text.bin = 10.0;
    text.world = String::new();
    text.clients.push_str(
        "\n[[stretch]]\nname = \"last\"\nfrom = \"7500s\"\nto = \"10000s\"\nshow = [\"jain\"]\n",
    );
    (text, facts)
}
