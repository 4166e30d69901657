/**
 * Where a figure plays: it runs by itself while it is in view, rests while it is not, and shows
 * its end to readers who want no motion. The engine is asked for one piece of time at a time.
 */

import { engine, type Frame, type World, type WorldSpec } from "../engine";
import { together } from "../engine/together";
import { Bar } from "./bar";
import { Knobs } from "./knobs";
import { part } from "./part";

export type Metrics = Record<string, number | null>;

/** What a figure is, apart from how it is played. */
export interface Act {
  /** The worlds that it shows, side by side, for what the knobs say. */
  specs(knobs: Knobs): WorldSpec[];
  /** Of so many of the worlds it wants every step of every call. */
  steps?: number;
  /** Virtual seconds that pass in a second of the reader's, unless the reader wants another speed. */
  speed: number;
  /** Virtual seconds that the step button goes on by. */
  stride: number;
  /** Whether it ends when its work is done, at a time that is not known before. */
  open?: boolean;
  /** How far, in the reader's seconds, the engine runs ahead of what is shown. */
  lead?: number;
  /** A run begins, and nothing of it has been shown. */
  begin(worlds: World[], knobs: Knobs): void;
  /** A world has gone on. */
  take(frame: Frame, index: number): void;
  /** Shows the present; `speed` is 0 while the figure rests. */
  paint(now: number, speed: number): void;
  /** Shows the figures of each world, and returns a caption in which every sentence is true of them. */
  measure(metrics: Metrics[], knobs: Knobs, over: boolean): string;
  /** Adds a call of the visitor's at `at`; null removes them all. Only for figures that take such calls. */
  send?(at: number | null): void;
  /** Draws less where the machine is slow: 1, or 2, 4, 8 times less. */
  ease?(factor: number): void;
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Stage {
  readonly #knobs: Knobs;
  readonly #bar: Bar;
  readonly #say: HTMLElement;
  readonly #caption: HTMLElement;
  #worlds: World[] = [];
  #done: boolean[] = [];
  #run = 0; // tells answers for an earlier run
  #now = 0;
  #known = 0; // how far all worlds have gone
  #end = 0;
  #speed: number;
  #wanted = !still.matches; // whether the reader wants it to run
  #inView = false;
  #busy = false;
  #opened = false;
  #over = false;
  #beat = 0; // when the clock last ticked, in the reader's time; 0 while it rests
  #last = 0; // the latest moment that any world has told of
  #measured = 0;
  #frame = 16; // how long recent frames took, ms
  #ease = 1; // how many times less is drawn
  #eased = 0; // when that was last looked at
  #failed = false;
  #frames = 0;
  #timer = 0;
  #aim = 0; // where it was to go when it was opened
  #recalled: Promise<void> | null = null; // until the settings are those of the address

  constructor(readonly host: HTMLElement, readonly act: Act) {
    this.#speed = act.speed;
    this.#say = part(host, ".say");
    this.#caption = part(host, "figcaption");
    const more = part(host, ".more > .knobs");
    this.#bar = new Bar(part(host, ".bar"), more, act.speed, {
      play: () => this.#toggle(),
      step: () => this.#step(),
      restart: () => { this.#wanted = !still.matches || this.#wanted; void this.#open(0); },
      speed: (speed) => { this.#speed = speed; },
      share: (what) => void this.#share(what, part(more, "output")),
    });
    const { form } = this.#knobs = new Knobs(part(host, "form"));
    if (location.search.includes(host.id)) this.#recalled = this.#address("recall");
    form.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => void this.#again(), 150);
    });
    // A drag is one step back in the history, not fifty.
    form.addEventListener("change", () => void this.#address("remember"));
    addEventListener("popstate", () => void this.#address("recall"));
    if (act.send) {
      const send = () => void this.#send();
      part(host, ".send").addEventListener("click", send);
      for (const canvas of host.querySelectorAll("canvas")) canvas.addEventListener("click", send);
    }
    new IntersectionObserver((entries) => {
      this.#inView = entries.at(-1)?.isIntersecting ?? false;
      if (this.#inView && !this.#opened) void this.#open(still.matches ? Infinity : 0);
      this.#turn();
    }, { rootMargin: "0px", threshold: 0.05 }).observe(host);
    document.addEventListener("visibilitychange", () => this.#turn());
    still.addEventListener("change", () => { this.#wanted = !still.matches; this.#turn(); });
  }

  async #address(act: "recall" | "remember"): Promise<void> {
    const acts = await import("./link").catch(() => null);
    acts?.[act](this.host.id, this.#knobs.form);
  }

  async #share(what: string, done: HTMLElement): Promise<void> {
    done.textContent = await import("./share").then(({ share }) => share(what, this.host, this.#knobs.form))
      .catch((error: unknown) => `That did not work: ${String(error)}.`);
  }

  get #moves(): boolean {
    return this.#wanted && this.#inView && !document.hidden && !this.#over && this.#worlds.length > 0;
  }

  #toggle(): void {
    if (this.#over || this.#failed) {
      this.#wanted = true;
      void this.#open(0);
    } else {
      this.#wanted = !this.#wanted;
      this.#turn();
    }
  }

  #step(): void {
    this.#wanted = false;
    this.#turn();
    if (this.#over) return;
    void this.#reach(this.#now + this.act.stride);
  }

  /** The same figure with what the reader has changed: from the start, or to where it rested. */
  #again(): Promise<void> {
    if (!this.#opened) return Promise.resolve();
    if (this.#wanted) return this.#open(0);
    return this.#open(this.#over ? Infinity : Math.max(this.#now, this.#aim));
  }

  /** The worlds of the settings; null if other worlds have been requested since. */
  async #build(run: number): Promise<World[] | null> {
    try {
      const specs = this.act.specs(this.#knobs);
      const opened = await engine();
      const worlds = await together(specs.map((spec, index) => opened.open(spec, { steps: index < (this.act.steps ?? 0) })));
      if (run === this.#run) return worlds;
      for (const world of worlds) world.close();
    } catch (error) {
      if (run === this.#run) this.#fail(error);
    }
    return null;
  }

  /** Opens new worlds and goes to a point in time at once. */
  async #open(to: number): Promise<void> {
    const run = ++this.#run;
    [this.#opened, this.#failed, this.#aim] = [true, false, to];
    for (const world of this.#worlds) world.close();
    this.#worlds = [];
    [this.host.dataset.state, this.host.dataset.run] = ["opens", String(run)];
    this.act.send?.(null);
    await this.#recalled;
    clearTimeout(this.#timer); // what was recalled runs now
    const worlds = await this.#build(run);
    if (!worlds) return;
    this.#worlds = worlds;
    this.#done = worlds.map(() => false);
    [this.#now, this.#known, this.#last, this.#measured, this.#busy, this.#over] = [0, 0, 0, 0, false, false];
    this.#end = Math.max(...worlds.map((world) => world.end));
    this.#say.textContent = "";
    this.act.begin(worlds, this.#knobs);
    if (to > 0) await this.#reach(Math.min(to, this.#end));
    else await this.#advance(this.#lead());
    this.#turn();
  }

  /**
   * A call of the reader's own. The same worlds are run again with it, up to the present, and take the
   * place of those that are shown: a run is fast and always the same, so nothing of the past changes.
   */
  async #send(): Promise<void> {
    if (!this.#worlds.length || this.#over) return;
    const [run, known, before] = [++this.#run, this.#known, this.#worlds];
    this.#busy = true; // nothing goes on but what is known already
    this.act.send!(this.#now);
    const worlds = await this.#build(run);
    if (!worlds) return;
    const frames = await Promise.all(worlds.map((world) => world.advance(Math.min(known, world.end)))).catch((error: unknown) => {
      if (run === this.#run) this.#fail(error);
    });
    if (!frames || run !== this.#run) return worlds.forEach((world) => world.close());
    for (const world of before) world.close();
    this.#worlds = worlds;
    this.#done = frames.map(({ over }) => over);
    this.act.begin(worlds, this.#knobs);
    frames.forEach((frame, index) => this.act.take(frame, index));
    this.#busy = false;
    if (!this.#moves) await this.#measure();
    this.#turn();
  }

  /** Starts or stops the clock, as reader, view and run have it. */
  #turn(): void {
    this.#bar.show({ runs: this.#wanted && !this.#over, over: this.#over, failed: this.#failed });
    this.host.querySelector(".send")?.toggleAttribute("disabled", this.#over);
    if (!this.#worlds.length) return;
    this.host.dataset.state = this.#over ? "over" : this.#moves ? "runs" : "rests";
    if (this.#moves && !this.#beat) {
      this.#beat = performance.now();
      requestAnimationFrame((time) => this.#tick(time));
    }
    if (!this.#moves) this.#paint(0);
  }

  #tick(time: number): void {
    if (!this.#moves) {
      this.#beat = 0;
      return;
    }
    const passed = Math.min(0.1, Math.max(0, time - this.#beat) / 1000);
    this.#beat = time;
    this.#adapt(time, 1000 * passed);
    const lead = this.#lead();
    const reach = this.#known >= this.#end ? this.#end : Math.max(this.#now, this.#known - lead);
    this.#now = Math.min(this.#now + passed * this.#speed, reach);
    // A piece of time is asked for before the present one has been shown.
    if (!this.#busy) void this.#advance(this.#now + lead + this.#speed / 20);
    if (++this.#frames % Math.min(2, this.#ease) === 0) this.#paint(this.#speed);
    if (time - this.#measured > 250) {
      this.#measured = time;
      void this.#measure();
    }
    if (this.#now >= this.#end) void this.#finish();
    else requestAnimationFrame((next) => this.#tick(next));
  }

  /** Checks once a second, and draws less, every other frame, where frames take longer than 33 ms. */
  #adapt(time: number, frame: number): void {
    this.#frame += (frame - this.#frame) * 0.1;
    if (time - this.#eased < 1000) return;
    this.#eased = time;
    if (this.#frame <= 33 || this.#ease >= 8) return;
    this.#ease *= 2;
    this.host.dataset.ease = String(this.#ease);
    this.act.ease?.(this.#ease);
  }

  #lead(): number {
    return (this.act.lead ?? 0) * this.#speed;
  }

  #paint(speed: number): void {
    this.act.paint(this.#now, speed);
    this.#bar.time(this.#now, this.#end, this.act.open && !this.#over);
  }

  /** Goes to a point in time without showing what is on the way. */
  async #reach(to: number): Promise<void> {
    const run = this.#run;
    while (this.#busy) await new Promise(requestAnimationFrame);
    const target = Math.min(to + this.#lead(), this.#end);
    // Work that is done ends the world before its time.
    while (this.#known < Math.min(target, this.#end) && run === this.#run) {
      await this.#advance(Math.min(target, this.#known + Math.max(this.#end / 40, this.#speed / 4)));
    }
    if (run !== this.#run) return;
    this.#now = Math.min(to, this.#end);
    if (this.#now >= this.#end) return this.#finish();
    await this.#measure();
    this.#turn();
  }

  async #advance(until: number): Promise<void> {
    const [run, worlds] = [this.#run, this.#worlds];
    this.#busy = true;
    try {
      const frames = await Promise.all(worlds.map((world, index) =>
        this.#done[index] ? null : world.advance(Math.min(until, world.end))));
      if (run !== this.#run) return;
      frames.forEach((frame, index) => {
        if (!frame) return;
        this.#done[index] = frame.over;
        this.#last = Math.max(this.#last, frame.now);
        this.act.take(frame, index);
      });
      this.#known = Math.max(this.#known, until);
      // Work that is done before the end of the world ends it.
      if (this.#done.every(Boolean)) this.#end = this.#known = Math.min(this.#end, this.#last);
    } catch (error) {
      if (run === this.#run) this.#fail(error);
    } finally {
      if (run === this.#run) this.#busy = false;
    }
  }

  /** Shows the figures so far, and what they say. False where another run has begun. */
  async #measure(): Promise<boolean> {
    const run = this.#run;
    const metrics = await Promise.all(this.#worlds.map((world) => world.metrics()));
    if (run !== this.#run || !metrics.length) return false;
    // No line ends between a number and its unit.
    this.#caption.textContent = this.act.measure(metrics, this.#knobs, this.#over).replace(/(\d) (?=%|[sh]\b)/g, "$1\u00a0");
    return true;
  }

  async #finish(): Promise<void> {
    [this.#over, this.#beat] = [true, 0];
    if (!await this.#measure()) return;
    this.#say.textContent = this.#caption.textContent;
    this.#turn();
  }

  #fail(error: unknown): void {
    for (const world of this.#worlds) world.close();
    [this.#worlds, this.#beat, this.#failed] = [[], 0, true];
    this.host.dataset.state = "failed";
    this.#caption.textContent = this.#say.textContent = `${error instanceof Error ? error.message : String(error)}.`;
    this.#turn();
  }
}
