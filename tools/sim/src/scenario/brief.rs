//! Scenarios as numbers, for the page: its first figures should not wait for the TOML parser, which
//! is larger than the simulator.

use tidegate::Span;
use toml::Spanned;

use super::units::{Rate, Time};
use super::{Clients, Scenario, check, one_second};
use crate::chance::Spread;
use crate::server::{BucketSpec, HintSpec, Honesty, ServerSpec};

impl Scenario {
    /// Equal clients of a bucket, and callers that make one attempt each.
    ///
    /// The numbers are when the world ends, the least and the most one-way latency, the bucket's
    /// burst, its tokens at the start, the calls that it gains in a day, whether responses say how
    /// many calls are left (0 or 1), the processes, the threads of each, and when each caller
    /// calls. Times are seconds.
    pub fn brief(numbers: &[f64]) -> Option<Self> {
        let (&[end, least, most, burst, start, per_day, remaining, processes, threads], calls) =
            numbers.split_first_chunk()?;
        let rate = Rate::per_day(per_day);
        let (burst, start) = (count(burst), Some(count(start)));
        let told = if remaining > 0.0 { Honesty::Honest } else { Honesty::Absent };
        let clients =
            Clients { processes: count(processes), threads: count(threads), ..Clients::default() };
        let caller = |&at: &f64| {
            let (from, law) = (time(at), Some("none".to_owned()));
            let to = Some((from.span() + PATIENCE).into());
            Clients { processes: 1, threads: 1, from, to, law, ..Clients::default() }
        };
        let scenario = Self {
            name: String::new(),
            title: String::new(),
            end: nowhere(time(end)),
            bin: one_second(),
            measure_from: Time::default(),
            peak_from: None,
            stop_when_work_is_done: false,
            stop_at_remaining: None,
            stop_after_calls: None,
            offered: None,
            latency: nowhere(Spread::Uniform(time(least), time(most))),
            laws: Vec::new(),
            server: nowhere(ServerSpec {
                bucket: Some(BucketSpec { burst, start, rate, steps: Vec::new() }),
                hints: HintSpec { remaining: told, ..HintSpec::default() },
                ..ServerSpec::default()
            }),
            clients: [clients].into_iter().chain(calls.iter().map(caller)).map(nowhere).collect(),
            stretches: Vec::new(),
            convergences: Vec::new(),
        };
        check::check(&scenario).is_ok().then_some(scenario)
    }
}

/// How long a caller stays, which is too short for a second attempt.
const PATIENCE: Span = Span::from_millis(30);

fn nowhere<T>(part: T) -> Spanned<T> {
    Spanned::new(0..0, part)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn time(seconds: f64) -> Time {
    Span::from_nanos((seconds * 1e9 + 0.5) as u64).into()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
const fn count(number: f64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;

    #[test]
    fn numbers_run_as_the_same_scenario_in_a_file() {
        for (numbers, text) in [
            (
                &[60.0, 0.3, 0.5, 10.0, 10.0, 864_000.0, 0.0, 5.0, 4.0, 3.25, 4.5][..],
                "title = ''\nend = '60s'\nlatency = { uniform = ['300ms', '500ms'] }\n\
                 [server.bucket]\nburst = 10\nrate = '10/s'\n\
                 [[clients]]\nprocesses = 5\nthreads = 4\n\
                 [[clients]]\nlaw = 'none'\nfrom = '3250ms'\nto = '3280ms'\n\
                 [[clients]]\nlaw = 'none'\nfrom = '4500ms'\nto = '4530ms'",
            ),
            (
                &[3_600.0, 0.025, 0.075, 4_500.0, 0.0, 12_000.0, 1.0, 5.0, 5.0],
                "title = ''\nend = '1h'\n[server.bucket]\nburst = 4500\nstart = 0\nrate = '500/h'\n\
                 [server.hints]\nremaining = 'honest'\n[[clients]]\nprocesses = 5\nthreads = 5",
            ),
        ] {
            let (brief, file) = (Scenario::brief(numbers), Scenario::parse(text, "", ""));
            let digest = |scenario: &Scenario| {
                World::new(scenario, "adaptive", 1).unwrap().run().unwrap().digest
            };
            assert_eq!(digest(&brief.unwrap()), digest(&file.unwrap()), "{numbers:?}");
        }
    }

    #[test]
    fn numbers_that_no_file_may_contain_are_rejected() {
        let good = [60.0, 0.3, 0.5, 10.0, 10.0, 864_000.0, 0.0, 5.0, 4.0];
        assert!(Scenario::brief(&good).is_some());
        assert!(Scenario::brief(&good[1..]).is_none());
        for (at, bad) in [(0, 0.0), (0, f64::NAN), (1, 0.6), (3, -1.0), (4, 11.0), (8, 1e12)] {
            let mut numbers = good;
            numbers[at] = bad;
            assert!(Scenario::brief(&numbers).is_none(), "{bad} at {at}");
        }
    }
}
