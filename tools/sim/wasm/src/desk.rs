//! The open worlds by number, and the data that passes to and from the host.

use std::rc::Rc;

use tidegate::{Instant, Span};
use tidegate_sim::{Scenario, World};

use crate::lab;
use crate::watch::Watch;

/// The worlds, and the data for the host.
#[derive(Default)]
pub struct Desk {
    /// Text from or for the host.
    pub text: Vec<u8>,
    pub numbers: Vec<f64>,
    worlds: Vec<Option<Open>>,
}

struct Open {
    world: World<Rc<Scenario>>,
    scenario: Rc<Scenario>,
    watch: Watch,
}

/// Why a request failed: a code, and a sentence.
pub struct Rejection(pub i32, pub String);

pub const NO_SCENARIO: i32 = -1;
pub const NO_LAW: i32 = -2;
const BROKEN: i32 = -3;

impl Desk {
    pub fn laws(&mut self) {
        self.text = lab::laws().join("\n").into_bytes();
    }

    /// Replaces a scenario in one form by the same in another.
    pub fn convert(
        &mut self,
        convert: impl FnOnce(&[u8]) -> Result<String, Rejection>,
    ) -> Result<i32, Rejection> {
        self.text = convert(&std::mem::take(&mut self.text))?.into_bytes();
        Ok(0)
    }

    /// Opens a world of the law and the scenario in the text.
    pub fn open(&mut self, law: usize, seed: f64) -> Result<i32, Rejection> {
        let text = std::mem::take(&mut self.text);
        let (law, scenario) = text.split_at_checked(law).unwrap_or_default();
        let law = str::from_utf8(law).unwrap_or_default();
        let scenario = Rc::new(lab::read(scenario)?);
        let world = lab::world(&scenario, law, seed as u64)?;
        let processes: Vec<u32> = world.processes().collect();
        self.numbers.clear();
        self.numbers.extend([scenario.end.get_ref().seconds(), scenario.bin.get_ref().seconds()]);
        self.numbers.extend(processes.iter().copied().map(f64::from));
        let watch = Watch::new(&scenario, &processes);
        let free = self.worlds.iter().position(Option::is_none);
        let number = free.unwrap_or(self.worlds.len());
        if free.is_none() {
            self.worlds.push(None);
        }
        self.worlds[number] = Some(Open { world, scenario, watch });
        Ok(number as i32)
    }

    pub fn advance(&mut self, world: usize, until: f64) -> Result<bool, Rejection> {
        let Some(Open { world, watch, .. }) = self.get(world) else { return Ok(false) };
        let until = Instant::ZERO + Span::from_nanos((until * 1e9 + 0.5) as u64);
        let more = world.advance(until, &mut |step| watch.see(step));
        more.map_err(|broken| Rejection(BROKEN, format!("the world broke: {broken}")))
    }

    pub fn frame(&mut self, world: usize) {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        if let Some(Open { world, scenario, watch }) = self.get(world) {
            watch.frame(world, scenario, &mut numbers);
        }
        self.numbers = numbers;
    }

    pub fn metrics(&mut self, world: usize) {
        let Some(Open { world, .. }) = self.get(world) else { return };
        let metrics = world.finish().metrics;
        let names: Vec<&str> = metrics.0.iter().map(|metric| &*metric.0).collect();
        self.text = names.join("\n").into_bytes();
        self.numbers.clear();
        self.numbers.extend(metrics.0.iter().map(|metric| metric.1.unwrap_or(f64::NAN)));
    }

    pub fn digest(&mut self, world: usize) {
        let Some(Open { world, .. }) = self.get(world) else { return };
        let digest = world.digest().value();
        self.numbers.clear();
        self.numbers.extend([(digest >> 32) as f64, (digest & 0xFFFF_FFFF) as f64]);
    }

    pub fn close(&mut self, world: usize) {
        if let Some(open) = self.worlds.get_mut(world) {
            *open = None;
        }
    }

    /// Sets the text to the reason and returns its code.
    pub fn reject(&mut self, Rejection(code, why): Rejection) -> i32 {
        self.text = why.into_bytes();
        code
    }

    fn get(&mut self, world: usize) -> Option<&mut Open> {
        self.worlds.get_mut(world)?.as_mut()
    }
}
