// A fleet of Cloudflare workers that share one budget: eight isolates in two of Cloudflare's own
// processes, the object that holds the budget in a third, and a real API behind them.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

const dist = new URL("node_modules/tidegate/dist/", import.meta.url);
const compatibilityDate = "2026-04-01";

/** One of the workers. Each answer tells how many calls have left since the one before, and when. */
const CALLER = `
  import { env } from "cloudflare:workers";
  import { tidegate } from "tidegate/durable";
  let left = [];
  const gate = tidegate({
    shared: env.TIDEGATE,
    key: () => "api",
    now: () => performance.now() + env.SKEW,
    fetch: (input, init) => (left.push(Date.now()), fetch(input, init)),
  });
  export default { async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/stats") return Response.json(gate.stats());
    const answer = await gate.fetch(env.API, { headers: { "idempotency-key": pathname.slice(1) } });
    const times = left;
    left = [];
    return Response.json({ body: await answer.text(), times });
  } };`;

/** The object. It can be told to die, or to answer late. */
const HOLDER = `
  import { env } from "cloudflare:workers";
  import { TidegateObject } from "tidegate/durable";
  let stall = 0;
  export class Budget extends TidegateObject {
    policy() { return env.POLICY; }
    evict() { this.ctx.abort("evicted"); }
    async lease(request) {
      if (stall) await scheduler.wait(stall);
      return super.lease(request);
    }
  }
  export default { async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const object = env.TIDEGATE.getByName("api");
    if (pathname === "/stall") stall = +searchParams.get("ms");
    if (pathname === "/evict") await object.evict().catch(() => {});
    return Response.json(await object.stats());
  } };`;

/** Bundles a worker as wrangler does. */
async function bundle(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true, format: "esm", target: "es2022", conditions: ["workerd"], external: ["*.wasm", "cloudflare:*"], write: false,
  });
  return [
    { type: "ESModule", path: "worker.js", contents: outputFiles[0].text },
    { type: "CompiledWasm", path: "shared.wasm", contents: fs.readFileSync(new URL("shared.wasm", dist)) },
  ];
}

/** A fleet on `api`; `cells` tells which isolates share a process, and `skew(isolate)` what its clock is off by. */
export class Fleet {
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-fleet-"));
  #modules;
  #holder;
  #cells = [];
  #watching = true;
  #watched;
  /** What became of the calls, isolate by isolate; and when all of them left. */
  calls = [];
  left = [];
  /** The most departures in hand at a time. */
  inHand = 0;
  load = 1;
  #turn = 0;
  #ended = false;

  constructor(api, { policy, cells = [[0, 1, 2, 3, 4, 5], [6, 7]], skew = () => 0 }) {
    Object.assign(this, { api, policy, cells, skew });
  }

  async start() {
    this.#modules = { caller: await bundle(CALLER), holder: await bundle(HOLDER) };
    await this.wake();
    for (const cell of this.cells.keys()) await this.raise(cell);
    this.#watched = this.#watch();
  }

  /** Starts the process of the object. */
  async wake() {
    this.#holder = new Miniflare({
      ...this.#common(),
      durableObjectsPersist: path.join(this.#folder, "objects"),
      workers: [{
        name: "holder", modules: this.#modules.holder, compatibilityDate, bindings: { POLICY: this.policy },
        durableObjects: { TIDEGATE: { className: "Budget", useSQLite: true } },
      }],
    });
    await this.#holder.ready;
  }

  /** Ends the process of the object, as it stands. */
  async fell() {
    const holder = this.#holder;
    this.#holder = undefined;
    await holder?.dispose();
  }

  /** Tells the object to `evict` itself, or to `stall?ms=…`; what it has counted. */
  async tell(what = "") {
    return (await this.#holder.dispatchFetch(`http://holder/${what}`)).json();
  }

  /** Starts the process of some isolates. */
  async raise(cell) {
    this.#cells[cell] = new Miniflare({
      ...this.#common(),
      workers: this.cells[cell].map((isolate) => ({
        name: `caller-${isolate}`, modules: this.#modules.caller, compatibilityDate, routes: [`caller-${isolate}/*`],
        bindings: { API: this.api.url, SKEW: this.skew(isolate) },
        durableObjects: { TIDEGATE: { className: "Budget", scriptName: "holder" } },
      })),
    });
    await this.#cells[cell].ready;
  }

  /** Ends the process of some isolates, with their leases and their calls. */
  async crash(cell) {
    const process = this.#cells[cell];
    this.#cells[cell] = undefined;
    await process.dispose();
  }

  #common() {
    return { unsafeDevRegistryPath: path.join(this.#folder, "registry"), unsafeDevRegistryDurableObjectProxy: true, host: "127.0.0.1" };
  }

  /** One call of an isolate, in a request of its own. */
  async call(isolate) {
    const cell = this.cells.findIndex((cell) => cell.includes(isolate));
    const process = this.#cells[cell];
    if (!process) return sleep(50);
    const call = { isolate, ended: undefined };
    this.calls.push(call);
    try {
      const answer = await process.dispatchFetch(`http://caller-${isolate}/${isolate}-${this.#turn++}`);
      const { body, times } = await answer.json();
      call.ended = body === "served\n" ? "served" : "lost";
      this.left.push(...times);
    } catch (error) {
      // A call of an isolate that crashed is nobody's any more.
      call.ended = this.#cells[cell] === process ? "lost" : "crashed";
      call.error = error;
    }
  }

  /** Each isolate always has so many calls to make. */
  saturate(callers) {
    const loop = async (isolate) => {
      while (!this.#ended) await this.call(isolate);
    };
    this.#loads = this.cells.flat().flatMap((isolate) => Array.from({ length: callers }, () => loop(isolate)));
  }

  /** So many calls a second arise in all, times `load`, evenly, one isolate after the other. */
  arise(rate) {
    const isolates = this.cells.flat();
    this.#loads = [];
    const loop = async () => {
      let next = performance.now();
      for (let turn = 0; !this.#ended; turn++) {
        this.#loads.push(this.call(isolates[turn % isolates.length]));
        next += 1_000 / (rate * this.load);
        await sleep(Math.max(next - performance.now(), 0));
      }
    };
    this.#loads.push(loop());
  }

  #loads = [];

  /** Lets no more calls begin, and waits for all that have. */
  async drain() {
    this.#ended = true;
    for (let i = 0; i < this.#loads.length; i++) await this.#loads[i];
  }

  async dispose() {
    this.#watching = false;
    await this.#watched;
    await Promise.allSettled([this.fell(), ...this.#cells.map((process) => process?.dispose())]);
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The counters of all isolates that there are, by isolate. */
  async stats() {
    const isolates = this.cells.flatMap((cell, at) => cell.map((isolate) => [isolate, this.#cells[at]]));
    const asked = isolates.map(async ([isolate, process]) => {
      const answer = await process?.dispatchFetch(`http://caller-${isolate}/stats`).catch(() => {});
      return answer?.json();
    });
    return Promise.all(asked);
  }

  async #watch() {
    while (this.#watching) {
      const all = await this.stats();
      this.inHand = Math.max(this.inHand, all.reduce((sum, told) => sum + (told?.inHand ?? 0), 0));
      await sleep(250);
    }
  }
}

/** The figures of a stretch, between two `marks` of a fleet. */
export function figures(fleet, from, to) {
  const gone = (name) => to.stats.reduce((sum, told, i) => sum + (told?.[name] ?? 0) - (from.stats[i]?.[name] ?? 0), 0);
  const served = fleet.cells.flat().map((isolate) => (to.served[isolate] ?? 0) - (from.served[isolate] ?? 0));
  const all = served.reduce((a, b) => a + b, 0);
  const offered = to.offered - from.offered;
  const seconds = (to.at - from.at) / 1_000;
  return {
    seconds,
    served: all,
    utilisation: (to.all - from.all) / (to.capacity - from.capacity),
    throttled: offered ? (to.throttled - from.throttled) / offered : 0,
    jain: all ** 2 / (served.length * served.reduce((sum, n) => sum + n * n, 0)),
    local: 1 - gone("delayed") / Math.max(gone("gone"), 1),
    alone: gone("alone") / Math.max(gone("gone"), 1),
    asked: gone("asked") / seconds,
    perCall: gone("asked") / Math.max(gone("gone"), 1),
    excess: excess(fleet.left.filter((at) => at >= from.clock && at < to.clock)),
  };
}

/** Where a fleet and its API stand. */
export async function mark(fleet) {
  const { callers, capacity, works } = await (await fetch(`${fleet.api.url}counts`)).json();
  const sum = (name) => callers.reduce((sum, row) => sum + row[name], 0);
  const served = {};
  for (const work in works) served[work.split("-")[0]] = (served[work.split("-")[0]] ?? 0) + works[work].served;
  const stats = await fleet.stats();
  return { at: performance.now(), clock: Date.now(), capacity, all: sum("served"), offered: sum("offered"), throttled: sum("throttled"), served, works, stats };
}

/** The most calls that have left above a limit of 50 a second, at any time. */
export function excess(times, perSecond = 50) {
  let level = 0;
  let most = 0;
  let before = -Infinity;
  for (const at of times.toSorted((a, b) => a - b)) {
    level = Math.max(level - ((at - before) * perSecond) / 1_000, 0) + 1;
    most = Math.max(most, level);
    before = at;
  }
  return most;
}
