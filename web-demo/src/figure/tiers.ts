/** Figure 6: the same law before the same server, which tells more and more. */

import { clock, number } from "../plot/number";
import { LOOKS } from "../plot/series";
import { Curves, Gather } from "./curves";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import { file, table, time } from "./scenario";
import type { Act, Metrics } from "./stage";

/** What the server tells, tier by tier. */
const TIERS: [string, string[]][] = [
  ["nothing", []],
  ["limit and period", ["quota"]],
  ["Retry-After", ["retry_after"]],
  ["what is left", ["remaining"]],
  ["what is left, and until when", ["quota", "retry_after", "remaining", "reset"]],
];
const END = 1800;
const PITCH = 15;

export function tiers(host: HTMLElement): Act {
  const curves = new Curves(host,
    { label: "time", time: true, format: (at) => `${number(at / 60, 4)} min`, min: 0, max: END },
    { label: "calls refused so far", format: (calls) => number(calls, 6), min: 0 },
    TIERS.map(([label], index) => ({ label, ...LOOKS[index]! })));
  const reads = new Reads(part(host, ".reads"));
  let gathers: Gather[] = [];
  return {
    speed: 60,
    stride: PITCH,
    specs: (knobs, seed) => TIERS.map(([, hints]) => ({ law: knobs.text("law"), seed, scenario: world(knobs, hints) })),
    begin() {
      curves.clear();
      gathers = TIERS.map((_, line) => new Gather(PITCH, (index) => {
        const { offered, served } = gathers[line]!.total;
        curves.put(line, index, PITCH, offered - served);
      }));
    },
    take: (frame, index) => gathers[index]!.take(frame),
    paint: () => curves.paint(),
    measure: (metrics) => reads.show(metrics),
    sentence: (metrics: Metrics[]) => `After ${clock(END)}, told ` + TIERS.map(([name], index) =>
      `${name}: ${written("throttled", metrics[index]!)} refused`).join("; ") + ".",
  };
}

/** The world of figure 6, with these hints. */
function world(knobs: Knobs, hints: string[]): string {
  const [calls, period] = [knobs.number("calls"), knobs.number("period")];
  const server = knobs.text("server") === "bucket"
    ? table("server.bucket", { burst: calls, rate: `"${Number((calls / period).toFixed(6))}/s"` })
    : table("server.window", { limit: calls, width: time(period) });
  return file(
    { title: '"adaptive, hint by hint"', end: time(END) },
    server,
    hints.length ? table("server.hints", Object.fromEntries(hints.map((hint) => [hint, '"honest"']))) : "",
    table("[clients]", { processes: knobs.number("clients"), threads: knobs.number("threads") }),
  );
}
