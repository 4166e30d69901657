//! The layout of the messages.

use tidegate::shared::{GRANT_BYTES, Leases, Member, REQUEST_BYTES};
use tidegate::{Call, Controller, Decision, Hint, Outcome, Quota, Span};

use super::{Desk, leases, number, policy};
use crate::{MILLIS, at};

#[test]
fn the_messages_have_the_documented_layout() {
    let (now, later) = (at(5_000_000_000), at(5_250_000_000));
    let mut member: Member = Member::new(0x0102_0304_0506_0708, Quota::per_second(1).unwrap(), now);
    let mut desk = Desk::new(
        Leases::new(Controller::new(policy(Quota::per_second(50).unwrap()), 7, at(0))),
        at(0),
    );
    assert_eq!(member.poll(now, &Call::new()), Decision::Full);
    let (mut request, mut grant) = ([0; REQUEST_BYTES], [0; GRANT_BYTES]);
    let length = member.request(now, 2, &mut request).unwrap();
    assert_eq!(length, 24);
    // Version, kind, not leaving; the number; the first request, two calls, not alone, no report.
    assert_eq!(request[..11], [1, 1, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(request[11..20], [1, 0, 0, 0, 2, 0, 0, 0, 0]);
    let length = desk.answer(at(0), &request[..length], &mut grant).unwrap();
    assert_eq!(length, 45 + 2 * 16);
    assert_eq!(grant[..6], [1, 2, 1, 0, 0, 0]);
    let spans = [6, 14, 22, 32].map(|from| number(&grant[from..from + 8]));
    assert_eq!(spans, [500 * MILLIS, 500 * MILLIS, 20 * MILLIS, 0]);
    assert_eq!((number(&grant[30..32]), grant[40]), (1, 2));
    let due: Vec<i64> = leases(&grant[..length]).iter().map(|(_, due)| *due).collect();
    assert_eq!(due, [0, 20 * MILLIS as i64]);
    // Then the result of the first: throttled after 200 ms, with a hint, and reported 50 ms later.
    member.hear(now, &grant[..length]).unwrap();
    let Decision::Admit(permit) = member.poll(now, &Call::new()) else { panic!() };
    let hint = Hint::remaining(3).and_reset(Span::from_secs(1));
    member.settle(at(5_200_000_000), permit, Outcome::Throttled.with(hint));
    let length = member.request(later, 0, &mut request).unwrap();
    assert_eq!((length, request[19]), (24 + 18 + 16, 1));
    assert_eq!(number(&request[28..36]).cast_signed(), -50 * MILLIS as i64);
    assert_eq!(request[36..38], [128 + 1, 2 + 4]);
    assert_eq!([38, 46].map(|from| number(&request[from..from + 8])), [3, 1_000 * MILLIS]);
}
