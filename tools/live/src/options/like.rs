//! An API that limits like a provider.

use crate::server::Provider;
use clap::Args;

/// An API that limits like a provider.
#[derive(Args, Clone, Debug)]
pub struct Like {
    /// Its name, such as "GitHub, primary".
    #[arg(value_parser = provider)]
    pub provider: Provider,
    /// How much of the limit is left at the start, in percent.
    #[arg(long, value_name = "SHARE", default_value = "100", value_parser = clap::value_parser!(u64).range(..=100))]
    pub left: u64,
    /// Use a plan a hundred times as large, with the documented periods.
    #[arg(long)]
    pub large: bool,
    /// The port on 127.0.0.1 [default: any free one].
    #[arg(long, default_value = "0", hide_default_value = true)]
    pub port: u16,
}

fn provider(name: &str) -> Result<Provider, String> {
    Provider::named(name).ok_or_else(|| {
        let names: Vec<String> =
            Provider::all().into_iter().map(|provider| provider.name).collect();
        format!("unknown; choose one of {}", names.join("; "))
    })
}
