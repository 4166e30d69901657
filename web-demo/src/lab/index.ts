/** The laboratory: a state and its views. The state is passed down; change requests are passed up. */

import "../shell";
import "./lab.css";

import { engine, type Engine, type EngineError } from "../engine";
import { fail, join, leave, noSteps, scale } from "./changes";
import { controls } from "./controls";
import { fresh, h, say } from "./dom";
import { reason, type Field } from "./fields";
import type { Lane } from "./lane";
import { NO_GATE } from "./laws";
import * as link from "./link";
import { APIS, EXAMPLES, PRESETS, parsed, preset } from "./presets";
import { Race } from "./race";
import { Spread } from "./spread";
import { MOST_LAWS, USUAL, type Scenario, type State } from "./state";
import { Figures } from "./table";
import { Take } from "./take";
import { Transport } from "./transport";
import { Fault, SECOND, spoken, time } from "./units";
import { Card, heading, scaleOf } from "./view";
import { title } from "./words";

const still = matchMedia("(prefers-reduced-motion: reduce)");

class Laboratory {
  #state = USUAL;
  #cards: Card[] = [];
  #turn = 0;
  #rested = 0; // when the next card may be drawn
  #compared = ""; // the scenarios, laws and seed that run
  #entered = ""; // the same, when the address was last written
  #field: Element | null = null; // the field that the last change is of
  #edited: Element | null = null; // the field whose change made the last entry of the history
  #query = location.search; // the state that the address has
  #timer = 0;
  #laws: string[] = [];
  #controls: Field | null = null;
  readonly #race: Race;
  readonly #figures = new Figures();
  readonly #transport: Transport;
  readonly #take: Take;
  readonly #spread = new Spread(() => this.#state);
  readonly #notice = h("p", { class: "notice", role: "status" });
  readonly #tooLong = h("p", { class: "fault", role: "status" });
  readonly #fault = h("p", { class: "fault", role: "alert" });
  readonly #apis = h("div", { class: "presets", role: "group", "aria-label": "APIs" });
  readonly #examples = h("select", { id: fresh() });
  readonly #hint = h("p", { class: "hint" });
  readonly #words = h("h2", { class: "words" });
  readonly #lanes = h("div", { class: "lanes" });
  readonly #side = h("div", { class: "side" });
  readonly #law = h("select", { id: fresh() });
  readonly #add = h("button", { type: "button", onclick: () => this.#change((state) => ({ ...state, laws: [...state.laws, this.#law.value] })) }, "Add");
  readonly #steps: HTMLButtonElement[];
  readonly #instants: HTMLButtonElement[];

  constructor(readonly host: HTMLElement, readonly engine: Engine) {
    addEventListener("popstate", () => void this.#return());
    this.#race = new Race(engine, {
      lanes: (lanes) => this.#show(lanes),
      moved: () => this.#paint(),
      measured: () => this.#measured(),
      rests: () => this.#rests(),
      rejected: (error) => this.#rejected(error),
    });
    this.#transport = new Transport({
      play: () => this.#toggle(),
      step: () => this.#race.step(),
      finish: () => this.#race.finish(),
      restart: () => this.#restart(),
      speed: (speed) => this.#set({ ...this.#state, speed }),
    });
    const address = async () => `${location.origin}${location.pathname}${await link.write(this.#state, engine)}`;
    this.#take = new Take(() => ({ state: this.#state, lanes: this.#race.lanes }), address, (text) => this.#bring(text));
    const instant = (label: string, edit: (scenario: Scenario) => Scenario) =>
      h("button", { type: "button", onclick: () => this.#change((state) => ({ ...state, scenario: edit(state.scenario) })) }, label);
    const at = () => this.#race.at;
    this.#steps = [
      instant("halve the limit", (scenario) => scale(scenario, at(), 0.5)),
      instant("double the limit", (scenario) => scale(scenario, at(), 2)),
    ];
    this.#instants = [
      ...this.#steps,
      instant("outage", (scenario) => fail(scenario, at(), Math.max(1_000, Math.round(time(scenario.end) / 20 / 1_000) * 1_000))),
      instant("double the clients", (scenario) => join(scenario, at())),
      instant("halve the clients", (scenario) => leave(scenario, at())),
    ];
    this.#apis.append(...APIS.map(({ name, title }) => h("button", { type: "button", "data-preset": name, onclick: () => void this.#try(name) }, title)));
    this.#examples.append(h("option", { value: "", disabled: true }, "choose …"), ...EXAMPLES.map(({ name, title }) => h("option", { value: name }, title)));
    this.#examples.addEventListener("change", () => void this.#try(this.#examples.value));
    this.host.replaceChildren(
      h("div", { class: "try" }, h("span", {}, "Model an API:"), this.#apis, h("span", {}, h("label", { for: this.#examples.id }, "or an example:"), this.#examples)),
      this.#hint, this.#notice,
      h("div", { class: "bench" }, this.#side,
        h("div", { class: "stage" },
          this.#words, this.#transport.element,
          h("div", { class: "now", role: "group", "aria-label": "While it runs" }, h("span", {}, "Now:"), ...this.#instants),
          this.#fault, this.#tooLong, this.#lanes,
          h("div", { class: "add-law" }, h("label", { for: this.#law.id }, "Another law: "), this.#law, this.#add),
          this.#figures.element, this.#spread.element, this.#take.element)));
  }

  async start(): Promise<void> {
    const laws = this.#laws = [...await this.engine.laws(), "adaptive+vegas", NO_GATE];
    this.#controls = controls((edit) => this.#change(edit, 150), laws.filter((law) => law !== NO_GATE));
    this.#side.append(this.#controls.element);
    this.#state = await this.#read();
    this.#race.play(this.#state.at === null && !still.matches);
    this.#sync();
    this.#entered = this.#compared;
    await this.#race.show(this.#state, this.#state.at !== null ? this.#state.at / SECOND : still.matches ? Infinity : 0);
  }

  /** The state of the address. If there is none, says why and returns the default state. */
  async #read(): Promise<State> {
    say(this.#notice, "");
    try {
      const state = await link.read(location.search, this.engine);
      const known = [...this.#laws, ...Object.keys(state.scenario.laws ?? {})];
      const unknown = state.laws.filter((law) => !known.includes(law) && !isPair(law, this.#laws));
      if (!unknown.length) return state;
      say(this.#notice, `The link names unknown laws: ${unknown.join(", ")}.`);
      const rest = state.laws.filter((law) => !unknown.includes(law));
      return { ...state, laws: rest.length ? rest : USUAL.laws };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      say(this.#notice, `The link cannot be used: ${error.message}. This is the default state.`);
      return USUAL;
    }
  }

  /** Applies a change that the reader requested: at once, or after this many ms without another. */
  #change(edit: (state: State) => State, patience = 0): void {
    try {
      const next = edit(this.#state);
      if (next.laws.length === 0 || next.laws.length > MOST_LAWS) throw new Fault(`one to ${MOST_LAWS} laws can run side by side`);
      const base = next.scenario === this.#state.scenario ? next.base : "";
      this.#field = patience > 0 ? document.activeElement : null;
      this.#set({ ...next, base, laws: [...new Set(next.laws)] }, patience);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      say(this.#fault, `${error.message}.`);
    }
  }

  #drop(law: string): void {
    this.#change((state) => ({ ...state, laws: state.laws.filter((other) => other !== law) }));
  }

  #set(state: State, patience = 0): void {
    this.#state = state;
    this.#sync();
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      void this.#remember();
      void this.#race.show(this.#state);
    }, patience);
  }

  /** The reader has moved in the history. */
  async #return(): Promise<void> {
    clearTimeout(this.#timer);
    if (location.search === this.#query) return;
    const query = this.#query = location.search;
    const before = this.#state;
    const state = await this.#read();
    // The reader may have moved on, or changed something, by now.
    if (location.search !== query || this.#state !== before) return;
    this.#state = state;
    this.#sync();
    [this.#entered, this.#edited] = [this.#compared, null];
    void this.#race.show(state, state.at !== null ? state.at / SECOND : null);
  }

  /**
   * Writes the state into the address. Another run adds a history entry, so that Back undoes it;
   * several changes of one field in a row add one.
   */
  async #remember(): Promise<void> {
    const state = this.#state;
    const field = this.#field;
    try {
      const query = await link.write(state, this.engine);
      // A later state is written by its own change.
      if (state !== this.#state) return;
      const same = this.#entered === this.#compared || (field !== null && field === this.#edited);
      if (query !== location.search) history[same ? "replaceState" : "pushState"](null, "", query);
      if (this.#entered !== this.#compared) this.#edited = field;
      [this.#query, this.#entered] = [location.search, this.#compared];
      say(this.#tooLong, "");
    } catch (error) {
      // The engine's rejections are shown by the race.
      if (error instanceof Fault) say(this.#tooLong, `The address is that of an earlier state: ${error.message}.`);
    }
  }

  async #try(name: string): Promise<void> {
    const state = await preset(name, this.engine);
    say(this.#notice, "");
    this.#begin(state);
  }

  /** Runs a scenario file with its own laws, and with those that run now if it has them. Throws a [`Fault`] if it is not one. */
  async #bring(text: string): Promise<void> {
    const scenario = await parsed(text, this.engine);
    const own = Object.keys(scenario.laws ?? {});
    const odd = own.find((law) => law.includes(",") || law === NO_GATE);
    if (odd !== undefined) throw new Fault(`the laboratory cannot run a law named "${odd.slice(0, 40)}": rename it in [laws]`);
    const known = this.#state.laws.filter((law) => this.#laws.includes(law) || isPair(law, this.#laws));
    const laws = [...new Set([...own, ...known])].slice(0, MOST_LAWS);
    this.#begin({ ...this.#state, base: "", scenario, laws: laws.length ? laws : USUAL.laws, at: null });
  }

  /** Runs another state from the start. */
  #begin(state: State): void {
    this.#race.play(!still.matches);
    void this.#race.show(state, still.matches ? Infinity : 0);
    this.#field = null;
    this.#set(state);
  }

  #restart(): void {
    this.#race.play(true);
    void this.#race.show(this.#state, 0);
    this.#set({ ...this.#state, at: null });
  }

  #toggle(): void {
    if (this.#race.over) return this.#restart();
    this.#race.play(!this.#race.playing);
    if (this.#race.playing) this.#set({ ...this.#state, at: null });
  }

  /** Called when the race pauses. If the reader paused it, the address says so. */
  #rests(): void {
    this.#paint();
    const { playing, over, at } = this.#race;
    const now = playing || over ? null : at;
    if (now === this.#state.at) return;
    this.#state = { ...this.#state, at: now };
    void this.#remember();
  }

  #sync(): void {
    const { scenario, base, laws, seed } = this.#state;
    this.#controls?.sync(this.#state);
    this.#transport.sync(this.#state);
    for (const button of this.#apis.querySelectorAll<HTMLElement>("button")) button.setAttribute("aria-pressed", String(button.dataset.preset === base));
    this.#examples.value = EXAMPLES.some(({ name }) => name === base) ? base : "";
    say(this.#hint, PRESETS.find(({ name }) => name === base)?.hint ?? "");
    say(this.#words, (scenario.title || title(scenario)).slice(0, 300));
    this.#offer([...this.#laws, ...Object.keys(scenario.laws ?? {})].filter((law) => !laws.includes(law)));
    this.#add.disabled = laws.length >= MOST_LAWS;
    const why = noSteps(scenario.server);
    for (const button of this.#steps) button.title = why ?? "";
    // Position and speed do not make another run.
    const key = JSON.stringify([scenario, laws, seed]);
    if (key !== this.#compared) this.#spread.clear();
    this.#compared = key;
    void this.#export();
  }

  /** Shows the state's file; an invalid state has none. */
  async #export(): Promise<void> {
    const state = this.#state;
    const { scenario } = state;
    const file = await this.engine.print({ ...scenario, title: scenario.title || title(scenario) }).catch(() => "");
    if (state === this.#state) this.#take.sync(state, file);
  }

  /** Offers the laws that do not run yet. */
  #offer(laws: string[]): void {
    if (this.#law.dataset.laws === laws.join()) return;
    const before = this.#law.value || "aimd";
    this.#law.dataset.laws = laws.join();
    this.#law.replaceChildren(...laws.map((law) => h("option", {}, law)));
    if (laws.includes(before)) this.#law.value = before;
  }

  /** A law's card. Its button captures only the law, so that it keeps nothing else alive. */
  #card = (lane: Lane, index: number, { law } = lane): Card => new Card(lane, index, () => this.#drop(law));

  #show(lanes: Lane[]): void {
    const old = new Map(this.#cards.map((card, index) => [card.lane, [card, index] as const]));
    const open = this.#cards.filter((card) => card.open).map((card) => card.lane.law);
    const focused = [...this.#lanes.children].findIndex((child) => child.contains(document.activeElement));
    const cards = lanes.map((lane, index) => {
      const known = old.get(lane);
      if (known && known[1] === index) { old.delete(lane); return known[0]; }
      const card = this.#card(lane, index);
      card.open = open.includes(lane.law);
      return card;
    });
    for (const [card] of old.values()) card.destroy();
    this.#cards = cards;
    this.#lanes.dataset.count = String(cards.length);
    // Elements that stay are not removed and inserted again: that would lose the focus.
    const elements = cards.map((card) => card.element);
    const { children } = this.#lanes;
    for (const child of Array.from(children)) if (!elements.includes(child as HTMLElement)) child.remove();
    elements.forEach((element, index) => { if (children[index] !== element) this.#lanes.insertBefore(element, children[index] ?? null); });
    if (focused >= 0 && !this.#lanes.contains(document.activeElement)) cards[Math.min(focused, cards.length - 1)]?.focus();
    const scale = scaleOf(lanes, this.#race.end);
    for (const card of cards) card.paint(scale);
    this.#measured();
  }

  /** Draws one card per frame, in turn, in at most a quarter of the time, so that a slow machine still responds. */
  #paint(): void {
    const { now, end, over, playing, reached, behind } = this.#race;
    this.#transport.show({ now, end, over, playing, reached: behind ? 0 : reached, behind }, this.#state);
    const scale = scaleOf(this.#race.lanes, end);
    const all = over || (!playing && !behind);
    if (all) this.#cards.forEach((card) => card.paint(scale));
    else if (performance.now() >= this.#rested) {
      const [seen, begin] = [this.#cards.filter((card) => card.seen), performance.now()];
      seen[this.#turn++ % Math.max(1, seen.length)]?.paint(scale);
      this.#rested = begin + 4 * (performance.now() - begin);
    }
    for (const button of this.#instants) button.disabled = over || (this.#steps.includes(button) && noSteps(this.#state.scenario.server) !== null);
    this.host.dataset.state = behind ? "catches-up" : over ? "over" : playing ? "runs" : "rests";
  }

  #measured(): void {
    for (const card of this.#cards) card.measured();
    const { now, over, lanes } = this.#race;
    this.#figures.show(lanes, over ? "Figures of the whole run" : `Figures so far, after ${spoken(Math.round(now * SECOND))}`);
  }

  #rejected(error: EngineError | null): void {
    const before = this.#race.lanes.length ? " The plots show the previous run." : "";
    // If nothing runs yet, one of the laws may have been rejected.
    if (error && !before) this.#lanes.replaceChildren(...this.#state.laws.map((law) => h("article", { class: "lane" }, heading(law, null, () => this.#drop(law)))));
    say(this.#fault, error ? `${error.message.replace(/^the scenario, line \d+: /, "")}.${before}` : "");
  }
}

/** Whether a law is a pair of these laws, as `ONE+OTHER`. */
function isPair(law: string, laws: string[]): boolean {
  const halves = law.split("+");
  return halves.length === 2 && halves.every((half) => laws.includes(half));
}

const host = document.getElementById("lab")!;

/** Starts the laboratory. If its engine cannot be loaded, says so and offers to try again. */
async function start(): Promise<void> {
  try {
    await new Laboratory(host, await engine()).start();
  } catch (error) {
    host.replaceChildren(h("p", { class: "fault", role: "alert" }, `The laboratory cannot run here: ${reason(error)}. `,
      h("button", { type: "button", onclick: () => void start() }, "Try again")));
  }
}

void start();
