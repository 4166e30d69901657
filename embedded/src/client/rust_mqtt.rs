//! Reason codes and errors of `rust-mqtt`, MQTT 5.

use rust_mqtt::client::MqttError;
use rust_mqtt::types::ReasonCode;
use tidegate::Outcome;
use tidegate::signal::mqtt;

use crate::replied::Replied;

/// The broker's answer to a packet; see [`mqtt::outcome`].
///
/// ```
/// use rust_mqtt::types::ReasonCode;
/// use tidegate::{Outcome, Reply};
/// use tidegate_embassy::Replied;
///
/// assert_eq!(ReasonCode::QuotaExceeded.reply(), Reply::<1>::from(Outcome::Throttled));
/// ```
impl<const LIMITS: usize> Replied<LIMITS> for ReasonCode {
    type Compact = Outcome;

    fn compact(&self) -> Outcome {
        mqtt::outcome(self.value())
    }
}

/// The broker's reason if it ended the connection, a failure if the connection is lost, and no
/// information if the client itself rejected the packet.
impl<const PROPERTIES: usize, A, const LIMITS: usize> Replied<LIMITS>
    for MqttError<'_, PROPERTIES, A>
{
    type Compact = Outcome;

    fn compact(&self) -> Outcome {
        match self {
            Self::Disconnect { reason, .. } => mqtt::outcome(reason.value()),
            Self::Network(_) | Self::Server | Self::RecoveryRequired => Outcome::Failed,
            _ => Outcome::Abandoned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Reply;

    type Error = MqttError<'static, 0>;

    fn disconnect(reason: ReasonCode) -> Error {
        let user_properties = heapless::Vec::new();
        Error::Disconnect { reason, reason_string: None, user_properties, server_reference: None }
    }

    #[test]
    fn a_disconnect_has_a_reason_and_a_client_error_has_none() {
        for (error, outcome) in [
            (disconnect(ReasonCode::ServerBusy), Outcome::Busy),
            (disconnect(ReasonCode::ConnectionRateExceeded), Outcome::Throttled),
            (disconnect(ReasonCode::ServerShuttingDown), Outcome::Failed),
            (Error::RecoveryRequired, Outcome::Failed),
            (Error::AllPacketIdentifiersUsed, Outcome::Abandoned),
        ] {
            assert_eq!(error.reply(), Reply::<1>::from(outcome), "{error:?}");
        }
    }
}
