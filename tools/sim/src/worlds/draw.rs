//! Draws a world from a seed.

mod mixed;

use std::fmt::Write;

use super::text::{Text, rate, time};
use super::{Family, Hints, Purpose};
use crate::chance::Chance;

#[derive(Clone, Debug)]
pub struct Drawn {
    /// Its name: purpose, seed, family, and index in the family.
    pub name: String,
    pub family: Family,
    pub facts: Facts,
    text: Text,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Whether clients request more than the limit all the time.
    pub saturated: bool,
    pub clients: u32,
    /// The server's rate at the start, in calls a second.
    pub rate: f64,
    /// Calls that it serves at once: its burst, or the limit of its window.
    pub pool: u32,
    pub window: bool,
    /// The shortest time of a job, in seconds: beside strangers, with an even split of what they
    /// leave.
    pub ideal: f64,
    /// The length of the outage, in seconds.
    pub outage: f64,
    /// When the world ends, in seconds.
    pub end: f64,
}

impl Facts {
    /// Seconds between calls of a client if all share the rate evenly.
    pub fn interval(&self) -> f64 {
        f64::from(self.clients) / self.rate
    }
}

impl Drawn {
    /// The scenario file of this world with these hints.
    pub fn text(&self, hints: Hints) -> String {
        self.text.with(hints)
    }

    pub fn title(&self) -> &str {
        &self.text.title
    }

    /// The name of its scenario file without the extension.
    pub fn file(&self, hints: Hints) -> String {
        format!("{}-{}", self.name, hints.name())
    }
}

pub fn draw(purpose: Purpose, number: u64, family: Family, index: u32) -> Drawn {
    let name = format!("{}-{number}-{}-{index:03}", purpose.name(), family.name());
    let dice = &mut Dice(Chance::of(seed(&name)));
    let (text, facts) = match family {
        Family::Saturated => saturated(dice),
        Family::App => app(dice),
        Family::Cold => cold(dice),
        Family::Steps => steps(dice, [2.0, 0.5], [2_000.0, 3_000.0, 1_500.0], 16),
        Family::Outages => outages(dice),
        Family::Small => small(dice, index),
        Family::Strict => strict(dice),
        Family::Pools => pools(dice),
        Family::Second => second(dice),
        Family::Streams => streams(dice),
        Family::Lying => lying(dice),
        Family::Noise => mixed::noise(dice, index),
        Family::Bad => mixed::bad(dice),
        Family::Strangers => mixed::strangers(dice),
        Family::Nested => mixed::nested(dice),
        Family::Sliding => mixed::sliding(dice, 0.0),
        Family::Delayed => {
            let late = dice.log(0.02, 0.5);
            mixed::sliding(dice, late)
        }
        Family::Bans => mixed::bans(dice),
        Family::Flight => mixed::flight(dice),
        Family::Leaps => {
            let up = dice.pick(&[10.0, 100.0]);
            steps(dice, [up, 1.0], [600.0, 1_000.0, 600.0], 4)
        }
        Family::Tenants => mixed::tenants(dice),
        Family::Cron => mixed::cron(dice),
        Family::Wake => mixed::wake(dice),
        Family::Near => mixed::near(dice),
        Family::Light => mixed::light(dice, index),
        Family::Nodes => mixed::nodes(dice),
        Family::Latecomer => mixed::latecomer(dice),
        Family::Fair => mixed::fair(dice),
    };
    Drawn { name, family, facts, text }
}

/// The seed of a name (FNV-1a). Every world has a separate stream of random numbers.
fn seed(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

struct Dice(Chance);

impl Dice {
    fn even(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.0.unit()
    }

    /// Log-uniform. `least` if `most` is not above it.
    fn log(&mut self, least: f64, most: f64) -> f64 {
        least * libm::pow((most / least).max(1.0), self.0.unit())
    }

    fn count(&mut self, least: u32, most: f64) -> u32 {
        let drawn = self.log(f64::from(least), most.max(f64::from(least)) + 1.0);
        whole(drawn.floor().min(most)).max(least)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let index = self.even(0.0, of.len() as f64) as usize;
        of[index.min(of.len() - 1)]
    }

    fn happens(&mut self, share: f64) -> bool {
        self.0.unit() < share
    }
}

/// The nearest integer of a positive number.
fn whole(number: f64) -> u32 {
    number.round() as u32
}

/// The calls in flight of 60 clients with 64 threads, halved.
const MOST_IN_FLIGHT: f64 = 60.0 * 64.0 / 2.0;
/// The approximate maximum of calls served in a run, beyond what its family needs.
const MOST_CALLS: f64 = 100_000.0;
/// The widths of windows, in seconds.
const WIDTHS: [f64; 13] =
    [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 300.0, 900.0, 1_800.0, 3_600.0, 21_600.0, 86_400.0];
/// A limit of this many simultaneous calls is practically no limit.
const LARGEST_LIMIT: f64 = 12_000.0;

struct Way {
    /// The mean round trip, in seconds.
    trip: f64,
    /// The time within which 99 of 100 calls arrive, in seconds.
    jitter: f64,
    text: String,
}

fn way(dice: &mut Dice) -> Way {
    travel(dice, 2.0)
}

/// Travel times with a round trip of at most this many seconds on average.
fn travel(dice: &mut Dice, most: f64) -> Way {
    let trip = dice.log(0.002, most);
    let one = trip / 2.0;
    let between = |least: f64, most: f64| {
        format!("{{ uniform = [\"{}\", \"{}\"] }}", time(one * least), time(one * most))
    };
    let (jitter, text) = match dice.pick(&[0, 1, 1, 2, 3]) {
        0 => (0.0, format!("{{ constant = \"{}\" }}", time(one))),
        1 => (one, between(0.5, 1.5)),
        2 => (1.8 * one, between(0.1, 1.9)),
        _ => (4.6 * one, format!("{{ exponential = \"{}\" }}", time(one))),
    };
    Way { trip, jitter, text }
}

/// A limit of `pool` calls at `rate` a second.
struct Limit {
    rate: f64,
    pool: u32,
    /// The width of its windows in seconds. `None` for a bucket.
    width: Option<f64>,
    text: String,
}

fn bucket(dice: &mut Dice, per_second: f64, burst: u32) -> Limit {
    let start = if dice.happens(0.5) { "" } else { "start = 0\n" };
    let rate = rate(per_second);
    let text = format!("[server.bucket]\nburst = {burst}\nrate = \"{rate}\"\n{start}");
    Limit { rate: per_second, pool: burst, width: None, text }
}

fn window(limit: u32, width: f64) -> Limit {
    let text = format!("[server.window]\nlimit = {limit}\nwidth = \"{}\"\n", time(width));
    Limit { rate: f64::from(limit) / width, pool: limit, width: Some(width), text }
}

/// A limit that this many clients can share with `calls` calls, and the number of clients: enough
/// to request twice the rate, and at most the size of the limit.
fn roomy(dice: &mut Dice, clients: u32, trip: f64, calls: f64) -> (Limit, u32) {
    let most_rate = (MOST_IN_FLIGHT / trip).min(1e4);
    if dice.happens(0.6) {
        let rate = dice.log(1.0 / 86_400.0, most_rate);
        let clients = enough(clients, rate, trip);
        let own = f64::from(clients);
        let most = (3_600.0 * rate).max(4.0 * own).min(calls * own / 8.0);
        let burst = dice.count(clients.max(2), most);
        (bucket(dice, rate, burst), clients)
    } else {
        let width = dice.pick(&WIDTHS);
        let limit = dice.count(clients.max(3), (most_rate * width).min(LARGEST_LIMIT));
        let clients = enough(clients, f64::from(limit) / width, trip);
        (window(limit.max(clients), width), clients)
    }
}

/// Threads per client, enough for `clients` to request at least twice the rate.
fn threads(dice: &mut Dice, clients: u32, most_rate: f64, trip: f64) -> u32 {
    let needed = (2.0 * most_rate * trip / f64::from(clients)).ceil();
    let drawn = dice.pick(&[1, 1, 2, 4, 8, 16, 64]);
    whole(needed).max(drawn).min(64)
}

/// Threads per client, enough for `clients` to request twice the rate.
fn enough(clients: u32, most_rate: f64, trip: f64) -> u32 {
    clients.max(whole((2.0 * most_rate * trip / 64.0).ceil())).min(60)
}

/// The length of a run: enough for this many calls per client and for the clients to settle.
fn length(limit: &Limit, clients: u32, calls: f64, trip: f64) -> f64 {
    let calls = (calls * f64::from(clients)).min(MOST_CALLS);
    let few = |seconds: f64| seconds.min(2.0 * MOST_CALLS / limit.rate);
    let windows = limit.width.map_or(0.0, |width| 8.0 * width);
    // A scenario lasts at most a century.
    (calls / limit.rate).max(few(60.0)).max(few(100.0 * trip)).max(windows).min(3e9)
}

fn clients(processes: u32, threads: u32, demand: &str) -> String {
    format!("[[clients]]\nprocesses = {processes}\nthreads = {threads}\ndemand = {demand}\n")
}

const CLOSED: &str = "\"closed\"";

/// A world in which clients request more than the limit all the time.
fn closed(
    dice: &mut Dice,
    way: &Way,
    limit: &Limit,
    clients: u32,
    threads: u32,
    calls: f64,
) -> (Text, Facts) {
    let end = length(limit, clients, calls, way.trip);
    let most = (3.0 * end * limit.rate + 20_000.0).round();
    let (&Limit { rate, pool, width, .. }, trip) = (limit, way.trip * 1e3);
    let server = match width {
        Some(width) => format!("window of {pool} in {width} s"),
        None => format!("bucket of {pool} at {}", self::rate(short(rate))),
    };
    let text = Text {
        title: format!("{server}, {clients}x{threads}, round trip {trip:.0} ms"),
        end,
        bin: end / 300.0,
        latency: way.text.clone(),
        world: format!("stop_after_calls = {most}\n"),
        limit: limit.text.clone(),
        reset_form: dice.pick(&["seconds", "epoch", "fraction"]),
        clients: self::clients(clients, threads, CLOSED),
        ..Text::default()
    };
    let window = width.is_some();
    (text, Facts { saturated: true, clients, rate, pool, window, ..Facts::default() })
}

/// Clients whose threads, so many of each, have this demand.
fn open(
    dice: &mut Dice,
    way: &Way,
    limit: &Limit,
    clients: u32,
    (threads, demand): (u32, String),
    calls: f64,
) -> (Text, Facts) {
    let (mut text, facts) = closed(dice, way, limit, clients, threads, calls);
    text.clients = self::clients(clients, threads, &demand);
    (text, Facts { saturated: false, ..facts })
}

fn short(number: f64) -> f64 {
    let digits = libm::pow(10.0, 3.0 - number.log10().floor());
    (number * digits).round() / digits
}

const CALLS: [f64; 3] = [800.0, 2_000.0, 4_000.0];

fn saturated(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let (drawn, calls) = (dice.count(1, 60.0), dice.pick(&CALLS));
    let (limit, number) = roomy(dice, drawn, way.trip, calls);
    let steps = limit.width.is_none() && dice.happens(0.3);
    let factor: f64 = if steps { dice.pick(&[0.5, 2.0, 3.0]) } else { 1.0 };
    let strangers = if dice.happens(0.2) { dice.even(0.1, 0.4) } else { 0.0 };
    let threads = threads(dice, number, limit.rate * factor.max(1.0), way.trip);
    let (mut text, facts) = closed(dice, &way, &limit, number, threads, calls);
    if strangers > 0.0 {
        _ = write!(text.title, ", strangers take {:.0} %", strangers * 100.0);
        text.server = format!("strangers = \"{}\"\n", rate(limit.rate * strangers));
    }
    if steps {
        _ = write!(text.title, ", a step of {factor}");
        let (at, to) = (time(text.end / 3.0), rate(limit.rate * factor));
        _ = writeln!(text.limit, "steps = [{{ at = \"{at}\", rate = \"{to}\" }}]");
    }
    (text, facts)
}

fn lying(dice: &mut Dice) -> (Text, Facts) {
    let (mut text, facts) = saturated(dice);
    let pick = |dice: &mut Dice, of: &[&str]| dice.pick(of).to_owned();
    let times = ["{ times = 0.1 }", "{ times = 10.0 }"];
    text.lies = Some([
        pick(dice, &[&times[..], &["{ always = \"0s\" }", "{ always = \"1h\" }"]].concat()),
        pick(dice, &[&times[..], &["{ always = 0 }", "{ always = 1000000000 }"]].concat()),
        pick(dice, &[&times[..], &["{ always = \"0s\" }", "{ always = \"1d\" }"]].concat()),
        pick(dice, &[&times[..], &["{ always = { limit = 1, period = \"1d\" } }"]].concat()),
    ]);
    (text, facts)
}

fn app(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let processes = dice.count(1, 16.0);
    // Room for each client, so that their demand keeps them below the limit.
    let least = (4 * processes).max(10);
    let (mut limit, refill) = if dice.happens(2.0 / 3.0) {
        let width = dice.pick(&WIDTHS);
        let limit = window(dice.count(least, 5_000.0), width);
        (limit, width)
    } else {
        let rate = dice.log(1e-4, 3_000.0);
        let refill = dice.log(10.0, 3_600.0);
        let burst = dice.count(least, (rate * refill).min(5_000.0));
        let mut limit = bucket(dice, rate, burst);
        limit.text = limit.text.replace("start = 0\n", "");
        (limit, f64::from(burst) / rate)
    };
    let pool = f64::from(limit.pool);
    let (mut busy, mut server, mut world) = (way.trip, String::new(), "");
    if dice.happens(0.15) {
        let work = dice.log(2.0, 60.0);
        busy += work;
        server = working(work);
    }
    let (threads, demand, end) = match dice.pick(&["poisson", "job", "bursts"]) {
        "poisson" => {
            // Chance alone rarely takes this many calls beyond the limit.
            let most = 1.0 - (4.0 / pool.sqrt()).min(0.9);
            let wanted = dice.even(0.05, 0.9).min(most) * limit.rate;
            let most = f64::from(processes) * 64.0 / busy / 3.0;
            let load = wanted.min(most);
            let (threads, demand) = poisson(processes, load, busy);
            (threads, demand, (1_500.0 / load).max(3.0 * refill).max(10.0 * busy))
        }
        "job" => {
            let calls = pool * dice.even(0.1, 0.95);
            let threads = dice.count(1, (calls / f64::from(processes)).min(16.0));
            let own = (calls / f64::from(processes * threads)).floor().clamp(1.0, 1_500.0);
            world = "stop_when_work_is_done = true\n";
            if limit.width.is_some() {
                limit.text.push_str("phase = \"0s\"\n");
            }
            let end = 2.0 * refill + 4.0 * own * busy + 600.0;
            (threads, format!("{{ work = {own} }}"), end)
        }
        _ => {
            // A thread makes one call per round trip, and one more that ends later.
            let threads = dice.count(1, (pool / 4.0 / f64::from(processes)).min(16.0));
            let each = pool * dice.even(0.2, 0.8) / f64::from(processes * threads);
            let on = ((each - 1.0).max(0.5) * busy).min(refill);
            let off = (3.0 * refill).max(5.0);
            let demand =
                format!("{{ on_off = {{ on = \"{}\", off = \"{}\" }} }}", time(on), time(off));
            (threads, demand, 12.0 * (on + off))
        }
    };
    let shown = format!(", {}", demand.replace(['"', '{', '}'], "").replace("= ", "").trim());
    let (mut text, facts) = open(dice, &way, &limit, processes, (threads, demand), 0.0);
    let calls = (3.0 * end * limit.rate + 20_000.0).min(300_000.0).round();
    (text.end, text.bin, text.server) = (end, end / 300.0, server);
    text.world = format!("{world}stop_after_calls = {calls}\n");
    text.title += &shown;
    (text, facts)
}

/// The threads of a client and their demand, for this many calls a second in all.
fn poisson(processes: u32, load: f64, busy: f64) -> (u32, String) {
    let threads = whole((load * busy * 3.0 / f64::from(processes)).ceil()).clamp(1, 64);
    let each = load / f64::from(processes) / f64::from(threads);
    (threads, format!("{{ poisson = \"{}\" }}", rate(each)))
}

/// The server's work on a call: from half the mean to one and a half times the mean.
fn working(mean: f64) -> String {
    format!("work = {{ uniform = [\"{}\", \"{}\"] }}\n", time(mean / 2.0), time(mean * 1.5))
}

fn cold(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let (processes, mut threads) = (dice.count(1, 8.0), dice.pick(&[1, 4, 16, 64]));
    let empty = dice.happens(0.5);
    let (mut limit, phase) = if dice.happens(0.5) {
        let width = dice.pick(&[5.0, 10.0, 30.0, 60.0, 300.0, 3_600.0]);
        let mut limit = window(dice.count(20, 2_000.0), width);
        let phase = dice.even(0.0, 0.99) * width;
        _ = writeln!(limit.text, "phase = \"{}\"", time(phase));
        (limit, phase)
    } else {
        let rate = dice.log(0.02, 500.0);
        let burst = dice.count(5, 2_000.0);
        let mut limit = bucket(dice, rate, burst);
        limit.text = limit.text.replace("start = 0\n", "");
        (limit, 0.0)
    };
    if empty {
        limit.text.push_str("start = 0\n");
    }
    let (pool, start) = (f64::from(limit.pool), if empty { 0.0 } else { f64::from(limit.pool) });
    let wanted = match limit.width {
        Some(_) => start + pool * dice.even(0.5, 2.5),
        None => start + (limit.rate * dice.log(5.0, 300.0)).clamp(10.0, 10_000.0),
    };
    threads = threads.min(whole(wanted / f64::from(processes)).max(1));
    let own = (wanted / f64::from(processes * threads)).ceil();
    let calls = own * f64::from(processes * threads);
    // After the last token or window has arrived, its calls must still be made.
    let rounds = |calls: f64| (calls / f64::from(processes * threads)).ceil() * way.trip;
    let ideal = match limit.width {
        Some(width) => {
            let windows = ((calls - start) / pool).ceil().max(1.0);
            let rest = calls - start - (windows - 1.0) * pool;
            width - phase + (windows - 1.0) * width + rounds(rest)
        }
        None => (calls - start) / limit.rate + way.trip,
    };
    let ideal = ideal.max(rounds(calls));
    let end = 20.0 * ideal + 60.0;
    let most = (20.0 * calls + 20_000.0).round();
    let work = (threads, format!("{{ work = {own} }}"));
    let (mut text, facts) = open(dice, &way, &limit, processes, work, 0.0);
    let start = if empty { "empty" } else { "full" };
    _ = write!(text.title, ", a job of {calls}, {start} at first");
    (text.end, text.bin) = (end, end / 300.0);
    text.world = format!("stop_when_work_is_done = true\nstop_after_calls = {most}\n");
    (text, Facts { ideal, end, ..facts })
}

/// A named convergence: the first stretch of `width` from `at` on that shows it.
fn convergence(name: &str, toward: &str, at: f64, until: f64, width: f64, to: f64) -> String {
    format!(
        "\n[[convergence]]\nname = \"{name}\"\ntoward = \"{toward}\"\nat = \"{}\"\nuntil = \"{}\"\n\
         width = \"{}\"\nrate = \"{}\"\n",
        time(at),
        time(until),
        time(width),
        rate(to)
    )
}

/// A bucket and its clients, to measure how fast they settle, and the width of a stretch.
fn settling(dice: &mut Dice, peak: f64, most: u32) -> (Way, Limit, u32, u32, f64) {
    let way = way(dice);
    let drawn = dice.count(1, most.into());
    let per_second = dice.log(3e-3, (f64::from(most) * 64.0 / 2.0 / peak / way.trip).min(500.0));
    let number = enough(drawn, per_second * peak, way.trip).min(most);
    let burst = dice.count(number + 2, 10.0 * per_second);
    let limit = bucket(dice, per_second, burst);
    let threads = threads(dice, number, per_second * peak, way.trip);
    // Whole seconds or milliseconds, which a file can represent exactly.
    let wide = 20.0 / per_second;
    let width = if wide >= 1e3 { wide.round() } else { (wide * 1e3).round() / 1e3 };
    (way, limit, number, threads, width)
}

/// A rate that changes twice, to these multiples of it, after so many intervals of a client each.
fn steps(dice: &mut Dice, times: [f64; 2], calls: [f64; 3], most: u32) -> (Text, Facts) {
    let (way, mut limit, number, threads, width) = settling(dice, times[0], most);
    let r = limit.rate;
    let interval = f64::from(number) / r;
    let least = 100.0 * way.trip;
    let [up, high, low] = calls.map(|calls| ((calls * interval).max(least) / width).ceil() * width);
    let (down, end) = (up + high, up + high + low);
    let [high, low] = times.map(|times| times * r);
    _ = writeln!(
        limit.text,
        "steps = [{{ at = \"{}\", rate = \"{}\" }}, {{ at = \"{}\", rate = \"{}\" }}]",
        time(up),
        rate(high),
        time(down),
        rate(low)
    );
    let (mut text, facts) = closed(dice, &way, &limit, number, threads, 0.0);
    _ = write!(text.title, ", {} and then {} times the rate", times[0], times[1]);
    (text.end, text.bin) = (end, width);
    text.world = format!("stop_after_calls = {}\n", (3.0 * times[0] * end * r + 20_000.0).round());
    text.clients.push_str(&convergence("up_s", "up", up, down, width, high));
    text.clients.push_str(&convergence("down_s", "down", down, end, width, low));
    (text, facts)
}

fn outages(dice: &mut Dice) -> (Text, Facts) {
    let (way, limit, number, threads, width) = settling(dice, 1.0, 16);
    let interval = f64::from(number) / limit.rate;
    let whole = |seconds: f64| (seconds / width).ceil() * width;
    let from = whole((600.0 * interval).max(100.0 * way.trip));
    let outage = whole(dice.log(10.0, 3_600.0).max(5.0 * interval).min(300.0 * interval));
    let to = from + outage;
    let end = 2.0 * to + whole((600.0 * interval).max(100.0 * way.trip));
    let (mut text, mut facts) = closed(dice, &way, &limit, number, threads, 0.0);
    facts.outage = outage;
    _ = write!(text.title, ", an outage of {outage:.0} s");
    text.server = format!("outages = [{{ from = \"{}\", to = \"{}\" }}]\n", time(from), time(to));
    (text.end, text.bin) = (end, width);
    text.world = format!("stop_after_calls = {}\n", (4.0 * end * limit.rate + 20_000.0).round());
    text.clients.push_str(&convergence("recovery_s", "up", to, end, width, limit.rate));
    (text, facts)
}

/// Of four in turn, two are buckets of one, one is a larger bucket, and one has windows.
fn small(dice: &mut Dice, index: u32) -> (Text, Facts) {
    let way = way(dice);
    let number = dice.count(3, 60.0);
    let most_rate = (f64::from(number) * 32.0 / way.trip).min(1e4);
    let pool = dice.count(2, f64::from(number - 1));
    let rate = dice.log(1.0 / 86_400.0, most_rate);
    let limit = match index % 4 {
        1 | 3 => bucket(dice, rate, 1),
        2 => bucket(dice, rate, pool),
        _ => window(pool, dice.pick(&WIDTHS)),
    };
    let threads = threads(dice, number, limit.rate, way.trip);
    let calls = dice.pick(&CALLS);
    closed(dice, &way, &limit, number, threads, calls)
}

fn strict(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let shortest = (20.0 * way.jitter).max(way.trip / 32.0).max(1e-3);
    let rate = 1.0 / dice.log(shortest, 3_600.0);
    let limit = bucket(dice, rate, 1);
    let threads = threads(dice, 1, rate, way.trip);
    closed(dice, &way, &limit, 1, threads, 4_000.0)
}

fn pools(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let pool = dice.count(5, 40.0);
    let number = dice.count(1, f64::from(pool.min(8)));
    let limit = if dice.happens(0.5) {
        let rate = dice.log(1.0 / 3_600.0, (f64::from(number) * 32.0 / way.trip).min(200.0));
        bucket(dice, rate, pool)
    } else {
        window(pool, dice.pick(&WIDTHS))
    };
    let threads = threads(dice, number, limit.rate, way.trip);
    let calls = dice.pick(&CALLS);
    closed(dice, &way, &limit, number, threads, calls)
}

fn second(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let drawn = dice.count(1, 60.0);
    let most = (MOST_IN_FLIGHT / way.trip).min(1e4);
    let limit = dice.count(drawn.max(3), most);
    let number = enough(drawn, f64::from(limit), way.trip);
    let limit = window(limit.max(number), 1.0);
    let threads = threads(dice, number, limit.rate, way.trip);
    let calls = dice.pick(&CALLS);
    let (mut text, facts) = closed(dice, &way, &limit, number, threads, calls);
    text.reset_form = "seconds";
    (text, facts)
}

fn streams(dice: &mut Dice) -> (Text, Facts) {
    let way = way(dice);
    let work = dice.log(2.0, 120.0);
    let busy = way.trip + work;
    let (drawn, calls) = (dice.count(1, 60.0), dice.pick(&[400.0, 800.0, 2_000.0]));
    let (limit, number) = roomy(dice, drawn, busy, calls);
    let threads = threads(dice, number, limit.rate, busy);
    let slow = Way { trip: busy, ..way };
    let (mut text, facts) = closed(dice, &slow, &limit, number, threads, calls);
    _ = write!(text.title, ", of which the server works {work:.0} s");
    text.server = working(work);
    (text, facts)
}
