//! The table and its targets.

use std::fmt::Write;

use crate::Run;
use crate::cases::{CASES, Case};
use crate::clients::Who;
use crate::cost::Cost;
use crate::speed::Speed;

/// The highest time relative to the fastest other client that lost no call.
const TIME: f64 = 1.25;
/// The highest number of rejections relative to reqwest-retry, which is also not configured with a
/// rate.
const REJECTED: f64 = 0.25;
/// The lowest share of the high rate.
const SHARE: f64 = 0.99;

pub struct Page<'a> {
    pub runs: &'a [Run],
    pub speeds: &'a [Speed],
    pub costs: &'a [Cost],
}

#[derive(Clone, Copy)]
struct Middle {
    seconds: f64,
    rejected: u32,
    lost: u32,
}

impl Page<'_> {
    pub fn text(&self) -> String {
        let (targets, [in_time, few, none]) = self.targets();
        let used = self.speeds.first().is_some_and(|first| first.share() >= SHARE);
        format!(
            include_str!("page.txt"),
            servers = self.servers(),
            times = TIME,
            in_time = in_time,
            few = few,
            none = none,
            all = CASES.len(),
            targets = targets,
            speeds = self.speeds(),
            share = SHARE * 100.0,
            used = verdict(used),
            costs = self.costs(),
        )
    }

    fn servers(&self) -> String {
        let mut table = String::new();
        for (number, case) in CASES.iter().enumerate() {
            let Case { server, load, .. } = case;
            _ = write!(table, "| {server} | {load} | {:.1} |", case.ideal());
            for who in Who::ALL {
                let Middle { seconds, rejected, lost } = self.middle(number, who);
                _ = write!(table, " {seconds:.1} / {rejected} / {lost} |");
            }
            _ = writeln!(table, " {}/s |", case.rate);
        }
        table
    }

    /// The targets of tidegate-tower at each server with its figures, and at how many servers it meets each.
    fn targets(&self) -> (String, [u32; 3]) {
        let (mut table, mut met) = (String::new(), [0; 3]);
        for (number, Case { server, load, .. }) in CASES.iter().enumerate() {
            let is = self.middle(number, Who::Tidegate);
            let peers = Who::PEERS.map(|who| self.middle(number, who));
            let served = peers.iter().filter(|peer| peer.lost == 0);
            let time = served.map(|peer| peer.seconds).fold(f64::INFINITY, f64::min) * TIME;
            let rejected = f64::from(self.middle(number, Who::Retry).rejected) * REJECTED;
            let fits = [is.seconds <= time, f64::from(is.rejected) <= rejected, is.lost == 0];
            for (met, fits) in met.iter_mut().zip(fits) {
                *met += u32::from(fits);
            }
            let [in_time, few, none] = fits.map(verdict);
            _ = writeln!(
                table,
                "| {server} | {load} | {time:.1}: {:.1}, {in_time} | {rejected:.0}: {}, {few} | {}, {none} |",
                is.seconds, is.rejected, is.lost,
            );
        }
        (table, met)
    }

    fn speeds(&self) -> String {
        let row = |speed: &Speed| {
            let share = speed.share() * 100.0;
            format!("| {} | {:.0} | {share:.1} % |\n", speed.client, speed.per_second)
        };
        self.speeds.iter().map(row).collect()
    }

    fn costs(&self) -> String {
        let of = |name: &str| {
            let cost = self.costs.iter().find(|cost| cost.client.starts_with(name));
            cost.map_or(f64::NAN, |cost| cost.nanoseconds)
        };
        let others = [of("governor"), of("tower RateLimit")];
        let row = |&Cost { client, nanoseconds }: &Cost| {
            let [governor, tower] = others.map(|other| nanoseconds / other);
            format!("| {client} | {nanoseconds:.0} | {governor:.1} | {tower:.1} |\n")
        };
        self.costs.iter().map(row).collect()
    }

    fn middle(&self, case: usize, who: Who) -> Middle {
        let runs = || self.runs.iter().filter(move |run| run.case == case && run.who == who);
        Middle {
            seconds: median(runs().map(|run| run.took.seconds).collect(), f64::total_cmp)
                .unwrap_or(f64::NAN),
            rejected: median(runs().map(|run| run.rejected).collect(), u32::cmp)
                .unwrap_or_default(),
            lost: runs().map(|run| run.took.lost).max().unwrap_or_default(),
        }
    }
}

const fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "**not met**" }
}

fn median<T: Copy>(mut all: Vec<T>, order: impl FnMut(&T, &T) -> std::cmp::Ordering) -> Option<T> {
    all.sort_by(order);
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Took;

    /// Every client has these figures in each of three runs.
    fn runs(figures: impl Fn(Who) -> (f64, u32, u32)) -> Vec<Run> {
        let one = |case, who| {
            let (seconds, rejected, lost) = figures(who);
            Run { case, who, took: Took { seconds, lost }, rejected }
        };
        let cases = 0..CASES.len();
        cases.flat_map(|case| Who::ALL.map(|who| [one(case, who); 3]).concat()).collect()
    }

    fn met(runs: &[Run]) -> [usize; 3] {
        let text = Page { runs, speeds: &[], costs: &[] }.text();
        let mut counts = text.lines().filter_map(|line| {
            let (_, count) = line.strip_prefix("- ")?.split_once("met at ")?;
            count.split(' ').next()?.parse().ok()
        });
        [(); 3].map(|()| counts.next().unwrap())
    }

    #[test]
    fn the_targets_refer_to_clients_that_lost_no_call_and_know_no_rate() {
        let others = |who| match who {
            Who::Governor => (4.0, 0, 1),
            Who::Retry => (10.0, 100, 0),
            _ => (20.0, 0, 0),
        };
        let with = |is| runs(move |who| if who == Who::Tidegate { is } else { others(who) });
        assert_eq!(met(&with((12.5, 25, 0))), [10, 10, 10]);
        assert_eq!(met(&with((12.6, 26, 1))), [0, 0, 0]);
    }

    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(median(vec![5, 1, 3], u32::cmp), Some(3));
        assert_eq!(median(Vec::new(), u32::cmp), None);
    }
}
