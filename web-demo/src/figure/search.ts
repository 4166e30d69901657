/** The figure: plays a story, and lets the reader choose the client, move the limit and add other clients. */

import { textTable } from "../plot/table";
import { onTheme } from "../plot/theme";
import { Canvas } from "./canvas";
import { NAMES, notes, type View } from "./picture";
import { long, percent, short } from "./scores";
import { DEFAULT, LAWS, SECOND, SHARED, SPAN, Story, type Exports } from "./story";

/** The lowest limit that the handle reaches, and the steps of its keys, in calls per second. Below it, a law needs minutes to find a higher limit. */
const LEAST = 50;
const KEYS: Record<string, number> = { ArrowUp: 5, ArrowRight: 5, ArrowDown: -5, ArrowLeft: -5, PageUp: 25, PageDown: -25 };
/** How fast time passes when the limit can be moved: bins in a second of the reader's time. */
const PACE = 4 * SECOND;
/** How long the tour stays at each client, and how long the reader's choice takes, in seconds. */
const TOUR = [1.7, 1.7, 1.7, 8];
const CHOICE = [3.5, 3.5, 3.5, 8];
/** How long the end of a step stays in the tour, s. */
const REST = 0.6;
/** The longest time that passes in a frame, s. On a slow processor, time is slower and not the frames. */
const LONGEST = 0.05;
/** How often words and numbers are written while the figure plays, ms. */
const WRITES = 200;
/** How long the present runs without the reader, ms. */
const PATIENCE = 600_000;

/** Writes a text only if it differs, so that a screen reader does not lose its place. */
const put = (element: Element, html: string) => { if (element.innerHTML !== html) element.innerHTML = html; };
/** The same for an attribute. */
const set = (element: Element, name: string, value: string) => { if (element.getAttribute(name) !== value) element.setAttribute(name, value); };

/**
 * `tour` shows one client after another, and `show` one of them, in a run that is already decided.
 * `live` is the present: the world goes on, and the limit moves.
 */
type Mode = "tour" | "show" | "live";

export class Search {
  readonly #steps: HTMLButtonElement[];
  readonly #plot: HTMLElement;
  readonly #canvas: Canvas; // the lines
  readonly #moving: [HTMLElement, HTMLElement];
  readonly #handle: HTMLElement;
  readonly #others: HTMLInputElement;
  readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
  readonly #fill: () => void;
  #story: Story;
  #mode: Mode = "tour";
  #step = 0;
  #playing = true;
  /** How much is shown, in bins, and how long the tour has rested at the end of a step, s. */
  #now = 0;
  #rested = 0;
  #seen = new Set<number>();
  #top = 260;
  #last = performance.now();
  /** The size of the plot in pixels. */
  #size = { wide: 0, tall: 0 };
  /** The words of the plot, when they and the numbers were last written, and when the figure was last described, ms. */
  #notes: string[] = [];
  #written = 0;
  #named = 0;
  /** When the reader last did something, ms. */
  #touched = 0;
  #inView = true;
  #asked = false;
  /** Whether the words and numbers must be written in the next frame. */
  #stale = true;

  constructor(readonly host: HTMLElement, readonly exports: Exports, readonly failed: (error: unknown) => void) {
    const find = <E extends Element>(selector: string) => host.querySelector<E>(selector)!;
    this.#steps = [...host.querySelectorAll<HTMLButtonElement>(".step")];
    this.#plot = find(".plot");
    const moving = Object.assign(document.createElement("div"), { className: "moving" });
    this.#moving = [moving, find(".moving")];
    find(".lines").replaceChildren(moving);
    this.#canvas = new Canvas(moving);
    this.#handle = find("[role=slider]");
    this.#others = find("#others");
    this.#story = this.#tell();
    this.#fill = textTable(document.querySelector<HTMLDetailsElement>("details.caption")!, () => this.#table());
    this.#steps.forEach((button, step) => button.addEventListener("click", () => this.#choose(step)));
    find("#play").addEventListener("click", () => { this.#playing = !this.#playing; this.#ask(); });
    find("#again").addEventListener("click", () => this.#begin());
    this.#others.addEventListener("input", () => { this.#seen.clear(); this.#step = LAWS.length - 1; this.#begin(); });
    this.#drags(find(".pic"));
    for (const name of ["click", "keydown", "pointermove"]) addEventListener(name, () => { this.#touched = performance.now(); });
    new ResizeObserver((entries) => {
      const { width: wide, height: tall } = entries.at(-1)!.contentRect;
      this.#size = { wide, tall };
      this.#ask();
    }).observe(this.#plot);
    new IntersectionObserver((entries) => { this.#inView = entries.at(-1)!.isIntersecting; this.#ask(); }).observe(host);
    for (const control of host.querySelectorAll<HTMLButtonElement | HTMLInputElement>(".controls :disabled")) control.disabled = false;
    this.#handle.tabIndex = 0;
    this.#handle.removeAttribute("aria-disabled");
    onTheme(() => this.#ask());
    if (this.#still.matches) this.#end();
    this.#enter(this.#still.matches ? 3 : 0);
  }

  get #most(): number {
    return this.#shared ? 120 : 220;
  }

  get #shared(): boolean {
    return this.#story.clients > 1;
  }

  /** A new story. */
  #tell(): Story {
    const clients = 1 + Number(this.#others.value);
    const { seed, limits } = clients > 1 ? SHARED : DEFAULT;
    return new Story(this.exports, clients, seed, limits);
  }

  /** Shows the same client again, from the start. */
  #begin(): void {
    this.#story = this.#tell();
    this.#mode = "show";
    [this.#now, this.#playing] = [0, true];
    if (this.#still.matches) this.#end();
    this.#enter(this.#step);
  }

  /** Shows the decided run to its end, and goes on from there. */
  #end(): void {
    this.#story.run(SPAN);
    [this.#mode, this.#now] = ["live", this.#story.bins];
    if (!this.#shared) for (const step of LAWS.keys()) this.#seen.add(step);
    [this.#playing, this.#stale] = [!this.#still.matches, true];
  }

  #choose(step: number): void {
    // The tour is not announced.
    this.host.querySelector("#tell")!.ariaLive = "polite";
    if (this.#mode !== "live") [this.#mode, this.#now, this.#playing] = ["show", 0, true];
    this.#enter(step);
  }

  #enter(step: number): void {
    this.#step = step;
    this.#seen.add(step);
    this.#rested = 0;
    this.#steps.forEach((button, index) => button.setAttribute("aria-pressed", String(index === step)));
    const { tell, shared } = this.#steps[step]!.dataset;
    this.host.querySelector("#tell")!.textContent = (this.#shared && shared) || tell!;
    this.#ask();
  }

  /** Moves the limit, at the present. */
  #move(perSecond: number): void {
    const limit = 5 * Math.round(Math.max(LEAST, Math.min(this.#most, perSecond)) / 5);
    if (this.#mode !== "live") this.#end();
    this.host.dataset.moved = "";
    this.#story.move(limit);
    if (!this.#still.matches) this.#playing = true;
    this.#ask();
  }

  /** With reduced motion, a move shows its consequences at once. */
  #moved(): void {
    if (!this.#still.matches) return;
    this.#story.run(this.#story.bins + 10 * SECOND);
    this.#now = this.#story.bins;
    this.#ask();
  }

  #drags(picture: HTMLElement): void {
    const handle = this.#handle;
    const at = ({ clientY }: PointerEvent) => {
      const { bottom, height } = this.#plot.getBoundingClientRect();
      return (bottom - clientY) / height * this.#top;
    };
    const isNear = (event: PointerEvent) => Math.abs(at(event) - this.#story.limitAt(Math.floor(this.#now))) < this.#top * 0.04;
    let held: number | undefined;
    const hold = (event: PointerEvent) => {
      if (event.button) return;
      held = event.pointerId;
      picture.setPointerCapture(held);
      handle.focus({ preventScroll: true });
      this.#move(at(event));
      event.preventDefault();
    };
    handle.addEventListener("pointerdown", hold);
    // With a mouse, the surface can be held too. A finger scrolls there.
    this.#plot.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && isNear(event)) hold(event); });
    picture.addEventListener("pointermove", (event) => {
      this.#plot.style.cursor = isNear(event) ? "ns-resize" : "";
      if (held === event.pointerId && event.buttons) this.#move(at(event));
    });
    for (const name of ["pointerup", "pointercancel"] as const) {
      picture.addEventListener(name, (event) => {
        if (held !== event.pointerId) return;
        held = undefined;
        this.#moved();
      });
    }
    handle.addEventListener("keydown", (event) => {
      const edge = { Home: LEAST, End: this.#most }[event.key];
      const by = KEYS[event.key];
      if (edge === undefined && by === undefined) return;
      event.preventDefault();
      const shown = this.#story.limitAt(Math.floor(this.#now));
      if (this.#mode !== "live") this.#end();
      this.#move(edge ?? shown + by!);
      this.#moved();
    });
  }

  /** Draws and writes soon, because something has changed. */
  #ask(): void {
    this.#stale = true;
    this.#next();
  }

  #next(): void {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame((time) => {
      try {
        this.#asked = false;
        this.#frame(time);
      } catch (error) {
        this.#playing = false;
        this.failed(error);
      }
    });
  }

  #frame(time: number): void {
    const passed = Math.max(0, Math.min(LONGEST, (time - this.#last) / 1000));
    this.#last = time;
    if (this.#mode === "live" && time - this.#touched > PATIENCE) [this.#playing, this.#stale] = [false, true];
    if (this.#playing && this.#inView) this.#pass(passed);
    const top = this.#shared ? 130 : 260;
    this.#top += (top - this.#top) * (this.#still.matches ? 1 : Math.min(1, passed * 8));
    if (Math.abs(top - this.#top) < 0.5) this.#top = top;
    this.#draw();
    if ((this.#playing && this.#inView) || this.#top !== top) this.#next();
  }

  #pass(seconds: number): void {
    const story = this.#story;
    if (this.#mode === "live") {
      this.#now += seconds * PACE;
      story.run(Math.floor(this.#now));
      return;
    }
    const takes = (this.#mode === "tour" ? TOUR : CHOICE)[this.#step]!;
    this.#now = Math.min(SPAN, this.#now + seconds / takes * SPAN);
    story.run(Math.floor(this.#now));
    if (this.#now < SPAN) return;
    this.#rested += seconds;
    if (this.#mode === "show" || this.#step === LAWS.length - 1) return this.#end();
    if (this.#rested < REST) return;
    this.#now = 0;
    this.#enter(this.#step + 1);
  }

  #draw(): void {
    const [story, step, now, top] = [this.#story, this.#step, this.#now, this.#top];
    if (!this.#size.wide || !this.#size.tall) return;
    const view = { story, step, now, ghosts: [...this.#seen].filter((other) => other !== step), top, ...this.#size };
    const [moved, limit] = [this.#canvas.draw(view), story.limitAt(Math.floor(now))];
    set(this.#handle.parentElement!, "style", `--limit: ${limit / top}`);
    if (this.#stale || this.#last - this.#written >= WRITES) this.#write(view, limit);
    for (const { style } of this.#moving) style.transform = `translateX(${-moved}px)`;
  }

  /** Writes words and numbers. Layout takes longer than the lines. */
  #write(view: View, limit: number): void {
    [this.#stale, this.#written] = [false, this.#last];
    const { story, step, now } = view;
    const bin = Math.floor(now);
    const words = notes(view);
    this.#plot.querySelectorAll(":scope > svg, .moving > svg").forEach((layer, index) => { if (words[index] !== this.#notes[index]) layer.innerHTML = words[index]!; });
    this.#notes = words;
    put(this.#handle.querySelector("b")!, `${limit}/s`);
    for (const [name, value] of Object.entries({ valuenow: limit, valuemax: this.#most, valuetext: `${limit} calls per second` })) {
      set(this.#handle, `aria-${name}`, String(value));
    }
    this.#steps.forEach((button, other) => {
      // In the tour, those that have been seen keep the numbers of the whole run.
      const score = story.score(other, other === step ? bin : story.bins);
      put(button.querySelector(".score")!, this.#seen.has(other) ? short(score) : "");
    });
    put(this.host.querySelector(".nums")!, this.#numbers(bin));
    put(this.host.querySelector("#play")!, this.#playing ? "Pause" : "Play");
    put(this.host.querySelector("#others + output")!, this.#others.value);
    set(this.host, "data-mode", this.#mode);
    if (!this.#playing || this.#last - this.#named >= 1000) {
      this.#named = this.#last;
      this.#plot.closest("figure")!.ariaLabel = this.#says(bin);
    }
    this.#fill();
  }

  #numbers(bin: number): string {
    if (!this.#shared) return long(this.#story.score(this.#step, bin));
    const from = Math.max(0, bin - 10 * SECOND);
    const rates = this.#story.tracks[this.#step]!.sent.map((calls, client) => {
      const bad = this.#story.tracks[this.#step]!.rejected[client]!;
      let served = 0;
      for (let at = from; at < bin; at++) served += calls[at]! - bad[at]!;
      return Math.round(served / Math.max(1, bin - from) * SECOND);
    });
    return `you <b>${rates[0]}/s</b>, others ${rates.slice(1).join(", ")}: <b>${rates.reduce((sum, rate) => sum + rate)}/s</b> together`;
  }

  #says(bin: number): string {
    const { wasted, used } = this.#story.score(this.#step, bin);
    const limit = this.#story.limitAt(bin);
    return `${NAMES[this.#step]}, after ${Math.round(bin / SECOND)} seconds: ${wasted} calls wasted, ${percent(used)} of the limit used. The limit is ${limit} calls per second.`;
  }

  /** The picture as text: what happened in every five seconds. */
  #table() {
    const { tracks, limit, clients } = this.#story;
    const { sent, rejected } = tracks[this.#step]!;
    const rows: number[][] = [];
    for (let from = Math.max(0, Math.floor(this.#now / 50) * 50 - SPAN); from + 50 <= this.#now; from += 50) {
      const sum = (calls: number[]) => calls.slice(from, from + 50).reduce((total, count) => total + count, 0) / 5;
      rows.push([from / SECOND, limit[from]!, ...Array.from({ length: clients }, (_, client) => [sum(sent[client]!), sum(rejected[client]!)]).flat()]);
    }
    const heads = Array.from({ length: clients }, (_, client) => [`${client ? `client ${client + 1}` : "you"}: sent/s`, "rejected/s"]).flat();
    return { head: ["from, s", "limit/s", ...heads], rows };
  }
}
