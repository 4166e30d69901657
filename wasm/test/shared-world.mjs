// The members of `tidegate/durable` and the desk, from their sources, in a world with a simulated clock: only explicit
// waits take time, and an hour passes in a second.

import fs from "node:fs";
import { AsyncLocalStorage } from "node:async_hooks";
import { build } from "esbuild";

const SOURCES = `
  export { instance } from "./core.ts";
  export { LoneLane } from "./lone.ts";
  export { sharer } from "./shared/client.ts";
  export { made } from "./shared/core.ts";
  export { Desk } from "./shared/desk.ts";`;
const { outputFiles } = await build({
  stdin: { contents: SOURCES, resolveDir: `${import.meta.dirname}/../ts` }, bundle: true, format: "esm", target: "es2022", write: false,
});
const { instance, LoneLane, sharer, made, Desk } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
const module = new WebAssembly.Module(fs.readFileSync(new URL("node_modules/tidegate/dist/shared.wasm", import.meta.url)));
const load = () => instance(module);

export { Desk, load, made };

const { setTimeout, clearTimeout } = globalThis;

/** See the file. While a test has one, it controls all timers. */
export class World {
  #timers = new Set();
  #requests = new AsyncLocalStorage();
  #looks = 0;
  #hung;
  time;
  /** If set, new timers never fire. */
  dies = false;
  /** For each timer of a member's courier, the age of the request that set it. */
  ages = [];
  /** What requests are kept alive for, and whether that is over. */
  kept = [];

  constructor(t, begin = 1_000_000) {
    this.time = begin;
    globalThis.setTimeout = (then, ms = 0) => {
      const timer = { at: this.time + Math.max(1, ms), then, request: this.#requests.getStore() };
      if (!this.dies) this.#timers.add(timer);
      return timer;
    };
    // A caller that hangs throws where no code catches the error.
    const hush = () => {};
    process.on("uncaughtException", hush);
    globalThis.clearTimeout = (timer) => void this.#timers.delete(timer);
    t.after(() => {
      Object.assign(globalThis, { setTimeout, clearTimeout });
      process.off("uncaughtException", hush);
    });
  }

  now = () => {
    if (++this.#looks > 100_000) throw (this.#hung = new Error(`somebody looks at the clock for ever, at ${this.time}`));
    return this.time;
  };

  sleep = (ms) => new Promise((wake) => globalThis.setTimeout(wake, ms));

  /** A request, which may hold what it does up to its own end. */
  request(work) {
    return this.#requests.run({ began: this.time }, work);
  }

  /** All requests are given up with their timers. */
  kill() {
    this.#timers.clear();
  }

  async pass(ms) {
    for (const end = this.time + ms; ; ) {
      // Everything that is due at this instant.
      await new Promise(setImmediate);
      if (this.#hung) throw this.#hung;
      const next = Math.min(...Array.from(this.#timers, ({ at }) => at));
      if (!(next <= end)) return void (this.time = end);
      this.#looks = 0;
      this.time = Math.max(this.time, next);
      for (const timer of [...this.#timers].filter(({ at }) => at <= this.time).sort((a, b) => a.at - b.at)) {
        if (this.#timers.delete(timer)) this.#requests.run(timer.request, timer.then);
      }
    }
  }

  /** Lets time pass until this is over. */
  async after(promise, most = 60_000) {
    let ended;
    promise.then(() => (ended = true), () => (ended = true));
    for (const end = this.time + most; !ended && this.time < end; ) await this.pass(5);
    if (!ended) throw new Error(`it is not over after ${most} ms`);
    return promise;
  }

  desk(policy = {}, options = {}) {
    return new Desk(made(load()), { law: "fixed", requests: { limit: 50, per: 1_000 }, ...policy }, { now: this.now, ...options });
  }

  /** The gate of a member whose requests reach `carry`, or a desk or a function that gives a key's in 10 ms, and as late back. */
  gate(to, options = {}) {
    const asked = [];
    const there = async (key, request) => {
      asked.push({ at: this.time, key, leaving: request[2] === 1 });
      if (carry) return carry(key, request);
      await this.sleep(10);
      const grant = (typeof to === "function" ? to(key) : to).answer(request);
      await this.sleep(10);
      return grant;
    };
    const keep = (until) => {
      const one = { over: false };
      this.kept.push(one);
      until.then(() => (one.over = true));
      const request = this.#requests.getStore();
      if (request) this.ages.push(this.time - request.began);
    };
    const { carry, ...rest } = options;
    const gate = sharer(load, LoneLane, keep)(there, { now: this.now, ...rest });
    return Object.assign(gate, { asked });
  }
}
