/**
 * The race: one lane per law, with the same arrivals and the same virtual time. A changed lane runs
 * again from the start to its former position; runs are fast and deterministic.
 */

import { EngineError, type Engine } from "../engine";
import { together } from "../engine/together";
import { Lane, columnWidth } from "./lane";
import { worldOf } from "./laws";
import { pace, type State } from "./state";
import { SECOND, time, type Time } from "./units";

/** Callbacks for the views. */
export interface Watcher {
  /** The lanes have been replaced. */
  lanes(lanes: Lane[]): void;
  /** Lanes have advanced. */
  moved(): void;
  /** The metrics are new. */
  measured(): void;
  /** The race pauses: it is over, was stopped, or the page is hidden. */
  rests(): void;
  /** The engine rejects a scenario or law; null: it accepts all. */
  rejected(error: EngineError | null): void;
}

/** What runs. Equal casts have equal lanes. */
interface Cast { text: string; seed: number; laws: string[] }

const alike = (one: Cast | null, other: Cast) => one !== null && isSameWorld(one, other) && one.laws.join() === other.laws.join();
const isSameWorld = (one: Cast, other: Cast) => one.text === other.text && one.seed === other.seed;

/** How often metrics are requested during a run, ms. */
const MEASURE_EVERY = 300;

export class Race {
  lanes: Lane[] = [];
  /** The virtual time that all lanes have reached, s. */
  now = 0;
  end = 1;
  over = false;
  playing = false;
  /** Virtual seconds per second, measured recently. */
  reached = 0;
  #state: State | null = null;
  #shown: Cast | null = null; // what the lanes show
  #opening: Cast | null = null; // what is about to replace them
  #to: number | null = null; // target time of the replacement; null: the present position
  #run = 0; // distinguishes answers to earlier requests
  #width = 1;
  #target = 0;

  constructor(readonly engine: Engine, readonly watcher: Watcher) {
    document.addEventListener("visibilitychange", () => this.#wake());
  }

  /** Whether it is still catching up. */
  get behind(): boolean {
    return this.#target > this.now;
  }

  /** The present or target position, s. */
  get #goal(): number {
    return this.#to ?? Math.max(this.now, this.#target);
  }

  /** Shows a state: from the start, or up to the present position. A rejection changes nothing. */
  async show(state: State, to: number | null = null): Promise<void> {
    const cast: Cast = { text: JSON.stringify(state.scenario), seed: state.seed, laws: state.laws };
    this.#state = state;
    if (to !== null) this.#to = to;
    else if (alike(this.#opening, cast)) return;
    else if (this.#to === null && !this.#opening && alike(this.#shown, cast)) return this.watcher.rejected(null);
    this.#opening = cast;
    try {
      const lanes = await this.#open(state, cast);
      if (this.#opening !== cast) return lanes.forEach((lane) => this.lanes.includes(lane) || lane.world.close());
      for (const lane of this.lanes) if (!lanes.includes(lane)) lane.world.close();
      this.lanes = lanes;
    } catch (error) {
      if (this.#opening !== cast) return;
      this.#opening = null;
      if (this.lanes.length) this.#to = null;
      return this.watcher.rejected(error instanceof EngineError ? error : new EngineError("broken", String(error)));
    }
    const goal = this.#to ?? (this.over ? Infinity : this.#goal);
    [this.#shown, this.#opening, this.#to] = [cast, null, null];
    this.watcher.rejected(null);
    this.#width = columnWidth(state.scenario);
    this.end = time(state.scenario.end) / SECOND;
    this.#target = Math.min(goal, this.end);
    this.#settle();
    this.watcher.lanes(this.lanes);
    this.watcher.moved();
    const run = ++this.#run;
    this.#wake();
    void this.#go(run);
  }

  /** One lane per law. Lanes of the same world are kept. */
  async #open(state: State, cast: Cast): Promise<Lane[]> {
    const stays = this.#to === null && this.#shown !== null && isSameWorld(this.#shown, cast);
    const kept = new Map(stays ? this.lanes.map((lane) => [lane.law, lane]) : []);
    const { seed } = cast;
    const missing = state.laws.filter((law) => !kept.has(law));
    const worlds = await together(missing.map(async (name) => {
      const [law, scenario] = worldOf(name, state.scenario);
      return this.engine.open({ scenario: await this.engine.print(scenario), law, seed });
    }));
    const lanes = worlds.map((world, index) => new Lane(missing[index]!, world, state.scenario, columnWidth(state.scenario)));
    await Promise.all(lanes.map((lane) => guarded(lane, async () => lane.take(await lane.world.advance(0)))));
    return state.laws.map((law) => kept.get(law) ?? lanes[missing.indexOf(law)]!);
  }

  play(playing: boolean): void {
    this.playing = playing;
    this.#wake();
  }

  step(): void {
    this.playing = false;
    this.#target = Math.min(this.end, (Math.floor(this.#goal / this.#width + 1e-9) + 1) * this.#width);
    this.#wake();
  }

  /** Runs to the end, as fast as possible. */
  finish(): void {
    this.#target = this.end;
    this.#wake();
  }

  /** The present or target position, in scenario time. */
  get at(): Time {
    return Math.min(Math.round(this.#goal * 1_000) * 1_000, time(this.#state?.scenario.end));
  }

  #wake: () => void = () => {};

  #settle(): void {
    this.over = this.lanes.every((lane) => lane.over || lane.failed);
    const going = this.lanes.filter((lane) => !lane.over && !lane.failed);
    this.now = going.length ? Math.min(...going.map((lane) => lane.now)) : Math.max(0, ...this.lanes.map((lane) => lane.now));
    if (this.over) this.#target = this.now;
  }

  /** Advances frame by frame until another run replaces it. */
  async #go(run: number): Promise<void> {
    let last = performance.now();
    let measured = 0;
    let told = "";
    while (run === this.#run) {
      const rests = this.over || (!this.behind && !(this.playing && !document.hidden));
      const key = `${this.now} ${this.over}`;
      if ((rests || performance.now() - measured > MEASURE_EVERY) && told !== key) {
        if (!await this.#measure(run)) return;
        told = key;
        measured = performance.now();
        continue; // the reader may have requested something else since
      }
      if (rests) {
        this.reached = 0;
        this.watcher.rests();
        await new Promise<void>((resolve) => { this.#wake = resolve; });
        last = performance.now();
        continue;
      }
      const began = performance.now();
      const passed = Math.min(0.1, (began - last) / 1000);
      last = began;
      const before = this.now;
      const wanted = this.behind ? this.#target : before + Math.max(passed, 1 / 240) * pace(this.#state!);
      if (!await this.#advance(run, Math.min(wanted, this.end))) return;
      this.#settle();
      const took = (performance.now() - began) / 1000;
      if (!this.behind && took > 0) this.reached += ((this.now - before) / Math.max(took, 1 / 60) - this.reached) * 0.1;
      if (this.over) continue; // the last metrics are shown before the end
      this.watcher.moved();
      await nextFrame();
    }
  }

  /** Advances all lanes, at most to the end of a column at once, so that every column is seen. */
  async #advance(run: number, to: number): Promise<boolean> {
    // The engine works in its own thread, so a long turn delays no input; frames of a run that only catches up are rare.
    const until = performance.now() + (this.behind ? 60 : 12);
    do {
      const now = this.now;
      const next = (Math.floor(now / this.#width + 1e-9) + 1) * this.#width;
      const stop = Math.min(to, next);
      await Promise.all(this.lanes.map(async (lane) => {
        if (lane.over || lane.failed || lane.now >= stop) return;
        await guarded(lane, async () => lane.take(await lane.world.advance(stop)));
      }));
      if (run !== this.#run) return false;
      this.#settle();
      if (this.now <= now && !this.over) break;
    } while (this.now < to && !this.over && performance.now() < until);
    return true;
  }

  async #measure(run: number): Promise<boolean> {
    await Promise.all(this.lanes.map(async (lane) => {
      if (lane.failed) return;
      await guarded(lane, async () => {
        [lane.metrics, lane.digest] = await Promise.all([lane.world.metrics(), lane.world.digest()]);
      });
    }));
    if (run !== this.#run) return false;
    this.#settle();
    this.watcher.measured();
    return true;
  }
}

/** Asks a lane's world. An error ends only that lane. */
async function guarded(lane: Lane, ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    lane.failed = error instanceof Error ? error.message : String(error);
  }
}

/** The next frame, or a short timeout while the page is hidden. */
const nextFrame = () => new Promise<void>((resolve) => {
  const timer = setTimeout(resolve, 100);
  requestAnimationFrame(() => { clearTimeout(timer); resolve(); });
});
