//! Worlds of mixed traffic: rejections that the rate does not cause, and other clients.

use std::fmt::Write;

use super::Facts;
use super::draw::{
    CALLS, Dice, Limit, bucket, clients, closed, facts, poisson, roomy, threads, title, way, window,
};
use super::text::{Text, rate, time};

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
    let (mut text, facts) = closed(dice, &way, &limit, number, own, calls);
    if kind == "random" {
        let most = f64::from(number) * 64.0 / way.trip / 3.0;
        let load = (dice.even(0.2, 0.8) * limit.rate).min(most);
        let (own, demand) = poisson(number, load, way.trip);
        text.title = title(&way, &limit, number, own, &format!(", {} in all", rate(load)));
        text.clients = clients(number, own, &demand);
        _ = writeln!(text.world, "offered = \"{}\"", rate(load));
    } else if kind == "loop" {
        text.title =
            format!("{number}x{own}, without a limit, round trip {:.0} ms", way.trip * 1e3);
        _ = writeln!(text.world, "offered = \"{}\"", rate(limit.rate));
    }
    (text, facts)
}

/// The shares of random rejections, in turn.
const NOISE: [f64; 5] = [0.01, 0.001, 0.05, 0.003, 0.02];

pub(super) fn noise(dice: &mut Dice, index: u32) -> (Text, Facts) {
    let (mut text, facts) = traffic(dice);
    let share = NOISE[(index as usize + 4) % NOISE.len()];
    let (reply, to) = (dice.pick(&["throttled", "busy"]), time(text.end));
    _ = write!(text.title, ", {} % {reply} at random", share * 100.0);
    text.server = format!("faults = [{{ to = \"{to}\", share = {share}, reply = \"{reply}\" }}]\n");
    (text, facts)
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
    let (how, text) = beside(dice, &limit, limit.rate * share);
    let own = threads(dice, number, limit.rate, way.trip);
    let each = (f64::from(number) * dice.log(300.0, 2_000.0) / f64::from(number * own)).ceil();
    let job = each * f64::from(number * own);
    let ideal = job / (limit.rate * (1.0 - share)) + way.trip;
    let end = 12.0 * ideal + 60.0;
    let text = Text {
        title: title(
            &way,
            &limit,
            number,
            own,
            &format!(", a job of {job} beside {:.0} % of strangers {how}", share * 100.0),
        ),
        end,
        bin: end / 3_000.0,
        latency: way.text.clone(),
        world: "stop_when_work_is_done = true\n".into(),
        server: format!("strangers = {text}\n"),
        limit: limit.text.clone(),
        reset_form: dice.pick(&["seconds", "epoch", "fraction"]),
        clients: clients(number, own, &format!("{{ work = {each} }}")),
        ..Text::default()
    };
    (text, Facts { ideal, end, ..facts(&limit, number) })
}
