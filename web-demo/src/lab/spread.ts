/** How much a run depends on chance: the state's laws over five seeds, and the result in one sentence. */

import { engine } from "../engine";
import { number } from "../plot/number";
import { build } from "../plot/table";
import { h, say } from "./dom";
import { reason } from "./fields";
import { NO_GATE, worldOf } from "./laws";
import { used } from "./metric";
import { write, type State } from "./state";
import { SECOND, spoken, time } from "./units";

const SEEDS = 5;

/** Time without changes after which a state is compared automatically, ms. */
const PATIENCE = 800;

/** Shares that differ by less count as the same. */
const SAME = 0.02;

interface Row { law: string; wasted: number[]; used: number[] }

export class Spread {
  readonly #says = h("p", { class: "outcome", role: "status" });
  readonly #scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The laws over five seeds", hidden: true });
  readonly #button = h("button", { type: "button", onclick: () => void this.#run() }, "Compare over five seeds");
  readonly element = h("div", { class: "spread" }, this.#says, this.#button, this.#scroll);
  #turn = 0;
  #timer = 0;

  constructor(readonly state: () => State) {}

  /** The state has changed, so the result is out of date. With `unasked`, it is computed again automatically. */
  renew(unasked: boolean): void {
    this.#turn++;
    clearTimeout(this.#timer);
    if (unasked) this.#timer = window.setTimeout(() => void this.#run(), PATIENCE);
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
      this.#show(rows);
    } catch (error) {
      if (turn === this.#turn) say(this.#says, `That did not work: ${reason(error)}.`);
    }
    this.#button.disabled = false;
  }

  #show(rows: Row[]): void {
    const head = ["law", "wasted: median", "least to most", "limit used: median", "least to most"];
    const cells = rows.map(({ law, wasted, used }) => [law, ...[wasted, used].flatMap((shares) => [share(median(shares)), range(shares)])]);
    this.#scroll.replaceChildren(build({ head, rows: cells }));
    this.#scroll.hidden = false;
  }
}

/** One run of a law with a seed. */
async function one(row: Row, { scenario }: State, seed: number): Promise<void> {
  const [law, own] = worldOf(row.law, scenario);
  const world = await (await engine()).open({ scenario: write(own), law, seed });
  try {
    const { now } = await world.advance(time(scenario.end) / SECOND);
    const metrics = await world.metrics();
    row.wasted.push(metrics.throttled ?? 0);
    row.used.push(used(metrics, scenario, now) ?? 0);
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
  const runs = `In ${SEEDS} runs of ${spoken(time(scenario.end))}`;
  if (!gate || !none) return `${runs}: ${rows.map(({ law, wasted }) => `${law} wasted ${range(wasted)} of its calls`).join(", ")}.`;
  const [own, other] = [median(gate.wasted), median(none.wasted)];
  const all = `${runs}, clients without a gate wasted ${range(none.wasted)} of their calls, with ${gate.law} ${range(gate.wasted)}; they used ${range(none.used)} and ${range(gate.used)} of the limit.`;
  if (own + other === 0) return `${all} Here no gate is needed.`;
  if (own >= other) return `${all} Here ${gate.law} saves nothing.`;
  if (median(gate.used) < median(none.used) - SAME) return `${all} Here ${gate.law} loses throughput.`;
  return all;
}
