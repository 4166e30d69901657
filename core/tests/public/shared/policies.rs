//! Equal policies have equal digests, and no others.

use core::num::NonZeroU16;
use std::collections::HashMap;

use tidegate::law::AnyLaw;
use tidegate::shared::policy_digest;
use tidegate::{Policy, Quota, Span};

#[test]
fn each_option_of_a_policy_changes_its_digest_and_a_concurrency_limit_that_is_none_does_not() {
    let (expiry, heartbeat) = (Span::from_secs(30), Span::from_millis(500));
    let mut seen = HashMap::new();
    let mut add = |what: String, digest: u32| assert_eq!(seen.insert(digest, what), None);
    for name in Policy::NAMES {
        let policy = Policy::named(name).unwrap();
        let digest = policy_digest(&policy, expiry, heartbeat);
        let most = policy.concurrency(NonZeroU16::new(4_096).unwrap());
        assert_eq!(policy_digest(&most, expiry, heartbeat), digest, "{name}");
        // `none` and `backoff` differ only in what a shared budget does not use.
        if *name != "backoff" {
            add(name.to_string(), digest);
        }
    }
    for calls in 11..=100 {
        let law: AnyLaw = tidegate::law::Fixed::new(Quota::per_second(calls).unwrap()).into();
        let policy = Policy::new(law);
        add(format!("{calls} a second"), policy_digest(&policy, expiry, heartbeat));
    }
    let policy = Policy::named("fixed").unwrap();
    let fewer = policy.concurrency(NonZeroU16::new(7).unwrap());
    let shorter = policy.ceiling(Span::from_secs(60)).unwrap();
    add("concurrency".into(), policy_digest(&fewer, expiry, heartbeat));
    add("cooldown".into(), policy_digest(&shorter, expiry, heartbeat));
    add("expiry".into(), policy_digest(&policy, expiry * 2, heartbeat));
    add("heartbeat".into(), policy_digest(&policy, expiry, heartbeat * 2));
}
