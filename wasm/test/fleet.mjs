// A fleet of members that share one budget, and a real API. A subclass starts its members and decides how they share.

import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { api } from "./live.mjs";

const HOUR = 3_600_000;

/** How many calls a second the API allows. */
export const LIMIT = 50;

/**
 * The documented bound of a law with a constant rate: a call, and all leases that can be held. Leases
 * are granted 13/16 of a second ahead, and may be used for half a second after they are due.
 */
export const BOUND = 1 + LIMIT * (0.8125 + 0.5);

/** The laws of a budget, and how many seconds they need to find a limit. */
export const LAWS = {
  fixed: { policy: (limit) => ({ law: "fixed", requests: { limit, per: 1_000 } }), settling: 15 },
  adaptive: { policy: () => ({}), settling: 120 },
};

export const node = (told) => fork(new URL("fleet-process.mjs", import.meta.url), { env: { ...process.env, TIDEGATE_ISOLATE: JSON.stringify(told) } });

export class Fleet {
  static limit = LIMIT;
  #members = [];
  #visitors = [];
  #callers = 0;
  #holder = 0;
  /** How each call ended, by its name. */
  #calls = new Map();
  #arising;
  #ended = false;
  /** When calls were sent. */
  left = [];
  /** The most leases held at a time. */
  inHand = 0;
  /** The factor of the calls that `arise`. */
  load = 1;
  /** The members whose shares are compared. */
  live = new Set([0, 1, 2, 3, 4, 5, 6, 7]);

  constructor(api, policy) {
    Object.assign(this, { api, policy });
  }

  skew(member) {
    return (member + 1) * 7 * HOUR;
  }

  /** Starts a member; the result has `send` and `kill`, and the events `message` and `exit`. See fleet-member.mjs. */
  begin(_told) {
    throw new Error("a fleet says how its members begin");
  }

  async start() {
    await Promise.all([...this.live].map((member) => this.startMember(member)));
  }

  async startMember(member) {
    const one = (this.#members[member] = this.#begin(member));
    await this.#begun(one);
    one.child.send({ callers: this.#callers });
  }

  /** Starts this many processes that wait for `visit`. */
  async invite(count) {
    this.#visitors = Array.from({ length: count }, (_, i) => this.#begin(8 + 2 * i));
    await Promise.all(this.#visitors.map((one) => this.#begun(one)));
  }

  /** Each of them joins, makes one call and is killed: two a second. */
  async visit() {
    const begun = performance.now();
    for (const [i, { child }] of this.#visitors.entries()) {
      await sleep(begun + i * 500 - performance.now());
      child.on("message", ({ ended }) => ended && child.kill("SIGKILL"));
      child.send({ calls: 1 });
    }
  }

  #begin(member) {
    const child = this.begin({ member, url: this.api.url, policy: this.policy, skew: this.skew(member) });
    const one = { member, child, stats: undefined, calls: new Set() };
    child.on("message", (message) => this.#hear(one, message));
    child.on("exit", () => {
      for (const name of one.calls) this.#calls.set(name, "crashed");
    });
    return one;
  }

  async #begun({ member, child }) {
    const code = await Promise.race([once(child, "message").then(() => {}), once(child, "exit").then(([code]) => code)]);
    if (code !== undefined) throw new Error(`member ${member} ended with ${code}`);
  }

  #hear(one, { began, left, name, ended, stats, holds }) {
    if (began) {
      one.calls.add(began);
      this.#calls.set(began, undefined);
    } else if (left) this.left.push(left);
    else if (name) {
      one.calls.delete(name);
      this.#calls.set(name, ended);
    } else {
      one.stats = stats;
      if (holds) this.#holder = one.member;
      this.inHand = Math.max(this.inHand, this.#members.reduce((sum, { stats }) => sum + (stats?.inHand ?? 0), 0));
    }
  }

  /** The member that holds the budget, or did so last. */
  get holder() {
    return this.#holder;
  }

  signal(member, signal) {
    this.#members[member].child.kill(signal);
  }

  /** Kills a member, with its leases and its calls. */
  async crash(member) {
    const { child } = this.#members[member];
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }

  /** Ends a member as a deployment does. */
  async close(member) {
    const { child } = this.#members[member];
    child.send({ close: true });
    await once(child, "exit");
  }

  /** Each member always has this many calls to make. */
  saturate(callers) {
    this.#callers = callers;
    for (const { child } of this.#members) child.send({ callers });
  }

  /** This many calls a second arise in total, times `load`, at random. */
  arise(rate) {
    const loop = async () => {
      for (let next = performance.now(); !this.#ended; ) {
        this.#members[Math.floor(Math.random() * this.#members.length)].child.send({ calls: 1 });
        next -= (Math.log(1 - Math.random()) * 1_000) / (rate * this.load);
        await sleep(Math.max(next - performance.now(), 0));
      }
    };
    this.#arising = loop();
  }

  /** Starts no more calls, and waits for all others. */
  async drain() {
    this.#ended = true;
    await this.#arising;
    for (const { child } of this.#members) child.send({ end: true });
    while (this.ends(undefined)) await sleep(20);
  }

  /** How many calls have ended this way. */
  ends(how) {
    return [...this.#calls.values()].filter((ended) => ended === how).length;
  }

  async dispose() {
    this.#ended = true;
    for (const { child } of [...this.#members, ...this.#visitors]) child.kill("SIGKILL");
  }

  /** The present counts of the fleet and its API. */
  async mark() {
    const { callers, capacity, works } = await (await fetch(`${this.api.url}counts`)).json();
    const sum = (name) => callers.reduce((sum, row) => sum + row[name], 0);
    const served = {};
    for (const work in works) served[work.split("-")[0]] = (served[work.split("-")[0]] ?? 0) + works[work].served;
    const stats = this.#members.map(({ stats }) => stats);
    return {
      live: [...this.live], at: performance.now(), clock: Date.now(), capacity, all: sum("served"), offered: sum("offered"), throttled: sum("throttled"), served, works, stats,
    };
  }

  /** The figures of a stretch, between two marks. */
  figures(from, to) {
    // A member that has crashed since then counts from zero.
    const since = (now = 0, then = 0) => (now < then ? now : now - then);
    const counted = (name) => to.stats.reduce((sum, told, i) => sum + since(told?.[name], from.stats[i]?.[name]), 0);
    const served = to.live.map((member) => (to.served[member] ?? 0) - (from.served[member] ?? 0));
    const all = served.reduce((a, b) => a + b, 0);
    const offered = to.offered - from.offered;
    const seconds = (to.at - from.at) / 1_000;
    const admitted = Math.max(counted("admitted"), 1);
    return {
      utilisation: (to.all - from.all) / (to.capacity - from.capacity),
      throttled: offered ? (to.throttled - from.throttled) / offered : 0,
      jain: all ** 2 / (served.length * served.reduce((sum, n) => sum + n * n, 0)),
      local: 1 - counted("delayed") / admitted,
      alone: counted("alone") / admitted,
      asked: counted("asked") / seconds,
      perCall: counted("asked") / admitted,
      excess: excess(this.left.filter((at) => at >= from.clock && at < to.clock), this.constructor.limit),
    };
  }
}

/** The most calls above the limit at any time. */
function excess(times, perSecond) {
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

/**
 * Runs a scenario of fleets.mjs with a law, and calls `step` at the start of each stretch. `long` uses the durations of
 * the committed table.
 */
export async function run(test, { Fleet, options, begin = (fleet) => fleet.saturate(6), stretches }, law, long, step = () => {}) {
  const { policy, settling } = LAWS[law];
  const fleet = new Fleet(await api(test, "--limit", String(Fleet.limit)), policy(Fleet.limit), options);
  const all = typeof stretches === "function" ? stretches(law, long) : stretches;
  try {
    await fleet.start();
    await begin(fleet);
    const marks = [await fleet.mark()];
    const seconds = all.map((is) => (long ? (is.long ?? settling) : is.short));
    for (const [i, { name, fault }] of all.entries()) {
      step(name, seconds[i]);
      const end = performance.now() + seconds[i] * 1_000;
      await fault?.(fleet);
      await sleep(end - performance.now());
      marks.push(await fleet.mark());
    }
    step("draining", 0);
    await fleet.drain();
    const { works } = await fleet.mark();
    return {
      stretches: all.map(({ name, must }, i) => ({ stretch: name, seconds: seconds[i], must, ...fleet.figures(marks[i], marks[i + 1]) })),
      inHand: fleet.inHand,
      lost: fleet.ends("lost"),
      crashed: fleet.ends("crashed"),
      twice: Object.values(works).filter(({ served }) => served > 1).length,
    };
  } finally {
    await fleet.dispose();
  }
}
