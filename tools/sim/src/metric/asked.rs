//! Metrics that a scenario requests: of stretches, and of how fast clients settle.

use std::ops::Range;

use super::measure::{CONVERGENCES, View, used};
use super::{Metrics, jain, median, share};
use crate::scenario::units::{Rate, Time};
use crate::scenario::{Clients, Convergence, Show, Stretch, Toward};

impl View<'_> {
    /// Adds the requested metrics beyond [`CONVERGENCES`].
    pub(super) fn add_asked(&self, all: &mut Metrics) {
        let mut names: Vec<&str> = Vec::new();
        for convergence in &self.scenario.convergences {
            let name = convergence.get_ref().name.as_str();
            if !CONVERGENCES.contains(&name) && !names.contains(&name) {
                names.push(name);
                all.add(name.to_owned(), self.converged(name));
            }
        }
        for stretch in &self.scenario.stretches {
            let stretch = stretch.get_ref();
            for show in &stretch.show {
                let end = format!("{show:?}").to_lowercase();
                all.add(format!("{}_{end}", stretch.name), self.stretch(stretch, *show));
            }
        }
    }

    fn bin(&self, time: Time) -> usize {
        self.bin_of(time.span())
    }

    /// Calls served in some bins, of each process under test for which `there` is true.
    fn served(&self, bins: Range<usize>, there: impl Fn(&Clients) -> bool) -> Vec<f64> {
        let groups = self.scenario.groups();
        let groups = groups.flat_map(|group| (0..group.processes).map(move |_| group));
        let present = groups.zip(&self.tally.served_by);
        let present = present.filter(|(group, _)| !group.are_strangers() && there(group));
        let sum = |counts: &[u32]| counts[bins.clone()].iter().copied().map(f64::from).sum();
        present.map(|(_, counts)| sum(counts)).collect()
    }

    fn stretch(&self, stretch: &Stretch, show: Show) -> Option<f64> {
        let every = stretch.every.unwrap_or_default().span();
        let times = (0..u64::from(stretch.times)).map(|time| {
            let shift = |at: Time| Time::from(at.span() + every * time);
            self.look_at(stretch, shift(stretch.from), shift(stretch.to), show)
        });
        let values: Vec<f64> = times.flatten().collect();
        share(values.iter().sum(), values.len() as f64)
    }

    fn look_at(&self, stretch: &Stretch, from: Time, to: Time, show: Show) -> Option<f64> {
        let bins = self.bin(from)..self.bin(to);
        let sums = self.sums(bins.clone());
        let flow = || self.server.flow(from.instant(), to.instant(), stretch.offered);
        let possible = || flow() + stretch.credit as f64;
        let there =
            |group: &Clients| group.from <= from && group.to.is_none_or(|leaves| leaves >= to);
        match show {
            Show::Util => used(sums.served, possible()),
            Show::Throttled => share(sums.bad, sums.all()),
            Show::Throttles => Some(sums.bad),
            Show::Load => share(sums.all(), to.seconds() - from.seconds()),
            Show::Peak => {
                let busiest = bins.map(|bin| self.tally.served[bin] + self.tally.bad[bin]).max();
                busiest.and_then(|busiest| share(f64::from(busiest), self.bin_seconds()))
            }
            Show::Jain => jain(self.served(bins, there)),
            Show::Least => {
                let all = self.served(bins, there);
                let least = all.iter().copied().reduce(f64::min)?;
                share(least * all.len() as f64, possible())
            }
        }
    }

    fn bin_seconds(&self) -> f64 {
        self.scenario.bin.get_ref().seconds()
    }

    pub(super) fn converged(&self, name: &str) -> Option<f64> {
        let all = self.scenario.convergences.iter().map(toml::Spanned::get_ref);
        median(all.filter(|convergence| convergence.name == name).map(|c| self.settled(c)))
    }

    /// Seconds until the clients reach the target, or the whole observed time.
    fn settled(&self, convergence: &Convergence) -> f64 {
        let Convergence { at, until, width, toward, rate, .. } = convergence;
        let (first, last, width) = (self.bin(*at), self.bin(*until), self.bin(*width));
        let wanted = rate.map_or(0.0, Rate::as_per_second) * width as f64 * self.bin_seconds();
        let there =
            |group: &Clients| group.from <= *at && group.to.is_none_or(|leaves| leaves > *at);
        let shows = |bin: &usize| {
            let bins = *bin..*bin + width;
            let sums = self.sums(bins.clone());
            match toward {
                Toward::Up => sums.served >= 0.9 * wanted,
                Toward::Down => sums.bad <= 0.05 * sums.all() && sums.served >= 0.8 * wanted,
                Toward::Fair => jain(self.served(bins, there)).is_some_and(|jain| jain >= 0.9),
            }
        };
        let bins = (first..last.saturating_sub(width)).find(shows).unwrap_or(last) - first;
        bins as f64 * self.bin_seconds()
    }
}
