/** Figure 3: the delay of responsive backoff, call by call, as its article drew it. */

import { What } from "../engine";
import { seconds } from "../plot/number";
import { Curves } from "./curves";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import { file, table, time } from "./scenario";
import type { Act } from "./stage";

const SERVED = 0;

export function delay(host: HTMLElement): Act {
  const curves = new Curves(host,
    { label: "call", format: (call) => String(Math.round(call)), min: 0 },
    { label: "delay before it", format: seconds, log: true },
    [{ label: "served", tone: "served", mark: "disc" }, { label: "refused", tone: "refused", mark: "cross" }]);
  const reads = new Reads(part(host, ".reads"));
  let [calls, waited] = [0, 0];
  return {
    steps: true,
    speed: 0.4,
    stride: 0.1,
    specs: (knobs, seed) => [{ law: "article", seed, scenario: world(knobs) }],
    begin() {
      [calls, waited] = [0, 0];
      curves.clear();
    },
    take({ steps }) {
      if (!steps) return;
      steps.what.forEach((what, index) => {
        const value = steps.value[index] ?? 0;
        if (what === What.Left) waited = value;
        if (what !== What.Decided) return;
        calls += 1;
        // A logarithm has no place for the calls that nothing delays.
        const shown = waited > 0 ? waited : null;
        curves.push(calls, value === SERVED ? [shown, null] : [null, shown]);
      });
    },
    paint: () => curves.paint(),
    measure: (metrics) => reads.show(metrics),
    sentence: ([metrics]) => `${calls} calls, ${written("throttled", metrics!)} of them refused; the last delay is ${seconds(waited)}.`,
  };
}

/** The world of figure 3: nothing is served at first, and then a call each so often. */
function world(knobs: Knobs): string {
  const [initial, most] = [knobs.number("initial"), knobs.number("most")];
  const law = [
    `initial = ${time(initial)}`, `most = ${time(Math.max(initial, most))}`, `up = ${knobs.number("up").toFixed(2)}`,
    `down = ${knobs.number("down").toFixed(2)}`, `threshold = ${knobs.number("threshold")}`,
    `spread = ${knobs.number("spread").toFixed(2)}`, `faithful = ${knobs.text("variant") === "faithful"}`,
  ];
  const [dark, gap] = [knobs.number("dark"), knobs.number("gap")];
  return file(
    { title: '"responsive backoff"', end: '"6s"', bin: '"100ms"', latency: '{ constant = "0s" }' },
    table("laws.article", { autosleeper: `{ ${law.join(", ")} }` }),
    table("server", { outages: dark > 0 ? `[{ from = "0s", to = ${time(dark)} }]` : undefined }),
    table("server.bucket", { burst: 1, rate: `"${Number((1 / gap).toFixed(6))}/s"` }),
    table("[clients]", { processes: 1 }),
  );
}
