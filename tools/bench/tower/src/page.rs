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
        let mut page = String::from(
            "# tidegate-tower compared with others\n\n\
             Ten servers on loopback, each with a load, and four clients. `tidegate-tower` is \
             `ThrottleLayer` with `Gate::adaptive()`, and does not know the limit. For the \
             language model it has a second limit, of tokens. governor and tower's RateLimit are \
             configured with the rate in the last column (governor with a burst of a second). All \
             make at most ten attempts per call, the others with backoff \
             from 0.1 s to 20 s. All use the same version of reqwest.\n\n\
             A cell contains: seconds until the last call has ended / calls that the server \
             rejected / calls that were lost after their last attempt. Times and rejections are \
             medians of three runs, losses are the maximum. Ideal is the time of a single client \
             that knows the limit. Results vary slightly between runs.\n\n",
        );
        page.push_str("| server | load | ideal |");
        for who in Who::ALL {
            _ = write!(page, " {} |", who.name());
        }
        page.push_str(" told |\n|---|---|---:|---:|---:|---:|---:|---:|\n");
        for (number, case) in CASES.iter().enumerate() {
            let Case { server, load, .. } = case;
            _ = write!(page, "| {server} | {load} | {:.1} |", case.ideal());
            for who in Who::ALL {
                let Middle { seconds, rejected, lost } = self.middle(number, who);
                _ = write!(page, " {seconds:.1} / {rejected} / {lost} |");
            }
            _ = writeln!(page, " {}/s |", case.rate);
        }
        self.bars(&mut page);
        self.speeds(&mut page);
        self.costs(&mut page);
        page.push_str("\nWritten by `cargo xtask bench tower`.\n");
        page
    }

    /// The targets of tidegate-tower at each server, and its figures.
    fn bars(&self, page: &mut String) {
        let mut met = [0; 3];
        let mut table = String::from(
            "| server | load | seconds, at most | rejected, at most | lost |\n|---|---|---:|---:|---:|\n",
        );
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
        let all = CASES.len();
        let [time, rejected, lost] = met;
        _ = writeln!(
            page,
            "\n## Targets of tidegate-tower\n\n\
             - At most {TIME} times the seconds of the fastest other client that lost nothing: met at {time} of \
             {all} servers.\n\
             - At most a quarter of the rejections of reqwest-retry, which does not know the rate \
             either: met at \
             {rejected} of {all}.\n\
             - No call lost: met at {lost} of {all}.\n\n{table}",
        );
    }

    fn speeds(&self, page: &mut String) {
        _ = writeln!(
            page,
            "## 20 000 calls a second\n\n\
             128 tasks call a server on loopback that allows everything and runs in another thread, with \
             hyper's client. The limit is 20 000 a second. The fastest of ten runs of a second each.\n\n\
             | client | calls a second | share of the rate |\n|---|---:|---:|",
        );
        for speed in self.speeds {
            let share = speed.share() * 100.0;
            _ = writeln!(page, "| {} | {:.0} | {share:.1} % |", speed.client, speed.per_second);
        }
        if let Some(first) = self.speeds.first() {
            let verdict = verdict(first.share() >= SHARE);
            _ = writeln!(
                page,
                "\nTarget: `fixed` uses at least {:.0} % of the rate: {verdict}.\n",
                SHARE * 100.0
            );
        }
    }

    fn costs(&self, page: &mut String) {
        let of = |name: &str| {
            let cost = self.costs.iter().find(|cost| cost.client.starts_with(name));
            cost.map_or(f64::NAN, |cost| cost.nanoseconds)
        };
        let (governor, tower) = (of("governor"), of("tower RateLimit"));
        page.push_str(
            "## The cost of a call\n\n\
             A call that may be sent at once, to a service that is ready at once: one thread, one \
             call after the other, minus the time of the service. The fastest of 200 runs of 1000 calls. \
             tidegate-tower also reads the response, and keeps the permit until the body ends.\n\n\
             | client | ns | times governor | times tower, one task |\n|---|---:|---:|---:|\n",
        );
        for Cost { client, nanoseconds } in self.costs {
            let [governor, tower] = [governor, tower].map(|other| nanoseconds / other);
            _ = writeln!(page, "| {client} | {nanoseconds:.0} | {governor:.1} | {tower:.1} |");
        }
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
