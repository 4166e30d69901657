// A fleet of Node processes that share one budget through a Redis server, and a real API behind them.

import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";

const program = process.env.TIDEGATE_REDIS;
if (!program) throw new Error("TIDEGATE_REDIS names no redis-server: run `cargo xtask test wasm`");

/** A Redis server on a port of its own that keeps nothing on disk. */
export class Server {
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-redis-"));
  #child;

  async start() {
    this.port ??= await freePort();
    const options = { port: this.port, bind: "127.0.0.1", save: "", appendonly: "no", dir: this.#folder };
    const libraries = process.env.TIDEGATE_REDIS_LIBRARIES;
    const env = { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = (this.#child = spawn(program, args, { stdio: "ignore", env }));
    await this.tell("PING");
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
  }

  /** Runs a command of an administrator's. */
  async tell(...command) {
    const client = createClient({ socket: { host: "127.0.0.1", port: this.port, reconnectStrategy: () => 20 } }).on("error", () => {});
    await client.connect();
    const answer = await client.sendCommand(command);
    client.destroy();
    return answer;
  }

  /** Ends it as it stands, with all that it knew. */
  async kill() {
    this.#child.kill("SIGKILL");
    if (this.#child.exitCode === null && !this.#child.signalCode) await once(this.#child, "exit");
  }

  async dispose() {
    await this.kill();
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

const HOUR = 3_600_000;

/** Eight processes, half of them with one client package and half with the other. */
export class RedisFleet {
  server = new Server();
  #processes = [];
  #callers = 0;
  #holder = 0;
  /** What became of each call, by its name; when all of them left; and what went wrong. */
  #calls = new Map();
  left = [];
  /** The most leases in hand at a time. */
  inHand = 0;
  cells = Array.from({ length: 8 }, (_, member) => [member]);

  constructor(api, policy) {
    Object.assign(this, { api, policy });
  }

  async start() {
    await this.server.start();
    await Promise.all(this.cells.map(([member]) => this.raise(member)));
  }

  /** Starts a process. */
  async raise(member) {
    const told = {
      member, client: member % 2 ? "ioredis" : "redis", port: this.server.port, url: this.api.url, policy: this.policy, skew: member * 7 * HOUR,
    };
    const child = fork(new URL("redis-member.mjs", import.meta.url), { env: { ...process.env, TIDEGATE_ISOLATE: JSON.stringify(told) } });
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

  signal(member, signal) {
    this.#processes[member].child.kill(signal);
  }

  /** Ends a process as it stands, with its leases and its calls. */
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

  /** Each process always has so many calls to make. */
  saturate(callers) {
    this.#callers = callers;
    for (const { child } of this.#processes) child.send({ callers });
  }

  /** Lets no more calls begin, and waits for all that have. */
  async drain() {
    for (const { child } of this.#processes) child.send({ end: true });
    while (this.ends(undefined)) await sleep(20);
  }

  /** How many calls have ended so. */
  ends(how) {
    return [...this.#calls.values()].filter((ended) => ended === how).length;
  }

  /** The counters of all processes. */
  async stats() {
    return this.#processes.map(({ stats }) => stats);
  }

  async dispose() {
    for (const { child } of this.#processes) child.kill("SIGKILL");
    await this.server.dispose();
  }
}
