/**
 * Plays a figure: it runs while it is in view, pauses while it is not, and shows its end to readers
 * who prefer reduced motion. It requests one piece of time at a time from the engine.
 */

import { engine, type Frame, type World, type WorldSpec } from "../engine";
import { together } from "../engine/together";
import { Bar } from "./bar";
import { Knobs } from "./knobs";
import { part } from "./part";

export type Metrics = Record<string, number | null>;

/** What a figure shows, independent of how it is played. */
export interface Act {
  /** The worlds to show side by side for these settings. */
  specs(knobs: Knobs): WorldSpec[];
  /** The number of worlds, from the first on, that report every step of every call. */
  steps?: number;
  /** Default speed: virtual seconds in one of the reader's. */
  speed: number;
  /** Virtual seconds that the step button advances. */
  stride: number;
  /** Whether it ends when its work is done, at a time that is not known before. */
  open?: boolean;
  /** How far the engine runs ahead of what is shown, in the reader's seconds. */
  lead?: number;
  /** Called when a run begins, before anything is shown. */
  begin(worlds: World[], knobs: Knobs): void;
  /** Called when a world has advanced. */
  take(frame: Frame, index: number): void;
  /** Draws the present; `speed` is 0 while the figure is paused. */
  paint(now: number, speed: number): void;
  /** Shows each world's metrics, and returns a caption whose every sentence is true of them. */
  measure(metrics: Metrics[], knobs: Knobs, over: boolean): string;
  /** Adds a call of the reader's at `at`; null removes all. Only for figures that take such calls. */
  send?(at: number | null): void;
  /** Draws less on slow machines: by a factor of 1, 2, 4 or 8. */
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
  #run = 0; // distinguishes answers for an earlier run
  #now = 0;
  #known = 0; // time that all worlds have reached
  #end = 0;
  #speed: number;
  #wanted = !still.matches; // whether the reader wants it to run
  #inView = false;
  #busy = false;
  #opened = false;
  #over = false;
  #beat = 0; // last tick of the clock, in the reader's time; 0 while paused
  #last = 0; // latest time that any world has reported
  #measured = 0;
  #frame = 16; // duration of recent frames, ms
  #ease = 1; // factor by which less is drawn
  #eased = 0; // time of the last adjustment
  #failed = false;
  #frames = 0;
  #timer = 0;
  #aim = 0; // target time when it was opened
  #recalled: Promise<void> | null = null; // resolves when the settings match the address

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
    // One drag makes one history entry.
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

  /** Runs the figure again after a change: from the start, or to where it was paused. */
  #again(): Promise<void> {
    if (!this.#opened) return Promise.resolve();
    if (this.#wanted) return this.#open(0);
    return this.#open(this.#over ? Infinity : Math.max(this.#now, this.#aim));
  }

  /** Opens the worlds for the settings; null if others have been requested since. */
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

  /** Opens new worlds and advances directly to a point in time. */
  async #open(to: number): Promise<void> {
    const run = ++this.#run;
    [this.#opened, this.#failed, this.#aim] = [true, false, to];
    for (const world of this.#worlds) world.close();
    this.#worlds = [];
    [this.host.dataset.state, this.host.dataset.run] = ["opens", String(run)];
    this.act.send?.(null);
    await this.#recalled;
    clearTimeout(this.#timer); // this run covers the recalled settings
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
   * Adds one of the reader's calls. Runs the same worlds again with it, up to the present, and
   * shows those instead. Runs are fast and deterministic, so the past does not change.
   */
  async #send(): Promise<void> {
    if (!this.#worlds.length || this.#over) return;
    const [run, known, before] = [++this.#run, this.#known, this.#worlds];
    this.#busy = true; // nothing advances beyond the known time
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

  /** Starts or stops the clock, depending on the reader, the view and the run. */
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
    // Requests the next piece of time before the present one has been shown.
    if (!this.#busy) void this.#advance(this.#now + lead + this.#speed / 20);
    if (++this.#frames % Math.min(2, this.#ease) === 0) this.#paint(this.#speed);
    if (time - this.#measured > 250) {
      this.#measured = time;
      void this.#measure();
    }
    if (this.#now >= this.#end) void this.#finish();
    else requestAnimationFrame((next) => this.#tick(next));
  }

  /** Once a second, halves what is drawn if frames take longer than 33 ms. */
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

  /** Advances to a point in time without showing what happens before. */
  async #reach(to: number): Promise<void> {
    const run = this.#run;
    while (this.#busy) await new Promise(requestAnimationFrame);
    const target = Math.min(to + this.#lead(), this.#end);
    // The world ends early if its work is done.
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
      // The run ends early if all work is done.
      if (this.#done.every(Boolean)) this.#end = this.#known = Math.min(this.#end, this.#last);
    } catch (error) {
      if (run === this.#run) this.#fail(error);
    } finally {
      if (run === this.#run) this.#busy = false;
    }
  }

  /** Shows the metrics so far and the caption. Returns false if another run has begun. */
  async #measure(): Promise<boolean> {
    const run = this.#run;
    const metrics = await Promise.all(this.#worlds.map((world) => world.metrics()));
    if (run !== this.#run || !metrics.length) return false;
    // Keeps each number and its unit on one line.
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
