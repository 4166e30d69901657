// A fleet of Cloudflare workers that share one budget: eight isolates and the object that holds the
// budget, in one or several workerd processes, and a real API.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

const dist = new URL("node_modules/tidegate/dist/", import.meta.url);
const compatibilityDate = "2026-04-01";

/** A worker, with or without a shared budget. Each answer lists when calls were sent since the previous one. */
const caller = (shares) => `
  import { env } from "cloudflare:workers";
  import { tidegate } from "tidegate${shares ? "/durable" : ""}";
  let left = [];
  const gate = tidegate({
    ${shares ? "shared: env.TIDEGATE," : ""}
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

/** The object. A command makes it crash or answer late. */
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
    const object = () => env.TIDEGATE.getByName("api");
    if (pathname === "/stall") stall = +searchParams.get("ms");
    if (pathname === "/evict") await object().evict().catch(() => {});
    return Response.json(await object().stats());
  } };`;

/** Bundles a worker as wrangler does. */
export async function bundle(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true, format: "esm", target: "es2022", conditions: ["workerd"], external: ["*.wasm", "cloudflare:*", "node:*"], write: false,
  });
  const names = fs.readdirSync(dist).filter((name) => name.endsWith(".wasm"));
  const wasm = names.map((name) => ({ type: "CompiledWasm", path: name, contents: fs.readFileSync(new URL(name, dist)) }));
  return [{ type: "ESModule", path: "worker.js", contents: outputFiles[0].text }, ...wasm];
}

const ALL = [0, 1, 2, 3, 4, 5, 6, 7];

/**
 * A fleet on `api`. `skew(isolate)` is the offset of its clock. `cells` lists the isolates of each process, if
 * the object has its own process. `shares`: whether they share a budget.
 */
export class Fleet {
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-fleet-"));
  #modules;
  #holder;
  #cells = [];
  #watching = true;
  #watched;
  /** How the calls of each isolate ended, and when all calls were sent. */
  calls = [];
  left = [];
  /** The most leases held at a time. */
  inHand = 0;
  load = 1;
  #turn = 0;
  #ended = false;

  constructor(api, { policy, cells, skew = () => 0, shares = true }) {
    Object.assign(this, { api, policy, cells: cells ?? [ALL], skew, shares, isApart: !!cells });
  }

  async start() {
    this.#modules = { caller: await bundle(caller(this.shares)), holder: await bundle(HOLDER) };
    if (this.isApart) {
      await this.wake();
      for (const cell of this.cells.keys()) await this.raise(cell);
    } else {
      this.#holder = this.#cells[0] = await this.#process(this.#object(), ...ALL.map((isolate) => this.#caller(isolate)));
    }
    this.#watched = this.#watch();
  }

  /** Starts the process of the object. */
  async wake() {
    this.#holder = await this.#process(this.#object());
  }

  /** Ends the process of the object at once. */
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
    this.#cells[cell] = await this.#process(...this.cells[cell].map((isolate) => this.#caller(isolate)));
  }

  /** Ends the process of some isolates, with their leases and their calls. */
  async crash(cell) {
    const process = this.#cells[cell];
    this.#cells[cell] = undefined;
    await process.dispose();
  }

  async #process(...workers) {
    const registry = this.isApart && { unsafeDevRegistryPath: path.join(this.#folder, "registry"), unsafeDevRegistryDurableObjectProxy: true };
    const miniflare = new Miniflare({ ...registry, host: "127.0.0.1", durableObjectsPersist: path.join(this.#folder, "objects"), workers });
    await miniflare.ready;
    return miniflare;
  }

  #object() {
    return {
      name: "holder", modules: this.#modules.holder, compatibilityDate, bindings: { POLICY: this.policy }, routes: ["holder/*"],
      durableObjects: { TIDEGATE: { className: "Budget", useSQLite: true } },
    };
  }

  #caller(isolate) {
    return {
      name: `caller-${isolate}`, modules: this.#modules.caller, compatibilityDate, routes: [`caller-${isolate}/*`],
      bindings: { API: this.api.url, SKEW: this.skew(isolate) },
      durableObjects: { TIDEGATE: { className: "Budget", scriptName: "holder" } },
    };
  }

  /** One call of an isolate, in a separate request. */
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
      // A call of an isolate that crashed has no caller any more.
      call.ended = this.#cells[cell] === process ? "lost" : "crashed";
      call.error = error;
    }
  }

  /** Each isolate always has this many calls to make. */
  saturate(callers) {
    const loop = async (isolate) => {
      while (!this.#ended) await this.call(isolate);
    };
    this.#loads = this.cells.flat().flatMap((isolate) => Array.from({ length: callers }, () => loop(isolate)));
  }

  /** This many calls a second arise in total, times `load`, at random. */
  arise(rate) {
    const isolates = this.cells.flat();
    const loop = async () => {
      for (let next = performance.now(); !this.#ended; ) {
        this.#loads.push(this.call(isolates[Math.floor(Math.random() * isolates.length)]));
        next -= (Math.log(1 - Math.random()) * 1_000) / (rate * this.load);
        await sleep(Math.max(next - performance.now(), 0));
      }
    };
    this.#loads.push(loop());
  }

  #loads = [];

  /** Starts no more calls, and waits for all others. */
  async drain() {
    this.#ended = true;
    for (let i = 0; i < this.#loads.length; i++) await this.#loads[i];
  }

  async dispose() {
    this.#ended = true;
    this.#watching = false;
    await this.#watched;
    await Promise.allSettled([...new Set([this.#holder, ...this.#cells])].map((process) => process?.dispose()));
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The counters of all running isolates, by isolate. */
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
