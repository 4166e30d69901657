/** Figure 2: a job of many calls, with backoff and with other strategies. */

import { stringify } from "smol-toml";

import { SECOND, timeText } from "../lab/units";
import { clock, number } from "../plot/number";
import { LOOKS } from "../plot/series";
import { calls, wasted } from "./claims";
import { Curves, Gather } from "./curves";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import type { Act, Metrics } from "./stage";

/** The strategies: the name of the row in the figure, the law, and the look. */
const WAYS = [
  ["no gate", "none", 1],
  ["backoff that forgets", "forgets", 2],
  ["delay that remembers", "remembers", 3],
  ["tidegate", "adaptive", 0],
] as const;
const END = 4000;
const PITCH = 10;
/** A job that takes this many times as long counts as slower. */
const SLOWER = 1.1;

export function backoff(host: HTMLElement): Act {
  const curves = new Curves(host,
    { label: "time", time: true, format: (at) => `${number(at, 5)} s`, min: 0 },
    { label: "calls made", format: (calls) => number(calls, 6), min: 0 },
    WAYS.map(([label, , look]) => ({ label, ...LOOKS[look]! })));
  const reads = new Reads(part(host, ".reads"));
  let gathers: Gather[] = [];
  return {
    speed: 40,
    open: true,
    stride: PITCH,
    specs: (knobs) => WAYS.map(([, law]) => ({ law, seed: knobs.number("seed"), scenario: world(knobs) })),
    begin() {
      curves.clear();
      gathers = WAYS.map((_, line) => new Gather(PITCH, (index) => curves.put(line, index, PITCH, gathers[line]!.total.offered)));
    },
    take: (frame, index) => gathers[index]!.take(frame),
    paint: () => curves.paint(),
    measure(metrics, _, over) {
      reads.show(metrics);
      return says(metrics, over);
    },
  };
}

function says([none, forgets, remembers, gate]: Metrics[], over: boolean): string {
  const [own, other] = [wasted(gate!), wasted(none!)];
  if (!over) return `So far, no gate has wasted ${calls(other)}, the backoff that forgets ${calls(wasted(forgets!))}, the delay that remembers ${calls(wasted(remembers!))}, and tidegate ${calls(own)}.`;
  const took = (metrics: Metrics) => (metrics.time_s == null ? `was not done after ${clock(END)}` : `was done after ${written("time_s", metrics)}`);
  const all = `With tidegate the job ${took(gate!)} and wasted ${calls(own)}; without a gate it ${took(none!)} and wasted ${calls(other)}. `
    + `The backoff that forgets wasted ${calls(wasted(forgets!))}, the delay that remembers ${calls(wasted(remembers!))}.`;
  if (own + other === 0) return `${all} Nothing was throttled: this job needs no gate.`;
  const slower = (gate!.time_s ?? Infinity) > SLOWER * (none!.time_s ?? Infinity);
  return all + (own >= other ? " Here tidegate saves nothing." : "") + (slower ? " Here tidegate loses time." : "");
}

/** The world of figure 2. "Remembers" is the article's law, with its parameters unless the reader changes them. */
function world(knobs: Knobs): string {
  const number = (name: string) => knobs.number(name);
  const [base, most] = [number("base"), Math.max(number("base"), number("most"))].map((seconds) => timeText(seconds * SECOND));
  const [up, down] = ["up", "down"].map((name) => Number(number(name).toFixed(2)));
  const strangers = number("strangers");
  return stringify({
    title: "a job by backoff alone", end: timeText(END * SECOND), stop_when_work_is_done: true, latency: { constant: timeText((number("trip") / 2) * SECOND) },
    laws: {
      forgets: { backoff: { base, most, factor: 2, jitter: "none" } },
      remembers: { autosleeper: { initial: "1ms", most, up, down, threshold: number("threshold"), spread: 0 } },
    },
    server: { strangers: strangers > 0 ? `${strangers}/s` : null, bucket: { burst: number("burst"), rate: `${number("rate")}/s` } },
    clients: [{ demand: { work: number("work") }, counted: true }],
  });
}
