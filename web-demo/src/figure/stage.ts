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
  specs(knobs: Knobs, seed: number): WorldSpec[];
  /** Whether it wants every step of every call. */
  steps?: boolean;
  /** Virtual seconds that pass in a second of the reader's, unless the reader wants another speed. */
  speed: number;
  /** Virtual seconds that the step button goes on by. */
  stride: number;
  /** Whether it ends when its work is done, which nobody knows before. */
  open?: boolean;
  /** How far, in the reader's seconds, the engine runs ahead of what is shown. */
  lead?: number;
  /** A run begins, and nothing of it has been shown. */
  begin(worlds: World[], knobs: Knobs): void;
  /** A world has gone on. */
  take(frame: Frame, index: number): void;
  /** Shows the present; `speed` is 0 while the figure rests. */
  paint(now: number, speed: number): void;
  /** Shows the figures of each world. The last ones of a run come with `over`. */
  measure(metrics: Metrics[], over: boolean): void;
  /** The run in one sentence, read out when it is over. */
  sentence(metrics: Metrics[]): string;
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Stage {
  readonly #knobs: Knobs;
  readonly #bar: Bar;
  readonly #say: HTMLElement;
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

  constructor(readonly host: HTMLElement, readonly act: Act) {
    this.#speed = act.speed;
    this.#knobs = new Knobs(part(host, "form"));
    this.#say = part(host, ".say");
    this.#bar = new Bar(part(host, ".bar"), act.speed, {
      play: () => this.#toggle(),
      step: () => this.#step(),
      restart: () => { this.#wanted = !still.matches || this.#wanted; void this.#open(0); },
      speed: (speed) => { this.#speed = speed; },
      seed: () => void this.#again(),
    });
    let timer = 0;
    this.#knobs.form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void this.#again(), 150);
    });
    new IntersectionObserver((entries) => {
      this.#inView = entries.at(-1)?.isIntersecting ?? false;
      if (this.#inView && !this.#opened) void this.#open(still.matches ? Infinity : 0);
      this.#turn();
    }, { rootMargin: "0px", threshold: 0.15 }).observe(host);
    document.addEventListener("visibilitychange", () => this.#turn());
    still.addEventListener("change", () => { this.#wanted = !still.matches; this.#turn(); });
  }

  get #moves(): boolean {
    return this.#wanted && this.#inView && !document.hidden && !this.#over && this.#worlds.length > 0;
  }

  #toggle(): void {
    if (this.#over) {
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
    return this.#open(this.#over ? Infinity : this.#now);
  }

  /** Opens new worlds and goes to a point in time at once. */
  async #open(to: number): Promise<void> {
    const run = ++this.#run;
    this.#opened = true;
    for (const world of this.#worlds) world.close();
    this.#worlds = [];
    [this.host.dataset.state, this.host.dataset.run] = ["opens", String(run)];
    try {
      const specs = this.act.specs(this.#knobs, this.#bar.seed);
      const opened = await engine();
      const worlds = await together(specs.map((spec) => opened.open(spec, { steps: this.act.steps })));
      if (run !== this.#run) return worlds.forEach((world) => world.close());
      this.#worlds = worlds;
    } catch (error) {
      if (run === this.#run) this.#fail(error);
      return;
    }
    this.#done = this.#worlds.map(() => false);
    [this.#now, this.#known, this.#last, this.#measured, this.#busy, this.#over] = [0, 0, 0, 0, false, false];
    this.#end = Math.max(...this.#worlds.map((world) => world.end));
    this.#say.textContent = "";
    this.act.begin(this.#worlds, this.#knobs);
    if (to > 0) await this.#reach(Math.min(to, this.#end));
    else await this.#advance(this.#lead());
    this.#turn();
  }

  /** Starts or stops the clock, as reader, view and run have it. */
  #turn(): void {
    this.#bar.show({ runs: this.#wanted && !this.#over, over: this.#over });
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
    const lead = this.#lead();
    const reach = this.#known >= this.#end ? this.#end : Math.max(this.#now, this.#known - lead);
    this.#now = Math.min(this.#now + passed * this.#speed, reach);
    // A piece of time is asked for before the present one has been shown.
    if (!this.#busy) void this.#advance(this.#now + lead + this.#speed / 20);
    this.#paint(this.#speed);
    if (time - this.#measured > 250) {
      this.#measured = time;
      void this.#measure();
    }
    if (this.#now >= this.#end) void this.#finish();
    else requestAnimationFrame((next) => this.#tick(next));
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

  async #measure(over = false): Promise<Metrics[] | null> {
    const run = this.#run;
    const metrics = await Promise.all(this.#worlds.map((world) => world.metrics()));
    if (run !== this.#run || !metrics.length) return null;
    this.act.measure(metrics, over);
    return metrics;
  }

  async #finish(): Promise<void> {
    [this.#over, this.#beat] = [true, 0];
    const metrics = await this.#measure(true);
    if (!metrics) return;
    this.#say.textContent = this.act.sentence(metrics);
    this.#turn();
  }

  #fail(error: unknown): void {
    for (const world of this.#worlds) world.close();
    [this.#worlds, this.#beat] = [[], 0];
    this.host.dataset.state = "failed";
    this.#say.textContent = error instanceof Error ? error.message : String(error);
  }
}
