//! A long trace of calls on this machine, a line of JSON each, for the module to repeat: what was
//! asked, in numbers, and what was answered. A host's Rust and a browser's wasm must agree on all.

use tidegate_wasm::gate;

/// A generator of plain numbers; which one does not matter.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// Numbers as JSON has them; what it lacks as text.
fn json(numbers: &[f64]) -> String {
    let one = |number: &f64| match number {
        finite if finite.is_finite() => format!("{finite:?}"),
        other if other.is_nan() => "\"NaN\"".to_owned(),
        other => format!("\"{}Infinity\"", if *other < 0.0 { "-" } else { "" }),
    };
    numbers.iter().map(one).collect::<Vec<_>>().join(",")
}

fn say(verb: &str, arguments: &[f64], answer: f64) {
    println!("[\"{verb}\",[{}],{}]", json(arguments), json(&[answer]));
}

fn main() {
    let laws: u32 = if cfg!(feature = "full") { 13 } else { 4 };
    for law in 0..laws {
        let mut row = [f64::NAN; 19];
        row[0] = f64::from(law);
        row[4] = f64::from(law);
        if law == 1 {
            row[1..4].copy_from_slice(&[50.0, 1_000.0, 5.0]);
            row[18] = 30.0;
        }
        row[8] = 4.0;
        row[13] = 10.0;
        gate::set_row(&row);
        let slot = gate::open(1, 7 + law, 0.0, 100);
        say("open", &[&row[..], &[1.0, f64::from(7 + law), 0.0, 100.0]].concat(), f64::from(slot));
        run(slot.cast_unsigned(), &mut Draw(u64::from(law)));
    }
}

/// Two thousand calls that come, wait, are answered in all ways, and are tried again.
fn run(slot: u32, draw: &mut Draw) {
    let gate_of = f64::from(slot);
    let mut now = 0.0;
    let mut flying = Vec::new();
    let mut call = u32::MAX;
    let mut waiting = Vec::new();
    for turn in 0..2_000_u32 {
        now += draw.below(40_000) as f64 / 1_000.0;
        let tokens = draw.below(3) as f64;
        let priority = draw.below(8) as u32;
        let deadline = if draw.below(4) == 0 { now + draw.below(500) as f64 } else { f64::NAN };
        let place = [f64::from(priority), f64::from(turn)];
        let answer = gate::join(slot, call, now, deadline, 1.0, tokens, priority, f64::from(turn));
        let asked = [gate_of, f64::from(call), now, deadline, 1.0, tokens];
        say("join", &[&asked[..], &place[..]].concat(), answer);
        if answer < 0.0 {
            waiting.push((-1.0 - answer, turn));
            say("given", &[], gate::given());
        } else if answer >= 0.0 {
            flying.push(answer);
        }
        if waiting.len() > 50 {
            let (place, turn) = waiting.swap_remove(draw.below(50) as usize);
            gate::cancel(slot, place as u32, f64::from(turn));
            say("cancel", &[gate_of, place, f64::from(turn)], 0.0);
        }
        say("first", &[gate_of], f64::from(gate::first(slot)));
        loop {
            let next = gate::next(slot, now);
            say("next", &[gate_of, now], next);
            if next < 0.0 {
                break;
            }
            waiting.retain(|(place, _)| *place != next);
            let permit = gate::given();
            say("given", &[], permit);
            if permit >= 0.0 {
                flying.push(permit);
            }
        }
        let why = f64::from(gate::why(slot, call, now, f64::NAN, 1.0, tokens));
        say("why", &[gate_of, f64::from(call), now, f64::NAN, 1.0, tokens], why);
        if !flying.is_empty() && draw.below(3) > 0 {
            let permit = flying.swap_remove(draw.below(flying.len() as u64) as usize);
            let (outcome, cooldown) = match draw.below(12) {
                0 => (1, draw.below(2_000) as f64),
                1 => (1, f64::NAN),
                2 => (2, f64::NAN),
                3 => (3, f64::NAN),
                4 => (4, f64::NAN),
                _ => (0, f64::NAN),
            };
            gate::answer(outcome, cooldown);
            say("answer", &[f64::from(outcome), cooldown], 0.0);
            gate::learn(slot, permit, now);
            say("learn", &[gate_of, permit, now], 0.0);
            gate::release(slot, permit, now);
            say("release", &[gate_of, permit, now], 0.0);
            let asked = [gate_of, f64::from(call), now, f64::NAN, 1.0, tokens];
            let next = gate::retry(slot, call, now, f64::NAN, 1.0, tokens);
            say("retry", &asked, f64::from(next));
            if next < 0 && call != u32::MAX {
                gate::forget(call);
                say("forget", &[f64::from(call)], 0.0);
            }
            call = u32::try_from(next).unwrap_or(u32::MAX);
            say("interval", &[gate_of, 0.0, now], gate::interval(slot, 0, now));
        }
    }
}
