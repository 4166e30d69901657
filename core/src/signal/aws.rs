//! AWS: error codes, which say more than the status (`DynamoDB` throttles with a 400).

use super::word::Table;
use crate::digest;
use crate::outcome::Outcome;

/// The codes that AWS SDKs treat as throttling (botocore's `throttling` retry conditions, the same
/// in the SDKs for Rust and JavaScript) or as a transient failure, regardless of the status.
const CODES: [(&str, Outcome); 16] = [
    ("BandwidthLimitExceeded", Outcome::Throttled),
    ("EC2ThrottledException", Outcome::Throttled),
    ("LimitExceededException", Outcome::Throttled),
    ("PriorRequestNotComplete", Outcome::Throttled),
    ("ProvisionedThroughputExceededException", Outcome::Throttled),
    ("RequestLimitExceeded", Outcome::Throttled),
    ("RequestThrottled", Outcome::Throttled),
    ("RequestThrottledException", Outcome::Throttled),
    ("SlowDown", Outcome::Throttled),
    ("ThrottledException", Outcome::Throttled),
    ("Throttling", Outcome::Throttled),
    ("ThrottlingException", Outcome::Throttled),
    ("TooManyRequestsException", Outcome::Throttled),
    ("TransactionInProgressException", Outcome::Throttled),
    ("RequestTimeout", Outcome::Failed),
    ("RequestTimeoutException", Outcome::Failed),
];
static TABLE: Table<Outcome, { CODES.len() }> = Table::of(&CODES);

/// The outcome of an AWS error code. `None` if the status is more specific.
///
/// The code comes from the header `x-amzn-errortype` or from the error's body (`__type`, `code`,
/// `Code`), with or without the decoration of some protocols: a namespace before a `#`, a URL after
/// a `:`. [`http::Reading`](super::http::Reading) reads the header itself.
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
    let mut sum = digest::EMPTY;
    for byte in code.as_ref() {
        match byte {
            b'#' => sum = digest::EMPTY,
            b':' => break,
            b' ' => {}
            byte => sum = digest::and(sum, *byte),
        }
    }
    of_digest(sum)
}

/// The outcome of a code without decoration, by its digest.
pub(super) fn of_digest(code: u32) -> Option<Outcome> {
    TABLE.of_digest(code)
}
