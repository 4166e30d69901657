/** The laboratory: a state and its views. The state is passed down; change requests are passed up. */

import "./lab.css";
import { parse } from "smol-toml";

import { address, said } from "../address";
import { engine, type EngineError } from "../engine";
import { fail, join, leave, noSteps, scale } from "./changes";
import { controls } from "./controls";
import { fresh, h, say } from "./dom";
import { reason, type Field } from "./fields";
import type { Lane } from "./lane";
import { NO_GATE } from "./laws";
import * as link from "./link";
import { model, modelOf } from "./models";
import { PRESETS, preset } from "./presets";
import { Race } from "./race";
import { Spread } from "./spread";
import { MOST_LAWS, checked, type Scenario, type State } from "./state";
import { Figures } from "./table";
import { Take } from "./take";
import { Transport } from "./transport";
import { Fault, SECOND, spoken, time } from "./units";
import { Card, heading, scaleOf } from "./view";
import { title } from "./words";

/** The laboratory's key in the address. */
const KEY = "lab";

const still = matchMedia("(prefers-reduced-motion: reduce)");

export function mount(host: HTMLElement): void {
  void new Laboratory(host).start();
}

class Laboratory {
  #state = preset("")!;
  #cards: Card[] = [];
  #turn = 0;
  #rested = 0; // when the next card may be drawn
  #compared = ""; // the scenarios, laws and seed that run
  #entered = ""; // the same, when the address was last written
  #value = said(KEY); // the address's value for the state
  #timer = 0;
  #laws: string[] = [];
  #controls: Field | null = null;
  readonly #race: Race;
  readonly #figures = new Figures();
  readonly #transport: Transport;
  readonly #take: Take;
  readonly #model: Field;
  readonly #spread = new Spread(() => this.#state);
  readonly #notices = h("div", { class: "notices", role: "status" });
  readonly #tooLong = h("p", { class: "fault too-long", role: "status" });
  readonly #fault = h("p", { class: "fault", role: "alert" });
  readonly #presets = h("div", { class: "presets", role: "group", "aria-label": "Examples" });
  readonly #hint = h("p", { class: "hint" });
  readonly #words = h("p", { class: "words" });
  readonly #lanes = h("div", { class: "lanes" });
  readonly #side = h("div", { class: "side" });
  readonly #add = h("select", { id: fresh() });
  readonly #now = h("div", { class: "now", role: "group", "aria-label": "While it runs" });
  readonly #steps: HTMLButtonElement[];
  readonly #instants: HTMLButtonElement[];

  constructor(readonly host: HTMLElement) {
    this.#model = model((edit) => this.#change(edit, 150));
    addEventListener("popstate", () => void this.#return());
    this.#race = new Race({
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
      restart: () => { this.#race.play(true); void this.#race.show(this.#state, 0); this.#set({ ...this.#state, at: null }); },
      speed: (speed) => this.#set({ ...this.#state, speed }),
    });
    this.#take = new Take(() => ({ state: this.#state, race: this.#race, cards: this.#cards }), () => link.write(this.#state).then((value) => this.#address(value)), (text) => this.#bring(text));
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
    this.#now.append(h("span", {}, "Now:"), ...this.#instants);
  }

  async start(): Promise<void> {
    this.#presets.append(...PRESETS.map(({ name, title }) =>
      h("button", { type: "button", "data-preset": name, onclick: () => this.#try(name) }, title)));
    const add = h("div", { class: "add-law" }, h("label", { for: this.#add.id }, "Add a law "), this.#add,
      h("button", { type: "button", onclick: () => this.#change((state) => ({ ...state, laws: [...state.laws, this.#add.value] })) }, "Add"));
    this.host.classList.add("lab");
    this.host.replaceChildren(
      this.#model.element, this.#spread.element,
      h("div", { class: "try" }, h("h3", {}, "Or try an example"), this.#presets, this.#hint),
      this.#notices,
      h("div", { class: "bench" },
        this.#side,
        h("div", { class: "stage" },
          this.#words, this.#transport.element, this.#now, this.#fault, this.#tooLong, this.#lanes, add, this.#figures.element, this.#take.element)));
    new IntersectionObserver((entries) => this.#race.visible(entries.at(-1)?.isIntersecting ?? true)).observe(this.host);
    this.#lanes.dataset.count = String(this.#state.laws.length);
    this.#lanes.append(...this.#state.laws.map(() => h("article", { class: "lane" })));
    this.#figures.expect(this.#state.laws.length);
    this.#sync();
    this.#entered = this.#compared;
    const usual = this.#state;
    let laws: string[];
    try {
      laws = await (await engine()).laws();
    } catch (error) {
      say(this.#fault, `The laboratory cannot run here: ${reason(error)}.`);
      return;
    }
    laws.push("adaptive+vegas", NO_GATE);
    this.#laws = laws;
    const state = await this.#read();
    // The reader may have chosen another by now.
    if (this.#state === usual) this.#state = state;
    this.#race.play(this.#state.at === null && !still.matches);
    this.#controls = controls((edit) => this.#change(edit, 150), laws.filter((law) => law !== NO_GATE));
    this.#side.append(this.#controls.element);
    this.#sync();
    this.#entered = this.#compared;
    const { at } = this.#state;
    await this.#race.show(this.#state, at !== null ? at / SECOND : still.matches ? Infinity : 0);
  }

  /** The state of the address. If there is none, says why and returns the default state. */
  async #read(): Promise<State> {
    const value = said(KEY);
    const usual = preset("")!;
    this.#notices.replaceChildren();
    if (!value) return usual;
    const notice = (text: string) => this.#notices.append(h("p", {}, text));
    try {
      const state = await link.read(value, await engine());
      const known = [...this.#laws, ...Object.keys(state.scenario.laws ?? {})];
      const unknown = state.laws.filter((law) => !known.includes(law) && !isPair(law, this.#laws));
      if (!unknown.length) return state;
      notice(`The link names unknown laws: ${unknown.join(", ")}.`);
      const rest = state.laws.filter((law) => !unknown.includes(law));
      return { ...state, laws: rest.length ? rest : usual.laws };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      notice(`The link cannot be used: ${error.message}. This is the default state.`);
      return usual;
    }
  }

  /** Applies a change that the reader requested: at once, or after this many ms without another. */
  #change(edit: (state: State) => State, patience = 0): void {
    try {
      const next = edit(this.#state);
      checked(next.scenario);
      if (next.laws.length === 0 || next.laws.length > MOST_LAWS) throw new Fault(`one to ${MOST_LAWS} laws can run side by side`);
      this.#set({ ...next, laws: [...new Set(next.laws)] }, patience);
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
    if (said(KEY) === this.#value) return;
    const value = this.#value = said(KEY);
    const before = this.#state;
    const state = await this.#read();
    // The reader may have moved on, or changed something, by now.
    if (said(KEY) !== value || this.#state !== before) return;
    this.#state = state;
    this.#sync();
    this.#entered = this.#compared;
    void this.#race.show(state, state.at !== null ? state.at / SECOND : null);
  }

  #address(value: string): string {
    return address((key) => key === KEY, [[KEY, value]], this.host.id);
  }

  /** Writes the state into the address. Another run adds a history entry, so that Back undoes it. */
  async #remember(): Promise<void> {
    const state = this.#state;
    try {
      const value = await link.write(state);
      // A later state is written by its own change.
      if (state !== this.#state) return;
      this.#value = value;
      if (value !== said(KEY)) history[this.#entered === this.#compared ? "replaceState" : "pushState"](null, "", this.#address(value));
      this.#entered = this.#compared;
      say(this.#tooLong, "");
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      say(this.#tooLong, `The address is that of an earlier state: ${error.message}.`);
    }
  }

  #try(name: string): void {
    const state = preset(name)!;
    this.#notices.replaceChildren();
    this.#race.play(!still.matches);
    void this.#race.show(state, still.matches ? Infinity : 0);
    this.#set(state);
  }

  /** Runs a scenario file. Throws a [`Fault`] if it is not one. */
  async #bring(text: string): Promise<void> {
    await link.accepted(text, await engine());
    const scenario = checked(parse(text) as unknown as Scenario);
    this.#race.play(!still.matches);
    const state: State = { ...this.#state, base: "", scenario, at: null };
    void this.#race.show(state, still.matches ? Infinity : 0);
    this.#set(state);
  }

  #toggle(): void {
    if (this.#race.over) {
      this.#race.play(true);
      void this.#race.show(this.#state, 0);
      this.#set({ ...this.#state, at: null });
    } else if (this.#race.playing) {
      this.#race.play(false);
    } else {
      this.#race.play(true);
      this.#set({ ...this.#state, at: null });
    }
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
    const { scenario, base, laws } = this.#state;
    const isModel = modelOf(this.#state) !== undefined;
    this.#controls?.sync(this.#state);
    this.#transport.sync(this.#state);
    for (const button of this.#presets.querySelectorAll<HTMLElement>("button")) {
      button.setAttribute("aria-pressed", String(!isModel && button.dataset.preset === base));
    }
    say(this.#hint, isModel ? "" : PRESETS.find(({ name }) => name === base)?.hint ?? "");
    say(this.#words, (scenario.title || title(scenario)).slice(0, 300));
    this.#offer([...this.#laws, ...Object.keys(scenario.laws ?? {})].filter((law) => !laws.includes(law)));
    const why = noSteps(scenario.server);
    for (const button of this.#steps) button.title = why ?? "";
    (this.#add.nextElementSibling as HTMLButtonElement | null)?.toggleAttribute("disabled", laws.length >= MOST_LAWS);
    this.#take.sync(this.#state);
    this.#model.sync(this.#state);
    // Position and speed do not make another run.
    const key = JSON.stringify([scenario, laws, this.#state.seed]);
    if (key !== this.#compared) this.#spread.renew(isModel);
    this.#compared = key;
  }

  /** Offers the laws that do not run yet. */
  #offer(laws: string[]): void {
    if (this.#add.dataset.laws === laws.join()) return;
    const before = this.#add.value || "aimd";
    this.#add.dataset.laws = laws.join();
    this.#add.replaceChildren(...laws.map((law) => h("option", {}, law)));
    if (laws.includes(before)) this.#add.value = before;
  }

  /** A law's card. Its button captures only the law, so that it keeps nothing else alive. */
  #card(lane: Lane, index: number): Card {
    const { law } = lane;
    return new Card(lane, index, () => this.#drop(law));
  }

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
    for (const child of Array.from(this.#lanes.children)) if (!elements.some((element) => element === child)) child.remove();
    elements.forEach((element, index) => {
      const there = this.#lanes.children[index] ?? null;
      if (there !== element) this.#lanes.insertBefore(element, there);
    });
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
