// A fleet of processes or tabs that share one budget, and a real API. A subclass starts its members and decides how
// they share.

import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

const HOUR = 3_600_000;

/** Starts a Node program with these options. */
export function node(program, told) {
  return fork(new URL(program, import.meta.url), { env: { ...process.env, TIDEGATE_ISOLATE: JSON.stringify(told) } });
}

/** Eight processes. */
export class ProcessFleet {
  #processes = [];
  #callers = 0;
  #holder = 0;
  /** How each call ended, by its name. */
  #calls = new Map();
  left = [];
  /** The most leases held at a time. */
  inHand = 0;
  cells = Array.from({ length: 8 }, (_, member) => [member]);

  constructor(api, policy) {
    Object.assign(this, { api, policy });
  }

  /** Starts a process; the result has `send`, and the events `message` and `exit`. */
  begin(_told) {
    throw new Error("a fleet says how its processes begin");
  }

  async start() {
    await Promise.all(this.cells.map(([member]) => this.raise(member)));
  }

  /** Starts a process. */
  async raise(member) {
    const child = this.begin({ member, url: this.api.url, policy: this.policy, skew: (member + 1) * 7 * HOUR });
    const process_ = (this.#processes[member] = { child, stats: undefined, calls: new Set() });
    child.on("message", (message) => this.#hear(process_, message));
    child.on("exit", () => {
      for (const name of process_.calls) this.#calls.set(name, "crashed");
    });
    const code = await Promise.race([once(child, "message").then(() => {}), once(child, "exit").then(([code]) => code)]);
    if (code !== undefined) throw new Error(`process ${member} ended with ${code}`);
    child.send({ callers: this.#callers });
  }

  #hear(process, { began, left, name, ended, stats, holds }) {
    if (began) {
      process.calls.add(began);
      this.#calls.set(began, undefined);
    } else if (left) this.left.push(left);
    else if (name) {
      process.calls.delete(name);
      this.#calls.set(name, ended);
    } else {
      process.stats = stats;
      if (holds) this.#holder = this.#processes.indexOf(process);
      this.inHand = Math.max(this.inHand, this.#processes.reduce((sum, { stats }) => sum + (stats?.inHand ?? 0), 0));
    }
  }

  /** The member that holds the budget, or did so last. */
  get holder() {
    return this.#holder;
  }

  /** The result of `begin` for a member. */
  child(member) {
    return this.#processes[member].child;
  }

  signal(member, signal) {
    this.child(member).kill(signal);
  }

  /** Kills a process, with its leases and its calls. */
  async crash(member) {
    const { child } = this.#processes[member];
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  /** Ends a process as a deployment does. */
  async close(member) {
    const { child } = this.#processes[member];
    child.send({ close: true });
    await once(child, "exit");
  }

  /** Each process always has this many calls to make. */
  saturate(callers) {
    this.#callers = callers;
    for (const { child } of this.#processes) child.send({ callers });
  }

  /** Starts no more calls, and waits for all others. */
  async drain() {
    for (const { child } of this.#processes) child.send({ end: true });
    while (this.ends(undefined)) await sleep(20);
  }

  /** How many calls have ended this way. */
  ends(how) {
    return [...this.#calls.values()].filter((ended) => ended === how).length;
  }

  /** The counters of all processes. */
  async stats() {
    return this.#processes.map(({ stats }) => stats);
  }

  async dispose() {
    for (const { child } of this.#processes) child.kill("SIGKILL");
  }
}
