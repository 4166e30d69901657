// The fleets, and their scenarios: stretches of time, some of which begin with a fault.

import { spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Miniflare } from "miniflare";
import { BOUND, Fleet, node } from "./fleet.mjs";
import { play } from "./fleet-member.mjs";
import { Server } from "./redis-server.mjs";
import { Chromium } from "./tabs-browser.mjs";
import { bundle } from "./workers.mjs";

/** Starts a process in Rust, which reads and writes lines of JSON. */
export function rust(told) {
  const program = process.env.TIDEGATE_LOCAL_MEMBER;
  if (!program) throw new Error("TIDEGATE_LOCAL_MEMBER names no program: run `cargo xtask test wasm`");
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, TIDEGATE_ISOLATE: JSON.stringify(told) } });
  const events = new EventEmitter();
  createInterface({ input: child.stdout }).on("line", (line) => events.emit("message", JSON.parse(line)));
  child.stdin.on("error", () => {});
  child.on("exit", (code) => events.emit("exit", code));
  return Object.assign(events, {
    send: (what) => child.stdin.write(`${JSON.stringify(what)}\n`),
    kill: (signal) => child.kill(signal),
  });
}

/** Processes on one machine that share through a socket, four in Node and four in Rust. */
class LocalFleet extends Fleet {
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-local-"));

  begin(told) {
    return (told.member % 2 ? rust : node)({ ...told, store: "folder", folder: this.#folder });
  }

  async dispose() {
    await super.dispose();
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Node processes that share through a Redis server, half of them with one client package and half with the other. */
class RedisFleet extends Fleet {
  server = new Server();

  async start() {
    await this.server.start();
    await super.start();
  }

  begin(told) {
    return node({ ...told, store: told.member % 2 ? "ioredis" : "redis", port: this.server.port });
  }

  async dispose() {
    await super.dispose();
    await this.server.dispose();
  }
}

/** Six tabs of one window of a real Chromium, all but one of which are hidden. */
export class TabFleet extends Fleet {
  static limit = 10;
  /** Tabs that are neither frozen nor closed. */
  live = new Set([0, 1, 2, 3, 4, 5]);
  #browser = new Chromium();
  #tabs = [];
  #frozen;

  async start() {
    await this.#browser.start('import "./tabs-member.mjs";');
    await super.start();
  }

  begin(told) {
    const events = new EventEmitter();
    const opened = this.#browser.open(JSON.stringify(told));
    void opened.then((tab) => {
      this.#tabs[told.member] = tab;
      for (const name of ["message", "exit"]) tab.on(name, (what) => events.emit(name, what));
    }, (error) => events.emit("exit", error.message));
    return Object.assign(events, {
      // A closed tab receives nothing.
      send: async (what) => (await opened).run(`hear(${JSON.stringify(what)}), 0`).catch(() => {}),
      kill: async () => (await opened).close(),
    });
  }

  async freeze(member) {
    this.#frozen = member;
    this.live.delete(member);
    await this.#tabs[member].freeze(true);
  }

  async thaw() {
    this.live.add(this.#frozen);
    await this.#tabs[this.#frozen].freeze(false);
  }

  async crash(member) {
    this.live.delete(member);
    await super.crash(member);
  }

  async dispose() {
    await this.#browser.close();
  }
}

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
    const answer = await gate.fetch(env.API, { headers: { "idempotency-key": request.headers.get("idempotency-key") } });
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

/**
 * Isolates of Cloudflare's runtime that share through a Durable Object, in one process; or, if the fleet is `apart`, with
 * two of them in a second process and the object in a third. `shares`: whether they share a budget.
 */
class WorkerFleet extends Fleet {
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-fleet-"));
  #options;
  #modules;
  #holder;
  /** The processes of the isolates, and the first isolate of the second one. */
  #processes = [];
  #split;
  #count = 0;

  constructor(api, policy, { shares = true, apart = false, skewed = false } = {}) {
    super(api, policy);
    this.#options = { shares, apart, skewed };
    this.#split = apart ? 6 : 8;
  }

  skew(member) {
    return this.#options.skewed ? super.skew(member) : 0;
  }

  async start() {
    this.#modules = { caller: await bundle(caller(this.#options.shares)), holder: await bundle(HOLDER) };
    if (this.#options.apart) {
      await this.startObject();
      await this.#cell(0);
      await this.#cell(1);
    } else {
      await this.#cell(0, this.#object());
      [this.#holder] = this.#processes;
    }
    await super.start();
  }

  async startObject() {
    this.#holder = await this.#process(this.#object());
  }

  /** Ends the process of the object at once. */
  async killObject() {
    await this.#holder.dispose();
  }

  /** Tells the object to `evict` itself, or to `stall?ms=…`. */
  async tell(what) {
    await (await this.#holder.dispatchFetch(`http://holder/${what}`)).text();
  }

  /** Kills the second process of isolates with their leases and their calls, and starts another. */
  async replace() {
    const members = [...this.live].filter((member) => member >= this.#split);
    await Promise.all([this.#processes[1].dispose(), ...members.map((member) => this.crash(member))]);
    await this.#cell(1);
    await Promise.all(members.map((member) => this.startMember(member)));
  }

  async #cell(cell, ...others) {
    const isolates = [...this.live].filter((member) => member >= this.#split === (cell === 1));
    this.#processes[cell] = await this.#process(...others, ...isolates.map((isolate) => this.#caller(isolate)));
  }

  async #process(...workers) {
    const registry = this.#options.apart && { unsafeDevRegistryPath: path.join(this.#folder, "registry"), unsafeDevRegistryDurableObjectProxy: true };
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

  /** The member plays in this process: its gate is a worker, and each call a separate request to it. */
  begin(told) {
    const process = this.#processes[told.member < this.#split ? 0 : 1];
    const events = new EventEmitter();
    const ask = async (path, init) => (await process.dispatchFetch(`http://caller-${told.member}/${path}`, init)).json();
    let isAlive = true;
    const tell = (what) => isAlive && events.emit("message", what);
    const make = () => ({
      async fetch(_, init) {
        const { body, times } = await ask("", init);
        for (const left of times) tell({ left });
        return new Response(body);
      },
      // Not of an isolate that has crashed.
      stats: () => ask("stats").catch(() => {}),
      budget: () => undefined,
      close: () => {},
    });
    play({ told, number: this.#count++, tell, listen: (hear) => (events.send = hear) }, make, () => {});
    events.kill = () => {
      void events.send({ close: true });
      events.emit("exit");
      isAlive = false;
    };
    return events;
  }

  async dispose() {
    await super.dispose();
    await Promise.allSettled([...new Set([this.#holder, ...this.#processes])].map((process) => process?.dispose()));
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Ends the holder, and starts another process in its place. */
const replace = (end) => async (fleet) => {
  const { holder } = fleet;
  await fleet[end](holder);
  await fleet.startMember(holder);
};

/** Kills the holder three times and freezes it once, at this interval in seconds. */
const killThriceAndFreeze = (apart) => async (fleet) => {
  for (let i = 0; i < 3; i++) {
    await replace("crash")(fleet);
    await sleep(apart * 1_000);
  }
  await stop(fleet);
  await sleep(3_000);
  fleet.signal(fleet.stopped, "SIGCONT");
};
const stop = (fleet) => fleet.signal((fleet.stopped = fleet.holder), "SIGSTOP");

const CLOSES = "from when the holder closes its gate and ends, and another process comes";
const SATURATED = "8 processes with more to do than there is room for, their clocks hours apart";
/** Processes that have started and visit later, and the stretches of their visit. */
const VISITORS = 20;
const welcome = async (fleet) => {
  await fleet.invite(VISITORS);
  fleet.saturate(6);
};
const visits = (must, utilisation) => [
  { name: `while ${VISITORS} processes join, make one call and are killed, two a second`, short: VISITORS / 2, long: VISITORS / 2, fault: (fleet) => fleet.visit(), must: { ...must, utilisation } },
  { name: "then", short: 3, long: 30, must },
];
/** The required figures with each law. */
const MUST = { fixed: { utilisation: 0.99, jain: 0.99 }, adaptive: { utilisation: 0.98, throttled: 0.005, jain: 0.99 } };

/**
 * Each scenario: its fleet, the most calls above the limit with `fixed`, and its stretches in order: the seconds in tests
 * and in the table (by default what the law needs to settle), what happens first, and the required figures.
 */
const SCENARIOS = {
  redis: {
    Fleet: RedisFleet,
    begin: welcome,
    stretches: (law) => [
      { name: "settling", short: 4 },
      { name: SATURATED, short: 10, long: 60, must: { ...MUST[law], local: 0.9 } },
      ...visits(MUST[law], 0.9),
      { name: "from when the holder is killed, and another process comes", short: 8, long: 30, fault: replace("crash") },
      { name: "then", short: 3, long: 15 },
      { name: "while the holder is stopped", short: 5, long: 5, fault: stop },
      { name: "from when it goes on as if nothing had been", short: 4, long: 15, fault: (fleet) => fleet.signal(fleet.stopped, "SIGCONT") },
      { name: CLOSES, short: 5, long: 30, fault: replace("close") },
      { name: "while Redis is silent", short: 5, long: 5, fault: ({ server }) => server.tell("CLIENT", "PAUSE", "5000", "ALL") },
      { name: "from when it ends all connections", short: 5, long: 15, fault: ({ server }) => server.tell("CLIENT", "KILL", "TYPE", "normal") },
      { name: "while Redis is dead", short: 6, long: 30, fault: ({ server }) => server.kill() },
      { name: "from when one that knows nothing takes its place", short: 8, long: 15, fault: ({ server }) => server.start() },
      { name: "at last", short: 3, long: 30, must: MUST[law] },
    ],
  },
  local: {
    Fleet: LocalFleet,
    begin: welcome,
    stretches: (law, long) => [
      { name: "settling", short: 4 },
      { name: SATURATED, short: 10, long: 60, must: MUST[law] },
      ...visits(MUST[law], 0.97),
      { name: "the holder is killed three times, and another process comes; then it is stopped for 3 s", short: 20, long: 120, fault: killThriceAndFreeze(long ? 30 : 4), must: MUST[law] },
      { name: CLOSES, short: 5, long: 30, fault: replace("close") },
      { name: "at last", short: 3, long: 30, must: MUST[law] },
    ],
  },
  tabs: {
    Fleet: TabFleet,
    // Tabs ask every 0.6 s: a call, and the leases that can be held.
    bound: 1 + TabFleet.limit * (0.6 * 1.5 + 0.0625 + 0.6),
    stretches: (law) => [
      { name: "settling", short: 6 },
      { name: "6 tabs with more to do than there is room for", short: 10, long: 60, must: MUST[law] },
      { name: "while the holder's tab is frozen", short: 8, long: 60, must: MUST[law], fault: (fleet) => fleet.freeze(fleet.holder) },
      { name: "from when the next holder's is closed, too", short: 8, long: 60, must: MUST[law], fault: (fleet) => fleet.crash(fleet.holder) },
      { name: "from when the frozen one goes on", short: 8, long: 60, must: MUST[law], fault: (fleet) => fleet.thaw() },
    ],
  },
};

/**
 * The scenarios of Cloudflare workers. Those without `short` durations are only in the table, whose `laws` are `fixed` by
 * default. A fleet that shares no budget has to find the limit.
 */
export const WORKERS = {
  eight: {
    laws: ["adaptive", "fixed"],
    about: "8 saturated isolates",
    stretches: (law) => [
      { name: "settling", long: law === "fixed" ? 5 : 120 },
      { name: "then", long: law === "fixed" ? 60 : 120, must: { ...MUST[law], local: 0.9 } },
    ],
  },
  apart: {
    about: "8 isolates without a shared budget: each searches for its share alone",
    laws: ["adaptive"],
    options: { shares: false },
    stretches: [{ name: "settling", long: 60 }, { name: "then", long: 60 }],
  },
  skew: {
    about: "8 isolates whose clocks differ by hours",
    options: { skewed: true },
    stretches: [{ name: "settling", short: 5, long: 5 }, { name: "then", short: 8, long: 60 }],
  },
  crash: {
    about: "The process of 2 of 8 isolates is killed with their leases and calls, and 2 others replace them",
    options: { apart: true },
    stretches: [
      { name: "before", short: 4, long: 30 },
      { name: "from the crash", short: 10, long: 30, fault: (fleet) => fleet.replace() },
      { name: "then", short: 3, long: 30 },
    ],
  },
  evict: {
    about: "The object aborts and restores its record",
    stretches: [
      { name: "before", short: 9, long: 30 },
      { name: "from the abort", short: 6, long: 30, fault: (fleet) => fleet.tell("evict") },
      { name: "then", short: 3, long: 30 },
    ],
  },
  slow: {
    about: "The object takes 3 s to answer for a while",
    stretches: [
      { name: "before", long: 30 },
      { name: "while it is slow", long: 30, fault: (fleet) => fleet.tell("stall?ms=3000") },
      { name: "after it", long: 30, fault: (fleet) => fleet.tell("stall?ms=0") },
    ],
  },
  outage: {
    about: "The process of the object is killed, and another continues from the stored state",
    options: { apart: true },
    stretches: [
      // What isolates keep is what they were granted lately.
      { name: "before", short: 12, long: 30 },
      { name: "without it", short: 10, long: 30, fault: (fleet) => fleet.killObject() },
      { name: "15 s from its return", short: 15, long: 15, fault: (fleet) => fleet.startObject() },
      { name: "then", short: 3, long: 30 },
    ],
  },
  step: {
    about: "The load suddenly grows tenfold: from 10 calls a second to 100",
    begin: (fleet) => fleet.arise(10),
    stretches: [
      { name: "before", short: 6, long: 30 },
      { name: "10 s from the step", short: 5, long: 10, fault: (fleet) => void (fleet.load = 10) },
      { name: "then", short: 3, long: 20 },
    ],
  },
};

/** Those that take longest are first. */
export const ALL = {};
for (const [name, scenario] of Object.entries(SCENARIOS)) ALL[name] = { laws: ["adaptive", "fixed"], bound: BOUND, ...scenario };
for (const [name, scenario] of Object.entries(WORKERS)) ALL[name] = { laws: ["fixed"], bound: BOUND, Fleet: WorkerFleet, ...scenario };
