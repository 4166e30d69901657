/** Figure 2: a job of many calls, by backoff alone and otherwise. */

import { number, seconds } from "../plot/number";
import { LOOKS } from "../plot/series";
import { Curves, Gather } from "./curves";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import { file, rate, table, time } from "./scenario";
import type { Act, Metrics } from "./stage";

/** The ways to do the job, as the rows of the figure name them, and their laws. */
const WAYS = [
  ["hammering", "none"],
  ["backoff that forgets", "forgets"],
  ["backoff that remembers", "remembers"],
  ["tidegate", "adaptive"],
] as const;
const END = 4000;
const PITCH = 10;

export function backoff(host: HTMLElement): Act {
  const curves = new Curves(host,
    { label: "time", time: true, format: (at) => `${number(at, 5)} s`, min: 0 },
    { label: "calls made", format: (calls) => number(calls, 6), min: 0 },
    WAYS.map(([label], index) => ({ label, ...LOOKS[index]! })));
  const reads = new Reads(part(host, ".reads"));
  let gathers: Gather[] = [];
  return {
    speed: 120,
    open: true,
    stride: PITCH,
    specs: (knobs, seed) => WAYS.map(([, law]) => ({ law, seed, scenario: world(knobs) })),
    begin() {
      curves.clear();
      gathers = WAYS.map((_, line) => new Gather(PITCH, (index) => curves.put(line, index, PITCH, gathers[line]!.total.offered)));
    },
    take: (frame, index) => gathers[index]!.take(frame),
    paint: () => curves.paint(),
    measure: (metrics) => reads.show(metrics),
    sentence: (metrics: Metrics[]) => WAYS.map(([name], index) =>
      `${name}: ${seconds(metrics[index]!.time_s)}, ${written("throttled", metrics[index]!)} refused`).join("; ") + ".",
  };
}

/** The world of figure 2. A backoff that remembers stays at its longest wait, as the article has it. */
function world(knobs: Knobs): string {
  const [base, most] = [knobs.number("base"), knobs.number("most")];
  const strangers = knobs.number("strangers");
  const way = knobs.number("trip") / 2;
  return file(
    { title: '"a scan by backoff alone"', end: time(END), stop_when_work_is_done: true, latency: `{ constant = ${time(way)} }` },
    table("laws.forgets", { backoff: `{ base = ${time(base)}, most = ${time(Math.max(base, most))}, factor = 2.0, jitter = "none" }` }),
    table("laws.remembers", { backoff: `{ base = ${time(Math.max(base, most))}, most = ${time(Math.max(base, most))}, factor = 1.0, jitter = "none" }` }),
    table("server", { strangers: strangers > 0 ? rate(strangers) : undefined }),
    table("server.bucket", { burst: knobs.number("burst"), rate: rate(knobs.number("rate")) }),
    table("[clients]", { demand: `{ work = ${knobs.number("work")} }`, counted: true }),
  );
}
