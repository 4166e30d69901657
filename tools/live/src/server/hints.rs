//! The rate limit headers of a response, in the formats of real servers.

use super::told::Told;
use crate::options::{Hints, PolicyName};
use axum::http::{HeaderMap, StatusCode};

const FAMILIES: &str = include_str!("hints.txt");

impl Hints {
    /// The status of a throttled call.
    pub fn throttled(self, policy: PolicyName) -> StatusCode {
        match (self, policy) {
            (Self::Github, _) => StatusCode::FORBIDDEN,
            (Self::Aws, _) => StatusCode::BAD_REQUEST,
            (_, PolicyName::Concurrency) => StatusCode::SERVICE_UNAVAILABLE,
            (_, PolicyName::Gcra | PolicyName::Window) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The headers of a response.
    pub fn headers(self, served: bool, told: &Told<'_>) -> HeaderMap {
        let (name, mut head) = (self.name(), HeaderMap::new());
        let headers = FAMILIES.lines().filter_map(|line| {
            let mut cells = line.split(" | ");
            let [family, responses, header, value] = [(); 4].map(|()| cells.next());
            let is_sent = family? == name && !(served && responses? == "throttled");
            header.zip(value).filter(|_| is_sent)
        });
        told.add(&mut head, headers);
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use std::time::{Duration, UNIX_EPOCH};
    use tidegate::signal::http::{Answer, Unit};
    use tidegate::{Hint, Outcome, Span};
    use tidegate_limits::{Any, Bucket, Concurrency, Window};
    use tidegate_tower::read;

    const SECOND: u64 = 1_000_000_000;
    const MINUTE: u64 = 60 * SECOND;

    /// What a client reads from the headers of a server at a quarter past a full second, when a limit of 60 has been
    /// called this often.
    fn read_from(hints: Hints, mut limit: Any, period: u64, calls: u64) -> Answer {
        let now = UNIX_EPOCH + Duration::from_millis(1_740_994_200_250);
        let served = (0..calls).all(|_| limit.take(39_800_000_000, 1));
        let told = Told { limit: &limit, quota: 60, period, cost: 1, id: 0, now };
        let mut head = hints.headers(served, &told);
        head.insert("date", httpdate::fmt_http_date(now).parse().unwrap());
        let status = if served { StatusCode::OK } else { hints.throttled(PolicyName::Window) };
        let read = read(status, &head);
        assert_eq!(read.ignored, 0, "{hints:?}: {head:?}");
        read
    }

    /// The window of a minute ends 20.2 s later.
    fn of_a_minute(hints: Hints, calls: u64) -> Answer {
        read_from(hints, Any::Window(Window::new(60, MINUTE)), MINUTE, calls)
    }

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn clients_understand_every_family_and_those_with_hints_state_a_wait_on_a_throttled_call() {
        let minute = Hint::quota(60, Span::from_secs(60));
        // The clock of the `Date` header is a quarter of a second behind.
        for (hints, hint, cooldown) in [
            (Hints::None, Hint::NONE, None),
            (Hints::RetryAfter, Hint::NONE, Some(21_000)),
            (Hints::RetryDate, Hint::NONE, Some(21_000)),
            (Hints::Remaining, Hint::remaining(12), None),
            (Hints::Quota, minute, None),
            (Hints::Ietf, minute.and_remaining(12).and_reset(millis(21_000)), Some(21_000)),
            (Hints::Ratelimit, minute.and_remaining(12).and_reset(millis(21_000)), Some(21_000)),
            (
                Hints::Github,
                Hint::remaining(12).and_limit(60).and_reset(millis(21_000)),
                Some(21_000),
            ),
            (
                Hints::Openai,
                Hint::remaining(12).and_limit(60).and_reset(millis(20_200)),
                Some(20_200),
            ),
            (
                Hints::Discord,
                Hint::remaining(12).and_limit(60).and_reset(millis(20_200)),
                Some(20_200),
            ),
            (Hints::Aws, Hint::NONE, Some(20_200)),
        ] {
            let read = of_a_minute(hints, 48);
            assert_eq!((read.outcome, read.hint), (Outcome::Ok, hint), "{hints:?}");
            let read = of_a_minute(hints, 61);
            assert_eq!(read.outcome, Outcome::Throttled, "{hints:?}");
            assert_eq!(read.hint.cooldown(), cooldown.map(millis), "{hints:?}");
        }
    }

    #[test]
    fn the_draft_reports_no_end_for_a_bucket_or_a_concurrency_limit() {
        let bucket = Any::Bucket(Bucket::new(60, MINUTE, 15));
        let hint = Hint::quota(60, Span::from_secs(60)).and_remaining(12);
        assert_eq!(read_from(Hints::Ietf, bucket, MINUTE, 3).hint, hint);
        let places = Any::Concurrency(Concurrency::new(60, SECOND));
        let read = read_from(Hints::Ietf, places, SECOND, 48);
        assert_eq!(read.of(Unit::InFlight), Hint::remaining(12).and_limit(60));
    }

    #[test]
    fn a_reset_beyond_the_largest_time_saturates() {
        for hints in Hints::value_variants() {
            let never = Any::Bucket(Bucket::new(0, 1, 1));
            assert_eq!(
                read_from(*hints, never, MINUTE, 2).outcome,
                Outcome::Throttled,
                "{hints:?}"
            );
        }
    }
}
