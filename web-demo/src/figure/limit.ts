/** Figure 3: many clients and one limit that none of them knows. */

import type { Frame } from "../engine";
import { Dots } from "../plot/dots";
import { Ledger } from "../plot/ledger";
import { number } from "../plot/number";
import { textTable } from "../plot/table";
import { brief } from "./brief";
import { compare } from "./claims";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import type { Act } from "./stage";

const END = 3600;
const NONE = "none";
const TIDEGATE = "adaptive";

/** The law to compare with: no gate; for no gate itself, tidegate. */
const beside = (law: string) => (law === NONE ? TIDEGATE : NONE);
const named = (law: string) => ({ [NONE]: "no gate", [TIDEGATE]: "tidegate" })[law] ?? law;

export function limit(host: HTMLElement): Act {
  const dots = new Dots(part(host, "canvas"));
  const reads = new Reads(part(host, ".reads"));
  const one = part<HTMLElement>(host, ".perdot");
  let last: Frame | undefined;
  const byClient = textTable(part(host, "details:not(.more)"), () => ({
    head: ["client", "served", "throttled", "in flight", "waits"],
    rows: Array.from(last?.served ?? [], (served, client) => [client + 1, served, last?.throttled[client] ?? 0,
      last?.inFlight[client] ?? 0, Number.isNaN(last?.waiting[client] ?? NaN) ? "–" : `${number(last?.waiting[client])} s`]),
  }));
  return {
    steps: 1,
    speed: 180,
    stride: 10,
    lead: Dots.lead,
    specs: (knobs) => [knobs.text("law"), beside(knobs.text("law"))].map((law) => ({ law, seed: knobs.number("seed"), scenario: world(knobs) })),
    begin([world], knobs) {
      last = undefined;
      [knobs.text("law"), beside(knobs.text("law"))].forEach((law, row) => reads.name(row, named(law)));
      dots.begin(world!, { full: knobs.number("burst"), way: 0.05, more: new Ledger().draw });
    },
    take(frame, index) {
      if (index > 0) return;
      last = frame;
      dots.take(frame);
    },
    paint(now, speed) {
      dots.paint(now, speed);
      const text = dots.callsPerDot > 1 ? `One dot is ${number(dots.callsPerDot, 9)} calls.` : "One dot is one call.";
      if (one.textContent !== text) one.textContent = text;
    },
    measure([chosen, other], knobs, over) {
      reads.show([chosen!, other!]);
      byClient();
      const law = knobs.text("law");
      const [gate, none] = law === NONE ? [other, chosen] : [chosen, other];
      return `${compare(named(law === NONE ? TIDEGATE : law), gate!, none!, over)} Fairness of ${named(law)} between workers: ${written("jain_worker", chosen!)}, where 1 is even.`;
    },
    ease: (factor) => dots.ease(factor),
  };
}

/** The world of figure 3. */
function world(knobs: Knobs): number[] {
  const burst = knobs.number("burst");
  return brief({
    end: END, latency: [0.025, 0.075], burst, start: knobs.text("start") === "empty" ? 0 : burst, perDay: knobs.number("rate") * 24,
    remaining: knobs.flag("remaining"), processes: knobs.number("clients"), threads: knobs.number("threads"),
  });
}
