use tidegate_tower::{Gate, SendThrough};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (gate, client) = (Gate::adaptive(), reqwest::Client::new());
    for url in std::env::args().skip(1) {
        let response = client.get(url).send_through(&gate).await?;
        println!("{}", response.text().await?);
    }
    Ok(())
}
