/** Figure 1: the same clients before the same server, hammering and throttled. */

import type { Frame, World } from "../engine";
import { Dots } from "../plot/dots";
import { textTable } from "../plot/table";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads, written } from "./reads";
import { file, rate, table, time } from "./scenario";
import type { Act, Metrics } from "./stage";

const LAWS = ["none", "adaptive"];

export function hammer(host: HTMLElement): Act {
  const dots = [...host.querySelectorAll("canvas")].map((canvas) => new Dots(canvas, canvas.parentElement?.querySelector("output")));
  const reads = new Reads(part(host, ".reads"));
  const last: (Frame | undefined)[] = [];
  const changed = textTable(part(host, "details"), () => ({
    head: ["client", "hammering: served", "refused", "with tidegate: served", "refused"],
    rows: Array.from(last[0]?.served ?? [], (_, client) => [client + 1, ...last.flatMap((frame) =>
      [frame?.served[client] ?? 0, frame?.throttled[client] ?? 0])]),
  }));
  return {
    steps: true,
    speed: 1,
    stride: 0.2,
    lead: Dots.lead,
    specs: (knobs, seed) => LAWS.map((law) => ({ law, seed, scenario: world(knobs) })),
    begin(worlds: World[], knobs: Knobs) {
      last.length = 0;
      dots.forEach((canvas, index) => canvas.begin(worlds[index]!, { full: knobs.number("burst"), way: knobs.number("way") }));
      changed();
    },
    take(frame, index) {
      last[index] = frame;
      dots[index]?.take(frame);
    },
    paint(now, speed) {
      for (const canvas of dots) canvas.paint(now, speed);
    },
    measure(metrics) {
      reads.show(metrics);
      changed();
    },
    sentence: ([none, adaptive]: Metrics[]) =>
      `Hammering: ${written("util", none!)} of the server used, ${written("throttled", none!)} of the calls refused. ` +
      `With tidegate: ${written("util", adaptive!)} used, ${written("throttled", adaptive!)} refused.`,
  };
}

/** The world of figure 1. */
function world(knobs: Knobs): string {
  const way = knobs.number("way");
  return file(
    { title: '"hammering an API"', end: '"60s"', bin: '"1s"', latency: `{ uniform = [${time(way * 0.75)}, ${time(way * 1.25)}] }` },
    table("server.bucket", { burst: knobs.number("burst"), rate: rate(knobs.number("rate")) }),
    table("[clients]", { processes: knobs.number("clients"), threads: knobs.number("threads") }),
  );
}
