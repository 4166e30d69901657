/** Figure 5: a server that becomes slow and recovers, and two ways to come back to it. */

import type { Frame } from "../engine";
import { Dots } from "../plot/dots";
import { number } from "../plot/number";
import { LOOKS, type Line } from "../plot/series";
import { Curves, Gather } from "./curves";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import { file, table, time } from "./scenario";
import type { Act, Metrics } from "./stage";

const LAWS = ["fourfold", "steady", "adaptive"];
const LINES: Line[] = ["times", "plus", "tidegate"].map((label, index) => ({ label, ...LOOKS[index]! }));
const THREADS = 500;
/** One dot is so many calls, that a trickle looks like one beside a flood. */
const CROWD = 50;
const END = 40;
const SLOW_FROM = 2;

export function busy(host: HTMLElement): Act {
  const dots = [...host.querySelectorAll("canvas")].map((canvas) => new Dots(canvas, canvas.parentElement?.querySelector("output")));
  const curves = new Curves(host,
    { label: "time", time: true, format: (at) => `${number(at)} s`, min: 0, max: END },
    { label: "calls served/s", format: (calls) => number(calls, 6), min: 0 },
    LINES);
  const reads = new Reads(part(host, ".reads"));
  const one = part<HTMLElement>(host, ".perdot");
  let gathers: Gather[] = [];
  let looked = 0;
  /** A recovery that takes all the time there is has not been seen. */
  const back = (metrics: Metrics): Metrics => ({ ...metrics, recovery_s: (metrics.recovery_s ?? looked) < looked ? metrics.recovery_s! : null });
  return {
    steps: true,
    speed: 1,
    stride: 1,
    lead: Dots.lead,
    specs: (knobs, seed) => LAWS.map((law) => ({ law, seed, scenario: world(knobs) })),
    begin(worlds, knobs) {
      curves.clear();
      looked = END - SLOW_FROM - knobs.number("slow");
      gathers = LAWS.map((_, line) => new Gather(1, (index, { served }) => curves.put(line, index, 1, served)));
      dots.forEach((canvas, index) => canvas.begin(worlds[index]!, { full: knobs.number("burst"), way: 0.05, crowd: CROWD }));
    },
    take(frame: Frame, index) {
      gathers[index]!.take(frame);
      dots[index]?.take(frame);
    },
    paint(now, speed) {
      for (const canvas of dots) canvas.paint(now, speed);
      const text = `One dot is ${dots[0]?.callsPerDot} calls.`;
      if (one.textContent !== text) one.textContent = text;
      curves.paint();
    },
    measure: (metrics) => reads.show(metrics.map(back)),
    sentence: (metrics: Metrics[]) => ["Times", "Plus", "tidegate"].map((name, index) =>
      `${name}: ${written("overload_util", metrics[index]!)} of the slow server used, back after ${written("recovery_s", back(metrics[index]!))}`).join("; ") + ".",
  };
}

/** The world of figure 5: one process, as in the article, whose threads offer ten calls a second each. */
function world(knobs: Knobs): string {
  const [from, to, end] = [SLOW_FROM, SLOW_FROM + knobs.number("slow"), END];
  const offered = THREADS * 10;
  const law = (recovery: string) => `{ recovery = ${recovery}, over = "refuse", faithful = true }`;
  return file(
    { title: '"busy responses and recovery"', end: time(end), offered: `"${offered}/s"` },
    table("laws.fourfold", { tchannel: law(`{ rate = ${knobs.number("times")} }`) }),
    table("laws.steady", { tchannel: law(`{ value = ${knobs.number("plus")} }`) }),
    table("server.bucket", {
      burst: knobs.number("burst"), rate: '"10000/s"',
      steps: `[{ at = ${time(from)}, rate = "${knobs.number("rate")}/s" }, { at = ${time(to)}, rate = "10000/s" }]`,
    }),
    table("[clients]", { processes: 1, threads: THREADS }),
    table("[convergence]", { name: '"recovery_s"', toward: '"up"', at: time(to), until: time(end), width: '"2s"', rate: `"${offered * 0.99}/s"` }),
    table("[stretch]", { name: '"overload"', from: time(from), to: time(to), show: '["util", "throttled"]', offered: `"${offered}/s"` }),
  );
}
