//! AWS: error codes, which say more than the status (`DynamoDB` throttles with a 400).

use super::word::{digest, digests};
use crate::Outcome;

/// The codes that AWS SDKs take for a throttle (botocore's `throttling` retry conditions, the same
/// in the SDKs for Rust and JavaScript).
const THROTTLES: [&str; 14] = [
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
];

/// The codes that they take for a passing failure, whatever the status.
const TRANSIENT: [&str; 2] = ["RequestTimeout", "RequestTimeoutException"];

/// What an AWS error code says about the call; `None` where the status says more.
///
/// The code comes from the header `x-amzn-errortype` or from the error's body (`__type`, `code`,
/// `Code`), with or without what some protocols put around it: a namespace before a `#`, an
/// address behind a `:`. [`http::Reading`](super::http::Reading) reads the header by itself.
///
/// ```
/// use tidegate::{Outcome, signal::aws};
///
/// assert_eq!(aws::outcome("SlowDown"), Some(Outcome::Throttled));
/// let dynamo = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
/// assert_eq!(aws::outcome(dynamo), Some(Outcome::Throttled));
/// assert_eq!(aws::outcome("RequestTimeout"), Some(Outcome::Failed));
/// assert_eq!(aws::outcome("ValidationException"), None);
/// ```
#[must_use]
pub fn outcome(code: impl AsRef<[u8]>) -> Option<Outcome> {
    let code = digest(bare(code.as_ref()), false);
    if const { digests(THROTTLES) }.contains(&code) {
        Some(Outcome::Throttled)
    } else if const { digests(TRANSIENT) }.contains(&code) {
        Some(Outcome::Failed)
    } else {
        None
    }
}

/// A code without what is put around it.
fn bare(code: &[u8]) -> &[u8] {
    let end = code.iter().position(|byte| *byte == b':').unwrap_or(code.len());
    let code = code.get(..end).unwrap_or_default();
    let hash = code.iter().rposition(|byte| *byte == b'#');
    let code = hash.and_then(|hash| code.get(hash..)?.get(1..)).unwrap_or(code);
    code.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_known_bare_and_dressed() {
        for name in THROTTLES {
            assert_eq!(outcome(name), Some(Outcome::Throttled), "{name}");
            let dressed = format!("aws.protocoltests#{name}:http://internal.amazon.com/coral/");
            assert_eq!(outcome(dressed), Some(Outcome::Throttled), "{name}");
            assert_eq!(outcome(name.to_lowercase()), None, "{name}");
        }
    }

    #[test]
    fn what_is_no_code_says_nothing() {
        for code in ["", "#", ":", "Throttling#", "Throttling2", "#:#", "\u{0}", "é"] {
            assert_eq!(outcome(code), None, "{code}");
        }
    }
}
