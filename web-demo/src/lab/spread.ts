/** How much a run depends on chance: the state's laws over five seeds, and the result in one sentence. */

import { engine } from "../engine";
import { number } from "../plot/number";
import { build } from "../plot/table";
import { h, say } from "./dom";
import { reason } from "./fields";
import { NO_GATE, worldOf } from "./laws";
import type { State } from "./state";
import { SECOND, spoken, time } from "./units";

const SEEDS = 5;

/** Shares that differ by less count as the same. */
const SAME = 0.02;

interface Row { law: string; wasted: number[]; used: number[] }

export class Spread {
  readonly #says = h("p", { class: "outcome", role: "status" });
  readonly #scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The laws over five seeds", hidden: true });
  readonly #button = h("button", { type: "button", onclick: () => void this.#run() }, "Compare over five seeds");
  readonly element = h("div", { class: "spread" }, this.#button, this.#says, this.#scroll);
  #turn = 0;

  constructor(readonly state: () => State) {}

  /** The state has changed, so the result is out of date. */
  clear(): void {
    this.#turn++;
    say(this.#says, "");
    this.#scroll.hidden = true;
    this.#button.disabled = false;
  }

  async #run(): Promise<void> {
    const turn = ++this.#turn;
    const state = this.state();
    this.#button.disabled = true;
    const rows: Row[] = state.laws.map((law) => ({ law, wasted: [], used: [] }));
    try {
      for (let seed = 0; seed < SEEDS; seed++) {
        say(this.#says, `Run ${seed + 1} of ${SEEDS} …`);
        await Promise.all(rows.map((row) => one(row, state, state.seed + seed)));
        if (turn !== this.#turn) return;
      }
      say(this.#says, sentence(rows, state));
      const head = ["law", "wasted: median", "least to most", "limit used: median", "least to most"];
      const cells = rows.map(({ law, wasted, used }) => [law, ...[wasted, used].flatMap((shares) => [share(median(shares)), range(shares)])]);
      this.#scroll.replaceChildren(build({ head, rows: cells }));
      this.#scroll.hidden = false;
    } catch (error) {
      if (turn === this.#turn) say(this.#says, `The comparison has failed: ${reason(error)}.`);
    }
    this.#button.disabled = false;
  }
}

/** One run of a law with a seed. */
async function one(row: Row, { scenario }: State, seed: number): Promise<void> {
  const [law, own] = worldOf(row.law, scenario);
  const opened = await engine();
  const world = await opened.open({ scenario: await opened.print(own), law, seed });
  try {
    await world.advance(time(scenario.end) / SECOND);
    const { throttled, util } = await world.metrics();
    row.wasted.push(throttled ?? 0);
    row.used.push(util ?? 0);
  } finally {
    world.close();
  }
}

const sorted = (values: number[]) => [...values].sort((a, b) => a - b);
const median = (values: number[]) => sorted(values)[Math.floor(values.length / 2)]!;
const share = (value: number) => `${number(value * 100)} %`;

function range(shares: number[]): string {
  const [least, most] = [sorted(shares)[0]!, sorted(shares).at(-1)!].map(share);
  return least === most ? least! : `${least} to ${most}`;
}

function sentence(rows: Row[], { scenario }: State): string {
  const gate = rows.find(({ law }) => law === "adaptive") ?? rows.find(({ law }) => law !== NO_GATE);
  const none = rows.find(({ law }) => law === NO_GATE);
  const runs = `${SEEDS} runs of ${spoken(time(scenario.end))}.`;
  if (!gate || !none) return `${runs} Calls wasted: ${rows.map(({ law, wasted }) => `${law} ${range(wasted)}`).join(", ")}.`;
  const [own, other] = [median(gate.wasted), median(none.wasted)];
  const all = `${runs} Without a gate: ${range(none.wasted)} of calls wasted. With ${gate.law}: ${range(gate.wasted)}. Share of the limit used: ${range(none.used)} and ${range(gate.used)}.`;
  if (own + other === 0) return `${all} No gate is needed here.`;
  if (own >= other) return `${all} ${gate.law} saves nothing here.`;
  if (median(gate.used) < median(none.used) - SAME) return `${all} ${gate.law} loses throughput here.`;
  return all;
}
