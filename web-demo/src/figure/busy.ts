/** Figure 4: a server that slows down and recovers, and how callers recover with it. */

import { stringify } from "smol-toml";

import { number } from "../plot/number";
import { LOOKS, type Line } from "../plot/series";
import { calls, wasted } from "./claims";
import { Curves, Gather } from "./curves";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import type { Act, Metrics } from "./stage";

/** The names of the rows in the figure, and their laws. */
const LAWS = [["tidegate", "adaptive"], ["multiply", "fourfold"], ["add", "steady"]] as const;
const LINES: Line[] = [...LAWS.map(([label], index) => ({ label, ...LOOKS[index]! })), { label: "the server serves", tone: "soft", dash: [4, 3], width: 1 }];
const THREADS = 500;
const OFFERED = THREADS * 10;
const HEALTHY = 10_000;
const END = 40;
const SLOW_FROM = 2;

export function busy(host: HTMLElement): Act {
  const curves = new Curves(host,
    { label: "time", time: true, format: (at) => `${number(at)} s`, min: 0, max: END },
    { label: "calls served/s", format: (calls) => number(calls, 6), min: 0, max: 1.1 * OFFERED },
    LINES);
  const reads = new Reads(part(host, ".reads"));
  let gathers: Gather[] = [];
  return {
    speed: 2,
    stride: 1,
    specs: (knobs) => LAWS.map(([, law]) => ({ law, seed: knobs.number("seed"), scenario: world(knobs) })),
    begin(_, knobs) {
      curves.clear();
      const end = SLOW_FROM + knobs.number("slow");
      gathers = LAWS.map((_, line) => new Gather(1, (index, { served }) => {
        curves.put(line, index, 1, served);
        curves.put(LAWS.length, index, 1, index >= SLOW_FROM && index < end ? knobs.number("rate") : HEALTHY);
      }));
    },
    take: (frame, index) => gathers[index]!.take(frame),
    paint: () => curves.paint(),
    measure(metrics, knobs, over) {
      const looked = END - SLOW_FROM - knobs.number("slow");
      const seen = metrics.map((row) => ({ ...row, recovery_s: (row.recovery_s ?? looked) < looked ? row.recovery_s! : null }));
      reads.show(seen);
      return says(seen, looked, over);
    },
  };
}

/** `looked`: for how many seconds a recovery was looked for. A recovery that takes as long was not seen. */
function says(metrics: Metrics[], looked: number, over: boolean): string {
  const each = (write: (metrics: Metrics) => string) => LAWS.map(([name], index) => `${name} ${write(metrics[index]!)}`).join(", ");
  if (!over) return `Wasted so far: ${each((row) => calls(wasted(row)))}.`;
  const [own, ...others] = metrics;
  const name = (row: Metrics) => LAWS[metrics.indexOf(row)]![0];
  const used = (row: Metrics) => written("overload_util", row);
  const share = (row: Metrics) => parseFloat(used(row));
  const back = (row: Metrics) => row.recovery_s ?? Infinity;
  const better = others.filter((row) => share(row) > share(own!)).map((row) => `${name(row)} used more than tidegate`);
  const sooner = others.filter((row) => back(row) < back(own!)).map((row) => `${name(row)} was back before tidegate`);
  const loses = [...better, ...sooner].join(", and ");
  return `Share of the slow server’s capacity that was used: ${each(used)}. Back at the full rate after: `
    + `${each((row) => (row.recovery_s == null ? `more than ${looked} s` : written("recovery_s", row)))}.`
    + (loses ? ` Here ${loses}.` : "");
}

/** The world of figure 4: one process, as in the article. Each of its threads offers ten calls a second. */
function world(knobs: Knobs): string {
  const number = (name: string) => knobs.number(name);
  const [from, to, end] = [SLOW_FROM, SLOW_FROM + number("slow"), END].map((seconds) => `${seconds}s`);
  const [burst, offered, healthy] = [number("burst"), `${OFFERED}/s`, `${HEALTHY}/s`];
  const law = (recovery: { rate?: number; value?: number }) => ({ tchannel: { recovery, over: "reject" } });
  return stringify({
    title: "busy responses and recovery", end, offered,
    // The source adds a multiple of the limit to the limit.
    laws: { fourfold: law({ rate: number("times") - 1 }), steady: law({ value: number("plus") }) },
    server: { bucket: { burst, rate: healthy, steps: [{ at: from, rate: `${number("rate")}/s` }, { at: to, rate: healthy }] } },
    clients: [{ processes: 1, threads: THREADS }],
    convergence: [{ name: "recovery_s", toward: "up", at: to, until: end, width: "2s", rate: `${OFFERED * 0.99}/s` }],
    // While it is slow, the server can also serve the tokens that it has saved up.
    stretch: [{ name: "overload", from, to, show: ["util"], offered, credit: burst }],
  });
}
