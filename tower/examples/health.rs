//! Asks a gRPC server for its health from twenty tasks at once, which share a gate:
//! `cargo run --example health --features tonic http://[::1]:50051`.

use tidegate_tower::{Gate, Grpc, Throttle, ThrottleLayer, Tokio};
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::Layer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("name the server's address")?;
    let (gate, channel) = (Gate::adaptive(), Endpoint::from_shared(address)?.connect().await?);
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let mut client = client(&gate, channel.clone());
        tasks.spawn(async move { client.check(HealthCheckRequest::default()).await });
    }
    while let Some(answer) = tasks.join_next().await {
        println!("{:?}", answer??.into_inner().status());
    }
    println!("{:#?}", gate.stats());
    Ok(())
}

/// A channel with a gate.
pub type Gated = Throttle<Channel, 1, Tokio, Grpc, Grpc>;

/// An ordinary client. Each of its calls waits for its turn.
pub fn client(gate: &Gate, channel: Channel) -> HealthClient<Gated> {
    HealthClient::new(ThrottleLayer::grpc(gate.clone()).layer(channel))
}
