/** The reader's own calls to the real server, and the demo's fleet. */

import type { Cause } from "tidegate";
import { calls, number, percent, seconds } from "../plot/number";
import { Series, type Line } from "../plot/series";
import { textTable } from "../plot/table";
import { listen, type Moment } from "./moments";
import { Rates, REACH } from "./rates";
import { Workers, type How } from "./workers";

const LINES: Line[] = [
  { label: "fleet: served", tone: "s4", dash: [10, 3, 2, 3] },
  { label: "fleet: throttled", tone: "s6", dash: [1, 4] },
  { label: "your calls", tone: "s3", dash: [2, 3] },
  { label: "your calls served", tone: "s1", fill: true },
  { label: "your calls throttled", tone: "s2", dash: [7, 4] },
  { label: "API limit", tone: "s5", dash: [4, 2], width: 1 },
];
/** How many of them are the fleet's. */
const FLEET = 2;

/** The plot's top, as a multiple of the limit. */
const STEEP = 5;

const HOWS: [How, string][] = [
  ["adaptive", "tidegate, adaptive"],
  ["backoff", "tidegate, backoff only"],
  ["none", "tidegate, retries only"],
  ["plain", "no gate, plain fetch"],
];

/** Reasons for waits, in words. */
const CAUSES: Record<Cause, string> = { pacing: "pacing", cooldown: "a cooldown", concurrency: "the concurrency limit", retryBudget: "the retry budget", paused: "a pause" };

const FRAME = `<figure>
<p class="about"></p>
<div class="plot"></div>
<ul class="legend"></ul>
<figcaption></figcaption>
<form class="knobs" aria-label="Your workers">
<button type="button" class="play">Start calling</button>
<label><span>your workers <output>6</output></span><input type="range" name="workers" min="1" max="24" value="6"></label>
<label><span>your gate</span><select name="how">${HOWS.map(([how, name]) => `<option value="${how}">${name}</option>`).join("")}</select></label>
</form>
<p class="note mine"></p>
<p class="note say" aria-live="polite"></p>
<div class="scroll-x" tabindex="0" role="region" aria-label="Present callers"><table class="callers"><caption class="sr">Present callers</caption>
<thead><tr><th scope="col">caller</th><th scope="col">law</th><th scope="col">calls/s</th><th scope="col">served/s</th><th scope="col">throttled</th><th scope="col">last wait</th></tr></thead><tbody></tbody></table></div>
<details><summary>The last minute as a table</summary></details>
</figure>`;

export class View {
  readonly #workers = new Workers();
  readonly #record = new Rates(LINES.length - 1);
  /** Rates of the fleet's processes, one record each. */
  #processes: Rates[] = [];
  /** The plot, and whether it has lines of a fleet. */
  #plot: { series: Series; fleet: boolean } | null = null;
  /** The value of a line that exceeds the plot. */
  readonly #peak = document.createElement("span");
  readonly #changed: () => void;
  readonly #parts;
  #moment: Moment | null = null;
  /** The last report with an API, which may have ended since. */
  #heard: Moment | null = null;
  /** The server's count of other callers when the page was opened, less the counts of earlier servers. */
  #before = 0;
  /** When the API began, by the reader's clock; and whether the page was hidden since its last report. */
  #since = Infinity;
  #lost = false;
  readonly #opened = performance.now();

  constructor(readonly host: HTMLElement) {
    host.innerHTML = FRAME;
    this.#parts = {
      about: part(host, ".about"), form: part<HTMLFormElement>(host, "form"), play: part<HTMLButtonElement>(host, ".play"),
      workers: part<HTMLInputElement>(host, "[name=workers]"), how: part<HTMLSelectElement>(host, "select"), caption: part(host, "figcaption"),
      body: part<HTMLTableElement>(host, ".callers").tBodies[0]!, mine: part(host, ".mine"), say: part(host, ".say"),
    };
    this.#peak.className = "peak";
    this.#changed = textTable(part(host, "details"), () => this.#plot?.series.table() ?? { head: [], rows: [] });
    const { form, play, workers } = this.#parts;
    form.addEventListener("submit", (event) => event.preventDefault());
    play.addEventListener("click", () => void (this.#workers.running ? this.#rest() : this.#call()));
    workers.addEventListener("input", () => { part(form, "output").textContent = workers.value; });
    form.addEventListener("change", () => void (this.#workers.running && this.#call()));
    this.#listen();
  }

  #listen(): void {
    this.#parts.about.textContent = "Waiting for the demo …";
    this.#turn();
    listen((moment) => this.#show(moment), () => this.#over());
  }

  async #call(): Promise<void> {
    const { workers, how, say } = this.#parts;
    say.textContent = "";
    try {
      await this.#workers.start(workers.valueAsNumber, how.value as How);
    } catch (error) {
      say.textContent = `Your workers cannot call: ${error instanceof Error ? error.message : String(error)}.`;
    }
    this.#turn();
  }

  #rest(): void {
    this.#workers.stop();
    const { lately: { sent, served, throttled }, since } = this.#workers;
    const time = (performance.now() - since) / 1000;
    this.#parts.say.textContent = `In ${seconds(time)} you made ${calls(sent)}: ${number(served, 6)} served, ${percent(throttled / Math.max(1, sent))} throttled.`;
    this.#turn();
  }

  #turn(): void {
    const { play } = this.#parts;
    play.textContent = this.#workers.running ? "Stop" : "Start calling";
    play.disabled = !this.#workers.running && !this.#moment?.api;
  }

  #show(moment: Moment): void {
    const at = (performance.now() - this.#opened) / 1000;
    const before = this.#moment;
    this.#moment = moment;
    this.#workers.url = moment.api?.url ?? null;
    if (!moment.api !== !before?.api) this.#turn();
    if (moment.api) {
      const last = this.#heard;
      if (!last) this.#before = moment.others.offered;
      // After a silence, a new server may have run longer than the old one; but it began later.
      const since = at - moment.now;
      const isLater = this.#lost && since > this.#since + 1;
      if (moment.api.url !== last?.api?.url || moment.now < last.now || isLater) {
        // A new server's count starts at zero.
        if (last) this.#before -= last.others.offered;
        this.#processes = moment.processes.map(() => new Rates(2));
        this.#since = since;
      }
      // A report can be late, but not early.
      this.#since = Math.min(this.#since, since);
      [this.#heard, this.#lost] = [moment, false];
    }
    const { counts } = this.#workers;
    const fleet = { served: 0, throttled: 0 };
    moment.processes.forEach((process, index) => {
      fleet.served += process.served;
      fleet.throttled += process.throttled;
      (this.#processes[index] ??= new Rates(2)).note(at, [process.offered, process.served], 0);
    });
    this.#record.note(at, [fleet.served, fleet.throttled, counts.sent, counts.served, counts.throttled], moment.allowed);
    this.#draw(at, moment.processes.length > 0);
    this.#say(moment);
  }

  /** The plot. Without a fleet it has no lines of one. */
  #draw(at: number, fleet: boolean): void {
    const { host } = this;
    if (!this.#plot || (fleet && !this.#plot.fleet)) {
      this.#plot?.series.destroy();
      const x = { label: "seconds", format: (value: number) => number(value, 4), min: 0, max: REACH };
      const y = { label: "calls/s", format: (value: number) => number(value), min: 0 };
      const series = new Series(part(host, ".plot"), x, y, fleet ? LINES : LINES.slice(FLEET), part(host, ".legend"));
      series.host.append(this.#peak);
      this.#plot = { series, fleet };
      this.#parts.caption.textContent = fleet
        ? "Calls a second over real sockets: the fleet’s and yours. No caller knows the limit or the other callers."
        : "Your calls a second over real sockets. The gate does not know the limit.";
    }
    const { series } = this.#plot;
    series.x.min = Math.max(0, at - REACH);
    series.x.max = Math.max(REACH, at);
    const [times, ...all] = this.#record.rows;
    const rows = this.#plot.fleet ? all : all.slice(FLEET);
    // A caller without a gate may exceed the plot, or all other lines would be flat.
    const allowed = Math.max(1, ...(all.at(-1) as number[]));
    const most = Math.max(allowed, ...(rows.flat() as number[]));
    series.y.max = Math.min(STEEP * allowed, 1.1 * most);
    this.#peak.textContent = most > series.y.max ? `up to ${number(most)} ↑` : "";
    series.set([times, ...rows]);
    this.#changed();
  }

  #say(moment: Moment): void {
    const { about, body, mine, how } = this.#parts;
    const { counts, lately, waits, pace, running } = this.#workers;
    const { run, processes } = moment;
    const fleet = run ? `The fleet: ${processes.length} processes with ${run.workers} workers each, law ${run.law}, ${number(Math.min(moment.now, run.seconds), 3)} of ${number(run.seconds)} s.` : "";
    about.textContent = moment.api ? `The API: ${moment.api.about}. ${fleet}` : `${fleet} Its run is over …`;
    const rows = processes.map((process, index) => {
      const [offered = 0, served = 0] = this.#processes[index]?.rates ?? [];
      return [`process ${index + 1}`, run?.law ?? "–", rate(offered), rate(served), share(process.throttled, process.offered), seconds(process.wait_ms / 1000)];
    });
    const [, , sent = 0, served = 0] = this.#record.rates;
    rows.push(["you", running ? how.value.replace("plain", "no gate") : "–", rate(sent), rate(served), share(lately.throttled, lately.sent), pace ? seconds(waits.last / 1000) : "–"]);
    fill(body, rows);
    [...body.rows].forEach((row, index) => row.classList.toggle("you", index === processes.length));
    const counted = number(moment.others.offered - this.#before, 6);
    const causes = Object.entries(waits.causes).filter(([, { times }]) => times > 0)
      .map(([cause, { times, ms }]) => `${number(times, 6)} ${times === 1 ? "time" : "times"} for ${CAUSES[cause as Cause]}${ms / times > 0.001 ? `, ${seconds(ms / times / 1000)} on average` : ""}`).join("; ");
    mine.textContent = counts.sent === 0 ? "" : `You sent ${calls(counts.sent)}; the server counted ${counted}. `
      + (causes && `Calls waited ${causes}. `) + (pace?.interval ? `Pacing: one call every ${seconds(pace.interval / 1000)}.` : "");
  }

  #over(): void {
    this.#workers.stop();
    this.#workers.url = null;
    [this.#moment, this.#lost] = [null, true];
    for (const record of [this.#record, ...this.#processes]) record.pause();
    this.#turn();
    const { about } = this.#parts;
    const again = document.createElement("button");
    [again.type, again.textContent] = ["button", "Look again"];
    again.addEventListener("click", () => this.#listen());
    about.innerHTML = "The connection to the demo has ended. <code>cargo xtask demo --keep</code> keeps the API and this page after the last law. ";
    about.append(again);
  }
}

/** An element of the frame. */
const part = <E extends HTMLElement>(host: HTMLElement, selector: string) => host.querySelector<E>(selector)!;
const rate = (value: number) => number(value, 3);
const share = (some: number, all: number) => (all > 0 ? percent(some / all) : "–");

/** Fills a table and touches only cells that change. */
function fill(body: HTMLTableSectionElement, rows: string[][]): void {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((texts, index) => {
    const row = body.rows[index] ?? body.insertRow();
    texts.forEach((text, column) => {
      let cell = row.cells[column];
      if (!cell) {
        cell = document.createElement(column ? "td" : "th");
        if (!column) cell.scope = "row";
        row.append(cell);
      }
      if (cell.textContent !== text) cell.textContent = text;
    });
  });
}
