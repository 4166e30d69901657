//! Digests of every law's decisions on the same calls, one line per law.
//!
//! The program runs on the host, where it prints them, and on emulated boards, which log them.
//! Decisions are identical on every machine.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod draw;
mod play;

use play::play;
use tidegate::Policy;

/// Runs every named policy.
fn tell_all(mut tell: impl FnMut(&str, play::Played)) {
    for (number, name) in Policy::NAMES.iter().enumerate() {
        if let Some(policy) = Policy::named(name) {
            tell(name, play(policy, number as u64));
        }
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    tell_all(|name, played| {
        println!("trace {name}: {} answers, digest {:08x}", played.answers, played.digest);
    });
}

#[cfg(target_os = "none")]
#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    tell_all(|name, played| {
        defmt::info!(
            "trace {=str}: {} answers, digest {=u32:08x}",
            name,
            played.answers,
            played.digest
        );
    });
    board::done()
}
