//! Counts the instructions per decision on each board, for `cargo xtask bench cost`: the target and a line of the log.

use std::time::Duration;

use tidegate_boards::{Board, Run, told};

fn main() {
    for board in Board::ALL {
        // Each instruction takes a nanosecond of the board's clock.
        let options = ["-icount", "shift=0"].map(str::to_owned).to_vec();
        let limit = Duration::from_secs(120);
        let log = Run { image: board.build("cost"), options, limit }.to_its_end(|_| ());
        told(&log, "cost ").iter().for_each(|line| println!("{} {line}", board.target()));
    }
}
