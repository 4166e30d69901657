/** Answers requests. Worlds advance in slices by turns, so that none delays another. */

import { EngineError } from "./index";
import type { Ask, Opened, Reply, Request } from "./messages";
import type { Simulator } from "./simulator";

/** How long the worker runs before it checks for messages, and the target length of a slice, ms. */
const TURN = 10;
const SLICE = 2;
/** The virtual time of the first slice, s. It grows soon; a second of a scenario with tiny latencies could take minutes. */
const FIRST = 1e-6;

interface Holding {
  simulator: Simulator;
  number: number;
  now: number;
  /** Virtual time that takes about one slice, s. */
  stride: number;
}

interface Module { start: () => Simulator; simulator: Simulator }

/** The request waits for the module. */
const LATER = Symbol();
/** The request has more slices to run. */
const MORE = Symbol();

export class Desk {
  readonly #load: () => Promise<() => Simulator>;
  readonly #send: (replies: Reply[], transfer: Transferable[]) => void;
  #module: Module | Error | typeof LATER | undefined;
  readonly #worlds = new Map<number, Holding>();
  /** Unanswered requests in order, by world; key 0 holds those about no world. */
  readonly #asked = new Map<number, Ask[]>();
  readonly #dead = new WeakSet<Simulator>();
  /** Starts a turn. Unlike a resolved promise, this lets messages be handled first. */
  readonly #next = new MessageChannel();
  #due = false;
  #replies: Reply[] = [];
  #transfer: Transferable[] = [];

  constructor(load: () => Promise<() => Simulator>, send: (replies: Reply[], transfer: Transferable[]) => void) {
    this.#load = load;
    this.#send = send;
    this.#next.port1.onmessage = () => this.#turn();
  }

  take(requests: Request[]): void {
    for (const request of requests) {
      const world = "world" in request ? request.world : 0;
      if (request.ask === "close") this.#close(world);
      else if (this.#asked.has(world)) this.#asked.get(world)?.push(request);
      else this.#asked.set(world, [request]);
    }
    this.#plan();
  }

  #plan(): void {
    if (this.#due) return;
    this.#due = true;
    this.#next.port2.postMessage(null);
  }

  #turn(): void {
    this.#due = false;
    const since = performance.now();
    let moved = true;
    while (moved && this.#asked.size > 0 && performance.now() - since < TURN) {
      moved = false;
      for (const [world, asked] of this.#asked) {
        const answer = this.#answer(asked[0]!);
        if (answer !== LATER) moved = true;
        if (answer === LATER || answer === MORE) continue;
        this.#replies.push(answer);
        asked.shift();
        if (asked.length === 0) this.#asked.delete(world);
      }
    }
    if (this.#replies.length > 0) this.#send(this.#replies, this.#transfer);
    [this.#replies, this.#transfer] = [[], []];
    if (moved && this.#asked.size > 0) this.#plan();
  }

  #answer(request: Ask): Reply | typeof LATER | typeof MORE {
    const { id } = request;
    try {
      const value = this.#do(request);
      return value === LATER || value === MORE ? value : { id, value };
    } catch (error) {
      const known = error instanceof EngineError;
      return { id, error: { code: known ? error.code : "broken", message: known ? error.message : String(error) } };
    }
  }

  #do(request: Ask): unknown {
    switch (request.ask) {
      case "start":
        return this.#with(() => null);
      case "laws":
        return this.#with((simulator) => simulator.laws());
      case "parse":
        return this.#with((simulator) => simulator.parse(request.file));
      case "print":
        return this.#with((simulator) => simulator.print(request.scenario));
      case "open":
        return this.#open(request);
      case "advance":
        return this.#advance(request.world, request.until);
      case "metrics":
        return this.#use(request.world, ({ simulator, number }) => simulator.metrics(number));
      case "digest":
        return this.#use(request.world, ({ simulator, number }) => simulator.digest(number));
    }
  }

  #open({ world, scenario, law, seed }: Ask & { ask: "open" }): Opened | typeof LATER {
    return this.#with((simulator) => {
      const [number, opened] = simulator.open(scenario, law, seed);
      this.#worlds.set(world, { simulator, number, now: 0, stride: FIRST });
      return opened;
    });
  }

  #advance(world: number, until: number): Float64Array | typeof MORE {
    return this.#use(world, (holding) => {
      const { simulator, number, stride } = holding;
      const to = Math.min(until, holding.now + stride);
      const since = performance.now();
      const more = simulator.advance(number, to);
      const took = performance.now() - since;
      if (took > SLICE) holding.stride = stride / 2;
      else if (took < SLICE / 4 && to < until) holding.stride = stride * 2;
      holding.now = Math.max(holding.now, to);
      if (more && to < until) return MORE;
      const frame = simulator.frame(number);
      this.#transfer.push(frame.buffer);
      return frame;
    });
  }

  #close(world: number): void {
    const holding = this.#worlds.get(world);
    this.#asked.delete(world);
    this.#worlds.delete(world);
    if (holding && !this.#dead.has(holding.simulator)) holding.simulator.close(holding.number);
  }

  #use<T>(world: number, act: (holding: Holding) => T): T {
    const holding = this.#worlds.get(world);
    if (!holding) throw new EngineError("broken", "this world is not open");
    if (this.#dead.has(holding.simulator)) throw new EngineError("broken", "the simulator of this world has failed");
    return this.#guard(holding.simulator, () => act(holding));
  }

  /** An instance that traps cannot continue; its worlds are lost. */
  #guard<T>(simulator: Simulator, act: () => T): T {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof EngineError)) this.#bury(simulator);
      throw error;
    }
  }

  #bury(simulator: Simulator): void {
    this.#dead.add(simulator);
    const module = this.#module;
    if (typeof module === "object" && "start" in module && module.simulator === simulator) module.simulator = module.start();
  }

  /** Acts on an instance, as soon as the module has been loaded. */
  #with<T>(act: (simulator: Simulator) => T): T | typeof LATER {
    const module = this.#module;
    if (module === LATER) return LATER;
    if (module instanceof Error) {
      this.#module = undefined; // the next request tries again
      throw new EngineError("unsupported", `the engine cannot be loaded: ${module.message}`);
    }
    if (module) return this.#guard(module.simulator, () => act(module.simulator));
    this.#module = LATER;
    const loading = this.#load().then((start) => ({ start, simulator: start() }));
    void loading.catch((error: unknown) => error instanceof Error ? error : new Error(String(error))).then((module) => {
      this.#module = module;
      this.#plan();
    });
    return LATER;
  }
}
