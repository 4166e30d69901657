//! AWS: error codes, which say more than the status (`DynamoDB` throttles with a 400).

use crate::Outcome;

/// The codes that AWS SDKs take for a throttle (botocore's `throttling` retry conditions, the same
/// in the SDKs for Rust and JavaScript).
const THROTTLES: [&[u8]; 14] = [
    b"BandwidthLimitExceeded",
    b"EC2ThrottledException",
    b"LimitExceededException",
    b"PriorRequestNotComplete",
    b"ProvisionedThroughputExceededException",
    b"RequestLimitExceeded",
    b"RequestThrottled",
    b"RequestThrottledException",
    b"SlowDown",
    b"ThrottledException",
    b"Throttling",
    b"ThrottlingException",
    b"TooManyRequestsException",
    b"TransactionInProgressException",
];

/// The codes that they take for a passing failure, whatever the status.
const TRANSIENT: [&[u8]; 2] = [b"RequestTimeout", b"RequestTimeoutException"];

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
    let code = code.as_ref();
    let code = code.split(|byte| *byte == b':').next().unwrap_or(code);
    let code = code.rsplit(|byte| *byte == b'#').next().unwrap_or(code).trim_ascii();
    if THROTTLES.contains(&code) {
        Some(Outcome::Throttled)
    } else if TRANSIENT.contains(&code) {
        Some(Outcome::Failed)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_known_bare_and_dressed() {
        for code in THROTTLES {
            let name = core::str::from_utf8(code).unwrap();
            assert_eq!(outcome(code), Some(Outcome::Throttled), "{name}");
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
