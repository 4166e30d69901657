// One row: a server, the processes of a client, and a load.

import { fork } from "node:child_process";
import { ideal, large, rate } from "./rules.mjs";
import { LATENCY, serve, stop as stopServers } from "./server.mjs";

const AT_ONCE = 300;
const JOB = 60;
const COLD = 20;
/** The length of a trickle in seconds, and the bounds of its number of calls. */
const TRICKLE = { seconds: 20, least: 20, most: 60 };

/**
 * The loads: what each process does, and which share of the quota is left. `fast` reduces them to a
 * quarter.
 */
export const LOADS = {
  "300 at once": (_, fast) => ({ calls: fast ? AT_ONCE / 4 : AT_ONCE, processes: 1, left: 1 }),
  "300 at once, three processes": (_, fast) => ({ calls: fast ? AT_ONCE / 4 : AT_ONCE, processes: 3, left: 1 }),
  "cold start": () => ({ calls: COLD, processes: 1, left: 0 }),
  trickle: ({ rule }, fast) => {
    const every = 3_000 / rate(rule);
    const calls = Math.round((TRICKLE.seconds * 1_000) / every);
    return { calls: Math.ceil(Math.max(TRICKLE.least, Math.min(TRICKLE.most, calls)) / (fast ? 4 : 1)), processes: 1, left: 1, every };
  },
  "sequential job": ({ rule, scale }) => ({ calls: JOB, processes: 1, left: 0.99, order: "sequential", isLarge: true, rule: large(rule, scale) }),
};

/** The time limit of a row, in milliseconds. Calls not served by then are lost. */
export function limit(provider, load, fast) {
  const { calls, left, every = 0, rule = provider.rule } = LOADS[load](provider, fast);
  return 2.5 * ideal(rule, left, calls) + 60_000 + calls * every;
}

/** Three processes per pool, so that bursts of retries of one pool delay no other. */
const POOLS = [/tidegate|plain/, /bottleneck|p-queue/, /./].map((who) => ({ who, processes: [], turn: 0 }));
let rows = 0;

const start = () => {
  const child = fork(new URL("clients.mjs", import.meta.url), { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  child.setMaxListeners(0);
  child.once("exit", (code) => {
    if (code) throw new Error(`a process of the benchmark ended with ${code}`);
  });
  return child;
};

export function stop() {
  POOLS.forEach((pool) => pool.processes.forEach((child) => child.kill("SIGKILL")));
  stopServers();
}

/** The processes of a row: all three of its pool, or one in turn. */
function processesFor(client, most) {
  const pool = POOLS.find(({ who }) => who.test(client));
  while (pool.processes.length < 3) pool.processes.push(start());
  return most === 1 ? [pool.processes[pool.turn++ % 3]] : pool.processes;
}

const said = (child, row, what) =>
  new Promise((done) => {
    const listen = (message) => {
      if (message.row !== row || message.is !== what) return;
      child.off("message", listen);
      done(what);
    };
    child.on("message", listen);
  });

/** How long stopped calls may take to end, in milliseconds. */
const REST = 60_000;

/** Runs a row and returns its result from the server's counts. */
export async function run({ provider, load, client, fast = false }) {
  const { calls, processes: most, left, order, every, isLarge, rule = provider.rule } = LOADS[load](provider, fast);
  const server = await serve(provider, { rule, left, isLarge });
  const row = rows++;
  const workers = processesFor(client, most);
  const ready = workers.map((child) => said(child, row, "ready"));
  for (const [own, child] of workers.entries()) {
    const task = {
      provider: provider.name, client, rule, processes: most, process: own, url: server.url, order, every,
      calls: calls / most, method: provider.method ?? "GET",
    };
    child.send({ row, task });
  }
  await Promise.all(ready);
  await server.begin();
  const done = Promise.all(workers.map((child) => said(child, row, "done")));
  for (const child of workers) child.send({ row });
  let timer;
  const late = new Promise((done) => (timer = setTimeout(done, limit(provider, load, fast), "late")));
  const ended = await Promise.race([done, late]);
  clearTimeout(timer);
  const counts = await server.counts(calls, every);
  if (ended === "late") {
    counts.seconds = limit(provider, load, fast) / 1_000;
    // Calls in flight end soon because all are now admitted.
    await server.open();
    Promise.race([done, new Promise((done) => setTimeout(done, REST).unref())]).then(() => server.close());
  } else {
    server.close();
  }
  // If the load itself takes time, that is the ideal.
  if (every) counts.ideal = ((calls - 1) * every + (rule.lasts ?? LATENCY)) / 1_000;
  if (order) counts.ideal = (calls * (rule.lasts ?? LATENCY)) / 1_000;
  return { server: provider.name, load, client, calls, ...counts, stopped: ended === "late" };
}
