/** Figure 4: many clients before one limit that none of them knows. */

import type { Frame } from "../engine";
import { Dots } from "../plot/dots";
import { Ledger } from "../plot/ledger";
import { clock, number } from "../plot/number";
import { Series, type Axis, type Rows } from "../plot/series";
import { textTable } from "../plot/table";
import { Gather } from "./curves";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import { file, table } from "./scenario";
import type { Act } from "./stage";

const HOUR = 3600;
const END = 2 * HOUR;
const PITCH = 60;
/** So many minutes may be off the scale. */
const FIRST = 5;

export function limit(host: HTMLElement): Act {
  const dots = new Dots(part(host, "canvas"));
  const rows = (): Rows => [[], [], []];
  let data = rows();
  const calls: Axis = { label: "calls/min", format: (calls) => number(calls, 6), min: 0 };
  const plot = new Series(part(host, ".plot"),
    { label: "time", format: (at) => `${number(at / 60, 4)} min`, min: 0, max: END, time: true },
    calls,
    [{ label: "served", tone: "served" }, { label: "refused", tone: "refused", dash: [7, 4] }], part(host, ".legend"));
  const reads = new Reads(part(host, ".reads"));
  const one = part<HTMLElement>(host, ".perdot");
  const [clients, minutes] = host.querySelectorAll("details");
  let [last, gather, fresh]: [Frame | undefined, Gather | undefined, boolean] = [undefined, undefined, false];
  const byClient = textTable(clients!, () => ({
    head: ["client", "served", "refused", "in flight", "waits"],
    rows: Array.from(last?.served ?? [], (served, client) => [client + 1, served, last?.throttled[client] ?? 0,
      last?.inFlight[client] ?? 0, Number.isNaN(last?.waiting[client] ?? NaN) ? "–" : `${number(last?.waiting[client])} s`]),
  }));
  const byMinute = textTable(minutes!, () => plot.table());
  return {
    steps: true,
    speed: 180,
    stride: 10,
    lead: Dots.lead,
    specs: (knobs, seed) => [{ law: knobs.text("law"), seed, scenario: world(knobs) }],
    begin([world], knobs) {
      [last, data, fresh, calls.max] = [undefined, rows(), true, knobs.number("rate") / 40];
      reads.name(0, knobs.text("law"));
      dots.begin(world!, { full: knobs.number("burst"), way: 0.05, more: new Ledger().draw });
      gather = new Gather(PITCH, (index, sums) => {
        data[0].push((index + 1) * PITCH);
        data[1]!.push(sums.served);
        data[2]!.push(sums.throttled);
        // What is saved up may be gone in a minute, beside which all that follows would be flat.
        if (index >= FIRST) calls.max = Math.max(calls.max ?? 1, 1.25 * sums.served, 1.25 * sums.throttled);
        fresh = true;
      });
    },
    take(frame) {
      last = frame;
      dots.take(frame);
      gather?.take(frame);
    },
    paint(now, speed) {
      dots.paint(now, speed);
      const text = dots.callsPerDot > 1 ? `One dot is ${dots.callsPerDot} calls.` : "One dot is one call.";
      if (one.textContent !== text) one.textContent = text;
      if (!fresh) return;
      fresh = false;
      plot.set(data);
      byMinute();
    },
    measure(metrics) {
      reads.show(metrics);
      byClient();
    },
    sentence: ([metrics]) => `After ${clock(END)}: ${written("util", metrics!)} of the limit used, ` +
      `${written("throttled", metrics!)} of the calls refused, fairness between workers ${written("jain_worker", metrics!)}.`,
  };
}

/** The world of figure 4. */
function world(knobs: Knobs): string {
  const burst = knobs.number("burst");
  return file(
    { title: '"many clients, one hidden limit"', end: `"${END}s"` },
    table("server.bucket", { burst, rate: `"${knobs.number("rate")}/h"`, start: knobs.text("start") === "empty" ? 0 : burst }),
    table("server.hints", { remaining: knobs.flag("remaining") ? '"honest"' : '"absent"' }),
    table("[clients]", { processes: knobs.number("clients"), threads: knobs.number("threads") }),
  );
}
