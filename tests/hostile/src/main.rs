//! Serves every mood at its name, every response of the fuzz corpus at `/corpus/NUMBER`, and the counts at `/counts`,
//! until standard input closes.

use std::io::{self, Write};

use anyhow::Result;
use tidegate_hostile::{MOODS, Server, corpus};

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let corpus = corpus::responses()?;
    let count = corpus.len();
    let server = Server::open(corpus).await?;
    let moods: Vec<_> = MOODS.iter().map(|mood| mood.name).collect();
    let serves: Vec<_> = MOODS.iter().filter(|mood| mood.serves()).map(|mood| mood.name).collect();
    let told = serde_json::json!({
        "url": format!("http://{}/", server.address()),
        "corpus": count,
        "moods": moods,
        "serves": serves,
    });
    writeln!(io::stdout(), "{told}")?;
    // If the parent process ends for any reason, its end of the pipe closes.
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await??;
    Ok(())
}
