/** Figure 1: the same clients and server, without a gate and with tidegate. The reader can send calls too. */

import type { Frame, World } from "../engine";
import { Dots, sum } from "../plot/dots";
import { textTable } from "../plot/table";
import { brief } from "./brief";
import { compare } from "./claims";
import type { Knobs } from "./knobs";
import { part } from "./part";
import { Reads } from "./reads";
import type { Act, Metrics } from "./stage";

const LAWS = ["none", "adaptive"];
/** The most calls that a reader may send in a run. */
const MOST = 100;

export function hammer(host: HTMLElement): Act {
  const dots = [...host.querySelectorAll("canvas")].map((canvas) => new Dots(canvas, canvas.parentElement?.querySelector("output")));
  const reads = new Reads(part(host, ".reads"));
  const last: (Frame | undefined)[] = [];
  /** When the reader's calls were sent. */
  let mine: number[] = [];
  const changed = textTable(part(host, "details:not(.more)"), () => ({
    head: ["client", "no gate: served", "throttled", "with tidegate: served", "throttled"],
    rows: Array.from(last[0]?.served ?? [], (_, client) => [client + 1, ...last.flatMap((frame) =>
      [frame?.served[client] ?? 0, frame?.throttled[client] ?? 0])]),
  }));
  const own = (knobs: Knobs, frame: Frame | undefined) => {
    const [served, throttled] = [frame?.served, frame?.throttled].map((all) => sum(all?.subarray(knobs.number("clients")) ?? []));
    return `${served} of ${served! + throttled!}`;
  };
  return {
    steps: 2,
    speed: 1,
    stride: 0.2,
    lead: Dots.lead,
    specs: (knobs) => LAWS.map((law) => ({ law, seed: knobs.number("seed"), scenario: world(knobs, mine) })),
    begin(worlds: World[], knobs: Knobs) {
      last.length = 0;
      dots.forEach((canvas, index) => canvas.begin(worlds[index]!, { full: knobs.number("burst"), way: knobs.number("way"), clients: knobs.number("clients") }));
      changed();
    },
    take(frame, index) {
      last[index] = frame;
      dots[index]?.take(frame);
    },
    paint(now, speed) {
      for (const canvas of dots) canvas.paint(now, speed);
    },
    measure([none, adaptive]: Metrics[], knobs, over) {
      reads.show([none!, adaptive!]);
      changed();
      const [without, gated] = last.map((frame) => own(knobs, frame));
      return compare("tidegate", adaptive!, none!, over) + (mine.length ? ` Of your calls, ${without} were served without a gate, ${gated} beside tidegate.` : "");
    },
    send(at) {
      if (at === null) mine = [];
      else if (mine.length < MOST) mine.push(at);
    },
    ease: (factor) => dots.forEach((canvas) => canvas.ease(factor)),
  };
}

/** The world of figure 1. Each of the reader's calls is a client that makes one attempt. */
function world(knobs: Knobs, mine: number[]): number[] {
  const [way, burst] = [knobs.number("way"), knobs.number("burst")];
  return brief({
    end: 60, latency: [way * 0.75, way * 1.25], burst, start: burst, perDay: knobs.number("rate") * 86_400, remaining: false,
    processes: knobs.number("clients"), threads: knobs.number("threads"), calls: mine,
  });
}
